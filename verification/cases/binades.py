"""thm-F (b) and (d) on trial: the binade lemma, number by number, and accumulators that lose nothing.

    fl(fl(y + d) − d) = y   unless the exponent of fl(y + d) is larger than that of y, or y is a power of two or zero,
                            or y + d is a tie

Scaling by a power of two changes nothing between underflow and overflow, so that the mantissas of a format of p bits
and the exponents of d from 2^−(p+3) to 4 times that of y are all there is: in bfloat16 every pair is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from odernn.bounds import reconstruction
from verification.cases.related import FormatNumber
from verification.certify.float_replay import FORMATS, Format, rounded
from verification.claim import BOTH, Attempt, Case, Check, Opinion, Parameters, Premise
from verification.domains import Budget
from verification.exact_text import number, rational
from verification.kinds import Integer
from verification.measure import float_steps
from verification.parameters import Parameter, Rule, declared

LARGEST_POWER = 10
HYPOTHESES = ("exponent", "power", "tie")
PAIRS = {"smoke": 20_000, "standard": 200_000, "deep": 2_000_000}


def exponent(value: Fraction, form: Format) -> int:
    """e with 2^e ≤ |value| < 2^(e+1), no smaller than that of the smallest normal number."""
    size = abs(value)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    return max(e - 1 if size < Fraction(2) ** e else e, form.least)


def hypotheses(y: Fraction, d: Fraction, form: Format) -> dict[str, bool]:
    """Whether each hypothesis of the lemma holds at y ≠ 0 ≠ fl(y + d)."""
    after = rounded(y + d, form)
    e, ulp = exponent(y, form), Fraction(2) ** (exponent(y, form) - form.precision + 1)
    return {
        "exponent": exponent(after, form) <= e,
        "power": abs(y) != Fraction(2) ** e,
        "tie": abs(after - y - d) != ulp / 2,
    }


def lemma_case(name: str, dropped: str = "") -> Case:
    """In one format; without the ``dropped`` hypothesis it is false."""
    form, library = FORMATS[name], float_steps.LIBRARY[name]
    kept = [each for each in HYPOTHESES if each != dropped]

    def check(parameters: Parameters) -> Check:
        y, d = number(parameters, "y"), number(parameters, "d")
        after = rounded(y + d, form)
        inside = y != 0 and after != 0
        known = hypotheses(y, d, form) if inside else dict.fromkeys(HYPOTHESES, False)
        back = rounded(after - d, form)
        computed = float_steps.doubles((_one(y, name) + _one(d, name)) - _one(d, name))
        return Check(
            opinions=(
                Opinion("replay", inside and back != y, f"y comes back as {float(back)!r}"),
                Opinion(library, inside and float(computed) != y, f"as {float(computed)!r} in {name}"),
            ),
            premises=(
                Premise("y and fl(y + d) are not 0", None, inside),
                *(Premise(_TEXTS[each], None, known[each]) for each in kept),
            ),
            words=f"in {name}: y = {y}, d = {d}, fl(y + d) = {after}, and back {back}",
        )

    def ask(budget: Budget, seed: int) -> Attempt:
        candidates = tuple(_fallen(name, kept, seed))
        if name == "bfloat16" and not dropped:
            return _exhausted(candidates)
        count = PAIRS[budget.name]
        lost = [] if dropped else _lost_in_library(name, count, seed)
        return Attempt(
            f"{count:,} pairs in {name} where the library promises it, and some thousand exactly",
            count,
            found=f"{len(lost) + len(candidates)} come back changed",
            claimed="0",
            candidates=(*candidates, *lost[:2]),
        )

    value = FormatNumber(name, LARGEST_POWER)
    parameters = declared(Parameter("y", value), Parameter("d", value))
    return Case(name, "fl(fl(y + d) − d) = y", ask, parameters.guards(check))


_TEXTS = {
    "exponent": "the exponent of fl(y + d) is not larger than that of y",
    "power": "y is no power of two",
    "tie": "y + d is no tie",
}


def _one(value: Fraction, name: str) -> Any:
    return float_steps.array(float(value), name)


def _pairs(name: str, seed: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Mantissas at the ends and between, d from a fraction of an ulp of y to 4 y, of both signs."""
    form, rng = FORMATS[name], random.Random(seed)
    p = form.precision
    ends = [2 ** (p - 1), 2 ** (p - 1) + 1, 2**p - 1, 2**p - 2, 3 * 2 ** (p - 2)]
    for _ in range(4000):
        y, size = (rng.choice((rng.choice(ends), rng.randrange(2 ** (p - 1), 2**p))) for _ in range(2))
        yield Fraction(y), rng.choice((1, -1)) * size * Fraction(2) ** rng.randint(-p - 3, 2)


