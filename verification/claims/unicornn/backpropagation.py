# Claims: both-B-recursion · both-B-verification
"""The published recursion of backpropagation through time for one neuron, sam (19)-(21), icml S(3)-(5), and its
verification line by line.

Both papers print the verification as a chain. Tried of it: the chain rule, the one-step rules for dE/dz_n and dE/dy_n
that it uses, δ^z_k and δ^y_k as what multiplies ∂z_{N−k}/∂w and ∂y_{N−k}/∂w, the a_k that are split off; and, for which
no formula is printed, x_n and dt. dE/dy_n holds z_n; in dE/dz_n, y_n = y_{n−1} + h z_n follows z_n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from odernn.published.sources import Source
from verification.cases.identity import PathIdentity
from verification.certify.second import exact_network as again
from verification.claim import Claim
from verification.measure.exact_network import Layered, Shape

# The loss is any E = Σ_n Et_n(y_n): only the numbers Et_n'(y_n) enter. They are taken from level 0 of the run, free
# symbols in the proof; in a typed network that is the loss Σ u_n y_n.


def published_deltas(network: Layered) -> tuple[list[Any], list[Any]]:
    """(δ^y_0, …, δ^y_{N−1}) and (δ^z_1, …, δ^z_N) as printed; A_{N−k} is the argument of step N − k + 1."""
    weights, N = network.weights, network.steps
    h, w, alpha = weights.h[0][0], weights.w[0][0], weights.alpha
    dy, dz = [_loss_slope(network, N)], [0]
    for k in range(1, N + 1):
        dz.append(dz[-1] + dy[-1] * h)
        dy.append(dy[-1] - dz[-1] * h * (_slope(network, N - k + 1) * w + alpha) + _loss_slope(network, N - k))
    return dy[:N], dz[1:]


def published_terms(network: Layered) -> list[Any]:
    """(a_1, …, a_N) as printed."""
    h, N = network.weights.h[0][0], network.steps
    dz = published_deltas(network)[1]
    return [-dz[k - 1] * h * _slope(network, N - k + 1) * _position(network, N - k) for k in range(1, N + 1)]


def _loss_slope(network: Layered, n: int) -> Any:
    return network.levels[n][0][0]


def _slope(network: Layered, n: int) -> Any:
    """σ'(A_{n−1}) of step n."""
    return network.slopes[n][0][0]


def _position(network: Layered, n: int) -> Any:
    return network.levels[n][1][0]


Partials = Callable[[int], tuple[Any, Any]]
"""The direct partial derivatives of (y_n, z_n) of step n, as a function of n."""


def forward(network: Layered, partials: Partials) -> Any:
    """Σ_n Et'(y_n) dy_n/dθ by the differentiated recursion, forward in time."""

    def source(_: int, n: int) -> tuple[list[Any], list[Any]]:
        y, z = partials(n)
        return [y], [z]

    return sum((_loss_slope(network, n) * network.along(n, source)[0] for n in range(1, network.steps + 1)), 0)


def _kick_by_w(network: Layered, n: int) -> Any:
    """∂z_n/∂w, direct."""
    return -network.weights.h[0][0] * _slope(network, n) * _position(network, n - 1)


def by_w(network: Layered) -> Any:
    """dE/dw."""
    h = network.weights.h[0][0]
    return forward(network, lambda n: (h * _kick_by_w(network, n), _kick_by_w(network, n)))


def by_state(network: Layered, n: int) -> Any:
    """dE/dy_n, z_n held, through all later states."""
    return _through(network, n, (1, 0))


def by_momentum(network: Layered, n: int) -> Any:
    """dE/dz_n, and y_n moves with it by h."""
    return _through(network, n, (network.weights.h[0][0], 1))


def _through(network: Layered, n: int, moved: tuple[Any, Any]) -> Any:
    total = 0
    for t in range(n, network.steps + 1):
        row = network.total(1, t, 1, n)[0]
        total = total + _loss_slope(network, t) * (row[0] * moved[0] + row[1] * moved[1])
    return total


