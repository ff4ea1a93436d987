"""Forged parameters for every case that is not refuted: drawn inside its declaration, mutated in and out of it, and
made plain: numbers become 0, ±1, 2 or 1/2, where terms cancel that do not as a rule; or made extreme: huge, tiny, or
next to 0, 1/2, 1 and to what they are.

    python -m tests.verification.forgery.forge --count 100 [--claim ID]      100 draws a case, each changed nine times
    python -m tests.verification.forgery.forge --seconds 3600 --jobs 2       goes on with the record, benchmarks/results

No forgery may certify. A draw may not fail either: what a declaration admits, a check can decide. A try of more than
``LONGEST`` seconds counts as one that failed. The record has rounds of ten draws a case: first those with fewer than
``ENOUGH`` forgeries inside the declaration, in the order of the time that they lack; then those with the fewest rounds.
A round is a function of its case and its number, so that any of them can be replayed.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import FrameType

from verification.claim import Case, Claim, ClaimError, Place
from verification.commands import expectations
from verification.parameters import Guarded
from verification.registry import Registry
from verification.verdict import REFUTED, doubt_about

PINS = Path(__file__).parents[1] / "pins.json"
RECORD = Path(__file__).parents[3] / "benchmarks" / "results" / "forgery.json"
LONGEST = 120
"""Seconds that a check may take."""
ENOUGH = 200
"""Forgeries inside the declaration that every case shall have."""
ROUND = 10
MUTATIONS = 5
PLAIN = 4
EXTREME = 2
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

    claim: Claim
    case: Case | Place
    is_refuted: bool

    @property
    def name(self) -> str:
        return f"{self.claim.id} | {self.case.domain} | {self.case.quantity}"


@dataclass
class Tally:
    """What came of forgeries: by kind, and those that must not be."""

    kinds: Counter[str] = field(default_factory=Counter)
    certified: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    failed: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    slowest: float = 0.0


def targets() -> Iterator[Target]:
    """Every case of every claim that has a check."""
    verdicts = expectations.read(PINS)
    for registered in Registry():
        claim = registered.claim
        for case in (*claim.cases, *claim.places):
            if case.check is not None:
                cell = f"{claim.id} | {case.domain} | {case.quantity}"
                yield Target(claim, case, isinstance(case, Place) or verdicts[cell] == REFUTED)


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


def plain(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Most numbers of all lists, or of one of them, become 0, ±1, 2 or 1/2."""
    names = sorted(texts) if rng.random() < 0.5 else [rng.choice(sorted(texts))] if texts else []
    share = rng.choice((0.3, 0.7, 1.0))

    def word(text: str) -> str:
        is_number = bool(re.fullmatch(r"-?[0-9]+(/[0-9]+)?", text))
        return rng.choice(("0", "1", "-1", "2", "1/2")) if is_number and rng.random() < share else text

    return texts | {name: " ".join(map(word, texts[name].split(" "))) for name in names}


EXTREMES = ("0", "1", "-1", *(f"{sign}{number}" for sign in ("", "-") for number in ("1" + "0" * 390, "1" + "0" * 40)))
NEAR = (40, 390)
"""Powers of ten: numbers come as far from each other, and as near to whole ones, as most kinds admit."""


