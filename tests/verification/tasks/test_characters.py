"""Penn Treebank and text8 from texts written here, followed character by character in plain Python."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verification.tasks.official_files import folder_with
from verification.tasks import penn_treebank_characters as ptb
from verification.tasks import text8_characters as text8
from verification.tasks.images import DataError

SENTENCES = {
    "train": ["no it was n't black monday", "<unk> said N % of the u.s. & co.'s", "a/b #1 $ 7 \\ <unk>-<unk> *"],
    "valid": ["so it goes", "<unk>"],
    "test": ["the end .", "zq"],
}


def spaced(sentence: str) -> str:
    """As in Mikolov's files: a blank between characters, "_" for a blank."""
    return " ".join(sentence.replace(" ", "_").replace("%", "&"))


def made(folder: Path) -> dict[str, str]:
    """The three files, the second and later lines with a blank at both ends as the real ones have, and their MD5."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, sentences in SENTENCES.items():
        text = " \n ".join(map(spaced, sentences)) + " \n"
        (folder / f"ptb.char.{part}.txt").write_text(text)
    return {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in folder.glob("ptb.char.*")}


def read_back(sequences: Any, targets: Any, alphabet: bytes) -> tuple[str, str]:
    """What a reader sees and what it should say, piece after piece; AssertionError if a row is not one-hot."""
    whole = np.asarray(sequences)
    assert whole.dtype == np.float32 and whole.shape[:2] == targets.shape and targets.dtype == np.int64
    seen, said = "", ""
    for j in range(whole.shape[1]):
        for row, target in zip(whole[:, j].tolist(), targets[:, j].tolist(), strict=True):
            assert sorted(row) == [0.0] * (len(alphabet) - 1) + [1.0]
            seen += chr(alphabet[row.index(1.0)])
            said += chr(alphabet[target])
    return seen, said


def expected(text: str, steps: int) -> tuple[str, str]:
    kept = (len(text) - 1) // steps * steps
    return text[:kept], text[1 : kept + 1]


@pytest.mark.parametrize("steps", [1, 3, 5])
@pytest.mark.parametrize("subfolder", [".", "ptb_char", "simple-examples/data"])
def test_every_symbol_of_the_treebank_is_followed_by_the_next_one(tmp_path: Path, steps: int, subfolder: str) -> None:
    md5 = made(tmp_path / subfolder)
    for split, part in (("train", "train"), ("validation", "valid"), ("test", "test")):
        text = "".join(sentence.replace(" ", "_").replace("%", "&") + "\n" for sentence in SENTENCES[part])
        sequences, targets, spec = ptb.load(split, tmp_path, steps=steps, md5=md5)
        assert read_back(sequences, targets, ptb.ALPHABET) == expected(text, steps)
        assert (spec.steps, spec.input_size, spec.output_size) == (steps, 50, 50)
        assert spec.count == (len(text) - 1) // steps and f"ptb.char.{part}.txt" in spec.origin


def test_the_oracle_sees_targets_that_are_the_inputs(tmp_path: Path) -> None:
    sequences, targets, _ = ptb.load("test", tmp_path, steps=2, md5=made(tmp_path))
    seen, said = read_back(sequences, targets, ptb.ALPHABET)
    wrong = np.array(
        [[ptb.ALPHABET.index(seen[2 * j + n].encode()) for j in range(targets.shape[1])] for n in range(2)]
    )
    assert read_back(sequences, wrong, ptb.ALPHABET)[1] != said


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_packed_file_is_verified_after_unpacking(tmp_path: Path, ending: str, pack: Any) -> None:
    md5 = made(tmp_path)
    plain = ptb.load("train", tmp_path, steps=4, md5=md5)[2].sha256
    path = tmp_path / "ptb.char.train.txt"
    packed = pack(path.read_bytes())
    path.unlink()
    (tmp_path / f"{path.name}{ending}").write_bytes(packed)
    assert ptb.load("train", tmp_path, steps=4, md5=md5)[2].sha256 == plain
    (tmp_path / f"{path.name}{ending}").write_bytes(packed[:-9])
    with pytest.raises(DataError, match=f"is not a complete {ending} file"):
        ptb.load("train", tmp_path, md5=md5)


@pytest.mark.parametrize("fault", ["truncated", "one letter"])
def test_a_treebank_that_is_not_the_official_one_is_refused(tmp_path: Path, fault: str) -> None:
    md5 = made(tmp_path)
    path = tmp_path / "ptb.char.test.txt"
    path.write_bytes(path.read_bytes()[:-3] if fault == "truncated" else path.read_bytes().replace(b"z", b"x"))
    with pytest.raises(DataError, match=f"ptb.char.test.txt: .* the official file has MD5 {md5[path.name]}"):
        ptb.load("test", tmp_path, steps=2, md5=md5)
    with pytest.raises(DataError, match="has MD5 1f9a2d1afe00f76e8bfbe09a65439681"):
        ptb.load("test", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\n c de f\n", "line 2: not single characters with a blank between"),
        ("a  b\n", "line 1: not single"),
        ("a é\n", "not single|not in the alphabet"),
        ("a B\n", "byte 1 is b'B', which is not in the alphabet"),
        ("", "0 characters are too few for one piece of 2"),
        ("a b", "2 characters are too few for one piece of 2"),
    ],
)
def test_a_text_in_another_layout_is_refused(tmp_path: Path, text: str, message: str) -> None:
    content = text.encode()
    (tmp_path / "ptb.char.test.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        ptb.load("test", tmp_path, steps=2, md5={"ptb.char.test.txt": hashlib.md5(content).hexdigest()})


def test_the_baseline_is_the_entropy_of_the_characters_and_the_figure_is_in_bits(tmp_path: Path) -> None:
    sequences, targets, spec = ptb.load("train", tmp_path, steps=1, md5=made(tmp_path))
    said = read_back(sequences, targets, ptb.ALPHABET)[1]
    counts = Counter(said)
    bits = math.log2(len(said)) - math.fsum(n * math.log2(n) for n in counts.values()) / len(said)
    assert spec.published(spec.baseline) == pytest.approx(bits, rel=100 * np.finfo(float).eps)  # 40 terms


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(seed: int, count: int) -> str:
    chance = random.Random(seed)
    return " ".join("".join(chance.choices(LETTERS, k=chance.randint(1, 9))) for _ in range(count))


def test_text8_is_divided_in_its_order_and_every_letter_followed_by_the_next(tmp_path: Path) -> None:
    text = (" " + words(1, 300))[:1000]
    (tmp_path / "text8").write_text(text)
    md5 = hashlib.md5(text.encode()).hexdigest()
    for split, part in (("train", text[:900]), ("validation", text[900:950]), ("test", text[950:])):
        sequences, targets, spec = text8.load(split, tmp_path, steps=7, md5=md5)
        assert read_back(sequences, targets, text8.ALPHABET) == expected(part, 7)
        assert spec.name == "text8_characters" and (spec.input_size, spec.output_size) == (27, 27)
    with pytest.raises(DataError, match="has MD5 3bea1919949baf155f99411df5fada7e"):
        text8.load("train", tmp_path)


def test_another_text_is_brought_to_the_alphabet_of_text8(tmp_path: Path) -> None:
    raw = "  It's 1908 --\r\n\tthe End;\u00e9t\u00e9 & " + words(2, 200).upper() + "!!\n"
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "mine.txt").write_text(raw)
    clean = " ".join("".join(c if c in LETTERS else " " for c in raw.lower()).split())
    assert clean.startswith("it s the end t ")
    sequences, targets, spec = text8.load("train", tmp_path, file="mine.txt", steps=3)
    assert read_back(sequences, targets, text8.ALPHABET) == expected(clean[: round(0.9 * len(clean))], 3)
    assert spec.name == "text8_characters of mine.txt" and f"{len(clean)} characters in its alphabet" in spec.origin


def test_a_text_without_letters_or_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "digits.txt").write_text("3.14159\n")
    with pytest.raises(DataError, match=r"digits.txt: has no letter a to z"):
        text8.load("train", tmp_path, file="digits.txt")
    (tmp_path / "short.txt").write_text("ab cd")
    with pytest.raises(DataError, match="are too few for one piece of 180"):
        text8.load("train", tmp_path, file="short.txt")
    with pytest.raises(DataError, match=r"no file other.txt \(nor other.txt.gz, other.txt.xz\)"):
        text8.load("train", tmp_path, file="other.txt")
    with pytest.raises(ValueError, match="steps is 0"):
        text8.load("train", tmp_path, file="short.txt", steps=0)


@pytest.mark.data
def test_the_official_treebank_has_its_published_sizes() -> None:
    """42,068 sentences and 5,017,482 symbols with the ends of the lines in train; all 50 symbols of the alphabet."""
    root = folder_with(*(f"{sub}ptb.char.train.txt{end}" for sub in ("", "ptb_char/") for end in ("", ".xz", ".gz")))
    sequences, targets, spec = ptb.load("train", root)
    assert spec.count == (5_017_482 - 1) // 50 and sequences.shape == (50, spec.count, 50)
    assert set(np.unique(targets).tolist()) == set(range(50))
    assert int((targets == 0).sum()) in range(42_068 - 1, 42_068 + 1)  # the text ends with one that may be cut off
    assert [ptb.load(split, root)[2].count for split in ("validation", "test")] == [7860, 8848]


@pytest.mark.data
@pytest.mark.parametrize(
    ("split", "published"),
    [
        ("train", "f26c4b92c5fdc7b3f8c7cdcb991d8420"),
        ("validation", "aa0affc06ff7c36e977d7cd49e3839bf"),
        ("test", "8b80168b89c18661a38ef683c0dc3721"),
    ],
)
def test_what_was_read_written_as_words_has_the_published_checksum_of_the_files_of_words(
    split: str, published: str
) -> None:
    """ptb.train.txt and its fellows, whose MD5 are published, are the same sentences word by word."""
    root = folder_with(*(f"{sub}ptb.char.train.txt{end}" for sub in ("", "ptb_char/") for end in ("", ".xz", ".gz")))
    sequences, targets, _ = ptb.load(split, root, steps=1)
    symbols = [int(np.argmax(sequences[0, 0])), *targets[0].tolist()]
    lines = bytes(ptb.ALPHABET[i] for i in symbols).replace(b"_", b" ").split(b"\n")[:-1]
    assert hashlib.md5(b"".join(b" " + line + b" \n" for line in lines)).hexdigest() == published


@pytest.mark.data
def test_a_real_text_has_the_entropy_of_english_letters() -> None:
    root = folder_with("text/tinyshakespeare.txt.xz", "text/tinyshakespeare.txt")
    spec = text8.load("train", root, file="tinyshakespeare.txt")[2]
    assert 4.0 < spec.published(spec.baseline) < 4.2  # about 4.1 bits for 26 letters and the blank
