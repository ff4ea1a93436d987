"""Vectors as numbers in numba: + − * / of a ``Vector``, of elements side by side, with itself or a number of its dtype.

LLVM makes vector code of simple loops by itself, but not of a loop over time inside one over columns, where the state
of some columns stays in registers for several steps. With a number type that is a vector such loops are written as
the formula is. A vector fills one, four or eight of the processor's registers: more than one, so that several chains of
dependent operations run at a time. Sums and products may be fused and are never reordered, see
``kernels.compilation.CONTRACT``.

    every_1, every_4, every_8   masks: all elements of a vector of so many registers
    first_1, first_4 (k, row)   and the first k, of the dtype of ``row``
    elements_1, … (like)        how many these are, in the dtype of ``like``: a constant
    load(row, j, mask)          elements j, j+1, … of a row; where the mask is off 0, and nothing is read
    store(row, j, vector, mask) the other way
    load_row, store_row (rows, n, j, …)    the same of row n of many, without a view of it; n, j ≥ 0
    element(rows, n, j)         rows[n, j], n, j ≥ 0
    smaller(a, b)               a, or b where b < a: NaN of a stays
    where_smaller(a, b, x, y)   x where a < b, else y
    magnitude, with_sign, everywhere, power_of_two, divided     as stated there
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

_FLAGS = ("contract", "arcp", "nsz")


def _register_bytes() -> int:
    features = llvmlite.binding.get_host_cpu_features()
    return 64 if features.get("avx512f") else 32 if features.get("avx2") else 16


REGISTER = _register_bytes()
"""Bytes of a register of the processor that this runs on."""

_BYTES = {types.float32: 4, types.float64: 8}


class Vector(types.Type):
    """A vector of float32 or float64."""

    def __init__(self, dtype: Any, size: int) -> None:
        self.dtype, self.size = dtype, size
        super().__init__(name=f"Vector({dtype}, {size})")


class Mask(types.Type):
    """Which elements of a vector of that size."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(name=f"Mask({size})")


class Every(types.Type):
    """All elements of a vector of so many registers."""

    def __init__(self, registers: int) -> None:
        self.registers = registers
        super().__init__(name=f"Every({registers})")


def _ir(kind: Any) -> ir.VectorType:
    if isinstance(kind, Mask):
        return ir.VectorType(ir.IntType(1), kind.size)
    return ir.VectorType(ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType(), kind.size)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _ir(kind))  # type: ignore[no-untyped-call]


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _ir(kind))  # type: ignore[no-untyped-call]


register_model(Every)(models.OpaqueModel)


def _bytes(kind: Any) -> int:
    return _BYTES[kind.dtype]


def _short(kind: Any) -> str:
    """As in the names of LLVM's functions."""
    if isinstance(kind, Vector):
        return f"v{kind.size}f{8 * _bytes(kind)}"
    return "f32" if kind == types.float32 else "f64"


def _spread(builder: Any, number: Any, kind: Any) -> Any:
    whole = _ir(kind)
    one = builder.insert_element(ir.Constant(whole, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(
        one, ir.Constant(whole, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), kind.size), [0] * kind.size)
    )


def _kind(*operands: Any) -> Vector | None:
    """The vector type of an operation on operands of which one is a vector, and the others are or are its numbers."""
    vector = next((operand for operand in operands if isinstance(operand, Vector)), None)
    fits = vector is not None and all(operand in (vector, vector.dtype) for operand in operands)
    return vector if fits else None


def _both(builder: Any, signature: Any, arguments: Any, kind: Any) -> list[Any]:
    return [
        value if isinstance(given, Vector) else _spread(builder, value, kind)
        for given, value in zip(signature.args, arguments, strict=True)
    ]


def _arithmetic(name: str) -> Any:
    def typed(_context: Any, a: Any, b: Any) -> Any:
        kind = _kind(a, b)
        if kind is None:
            return None

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(*_both(builder, signature, arguments, kind), flags=_FLAGS)

        return kind(a, b), codegen

    return intrinsic(typed)


def _overloaded(function: Any, name: str) -> None:
    operation = _arithmetic(name)

    def overloading(a: Any, b: Any) -> Any:
        return (lambda a, b: operation(a, b)) if _kind(a, b) is not None else None

    overload(function, strict=False)(overloading)


for _function, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _overloaded(_function, _name)


# --- memory


