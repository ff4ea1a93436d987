"""What does a training step gain, and lose, if the products with inputs are made in bfloat16?

    x_n = V u_n + b,  V and u rounded to bfloat16, sums in float32, x rounded to bfloat16 (torch.autocast);
    the recurrence keeps float32.

UnICORNN at psMNIST's shape, (784, 128, 128), three layers, one thread. Checked before anything is timed: the largest
error of each layer's rows, against the same network in float64, stays within its bound. The bound of one layer, neuron
by neuron, is thm-J's: a drive that is off by δ kicks the state by h δ σ' (h, 1), of norm ≤ h δ, and a step carries a
difference by e^ω at most, so that ‖e_N‖_a ≤ h δ (e^{Nω} − 1)/(e^ω − 1), |e_y| ≤ ‖e‖_a/r_a, with

    δ_i = ((1 + 2⁻⁸)³ − 1) (Σ_j |V_ij| |y_j| + |b_i|) + Σ_j |V_ij| |e_j|,      y, e the rows of the layer below.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from _harness import Timing, interleaved, report
from torch import nn

from odernn import UnICORNN
from odernn.bounds import forms, jacobian
from odernn.bounds.network.weights import weights_of

STEPS, BATCH, HIDDEN, LAYERS = 784, 128, 128, 3
RELATIVE = (1 + 2.0**-8) ** 3 - 1 + 2.0**-15
"""Of a product: each factor rounded, and the sum; the last term is the float32 of the sums and the rows."""


def network(layers: int = LAYERS, **factory: torch.dtype) -> UnICORNN:
    made = UnICORNN(1, HIDDEN, layers, dt=0.19, alpha=12.53, execution="cpu", **factory)
    made.load_state_dict(_weights(layers))
    return made


def _weights(layers: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return UnICORNN(1, HIDDEN, layers, dt=0.19, alpha=12.53, generator=generator).state_dict()


def rows(layers: int, u: torch.Tensor, *, autocast: bool, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The last of ``layers`` layers, whose weights are those of the whole network."""
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found: torch.Tensor = network(layers, dtype=dtype)(u.to(dtype))[0]
    return found.double()


def error_bounds(u: torch.Tensor) -> list[np.ndarray]:
    """Of |y_n| of every neuron, layer by layer, all n ≤ N."""
    weights, bounds = weights_of(network(dtype=torch.float64)), []
    error, size = np.zeros(1), np.full(1, float(u.abs().max()))
    for number, (layer, b) in enumerate(zip(weights.stack, weights.biases, strict=True)):
        h, (V,) = layer.step_size, layer.edges.values()
        ends = {"kappa_low": layer.alpha + np.minimum(layer.w, 0), "kappa_high": layer.alpha + np.maximum(layer.w, 0)}
        form = forms.best_form(**ends, step_size=h)
        rate = jacobian.rate_bound(**ends, form=form, step_size=h)
        drive = RELATIVE * (np.abs(V) @ size + np.abs(b)) + np.abs(V) @ error
        growth = np.where(rate > 0, np.expm1(STEPS * rate) / np.expm1(np.maximum(rate, 1e-300)), STEPS)
        error = h * drive * growth / jacobian.root(form=form, step_size=h)
        size = rows(number + 1, u, autocast=False, dtype=torch.float64).abs().amax((0, 1)).numpy() + error
        bounds.append(error)
    return bounds


def checked(u: torch.Tensor) -> dict[str, float]:
    """Largest errors by layer, in float32 and with bfloat16 drives, and their bound; none exceeds it."""
    found = {}
    for layers, bound in enumerate(error_bounds(u), start=1):
        exact = rows(layers, u, autocast=False, dtype=torch.float64)
        errors = {
            kind: (rows(layers, u, autocast=kind == "bfloat16") - exact).abs() for kind in ("float32", "bfloat16")
        }
        assert (errors["bfloat16"].amax((0, 1)).numpy() <= bound).all(), f"layer {layers}: beyond the bound"
        for kind, error in errors.items():
            found[f"layer {layers} {kind}, max |e| / max |y|"] = float(error.max() / exact.abs().max())
        found[f"layer {layers} bound / max |e|, least neuron"] = float(
            (bound / errors["bfloat16"].amax((0, 1)).numpy()).min()
        )
    return found


def training_step(u: torch.Tensor, target: torch.Tensor, *, autocast: bool) -> Callable[[], list[torch.Tensor]]:
    net, readout = network(), nn.Linear(HIDDEN, 10)
    readout.load_state_dict({"weight": torch.eye(10, HIDDEN), "bias": torch.zeros(10)})
    parameters = [*net.parameters(), *readout.parameters()]

    def step() -> list[torch.Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = nn.functional.cross_entropy(readout(net(u)[0][-1]).float(), target)
        return list(torch.autograd.grad(loss, parameters))

    return step


def product(dtype: torch.dtype) -> Callable[[], object]:
    """V u of one layer, from float32 and back: with casts where they are needed."""
    u, V = torch.randn(STEPS * BATCH, HIDDEN), torch.randn(HIDDEN, HIDDEN)
    return lambda: (u.to(dtype) @ V.to(dtype).T).float()


def main() -> None:
    torch.set_num_threads(1)
    u = torch.rand(STEPS, BATCH, 1, generator=torch.Generator().manual_seed(1))
    target = torch.arange(BATCH) % 10
    checks = checked(u)
    steps = {kind: training_step(u, target, autocast=kind == "bfloat16") for kind in ("float32", "bfloat16")}
    exact, rounded = (step() for step in steps.values())
    errors = sorted(float((a - b).norm() / a.norm()) for a, b in zip(exact, rounded, strict=True))
    checks["gradients of parameters, median ‖ĝ − g‖ / ‖g‖"] = errors[len(errors) // 2]
    checks["gradients of parameters, largest ‖ĝ − g‖ / ‖g‖"] = errors[-1]
    cases: dict[str, list[Timing]] = {
        "a training step, (784, 128, 128), three layers": interleaved(steps, rounds=7),
        "V u of one layer, both ways of rounding": interleaved(
            {"float32": product(torch.float32), "bfloat16, with casts": product(torch.bfloat16)}
        ),
    }
    report("bfloat16_drives", cases, checks)


if __name__ == "__main__":
    main()
