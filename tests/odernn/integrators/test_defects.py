"""The measured defects are zero where theory says so, and the planted size where a defect is planted."""

from __future__ import annotations

import pytest
import torch

from odernn import symmetry, symplecticity, tableaus
from odernn.fields.field import State
from odernn.integrators import prepared, reversibility_defect, symmetry_defect, symplecticity_defect
from tests.odernn.integrators.stepping import F64, Pendulum, normal

FIELD = Pendulum(torch.tensor([0.9, 1.3], dtype=F64))
STATE = normal(2, 2, seed=1, scale=0.5), normal(2, 2, seed=2, scale=0.5)
DRIVE = normal(2, 2, seed=3)
H = 0.2
NAMES = (
    "implicit midpoint",
    "gauss 2",
    "gauss 3",
    "implicit euler",
    "radau iia 2",
    "lobatto iiia 3",
    "lobatto iiic 2",
    "lobatto iiid 2",
    "trapezoidal",
    "qin zhang",
    "kvaerno 3",
    "stoermer verlet",
    "symplectic euler vt",
    "yoshida 4",
    "lobatto iiia-iiib, order 4",
    "rk4",
    "ruth 3",
)


def flow(name: str):
    def step(state: State, h: float = H) -> State:
        return prepared(tableaus.get(name), FIELD, h)(tuple(state), DRIVE).state

    return step


ROUNDING = 1e-13
SEEN = 1e-7
"""Defects of methods that have them are of the size h^{p+1}, here 10⁻⁶ and more."""


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_symplectic_exactly_when_its_tableau_is(name: str):
    defect = symplecticity_defect(flow(name), STATE)
    assert defect < ROUNDING if symplecticity(tableaus.get(name)) else defect > SEEN


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_symmetric_and_reversible_exactly_when_its_tableau_is_symmetric(name: str):
    """On a reversible field the two are one: ρΦ_h = Φ_{−h}ρ, Hairer, Lubich, Wanner 2006, Theorem V.1.5."""
    defects = symmetry_defect(flow(name), STATE, H), reversibility_defect(flow(name), STATE)
    for defect in defects:
        assert defect < ROUNDING if symmetry(tableaus.get(name)) else defect > SEEN


def test_both_answers_occur():
    answers = [(bool(symplecticity(tableaus.get(name))), bool(symmetry(tableaus.get(name)))) for name in NAMES]
    assert {answers.count(answer) for answer in set(answers)} and len(set(answers)) == 4


def test_a_planted_defect_is_measured_in_its_size():
    def stretched(state: State) -> State:
        return 1.001 * state[0], state[1]

    assert symplecticity_defect(stretched, STATE) == pytest.approx(0.001, rel=1e-9)
    assert symplecticity_defect(lambda state: state, STATE) == 0
    assert reversibility_defect(stretched, STATE) == pytest.approx((1.001**2 - 1) * float(STATE[0].abs().max()))
    drift = symmetry_defect(lambda state, h: (state[0] + h**2, state[1]), STATE, 0.1)
    assert drift == pytest.approx(0.02)


def test_the_symplectic_form_pairs_y_with_z_and_not_neurons_or_samples():
    """A rotation of two positions alone is orthogonal but not symplectic; rotating positions and momenta alike is."""
    R = torch.linalg.qr(normal(2, 2, seed=5)).Q
    assert symplecticity_defect(lambda s: (s[0] @ R, s[1] @ R), STATE) < ROUNDING
    assert symplecticity_defect(lambda s: (s[0] @ R, s[1]), STATE) > 0.1
    assert symplecticity_defect(lambda s: (s[0].flip(0), s[1]), STATE) == 1  # samples exchanged in y only


def test_a_field_of_one_block_has_no_symplectic_form():
    with pytest.raises(ValueError, match=r"symplecticity is about positions y and momenta z.*Give the state \(y, z\)"):
        symplecticity_defect(lambda state: state, STATE[:1])
    with pytest.raises(ValueError, match="reversibility is about"):
        reversibility_defect(lambda state: state, (STATE[0], STATE[1][:1]))
