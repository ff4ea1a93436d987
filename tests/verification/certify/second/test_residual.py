"""Long horizons: the enclosures hold against many digits, the second opinion agrees, and faults are seen by it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import flint
import numpy as np
import pytest

from tests.tiers import only
from tests.verification.certify.second import residual_again as residual_second
from verification.certify.second import residual
from verification.certify.second.residual import LongRun, Oscillators, certify

W, H, ALPHA = np.array([1.0, -0.7, 0.5, 0.0]), np.array([0.05, 0.1, 0.25, 0.3]), np.array([1.0, 0.5, 12.0, 0.0])


def drives(steps: int, count: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal((steps, count))
    return np.sin(0.37 * np.arange(steps))[:, None] + 0.3 * noise


def simulated(x: np.ndarray, w: Any, h: Any, alpha: Any) -> tuple[np.ndarray, np.ndarray]:
    """Plain float64, as a user would."""
    y, z = np.zeros((2, len(x) + 1, x.shape[1]))
    for n, drive in enumerate(x):
        z[n + 1] = z[n] - h * (np.tanh(w * y[n] + drive) + alpha * y[n])
        y[n + 1] = y[n] + h * z[n + 1]
    return y, z


def exact(x: np.ndarray, w: float, h: Any, alpha: float, bits: int) -> list[tuple[Any, Any]]:
    """One neuron in balls."""
    with flint.ctx.workprec(bits):
        y = z = flint.arb(0)
        rows = [(y, z)]
        for drive in x:
            z = z - h * ((w * y + float(drive)).tanh() + alpha * y)
            y = y + h * z
            rows.append((y, z))
    assert rows[-1][0].rad() < 1e-30
    return rows


def largest_ratio(run: LongRun, y: np.ndarray, z: np.ndarray, i: int, rows: list[tuple[Any, Any]]) -> float:
    """max |computed − exact| / radius over n and both parts."""
    found = 0.0
    with flint.ctx.workprec(4000):
        for n in range(1, run.steps + 1):
            for value, radius, true in ((y, run.y_radius, rows[n][0]), (z, run.z_radius, rows[n][1])):
                off = abs(flint.arb(float(value[n, i])) - true).upper()
                found = max(found, float(off / float(radius[n, i])))
    return found


@pytest.mark.parametrize("frames", ["moving", "fixed"])
def test_a_batch_of_neurons_is_enclosed_and_the_bound_is_not_idle(frames):
    x = drives(700, 4)
    y, z = simulated(x, W, H, ALPHA)
    run = certify(y, z, Oscillators.of(W, H, ALPHA), drive=x, frames=frames)
    assert (run.steps == 700 and run.complete and not run.because) or frames == "fixed"
    for i in range(4):
        rows = exact(x[:, i], float(W[i]), float(H[i]), float(ALPHA[i]), 2400)
        assert 1e-4 < largest_ratio(run, y, z, i, rows) <= 1
    assert float(run.y_radius[-1].max()) < (1e-8 if frames == "moving" else 1)


def test_moving_norms_reach_further_than_a_fixed_one_and_than_the_worst_input():
    x = drives(4000, 1)
    y, z = simulated(x, 1.0, 0.05, 1.0)
    moving, fixed = (certify(y, z, Oscillators.of(1.0, 0.05, 1.0), drive=x, frames=f) for f in ("moving", "fixed"))
    assert moving.complete and moving.y_radius.max() < 1e-12
    assert fixed.y_radius[fixed.steps, 0] > 1e3 * moving.y_radius[fixed.steps, 0]
    a = 1.5  # the best form for every input at once, kappa in [1, 2]
    rate = math.asinh(0.05 * 0.5 / (2 * math.sqrt(a * (1 - a * 0.05**2 / 4))))
    assert math.exp(4000 * rate) * 1e-16 > 1  # where admitted_error knows nothing


def test_uncertain_steps_drives_forces_and_starts_are_covered():
    x = drives(400, 1)
    y, z = simulated(x, 0.8, 0.1, 2.0)
    radii = {"drive_radius": 1e-9, "force_radius": 1e-10, "start_radius": (1e-11, 1e-11)}
    run = certify(y, z, Oscillators.of(0.8, 0.1, 2.0, 1e-12), drive=x, **radii)
    assert run.complete and run.y_radius.max() < 1e-5
    signs = np.sign(np.random.default_rng(5).standard_normal(400))
    for each in (signs, np.ones(400), -np.ones(400)):
        with flint.ctx.workprec(400):
            moved_y, moved_z = flint.arb(1e-11), flint.arb(-1e-11)
            rows = [(moved_y, moved_z)]
            h = flint.arb(0.1) + 1e-12
            for n, drive in enumerate(x[:, 0]):
                argument = 0.8 * moved_y + float(drive) + 1e-9 * float(each[n])
                moved_z = moved_z - h * (argument.tanh() + 2 * moved_y + 1e-10 * float(each[n]))
                moved_y = moved_y + h * moved_z
                rows.append((moved_y, moved_z))
        assert 1e-3 < largest_ratio(run, y, z, 0, rows) <= 1
    plain = certify(y, z, Oscillators.of(0.8, 0.1, 2.0), drive=x)
    assert largest_ratio(plain, y, z, 0, rows) > 1  # what is not declared is not covered


def started(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count), np.zeros(count)


def kept(frames: str = "moving", steps: int = 600) -> tuple[LongRun, dict[str, Any], np.ndarray, np.ndarray]:
    x = drives(steps, 3, seed=2)
    y, z = simulated(x, W[:3], H[:3], ALPHA[:3])
    run = certify(y, z, Oscillators.of(W[:3], H[:3], ALPHA[:3]), drive=x, frames=frames, keep=True)
    own = {"w": W[:3], "step_sizes": [flint.arb(float(h)) for h in H[:3]], "alpha": ALPHA[:3], "drive": x}
    own["start"] = started(3)
    return run, own, y, z


@pytest.mark.parametrize("frames", only(["moving", "fixed"], "moving"))
def test_the_second_opinion_confirms_every_step(frames):
    run, own, y, z = kept(frames)
    assert residual_second.recheck(run, y, z, **own) == []


def test_the_second_opinion_sees_a_certificate_of_another_run():
    run, own, y, z = kept()
    sampled = range(1, 600, 7)
    planted = {
        "w": own | {"w": own["w"] + 1e-3},
        "h": own | {"step_sizes": [h * 1.0001 for h in own["step_sizes"]]},
        "alpha": own | {"alpha": own["alpha"] - 1e-3},
        "another drive": own | {"drive": np.roll(own["drive"], 1, axis=0)},
    }
    for name, changed in planted.items():
        assert residual_second.recheck(run, y, z, **changed, steps=sampled), name
    assert residual_second.recheck(run, -y, z, **own, steps=sampled)  # a sign
    norms = run.norms
    assert norms is not None
    late = np.where(np.arange(601) < 300, 1.0, 1.01)[:, None]
    for name, values in {"error": norms.error * 0.1, "arrival": norms.arrival * late[..., None]}.items():
        faulty = dataclasses.replace(run, norms=dataclasses.replace(norms, **{name: values}))
        assert residual_second.recheck(faulty, y, z, **own, steps=(1, 300)), name
    thin = dataclasses.replace(run, y_radius=run.y_radius * 0.999)
    assert residual_second.recheck(thin, y, z, **own, steps=sampled)


@pytest.mark.parametrize("frames", ["moving", "fixed"])
@pytest.mark.parametrize(("w", "h", "alpha"), [(0.8, 0.1, 2.0), (16.0, 1.0, 0.4), (-0.7, 0.05, -0.5), (1.0, 0.05, 0.0)])
def test_the_second_opinion_confirms_wide_drives_and_uncertain_starts(frames, w, h, alpha):
    """Second-order terms of wide tubes count here, also where σ' is nearly 1 and where the neuron is saturated."""
    for seed, size in enumerate((1e-8, 0.3, 3.0)):
        x = size * drives(40, 1, seed=seed)
        y, z = simulated(x, w, h, alpha)
        radii = {"drive_radius": np.full((40, 1), 1e-3), "force_radius": np.full((40, 1), 1e-6)}
        radii["start_radius"] = (np.array([1e-4]), np.array([1e-5]))
        run = certify(y, z, Oscillators.of(w, h, alpha), drive=x, frames=frames, keep=True, **radii)
        assert run.steps >= 1 or (w, frames) == (16.0, "fixed")
        own = {"w": [w], "step_sizes": [flint.arb(h)], "alpha": [alpha], "drive": x, "start": started(1)}
        if run.steps:
            assert residual_second.recheck(run, y, z, **own, **radii) == []
            wider = radii | {"drive_radius": radii["drive_radius"] * 1.05}  # a fixed norm has more room than that
            assert frames == "fixed" or residual_second.recheck(run, y, z, **own, **wider)


