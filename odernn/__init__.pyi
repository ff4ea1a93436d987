# Every public name of odernn, once: "a as a" is an export, from the module that it stands behind.
from collections.abc import Callable
from typing import Any

from odernn import architecture as architecture
from odernn import bounds as bounds
from odernn import cells as cells
from odernn import exact as exact
from odernn import executions as executions
from odernn import fields as fields
from odernn import integrators as integrators
from odernn import orthogonal as orthogonal
from odernn import properties as properties
from odernn import published as published
from odernn import tableaus as tableaus
from odernn.cells.antisymmetric import AntisymmetricRNN as AntisymmetricRNN
from odernn.cells.arnn_1_2 import ARNN12 as ARNN12
from odernn.cells.arnn_2_2 import ARNN22 as ARNN22
from odernn.cells.clockwork import ClockworkRNN as ClockworkRNN
from odernn.cells.cornn import CoRNN as CoRNN
from odernn.cells.exprnn import ExpRNN as ExpRNN
from odernn.cells.indrnn import IndRNN as IndRNN
from odernn.cells.integrator import IntegratorRNN as IntegratorRNN
from odernn.cells.lem import LEM as LEM
from odernn.cells.linoss import LinOSS as LinOSS
from odernn.cells.lipschitz import LipschitzRNN as LipschitzRNN
from odernn.cells.odernn import ODERNN as ODERNN
from odernn.cells.odernn import MatrixTableau as MatrixTableau
from odernn.cells.odernn.realisations import as_odernn as as_odernn
from odernn.cells.qunn import QUNN as QUNN
from odernn.cells.scornn import ScoRNN as ScoRNN
from odernn.cells.unicornn import UnICORNN as UnICORNN
from odernn.cells.urnn import URNN as URNN
from odernn.certificate import Certificate as Certificate
from odernn.executions import recurrence as recurrence
from odernn.fields.oscillator import Oscillator as Oscillator
from odernn.integrators.guarantees import Guarantees as Guarantees
from odernn.integrators.guarantees import guarantees_of as guarantees_of
from odernn.orthogonal.cayley import ScaledCayley as ScaledCayley
from odernn.orthogonal.cayley import scaled_cayley as scaled_cayley
from odernn.orthogonal.signs import scaled_cayley_inverse as scaled_cayley_inverse
from odernn.orthogonal.unitary import MultiplicativeCayley as MultiplicativeCayley
from odernn.orthogonal.unitary import SkewExponential as SkewExponential
from odernn.properties.absolute_monotonicity import radius_of_absolute_monotonicity as radius_of_absolute_monotonicity
from odernn.properties.algebraic_stability import algebraic_stability as algebraic_stability
from odernn.properties.algebraic_stability import burrage_butcher as burrage_butcher
from odernn.properties.effective_order import effective_order as effective_order
from odernn.properties.fact_sheet import facts as facts
from odernn.properties.linear_stability import a_stability as a_stability
from odernn.properties.linear_stability import i_stability as i_stability
from odernn.properties.linear_stability import l_stability as l_stability
from odernn.properties.linear_stability import limit_at_infinity as limit_at_infinity
from odernn.properties.nonlinear_stability import an_stability as an_stability
from odernn.properties.nonlinear_stability import b_stability as b_stability
from odernn.properties.nonlinear_stability import bn_stability as bn_stability
from odernn.properties.nystrom import nystrom_facts as nystrom_facts
from odernn.properties.order import embedded_order as embedded_order
from odernn.properties.order import order as order
from odernn.properties.principal_error import principal_error as principal_error
from odernn.properties.reducibility import are_equivalent as are_equivalent
from odernn.properties.reducibility import dj_reduction as dj_reduction
from odernn.properties.reducibility import hs_reduction as hs_reduction
from odernn.properties.reducibility import reduction as reduction
from odernn.properties.simplifying_assumptions import quadrature_order as quadrature_order
from odernn.properties.simplifying_assumptions import stage_order as stage_order
from odernn.properties.stability_function import stability_function as stability_function
from odernn.properties.stability_intervals import imaginary_stability_interval as imaginary_stability_interval
from odernn.properties.stability_intervals import real_stability_interval as real_stability_interval
from odernn.properties.stiff_accuracy import first_same_as_last as first_same_as_last
from odernn.properties.stiff_accuracy import stiff_accuracy as stiff_accuracy
from odernn.properties.symmetry import adjoint as adjoint
from odernn.properties.symmetry import composition as composition
from odernn.properties.symmetry import symmetry as symmetry
from odernn.properties.symmetry import symplectic_conjugate as symplectic_conjugate
from odernn.properties.symmetry import transpose as transpose
from odernn.properties.symplecticity import symplecticity as symplecticity
from odernn.published.sources import Source as Source
from odernn.tableaus import families as families
from odernn.tableaus.nystrom import NystromTableau as NystromTableau
from odernn.tableaus.nystrom import nystrom_method as nystrom_method
from odernn.tableaus.tableau import ButcherTableau as ButcherTableau
from odernn.tableaus.tableau import Composition as Composition
from odernn.tableaus.tableau import PartitionedTableau as PartitionedTableau
from odernn.tableaus.tableau import Q as Q

__version__: str

def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]: ...
