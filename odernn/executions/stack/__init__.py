"""A whole UnICORNN stack as one differentiable operation whose memory does not grow with the rows of its layers."""

from odernn.executions.stack.chunks import CHUNK, Chunk, chunks_of, size_of, spread
from odernn.executions.stack.operator import run
from odernn.executions.stack.plan import Mode, Readout, StackPlan, WalkedLayer
from odernn.executions.stack.reconstruction import TOLERANCE, GradientShare, Rebuilt
from odernn.executions.stack.walk import StackRun

__all__ = [
    "CHUNK",
    "TOLERANCE",
    "Chunk",
    "GradientShare",
    "Mode",
    "Readout",
    "Rebuilt",
    "StackPlan",
    "StackRun",
    "WalkedLayer",
    "chunks_of",
    "run",
    "size_of",
    "spread",
]
