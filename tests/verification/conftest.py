"""Commands are tried in an empty folder, without what the surroundings say, and leave no signal handler behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from verification import cli
from verification.tasks import mnist


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For test files of commands: ``pytestmark = pytest.mark.usefixtures("elsewhere")``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(mnist.ENVIRONMENT, raising=False)
    monkeypatch.delenv(cli.TRACEBACK, raising=False)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)
