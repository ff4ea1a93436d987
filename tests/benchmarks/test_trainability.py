"""benchmarks/trainability.py: the drawn graphs, the statistics against differently written ones, resuming, the page."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats

from odernn.architecture import measures_of, parameter_count
from tests.benchmarks.scripts import BENCHMARKS, imported

RECORD = BENCHMARKS / "results" / "trainability.json"
plan = imported("_trainability_plan")
analysis = imported("_trainability_analysis")
page = imported("_trainability_page")

HASH = "b7763215a9d36e62"
"""Of all 512 graphs: another draw would make the record void."""


# --- the graphs


def test_every_graph_meets_the_hypotheses_and_sees_the_present_input() -> None:
    for each in (*plan.graphs(), *plan.trial_graphs()):
        graph = each.graph
        assert all(graph.conditions().values())
        between = graph.between_ends()
        assert set(between.nodes) == set(graph.nodes) and set(between.edges) == set(graph.edges)
        at_once = nx.DiGraph([(edge.tail, edge.head) for edge in graph.edges if edge.sigma == 0])
        assert nx.has_path(at_once, "in", "out")
        assert len(graph.edges) == each.stratum[1] + 2 and len(graph.nodes) == each.stratum[0] + 2
    assert (len(plan.graphs()), len(plan.trial_graphs())) == (500, 12)


def test_the_measures_by_cycles_are_those_of_the_library() -> None:
    for each in (*plan.graphs(), *plan.trial_graphs()):
        values = measures_of(each.graph)
        assert plan.measures(each.stratum[0], each.drawn) == (values.s, values.d_r, values.d_f)


def test_no_two_graphs_are_isomorphic() -> None:
    """By networkx, for those that agree in degrees and delays."""
    by_look: dict[Any, list[Any]] = {}
    for each in (*plan.graphs(), *plan.trial_graphs()):
        made = each.graph.to_networkx()
        look = sorted(
            (made.nodes[node]["role"], sorted(d for *_, d in made.in_edges(node, "sigma")), made.out_degree(node))
            for node in made
        )
        by_look.setdefault(str(look), []).append(made)
    nodes, edges = (nx.algorithms.isomorphism.categorical_node_match("role", ""), _equal_delays)
    pairs = [pair for group in by_look.values() for pair in itertools.combinations(group, 2)]
    assert pairs
    assert not any(nx.is_isomorphic(*pair, node_match=nodes, edge_match=edges) for pair in pairs)
    one = plan.graphs()[0].graph.to_networkx()
    renamed = nx.relabel_nodes(one, {"h0": "h1", "h1": "h0"})
    assert nx.is_isomorphic(one, renamed, node_match=nodes, edge_match=edges)


def _equal_delays(one: Any, other: Any) -> bool:
    return set(one) == set(other)


def test_an_exchange_of_units_has_the_same_canonical_form() -> None:
    for each in plan.graphs()[:40]:
        edges, entry, exit = each.drawn
        units = each.stratum[0]
        to = [*range(1, units), 0]
        moved = (tuple((to[u], to[v], sigma) for u, v, sigma in edges), to[entry], to[exit])
        assert plan.canonical(units, moved) == plan.canonical(units, each.drawn)


def test_the_measures_spread_and_do_not_go_together() -> None:
    values = np.array([[float(v) for v in plan.measures(each.stratum[0], each.drawn)] for each in plan.graphs()])
    ranks = stats.spearmanr(values).statistic
    assert np.abs(ranks[np.triu_indices(3, 1)]).max() <= plan.MOST_COLLINEAR
    for column, ends in zip(values.T, (plan.S_ENDS, plan.D_R_ENDS, plan.D_F_ENDS), strict=True):
        shares = np.bincount([sum(value > end for end in ends) for value in column]) / len(column)
        assert len(shares) == 3 and shares.min() >= 0.25
    taken = Counter(
        (each.stratum, plan.class_of(*plan.measures(each.stratum[0], each.drawn))) for each in plan.graphs()
    )
    assert max(taken.values()) == plan.ROOM and len({of for _, of in taken}) == 27


def test_sizes_and_parameters_are_equal_within_a_stratum_and_near_between() -> None:
    sizes = {}
    for each in plan.graphs():
        count = parameter_count(each.graph, each.hidden_size, plan.INPUTS, plan.CLASSES)
        assert sizes.setdefault(each.stratum, (each.hidden_size, count)) == (each.hidden_size, count)
    assert set(sizes) == set(plan.STRATA)
    assert all(abs(count / plan.PARAMETERS - 1) < 0.02 for _, count in sizes.values())


def test_the_plan_has_so_many_runs_each_once() -> None:
    jobs = [*plan.trials(), *plan.runs(0.01)]
    assert len({job.key for job in jobs}) == len(jobs) == plan.TOTAL == 736
    assert Counter(each.stratum for each in plan.repeated()) == dict.fromkeys(plan.STRATA, 10)
    assert [each.number for each in plan.graphs()] == list(range(1, 501))


# --- the statistics


@pytest.fixture(scope="module")
def drawn_sample() -> Any:
    """An outcome that the first measure raises and the strata shift; measures with ties."""
    chance = np.random.default_rng(3)
    count = 200
    strata = np.repeat(np.arange(4), count // 4)
    measures = chance.integers(0, 5, (count, 3)).astype(float)
    measures[:, 1] += measures[:, 0]
    outcome = np.round(0.5 * measures[:, 0] + strata + chance.normal(size=count), 1)
    return analysis.Sample(outcome, measures, strata, chance.normal(size=(count, 1)))


def by_residuals(sample: Any, k: int, kind: str) -> float:
    """The correlation of what regression on all that is held leaves of the outcome and of one measure."""
    table = np.column_stack([sample.outcome, sample.measures, sample.further])
    if kind == "spearman":
        table = np.column_stack([stats.rankdata(column) for column in table.T])
    others = [j for j in range(1, table.shape[1]) if j != k + 1]
    held = np.column_stack([np.eye(4)[sample.strata], table[:, others]])
    rest = [column - held @ np.linalg.lstsq(held, column, rcond=None)[0] for column in (table[:, 0], table[:, k + 1])]
    return float(stats.pearsonr(*rest).statistic)


@pytest.mark.parametrize("kind", ["spearman", "pearson"])
@pytest.mark.parametrize("has_further", [False, True])
def test_partial_correlations_are_those_of_residuals(drawn_sample: Any, kind: str, has_further: bool) -> None:
    sample = drawn_sample if has_further else dataclasses.replace(drawn_sample, further=np.empty((200, 0)))
    found = analysis.partial(sample, kind)
    assert found == pytest.approx([by_residuals(sample, k, kind) for k in range(3)], abs=1e-10)
    assert sample.held == 5 + has_further


@pytest.mark.parametrize("kind", ["spearman", "pearson"])
def test_a_resample_by_weights_is_the_sample_of_its_rows(drawn_sample: Any, kind: str) -> None:
    """Rows written out as often as they are there, ranked anew."""
    rows = np.concatenate([np.random.default_rng(k).integers(50 * k, 50 * k + 50, 50) for k in range(4)])
    weights = np.bincount(rows, minlength=200).astype(float)[None]
    found = analysis._partials(drawn_sample, weights, kind)[0]
    parts = {name: getattr(drawn_sample, name)[rows] for name in ("outcome", "measures", "strata", "further")}
    assert found == pytest.approx([by_residuals(analysis.Sample(**parts), k, kind) for k in range(3)], abs=1e-10)


def test_resamples_are_seeded_and_keep_each_stratum_as_large_as_it_is(
    drawn_sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    partials = analysis._partials
    monkeypatch.setattr(analysis, "_partials", lambda s, w, kind: seen.append(w) or partials(s, w, kind))
    first, second = (analysis.resampled(drawn_sample, "pearson", 700) for _ in range(2))
    assert first.shape == (700, 3) and np.array_equal(first, second)
    assert all((w.reshape(len(w), 4, 50).sum(axis=2) == 50).all() for w in seen)


def test_the_probability_is_that_of_scipy_when_nothing_is_held(drawn_sample: Any) -> None:
    found = stats.pearsonr(drawn_sample.outcome, drawn_sample.measures[:, 0])
    assert analysis.probability(found.statistic, 200, 0) == pytest.approx(found.pvalue, rel=1e-6)
    low, high = analysis.fisher(found.statistic, 200, 0, "pearson")
    assert (low, high) == pytest.approx(tuple(found.confidence_interval(0.95)), abs=1e-10)
    wide = analysis.fisher(found.statistic, 200, 0, "spearman")
    assert wide[0] < low < high < wide[1]


def test_the_seeds_share_is_that_of_the_drawn_variances() -> None:
    chance = np.random.default_rng(1)
    scores = 2 * chance.normal(size=(4000, 1)) + chance.normal(size=(4000, 4))
    assert analysis.share_by_seed(scores) == pytest.approx(0.2, abs=0.02)
    assert analysis.share_by_seed(np.ones((3, 4)) * np.arange(3)[:, None]) == 0


def by_regression(sample: Any) -> float:
    """What ranks of the measures take of the variance that the strata leave of the outcome's ranks."""
    held = np.eye(4)[sample.strata]
    ranks = np.column_stack([stats.rankdata(column) for column in sample.measures.T])
    outcome = stats.rankdata(sample.outcome)
    left = [np.linalg.lstsq(each, outcome, rcond=None)[1][0] for each in (held, np.column_stack([held, ranks]))]
    return float(1 - left[1] / left[0])


