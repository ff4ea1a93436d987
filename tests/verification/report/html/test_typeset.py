"""Formulas in Unicode, set: indices, exponents, variables; and text that is none of them stays as it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verification.report.html.made_page import read
from verification.registry import Registry
from verification.report.html.typeset import typeset


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("y_n ≤ 2", "<i>y</i><sub><i>n</i></sub> ≤ 2"),
        ("e^{ᾱT}", "<i>e</i><sup><i>ᾱT</i></sup>"),
        ("A_{k−1}", "<i>A</i><sub><i>k</i>−1</sub>"),
        ("‖x‖_∞", "‖<i>x</i>‖<sub>∞</sub>"),
        ("10^410.4", "10<sup>410.4</sup>"),
        ("2^-53", "2<sup>−53</sup>"),
        ("y^4/4", "<i>y</i><sup>4</sup>/4"),
        ("B_iᵀ", "<i>B</i><sub><i>i</i></sub>ᵀ"),
        ("dt₀", "<i>dt</i>₀"),
        ("w^{L^2}", "<i>w</i><sup><i>L</i><sup>2</sup></sup>"),
        ("max_i |a_ij|", "max<sub><i>i</i></sub> |<i>a</i><sub><i>ij</i></sub>|"),
        ("G_un", "<i>G</i><sub>un</sub>"),
        ("a matrix, A-stable, e.g. icml-C.1", "a matrix, A-stable, e.g. icml-C.1"),
        ("hidden_size and log_bound", "hidden_size and log_bound"),
        ("_x ^2 y_ y^", "_<i>x</i> ^2 <i>y</i>_ <i>y</i>^"),
        ("1.95e+14, 2e-5 and e^x", "1.95e+14, 2e-5 and <i>e</i><sup><i>x</i></sup>"),
        ("y_{n", "<i>y</i>_{<i>n</i>"),
        ("<i>&\"'", "&lt;<i>i</i>&gt;&amp;&quot;&#x27;"),
    ],
)
def test_a_formula_is_set_as_in_a_book(text: str, html: str) -> None:
    assert str(typeset(text)) == html


@given(st.text(alphabet="abyn_^{}()<>&\"'αΣ‖−12 .", max_size=40))
def test_whatever_is_set_is_well_formed_and_escaped(text: str) -> None:
    parsed = read(f"<p>{typeset(text)}</p>")
    assert parsed.faults == [] and {element.tag for element in parsed.elements} <= {"p", "i", "sub", "sup"}
    assert all(not element.attributes for element in parsed.elements)
    left = re.sub(r"[_^{}()]", "", text).replace("-", "−")
    assert re.sub(r"[_^{}()]", "", parsed.all("p")[0].text).replace("-", "−") == left


def test_braces_in_braces_end_somewhere() -> None:
    deep = "x" + "_{x" * 500 + "}" * 500
    assert read(f"<p>{typeset(deep)}</p>").faults == []


@pytest.mark.slow
def test_no_statement_is_written_in_latex() -> None:
    """None is converted, therefore; the day one is, this page needs a converter."""
    statements = [entry.claim.statement for entry in Registry()]
    assert len(statements) > 250
    assert [text for text in statements if re.search(r"\\[a-zA-Z]+|\$", text)] == []
