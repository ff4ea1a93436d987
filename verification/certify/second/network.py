"""The whole UnICORNN once more: float64 with proved roundings, errors in moving norms; nothing from odernn or
``network``.

Input is the plain data of ``NetworkData.to_plain``, parsed here. States are a float64 run whose residuals are bounded
(``residual``), layer after layer; the error of a layer enters the next as the radius of its drive. Gradients are
carried *forward*, one tangent a parameter, the Jacobian product *backward*, one adjoint a coordinate; their errors
live in the norms of the states, the adjoints' in the dual ones: docs/derivations/long_horizons.md.

In use: the second opinion on large witnesses (``network_states``, ``network_gradient``) and the proof that
the measured envelopes of the networks of Table 6 are right (``enclose_runs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from verification.certify.second import residual
from verification.certify.second.intervals import iv, logistic, number
from verification.certify.second.rounding import TANH_ERROR, Array, U, above, product, tanh


class NotEnclosedError(ArithmeticError):
    """The float64 run is too long, or too unstable, to be enclosed; says at which layer and step."""


@dataclass(frozen=True)
class FloatBox:
    """Each entry of the true array is within ``radius`` of ``middle``."""

    middle: Array
    radius: Array

    def __post_init__(self) -> None:
        if not (self.radius >= 0).all():
            raise ArithmeticError(f"A radius is {self.radius.min()}: a term of it has the wrong sign, or is no number.")

    @property
    def lower(self) -> Array:
        return np.nextafter(self.middle - self.radius, -np.inf)

    @property
    def upper(self) -> Array:
        return np.nextafter(self.middle + self.radius, np.inf)


class _FloatLayer:
    """Parameters (middle, radius) and, after ``run``, the states and what derivatives need of every step."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.w, self.w_radius = _read(data["w"])
        self.b, self.b_radius = _read(data["b"])
        self.V, self.V_radius = _read(data["V"])
        self.alpha, self.alpha_radius = (float(v) for v in _read(data["alpha"]))
        self.y0, self.y0_radius = _read(data["y0"])
        self.z0, self.z0_radius = _read(data["z0"])
        self.size = len(self.w)
        with iv.workprec(160):
            dt = number(data["dt"])
            sigma = [logistic(number(c)) for c in data["c"]]
            self.h, self.h_radius = _ends([dt * s for s in sigma])
            self.g, self.g_radius = _ends([dt * s * (1 - s) for s in sigma])  # dh/dc
            self.rest, self.rest_radius = _ends([1 - s for s in sigma])

    def drive(self, below: FloatBox) -> tuple[Array, Array]:
        """V y + b of all rows, with its radius."""
        x, radius = product(below.middle, below.radius, self.V.T, self.V_radius.T)
        drive = x + self.b
        return drive, above(radius + self.b_radius + U * np.abs(drive))

    def run(self, below: FloatBox, name: str) -> None:
        """All states from what is seen of the level below, (N, size) row n − 1 at step n."""
        drive, given_radius = self.drive(below)
        steps = len(drive)
        y, z = np.empty((steps + 1, self.size)), np.empty((steps + 1, self.size))
        y[0], z[0] = self.y0, self.z0
        for n in range(steps):
            z[n + 1] = z[n] - self.h * (np.tanh(self.w * y[n] + drive[n]) + self.alpha * y[n])
            y[n + 1] = y[n] + self.h * z[n + 1]
        if not (np.isfinite(y).all() and np.isfinite(z).all()):
            raise NotEnclosedError(f"{name}: the float64 run is not finite.")
        largest = np.abs(y[:-1]) + residual.WIDEST  # a tube is never wider
        drive_radius = above(given_radius + self.w_radius * largest)
        tube = residual.certify(
            y,
            z,
            residual.Oscillators.of(self.w, self.h, self.alpha, self.h_radius),
            drive=drive,
            drive_radius=drive_radius,
            force_radius=self.alpha_radius * largest,
            start_radius=(self.y0_radius, self.z0_radius),
            keep=True,
        )
        if not tube.complete or tube.norms is None:
            raise NotEnclosedError(f"{name}: {tube.because}")
        self.y, self.z, self.norms, self.below = (
            FloatBox(y, tube.y_radius),
            FloatBox(z, tube.z_radius),
            tube.norms,
            below,
        )
        self.slope, self.slope_radius = self.norms.slope[1:], self.norms.slope_radius[1:]
        self.kappa = self.alpha + self.w * self.slope
        self.kappa_radius = above(
            np.abs(self.w) * self.slope_radius
            + self.w_radius
            + self.alpha_radius
            + 2 * U * (np.abs(self.w) * self.slope + abs(self.alpha))
        )
        s = tanh(self.w * y[:-1] + drive)
        moved = np.minimum(1.0, self.slope + self.slope_radius) * (drive_radius + np.abs(self.w) * tube.y_radius[:-1])
        size = np.abs(self.w * y[:-1]) + np.abs(drive)
        self.force = s + self.alpha * y[:-1]
        self.force_radius = above(
            TANH_ERROR
            + 2 * U * size
            + moved
            + abs(self.alpha) * tube.y_radius[:-1]
            + self.alpha_radius * largest
            + 2 * U * (np.abs(self.alpha * y[:-1]) + np.abs(self.force))
        )