def _address(context: Any, builder: Any, signature: Any, arguments: Any, kind: Any) -> Any:
    """Of element j of a row, or n, j of rows, in elements of the dtype."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    start = array.data
    if array_type.ndim == 2:
        length = builder.extract_value(array.shape, 1)
        start = builder.gep(start, [builder.mul(arguments[1], length)])
    at = builder.gep(start, [arguments[array_type.ndim]])
    return at if kind is None else builder.bitcast(at, _ir(kind).as_pointer())


def _is_row(row: Any, dimensions: int) -> bool:
    return isinstance(row, types.Array) and row.layout == "C" and row.ndim == dimensions and row.dtype in _BYTES


def _called(builder: Any, name: str, result: Any, parts: list[Any]) -> Any:
    shape = ir.FunctionType(result, [part.type for part in parts])
    function: Any = cgutils.get_or_insert_function(builder.module, shape, name)  # type: ignore[no-untyped-call]
    return builder.call(function, parts)


def _of(row: Any, mask: Any, dimensions: int) -> Vector | None:
    """The vectors of a row under such a mask."""
    if not _is_row(row, dimensions) or not isinstance(mask, Mask | Every):
        return None
    return Vector(row.dtype, mask.size if isinstance(mask, Mask) else mask.registers * REGISTER // _BYTES[row.dtype])


def _loading(dimensions: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, mask = signature.return_type, signature.args[-1]
        pointer = _address(context, builder, signature, arguments, kind)
        if not isinstance(mask, Mask):
            return builder.load(pointer, align=_bytes(kind))
        parts = [pointer, ir.IntType(32)(_bytes(kind)), arguments[-1], ir.Constant(_ir(kind), [0.0] * kind.size)]
        return _called(builder, f"llvm.masked.load.{_short(kind)}.p0", _ir(kind), parts)

    def of_row(_context: Any, row: Any, j: Any, mask: Any) -> Any:
        kind = _of(row, mask, 1)
        return None if kind is None else (kind(row, types.intp, mask), codegen)

    def of_rows(_context: Any, rows: Any, n: Any, j: Any, mask: Any) -> Any:
        kind = _of(rows, mask, 2)
        return None if kind is None else (kind(rows, types.intp, types.intp, mask), codegen)

    return intrinsic(of_row if dimensions == 1 else of_rows)


def _storing(dimensions: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, mask = signature.args[-2:]
        pointer = _address(context, builder, signature, arguments, kind)
        if isinstance(mask, Mask):
            parts = [arguments[-2], pointer, ir.IntType(32)(_bytes(kind)), arguments[-1]]
            _called(builder, f"llvm.masked.store.{_short(kind)}.p0", ir.VoidType(), parts)
        else:
            builder.store(arguments[-2], pointer, align=_bytes(kind))
        return context.get_dummy_value()

    def of_row(_context: Any, row: Any, j: Any, vector: Any, mask: Any) -> Any:
        fits = isinstance(vector, Vector) and vector == _of(row, mask, 1)
        return (types.none(row, types.intp, vector, mask), codegen) if fits else None

    def of_rows(_context: Any, rows: Any, n: Any, j: Any, vector: Any, mask: Any) -> Any:
        fits = isinstance(vector, Vector) and vector == _of(rows, mask, 2)
        return (types.none(rows, types.intp, types.intp, vector, mask), codegen) if fits else None

    return intrinsic(of_row if dimensions == 1 else of_rows)


def _element(_context: Any, rows: Any, n: Any, j: Any) -> Any:
    if not _is_row(rows, 2):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments, None))

    return rows.dtype(rows, types.intp, types.intp), codegen


element: Any = intrinsic(_element)
load, load_row = _loading(1), _loading(2)
store, store_row = _storing(1), _storing(2)


def _every(registers: int) -> Any:
    def typed(_context: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_dummy_value()

        return Every(registers)(), codegen

    return intrinsic(typed)


def _first(registers: int) -> Any:
    def typed(_context: Any, count: Any, row: Any) -> Any:
        if not _is_row(row, 1):
            return None
        kind = Mask(registers * REGISTER // _BYTES[row.dtype])

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = ir.VectorType(ir.IntType(32), kind.size)
            count = builder.trunc(arguments[0], ir.IntType(32))
            number = builder.insert_element(ir.Constant(whole, ir.Undefined), count, ir.IntType(32)(0))
            limit = builder.shuffle_vector(
                number, ir.Constant(whole, ir.Undefined), ir.Constant(whole, [0] * kind.size)
            )
            return builder.icmp_signed("<", ir.Constant(whole, list(range(kind.size))), limit)

        return kind(types.intp, row), codegen

    return intrinsic(typed)


def _elements(registers: int) -> Any:
    def typed(_context: Any, like: Any) -> Any:
        if not isinstance(like, types.Array) or like.dtype not in _BYTES:
            return None

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(ir.IntType(64), registers * REGISTER // _BYTES[like.dtype])

        return types.int64(like), codegen

    return intrinsic(typed)


elements_1, elements_4, elements_8 = (_elements(registers) for registers in (1, 4, 8))
every_1, every_4, every_8 = (_every(registers) for registers in (1, 4, 8))
first_1, first_4 = (_first(registers) for registers in (1, 4))


# --- what tanh needs beside arithmetic, for vectors and numbers alike


def _smaller(_context: Any, a: Any, b: Any) -> Any:
    kind = _kind(a, b)
    if kind is None and not (a == b and a in _BYTES):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = arguments if kind is None else _both(builder, signature, arguments, kind)
        return builder.select(builder.fcmp_ordered("<", right, left), right, left)

    return (a if kind is None else kind)(a, b), codegen


smaller: Any = intrinsic(_smaller)


def _where_smaller(_context: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    kind = _kind(a, b)
    if x != y or x != a or (kind is None and not (a == b and a in _BYTES)):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = arguments[:2]
        if kind is not None and not isinstance(b, Vector):
            right = _spread(builder, right, kind)
        return builder.select(builder.fcmp_ordered("<", left, right), *arguments[2:])

    return x(a, b, x, y), codegen


where_smaller: Any = intrinsic(_where_smaller)


def _unary(name: str) -> Any:
    """An operation of LLVM's on one floating-point number or a vector."""

    def typed(_context: Any, a: Any) -> Any:
        if not isinstance(a, Vector) and a not in _BYTES:
            return None

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _called(builder, f"llvm.{name}.{_short(a)}", arguments[0].type, arguments)

        return a(a), codegen

    return intrinsic(typed)


