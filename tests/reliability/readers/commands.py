"""What commands are given beside: expectations, records, claim files before they are run."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from tests.reliability.readers.reader import ROOT, Reader, put


def _expectations(folder: Path, content: bytes) -> object:
    from verification.commands import expectations

    return expectations.read(put(folder, "expect.json", content))


def _record(name: str, folder: Path, content: bytes) -> object:
    from verification.commands import ledger, report

    path = put(folder, f"{name}.json", content)
    return ledger.as_trained(path) if name == "nearness" else report._of_record(path)


def _record_seeds(name: str) -> list[bytes]:
    whole = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_bytes())
    if name == "nearness":
        few = [{**run, "along": run.get("along", [])[:2]} for run in whole["trained"][:2]]
        for run in few:
            for each in (run, *run["along"]):
                each["slack"] = [dict(list(one.items())[:3]) for one in each["slack"][:2]]
        return [json.dumps({"trained": few, "certified": whole["certified"][:2]}).encode()]
    return [json.dumps({"runs": dict(list(whole["runs"].items())[start : start + 2])}).encode() for start in (0, 10)]


def _claim_file(folder: Path, content: bytes) -> object:
    """As text alone, read before it is imported: which claims it names, and what it imports."""
    from verification import registry
    from verification.run import closure

    path = put(folder, "own.py", content)
    return registry.announced(path), closure.imports_of(path)


def _claim_seeds() -> list[bytes]:
    paths = ("claims/unicornn/elementary.py", "claims/complexity/graph_proof_steps.py", "tasks/adding.py")
    return [(ROOT / "verification" / path).read_bytes() for path in paths]


_USAGE, _CLAIMS = "verification.commands.terminal:UsageError", "verification.registry verification.run.closure"
_EXPECTED = b'{"a | free | layer 1 | y": "refuted", "b": {"verdict": "proved", "witness": {}}}'
_TABLES = "verification.commands.records verification.report.html.tables verification.report.rows.nearness"

READERS = (
    Reader("expectations", "json", _expectations, lambda: [_EXPECTED], _USAGE, "verification.commands.expectations"),
    *(
        Reader(f"record {name}", "json", partial(_record, name), partial(_record_seeds, name), _USAGE, _TABLES)
        for name in ("training_runs", "nearness")
    ),
    Reader("claim file, unread", "text", _claim_file, _claim_seeds, "", _CLAIMS),
)
