"""What ``trial`` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass

from verification.models.found import TrialFigures, plain
from verification.models.page import page
from verification.models.words import verdict


@dataclass(frozen=True, eq=False)
class ModelTrial(TrialFigures):
    """A trial; ``print`` shows the verdict in words, then the figures."""

    @property
    def verdict(self) -> tuple[str, ...]:
        """In words, the gravest first."""
        return verdict(self)

    def __str__(self) -> str:
        return page(self)

    def to_json(self) -> str:
        """Everything, one JSON object; numbers that are not finite as text."""
        return json.dumps(plain(self, self.verdict), ensure_ascii=False)
