"""A run in shards is the run: their stores together, byte for byte but for the times. Nothing else goes together."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from verification import verdict
from verification.cli import main
from verification.run import shards
from verification.run.shards import MergeError, ShardError, Share, merge
from verification.run.store import Store, StoredJob, StoreError
from verification.verdict import Judgement

CHECKOUT = Path(__file__).resolve().parents[3]
SMALL_RUN = Path(__file__).with_name("small_run.py")
CLAIMS = ("thm-S-Q", "both-72", "both-96-99")


# --- parts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "1", "1/", "/2", "0/2", "3/2", "1/0", "0/0", "-1/2", "1/2/3", "1 /2", "٢/8", "a/b"]
)
def test_what_is_no_shard_is_refused_before_anything_is_done(text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ShardError):
        Share.parse(text)
    assert main(["verify", f"--shard={text}"]) == 2
    assert f"--shard {text}: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("length", "count"), [(0, 3), (1, 3), (7, 1), (7, 3), (8, 4), (3, 5)])
def test_shards_are_disjoint_even_and_make_up_the_whole(length, count):
    parts = [Share.parse(f"{index}/{count}").of(range(length)) for index in range(1, count + 1)]
    assert sorted(item for part in parts for item in part) == list(range(length))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    "option", [["--json"], ["--full"], ["--format", "csv"], ["--expect", "x"], ["--witnesses", "x"]]
)
def test_a_shard_has_no_table(capsys, option):
    assert main(["verify", "--shard", "1/2", *option]) == 2
    assert "a part of a run has no table" in capsys.readouterr().err


# --- the same as one process ------------------------------------------------------------------------------------


def small_run(store, *options):
    done = subprocess.run(
        [sys.executable, str(SMALL_RUN), str(store), "--claims", ",".join(CLAIMS), "--rungs", "1", *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rows(path):
    """All jobs of a store but for the times."""
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT key, kind, spec, data, arrays FROM jobs").fetchall()
    database.close()
    return {row[0]: row[1:] for row in found}


def printed(capsys, path):
    texts = {}
    for command in (
        ["table"],
        ["table", "--full"],
        ["table", "--format", "json", "--full"],
        ["ledger"],
        ["expectations"],
    ):
        assert main([*command, "--store", str(path)]) == 0
        texts[" ".join(command)] = capsys.readouterr().out
    return texts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store "one" from one process; "all.1" and "all.2" from two shards, merged into "all" and finished there."""
    folder = tmp_path_factory.mktemp("shards")
    small_run(folder / "one")
    finished = small_run(folder / "all", "--shards", 2)
    (folder / "finished.json").write_text(json.dumps(finished))
    return folder


@pytest.mark.slow
def test_merged_shards_finished_by_the_same_command_are_the_run_of_one_process(folder, capsys):
    one = rows(folder / "one")
    kinds = Counter(kind for kind, *_ in one.values())
    assert set(kinds) == {"search", "measure", "control", "judge", "case"}
    first, second = rows(folder / "all.1"), rows(folder / "all.2")
    assert len(first) > 5 < len(second) and not first.keys() & second.keys()
    independent = sum(number for kind, number in kinds.items() if kind != "judge")
    assert sum(row[0] != "judge" for row in (first | second).values()) == independent
    finished = json.loads((folder / "finished.json").read_text())
    assert independent <= finished["finished"] < len(one)  # measured nothing again
    assert rows(folder / "all") == one
    assert printed(capsys, folder / "all") == printed(capsys, folder / "one")


@pytest.mark.slow
def test_a_merge_says_which_command_does_the_rest(folder, tmp_path, capsys):
    merged = tmp_path / "merged.sqlite"
    assert main(["merge", str(folder / "all.1"), str(folder / "all.2"), "--into", str(merged)]) == 0
    said = capsys.readouterr().out
    assert f"odernn verify {' '.join(CLAIMS)} --budget tiny --seed 0 --store {merged}" in said
    assert "missing" not in said and "failed" not in said
    assert main(["table", "--store", str(merged)]) == 0
    assert "the run is incomplete" in capsys.readouterr().err


