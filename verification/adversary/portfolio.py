"""All adversaries of hidden states, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from verification.adversary import CPU, Found, beam, pontryagin, structured
from verification.domains import BUDGETS, Budget, SearchPoint
from verification.system import System

Search: TypeAlias = Callable[[System, SearchPoint, int, Budget, torch.device], list[Found]]
ADVERSARIES: dict[str, Search] = {"structured": structured.search, "beam": beam.search, "pontryagin": pontryagin.search}


def find(system: System, point: SearchPoint, layer: int, budget: str, device: torch.device = CPU) -> list[Found]:
    """What all adversaries find with a budget of that name at one point and layer; of the many points that are drawn,
    the one that knows the optimum at w = 0, and needs no search.
    """
    chosen = (ADVERSARIES["structured"],) if point.is_drawn else ADVERSARIES.values()
    return [best for search in chosen for best in search(system, point, layer, BUDGETS[budget], device)]
