"""Faults in the files of a store: none is another answer. A sample; tests/reliability/drill.py has the rest."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.reliability.faults import (
    CAUGHT,
    FOREIGN,
    INCOMPLETE,
    SAME,
    SILENT,
    Fault,
    Image,
    drawn,
    images,
    outcome,
    seen,
)
from verification.commands.doctor import BROKEN, store_parts
from verification.run import heads
from verification.run.mending import examined, mend, survey
from verification.run.store import DamageError, Store, StoredJob, StoreError
from verification.verdict import Judgement

KEYS = [f"{number:02x}" * 32 for number in range(24)]
JUDGED = KEYS[16:]
CELL = Judgement("icml-1", "free", 1, "size", "max", "y", "", "refuted", "by hand " * 300)
EACH = 60
"""Faults of each store: two or three in every kind of place."""


def job(number: int) -> StoredJob:
    key, judged = KEYS[number], KEYS[number] in JUDGED
    data = [replace(CELL, claim=f"icml-{number}").to_plain()] if judged else {"found": [number / 7] * 40}
    spec = {"kind": "judge" if judged else "search", "of": number, "needs": {}}
    arrays = save({"a": np.arange(900.0) + number})
    return StoredJob(key, str(spec["kind"]), json.dumps(spec), json.dumps(data), arrays, 0.5, "2026-01-01 00:00:00")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    settings = {"budget": "smoke", "seed": 0, "independent": KEYS[:16], "claims": []}
    folder = tmp_path_factory.mktemp("images")
    return {image.name: image for image in images([*map(job, range(24))], settings, JUDGED, folder)}


@pytest.fixture
def whole(found: dict[str, Image], tmp_path: Path) -> Path:
    found["whole"].lay(tmp_path / "store.sqlite")
    return tmp_path / "store.sqlite"


def changed(path: Path, statement: str, *values: object) -> None:
    """By another hand than the store's."""
    database = sqlite3.connect(path)
    database.execute(statement, values)
    database.commit()
    database.close()


@pytest.mark.parametrize("name", ["whole", "killed", "monitor"])
def test_no_fault_is_another_answer_or_another_error(found: dict[str, Image], name: str, tmp_path: Path) -> None:
    image, path = found[name], tmp_path / "store.sqlite"
    image.lay(path)
    reference, counts = seen(path), Counter[str]()
    for fault in drawn(image, EACH, random.Random(name)):
        fault.applied(image).lay(path)
        word, said = outcome(path, reference)
        assert word not in (SILENT, FOREIGN), f"{fault}: {said}"
        counts[word] += 1
    assert counts.total() == EACH and counts[CAUGHT] > 5 and counts[SAME] > 5
    assert (counts[INCOMPLETE] > 5) == (name == "killed")


