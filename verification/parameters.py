"""What a case may be asked about: its parameters by name, each of a declared kind.

    α ∈ ℚ, α > 0  ·  N ∈ ℕ, N ≤ 5000  ·  A ∈ ℚ^{n×n}, Aᵀ = −A  ·  D = diag(±1)  ·  θ ∈ {w, b, c, V}  ·  dt = 3/100

A declaration is the only way from the text of a witness to numbers. What lies outside of it is refused with the name,
the value and the reason, and sizes are looked at before numbers are made of them: no check ever computes with a
parameter that its case is not about. A constant of the case may be written in a file for its reader, and must then be
that constant. ``draw`` gives parameters inside of the declaration, for whoever attacks the checks.

    >>> dt = Parameter("dt", Rational(above=0, below=1))
    >>> declared = Declaration((dt, Parameter("k", Integer(1, 9))))
    >>> declared.read({"dt": "1/10", "k": "3"})["dt"]
    Fraction(1, 10)
    >>> declared.read({"dt": "3/2", "k": "3"})
    Traceback (most recent call last):
    verification.parameters.RefusedError: Parameter "dt" is "3/2": it is a rational number > 0 and < 1.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from verification.claim import GIVEN, ClaimError
from verification.kinds import Constant, Kind, Layout, NotOfThisKindError, Rational, Values, laid_out
from verification.spread import Spread

MOST_LETTERS = 2**20
"""Of one parameter. Looked at first of all."""
SHOWN = 60
LONGEST_LAID_OUT = 1_000
MOST_SAID = 10_000
"""Letters of what a back-end says."""
MOST_DRAWS = 2_000
"""Until the rules are obeyed. That a step count is a multiple of 16 takes some 16 of them."""


class RefusedError(ClaimError):
    """A parameter is not one that the case is about: says which, its value, and what it must be."""


# --- the declaration of a case


@dataclass(frozen=True)
class Parameter:
    """A name and a kind. What is ``optional`` may be left out, and is then not there; what is needed, a rule says.

    ``when``: it is there only, and then always, where this holds of what was read before it. ``order`` says in which
    order its entries stand, where the kind does not: "a row a layer", "again and again"; ``layout`` says where the rows
    of a flat list end.
    """

    name: str
    kind: Kind
    optional: bool = False
    when: Callable[[Values], bool] | None = None
    order: str = ""
    layout: Layout | None = None


@dataclass(frozen=True)
class Rule:
    """A limit on several parameters together, such as the work that they make: refused with the text if it fails."""

    text: str
    holds: Callable[[Values], bool]


@dataclass(frozen=True)
class Declaration:
    """The parameters of a case in the order in which they are read: sizes first.

    ``is_costly``: a check takes a second or more, so that a run hears it at fewer drawn places.
    """

    parameters: tuple[Parameter, ...]
    rules: tuple[Rule, ...] = ()
    is_costly: bool = False

    def __post_init__(self) -> None:
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ClaimError(f'Parameter "{twice}" is declared twice.')

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def is_open(self) -> bool:
        """Whether anything is left to choose."""
        return not all(isinstance(parameter.kind, Constant) for parameter in self.parameters)

    def read(self, texts: Mapping[str, str]) -> Values:
        """The values by name. RefusedError for a name that is missing or unknown, and for a value of another kind."""
        if unknown := [name for name in texts if name not in self.names]:
            raise RefusedError(
                f'Parameter "{_shown(unknown[0])}" is unknown to this case. It has: {", ".join(self.names)}.'
            )
        values: Values = {}
        for parameter in self.parameters:
            if parameter.when is not None and not parameter.when(values):
                if parameter.name in texts:
                    raise RefusedError(f'Parameter "{parameter.name}" does not go with the others.')
            elif parameter.name in texts or not parameter.optional:
                values[parameter.name] = self._value(parameter, texts, values)
        for rule in self.rules:
            if not rule.holds(values):
                raise RefusedError(f"These parameters together are not of this case: {rule.text}.")
        return values

    def _value(self, parameter: Parameter, texts: Mapping[str, str], values: Values) -> Any:
        text = texts.get(parameter.name)
        if text is None:
            if isinstance(parameter.kind, Constant):
                return parameter.kind.value
            raise RefusedError(f'Parameter "{parameter.name}" is missing: it is {parameter.kind}.')
        if not isinstance(text, str) or len(text) > MOST_LETTERS:
            raise RefusedError(f'Parameter "{parameter.name}" is no text of at most {MOST_LETTERS} letters.')
        try:
            return parameter.kind.read(text, values)
        except NotOfThisKindError as reason:
            more = f" ({reason})" if str(reason) else ""
            raise RefusedError(
                f'Parameter "{parameter.name}" is "{_shown(text)}": it is {parameter.kind}{more}.'
            ) from None

    def guards(
        self,
        check: Callable[[dict[str, str]], Any],
        look: Look | None = None,
        sizes: Sizes | None = None,
        **how: bool,
    ) -> Guarded:
        """The check behind this declaration, the form in which a case has it; ``how`` as in ``Guarded``."""
        return Guarded(self, check, look, sizes, **how)

    def texts(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The values as the text of a file, which ``read`` reads back."""
        return {
            parameter.name: parameter.kind.write(values[parameter.name])
            for parameter in self.parameters
            if parameter.name in values
        }

    def canonical(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The same parameters in one spelling, every one of them named."""
        return self.texts(self.read(texts))

    def described(self, texts: Mapping[str, str]) -> list[str]:
        """Each parameter with its value, laid out, and what it is: what a reader must know of the domain."""
        values = self.read(texts)
        return [
            f"{self._arranged(parameter, values)}"
            + (", a constant of this case" if isinstance(parameter.kind, Constant) else f": {parameter.kind}")
            for parameter in self.parameters
            if parameter.name in values
        ]

    def laid_out(self, texts: Mapping[str, str]) -> str:
        """The parameters for readers in a line: matrices as matrices, long values cut, lists without entries left out.

        >>> orders = (Parameter("w", Matrix(2, 1), order="a row a layer"), Parameter("dt", Rational()))
        >>> Declaration(orders).laid_out({"w": "-13 0", "dt": "1/2"})
        'w = [-13; 0] (a row a layer); dt = 1/2'
        """
        values = self.read(texts)
        return "; ".join(
            self._arranged(parameter, values)
            for parameter in self.parameters
            if parameter.name in values and values[parameter.name] not in ((), "")
        )

    @staticmethod
    def _arranged(parameter: Parameter, values: Values) -> str:
        value = values[parameter.name]
        text = parameter.layout(value, values) if parameter.layout else laid_out(parameter.kind, value)
        return f"{parameter.name} = {_within(text)}" + (f" ({parameter.order})" if parameter.order else "")

    def draw(self, rng: random.Random) -> dict[str, str]:
        """The text of some parameters of the case."""
        for _ in range(MOST_DRAWS):
            if isinstance(rng, Spread):
                rng.advance()
            values: Values = {}
            for parameter in self.parameters:
                is_there = parameter.when is None or parameter.when(values)
                if is_there and not (parameter.optional and rng.random() < 0.5):
                    values[parameter.name] = parameter.kind.draw(rng, values)
            if all(rule.holds(values) for rule in self.rules):
                return self.texts(values)
        raise ValueError(f"no parameters were drawn that obey {'; '.join(rule.text for rule in self.rules)}")


Look: TypeAlias = Callable[[dict[str, str]], bool | None]
"""Whether the first back-end alone finds a violation; None where a premise fails, so that a place says nothing."""
Sizes: TypeAlias = Callable[[dict[str, str]], tuple[float | None, float | None]]
"""Natural logarithms of both sides, None of a side that is no positive number. Floats: nothing is decided by them."""


@dataclass(frozen=True)
class Guarded:
    """A check that sees no parameters but those of its declaration, every one of them, in one spelling.

    ``look`` asks the first back-end alone: where it finds a violation a search goes on to the check. ``sizes`` are both
    sides of an inequality, for pictures. ``is_slow`` says that the second one takes many times as long. ``can_refute``
    is False where nothing carries a violation to the limit that the statement is about: no search is made then.
    """

    declaration: Declaration
    check: Callable[[dict[str, str]], Any]
    look: Look | None = None
    sizes: Sizes | None = None
    is_slow: bool = False
    can_refute: bool = True

    def __call__(self, texts: Mapping[str, str]) -> Any:
        """What the check says of these parameters, long texts cut. RefusedError for what is outside of the
        declaration.
        """
        canonical = self.declaration.canonical(texts)
        with _any_number_of_digits():
            check = self.check(canonical)
            words = check.words
            if GIVEN in words:
                words = words.replace(GIVEN, self.declaration.laid_out(canonical))
        opinions = tuple(replace(opinion, text=_cut(opinion.text)) for opinion in check.opinions)
        return replace(check, opinions=opinions, words=_cut(words))

    def may_fail(self, texts: Mapping[str, str]) -> bool | None:
        """Whether the first back-end finds a violation at these parameters, None if a premise fails; True where there
        is no quicker look than the check.
        """
        if self.look is None:
            return True
        with _any_number_of_digits():
            return self.look(self.declaration.canonical(texts))


@contextmanager
def _any_number_of_digits() -> Iterator[None]:
    """Python writes no whole number of more than 4,300 digits; those that were read are bounded by their kinds."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}… ({len(text)} letters)"


def declared(*parameters: Parameter, rules: Iterable[Rule] = (), is_costly: bool = False) -> Declaration:
    """The declaration of these parameters, read in this order."""
    return Declaration(parameters, tuple(rules), is_costly)


def rationals(*names: str, **limits: Any) -> tuple[Parameter, ...]:
    """A rational number of each name, with the same limits."""
    return tuple(Parameter(name, Rational(**limits)) for name in names)


def _within(text: str) -> str:
    return text if len(text) <= LONGEST_LAID_OUT else f"{text[:LONGEST_LAID_OUT]}… ({len(text)} letters, in its file)"


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} letters)"
