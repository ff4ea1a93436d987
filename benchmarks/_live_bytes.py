"""Bytes of torch tensors that are live at once, exactly: every storage that an operation returns, until it is freed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Counts within its ``with`` block: ``live`` now, ``peak`` so far.

    What was made before is not counted unless it is given to ``count``. Scratch memory inside one operation of torch is
    not seen, nor is that of a custom operation, whose results are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def count(self, *tensors: torch.Tensor) -> None:
        """The storages of these tensors are live, from now until they are freed."""
        for tensor in tensors:
            storage = tensor.untyped_storage()
            key, size = storage._cdata, storage.nbytes()
            if key in self._known:
                continue
            self._known[key] = weakref.ref(storage, self._freeing(key, size))
            self.live += size
            self.peak = max(self.peak, self.live)

    def _freeing(self, key: int, size: int) -> Callable[[Any], None]:
        def free(_: Any) -> None:
            del self._known[key]
            self.live -= size

        return free

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **kwargs) if kwargs else func(*args)
        made = (found,) if isinstance(found, torch.Tensor) else tree_leaves(found)  # the latter is slow
        self.count(*(each for each in made if isinstance(each, torch.Tensor)))
        return found
