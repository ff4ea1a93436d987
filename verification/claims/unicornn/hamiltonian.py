# Claims: both-4-hamiltonian · both-9-gradHamiltonian · both-liouville-a · both-liouville-b · both-2.1-frequency ·
#   icml-4-damping · both-2.2-exactH
"""Energies of UnICORNN: the Hamiltonians of (2) and (8), what Liouville's theorem excludes, what α is, and whether the
scheme keeps the Hamiltonian.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy
from flint import Ordering, arb, arb_series, fmpq, fmpq_mpoly_ctx

from odernn.published.sources import Source
from verification.cases import leapfrog_energy
from verification.cases.identity import PolynomialIdentity
from verification.certify.second import exact_network as again
from verification.certify.second.intervals import iv
from verification.claim import GIVEN, Attempt, Case, Check, Claim, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Rational
from verification.measure import exact_network as net
from verification.measure import ring_matrices
from verification.measure.exact_network import Shape
from verification.parameters import Rule, declared, rationals

# --- (4): H = α/2 |y|² + 1/2 |z|² + Σ (1/w_i) log cosh(w_i y_i + (V u)_i + b_i)


LARGEST = 1000


def hamiltonian_case(sign: int = 1, power: int = -1) -> Case:
    """y' = ∂H/∂z, z' = −∂H/∂y with the potential sign · w^power · log cosh A; the published one has 1 and −1."""

    def ask(_: Budget, __: int) -> Attempt:
        left = [entry for m in (1, 2, 3) for entry in _hamiltonian_residual(m, sign, power)]
        text = f"m ≤ 3, two inputs: {len(left)} differences as functions of α, w ≠ 0, V, b, u, y, z"
        if all(entry == 0 for entry in left):
            return Attempt(text, len(left), found="0", claimed="0", proof=f"{text}, all 0 with sinh = tanh · cosh")
        names = ("w", "y", "x", "alpha")
        grid = [dict(zip(names, words, strict=True)) for words in itertools.product(("2", "1", "-1"), *["01"] * 3)]
        differing = tuple(p for p in grid if check(p).opinions[0].violated)
        return Attempt(text, len(grid), found="differs", claimed="equal", candidates=differing[:3] or (grid[0],))

    def check(parameters: Parameters) -> Check:
        w, y, x, alpha = (number(parameters, name) for name in ("w", "y", "x", "alpha"))
        with net.at_precision():
            W, Y, X, a = map(_ball, (w, y, x, alpha))
            A = arb_series([W * Y + X, W], prec=2)
            cosh = (A.exp() + (-A).exp()) / 2
            slope = (cosh.log() * (sign * W**power) + arb_series([Y, 1], prec=2) ** 2 * (a / 2))[1]
            first = slope - ((W * Y + X).tanh() + a * Y)
        w_, y_, x_, a_ = map(_interval, (w, y, x, alpha))
        up, down = again.iv.exp(w_ * y_ + x_), again.iv.exp(-w_ * y_ - x_)
        quotient = sign * w_ * (up - down) / (up + down)
        weighted = quotient / w_ if power == -1 else quotient * w_**power
        second = weighted + a_ * y_ - (again.tanh(w_ * y_ + x_) + a_ * y_)
        return Check(
            opinions=(
                Opinion("balls", not first.contains(0), f"∂H/∂y − (tanh A + α y) = {first.str(12)}"),
                Opinion("mpmath", again.excludes_zero(second), f"difference {mpmath.nstr(second, 12)}"),
            ),
            words=f"w = {w}, y = {y}, V u + b = {x}, α = {alpha}: ∂H/∂y is not tanh A + α y",
        )

    parameters = declared(
        *rationals("w", least=-LARGEST, most=LARGEST, nonzero=True),
        *rationals("y", "x", least=-LARGEST, most=LARGEST),
        *rationals("alpha", least=0, most=LARGEST),
    )
    return Case("m ≤ 3", "(2) against (4)", ask, parameters.guards(check))


def _hamiltonian_residual(m: int, sign: int, power: int) -> list[Any]:
    y, z, w, b, v0, v1, T, C = (sympy.symbols(f"{name}1:{m + 1}") for name in ("y", "z", "w", "b", "v", "r", "T", "C"))
    alpha, u0, u1 = sympy.symbols("alpha u0 u1")
    A = [w[i] * y[i] + v0[i] * u0 + v1[i] * u1 + b[i] for i in range(m)]
    H = alpha / 2 * sum(t**2 for t in y) + sum(t**2 for t in z) / 2
    H += sum(sign * w[i] ** power * sympy.log(sympy.cosh(A[i])) for i in range(m))
    names = {f: g for i in range(m) for f, g in ((sympy.sinh(A[i]), T[i] * C[i]), (sympy.cosh(A[i]), C[i]))}
    residuals = []
    for i in range(m):
        residuals += [sympy.diff(H, z[i]) - z[i], sympy.diff(H, y[i]).subs(names) - (T[i] + alpha * y[i])]
    return [sympy.cancel(entry) for entry in residuals]


# --- (8), (9): the sensitivities, two neurons; derivatives of a quadratic by exact central differences


def _sensitivity_energy(v: Mapping[str, Any], y: list[Any], z: list[Any]) -> Any:
    """2 H of (9)."""
    total = 0
    for i in (1, 2):
        total = total + v["alpha"] * y[i - 1] * y[i - 1] + z[i - 1] * z[i - 1]
        total = total + v[f"s{i}"] * v[f"w{i}"] * y[i - 1] * y[i - 1] + 2 * v[f"s{i}"] * v[f"C{i}"] * y[i - 1]
    return total


def _sensitivity_flow(v: Mapping[str, Any], y: list[Any], z: list[Any]) -> tuple[list[Any], list[Any]]:
    """(8): (y_θ', z_θ')."""
    return z, [-(v[f"s{i + 1}"] * (v[f"w{i + 1}"] * y[i] + v[f"C{i + 1}"]) + v["alpha"] * y[i]) for i in range(len(y))]


def _grown(values: list[Any], place: int, by: int) -> list[Any]:
    return [x + by if j == place else x for j, x in enumerate(values)]


def _sensitivities(v: Mapping[str, Any]) -> list[Any]:
    y, z = [v["y1"], v["y2"]], [v["z1"], v["z2"]]
    dy, dz = _sensitivity_flow(v, y, z)
    residuals = []
    for i in range(2):
        by_z = _sensitivity_energy(v, y, _grown(z, i, 1)) - _sensitivity_energy(v, y, _grown(z, i, -1))
        by_y = _sensitivity_energy(v, _grown(y, i, 1), z) - _sensitivity_energy(v, _grown(y, i, -1), z)
        residuals += [by_z - 4 * dy[i], by_y + 4 * dz[i]]
    return residuals


def _sensitivities_again(v: Mapping[str, Any]) -> list[Any]:
    """Neuron by neuron, with κ = α + σ' w and differences over a length of 4."""
    residuals = []
    for i in "12":
        y, z, s, kappa = v["y" + i], v["z" + i], v["s" + i], v["alpha"] + v["s" + i] * v["w" + i]
        drive = s * v["C" + i]
        at = [(kappa * (y + t) / 2 + drive) * (y + t) for t in (-2, 2)]
        momentum = [(z + t) ** 2 / 2 for t in (-2, 2)]
        residuals += [(at[1] - at[0]) / 4 + (-kappa * y - drive), (momentum[1] - momentum[0]) / 4 - z]
    return residuals


