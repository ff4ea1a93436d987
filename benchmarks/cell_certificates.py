"""How near do attacks come to what ``certify`` says of each cell, and is anything exceeded?

    python benchmarks/cell_certificates.py [networks]          # attacks, and writes results/cell_certificates.json
    python benchmarks/cell_certificates.py --page              # the table of docs/derivations/certificates.md

Of every kind of ``_cell_kinds.KINDS`` so many networks are drawn (6 unless given), and as many more are the one that
came nearest to some bound with its weights changed a little. Shares are those of N = 12; other N are judged, too.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from _cell_attacks import attack, attack_in_float32
from _cell_kinds import KINDS
from _harness import RESULTS, machine, spliced
from tabulate import tabulate
from torch import nn

SEED = 20261127
RESULT = RESULTS / "cell_certificates.json"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "derivations" / "certificates.md"
BEGIN = "<!-- from benchmarks/results/cell_certificates.json by benchmarks/cell_certificates.py --page -->"
END = "<!-- end -->"
STEPS = 12


def attacked(kind: str, networks: int, generator: torch.Generator) -> dict[str, Any]:
    """The instances of one kind: how many lines were judged, how many exceeded, and the largest shares by quantity."""
    nearest: dict[str, tuple[float, nn.Module]] = {}
    lines = violations = 0

    def judge(network: nn.Module) -> None:
        nonlocal lines, violations
        judged = [*attack(network, generator, tries=16, steps=STEPS), *attack_in_float32(network, generator)]
        for found in judged:
            if found.share > nearest.get(found.quantity, (0.0, network))[0]:
                nearest[found.quantity] = (found.share, network)
        judged += attack(network, generator, tries=4)
        lines, violations = lines + len(judged), violations + sum(found.is_exceeded for found in judged)

    for _ in range(networks):
        judge(KINDS[kind](generator))
    for place in range(networks):
        judge(_changed(list(nearest.values())[place % len(nearest)][1], generator))
    shares = {quantity: float(f"{share:.4g}") for quantity, (share, _) in nearest.items()}
    return {"networks": 2 * networks, "lines": lines, "exceeded": violations, "largest measured/bound": shares}


def _changed(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """The same with every parameter changed by up to a few per cent; a uRNN's W stays."""
    other = copy.deepcopy(network)
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            if not (name.endswith(".W") and parameter.dim() == 3):
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.mul_(1 + 0.1 * noise)
    return other


GROUPS = ("states", "as computed", "Jacobian")
GRADIENTS = "gradients, least … most"


def page(result: dict[str, Any]) -> Iterator[str]:
    """A row a kind: the largest shares of states, computed states and Jacobians, least and most of its gradients."""
    kinds = result["kinds"]
    rows = [(kind, *_cells(found["largest measured/bound"]), f"{found['lines']:,}") for kind, found in kinds.items()]
    align = ("left", "right", "right", "right", "left", "right")
    headers = ("cell", *GROUPS, GRADIENTS, "lines")
    yield tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True, colalign=align)
    networks, lines, exceeded = (sum(each[key] for each in kinds.values()) for key in ("networks", "lines", "exceeded"))
    where = result["machine"]
    yield (
        f"\nShares at N = {STEPS}, of computed states at N up to 40. {lines:,} lines of {networks:,} networks of three "
        f"or four units, in one or two layers, were judged, and {exceeded} exceeded. Seed {result['seed']}, "
        f"{result['seconds']} s of one core of {where['processor']}, torch {where['torch']}."
    )


def _cells(shares: dict[str, float]) -> tuple[str, ...]:
    by_group: dict[str, list[tuple[float, str]]] = {}
    for quantity, share in shares.items():
        by_group.setdefault(group_of(quantity), []).append((share, quantity.rpartition("= ")[2]))
    largest = [f"{max(by_group[group])[0]:.2g}" if group in by_group else "–" for group in GROUPS]
    gradients = sorted(by_group.get(GRADIENTS, []))
    if not gradients:
        return (*largest, "–")
    (least, where_least), (most, where_most) = gradients[0], gradients[-1]
    return (*largest, f"{least:.2g} ({where_least}) … {most:.2g} ({where_most})")


def group_of(quantity: str) -> str:
    if "as computed" in quantity:
        return GROUPS[1]
    if quantity.startswith("|dE/dθ|"):
        return GRADIENTS
    return GROUPS[2] if "∂" in quantity or "h'" in quantity else GROUPS[0]


def main(arguments: list[str]) -> None:
    if "--page" in arguments:
        text = PAGE.read_text("utf-8")
        table = "\n".join(page(json.loads(RESULT.read_text("utf-8"))))
        PAGE.write_text(spliced(text, BEGIN, END, table), "utf-8")
        return
    torch.set_num_threads(1)
    started, networks = time.process_time(), int(arguments[0]) if arguments else 6
    generator = torch.Generator().manual_seed(SEED)
    kinds = {}
    for kind in KINDS:
        kinds[kind] = attacked(kind, networks, generator)
        shares = kinds[kind]["largest measured/bound"]
        sys.stdout.write(f"{kind}: {kinds[kind]['lines']} lines, {kinds[kind]['exceeded']} exceeded; {shares}\n")
        sys.stdout.flush()
    data = {
        "benchmark": "cell_certificates",
        "seed": SEED,
        "seconds": round(time.process_time() - started),
        "machine": machine(),
        "kinds": kinds,
    }
    RESULT.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert all(found["exceeded"] == 0 for found in kinds.values()), "a bound was exceeded"


if __name__ == "__main__":
    main(sys.argv[1:])