def test_the_commands_from_shards_to_the_table(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["verify", *CLAIMS[1:], "--jobs", "0"]
    assert main([*asked, "--store", "one.sqlite"]) == 0
    one = capsys.readouterr().out
    for index in (1, 2):
        assert main([*asked, "--shard", f"{index}/2"]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"shard {index}/2: ") and f"results are in odernn-{index}-of-2.sqlite. " in said
        assert "failed" not in said and said.count("\n") == 1
    assert main(["merge", "odernn-1-of-2.sqlite", "odernn-2-of-2.sqlite", "--into", "odernn.sqlite"]) == 0
    assert "complete   odernn table --store odernn.sqlite" in capsys.readouterr().out
    assert printed(capsys, "odernn.sqlite") == printed(capsys, "one.sqlite")
    assert main(asked) == 0
    here = one.replace(" --store one.sqlite", "").replace("one.sqlite", "odernn.sqlite")  # the screen names its store
    assert capsys.readouterr().out == here


@pytest.mark.slow
def test_judging_in_shards_too_is_the_run_of_one_process(folder, tmp_path, capsys):
    merge([folder / "all.1", folder / "all.2"], tmp_path / "measured")
    for index in (1, 2):
        (tmp_path / f"{index}").write_bytes((tmp_path / "measured").read_bytes())
        small_run(tmp_path / f"{index}", "--shard", f"{index}/2")
    merged = merge([tmp_path / "1", tmp_path / "2"], tmp_path / "all")
    assert merged.complete and merged.repeated > 10
    assert rows(tmp_path / "all") == rows(folder / "one")
    assert printed(capsys, tmp_path / "all") == printed(capsys, folder / "one")


@pytest.mark.slow
def test_a_run_of_another_seed_is_refused_by_name(folder, tmp_path):
    changed = tmp_path / "seed.sqlite"
    changed.write_bytes((folder / "all.2").read_bytes())
    with Store(changed, writable=True) as store:
        run = store.run()
        store.begin_run("another plan", run.settings | {"seed": 1}, list(run.keys))
    with pytest.raises(MergeError, match=r"all\.1.*seed\.sqlite.*different runs: seed 0 and 1\."):
        merge([folder / "all.1", changed], tmp_path / "merged.sqlite")
    assert not (tmp_path / "merged.sqlite").exists()


# --- by hand ----------------------------------------------------------------------------------------------------

JUDGEMENT = Judgement(
    claim="icml-C.1",
    domain="free",
    layer=1,
    quantity="position",
    norm="max",
    symbol="max abs(yₙ)",
    reading="printed",
    verdict=verdict.PROVED,
    because="for all weights",
)
SETTINGS = {
    "budget": "smoke",
    "seed": 0,
    "task": "digits",
    "claims": [],
    "claims_dirs": [],
    "data": None,
    "device": "cpu",
    "version": "0.1.0",
    "source": "ab" * 32,
    "with": {"torch": "2.13.0", "numpy": "2.4.6"},
    "independent": ["a", "b", "c", "q"],
}
KEYS = ["q", "j"]
DATA = {"j": [JUDGEMENT.to_plain()], "q": [replace(JUDGEMENT, claim="sam-1").to_plain()]}
ALL = "abcqj"


@pytest.fixture
def by_hand(tmp_path):
    """make(name, keys, shard=…, data=…, settings=…, run=…): a store of a plan of five jobs with ``keys`` done."""

    def make(name, keys, *, shard=None, data=None, run="the plan", **settings):
        path = tmp_path / name
        with Store(path, writable=True) as store:
            kept = SETTINGS | settings | ({"shard": shard} if shard else {})
            store.begin_run(run, kept, KEYS)
            for key in keys:
                kind = {"j": "judge", "q": "case"}.get(key, "search")
                value = (data or {}).get(key, DATA.get(key, {"found": key}))
                store.put(key, kind=kind, spec={"kind": kind, "of": key}, data=value, arrays={}, wall_s=len(name))
        return path

    return make


def test_an_incomplete_merge_names_the_shards_that_are_missing(by_hand, tmp_path, capsys):
    stores = [by_hand("1", "aq", shard="1/3"), by_hand("2", "", shard="2/3")]
    assert main(["merge", *map(str, stores), "--into", str(tmp_path / "all")]) == 1
    said = capsys.readouterr().out
    assert "shard 2/3: all 1 job." in said and "shard 3/3: all 1 job." in said and "shard 1/3" not in said
    assert "1 judgement" in said
    third = by_hand("3", "c", shard="3/3")
    assert main(["merge", str(third), "--into", str(tmp_path / "all")]) == 1  # added to what is there
    assert "shard 3/3" not in (said := capsys.readouterr().out) and "shard 2/3: all 1 job." in said
    second = by_hand("2", "bj", shard="2/3")
    assert main(["merge", str(second), "--into", str(tmp_path / "all")]) == 0
    assert f"complete   odernn table --store {tmp_path / 'all'}" in capsys.readouterr().out
    assert rows(tmp_path / "all") == rows(by_hand("whole", ALL))
    with Store(tmp_path / "all", writable=False) as store:
        assert store.latest_run()[2] and "shard" not in store.run().settings


def test_a_part_of_a_shard_is_named_with_how_much_it_lacks(by_hand, tmp_path):
    merged = merge([by_hand("1", "a", shard="1/2"), by_hand("2", "bq", shard="2/2")], tmp_path / "all")
    assert merged.missing == (("1/2", 1, 2),)
    unsharded = merge([by_hand("3", "a")], tmp_path / "other")
    assert unsharded.missing == (("1/1", 3, 4),)


def test_merging_again_and_with_the_target_among_the_stores_changes_nothing(by_hand, tmp_path):
    stores = [by_hand("1", "aqj", shard="1/2"), by_hand("2", "bc", shard="2/2")]
    into = tmp_path / "all"
    first = merge(stores, into)
    before = rows(into), into.read_bytes()
    again = merge([*stores, into, *stores], into)
    assert (first.added, again.added, again.jobs) == (5, 0, 5)
    assert rows(into) == before[0] == rows(by_hand("whole", ALL))
    with sqlite3.connect(into) as database:  # the times are those of the work, not of the merge
        assert {w for (w,) in database.execute("SELECT wall_s FROM jobs")} == {1.0}
    database.close()


@pytest.mark.parametrize("what", ["data", "arrays", "spec", "kind"])
def test_two_results_of_one_job_that_differ_are_an_error_that_names_it(by_hand, tmp_path, what):
    stores = [by_hand("1", "ab", shard="1/2"), by_hand("2", "abc", shard="2/2")]
    assert merge(stores, tmp_path / "agreeing").repeated == 2
    with Store(stores[1], writable=True) as store:  # as machines that round differently write it
        store.put_row(replace(store.row("b"), **{what: b'{"found": 1}' if what == "arrays" else '{"f": 1}'}))
    with pytest.raises(MergeError, match=rf'1" and ".*2" have different results of one job: search b, {what} differ'):
        merge(stores, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    with pytest.raises(MergeError, match="different results of one job"):
        merge([stores[1]], tmp_path / "agreeing")  # against what is there already
    assert rows(tmp_path / "agreeing")["b"] == rows(stores[0])["b"]


@pytest.mark.parametrize("damaged", ["shard", "target"])
@pytest.mark.parametrize("what", ["data", "arrays", "spec", "kind"])
def test_a_damaged_store_is_refused_by_name_and_the_target_stays_as_it_was(by_hand, tmp_path, what, damaged, capsys):
    into, shard = tmp_path / "all", by_hand("2", "bc", shard="2/2")
    merge([by_hand("1", "aqj", shard="1/2")], into)
    path, key = (shard, "b") if damaged == "shard" else (into, "a")
    database = sqlite3.connect(path)
    database.execute(
        f"UPDATE jobs SET {what} = CAST('{{\"f\": 1}}' AS {'BLOB' if what == 'arrays' else 'TEXT'}) WHERE key = ?", key
    )
    database.commit()
    database.close()
    before = into.read_bytes()
    assert main(["merge", str(shard), "--into", str(into)]) == 2
    said = capsys.readouterr().err
    assert f'Store "{path}" is damaged' in said and f" {key}: its checksum is another" in said
    assert into.read_bytes() == before
    assert main(["merge", str(by_hand("1", "aqj", shard="1/2")), str(path), "--into", str(tmp_path / "new")]) == 2
    assert not list(tmp_path.glob("new*[!k]"))
    capsys.readouterr()


def test_a_disk_that_is_full_leaves_the_target_as_it_was(by_hand, tmp_path, monkeypatch):
    into, shard = tmp_path / "all", by_hand("2", "bc", shard="2/2")
    merge([by_hand("1", "aqj", shard="1/2")], into)
    before, put_row = rows(into), Store.put_row

    def full(store, row):
        if row.key == "c":
            raise StoreError("the disk is full")
        put_row(store, row)

    monkeypatch.setattr(Store, "put_row", full)
    for target, left in ((into, before), (tmp_path / "new", None)):
        with pytest.raises(StoreError, match="full"):
            merge([shard], target)
        assert (rows(target) if target.exists() else None) == left


def test_a_failed_job_gives_way_to_one_that_did_not_fail(by_hand, tmp_path):
    error = [replace(JUDGEMENT, verdict=verdict.ERROR, because="the worker died").to_plain()]
    bad = by_hand("1", ALL, data={"a": {"error": "the worker died"}, "j": error})
    assert merge([bad], tmp_path / "all").failed == 2
    assert merge([by_hand("2", ALL)], tmp_path / "all").failed == 0
    assert merge([bad], tmp_path / "all").failed == 0  # and does not come back
    assert rows(tmp_path / "all") == rows(by_hand("whole", ALL))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"budget": "deep"}, "budget smoke and deep"),
        ({"seed": 7}, "seed 0 and 7"),
        ({"claims": ["thm-S"]}, "claims all and thm-S"),
        ({"source": "cd" * 32}, f"source text of odernn {'ab' * 8} and {'cd' * 8}"),
        ({"with": {"torch": "2.12.0"}}, "packages torch 2.13.0, numpy 2.4.6 and torch 2.12.0"),
        ({"device": "cuda"}, "device cpu and cuda"),
        ({}, "the text of the files given with --claims differs"),
    ],
)
def test_stores_of_different_runs_are_refused_with_the_reason(by_hand, tmp_path, changed, said):
    one, other = by_hand("1", "ab"), by_hand("2", "c", run="another plan", **changed)
    with pytest.raises(MergeError, match="of different runs") as raised:
        merge([one, other], tmp_path / "all")
    assert f": {said}. Merge each with its own kind" in str(raised.value)
    assert not (tmp_path / "all").exists()
    before = rows(one)
    with pytest.raises(MergeError, match="of different runs"):
        merge([other], one)
    assert rows(one) == before


