"""docs/architecture_experiments.md: its statistics against scipy and written otherwise, its record, its words."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.benchmarks.scripts import BENCHMARKS, imported

RECORD = BENCHMARKS / "results" / "architecture_experiments.json"
page = imported("_architecture_page")


# --- the statistics


def comparison(*differences: float) -> Any:
    return page.Comparison("b", "a", tuple(map(Fraction, differences)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_signs_and_flips_are_those_of_scipy(differences: list[int]) -> None:
    c = comparison(*map(float, differences))
    if c.wins + c.losses:
        binomial = stats.binomtest(c.wins, c.wins + c.losses, alternative="greater").pvalue
        assert float(c.signs) == pytest.approx(binomial, rel=1e-12)
        back = stats.binomtest(c.losses, c.wins + c.losses, alternative="greater").pvalue
        assert float(c.signs_reversed) == pytest.approx(back, rel=1e-12)
    else:
        assert c.signs == c.signs_reversed == 1
    every = [np.dot(s, np.abs(differences)) for s in itertools.product((-1, 1), repeat=len(differences))]
    assert c.flips == Fraction(int(np.sum(np.array(every) >= sum(differences))), len(every))


def test_flips_agree_with_the_permutation_test_of_scipy_on_a_known_sample() -> None:
    differences = [0.3, -0.1, 0.25, 0.4, 0.05, -0.2]
    found = stats.permutation_test(
        (np.array(differences), np.zeros(6)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        vectorized=True,
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert float(comparison(*differences).flips) == pytest.approx(found.pvalue, rel=1e-12)


def test_the_correction_is_holms_on_a_worked_example() -> None:
    given_, expected = ("0.01", "0.04", "0.03", "0.005"), ("0.03", "0.06", "0.06", "0.02")
    assert page.corrected([Fraction(p) for p in given_]) == [Fraction(p) for p in expected]
    assert page.corrected([Fraction(1, 2)] * 3) == [1, 1, 1]


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ((1.0,) * 5, "shows"),  # 1/32
        ((1.0,) * 4, "not decided"),  # 1/16
        ((1.0,) * 9 + (-1.0,), "shows"),  # 11/1024
        ((1.0,) * 8 + (-9.0,) * 2, "not decided"),  # 56/1024
        ((-1.0,) * 5, "reversed"),
        ((1.0, -2.0, -3.0), "not decided"),
        ((9.0,) * 8 + (-1.0,) * 2, "not decided"),  # flips is 4/1024, signs 56/1024
        ((0.0, 1.0, -1.0), "not decided"),
        ((0.0,) * 10, "not decided"),
        ((), "not run"),
    ],
)
def test_the_word_for_a_pair(differences: tuple[float, ...], word: str) -> None:
    assert page.words([comparison(*differences)]) == [word]


def test_a_word_of_several_pairs_is_corrected() -> None:
    five, ten = comparison(*(1.0,) * 5), comparison(*(1.0,) * 10)
    assert page.words([five] * 2) == ["not decided"] * 2
    assert page.words([ten] * 6) == ["shows"] * 6
    assert page.words([five, ten]) == ["shows"] * 2  # 1/1024 twice, then 1/32 once


def test_a_share_is_of_one_number_of_classes() -> None:
    """So many classes have the tasks: digits, and symbols to validate and to test."""
    for asked in (300, 5000, 20_000):
        shares = [right / asked for right in range(asked + 1)]
        assert min(b - a for a, b in itertools.pairwise(shares)) > 1e-5  # a share is rounded by 2^-54 at most
        assert [round(Fraction(share) * asked) for share in shares] == list(range(asked + 1))


def test_flips_of_counts_are_not_those_of_rounded_shares() -> None:
    """Sums of equal counts tie; the same sums of rounded shares do not."""
    better, worse = (
        (250, 248, 257, 260, 248, 242, 257, 253, 239, 247),
        (258, 249, 250, 245, 244, 246, 245, 245, 243, 250),
    )
    pairs = list(zip(better, worse, strict=True))
    assert comparison(*(a - b for a, b in pairs)).flips == Fraction(180, 1024)
    assert comparison(*(a / 300 - b / 300 for a, b in pairs)).flips == Fraction(170, 1024)


@pytest.mark.parametrize(
    ("pairs", "share"),
    [(["ab", "bc", "cd"], Fraction(1, 24)), (["ab", "bc", "bd"], Fraction(1, 12)), (["ab"], Fraction(1, 2))],
)
def test_the_share_of_rankings_that_keep_an_ordering(pairs: list[str], share: Fraction) -> None:
    assert page.share_of_rankings("abcd", pairs) == share


def run_of(loss: float, right: int) -> dict[str, Any]:
    return {"seed": 1, "test_loss": loss, "test_right": right, "test_asked": 10, "test_accuracy": right / 10}


def test_less_loss_and_more_accuracy_are_better() -> None:
    found = {
        "good": {1: run_of(0.25, 9), 2: run_of(0.5, 8)},
        "bad": {1: run_of(0.75, 7), 2: run_of(0.25, 9)},
    }
    for metric, differences in (("loss", (Fraction(1, 2), Fraction(-1, 4))), ("accuracy", (2, -1))):
        c = page.compared(found, ("good", "bad"), metric)
        assert c.differences == differences and (c.wins, c.losses) == (1, 1)
        assert page.in_order(found, [("good", "bad")], metric) == (1, 2)
        assert page.medians_in_order(found, [("good", "bad")], metric)
        assert not page.medians_in_order(found, [("bad", "good")], metric)


def test_the_pairs_that_are_not_claimed_are_the_others() -> None:
    experiment = {"architectures": ["a", "b", "c"], "claimed": [["c", "b"], ["a", "c"]]}
    assert page.not_claimed(experiment) == [("b", "a")]


# --- what is committed


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def test_the_page_is_the_one_of_the_record(record: dict[str, Any]) -> None:
    """`python benchmarks/architecture_experiments.py --page` writes it again."""
    assert page.PAGE.read_text("utf-8") == page.page(record)


def test_the_record_is_of_the_settings_in_the_script_and_has_every_run(record: dict[str, Any]) -> None:
    module = imported("architecture_experiments")
    assert record["settings"] == module.settings()
    planned = [module.key_of(*job) for job in module.jobs(record)]
    assert len(planned) == page.planned_runs(record) == 195 and set(planned) == set(record["runs"])
    assert all(("test_loss" in run) == (run["seed"] != module.TUNING_SEED) for run in record["runs"].values())


def pairs_of(record: dict[str, Any]) -> list[tuple[dict[str, Any], tuple[str, str]]]:
    """Every pair that has a row on the page, with its experiment, in the order of the rows."""
    return [
        (experiment, (better, worse))
        for experiment in record["settings"]["experiments"]
        for better, worse in (*experiment["claimed"], *page.not_claimed(experiment))
    ]


def rows_of_pairs(text: str) -> list[list[str]]:
    """The cells of the rows "b better than a"."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if " better than " in line
    ]


