"""The official files of the data sets, where ODERNN_DATA has them; else the test skips and says what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def folder_with(*choices: str) -> Path:
    """The data folder if one of these files is in it (paths relative to it), else a skip."""
    folder = os.environ.get("ODERNN_DATA")
    if not folder:
        pytest.skip("ODERNN_DATA does not name a folder with data sets")
    if not any((Path(folder) / choice).exists() for choice in choices):
        pytest.skip(f"ODERNN_DATA has none of: {', '.join(choices)}")
    return Path(folder)
