"""What a report says of a run: every number of it, in its place; what is left out is marked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import pytest

from tests.verification.state_claims import state_witness
from verification.instance import Group, Inputs, Instance, Layer
from verification.witness.file import to_json
from verification.witness.state_run import StateRun, given_of, words_of

TOP = Layer(Q(1, 5), (Group(2, Q(7), Q(0)), Group(1, Q(1), Q(1))), ((Q(2), Q(-9), Q(4)), (Q(0), Q(0), Q(1))))
NETWORK = Instance(
    Q(1, 100),
    (
        Layer(
            Q(1, 10),
            (Group(1, Q(-1, 2), Q(20), Q(3)), Group(1, Q(2), Q(-1)), Group(1, Q(5), Q(6))),
            ((Q(1), Q(0)), (Q(3), Q(1)), (Q(0), Q(8))),
        ),
        TOP,
    ),
    Inputs(2, ((93, (Q(10),)), (251, (Q(-1, 3), Q(4))))),
)
FIRST = "layer 1: w = -1/2, c = 20, V = (1, 0), b = 3; layer 1: w = 2, c = -1, V = (3, 1), b = 0"
THIRD = "layer 1: w = 5, c = 6, V = (0, 8), b = 0"
SECOND = "layer 2: 2 × w = 7, c = 0"
INPUTS = "u = 93 × 10, 251 × (-1/3, 4)"


def given(instance: Instance, layer: int) -> str:
    return given_of(to_json(state_witness("a claim", "position", "max", layer, 7, 344, instance)))


@pytest.mark.parametrize(
    ("layer", "layers"),
    [
        (1, f"{FIRST}; {THIRD}"),
        (2, f"{FIRST}; {THIRD}; {SECOND}, V = (2, -9, 4), b = 0; layer 2: w = 1, c = 1, V = (0, 0, 1), b = 0"),
    ],
)
def test_all_numbers_up_to_the_layer_are_given(layer: int, layers: str) -> None:
    assert given(NETWORK, layer) == f"layer {layer}, n = 7; α = 1/100; dt = 1/10, 1/5; {layers}; {INPUTS}"


def test_a_line_has_two_groups_and_twelve_runs_and_says_where_there_are_more() -> None:
    runs = tuple((k, (Q(k),)) for k in range(1, 13))
    short = replace(NETWORK, inputs=Inputs(1, runs))
    inputs = ", ".join(f"{k} × {k}" for k in range(1, 13))
    layers = FIRST.replace("-", "−") + "; …"
    assert words_of(StateRun(1, 7, 344, short, "0", "0")) == f"{layers}; u = {inputs}"
    more = replace(short, inputs=Inputs(1, (*runs, (13, (Q(1),)))))
    assert words_of(StateRun(1, 7, 344, more, "0", "0")) == f"{layers}; u = {inputs}, …"
    top = f"{SECOND}, V = (2, −9, …), b = 0; layer 2: w = 1, c = 1, V = (0, 0, …), b = 0"
    assert words_of(StateRun(2, 7, 344, short, "0", "0")) == f"{layers}; {top}; u = {inputs}"


def test_a_long_number_is_rounded_in_a_line_and_a_single_weight_has_no_parentheses() -> None:
    for weight, said in (
        (Q(-(10**9), 7), "−1.42857e+08"),
        (Q(10**9, 7), "1000000000/7"),
        (Q(-1, 10**8), "−1/100000000"),
    ):
        alone = Instance(Q(1), (Layer(Q(1), (Group(1, weight, Q(0)),), ((weight,),)),), Inputs(1, ((1, (Q(0),)),)))
        words = words_of(StateRun(1, 1, 1, alone, "0", "0"))
        assert words == f"layer 1: w = {said}, c = 0, V = {said}, b = 0; u = 1 × 0"


def test_what_is_longer_than_two_thousand_letters_is_cut_and_its_length_is_said() -> None:
    def of(count: int, digits: int) -> str:
        runs = ((7, (Q(10**digits),)), *((k, (Q(k),)) for k in range(1000, 1000 + count)))
        return given(replace(NETWORK, layers=NETWORK.layers[:1], inputs=Inputs(2, runs)), 1)

    bare = len(of(0, 0))
    count = (2000 - bare) // len(", 1000 × 1000")
    digits = 2000 - bare - count * len(", 1000 × 1000")
    whole = of(count, digits)
    assert len(whole) == 2000 and whole.endswith(f" × {1000 + count - 1}")
    cut = of(count, digits + 1)
    assert cut[2000:] == "… (2001 letters, in its file)"
    assert cut.startswith(whole[: whole.index("u = ")])