def test_a_merge_that_dies_leaves_the_target_as_it_was(by_hand, tmp_path, monkeypatch):
    stores = [by_hand("1", "aq"), by_hand("2", "bcj")]
    into = tmp_path / "all"
    merge(stores[:1], into)
    before = rows(into)
    put, count = Store.write, iter(range(10**6))

    def faulty(self, statement, values):
        if self.path == into and statement.startswith("INSERT") and next(count) == 2:
            raise StoreError("planted: the disk is full")
        put(self, statement, values)

    monkeypatch.setattr(Store, "write", faulty)
    with pytest.raises(StoreError, match="planted"):
        merge(stores, into)
    monkeypatch.undo()
    assert rows(into) == before
    assert merge(stores, into).complete


def test_a_store_of_a_checkpoint_is_in_one_piece(by_hand, tmp_path):
    """As ``odernn verify --checkpoint`` writes it: no jobs but judgements, and the checkpoint among the settings."""
    good = by_hand("1", "a")
    for checkpoint in ("in", "into"):
        with Store(tmp_path / checkpoint, writable=True) as store:
            store.begin_run("checkpoint 0", {"checkpoint": "runs/one"}, ["k"])
    for stores, into in (([tmp_path / "in"], "all"), ([good, tmp_path / "in"], "all"), ([good], "into")):
        with pytest.raises(MergeError, match="checkpoint runs/one`: a trained network is tried in one piece") as error:
            merge(stores, tmp_path / into)
        assert "Its table: odernn table --store" in str(error.value)
    assert not (tmp_path / "all").exists() and rows(tmp_path / "into") == {}
    with Store(tmp_path / "into", writable=False) as store:
        assert store.run().settings == {"checkpoint": "runs/one"}


