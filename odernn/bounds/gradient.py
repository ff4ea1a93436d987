"""Bounds on every gradient of a UnICORNN stack: all layers, all routes, all paths. Natural logarithms.

Theorem names are those of docs/derivations/gradient_bounds.md. For E = (1/N) Σ_n ½|y^L_n − ȳ_n|², or E = E_n for one n,
and θ a parameter of layer l

    |dE/dθ| ≤ m_l (Ȳ + Ŷ_L) · o_L · g_θ · Σ_p R_p Σ_{j<N} C(j + p, p) e^{jω},        m_l = m if l < L, else 1.

A norm on the states of one layer makes four constants of the weights (``LayerConstants``): ω, the largest over the
layers q ≥ l of its one-step rates; the weights of the climbs, whose products over routes of p hops sum to R_p; g_θ, the
norm of the direct partial; o_L, the largest |y_i| of norm 1. The invariant forms give thm-G, the maximum norm
thm-G-inf. Every choice gives a bound; the smallest may be taken.

Arrays over neurons are float64, or object arrays of balls with ``BALLS``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odernn.bounds import jacobian, routes
from odernn.bounds.numbers import FLOATS, Numbers

FLOOR = 2.0**-1000
"""Stands for a weight or a bound that is zero, so that its logarithm is finite; still an upper bound."""


@dataclass(frozen=True, eq=False)
class StackLayer:
    """The coefficients of one layer, numbers of one namespace.

    w, step_size  (m,)   w and h of every neuron
    alpha         α
    edges         the matrices (m, below) of the levels that the layer sees: V, and Λ on a residual edge
    names         the parameter name of each of these matrices
    complement    (m,)   1 − σ̂(c) = σ̂(−c), or None if the layer has no c
    has_bias      whether there is a parameter b
    """

    w: np.ndarray
    step_size: np.ndarray
    alpha: Any
    edges: Mapping[int, np.ndarray]
    names: Mapping[int, str]
    complement: np.ndarray | None = None
    has_bias: bool = True

    @property
    def hidden_size(self) -> int:
        """m."""
        return len(self.w)


@dataclass(frozen=True, eq=False)
class StateLogs:
    """Logarithms of bounds on |y_n|, |z_n|, n ≤ N, of every neuron of one layer, (m,); level 0 has no momenta."""

    positions: np.ndarray
    momenta: np.ndarray


@dataclass(frozen=True, eq=False)
class LayerConstants:
    """What a norm on the states of one layer makes of its weights.

    rate         ω_q ≥ log ‖dX_j/dX_{j−1}‖ for all inputs
    log_climbs   for each level below, log v: a change of that level of norm 1 moves X by at most v
    log_output   log o: the largest |y_i| of a state of norm 1
    log_direct   for each parameter name, log of the largest ‖∂X_k/∂θ‖ with all earlier and lower states fixed
    """

    rate: Any
    log_climbs: Mapping[int, Any]
    log_output: Any
    log_direct: Mapping[str, Any]


def log_gradient_bound(
    constants: Sequence[LayerConstants],
    *,
    source: int,
    parameter: str,
    log_error: Any,
    outputs: int,
    steps: int,
    numbers: Numbers = FLOATS,
) -> Any:
    """log of the bound on |dE/dθ| for every entry θ of one parameter of layer l = ``source``.   thm-G, thm-G-inf

    ``constants`` of layers 1..L; ``log_error`` ≥ log |y^{L,i}_n − ȳ^i_n| for every output i, ``outputs`` = m of layer
    L. With ``log_error`` a bound on log |∂E_n/∂y^{L,i}_n| it holds for any E_n. Raises KeyError for a parameter that
    the layer does not have.
    """
    layers = len(constants)
    rate = functools.reduce(numbers.maximum, [layer_constants.rate for layer_constants in constants[source - 1 :]])
    total = log_route_path_sum(constants, source=source, target=layers, rate=rate, steps=steps, numbers=numbers)
    seen_by = outputs if source < layers else 1
    scale = numbers.log(numbers.exact(seen_by)) + log_error + constants[-1].log_output
    return scale + constants[source - 1].log_direct[parameter] + total


def log_route_path_sum(
    constants: Sequence[LayerConstants], *, source: int, target: int, rate: Any, steps: int, numbers: Numbers = FLOATS
) -> Any:
    """log Σ_p R_p Σ_{j<N} C(j + p, p) e^{jω}: all routes from ``source`` to ``target``, all orders of N steps."""
    sums = routes.log_route_sums(
        [layer_constants.log_climbs for layer_constants in constants], source=source, target=target, numbers=numbers
    )
    terms = [
        log_sum + routes.log_path_sum(hops=hops, rate=rate, steps=steps, numbers=numbers)
        for hops, log_sum in sums.items()
    ]
    return functools.reduce(numbers.log_add_exp, terms)


def invariant_constants(
    stack: Sequence[StackLayer],
    states: Sequence[StateLogs],
    form_choice: Sequence[np.ndarray],
    *,
    numbers: Numbers = FLOATS,
) -> list[LayerConstants]:
    """The constants of ‖X^q‖ = max_i √Q_{a_i}(y^i, z^i), one form a in (0, 4/h²) for each neuron.   thm-G

    ω_q = max_i max_κ asinh(h|κ − a|/(2r_a)),   v = max_i h_i Σ_r |V_ir| / r_r,   o = 1/min_i r_i,

    g_w = h Ŷ,  g_b = h,  g_V = h Ŷ_below,  g_c = h(1 − σ̂)(1 + αŶ + √a Ẑ), largest over the neurons. ``states[l]`` are
    the logarithms for level l = 0..L. A change of the input has norm max_j |u_j|.
    """
    roots: list[Any] = [None]
    constants = []
    for layer, form, state in zip(stack, form_choice, states[1:], strict=True):
        ends = {
            "kappa_low": layer.alpha + _each(_negative_part, layer.w),
            "kappa_high": layer.alpha + _each(_positive_part, layer.w),
        }
        rates = _over(jacobian.rate_bound, numbers, form=form, step_size=layer.step_size, **ends)
        root = _over(jacobian.root, numbers, form=form, step_size=layer.step_size)
        climbs = {
            level: _log_largest(layer.step_size * (abs(matrix) @ _inverse(roots[level], matrix)), numbers)
            for level, matrix in layer.edges.items()
        }
        stretch = _over(_log_root, numbers, x=form)
        direct = _log_direct(layer, state, states, stretch, numbers)
        roots.append(root)
        constants.append(LayerConstants(_largest(rates, numbers), climbs, _log_largest(1 / root, numbers), direct))
    return constants


def maximum_constants(
    stack: Sequence[StackLayer], states: Sequence[StateLogs], *, numbers: Numbers = FLOATS
) -> list[LayerConstants]:
    """The constants of ‖X^q‖ = max_i max(|y^i|, |z^i|); h ≤ 1.   thm-G-inf

    ω_q = max_i h_i · max(2, max_i |w_i| + α),   v = max_i h_i Σ_r |V_ir|,   o = 1,

    and the g of thm-G with 1 in the place of √a. Covers every α and w, and is seldom the smaller one.
    """
    constants = []
    for layer, state in zip(stack, states[1:], strict=True):
        step = _largest(layer.step_size, numbers)
        stiffness = numbers.maximum(numbers.exact(2), _largest(abs(layer.w), numbers) + layer.alpha)
        climbs = {
            level: _log_largest(layer.step_size * abs(matrix).sum(axis=1), numbers)
            for level, matrix in layer.edges.items()
        }
        flat = _over(_zero, numbers, x=layer.step_size)
        direct = _log_direct(layer, state, states, flat, numbers)
        constants.append(LayerConstants(step * stiffness, climbs, numbers.exact(0), direct))
    return constants


def log_error_bound(state: StateLogs, target_bound: Any, *, numbers: Numbers = FLOATS) -> Any:
    """log(Ȳ + max_i Ŷ_i) ≥ log |y^{L,i}_n − ȳ^i_n|, with |ȳ| ≤ Ȳ = ``target_bound`` ≥ 0."""
    return numbers.log_add_exp(_log_floored(target_bound, numbers), _largest(state.positions, numbers))


def input_logs(input_bound: Any, size: int, *, numbers: Numbers = FLOATS) -> StateLogs:
    """Level 0: log U for each of ``size`` features, |u_j| ≤ U = ``input_bound`` ≥ 0."""
    logs = np.array([_log_floored(input_bound, numbers)] * size)
    return StateLogs(logs, logs[:0])


def _log_direct(
    layer: StackLayer, state: StateLogs, states: Sequence[StateLogs], log_stretch: Any, numbers: Numbers
) -> dict[str, Any]:
    """log of h|C|, and for c of h(1 − σ̂)(1 + α|y| + ‖e_y‖ |z|), largest over the neurons."""
    log_steps = _over(_log, numbers, x=layer.step_size)
    direct = {"w": _largest(log_steps + state.positions, numbers)}
    if layer.has_bias:
        direct["b"] = _largest(log_steps, numbers)
    for level, name in layer.names.items():
        direct[name] = _largest(log_steps, numbers) + _largest(states[level].positions, numbers)
    if layer.complement is not None:
        log_alpha = _log_floored(layer.alpha, numbers)
        push = _over(_log_add, numbers, x=0 * log_steps, y=log_alpha + state.positions)
        push = _over(_log_add, numbers, x=push, y=log_stretch + state.momenta)
        direct["c"] = _largest(log_steps + _over(_log_floor, numbers, x=layer.complement) + push, numbers)
    return direct


def _inverse(roots: Any, matrix: np.ndarray) -> np.ndarray:
    """1/r of the level below; ones for the input, which is measured by its largest entry."""
    return np.ones(matrix.shape[1], dtype=int) if roots is None else 1 / roots


def _over(function: Callable[..., Any], numbers: Numbers, **arrays: Any) -> Any:
    """``function`` of every neuron: at once for floats, one by one for balls."""
    if not any(isinstance(array, np.ndarray) and array.dtype == object for array in arrays.values()):
        return function(numbers=numbers, **arrays)
    names = list(arrays)
    one = np.frompyfunc(lambda *v: function(numbers=numbers, **dict(zip(names, v, strict=True))), len(names), 1)
    return one(*arrays.values())


def _each(function: Callable[[Any], Any], array: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.frompyfunc(function, 1, 1)(array).astype(array.dtype)
    return values


def _negative_part(x: Any) -> Any:
    return x if x < 0 else 0 * x


def _positive_part(x: Any) -> Any:
    return x if x > 0 else 0 * x


def _log(*, x: Any, numbers: Numbers) -> Any:
    return numbers.log(x)


def _log_floor(*, x: Any, numbers: Numbers) -> Any:
    return _log_floored(x, numbers)


def _log_root(*, x: Any, numbers: Numbers) -> Any:
    return numbers.log(x) / 2


def _log_add(*, x: Any, y: Any, numbers: Numbers) -> Any:
    return numbers.log_add_exp(x, y)


def _zero(*, x: Any, numbers: Numbers) -> Any:
    return 0 * x + numbers.exact(0)


def _log_floored(x: Any, numbers: Numbers) -> Any:
    return numbers.log(numbers.maximum(x, numbers.exact(FLOOR)))


def _largest(array: Any, numbers: Numbers) -> Any:
    return functools.reduce(numbers.maximum, list(array))


def _log_largest(array: Any, numbers: Numbers) -> Any:
    return _log_floored(_largest(array, numbers), numbers)