def exchanged(record: dict[str, Any], experiment: dict[str, Any], pair: tuple[str, str]) -> Fraction:
    """Flips from the runs themselves: each set of seeds, the two exchanged there, means of shares or losses anew."""
    module = imported("architecture_experiments")
    rates = {run["rate"] for key, run in record["runs"].items() if key.startswith(f"{experiment['name']} / ")}
    results: list[list[Fraction]] = []
    for name in pair:
        keys = [f"{experiment['name']} / {name} / {rate:g} / {seed}" for seed in module.SEEDS for rate in rates]
        runs = [record["runs"][key] for key in keys if key in record["runs"]]
        if experiment["metric"] == "accuracy":
            results.append([Fraction(run["test_right"], run["test_asked"]) for run in runs])
        else:
            results.append([-Fraction(run["test_loss"]) for run in runs])
    first, second = results
    seeds = range(len(first))
    gains = []
    for exchange in itertools.product((False, True), repeat=len(first)):
        mine = sum((second[i] if exchange[i] else first[i] for i in seeds), Fraction(0)) / len(first)
        others = sum((first[i] if exchange[i] else second[i] for i in seeds), Fraction(0)) / len(first)
        gains.append(mine - others)
    return Fraction(sum(gain >= gains[0] for gain in gains), len(gains))


def test_flips_on_the_page_are_those_of_an_enumeration_in_fractions(record: dict[str, Any]) -> None:
    rows = rows_of_pairs(page.PAGE.read_text("utf-8"))
    pairs = pairs_of(record)
    assert len(rows) == len(pairs) == 17
    for row, (experiment, pair) in zip(rows, pairs, strict=True):
        flips = exchanged(record, experiment, pair)
        assert row[0] == f"{pair[0]} better than {pair[1]}"
        assert row[-1] == f"{float(flips):.3g} ({flips * 1024}/1024)"


