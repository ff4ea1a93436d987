"""A user's tableau from a JSON or TOML file, and back.

    name = "my method"            # optional, else the name of the file
    source = "hairer1996, (IV.6.16)"
    order = 3                     # what the source declares; compared with what is computed
    A = [["1/2-sqrt(3)/6", 0], ["sqrt(3)/3", "1/2-sqrt(3)/6"]]
    b = ["1/2", "1/2"]
    c = [...]                     # optional, compared with the row sums of A
    b_hat = [...]                 # optional, the embedded weights; order_hat their declared order
    digits = 10                   # if the coefficients are decimals rounded to 10 places; write them as text

Numbers are exact: integers, and text such as "1/3", "0.25", "1/2-sqrt(3)/6". A number with a point or an exponent
outside quotes is a float, that is, the nearest double, and the tableau says so. A partitioned method has the tables
``position`` and ``momentum`` with A, b, c and digits in each. Nothing unknown is skipped: a misspelt key is an error.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from odernn import folders, foreign
from odernn.exact.algebraic import Algebraic, nearest_float
from odernn.foreign import ForeignError
from odernn.published.sources import Source
from odernn.tableaus.tableau import ButcherTableau, Composition, PartitionedTableau

_NUMBERS = ("A", "b", "c", "b_hat")
_HALVES = ("position", "momentum")
_HALF_KEYS = ("name", "A", "b", "c", "digits", "order", "source")
_SINGLE_KEYS = ("name", "source", "order", "A", "b", "c", "b_hat", "order_hat", "digits")
_PAIR_KEYS = ("name", "source", "order", *_HALVES)
_ENDINGS = frozenset({".py", ".json", ".toml"})


def read(path: str | Path) -> ButcherTableau | PartitionedTableau:
    """The tableau in the file. ValueError names the file, the key, the row and the cause; OSError: it is unreadable."""
    path = Path(path)
    try:
        document = _load(path)
        if any(half in document for half in _HALVES):
            return _pair(document, path.stem)
        return _single(document, path.stem, None, _SINGLE_KEYS)
    except ForeignError as error:
        raise ValueError(f"{path}: {foreign.short(str(error))}.") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {foreign.short(str(error))}") from None


def in_folders(
    places: Iterable[str | Path],
    entry: Callable[[str], ButcherTableau | PartitionedTableau | Composition | None],
    holder_of: Callable[[str], str | None],
) -> Mapping[str, ButcherTableau | PartitionedTableau | Composition]:
    """The methods of all .py, .json and .toml files of these folders by their names, lower case; sorted.

    entry      the catalogue's method of a name: where a .py file imports one to build on it, that is none of its own
    holder_of  what has a name already, in words

    FolderError for a name that is taken, and for a file that has no method.
    """
    methods: dict[str, ButcherTableau | PartitionedTableau | Composition] = {}
    homes: dict[str, Path] = {}
    for path in folders.files("tableau", places, _ENDINGS):
        for method in _methods_in(path):
            name = method.name.casefold()
            if method is methods.get(name) or method is entry(name):  # another constant for it, or imported
                continue
            taken = f'"{homes[name]}"' if name in homes else holder_of(name)
            if taken is not None:
                raise folders.is_taken("tableau", method.name, path, taken)
            methods[name], homes[name] = method, path
    return dict(sorted(methods.items()))


def _methods_in(path: Path) -> Iterator[ButcherTableau | PartitionedTableau | Composition]:
    """The methods of one file, imported ones too."""
    if path.suffix.casefold() != ".py":
        try:
            yield read(path)
        except (ValueError, OSError) as error:
            raise folders.FolderError(f"{error} Correct the file, or take it out of the folder.") from None
        return
    constants = [
        value
        for value in vars(folders.load("tableau", path)).values()
        if isinstance(value, ButcherTableau | PartitionedTableau | Composition)
    ]
    if not constants:
        raise folders.FolderError(
            f'Tableau file "{path}" has no tableau. Write a constant, NAME = ButcherTableau(...), as in the files of '
            "odernn/tableaus/catalogue."
        )
    yield from constants


def _load(path: Path) -> dict[str, Any]:
    suffix = path.suffix.casefold()
    if suffix not in {".json", ".toml"} and not path.is_dir():
        raise ValueError(f"the ending {path.suffix!r} is not known. Call the file .json or .toml.")
    text = foreign.text_of(path)
    document: Any = foreign.parsed_toml(text) if suffix == ".toml" else foreign.parsed_json(text, non_finite=True)
    if not isinstance(document, dict):
        raise ValueError(f'the file holds a {type(document).__name__}, not a table with the keys "A" and "b".')
    return document


def _single(document: Any, name: str, half: str | None, allowed: tuple[str, ...]) -> ButcherTableau:
    where = "" if half is None else f'in "{half}", '
    if not isinstance(document, dict):
        raise ValueError(f'the key "{half}" holds {document!r}, not a table with the keys "A" and "b".')
    _check_keys(document, allowed, where)
    for key in ("A", "b"):
        if key not in document:
            raise ValueError(f'{where}the key "{key}" is missing. A tableau has at least A and b.')
    arguments: dict[str, Any] = {key: document.get(key) for key in _NUMBERS}
    arguments |= {key: _integer(document, key, where) for key in ("order", "order_hat", "digits")}
    arguments |= {"name": _text(document, "name", name, where), "source": _source(document, where)}
    return ButcherTableau(**arguments)


def _pair(document: dict[str, Any], name: str) -> PartitionedTableau:
    _check_keys(document, _PAIR_KEYS, "")
    for half in _HALVES:
        if half not in document:
            raise ValueError(f'the key "{half}" is missing. A partitioned method has both, position and momentum.')
    name = _text(document, "name", name, "")
    position, momentum = (_single(document[half], f"{name}, {half}", half, _HALF_KEYS) for half in _HALVES)
    return PartitionedTableau(name, _source(document, ""), position, momentum, _integer(document, "order", ""))


def _check_keys(document: dict[str, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in document:
        if key not in allowed:
            near = [known for known in allowed if known.casefold() == key.casefold()]
            near = near or difflib.get_close_matches(key, allowed, n=1)
            advice = f'Did you mean "{near[0]}"?' if near else f"The keys are {', '.join(allowed)}."
            raise ValueError(f'{where}the key "{key}" is not known. {advice}')


def _integer(document: dict[str, Any], key: str, where: str) -> int | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f'{where}the key "{key}" holds {value!r}, not one of the integers 0, 1, 2, …')
    return value


def _text(document: dict[str, Any], key: str, default: str, where: str) -> str:
    value = document.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'{where}the key "{key}" holds {value!r}, not a text.')
    return value


def _source(document: dict[str, Any], where: str) -> Source | None:
    """ "key, place in it" as a source."""
    if "source" not in document:
        return None
    key, _, place = _text(document, "source", "", where).partition(",")
    return Source(key.strip(), place.strip())


def write(tableau: ButcherTableau | PartitionedTableau | Composition, path: str | Path) -> None:
    """The tableau as a file that ``read`` gives back equal; the ending of the path says JSON or TOML."""
    path = Path(path)
    if isinstance(tableau, Composition):
        tableau = tableau.tableau
    suffix = path.suffix.casefold()
    if suffix not in {".json", ".toml"}:
        raise ValueError(f"{path}: the ending {path.suffix!r} is not known. Call the file .json or .toml.")
    document = _document(tableau)
    text = _toml(document) if suffix == ".toml" else "{\n" + ",\n".join(_json_lines(document, "  ")) + "\n}\n"
    path.write_text(text, encoding="utf-8")


def _document(tableau: ButcherTableau | PartitionedTableau) -> dict[str, Any]:
    """The tableau as plain data; what is not stated has no key."""
    source = None if tableau.source is None else str(tableau.source)
    document: dict[str, Any] = {"name": tableau.name, "source": source, "order": tableau.order}
    if isinstance(tableau, PartitionedTableau):
        document |= {"position": _document(tableau.position), "momentum": _document(tableau.momentum)}
    else:
        floats = tableau.is_float
        document |= {
            "digits": tableau.digits,
            "A": [[_plain(a, floats) for a in row] for row in tableau.A],
            "b": [_plain(b, floats) for b in tableau.b],
            "b_hat": None if tableau.b_hat is None else [_plain(b, floats) for b in tableau.b_hat],
            "order_hat": tableau.order_hat,
        }
    return {key: value for key, value in document.items() if value is not None}


def _plain(value: Any, floats: bool) -> int | float | str:
    if isinstance(value, Algebraic):
        return str(value)
    if value.q == 1 and not floats:
        return int(value.p)
    if floats:
        near = nearest_float(value)
        numerator, denominator = near.as_integer_ratio()
        if (numerator, denominator) == (int(value.p), int(value.q)):
            return near
    return str(value)


def _json_lines(document: dict[str, Any], indent: str) -> list[str]:
    """One line a key, one line a row of A."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict):
            inside = ",\n".join(_json_lines(value, indent + "  "))
            lines.append(f'{indent}"{key}": {{\n{inside}\n{indent}}}')
        else:
            lines.append(f'{indent}"{key}": {_value(value, indent)}')
    return lines


def _toml(document: dict[str, Any]) -> str:
    plain = [f"{key} = {_value(value, '')}" for key, value in document.items() if not isinstance(value, dict)]
    tables = [f"\n[{key}]\n{_toml(value)}" for key, value in document.items() if isinstance(value, dict)]
    return "\n".join(plain) + "\n" + "".join(tables)


def _value(value: Any, indent: str) -> str:
    """A value that JSON and TOML write alike."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        rows = (",\n" + indent + "  ").join(_value(row, "") for row in value)
        return f"[\n{indent}  {rows}\n{indent}]"
    if isinstance(value, list):
        return f"[{', '.join(_value(entry, '') for entry in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