def _gradient(network: Layered) -> list[Any]:
    return [by_w(network) - sum(published_terms(network), 0)]


def _gradient_again(network: again.IntervalNetwork) -> list[Any]:
    """p and q backward with the indices of the states, against dy/dw, dz/dw forward."""
    iv, N = again.iv, network.N
    h, w = network.h[1][0], network.w[1][0]
    p, q, summed = iv.mpf(0), iv.mpf(0), iv.mpf(0)
    for n in range(N, 0, -1):
        p += network.y[n][0][0]
        q += h * p
        summed -= q * h * network.s[n][1][0] * network.y[n - 1][1][0]
        p -= q * h * (network.alpha + w * network.s[n][1][0])
    dy, dz, exact = iv.mpf(0), iv.mpf(0), iv.mpf(0)
    for n in range(1, N + 1):
        dA = network.y[n - 1][1][0] + w * dy
        dz -= h * (network.s[n][1][0] * dA + network.alpha * dy)
        dy += h * dz
        exact += network.y[n][0][0] * dy
    return [exact - summed]


def _adjoints(network: Layered) -> list[Any]:
    dy, N = published_deltas(network)[0], network.steps
    return [dy[k] - by_state(network, N - k) for k in range(N)]


def _adjoints_again(network: again.IntervalNetwork) -> list[Any]:
    iv, N = again.iv, network.N
    h, adjoints = network.h[1][0], []
    dz = iv.mpf(0)
    dy = network.y[N][0][0]
    for k in range(N):
        exact = sum((network.y[t][0][0] * network.total(1, t, 1, N - k)[0][0] for t in range(N - k, N + 1)), iv.mpf(0))
        adjoints.append(dy - exact)
        slope = network.s[N - k][1][0]
        dz = dz + h * dy
        dy = dy - h * dz * (network.alpha + slope * network.w[1][0]) + network.y[N - k - 1][0][0]
    return adjoints


# --- the lines of the verification


def _chain_rule(network: Layered) -> list[Any]:
    """dE/dw = Σ_n Et'(y_n) dy_n/dw = Σ_n (dE/dz_n) ∂z_n/∂w."""
    steps = range(1, network.steps + 1)
    return [by_w(network) - sum((by_momentum(network, n) * _kick_by_w(network, n) for n in steps), 0)]


def _momentum_rule(network: Layered) -> list[Any]:
    """dE/dz_n = dE/dz_{n+1} + h dE/dy_n, and dE/dz_N = h dE/dy_N."""
    h, N = network.weights.h[0][0], network.steps
    later = [by_momentum(network, n) for n in range(1, N + 1)] + [0]
    return [later[n - 1] - later[n] - h * by_state(network, n) for n in range(1, N + 1)]


def _position_rule(network: Layered) -> list[Any]:
    """dE/dy_{n−1} = dE/dy_n − h (α + w σ'(A_{n−1})) dE/dz_n + Et'(y_{n−1}), and dE/dy_N = Et'(y_N)."""
    weights, N = network.weights, network.steps
    h, w, alpha = weights.h[0][0], weights.w[0][0], weights.alpha
    residuals = [by_state(network, N) - _loss_slope(network, N)]
    for n in range(1, N + 1):
        pull = h * (alpha + w * _slope(network, n)) * by_momentum(network, n)
        residuals.append(by_state(network, n - 1) - by_state(network, n) + pull - _loss_slope(network, n - 1))
    return residuals


def _momenta(network: Layered) -> list[Any]:
    dz, N = published_deltas(network)[1], network.steps
    return [dz[k - 1] - by_momentum(network, N - k + 1) for k in range(1, N + 1)]