_SENSITIVITY_NAMES = ("alpha", "w1", "w2", "s1", "s2", "C1", "C2", "y1", "y2", "z1", "z2")
SENSITIVITIES = PolynomialIdentity(
    _SENSITIVITY_NAMES,
    _sensitivities,
    _sensitivities_again,
    "(8) against the gradient of (9)",
    {name: Rational(above=0, most=1) for name in ("s1", "s2")},
)


# --- Liouville: fixed points of (8) with constant A and C = 0: M = [[0, 1], [−κ, −γ]], κ = α + w σ', γ = 0


def fixed_point_case(*, asymptotic: bool, damping: int = 0) -> Case:
    """(0, 0) of (8) is never (asymptotically) stable. ``damping`` > 0 would be another system, z' = … − γ z.

    u = 0, b = 0 and the zero start keep y = 0, A = 0, σ' = 1, and θ = w has C = y = 0: (0, 0) is a fixed point.
    """

    def ask(_: Budget, __: int) -> Attempt:
        if asymptotic and damping == 0:
            proof = _without_divergence()
            if proof:
                return Attempt(proof, 1, found="divergence 0", claimed="no contraction", proof=proof)
        grid = [{"alpha": str(a), "w": str(w)} for a in (1, 0, 2) for w in (1, -2, 2, 0)]
        stable = tuple(p for p in grid if check(p).opinions[0].violated)
        tried = "zero input, θ = w, α in {0, 1, 2}, w in {−2, 0, 1, 2}"
        return Attempt(tried, len(grid), found="stable" if stable else "none stable", candidates=stable[:3])

    def check(parameters: Parameters) -> Check:
        alpha, w = number(parameters, "alpha"), number(parameters, "w")
        kappa, trace = alpha + w, -Fraction(damping)
        # V = κ y² + z² is positive definite iff κ > 0, and V' = −2γ z²
        first = kappa > 0 and (damping > 0 if asymptotic else damping >= 0)
        a_, w_ = _interval(alpha), _interval(w)
        radicand = iv.mpf(trace.numerator) ** 2 / 4 - (a_ + w_)  # eigenvalues −γ/2 ± √radicand
        real_part = iv.mpf(trace.numerator) / 2
        if radicand.b < 0:
            second = bool(real_part.b < 0 or (not asymptotic and real_part.b <= 0))
        else:
            second = bool(radicand.a >= 0 and (real_part + iv.sqrt(radicand)).b < 0)
        kind = "asymptotically stable" if asymptotic else "stable"
        return Check(
            opinions=(
                Opinion("exact", first, f"V = {kappa} y² + z², V' = {-2 * damping} z²"),
                Opinion("mpmath", second, f"eigenvalues {trace}/2 ± √({mpmath.nstr(radicand.mid, 6)}), simple"),
            ),
            words=f"α = {alpha}, w = {w}, u = 0, b = 0, θ = w: y = 0, C = 0, and (8) is y_θ'' = −{kappa} y_θ; "
            f"(0, 0) is {kind}: V = {kappa} y_θ² + z_θ² {'is constant' if damping == 0 else 'decreases'}",
        )

    quantity = "asymptotic stability" if asymptotic else "stability of (0, 0)"
    return Case("free", quantity, ask, declared(*rationals("alpha", least=0), *rationals("w")).guards(check))


