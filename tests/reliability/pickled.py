"""Files of torch.save with their parts changed: what is well-formed gets past the archive and the pickle, into torch.

An archive is written again, with the sums that belong to it, after its pickle has other numbers, texts or names, its
numbers other bits, or a part is missing or twice; a pickle of the old format is changed in place.
"""

from __future__ import annotations

import io
import pickletools
import random
import struct
import zipfile

NAMES = (
    *(
        f"torch {kind}Storage"
        for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
    ),
    *("torch ComplexFloatStorage", "torch ComplexDoubleStorage", "torch.storage UntypedStorage", "torch QInt8Storage"),
    *("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_sparse_tensor", "torch._utils _rebuild_qtensor"),
    *("torch._utils _rebuild_parameter", "torch._utils _rebuild_nested_tensor", "torch device", "torch Size"),
    *("collections OrderedDict", "builtins dict", "builtins eval", "os system", "torch float32", "torch strided"),
    "tests.reliability.readers.reader touched",
)
TEXTS = ("", "0", "1", "2", "cpu", "meta", "cuda", "inputs", "x", "y", "\0", "../0", "storage", "w" * 300, "é")
NUMBERS = (0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 24, 255, 256, 65535, 2**31 - 1)


def mutant(seed: bytes, chance: random.Random) -> bytes:
    """One input made of a file of torch.save."""
    if not zipfile.is_zipfile(io.BytesIO(seed)):
        return changed(seed, chance)
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        parts = [(member.filename, archive.read(member)) for member in archive.infolist()]
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(parts))
        name, content = parts[at]
        match chance.randrange(8):
            case 0 | 1 | 2:
                at = next((k for k, (name, _) in enumerate(parts) if name.endswith("data.pkl")), at)
                parts[at] = (parts[at][0], changed(parts[at][1], chance))
            case 3 | 4 | 5:
                numbers = [k for k, (name, held) in enumerate(parts) if "/data/" in name and held]
                at = chance.choice(numbers or [at])
                parts[at] = (parts[at][0], _other_bits(parts[at][1], chance))
            case 6:
                parts[at] = (name, content + content if chance.random() < 0.5 else content[: len(content) // 2])
            case _ if chance.random() < 0.5 and len(parts) > 1:
                del parts[at]
            case _:
                other = chance.choice(parts)[0]
                parts[at] = (other, content)
    buffer, seen = io.BytesIO(), set()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts:
            if name not in seen:
                archive.writestr(name, content)
                seen.add(name)
    return buffer.getvalue()


def _other_bits(held: bytes, chance: random.Random) -> bytes:
    numbers = bytearray(held or b"\0")
    for _ in range(chance.choice((1, 1, 4))):
        numbers[chance.randrange(len(numbers))] ^= 1 << chance.randrange(8)
    return bytes(numbers)


def changed(held: bytes, chance: random.Random) -> bytes:
    """Pickles, one after another, with one or two of their operations changed: still pickles."""
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_operations(held))
        if not places:
            return held
        start, end, name, argument = chance.choice(places)
        held = held[:start] + _other(held[start:end], name, argument, chance) + held[end:]
    return held


def _operations(held: bytes) -> list[tuple[int, int, str, object]]:
    """(start, end, name, argument) of every operation that says something, as far as there are pickles."""
    found: list[tuple[int, int, str, object]] = []
    stream = io.BytesIO(held)
    try:
        while stream.tell() < len(held):
            before = [(at or 0, operation.name, argument) for operation, argument, at in pickletools.genops(stream)]
            ends = [at for at, *_ in before[1:]] + [stream.tell()]
            found += [(at, end, name, argument) for (at, name, argument), end in zip(before, ends, strict=True)]
    except ValueError:  # the numbers behind the pickles
        pass
    return [each for each in found if each[2] not in ("PROTO", "STOP", "BINPUT", "LONG_BINPUT", "MARK", "EMPTY_TUPLE")]


def _other(code: bytes, name: str, argument: object, chance: random.Random) -> bytes:
    if name in ("BININT", "BININT1", "BININT2") and isinstance(argument, int):
        number = chance.choice((argument + 1, max(0, argument - 1), 2 * argument, *NUMBERS))
        return b"J" + struct.pack("<i", min(number, 2**31 - 1))
    if name == "BINUNICODE":
        text = chance.choice(TEXTS).encode()
        return b"X" + struct.pack("<I", len(text)) + text
    if name == "GLOBAL":
        return b"c" + chance.choice(NAMES).replace(" ", "\n").encode() + b"\n"
    if name in ("NEWTRUE", "NEWFALSE"):
        return b"\x89" if name == "NEWTRUE" else b"\x88"
    return code * chance.choice((0, 2))