def _terms(network: Layered) -> list[Any]:
    """a_k is what dE/dw is if w moves at step N − k + 1 only."""
    a, N, h = published_terms(network), network.steps, network.weights.h[0][0]

    def alone(step: int) -> Partials:
        return lambda n: (h * _kick_by_w(network, n), _kick_by_w(network, n)) if n == step else (0, 0)

    return [a[k - 1] - forward(network, alone(N - k + 1)) for k in range(1, N + 1)]


def _drives(network: Layered) -> list[Any]:
    """dE/dx_{N−k+1} = −δ^z_k h σ'(A_{N−k})."""
    dz, N, h = published_deltas(network)[1], network.steps, network.weights.h[0][0]

    def alone(step: int) -> Partials:
        return lambda n: (-h * h * _slope(network, n), -h * _slope(network, n)) if n == step else (0, 0)

    return [-dz[k - 1] * h * _slope(network, N - k + 1) - forward(network, alone(N - k + 1)) for k in range(1, N + 1)]


def _step_sizes(network: Layered) -> list[Any]:
    """h² dE/dh = h² Σ_k [δ^y_{k−1} z_{N−k+1} + δ^z_k f_{N−k+1}], f_n = (z_n − z_{n−1})/h; dE/d(dt) = σ̂ dE/dh.

    h z_n = y_n − y_{n−1} and z_0 = 0 write z and f in the positions: polynomials, and independent ones.
    """
    (dy, dz), N, h = published_deltas(network), network.steps, network.weights.h[0][0]

    def drift(n: int) -> Any:  # h z_n
        return _position(network, n) - _position(network, n - 1) if n else 0

    def force(n: int) -> Any:  # h² f_n
        return drift(n) - drift(n - 1)

    exact = forward(network, lambda n: (h * drift(n) + h * force(n), force(n)))
    summed = sum((dy[N - n] * h * drift(n) + dz[N - n] * force(n) for n in range(1, N + 1)), 0)
    return [exact - summed]


# --- the same for the second back-end: p_n and q_n backward, derivatives by the blocks of the network or forward


def _retyped(network: again.IntervalNetwork) -> tuple[list[Any], list[Any]]:
    """p[n] = δ^y_{N−n}, n ≤ N, and q[n] = δ^z_{N−n+1}, n ≥ 1, with the indices of the states."""
    iv, N = again.iv, network.N
    h, w = network.h[1][0], network.w[1][0]
    p, q = [iv.mpf(0)] * (N + 1), [iv.mpf(0)] * (N + 2)
    p[N] = network.y[N][0][0]
    for n in range(N, 0, -1):
        q[n] = h * p[n] + q[n + 1]
        p[n - 1] = network.y[n - 1][0][0] + p[n] - (network.alpha + network.s[n][1][0] * w) * q[n] * h
    return p, q


def _exact(network: again.IntervalNetwork) -> tuple[list[Any], list[Any]]:
    """(dE/dy_n, dE/dz_n) for n ≤ N through the blocks dX_t/dX_n."""
    P, Q = [], []
    for n in range(network.N + 1):
        y = z = again.iv.mpf(0)
        for t in range(max(n, 1), network.N + 1):
            (by_y, by_z), _ = network.total(1, t, 1, n)
            y += network.y[t][0][0] * by_y
            z += network.y[t][0][0] * (by_z + network.h[1][0] * by_y)
        P.append(y + network.y[0][0][0] if n == 0 else y)
        Q.append(z)
    return P, Q


def _pushed(network: again.IntervalNetwork, kick: Callable[[int], Any], drift: Callable[[int], Any]) -> Any:
    """Σ Et'(y_n) dy_n/dθ, where step n adds ``kick``(n) to dz and ``drift``(n) to dy beside h dz."""
    dy = dz = total = again.iv.mpf(0)
    for n in range(1, network.N + 1):
        pull = network.w[1][0] * network.s[n][1][0] + network.alpha
        dz = dz - network.h[1][0] * pull * dy + kick(n)
        dy = dy + network.h[1][0] * dz + drift(n)
        total += dy * network.y[n][0][0]
    return total


