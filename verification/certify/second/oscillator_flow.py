"""The flow of ``oscillator_flow`` typed again, in mpmath intervals; imports nothing from odernn or verification.

One neuron y'' = −(tanh(w y + b) + α y) from rest, with g = 1 − tanh² as a coordinate of its own, g' = −2 w s g z, and
the variation p'' = −(α + w g) p. A step is Taylor's formula by powers, not by Horner's rule; the box of its remainder
grows by a fixed share of itself until Picard's map stays inside.
"""

from __future__ import annotations

from typing import Any

from verification.certify.second.intervals import iv, tanh

DEGREE = 10
STEPS_A_UNIT = 16


def fundamental(alpha: Any, w: Any, b: Any, start: Any, end: Any) -> list[list[Any]]:
    """Rows of the fundamental matrix from effective time ``start`` to ``end``. ValueError if it is not enclosed."""
    s = tanh(iv.mpf(b))
    orbit = _advance({"y": iv.mpf(0), "z": iv.mpf(0), "s": s, "g": 1 - s**2}, alpha, w, iv.mpf(start))
    unit = {"p0": iv.mpf(1), "r0": iv.mpf(0), "p1": iv.mpf(0), "r1": iv.mpf(1)}
    last = _advance(orbit | unit, alpha, w, iv.mpf(end) - start)
    return [[last["p0"], last["p1"]], [last["r0"], last["r1"]]]


def _advance(values: dict[str, Any], alpha: Any, w: Any, time: Any) -> dict[str, Any]:
    pieces = int(float(time.b) * STEPS_A_UNIT) + 1
    if time.a == 0 and time.b == 0:
        return values
    length = time / pieces
    for _ in range(pieces):
        box = _box(values, alpha, w, length)
        near = _coefficients(values, alpha, w, DEGREE)
        rest = _coefficients(box, alpha, w, DEGREE + 1)
        values = {
            name: sum((near[name][i] * length**i for i in range(1, DEGREE + 1)), near[name][0])
            + rest[name][DEGREE + 1] * length ** (DEGREE + 1)
            for name in values
        }
    return values


def _box(values: dict[str, Any], alpha: Any, w: Any, length: Any) -> dict[str, Any]:
    times = iv.mpf([0, length.b])
    box = dict(values)
    for _ in range(40):
        box = {name: x + iv.mpf([-1, 1]) * (iv.mpf(x.delta) / 8 + iv.mpf(2) ** -10) for name, x in box.items()}
        first = _coefficients(box, alpha, w, 1)
        image = {name: values[name] + times * first[name][1] for name in values}
        if all(box[name].a < image[name].a and image[name].b < box[name].b for name in values):
            return box
        box = {name: iv.mpf([min(box[name].a, image[name].a), max(box[name].b, image[name].b)]) for name in values}
    raise ValueError("no box holds a step of the flow")


def _coefficients(values: dict[str, Any], alpha: Any, w: Any, degree: int) -> dict[str, list[Any]]:
    """Of t^0 .. t^degree."""
    series = {name: [iv.mpf(x)] for name, x in values.items()}

    def times(a: list[Any], b: list[Any], i: int) -> Any:
        return sum((a[j] * b[i - j] for j in range(i + 1)), iv.mpf(0))

    gz: list[Any] = []
    for i in range(degree):
        gz.append(times(series["g"], series["z"], i))
        rates = {
            "y": series["z"][i],
            "z": -series["s"][i] - alpha * series["y"][i],
            "s": w * gz[i],
            "g": -2 * w * times(series["s"], gz, i),
        }
        for column in ("0", "1"):
            if f"p{column}" in series:
                p, r = series[f"p{column}"], series[f"r{column}"]
                rates |= {f"p{column}": r[i], f"r{column}": -alpha * p[i] - w * times(series["g"], p, i)}
        for name, rate in rates.items():
            series[name].append(rate / (i + 1))
    return series
