"""What a check returns: the decision together with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_WORDS = {True: "yes", False: "no", None: "undecided"}


@dataclass(frozen=True)
class Certificate:
    """The outcome of one check of one property.

    property  what was asked, e.g. ``"symplectic"``
    holds     ``True``, ``False``, or ``None`` for undecided (then ``margin`` says by how much)
    exact     whether the decision was made in exact arithmetic
    witness   the object that shows the decision: a violating entry, a failing tree, a vector; from 1
    because   the evidence as one short formula, e.g. ``"defect = 0"``
    margin    distance to the other decision, where one exists
    value     the quantity itself, where the property has one (an order, a defect)

    ``if certificate:`` asks whether the property is *known* to hold: an undecided certificate is false.
    """

    property: str
    holds: bool | None
    exact: bool
    witness: Any
    because: str
    margin: Any = None
    value: Any = None

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        parts = [
            f"{self.property}: {_WORDS[self.holds]}",
            "exact" if self.exact else "not exact",
            self.because,
        ]
        if self.holds is None and self.margin is not None:
            parts.append(f"margin {self.margin}")
        return f"Certificate({', '.join(parts)})"