def _divergence(v: Mapping[str, Any]) -> list[Any]:
    """Of (8), affine in (y_θ, z_θ): the exact differences of its components in their own coordinates, two neurons."""
    y, z = [v["y1"], v["y2"]], [v["z1"], v["z2"]]
    dy, dz = _sensitivity_flow(v, y, z)
    total: Any = 0
    for i in range(2):
        total = total + _sensitivity_flow(v, _grown(y, i, 1), z)[0][i] - dy[i]
        total = total + _sensitivity_flow(v, y, _grown(z, i, 1))[1][i] - dz[i]
    return [total]


def _divergence_again(v: Mapping[str, Any]) -> list[Any]:
    """The trace of the matrix of (8), entries by hand."""
    rows = [[0, 1, 0, 0], [-(v["alpha"] + v["s1"] * v["w1"]), 0, 0, 0]]
    rows += [[0, 0, 0, 1], [0, 0, -(v["alpha"] + v["s2"] * v["w2"]), 0]]
    return [sum(rows[j][j] for j in range(4))]


DIVERGENCE = PolynomialIdentity(_SENSITIVITY_NAMES, _divergence, _divergence_again, "div of (8) against 0")


def _without_divergence() -> str:
    """The proof that no fixed point of (8) attracts a neighbourhood, "" if the divergence is not 0."""
    budget: Any = None
    proof = DIVERGENCE.ask(budget, 0).proof
    return proof and (
        f"{proof}; so by Liouville's formula the fundamental matrix of (8) has determinant 1 at all times, and it does "
        "not tend to 0, as it would if all solutions near a fixed point tended to it"
    )


