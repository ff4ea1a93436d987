"""Numbers of parameters of UnICORNN, coRNN, expRNN, IndRNN and LSTM as their tables give them, under every convention.

Counted by formula, and once more tensor by tensor from the modules. Which of biases and read-out the source counts is
not printed: a printed number is contradicted only where it is under all conventions, or under the one that is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from torch import nn

from odernn.cells.cornn import CoRNN
from odernn.cells.exprnn import ExpRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.unicornn import UnICORNN
from odernn.published.networks import PublishedNetwork, PublishedRow, agrees, agrees_to_tens
from verification.claim import Attempt, Case, Check, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant
from verification.parameters import Declaration, Parameter, declared

Counter: TypeAlias = Callable[[str, int, int, int, int], dict[str, int]]
"""Of cell, m, d, L and the number of outputs."""
NORMALISED = "biases b^l, batch norm"
"""Scale and shift of a batch normalisation after each layer: how icml Sec. 4 runs IndRNN."""


@dataclass(frozen=True)
class Size:
    """A network as its table gives it."""

    cell: str
    m: int
    d: int
    L: int
    outputs: int
    printed: str
    convention: str = ""
    """The one of ``by_formula`` under which the printed number is said to be that of the network; "" for any."""
    is_rounded: bool = False
    """Whether the printed number is read as rounded; else it may be cut off at its last digit as well."""

    def counted(self, counter: Counter, m: int, d: int, L: int) -> dict[str, int]:
        """The count of such a network under the conventions that are asked."""
        counts = counter(self.cell, m, d, L, self.outputs)
        return {name: count for name, count in counts.items() if self.convention in ("", name)}

    def parameters(self) -> Parameters:
        return {"m": str(self.m), "d": str(self.d), "L": str(self.L), "n_out": str(self.outputs)}


def _size(printed: PublishedRow | PublishedNetwork) -> Size:
    cell = printed.cell if isinstance(printed, PublishedNetwork) else "unicornn"
    assert printed.parameters is not None
    return Size(cell, printed.hidden_size, printed.input_size, printed.num_layers, printed.outputs, printed.parameters)


def by_formula(cell: str, m: int, d: int, L: int, outputs: int) -> dict[str, int]:
    """The count under every convention (definitions 1.9 for UnICORNN; one hidden layer but for UnICORNN and IndRNN)."""
    recurrent: dict[str, int] = {}
    if cell == "unicornn":
        plain = m * d + (L - 1) * m * m + 2 * L * m
        recurrent = {"no biases": plain, "biases b^l": plain + L * m}
    elif cell == "cornn":
        recurrent = {"no bias": 2 * m * m + m * d, "bias": 2 * m * m + m * d + m}
    elif cell == "exprnn":
        recurrent = {"no bias": m * (m - 1) // 2 + m * d, "bias": m * (m - 1) // 2 + m * d + m}
    elif cell == "indrnn":
        plain = m * d + (L - 1) * m * m + L * m
        recurrent = {"no biases": plain, "biases b^l": plain + L * m, NORMALISED: plain + 3 * L * m}
    elif cell == "lstm":
        recurrent = {f"{count} bias vectors": 4 * (m * m + m * d + count * m) for count in (0, 1, 2)}
    readouts = {"no readout": 0, "readout": (m + 1) * outputs}
    return {
        f"{name}, {readout}": count + more for name, count in recurrent.items() for readout, more in readouts.items()
    }


def by_modules(cell: str, m: int, d: int, L: int, outputs: int) -> dict[str, int]:
    """The same from the tensors of the modules themselves, one by one: weights, then biases."""
    modules: dict[str, Callable[[], nn.Module]] = {
        "unicornn": lambda: UnICORNN(d, m, L, dt=0.1, alpha=1.0),
        "cornn": lambda: CoRNN(d, m, L, dt=0.1, gamma=1.0, epsilon=1.0),
        "lstm": lambda: nn.LSTM(d, m, L),
        "exprnn": lambda: ExpRNN(d, m, L),
        "indrnn": lambda: IndRNN(d, m, L),
    }
    tensors = dict(modules[cell]().named_parameters())
    biases = {name for name in tensors if name.split(".")[-1] == "b" or name.startswith("bias")}
    weights = sum(each.numel() for name, each in tensors.items() if name not in biases)
    extra = sum(tensors[name].numel() for name in biases)
    readout = sum(parameter.numel() for parameter in nn.Linear(m, outputs).parameters())
    if cell == "lstm":
        recurrent = {f"{count} bias vectors": weights + count * extra // 2 for count in (0, 1, 2)}
    else:
        none, some = ("no biases", "biases b^l") if cell in ("unicornn", "indrnn") else ("no bias", "bias")
        recurrent = {none: weights, some: weights + extra}
        if cell == "indrnn":
            norms = (nn.BatchNorm1d(m) for _ in range(L))
            recurrent[NORMALISED] = weights + extra + sum(p.numel() for norm in norms for p in norm.parameters())
    return {
        f"{name}, {text}": count + more
        for name, count in recurrent.items()
        for text, more in (("no readout", 0), ("readout", readout))
    }


def _rounds_to(count: int, printed: str) -> bool:
    """Within half a unit of the last printed digit: 136,202 is not "135k", nor 1,573 "1.5k"."""
    digits = printed.removesuffix("k").partition(".")[2]
    return abs(count - _value(printed)) <= Fraction(500, 10 ** len(digits))


def agreeing(counts: dict[str, int], printed: str, *, is_rounded: bool = False) -> list[str]:
    """The conventions under which a count reads as printed; if there are none, those in which one final 0 before the k
    only holds the place: 267,786 is "270k". With ``is_rounded`` within half a unit of the last digit, and no other way.
    """
    if is_rounded:
        return [f"{count:,} ({name})" for name, count in counts.items() if _rounds_to(count, printed)]
    strict = [f"{count:,} ({name})" for name, count in counts.items() if agrees(count, printed)]
    return strict or [
        f"{count:,} ({name}, the 0 of {printed} holding the place)"
        for name, count in counts.items()
        if agrees_to_tens(count, printed)
    ]


def _counted(size: Size) -> Callable[[Budget, int], Attempt]:
    def ask(_: Budget, __: int) -> Attempt:
        counts = size.counted(by_formula, size.m, size.d, size.L)
        good = agreeing(counts, size.printed, is_rounded=size.is_rounded)
        nearest = min(counts.values(), key=lambda count: abs(count - _value(size.printed)))
        return Attempt(
            tried="; ".join(counts) if size.convention else f"{len(counts)} conventions",
            evaluations=len(counts),
            found=good[0] if good else f"{min(counts.values()):,} to {max(counts.values()):,}, nearest {nearest:,}",
            claimed=size.printed,
            proof=f"{size.printed} is {'; or '.join(good)}" if good else "",
            candidates=() if good else (size.parameters(),),
        )

    return ask


def _value(printed: str) -> Fraction:
    return Fraction(printed.removesuffix("k").replace(",", "")) * 1000


def _counted_check(size: Size) -> Callable[[Parameters], Check]:
    def check(parameters: Parameters) -> Check:
        m, d, L = (int(number(parameters, name)) for name in ("m", "d", "L"))
        opinions = []
        for backend, counter in (("formula", by_formula), ("modules", by_modules)):
            counts = size.counted(counter, m, d, L)
            text = "; ".join(f"{name}: {count:,}" for name, count in counts.items())
            opinions.append(Opinion(backend, not agreeing(counts, size.printed, is_rounded=size.is_rounded), text))
        counts = size.counted(by_formula, m, d, L)
        low, high = (end(counts.values()) for end in (min, max))
        return Check(
            opinions=tuple(opinions),
            words=f"{size.cell}, m = {m}, d = {d}, L = {L}, n_out = {size.outputs}: {low:,} to {high:,} parameters "
            f"under {size.convention or f'the {len(counts)} conventions'}, printed {size.printed}",
        )

    return check


def count_case(
    domain: str, printed: PublishedRow | PublishedNetwork, convention: str = "", *, is_rounded: bool = False
) -> Case:
    """A row of a table, under every convention or the one that is named."""
    return sized_case(domain, replace(_size(printed), convention=convention, is_rounded=is_rounded))


def sized_case(domain: str, size: Size) -> Case:
    """The printed number of a network against its counts."""
    parameters = constants(size.parameters())
    return Case(domain, f"parameters, printed {size.printed}", _counted(size), parameters.guards(_counted_check(size)))


def range_case(domain: str, printed: PublishedNetwork, low: int, high: int) -> Case:
    """The smallest and the largest count over all conventions, to the unit: what stands in the place of a wrong one."""
    size = _size(printed)

    def ends(counter: Counter, m: int, d: int, L: int) -> tuple[int, int]:
        counts = size.counted(counter, m, d, L).values()
        return min(counts), max(counts)

    def ask(_: Budget, __: int) -> Attempt:
        (least, most), held = ends(by_formula, size.m, size.d, size.L), ends(by_modules, size.m, size.d, size.L)
        text = f"{least:,} to {most:,} under every convention"
        good = (least, most) == held == (low, high)
        return Attempt(
            text,
            len(by_formula(size.cell, 1, 1, 1, 1)),
            found=text,
            claimed=f"{low:,} to {high:,}",
            proof=text if good else "",
            candidates=() if good else (size.parameters(),),
        )

    def check(parameters: Parameters) -> Check:
        m, d, L = (int(number(parameters, name)) for name in ("m", "d", "L"))
        found = [(name, ends(count, m, d, L)) for name, count in (("formula", by_formula), ("modules", by_modules))]
        return Check(
            opinions=tuple(Opinion(name, pair != (low, high), "{:,} to {:,}".format(*pair)) for name, pair in found),
            words=f"{size.cell}, m = {m}, d = {d}: {found[0][1][0]:,} to {found[0][1][1]:,} parameters",
        )

    return Case(domain, f"parameters: {low:,} to {high:,}", ask, constants(size.parameters()).guards(check))


def constants(stated: Parameters) -> Declaration:
    """What is printed, and nothing else."""
    return declared(*(Parameter(name, Constant(Fraction(value))) for name, value in stated.items()))
