"""A user's graph from a JSON or DOT file, and back. Nothing unknown is skipped: a misspelt key is an error.

    {
      "name": "skip-3",
      "period": 1,
      "nodes": {"in": 0, "h1": 0, "out": 0},
      "inputs": ["in"],
      "outputs": ["out"],
      "edges": [["in", "h1", 0], ["h1", "h1", 1], ["h1", "h1", 3], ["h1", "out", 0]]
    }

``nodes`` are names with time labels, an edge is (tail, head, σ). The name defaults to that of the file, the period to
1; ``"allow_unreachable": true`` admits outputs that no input reaches. The same graph in DOT, which Graphviz draws:

    digraph "skip-3" {
      period=1;
      "in" [time=0, role="input"];
      "h1" [time=0];
      "out" [time=0, role="output"];
      "in" -> "h1" [sigma=0, label="0"];
      …
    }

Of DOT the reader takes one digraph of node and edge statements, chains a -> b -> c, comments, and the attributes period
and allow_unreachable (graph), time and role (node), sigma (edge), with a label that, if given, must repeat σ (edge) or
the name (node). Every node needs a statement of its own: a misspelt name in an edge is then an error.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odernn import foreign
from odernn.architecture.graph import GraphError, RNNGraph
from odernn.architecture.walks import Edge
from odernn.foreign import ForeignError

_KEYS = ("name", "period", "nodes", "inputs", "outputs", "edges", "allow_unreachable")
_DOT = {".dot", ".gv"}


def read(path: str | Path) -> RNNGraph:
    """The graph in the file. ValueError names the file and the cause, GraphError the condition; OSError: unreadable."""
    path = Path(path)
    suffix = path.suffix.casefold()
    try:
        if suffix not in {".json", *_DOT} and not path.is_dir():
            raise ValueError(f"the ending {path.suffix!r} is not known. Call the file .json, .dot or .gv.")
        text = foreign.text_of(path)
        return from_dot(text, path.stem) if suffix in _DOT else from_json(text, path.stem)
    except GraphError as error:
        raise GraphError(f"{path}: {foreign.short(str(error))}", error.condition, error.walk) from None
    except ForeignError as error:
        raise ValueError(f"{path}: {foreign.short(str(error))}.") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {foreign.short(str(error))}") from None


def write(graph: RNNGraph, path: str | Path) -> None:
    """The graph as a file that ``read`` gives back equal; the ending of the path says JSON or DOT."""
    path = Path(path)
    suffix = path.suffix.casefold()
    if suffix not in {".json", *_DOT}:
        raise ValueError(f"{path}: the ending {path.suffix!r} is not known. Call the file .json, .dot or .gv.")
    path.write_text(to_dot(graph) if suffix in _DOT else to_json(graph), encoding="utf-8")


def to_json(graph: RNNGraph) -> str:
    """As text, one line an edge."""
    edges = ",\n".join(f"    {_text(list(edge))}" for edge in graph.edges)
    lines = [
        f'  "name": {_text(graph.name)}',
        f'  "period": {graph.period}',
        f'  "nodes": {_text(dict(graph.nodes))}',
        f'  "inputs": {_text(list(graph.inputs))}',
        f'  "outputs": {_text(list(graph.outputs))}',
        f'  "edges": [\n{edges}\n  ]',
    ]
    if graph.allow_unreachable:
        lines.append('  "allow_unreachable": true')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def from_json(text: str, name: str = "graph") -> RNNGraph:
    """From text; ``name`` is used if the text has none."""
    document = foreign.parsed_json(text)
    if not isinstance(document, dict):
        raise ValueError(f'it holds a {type(document).__name__}, not a table with the keys "nodes" and "edges".')
    for key in document:
        if key not in _KEYS:
            raise ValueError(f'the key "{key}" is not known. {_advice(key, _KEYS)}')
    for key in ("nodes", "edges"):
        if key not in document:
            raise ValueError(f'the key "{key}" is missing. A graph has at least nodes and edges.')
    if not isinstance(document["nodes"], dict):
        raise ValueError('"nodes" is not a table of names with times, such as {"h1": 0}.')
    for key in ("edges", "inputs", "outputs"):
        if not isinstance(document.get(key, []), list):
            raise ValueError(f'"{key}" is not a list.')
    fields: dict[str, Any] = {"name": name, "period": 1} | document
    return RNNGraph(**fields)


def _advice(word: str, known: Iterable[str]) -> str:
    known = tuple(known)
    near = difflib.get_close_matches(word, known, n=1)
    return f'Did you mean "{near[0]}"?' if near else f"Known: {', '.join(known)}."


def to_dot(graph: RNNGraph) -> str:
    """As text that Graphviz draws: σ is the label of an edge."""
    lines = [f"digraph {_quoted(graph.name)} {{", f"  period={graph.period};"]
    if graph.allow_unreachable:
        lines.append("  allow_unreachable=true;")
    for node, time in graph.nodes.items():
        role = graph.role(node)
        extra = "" if role == "hidden" else f', role="{role}"'
        lines.append(f"  {_quoted(node)} [time={time}{extra}];")
    lines += [
        f'  {_quoted(tail)} -> {_quoted(head)} [sigma={sigma}, label="{sigma}"];' for tail, head, sigma in graph.edges
    ]
    return "\n".join(lines) + "\n}\n"


def _quoted(name: str) -> str:
    """A DOT string knows one escape, \\" for a quotation mark, so a backslash before a mark or the end has no text."""
    if re.search(r'\\("|$)', name):
        raise ValueError(f"The name {name!r} cannot be written in DOT: a backslash before a quotation mark or the end.")
    return '"' + name.replace('"', '\\"') + '"'


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<sign>->|--|[{}\[\];,=:])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    text: str
    is_sign: bool
    line: int
    is_quoted: bool = False
    """Then it is a name, whatever it says: a node may be called "node"."""


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"it is not valid DOT: {text[place : place + 10]!r} (line {line}).")
        place = match.end()
        line += match[0].count("\n")
        if match["quoted"] is not None:
            yield _Token(match["quoted"].replace('\\"', '"'), False, line, True)
        elif match["space"] is None:
            yield _Token(match["word"] or match["sign"], match["sign"] is not None, line)


