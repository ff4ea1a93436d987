"""Forged parameters for every case that is not refuted: drawn inside its declaration, and mutated in and out of it.

    python -m tests.verification.forgery.forge --count 2000 --seed 3 [--claim ID]     draws a case, and what came of it

No forgery may certify. A draw may not fail either: what a declaration admits, a check can decide.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from verification.claim import ClaimError
from verification.commands import expectations
from verification.parameters import Guarded
from verification.question import Case, Place, Question
from verification.registry import Registry
from verification.verdict import REFUTED, doubt_about

PINS = Path(__file__).parents[1] / "pins.json"
HOSTILE = (
    "",
    "0",
    "-1",
    "1/0",
    "1e9",
    "1_0",
    "２",
    "nan",
    "0x1p3",
    "1 1",
    " 1",
    "1 ",
    "+1",
    "9" * 5000,
    "1/" + "9" * 400,
)


@dataclass(frozen=True)
class Target:
    """A case that a check belongs to, and whether a violation of it is known."""

    question: Question
    case: Case | Place
    is_refuted: bool

    @property
    def name(self) -> str:
        return f"{self.question.id} | {self.case.domain} | {self.case.quantity}"


@dataclass
class Tally:
    """What came of forgeries: by kind, and those that must not be."""

    kinds: Counter[str] = field(default_factory=Counter)
    certified: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    failed: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    slowest: tuple[float, str, dict[str, str]] = (0.0, "", {})


def targets() -> Iterator[Target]:
    """Every case of every claim that has a check."""
    verdicts = expectations.read(PINS)
    for registered in Registry().questions():
        question = registered.question
        for case in (*question.cases, *question.places):
            if case.check is not None:
                cell = f"{question.id} | {case.domain} | {case.quantity}"
                yield Target(question, case, isinstance(case, Place) or verdicts[cell] == REFUTED)


def mutated(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """One or two changes of the text: a number, a word more or less, a name, a hostile value, two values exchanged."""
    changed = dict(texts)
    for _ in range(rng.choice((1, 1, 2))):
        if not changed:
            return {"x": "1"}
        name = rng.choice(sorted(changed))
        words = changed[name].split(" ")
        place = rng.randrange(len(words))
        match rng.randrange(8):
            case 0:
                words[place] = str(rng.choice((0, 1, -1, 2, -2, 3, 7, 100)))
            case 1:
                words[place] = words[place][1:] if words[place].startswith("-") else f"-{words[place]}"
            case 2:
                words[place] += f"/{rng.choice((2, 3, 7, 10**6))}" if "/" not in words[place] else "0"
            case 3:
                words.insert(place, words[place])
            case 4:
                del words[place]
            case 5:
                words[place] = re.sub(r"[0-9]", lambda _digit: str(rng.randint(0, 9)), words[place], count=1)
            case 6:
                other = rng.choice(sorted(changed))
                changed[other], words = changed[name], changed[other].split(" ")
            case 7:
                if rng.random() < 0.3:
                    changed.pop(name)
                    continue
                words = [rng.choice(HOSTILE)]
        changed[name] = " ".join(words)
    return changed


def attack(target: Target, count: int, rng: random.Random, tally: Tally) -> None:
    """``count`` draws inside the declaration, each with one mutation."""
    assert isinstance(target.case.check, Guarded)
    declaration = target.case.check.declaration
    for _ in range(count):
        drawn = declaration.draw(rng)
        _try(target, drawn, "drawn", tally)
        _try(target, mutated(drawn, rng), "mutated", tally)


def _try(target: Target, texts: dict[str, str], kind: str, tally: Tally) -> None:
    assert target.case.check is not None
    started = time.perf_counter()
    try:
        check = target.case.check(texts)
    except ClaimError:
        tally.kinds[f"{kind}, refused"] += 1
        if kind == "drawn":
            tally.failed.append((target.name, texts, "refused what its own declaration drew"))
        return
    except Exception as error:  # counted, and shown: a check decides what its declaration admits
        tally.kinds[f"{kind}, failed"] += 1
        tally.failed.append((target.name, texts, f"{type(error).__name__}: {error}"))
        return
    took = time.perf_counter() - started
    if took > tally.slowest[0]:
        tally.slowest = took, target.name, texts
    is_certified = not doubt_about(check, target.case)
    tally.kinds[f"{kind}, {'certified' if is_certified else 'not certified'}"] += 1
    if is_certified and not target.is_refuted:
        tally.certified.append((target.name, texts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--claim", default="", help="only claims whose id contains this")
    options = parser.parse_args()
    known = [target for target in targets() if options.claim in target.question.id]
    tally = Tally()
    for target in known:
        attack(target, options.count, random.Random(f"{options.seed} {target.name}"), tally)
    print(dict(tally.kinds))
    print(f"{len(known)} cases")
    for name, texts in tally.certified[:20]:
        print("CERTIFIED", name, texts)
    first = {(name, why[:40]): (name, texts, why) for name, texts, why in reversed(tally.failed)}
    for name, texts, why in list(first.values())[:40]:
        print("FAILED", name, {k: v[:80] for k, v in texts.items()}, why[:200])
    print("slowest", tally.slowest)


if __name__ == "__main__":
    main()
