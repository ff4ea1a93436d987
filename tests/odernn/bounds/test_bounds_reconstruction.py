"""thm-F: the noise of one step against exact arithmetic, the binade lemma on random floats, the law, exact inverses."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import torch
from torch import Tensor

from odernn.bounds import forms, jacobian, reconstruction
from odernn.bounds.gradient import StateLogs
from odernn.bounds.numbers import BALLS
from odernn.bounds.reconstruction import PRECISIONS
from odernn.published.networks import row
from tests.tiers import spread

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32, "float64": torch.float64}


# --- (a) the noise of one step ---------------------------------------------------------------------------------------


def drawn(generator: torch.Generator, count: int, dtype: torch.dtype, low: float, high: float) -> Tensor:
    """Both signs, log-uniform in magnitude, rounded to the dtype."""
    exponent = low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)
    sign = torch.where(torch.rand(count, generator=generator) < 0.5, -1.0, 1.0).double()
    return (sign * 10**exponent).to(dtype)


def noise_excess(name: str, *, scale: float = 1.0) -> float:
    """The largest log(measured) − log(bound) of one rounded kick and drift, against float64."""
    dtype, precision = DTYPES[name], PRECISIONS[name]
    generator = torch.Generator().manual_seed(0)
    count = 200_000
    y, z, x, w = (drawn(generator, count, dtype, -6, 1.3) for _ in range(4))
    alpha, h = drawn(generator, count, dtype, -3, 1.5).abs(), drawn(generator, count, dtype, -3, 0).abs()
    half = count // 2
    x[:half] = (-(w * y).double() + x.double() * 1e-3).to(dtype)[:half]  # cancellation in the argument
    kicked = z - h * (torch.tanh(w * y + x) + alpha * y)
    moved = y + h * kicked
    d = [v.double() for v in (y, z, x, w, alpha, h)]
    exact_z = d[1] - d[5] * (torch.tanh(d[3] * d[0] + d[2]) + d[4] * d[0])
    exact_y = d[0] + d[5] * kicked.double()
    largest_y = torch.maximum(d[0].abs(), moved.double().abs())
    largest_z = torch.maximum(d[1].abs(), kicked.double().abs())
    kick, drift = reconstruction.step_noise(
        w=d[3].numpy(),
        step_size=d[5].numpy(),
        alpha=d[4].numpy(),
        log_position=largest_y.log().numpy(),
        log_momentum=largest_z.log().numpy(),
        unit_roundoff=precision.unit_roundoff * scale,
        underflow=precision.underflow * scale,
    )
    worst = -math.inf
    for exact, computed, log_bound in ((exact_z, kicked, kick), (exact_y, moved, drift)):
        measured = (computed.double() - exact).abs().clamp_min(1e-300).log().numpy()
        worst = max(worst, float((measured - log_bound)[np.isfinite(measured)].max()))
    return worst


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_no_rounded_step_is_noisier_than_the_bound(name: str):
    excess = noise_excess(name)
    assert -1.5 < excess <= 0  # and the bound is not far off


def test_a_quarter_of_the_unit_roundoff_is_exceeded():
    assert noise_excess("float32", scale=0.25) > 0


def test_the_noise_of_a_step_in_float64_holds_against_rational_arithmetic():
    rng = np.random.default_rng(0)
    for _ in range(300):
        y, z, x, w = rng.normal(size=4) * 10 ** rng.uniform(-3, 2, 4)
        alpha, h = 10 ** rng.uniform(-2, 1.5), 10 ** rng.uniform(-2, 0)
        kicked = float(np.float64(z) - np.float64(h) * (np.tanh(w * y + x) + alpha * y))
        with flint.ctx.workprec(300):
            e = [BALLS.exact(float(v)) for v in (y, z, x, w, alpha, h)]
            exact = e[1] - e[5] * ((e[3] * e[0] + e[2]).tanh() + e[4] * e[0])
            measured = float(abs(exact - BALLS.exact(kicked)).mid())
        kick, _ = reconstruction.step_noise(
            w=w,
            step_size=h,
            alpha=alpha,
            log_position=math.log(abs(y)),
            log_momentum=math.log(max(abs(z), abs(kicked))),
            unit_roundoff=2.0**-53,
            underflow=2.0**-1074,
        )
        assert measured <= math.exp(kick)


# --- (a) growth ------------------------------------------------------------------------------------------------------


def test_the_growth_of_the_error_is_that_of_the_jacobians_as_roundoff_vanishes():
    for alpha, w, h in ((2.0, 1.0, 0.1), (2.0, -7.0, 0.2), (40.0, 3.0, 0.5), (0.0, 1.0, 0.05)):
        ends = {"kappa_low": alpha + min(w, 0), "kappa_high": alpha + max(w, 0), "step_size": h}
        form = forms.best_form(**ends)
        common = {"w": w, "step_size": h, "alpha": alpha, "form": form, "underflow": 2.0**-1074}
        rate = float(jacobian.rate_bound(**ends, form=form))
        for u in (2.0**-24, 2.0**-53):
            growth = reconstruction.error_growth(log_position=1.0, log_momentum=2.0, unit_roundoff=u, **common)
            assert rate < growth.log_factor < rate + 200 * u * (1 + math.exp(rate))
            assert growth.log_noise < math.log(u) + 10
        assert float(growth.log_after(10**5)) < 1e5 * growth.log_factor + 20


def test_sums_of_powers_neither_overflow_nor_cancel():
    for rate in (1e-14, 1e-3, 0.7, 40.0):
        for steps in (1, 2, 50):
            plain = math.fsum(math.exp(j * rate) for j in range(steps)) if rate * steps < 600 else None
            found = float(reconstruction.log_geometric_sum(rate=rate, steps=steps))
            if plain is not None:
                assert found == pytest.approx(math.log(plain), abs=1e-12)
    assert math.isfinite(float(reconstruction.log_geometric_sum(rate=40.0, steps=10**6)))
    with flint.ctx.workprec(200):
        ball = reconstruction.log_geometric_sum(rate=BALLS.exact(Fraction(1, 7)), steps=30, numbers=BALLS)
    assert float(ball.mid()) == pytest.approx(float(reconstruction.log_geometric_sum(rate=1 / 7, steps=30)), abs=1e-12)


def test_balls_enclose_the_growth_of_floats():
    with flint.ctx.workprec(200):
        e = BALLS.exact
        growth = reconstruction.error_growth(
            w=e(3),
            step_size=e(Fraction(1, 8)),
            alpha=e(2),
            form=e(3),
            log_position=e(1),
            log_momentum=e(2),
            unit_roundoff=e(Fraction(1, 2**24)),
            underflow=e(Fraction(1, 2**150)),
            numbers=BALLS,
        )
        states = reconstruction.state_growth(
            w=e(3),
            step_size=e(Fraction(1, 8)),
            alpha=e(2),
            form=e(2),
            unit_roundoff=e(Fraction(1, 2**24)),
            underflow=e(Fraction(1, 2**150)),
            numbers=BALLS,
        )
    floats = reconstruction.error_growth(
        w=3.0,
        step_size=0.125,
        alpha=2.0,
        form=3.0,
        log_position=1.0,
        log_momentum=2.0,
        unit_roundoff=2.0**-24,
        underflow=2.0**-150,
    )
    again = reconstruction.state_growth(
        w=3.0, step_size=0.125, alpha=2.0, form=2.0, unit_roundoff=2.0**-24, underflow=2.0**-150
    )
    for ball, number in ((growth, floats), (states, again)):
        assert float(number.log_factor) == pytest.approx(float(ball.log_factor.mid()), rel=1e-9)
        assert float(number.log_noise) == pytest.approx(float(ball.log_noise.mid()), rel=1e-12)


def test_formats_that_are_too_coarse_are_refused():
    common = {"w": 1.0, "step_size": 0.1, "alpha": 1.0, "form": 1.0, "underflow": 0.0}
    with pytest.raises(ValueError, match="derived for u ≤ 2⁻⁷"):
        reconstruction.state_growth(unit_roundoff=2.0**-4, **common)
    with pytest.raises(ValueError, match="too coarse"):
        reconstruction.error_growth(unit_roundoff=2.0**-8, log_position=0.0, log_momentum=0.0, **(common | {"w": 1e6}))
    with pytest.raises(ValueError, match="terms is 300"):
        reconstruction.sum_roundoff(terms=300, unit_roundoff=2.0**-8)


def test_precisions_are_those_of_torch():
    for name, dtype in DTYPES.items():
        info, precision = torch.finfo(dtype), PRECISIONS[name]
        assert precision.unit_roundoff == info.eps / 2
        assert math.log(info.max) <= precision.log_largest < math.log(info.max) + 1e-2
        smallest = info.smallest_normal * info.eps
        assert precision.underflow == (smallest if name == "float64" else smallest / 2)


# --- (b) the binade lemma --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_where_the_lemma_promises_it_a_step_there_and_back_returns_the_number(dtype: type):
    rng = np.random.default_rng(0)
    count = 400_000
    before = (rng.normal(size=count) * 10 ** rng.uniform(-2, 2, count)).astype(dtype)
    step = (rng.normal(size=count) * np.abs(before.astype(float)) * 10 ** rng.uniform(-3, 0.2, count)).astype(dtype)
    promised = reconstruction.is_returned_exactly(before, step)
    returned = ((before + step) - step) == before
    assert promised.sum() >= (290_720 if dtype != np.float16 else 200_000)
    assert (returned | ~promised).all()
    # and it promises nearly all that holds: of the rest at least a third fails
    assert (~returned)[~promised].mean() > 0.3


def test_each_hypothesis_of_the_lemma_is_needed():
    f = np.float32
    ulp = float(np.spacing(f(1.5)))
    cases = {
        "exponent increased": (f(1.5 + ulp), f(1.0)),
        "power of two": (f(2.0), f(0.25 + 0.75 * ulp)),
        "tie": (f(1.5 + ulp), f(0.5 * ulp)),
    }
    for y, d in cases.values():
        assert not reconstruction.is_returned_exactly(np.array([y]), np.array([d], dtype=f))[0]
        assert f(f(y + d) - d) != y
    rng = np.random.default_rng(1)
    y = (1 + rng.random(100_000)).astype(f)
    d = (rng.random(100_000) * 0.1).astype(f)  # with more digits than y has
    crossing = np.frexp(y + d)[1] > np.frexp(y)[1]
    lost = (y + d) - d != y
    assert lost[crossing].mean() > 0.2 > 0.1 > lost[~crossing].mean()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nothing_is_promised_of_a_sum_that_overflows(dtype: type):
    """The increment is finite, the sum is not: (y + d) − d is infinite, however small its exponent is written."""
    largest = np.finfo(dtype).max
    before = np.array([0.75 * largest, -0.75 * largest, 0.75 * largest], dtype=dtype)
    increment = np.array([0.75 * largest, -0.75 * largest, -0.25 * largest], dtype=dtype)
    with np.errstate(over="ignore"):
        assert list((before + increment) - increment == before) == [False, False, True]
    assert list(reconstruction.is_returned_exactly(before, increment)) == [False, False, True]


def test_two_dtypes_are_refused():
    with pytest.raises(TypeError, match="before has dtype float32 but increment has float64"):
        reconstruction.is_returned_exactly(np.ones(1, dtype=np.float32), np.ones(1))


# --- (c) the estimate ------------------------------------------------------------------------------------------------


def test_the_constant_of_the_law_is_the_mean_square_of_an_ulp():
    assert pytest.approx(0.60, abs=1e-3) == reconstruction.CLOSED_LAW
    rng = np.random.default_rng(0)
    x = 2.0 ** rng.uniform(0, 9, 200_000)  # log-uniform mantissa
    u = 2.0**-24
    mean = np.mean((np.spacing(x.astype(np.float32)).astype(float) / (u * x)) ** 2)
    assert mean == pytest.approx(2.164, abs=0.01)
    assert math.sqrt(2 * mean / 12) == pytest.approx(reconstruction.CLOSED_LAW, rel=5e-3)


def rebuilt_rms(name: str, dtype: torch.dtype) -> tuple[float, float]:
    """rms √Q_α(e_0) and rms_n √(αy² + z²) of neurons of a printed row, each update rounded once, random input."""
    printed = row(name)
    generator = torch.Generator().manual_seed(0)
    count, steps, alpha = 192, printed.steps, float(printed.alpha)
    w = torch.rand(count, generator=generator, dtype=torch.float64)
    h = float(printed.dt[0]) * torch.sigmoid(torch.rand(count, generator=generator, dtype=torch.float64) * 0.2 - 0.1)
    x = 2 * torch.rand(steps, count, generator=generator, dtype=torch.float64) - 1
    y, z = torch.zeros(count, dtype=dtype), torch.zeros(count, dtype=dtype)
    energy = 0.0
    for n in range(steps):
        z = (z.double() - h * (torch.tanh(w * y.double() + x[n]) + alpha * y.double())).to(dtype)
        y = (y.double() + h * z.double()).to(dtype)
        energy += float((alpha * y.double() ** 2 + z.double() ** 2).mean()) / steps
    for n in range(steps - 1, -1, -1):
        y = (y.double() - h * z.double()).to(dtype)
        z = (z.double() + h * (torch.tanh(w * y.double() + x[n]) + alpha * y.double())).to(dtype)
    y, z = y.double(), z.double()
    form = alpha * y**2 + z**2 - alpha * h * y * z
    estimate = reconstruction.estimated_log_error(
        unit_roundoff=torch.finfo(dtype).eps / 2, steps=steps, rms_energy_root=math.sqrt(energy)
    )
    return math.sqrt(float(form.mean())), math.exp(estimate)


@pytest.mark.parametrize("name", spread(["nCIFAR", "psMNIST-128", "psMNIST-256", "RR", "HR"], 1))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_law_is_within_a_factor_of_two_on_the_printed_networks(name: str, dtype: torch.dtype):
    measured, estimate = rebuilt_rms(name, dtype)
    assert 0.6 < measured / estimate < 1.8


# --- (d) exact accumulators ------------------------------------------------------------------------------------------


def test_integer_accumulators_come_back_to_the_last_bit_whatever_the_increments():
    rng = np.random.default_rng(0)
    start = [rng.integers(-(2**62), 2**62, 300), rng.integers(-(2**62), 2**62, 300)]
    y, z = (v.copy() for v in start)

    def kick(v: np.ndarray) -> np.ndarray:  # rounding of a real increment, plus wild jumps that wrap around
        return np.rint(1e6 * np.tanh(v * 1e-18)).astype(np.int64) + (v >> 1) * 3

    def drift(v: np.ndarray) -> np.ndarray:
        return np.rint(v * 0.37).astype(np.int64) ^ 12345

    for _ in range(5000):
        y, z = reconstruction.fixed_step(y, z, kick=kick, drift=drift)
    assert (y != start[0]).any()
    forgetful = reconstruction.fixed_step_back(y, z, kick=lambda v: kick(v) + 1, drift=drift)
    for n in range(5000):
        y, z = reconstruction.fixed_step_back(y, z, kick=kick, drift=drift)
        if n == 0:
            assert (forgetful[1] != z).any()
    assert (y == start[0]).all() and (z == start[1]).all()


# --- formulas typed again, with a unit roundoff so large that every term counts --------------------------------------

COARSE, LOST = 2.0**-7, 1e-3


@pytest.mark.parametrize("w", [-1.3, 0.4])
def test_the_growth_of_computed_states_is_the_printed_formula(w: float):
    h, alpha, a, u, nu = 0.4, 0.7, 1.9, COARSE, LOST
    root = math.sqrt(a * (1 - a * h * h / 4))
    size = math.exp(math.asinh(h * abs(alpha - a) / (2 * root)))
    q = 1 - 4 * u / math.sqrt(1 - a * h * h / 4)
    found = reconstruction.state_growth(w=w, step_size=h, alpha=alpha, form=a, unit_roundoff=u, underflow=nu)
    factor = (size + u * h * (3 * abs(w) + 4 * alpha) / root) / q
    noise = (h * (1 + 8 * u) + (8 + math.sqrt(a)) * nu) / q
    assert found.log_factor == pytest.approx(math.log(factor), rel=1e-13)
    assert found.log_noise == pytest.approx(math.log(noise), rel=1e-13)
    for n in (1, 2, 7):
        assert found.log_after(n) == pytest.approx(math.log(noise * sum(factor**j for j in range(n))), rel=1e-12)


@pytest.mark.parametrize(("w", "a"), [(-1.3, 1.9), (0.4, 1.9), (-0.4, 0.2), (0.4, 0.9)])
def test_the_growth_of_errors_and_the_noise_of_a_step_are_the_printed_formulas(w: float, a: float):
    h, alpha, u, nu, Y, Z = 0.4, 0.7, COARSE, LOST, 2.5, 0.3
    at = {"w": w, "step_size": h, "alpha": alpha, "unit_roundoff": u, "underflow": nu}
    sizes = {"log_position": math.log(Y), "log_momentum": math.log(Z)}
    stiff = 3 * abs(w) + 4 * alpha
    kick = u * (Z + (h * stiff + u) * Y + 8 * h) + 8 * nu  # u²Y more than printed: w = α = 0 has a logarithm, too
    drift = u * (Y + h * Z) + nu
    assert reconstruction.step_noise(**at, **sizes) == pytest.approx((math.log(kick), math.log(drift)), rel=1e-13)
    root = math.sqrt(a * (1 - a * h * h / 4))
    c_y, c_z = 1 / root, 1 / math.sqrt(1 - a * h * h / 4)
    ends = alpha + min(w, 0), alpha + max(w, 0)
    size = max(math.exp(math.asinh(h * abs(kappa - a) / (2 * root))) for kappa in ends)
    q = 1 - u * ((size + 1) * c_z + h * stiff * c_y)
    found = reconstruction.error_growth(**at, **sizes, form=a)
    assert found.log_factor == pytest.approx(math.log(size * (1 + 2 * u * c_z) / q), rel=1e-13)
    noise = (size * (kick + 2 * math.sqrt(a) * drift) + kick) / q
    assert found.log_noise == pytest.approx(math.log(noise), rel=1e-13)


def test_the_noise_of_a_drive_is_the_printed_sum_over_its_edges():
    V, skip = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]]), np.array([[0.3, -0.7], [2.0, 0.1]])
    h, bias = np.array([0.4, 0.7]), np.array([1.5, 0.2])
    Y = {0: np.array([2.0, 0.1, 5.0]), 2: np.array([0.4, 9.0])}
    states = [StateLogs(np.log(Y[level]) if level in Y else np.zeros(2), np.zeros(2)) for level in range(3)]
    found = reconstruction.log_drive_noise(
        edges={0: V, 2: skip}, bias=bias, states=states, step_size=h, roundoff=0.1, underflow=LOST
    )
    sizes = np.abs(V) @ Y[0] + np.abs(skip) @ Y[2] + bias + LOST  # ν more than printed: b = 0 has a logarithm, too
    assert found == pytest.approx(np.log(2 * h * (0.1 * sizes + (1 + 3 + 2) * LOST)), rel=1e-13)


def test_the_roundoff_of_a_sum_and_the_range_of_the_constants():
    assert reconstruction.sum_roundoff(terms=5, unit_roundoff=0.1) == pytest.approx(0.5 / 0.5)
    assert reconstruction.sum_roundoff(terms=3, unit_roundoff=2.0**-8) == pytest.approx(3 / 253)
    for terms in (8, 9):
        with pytest.raises(ValueError, match="no digit"):
            reconstruction.sum_roundoff(terms=terms, unit_roundoff=0.125)
    at = {"w": 0.1, "step_size": 0.1, "alpha": 1.0, "form": 1.0, "underflow": 0.0}
    reconstruction.state_growth(**at, unit_roundoff=2.0**-7)
    with pytest.raises(ValueError, match="2⁻⁷"):
        reconstruction.state_growth(**at, unit_roundoff=2.0**-6)
    end = math.sqrt(1 - 16 * 2.0**-14)  # 1 − 4u/√(1 − ah²/4) = 0 at u = 2⁻⁷
    for share, holds in ((1 - (1 - end**2) * 1.01, True), (1 - (1 - end**2) * 0.99, False)):
        arguments = at | {"form": share * 4 / 0.1**2, "unit_roundoff": 2.0**-7, "alpha": 300.0}
        if holds:
            reconstruction.state_growth(**arguments)
        else:
            with pytest.raises(ValueError, match="too coarse"):
                reconstruction.state_growth(**arguments)


def test_the_estimate_is_the_printed_law():
    log_error = reconstruction.estimated_log_error(unit_roundoff=2.0**-24, steps=400, rms_energy_root=3.0)
    assert log_error == pytest.approx(math.log(0.600561 * 2.0**-24 * 20 * 3), rel=1e-6)


def test_the_noise_of_a_drive_counts_the_size_of_its_bias_and_a_neuron_without_inputs():
    """Two neurons: b = −3 with no weight that is not zero, b = −1/4 with one; Y = (2,), γ = 1/8, ν = 1/64."""
    h = np.array([0.5, 0.25])
    with np.errstate(all="raise"):  # the first neuron's sum of products is 0, and has no logarithm
        found = reconstruction.log_drive_noise(
            edges={0: np.array([[0.0], [-1.5]])},
            bias=np.array([-3.0, -0.25]),
            states=[StateLogs(np.log([2.0]), np.zeros(1))],
            step_size=h,
            roundoff=1 / 8,
            underflow=1 / 64,
        )
    sizes = np.array([0 + 3 + 1 / 64, 3 + 1 / 4 + 1 / 64])
    assert np.exp(found) == pytest.approx(2 * h * (sizes / 8 + 2 / 64), rel=1e-13)
