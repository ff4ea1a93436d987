"""Is any bound of docs/derivations ever exceeded, and how near do random and adversarial instances come?

    python benchmarks/bounds_tightness.py [size]

Writes results/bounds_tightness.json: for each theorem the instances tried, those that exceeded it, and the largest
measured/bound. ``size`` 30, the default, is about 2.5 million instances and a minute of one core.
"""

from __future__ import annotations

import json
import math
import sys
import time

import torch
from _bounds_trials import everything, summary
from _harness import RESULTS, machine

SEED = 20210


def main(size: int) -> None:
    torch.set_num_threads(1)
    started = time.perf_counter()
    found = summary(everything(torch.Generator().manual_seed(SEED), size))
    rows = {
        name: {
            "instances": trial.instances,
            "violations": trial.violations,
            "largest measured/bound": round(math.exp(trial.best_log_ratio), 9),
        }
        for name, trial in sorted(found.items())
    }
    total = sum(trial.instances for trial in found.values())
    data = {
        "benchmark": "bounds_tightness",
        "seed": SEED,
        "size": size,
        "instances": total,
        "seconds": round(time.perf_counter() - started),
        "machine": machine(),
        "theorems": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bounds_tightness.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for name, each in rows.items():
        sys.stdout.write(
            f"{name:28s} {each['instances']:9d} tried  {each['violations']:3d} exceeded  "
            f"measured/bound ≤ {each['largest measured/bound']:.6g}\n"
        )
    sys.stdout.write(f"{total} instances\n")
    assert all(each["violations"] == 0 for each in rows.values()), "a bound was exceeded"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
