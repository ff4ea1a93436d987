"""Numbers that a layer keeps exactly, as a network takes and shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def shown(layers: Iterable[Any], *names: str) -> list[str]:
    """["dt=0.1", …] for ``extra_repr``: one number if all layers agree, else one a layer; "?" on the meta device."""
    kept = list(layers)
    return [f"{name}={brief([getattr(layer, name) for layer in kept])}" for name in names]


def differing(**options: tuple[Any, Any]) -> list[str]:
    """["bias=False", …] for ``extra_repr``: options whose value, given first, is not their default, given second."""
    return [f"{name}={value!r}" for name, (value, default) in options.items() if value != default]


def brief(values: Iterable[Any]) -> str:
    """Tensors of one number each, or the entries of one tensor: the number if all agree, else the list."""
    kept = list(values)
    if any(value.is_meta for value in kept):
        return "?"
    numbers = [value.item() for value in kept]
    return repr(numbers[0]) if len(set(numbers)) == 1 else repr(numbers)