def _by_w_again(network: again.IntervalNetwork, only: int = 0) -> Any:
    def kick(n: int) -> Any:
        return -network.h[1][0] * network.s[n][1][0] * network.y[n - 1][1][0] if only in (0, n) else 0

    return _pushed(network, kick, lambda _: 0)


def _chain_rule_again(network: again.IntervalNetwork) -> list[Any]:
    Q, h = _exact(network)[1], network.h[1][0]
    steps = range(1, network.N + 1)
    direct = sum((Q[n] * h * network.s[n][1][0] * network.y[n - 1][1][0] for n in steps), again.iv.mpf(0))
    return [_by_w_again(network) + direct]


def _momentum_rule_again(network: again.IntervalNetwork) -> list[Any]:
    (P, Q), h = _exact(network), network.h[1][0]
    Q = [*Q, again.iv.mpf(0)]
    return [Q[n + 1] + h * P[n] - Q[n] for n in range(1, network.N + 1)]


def _position_rule_again(network: again.IntervalNetwork) -> list[Any]:
    (P, Q), N = _exact(network), network.N
    h, w = network.h[1][0], network.w[1][0]
    residuals = [network.y[N][0][0] - P[N]]
    for n in range(N, 0, -1):
        kappa = w * network.s[n][1][0] + network.alpha
        residuals.append(P[n] + network.y[n - 1][0][0] - Q[n] * kappa * h - P[n - 1])
    return residuals


def _momenta_again(network: again.IntervalNetwork) -> list[Any]:
    q, Q = _retyped(network)[1], _exact(network)[1]
    return [Q[n] - q[n] for n in range(1, network.N + 1)]


def _terms_again(network: again.IntervalNetwork) -> list[Any]:
    q, h = _retyped(network)[1], network.h[1][0]
    return [
        _by_w_again(network, only=n) + q[n] * network.s[n][1][0] * network.y[n - 1][1][0] * h
        for n in range(1, network.N + 1)
    ]


def _drives_again(network: again.IntervalNetwork) -> list[Any]:
    q, h = _retyped(network)[1], network.h[1][0]

    def alone(step: int) -> Any:
        return _pushed(network, lambda n: -h * network.s[n][1][0] if n == step else 0, lambda _: 0)

    return [alone(n) + h * q[n] * network.s[n][1][0] for n in range(1, network.N + 1)]


def _step_sizes_again(network: again.IntervalNetwork) -> list[Any]:
    """dE/dh with the force as it is in the step, −(tanh A + α y)."""
    (p, q), N = _retyped(network), network.N
    force = [again.iv.mpf(0)] + [
        -again.tanh(network.A[n][1][0]) - network.alpha * network.y[n - 1][1][0] for n in range(1, N + 1)
    ]
    exact = _pushed(network, force.__getitem__, lambda n: network.z[n][1][0])
    return [exact - sum((network.z[n][1][0] * p[n] + force[n] * q[n] for n in range(1, N + 1)), again.iv.mpf(0))]


GRADIENT = PathIdentity("icml", _gradient, _gradient_again, "dE/dw against Σ a_k")
ADJOINTS = PathIdentity("icml", _adjoints, _adjoints_again, "dE/dy_{N−k} against δ^y_k")
CHAIN_RULE = PathIdentity("icml", _chain_rule, _chain_rule_again, "Σ Et'(y_n) dy_n/dw against Σ (dE/dz_n) ∂z_n/∂w")
MOMENTUM_RULE = PathIdentity("icml", _momentum_rule, _momentum_rule_again, "dE/dz_n against dE/dz_{n+1} + h dE/dy_n")
POSITION_RULE = PathIdentity(
    "icml", _position_rule, _position_rule_again, "dE/dy_{n−1} against dE/dy_n − h(wσ' + α) dE/dz_n + Et'(y_{n−1})"
)
MOMENTA = PathIdentity("icml", _momenta, _momenta_again, "dE/dz_{N−k+1} against δ^z_k")
TERMS = PathIdentity("icml", _terms, _terms_again, "the part of dE/dw that enters at step N−k+1 against a_k")
DRIVES = PathIdentity("icml", _drives, _drives_again, "dE/dx_{N−k+1} against −δ^z_k h σ'(A_{N−k})")
STEP_SIZES = PathIdentity(
    "icml", _step_sizes, _step_sizes_again, "dE/dh against Σ [δ^y_{k−1} z_{N−k+1} − δ^z_k (s_{N−k+1} + α y_{N−k})]"
)
SHORT = tuple(Shape(1, 1, N) for N in range(1, 6))
LONGER = (Shape(1, 1, 8), Shape(1, 1, 16))

