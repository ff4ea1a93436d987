"""Statements "left = right" about layered networks and about polynomials: how they are asked and checked.

Asking tries a proof first: left − right as polynomials in the symbols of the network, for each shape of the box.
If something remains, the simplest networks with σ = tanh are gone through in balls, and those with left ≠ right are
named as candidates. Checking decides at one typed network, in balls and once more in intervals.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import flint
import mpmath
from flint import Ordering, arb, fmpq, fmpq_mpoly_ctx

from verification.certify.second import exact_network as again
from verification.claim import GIVEN, Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Kind, Rational
from verification.measure import exact_network as net
from verification.measure.exact_network import Indices, Layered, Shape, State, Weights
from verification.parameters import Declaration, Parameter, declared

RANDOM = {"smoke": 20, "standard": 200, "deep": 1000}
AGAIN_AT = 20
"""Random places at which the second typing of an identity is heard where nobody types in a place."""


# --- a residual of the derivatives of a network


@dataclass(frozen=True)
class PathIdentity:
    """Every entry of ``residual`` is 0, along every run. ``retyped`` is the same for the second back-end.

    ``words`` names the two sides.
    """

    indices: Indices
    residual: Callable[[Layered], list[Any]]
    retyped: Callable[[again.IntervalNetwork], list[Any]]
    words: str

    def case(self, domain: str, quantity: str, shapes: Iterable[Shape]) -> Case:
        """The statement for all entries of the networks of these shapes."""
        box = tuple(shapes)

        def ask(_: Budget, __: int) -> Attempt:
            return self._prove(box)

        return Case(domain, quantity, ask, net.declared_network(box).guards(self.check, self.look))

    def sampled(self, domain: str, quantity: str, shapes: Iterable[Shape]) -> Case:
        """The same where shapes are too many or too large for a proof: random rational entries."""
        box = tuple(shapes)

        def ask(budget: Budget, seed: int) -> Attempt:
            return self._sample(box, RANDOM[budget.name], random.Random(seed))

        return Case(domain, quantity, ask, net.declared_network(box).guards(self.check, self.look))

    def _prove(self, shapes: Sequence[Shape]) -> Attempt:
        remaining = [s for s in shapes if any(entry != 0 for entry in self.residual(net.symbolic(s, self.indices)))]
        tried = f"{self.words}: polynomials in all entries of the network, {_list(shapes)}"
        if not remaining:
            return Attempt(tried, len(shapes), found="0", claimed="0", proof=f"{tried}: the difference is 0")
        return self._named(remaining, tried, len(shapes))

    def _sample(self, shapes: Sequence[Shape], count: int, rng: random.Random) -> Attempt:
        draws = [shapes[j % len(shapes)] for j in range(max(count, len(shapes)))]
        failed = [
            s for s in draws if any(entry != 0 for entry in self.residual(net.random_rational(s, self.indices, rng)))
        ]
        tried = f"{self.words}: {len(draws)} networks with random rational entries, {_list(shapes)}"
        if not failed:
            return Attempt(tried, len(draws), found="0", claimed="0")
        return self._named(failed, tried, len(draws))

    def _named(self, shapes: Sequence[Shape], tried: str, evaluations: int) -> Attempt:
        """The small networks at which the two sides differ. If there is none, that is reported as what was found."""
        simplest = sorted(set(shapes), key=lambda s: (s.layers * s.neurons * s.steps, s.layers, s.neurons))
        menu = [parameters for shape in simplest for parameters in net.menu(shape)]
        with net.at_precision():
            candidates = tuple(p for p in menu if self._differs(p)[0])[:3]
        difference = "differs as a polynomial, at no small network" if not candidates else "differs"
        named = candidates or (menu[0],)
        return Attempt(tried, evaluations + len(menu), found=difference, claimed="equal", candidates=named)

    def _differs(self, parameters: Parameters) -> tuple[bool, str]:
        network, _ = net.typed(parameters, self.indices)
        return _largest(self.residual(network))

    def look(self, parameters: Parameters) -> bool:
        """Whether the two sides differ in balls."""
        with net.at_precision():
            return self._differs(parameters)[0]

    def check(self, parameters: Parameters) -> Check:
        with net.at_precision():
            differs, text = self._differs(parameters)
        return _checked_again(self, parameters, Opinion("balls", differs, text))


# --- a residual of the states of a network


@dataclass(frozen=True)
class StateIdentity:
    """Every entry of residual(weights, state before, u_{n−1}, u_n, σ) is 0, for every step of every run."""

    indices: Indices
    residual: Callable[[Weights, State, Sequence[Any], Sequence[Any], Callable[[Any], Any]], list[Any]]
    retyped: Callable[[again.IntervalNetwork], list[Any]]
    words: str
    changes: tuple[Mapping[str, str], ...]
    """What is tried for a counterexample, as changes of the simplest network."""
    values_of_sigma: int = 0
    """How many different values of σ the residual asks for, if more than two per neuron."""
    constant_input: bool = False
    """Whether the statement is about runs whose input does not change."""

    def case(self, domain: str, quantity: str, shapes: Iterable[Shape]) -> Case:
        box = tuple(shapes)

        def ask(_: Budget, __: int) -> Attempt:
            tried = f"{self.words}: polynomials in all entries and the state, σ any function, {_list(box)}"
            remaining = [shape for shape in box if any(entry != 0 for entry in self._opaque(shape))]
            if not remaining:
                return Attempt(tried, len(box), found="0", claimed="0", proof=f"{tried}: the difference is 0")
            return self._named(remaining, tried)

        return Case(domain, quantity, ask, self._declaration(box).guards(self.check, self.look))

    def sampled(self, domain: str, quantity: str, shapes: Iterable[Shape]) -> Case:
        box = tuple(shapes)

        def ask(budget: Budget, seed: int) -> Attempt:
            rng = random.Random(seed)
            draws = [box[j % len(box)] for j in range(max(RANDOM[budget.name], len(box)))]
            failed = [shape for shape in draws if any(entry != 0 for entry in self._rational(shape, rng))]
            tried = f"{self.words}: {len(draws)} random rational networks and states, σ = x/(1 + |x|), {_list(box)}"
            if failed:
                return self._named(failed, tried)
            return Attempt(tried, len(draws), found="0", claimed="0")

        return Case(domain, quantity, ask, self._declaration(box).guards(self.check, self.look))

    def _declaration(self, box: Sequence[Shape]) -> Declaration:
        steps = max(len(change.get("u", "0").split()) - 1 for change in self.changes)
        longest = [replace(shape, steps=max(shape.steps, steps)) for shape in box]
        return net.declared_network(longest, constant_input=self.constant_input)

    def _opaque(self, shape: Shape) -> list[Any]:
        L, m = shape.layers, shape.neurons
        pool = [f"sigma{j}" for j in range(max(2 * L * m, self.values_of_sigma))]
        names = [f"{kind}{l}_{i}" for kind in "yz" for l in range(L) for i in range(m)]
        ends = [f"{kind}{i}" for kind in ("before", "now") for i in range(m)]
        layered, symbols = net.symbolic_with(shape, self.indices, [*pool, *names, *ends])
        free = symbols.__getitem__
        state = [([free(f"y{l}_{i}") for i in range(m)], [free(f"z{l}_{i}") for i in range(m)]) for l in range(L)]
        u_before, u = ([free(f"{kind}{i}") for i in range(m)] for kind in ("before", "now"))
        return self.residual(layered.weights, state, u_before, u, net.Opaque(map(free, pool)))

    def _rational(self, shape: Shape, rng: random.Random) -> list[Any]:
        def draw() -> list[Any]:
            return [fmpq(rng.randint(-9, 9), rng.randint(1, 9)) for _ in range(shape.neurons)]

        weights = net.random_rational(shape, self.indices, rng).weights
        state = [(draw(), draw()) for _ in range(shape.layers)]
        return self.residual(weights, state, draw(), draw(), lambda x: x / (1 + abs(x)))

    def _named(self, shapes: Sequence[Shape], tried: str) -> Attempt:
        depths = sorted({shape.layers for shape in shapes})
        menu = [net.small_network(Shape(L, 1, 1), **change) for L in depths for change in self.changes]
        with net.at_precision():
            candidates = tuple(p for p in menu if self._differs(p)[0])[:3]
        difference = "differs" if candidates else "differs for some σ, at no small network"
        return Attempt(tried, len(menu), found=difference, claimed="equal", candidates=candidates or (menu[0],))

    def _differs(self, parameters: Parameters) -> tuple[bool, str]:
        """The last step of the run."""
        network, states = net.typed(parameters, self.indices)
        u = [at[0] for at in network.levels]
        before = states[-2]
        return _largest(self.residual(network.weights, before, u[-2], u[-1], arb.tanh))

    def look(self, parameters: Parameters) -> bool:
        """Whether the two sides differ in balls."""
        with net.at_precision():
            return self._differs(parameters)[0]

    def check(self, parameters: Parameters) -> Check:
        with net.at_precision():
            differs, text = self._differs(parameters)
        return _checked_again(self, parameters, Opinion("balls", differs, text))


def _checked_again(identity: PathIdentity | StateIdentity, parameters: Parameters, opinion: Opinion) -> Check:
    other = Opinion("mpmath", *again.run(dict(parameters), identity.indices == "sam", identity.retyped))
    return Check(opinions=(opinion, other), words=f"{identity.words}: not equal at {GIVEN}; {opinion.text}")


# --- a residual that is a polynomial in named real numbers


@dataclass(frozen=True)
class PolynomialIdentity:
    """Every entry of residual(numbers by name) is 0, for all real values of the names, each of its kind."""

    names: tuple[str, ...]
    residual: Callable[[Mapping[str, Any]], list[Any]]
    retyped: Callable[[Mapping[str, Any]], list[Any]]
    words: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def case(self, domain: str, quantity: str) -> Case:
        return Case(domain, quantity, self.ask, self.declaration.guards(self.check))

    @property
    def declaration(self) -> Declaration:
        """A number of each name: any one, if ``kinds`` does not say more."""
        return declared(*(Parameter(name, self.kinds.get(name, Rational())) for name in self.names))

    def ask(self, _: Budget, seed: int) -> Attempt:
        ring = fmpq_mpoly_ctx.get(list(self.names), Ordering.degrevlex)
        left = self.residual(dict(zip(self.names, ring.gens(), strict=True)))
        text = f"{self.words}: polynomials in {', '.join(self.names)}"
        if all(entry == 0 for entry in left):
            return Attempt(text, 1, found="0", claimed="0", proof=f"{text}: the difference is 0")
        rng = random.Random(seed)
        few = [{name: "1" for name in self.names}, {name: "1/2" for name in self.names}]
        few += [{name: str(Fraction(rng.randint(1, 4), 4)) for name in self.names} for _ in range(20)]
        differing = [p for p in few if self.check(p).opinions[0].violated]
        return Attempt(text, len(few), found="differs", claimed="equal", candidates=tuple(differing[:3] or few[:1]))

    def vanishes_again(self, seed: int) -> str:
        """The second typing, in fractions, where the first is the polynomial 0. ArithmeticError if it is not 0."""
        rng = random.Random(seed)
        for _ in range(AGAIN_AT):
            place = {name: Fraction(rng.randint(-999, 999), rng.randint(1, 99)) for name in self.names}
            if any(entry != 0 for entry in self.retyped(place)):
                raise ArithmeticError(f"{self.words}: 0 as a polynomial, but not as typed once more, at {place}")
        return f"the identity also at {AGAIN_AT} random places, typed once more, in fractions"

    def check(self, parameters: Parameters) -> Check:
        values = {name: number(parameters, name) for name in self.names}
        differs, text = _largest(self.residual({k: fmpq(v.numerator, v.denominator) for k, v in values.items()}))
        intervals = {name: again.exact(parameters[name])[0] for name in self.names}
        second = max((again.iv.mpf(x) for x in self.retyped(intervals)), key=lambda x: abs(x).a)
        return Check(
            opinions=(
                Opinion("exact", differs, text),
                Opinion("mpmath", again.excludes_zero(second), f"largest residual {mpmath.nstr(second, 12)}"),
            ),
            words=f"{self.words}: not equal at " + ", ".join(f"{k} = {v}" for k, v in values.items()) + f"; {text}",
        )


# --- shared words


def _list(shapes: Sequence[Shape]) -> str:
    return "; ".join(map(str, shapes))


def _largest(values: Iterable[Any]) -> tuple[bool, str]:
    """(whether some value is certainly not 0, the largest in words)."""
    certain = [v for v in values if net.is_certainly_nonzero(v)]
    if not certain:
        return False, "every difference may be 0"
    balls = [v if isinstance(v, arb) else arb(v) for v in certain]
    largest = max(range(len(balls)), key=lambda j: float(abs(balls[j]).lower()))
    shown = certain[largest]
    return True, f"largest difference {shown.str(12, radius=False) if isinstance(shown, flint.arb) else shown}"
