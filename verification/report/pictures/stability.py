"""The stability region and the order star of a method as an SVG. Pictures only: what is decided is decided elsewhere.

    S = {z : |R(z)| ≤ 1},     the order star {z : |R(z)| > |e^z|}

Near 0 a method of order p has p + 1 sectors of the order star, of equal angle, for R(z) e^{−z} = 1 − C z^{p+1} + …;
counting its fingers and the poles inside them proves bounds of the order: G. Wanner, E. Hairer, S. P. Nørsett, Order
stars and stability theorems, BIT 18 (1978) 475–489. The boundaries are contours of values in double precision on a
grid.
"""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from odernn.architecture.drawing import STYLE, check_available
from odernn.exact.algebraic import nearest_float
from odernn.exact.polynomials import Polynomial
from odernn.properties.stability_function import StabilityFunction, stability_function
from odernn.tableaus.methods import Method, resolve

__all__ = ["modulus", "star", "svg", "window"]

POINTS: Final = 301
"""Along each side of the grid; odd, so that the axes are on it."""
SMALLEST, LARGEST = 4.0, 40.0
"""Half the side of the square that is shown, at least and at most."""
_STYLE: Final[Any] = {**STYLE, "axes.unicode_minus": True, "path.simplify": True}


def modulus(R: StabilityFunction, z: NDArray[np.complex128]) -> NDArray[np.float64]:
    """|R(z)| in double precision, entry by entry; inf at a pole."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = np.abs(_values(R.numerator, z)) / np.abs(_values(R.denominator, z))
    return np.where(np.isnan(values), np.inf, values)


def star(R: StabilityFunction, z: NDArray[np.complex128]) -> NDArray[np.float64]:
    """|R(z) e^{−z}|, above 1 on the order star."""
    with np.errstate(over="ignore"):
        quotients: NDArray[np.float64] = modulus(R, z) * np.exp(-z.real)
    return quotients


def window(R: StabilityFunction) -> float:
    """Half the side of a square around 0 that holds the zeros and poles of R, between ``SMALLEST`` and ``LARGEST``."""
    far = [abs(z) for side in (R.numerator, R.denominator) for z in _roots(side)]
    return float(np.ceil(min(LARGEST, max([SMALLEST, *(1.25 * x for x in far)]))))


def svg(method: Method) -> str:
    """The stability region and the order star beside each other, shaded, with the poles × and the zeros ○ of R.

    The same method gives the same text. ImportError without matplotlib, TypeError for a pair.
    """
    check_available()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    R = stability_function(method)
    half = window(R)
    line = np.linspace(-half, half, POINTS)
    z = line[None, :] + 1j * line[:, None]
    name = str(getattr(resolve(method), "name", "method"))
    panels = (
        ("stability region |R(z)| ≤ 1", modulus(R, z), (0.0, 1.0)),
        ("order star |R(z)| > |exp z|", star(R, z), (1.0, np.inf)),
    )
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 3.8), layout="constrained")
        figure.suptitle(name)
        for axes, (title, values, shaded) in zip(figure.subplots(1, 2), panels, strict=True):
            inside = np.clip(values, 0.0, 2.0)  # an infinite value has no contour beside it
            axes.contourf(line, line, inside, levels=[max(0.0, shaded[0]), min(2.0, shaded[1])], colors=["#b8d4ea"])
            axes.contour(line, line, inside, levels=[1.0], colors=["#1f4e79"], linewidths=0.9)
            axes.axhline(0.0, color="#808080", linewidth=0.5)
            axes.axvline(0.0, color="#808080", linewidth=0.5)
            for side, marker in ((R.denominator, "x"), (R.numerator, "o")):
                roots = [w for w in _roots(side) if max(abs(w.real), abs(w.imag)) <= half]
                axes.plot(
                    [w.real for w in roots],
                    [w.imag for w in roots],
                    marker,
                    color="#a03020",
                    fillstyle="none",
                    markersize=4,
                )
            axes.set(title=title, xlabel="Re z", ylabel="Im z", aspect="equal", xlim=(-half, half), ylim=(-half, half))
        out = io.StringIO()
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": "odernn", "Title": name}, facecolor="white"
        )
    return out.getvalue()


def _values(p: Polynomial, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    values: NDArray[np.complex128] = np.asarray(np.polynomial.polynomial.polyval(z, _floats(p)), np.complex128)
    return values


def _roots(p: Polynomial) -> list[complex]:
    return [complex(w) for w in np.polynomial.polynomial.polyroots(_floats(p))] if len(p) > 1 else []


def _floats(p: Polynomial) -> list[float]:
    return [nearest_float(c) for c in p]