@pytest.mark.parametrize("has_further", [False, True])
def test_what_the_three_explain_is_that_of_two_regressions(drawn_sample: Any, has_further: bool) -> None:
    sample = drawn_sample if has_further else dataclasses.replace(drawn_sample, further=np.empty((200, 0)))
    assert analysis.explained(sample) == pytest.approx(by_regression(sample), abs=1e-10)
    rows = np.concatenate([np.random.default_rng(k).integers(50 * k, 50 * k + 50, 50) for k in range(4)])
    weights = np.bincount(rows, minlength=200).astype(float)[None]
    parts = {name: getattr(sample, name)[rows] for name in ("outcome", "measures", "strata", "further")}
    found = analysis._explained(sample, weights)[0]
    assert found == pytest.approx(by_regression(analysis.Sample(**parts)), abs=1e-10)
    low, high = analysis.explained_interval(sample, 400)
    assert 0 < low < analysis.explained(sample) < high < 1


def test_the_interval_of_the_seeds_share_holds_the_drawn_one() -> None:
    chance = np.random.default_rng(2)
    found = []
    for _ in range(60):
        scores = 2 * chance.normal(size=(40, 1)) + chance.normal(size=(40, 4))
        found.append(analysis.share_by_seed_interval(scores, 300))
    covered = sum(low <= 0.2 <= high for low, high in found)
    assert covered >= 48  # a percentile interval of 40 graphs holds 0.2 in some nine of ten cases
    assert analysis.share_by_seed_interval(scores, 300) == found[-1]


