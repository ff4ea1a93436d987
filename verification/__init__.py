"""The trial: every published claim about these networks, put to the test with evidence that anyone can replay.

    >>> import verification
    >>> verification.trial(model, inputs)  # doctest: +SKIP
    Net on inputs 784 × 32 × 1; …

``trial`` is fetched at first use, as it needs torch: ``__init__.pyi`` says where it comes from.
"""

from __future__ import annotations

from odernn import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