class _Tangent:
    """Derivatives of one layer's state by many parameters: middle dy, dz (m, directions), ‖F error‖ ≤ ``error``."""

    def __init__(self, layer: _FloatLayer, directions: int) -> None:
        self.layer = layer
        self.dy, self.dz, self.error = (np.zeros((layer.size, directions)) for _ in range(3))
        self.n = 0

    def y_radius(self) -> Array:
        return above(self.layer.norms.y[self.n][:, None] * self.error)

    def step(self, dA: Array, dA_radius: Array, by_h: tuple[Array, Array, Array, Array] | None = None) -> None:
        """One step: A moves by dA; ``by_h`` is (force, radius, drift, radius) of the directions that move h."""
        layer, norms, n = self.layer, self.layer.norms, self.n
        h, h_radius = layer.h[:, None], layer.h_radius[:, None]
        slope, slope_radius = layer.slope[n][:, None], layer.slope_radius[n][:, None]
        kappa, kappa_radius = layer.kappa[n][:, None], layer.kappa_radius[n][:, None]
        error = self.error * norms.turn[n][:, None]
        dy_true = np.abs(self.dy) + norms.y_departure[n][:, None] * error
        given, own = slope * dA, kappa * self.dy
        force = given + own
        size = np.abs(given) + np.abs(own) + np.abs(force)
        force_radius = slope_radius * (np.abs(dA) + dA_radius) + slope * dA_radius + kappa_radius * dy_true
        if by_h is not None:
            force = force + by_h[0]
            size = size + np.abs(by_h[0]) + np.abs(force)
            force_radius = force_radius + by_h[1]
        kick = h * force
        dz = self.dz - kick
        kick_error = (h + h_radius) * (force_radius + 3 * U * size) + h_radius * np.abs(force)
        kick_error = kick_error + U * (np.abs(kick) + np.abs(dz))
        drift = h * dz
        dy = self.dy + drift
        drift_error = h_radius * np.abs(dz) + U * (np.abs(drift) + np.abs(dy))
        if by_h is not None:
            dy = dy + by_h[2]
            drift_error = drift_error + by_h[3] + U * np.abs(dy)
        self.n = n + 1
        self.error = above(
            norms.growth[n + 1][:, None] * error
            + norms.push[n + 1][:, None] * kick_error
            + norms.drift[n + 1][:, None] * drift_error
        )
        if not (self.error < 2.0**40).all():
            raise NotEnclosedError(f"a derivative is not enclosed any more at step {n + 1}.")
        self.dy, self.dz = dy, dz