# --- α: a frequency? a damping?


def frequency_case(w: Fraction, claimed_power: Fraction = Fraction(1)) -> Case:
    """y'' = −(α + w) y, (1) without input near A = 0, has the angular frequency α^claimed_power (published: α)."""

    def ask(_: Budget, __: int) -> Attempt:
        grid = [{"alpha": str(alpha)} for alpha in (4, 1, Fraction(1, 4), 9)]
        differing = tuple(p for p in grid if check(p).opinions[0].violated)
        return Attempt(
            "α in {1/4, 1, 4, 9}",
            len(grid),
            found="differs" if differing else "equal",
            claimed="equal",
            candidates=differing[:3],
        )

    def check(parameters: Parameters) -> Check:
        alpha = number(parameters, "alpha")
        with net.at_precision():
            measured = _ball(alpha + w).sqrt()
            claimed = _ball(alpha) if claimed_power == 1 else _ball(alpha).sqrt()
            differs = not (measured - claimed).contains(0)
        again_ = iv.sqrt(_interval(alpha) + _interval(w))
        said = _interval(alpha) if claimed_power == 1 else iv.sqrt(_interval(alpha))
        return Check(
            opinions=(
                Opinion("balls", differs, f"frequency {measured.str(8, radius=False)}, α = {alpha}"),
                Opinion("mpmath", again.excludes_zero(again_ - said), f"frequency {mpmath.nstr(again_.mid, 8)}"),
            ),
            words=f"α = {alpha}, w = {w}: y'' = −{alpha + w} y has the angular frequency "
            f"{measured.str(6, radius=False)}, not {claimed.str(6, radius=False)}",
        )

    parameters = declared(*rationals("alpha", above=max(Fraction(0), -w)))
    return Case(f"w = {w}, no input", "angular frequency", ask, parameters.guards(check))


def every_amplitude_case(factor: int = 1) -> Case:
    """w = 0: y = y₀ c + (z₀/r) s, z = −r y₀ s + z₀ c with c′ = −f r s, s′ = f r c, α = r², solve y′ = z, z′ = −α y.

    c and s are cosine and sine of f r t, whatever y₀ and z₀ are; f = 1 is the statement.
    """

    def residual(v: Mapping[str, Any]) -> list[Any]:
        r, y, z, c, s = (v[name] for name in ("r", "y", "z", "c", "s"))
        c_dot, s_dot = -factor * r * s, factor * r * c
        position, momentum = r * y * c + z * s, z * c - r * y * s  # r times the position
        return [
            r * y * c_dot + z * s_dot - r * momentum,
            z * c_dot - r * y * s_dot + r * position,
        ]

    def retyped(v: Mapping[str, Any]) -> list[Any]:
        """By the matrix of the system on the two vectors of cos and sin: M P = f r Q, M Q = −f r P."""
        r, y, z, c, s = (v[name] for name in ("r", "y", "z", "c", "s"))
        P, Q = (r * y, r * z), (z, -r * r * y)  # r times (y, z) at cos = 1, and at sin = 1
        flow = [(X[1], -r * r * X[0]) for X in (P, Q)]
        return [(flow[0][i] - factor * r * Q[i]) * c + (flow[1][i] + factor * r * P[i]) * s for i in range(2)]

    identity = PolynomialIdentity(
        ("r", "y", "z", "c", "s"),
        residual,
        retyped,
        "w = 0, no input, α = r²: every solution is a sum of cos(√α t) and sin(√α t)",
        {"r": Rational(above=0)},
    )
    return identity.case("w = 0, no input", "angular frequency √α, at every amplitude")


