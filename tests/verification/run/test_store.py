"""The store keeps what was finished, and says on one line why it cannot be used."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from verification.run import store_file
from verification.run.store import Store, StoreError
from verification.run.store_file import SCHEMA_VERSION

EMPTY: dict[str, np.ndarray] = {}


def put(store, key, data=None, arrays=EMPTY):
    store.put(key, kind="search", spec={"kind": "search"}, data=data, arrays=arrays, wall_s=0.5)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "odernn.sqlite"


def refusal(path, *, writable):
    with pytest.raises(StoreError) as raised:
        Store(path, writable=writable)
    text = str(raised.value)
    assert "\n" not in text
    assert str(path) in text
    return text


# --- what goes in comes out -------------------------------------------------------------------------------------

ARRAYS = {
    "none": {},
    "nan and infinities": {"x": np.array([math.nan, math.inf, -math.inf, -0.0, 5e-324])},
    "a transposed view": {"x": np.arange(12.0).reshape(3, 4).T},
    "every other entry": {"x": np.arange(10.0)[::2]},
    "no entries": {"x": np.zeros((0, 3))},
    "a scalar and integers": {"x": np.array(1.5), "n": np.array([2**62, -1])},
    "a name with slashes": {"1/position/max": np.ones(3)},
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_out_as_they_went_in(path, name):
    with Store(path, writable=True) as store:
        put(store, "a", arrays=ARRAYS[name])
    with Store(path, writable=False) as store:
        found = store.arrays("a")
    assert found.keys() == ARRAYS[name].keys()
    for key, array in ARRAYS[name].items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array, strict=True)
        assert np.array_equal(np.signbit(found[key]), np.signbit(array))


def test_data_comes_out_as_it_went_in_nan_and_infinities_included(path):
    data = {"text": "Δt ≤ ½", "list": [1, None, True, 0.1], "nan": math.nan, "inf": [math.inf, -math.inf]}
    with Store(path, writable=True) as store:
        put(store, "a", data)
        found = store.data("a")
    assert math.isnan(found.pop("nan"))  # and neither null nor a string: it cannot be taken for a measured value
    assert found == {name: value for name, value in data.items() if name != "nan"}


def test_a_job_done_again_replaces_its_result(path):
    with Store(path, writable=True) as store:
        put(store, "a", {"error": "no luck"})
        put(store, "a", {"value": 1})
        assert store.data("a") == {"value": 1}
        assert store.has(["a", "b"]) == {"a"}


def test_a_job_that_is_not_there_is_a_key_error(path):
    with Store(path, writable=True) as store:
        for read in (store.data, store.arrays):
            with pytest.raises(KeyError, match="absent"):
                read("absent")


def test_the_latest_run_is_the_one_begun_last(path):
    with Store(path, writable=True) as store:
        with pytest.raises(StoreError, match="holds no run yet"):
            store.latest_run()
        store.begin_run("one", {"seed": 1}, ["a"])
        store.complete_run("one")
        store.begin_run("two", {"seed": 2}, ["b", "c"])
        assert store.latest_run() == ({"seed": 2}, ["b", "c"], False)
        store.begin_run("one", {"seed": 1}, ["a"])
        assert store.latest_run() == ({"seed": 1}, ["a"], False)  # begun again, not complete yet
        store.complete_run("one")
        assert store.latest_run() == ({"seed": 1}, ["a"], True)


# --- who may write ----------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_while_the_first_lives_and_allowed_after(path):
    with Store(path, writable=True) as first:
        assert "in use by another run" in refusal(path, writable=True)
        put(first, "a", 1)
    with Store(path, writable=True) as second:
        assert second.data("a") == 1


def test_a_writer_that_was_killed_does_not_lock_the_store(path):
    program = f"""
