"""The trial: every published claim about these networks, put to the test with evidence that anyone can replay.

``verification.trial`` puts anybody's model on trial (docs/models.md). It is fetched when it is asked for, as the names
of ``odernn`` are: importing this package loads nothing.
"""

from __future__ import annotations

from odernn import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
