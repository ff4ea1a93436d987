"""The second back-end: mpmath interval arithmetic, typed independently; imports nothing from odernn or verification.

Input is the witness's plain data (strings, lists, dicts), parsed here once more. The duplication is intended: an
error in the ball back-end, in its parser or in its recurrence would have to be made twice in the same way to go unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, TypeAlias

from verification.certify.second.quick_intervals import context as _context
from verification.certify.second.quick_intervals import exp_of_narrow


class _Precision:
    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before, _context.prec = _context.prec, self.bits

    def __exit__(self, *error: object) -> None:
        _context.prec = self.before


class Intervals:
    """mpmath's interval context with exp and log made enclosures; what a claim's ``second_bound`` receives as ``iv``.

    +, −, ×, /, integer powers, sqrt, cos and π of ``mpmath.iv`` round outward. Its exp and log round an
    approximation that carries few guard bits and can miss the true value by a fraction of the last place: here every
    end is moved outward by 2^(WIDENING − precision), relatively, and for log absolutely as well. Non-integer powers
    are not offered: use sqrt.
    """

    WIDENING = 4

    @property
    def prec(self) -> int:
        return int(_context.prec)

    @prec.setter
    def prec(self, bits: int) -> None:
        _context.prec = bits

    def workprec(self, bits: int) -> _Precision:
        """``with iv.workprec(256):`` has this precision, what follows the former one; as flint's of that name."""
        return _Precision(bits)

    def _margin(self) -> Any:
        return self._margin_at(self.prec)

    @staticmethod
    @lru_cache(maxsize=64)
    def _margin_at(bits: int) -> Any:
        """±2^(WIDENING − bits): the same at any precision, since its ends are powers of two."""
        return _context.mpf([-1, 1]) * _context.mpf(2) ** (Intervals.WIDENING - bits)

    def mpf(self, value: Any) -> Any:
        return _context.mpf(value)

    @staticmethod
    @lru_cache(maxsize=64)
    def _around_one(bits: int) -> Any:
        """1 and its margin: exact at any precision of so many bits or more."""
        return 1 + Intervals._margin_at(bits)

    def exp(self, x: Any) -> Any:
        """One exponential, of the lower end, where the interval is narrow."""
        around_one = self._around_one(self.prec)
        if (narrow := exp_of_narrow(x, around_one)) is not None:
            return narrow
        return _context.exp(x) * around_one

    def log(self, x: Any) -> Any:
        return _context.log(x) * self._around_one(self.prec) + self._margin()

    def sqrt(self, x: Any) -> Any:
        return _context.sqrt(x)

    def cos(self, x: Any) -> Any:
        return _context.cos(x)

    @property
    def pi(self) -> Any:
        return +_context.pi

    @property
    def inf(self) -> Any:
        return _context.inf


iv = Intervals()


def tanh(x: Any) -> Any:
    """tanh x = 1 − 2/(e^{2x} + 1), where x stands once: no wider than the range; mpmath's intervals have no tanh.

    An end beyond ±precision is ±1 up to 2^(−precision) > 2e^{−2|x|}: e^x of a huge x is never formed.
    """
    least, largest, below, above = _saturated(iv.prec)
    if x >= least and x <= largest:
        return _tanh_by_exp(x)
    if x > largest:
        return above
    if x < least:
        return below
    return iv.mpf([_tanh_end(x.a).a, _tanh_end(x.b).b])


_ONE, _TWO = _context.mpf(1), _context.mpf(2)


def _tanh_by_exp(x: Any) -> Any:
    return _tanh_between(iv.mpf(x)._mpi_, iv.prec)


@lru_cache(maxsize=4096)
def _tanh_between(ends: Any, bits: int) -> Any:
    """Asked at a precision of so many bits, and held: without recurrent weights the adversary's inputs drive a neuron
    by the same few numbers at every step.
    """
    return _ONE - _TWO / (iv.exp(_TWO * _context.make_mpf(ends)) + _ONE)


@lru_cache(maxsize=64)
def _saturated(bits: int) -> tuple[Any, Any, Any, Any]:
    """−bits, bits, and what encloses tanh below the one and above the other; asked at a precision of so many bits."""
    ulp = _TWO**-bits
    return iv.mpf(-bits), iv.mpf(bits), iv.mpf([-1, (ulp - 1).b]), iv.mpf([(1 - ulp).a, 1])


def _tanh_end(end: Any) -> Any:
    """An interval around tanh at one point, an end of an interval."""
    least, largest, below, above = _saturated(iv.prec)
    if end > largest:
        return above
    return below if end < least else _tanh_by_exp(iv.mpf(end))


def logistic(x: Any) -> Any:
    return 1 / (1 + iv.exp(-x))