def _fallen(name: str, kept: list[str], seed: int) -> Iterator[Parameters]:
    """Pairs, scaled to modulus 1, where the hypotheses hold and y does not come back; at most three."""
    form, count = FORMATS[name], 0
    scale = Fraction(1, 2 ** (form.precision - 1))
    for y, d in _pairs(name, seed):
        y, d = y * scale, d * scale
        after = rounded(y + d, form)
        known = hypotheses(y, d, form) if after else {}
        if known and all(known[each] for each in kept) and rounded(after - d, form) != y:
            count += 1
            yield {"y": rational(y), "d": rational(d)}
            if count == 3:
                return


def _lost_in_library(name: str, count: int, seed: int) -> list[Parameters]:
    """Those of so many pairs that ``reconstruction.is_returned_exactly`` promises and that come back changed."""
    rng = np.random.default_rng(seed)
    precision = FORMATS[name].precision
    y = (1 + rng.random(count)).astype(name)
    d = (rng.normal(size=count) * np.exp2(rng.integers(-precision - 2, 2, count))).astype(name)
    lost = np.flatnonzero(reconstruction.is_returned_exactly(y, d) & ((y + d) - d != y))
    return [{"y": rational(Fraction(float(y[i]))), "d": rational(Fraction(float(d[i])))} for i in lost]


def _exhausted(candidates: tuple[Parameters, ...]) -> Attempt:
    """Every pair of mantissas of bfloat16 at every exponent that matters: by torch, and by integers."""
    tried, fallen = (sum(each) for each in zip(*map(_torch_at, _EXPONENTS), strict=True))
    again, other = (sum(each) for each in zip(*map(_integers_at, _EXPONENTS), strict=True))
    text = f"all {tried:,} pairs of mantissas and exponents of bfloat16 at which the lemma speaks come back"
    proved = not candidates and not fallen and not other and tried == again
    return Attempt(
        text if proved else f"{tried:,} pairs of bfloat16",
        tried,
        found=f"{fallen} come back changed",
        claimed="0",
        candidates=candidates,
        proof=text if proved else "",
        twice=BOTH if proved else "",
    )


_P = FORMATS["bfloat16"].precision
_EXPONENTS = range(-_P - 3, 3)
"""Of d against y. Below, d is less than a quarter of an ulp, and both sums round to y; above, |d| > 4|y|, and the
exponent of the sum is larger.
"""


def _mantissas() -> tuple[np.ndarray, np.ndarray]:
    """All y in [2^(p−1), 2^p), and all d of that size of both signs."""
    m = np.arange(2 ** (_P - 1), 2**_P, dtype=np.int64)
    return m[:, None], np.concatenate([m, -m])[None, :]


def _torch_at(k: int) -> tuple[int, int]:
    """(pairs at which the lemma speaks, those of them that come back changed), d · 2^k."""
    y, d = (float_steps.array(values.astype(float), "bfloat16") for values in _mantissas())
    d = d * 2.0**k
    after = y + d
    back = float_steps.doubles(after - d)
    ys, ds, sums = (float_steps.doubles(values) for values in (y, d, after))
    low = 2.0 ** (_P - 1)
    speaks = (sums != 0) & (np.abs(sums) < 2 * low) & (ys != low) & (np.abs(sums - (ys + ds)) != 0.5)
    return int(np.count_nonzero(speaks)), int(np.count_nonzero(speaks & (back != ys)))


def _integers_at(k: int) -> tuple[int, int]:
    """The same in whole numbers, in units of 2^−(p+3), with a rounding written here."""
    shift = _P + 3
    y, d = _mantissas()
    y, d = np.broadcast_arrays(y << shift, d << (k + shift))
    after = _nearest(y + d)
    back = _nearest(after - d)
    one = 1 << shift
    speaks = (after != 0) & (np.abs(after) < one << _P) & (y != one << (_P - 1)) & (2 * np.abs(after - y - d) != one)
    return int(np.count_nonzero(speaks)), int(np.count_nonzero(speaks & (back != y)))


def _nearest(values: np.ndarray) -> np.ndarray:
    """To p bits, ties to even."""
    size = np.abs(values)
    bits = np.maximum(np.frexp(size.astype(float))[1].astype(np.int64) - _P, 0)
    whole, rest = size >> bits, size & ((np.int64(1) << bits) - 1)
    half = (np.int64(1) << bits) >> 1
    up = (bits > 0) & ((rest > half) | ((rest == half) & (whole & 1 == 1)))
    nearest: np.ndarray = np.sign(values) * ((whole + up) << bits)
    return nearest


# --- accumulators

