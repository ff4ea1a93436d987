"""How long until the first answer: of a fresh process, of methods with many stages and long texts?

A process that only starts is the measure of the fresh ones. Every answer is checked before it is timed. Kernels of the
first layer come from the disk, where an earlier process left them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from _harness import interleaved, report

from odernn.exact.expressions import parse
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.order import order
from odernn.tableaus.families import gauss, lobatto_iiic, radau_iia

CHECKOUT = Path(__file__).resolve().parents[1]
LAYER = """
import torch
from odernn.cells.unicornn import UnICORNN
layer = UnICORNN(6, 32, dt=0.1, alpha=1.0, execution="cpu")
layer(torch.ones(9, 8, 6))[0].sum().backward()
assert all(parameter.grad is not None for parameter in layer.parameters())
"""
VERDICT = "from odernn import algebraic_stability, tableaus; assert algebraic_stability(tableaus.get('gauss 12'))"
PROCESSES = {
    "python alone": ("-c", "pass"),
    "one verdict": ("-c", VERDICT),
    "odernn tableau": ("-m", "verification", "tableau", "gauss 12"),
    "import torch": ("-c", "import torch"),
    "first fused layer": ("-c", LAYER),
}


def process(arguments: tuple[str, ...]) -> Callable[[], object]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, check=True, cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL)


def many_stages() -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {
        "order of gauss 10": lambda: order(gauss(10)),
        "algebraic stability of gauss 12": lambda: algebraic_stability(gauss(12)),
        "… of radau iia 10": lambda: algebraic_stability(radau_iia(10)),
        "… of lobatto iiic 10": lambda: algebraic_stability(lobatto_iiic(10)),
        "(sqrt(2)+cbrt(3)+1/7)^400": lambda: parse("(sqrt(2)+cbrt(3)+1/7)^400"),
    }
    assert order(gauss(10)).value == 20
    assert all(algebraic_stability(method) for method in (gauss(12), radau_iia(10), lobatto_iiic(10)))
    return found


def main() -> None:
    fresh = {name: process(arguments) for name, arguments in PROCESSES.items()}
    for call in fresh.values():
        call()
    cases = {
        "a fresh process": interleaved(fresh, rounds=5),
        "many stages and long texts": interleaved(many_stages(), rounds=5),
    }
    report("first_answers", cases, {})


if __name__ == "__main__":
    main()
