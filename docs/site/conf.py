"""Sphinx: what the site looks like. `docs/site/build.py` calls it with pages that it has gathered."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SITE = Path(__file__).resolve().parent
sys.path.insert(0, str(SITE.parents[1]))

import odernn  # noqa: E402
from docs.site import docstrings  # noqa: E402

project = "odernn"
author = copyright = "the odernn authors"
release = odernn.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["files"]
highlight_language = "text"
smartquotes = False  # code is quoted as it is typed

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
myst_heading_slug_func = "docs.site.contents.slug"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"odernn {release}"
html_static_path = [str(SITE / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "monokai"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


def _docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """What a dataclass says of itself repeats its signature."""
    if what == "class" and lines and lines[0].startswith(f"{name.rpartition('.')[2]}("):
        lines[:] = []
    lines[:] = docstrings.restructured(lines)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", _docstring)
