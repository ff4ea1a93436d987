"""Enclosures over long horizons: a computed trajectory, its residuals, and the error carried in moving norms.

One neuron, or many at once, of (U): z_n = z_{n−1} − h (tanh(w y_{n−1} + x_n) + α y_{n−1}), y_n = y_{n−1} + h z_n.
Given is any float64 sequence; proved is how far the true one is from it. The error obeys e_n = B(κ_n) e_{n−1} +
residual with κ_n = α + w σ'(η_n), η_n in the tube around the computed argument, and is measured in ‖F_n e‖₂. F_0 is
that of √Q_a; F_n is carried along the computed trajectory, so that a step is an isometry but for rounding and the
width of the tube (``moving``), or stays (``fixed``: then a step costs exp asinh(h|κ − a|/2r)). Theorem and proof:
docs/derivations/long_horizons.md. A helper of the tests, ``residual_again``, checks every inequality in balls, the
start included.

In use: ``network``, and through it the second opinion on large witnesses and the proof that the measured envelopes of
the networks of Table 6 are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from verification.certify.second.rounding import FLOOR, LARGEST, SLOPE_ERROR, TANH_ERROR, UP, Array, U, above, tanh

WINDOW = 256
CHUNK = 2**21
"""Steps × neurons worked on at once."""
CONDITION = 2.0**8
"""A frame with a larger condition number is rounded off between windows."""
SMALLEST_STEP = 2.0**-60
WIDEST = 1.0
"""A tube of this half-width says nothing about κ any more."""
TRIES = 12

Frames = Literal["moving", "fixed"]


@dataclass(frozen=True)
class TubeNorms:
    """The norms of a run, for those who carry more errors in them: (steps + 1, neurons), index n.

    ‖F_n e‖ ≤ ``error``_n. ``growth``_n bounds ‖F_n B(κ) F_{n−1}⁻¹‖ over the tube, ``push``_n = ‖F_n (h, 1)ᵀ‖,
    ``drift``_n = ‖F_n e_y‖, ``y``_n and ``z``_n the norms of the rows of F_n⁻¹; index 0 of the first three is unused.
    Between windows F_n may change: step n + 1 then departs from ``departure`` F with ``turn``_n times the error, and
    ``y_departure`` and ``z_departure`` belong to it. ``slope``_n ± ``slope_radius``_n is σ' on the tube in step n.
    """

    arrival: Array
    departure: Array
    error: Array
    turn: Array
    growth: Array
    push: Array
    drift: Array
    y: Array
    z: Array
    y_departure: Array
    z_departure: Array
    slope: Array
    slope_radius: Array


@dataclass(frozen=True)
class LongRun:
    """|y_n − ŷ_n| ≤ ``y_radius``[n], |z_n − ẑ_n| ≤ ``z_radius``[n] for n = 0..``steps``, proved; (steps + 1, neurons).

    ``complete`` if ``steps`` is N; else ``because`` says what was met there, and nothing is said about later steps.
    """

    steps: int
    complete: bool
    because: str
    y_radius: Array
    z_radius: Array
    norms: TubeNorms | None = None


@dataclass(frozen=True)
class Oscillators:
    """w, h and α of the neurons, each (neurons,); |h − true h| ≤ ``step_size_radius``. w and α are exact."""

    w: Array
    step_size: Array
    alpha: Array
    step_size_radius: Array

    @staticmethod
    def of(w: object, step_size: object, alpha: object, step_size_radius: object = 0.0) -> Oscillators:
        """From numbers or arrays that broadcast. ValueError for an h that is not positive, or a number too large."""
        arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(v, float)) for v in (w, step_size, alpha)))
        radius = np.broadcast_to(np.asarray(step_size_radius, float), arrays[0].shape)
        _check("w, h or α", *arrays, radius)
        if not (arrays[1] >= SMALLEST_STEP).all() or (radius < 0).any():
            raise ValueError("A step size is not positive (or below 2^-60), or its radius is negative.")
        return Oscillators(arrays[0], arrays[1], arrays[2], radius)


def certify(
    y: Array,
    z: Array,
    neurons: Oscillators,
    *,
    drive: Array,
    drive_radius: Array | float = 0.0,
    force_radius: Array | float = 0.0,
    start_radius: tuple[Array | float, Array | float] = (0.0, 0.0),
    frames: Frames = "moving",
    keep: bool = False,
) -> LongRun:
    """How far the true y_n, z_n are from the given ones.

    y, z: (N + 1, neurons), from n = 0; drive: (N, neurons), its row n − 1 is x_n. The true drive may differ by
    ``drive_radius``, the true force tanh(…) + α y by ``force_radius`` besides, the true start by ``start_radius``.
    ``keep`` returns the norms as well. ValueError for shapes that do not fit, and numbers that are not finite or too
    large.
    """
    steps, count = drive.shape
    if y.shape != (steps + 1, count) or z.shape != y.shape or neurons.w.shape != (count,):
        raise ValueError(
            f"y {y.shape}, z {z.shape}, drive {drive.shape}, w {neurons.w.shape}: "
            "expected (N + 1, k) twice, (N, k) and (k,)."
        )
    _check("a state, a drive or a radius", y, z, drive, np.asarray(drive_radius), np.asarray(force_radius))
    radii = [np.broadcast_to(np.asarray(array, float), drive.shape) for array in (drive_radius, force_radius)]
    starts = [np.broadcast_to(np.asarray(array, float), (count,)) for array in start_radius]
    if any((array < 0).any() for array in (*radii, *starts)):
        raise ValueError("A radius is negative.")
    size = max(1, CHUNK // max(1, steps))
    parts = []
    for first in range(0, count, size):
        part = slice(first, first + size)
        own = Oscillators(*(array[part] for array in vars(neurons).values()))
        local = _Local(y[:, part], z[:, part], own, drive[:, part], *(array[:, part] for array in radii))
        with np.errstate(all="ignore"):  # what is not finite is refused below, by comparisons that it fails
            parts.append(_propagated(local, own, [array[part] for array in starts], frames, keep, first))
    return parts[0] if len(parts) == 1 else _joined(parts)


class _Local:
    """What every step is by itself, for all steps at once: residuals, κ̂ and how κ depends on the tube's width."""

    def __init__(
        self, y: Array, z: Array, own: Oscillators, x: Array, drive_radius: Array, force_radius: Array
    ) -> None:
        w, h, alpha, h_radius = own.w, own.step_size, own.alpha, own.step_size_radius
        before = y[:-1]
        recurrent = w * before
        argument = recurrent + x
        argument_error = U * (np.abs(recurrent) + np.abs(argument))
        s = tanh(argument)
        restoring = alpha * before
        force = s + restoring
        force_error = TANH_ERROR + argument_error + U * (np.abs(restoring) + np.abs(force))
        kick, change = h * force, z[1:] - z[:-1]
        left = change + kick
        self.kick = above(
            np.abs(left)
            + h * (force_error + force_radius)
            + h_radius * (np.abs(force) + force_error + force_radius)
            + U * (np.abs(kick) + np.abs(change) + np.abs(left))
        )
        drift, change = h * z[1:], y[1:] - y[:-1]
        left = change - drift
        self.drift = above(
            np.abs(left) + h_radius * np.abs(z[1:]) + U * (np.abs(drift) + np.abs(change) + np.abs(left))
        )
        self.slope = 1 - s * s
        self.slope_error = SLOPE_ERROR + 2 * argument_error
        self.kappa = alpha + w * self.slope
        self.kappa_error = above(U * (np.abs(w) * self.slope + np.abs(self.kappa)))
        self.bend = 2 * np.abs(s) * self.slope + 2.0**-46 + 2 * argument_error  # |σ''| at the argument, and more
        self.drive_radius = drive_radius

    def around(self, window: slice, w: Array, tube: Array) -> tuple[Array, Array]:
        """How far, for η within |w| tube + drive radius of the argument a, σ'(η) and the secant slope
        (σ(η) − σ(a))/(η − a) are from the slope: Taylor, |third derivative| ≤ 2. Both slopes lie in [0, 1].
        """
        width = np.abs(w) * tube + self.drive_radius[window]
        bend, square, error = self.bend[window], width * width, self.slope_error[window]
        tangent = above(error + np.minimum(1.0, bend * width + square))
        return tangent, above(error + np.minimum(1.0, bend * width / 2 + square / 3))


