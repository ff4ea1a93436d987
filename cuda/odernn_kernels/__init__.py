"""The CUDA execution of the fused recurrences: the contract of ``executions.recurrence`` on a GPU, through PyCUDA.

    execution.py     forward, inverse, backward, outputs of (U)
    operations.py    which are these operations of torch, with their derivatives; launches.py, reconstruction.py
    direct.py        the stored mode around torch's dispatcher, where nothing needs it
    trajectories.py  thousands of trajectories for the search of counterexamples
    orthogonal.py    scoRNN with its matrix on the chip
    module.py        kernels on a device: modules, contexts, streams, launches
    build.py         cubins, ahead of time or on first use
    kernels/         the sources
    emulator/        the same sources on a CPU, for tests

`cuda` is a namespace package shared with NVIDIA's own packages (`cuda.bindings`, `cuda.core`): the folder `cuda/` must
never hold an `__init__.py`, which would hide theirs. Importing this package imports neither torch nor PyCUDA.
"""


def available() -> str | None:
    """Why no kernel can run on a device here, in one clause, or ``None`` if one can. Never raises."""
    from cuda.odernn_kernels import module

    return module.unavailable_because()
