"""Methods, graphs, witnesses, and strict JSON and TOML themselves."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.reliability.readers.reader import CONFIGURATIONS, WITNESSES, Reader, put


def _of_text(parse: str, folder: Path, content: bytes) -> object:
    from odernn import foreign

    text = foreign.text_of(put(folder, "text", content))
    return repr(foreign.parsed_json(text) if parse == "json" else foreign.parsed_toml(text))


def _tableau(ending: str, folder: Path, content: bytes) -> object:
    from odernn.tableaus import files

    return str(files.read(put(folder, f"method.{ending}", content)))


def _tableau_seeds(ending: str) -> list[bytes]:
    from odernn import tableaus
    from odernn.tableaus import files

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("heun 3", "gauss 2", "dormand-prince 5(4)", "störmer-verlet"):
            try:
                files.write(tableaus.get(name), Path(folder) / f"a.{ending}")
            except KeyError:
                continue
            found.append((Path(folder) / f"a.{ending}").read_bytes())
    return found


def _graph(ending: str, folder: Path, content: bytes) -> object:
    from odernn.architecture import files

    graph = files.read(put(folder, f"graph.{ending}", content))
    return files.to_json(graph), files.to_dot(graph) if "\\" not in graph.name + "".join(graph.nodes) else ""


def _graph_seeds(ending: str) -> list[bytes]:
    from odernn.architecture import files

    graphs = _some_graphs()
    return [(files.to_json(g) if ending == "json" else files.to_dot(g)).encode() for g in graphs]


def _some_graphs() -> list[Any]:
    from odernn.architecture import files

    skip = '{"nodes": {"in": 0, "h": 0, "out": 0}, "inputs": ["in"], "outputs": ["out"], "edges": [["in", "h", 0], '
    skip += '["h", "h", 1], ["h", "h", 3], ["h", "out", 0]]}'
    two = '{"period": 2, "nodes": {"in": 0, "h": 1, "out": 1}, "inputs": ["in"], "outputs": ["out"], "edges": ['
    two += '["in", "h", 1], ["h", "h", 2], ["h", "out", 0]]}'
    return [files.from_json(skip), files.from_json(two, "two")]


def _witness(folder: Path, content: bytes) -> object:
    from verification.run import provenance
    from verification.witness import file

    path = put(folder, "witness.json", content)
    found = file.read(path)
    return file.to_json(found), provenance.beside(path)


def _witness_seeds() -> list[bytes]:
    names = sorted(path.name for path in WITNESSES.glob("*.json"))[::60]
    names += ["icml-c-1-free-layer1-momentum.json"]
    return [(WITNESSES / name).read_bytes() for name in names]


def _side_file(folder: Path, content: bytes) -> object:
    """The inputs of a run beside its witness, under the checksum that they have."""
    from verification.witness import file

    put(folder, "inputs.safetensors", content)
    plain = json.loads((WITNESSES / "icml-c-1-free-layer1-momentum.json").read_bytes())
    reference = {"file": "inputs.safetensors", "sha256": hashlib.sha256(content).hexdigest()}
    plain["parameters"]["instance"]["inputs"]["runs"] = reference
    return file.read(put(folder, "witness.json", json.dumps(plain).encode()))


def _side_seeds() -> list[bytes]:
    from safetensors.numpy import save

    return [save({"counts": np.array([9000, 7000], np.int64), "values": np.array([0.5, -1.0])})]


def _provenance(folder: Path, content: bytes) -> object:
    from verification.run import provenance

    put(folder, provenance.BESIDE, content)
    return provenance.beside(folder / "both-101-74-l-1-t-1-k-2-e-k-w-c-dt.json")


_FOREIGN, _WITNESS = "odernn.foreign:ForeignError", "verification.witness.text:WitnessError"
_METHOD, _GRAPH = "odernn.tableaus.files odernn.tableaus.tableau", "odernn.architecture.files odernn.architecture.graph"
_FILE, _RUN = "verification.witness.file verification.witness.state_run", "verification.witness.state_run"


def _configurations() -> list[bytes]:
    return [path.read_bytes() for path in sorted(CONFIGURATIONS.glob("*.toml"))]


def _runs() -> list[bytes]:
    return [(WITNESSES / "RUNS.txt").read_bytes()[:2000]]


READERS = (
    Reader("JSON", "json", partial(_of_text, "json"), _witness_seeds, _FOREIGN, "odernn.foreign", False),
    Reader("TOML", "toml", partial(_of_text, "toml"), _configurations, _FOREIGN, "odernn.foreign", False),
    *(
        Reader(f"method .{e}", e, partial(_tableau, e), partial(_tableau_seeds, e), "builtins:ValueError", _METHOD)
        for e in ("json", "toml")
    ),
    *(
        Reader(f"graph .{e}", kind, partial(_graph, e), partial(_graph_seeds, e), "builtins:ValueError", _GRAPH)
        for e, kind in (("json", "json"), ("dot", "text"))
    ),
    Reader("witness", "json", _witness, _witness_seeds, _WITNESS, _FILE, False),
    Reader("witness, its inputs", "bytes", _side_file, _side_seeds, _WITNESS, _RUN, False),
    Reader("witnesses, RUNS.txt", "text", _provenance, _runs, "", "verification.run.provenance"),
)