def tuning_case(name: str, sign: int = 1) -> Case:
    """Near A = 0 the frequency √(α + w) grows strictly (falls, with ``sign`` −1) with "alpha", resp. with "w"."""

    def squared(alpha: Any, w: Any) -> Any:
        """det of y' = z, z' = −(α + w σ'(0)) y: the square of the frequency."""
        matrix: ring_matrices.Matrix = [[0, 1], [-(alpha + w), 0]]
        return ring_matrices.determinant(matrix)

    def ask(_: Budget, __: int) -> Attempt:
        ring = fmpq_mpoly_ctx.get(["alpha", "w", "gap"], Ordering.degrevlex)
        alpha, w, gap = ring.gens()
        moved = (alpha + gap, w) if name == "alpha" else (alpha, w + gap)
        rest = sign * (squared(*moved) - squared(alpha, w))
        text = f"the squares of the two frequencies differ by {rest}"
        if all(coefficient > 0 for coefficient in rest.coeffs()) and set(rest.monoms()) == {(0, 0, 1)}:
            return Attempt(text, 1, found="grows", claimed="grows", proof=f"{text} > 0, and both are positive")
        return Attempt(text, 1, found="falls", claimed="grows", candidates=({"alpha": "1", "w": "0", "gap": "1"},))

    def check(parameters: Parameters) -> Check:
        alpha, w, gap = (number(parameters, each) for each in ("alpha", "w", "gap"))
        with net.at_precision():
            slow = _ball(alpha + w).sqrt()
            fast = _ball(alpha + w + gap).sqrt()
            first = bool(fast <= slow) if sign > 0 else bool(fast >= slow)
        a, v, d = (_interval(each) for each in (alpha, w, gap))
        later = iv.sqrt(a + d + v) - iv.sqrt(a + v)
        second = bool(later.b <= 0) if sign > 0 else bool(later.a >= 0)
        return Check(
            opinions=(
                Opinion("balls", first, f"frequencies {slow.str(8, radius=False)}, {fast.str(8, radius=False)}"),
                Opinion("mpmath", second, f"they differ by {mpmath.nstr(later.mid, 8)}"),
            ),
            words=f"α = {alpha}, w = {w}, {name} larger by {gap}: {fast.str(6, radius=False)} for "
            f"{slow.str(6, radius=False)}",
        )

    parameters = declared(
        *rationals("alpha", above=0, most=LARGEST),
        *rationals("w", least=-LARGEST, most=LARGEST),
        *rationals("gap", above=0, most=LARGEST),
        rules=(Rule("α + w > 0", lambda values: values["alpha"] + values["w"] > 0),),
    )
    letter = "α" if name == "alpha" else name
    return Case("near A = 0, no input", f"√(α + w) grows with {letter}", ask, parameters.guards(check))