class FloatNetwork:
    """The run of the plain data; NotEnclosedError where float64 does not suffice."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self.icml = plain["index"] == "icml"
        inputs, inputs_radius = _read(plain["inputs"])
        self.steps = len(inputs)
        zero = np.zeros(inputs.shape[1])
        first, first_radius = _read(plain["previous"]) if plain["previous"] else (zero, zero)
        self.target: Array
        self.target_radius: Array
        self.target, self.target_radius = _read(plain["target"]) if plain["target"] else (np.zeros(1), np.zeros(1))
        self.layers = [_FloatLayer(entry) for entry in plain["layers"]]
        middle, radius = np.vstack([first, inputs]), np.vstack([first_radius, inputs_radius])
        for number_, layer in enumerate(self.layers, 1):
            seen = slice(1, None) if self.icml else slice(None, -1)
            layer.run(FloatBox(middle[seen], radius[seen]), f"layer {number_}")
            middle, radius = layer.y.middle, layer.y.radius

    def states(self) -> list[tuple[FloatBox, FloatBox]]:
        """(y, z) of every layer, (N + 1, m)."""
        return [(layer.y, layer.z) for layer in self.layers]

    def gradient(self) -> list[dict[str, FloatBox]]:
        """dE/dθ, E = (1/N) Σ_n |y^L_n − ȳ_n|²/2, by layer and name."""
        gradients = []
        for l, layer in enumerate(self.layers):
            all_of = self.gradient_of(l, range(3 + layer.V.shape[1]))
            by_name = {
                name: FloatBox(all_of.middle[:, k], all_of.radius[:, k]) for k, name in enumerate(("w", "b", "c"))
            }
            gradients.append(by_name | {"V": FloatBox(all_of.middle[:, 3:], all_of.radius[:, 3:])})
        return gradients

    def gradient_of(self, source: int, columns: Sequence[int]) -> FloatBox:
        """dE/dθ for some parameters of each neuron of a layer (from 0), (m, columns): 0, 1, 2 are w, b, c, and 3 + j is
        V_ij. In that layer each moves its own neuron only, (m, columns); above, (m, m · columns).
        """
        top, layer = self.layers[-1], self.layers[source]
        miss = top.y.middle[1:] - self.target
        miss_radius = above(top.y.radius[1:] + self.target_radius + U * np.abs(miss))
        chosen = np.array(columns)
        m, kinds = layer.size, len(chosen)
        tangents = [_Tangent(layer, kinds)] + [_Tangent(upper, m * kinds) for upper in self.layers[source + 1 :]]
        is_top = len(tangents) == 1
        total = np.zeros((m, kinds) if is_top else (1, m * kinds))
        total_radius = np.zeros_like(total)
        for n in range(self.steps):
            held = [(tangent.dy, tangent.y_radius()) for tangent in tangents]
            tangents[0].step(*self._direct(layer, n, chosen))
            for i, tangent in enumerate(tangents[1:], 1):
                dy, dy_radius = (tangents[i - 1].dy, tangents[i - 1].y_radius()) if self.icml else held[i - 1]
                tangent.step(*_passed_on(tangent.layer, dy, dy_radius, spread=i == 1))
            dy, dy_radius = tangents[-1].dy, tangents[-1].y_radius()
            if is_top:
                part = miss[n][:, None] * dy
                radius = np.abs(miss[n])[:, None] * dy_radius + miss_radius[n][:, None] * (np.abs(dy) + dy_radius)
                radius = radius + U * np.abs(part)
            else:
                part, radius = product(miss[n][None], miss_radius[n][None], dy, dy_radius)
            total = total + part
            total_radius = above(total_radius + radius + U * np.abs(total))
        total = (total / self.steps).reshape(m, kinds)
        return FloatBox(total, above(total_radius.reshape(m, kinds) / self.steps + U * np.abs(total)))

    def _direct(
        self, layer: _FloatLayer, n: int, chosen: Any
    ) -> tuple[Array, Array, tuple[Array, Array, Array, Array]]:
        """How w, b, c, V move the step n + 1 themselves: dA and its radius, and what a change of h does."""
        shape = (layer.size, 3 + layer.V.shape[1])
        dA, dA_radius, force, force_radius, drift, drift_radius = (np.zeros(shape) for _ in range(6))
        dA[:, 0], dA_radius[:, 0] = layer.y.middle[n], layer.y.radius[n]
        dA[:, 1] = 1.0
        dA[:, 3:], dA_radius[:, 3:] = layer.below.middle[n], layer.below.radius[n]
        f, f_radius, rest = layer.force[n], layer.force_radius[n], layer.rest
        force[:, 2] = rest * f  # (dh/dc) f = h (1 − σ̂) f
        force_radius[:, 2] = rest * f_radius + layer.rest_radius * (np.abs(f) + f_radius) + U * np.abs(force[:, 2])
        z, z_radius = layer.z.middle[n + 1], layer.z.radius[n + 1]
        drift[:, 2] = layer.g * z
        drift_radius[:, 2] = layer.g * z_radius + layer.g_radius * (np.abs(z) + z_radius) + U * np.abs(drift[:, 2])
        rows = [array[:, chosen] for array in (dA, dA_radius, force, force_radius, drift, drift_radius)]
        return rows[0], rows[1], (rows[2], rows[3], rows[4], rows[5])

    def jacobian(self, last: int, first: int) -> FloatBox:
        """The product of the Jacobians of steps ``first`` + 1 .. ``last``, rows carried backward.

        Coordinates (y¹, z¹, …) of layer 1, then of layer 2, ….
        """
        width = 2 * sum(layer.size for layer in self.layers)
        P: list[Array] = []
        Q: list[Array] = []
        error: list[Array] = []
        place = 0
        for layer in self.layers:
            for target, shift in ((P, 0), (Q, 1)):
                seed = np.zeros((layer.size, width))
                seed[np.arange(layer.size), place + 2 * np.arange(layer.size) + shift] = 1.0
                target.append(seed)
            error.append(np.zeros((layer.size, width)))
            place += 2 * layer.size
        for n in range(last, first, -1):
            late: list[tuple[int, Array, Array]] = []
            for l in reversed(range(len(self.layers))):
                P[l], Q[l], error[l], delta, delta_radius = self._back(self.layers[l], n, P[l], Q[l], error[l])
                if l:
                    V, V_radius = self.layers[l].V, self.layers[l].V_radius
                    down = (l - 1, *product(V.T, V_radius.T, delta, delta_radius))
                    if self.icml:
                        self._receive(n, P, error, *down)
                    else:
                        late.append(down)
            for passed in late:
                self._receive(n - 1, P, error, *passed)
        rows, radii = np.empty((width, width)), np.empty((width, width))
        place = 0
        for l, layer in enumerate(self.layers):
            F = layer.norms.arrival[first]
            for values, shift in ((P[l], 0), (Q[l], 1)):
                size = np.sqrt(F[:, shift] ** 2 + F[:, 2 + shift] ** 2)[:, None]
                columns = slice(place + shift, place + 2 * layer.size, 2)
                rows[:, columns], radii[:, columns] = values.T, above(size * error[l]).T
            place += 2 * layer.size
        return FloatBox(rows, radii)

    def _receive(self, n: int, P: list[Array], error: list[Array], l: int, down: Array, radius: Array) -> None:
        P[l] = P[l] + down
        error[l] = above(error[l] + self.layers[l].norms.y[n][:, None] * (radius + U * np.abs(P[l])))

    @staticmethod
    def _back(layer: _FloatLayer, n: int, P: Array, Q: Array, error: Array) -> tuple[Array, Array, Array, Array, Array]:
        """(P, Q, error) at n − 1, and the derivative by A of step n with its radius."""
        norms = layer.norms
        h, h_radius = layer.h[:, None], layer.h_radius[:, None]
        slope, slope_radius = layer.slope[n - 1][:, None], layer.slope_radius[n - 1][:, None]
        kappa, kappa_radius = layer.kappa[n - 1][:, None], layer.kappa_radius[n - 1][:, None]
        lever = h * P
        after = Q + lever
        new_error = U * (np.abs(lever) + np.abs(after)) + h_radius * np.abs(P)
        wrong = norms.push[n][:, None] * error + new_error  # of the derivative by z after the kick
        pulled = h * after
        delta = -slope * pulled
        delta_radius = above(
            (h + h_radius) * (slope * wrong + slope_radius * (np.abs(after) + wrong))
            + h_radius * slope * np.abs(after)
            + 3 * U * np.abs(delta)
        )
        back = kappa * pulled
        before = P - back
        before_error = (
            (h + h_radius) * (np.abs(kappa) * new_error + kappa_radius * (np.abs(after) + wrong))
            + h_radius * np.abs(kappa * after)
            + 3 * U * np.abs(back)
            + U * np.abs(before)
        )
        carried = (
            norms.growth[n][:, None] * error
            + norms.y_departure[n - 1][:, None] * before_error
            + norms.z_departure[n - 1][:, None] * new_error
        )
        turned = above(norms.turn[n - 1][:, None] * carried)
        if not (turned < 2.0**40).all():
            raise NotEnclosedError(f"an adjoint is not enclosed any more at step {n}.")
        return before, after, turned, delta, delta_radius


def enclose_runs(
    layers: list[dict[str, Any]], u: Array, runs: list[tuple[Array, Array]]
) -> list[tuple[FloatBox, FloatBox]]:
    """(y, z) of every layer around given float64 runs from the zero state, index convention icml.

    u: (N, batch, d), exact; runs: (y, z) of each layer, (N, batch, m), row n − 1 at step n, however they were
    computed. Returned in the same layout. The layers' w and α must be float64 numbers; ``layers`` is plain data as
    above. NotEnclosedError where the tubes do not hold.
    """
    steps, batch, _ = u.shape
    below, boxes = FloatBox(u, np.zeros_like(u)), []
    for number_, (entry, (y, z)) in enumerate(zip(layers, runs, strict=True), 1):
        layer = _FloatLayer(entry)
        if layer.w_radius.any() or layer.alpha_radius:
            raise ValueError(f"Layer {number_}: w or alpha is no float64 number.")
        drive, drive_radius = (array.reshape(steps, -1) for array in layer.drive(below))
        start = np.zeros((1, batch * layer.size))
        flat_y, flat_z = (np.concatenate([start, array.reshape(steps, -1)]) for array in (y, z))
        own = (np.tile(array, batch) for array in (layer.w, layer.h, np.full(layer.size, layer.alpha), layer.h_radius))
        run = residual.certify(flat_y, flat_z, residual.Oscillators.of(*own), drive=drive, drive_radius=drive_radius)
        if not run.complete:
            raise NotEnclosedError(f"layer {number_}: {run.because}")
        radii = [array[1:].reshape(y.shape) for array in (run.y_radius, run.z_radius)]
        boxes.append((FloatBox(y, radii[0]), FloatBox(z, radii[1])))
        below = boxes[-1][0]
    return boxes


def envelope(box: FloatBox, norm: str) -> FloatBox:
    """Over n, the largest norm over the batch: "max" or "euclidean"."""
    size, radius = np.abs(box.middle), box.radius
    if norm == "max":
        lower, upper = np.maximum(size - radius, 0) * (1 - 2 * U), (size + radius) * (1 + 2 * U)
    else:
        terms = size.shape[-1] + 8
        length = np.sqrt((size * size).sum(axis=-1, keepdims=True))
        off = above(np.sqrt((radius * radius).sum(axis=-1, keepdims=True)) + terms * U * length)
        lower, upper = np.maximum(length - off, 0) * (1 - 2 * U), (length + off) * (1 + 2 * U)
    lower, upper = lower.max(axis=(1, 2)), upper.max(axis=(1, 2))
    middle = (lower + upper) / 2
    return FloatBox(middle, above((upper - lower) / 2 + 2 * U * middle))


def _passed_on(layer: _FloatLayer, dy: Array, dy_radius: Array, *, spread: bool) -> tuple[Array, Array]:
    """V dy with its radius; ``spread`` if each direction moves one neuron below only: (m, kinds) to (m, m · kinds)."""
    if not spread:
        return product(layer.V, layer.V_radius, dy, dy_radius)
    V, V_radius = layer.V[:, :, None], layer.V_radius[:, :, None]
    passed = V * dy
    radius = np.abs(V) * dy_radius + V_radius * (np.abs(dy) + dy_radius) + U * np.abs(passed)
    return passed.reshape(layer.size, -1), above(radius).reshape(layer.size, -1)


def _read(texts: Any) -> tuple[Array, Array]:
    """(nearest float64, distance) of nested lists of exact numbers."""
    if isinstance(texts, str):
        if "0x" in texts:  # a float64
            return np.array(float.fromhex(texts)), np.array(0.0)
        exact = Fraction(texts)
        middle = float(exact)
        return np.array(middle), np.array(_up(abs(exact - Fraction(middle))))
    pairs = [_read(text) for text in texts]
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


def _up(value: Fraction) -> float:
    return float(np.nextafter(float(value), np.inf)) if value else 0.0


def _ends(values: list[Any]) -> tuple[Array, Array]:
    """(middle, radius) of intervals."""
    middle = np.array([float(v.mid) for v in values])
    off = [iv.mpf(m) - v for m, v in zip(middle, values, strict=True)]
    radius = [max(abs(float(difference.a)), abs(float(difference.b))) for difference in off]
    return middle, np.array(radius) * (1 + 2.0**-50)