def test_an_interval_that_has_zero_is_said_to_leave_the_sign_open() -> None:
    for interval, words in (((-0.1, 0.1), ", which leaves the sign open"), ((0.01, 0.2), ""), ((-0.2, -0.01), "")):
        each = analysis.PartialCorrelation("d_r", 0.0, interval, interval, 1.0, 1.0)
        assert page._has_zero(each) == words


def test_a_measure_that_does_nothing_is_not_shown_and_one_that_decides_is_the_best() -> None:
    chance = np.random.default_rng(8)
    measures = chance.normal(size=(400, 3))
    strata = np.repeat(np.arange(4), 100)
    planted = analysis.Sample(measures[:, 1] + chance.normal(size=400), measures, strata, np.empty((400, 0)))
    found = analysis.analysed(planted, "spearman", 500)
    assert [each.word for each in found.correlations] == ["not shown", "predicts", "not shown"]
    assert found.best == "d_r" and "recurrent depth d_r: **predicts**, a larger one better" in page.verdict(found)
    nothing = dataclasses.replace(planted, outcome=chance.normal(size=400))
    found = analysis.analysed(nothing, "spearman", 500)
    assert {each.word for each in found.correlations} == {"not shown"} and found.best is None
    # what only the strata explain is no finding
    outcome = 10.0 * strata + chance.normal(size=400)
    shifted = dataclasses.replace(planted, outcome=outcome, measures=measures + 9 * strata[:, None])
    assert {each.word for each in analysis.analysed(shifted, "spearman", 500).correlations} == {"not shown"}
    assert min(map(abs, analysis.unadjusted(shifted))) > 0.8