CLAIMS = (
    Claim(
        id="both-B-recursion",
        source=Source("sam", "(19)-(21); icml S(3)-S(5)"),
        statement="δ^z_k = δ^z_{k−1} + δ^y_{k−1} dt σ̂, δ^y_k = δ^y_{k−1} − δ^z_k dt σ̂ [σ'(w y_{N−k} + x_{N−k+1}) w "
        "+ α] + dEt/dy_{N−k}, δ^y_0 = dEt/dy_N, δ^z_0 = 0; dE/dw = Σ_{k=1..N} a_k, a_k = −δ^z_k dt σ̂ σ'(w y_{N−k} + "
        "x_{N−k+1}) y_{N−k}; one neuron, E = Σ Et(y_n)",
        semantics="alg",
        cases=(
            GRADIENT.case("N ≤ 5", "dE/dw", SHORT),
            ADJOINTS.case("N ≤ 5", "δ^y", SHORT),
            GRADIENT.sampled("N ≤ 16", "dE/dw", LONGER),
            ADJOINTS.sampled("N ≤ 16", "δ^y", LONGER),
        ),
    ),
    Claim(
        id="both-B-verification",
        source=Source("sam", "App. B, displayed chain; icml App. B"),
        statement="the recursion verified line by line: dE/dw = Σ_n Et'(y_n) dy_n/dw = Σ_n (dE/dz_n) ∂z_n/∂w; "
        "dE/dz_n = dE/dz_{n+1} + dt σ̂ dE/dy_n; dE/dy_{n−1} = dE/dy_n − dt σ̂ [σ'(A_{n−1}) w + α] dE/dz_n + "
        "dEt/dy_{n−1}; δ^y_k = dE/dy_{N−k}, δ^z_k = dE/dz_{N−k+1}; a_k = δ^z_k ∂z_{N−k+1}/∂w; x_n and dt similarly: "
        "dE/dx_{N−k+1} = −δ^z_k dt σ̂ σ'(A_{N−k}), dE/d(dt) = σ̂ Σ_k [δ^y_{k−1} z_{N−k+1} − δ^z_k (σ(A_{N−k}) + α "
        "y_{N−k})]; one neuron, E = Σ Et(y_n). Printed as a chain; the last two formulas are this library's",
        semantics="alg",
        cases=(
            CHAIN_RULE.case("N ≤ 5", "line 1: dE/dw", SHORT),
            MOMENTUM_RULE.case("N ≤ 5", "line 2: dE/dz_n", SHORT),
            POSITION_RULE.case("N ≤ 5", "line 3: dE/dy_{n−1}", SHORT),
            MOMENTA.case("N ≤ 5", "line 4: δ^z", SHORT),
            ADJOINTS.case("N ≤ 5", "line 4: δ^y", SHORT),
            TERMS.case("N ≤ 5", "line 5: a_k", SHORT),
            DRIVES.case("N ≤ 5", "dE/dx_n", SHORT),
            STEP_SIZES.case("N ≤ 5", "dE/d(dt)", SHORT),
            TERMS.sampled("N ≤ 16", "line 5: a_k", LONGER),
            STEP_SIZES.sampled("N ≤ 16", "dE/d(dt)", LONGER),
        ),
    ),
)
