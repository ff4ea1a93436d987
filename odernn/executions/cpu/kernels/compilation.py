"""How kernels are compiled, and how their compiled code is kept on disk.

numba renews what it has kept of a function when the function's own file changes, and does not see the files that it
calls into. Hence a kernel's name has a digest of all of them: whatever changes, nothing stale is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CONTRACT: dict[str, Any] = {"fastmath": {"contract", "arcp", "nsz"}, "error_model": "numpy"}
"""Products and sums may be fused, but are never reordered: full fastmath would remove the two-part reduction and the
rounding constant of tanh. "numpy": division by zero is no branch."""

PLAIN: dict[str, Any] = {"fastmath": False, "error_model": "numpy"}
"""Every operation is rounded: where forward and backward must compute the same bits."""

Function = TypeVar("Function", bound=Callable[..., Any])


def digest(folder: Path) -> str:
    """Of all files in the folder that kernels are made of."""
    sha = hashlib.sha256()
    for path in sorted(folder.glob("[!_]*.py")):
        sha.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()[:16]


SOURCES = digest(Path(__file__).parent)


def compiled(how: dict[str, Any]) -> Callable[[Function], Function]:
    """A part of kernels, compiled when a kernel needs it, for the dtypes it needs."""
    decorator: Any = numba.njit
    alone = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # nothing else calls a part
    result: Callable[[Function], Function] = decorator(**(alone | how))
    return result


def by_address(function: Callable[..., None], dtype: Any, sources: str) -> Any:
    """``function(p, c, count)``, a pass of ``kernels.walk``, for planes of numba's ``dtype``: it has an ``address``.

    ``sources`` is a digest of all files that it is made of. Kept on disk as kernels are.
    """
    pointer: Any = types.CPointer
    signature = types.void(pointer(pointer(dtype)), pointer(dtype), types.int64)
    if not function.__qualname__.endswith(sources):
        function.__qualname__ = f"{function.__qualname__}_{sources}"
    made: Any = numba.cfunc
    try:
        return made(signature, cache=True, **CONTRACT)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return made(signature, **CONTRACT)(function)


def kernel(how: dict[str, Any]) -> Callable[[Function], Function]:
    """What Python calls: without Python's lock, and kept on disk, if there is a place for it."""

    def decorate(function: Function) -> Function:
        function.__qualname__ = f"{function.__qualname__}_{SOURCES}"
        called = how | {"nogil": True, "forceinline": False, "no_cpython_wrapper": False}
        try:
            return compiled(called | {"cache": True})(function)
        except RuntimeError as error:  # numba's, where neither the package nor the home directory can be written to
            if "cannot cache" not in str(error):
                raise
            return compiled(called)(function)

    return decorate


def prefer_full_width(builder: Any) -> None:
    """Of the function that is being built."""
    # llvmlite writes attributes out as they are, but its own ``add`` knows only those without a value.
    set.add(builder.function.attributes, '"prefer-vector-width"="512"')


def _ask_for_full_width(_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        prefer_full_width(builder)
        return context.get_dummy_value()

    return types.none(), codegen


full_width: Any = intrinsic(_ask_for_full_width)
"""In a function: vectors of 512 bits where the processor has them. LLVM takes half of that unless it is asked."""


def _ask_for_line(_context: Any, rows: Any, n: Any, j: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.add(builder.mul(arguments[1], builder.extract_value(array.shape, 1)), arguments[2])
        address = builder.bitcast(builder.gep(array.data, [at]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], fnty=kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # to read, into all levels, data
        return context.get_dummy_value()

    return types.none(rows, types.intp, types.intp), codegen


prefetch: Any = intrinsic(_ask_for_line)
"""prefetch(rows, n, j): ask for the line of memory of rows[n, j], which will be read; of a contiguous array."""