def test_a_wrong_count_is_noticed(record: dict[str, Any]) -> None:
    """One right image more or less, in any run; and, where the share is forged as well, in the enumeration."""
    counted = [run for run in record["runs"].values() if run.get("test_right") is not None]
    for run in counted:
        assert page.right_of(run) == run["test_right"]
        for wrong in (run["test_right"] - 1, run["test_right"] + 1, float(run["test_right"])):
            with pytest.raises(ValueError, match="recorded share"):
                page.right_of(run | {"test_right": wrong})
    assert len(counted) == 110
    experiment, pair = next((e, p) for e, p in pairs_of(record) if e["options"].get("permuted") and p[1] == "4.5(1)")
    key = f"{experiment['name']} / {pair[0]} / 0.003 / 1"
    run = record["runs"][key]
    forged = run | {"test_right": run["test_right"] + 1, "test_accuracy": (run["test_right"] + 1) / 300}
    planted = record | {"runs": record["runs"] | {key: forged}}
    assert exchanged(planted, experiment, pair) != exchanged(record, experiment, pair)
    assert page.page(planted) != page.PAGE.read_text("utf-8")
    planted["runs"][key] = run | {"test_right": run["test_right"] + 1}
    with pytest.raises(ValueError, match="recorded share"):
        page.page(planted)


def test_every_word_on_the_page_is_that_of_the_test_stated_there(record: dict[str, Any]) -> None:
    text = page.PAGE.read_text("utf-8")
    assert "leans" not in text and "no difference" not in text
    said: list[str] = []
    for experiment in record["settings"]["experiments"]:
        found = page.results_of(record, experiment)
        pairs = [page.compared(found, pair, experiment["metric"]) for pair in experiment["claimed"]]
        for way in (1, -1):
            chances = [_binomial_tail([way * d for d in pair.differences]) for pair in pairs]
            said += [f"{experiment['name']}: {pairs[i].better} > {pairs[i].worse}, {way}" for i in _rejected(chances)]
    shown = [
        f"{experiment['name']}: {pair[0]} > {pair[1]}, {1 if row[1] == '**shows**' else -1}"
        for row, (experiment, pair) in zip(rows_of_pairs(text), pairs_of(record), strict=True)
        if row[1] in ("**shows**", "**reversed**")
    ]
    assert sorted(said) == sorted(shown)
    undecided = [row for row in rows_of_pairs(text) if row[1] == "**not decided**"]
    assert len(undecided) + len(shown) == 16
    head = text[: text.index("## How to read")]
    assert f"**shows** {len(shown)}, **reversed** 0, **not decided** {len(undecided)}." in head


def _rejected(chances: list[Fraction]) -> list[int]:
    """Holm step by step at 1/20: the smallest against 1/20/m, the next against 1/20/(m − 1), …, until one fails."""
    found: list[int] = []
    for place in sorted(range(len(chances)), key=lambda i: chances[i]):
        if chances[place] > Fraction(1, 20) / (len(chances) - len(found)):
            break
        found.append(place)
    return found


def _binomial_tail(differences: list[Fraction]) -> Fraction:
    """P(at least so many wins) by going through all 2ⁿ outcomes of the seeds that are no tie."""
    kept = [d for d in differences if d]
    wins = sum(d > 0 for d in kept)
    return Fraction(sum(sum(o) >= wins for o in itertools.product((0, 1), repeat=len(kept))), 2 ** len(kept))


def test_equal_parameters_are_within_three_per_cent(record: dict[str, Any]) -> None:
    for experiment in record["settings"]["experiments"]:
        found = page.results_of(record, experiment)
        counts = {run["parameters"] for runs in found.values() for run in runs.values()}
        assert max(counts, default=1) < 1.03 * min(counts, default=1)


def test_the_record_has_the_checksums_of_todays_tasks(record: dict[str, Any]) -> None:
    module = imported("architecture_experiments")
    seen = 0
    for experiment in module.EXPERIMENTS:
        for result in page.results_of(record, module._plain(experiment))[experiment.architectures[0]].values():
            if result["seed"] == module.SEEDS[0]:
                for split in ("validation", "test"):
                    assert module.load(experiment, split, result["seed"]).spec.sha256 == result["data"][split]
                seen += 1
    assert seen >= 4
