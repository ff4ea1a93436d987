"""Inputs that a reader was not made for: seeds with bytes, tokens and values changed, by a random generator alone.

json and toml are changed as values and as text, pt by its parts, all else as bytes; each kind as bytes, too.
"""

from __future__ import annotations

import copy
import json
import random
import re
import struct
from collections.abc import Sequence
from typing import Any

from tests.reliability import pickled

LONGEST = 2**18
"""Bytes of an input."""
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.5, -0.0, 1e308, 5e-324, 1e38),
    *("", "x", "0", "-1", "1/0", "0x1p+1023", "nan", "\0", "\u202e", "\U0001f600", "=1+1", "<script>", "x" * 5000),
    *([], {}, [[]], [0], [[1, 2], [3]], {"": 0}, {"a": {"a": {}}}, [None] * 100, ["a", 1, None]),
)
JSON_TOKENS = (
    *(b"NaN", b"-Infinity", b"1e999", b"-0", b"1" + b"0" * 5000, b'"\\ud800"', b'"\\ud83d\\ude00"', b"null", b"true"),
    *(
        b"[" * 300,
        b"[" * 20_000,
        b'{"a":' * 300,
        b"[" * 80 + b"]" * 80,
        b"{",
        b"}",
        b",",
        b":",
        b'"',
        b"\\u0000",
        b"\xef\xbb\xbf",
    ),
    *(b"\xff", b"\0", b'"a":1,"a":2', b"[]", b"{}", b"-", b"1.", b".5", b"/*", b"//"),
)
TOML_VALUES = (
    *(
        "0",
        "-1",
        "1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e308",
        "true",
        '""',
        '"x"',
        '"\\u0000"',
        "[]",
        "[[]]",
        "{}",
        "[1,2]",
    ),
    *(
        "0x" + "f" * 5000,
        "1" + "0" * 5000,
        "1979-05-27",
        "07:32:00",
        "2026-01-01T00:00:00Z",
        "9223372036854775808",
        "'''\n'''",
    ),
    *(
        "[" * 300,
        "[" * 5000,
        "{a=" * 300,
        "[" * 70 + "]" * 70,
        "{a.b.c=1}",
        '["*"]',
        "[[1, 0.5]]",
        '"' + "y" * 3000 + '"',
        "0.5",
    ),
)
TOML_TOKENS = (
    *(
        b".a" * 100,
        b"[a" + b".a" * 3000 + b"]\n",
        b"a" + b" . a" * 3000 + b" = 1\n",
        b'"\\"".' * 300,
        b"[[x]]\n",
        b"[rows.a]\n",
    ),
    *(
        b"=",
        b"\n",
        b"'''",
        b'"""',
        b"#",
        b"\r",
        b"\0",
        b"\xff",
        b"[",
        b"]",
        b"{",
        b"}",
        b"\xef\xbb\xbf",
        b"a=1\na=2\n",
        b"1.1.1.",
    ),
)
BYTES = (
    *(
        b"\0",
        b"\xff",
        b"\x7f",
        b"\x80",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\x7f",
        b"\0\0\0\x80",
        b"\1\0\0\0",
    ),
    *(
        b"\xff" * 8,
        b"\xff" * 7 + b"\x7f",
        b"\0\0\0\0\1\0\0\0",
        b"\n",
        b",",
        b"-",
        b"nan",
        b"inf",
        b"1e999",
        b"%n",
        b"'",
        b'"',
    ),
    *(
        b"9" * 30,
        b"-1",
        b"1" + b"0" * 5000,
        b" ",
        b"\r\n",
        b":",
        b"=",
        b"{",
        b"(",
        b"[" * 500,
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
    ),
)
TOKENS = {"json": JSON_TOKENS, "toml": TOML_TOKENS, "text": BYTES, "bytes": BYTES, "pt": BYTES}


