"""What several tests of bounds share."""

from __future__ import annotations

import pytest

from odernn.bounds.network import states as state_bounds
from tests.odernn.bounds.unicornn_again import WIDE


@pytest.fixture
def wide_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_bounds, "ALLOWANCE", WIDE)
