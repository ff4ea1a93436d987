"""A whole UnICORNN stack as one differentiable operation whose memory does not grow with the rows of its layers."""

from odernn.executions.stack.chunks import CHUNK, Chunk, chunks_of, spread
from odernn.executions.stack.operator import run
from odernn.executions.stack.plan import Coefficients, Layer, Mode, Plan, Readout
from odernn.executions.stack.rebuilt import TOLERANCE, Rebuilt, Share
from odernn.executions.stack.walk import Ran

__all__ = [
    "CHUNK",
    "TOLERANCE",
    "Chunk",
    "Coefficients",
    "Layer",
    "Mode",
    "Plan",
    "Ran",
    "Readout",
    "Rebuilt",
    "Share",
    "chunks_of",
    "run",
    "spread",
]