def test_the_second_opinion_sees_a_start_that_is_not_covered():
    x = drives(50, 1)
    y, z = np.zeros((2, 51, 1))
    y[0] = 1e-3
    for n in range(50):
        z[n + 1] = z[n] - 0.1 * (np.tanh(y[n] + x[n]) + y[n])
        y[n + 1] = y[n] + 0.1 * z[n + 1]
    run = certify(y, z, Oscillators.of(1.0, 0.1, 1.0), drive=x, keep=True)
    own = {"w": [1.0], "step_sizes": [flint.arb(0.1)], "alpha": [1.0], "drive": x}
    there, shifted = ([1e-3], [0.0]), ([0.0], [1e-3])
    assert residual_second.recheck(run, y, z, **own, start=there) == []
    for elsewhere in (started(1), shifted):
        found = residual_second.recheck(run, y, z, **own, start=elsewhere, steps=range(1, 51))
        assert len(found) == 1 and "start: the error is up to" in found[0]
    radii = ([1e-6], [1e-6])
    assert residual_second.recheck(run, y, z, **own, start=there, start_radius=radii)
    wide = certify(y, z, Oscillators.of(1.0, 0.1, 1.0), drive=x, keep=True, start_radius=(1e-6, 1e-6))
    assert residual_second.recheck(wide, y, z, **own, start=there, start_radius=radii) == []
    for name in ("y_radius", "z_radius"):
        values = getattr(wide, name).copy()
        values[0] = 0
        faulty = dataclasses.replace(wide, **{name: values})
        found = residual_second.recheck(faulty, y, z, **own, start=there, start_radius=radii, steps=())
        assert found == [f"neuron 1, start: {name} is too small"]


