"""Premises of the contraction theorem at their borders: mixed stages, rounded entries, steps out of range."""

from __future__ import annotations

import sys

import pytest
from flint import fmpq

from odernn import tableaus
from odernn.exact.definiteness import semidefiniteness
from odernn.properties.matrix_coefficients.block_tableau import BlockTableau
from odernn.properties.matrix_coefficients.contraction import contraction
from odernn.properties.matrix_coefficients.contraction_weight import contraction_weight
from odernn.properties.matrix_coefficients.stage_monotonicity import SlopeRestricted, stage_monotonicity

Q = fmpq


def test_linear_components_may_make_up_for_one_that_pushes_apart_which_is_no_violation():
    """Δf = s w and −c w, s ≤ 1: ΔYᵀ G B Δf = (s − c) w² ≤ 0 iff c ≥ 1, although component 1 alone pushes apart."""
    ones = ((Q(1), Q(1)),)
    blocks = BlockTableau([[ones]], [ones])
    for c, expected in ((10, None), (1, None), (Q(1, 2), False)):
        found = stage_monotonicity(blocks, None, 0, SlopeRestricted(((Q(1),), (Q(-c),)), (Q(1), None)))
        assert found.holds is expected and not found
    (x,) = found.witness
    assert x * (x * 1 - x * Q(1, 2)) > 0


def test_premises_of_rounded_coefficients_say_what_they_are_about():
    """(0.1, 0.3) in doubles is no multiple of (1, 3), the numbers that they round may be: a clear violation stands."""
    B = [[0.1, 0.0], [0.0, 0.3]]
    given = tuple(tuple(-Q(*x.as_integer_ratio()) for x in row) for row in B)
    rounded, exact = BlockTableau([[B]], [B]), BlockTableau([[B]], [B], floats="exact")
    stage = SlopeRestricted(given, (Q(1), Q(1)))
    yes = stage_monotonicity(rounded, None, 0, stage)
    assert yes.holds is True and not yes.exact and yes.because.endswith("as printed")
    assert stage_monotonicity(exact, None, 0, stage).exact
    certificate = contraction(BlockTableau([[[[0.5]]]], [[[0.3]]]), None, [SlopeRestricted(((Q(-1),),), (Q(1),))], 1)
    assert certificate.holds is True and not certificate.exact and certificate.because.count("as printed") == 1
    column = [[[0.1], [0.3]]]
    doubles = BlockTableau([column], column, floats="exact")
    near, clear = (SlopeRestricted(((Q(-1), Q(-k)),), (Q(1),)) for k in (3, 4))
    assert stage_monotonicity(doubles, None, 0, near).holds is False
    assert stage_monotonicity(BlockTableau([column], column), None, 0, near).holds is None
    assert stage_monotonicity(BlockTableau([column], column), None, 0, clear).holds is False
    almost = BlockTableau([[B]], [[[0.3, 0.0], [0.0, 0.1 + 0.2]]])  # 0.30000000000000004
    assert stage_monotonicity(almost, None, 0).holds is None and stage_monotonicity(rounded, None, 0).holds is False
    wrong = SlopeRestricted(((Q(1), Q(0)), (Q(0), Q(1))), (None, None))
    assert stage_monotonicity(rounded, None, 0, wrong).holds is False


def test_a_step_that_is_not_positive_is_refused():
    """Backwards all signs turn: y₊ = y + 2 tanh(y₊) does not contract, though 1 + 2/η = 0 for η = −2."""
    euler, stage = BlockTableau.from_scalar(tableaus.IMPLICIT_EULER, size=1), SlopeRestricted(((Q(-1),),), (Q(1),))
    for step in (-2, 0, Q(-1, 10**9)):
        with pytest.raises(ValueError, match="η > 0"):
            contraction(euler, None, [stage], step)
    with pytest.raises(ValueError, match="2 fields for 1 stages"):
        contraction(euler, None, [stage, stage])
    for slope in (Q(0), Q(-1)):
        with pytest.raises(ValueError, match="not positive"):
            SlopeRestricted(((Q(1),),), (slope,))


@pytest.mark.parametrize("asks", [contraction, contraction_weight])
def test_a_class_of_fields_that_does_not_exist_is_refused(asks):
    with pytest.raises(ValueError, match=r'fields is "monotoe".*one SlopeRestricted a stage'):
        asks(BlockTableau([[[["1/2"]]]], [[[1]]]), fields="monotoe")


def test_margins_beyond_the_range_of_a_double_and_zeros_that_are_meant():
    huge = semidefiniteness([[Q(10) ** 400]])
    assert huge.holds is True and huge.margin <= sys.float_info.max
    below = semidefiniteness([[Q(9999, 10000)]])
    assert "≥ 0.999" in below.because and below.margin <= 0.9999, "a bound is printed rounded down"
    nothing = BlockTableau([[[[0.0, 0.1]]]], [[[0.0, 0.0]]]).positivity()
    assert nothing.holds is True and nothing.exact, "M = 0 for all numbers that round to these"
