"""Leapfrog, the integrator of symplectic recurrent networks, on H = z²/2 + y^p/p, which does not depend on time.

    z½ = z − (h/2) y^(p−1),   y' = y + h z½,   z' = z½ − (h/2) y'^(p−1)

is symplectic. It does not keep H; for p = 2 it keeps z²/2 + (1 − h²/4) y²/2, exactly, which is not H. Of a quadratic H
the implicit midpoint rule keeps H itself, of any H its exact flow. Everything is rational.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from flint import fmpq

from verification.cases.identity import PolynomialIdentity
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import brief, number
from verification.kinds import Integer, Rational
from verification.parameters import Parameter, declared, rationals

MOST_STEPS = 4


def _step(y: Any, z: Any, h: Any, p: int) -> tuple[Any, Any]:
    z = z - h / 2 * y ** (p - 1)
    y = y + h * z
    return y, z - h / 2 * y ** (p - 1)


def _step_again(y: Any, z: Any, h: Any, p: int) -> tuple[Any, Any]:
    """As Störmer's method: y' = y + h z − (h²/2) y^(p−1), and z' by the mean of both forces."""
    force = -(y ** (p - 1))
    moved = y + h * z + h * h / 2 * force
    return moved, z + h * (force - moved ** (p - 1)) / 2


def change_case(p: int = 4) -> Case:
    """H is the same after some steps; claimed of every symplectic integrator."""

    def change(parameters: Parameters, make: Callable[[Fraction], Any], step: Callable[..., tuple[Any, Any]]) -> Any:
        h, y, z = (make(number(parameters, name)) for name in ("h", "y", "z"))
        start = z**2 / 2 + y**p / p
        for _ in range(int(parameters["steps"])):
            y, z = step(y, z, h, p)
        return z**2 / 2 + y**p / p - start

    def check(parameters: Parameters) -> Check:
        first = change(parameters, lambda x: x, _step)
        found = change(parameters, lambda x: fmpq(x.numerator, x.denominator), _step_again)
        second = Fraction(int(found.p), int(found.q))
        return Check(
            opinions=(
                Opinion("fractions", first != 0, f"H changes by {brief(first)}"),
                Opinion("flint", second != 0, f"H changes by {brief(second)}"),
            ),
            words=f"H = z²/2 + y^{p}/{p}, h = {parameters['h']}, from y = {parameters['y']}, z = {parameters['z']}: H "
            f"changes by {brief(first)} in {parameters['steps']} leapfrog step(s)",
            apart="" if second == first else "the changes differ",
        )

    def ask(_: Budget, __: int) -> Attempt:
        grid = [
            {"h": h, "y": y, "z": z, "steps": steps}
            for h, y, z, steps in itertools.product(("1/2", "1/10"), ("1", "0"), ("0", "1"), ("1", "4"))
        ]
        changing = tuple(each for each in grid if check(each).opinions[0].violated)
        shown = "H changes" if changing else "H constant"
        return Attempt("one pair, 1 and 4 steps", len(grid), found=shown, claimed="H constant", candidates=changing[:3])

    parameters = declared(
        *rationals("h", above=0, below=1), *rationals("y", "z"), Parameter("steps", Integer(1, MOST_STEPS))
    )
    return Case(f"leapfrog, H = z²/2 + y^{p}/{p}", "H along the steps", ask, parameters.guards(check))


def kept_case(share: Fraction = Fraction(1, 4)) -> Case:
    """p = 2: z²/2 + (1 − share h²) y²/2 is kept; true of share = 1/4 alone."""

    def residual(step: Callable[..., tuple[Any, Any]]) -> Callable[[Mapping[str, Any]], list[Any]]:
        def of(v: Mapping[str, Any]) -> list[Any]:
            """h = 2g, so that no halves are left; 1 − share h² = 1 − 4 share g²."""
            g, quarters = v["g"], int(4 * share)
            y, z = step(v["y"], v["z"], 2 * g, 2)
            return [z * z - v["z"] ** 2 + (1 - quarters * g * g) * (y * y - v["y"] ** 2)]

        return of

    identity = PolynomialIdentity(
        ("g", "y", "z"),
        residual(_step),
        residual(_step_again),
        "leapfrog on H = (y² + z²)/2: z² + (1 − h²/4) y² before and after a step",
        {"g": Rational(above=0)},
    )
    return identity.case("leapfrog, H = (y² + z²)/2", "z² + (1 − h²/4) y² along the steps")


