"""The search of the verification suite on a GPU: the same code on tensors that live there."""

from __future__ import annotations

import torch

from device.checks import Checks
from verification.adversary import Found, effective_steps, pontryagin
from verification.cases.controls import CONTROL_POINTS, deep_control_point, float_optimum
from verification.domains import BUDGETS, SearchPoint
from verification.measure.hidden_state import run_instance
from verification.system import UNICORNN

MISSING = 0.1
"""Of a known optimum; the power control of the suite allows as much."""


def check_adversary(checks: Checks, device: str) -> None:
    """Costates in layers 1 and 2: what the device found, run again on the CPU, comes near the known supremum, and the
    device starts from the same numbers as the CPU, so that only roundings may tell their answers apart.
    """
    for layer, point in ((1, CONTROL_POINTS[1]), (2, deep_control_point(2))):
        there, here = (
            pontryagin.search(UNICORNN, point, layer, BUDGETS["smoke"], torch.device(each)) for each in (device, "cpu")
        )
        for found, expected in zip(there, here, strict=True):
            name = f"adversary, layer {layer}, {found.quantity}"
            reached, share = _share(found, point, layer), _share(expected, point, layer)
            checks.add(f"{name}: missing of the optimum", abs(1 - reached), MISSING)
            checks.add(f"{name}: less than on the CPU", share - reached, 1e-6)


def _share(found: Found, point: SearchPoint, layer: int) -> float:
    y, z, _ = run_instance(UNICORNN, found.instance, layer)
    values = (y if found.quantity == "position" else z).abs().flatten()
    step = int(values.argmax()) + 1
    known = float_optimum(UNICORNN, point, effective_steps(point)[layer - 1], found.quantity, step)
    return float(values[step - 1]) / known