def test_the_second_opinion_confirms_steps_that_add_less_than_a_rounding():
    """The error of the start is all there is: each single inequality holds, not only what they add up to."""
    rng, count = np.random.default_rng(1), 150
    h, w = 10.0 ** rng.uniform(-9.7, -9, count), rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-2, 1, count)
    alpha = rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-2, 1.5, count)
    x = rng.standard_normal((40, count)) * 10.0 ** rng.uniform(-8, 3, count)
    y, z = simulated(x, w, h, alpha)
    given = {"start_radius": 2 * [10.0 ** rng.uniform(-10, -3, count)]}
    own = {"w": w, "alpha": alpha, "drive": x, "start": started(count), "step_sizes": [flint.arb(each) for each in h]}
    run = certify(y, z, Oscillators.of(w, h, alpha), drive=x, keep=True, **given)
    assert run.complete and residual_second.recheck(run, y, z, **own, **given) == []


@pytest.mark.parametrize("frames", ["moving", "fixed"])
@pytest.mark.parametrize("radius", [1e-6, 1e-12])
def test_the_second_opinion_confirms_a_step_that_is_a_ball(frames, radius):
    x = drives(60, 1)
    y, z = simulated(x, 0.5, 0.3, 0.7)
    given = {"start_radius": (np.array([1e-4]), np.array([1e-4]))}
    own = {"w": [0.5], "alpha": [0.7], "drive": x, "start": started(1)} | given
    run = certify(y, z, Oscillators.of(0.5, 0.3, 0.7, radius), drive=x, frames=frames, keep=True, **given)
    step = flint.arb(0.3, radius * (1 - 1e-6))  # a ball's radius has 30 bits
    assert run.complete and residual_second.recheck(run, y, z, step_sizes=[step], **own) == []


def test_the_second_opinion_sees_a_step_that_is_less_certain_than_certified():
    """At rest on 0 the residuals vanish, and only the growth of the start's error tells."""
    y = z = np.zeros((31, 1))
    given = {"start_radius": (np.array([1e-4]), np.array([1e-4]))}
    own = {"w": [0.5], "alpha": [0.7], "drive": np.zeros((30, 1)), "start": started(1)} | given
    run = certify(y, z, Oscillators.of(0.5, 0.3, 0.7, 1e-6), drive=own["drive"], keep=True, **given)
    assert residual_second.recheck(run, y, z, step_sizes=[flint.arb(0.3, 0.99e-6)], **own) == []
    assert residual_second.recheck(run, y, z, step_sizes=[flint.arb(0.3, 1e-5)], **own)


def test_secant_slopes_are_where_the_second_opinion_says():
    rng = np.random.default_rng(4)
    for _ in range(300):
        A, width = float(rng.standard_normal() * 2), float(10.0 ** rng.uniform(-6, 1))
        off, steepest = (float(each) for each in residual_second._secants(flint.arb(A), flint.arb(width)))
        delta = width * np.append(np.linspace(-1, 1, 200), 1e-3)
        slopes = np.tanh(delta) / delta * (1 - math.tanh(A) * np.tanh(A + delta))
        assert np.abs(slopes - (1 - math.tanh(A) ** 2)).max() <= off * (1 + 1e-9) + 1e-15
        assert slopes.max() <= steepest * (1 + 1e-15) <= 1 + 1e-15 and off <= 1
    assert residual_second._secants(flint.arb(1), flint.arb(0))[0] == 0


