"""Mutants of any code, to be drawn blindly: sign, comparison, constant, off by one, and/or, not, condition.

``sites(source, file)`` lists every one of a file, ``broken(source, site)`` is the text with one of them put in. Left
out, by rule and counted nowhere, is what is no behaviour or has an equal effect by construction:

    what is said       docstrings, every other text, f-strings, what stands in ``raise``, calls that print or warn
    what is declared   type hints, decorators, imports, ``__all__``, ``if TYPE_CHECKING``, ``if __name__ == "__main__"``
    literal zeros      0 · x and 0/x: they make a number of the right kind and add nothing
    how it is kept     ``zip(strict=…)``, ``frozen=``, ``slots=``, ``repr=``, ``indent=``, ``maxsize=``, ``stacklevel=``
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS = ("sign", "comparison", "constant", "off by one", "and, or", "dropped not", "turned condition")

_SILENT_CALLS = {"print", "warn", "echo", "secho", "Source", "TypeVar", "namedtuple", "lru_cache", "cite", "say"}
_SILENT_KEYWORDS = {
    *("strict", "frozen", "slots", "kw_only", "repr", "indent", "ensure_ascii", "maxsize", "stacklevel", "help"),
    *("hidden", "rich_help_panel", "show_default", "doc"),
}
_SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


@dataclass(frozen=True)
class Site:
    """One mutant. ``number`` tells equal ones of a function apart; ``span``: line and column in bytes, twice."""

    file: str
    function: str
    operator: str
    before: str
    after: str
    number: int
    line: int
    span: tuple[int, int, int, int]

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names it in a record: no line numbers, so that an edit elsewhere leaves it the same."""
        return self.file, self.function, self.before, self.after, self.number

    def rank(self, seed: str) -> bytes:
        """SHA-256 of seed and key: the n mutants of the least ranks are a sample, and a part of the n + 1."""
        return hashlib.sha256("\0".join((seed, *map(str, self.key))).encode()).digest()


def sites(source: str, file: str) -> list[Site]:
    """Every mutant of a file, in the order of its text."""
    found: list[Site] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    seen: set[tuple[tuple[int, int, int, int], str]] = set()
    for function, operator, node, after in _walk(ast.parse(source), "module"):
        before, text = ast.unparse(node), ast.unparse(ast.fix_missing_locations(after))
        span = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        if before == text or (span, text) in seen:
            continue
        seen.add((span, text))
        counts[(function, before, text)] += 1
        found.append(Site(file, function, operator, before, text, counts[(function, before, text)], node.lineno, span))
    return found


def broken(source: str, site: Site) -> str:
    """The text with the mutant in it; no other byte of it is changed."""
    lines = source.encode().splitlines(keepends=True)
    first, start, last, end = site.span
    new = f"({site.after})"
    kept = lines[last - 1][end:]
    lines[first - 1 : last] = [lines[first - 1][:start] + new.encode() + kept]
    return b"".join(lines).decode()


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, str, ast.expr, ast.expr]]:
    """(function, operator, expression, what stands in its place) of a node and all that is in it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = node.name if function == "module" else f"{function}.{node.name}"
    if isinstance(node, ast.expr):
        yield from ((function, operator, node, after) for operator, after in _replaced(node))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and _is_bare(node.test):
        yield function, "turned condition", node.test, ast.UnaryOp(ast.Not(), node.test)
    for name, child in _children(node):
        if not _is_silent(node, name, child):
            yield from _walk(child, function)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield name, each


def _is_bare(test: ast.expr) -> bool:
    """A condition that no other operator turns."""
    return isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr | ast.Subscript)


def _replaced(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.BinOp(left=ast.Constant(value=0), op=ast.Mult() | ast.Div()):
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS and not (_is_text(left) or _is_text(right)):
            yield "sign", ast.BinOp(left, _SIGNS[type(op)](), right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "sign", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", operand
        case ast.BoolOp(op=op, values=values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Compare(left=left, ops=[*ops], comparators=[*right]):
            for i, op in enumerate(ops):
                for other in _COMPARED[type(op)]:
                    yield "comparison", ast.Compare(left, [*ops[:i], other(), *ops[i + 1 :]], right)
        case ast.Call(func=ast.Name(id="range"), args=[*args], keywords=[]) if args:
            end = min(len(args), 2) - 1
            for sign in (ast.Add, ast.Sub):
                moved = ast.BinOp(args[end], sign(), ast.Constant(1))
                yield "off by one", ast.Call(node.func, [*args[:end], moved, *args[end + 1 :]], [])
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off by one", ast.Constant(value + 1)
            yield "off by one", ast.Constant(value - 1)
        case ast.Constant(value=float(value)):
            yield from (("constant", ast.Constant(new)) for new in ((2 * value, value / 2) if value else (1.0,)))


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str() | bytes()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
    return False


def _is_silent(node: ast.AST, name: str, child: ast.AST) -> bool:
    """Whether what stands there says, declares or keeps something, and does nothing."""
    match child:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in _SILENT_CALLS:
            return True
        case ast.keyword(arg=str(keyword)) if keyword in _SILENT_KEYWORDS:
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if name in ("decorator_list", "returns"):
            return True
        case ast.ClassDef() if name in ("decorator_list", "bases"):
            return True
        case ast.arg() if name == "annotation":
            return True
        case ast.AnnAssign() if name == "annotation":
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Assert() if name == "msg":
            return True
    return False


def draw(every: list[Site], seed: str, count: int) -> list[Site]:
    """The operators in turn, each by rank: numbers in data are most of all mutants, and would be most of a sample."""
    waiting = {name: sorted((s for s in every if s.operator == name), key=lambda s: s.rank(seed)) for name in OPERATORS}
    rounds = range(max(map(len, waiting.values()), default=0))
    return [waiting[name][k] for k in rounds for name in OPERATORS if k < len(waiting[name])][:count]