magnitude: Any = _unary("fabs")


def _everywhere(_context: Any, number: Any, like: Any) -> Any:
    if not isinstance(like, Vector) or number != like.dtype:
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0], like)

    return like(number, like), codegen


everywhere: Any = intrinsic(_everywhere)
"""The number in every element of a vector as ``like`` is, whatever that has."""


def _with_sign(_context: Any, a: Any, b: Any) -> Any:
    if a != b or not (isinstance(a, Vector) or a in _BYTES):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _called(builder, f"llvm.copysign.{_short(a)}", arguments[0].type, arguments)

    return a(a, b), codegen


with_sign: Any = intrinsic(_with_sign)
"""|a| with the sign of b."""


def _power(_context: Any, t: Any) -> Any:
    if not isinstance(t, Vector) and t not in _BYTES:
        return None
    dtype = t.dtype if isinstance(t, Vector) else t
    width, shift, bias = (32, 23, 127) if dtype == types.float32 else (64, 52, 1023)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        number = ir.IntType(width)
        whole = ir.VectorType(number, t.size) if isinstance(t, Vector) else number

        def constant(n: int) -> Any:
            return ir.Constant(whole, [n] * t.size if isinstance(t, Vector) else n)

        bits = builder.add(builder.shl(builder.bitcast(value, whole), constant(shift)), constant(bias << shift))
        return builder.bitcast(bits, value.type)

    return t(t), codegen


power_of_two: Any = intrinsic(_power)
"""2^k from a number whose last bits are k, as they are after adding 1.5·2²³ or 1.5·2⁵²."""


def _in_pieces(builder: Any, name: str, value: Any, piece: ir.VectorType, others: list[Any]) -> Any:
    """An operation of the processor's on a vector of several registers, one after another."""
    number, parts = ir.IntType(32), []
    for start in range(0, value.type.count, piece.count):
        elements = ir.Constant(ir.VectorType(number, piece.count), list(range(start, start + piece.count)))
        part = builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), elements)
        parts.append(_called(builder, name, piece, [part, *others]))
    while len(parts) > 1:
        size = parts[0].type.count
        elements = ir.Constant(ir.VectorType(number, 2 * size), list(range(2 * size)))
        parts = [builder.shuffle_vector(*pair, elements) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _divided(_context: Any, a: Any, b: Any) -> Any:
    if a != b or not (isinstance(a, Vector) or a in _BYTES):
        return None
    is_estimated = isinstance(a, Vector) and a.dtype == types.float32 and REGISTER == 64

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        over, under = arguments
        if not is_estimated:
            return builder.fdiv(over, under, flags=_FLAGS)
        piece = ir.VectorType(ir.FloatType(), 16)
        given = [ir.Constant(piece, [0.0] * 16), ir.IntType(16)(-1)]
        per = _in_pieces(builder, "llvm.x86.avx512.rcp14.ps.512", under, piece, given)
        quotient = builder.fmul(over, per)  # without flags, which would let it be fused away
        product = builder.fneg(quotient)
        rest = _called(builder, f"llvm.fma.{_short(a)}", quotient.type, [product, under, over])
        return _called(builder, f"llvm.fma.{_short(a)}", quotient.type, [rest, per, quotient])

    return a(a, b), codegen


divided: Any = intrinsic(_divided)
"""a / b for 2⁻¹²⁰ ≤ |b| ≤ 2¹²⁰ and a quotient that is no denormal number.

A division of 16 numbers takes as many cycles. Where there is an estimate r of 1/b, |r b − 1| ≤ 2⁻¹⁴, and q = a r, the
sum q + (a − q b) r, with a − q b rounded once, is off by 2⁻²⁸ and one rounding.
"""