def test_a_dropped_rounding_term_is_seen(monkeypatch):
    """Without the residual, or with the tube's width ignored, the inequalities do not hold."""
    original = residual._Local.__init__

    def without(name: str) -> Any:
        def faulty(self: Any, *arguments: Any) -> None:
            original(self, *arguments)
            setattr(self, name, getattr(self, name) * 0)

        return faulty

    x = drives(60, 1)
    y, z = simulated(x, 0.5, 0.3, 1.0)
    y[1:] += 1e-12 * np.random.default_rng(0).standard_normal((60, 1))  # either residual matters by itself
    own = {"w": [0.5], "step_sizes": [flint.arb(0.3)], "alpha": [1.0], "drive": x, "start": started(1)}
    for name in ("nothing", "kick", "drift"):
        monkeypatch.setattr(residual._Local, "__init__", original if name == "nothing" else without(name))
        run = certify(y, z, Oscillators.of(0.5, 0.3, 1.0), drive=x, keep=True)
        assert bool(residual_second.recheck(run, y, z, **own)) is (name != "nothing"), name
    monkeypatch.setattr(residual._Local, "__init__", original)
    monkeypatch.setattr(residual._Local, "around", lambda self, part, w, tube: (0 * tube, 0 * tube))
    wide = {"drive_radius": np.full((60, 1), 1e-6)}
    run = certify(y, z, Oscillators.of(0.5, 0.3, 1.0), drive=x, keep=True, **wide)
    assert residual_second.recheck(run, y, z, **own, **wide)


def test_a_chaotic_run_is_undecided_with_a_reason_and_its_beginning_is_certified():
    x = 2 * drives(2000, 2)
    w, h, alpha = np.array([1.0, 3.0]), np.array([0.05, 0.3]), np.array([1.0, 0.1])
    y, z = simulated(x, w, h, alpha)
    run = certify(y, z, Oscillators.of(w, h, alpha), drive=x)
    assert not run.complete and 100 < run.steps < 2000
    assert "neuron 2" in run.because and f"after step {run.steps}" in run.because and "w = 3" in run.because
    assert run.y_radius.shape == (run.steps + 1, 2)
    assert np.isfinite(run.y_radius).all() and np.isfinite(run.z_radius).all()
    rows = exact(x[: run.steps, 1], 3.0, float(h[1]), 0.1, 4000)
    assert 0 < largest_ratio(run, y, z, 1, rows) <= 1


def test_a_trajectory_that_is_none_gets_a_radius_that_says_so():
    x = drives(300, 1)
    y, z = simulated(x, 1.0, 0.1, 1.0)
    y[150:] += 1e-3
    run = certify(y, z, Oscillators.of(1.0, 0.1, 1.0), drive=x)
    assert run.y_radius[149, 0] < 1e-12 and run.y_radius[150:, 0].min() >= 1e-3


def test_chunks_of_neurons_are_the_neurons(monkeypatch):
    x = drives(300, 4)
    y, z = simulated(x, W, H, ALPHA)
    whole = certify(y, z, Oscillators.of(W, H, ALPHA), drive=x, keep=True)
    monkeypatch.setattr(residual, "CHUNK", 600)
    parts = certify(y, z, Oscillators.of(W, H, ALPHA), drive=x, keep=True)
    assert np.allclose(whole.y_radius, parts.y_radius, rtol=0.5)
    assert parts.norms is not None and whole.norms is not None
    assert {v.shape for v in vars(parts.norms).values()} == {v.shape for v in vars(whole.norms).values()}


def test_what_does_not_fit_is_refused():
    x = drives(10, 2)
    y, z = simulated(x, 1.0, 0.1, 1.0)
    own = Oscillators.of([1.0, 1.0], 0.1, 1.0)
    with pytest.raises(ValueError, match="expected"):
        certify(y[:-1], z[:-1], own, drive=x)
    with pytest.raises(ValueError, match="not finite"):
        certify(y + np.nan, z, own, drive=x)
    with pytest.raises(ValueError, match="not finite or exceeds"):
        Oscillators.of(2.0**31, 0.1, 1.0)
    with pytest.raises(ValueError, match="not positive"):
        Oscillators.of(1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="negative"):
        certify(y, z, own, drive=x, drive_radius=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("w", "h", "alpha"), [(1.0, 0.05, 1.0), (-0.5, 0.05, 1.0), (0.5, 0.01, 9.0)])
def test_a_hundred_thousand_steps(w, h, alpha):
    """Every inequality once more in balls, and the true states to step 20 000."""
    x = drives(100_000, 1, seed=3) * 2
    y, z = simulated(x, w, h, alpha)
    run = certify(y, z, Oscillators.of(w, h, alpha), drive=x, keep=True)
    assert run.complete and run.y_radius.max() < 1e-2
    own = {"w": [w], "step_sizes": [flint.arb(h)], "alpha": [alpha], "drive": x, "start": started(1)}
    assert residual_second.recheck(run, y, z, **own) == []
    part = 20_000
    rows = exact(x[:part, 0], w, h, alpha, 4000)
    begun = dataclasses.replace(run, steps=part)
    assert largest_ratio(begun, y, z, 0, rows) <= 1