LONG = {"smoke": 500, "standard": 5000, "deep": 50_000}
MOST_STEPS, WHOLE, END = 200, 2**64, 2**31


def _hashed(values: np.ndarray, salt: int) -> np.ndarray:
    """An increment that is no bijection of its argument."""
    mixed = values.astype(np.uint64) * np.uint64(salt)
    return (mixed ^ (mixed >> np.uint64(29))).astype(np.int64)


def _hashed_again(value: int, salt: int) -> int:
    mixed = value * salt % WHOLE
    return mixed ^ (mixed >> 29)


def _by_numpy(y: int, z: int, kick: int, drift: int, steps: int, saturated: bool) -> tuple[int, int]:
    """Forward and back by the functions of the library; or with sums that end at ±2³¹, a planted falsehood."""
    states = np.array([y]), np.array([z])

    def kicks(values: np.ndarray) -> np.ndarray:
        return _hashed(values, kick)

    def drifts(values: np.ndarray) -> np.ndarray:
        return _hashed(values, drift)

    def kept(change: np.ndarray) -> np.ndarray:
        return change >> 34

    with np.errstate(over="ignore"):
        for back in (False, True):
            for _ in range(steps):
                if not saturated:
                    move = reconstruction.fixed_step_back if back else reconstruction.fixed_step
                    states = move(*states, kick=kicks, drift=drifts)
                elif back:
                    a = np.clip(states[0] - kept(drifts(states[1])), -END, END)
                    states = a, np.clip(states[1] + kept(kicks(a)), -END, END)
                else:
                    b = np.clip(states[1] - kept(kicks(states[0])), -END, END)
                    states = np.clip(states[0] + kept(drifts(b)), -END, END), b
    return int(states[0][0]), int(states[1][0])


def _by_integers(y: int, z: int, kick: int, drift: int, steps: int, saturated: bool) -> tuple[int, int]:
    """The same in integers of Python."""

    def signed(value: int) -> int:
        value %= WHOLE
        return value - WHOLE if value >= WHOLE // 2 else value

    def change(value: int, salt: int) -> int:
        hashed = signed(_hashed_again(value % WHOLE, salt))
        return hashed >> 34 if saturated else hashed

    def held(value: int) -> int:
        return min(max(value, -END), END) if saturated else signed(value)

    for _ in range(steps):
        z = held(z - change(y, kick))
        y = held(y + change(z, drift))
    for _ in range(steps):
        y = held(y - change(z, drift))
        z = held(z + change(y, kick))
    return y, z


def accumulator_case(*, saturated: bool = False) -> Case:
    """Sums modulo 2⁶⁴ come back whatever the increments are, up to the last bit; ``saturated`` ones do not."""

    def check(parameters: Parameters) -> Check:
        numbers = {name: int(parameters[name]) for name in ("y", "z", "kick", "drift", "steps")}
        start = numbers["y"], numbers["z"]
        first, other = _by_numpy(**numbers, saturated=saturated), _by_integers(**numbers, saturated=saturated)
        return Check(
            opinions=(
                Opinion("int64", first != start, f"comes back as {first}"),
                Opinion("integers", other != start, f"comes back as {other}"),
            ),
            words=f"(y, z) = {start} through {numbers['steps']} steps and back: {first}",
        )

    def ask(budget: Budget, seed: int) -> Attempt:
        rng = random.Random(seed)
        most = END if saturated else 2**59
        points = []
        for steps in (*range(1, 9), 50, LONG[budget.name]):
            y, z = (rng.randint(-most, most) for _ in range(2))
            kick, drift = (rng.randrange(1, 2**59) | 1 for _ in range(2))
            points.append({"y": y, "z": z, "kick": kick, "drift": drift, "steps": steps})
        lost = [p for p in points if _by_numpy(**p, saturated=saturated) != (p["y"], p["z"])]
        return Attempt(
            f"{len(points)} pairs of int64, up to {LONG[budget.name]:,} steps of hashes and back",
            len(points),
            found=f"{len(lost)} changed",
            claimed="0",
            candidates=tuple({k: str(v) for k, v in p.items()} for p in lost if p["steps"] <= MOST_STEPS),
        )

    word = Integer(-(2**59), 2**59)
    odd = Rule("kick and drift are odd", lambda values: values["kick"] % 2 == 1 == values["drift"] % 2)
    salts = (Parameter(name, Integer(1, 2**59)) for name in ("kick", "drift"))
    parameters = declared(
        Parameter("y", word), Parameter("z", word), *salts, Parameter("steps", Integer(1, MOST_STEPS)), rules=(odd,)
    )
    return Case("int64", "rebuilt accumulators", ask, parameters.guards(check))