def mutant(kind: str, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    """One input made of these seeds."""
    seed = chance.choice(seeds)
    if kind == "json" and chance.random() < 0.5:
        seed = _other_value(seed, chance)
        if chance.random() < 0.8:
            return seed[:LONGEST]
    if kind == "toml" and chance.random() < 0.6:
        seed = _other_line(seed, chance)
        if chance.random() < 0.7:
            return seed[:LONGEST]
    if kind == "pt" and chance.random() < 0.85:
        return pickled.mutant(seed, chance)[:LONGEST]
    changed = bytearray(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        _change(changed, seeds, TOKENS[kind], chance)
    return bytes(changed[:LONGEST])


def _change(held: bytearray, seeds: Sequence[bytes], tokens: Sequence[bytes], chance: random.Random) -> None:
    at = chance.randrange(len(held) + 1)
    end = min(len(held), at + chance.choice((1, 2, 4, 8, 64)))
    match chance.randrange(10):
        case 0:
            if at < len(held):
                held[at] ^= 1 << chance.randrange(8)
        case 1:
            held[at:end] = chance.randbytes(end - at)
        case 2:
            del held[at:end]
        case 3:
            held[at:at] = held[at:end] * chance.choice((1, 2, 100))
        case 4:
            held[at:at] = chance.choice(tokens)
        case 5:
            token = chance.choice(tokens)
            held[at : at + len(token)] = token
        case 6:
            del held[at:]
        case 7:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            held[at:] = other[start:]
        case 8:
            size, order = chance.choice("BHIQ"), chance.choice("<>")
            bits = 8 * struct.calcsize(size)
            number = chance.choice((0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, chance.getrandbits(bits)))
            packed = struct.pack(order + size, number)
            held[at : at + len(packed)] = packed
        case _:
            numbers = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(held[:20_000])))
            if numbers:
                chosen = chance.choice(numbers)
                held[chosen.start() : chosen.end()] = chance.choice(
                    (
                        b"0",
                        b"-1",
                        b"1e999",
                        b"nan",
                        b"9" * 25,
                        b"2147483648",
                        b"18446744073709551616",
                        b"0.5",
                        b"1e38",
                        b"",
                    )
                )


# --- values of JSON and lines of TOML


def _other_value(seed: bytes, chance: random.Random) -> bytes:
    """The value with one or two of its nodes replaced, taken away, renamed or given twice."""
    try:
        value = json.loads(seed)
    except (ValueError, RecursionError):
        return seed
    for _ in range(chance.choice((1, 1, 2))):
        value = _replaced(value, chance)
    text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.05 and (pairs := re.findall(r'"\w+": \d+', text)):
        pair = chance.choice(pairs)
        text = text.replace(pair, f"{pair}, {pair}", 1)
    return text.encode("utf-8", "surrogatepass")


def _replaced(value: Any, chance: random.Random) -> Any:
    if not isinstance(value, (dict, list)) or not value or chance.random() < 0.15:
        return copy.deepcopy(chance.choice(VALUES))
    if isinstance(value, dict):
        key = chance.choice(list(value))
        match chance.randrange(12):
            case 0:
                return {name: each for name, each in value.items() if name != key}
            case 1:
                return {
                    chance.choice(("", "x", key + "s", "\0")) if name == key else name: v for name, v in value.items()
                }
            case 2:
                return value | {chance.choice(("more", "__class__", "0")): chance.choice(VALUES)}
            case _:
                return value | {key: _replaced(value[key], chance)}
    at = chance.randrange(len(value))
    match chance.randrange(8):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return value + [value[at]] * chance.choice((1, 2, 50))
        case _:
            return [*value[:at], _replaced(value[at], chance), *value[at + 1 :]]


def _other_line(seed: bytes, chance: random.Random) -> bytes:
    """The text with the values of one or two keys replaced, or a line taken away or given twice."""
    lines = seed.decode("utf-8", "replace").split("\n")
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(lines))
        key, equals, _ = lines[at].partition("=")
        if equals and chance.random() < 0.8:
            lines[at] = f"{key}= {chance.choice(TOML_VALUES)}"
        elif chance.random() < 0.5:
            lines.insert(at, lines[chance.randrange(len(lines))])
        else:
            del lines[at]
            lines = lines or [""]
    return "\n".join(lines).encode()
