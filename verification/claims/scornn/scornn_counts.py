# Claims: sco-T1T2 · sco-T3tab · sco-5.5.3
"""Counts in the scoRNN paper: parameters of all models, cost of forming W, memory.   sco-T1T2, sco-T3tab, sco-5.5.3"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from flint import fmpq, fmpq_poly

from odernn.published import scornn as printed
from odernn.published.scornn import PrintedModel
from odernn.published.sources import Source
from verification.cases.decision import at, decided
from verification.claim import Attempt, Case, Check, Claim, Decided, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import number
from verification.kinds import Constant, Integer
from verification.measure import parameter_counts as counts
from verification.parameters import Parameter, declared

Counter = Callable[[str, int, int, int, Iterable[str]], int]

ABOUT = Fraction(1, 20)
"""What ≈ and "approximately" allow, as a share of the printed number. The paper gives no size: chosen by the suite."""

BACKENDS: tuple[tuple[str, Counter], ...] = (("formula", counts.by_formula), ("tensors", counts.by_tensors))

# --- parameters


def _named(counted: frozenset[str], model: str) -> str:
    """ "all", or what is left out."""
    if counted == counts.full_convention(model):
        return "as defined"
    parts = [part for part in counts.OPTIONAL if part in counted]
    return "with " + (", ".join(parts) if parts else "matrices only")


COUNTED_AS: Mapping[str, frozenset[str]] = {"LSTM": frozenset({"hidden bias"})}
"""What is counted beside the matrices, one convention a model: as defined, but for the LSTM without the bias of the
read-out. No other convention of the eight makes more rows of the model read as printed.
"""


def convention_of(model: str) -> frozenset[str]:
    """The one under which the rows of the model are meant."""
    return COUNTED_AS.get(model, counts.full_convention(model))


def _all(counter: Counter, row: PrintedModel, p: int, convention: frozenset[str] | None) -> dict[str, int]:
    """The count under this convention; under every one, that of the definitions first, if it is None."""
    ordered = sorted(counts.conventions(), key=lambda each: each != counts.full_convention(row.model))
    return {
        _named(each, row.model): counter(row.model, row.hidden_size, row.input_size, p, each)
        for each in (ordered if convention is None else [convention])
    }


def _agreeing(counted: dict[str, int], text: str) -> list[str]:
    """Conventions under which the count reads as printed, to half a unit; rounding counts before a 0 that only holds
    its place, and nothing is cut off.
    """
    how = {name: counts.reads_as(count, text) for name, count in counted.items()}
    rounded = [name for name, way in how.items() if way == "rounded"]
    best = rounded or [name for name, way in how.items() if way not in ("", "cut off")]
    return [f"{counted[name]:,} ({name}, {how[name]})" for name in best]


def _value(text: str) -> int:
    return int(Fraction(text.removesuffix("k").replace(",", "")) * 1000)


def count_case(row: PrintedModel, outputs: int | None = None, convention: frozenset[str] | None = None) -> Case:
    """The number of parameters reads as printed under that convention, under one of all if it is None."""
    n, m, p = row.hidden_size, row.input_size, row.outputs if outputs is None else outputs

    def ask(_: Budget, __: int) -> Attempt:
        all_counts = _all(counts.by_formula, row, p, convention)
        if all_counts != _all(counts.by_tensors, row, p, convention):
            raise ArithmeticError(f"{row.name}: the formula and the tensors disagree")
        good = _agreeing(all_counts, row.parameters)
        nearest = min(all_counts.values(), key=lambda count: abs(count - _value(row.parameters)))
        return Attempt(
            "one convention for all rows of the model" if convention else f"{len(all_counts)} conventions",
            len(all_counts),
            claimed=row.parameters,
            found=good[0] if good else f"{next(iter(all_counts.values())):,}, nearest {nearest:,}",
            proof=f"{row.parameters} is {'; or '.join(good[:2])}" if good else "",
            candidates=() if good else ({"n": str(n), "m": str(m), "p": str(p)},),
        )

    def check(_: Parameters) -> Check:
        opinions = []
        for backend, counter in BACKENDS:
            all_counts = _all(counter, row, p, convention)
            opinions.append(Opinion(backend, not _agreeing(all_counts, row.parameters), f"{all_counts}"))
        all_counts = _all(counts.by_formula, row, p, convention)
        name, count = next(iter(all_counts.items()))
        spread = f"{min(all_counts.values()):,} to {max(all_counts.values()):,} under {len(all_counts)} conventions, "
        return Check(
            opinions=tuple(opinions),
            words=f"{row.table}, {row.name}, m = {m}, p = {p}: {count:,} parameters {name}, "
            f"{spread * (convention is None)}printed {row.parameters}",
        )

    sizes = declared(*(Parameter(name, Constant(size)) for name, size in (("n", n), ("m", m), ("p", p))))
    return Case(f"{row.table}: {row.name}", f"parameters, printed {row.parameters}", ask, sizes.guards(check))


def about_case(row: PrintedModel, convention: frozenset[str] | None = None) -> Case:
    """The number of parameters is within ``ABOUT`` of the printed one, under that convention or one of all."""
    n, m, p = row.hidden_size, row.input_size, row.outputs
    value = _value(row.parameters)
    off = {"formula": _is_off, "tensors": _is_off_again}

    def nearest(counter: Counter) -> int:
        return min(_all(counter, row, p, convention).values(), key=lambda count: abs(count - value))

    def apart(count: int) -> str:
        return f"{count:,}, {float(Fraction(abs(count - value), value)):.1%} from {row.parameters}"

    def ask(_: Budget, __: int) -> Attempt:
        all_counts = _all(counts.by_formula, row, p, convention)
        if all_counts != _all(counts.by_tensors, row, p, convention):
            raise ArithmeticError(f"{row.name}: the formula and the tensors disagree")
        near = nearest(counts.by_formula)
        fails = _is_off(near, value)
        return Attempt(
            "one convention for all rows of the model" if convention else f"{len(all_counts)} conventions",
            len(all_counts),
            claimed=f"≈ {row.parameters}, {float(ABOUT):.0%} at most",
            found=apart(near),
            proof="" if fails else apart(near),
            candidates=({"n": str(n), "m": str(m), "p": str(p)},) if fails else (),
        )

    def check(_: Parameters) -> Check:
        found = {name: nearest(counter) for name, counter in BACKENDS}
        opinions = tuple(Opinion(name, off[name](count, value), apart(count)) for name, count in found.items())
        words = f"{row.table}, {row.name}, m = {m}, p = {p}: {apart(found['formula'])} at the nearest"
        return Check(opinions=opinions, words=words)

    sizes = declared(*(Parameter(name, Constant(size)) for name, size in (("n", n), ("m", m), ("p", p))))
    return Case(
        f"{row.table}: {row.name}", f"parameters ≈ {row.parameters}, {float(ABOUT):.0%}", ask, sizes.guards(check)
    )


def _is_off(count: int, value: int) -> bool:
    return abs(Fraction(count, value) - 1) > ABOUT


def _is_off_again(count: int, value: int) -> bool:
    """In whole numbers: outside 19/20 to 21/20 of the value."""
    return not 19 * value <= 20 * count <= 21 * value


def as_defined_case(rows: Sequence[PrintedModel]) -> Case:
    """The full count of every row, no other convention."""

    def count(row: PrintedModel, counter: Counter) -> int:
        full = counts.full_convention(row.model)
        return counter(row.model, row.hidden_size, row.input_size, row.outputs, full)

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [k for k, row in enumerate(rows) if not counts.reads_as(count(row, counts.by_formula), row.parameters)]
        text = f"{len(rows)} rows; {len(wrong)} do not read as printed"
        named = "; ".join(f"{rows[k].table}, {rows[k].name}: {count(rows[k], counts.by_formula):,}" for k in wrong)
        return Attempt(
            text,
            len(rows),
            found=named or "all agree",
            claimed="the printed numbers",
            proof="" if wrong else text,
            candidates=tuple({"row": str(k + 1)} for k in wrong),
        )

    def check(parameters: Parameters) -> Check:
        row = rows[int(number(parameters, "row")) - 1]
        by_backend = {name: count(row, counter) for name, counter in BACKENDS}
        return Check(
            opinions=tuple(
                Opinion(name, not counts.reads_as(value, row.parameters), f"{value:,}")
                for name, value in by_backend.items()
            ),
            words=f"{row.table}, {row.name}, m = {row.input_size}, p = {row.outputs}: {by_backend['formula']:,} "
            f"parameters as defined, printed {row.parameters}",
        )

    parameters = declared(Parameter("row", Integer(1, len(rows))))
    return Case(f"{len(rows)} rows", "parameters as defined, no part left out", ask, parameters.guards(check))


def counted_case(claimed: Sequence[tuple[PrintedModel, int]]) -> Case:
    """The counts of these rows under the convention of their model, in the place of the printed ones."""
    rows, numbers = tuple(row for row, _ in claimed), tuple(count for _, count in claimed)

    def counted(counter: Counter) -> Callable[[Parameters], Decided]:
        def decide(place: Parameters) -> Decided:
            row = rows[int(place["row"]) - 1]
            count = counter(row.model, row.hidden_size, row.input_size, row.outputs, convention_of(row.model))
            return Decided(count != int(place["count"]), f"{row.table}, {row.name}: {count:,} parameters")

        return decide

    return decided(
        "; ".join(row.name for row in rows),
        f"parameters: {', '.join(f'{count:,}' for count in numbers)}",
        at(*({"row": str(k), "count": str(count)} for k, count in enumerate(numbers, 1))),
        *(counted(counter) for _, counter in BACKENDS),
        box="as defined, one convention for all rows of a model",
        claimed="these numbers",
        names=("formula", "tensors"),
    )


def corrected_case(claimed: Mapping[int, int]) -> Case:
    """n² + n(m + p) + n + p numbers of the standard RNN of Sec. 2.1, m = 1 and p = 10, in the place of printed ones."""
    model, m, p = "RNN", 1, 10

    def counted(counter: Counter) -> Callable[[Parameters], Decided]:
        def decide(place: Parameters) -> Decided:
            count = counter(model, int(place["n"]), m, p, counts.full_convention(model))
            return Decided(count != int(place["count"]), f"n = {place['n']}: {count:,} parameters")

        return decide

    return decided(
        f"RNN, n = {', '.join(map(str, claimed))}",
        f"parameters: {', '.join(f'{count:,}' for count in claimed.values())}",
        at(*({"n": str(n), "count": str(count)} for n, count in claimed.items())),
        *(counted(counter) for _, counter in BACKENDS),
        box="n² + n(m + p) + n + p, one pixel in, ten digits out",
        claimed="these numbers",
        names=("formula", "tensors"),
    )


# --- the cost of forming W


def multiplications(n: int) -> int:
    """Multiplications and divisions of LU elimination of I + A and of n right sides, counted while it runs."""
    total = 0
    for k in range(n):
        for _ in range(k + 1, n):
            total += 1  # the factor of the row
            total += n - k - 1  # the rest of the row of I + A
    for _ in range(n):  # each column of I − A
        for i in range(n):
            total += i  # forward
            total += n - i - 1 + 1  # backward, and the division
    return total


def cubic() -> fmpq_poly:
    """(4 n³ − n)/3, the polynomial that the counts are."""
    return fmpq_poly([0, fmpq(-1, 3), 0, fmpq(4, 3)])


COUNTED = 40
MOST_COUNTED = 1_000
"""Rows up to which a typed n is counted one by one."""


def cost_case(below: Fraction = Fraction(1), above: Fraction = Fraction(4, 3)) -> Case:
    """``below`` ≤ (cost of W)/(B T n²) ≤ ``above`` at B T = n, for every n ≥ 1."""

    def text(n: int) -> str:
        return f"{multiplications(n)} multiplications for W, B T n² = {n**3}"

    def holds(cost: Fraction, n: int) -> bool:
        return below * n**3 <= cost <= above * n**3

    def ask(_: Budget, __: int) -> Attempt:
        p = cubic()
        same = all(p(fmpq(n)) == multiplications(n) for n in range(1, COUNTED + 1))
        wrong = [n for n in range(1, COUNTED + 1) if not holds(Fraction(multiplications(n)), n)]
        shown = (
            f"(4n³ − n)/3 multiplications, equal to a count for n = 1 to {COUNTED}; divided by B T n² = n³ that is "
            "4/3 − 1/(3n²)"
        )
        exact = below <= 1 and above >= Fraction(4, 3)  # 4/3 − 1/(3n²) rises from 1 at n = 1 towards 4/3
        return Attempt(
            shown,
            COUNTED,
            found="between 1 and 4/3",
            claimed=f"between {below} and {above}",
            proof=shown if same and exact and not wrong else "",
            candidates=tuple({"n": str(n)} for n in wrong[:3]),
        )

    def check(parameters: Parameters) -> Check:
        n = int(number(parameters, "n"))
        value = cubic()(fmpq(n))
        return Check(
            opinions=(
                Opinion("counted", not holds(Fraction(multiplications(n)), n), text(n)),
                Opinion("flint", not holds(Fraction(int(value.p), int(value.q)), n), f"(4n³ − n)/3 = {value}"),
            ),
            words=f"n = {n}: {text(n)}",
        )

    parameters = declared(Parameter("n", Integer(1, MOST_COUNTED)))
    return Case("B T = n", "cost of forming W, O(n³), comparable to B T n²", ask, parameters.guards(check))


def once_case() -> Case:
    """Factorisations of I + A in one forward and backward pass of the layer, for several T."""

    def ask(_: Budget, __: int) -> Attempt:
        import torch
        from torch.overrides import TorchFunctionMode

        from odernn.cells.scornn import ScoRNN

        class Counting(TorchFunctionMode):
            factored = 0

            def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
                self.factored += func is torch.linalg.lu_factor
                return func(*args, **(kwargs or {}))

        times_formed = []
        network = ScoRNN(2, 8, rho=4, generator=torch.Generator().manual_seed(0))
        for steps in (1, 5, 50):
            with Counting() as mode:
                output, _ = network(torch.ones(steps, 3, 2))
                output.sum().backward()
            times_formed.append(mode.factored)
        return Attempt(
            f"ScoRNN of this library, T = 1, 5, 50: {times_formed} factorisations in a forward and a backward pass",
            3,
            log_measured=math.log(max(times_formed)),
            log_claimed=0.0,
            found=str(max(times_formed)),
            claimed="1",
        )

    return Case("the layer of this library", "factorisations of I + A an iteration", ask)


def memory_case(with_signs: bool) -> Case:
    """Numbers stored by a scoRNN beyond those of an RNN with the same n, m, p: n(n−1)/2."""
    m, p = 1, 10

    def more(n: int) -> int:
        """By the tensors: W is stored beside A; D has n signs."""
        matrices = n * n + counts.by_tensors("scoRNN", n, m, p, counts.OPTIONAL[:2])
        return matrices + (n if with_signs else 0) - counts.by_tensors("RNN", n, m, p, counts.OPTIONAL[:2])

    def ask(_: Budget, __: int) -> Attempt:
        wrong = [n for n in range(1, 201) if more(n) != n * (n - 1) // 2]
        stored = "W, A, U, V, b, c" + (", D" if with_signs else "")
        text = f"{stored} against W, U, V and biases of an RNN, n = 1 to 200"
        return Attempt(
            text,
            200,
            found="n(n−1)/2" + (" + n" if wrong else ""),
            claimed="n(n−1)/2",
            proof="" if wrong else text,
            candidates=tuple({"n": str(n)} for n in (170, 512) if n in wrong or more(n) != n * (n - 1) // 2),
        )

    def check(parameters: Parameters) -> Check:
        n = int(number(parameters, "n"))
        claimed = n * (n - 1) // 2
        # once more by formulas: W of both cancels
        again = counts.by_formula("scoRNN", n, m, p, ()) + (n if with_signs else 0) - (n * m + p * n)
        return Check(
            opinions=(
                Opinion("tensors", more(n) != claimed, f"{more(n)} numbers more"),
                Opinion("formula", again != claimed, f"{again} numbers more"),
            ),
            words=f"n = {n}: {more(n)} numbers more than an RNN, n(n−1)/2 = {claimed}; the n signs of D have to be "
            "kept, too, if only as bits",
        )

    domain = "D counted" if with_signs else "D not counted"
    parameters = declared(Parameter("n", Integer(1, MOST_COUNTED)))
    return Case(domain, "numbers stored beyond an RNN: n(n−1)/2", ask, parameters.guards(check))


_COUNTED = (*printed.MNIST, *printed.TIMIT, printed.row("Table 3", "full uRNN", 360), *printed.SYNTHETIC)
"""Of Table 3 the one row that is not of Table 1, those of the standard RNN aside."""
_SIMPLE = tuple(row for row in printed.MINUTES if row.model == "RNN")


CLAIMS = (
    Claim(
        id="sco-T1T2",
        source=Source("scornn", "Tables 1 to 3; Secs. 5.1, 5.2"),
        statement="the printed approximate numbers of parameters of scoRNN, LSTM, restricted and full uRNN are at most "
        "5 % from the counts of these models, a complex number counted twice and one convention a model; also tried: "
        "to half a unit of the last digit",
        semantics="comb",
        cases=(
            *(about_case(row, convention_of(row.model)) for row in _COUNTED),
            *(count_case(row, convention=convention_of(row.model)) for row in _COUNTED),
            as_defined_case(_COUNTED),
            counted_case(
                (
                    (printed.row("Sec. 5.1", "restricted uRNN", 470), 22_569),
                    (printed.row("Table 2", "full uRNN", 192), 136_641),
                    (printed.row("Table 3", "full uRNN", 360), 138_610),
                )
            ),
        ),
    ),
    Claim(
        id="sco-T3tab",
        source=Source("scornn", "Table 3"),
        statement="RNN: n = 116 has about 16k parameters, n = 360 about 137k, n = 512 about 270k, to 5 %; also tried: "
        "to half a unit of the last digit",
        semantics="comb",
        cases=(
            *map(about_case, _SIMPLE),
            *map(count_case, _SIMPLE),
            corrected_case({116: 14_858, 360: 133_930, 512: 268_298}),
        ),
    ),
    Claim(
        id="sco-5.5.3",
        source=Source("scornn", "Sec. 5.5.3"),
        statement="W is formed once an iteration at O(n³), comparable to O(B T n²) when B T is comparable to n; "
        "memory is that of a standard RNN and n(n−1)/2 entries of A",
        semantics="comb",
        cases=(cost_case(), once_case(), memory_case(with_signs=False), memory_case(with_signs=True)),
    ),
)
