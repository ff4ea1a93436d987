"""The second opinion on a derivative of the loss of a whole network: float64 with proved roundings, tangents forward.

The texts of a counterexample are parsed here once more; nothing from odernn or from ``network_gradient``.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from verification.certify.second import intervals as second
from verification.certify.second.network import FloatNetwork

KINDS = {"w": 0, "b": 1, "c": 2}


def sides(texts: dict[str, str], theta: str) -> tuple[Any, Any]:
    """(|dE/dθ|, the norms that a right side is made of, and the run): intervals at the precision in force.

    NotEnclosedError where float64 does not enclose the run or the derivative.
    """
    given = {name: text.split() for name, text in texts.items()}
    size, steps, layer, neuron = (int(texts[name]) for name in ("m", "N", "layer", "neuron"))
    depth = len(given["w"]) // size
    layers = []
    for q in range(depth):
        own = {name: given[name][q * size : (q + 1) * size] for name in ("w", "c", "b")}
        V = given[f"V{q + 1}"]
        width = len(V) // size
        layers.append(
            {"dt": texts["dt"], "alpha": texts["alpha"], "y0": ["0"] * size, "z0": ["0"] * size, **own}
            | {"V": [V[i * width : (i + 1) * width] for i in range(size)]}
        )
    channels = len(layers[0]["V"][0])
    plain = {
        "layers": layers,
        "index": "icml",
        "previous": [],
        "inputs": _held(given["u"], channels, steps),
        "target": _held(given["target"], size, steps),
    }
    column = KINDS[theta] if theta in KINDS else 2 + int(texts["source"])
    run = FloatNetwork(plain)
    box = run.gradient_of(layer - 1, [column])
    lower, upper = float(box.lower[neuron - 1, 0]), float(box.upper[neuron - 1, 0])
    norms = _norms(texts, layers, given["target"], depth)
    norms.run, norms.layers, norms.inputs, norms.given = run, layers, given["u"], texts
    return abs(second.iv.mpf([lower, upper])), norms


def _held(words: list[str], width: int, steps: int) -> list[list[str]]:
    if len(words) == width:
        return [words] * steps
    return [words[n * width : (n + 1) * width] for n in range(steps)]


def _norms(texts: dict[str, str], layers: list[dict[str, Any]], target: list[str], depth: int) -> Any:
    def largest(values: list[Fraction]) -> Any:
        return second.number(str(max(values)))

    def size(words: list[str]) -> list[Fraction]:
        return [abs(second.fraction(word)) for word in words]

    return SimpleNamespace(
        alpha=second.number(texts["alpha"]),
        dt=second.number(texts["dt"]),
        m=second.number(texts["m"]),
        w=[largest(size(layer["w"])) for layer in layers],
        V=[largest([sum(size(row), Fraction(0)) for row in layer["V"]]) for layer in layers],
        target=[largest(size(target))],
        texts={"w": " ".join(["0"] * depth), "N": texts["N"], "layer": texts["layer"]},
    )