def extreme(texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Numbers of all parameters, or of one, become huge, tiny, or a tiny distance from where they or 0, 1/2, 1 are."""
    names = sorted(texts) if rng.random() < 0.3 else [rng.choice(sorted(texts))] if texts else []
    share = rng.choice((0.2, 1.0))

    def word(text: str) -> str:
        if not re.fullmatch(r"-?[0-9]+(/[0-9]+)?", text) or rng.random() >= share:
            return text
        if rng.random() < 0.3:
            return rng.choice(EXTREMES)
        around = rng.choice((Fraction(text), Fraction(0), Fraction(1, 2), Fraction(1)))
        return str(around + Fraction(rng.choice((1, -1)), 10 ** rng.choice(NEAR)))

    return texts | {name: " ".join(map(word, texts[name].split(" "))) for name in names}


def attack(
    target: Target,
    count: int,
    rng: random.Random,
    tally: Tally,
    mutations: int = 1,
    plain_ones: int = 1,
    extreme_ones: int = 1,
) -> None:
    """``count`` draws inside the declaration, each with some mutations, and made plain and extreme some times."""
    assert isinstance(target.case.check, Guarded)
    declaration = target.case.check.declaration
    for _ in range(count):
        drawn = declaration.draw(rng)
        _try(target, drawn, "drawn", tally)
        for _ in range(mutations):
            _try(target, mutated(drawn, rng), "mutated", tally)
        for _ in range(plain_ones):
            _try(target, plain(drawn, rng), "plain", tally)
        further = random.Random(f"extreme {sorted(drawn.items())}")  # rounds of before are drawn as they were
        for _ in range(extreme_ones):
            _try(target, extreme(drawn, further), "extreme", tally)


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
    tally.slowest = max(tally.slowest, time.perf_counter() - started)
    is_certified = not doubt_about(check, target.case)
    tally.kinds[f"{kind}, {'certified' if is_certified else 'not certified'}"] += 1
    if is_certified and not target.is_refuted:
        tally.certified.append((target.name, texts))


# --- the record, over many hours


@cache
def _by_name() -> dict[str, Target]:
    return {target.name: target for target in targets()}


class TooLongError(Exception):
    """A check took more than ``LONGEST`` seconds."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooLongError(f"more than {LONGEST} s")


def _round(name: str, number: int) -> dict[str, object]:
    """What came of one round of a case, for the record."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LONGEST * ROUND)
    started, tally = time.perf_counter(), Tally()
    try:
        attack(_by_name()[name], ROUND, random.Random(f"{number} {name}"), tally, MUTATIONS, PLAIN, EXTREME)
    except TooLongError as error:
        tally.failed.append((name, {}, str(error)))
    finally:
        signal.alarm(0)
    return {
        "kinds": tally.kinds,
        "certified falsely": [texts for _, texts in tally.certified],
        "failed": [[texts, why] for _, texts, why in tally.failed],
        "slowest": round(tally.slowest, 2),
        "seconds": round(time.perf_counter() - started, 2),
        "most MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _merge(known: dict[str, object], new: dict[str, object]) -> dict[str, object]:
    """The record of a case after one more round."""
    if not known:
        return {"rounds": 1, **new}
    kinds = Counter(known["kinds"]) + Counter(new["kinds"])  # type: ignore[arg-type,call-overload]
    merged = {"rounds": known["rounds"] + 1, "kinds": kinds}  # type: ignore[operator]
    for name in ("certified falsely", "failed"):
        merged[name] = [*known[name], *new[name]]  # type: ignore[misc]
    merged["seconds"] = round(known["seconds"] + new["seconds"], 2)  # type: ignore[operator]
    return merged | {name: max(known[name], new[name]) for name in ("slowest", "most MB")}  # type: ignore[type-var]


def go_on(path: Path, seconds: float, jobs: int, rounds: int, most: float = math.inf) -> None:
    """Further rounds until ``seconds`` are over or every case has ``rounds`` and ``ENOUGH`` forgeries inside; the
    record is kept after each minute.

    A case whose rounds take more than ``most`` seconds each has no more than one.
    """
    record = json.loads(path.read_text()) if path.exists() else {}
    record = {name: record.get(name, {}) for name in _by_name()}
    deadline, kept = time.monotonic() + seconds, time.monotonic()
    asked = {name: record[name].get("rounds", 0) for name in record}
    running: dict[Future[dict[str, object]], str] = {}
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        while True:
            while len(running) < jobs and time.monotonic() < deadline:
                cheap = [each for each in asked if not asked[each] or _seconds(record[each]) <= most]
                name = min(cheap, key=lambda each: _turn(record[each], asked[each]))
                if asked[name] >= rounds and not lacking(record[name], asked[name]):
                    break
                running[pool.submit(_round, name, asked[name])] = name
                asked[name] += 1
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                record[name] = _merge(record[name], future.result())
            if time.monotonic() > kept + 60 or not running:
                _keep(path, record)
                kept = time.monotonic()
    _keep(path, record)


def inside(known: dict[str, object]) -> int:
    """Forgeries of a case that its declaration did not refuse."""
    return sum(n for kind, n in known.get("kinds", {}).items() if not kind.endswith("refused"))  # type: ignore[attr-defined]


def lacking(known: dict[str, object], asked: int) -> int:
    """Rounds until a case has ``ENOUGH`` forgeries inside, at the rate of those that it had; ``asked`` run or ran."""
    if not known:
        return int(not asked)
    had = int(known["rounds"])  # type: ignore[call-overload]
    return max(0, math.ceil(ENOUGH * had / max(1, inside(known))) - asked)


def _turn(known: dict[str, object], asked: int) -> tuple[bool, float, float]:
    """The smallest comes first."""
    rounds, seconds = lacking(known, asked), _seconds(known)
    return (False, rounds * seconds, seconds) if rounds else (True, asked, seconds)


def _seconds(known: dict[str, object]) -> float:
    """Of a round of a case; 0 if there was none."""
    return float(known["seconds"]) / int(known["rounds"]) if known else 0.0  # type: ignore[arg-type,call-overload]


def _keep(path: Path, record: dict[str, dict[str, object]]) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(record, indent=0, ensure_ascii=False, sort_keys=True) + "\n")
    os.replace(beside, path)


def summary(record: dict[str, dict[str, object]]) -> str:
    """The sums over all cases, and what must not be."""
    kinds: Counter[str] = Counter()
    for each in record.values():
        kinds += Counter(each.get("kinds", {}))  # type: ignore[arg-type,call-overload]
    tried = [each for each in record.values() if each]
    within = [inside(each) for each in tried]
    lines = [
        f"{sum(kinds.values())} forgeries of {len(tried)} of {len(record)} cases, {sum(within)} of them inside "
        f"the declaration, {min(within, default=0)} or more a case, {sum(n < ENOUGH for n in within)} below {ENOUGH}",
        ", ".join(f"{kind}: {kinds[kind]}" for kind in sorted(kinds)),
        f"certified falsely: {sum(len(each['certified falsely']) for each in tried)}, "  # type: ignore[arg-type]
        f"failed: {sum(len(each['failed']) for each in tried)}, "  # type: ignore[arg-type]
        f"slowest check {max((each['slowest'] for each in tried), default=0)} s, "  # type: ignore[type-var]
        f"most memory of a process {max((each['most MB'] for each in tried), default=0)} MB",  # type: ignore[type-var]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=0, help="draws a case, without the record")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--claim", default="", help="only claims whose id contains this")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20, help="rounds of ten draws that every case shall have")
    parser.add_argument("--most", type=float, default=math.inf, help="a second round only of cases that take no more s")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    if not options.count:
        go_on(options.record, options.seconds, options.jobs, options.rounds, options.most)
        print(summary(json.loads(options.record.read_text())))
        return
    tally = Tally()
    for name, target in _by_name().items():
        if options.claim in target.claim.id:
            attack(target, options.count, random.Random(f"{options.seed} {name}"), tally, MUTATIONS, PLAIN)
    print(dict(tally.kinds))
    for name, texts in tally.certified[:20]:
        print("CERTIFIED", name, texts)
    for name, texts, why in tally.failed[:40]:
        print("FAILED", name, {k: v[:80] for k, v in texts.items()}, why[:200])
    sys.exit(bool(tally.certified or tally.failed))


if __name__ == "__main__":
    main()
