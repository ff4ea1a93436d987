"""Ways to break a formula: sign, factor 2, exponent, dropped term, max for min, turned comparison, range off by one.

``mutants(source, ...)`` lists every broken expression of a file, ``broken_tree(source, mutant)`` is the syntax tree
with one of them put in. Left out, by rule and counted nowhere:

    not a formula      docstrings, type hints, decorators, parameters' defaults, messages of errors, f-strings; guards
                       that only raise, assertions; ``is None``; subscripts, shapes, axes and dtypes (keyword arguments
                       ``axis``, ``dtype``, ``strict``, …)
    literal zeros      ``0 * x``, ``x + 0``, ``x + zero``: they make a number of the right kind and add nothing
    how it is shown    digits of ``nstr``, operands of text; the sizes of a proof (``up_to``): a test compares them with
                       what the proof says
    the same mutant    in range(…) everything but its ends ± 1; c·x → x and 2·(c·x) beside c → 2c and c → c/2; the
                       dropping of the other factor of c·x
    even by look       −x → x inside of |·| and under an even power
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

OPERATORS = ("sign", "factor 2", "exponent", "dropped term", "max and min", "comparison", "range")
Path: TypeAlias = tuple[tuple[str, int | None], ...]

_SKIPPED_KEYWORDS = {"axis", "dtype", "strict", "key", "keepdims", "shape", "precision", "prec", "radius"}
_SKIPPED_CALLS = {
    "isinstance",
    "broadcast_arrays",
    "zeros",
    "ones",
    "empty",
    "zeros_like",
    "zip",
    "replace",
    "field",
    "index",
    "reshape",
    "int",
    "str",
    "append",
    "get",
    "NotImplementedError",
    "detach",
    "astype",
    "range",
    "arange",
    "nstr",
    "up_to",
}
_BIGGEST = {"maximum": "minimum", "max": "min", "argmax": "argmin"}
_OTHER_END = _BIGGEST | {value: key for key, value in _BIGGEST.items()}
_TWO_TERMS = {"log_add_exp", "logaddexp", "maximum", "minimum", "max", "min"}
_TURNED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
LOG_2 = "0.6931471805599453"


@dataclass(frozen=True)
class Mutant:
    """One broken expression. ``number`` tells equal ones of a function apart; ``lines`` is the statement it is in."""

    file: str
    function: str
    operator: str
    before: str
    after: str
    number: int
    line: int
    lines: tuple[int, int]
    path: Path

    @property
    def is_constant(self) -> bool:
        """Whether it is a number or a form of the module, and not part of a function."""
        return self.function.startswith("module.") and "<" not in self.function

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names it in survivors.toml: no line numbers."""
        return self.file, self.function, self.before, self.after, self.number


def is_zero(node: ast.AST) -> bool:
    """A term that is zero by its looks: 0, 0 * x, ``zero``."""
    match node:
        case ast.Constant(value=value):
            return value == 0 and not isinstance(value, bool)
        case ast.Name(id=name):
            return name in ("zero", "zeros")
        case ast.BinOp(op=ast.Mult()):
            return is_zero(node.left) or is_zero(node.right)
        case ast.Call(func=ast.Attribute(attr="exact" | "arb" | "mpf"), args=[one]):
            return is_zero(one)
    return False


