"""One process trains into a folder at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from verification.training import TrainingError
from verification.training.folder import LOCK


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """TrainingError if another process trains into the folder; a lock that ends with this process.

    A folder that was not there is gone again if nothing came into it but the lock.
    """
    path, is_new = folder / LOCK, not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()  # the lock itself does not tell a folder without permission from a held lock
        lock = FileLock(path)
        lock.acquire(timeout=0)
    except Timeout:
        raise TrainingError(
            f'Folder "{folder}" is in use: another process trains into it. Wait for it to end, or name another one '
            "with --into."
        ) from None
    except OSError as error:
        raise TrainingError(
            f'Folder "{folder}" cannot be made or written: {(error.strerror or str(error)).lower()}. Name another one.'
        ) from None
    try:
        yield
    finally:
        if is_new and [*folder.iterdir()] == [path]:
            path.unlink()
            lock.release()
            folder.rmdir()
        else:
            lock.release()
