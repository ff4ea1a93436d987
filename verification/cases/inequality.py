"""One inequality at exact parameters: both sides in balls, and typed again for mpmath's intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, TypeAlias

import flint

from odernn.bounds.numbers import BALLS
from verification.certify.enclosures import are_apart
from verification.certify.positivity import Side, is_nonnegative
from verification.certify.second import intervals as second
from verification.claim import GIVEN, Attempt, Check, Hypothesis, Opinion, Parameters
from verification.exact_text import numbers, rational
from verification.parameters import Declaration

BITS = 256
QUICK_BITS = 128
Sides: TypeAlias = tuple[Any, Any]


ALPHA_POSITIVE = Hypothesis("α > 0", lambda p: p.alpha)
STEP_BELOW_ONE = Hypothesis("0 < dt < 1", lambda p: min(p.dt, 1 - p.dt))
T_AT_MOST_ONE = Hypothesis("T = N dt ≤ 1", lambda p: 1 - p.N * p.dt, strict=False)
SIGMA_INSIDE = Hypothesis("0 < σ̂ < 1", lambda p: min(p.sigma, 1 - p.sigma))


def whole_number(p: Any) -> Fraction:
    """The margin of "N is a whole number ≥ 1"."""
    return Fraction(p.N if p.N.denominator == 1 else -1)


@dataclass(frozen=True)
class Inequality:
    """left ≤ right, for all parameters that satisfy the hypotheses.

    balls, intervals   (left, right) of a namespace of numbers: python-flint balls; intervals of ``second.iv``
                       (which also finds the parameters as text, in ``texts``)
    are_logs           whether both sides are natural logarithms
    lists              names of parameters that are lists
    bits               working precision of both
    limit              the argument, with its numbers, that carries a violation to dt → 0; "" if there is none
    parameters         what it is asked about; the ``check`` of a case has nothing else
    are_same           whether both back-ends enclose the same two numbers, which are then compared; False where each
                       has its own lower bound on the left side, or upper bound on the right one
    network            the check for parameters of a whole network, with "m" among them; None if there is none
    """

    balls: Callable[[Any], Sides]
    intervals: Callable[[Any], Sides]
    hypotheses: tuple[Hypothesis, ...] = ()
    are_logs: bool = False
    lists: tuple[str, ...] = ()
    bits: int = BITS
    limit: Callable[[Any], str] | None = None
    parameters: Declaration | None = None
    are_same: bool = True
    network: Callable[[Parameters], Check] | None = None

    @property
    def check(self) -> Callable[[Parameters], Check]:
        """Both opinions, the premises and the sentence, for declared parameters."""
        return (
            self.decide if self.parameters is None else self.parameters.guards(self.decide, self.may_fail, self.sizes)
        )

    def may_fail(self, parameters: Parameters) -> bool | None:
        """Whether left > right in balls; None where a premise fails."""
        if self.network is not None and "m" in parameters:
            return True
        given = {name: numbers(parameters, name) for name in parameters}
        exact = _namespace(given, self.lists, Fraction)
        if not all(hypothesis.at(exact).holds for hypothesis in self.hypotheses):
            return None
        return self._exceeds(given)

    def sizes(self, parameters: Parameters) -> tuple[float | None, float | None]:
        """Natural logarithms of both sides, in floats; None of a side that is not a positive number, as far as balls of
        ``QUICK_BITS`` bits tell.
        """
        given = {name: numbers(parameters, name) for name in parameters}
        with flint.ctx.workprec(QUICK_BITS):
            return self._logs(*self.balls(_namespace(given, self.lists, BALLS.exact)))

    def _logs(self, left: Any, right: Any) -> tuple[float | None, float | None]:
        logs = (left, right) if self.are_logs else tuple(x.log() if x > 0 else None for x in (left, right))
        one, other = (None if x is None or not x.is_finite() else float(x.mid()) for x in logs)
        return one, other

    def _exceeds(self, given: Mapping[str, list[Fraction]]) -> bool:
        """Whether left > right is proved in balls: at few bits where they decide, else at twice as many, up to all."""
        bits = min(BITS, self.bits)
        while True:
            with flint.ctx.workprec(bits):
                left, right = self.balls(_namespace(given, self.lists, BALLS.exact))
                if bits >= self.bits or left > right or left <= right:
                    return bool(left > right)
            bits = min(2 * bits, self.bits)

    def decide(self, parameters: Parameters) -> Check:
        """The same for parameters that have been read."""
        if self.network is not None and "m" in parameters:
            return self.network(parameters)
        given = {name: numbers(parameters, name) for name in parameters}
        exact = _namespace(given, self.lists, Fraction)
        with flint.ctx.workprec(self.bits):
            left, right = self.balls(_namespace(given, self.lists, BALLS.exact))
            violated = bool(left > right)
            text = f"{left.str(10, radius=False)} against {right.str(10, radius=False)}"
            sizes = self._logs(left, right)
            again = self._again(parameters)
            apart = [
                f"the {side} side is {ball.str(10)} in balls, {_shown(interval)} in mpmath"
                for side, ball, interval in zip(("left", "right"), (left, right), again, strict=True)
                if self.are_same and are_apart(ball, interval)
            ]
        below, above = again
        gap = f"left in {_shown(below)}, right at most {_end(above.b)}"
        return Check(
            opinions=(Opinion("balls", violated, text), Opinion("mpmath", bool(below.a > above.b), gap)),
            premises=tuple(hypothesis.at(exact) for hypothesis in self.hypotheses),
            limit=self.limit(exact) if self.limit is not None else "",
            words=f"{GIVEN}: {text}" + (" (logarithms)" if self.are_logs else ""),
            log_measured=sizes[0] if None not in sizes else None,
            log_claimed=sizes[1] if None not in sizes else None,
            apart="; ".join(apart),
        )

    def _again(self, parameters: Parameters) -> Sides:
        with second.iv.workprec(self.bits):
            given = {name: [second.number(word) for word in text.split()] for name, text in parameters.items()}
            values = {name: value if name in self.lists else value[0] for name, value in given.items()}
            left, right = self.intervals(SimpleNamespace(texts=dict(parameters), **values))
            return second.iv.mpf(left), second.iv.mpf(right)


def _shown(interval: Any) -> str:
    return f"[{_end(interval.a)}, {_end(interval.b)}]"


def _end(value: Any) -> str:
    return f"{float(value.mid):.10g}" if hasattr(value, "mid") else f"{float(value):.10g}"


def _namespace(given: Mapping[str, list[Fraction]], lists: tuple[str, ...], make: Callable[[Any], Any]) -> Any:
    by_name = {name: [make(value) for value in values] for name, values in given.items()}
    return SimpleNamespace(**{name: value if name in lists else value[0] for name, value in by_name.items()})


# --- polynomial inequalities over boxes


@dataclass(frozen=True)
class Piece:
    """left ≤ right as polynomials on a box; ``lift`` makes of a point of it, by name, the parameters of the check."""

    left: Any
    right: Any
    box: tuple[Side, ...]
    lift: Callable[[dict[str, Fraction]], Mapping[str, Fraction | int]] = dict


def attempt(pieces: Iterable[Piece], over: str, conclusion: str = "") -> Attempt:
    """Every piece decided by Bernstein coefficients: a proof over the whole box, or points where one is violated."""
    count, boxes, candidates, undecided = 0, 0, [], 0
    for piece in pieces:
        difference = piece.right - piece.left
        positivity = is_nonnegative(difference, piece.box)
        count, boxes = count + 1, boxes + positivity.boxes
        if positivity.holds is False:
            assert positivity.point is not None
            point = _inside(difference, positivity.point, piece.box)
            names = difference.context().names()
            lifted = piece.lift(dict(zip(names, point, strict=True)))
            candidates.append({name: rational(value) for name, value in lifted.items()})
        undecided += positivity.holds is None
    text = f"{count} polynomials nonnegative on {over}: all Bernstein coefficients of {boxes} boxes ≥ 0, exactly"
    proved = not candidates and not undecided
    return Attempt(
        tried=text if proved else f"{count} polynomials on {over}, {boxes} boxes; {undecided} undecided",
        evaluations=0 if undecided and not candidates else boxes,
        candidates=tuple(candidates),
        proof="; ".join(filter(None, (text, conclusion))) if proved else "",
    )


def _inside(difference: Any, point: Sequence[Fraction], box: Sequence[Side]) -> tuple[Fraction, ...]:
    """A point in the interior of the box where the difference is still negative: far inside, with short fractions."""
    centre = [Fraction(lower) + (1 if upper is None else (Fraction(upper) - lower) / 2) for lower, upper in box]
    for k in range(1, 60):
        moved = tuple(x + (c - x) / 2**k for x, c in zip(point, centre, strict=True))
        if not _is_negative(difference, moved, box):
            continue
        for denominator in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            short = tuple(x.limit_denominator(denominator) for x in moved)
            if _is_negative(difference, short, box):
                return short
        return moved
    return tuple(point)


def _is_negative(difference: Any, point: Sequence[Fraction], box: Sequence[Side]) -> bool:
    """At a point in the interior of the box."""
    if any(x <= lower or (upper is not None and x >= upper) for x, (lower, upper) in zip(point, box, strict=True)):
        return False
    return bool(difference(*(flint.fmpq(x.numerator, x.denominator) for x in point)) < 0)


def semidefinite_pieces(matrix: Sequence[Sequence[Any]], box: tuple[Side, ...]) -> tuple[Piece, ...]:
    """All principal minors ≥ 0: the symmetric matrix of polynomials is positive semidefinite on the box."""
    size = len(matrix)
    subsets = [[i for i in range(size) if mask >> i & 1] for mask in range(1, 2**size)]
    minors = [_determinant([[matrix[i][j] for j in chosen] for i in chosen]) for chosen in subsets]
    return tuple(Piece(0 * minor, minor, box) for minor in minors)


def _determinant(rows: Sequence[Sequence[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    total = 0 * rows[0][0]
    for j, entry in enumerate(rows[0]):
        total = total + (-1) ** j * entry * _determinant([[*row[:j], *row[j + 1 :]] for row in rows[1:]])
    return total
