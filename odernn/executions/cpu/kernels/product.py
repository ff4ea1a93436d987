"""C = A B, or C + A B, for a few rows of A and a B that is used again and again, packed once.

B (inner, columns) is packed in panels of two registers' columns, (panels, inner, width of a panel), the last one
filled up with zeros. A tile of C is made in registers: R rows by a panel, as S sums over every S-th k where R is small,
so that R S = ``TALLEST`` sums run side by side whatever R is. A step of a recurrence needs products of this kind: rows
are samples, and B is one matrix for all times. Beside torch.mm, float32, one thread of a processor with AVX-512, in
GFLOP/s of processor time: 147 against 162 at (128, 128, 128), rows first, 151 against 136 at (16, 190, 190), 161
against 13 at (8, 32, 32), 91 against 3 at (2, 32, 32), 95 against 96 at (32, 1024, 1024).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from odernn.executions.cpu.kernels.addresses import BYTES, element, number_at, put_number_at, whole
from odernn.executions.cpu.kernels.compilation import CONTRACT, compiled, full_width, kernel
from odernn.executions.cpu.kernels.vector import REGISTER

_FLAGS = ("contract",)
_ROW = ir.IntType(32)

TALLEST = 8 if REGISTER == 64 else 4
"""Rows of a tile: twice as many sums, and a few registers more, are what processors of that kind have."""

PANEL = 2
"""Registers a row of a tile."""


class _Tile:
    """The code of one tile: addresses as given, and LLVM's types."""

    def __init__(self, builder: Any, dtype: Any, rows: int, given: list[Any]) -> None:
        self.builder, self.rows, self.sums = builder, rows, TALLEST // rows
        self.bytes, self.number, self.vector = BYTES[dtype], element(dtype), whole(dtype)
        self.size = REGISTER // self.bytes
        c, self.c_pitch, a, self.a_pitch, b, self.inner, left, self.is_added = given
        self.c, self.a, self.b = (builder.inttoptr(each, self.number.as_pointer()) for each in (c, a, b))
        lanes = ir.VectorType(_ROW, self.size)
        limit = self._spread(builder.trunc(left, _ROW), lanes)
        self.masks = [
            builder.icmp_signed("<", ir.Constant(lanes, list(range(v * self.size, (v + 1) * self.size))), limit)
            for v in range(PANEL)
        ]
        self.suffix = f"v{self.size}f{8 * self.bytes}.p0"

    def _spread(self, number: Any, kind: ir.VectorType) -> Any:
        nothing = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(nothing, number, _ROW(0))
        return self.builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_ROW, kind.count), [0] * kind.count))

    def _place(self, start: Any, row: int, pitch: Any, column: Any, kind: Any) -> Any:
        number = ir.IntType(64)
        at = self.builder.add(self.builder.mul(number(row), pitch), column)
        return self.builder.bitcast(self.builder.gep(start, [at]), kind.as_pointer())

    def in_c(self, row: int, v: int) -> Any:
        return self._place(self.c, row, self.c_pitch, ir.IntType(64)(v * self.size), self.vector)

    def loaded(self, row: int, v: int) -> Any:
        pointer, mask = self.vector.as_pointer(), self.masks[v]
        shape = ir.FunctionType(self.vector, [pointer, _ROW, mask.type, self.vector])
        function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            self.builder.module, shape, f"llvm.masked.load.{self.suffix}"
        )
        nothing = ir.Constant(self.vector, [0.0] * self.size)
        return self.builder.call(function, [self.in_c(row, v), _ROW(self.bytes), mask, nothing])

    def store(self, row: int, v: int, value: Any) -> None:
        pointer, mask = self.vector.as_pointer(), self.masks[v]
        shape = ir.FunctionType(ir.VoidType(), [self.vector, pointer, _ROW, mask.type])
        function: Any = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            self.builder.module, shape, f"llvm.masked.store.{self.suffix}"
        )
        self.builder.call(function, [value, self.in_c(row, v), _ROW(self.bytes), mask])

    def added(self, k: Any, sums: list[Any]) -> list[Any]:
        """Sums, a row after another, with the products of one k."""
        builder, column = self.builder, self.builder.mul(k, ir.IntType(64)(PANEL * self.size))
        of_b = []
        for v in range(PANEL):
            at = builder.gep(self.b, [builder.add(column, ir.IntType(64)(v * self.size))])
            of_b.append(builder.load(builder.bitcast(at, self.vector.as_pointer()), align=self.bytes))
        result = []
        for row in range(self.rows):
            of_a = builder.load(self._place(self.a, row, self.a_pitch, k, self.number))
            spread = self._spread(of_a, self.vector)
            for v in range(PANEL):
                term = builder.fmul(spread, of_b[v], flags=_FLAGS)
                result.append(builder.fadd(term, sums[row * PANEL + v], flags=_FLAGS))
        return result

    def write(self) -> None:
        builder, number = self.builder, ir.IntType(64)
        entry = builder.block
        names = ("adding", "several", "of_several", "single", "of_single", "done")
        adding, several, of_several, single, of_single, done = (builder.append_basic_block(name) for name in names)
        nothing, count = ir.Constant(self.vector, [0.0] * self.size), self.rows * PANEL

        builder.cbranch(builder.icmp_signed("!=", self.is_added, self.is_added.type(0)), adding, several)
        builder.position_at_end(adding)
        old = [self.loaded(row, v) for row in range(self.rows) for v in range(PANEL)]
        builder.branch(several)

        builder.position_at_end(several)
        k = builder.phi(number)
        sums = [[builder.phi(self.vector) for _ in range(count)] for _ in range(self.sums)]
        for start in (entry, adding):
            k.add_incoming(number(0), start)
            for s, group in enumerate(sums):
                for one, before in zip(group, old, strict=True):
                    one.add_incoming(before if start is adding and s == 0 else nothing, start)
        after = builder.add(k, number(self.sums))
        builder.cbranch(builder.icmp_signed("<=", after, self.inner), of_several, single)
        builder.position_at_end(of_several)
        for s, group in enumerate(sums):
            for one, new in zip(group, self.added(builder.add(k, number(s)), group), strict=True):
                one.add_incoming(new, of_several)
        k.add_incoming(after, of_several)
        builder.branch(several)

        builder.position_at_end(single)  # the last k, fewer than there are sums
        last = builder.phi(number)
        last.add_incoming(k, several)
        rest = [builder.phi(self.vector) for _ in range(count)]
        for one, before in zip(rest, sums[0], strict=True):
            one.add_incoming(before, several)
        builder.cbranch(builder.icmp_signed("<", last, self.inner), of_single, done)
        builder.position_at_end(of_single)
        for one, new in zip(rest, self.added(last, rest), strict=True):
            one.add_incoming(new, of_single)
        last.add_incoming(builder.add(last, number(1)), of_single)
        builder.branch(single)

        builder.position_at_end(done)
        for index in range(count):
            total = rest[index]
            for group in sums[1:]:
                total = builder.fadd(total, group[index])
            self.store(index // PANEL, index % PANEL, total)


def _tile(rows: int) -> Any:
    def typed(
        _context: Any, like: Any, c: Any, c_pitch: Any, a: Any, a_pitch: Any, b: Any, inner: Any, left: Any, add: Any
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _Tile(builder, like.dtype, rows, list(arguments[1:])).write()
            return context.get_dummy_value()

        return types.none(like, *[types.int64] * 8), codegen

    return intrinsic(typed)


_tall, _half, _quarter, _eighth = (_tile(max(TALLEST // part, 1)) for part in (1, 2, 4, 8))


@compiled(CONTRACT | {"forceinline": False})
def product(
    like: Any, c: int, c_pitch: int, a: int, a_pitch: int, b: int, rows: int, inner: int, columns: int, is_added: int
) -> None:
    """C (rows, columns) = A (rows, inner) B, added to C if ``is_added``; addresses, pitches in numbers."""
    full_width()
    size = like.itemsize
    panel = PANEL * REGISTER // size
    for j in range(0, columns, panel):
        left, at = columns - j, 0
        while rows - at >= TALLEST:
            _tall(
                like, c + (at * c_pitch + j) * size, c_pitch, a + at * a_pitch * size, a_pitch, b, inner, left, is_added
            )
            at += TALLEST
        if rows - at >= TALLEST // 2:
            _half(
                like, c + (at * c_pitch + j) * size, c_pitch, a + at * a_pitch * size, a_pitch, b, inner, left, is_added
            )
            at += TALLEST // 2
        if rows - at >= TALLEST // 4:
            _quarter(
                like, c + (at * c_pitch + j) * size, c_pitch, a + at * a_pitch * size, a_pitch, b, inner, left, is_added
            )
            at += TALLEST // 4
        if rows - at >= 1:
            _eighth(
                like, c + (at * c_pitch + j) * size, c_pitch, a + at * a_pitch * size, a_pitch, b, inner, left, is_added
            )
        b += inner * panel * size


@kernel(CONTRACT)
def pack(
    like: Any, packed: int, matrix: int, results: int, sources: int, hidden: int, is_transposed: int, panel: int
) -> None:
    """The blocks (hidden, hidden) of a matrix (results · hidden, sources · hidden) as B of ``product``, one by one.

    B is the transpose of a block, or ``is_transposed`` the block itself; addresses, and ``panel`` numbers a panel.
    """
    pitch, at = sources * hidden, 0
    for r in range(results):
        for k in range(sources):
            corner = r * hidden * pitch + k * hidden
            for first in range(0, hidden, panel):
                for i in range(hidden):
                    for j in range(first, first + panel):
                        value = number_at(like, like.ctypes.data, 0)
                        if j < hidden:
                            place = i * pitch + j if is_transposed else j * pitch + i
                            value = number_at(like, matrix, corner + place)
                        put_number_at(like, packed, at, value)
                        at += 1