def midpoint_case(share: int = 1) -> Case:
    """x' = x + h J S (x + x')/2 keeps xᵀSx, x = (y, z), S = [[a, b], [b, c]], where it can be solved.

    With h = 2g, (I − gJS) x' = (I + share gJS) x, both sides times D = det(I − gJS) = 1 + g²(ac − b²). Any other
    ``share`` is a falsehood: 0 is the implicit Euler method.
    """

    def energy(v: Mapping[str, Any], y: Any, z: Any) -> Any:
        return v["a"] * y * y + 2 * v["b"] * y * z + v["c"] * z * z

    def solved(v: Mapping[str, Any], y: Any, z: Any) -> tuple[Any, Any]:
        """D (I − gJS)⁻¹ (y, z), JS = [[b, c], [−a, −b]]."""
        g, b = v["g"], v["b"]
        return (1 + g * b) * y + g * v["c"] * z, (1 - g * b) * z - g * v["a"] * y

    def residual(v: Mapping[str, Any]) -> list[Any]:
        g, y, z, b = share * v["g"], v["y"], v["z"], v["b"]
        determinant = 1 + v["g"] ** 2 * (v["a"] * v["c"] - b * b)
        after = solved(v, y + g * (b * y + v["c"] * z), z - g * (v["a"] * y + b * z))
        return [energy(v, *after) - determinant**2 * energy(v, y, z)]

    def residual_again(v: Mapping[str, Any]) -> list[Any]:
        """By x' = (1 + share) m − share x, (I − gJS) m = x."""
        first, second = solved(v, v["y"], v["z"])
        D = v["g"] * v["g"] * v["a"] * v["c"] - (v["g"] * v["b"]) ** 2 + 1
        y, z = (1 + share) * first - share * D * v["y"], (1 + share) * second - share * D * v["z"]
        return [y * (v["a"] * y + v["b"] * z) + z * (v["b"] * y + v["c"] * z) - D * D * energy(v, v["y"], v["z"])]

    identity = PolynomialIdentity(
        ("g", "a", "b", "c", "y", "z"),
        residual,
        residual_again,
        "implicit midpoint on H = (a y² + 2b y z + c z²)/2, h = 2g: D² H before and after a step, D = 1 + g²(ac − b²)",
        {"g": Rational(above=0)},
    )
    return identity.case("implicit midpoint, H = (a y² + 2b y z + c z²)/2", "H along the steps")


_MONOMIALS = tuple((i, degree - i) for degree in (1, 2, 3) for i in range(degree + 1))


def flow_case(sign: int = -1) -> Case:
    """dH/dt = 0 along y' = ∂H/∂z, z' = −∂H/∂y for every cubic H without a time in it; true of ``sign`` = −1 alone."""

    def coefficients(v: Mapping[str, Any]) -> Iterator[tuple[Any, int, int]]:
        return ((v[f"c{i}{j}"], i, j) for i, j in _MONOMIALS)

    def velocity(v: Mapping[str, Any]) -> tuple[Any, Any]:
        y, z = v["y"], v["z"]
        by_y = sum(c * i * y ** max(i - 1, 0) * z**j for c, i, j in coefficients(v))
        return sum(c * j * y**i * z ** max(j - 1, 0) for c, i, j in coefficients(v)), sign * by_y

    def residual(v: Mapping[str, Any]) -> list[Any]:
        """By the power rule, monomial by monomial."""
        (y, z), (dy, dz) = (v["y"], v["z"]), velocity(v)
        return [
            sum(
                c * (i * y ** max(i - 1, 0) * dy * z**j + j * y**i * z ** max(j - 1, 0) * dz)
                for c, i, j in coefficients(v)
            )
        ]

    def residual_again(v: Mapping[str, Any]) -> list[Any]:
        """By differences, exact for a cubic f: 12 f′(0) = 8(f(1) − f(−1)) − (f(2) − f(−2))."""

        def slope(dy: Any, dz: Any) -> Any:
            """12 times the derivative of H along (dy, dz)."""

            def at(t: int) -> Any:
                return sum(c * (v["y"] + t * dy) ** i * (v["z"] + t * dz) ** j for c, i, j in coefficients(v))

            return 8 * (at(1) - at(-1)) - (at(2) - at(-2))

        return [slope(slope(0, 1), sign * slope(1, 0))]  # 144 times

    identity = PolynomialIdentity(
        (*(f"c{i}{j}" for i, j in _MONOMIALS), "y", "z"),
        residual,
        residual_again,
        "dH/dt along y' = ∂H/∂z, z' = −∂H/∂y, H = Σ c_ij y^i z^j, i + j ≤ 3, against 0",
        {},
    )
    return identity.case("exact flow, H any cubic", "H along the flow")
