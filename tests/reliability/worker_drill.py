"""Workers that are killed or stopped at work: ``worker_drill.py SIGNAL LIMIT FAULTS SEED`` prints counts as JSON.

A program apart from process_drill.py, because each worker imports what it is run as.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from verification.run import engine
from verification.run.limits import Limits

KEPT, LOST, NO_FAULT = "nothing lost", "lost", "ended before its fault"
LONGEST_S = 60.0
"""Of a part with one fault; it ends by far sooner."""


def work(number: int) -> int:
    time.sleep(0.01)
    return number * number


def worker_hit(sign: int, chance: random.Random, limits: Limits) -> str:
    """One worker of two, while 40 jobs are done."""
    begun = time.monotonic()
    hit: list[int] = []
    started = threading.Event()

    def strike() -> None:
        started.wait(LONGEST_S)
        time.sleep(chance.uniform(0.0, 0.15))
        victims = [child for child in _children() if child not in hit]
        if victims:
            hit.append(chance.choice(victims))
            os.kill(hit[0], sign)

    thread = threading.Thread(target=strike, daemon=True)
    thread.start()
    found: list[engine.Finished] = []
    for each in engine.run(work, [(str(k), (k,)) for k in range(40)], workers=2, limits=limits):
        found.append(each)
        started.set()
    thread.join()
    took, left = time.monotonic() - begun, _children()
    failed = [each for each in found if each.error]
    wrong = [each for each in found if not each.error and each.value != int(each.key) ** 2]
    if (
        sorted(int(each.key) for each in found) != list(range(40))
        or wrong
        or len(failed) > 1
        or left
        or took > LONGEST_S
    ):
        print(f"lost: {took:.1f} s, {len(found)} of 40, {wrong}, {failed}, left {left}", file=sys.stderr)
        return LOST
    return KEPT if failed else NO_FAULT


def _children() -> list[int]:
    """Living workers of this process."""
    path = Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
    found = []
    for pid in path.read_text().split():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if b"spawn_main" in words and state != "Z":
            found.append(int(pid))
    return found


def repeated(fault: Callable[[], str], faults: int, most: int = 3) -> Counter[str]:
    """Until so many faults have come to pass, and no more than ``most`` times as many tries."""
    counts: Counter[str] = Counter()
    while counts[KEPT] + counts[LOST] < faults and counts.total() < most * faults:
        counts[fault()] += 1
    return counts


if __name__ == "__main__":
    sign, limit, faults, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    print(json.dumps(repeated(lambda: worker_hit(sign, chance, Limits(limit)), faults)))
