"""Numbers that a layer keeps exactly, as a network takes and shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown(layers: Iterable[Any], *names: str) -> list[str]:
    """["dt=0.1", …] for ``extra_repr``: one number if all layers agree, else one a layer; "?" on the meta device."""
    kept = list(layers)
    return [f"{name}={_brief([getattr(layer, name) for layer in kept])}" for name in names]


def _brief(values: list[Any]) -> str:
    if any(value.is_meta for value in values):
        return "?"
    numbers = [value.item() for value in values]
    return repr(numbers[0]) if len(set(numbers)) == 1 else repr(numbers)
