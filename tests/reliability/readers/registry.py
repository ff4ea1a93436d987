"""Who reads what somebody may give: one file a family. ``READERS`` has all; reader.py says what one of them is."""

from __future__ import annotations

from tests.reliability.readers import commands, data, networks, objects
from tests.reliability.readers.reader import ROOT, TOUCHED, Reader

READERS: tuple[Reader, ...] = (*objects.READERS, *networks.READERS, *data.READERS, *commands.READERS)

__all__ = ["READERS", "ROOT", "TOUCHED", "Reader"]