def fraction(text: str) -> Fraction:
    """The exact number written as an integer, p/q or a hex float."""
    if "0x" in text:
        return Fraction(float.fromhex(text))
    if "/" in text:
        above, _, under = text.partition("/")
        return Fraction(int(above), int(under))
    return Fraction(int(text))


def number(text: str) -> Any:
    """The interval of an exact number written as an integer, p/q or a hex float."""
    exact = fraction(text)
    return iv.mpf(exact.numerator) / iv.mpf(exact.denominator)


def unicornn_step(y: Any, z: Any, x: Any, w: Any, h: Any, alpha: Any, tanh: Callable[[Any], Any]) -> tuple[Any, Any]:
    """One step of (5) of the papers, the force first."""
    force = tanh(x + y * w) + y * alpha
    momentum = z - force * h
    return y + momentum * h, momentum


Premise: TypeAlias = tuple[str, Callable[[Any], Any] | None, bool]
"""(text, margin(setting) or None if nobody typed it, strict): holds where margin > 0, or ≥ 0 if not strict."""


def decide(
    plain: dict[str, Any],
    *,
    layer: int,
    step: int,
    steps: int,
    quantity: str,
    norm: str,
    bound: Callable[[Any, Any], Any],
    premises: Sequence[Premise] = (),
    step_function: Callable[..., tuple[Any, Any]] = unicornn_step,
    bits: int = 256,
) -> dict[str, Any]:
    """Is ‖quantity of layer ``layer`` at ``step``‖ above the bound? {"status", "measured", "bound", "premises"}.

    ``status`` is "violates" (measured > bound proved), "holds" (measured ≤ bound proved) or "undecided" at this
    precision; measured and bound enclose logarithms. "premises" lists (text, lower end of the margin, proved), each
    asked of every layer up to ``layer``. ``layer`` counts from 1; ``steps`` is N of the claim (T = N·dt). ValueError
    unless 1 ≤ step ≤ steps.
    """
    with iv.workprec(bits):
        settings = [setting_of(plain, layer=l, step=step, steps=steps) for l in range(1, layer + 1)]
        y, z = _states(plain, settings[0].alpha, layer, step, step_function)
        return compared(settings, y if quantity == "position" else z, norm=norm, bound=bound, premises=premises)


def compared(
    settings: list[Any],
    values: list[Any],
    *,
    norm: str,
    bound: Callable[[Any, Any], Any],
    premises: Sequence[Premise],
) -> dict[str, Any]:
    """What ``decide`` returns, from the settings of all layers and the state of the last one, one interval a group."""
    proofs = premises_at(settings, premises)
    measured, top = norm_of(values, settings[-1].multiplicities, norm), settings[-1]
    if not measured.b > 0:
        return {"status": "undecided", "measured": None, "bound": None, "premises": proofs}
    log_bound = bound(top, iv)
    log_measured = iv.log(measured) if measured.a > 0 else iv.mpf([-iv.inf, iv.log(measured).b])
    status = "violates" if log_measured.a > log_bound.b else "holds" if log_measured.b <= log_bound.a else "undecided"
    return {
        "status": status,
        "measured": (float(log_measured.a), float(log_measured.b)),
        "bound": (float(log_bound.a), float(log_bound.b)),
        "premises": proofs,
    }


def is_refutation(answer: dict[str, Any]) -> bool:
    """Whether the violation is proved, and every premise."""
    return answer["status"] == "violates" and all(proved for *_, proved in answer["premises"])


def premises_at(settings: list[Any], premises: Sequence[Premise]) -> list[tuple[str, float | None, bool]]:
    """(text, smallest lower end of the margin, proved at every setting); (text, None, False) if it is not typed."""
    decided: list[tuple[str, float | None, bool]] = []
    for text, margin, strict in premises:
        if margin is None:
            decided.append((text, None, False))
            continue
        ends = [_lower_end(margin, setting) for setting in settings]
        decided.append((text, min(float(end) for end in ends), all(bool(e > 0 if strict else e >= 0) for e in ends)))
    return decided


def _lower_end(margin: Callable[[Any], Any], setting: Any) -> Any:
    """Of a margin: in fractions, where it can be asked there, so that an equality can hold; else of its interval."""
    try:
        exact = margin(setting.exact)
    except (TypeError, AttributeError):
        exact = None
    return number(str(exact)).a if isinstance(exact, int | Fraction) else iv.mpf(margin(setting)).a


