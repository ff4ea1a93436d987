"""Vector fields f(state; drive): one file a field."""

from __future__ import annotations
