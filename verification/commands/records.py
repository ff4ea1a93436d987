"""Records that benchmarks write and pages show beside a run: read, or refused with the name of the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odernn.foreign import ForeignError, short
from verification.commands.terminal import UsageError

_OTHERS = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What making tables of something else raises."""


@contextmanager
def record(path: Path, what: str, script: str) -> Iterator[None]:
    """Inside, the file is read and tables are made of it. UsageError for a file that is no record of ``what``."""
    try:
        yield
    except (OSError, *_OTHERS) as error:
        reason = str(error) if isinstance(error, ForeignError) else f"{type(error).__name__}: {error}"
        raise UsageError(f'"{path}": no record of {what} ({short(reason)}). benchmarks/{script} writes one.') from None