def setting_of(plain: dict[str, Any], *, layer: int, step: int, steps: int) -> Any:
    """What premises and bounds may use of a layer (from 1) at a step; ``multiplicities`` are those of its groups.

    ValueError unless 1 ≤ step ≤ steps.
    """
    if not 1 <= step <= steps:
        raise ValueError(f"Step {step} is not one of the claim's steps 1 to {steps}.")
    entry = plain["layers"][layer - 1]
    dt = number(entry["dt"])
    multiplicities = [group["multiplicity"] for group in entry["groups"]]
    return SimpleNamespace(
        alpha=number(plain["alpha"]),
        dt=dt,
        step=step,
        steps=steps,
        hidden_size=sum(multiplicities),
        step_sizes=[dt * logistic(number(group["c"])) for group in entry["groups"]],
        time=dt * step,
        horizon=dt * steps,
        multiplicities=multiplicities,
        exact=_exact(plain["alpha"], entry["dt"], step, steps, sum(multiplicities)),
    )


def _exact(alpha: str, dt: str, step: int, steps: int, hidden_size: int) -> Any:
    """The numbers of a setting that are rational, as fractions."""
    h = fraction(dt)
    return SimpleNamespace(
        alpha=fraction(alpha), dt=h, step=step, steps=steps, hidden_size=hidden_size, time=h * step, horizon=h * steps
    )


def norm_of(values: list[Any], multiplicities: list[int], norm: str) -> Any:
    """The maximum norm or the Euclidean norm of a layer whose groups hold ``values``."""
    moduli = [abs(v) for v in values]
    if norm == "max":
        return iv.mpf([max(v.a for v in moduli), max(v.b for v in moduli)])
    return iv.sqrt(sum(k * v**2 for k, v in zip(multiplicities, moduli, strict=True)))


def _states(
    plain: dict[str, Any], alpha: Any, layer: int, step: int, step_function: Callable[..., Any]
) -> tuple[list[Any], list[Any]]:
    """(y, z) of the groups of ``layer`` after ``step`` steps from the zero state, index convention icml."""
    network = []
    for entry in plain["layers"][:layer]:
        groups = entry["groups"]
        dt = number(entry["dt"])
        network.append(
            SimpleNamespace(
                count=[group["multiplicity"] for group in groups],
                w=[number(group["w"]) for group in groups],
                h=[dt * logistic(number(group["c"])) for group in groups],
                b=[number(group["bias"]) for group in groups],
                v=[[number(entry) for entry in row] for row in entry["input_weights"]],
                seen=[[s for s, entry in enumerate(row) if entry != "0"] for row in entry["input_weights"]],
                weights=[],
                y=[iv.mpf(0) for _ in groups],
                z=[iv.mpf(0) for _ in groups],
            )
        )
    size = plain["inputs"]["size"]
    below = [1] * size
    for one_layer in network:  # each entry as often as its group is there
        one_layer.weights = [[count * entry for count, entry in zip(below, row, strict=True)] for row in one_layer.v]
        below = one_layer.count
    done = 0
    for count, texts in plain["inputs"]["runs"]:
        values = [number(text) for text in texts]
        values = values * size if len(values) == 1 else values
        for _ in range(min(count, step - done)):
            done += 1
            source = values
            for one_layer in network:
                for g in range(len(one_layer.w)):
                    drive = one_layer.b[g]
                    for s in one_layer.seen[g]:
                        drive = drive + one_layer.weights[g][s] * source[s]
                    one_layer.y[g], one_layer.z[g] = step_function(
                        one_layer.y[g], one_layer.z[g], drive, one_layer.w[g], one_layer.h[g], alpha, tanh
                    )
                source = list(one_layer.y)
    if done != step:
        raise ValueError(f"step {step} lies beyond the {done} inputs")
    return network[-1].y, network[-1].z


def uniform_lower_bound(
    *, alpha: str, horizon: str, dt: str, c: str, amplitude: str, quantity: str, bits: int = 256
) -> tuple[float, Any]:
    """thm-S-limit typed again: a lower bound on |y_N| or |z_N| for every T/N ≤ dt, as (its lower end, enclosure)."""
    with iv.workprec(bits):
        a, T, s, A = number(alpha), number(horizon), logistic(number(c)), number(amplitude)
        h0 = s * number(dt)
        frequency = iv.sqrt(a)
        turns = frequency * s * T
        rho = 1 + a * h0**2 / 7
        theta = frequency * h0 * rho
        delta = turns * (rho - 1) + theta
        error = turns * rho * (theta / 2 + 2 * delta)
        start = turns if quantity == "position" else turns + iv.pi / 2
        half_turns = int(float((start / iv.pi).a))
        while not (start - half_turns * iv.pi).a >= 0:
            half_turns -= 1
        area = 2 * half_turns + 1 - iv.cos(start - half_turns * iv.pi) - (0 if quantity == "position" else 1)
        value = tanh(A) * (area - error) / rho / (a if quantity == "position" else frequency)
        return float(value.a), value
