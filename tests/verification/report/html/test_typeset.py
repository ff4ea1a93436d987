"""Formulas in Unicode, set: indices, exponents, variables; and text that is none of them stays as it is."""

from __future__ import annotations

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verification.report.html.made_page import read
from verification.registry import Registry
from verification.report.html.typeset import typeset


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("y_n ≤ 2", "<math><msub><mi>y</mi><mi>n</mi></msub></math> ≤ 2"),
        ("y^L_n", "<math><msubsup><mi>y</mi><mi>n</mi><mi>L</mi></msubsup></math>"),
        ("y_n^L", "<math><msubsup><mi>y</mi><mi>n</mi><mi>L</mi></msubsup></math>"),
        ("e^{ᾱT}", "<math><msup><mi>e</mi><mrow><mi>ᾱ</mi><mi>T</mi></mrow></msup></math>"),
        ("A_{k−1}", "<math><msub><mi>A</mi><mrow><mi>k</mi><mo>−</mo><mn>1</mn></mrow></msub></math>"),
        ("‖x‖_∞", '<span class="f">‖<i>x</i><math><msub><mo stretchy="false">‖</mo><mo>∞</mo></msub></math></span>'),
        ("10^410.4", "<math><msup><mn>10</mn><mn>410.4</mn></msup></math>"),
        ("2^-53", "<math><msup><mn>2</mn><mrow><mo>−</mo><mn>53</mn></mrow></msup></math>"),
        ("y^4/4", '<span class="f"><math><msup><mi>y</mi><mn>4</mn></msup></math>/4</span>'),
        ("B_iᵀ", '<span class="f"><math><msub><mi>B</mi><mi>i</mi></msub></math>ᵀ</span>'),
        ("dt₀", "<i>dt</i>₀"),
        ("X¹_n", "<math><msubsup><mi>X</mi><mi>n</mi><mn>1</mn></msubsup></math>"),
        (
            "B⁻¹_ij",
            "<math><msubsup><mi>B</mi><mrow><mi>i</mi><mi>j</mi></mrow><mrow><mo>−</mo><mn>1</mn></mrow></msubsup></math>",
        ),
        ("x₁^2", "<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup></math>"),
        ("gate²_n", "gate²_<i>n</i>"),
        ("w^{L^2}", "<math><msup><mi>w</mi><msup><mi>L</mi><mn>2</mn></msup></msup></math>"),
        (
            "max_i |a_ij|",
            "<math><msub><mtext>max</mtext><mi>i</mi></msub></math> "
            '<span class="f">|<math><msub><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub></math>|</span>',
        ),
        ("G_un", "<math><msub><mi>G</mi><mtext>un</mtext></msub></math>"),
        (
            "x_a_b",
            '<span class="f"><math><msub><mi>x</mi><mi>a</mi></msub></math>'
            "<math><msub><mrow></mrow><mi>b</mi></msub></math></span>",
        ),
        ("a matrix, A-stable, e.g. icml-C.1", "a matrix, A-stable, e.g. icml-C.1"),
        ("hidden_size and log_bound", "hidden_size and log_bound"),
        ("_x ^2 y_ y^", "_<i>x</i> ^2 <i>y</i>_ <i>y</i>^"),
        ("1.95e+14, 2e-5 and e^x", "1.95e+14, 2e-5 and <math><msup><mi>e</mi><mi>x</mi></msup></math>"),
        ("y_{n", "<i>y</i>_{<i>n</i>"),
        ("<i>&\"'", "&lt;<i>i</i>&gt;&amp;&quot;&#x27;"),
    ],
)
def test_a_formula_is_set_as_in_a_book(text: str, html: str) -> None:
    assert str(typeset(text)) == html


MATHML = ("math", "msub", "msup", "msubsup", "mrow", "mi", "mn", "mo", "mtext")


@given(st.text(alphabet="abyn_^{}()<>&\"'αΣ‖−12²⁻₀ᵀ .", max_size=40))
def test_whatever_is_set_is_well_formed_and_escaped(text: str) -> None:
    parsed = read(f"<p>{typeset(text)}</p>")
    assert parsed.faults == [] and {element.tag for element in parsed.elements} <= {"p", "i", "span", *MATHML}
    assert {name for element in parsed.elements for name in element.attributes} <= {"stretchy", "class"}
    assert sorted(shown(parsed.all("p")[0].text)) == sorted(shown(text)), "an index stands before an exponent"


def shown(text: str) -> str:
    """The letters of a text, without what says where an index is."""
    return re.sub(r"[_^{}()]", "", normalize("NFKC", text)).replace("-", "−")


def test_braces_in_braces_end_somewhere() -> None:
    deep = "x" + "_{x" * 500 + "}" * 500
    assert read(f"<p>{typeset(deep)}</p>").faults == []


@pytest.mark.slow
def test_no_statement_is_written_in_latex() -> None:
    """None is converted, therefore; the day one is, this page needs a converter."""
    statements = [entry.claim.statement for entry in Registry()]
    assert len(statements) > 250
    assert [text for text in statements if re.search(r"\\[a-zA-Z]+|\$", text)] == []