def is_number(node: ast.AST) -> bool:
    """A literal constant, also negated or wrapped: 2, −4, ``numbers.exact(2)``, ``Fraction(1, 2)``."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_number(operand)
        case ast.Call(func=ast.Attribute(attr="exact" | "arb" | "mpf"), args=[one]):
            return is_number(one)
        case ast.Call(func=ast.Name(id="Fraction" | "Q"), args=args):
            return all(map(is_number, args))
    return False


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _times(factor: ast.expr | float, node: ast.expr) -> ast.expr:
    left = ast.Constant(factor) if isinstance(factor, int | float) else factor
    return ast.BinOp(left, ast.Mult(), node)


def _over(node: ast.expr, factor: float) -> ast.expr:
    return ast.BinOp(node, ast.Div(), ast.Constant(factor))


def _plus(node: ast.expr, text: str, sign: type[ast.operator]) -> ast.expr:
    return ast.BinOp(node, sign(), ast.parse(text, mode="eval").body)


def _minus(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node)


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)


def _has_number_factor(node: ast.AST) -> bool:
    if _is_product(node):
        assert isinstance(node, ast.BinOp)
        return _has_number_factor(node.left) or _has_number_factor(node.right)
    return is_number(node) or (isinstance(node, ast.UnaryOp) and _has_number_factor(node.operand))


def _replacements(node: ast.AST, place: _Place) -> Iterator[tuple[str, ast.AST]]:
    """(operator, what stands in its place) for one node."""
    if _is_text(node):
        return
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            if not (is_zero(left) or is_zero(right) or _is_text(left) or _is_list(left) or _is_list(right)):
                yield "sign", ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
                yield "dropped term", left
                yield "dropped term", right if isinstance(op, ast.Add) else _minus(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            usual = not (is_zero(node) or _is_list(left) or _is_list(right))
            if usual and not is_number(right):
                yield "dropped term", left
            if usual and not is_number(left):
                yield "dropped term", right
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            if not is_number(right):
                yield "dropped term", left
            if not is_number(left):
                yield "dropped term", ast.BinOp(ast.Constant(1), ast.Div(), right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            if isinstance(right, ast.Constant) and isinstance(right.value, int):
                for power in (right.value + 1, right.value - 1):
                    yield "exponent", left if power == 1 else ast.BinOp(left, ast.Pow(), ast.Constant(power))
            else:
                yield "exponent", ast.BinOp(left, ast.Pow(), ast.BinOp(right, ast.Add(), ast.Constant(1)))
                yield "exponent", ast.BinOp(left, ast.Pow(), ast.BinOp(right, ast.Sub(), ast.Constant(1)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            if not place.is_even:
                yield "sign", operand
        case ast.Call(func=function, args=args):
            name = _name(function)
            if name in ("sqrt",) and args:
                yield "exponent", args[0]
            elif name in ("sqrt",) and isinstance(function, ast.Attribute):
                yield "exponent", function.value
            elif name in ("absolute", "abs") and args:
                yield "sign", args[0]
            elif name in _TWO_TERMS and len(args) == 2:
                for each in args:
                    if not isinstance(each, ast.Starred):  # *x is no expression of its own
                        yield "dropped term", each
            elif name in ("max", "min") and isinstance(function, ast.Attribute) and len(args) == 1:  # of two balls
                yield "dropped term", function.value
                yield "dropped term", args[0]
            elif name in ("range", "arange") and args:
                ends = args[:2]
                for i, end in enumerate(ends):
                    for sign in (ast.Add, ast.Sub):
                        moved = [_plus(end, "1", sign) if j == i else arg for j, arg in enumerate(args)]
                        yield "range", ast.Call(function, moved, node.keywords)
            if name in _OTHER_END and args and not node.keywords:
                yield "max and min", _other_end(function, args)
        case ast.Attribute(attr="maximum" | "minimum") if not place.is_called:
            yield "max and min", _other_end_of_function(node)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _TURNED:
            if not (_is_text(left) or _is_text(right)):
                yield "comparison", ast.Compare(left, [_TURNED[type(op)]()], [right])
        case ast.Constant(value=value) if is_number(node) and value != 0 and not place.is_exponent:
            assert isinstance(value, int | float)
            yield "factor 2", ast.Constant(2 * value)
            yield "factor 2", ast.Constant(value // 2 if isinstance(value, int) and value % 2 == 0 else value / 2)
    if isinstance(node, ast.expr) and place.is_term and not (is_zero(node) or is_number(node) or _is_list(node)):
        if place.is_log_value:
            yield "factor 2", _plus(node, LOG_2, ast.Add)
            yield "factor 2", _plus(node, LOG_2, ast.Sub)
        elif not _has_number_factor(node):
            yield "factor 2", _times(2, node)
            yield "factor 2", _over(node, 2)


def _added(node: ast.AugAssign) -> Iterator[tuple[str, ast.AST]]:
    """x += y with −y and without y; x *= y without y."""
    if isinstance(node.op, ast.Add | ast.Sub) and not _is_list(node.value):
        yield "sign", _minus(node.value)
        yield "dropped term", _times(0, node.value)
    elif isinstance(node.op, ast.Mult | ast.Div):
        yield "dropped term", ast.Constant(1)


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.IfExp(body=body):
            return _is_text(body)
        case ast.Call(func=ast.Attribute(attr="join", value=value)):
            return _is_text(value)
        case ast.Call(func=ast.Name(id="listed")):  # the facts of a proof
            return True
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.List | ast.ListComp | ast.Tuple | ast.Dict)


def _other_end(function: ast.expr, args: list[ast.expr]) -> ast.expr:
    """min for max. A number namespace has no minimum: min(x, y) = −max(−x, −y)."""
    name = _name(function)
    if isinstance(function, ast.Attribute):
        if name == "maximum" and _name(function.value) == "numbers":
            return _minus(ast.Call(function, [_minus(each) for each in args], []))
        return ast.Call(ast.Attribute(function.value, _OTHER_END[name], ast.Load()), args, [])
    return ast.Call(ast.Name(_OTHER_END[name], ast.Load()), args, [])


def _other_end_of_function(node: ast.Attribute) -> ast.expr:
    if _name(node.value) == "numbers":
        return ast.parse(f"lambda x, y: -{ast.unparse(node)}(-x, -y)", mode="eval").body
    return ast.Attribute(node.value, _OTHER_END[node.attr], ast.Load())


@dataclass(frozen=True)
class _Place:
    """Where a node stands: as a value or summand (is_term), as a returned logarithm, in an exponent, under |·|."""

    is_term: bool = False
    is_log_value: bool = False
    is_exponent: bool = False
    is_called: bool = False
    is_even: bool = False


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield name, None, value
        elif isinstance(value, list):
            for i, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield name, i, each


def _is_summand(parent: ast.AST, node: ast.AST, name: str) -> bool:
    """Whether a factor 2 on the node is one on a whole term: a product under + or −, or a value on its own."""
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub):
        return not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub))
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign) and name == "value":
        return _is_product(node)
    return False


def _walk(node: ast.AST, path: Path, place: _Place, logs: bool) -> Iterator[tuple[str, Path, ast.AST, ast.AST]]:
    for operator, broken in _replacements(node, place):
        yield operator, path, node, broken
    for name, i, child in _children(node):
        if _is_left_out(node, name, i, child):
            continue
        if isinstance(node, ast.AugAssign) and name == "value":
            yield from ((operator, (*path, (name, i)), child, broken) for operator, broken in _added(node))
        values = isinstance(node, ast.Return | ast.Yield | ast.Lambda) and name in ("value", "body")
        values = values or (isinstance(node, ast.Tuple) and place.is_log_value)
        log_value = logs and values and not isinstance(child, ast.ListComp | ast.Dict | ast.Constant)
        term = _is_summand(node, child, name) or (values and _is_arithmetic(child)) or log_value
        if isinstance(node, ast.Tuple) and not place.is_log_value:
            term = term or (place.is_term and _is_arithmetic(child))
        if isinstance(child, ast.Tuple) and values:  # each entry of it is a value
            below = _Place(is_term=True, is_log_value=log_value)
        else:
            below = _Place(
                is_term=term,
                is_log_value=log_value,
                is_exponent=place.is_exponent
                or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and name == "right"),
                is_called=isinstance(node, ast.Call) and name == "func",
                is_even=_makes_even(node, name),
            )
        step = ((name, i),)
        if isinstance(child, ast.Tuple) and below.is_term:
            for j, entry in enumerate(child.elts):
                inner = _Place(is_term=_is_arithmetic(entry), is_log_value=below.is_log_value)
                yield from _walk(entry, (*path, *step, ("elts", j)), inner, logs)
        else:
            yield from _walk(child, (*path, *step), below, logs)


def _is_arithmetic(node: ast.AST) -> bool:
    """A call of something that is no class, an arithmetic operation or a name that stands for a number."""
    if isinstance(node, ast.Call):
        name = _name(node.func)
        return not (name[:1].isupper() or name in _SKIPPED_CALLS | _NO_NUMBERS or name.startswith(_QUESTIONS))
    return isinstance(node, ast.BinOp | ast.UnaryOp)


_NO_NUMBERS = {"tuple", "list", "dict", "join", "bool", "all", "any", "holds", "admits", "issuperset", "issubset"}
_QUESTIONS = ("is_", "_is_", "has_", "meets_", "_holds", "_all_")
"""Calls that answer yes or no: twice True is True."""


def _makes_even(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call):
        return _name(node.func) in ("absolute", "abs") and name == "args"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and name == "left":
        return isinstance(node.right, ast.Constant) and isinstance(node.right.value, int) and node.right.value % 2 == 0
    return False


def _is_left_out(node: ast.AST, name: str, i: int | None, child: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if name in ("args", "returns", "decorator_list"):
                return True
        case ast.Lambda() if name == "args":
            return True
        case ast.AnnAssign() if name in ("annotation", "target"):
            return True
        case ast.Subscript() if name == "slice":
            return True
        case ast.Call():
            if name == "func" and not isinstance(child, ast.Attribute):
                return True
            return name == "args" and _name(node.func) in _SKIPPED_CALLS
        case ast.keyword(arg=arg) if arg in _SKIPPED_KEYWORDS:
            return True
    match child:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.ClassDef():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(body=[ast.Raise()], orelse=[]):
            return True
    return False


def functions_of(tree: ast.Module) -> Iterator[tuple[str, Path, ast.FunctionDef]]:
    """Every outermost function and method with its qualified name and place."""

    def search(node: ast.AST, path: Path, prefix: str) -> Iterator[tuple[str, Path, ast.FunctionDef]]:
        for name, i, child in _children(node):
            here = (*path, (name, i))
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, here, child
            elif isinstance(child, ast.ClassDef):
                yield from search(child, here, f"{prefix}{child.name}.")

    return search(tree, (), "")


def _inner(node: ast.FunctionDef, path: Path, name: str) -> Iterator[tuple[str, Path, ast.FunctionDef | ast.Lambda]]:
    """Functions within, and the lambdas that are formulas of a claim: arguments of ``Inequality``, ``bound=``."""
    for place, found in _search(node, path):
        if isinstance(found, ast.FunctionDef) and found is not node:
            yield f"{name}.{found.name}", place, found


def _search(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    yield path, node
    for name, i, child in _children(node):
        yield from _search(child, (*path, (name, i)))


def formula_lambdas(tree: ast.Module) -> Iterator[tuple[str, Path, ast.Lambda]]:
    """Lambdas that are sides of an ``Inequality``, a ``bound``/``second_bound`` of a ``Part`` or a margin of a
    ``Hypothesis``.
    """
    for path, node in _search(tree, ()):
        if not isinstance(node, ast.Call):
            continue
        if _name(node.func) == "Inequality":
            for i, each in enumerate(node.args[:2]):
                if isinstance(each, ast.Lambda):
                    yield f"{_owner(tree, path)}.<{('balls', 'intervals')[i]}>", (*path, ("args", i)), each
        if _name(node.func) == "Hypothesis" and len(node.args) > 1 and isinstance(node.args[1], ast.Lambda):
            yield f"{_owner(tree, path)}.<margin>", (*path, ("args", 1)), node.args[1]
        for i, keyword in enumerate(node.keywords):
            is_side = keyword.arg in ("balls", "intervals") and _name(node.func) == "Inequality"
            is_side = is_side or keyword.arg in ("bound", "second_bound", "margin", "second_margin")
            if is_side and isinstance(keyword.value, ast.Lambda):
                where = (*path, ("keywords", i), ("value", None))
                yield f"{_owner(tree, path)}.<{keyword.arg}>", where, keyword.value


def _owner(tree: ast.Module, path: Path) -> str:
    node: ast.AST = tree
    names = []
    for name, i in path:
        node = _child(node, name, i)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
    return ".".join(names) or "module"


def _child(node: ast.AST, name: str, i: int | None) -> ast.AST:
    value = getattr(node, name)
    found: ast.AST = value if i is None else value[i]
    return found


def at(tree: ast.AST, path: Path) -> ast.AST:
    """The node at a place."""
    for name, i in path:
        tree = _child(tree, name, i)
    return tree


def mutants(source: str, file: str, *, only: str | None = None) -> list[Mutant]:
    """Every mutant of a file. ``only``, a pattern of function names, leaves the rest out, but for formula lambdas."""
    tree = ast.parse(source)
    roots: list[tuple[str, Path, ast.AST]] = []
    node: ast.AST
    for name, path, node in functions_of(tree):
        assert isinstance(node, ast.FunctionDef)
        if only is None or re.search(only, node.name):
            if _is_formula(node):
                roots.append((name, path, node))
        else:
            roots += [each for each in _inner(node, path, name) if re.search(only, each[2].name)]  # type: ignore[union-attr]
    if only is not None:
        roots += formula_lambdas(tree)
    found: list[Mutant] = []
    seen: set[tuple[Path, str]] = set()
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, path, node in roots:
        logs = "log" in name.split(".")[-1].split("_") and _returns_numbers(node)
        for operator, place, before, after in _walk(node, path, _Place(), logs):
            text = ast.unparse(after)
            is_scaled_margin = name.endswith("margin>") and operator == "factor 2" and place == (*path, ("body", None))
            if (place, text) in seen or text == ast.unparse(before) or is_scaled_margin:
                continue
            seen.add((place, text))
            one = (name, ast.unparse(before), text)
            counts[one] += 1
            found.append(Mutant(file, name, operator, one[1], text, counts[one], *_lines(tree, place), place))
    if only is None:
        found += _constants(tree, file)
    return found


def _is_formula(node: ast.FunctionDef) -> bool:
    return not (node.name.startswith(("_check", "__")) or (node.name.startswith("_require")))


def _returns_numbers(node: ast.AST) -> bool:
    return not (isinstance(node, ast.FunctionDef) and "Constants" in ast.unparse(node.returns or ast.Constant(None)))


def _lines(tree: ast.Module, path: Path) -> tuple[int, tuple[int, int]]:
    """The line of the node and the first and last line of the innermost statement around it."""
    node: ast.AST = tree
    statement: ast.AST = tree
    for name, i in path:
        node = _child(node, name, i)
        if isinstance(node, ast.stmt):
            statement = node
    last = statement.end_lineno or statement.lineno  # type: ignore[attr-defined]
    if isinstance(statement, ast.If | ast.For | ast.While | ast.FunctionDef):  # its head only
        last = statement.body[0].lineno
    return getattr(node, "lineno", 0), (statement.lineno, last)  # type: ignore[attr-defined]


def _constants(tree: ast.Module, file: str) -> Iterator[Mutant]:
    """Numbers with a name, and printed forms that are data: every field of theirs that is a number."""
    fields = {
        node.name: [
            (s.target.id, s.value)
            for s in node.body
            if isinstance(s, ast.AnnAssign)
            and isinstance(s.target, ast.Name)
            and "Fraction" in ast.unparse(s.annotation)
        ]
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    for i, node in enumerate(tree.body):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        value, name = node.value, f"module.{node.targets[0].id}"
        after: list[ast.expr] = []
        if isinstance(value, ast.Call) and _name(value.func) in fields:
            given = {each.arg: each.value for each in value.keywords}
            for field, default in fields[_name(value.func)]:
                now = given.get(field, default)
                if now is None or isinstance(now, ast.Constant):
                    continue
                rest = [each for each in value.keywords if each.arg != field]
                for other in (_times(2, now), _over(now, 2)):
                    after.append(ast.Call(value.func, value.args, [*rest, ast.keyword(field, other)]))
        elif is_number(value):
            after = [_times(2, value), _over(value, 2)]
        for each in after:
            place: Path = (("body", i), ("value", None))
            line = node.lineno
            yield Mutant(file, name, "factor 2", ast.unparse(value), ast.unparse(each), 1, line, (line, line), place)


def broken_tree(source: str, mutant: Mutant) -> ast.Module:
    """The file with the mutant in it, as a syntax tree with the line numbers of the source.

    In a function ``new if True else old``: the compiler drops ``old``, but counts the names in it, so that the broken
    function closes over the same variables and its code can take the place of the old one.
    """
    tree = ast.parse(source)
    parent = at(tree, mutant.path[:-1])
    name, i = mutant.path[-1]
    old = _child(parent, name, i)
    new = ast.parse(mutant.after, mode="eval").body
    put = new if mutant.is_constant else ast.IfExp(ast.Constant(True), new, copy.deepcopy(old))  # type: ignore[arg-type]
    for node in ast.walk(put):
        ast.copy_location(node, old)
    if i is None:
        setattr(parent, name, put)
    else:
        getattr(parent, name)[i] = put
    return ast.fix_missing_locations(tree)


def expression(node: ast.expr) -> ast.Expression:
    """A node as something that can be evaluated."""
    return ast.fix_missing_locations(ast.Expression(node))
