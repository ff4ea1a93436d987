"""Exact real numbers written as text: "1/2-sqrt(3)/6", "2^(1/3)", "root(x^3-3*x^2+3/2*x-1/6, 0.4358665)".

    number    3, 0.25, 1e-3: decimals are exact
    + - * /   and  ^ or **  with an exponent that is an integer or a fraction p/q
    sqrt(e)   cbrt(e)   root(p, near): the real root of the polynomial p in x nearest to a number

Python's parser reads the text, and only what is listed here is given a meaning: nothing is evaluated by Python itself.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_poly

from odernn.exact.algebraic import Algebraic, FieldMismatchError, Scalar, nearest_float, root_of
from odernn.exact.compositum import LARGEST_DEGREE, nth_root, unify

LONGEST = 2000
LARGEST_EXPONENT = 400
LARGEST_ROOT = 16
LARGEST_SIZE = 100_000  # bits
LARGEST_POLYNOMIAL = 20_000  # terms times bits

_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "·": "*", "×": "*", "^": "\0"})
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.Div: lambda x, y: x / y,
}
_FUNCTIONS = ("sqrt(...)", "cbrt(...)", "root(polynomial in x, near)")


def parse(text: str) -> Scalar:
    """The number that the text says, exactly. ValueError with the cause, or ZeroDivisionError, if it says none."""
    tree, source = _tree(text)
    try:
        return _number(tree, source)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _tree(text: str) -> tuple[ast.expr, str]:
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters, more than {LONGEST}")
    source = text.translate(_SIGNS).replace("\0", "**").strip()
    if not source:
        raise ValueError("it is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "2sqrt(3)" is only warned about in some versions
            return ast.parse(source, mode="eval").body, source
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" at character {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise ValueError(f"it cannot be read{where}; products need a *, as in 2*sqrt(3)") from None


def _number(node: ast.expr, source: str) -> Scalar:
    if isinstance(node, ast.Constant):
        return _constant(node, source)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _number(node.operand, source)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return _power(_number(node.left, source), _rational(node.right, source, "an exponent"))
        if type(node.op) in _OPERATORS:
            return _joined(_OPERATORS[type(node.op)], _number(node.left, source), _number(node.right, source))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, node.args, source)
    if isinstance(node, ast.Name) and node.id == "x":
        raise ValueError("x has a meaning only inside root(polynomial in x, near)")
    raise _unknown(node, source)


def _unknown(node: ast.expr, source: str) -> ValueError:
    part = ast.get_source_segment(source, node) or "a part"
    return ValueError(f"{part!r} has no meaning here; numbers, + - * / ^ and {', '.join(_FUNCTIONS)} have")


def _constant(node: ast.Constant, source: str) -> fmpq:
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return fmpq(node.value)
    if isinstance(node.value, float):
        text = ast.get_source_segment(source, node) or ""
        exponent = re.search(r"[eE]([+-]?\d+)", text)
        if exponent and abs(int(exponent[1])) > LARGEST_EXPONENT:
            raise ValueError(f"the exponent of {text} is larger than {LARGEST_EXPONENT}")
        value = Fraction(text)  # the text, not the double that Python made of it
        return fmpq(value.numerator, value.denominator)
    raise _unknown(node, source)


def _joined(operate: Callable[[Any, Any], Any], x: Scalar, y: Scalar) -> Scalar:
    try:
        result: Scalar = operate(x, y)
    except FieldMismatchError:
        result = operate(*unify((x, y)))
    return result


def _rational(node: ast.expr, source: str, what: str) -> fmpq:
    value = _number(node, source)
    if isinstance(value, Algebraic):
        raise ValueError(f"{value} cannot be {what}; give a rational number")
    return value


def _power(base: Scalar, exponent: fmpq) -> Scalar:
    p, q = int(exponent.p), int(exponent.q)
    if abs(p) > LARGEST_EXPONENT or q > LARGEST_ROOT:
        raise ValueError(f"the exponent {exponent} is too large: at most {LARGEST_EXPONENT}, roots to {LARGEST_ROOT}")
    if base == 0 and p < 0:
        raise ZeroDivisionError
    root = nth_root(base, q)
    if abs(p) * _size(root) > LARGEST_SIZE:
        raise ValueError(f"the power with exponent {exponent} has too many digits")
    power: Scalar = root**p
    return power


def _size(value: Scalar) -> int:
    """Bits of the largest coefficient."""
    coefficients = value.polynomial.coeffs() if isinstance(value, Algebraic) else [value]
    return max(int(c.p).bit_length() + int(c.q).bit_length() for c in coefficients)


def _call(function: str, arguments: list[ast.expr], source: str) -> Scalar:
    if function == "root":
        if len(arguments) != 2:
            raise ValueError("root takes a polynomial in x and a number near the root: root(x^3-2, 1.26)")
        try:
            near = nearest_float(_number(arguments[1], source))
        except OverflowError:
            raise ValueError("the number near the root is too large: at most 1e308") from None
        coefficients = _polynomial(arguments[0], source).coeffs()
        if coefficients and len(coefficients) * max(_size(c) for c in coefficients) > LARGEST_POLYNOMIAL:
            raise ValueError("the polynomial in root(...) has too many digits")
        return root_of(coefficients, near)
    if function not in {"sqrt", "cbrt"}:
        raise ValueError(f"{function} is not known; there are {', '.join(_FUNCTIONS)}")
    if len(arguments) != 1:
        raise ValueError(f"{function} takes one number, not {len(arguments)}")
    return nth_root(_number(arguments[0], source), 2 if function == "sqrt" else 3)


def _small(degree: int) -> None:
    if degree > LARGEST_DEGREE:
        raise ValueError(f"the polynomial in root(...) has degree {degree}, more than {LARGEST_DEGREE}")


def _polynomial(node: ast.expr, source: str) -> fmpq_poly:
    """A polynomial in x with rational coefficients."""
    if isinstance(node, ast.Name) and node.id == "x":
        return fmpq_poly([0, 1])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _polynomial(node.operand, source)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        exponent = _rational(node.right, source, "an exponent")
        if exponent.q != 1 or not 0 <= exponent <= LARGEST_ROOT:
            raise ValueError(f"the exponent {exponent} in a polynomial is not one of 0, ..., {LARGEST_ROOT}")
        base = _polynomial(node.left, source)
        _small(base.degree() * int(exponent.p))
        return base ** int(exponent.p)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _polynomial(node.left, source), _polynomial(node.right, source)
        if isinstance(node.op, ast.Div):
            if right.degree() > 0:
                raise ValueError("a polynomial can be divided by numbers only")
            return left / right[0]
        _small(left.degree() + right.degree() if isinstance(node.op, ast.Mult) else 0)
        result: fmpq_poly = _OPERATORS[type(node.op)](left, right)
        return result
    return fmpq_poly([_rational(node, source, "a coefficient of a polynomial")])
