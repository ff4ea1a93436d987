"""Home of the CUDA execution of a fused recurrence. This version ships no kernel.

What will live here: `execution.py` (the contract of `odernn.recurrence` on a GPU), `module.py` (compile,
cache, context, streams), `kernels/*.cu` and an emulator that runs the same sources without a GPU.

`cuda` is a namespace package shared with NVIDIA's own packages (`cuda.bindings`, `cuda.core`): the folder
`cuda/` must never hold an `__init__.py`, which would hide theirs. Importing this package imports nothing.
"""


def available() -> str | None:
    """Why no CUDA execution can run, in one clause; `None` would mean that one can. Never raises."""
    return "this version of odernn ships no CUDA kernels"
