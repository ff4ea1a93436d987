"""Memory for large arrays of the cpu execution: pages of 2 MiB, used again once nothing refers to them.

The first use of memory costs more than the layer that is written into it: the system clears every page. torch gives
large arrays back to the system as soon as they are freed, so that every step of a training pays again. Here they are
kept, and given to the next array of the same size.

*When.* A block is taken back by the end of its storage's life, which is torch's to say: a tensor, a view of it, a numpy
array made of it, a graph that has saved it each keep the storage. There is nothing to declare and nothing to count.

*How much.* At most ``KEPT_AT_MOST`` bytes, the longest unused go first. What is kept is offered to the system
(MADV_FREE): it is still counted as this process's, but where memory is short the system takes it without asking.

Such a tensor is as any other but for one thing: its storage cannot grow, as that of ``torch.from_numpy`` cannot.
"""

from __future__ import annotations

import math
import mmap
import sys
import weakref
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

LARGE = 1 << 21
"""Bytes from which memory is kept: one page."""

KEPT_AT_MOST = 1 << 29
"""Bytes of unused memory."""

_PAGE = 1 << 21


@dataclass(frozen=True, eq=False)
class _Block:
    """``size`` bytes, whole pages, from ``start`` on; one page more than that is reserved, for the pages to be whole.

    The mapping is private: a forked process has its own, not its parent's.
    """

    pages: mmap.mmap
    start: int
    size: int


_kept: list[_Block] = []
"""Unused, the longest unused first. No lock: blocks are returned wherever a tensor dies, also while one is held. Every
operation on the list is one of Python's own, and one that came too late finds nothing."""


def fresh(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """A tensor of that shape and the dtype of ``like``, with anything in it."""
    count = math.prod(shape)
    size = -(-count * like.element_size() // _PAGE) * _PAGE
    if not _IS_OFFERED or count * like.element_size() < LARGE or (block := _taken(size) or _made(size)) is None:
        return torch.empty(shape, dtype=like.dtype)
    flat = np.frombuffer(block.pages, _NUMPY[like.dtype], count, block.start)
    weakref.finalize(flat, _returned, block).atexit = False
    return torch.from_numpy(flat.reshape(shape))


def unused() -> int:
    """Bytes that are kept and not in use."""
    return sum(block.size for block in tuple(_kept))


def forget() -> None:
    """All that is kept goes back to the system."""
    _kept.clear()


def _taken(size: int) -> _Block | None:
    """The block of that size which was used last, if there is one: what caches have is of it."""
    for block in reversed(tuple(_kept)):
        if block.size == size:
            try:
                _kept.remove(block)
            except ValueError:  # another thread was faster
                continue
            return block
    return None


def _made(size: int) -> _Block | None:
    try:
        pages = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:  # torch says it better
        return None
    start = -_address(pages) % _PAGE
    _advise(pages, mmap.MADV_HUGEPAGE)
    return _Block(pages, start, size)


def _address(pages: mmap.mmap) -> int:
    return int(np.frombuffer(pages, np.uint8, 1).ctypes.data)


def _returned(block: _Block) -> None:
    if block.size > KEPT_AT_MOST:
        return
    _advise(block.pages, mmap.MADV_FREE)
    _kept.append(block)
    while unused() > KEPT_AT_MOST:
        try:
            _kept.pop(0)
        except IndexError:
            return


def _advise(pages: mmap.mmap, advice: int) -> None:
    """Advice that this system does not take is not needed."""
    with suppress(OSError):
        pages.madvise(advice)


_IS_OFFERED = sys.platform.startswith("linux") and hasattr(mmap, "MADV_HUGEPAGE") and hasattr(mmap, "MADV_FREE")
_NUMPY = {torch.float32: np.float32, torch.float64: np.float64}