def damping_case(*, discrete: bool, damping: int = 0) -> Case:
    """Free oscillations (w = 0, no input) decay: every eigenvalue of y'' = −α y, or of its step, is inside.

    ``damping`` > 0 would be another system, with −γ z in the force.
    """

    def ask(_: Budget, __: int) -> Attempt:
        grid = [{"alpha": str(a), "h": "1/4"} for a in (1, Fraction(1, 4), 4, 9)]
        undamped = tuple(p for p in grid if check(p).opinions[0].violated)
        tried = "α in {1/4, 1, 4, 9}, h = 1/4"
        shown = "no decay" if undamped else "decay"
        return Attempt(tried, len(grid), found=shown, claimed="decay", candidates=undamped[:3])

    def check(parameters: Parameters) -> Check:
        alpha, h = number(parameters, "alpha"), number(parameters, "h")
        kick = [-h * alpha, 1 - h * damping]
        matrix: ring_matrices.Matrix = (
            [[1 + h * kick[0], h * kick[1]], kick] if discrete else [[0, 1], [-alpha, -damping]]
        )
        trace = Fraction(matrix[0][0] + matrix[1][1])
        det = Fraction(matrix[0][0] * matrix[1][1] - matrix[0][1] * matrix[1][0])
        oscillates = trace**2 < 4 * det
        first = oscillates and (det >= 1 if discrete else trace >= 0)
        a_, h_ = _interval(alpha), _interval(h)
        if discrete:  # B = [[1 − h²α, h − γh²], [−hα, 1 − γh]]
            own = (1 - h_ * h_ * a_, h_ - damping * h_ * h_, -h_ * a_, 1 - damping * h_)
        else:
            own = (iv.mpf(0), iv.mpf(1), -a_, iv.mpf(-damping))
        tr_, det_ = own[0] + own[3], own[0] * own[3] - own[1] * own[2]
        second = bool((tr_ * tr_ - 4 * det_).b < 0) and bool(det_.a >= 1 if discrete else tr_.a >= 0)
        size = f"|λ|² = det B = {det}" if discrete else f"Re λ = {trace / 2}"
        return Check(
            opinions=(
                Opinion("exact", first, f"{size}, trace {trace}"),
                Opinion("mpmath", second, f"trace {mpmath.nstr(tr_.mid, 8)}, determinant {mpmath.nstr(det_.mid, 8)}"),
            ),
            words=f"α = {alpha}" + (f", h = {h}" if discrete else "") + f", w = 0, no input: {size}; oscillations keep "
            "their amplitude",
        )

    parameters = declared(*rationals("alpha", above=0), *rationals("h", above=0, below=1))
    quantity = "decay, scheme (5)" if discrete else "decay, ODE (1)"
    return Case("free oscillations", quantity, ask, parameters.guards(check))


# --- the Hamiltonian along the scheme, constant input


def _energy_check(parameters: Parameters) -> Check:
    """H(X_N) − H(X_0) of one neuron."""
    w = number(parameters, "w")
    with net.at_precision():
        network, states = net.typed(parameters, "icml")
        weights, u = network.weights, [level[0][0] for level in network.levels]

        def energy(state: net.State) -> Any:
            ((y,), (z,)) = state[0]
            A = weights.w[0][0] * y + weights.V[0][0][0] * u[0] + weights.b[0][0]
            return (weights.alpha * y * y + z * z) / 2 + A.cosh().log() / weights.w[0][0]

        change = energy(states[-1]) - energy(states[0])

    def change_again(t: again.IntervalNetwork) -> list[Any]:
        """With log cosh A − log cosh B = log of the quotient, compared through exp: no logarithm is needed."""
        n = t.N
        y, z, weight, shift = t.y[n][1][0], t.z[n][1][0], t.w[1][0], t.V[1][0][0] * t.y[0][0][0] + t.b[1][0]
        kinetic = (t.alpha * y * y + z * z) / 2
        A = weight * y + shift
        ends = [again.iv.exp(t) + again.iv.exp(-t) for t in (A, shift)]
        return [again.iv.exp(kinetic * weight) * ends[0] - ends[1]]  # 0 iff w (kinetic + potential) does not change

    return Check(
        opinions=(
            Opinion("balls", not change.contains(0), f"H(X_N) − H(X_0) = {change.str(12)}"),
            Opinion("mpmath", *again.run(dict(parameters), False, change_again)),
        ),
        premises=(Premise("w ≠ 0", str(abs(w)), w != 0),),
        words=f"{GIVEN}: H changes by {change.str(6, radius=False)} in {network.steps} step(s)",
    )


