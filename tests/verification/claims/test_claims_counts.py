"""Counting: live floats by hand for tiny sizes, gradients against autograd, and the arithmetic of the tables."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from odernn.published.networks import ROWS, network
from tests.tiers import slow
from tests.verification.claims.claim_rows import doubt_of
from verification.answer import answer
from verification.cases import module_counts
from verification.claim import Case
from verification.claims.unicornn import memory as memory_claims
from verification.claims.unicornn import table_arithmetic as tables
from verification.domains import BUDGETS
from verification.measure import memory
from verification.measure.memory import ALGORITHMS, Meter, TrainingSizes
from verification.verdict import doubt_about

SMOKE = BUDGETS["smoke"]
CLAIMS = {each.id: each for each in (*memory_claims.CLAIMS, *tables.CLAIMS)}

# N, L, m, b, d, and what is live at once, added up by hand (target and three temporaries: 4 b m in all)
HAND = [
    # u: 4; y, z, p, q: 4·2·3 = 24; 4 b m = 12
    (TrainingSizes(2, 2, 3, 1, 2), "interleaved", 4 + 24 + 12),
    # u: 2·3·2 = 12; y, z, p, q of one layer: 4·2·5 = 40; 4 b m = 40
    (TrainingSizes(3, 1, 5, 2, 2), "interleaved", 12 + 40 + 40),
    # one layer: u 12, 4 b m = 40, V u of all times N b m = 30, y, z, p, q 40
    (TrainingSizes(3, 1, 5, 2, 2), "layer_parallel", 12 + 40 + 30 + 40),
    # u 4, 4 b m = 12; the top layer: y^1 and V y^1 of both times 2·6, and y, z, p, q of one layer 12
    (TrainingSizes(2, 2, 3, 1, 2), "layer_parallel", 4 + 12 + 12 + 12),
    # u 4, y, z, p, q 24, 4 b m = 12, and y, z of both layers and times 2·2·2·3
    (TrainingSizes(2, 2, 3, 1, 2), "stored", 4 + 24 + 12 + 24),
]


@pytest.mark.parametrize(("sizes", "name", "by_hand"), HAND)
def test_the_meter_counts_what_a_hand_count_does(sizes: TrainingSizes, name: str, by_hand: int) -> None:
    assert memory.use(ALGORITHMS[name], sizes).counted == memory.floats_of(ALGORITHMS[name], sizes) == by_hand


def autograd(sizes: TrainingSizes, seed: int) -> list[list[np.ndarray]]:
    """dE/dw, dE/dh, dE/db, dE/dV of every layer by torch, from the recurrence alone."""
    network, data = memory.network(sizes, seed), memory.data(sizes, seed + 1, Meter())
    weights = [[torch.tensor(a, requires_grad=True) for a in (k.w, k.h, k.b, k.V)] for k in network.layers]
    states = [[torch.zeros(sizes.batch, sizes.hidden, dtype=torch.float64)] * 2 for _ in weights]
    for below in torch.tensor(data.u):
        for state, (w, h, b, V) in zip(states, weights, strict=True):
            y, z = state
            z = z - h * (torch.tanh(w * y + below @ V.T + b) + network.alpha * y)
            below = y + h * z
            state[:] = [below, z]
    ((states[-1][0] - torch.tensor(data.target)) ** 2).sum().div(2).backward()
    return [[each.grad.numpy() for each in layer] for layer in weights]


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    "sizes", [TrainingSizes(9, 3, 4, 2, 5), TrainingSizes(5, 1, 3, 1, 1), TrainingSizes(1, 2, 2, 3, 2)]
)
def test_what_is_counted_computes_the_gradient(name: str, sizes: TrainingSizes) -> None:
    found = memory.use(ALGORITHMS[name], sizes, seed=4).gradients
    tolerance = 64 * sizes.steps * np.finfo(float).eps
    for layer, reference in zip(found, autograd(sizes, 4), strict=True):
        for value, expected in zip((layer.w, layer.h, layer.b, layer.V), reference, strict=True):
            assert np.abs(value - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_allocator_was_asked_for_as_much_as_was_counted(name: str) -> None:
    use = memory.use(ALGORITHMS[name], TrainingSizes(300, 3, 64, 8, 2))
    assert use.counted <= use.traced * 1.001
    assert use.traced - use.counted < 4 * 64 * 64 + 2000 + 0.03 * use.counted


def test_the_interleaved_count_is_linear_as_printed() -> None:
    for N, L, m, b, d in [(3, 1, 2, 1, 1), (50, 3, 7, 2, 5), (100, 2, 16, 4, 1)]:
        counted = memory.use(memory.interleaved, TrainingSizes(N, L, m, b, d)).counted
        assert counted == N * b * d + (4 * L + 4) * b * m


@pytest.mark.parametrize("budget", ("standard", "deep"))
def test_sizes_between_the_least_and_the_largest_are_tried(budget: str) -> None:
    """Of N, L and m, by which a quotient that is largest in between is seen."""
    points = {point for axes in memory_claims.GRIDS[budget] for point in itertools.product(*axes)}
    for axis in range(3):
        values = {point[axis] for point in points}
        inside = [point for point in points if min(values) < point[axis] < max(values)]
        assert inside and {point[axis] for point in inside} < values
    assert len(points) >= 100


def test_a_memory_witness_that_is_too_small_does_not_count() -> None:
    case = CLAIMS["both-2.3-mem-vs-fast"].cases[0]
    large = {"N": "160", "L": "3", "m": "48", "b": "2", "d": "1"}
    assert not doubt_of(case, large)
    assert doubt_of(case, {**large, "d": "96"})
    other = CLAIMS["both-2.3-memory"].cases[0]
    assert doubt_about(other.check(large), other)


def test_storing_said_to_be_as_cheap_as_the_inverse_is_seen() -> None:
    """The planted falsehood: the stored states against N b d + L b m."""
    case = memory_claims._case("stored states", memory.stored, memory_claims._linear, "N b d + L b m")
    claim = dataclasses.replace(CLAIMS["both-2.3-memory"], cases=(case,))
    assert answer(claim, case, SMOKE, 0).verdict == "refuted"


# --- tables


def test_the_counts_by_formula_are_those_of_the_modules() -> None:
    sizes = [
        ("unicornn", 7, 3, 3, 2),
        ("unicornn", 4, 5, 1, 1),
        ("cornn", 6, 2, 1, 3),
        ("lstm", 5, 4, 1, 2),
        ("exprnn", 6, 3, 1, 2),
        ("indrnn", 5, 4, 3, 2),
    ]
    for cell, m, d, L, outputs in sizes:
        assert module_counts.by_formula(cell, m, d, L, outputs) == module_counts.by_modules(cell, m, d, L, outputs)


def test_counts_read_as_printed() -> None:
    assert module_counts.agreeing({"a": 34954, "b": 33664}, "35k") == ["34,954 (a)"]
    assert module_counts.agreeing({"a": 1344, "b": 1509, "c": 1573}, "1.5k") == ["1,509 (b)", "1,573 (c)"]
    assert module_counts.agreeing({"a": 267786}, "270k") == ["267,786 (a, the 0 of 270k holding the place)"]
    assert module_counts.agreeing({"a": 264999}, "270k") == []
    assert module_counts.agreeing({"a": 117002}, "64k") == []
    assert module_counts.agreeing({"b": 1549, "c": 1573}, "1.5k", is_rounded=True) == ["1,549 (b)"]
    assert module_counts.agreeing({"a": 9365, "b": 9545, "c": 8499}, "9k", is_rounded=True) == ["9,365 (a)"]


@pytest.mark.parametrize(
    ("name", "domain", "verdict"),
    [
        *[
            ("both-param-counts", f"printed {row}", "proved")
            for row in ("nCIFAR", "psMNIST-128", "psMNIST-256", "IMDB", "EigenWorms", "Lorenz96")
        ],
        *[("both-baseline-counts", f"cornn {row}", "proved") for row in ("psMNIST", "nCIFAR", "EigenWorms", "IMDB")],
        *[
            ("both-param-counts", f"printed {row}, b counted", "refuted")
            for row in ("psMNIST-256", "EigenWorms", "Lorenz96")
        ],
        *[("both-baseline-counts", f"{cell} EigenWorms", "proved") for cell in ("lstm", "exprnn", "indrnn")],
        *[("both-baseline-counts", f"{cell} Lorenz96", "proved") for cell in ("cornn", "lstm")],
        ("both-baseline-counts", "lstm psMNIST", "proved"),
        ("both-baseline-counts", "lstm nCIFAR", "refuted"),
        ("both-baseline-counts", "lstm, m = 128, d = 96", "proved"),
        *[
            ("both-2-hyperparams", f"printed {row}", "proved")
            for row in ("nCIFAR", "psMNIST-128", "psMNIST-256", "RR", "HR")
        ],
        *[("both-2-hyperparams", f"printed {row}", "refuted") for row in ("IMDB", "EigenWorms")],
        ("both-4-health", "healthcare", "refuted"),
        ("both-4-small", "noise padded CIFAR-10", "proved"),
        ("both-4-small", "IMDB", "proved"),
        ("both-4-small", "rows of Table 6 whose N is printed", "proved"),
        ("both-A-init", "every fan_in", "proved"),
        ("both-A-init", "fan_in of Table 6", "not-refuted"),
        ("both-4-fewer", "Table 5, IMDB", "proved"),
        ("both-C.4-L3max", "rows of Table 6", "proved"),
        ("both-C.4-L3max", "App. E, standard network", "refuted"),
        ("both-2.3-memory", "all layers stepped back together", "not-refuted"),
        slow(("both-2.3-memory", "stored states", "not-refuted")),
        slow(("both-2.3-mem-vs-fast", "layer after layer, in parallel over time", "refuted")),
    ],
)
def test_every_case_is_answered(name: str, domain: str, verdict: str) -> None:
    case = next(case for case in CLAIMS[name].cases if case.domain == domain)
    judgement = answer(CLAIMS[name], case, SMOKE, seed=0)
    assert judgement.verdict == verdict, judgement.because


def test_no_case_is_left_out_of_the_list_above() -> None:
    assert sum(len(each.cases) for each in CLAIMS.values()) == 40


@pytest.mark.parametrize(("low", "high"), [(114_689, 117_002), (114_688, 117_001), (64_000, 117_002)])
def test_another_count_than_that_of_the_lstm_is_refuted(low: int, high: int) -> None:
    case = module_counts.range_case("d", network("lstm", "nCIFAR"), low, high)
    claim = dataclasses.replace(CLAIMS["both-baseline-counts"], cases=(case,))
    assert answer(claim, case, SMOKE, 0).verdict == "refuted"


def test_other_sizes_than_the_tables_do_not_count_against_it() -> None:
    case = CLAIMS["both-baseline-counts"].case("lstm nCIFAR", "parameters, printed 64k")
    printed = {"m": "128", "d": "96", "L": "1", "n_out": "10"}
    assert not doubt_of(case, printed)
    assert 'Parameter "m" is "300": it is 128 in this case' in doubt_of(case, {**printed, "m": "300"})


def test_other_numbers_than_the_texts_do_not_count_against_it() -> None:
    case = CLAIMS["both-4-health"].cases[0]
    assert doubt_of(case, {"frequency": "126", "minutes": "8", "printed": "4000"})
    case = CLAIMS["both-2-hyperparams"].cases[0]
    assert doubt_of(case, {"dt": "1/10 1/5 1/2", "alpha": "13"})


def test_a_count_misprinted_is_seen() -> None:
    """The planted falsehood: 36k for psMNIST-128."""
    size = dataclasses.replace(module_counts._size(ROWS[1]), printed="36k")
    case = dataclasses.replace(
        CLAIMS["both-param-counts"].cases[1], ask=module_counts._counted(size), check=module_counts._counted_check(size)
    )
    assert answer(CLAIMS["both-param-counts"], case, SMOKE, 0).verdict == "refuted"


def test_a_count_of_table_3_misprinted_is_seen() -> None:
    """The planted falsehoods: a tenth of a thousand more, or the batch normalisation of IndRNN left out."""
    for size in tables.EIGENWORMS:
        more = f"{float(size.printed[:-1]) + 0.1:.1f}k"
        assert (
            answer(CLAIMS["both-baseline-counts"], _made(dataclasses.replace(size, printed=more)), SMOKE, 0).verdict
            == "refuted"
        )
    plain = dataclasses.replace(tables.EIGENWORMS[2], convention="biases b^l, readout")
    assert answer(CLAIMS["both-baseline-counts"], _made(plain), SMOKE, 0).verdict == "refuted"


def _made(size: tables.Size) -> Case:
    return module_counts.sized_case("planted", size)


def test_one_convention_fits_all_six_rows_and_no_other_does() -> None:
    sizes = [module_counts._size(row) for row in ROWS if row.parameters is not None]
    sizes.append(module_counts._size(network("unicornn", "Lorenz96")))
    counts = [module_counts.by_formula(each.cell, each.m, each.d, each.L, each.outputs) for each in sizes]
    fitting = [
        convention
        for convention in counts[0]
        if all(
            module_counts.agreeing({"": count[convention]}, each.printed)
            for count, each in zip(counts, sizes, strict=True)
        )
    ]
    assert fitting == [tables.ONE_FOR_ALL]
    assert sorted(count[tables.ONE_FOR_ALL] for count in counts) == [1509, 9365, 29825, 34954, 47114, 135434]
    case = module_counts.count_case("planted", ROWS[2], "biases b^l, readout")
    assert answer(CLAIMS["both-param-counts"], case, SMOKE, 0).verdict == "refuted"


def test_five_layers_at_most_would_be_exceeded_in_app_e_and_six_not() -> None:
    claim = CLAIMS["both-C.4-L3max"]
    assert [answer(claim, tables._depths(most), SMOKE, 0).verdict for most in (5, 6)] == ["refuted", "proved"]


@pytest.mark.parametrize("place", [0, 1])
def test_the_constant_of_an_order_holds_at_small_sizes_too(place: int) -> None:
    """At N = L = 1 and large m ten arrays of b m floats are live at once: eight is no constant of O(·)."""
    case = CLAIMS["both-2.3-memory"].cases[place]
    for N, L, m, b, d in itertools.product((1, 2), (1, 2), (1, 5, 64), (1, 3), (1, 2)):
        check = case.check({"N": str(N), "L": str(L), "m": str(m), "b": str(b), "d": str(d)})
        assert not check.opinions[0].violated, check.words


# --- the checks of printed numbers: both back-ends see a number that is wrong, and none that is right


def opinions(case, **parameters: str) -> list[bool]:
    return [each.violated for each in case.check(parameters).opinions]


@pytest.mark.parametrize(("printed", "wrong"), [("10/3", False), ("10/3 + 10^-12", True), ("3", True), ("0", True)])
def test_a_printed_product_is_decided_by_both(printed: str, wrong: bool) -> None:
    value = Fraction(10, 3) + Fraction(1, 10**12) if "+" in printed else Fraction(printed)
    stated = {"share": "2/3", "whole": "5", "printed": str(value)}
    case = tables._equality_case("made", "2/3 · 5", ("share", "whole"), lambda v: v[0] * v[1], stated)
    assert opinions(case, **stated) == [wrong, wrong]
    assert verdict_of(case) == ("refuted" if wrong else "proved")


@pytest.mark.parametrize(("most", "wrong"), [("1/300", True), ("1/250", False), ("3/784", False), ("3/785", True)])
def test_a_ratio_of_every_row_is_decided_by_both(most: str, wrong: bool) -> None:
    """3 layers and 784 steps."""
    check = tables._of_rows_check(lambda L, N: L / N, Fraction(most))
    found = check({"L": "3", "N": "784"})
    assert [each.violated for each in found.opinions] == [wrong, wrong]


@pytest.mark.parametrize(
    ("dt", "numbers"), [("1/10", 2), ("1/10 1/10", 2), ("1/10 1/20", 3), ("1/10 1/20 1/10", 3), ("1/10 1/20 1/5", 4)]
)
def test_numbers_of_a_row_are_counted_by_both(dt: str, numbers: int) -> None:
    check = tables._hyperparameters_check(ROWS[0])({"dt": dt, "alpha": "1"})
    assert [each.text.split(" ")[0] for each in check.opinions] == [str(numbers)] * 2
    assert [each.violated for each in check.opinions] == [numbers > 2] * 2


def test_the_gain_is_decided_by_both() -> None:
    """2 · 3/(1 + a²) = 6/65 at a = ±8 only."""
    for a, wrong in (("8", False), ("-8", False), ("7", True), ("8 + 10^-12", True)):
        value = 8 + Fraction(1, 10**12) if "+" in a else Fraction(a)
        assert [each.violated for each in tables._slope_check({"a": str(value)}).opinions] == [wrong, wrong]


def verdict_of(case) -> str:
    return answer(dataclasses.replace(CLAIMS["both-4-small"], cases=(case,)), case, SMOKE, 0).verdict


def test_more_parameters_than_one_of_the_others_would_be_seen() -> None:
    """The planted falsehood: 46k, as many as coRNN."""
    claim = CLAIMS["both-4-fewer"]
    assert [answer(claim, tables.fewer_case(ours), SMOKE, 0).verdict for ours in (45, 46)] == ["proved", "refuted"]


@pytest.mark.parametrize("ours", [1, 46, 60, 99, 150, 300])
def test_fewer_than_a_printed_number_is_decided_by_both(ours: int) -> None:
    for other in set(tables.TABLE_5.values()):
        assert opinions(tables.fewer_case(ours), ours=str(ours), other=str(other)) == [ours >= other] * 2
