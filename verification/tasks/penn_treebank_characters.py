"""Penn Treebank, character by character: the next of 50 symbols (Mikolov et al. 2012; Zhang et al. 2016, Table 1).

The files ptb.char.*.txt have their characters separated by blanks, "_" for a blank and one sentence a line; the end of
a line is a symbol too. The three official files are the three splits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from verification.tasks import _characters, files
from verification.tasks.images import DataError
from verification.tasks.task import Loaded, Root, split_index

NAME = "penn_treebank_characters"
FILES = ("ptb.char.train.txt", "ptb.char.valid.txt", "ptb.char.test.txt")
SUBFOLDERS = ("ptb_char", "simple-examples/data", "data")
ALPHABET = b"\n#$&'*-./0123456789<>N\\_abcdefghijklmnopqrstuvwxyz"
MD5: Mapping[str, str] = {
    "ptb.char.train.txt": "874909f99060142f6b88cc74c34baaa2",
    "ptb.char.valid.txt": "9e0fe5bec2a8bf43fd686dc23d5ab8bb",
    "ptb.char.test.txt": "1f9a2d1afe00f76e8bfbe09a65439681",
}
ARCHIVE = "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"
ARCHIVE_MD5 = "30177ea32e27c525793142b6bf2c8e2d"


def load(split: str, root: Root = None, *, steps: int = 50, md5: Mapping[str, str] | None = None) -> Loaded:
    """(steps, count, 50) characters, one-hot float32, made when asked for; (steps, count) the next ones, int64.

    root   holds the files, or ptb_char or simple-examples/data inside it does
    md5    of the files, unpacked (other lists are for tests)
    Symbols are numbered in the order of ``ALPHABET``. The published figure is loss/ln 2, bits per character.
    Raises DataError for an unknown split, and for missing, damaged or other files.
    """
    place = split_index(NAME, split)
    path = files.find(NAME, root, FILES[place], SUBFOLDERS)
    content = files.read(path, md5=(MD5 if md5 is None else md5)[FILES[place]])
    return _characters.pieces(
        _characters.indices(joined(content, path), ALPHABET, str(path)),
        name=NAME,
        split=place,
        letters=len(ALPHABET),
        steps=steps,
        origin=f"{path.name}, MD5 verified",
    )


def joined(content: bytes, path: Path) -> bytes:
    """The symbols without the blanks that separate them, "_" still for a blank; DataError if two stand together."""
    text = b"\n".join(line.strip(b" ") for line in content.split(b"\n"))
    for number, line in enumerate(text.split(b"\n"), 1):
        if line[1::2].strip(b" ") or b" " in line[::2]:
            raise DataError(f"{path}, line {number}: not single characters with a blank between. {files.AGAIN}")
    return text.replace(b" ", b"")


def download(folder: str | Path) -> Path:
    """The three files out of the official archive; checksums of the archive and of each file are verified."""
    archive = files.fetch(NAME, ARCHIVE, folder, known=f"md5:{ARCHIVE_MD5}")
    target = archive.parent / SUBFOLDERS[0]
    files.extract(archive, {name: target / name for name in FILES}, md5=MD5)
    return target