def test_what_a_monitor_wrote_is_no_run(tmp_path):
    with Store(tmp_path / "monitor.sqlite", writable=True) as store:
        store.put_measurements("training", 1, [("layers.0", "y", "", 1.0, 3, 0, 1, 2.0, 1, "n", None)])
    with pytest.raises(StoreError, match="holds what a monitor saw, and no run of `odernn verify`"):
        merge([tmp_path / "monitor.sqlite"], tmp_path / "all")


def test_stores_that_cannot_be_merged(by_hand, tmp_path, capsys):
    good = by_hand("1", "a")
    old = by_hand("old", "a", independent=[])
    for stores, into, said in (
        ([good, tmp_path / "absent"], "all", "does not exist"),
        ([good, old], "all", "knew no shards"),
        ([good], "no/folder", "does not exist"),
        ([tmp_path], "all", "is a folder"),
    ):
        assert main(["merge", *map(str, stores), "--into", str(tmp_path / into)]) == 2
        assert said in capsys.readouterr().err
        assert not (tmp_path / into).exists()
    with Store(tmp_path / "busy", writable=True):
        assert main(["merge", str(good), "--into", str(tmp_path / "busy")]) == 2
    assert "in use by another run" in capsys.readouterr().err
    assert main(["merge", "--into", "x"]) == 2  # no store named
    capsys.readouterr()


