"""Architectures of recurrent networks as cyclic graphs: conditions, exact measures, a catalogue.

    >>> from odernn.architecture import get, measures_of
    >>> print(measures_of(get("td")))
    d_r = 2, d_f = 3, s = 1

The values are exact fractions and come as certificates: a cycle or path that attains them, and why none does better.

    graph        the graph, its conditions and its unfolding;   ``walks``  edges and walks along them
    catalogue    named graphs;   ``files``  JSON and DOT
    measures     d_r, d_f, s and limits of growth, with evidence;   ``potentials``  the integer arithmetic below
    network      a graph as a trainable module;   ``probe``  the graph of a module, found by running it
    pictures     graph and unfolding as SVG, by ``layout`` and ``drawing``
"""

from __future__ import annotations

from odernn import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