class _DotReader:
    """The statements of one digraph, collected; every complaint has its line."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.place = 0
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[str, str, str]] = []
        self.graph: dict[str, str] = {}

    def fault(self, what: str, token: _Token | None = None) -> ValueError:
        token = token or self.tokens[min(self.place, len(self.tokens)) - 1]
        return ValueError(f"it is not a graph in DOT: {what} (line {token.line}).")

    def peek(self, sign: str) -> bool:
        ahead = self.tokens[self.place] if self.place < len(self.tokens) else None
        return ahead is not None and ahead.is_sign and ahead.text == sign

    def take(self, sign: str) -> bool:
        if self.peek(sign):
            self.place += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise self.fault(f'"{sign}" is missing')

    def word(self) -> str:
        if self.place >= len(self.tokens):
            raise ValueError('it is not a graph in DOT: it ends early; is a "}" missing?')
        token = self.tokens[self.place]
        if token.is_sign:
            raise self.fault(f'"{token.text}" stands where a name is expected', token)
        self.place += 1
        return token.text

    def read(self) -> str | None:
        if not self.tokens:
            raise ValueError("it is not a graph in DOT: it is empty.")
        kind = self.word().casefold()
        if kind == "strict":
            raise self.fault("a strict graph merges parallel edges. Remove the word strict")
        if kind != "digraph":
            raise self.fault(f'it starts with "{kind}", not with "digraph"')
        name = None if self.peek("{") else self.word()
        self.need("{")
        while not self.take("}"):
            self.statement()
            self.take(";")
        if self.place < len(self.tokens):
            raise self.fault("something follows the graph", self.tokens[self.place])
        return name

    def statement(self) -> None:
        first = self.word()
        keyword = "" if self.tokens[self.place - 1].is_quoted else first.casefold()
        if keyword == "subgraph":
            raise self.fault("subgraphs are not read")
        if self.peek("--"):
            raise self.fault('an RNN graph is directed: write "->" for "--"')
        if self.take("="):
            self.set(self.graph, first, self.word(), ("period", "allow_unreachable"))
        elif self.peek("->"):
            walk = [first]
            while self.take("->"):
                walk.append(self.word())
            attributes = self.attributes(("sigma", "label"))
            if "sigma" not in attributes:
                raise self.fault(f"the edge {' -> '.join(walk)} has no sigma")
            if attributes.get("label", attributes["sigma"]) != attributes["sigma"]:
                raise self.fault(f"label {attributes['label']!r} is not sigma={attributes['sigma']}")
            self.edges += [(tail, head, attributes["sigma"]) for tail, head in itertools.pairwise(walk)]
        elif keyword == "graph":
            for key, value in self.attributes(("period", "allow_unreachable")).items():
                self.set(self.graph, key, value, ("period", "allow_unreachable"))
        elif keyword in {"node", "edge"}:
            raise self.fault(f"defaults ({first} [...]) are not read: give every {first} its own attributes")
        else:
            if first in self.nodes:
                raise self.fault(f'the node "{first}" has two statements')
            attributes = self.attributes(("time", "role", "label"))
            if attributes.get("label", first) != first:
                raise self.fault(f'label {attributes["label"]!r} is not the name "{first}"')
            self.nodes[first] = attributes

    def attributes(self, known: tuple[str, ...]) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while self.take("["):
            while not self.take("]"):
                key = self.word()
                self.need("=")
                self.set(attributes, key, self.word(), known)
                _ = self.take(",") or self.take(";")
        return attributes

    def set(self, into: dict[str, str], key: str, value: str, known: tuple[str, ...]) -> None:
        if key not in known:
            raise self.fault(f'the attribute "{key}" is not known. {_advice(key, known)}')
        if key in into:
            raise self.fault(f'the attribute "{key}" is given twice')
        into[key] = value


def from_dot(text: str, name: str = "graph") -> RNNGraph:
    """From text; ``name`` is used if the text has none."""
    reader = _DotReader(text)
    name = reader.read() or name
    roles: dict[str, list[str]] = {"input": [], "output": [], "hidden": []}
    for node, attributes in reader.nodes.items():
        for role in attributes.get("role", "hidden").split():
            if role not in roles:
                raise ValueError(f'node "{node}" has the role "{role}", not input, output or hidden.')
            roles[role].append(node)
    for tail, head, _ in reader.edges:
        for node in (tail, head):
            if node not in reader.nodes:
                raise ValueError(f'the edge "{tail}" -> "{head}": {node!r} has no statement. Write "{node}" [time=0];')
    allow = reader.graph.get("allow_unreachable", "false")
    if allow not in {"true", "false"}:
        raise ValueError(f"allow_unreachable is {allow!r}, not true or false.")
    return RNNGraph(
        name,
        _whole(reader.graph.get("period", "1"), "period"),
        {node: _whole(a.get("time", "0"), f'time of node "{node}"') for node, a in reader.nodes.items()},
        tuple(Edge(t, h, _whole(sigma, f'sigma of "{t}" -> "{h}"')) for t, h, sigma in reader.edges),
        tuple(roles["input"]),
        tuple(roles["output"]),
        allow == "true",
    )


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise ValueError(f"the {what} is {text!r}, not an integer.")
    return int(text)
