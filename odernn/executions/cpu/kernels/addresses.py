"""Memory by address: what a walk and its passes are given where the number of arrays depends on the cell.

A *plane* is an array of numbers of one kind for all columns of a step; its address is that of its first number, in
bytes. A *table* is an array of addresses. In a walk addresses are integers, and ``like`` is any array of the dtype; a
pass has the table ``p`` as a pointer to pointers.

    get(p, k, j), put(p, k, j, vector)     columns j, j+1, … of plane k, as many as fill a register: width(p)
    vector_at(like, at, j), put_vector_at(like, at, j, vector)     the same of a plane at an address
    number_at(like, at, j), put_number_at(like, at, j, number)     column j alone
    call(pass, table, numbers, count)      the pass at that address on columns 0 .. count − 1
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from odernn.executions.cpu.kernels.compilation import prefer_full_width
from odernn.executions.cpu.kernels.vector import REGISTER, Vector

BYTES = {types.float32: 4, types.float64: 8}


def one_register(dtype: Any) -> Vector:
    """The type of a vector that fills one register."""
    return Vector(dtype, REGISTER // BYTES[dtype])


def element(dtype: Any) -> Any:
    """Of LLVM's."""
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def whole(dtype: Any) -> ir.VectorType:
    """Of LLVM's, one register."""
    return ir.VectorType(element(dtype), REGISTER // BYTES[dtype])


def _of_table(p: Any) -> Any:
    is_table = isinstance(p, types.CPointer) and isinstance(p.dtype, types.CPointer) and p.dtype.dtype in BYTES
    return p.dtype.dtype if is_table else None


def _place(builder: Any, arguments: Any) -> Any:
    return builder.gep(builder.load(builder.gep(arguments[0], [arguments[1]])), [arguments[2]])


def _get(_context: Any, p: Any, k: Any, j: Any) -> Any:
    dtype = _of_table(p)
    if dtype is None:
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        prefer_full_width(builder)
        place = builder.bitcast(_place(builder, arguments), whole(dtype).as_pointer())
        return builder.load(place, align=BYTES[dtype])

    return one_register(dtype)(p, types.intp, types.intp), codegen


def _put(_context: Any, p: Any, k: Any, j: Any, vector: Any) -> Any:
    dtype = _of_table(p)
    if dtype is None or vector != one_register(dtype):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.bitcast(_place(builder, arguments), whole(dtype).as_pointer())
        builder.store(arguments[3], place, align=BYTES[dtype])
        return context.get_dummy_value()

    return types.none(p, types.intp, types.intp, vector), codegen


def _width(_context: Any, p: Any) -> Any:
    dtype = _of_table(p)
    if dtype is None:
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.IntType(64)(REGISTER // BYTES[dtype])

    return types.int64(p), codegen


get, put, width = (intrinsic(each) for each in (_get, _put, _width))


def _reading(is_vector: bool) -> Any:
    def typed(_context: Any, like: Any, at: Any, j: Any) -> Any:
        dtype = like.dtype
        kind = whole(dtype) if is_vector else element(dtype)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = builder.inttoptr(arguments[1], element(dtype).as_pointer())
            place = builder.bitcast(builder.gep(start, [arguments[2]]), kind.as_pointer())
            return builder.load(place, align=BYTES[dtype])

        return (one_register(dtype) if is_vector else dtype)(like, types.int64, types.int64), codegen

    return intrinsic(typed)


def _writing(is_vector: bool) -> Any:
    def typed(_context: Any, like: Any, at: Any, j: Any, value: Any) -> Any:
        dtype = like.dtype
        kind = whole(dtype) if is_vector else element(dtype)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = builder.inttoptr(arguments[1], element(dtype).as_pointer())
            place = builder.bitcast(builder.gep(start, [arguments[2]]), kind.as_pointer())
            builder.store(arguments[3], place, align=BYTES[dtype])
            return context.get_dummy_value()

        given = one_register(dtype) if is_vector else dtype
        return types.none(like, types.int64, types.int64, given), codegen

    return intrinsic(typed)


vector_at, number_at = _reading(True), _reading(False)
put_vector_at, put_number_at = _writing(True), _writing(False)


def _call(_context: Any, address: Any, table: Any, numbers: Any, count: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(64)
        given = [
            builder.bitcast(context.make_array(kind)(context, builder, value).data, byte)
            for kind, value in zip(signature.args[1:3], arguments[1:3], strict=True)
        ]
        shape = ir.FunctionType(ir.VoidType(), [byte, byte, number]).as_pointer()
        builder.call(builder.inttoptr(arguments[0], shape), [*given, arguments[3]])
        return context.get_dummy_value()

    return types.none(types.int64, table, numbers, types.int64), codegen


call: Any = intrinsic(_call)
