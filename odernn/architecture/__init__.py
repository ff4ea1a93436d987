"""Architectures of recurrent networks as cyclic graphs: conditions, exact measures, a catalogue.

    >>> from odernn.architecture import get, measures_of
    >>> print(measures_of(get("td")))
    d_r = 2, d_f = 3, s = 1

The values are exact fractions and come as certificates: a cycle or path that attains them, and why none does better.
"""

from __future__ import annotations

from odernn import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