@pytest.mark.parametrize(
    ("value", "bootstrap", "fisher", "holm", "word"),
    [
        (0.25, (0.1, 0.4), (0.1, 0.4), 0.01, "predicts"),
        (-0.2, (-0.3, -0.1), (-0.3, -0.1), 0.05, "predicts"),
        (0.19, (0.1, 0.3), (0.1, 0.3), 0.01, "predicts weakly"),
        (0.25, (-0.01, 0.4), (0.1, 0.4), 0.01, "not shown"),
        (0.25, (0.1, 0.4), (-0.01, 0.4), 0.01, "not shown"),
        (0.25, (0.1, 0.4), (0.1, 0.4), 0.051, "not shown"),
    ],
)
def test_the_words_follow_the_stated_test(
    value: float, bootstrap: tuple[float, float], fisher: tuple[float, float], holm: float, word: str
) -> None:
    assert analysis.PartialCorrelation("s", value, bootstrap, fisher, holm, holm).word == word


# --- the script, on few images and few graphs


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Four graphs, two of them repeated, two trials, one epoch of two batches of 10."""
    module = imported("trainability")
    graphs, trials = plan.graphs()[:4], plan.trial_graphs()[:2]
    whole = module.data.__wrapped__
    for name, value in {
        "graphs": lambda: graphs, "trial_graphs": lambda: trials, "repeated": lambda: graphs[:2],
        "PARAMETERS": 200, "EPOCHS": 1, "BATCH": 10, "SEEDS": 2, "TOTAL": 2 * 3 + 4 + 2 + 4,
    }.items():  # fmt: skip
        monkeypatch.setattr(plan, name, value)
    splits = {split: whole(split) for split in ("train", "validation", "test")}
    few = {split: (sequences[:8, :20], targets[:20]) for split, (sequences, targets) in splits.items()}
    asked: list[str] = []
    monkeypatch.setattr(module, "data", lambda split: asked.append(split) or few[split])
    monkeypatch.setattr(module, "asked", asked, raising=False)
    module._size.cache_clear()
    yield module
    module._size.cache_clear()


def read(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "trainability.json").read_text("utf-8"))
    return found


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what two equal runs differ in."""
    runs = {
        key: {name: value for name, value in run.items() if not name.endswith("_seconds")}
        for key, run in record["runs"].items()
    }
    return record | {"runs": runs}