ONE_NEURON = net.declared_network([Shape(1, 1, 8)], constant_input=True)


def _energy(_: Budget, __: int) -> Attempt:
    grid = [net.small_network(Shape(1, 1, steps), b=b, u=u) for steps in (1, 2, 8) for b in "01" for u in "01"]
    changing = tuple(p for p in grid if _energy_check(p).opinions[0].violated)
    shown = "H changes" if changing else "H constant"
    return Attempt("one neuron, 1 to 8 steps", len(grid), found=shown, claimed="H constant", candidates=changing[:3])


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _interval(value: Fraction) -> Any:
    return iv.mpf(value.numerator) / value.denominator


CLAIMS = (
    Claim(
        id="both-4-hamiltonian",
        source=Source("sam", "(2)-(4)"),
        statement="(2) is Hamiltonian: y' = ∂H/∂z, z' = −∂H/∂y, H = α/2 |y|² + 1/2 |z|² + Σ_i (1/w_i) log cosh(w_i y_i "
        "+ (V u(t))_i + b_i), w_i ≠ 0",
        semantics="alg",
        cases=(hamiltonian_case(),),
    ),
    Claim(
        id="both-9-gradHamiltonian",
        source=Source("sam", "(8), (9)"),
        statement="the sensitivity system (8) is Hamiltonian, H = α/2 |y_θ|² + 1/2 |z_θ|² + 1/2 Σ σ'(A_i) w_i (y_θ)_i² "
        "+ Σ σ'(A_i) C_i(t) (y_θ)_i, θ in {w, V, b}",
        semantics="alg",
        cases=(SENSITIVITIES.case("m = 2", "(8) against (9)"),),
    ),
    Claim(
        id="both-liouville-a",
        source=Source("sam", "Section 3"),
        statement="(8) has no asymptotically stable fixed point, by Liouville's theorem",
        semantics="real",
        cases=(fixed_point_case(asymptotic=True),),
    ),
    Claim(
        id="both-liouville-b",
        source=Source("sam", "Section 3"),
        statement="hence (0, 0) is no asymptotically stable fixed point of (8), for (y_θ, z_θ); also tried: stable in "
        "the sense of Lyapunov",
        semantics="real",
        cases=(fixed_point_case(asymptotic=True), fixed_point_case(asymptotic=False)),
    ),
    Claim(
        id="both-2.1-frequency",
        source=Source("sam", "Section 2.1"),
        statement="each oscillator's dynamics is determined by the frequency α: α sets the frequency of free "
        "oscillations, the same for all neurons, and w modulates it",
        semantics="real",
        cases=(
            frequency_case(Fraction(0)),
            frequency_case(Fraction(1)),
            every_amplitude_case(),
            tuning_case("alpha"),
            tuning_case("w"),
        ),
    ),
    Claim(
        id="icml-4-damping",
        source=Source("icml", "Section 4"),
        statement="α is the damping parameter: free oscillations lose amplitude if α > 0",
        semantics="real",
        cases=(damping_case(discrete=False), damping_case(discrete=True)),
    ),
    Claim(
        id="both-2.2-exactH",
        source=Source("sam", "Section 2.2"),
        statement="said of the symplectic RNNs that are cited: a symplectic integrator of a time-independent "
        "Hamiltonian conserves it exactly, at all times; also tried: (5) with constant input, what "
        "leapfrog does keep, the implicit midpoint rule on a quadratic one, and the exact flow",
        semantics="real",
        cases=(
            leapfrog_energy.change_case(),
            leapfrog_energy.kept_case(),
            leapfrog_energy.midpoint_case(),
            leapfrog_energy.flow_case(),
            Case("constant input", "H along (5)", _energy, ONE_NEURON.guards(_energy_check)),
        ),
    ),
)