def cells_of_runs(path: Path) -> int:
    """Where the page of ``runs`` has the pointers to its two rows."""
    database = sqlite3.connect(path)
    (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    database.close()
    return (int(root) - 1) * 4096 + 8


@pytest.mark.parametrize("order", [(0, 0), (1, 1), (1, 0)])
def test_a_page_that_lists_a_run_twice_or_in_another_order_is_no_earlier_run(
    found: dict[str, Image], tmp_path: Path, order: tuple[int, int]
) -> None:
    """What a flip in the pointers of its page does: each row that is read has its checksum."""
    image, path = found["whole"], tmp_path / "store.sqlite"
    image.lay(path)
    reference, at = seen(path), cells_of_runs(path)
    content = bytearray(image.database)
    pointers = [content[at : at + 2], content[at + 2 : at + 4]]
    content[at : at + 4] = pointers[order[0]] + pointers[order[1]]
    path.write_bytes(content)
    assert outcome(path, reference)[0] == CAUGHT


def test_without_checksums_the_same_faults_are_other_answers(
    found: dict[str, Image], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault of this file: a store that compares nothing."""
    image, path = found["whole"], tmp_path / "store.sqlite"
    image.lay(path)
    reference = seen(path)
    monkeypatch.setattr(Store, "part", Store._rows)
    monkeypatch.setattr(Store, "check_whole", lambda store: None)
    words = Counter(
        outcome(path, reference)[0] for f in drawn(image, EACH, random.Random(1)) if not f.applied(image).lay(path)
    )
    assert words[SILENT] > 5


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE jobs SET data = replace(data, 'refuted', 'proved!')", "its checksum is another"),
        ("UPDATE jobs SET wall_s = 1.25", "its checksum is another"),
        ("DELETE FROM jobs WHERE key = (SELECT max(key) FROM jobs)", "fewer"),
        ("DELETE FROM sums WHERE name = (SELECT max(key) FROM jobs)", "parts"),
        ("DELETE FROM runs WHERE name = 'run'", "fewer"),
        ("UPDATE runs SET keys = '[]' WHERE name = 'run'", "the run run: its checksum is another"),
        ("UPDATE whole SET parts = parts + 1", "parts"),
        ("DELETE FROM whole", "the checksum of the whole is none"),
        ("PRAGMA user_version = 2", "had no checksums, and it has some"),
        ("DROP TABLE sums", "its head is not"),
    ],
)
def test_whatever_is_changed_by_another_hand_is_damage(whole: Path, statement: str, said: str) -> None:
    changed(whole, statement)
    with pytest.raises(DamageError, match=said):
        seen(whole)


def test_verify_keeps_what_is_whole_and_names_what_is_not(whole: Path) -> None:
    changed(whole, "UPDATE jobs SET arrays = zeroblob(9) WHERE key = ?", KEYS[3])
    changed(whole, "DELETE FROM jobs WHERE key = ?", KEYS[5])
    findings = store_parts(whole)
    assert {finding.state for finding in findings} == {BROKEN}
    told = " ".join(finding.remark for finding in findings)
    assert KEYS[3][:16] in told and KEYS[5][:16] in told and KEYS[4][:16] not in told
    outcome = mend(whole)
    assert outcome is not None
    survey_, kept = outcome
    assert len(survey_.damaged) == 3 and '"of": 3' in "".join(
        survey_.damaged
    )  # the arrays of one, both parts of another
    assert kept.name == "store.sqlite.damaged"
    with Store(whole, writable=True) as store:
        assert store.has(KEYS) == {*KEYS} - {KEYS[3], KEYS[5]}
        assert store.run().keys == tuple(JUDGED) and survey(store, thorough=True).is_sound
    assert mend(whole) is None


def test_a_store_without_checksums_is_read_is_said_to_be_one_and_gets_them(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = seen(whole)
    changed(whole, "PRAGMA user_version = 2")
    changed(whole, "DROP TABLE sums")
    changed(whole, "DROP TABLE whole")
    assert seen(whole) == reference
    assert "it has no checksums" in capsys.readouterr().err
    with Store(whole, writable=True) as store:
        assert store.is_checked and survey(store).is_sound
    assert seen(whole) == reference and "checksums" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="another user, in a child process")
def test_a_store_in_a_folder_that_cannot_be_written_is_read(found: dict[str, Image]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "store.sqlite"
        found["whole"].lay(path)
        reference = seen(path)
        for each in folder.glob("store.sqlite-*"):
            each.unlink()
        path.chmod(0o444)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                code = 0 if seen(path) == reference else 2
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        folder.chmod(0o755)
        assert status == 0 and sorted(each.name for each in folder.iterdir()) == ["store.sqlite"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("last", [0, 1, 2])
def test_mending_that_is_killed_leaves_a_store(
    whole: Path, monkeypatch: pytest.MonkeyPatch, last: int, links: bool
) -> None:
    changed(whole, "UPDATE jobs SET arrays = zeroblob(9) WHERE key = ?", KEYS[3])
    replace_file, made = os.replace, []

    def counted(call: Callable[..., object]) -> Callable[..., None]:
        def step(*names: Path) -> None:
            if names[-1].parent == whole.parent:  # and no copy under another head
                if len(made) == last:
                    raise KeyboardInterrupt
                made.append(names)
            call(*names)

        return step

    def no_links(*_: Path) -> None:
        raise OSError("no links here")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", counted(os.link) if links else no_links)
        patch.setattr(shutil, "copyfile", counted(shutil.copyfile))
        patch.setattr(os, "replace", counted(replace_file))
        if last < 2:
            with pytest.raises(KeyboardInterrupt):
                mend(whole)
        else:
            mend(whole)
    assert whole.exists()
    mend(whole)
    with Store(whole, writable=True) as store:
        assert store.has(KEYS) == {*KEYS} - {KEYS[3]} and survey(store).is_sound


def no_room(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", [(shutil, "copyfile"), (tempfile, "mkdtemp"), (Store, "take_over")])
@pytest.mark.parametrize("is_head", [False, True])
def test_mending_without_room_says_so_and_loses_nothing(
    whole: Path, monkeypatch: pytest.MonkeyPatch, call: Any, is_head: bool
) -> None:
    changed(whole, "UPDATE jobs SET arrays = zeroblob(9) WHERE key = ?", KEYS[3])
    if is_head:
        whole.write_bytes(bytes(100) + whole.read_bytes()[100:])
    before = whole.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(*call, no_room)
        patch.setattr(os, "link", no_room)
        with pytest.raises(StoreError, match="free some space") as caught:
            mend(whole)
    assert str(whole) in str(caught.value) and whole.read_bytes() == before
    assert not [*whole.parent.glob("*.mended*"), *whole.parent.glob("*.damaged*")]
    assert mend(whole) is not None
    with Store(whole, writable=True) as store:
        assert store.has(KEYS) == {*KEYS} - {KEYS[3]} and survey(store).is_sound


def test_a_head_for_which_there_is_no_room_is_said_of_the_store(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, **_: object) -> None:
        raise StoreError(f'Store "{path}" cannot be opened: unable to open database file.')

    whole.write_bytes(bytes(100) + whole.read_bytes()[100:])
    monkeypatch.setattr(heads, "Store", full)
    for act in (mend, examined):
        with pytest.raises(StoreError, match="free some space") as caught:
            act(whole)
        assert str(whole) in str(caught.value) and "empty.sqlite" not in str(caught.value)


WRITER = """
import os, sys
from pathlib import Path
from verification.run.store import Store

store = Store(Path(sys.argv[1]), writable=True)
for number in range(6):
    store.put(f"k{number}", kind="search", spec={}, data={}, arrays={}, wall_s=0.5)
    if number == 2:
        print("half", flush=True)
        sys.stdin.readline()
os._exit(9)
"""


def test_a_reader_of_a_resumed_run_takes_no_job_from_its_writer(tmp_path: Path) -> None:
    """Whoever opens and closes the file beside SQLite gives up the locks of his process, and the reader the log."""
    path = tmp_path / "store.sqlite"
    with Store(path, writable=True):
        pass
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == "half\n"
        with Store(path, writable=False) as reader:
            assert reader.has(["k0", "k1", "k2", "k3"]) == {"k0", "k1", "k2"}
        writer.communicate("\n")
    with Store(path, writable=False) as reader:
        assert reader.has(f"k{number}" for number in range(6)) == {f"k{number}" for number in range(6)}


@pytest.mark.parametrize("statement", ["ANALYZE", "PRAGMA journal_mode = DELETE", "VACUUM INTO"])
def test_a_store_that_sqlite_has_tidied_is_read_and_written(whole: Path, statement: str) -> None:
    reference = seen(whole)
    if statement == "VACUUM INTO":
        copy = whole.with_name("copy.sqlite")
        changed(whole, "VACUUM INTO ?", str(copy))
        os.replace(copy, whole)
    else:
        changed(whole, statement)
    assert seen(whole) == reference and mend(whole) is None
    with Store(whole, writable=True) as store:
        store.put("more", kind="search", spec={}, data={}, arrays={}, wall_s=0.5)
    with Store(whole, writable=False) as store:
        assert store.has(["more"]) and survey(store, thorough=True).is_sound


HEADS = [0, 16, 18, 19, 31, 56, 63, 101, 105, 108, 3500, 4090]
"""Bytes of page 1: SQLite's name, page size, log, number of pages, encoding, version; tables, their statements."""


@pytest.mark.parametrize("of", ["whole", "monitor"])
def test_a_damaged_head_costs_nothing(found: dict[str, Image], tmp_path: Path, of: str) -> None:
    path, words = tmp_path / "store.sqlite", Counter[bool]()
    found[of].lay(path)
    reference = seen(path)
    for offset in HEADS:
        Fault(False, "flip", "head", offset).applied(found[of]).lay(path)
        words[outcome(path, reference)[0] == CAUGHT] += 1
        mend(path)
        assert outcome(path, reference)[0] == SAME, offset
        assert not [*tmp_path.glob("store.sqlite.*.*"), *tmp_path.glob("store.sqlite.mended*")]
    assert words[True] >= 6
    path.write_bytes(bytes(4096) + found[of].database[4096:])  # all of page 1
    findings = store_parts(path)
    assert findings[0].state == BROKEN and "keeps" in findings[0].remark
    assert mend(path) is not None and outcome(path, reference)[0] == SAME


@pytest.mark.parametrize("pages", range(1, 52, 5))
def test_a_file_that_is_cut_off_keeps_what_is_whole_or_is_refused(
    found: dict[str, Image], tmp_path: Path, pages: int
) -> None:
    """And never has an earlier run for the latest one."""
    path = tmp_path / "store.sqlite"
    found["whole"].lay(path)
    reference = seen(path)
    Fault(False, "truncation", "any", pages * 4096 - 100).applied(found["whole"]).lay(path)
    before = path.read_bytes()
    try:
        mend(path)
    except StoreError as error:
        assert "move it away" in str(error) and path.read_bytes() == before
        return
    with Store(path, writable=False) as store:
        assert survey(store, thorough=True).is_sound and store.has(KEYS)
        has_run = store.has_run()
    assert not has_run or outcome(path, reference)[0] in (SAME, INCOMPLETE)


def test_without_checksums_another_head_is_no_proof_of_a_store(whole: Path) -> None:
    """The planted fault: a database of another program, with tables of the same names and its head gone."""
    whole.unlink()
    with Store(whole, writable=True) as store:
        store.put(KEYS[0], kind="search", spec={}, data={}, arrays={}, wall_s=0.5)
    changed(whole, "UPDATE sums SET digest = zeroblob(32)")
    content = bytearray(whole.read_bytes())
    content[:16] = bytes(16)
    whole.write_bytes(content)
    with pytest.raises(StoreError, match="Nothing of it can be told to be whole: move it away") as error:
        mend(whole)
    assert "doctor" not in str(error.value) and whole.read_bytes() == content


def test_an_error_of_a_store_is_of_one_class() -> None:
    assert issubclass(DamageError, StoreError)
