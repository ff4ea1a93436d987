"""What a notebook shows of an object: ``_repr_html_`` and ``_repr_latex_`` of the classes ask here.

What writes it stands in ``odernn.written``, on the highest floor: that knows the classes, and they know nothing of it.
It is fetched by a computed name when somebody looks, so that importing the library costs nothing more, and no key of a
job holds how a method is drawn (``verification.run.closure``).
"""

from __future__ import annotations

import importlib
from typing import Any


def html(writer: str, shown: Any) -> str:
    """The object as HTML by that module of ``odernn.written``; every text in it is escaped."""
    text: str = importlib.import_module(f"odernn.written.{writer}").html(shown)
    return text


def mathematics(writer: str, shown: Any) -> str:
    """The object as formulas of LaTeX between dollar signs, for MathJax as for LaTeX itself."""
    text: str = importlib.import_module(f"odernn.written.{writer}").mathematics(shown)
    return text