class _Frame:
    """F_n, n = first..last of a window, as its four entries (last − first + 1, neurons)."""

    def __init__(self, entries: list[Array]) -> None:
        self.entries = entries
        a, b, c, d = entries
        self.determinant = np.abs(a * d - b * c) - 4 * U * (np.abs(a * d) + np.abs(b * c)) - FLOOR
        self.regular = self.determinant > 0
        self.safe = np.where(self.regular, self.determinant, 1.0)
        self.drift = above(_length(a, c))
        self.y = above(_length(d, b) / self.safe)
        self.z = above(_length(c, a) / self.safe)


def _propagated(
    local: _Local, own: Oscillators, starts: list[Array], frames: Frames, keep: bool, offset: int
) -> LongRun:
    steps, count = local.kappa.shape
    a = _chosen(local.kappa, own.step_size, steps)
    start = _invariant(a, own.step_size)
    window = _window(local.kappa, own.step_size, steps)
    flows = _flows(local.kappa, own.step_size, window) if frames == "moving" else None
    error = above(_length(start[0] * starts[0], np.abs(start[2]) * starts[0] + starts[1]))
    first, error_at_start = _Frame([array[None] for array in start]), error
    y_radius, z_radius = [above(first.y * error)], [above(first.z * error)]
    kept: list[dict[str, Array]] = []
    done, because = 0, ""
    while done < steps:
        part = slice(done, min(done + window, steps))
        length = part.stop - done
        if flows is None:
            frame = _Frame([np.broadcast_to(array, (length + 1, count)) for array in start])
            defect = _fixed_defect(local.kappa[part], own, a)
        else:
            frame = _Frame(_moved(start, [array[done // window, :length] for array in flows]))
            defect = _moving_defect(frame, local.kappa[part], own)
        push = _push(frame, own)
        tube = _tube(local, part, own, frame, defect, push, error)
        if tube is None or not frame.regular.all():
            because = _reason(own, frame, error, done, offset)
            break
        errors, growth, slope_radius = tube
        y_radius.append(above(frame.y[1:] * errors[1:]))
        z_radius.append(above(frame.z[1:] * errors[1:]))
        turn, end = np.ones(count), [array[-1] for array in frame.entries]
        error = errors[-1]
        if flows is not None:
            start, turn = _rounded_off(end, frame.safe[-1])
            error = above(error * turn)
        if keep:
            kept.append(
                {
                    "arrival": np.stack([array[1:] for array in frame.entries], -1),
                    "error": errors[1:],
                    "departure": np.stack([array[:-1] for array in frame.entries], -1),
                    "turn": turn,
                    "growth": growth,
                    "push": push,
                    "drift": frame.drift[1:],
                    "y": frame.y[1:],
                    "z": frame.z[1:],
                    "slope": local.slope[part],
                    "slope_radius": slope_radius,
                    "y_departure": frame.y[:-1],
                    "z_departure": frame.z[:-1],
                }
            )
        done = part.stop
    radii = np.concatenate(y_radius), np.concatenate(z_radius)
    norms = _norms(kept, first, y_radius[0], error_at_start) if kept else None
    return LongRun(done, done == steps, because, *radii, norms)


def _norms(kept: list[dict[str, Array]], first: _Frame, y_radius: Array, error: Array) -> TubeNorms:
    """The windows' arrays in a row, index n."""
    rows = {name: np.concatenate([window[name] for window in kept]) for name in kept[0] if name != "turn"}
    start = np.stack(first.entries, -1)
    none = np.zeros_like(y_radius)
    turn = np.ones((len(rows["error"]) + 1, y_radius.shape[1]))
    place = 0
    for window in kept:
        place += len(window["error"])
        turn[place] = window["turn"] if place < len(rows["error"]) else 1.0
    fronts = {"arrival": start, "error": error[None], "y": first.y, "z": first.z}
    for name in ("arrival", "error", "y", "z", "growth", "push", "drift", "slope", "slope_radius"):
        rows[name] = np.concatenate([fronts.get(name, none), rows[name]])
    rows["departure"] = np.concatenate([rows["departure"], rows["arrival"][-1:]])
    for name in ("y", "z"):
        rows[f"{name}_departure"] = np.concatenate([rows[f"{name}_departure"], rows[name][-1:]])
    return TubeNorms(turn=turn, **rows)


def _joined(parts: list[LongRun]) -> LongRun:
    """The neurons side by side, as far as all of them are certified."""
    steps = min(part.steps for part in parts)
    stopped = next(part for part in parts if part.steps == steps)
    y, z = (
        np.concatenate([getattr(part, name)[: steps + 1] for part in parts], 1) for name in ("y_radius", "z_radius")
    )
    norms = None
    if all(part.norms is not None for part in parts):
        rows = [vars(part.norms) for part in parts]
        norms = TubeNorms(**{name: np.concatenate([row[name][: steps + 1] for row in rows], 1) for name in rows[0]})
    return LongRun(steps, stopped.complete, stopped.because, y, z, norms)


def _reason(own: Oscillators, frame: _Frame, error: Array, done: int, offset: int) -> str:
    """Why no tube holds itself after step ``done``; neurons count from 1."""
    worst = int(np.argmax(np.where(frame.regular.all(axis=0), above(frame.y[0] * error), np.inf)))
    return (
        f"after step {done} no tube encloses the trajectory: the error of y, at most "
        f"{float(frame.y[0, worst] * error[worst]):.3g} there for neuron {offset + worst + 1} (w = {own.w[worst]:.6g}, "
        f"h = {own.step_size[worst]:.6g}), grows too fast. "
        "A shorter horizon can be certified, or more digits: verification.certify.network."
    )


def _length(x: Array, y: Array) -> Array:
    return np.sqrt(x * x + y * y)


def _check(what: str, *arrays: Array) -> None:
    for array in arrays:
        if not np.isfinite(array).all() or (np.abs(array) > LARGEST).any():
            raise ValueError(f"{what[0].upper() + what[1:]} is not finite or exceeds 2^30.")


def _chosen(kappa: Array, h: Array, steps: int) -> Array:
    """a of the first norm √Q_a: the mean of κ, kept in (0, 4/h²)."""
    middle: Array = kappa.mean(axis=0)
    return np.minimum(np.maximum(middle, 1 / (steps * h) ** 2), 3.9 / h**2)


def _invariant(a: Array, h: Array) -> list[Array]:
    """F with ‖F (y, z)‖² = Q_a(y, z) = a (1 − ah²/4) y² + (z − ahy/2)²."""
    return [np.sqrt(a * (1 - a * h * h / 4)), np.zeros_like(a), -a * h / 2, np.ones_like(a)]


def _window(kappa: Array, h: Array, steps: int) -> int:
    """So short that no saddle or fast rotation with κ h² > 4 stretches a window by more than e⁶."""
    rate = float(np.max(np.maximum(h * np.sqrt(np.maximum(-kappa, 0)), np.where(h * h * kappa > 4, h * h * kappa, 0))))
    return max(1, min(WINDOW, steps, int(6 / rate) if rate > 6 / WINDOW else WINDOW))


def _flows(kappa: Array, h: Array, window: int) -> list[Array]:
    """Entries of B(κ̂_n) ⋯ B(κ̂_first), (windows, window, neurons): all windows advance together. Not rigorous."""
    steps, count = kappa.shape
    windows = -(-steps // window)
    padded = np.zeros((windows * window, count))
    padded[:steps] = h * kappa
    pulls = padded.reshape(windows, window, count)
    out = [np.empty((windows, window, count)) for _ in range(4)]
    a, b = np.ones((windows, count)), np.zeros((windows, count))
    c, d = np.zeros((windows, count)), np.ones((windows, count))
    for k in range(window):
        pull = pulls[:, k]
        c, d = c - pull * a, d - pull * b
        a, b = a + h * c, b + h * d
        for target, value in zip(out, (a, b, c, d), strict=True):
            target[:, k] = value
    return out


def _moved(start: list[Array], flow: list[Array]) -> list[Array]:
    """F_n = F M_n⁻¹, with F itself in front."""
    s11, s12, s21, s22 = start
    a, b, c, d = flow
    moved = [s11 * d - s12 * c, s12 * a - s11 * b, s21 * d - s22 * c, s22 * a - s21 * b]
    return [np.concatenate([first[None], rest]) for first, rest in zip(start, moved, strict=True)]


def _push(frame: _Frame, own: Oscillators) -> Array:
    """‖F_n (h, 1)ᵀ‖ for the true h, n after the first."""
    a, b, c, d = (entry[1:] for entry in frame.entries)
    h = own.step_size
    p, q = np.abs(a * h + b), np.abs(c * h + d)
    p = p + 3 * U * (np.abs(a) * h + np.abs(b)) + own.step_size_radius * np.abs(a)
    q = q + 3 * U * (np.abs(c) * h + np.abs(d)) + own.step_size_radius * np.abs(c)
    return above(_length(p, q))


def _moving_defect(frame: _Frame, kappa: Array, own: Oscillators) -> Array:
    """‖F_n B(κ̂) F_{n−1}⁻¹‖ − 1 ≤ ‖(F_n B(κ̂) − F_{n−1}) F_{n−1}⁻¹‖_F: what rounding left of an isometry.

    With p = F (h, 1)ᵀ the columns of F B(κ) are F e_y − h κ p and p.
    """
    h, h_radius = own.step_size, own.step_size_radius
    pull = h * kappa
    rows = []
    for i in (0, 2):
        f, g = frame.entries[i][1:], frame.entries[i + 1][1:]
        f_before, g_before = frame.entries[i][:-1], frame.entries[i + 1][:-1]
        lever = f * h
        p = lever + g
        p_error = U * (np.abs(lever) + np.abs(p)) + h_radius * np.abs(f)
        back = pull * p
        kept = f - back
        first, second = kept - f_before, p - g_before
        first_error = (
            np.abs(pull) * p_error
            + (h_radius * np.abs(kappa)) * (np.abs(p) + p_error)
            + U * (2 * np.abs(back) + np.abs(kept) + np.abs(first))
        )
        rows.append((np.abs(first) + first_error, np.abs(second) + p_error + U * np.abs(second)))
    a, b, c, d = (np.abs(entry[:-1]) for entry in frame.entries)
    squares = sum(((one * d + two * c) ** 2 + (one * b + two * a) ** 2 for one, two in rows), np.zeros_like(a))
    return above(np.sqrt(squares) * (1 + 4 * U) / frame.safe[:-1])


def _fixed_defect(kappa: Array, own: Oscillators, a: Array) -> Array:
    """exp asinh t − 1 ≤ t + t²/2 with t = h|κ̂ − a|/(2r), r² = a (1 − ah²/4), and what F and h are off by."""
    h, h_radius = own.step_size, own.step_size_radius
    room = 1 - a * h * h / 4
    r, c = np.sqrt(a * room), a * h / 2
    t = h * (np.abs(kappa - a) + 2 * U * (np.abs(kappa) + a)) / (2 * r) * (1 + 16 * U / room)
    # F F*⁻¹ − I for the exact F* of the float a and h has the entries δr/r and δc/r only
    frame_error = 16 * U / room + 8 * U * c / r
    # entries of F (B of the true h − B) F⁻¹, summed
    size = np.abs(kappa)
    other = h_radius * (3 * h * size + 2 * c + r + (3 * c * h * size + size + c * c) / r)
    defect = above(t + t * t / 2 + other * (1 + 2.0**-30))
    return above(defect + 3 * frame_error * (1 + defect))


def _tube(
    local: _Local, part: slice, own: Oscillators, frame: _Frame, defect: Array, push: Array, error: Array
) -> tuple[Array, Array, Array] | None:
    """(errors from the window's start, growth of each step, slope radius), or None if no tube holds itself.

    By induction on n: if |e_k| is within the tube for k < n then growth_n is right, so ε_n is, and it is compared with
    the tube again.
    """
    y = frame.y[:-1]
    h = own.step_size + own.step_size_radius
    own_residual = local.kick[part] * push + local.drift[part] * frame.drift[1:]
    given = h * local.drive_radius[part] * push
    added = above(own_residual + given)
    tube = above(2 * y * (error + np.concatenate([np.zeros_like(added[:1]), np.cumsum(added, axis=0)[:-1]])))
    # more room at each step than the one before, so that rounding leaves every single inequality true, not only the sum
    room = (1 + 2.0**-40) * (1 + 2.0**-48 * np.arange(1, len(added) + 1)[:, None])
    for _ in range(TRIES):
        if not (tube <= WIDEST).all():
            return None
        slope_radius, secant_radius = local.around(part, own.w, tube)
        wander = local.kappa_error[part] + np.abs(own.w) * secant_radius
        growth = 1 + above(defect + h * wander * push * y)
        added = above(own_residual + given * np.minimum(1.0, local.slope[part] + secant_radius))
        total = np.cumprod(growth, axis=0)
        if not (total < 1e100).all():
            return None
        errors = above(total * (error + np.cumsum(added / total, axis=0)) * room)
        errors = np.concatenate([error[None], errors])
        if (above(y * errors[:-1]) <= tube).all():
            return errors, growth * UP, slope_radius
        tube = 2 * np.maximum(tube, y * errors[:-1])
    return None


def _rounded_off(end: list[Array], determinant: Array) -> tuple[list[Array], Array]:
    """(F', bound on ‖F' F⁻¹‖): the larger singular value is cut to ``CONDITION`` times the smaller one, which becomes
    1.

    Cutting makes the norm smaller, so no error is lost on the way; frames that are still good are not touched.
    """
    F = np.stack(end, -1).reshape(-1, 2, 2)
    _, sizes, right = np.linalg.svd(F)
    good = (sizes[:, 0] <= CONDITION * sizes[:, 1]) & (sizes[:, 1] > 2.0**-20) & (sizes[:, 0] < 2.0**20)
    ratio = np.minimum(sizes[:, 0] / sizes[:, 1], CONDITION)
    new = np.stack([ratio, np.ones_like(ratio)], -1)[..., None] * right
    a, b, c, d = end
    size = np.zeros_like(a)
    entries = []
    for i in (0, 1):  # D = F' adj(F) / det
        for left, other in ((d, c), (b, a)):
            one, two = new[:, i, 0] * left, new[:, i, 1] * other
            entries.append((one - two) / determinant)
            size = size + (np.abs(one) + np.abs(two)) / determinant
    D = [np.abs(entry) for entry in entries]
    p, s = D[0] ** 2 + D[2] ** 2, D[1] ** 2 + D[3] ** 2
    q = entries[0] * entries[1] + entries[2] * entries[3]
    spread = _length((p - s) / 2, q)
    norm = np.sqrt((p + s) / 2 + spread + 16 * U * (p + s))
    turn = above(norm + 8 * U * size)  # the determinant is a lower bound, so all of D is at least as large as it is
    start = [np.where(good, old, fresh) for old, fresh in zip(end, new.reshape(-1, 4).T, strict=True)]
    return start, np.where(good, 1.0, turn)
