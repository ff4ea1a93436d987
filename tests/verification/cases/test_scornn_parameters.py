"""Kinds of parameters of scaled Cayley networks: what they refuse, and that they read back what they draw."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from verification.cases import scornn_parameters as kinds
from verification.cases.related import FormatNumber
from verification.cases.scornn_parameters import ADD_TO_ONE, WITHOUT_MINUS_ONE, Repeated, Steps
from verification.kinds import Integer, Matrix, Rational, Square
from verification.parameters import Parameter, RefusedError, declared

DECLARED = {
    "orthogonal": declared(kinds.orthogonal("W", 4)),
    "without −1": declared(Parameter("W", Square(4, structure=WITHOUT_MINUS_ONE))),
    "reflections": declared(Parameter("W", Matrix(2, 2, structure=kinds.orthogonal_of(-1)))),
    "unitary": declared(*kinds.unitary("W", 3)),
    "phases": declared(*kinds.phases("D", lambda _: 2)),
    "a distribution": declared(Parameter("q", Matrix(1, 3, Rational(above=0, below=1), ADD_TO_ONE))),
    "steps": declared(Parameter("D", kinds.signs((1, 3))), Parameter("u", Steps("D", 2, Rational()))),
    "floats": declared(Parameter("x", FormatNumber("float32", 8))),
    "rows": declared(Parameter("D", kinds.row_of_signs([(1, 1), (1, -1)]))),
    "printed": declared(Parameter("row", Integer(1, 2)), Parameter("x", Repeated("row", ("0.5 1", "0.7 2")))),
}
GOOD = {
    "orthogonal": {"W": "3/5 -4/5 4/5 3/5"},
    "without −1": {"W": "-3/5 -4/5 4/5 -3/5"},
    "reflections": {"W": "3/5 4/5 4/5 -3/5"},
    "unitary": {"W_re": "0 -1 0 0", "W_im": "0 0 -1 0"},
    "phases": {"D_re": "3/5 -1", "D_im": "-4/5 0"},
    "a distribution": {"q": "1/2 1/3 1/6"},
    "steps": {"D": "1 -1", "u": "1 2 3 4"},
    "floats": {"x": "-1/1024"},
    "rows": {"D": "1 -1"},
    "printed": {"row": "2", "x": "0.7 2"},
}
BAD = [
    ("orthogonal", {"W": "3/5 4/5 4/5 3/5"}),
    ("orthogonal", {"W": "1 0 0"}),
    ("orthogonal", {"W": " ".join(["0"] * 25)}),
    ("without −1", {"W": "-1 0 0 1"}),
    ("without −1", {"W": "2"}),
    ("reflections", {"W": "3/5 -4/5 4/5 3/5"}),
    ("unitary", {"W_im": "0 0 1/2 0"}),
    ("unitary", {"W_im": "0"}),
    ("phases", {"D_im": "4/5 1"}),
    ("a distribution", {"q": "1/2 1/3 1/7"}),
    ("a distribution", {"q": "1/2 1/2"}),
    ("steps", {"u": "1 2 3"}),
    ("steps", {"u": "1 2 3 4 5 6"}),
    ("steps", {"u": ""}),
    ("floats", {"x": "1/10"}),
    ("floats", {"x": "257"}),
    ("rows", {"D": "-1 1"}),
    ("printed", {"x": "0.5 1"}),
]


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_drawn_is_read_back(name: str) -> None:
    declaration, rng = DECLARED[name], random.Random(name)
    drawn = [declaration.draw(rng) for _ in range(40)]
    assert all(declaration.canonical(texts) == texts for texts in drawn)
    assert len({tuple(texts.values()) for texts in drawn}) > 1


@pytest.mark.parametrize(("name", "change"), BAD)
def test_what_lacks_the_structure_is_refused_by_name(name: str, change: dict[str, str]) -> None:
    assert DECLARED[name].canonical(GOOD[name]) == GOOD[name]
    with pytest.raises(RefusedError, match=f'"{next(iter(change))}"'):
        DECLARED[name].read({**GOOD[name], **change})


def test_numbers_of_modulus_one_are_drawn_off_the_axes() -> None:
    values = [DECLARED["phases"].read(DECLARED["phases"].draw(random.Random(seed))) for seed in range(9)]
    assert any(0 < x < 1 for value in values for x in value["D_re"])
    assert all(isinstance(y, Fraction) for value in values for y in value["D_im"])