import os, signal, sys
from pathlib import Path
from verification.run.store import Store
store = Store(Path({str(path)!r}), writable=True)
store.put("a", kind="search", spec={{}}, data=1, arrays={{}}, wall_s=0.0)
print("ready", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "ready\n"
        assert "in use by another run" in refusal(path, writable=True)
        with Store(path, writable=False) as reader:
            assert reader.data("a") == 1
        writer.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        writer.wait()
    with Store(path, writable=True) as store:
        assert store.data("a") == 1
        put(store, "b", 2)


def test_a_reader_sees_what_is_finished_while_the_writer_writes(path):
    with Store(path, writable=True) as writer:
        put(writer, "a", 1)
        with Store(path, writable=False) as reader, Store(path, writable=False) as another:
            assert reader.data("a") == 1
            put(writer, "b", 2)
            assert reader.data("b") == another.data("b") == 2
    with Store(path, writable=False) as reader:
        assert reader.has("abc") == {"a", "b"}


def test_writing_to_a_closed_store_is_a_store_error(path):
    store = Store(path, writable=True)
    store.close()
    with pytest.raises(StoreError, match="cannot be written"):
        put(store, "a", 1)


# --- what is no store -------------------------------------------------------------------------------------------


def test_reading_a_store_that_does_not_exist_makes_none(path):
    assert "does not exist. Run" in refusal(path, writable=False)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("writable", [True, False])
def test_a_folder_is_no_store(tmp_path, writable):
    assert "is a folder" in refusal(tmp_path, writable=writable)


def test_a_folder_that_does_not_exist_is_not_made(tmp_path):
    assert 'the folder "' in refusal(tmp_path / "no" / "odernn.sqlite", writable=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder_to_put_a_store_in(tmp_path):
    (tmp_path / "file").write_text("")
    assert "does not exist" in refusal(tmp_path / "file" / "odernn.sqlite", writable=True)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc, where nobody can make a file")
def test_a_folder_without_permission_is_not_taken_for_a_store_in_use():
    assert "cannot be written" in refusal(Path("/proc/odernn.sqlite"), writable=True)


@pytest.mark.skipif(os.name != "posix", reason="device files")
def test_a_device_is_no_store():
    assert "no regular file" in refusal(Path("/dev/null"), writable=True)


def test_a_name_that_the_system_refuses_is_refused(tmp_path):
    assert "cannot be reached" in refusal(tmp_path / ("a" * 1000), writable=True)


@pytest.mark.parametrize("writable", [True, False])
def test_a_text_file_is_no_store_and_is_left_as_it_was(path, writable):
    path.write_text("These are my notes, not a database.\n" * 100)
    before = path.read_bytes()
    assert "not a database" in refusal(path, writable=writable)
    assert path.read_bytes() == before


@pytest.mark.parametrize("writable", [True, False])
def test_the_database_of_another_program_is_left_as_it_was(path, writable):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = path.read_bytes()
    assert "another program" in refusal(path, writable=writable)
    assert path.read_bytes() == before


@pytest.mark.parametrize("writable", [True, False])
def test_a_store_of_a_newer_odernn_is_left_as_it_was(path, writable):
    with Store(path, writable=True) as store:
        put(store, "a", 1)
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    assert f"schema {SCHEMA_VERSION + 1}, this odernn knows {SCHEMA_VERSION}" in refusal(path, writable=writable)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION + 1,)
    assert database.execute("SELECT key FROM jobs").fetchall() == [("a",)]
    database.close()


def test_an_empty_file_becomes_a_store_for_a_writer_but_holds_nothing_for_a_reader(path):
    path.touch()
    assert "holds no odernn tables" in refusal(path, writable=False)
    with Store(path, writable=True) as store:
        put(store, "a", 1)


def test_a_store_whose_making_was_cut_short_is_completed(path):
    database = sqlite3.connect(path)
    database.execute(store_file._SCHEMA.split(";")[0])  # the first table, and no version number yet
    database.close()
    with Store(path, writable=True) as store:
        put(store, "a", 1)
        assert store.data("a") == 1


def test_a_refused_store_can_be_opened_once_the_reason_is_gone(path):
    path.write_text("no database" * 1000)
    refusal(path, writable=True)
    path.unlink()
    with Store(path, writable=True) as store:  # the lock was given back
        put(store, "a", 1)


# --- faults while running ---------------------------------------------------------------------------------------


def test_what_is_no_full_disk_asks_for_no_space(path):
    with Store(path, writable=True) as store:
        store._database.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match=r"readonly database.*check the file and its folder") as raised:
            put(store, "a", 1)
    assert "space" not in str(raised.value)


def test_a_full_disk_stops_the_run_and_keeps_what_was_finished(path):
    with Store(path, writable=True) as store:
        for number in range(5):
            put(store, f"early-{number}", number)
        pages = store._database.execute("PRAGMA page_count").fetchone()[0]
        store._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match="What was finished is kept: free some space") as raised:
            for number in range(100):
                put(store, f"late-{number}", "x" * 4000)
        assert "full" in str(raised.value)
        assert number >= 0
        assert [store.data(f"early-{k}") for k in range(5)] == list(range(5))
    with Store(path, writable=True) as store:  # space was made: the same command goes on
        put(store, "late-0", "x" * 4000)
        assert [store.data(f"early-{k}") for k in range(5)] == list(range(5))


def test_a_file_that_became_unwritable_is_a_store_error(path):
    with Store(path, writable=True) as store:
        put(store, "a", 1)
        store._database.execute("PRAGMA query_only = ON")  # what SQLite says on a file system that went read-only
        with pytest.raises(StoreError, match="cannot be written: attempt to write a readonly database"):
            put(store, "b", 2)
        with pytest.raises(StoreError, match="cannot be written"):
            store.begin_run("one", {}, ["a"])
        assert store.data("a") == 1


def test_a_damaged_file_is_a_store_error_not_a_wrong_answer(path):
    with Store(path, writable=True) as store:
        for number in range(300):
            put(store, f"{number:03}", {"value": "x" * 1000})
    content = bytearray(path.read_bytes())
    content[8192:-4096] = b"\xa5" * (len(content) - 8192 - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"), Store(path, writable=False) as store:
        for number in range(300):
            assert store.data(f"{number:03}") == {"value": "x" * 1000}


def test_a_run_begins_in_one_transaction_so_that_a_kill_cannot_lose_the_one_before(path, monkeypatch):
    with Store(path, writable=True) as store:
        store.begin_run("one", {"seed": 1}, ["a"])
        write, statements = store.write, []
        monkeypatch.setattr(store, "write", lambda *args: (statements.append(args[0]), write(*args)))
        store.begin_run("one", {"seed": 1}, ["a"])
        begin, end = statements.index("BEGIN IMMEDIATE"), statements.index("COMMIT")
        changing = [k for k, text in enumerate(statements) if text.split()[0] in ("INSERT", "UPDATE", "DELETE")]
        assert len(changing) == 4 and begin == 0 and max(changing) < end


def test_the_settings_of_a_run_are_plain_json(path):
    with Store(path, writable=True) as store:
        store.begin_run("one", {"claims": ["icml-C.1"], "data": None}, ["a"])
        row = store._database.execute("SELECT settings FROM runs").fetchone()
    assert json.loads(row[0]) == {"claims": ["icml-C.1"], "data": None}