def test_a_call_that_was_killed_goes_on_to_the_same_record_and_page(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    monkeypatch.setattr(page, "write", lambda record, folder: None)
    assert script.main(["--output", str(whole)]) == 0
    train, made = script.run, []

    def killed(job: Any) -> Any:
        if len(made) == 9:
            raise KeyboardInterrupt
        made.append(job.key)
        return train(job)

    monkeypatch.setattr(script, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        script.main(["--output", str(broken)])
    assert len(read(broken)["runs"]) == 9
    monkeypatch.setattr(script, "run", lambda job: made.append(job.key) or train(job))
    assert script.main(["--output", str(broken)]) == 0
    assert timeless(read(broken)) == timeless(read(whole))
    assert made == list(read(whole)["runs"]) and len(made) == plan.TOTAL
    assert not list(tmp_path.rglob("*.part"))


def test_trials_load_no_test_split_and_the_others_no_validation(script: ModuleType) -> None:
    trial, run = next(plan.trials()), next(plan.main_runs(0.01))
    result = script.run(trial)
    assert set(script.asked) == {"train", "validation"} and "test_accuracy" not in result
    script.asked.clear()
    result = script.run(run)
    assert set(script.asked) == {"train", "test"} and "validation_accuracy" not in result


def test_the_rate_is_that_of_the_best_mean_validation_accuracy_of_all_trials(script: ModuleType) -> None:
    scores = {job.key: {0.01: 0.5, 0.003: 0.7, 0.001: 0.7}[job.rate] for job in plan.trials()}
    assert plan.chosen_rate(scores) == 0.003
    assert plan.chosen_rate(dict(list(scores.items())[1:])) is None
    runs = {job.key: {"validation_accuracy": scores[job.key], "digest": script.digest(job)} for job in plan.trials()}
    assert script.chosen_rate(runs) == 0.003
    next(iter(runs.values()))["digest"] = "of another plan"
    assert script.chosen_rate(runs) is None and len(list(script.every(runs))) == 6


def test_no_run_begins_when_the_time_is_up_and_the_page_gives_no_verdict(script: ModuleType, tmp_path: Path) -> None:
    assert script.main(["--output", str(tmp_path), "--seconds", "0"]) == 1
    text = (tmp_path / page.NAME).read_text("utf-8")
    assert f"0 of {plan.TOTAL} runs are recorded. There is no verdict" in text
    assert "Other ways" not in text and not (tmp_path / "pictures").exists()


def test_a_run_of_another_plan_is_made_anew(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = next(plan.trials())
    record = script.opened(tmp_path / "trainability.json")
    record["runs"][job.key] = script.run(job)
    script.written(tmp_path / "trainability.json", record)
    assert script.opened(tmp_path / "trainability.json") == json.loads(json.dumps(record))
    monkeypatch.setattr(plan, "EPOCHS", 2)
    assert script.opened(tmp_path / "trainability.json")["runs"] == {}


def test_a_loss_that_is_not_finite_counts_as_chance(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(network: torch.nn.Module, rate: float, order: torch.Generator) -> None:
        with torch.no_grad():
            next(network.parameters()).fill_(torch.nan)

    monkeypatch.setattr(script, "train", spoil)
    result = script.run(next(plan.main_runs(0.01)))
    assert result["failed"] and result["test_accuracy"] == 0.1 and result["train_loss"] == pytest.approx(np.log(10))


# --- the page


def planted_record(script: ModuleType) -> dict[str, Any]:
    """All 736 runs, invented: s raises the accuracy, and the second rate is the best."""
    chance = np.random.default_rng(5)
    graphs = {str(each.number): script.facts(each) for each in (*plan.trial_graphs(), *plan.graphs())}
    place = {name: 1 for name in ("processor", "cores", "python", "torch", "numpy", "scikit-learn", "odernn")}
    runs: dict[str, Any] = {}
    for job in (*plan.trials(), *plan.runs(0.003)):
        s = plan.measures(job.graph.stratum[0], job.graph.drawn)[0]
        score = 0.5 + 0.03 * float(s) + 0.03 * chance.normal() + 0.1 * (job.rate == 0.003)
        name = "validation_accuracy" if job.is_trial else "test_accuracy"
        runs[job.key] = {name: score, "train_loss": 2 - score, "cpu_seconds": 4.0, "on": 0}
    return {"machines": [place], "graphs": graphs, "runs": runs}


def test_a_whole_record_has_its_verdict_and_one_that_lacks_a_run_has_none(tmp_path: Path) -> None:
    record = planted_record(imported("trainability"))
    assert page.rate_of(record) == 0.003
    text = page.page(record, 300)
    assert "recurrent skip coefficient s: **predicts**, a larger one better" in text
    assert "recurrent depth d_r: **not shown**" in text and "The best of the three: **s**." in text
    assert text.count("| test accuracy ") == 3 and text.count("| training loss ") == 4
    page.draw(record, 0.003, tmp_path / "pictures" / "one.svg")
    assert (tmp_path / "pictures" / "one.svg").stat().st_size < 60_000
    del record["runs"][next(reversed(record["runs"]))]
    assert "735 of 736 runs are recorded. There is no verdict" in page.page(record)
    assert "**predicts**, a" not in page.page(record)


@pytest.mark.slow
def test_the_page_is_what_the_record_gives() -> None:
    """`python benchmarks/trainability.py --page` writes it; slow, as all resamples are drawn again."""
    record = json.loads(RECORD.read_text("utf-8"))
    assert (page.DOCS / page.NAME).read_text("utf-8") == page.page(record)


def test_the_record_is_of_the_plan() -> None:
    script = imported("trainability")
    found = json.loads(RECORD.read_text("utf-8"))
    assert script.opened(RECORD) == found
    assert all("/" not in place["processor"] for place in found["machines"])


def test_the_draw_is_the_one_that_was_planned() -> None:
    said = "\n".join(each.said for each in (*plan.graphs(), *plan.trial_graphs()))
    assert hashlib.sha256(said.encode()).hexdigest()[:16] == HASH
