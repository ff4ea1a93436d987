"""thm-R and thm-ML: kernels against brute force over all lattice paths, in fractions, and against autograd; laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.signal import lfilter

from odernn.bounds import layers, routes
from odernn.cells.unicornn import UnICORNN
from odernn.executions.recurrence import RecurrenceResult
from tests.tiers import without

Edges = Sequence[Mapping[int, np.ndarray]]


def chain(num_layers: int, size: int, *, skip: int | None, rng: np.random.Generator) -> Edges:
    """Rational matrices on the edges of a stack; level 0 is seen by layer 1 (and by S + 1)."""

    def matrix() -> np.ndarray:
        flat = [Fraction(int(rng.choice([-5, -3, -1, 2, 4])), int(rng.integers(1, 6))) for _ in range(size * size)]
        return np.array(flat, dtype=object).reshape(size, size)

    found = []
    for layer in range(1, num_layers + 1):
        below = {layer - 1} | ({layer - skip - 1} if skip is not None and layer > skip else set())
        found.append({level: matrix() for level in below})
    return found


def rational_run(
    num_layers: int, size: int, steps: int, *, skip: int | None = None, shifted: bool = False, seed: int = 0
) -> layers.Linearisation:
    rng = np.random.default_rng(seed)

    def fractions(low: int, high: int, *shape: int) -> np.ndarray:
        flat = [Fraction(int(rng.integers(low, high)), int(rng.integers(1, 9))) for _ in range(math.prod(shape))]
        return np.array(flat, dtype=object).reshape(shape)

    slopes = fractions(1, 9, num_layers, steps, size)
    kappas = 2 + slopes * fractions(-9, 9, num_layers, 1, size)
    edges = chain(num_layers, size, skip=skip, rng=rng)
    return layers.Linearisation(fractions(1, 4, num_layers, size), kappas, slopes, edges, shifted)


def brute_force(run: layers.Linearisation, start: int, end: int, source: int = 1) -> tuple[np.ndarray, int]:
    """K(n, k) term by term: each route, each choice of climbing times, products of [B_n … B_j]_12; and how many paths.

    Written from definitions 1.4: B is formed as a matrix; nothing is shared with ``layers``.
    """
    size = run.kappas.shape[2]

    def b(q: int, i: int, j: int, n: int) -> Fraction:
        product = np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], dtype=object)
        h = run.step_sizes[q - 1, i]
        for time in range(j, n + 1):
            kappa = run.kappas[q - 1, time - 1, i]
            product = np.array([[1 - h * h * kappa, h], [-h * kappa, Fraction(1)]], dtype=object) @ product
        return Fraction(product[0, 1])

    def route_levels(top: int) -> list[list[int]]:
        if top == source:
            return [[source]]
        return [[*route, top] for below in run.edges[top - 1] if below >= source for route in route_levels(below)]

    lag = int(run.is_shifted)
    kernel, count = np.zeros((size, size), dtype=object) + Fraction(0), 0
    for route in route_levels(run.num_layers):
        hops = len(route) - 1
        for climbs in itertools.combinations_with_replacement(range(start, end + 1), hops):
            # climb m happens in step climbs[m]; for "sam" the level below is then at climbs[m] − 1
            leaves = [c - lag for c in climbs] + [end]
            arrives = [start, *climbs]
            if any(leave < arrive for arrive, leave in zip(arrives, leaves, strict=True)):
                continue
            count += 1
            for neurons in itertools.product(range(size), repeat=hops + 1):
                term = b(route[0], neurons[0], arrives[0], leaves[0])
                for m in range(hops):
                    q, i = route[m + 1], neurons[m + 1]
                    factor = run.step_sizes[q - 1, i] * run.slopes[q - 1, arrives[m + 1] - 1, i]
                    term *= -b(q, i, arrives[m + 1], leaves[m + 1]) * factor
                    term *= run.edges[q - 1][route[m]][i, neurons[m]]
                kernel[neurons[-1], neurons[0]] += term
    return kernel, count


@pytest.mark.parametrize("shifted", [False, True], ids=["icml", "sam"])
@pytest.mark.parametrize(
    ("num_layers", "size", "skip"), [(1, 3, None), (2, 2, None), (3, 2, None), (3, 1, 2), (4, 1, 2)]
)
def test_the_kernel_is_the_sum_over_all_monotone_paths_over_the_rationals(
    num_layers: int, size: int, skip: int | None, shifted: bool
):
    steps = 5
    run = rational_run(num_layers, size, steps, skip=skip, shifted=shifted)
    for start, end in ((1, 1), (1, 5), (3, 5)):
        expected, count = brute_force(run, start, end)
        found = layers.kernels(run, start=start)[-1, end - start]
        assert (found == expected).all()
        if not shifted:
            gaps = end - start
            by_hops = {num_layers - 1: 1} if skip is None else routes.route_counts(num_layers, skip)
            assert count == sum(math.comb(gaps + p, p) * number for p, number in by_hops.items())
        if num_layers > 1 and end > start:  # a planted fault: one climb counted with the wrong sign
            assert (found != -expected).any()
        error = np.array([Fraction(i + 1, 3) for i in range(size)], dtype=object)
        adjoint = layers.kick_sensitivities(run, end=end, error=error)[start - 1]
        assert (adjoint == error @ expected).all()


def rational_sigma_network(w: Fraction, h: Fraction, alpha: Fraction, x: list[Fraction], kicked: Fraction) -> Fraction:
    """y_N of one neuron with σ(a) = a/(1 + |a|) and weight w + kicked, over Q."""
    y = z = Fraction(0)
    for drive in x:
        a = (w + kicked) * y + drive
        z = z - h * (a / (1 + abs(a)) + alpha * y)
        y = y + h * z
    return y


def test_the_contributions_of_one_layer_add_up_to_the_derivative_over_the_rationals():
    w, h, alpha = Fraction(7, 3), Fraction(1, 4), Fraction(3, 2)
    x = [Fraction(n * n % 7 - 3, 5) for n in range(8)]
    y, z, states, slopes = Fraction(0), Fraction(0), [Fraction(0)], []
    for drive in x:
        a = w * y + drive
        slopes.append(1 / (1 + abs(a)) ** 2)
        z = z - h * (a / (1 + abs(a)) + alpha * y)
        y = y + h * z
        states.append(y)
    array = np.array(slopes, dtype=object)[None, :, None]
    run = layers.Linearisation(np.array([[h]], dtype=object), alpha + w * array, array, [{}])
    error = np.array([y - 2], dtype=object)
    positions = np.array(states, dtype=object)[:, None]
    exact = layers.weight_contributions(run, positions=positions, end=8, error=error).sum()
    tiny = Fraction(1, 10**30)
    up, down = (rational_sigma_network(w, h, alpha, x, kicked) for kicked in (tiny, -tiny))
    difference = (up - down) / (2 * tiny)
    assert abs(exact - (y - 2) * difference) < Fraction(1, 10**25)
    # the printed form: −h σ' y_{k-1} (y_n − ȳ_n) [B_n … B_k]_12, k = 3
    impulse = layers.impulse(run.kappas[0, 2:, 0], h)[-1]
    third = layers.weight_contributions(run, positions=positions, end=8, error=error)[2, 0]
    assert third == -h * slopes[2] * states[2] * (y - 2) * impulse


@pytest.mark.parametrize("index", ["icml", "sam"])
@pytest.mark.parametrize(("num_layers", "skip"), [(1, None), (3, None), (4, 2)])
def test_contributions_of_a_network_add_up_to_the_gradient_of_autograd(index: str, num_layers: int, skip: int | None):
    generator = torch.Generator().manual_seed(3)
    network = UnICORNN(
        2, 3, num_layers, dt=0.3, alpha=1.3, index=index, residual_skip=skip, dtype=torch.float64, generator=generator
    )  # type: ignore[arg-type]
    with torch.no_grad():
        for layer in network.layers:
            layer.w.mul_(-4)
            layer.V.mul_(3)
    u = torch.randn(9, 2, dtype=torch.float64, generator=generator)
    run = layers.linearise(network, u)
    states: list[RecurrenceResult] = network.states(u)
    y = network(u)[0]
    for end in (1, 6, 9):
        error = (y[end - 1] - 0.7).detach().numpy()
        network.zero_grad()
        (0.5 * (y[end - 1] - 0.7).square().sum()).backward(retain_graph=True)
        for source in range(1, num_layers + 1):
            positions = np.concatenate([np.zeros((1, 3)), states[source - 1].y[:, 0].detach().numpy()])
            found = layers.weight_contributions(run, positions=positions, end=end, error=error, source=source)
            grad = network.layers[source - 1].w.grad
            expected = np.zeros(3) if grad is None else grad.numpy()
            np.testing.assert_allclose(found.sum(axis=0), expected, rtol=1e-11, atol=1e-15)
            if end == 9 and source == 1:  # a planted fault: forgetting one step is seen
                assert not np.allclose(found[:-2].sum(axis=0), expected, rtol=1e-6, atol=1e-12) or num_layers > 1


def test_constant_stiffness_gives_a_sine_of_amplitude_one_over_r():
    kappa, h = 9.0, 0.1
    theta, r = math.acos(1 - kappa * h * h / 2), math.sqrt(kappa * (1 - kappa * h * h / 4))
    assert 1 / r == pytest.approx(0.3371478, abs=5e-8)
    found = layers.impulse(np.full(40, kappa), h)
    np.testing.assert_allclose(found, np.sin(np.arange(1, 41) * theta) / r, atol=1e-13)


def orders(errors: list[float]) -> np.ndarray:
    """Slopes of errors at h, h/2, h/4, …"""
    return np.diff(np.log(errors)) / math.log(0.5)


def test_at_given_stiffness_the_impulse_tends_to_the_solution_at_second_order():
    def stiffness(t: float) -> float:
        return 4.0 + 3.0 * math.cos(2 * t) ** 2 - 6 * math.sin(t) ** 2

    exact = solve_ivp(
        lambda t, s: [s[1], -stiffness(t) * s[0]], (0.0, 3.0), [0.0, 1.0], method="DOP853", rtol=1e-12, atol=1e-13
    ).y[0, -1]
    errors = []
    for N in (200, 400, 800, 1600):
        kappas = np.array([stiffness((n - 1) * 3.0 / N) for n in range(1, N + 1)])
        errors.append(abs(layers.impulse(kappas, 3.0 / N)[-1] - exact))
    assert np.abs(orders(errors) - 2).max() < 0.05  # the y of symplectic Euler is that of Störmer's method


def test_along_its_own_trajectory_the_impulse_tends_to_that_of_the_differential_equation_at_first_order():
    alpha, w, start, end = 2.0, 5.0, 0.5, 3.0

    def drive(t: float) -> float:
        return 1.5 * math.cos(1.7 * t)

    def field(t: float, state: np.ndarray) -> list[float]:
        s = math.tanh(w * state[0] + drive(t))
        return [state[1], -(s + alpha * state[0]), state[3], -(alpha + w * (1 - s * s)) * state[2]]

    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    before = solve_ivp(field, (0.0, start), [0.0, 0.0, 0.0, 0.0], **tight).y[:, -1]
    exact = solve_ivp(field, (start, end), [*before[:2], 0.0, 1.0], **tight).y[2, -1]
    errors = []
    for N in (240, 480, 960, 1920):
        h = end / N
        y = z = 0.0
        kappas = []
        for n in range(1, N + 1):
            s = math.tanh(w * y + drive((n - 1) * h))
            kappas.append(alpha + w * (1 - s * s))
            z -= h * (s + alpha * y)
            y += h * z
        errors.append(abs(layers.impulse(np.array(kappas[N // 6 :]), h)[-1] - exact))
    assert np.abs(orders(errors) - 1).max() < 0.1


# --- laws ------------------------------------------------------------------------------------------------------------


def constant_run(
    *, num_layers: int, h: float, steps: int, kappa: float, slope: float = 1.0, V: float = 0.7, skip: int | None = None
) -> layers.Linearisation:
    shape = (num_layers, steps, 1)
    edges = [
        {level: np.array([[V]]) for level in ({q} | ({q - skip} if skip is not None and q >= skip else set()))}
        for q in range(num_layers)
    ]
    return layers.Linearisation(np.full((num_layers, 1), h), np.full(shape, kappa), np.full(shape, slope), edges)


@pytest.mark.parametrize("num_layers", [1, 2, 3, 4])
def test_free_layers_count_paths_exactly(num_layers: int):
    h, V, N = Fraction(1, 3), Fraction(-2, 5), 6
    whole = np.array([[[Fraction(0)]] * N] * num_layers, dtype=object)
    edges = [{q: np.array([[V]], dtype=object)} for q in range(num_layers)]
    run = layers.Linearisation(np.array([[h]] * num_layers, dtype=object), whole, whole + 1, edges)
    found = layers.kernels(run, start=2)
    for q, n in itertools.product(range(1, num_layers + 1), range(2, N + 1)):
        expected = layers.free_kernel(step_size=h, weight=V, num_layers=q, steps=n - 2)
        assert found[q - 1, n - 2, 0, 0] == expected
        assert expected == (-V) ** (q - 1) * h ** (2 * q - 1) * math.comb(n - 2 + 2 * q - 1, 2 * q - 1)


def test_the_pinned_path_counts():
    assert math.exp(float(routes.log_paths(hops=1, steps=360))) == pytest.approx(361, rel=1e-12)
    assert math.exp(float(routes.log_paths(hops=2, steps=360))) == pytest.approx(65341, rel=1e-12)


@pytest.mark.parametrize(
    ("num_layers", "skip", "exponent"),
    without(
        [
            (1, None, 1),
            (2, None, 3),
            (3, None, 5),
            (4, None, 7),
            (5, None, 9),
            (4, 2, 3),
            (5, 3, 3),
            (7, 2, 5),
            (7, 3, 7),
        ],
        *[(4, None, 7), (5, None, 9), (5, 3, 3), (7, 2, 5)],
    ),
)
def test_for_small_times_the_kernel_grows_with_twice_the_shortest_hops_plus_one(
    num_layers: int, skip: int | None, exponent: int
):
    assert 2 * routes.hop_number(num_layers, skip) + 1 == exponent
    h, N = 2e-5, 4000
    run = constant_run(num_layers=num_layers, h=h, steps=N, kappa=5.0, slope=0.6, V=0.3, skip=skip)
    found = np.abs(layers.kernels(run, start=1)[-1, :, 0, 0])
    slope = math.log(found[N - 1] / found[N // 2 - 1]) / math.log(2)
    assert slope == pytest.approx(exponent, abs=0.05)
    law = layers.small_time_kernel(run, dt=h, start=1, time=N * h)
    assert found[-1] == pytest.approx(abs(law[0, 0]), rel=0.05)
    # exact order one in dt at fixed time: K itself converges
    coarse = constant_run(num_layers=num_layers, h=2 * h, steps=N // 2, kappa=5.0, slope=0.6, V=0.3, skip=skip)
    assert np.abs(layers.kernels(coarse, start=1)[-1, -1, 0, 0]) == pytest.approx(found[-1], rel=0.05)


def test_the_small_time_law_keeps_the_matrices_in_order():
    rng = np.random.default_rng(0)
    dt, N = 1e-6, 1000
    steps = dt * rng.uniform(0.3, 0.9, (3, 2))
    slopes = np.repeat(rng.uniform(0.2, 1, (3, 1, 2)), N, axis=1)
    edges = [{q: rng.normal(size=(2, 2))} for q in range(3)]
    run = layers.Linearisation(steps, 2.0 + slopes, slopes, edges)
    found = layers.kernels(run, start=1)[-1, -1]
    law = layers.small_time_kernel(run, dt=dt, start=1, time=N * dt)
    np.testing.assert_allclose(found, law, rtol=2e-2, atol=0)
    transposed = [{level: V.T for level, V in seen.items()} for seen in edges]
    wrong = layers.small_time_kernel(
        layers.Linearisation(steps, 2.0 + slopes, slopes, transposed), dt=dt, start=1, time=N * dt
    )
    assert not np.allclose(found, wrong, rtol=0.1, atol=0)


@pytest.mark.parametrize("num_layers", [1, 2, 3, 4])
def test_resonant_layers_peak_at_the_law(num_layers: int):
    frequency, h, V, T = 1.0, 0.01, 0.7, 200.0
    N = round(T / h)
    theta = 2 * math.asin(h * frequency / 2)
    response = np.zeros(N)
    response[0] = 1.0
    for q in range(num_layers):  # the generating function, by scipy's filter
        response = lfilter([h], [1.0, -2 * math.cos(theta), 1.0], response) * (-V * h if q < num_layers - 1 else 1.0)
    short = constant_run(num_layers=num_layers, h=h, steps=300, kappa=frequency**2, V=V)
    np.testing.assert_allclose(layers.kernels(short, start=1)[-1, :, 0, 0], response[:300], rtol=1e-6, atol=1e-14)
    law = layers.peak_law(frequency=frequency, weight=V, num_layers=num_layers, time=T)
    assert 0.95 < np.abs(response).max() / law < 1.001


@pytest.mark.parametrize(("num_layers", "skip"), [(2, None), (3, None), (4, None), (4, 2), (7, 3)])
def test_climbs_within_a_step_are_of_the_stated_orders(num_layers: int, skip: int | None):
    p = routes.hop_number(num_layers, skip)
    sizes = []
    for h in (1e-3, 1e-4):
        run = constant_run(num_layers=num_layers, h=h, steps=1, kappa=2.0, skip=skip)
        y, z = layers.same_time_blocks(run, step=1)
        sizes.append((abs(y[0, 0]), abs(z[0, 0])))
        shortest = math.comb(p, 0 if skip is None else (num_layers - 1 - p) // skip)
        assert abs(y[0, 0]) == pytest.approx(shortest * 0.7**p * h ** (2 * p), rel=1e-2)
    found = [math.log10(a / b) for a, b in zip(*sizes, strict=True)]
    assert found == pytest.approx([2 * p, 2 * p - 1], abs=0.02)


def test_a_shifted_stack_has_no_free_climb():
    run = rational_run(3, 2, 3, shifted=True)
    y, z = layers.same_time_blocks(run, step=2)
    assert (y == 0).all() and (z == 0).all()


# --- routes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skip", [None, 2, 3, 5])
@pytest.mark.parametrize("num_layers", range(1, 10))
def test_routes_are_counted_as_an_enumeration_counts_them(num_layers: int, skip: int | None):
    def lengths(layer: int) -> list[int]:
        if layer == 1:
            return [0]
        found = [1 + n for n in lengths(layer - 1)]
        if skip is not None and layer - skip - 1 >= 1:
            found += [1 + n for n in lengths(layer - skip - 1)]
        return found

    hops = lengths(num_layers)
    counts = routes.route_counts(num_layers, skip)
    assert {p: hops.count(p) for p in sorted(set(hops))} == counts
    assert min(hops) == routes.hop_number(num_layers, skip)
    edges = [
        {level: 0.0 for level in ({q} | ({q - skip} if skip is not None and q >= skip else set()))}
        for q in range(num_layers)
    ]
    sums = routes.log_route_sums(edges, source=1, target=num_layers)
    assert {p: round(math.exp(log)) for p, log in sums.items()} == counts


@pytest.mark.parametrize(
    ("hops", "rate", "steps"), [(0, 0.1, 7), (2, 0.3, 20), (3, 0.0, 15), (1, 5.0, 4), (6, 0.01, 1)]
)
def test_path_sums_are_what_they_say(hops: int, rate: float, steps: int):
    plain = sum(math.comb(j + hops, hops) * math.exp(j * rate) for j in range(steps))
    found = float(routes.log_path_sum(hops=hops, rate=rate, steps=steps))
    assert math.exp(found) == pytest.approx(plain, rel=1e-12)
    several = routes.log_path_sums(hops=hops, rates=np.array([rate, 2 * rate]), steps=steps)
    assert several[0] == pytest.approx(found, abs=1e-12)
    assert found <= float(routes.log_path_sum_limit(hops=hops, rate=rate, steps=steps))


def test_path_sums_of_long_horizons_are_finite():
    for rate in (0.0, 1e-3, 3.0):
        found = float(routes.log_path_sum(hops=9, rate=rate, steps=10**5))
        assert math.isfinite(found) and found >= 1e5 * rate - rate
        again = routes.log_path_sums(hops=9, rates=np.array([rate]), steps=10**5)[0]
        assert found == pytest.approx(again, rel=1e-11)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_arguments_are_checked():
    run = rational_run(2, 1, 3)
    with pytest.raises(ValueError, match="start is step 4, but the run has steps 1 to 3"):
        layers.kernels(run, start=4)
    with pytest.raises(ValueError, match="source is layer 3"):
        layers.kick_sensitivities(run, end=1, error=np.zeros(1), source=3)
    with pytest.raises(ValueError, match="edges has 1 entries for 2 layers"):
        layers.Linearisation(run.step_sizes, run.kappas, run.slopes, run.edges[:1])
    with pytest.raises(ValueError, match=r"\(layers, steps, hidden\) twice"):
        layers.Linearisation(run.step_sizes[:1], run.kappas, run.slopes, run.edges)
    both = UnICORNN(1, 2, dt=0.1, alpha=1.0, bidirectional=True)
    with pytest.raises(ValueError, match="bidirectional"):
        layers.linearise(both, torch.zeros(3, 1))
    with pytest.raises(ValueError, match=r"\(3, 2, 1\), but one sequence"):
        layers.linearise(UnICORNN(1, 2, dt=0.1, alpha=1.0), torch.zeros(3, 2, 1))


# --- formulas typed again, at places where every term counts


def by_hand(edges: list[dict[int, np.ndarray]], size: int, *, steps: int = 2) -> layers.Linearisation:
    """Random coefficients, different in every neuron, layer and step."""
    generator = np.random.default_rng(5)
    h, slopes = generator.uniform(0.2, 0.9, (len(edges), size)), generator.uniform(0.3, 1.0, (len(edges), steps, size))
    return layers.Linearisation(h, generator.uniform(-1, 3, slopes.shape), slopes, edges)


def test_the_blocks_within_a_step_are_products_of_climbs():
    generator = np.random.default_rng(6)
    V1, V2, V3, skip = (generator.normal(size=(2, 2)) for _ in range(4))
    run = by_hand([{0: V1}, {1: V2}, {2: V3, 1: skip}], 2)
    h, s = run.step_sizes, run.slopes[:, 1]
    y2 = -(np.diag(h[1] ** 2 * s[1]) @ V2)
    z3 = -np.diag(h[2] * s[2]) @ (V3 @ y2 + skip)
    y, z = layers.same_time_blocks(run, step=2)
    assert z == pytest.approx(z3, rel=1e-13) and y == pytest.approx(np.diag(h[2]) @ z3, rel=1e-13)


def test_the_small_time_law_adds_up_all_shortest_routes_with_their_sign():
    generator = np.random.default_rng(7)
    V2, V3, V4, S3, S4 = (generator.normal(size=(2, 2)) for _ in range(5))
    run = by_hand([{0: V2}, {1: V2}, {2: V3, 1: S3}, {3: V4, 2: S4}], 2)
    dt, t = 0.95, 0.3
    D = [np.diag((h / dt) ** 2 * s) for h, s in zip(run.step_sizes, run.slopes[:, 0], strict=True)]
    routes_of_two = D[3] @ V4 @ D[2] @ S3 + D[3] @ S4 @ D[1] @ V2
    expected = t**5 / 120 * routes_of_two @ np.diag(run.step_sizes[0] / dt)
    assert layers.small_time_kernel(run, dt=dt, start=1, time=t) == pytest.approx(expected, rel=1e-13)
    two = by_hand([{0: V2}, {1: V2}], 2)
    h, s = two.step_sizes / dt, two.slopes[1, 1]
    expected = -(t**3) / 6 * np.diag(h[1] ** 2 * s) @ V2 @ np.diag(h[0])
    assert layers.small_time_kernel(two, dt=dt, start=2, time=t) == pytest.approx(expected, rel=1e-13)


def test_the_peak_is_the_printed_law_at_any_frequency():
    found = layers.peak_law(frequency=1.7, weight=-0.6, num_layers=3, time=9.0)
    assert found == pytest.approx(2 * 0.6**2 * 81 / (2 * 3.4**3), rel=1e-13)
    even = layers.peak_law(frequency=1.7, weight=-0.6, num_layers=2, time=9.0)  # |V|, also to an odd power
    assert even == pytest.approx(2 * 0.6 * 9 / 3.4**2, rel=1e-13)


@pytest.mark.parametrize("index", ["icml", "sam"])
def test_a_network_is_linearised_at_its_own_preactivations(index: str):
    generator = torch.Generator().manual_seed(3)
    network = UnICORNN(2, 3, 2, dt=0.4, alpha=1.3, index=index, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        for layer in network.layers:
            layer.w.copy_(torch.randn(3, generator=generator, dtype=torch.float64))
            layer.b.copy_(torch.randn(3, generator=generator, dtype=torch.float64))
    u = torch.randn(6, 2, generator=generator, dtype=torch.float64)
    before = torch.randn(2, generator=generator, dtype=torch.float64)
    run = layers.linearise(network, u, previous_input=before if index == "sam" else None)
    below = torch.cat([before[None] if index == "sam" else 0 * u[:1], u]).numpy()
    for q, layer in enumerate(network.layers):
        w, V, b = (v.detach().numpy() for v in (network.coefficients(q)["w"], layer.V, layer.b))
        h, y, z, rows = run.step_sizes[q], np.zeros(3), np.zeros(3), [np.zeros(3)]
        for n in range(6):
            A = w * y + V @ below[n if index == "sam" else n + 1] + b
            assert run.slopes[q, n] == pytest.approx(1 - np.tanh(A) ** 2, rel=1e-12)
            assert run.kappas[q, n] == pytest.approx(1.3 + w * (1 - np.tanh(A) ** 2), rel=1e-12)
            z = z - h * (np.tanh(A) + 1.3 * y)
            y = y + h * z
            rows.append(y)
        below = np.array(rows)


@pytest.mark.parametrize(("hops", "rate", "steps"), [(0, 0.3, 5), (1, 0.2, 4), (3, 0.1, 7)])
def test_the_growth_of_path_sums_is_the_printed_closed_form(hops: int, rate: float, steps: int):
    expected = (steps + hops) ** (hops + 1) / math.factorial(hops + 1) * math.exp(steps * rate)
    found = routes.log_path_sum_limit(hops=hops, rate=rate, steps=steps)
    assert found == pytest.approx(math.log(expected), rel=1e-13)
