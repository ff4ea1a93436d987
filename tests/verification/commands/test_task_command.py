"""``odernn task``: what it prints, and one line for everything that is wrong."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest

from tests.tiers import only
from verification import tasks
from verification.cli import main
from verification.tasks import adding, text8_characters

DONE, USAGE = 0, 2


def test_without_a_name_every_task_is_listed_with_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "--width", "200"]) == DONE
    title, _, _, _, *lines = capsys.readouterr().out.splitlines()
    assert title == f"{len(tasks.names())} tasks"
    assert [line.split()[0] for line in lines] == list(tasks.names())
    assert all(line.endswith(tasks.get(line.split()[0]).summary) for line in lines)


def test_a_task_is_described_split_by_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "adding", "--set", "steps=20", "--set", "count=7", "--width", "300"]) == DONE
    expected = [adding.load(split, steps=20, count=7)[2].describe() for split in ("train", "validation", "test")]
    assert capsys.readouterr().out.splitlines() == expected
    assert "7 sequences of 20 × 2" in expected[0]


@pytest.mark.parametrize("setting", only(["forcing=0.9", "forcing=1", "transient=0"], "forcing=1", "transient=0"))
def test_options_have_the_type_of_their_default(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["task", "Lorenz96", "--set", setting, "--set", "count=2", "--set", "steps=5"]) == DONE
    assert capsys.readouterr().out.count("2 sequences of 5 × 5") == 3


def test_the_folder_may_be_named_or_come_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.txt").write_text("the quick brown fox jumps over the lazy dog " * 50)
    arguments = ["task", "text8_characters", "--set", "file=mine.txt", "--set", "steps=9"]
    monkeypatch.delenv("ODERNN_DATA", raising=False)
    assert main([*arguments, "--root", str(tmp_path)]) == DONE
    named = capsys.readouterr().out
    monkeypatch.setenv("ODERNN_DATA", str(tmp_path))
    assert main(arguments) == DONE
    assert capsys.readouterr().out == named and named.count("text8_characters of mine.txt") == 3


WRONG = {
    "unknown task": (["task", "lorenz"], 'No task is called "lorenz". Did you mean "lorenz96"?'),
    "unknown option": (
        ["task", "adding", "--set", "length=3"],
        "adding has these options, shown with their defaults: steps=200",
    ),
    "no value": (["task", "adding", "--set", "steps"], "--set steps: adding has these options"),
    "wrong type": (["task", "adding", "--set", "steps=long"], "steps is 'long'; give a whole number, as in steps=200"),
    "test option": (
        ["task", "eigenworms", "--set", "statistics=None"],
        "--set statistics=None: eigenworms has these options",
    ),
    "impossible": (["task", "adding", "--set", "steps=2"], "adding: steps is 2; it must be an integer of 3 or more"),
    "no files": (["task", "adding", "--download"], "adding has no files to fetch"),
    "no folder": (["task", "bidmc"], "pass one (--root DIR) or set ODERNN_DATA"),
    "nowhere to fetch to": (["task", "bidmc", "--download"], "say where to, with --root DIR or in ODERNN_DATA"),
    "no name": (["task", "--download"], "Give NAME: --root, --download and --set go with it"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_one_line(
    what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODERNN_DATA", raising=False)
    arguments, message = WRONG[what]
    assert main(arguments) == USAGE
    captured = capsys.readouterr()
    assert captured.out == "" and message in captured.err and captured.err.count("\n") == 1


def test_a_name_of_a_file_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b[31m.txt"
    (tmp_path / name).write_text("the quick brown fox jumps over the lazy dog " * 50)
    assert (
        main(["task", "text8_characters", "--root", str(tmp_path), "--set", f"file={name}", "--set", "steps=9"]) == DONE
    )
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err and "\\x1b[31m" in captured.out


def test_download_fetches_before_it_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"the quick brown fox jumps over the lazy dog " * 200

    def fetched(task: str, url: str, folder: Path, *, known: str) -> Path:
        assert (task, url, known) == (
            "text8_characters",
            text8_characters.ARCHIVE,
            f"sha256:{text8_characters.ARCHIVE_SHA256}",
        )
        import zipfile

        with zipfile.ZipFile(Path(folder) / "text8.zip", "w") as archive:
            archive.writestr("text8", text)
        return Path(folder) / "text8.zip"

    monkeypatch.setattr(text8_characters.files, "fetch", fetched)
    monkeypatch.setattr(text8_characters, "MD5", hashlib.md5(text).hexdigest())
    monkeypatch.setitem(text8_characters.load.__kwdefaults__, "md5", hashlib.md5(text).hexdigest())
    assert main(["task", "text8_characters", "--root", str(tmp_path), "--download"]) == DONE
    captured = capsys.readouterr()
    assert captured.out.count("text8_characters, ") == 3 and "MD5 verified" in captured.out
    assert captured.err.startswith("fetching text8_characters into ")


def test_without_download_no_connection_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection is opened")

    monkeypatch.setattr(socket, "socket", refuse)
    for name in tasks.names():
        if tasks.get(name).download is not None:
            assert main(["task", name, "--root", str(tmp_path)]) == USAGE
            assert "--download" in capsys.readouterr().err