def test_jobs_of_other_runs_are_not_taken_along(by_hand, tmp_path):
    store = by_hand("1", ALL + "x")
    assert merge([store], tmp_path / "all").jobs == 5
    assert "x" not in rows(tmp_path / "all")


def test_a_row_knows_whether_it_failed():
    row = StoredJob("a", "search", "{}", '{"error": "no"}', b"", 0.0, "")
    assert row.failed and not replace(row, data='{"found": []}').failed
    assert shards.Share(2, 3).of("abcdefgh") == "beh"


def test_a_merge_that_fails_leaves_a_store_that_another_run_made_meanwhile(by_hand, tmp_path, monkeypatch):
    shard, into = by_hand("1", ALL), tmp_path / "all"
    others, check = [], shards._check_same_run

    def begun_by_another(*about):
        others.append(Store(into, writable=True))
        others[0].put("theirs", kind="search", spec={}, data={}, arrays={}, wall_s=0.5)
        check(*about)

    monkeypatch.setattr(shards, "_check_same_run", begun_by_another)
    with pytest.raises(StoreError, match=r"holds no run yet|in use by another run"):
        merge([shard], into)
    others[0].close()
    with Store(into, writable=False) as left:
        assert left.has(["theirs"])


def test_a_merge_that_fails_once_it_has_made_its_target_makes_none(by_hand, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_gathered", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        merge([by_hand("1", ALL)], tmp_path / "all")
    assert not [each for each in tmp_path.glob("all*") if each.suffix != ".lock"]
