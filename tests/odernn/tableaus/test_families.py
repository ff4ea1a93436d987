"""Gauss, Radau, Lobatto of any s against printed tables and a computation of another kind at 40 digits."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import pytest
from flint import fmpq
from mpmath import mpf

from odernn import tableaus
from odernn.properties.algebraic_stability import algebraic_stability
from odernn.properties.linear_stability import a_stability, l_stability
from odernn.properties.nonlinear_stability import b_stability
from odernn.properties.order import order
from odernn.properties.symmetry import symmetry
from odernn.properties.symplecticity import symplecticity
from odernn.tableaus import families
from odernn.tableaus.families import FAMILIES, PolynomialTableau, lobatto_pair, named
from odernn.tableaus.tableau import ButcherTableau
from tests.tiers import spread, where

Q = fmpq
PLACES = 40
SIZES = [(name, s) for name in FAMILIES for s in range(1, 9) if name.startswith("lobatto") <= (s > 1)]

# The oracle: nodes from Legendre polynomials on [−1, 1], A row by row or column by column from the defining linear
# equations in mpmath. Nothing of it uses polynomials modulo P.

Oracle = tuple[list[mpf], list[mpf], list[list[mpf]]]


def _legendre_sum(s: int, factors: dict[int, int]) -> list[mpf]:
    """Roots in [0, 1] of Σ factor · P_degree, from the three-term recurrence."""
    rows = [[mpf(1)], [mpf(1), mpf(0)]]  # highest power first
    for n in range(1, s + 1):
        up = [mpf(2 * n + 1) / (n + 1) * c for c in [*rows[n], mpf(0)]]
        low = [mpf(0), mpf(0), *rows[n - 1]]
        rows.append([x - mpf(n) / (n + 1) * y for x, y in zip(up, low, strict=True)])
    size = max(factors) + 1
    total = [mpf(0)] * size
    for degree, factor in factors.items():
        padded = [mpf(0)] * (size - degree - 1) + rows[degree]
        total = [x + factor * y for x, y in zip(total, padded, strict=True)]
    roots = mpmath.polyroots(total, maxsteps=500, extraprec=400)
    return sorted((r.real + 1) / 2 for r in roots)


def _nodes(name: str, s: int) -> list[mpf]:
    if name == "gauss":
        return _legendre_sum(s, {s: 1})
    if name in {"radau i", "radau ia"}:
        return _legendre_sum(s, {s: 1, s - 1: 1})
    if name in {"radau ii", "radau iia"}:
        return _legendre_sum(s, {s: 1, s - 1: -1})
    return _legendre_sum(s, {s: 1, s - 2: -1})  # (x² − 1)P'_{s−1} up to a factor


def _solve(matrix: list[list[mpf]], right: list[mpf]) -> list[mpf]:
    return list(mpmath.lu_solve(mpmath.matrix(matrix), mpmath.matrix(right)))


def _weights(c: list[mpf]) -> list[mpf]:
    s = len(c)
    return _solve([[x**k for x in c] for k in range(s)], [mpf(1) / (k + 1) for k in range(s)])


def _c_matrix(c: list[mpf], count: int, extra: Callable[[int], tuple[list[mpf], mpf]] | None = None) -> list[list[mpf]]:
    """Σ_j a_ij c_j^k = c_i^{k+1}/(k+1), k < count, and one further equation a row if count < s."""
    rows = []
    for i, x in enumerate(c):
        equations = [[y**k for y in c] for k in range(count)]
        right = [x ** (k + 1) / (k + 1) for k in range(count)]
        if extra is not None:
            left, value = extra(i)
            equations.append(left)
            right.append(value)
        rows.append(_solve(equations, right))
    return rows


def _d_matrix(c: list[mpf], b: list[mpf]) -> list[list[mpf]]:
    """Σ_i b_i c_i^k a_ij = b_j (1 − c_j^{k+1})/(k+1), k < s."""
    s = len(c)
    columns = [
        _solve(
            [[b[i] * c[i] ** k for i in range(s)] for k in range(s)],
            [b[j] * (1 - c[j] ** (k + 1)) / (k + 1) for k in range(s)],
        )
        for j in range(s)
    ]
    return [[columns[j][i] for j in range(s)] for i in range(s)]


def _f_matrix(c: list[mpf]) -> list[list[mpf]]:
    """C(s − 1), and A x^{s−1} = Σ_j α_j x^{j−1} with Σ_j α_j/(k + j − 1) = 1/(s (s + k)), k ≤ s, of the source."""
    s = len(c)
    hilbert = [[mpf(1) / (k + j - 1) for j in range(1, s + 1)] for k in range(1, s + 1)]
    alpha = _solve(hilbert, [mpf(1) / (s * (s + k)) for k in range(1, s + 1)])
    power = [y ** (s - 1) for y in c]
    return _c_matrix(c, s - 1, lambda i: (power, sum(a * c[i] ** j for j, a in enumerate(alpha))))


def oracle(name: str, s: int) -> Oracle:
    c = _nodes(name, s)
    b = _weights(c)
    first = [mpf(j == 0) for j in range(s)]
    last = [mpf(j == s - 1) for j in range(s)]
    if name in {"gauss", "radau i", "radau iia", "lobatto iiia"}:
        A = _c_matrix(c, s)
    elif name in {"radau ia", "radau ii", "lobatto iiib"}:
        A = _d_matrix(c, b)
    elif name == "lobatto iiic":
        A = _c_matrix(c, s - 1, lambda i: (first, b[0]))
    elif name == "lobatto iiic*":
        A = _c_matrix(c, s - 1, lambda i: (last, mpf(0)))
    elif name == "lobatto iiif":
        A = _f_matrix(c)
    elif name == "lobatto iiig":
        A = oracle("lobatto iiif", s)[2]
        A = [[(A[i][j] + b[j] - b[j] * A[j][i] / b[i]) / 2 for j in range(s)] for i in range(s)]
    else:
        halves = {"lobatto iiid": ("lobatto iiic", "lobatto iiic*"), "lobatto iiie": ("lobatto iiia", "lobatto iiib")}
        one, other = (oracle(half, s)[2] for half in halves[name])
        A = [[(x + y) / 2 for x, y in zip(u, v, strict=True)] for u, v in zip(one, other, strict=True)]
    return c, b, A


def number(ball) -> mpf:
    """The middle of a ball, which must be narrower than 10^−PLACES."""
    assert float(ball.rad()) < 10.0 ** -(PLACES + 5)
    return mpf(ball.mid().str(60, radius=False))


def deviation(method: PolynomialTableau, expected: Oracle) -> mpf:
    balls = method.enclosures(200)
    c, b, A = expected
    pairs = [*zip(balls.nodes, c, strict=True), *zip(balls.b, b, strict=True)]
    for got, want in zip(balls.A, A, strict=True):
        pairs += zip(got, want, strict=True)
    return max(abs(number(x) - y) for x, y in pairs)


def test_the_number_of_members_compared():
    assert len(SIZES) == 5 * 8 + 8 * 7


@pytest.mark.parametrize(("name", "s"), where(spread(SIZES, 48), lambda each: each[1] > 6))
def test_every_member_solves_its_defining_equations(name: str, s: int):
    with mpmath.workdps(PLACES + 30):
        assert deviation(FAMILIES[name](s), oracle(name, s)) < mpf(10) ** -PLACES


@pytest.mark.parametrize(
    ("one", "other", "s"),
    [
        ("lobatto iiic", "lobatto iiia", 3),
        ("radau ia", "radau i", 2),
        ("lobatto iiid", "lobatto iiie", 4),
        ("lobatto iiif", "lobatto iiia", 3),
        ("lobatto iiig", "lobatto iiie", 3),
    ],
)
def test_the_oracle_tells_families_apart(one: str, other: str, s: int):
    with mpmath.workdps(PLACES + 30):
        assert deviation(FAMILIES[one](s), oracle(other, s)) > mpf(1) / 100


LITERAL = [name for name in tableaus.names() if named(name) is not None]


def test_the_literal_entries_are_there():
    assert len(LITERAL) == 23 and {"gauss 3", "radau iia 3", "lobatto iiic 4", "lobatto iiic* 3"} <= set(LITERAL)


@pytest.mark.parametrize("name", LITERAL)
def test_a_literal_entry_is_the_member_of_its_family(name: str):
    entry, member = tableaus.get(name), named(name)
    assert isinstance(entry, ButcherTableau) and isinstance(member, PolynomialTableau)
    table = member.butcher()
    assert (table.A, table.b, table.order) == (entry.A, entry.b, entry.order)
    changed = [list(row) for row in entry.A]
    changed[-1][0] += Q(1, 10**30)
    assert table.A != ButcherTableau(changed, entry.b).A


@pytest.mark.parametrize(
    ("name", "s", "value"),
    [("gauss", 1, Q(1, 2)), ("radau iia", 1, Q(1)), ("radau ia", 1, Q(1)), ("radau i", 1, Q(0)), ("radau ii", 1, Q(0))],
)
def test_members_with_one_stage_are_midpoint_and_the_euler_methods(name: str, s: int, value):
    assert ((value,),) == FAMILIES[name](s).butcher().A


@pytest.mark.parametrize("s", range(2, 9))
def test_conjugates_of_lobatto_methods(s: int):
    conjugate = families.transposed(families.lobatto_iiic(s).form)
    assert conjugate == families.lobatto_iiic_star(s).form != families.lobatto_iiic(s).form
    assert families.transposed(families.lobatto_iiib(s).form) == families.lobatto_iiia(s).form
    for symplectic in (families.gauss, families.lobatto_iiid, families.lobatto_iiie, families.lobatto_iiig):
        assert families.transposed(symplectic(s).form) == symplectic(s).form
    for other in (families.radau_iia, families.lobatto_iiia, families.lobatto_iiic, families.lobatto_iiif):
        assert families.transposed(other(s).form) != other(s).form


@pytest.mark.parametrize(("name", "limit"), [("gauss", 3), ("radau iia", 3), ("radau i", 3), ("lobatto iiic", 5)])
def test_coefficients_are_written_out_up_to_one_square_root(name: str, limit: int):
    table = FAMILIES[name](limit).butcher()
    assert table.is_exact and sum(table.b, Q(0)) == 1
    with pytest.raises(ValueError, match=r"do not lie in one quadratic field.*Use \.form"):
        FAMILIES[name](limit + 1).butcher()


def test_zeros_of_the_formulas_are_exact_zeros():
    for s in (3, 6):
        assert all(a == 0 for a in families.lobatto_iiia(s).enclosures().A[0])
        assert all(row[-1] == 0 for row in families.lobatto_iiic_star(s).enclosures().A)
        assert all(row[-1] == 0 for row in families.radau_ii(s).enclosures().A)


def test_rounded_coefficients_say_that_they_are():
    table = families.gauss(5).rounded()
    assert table.is_float and not table.is_exact and table.is_consistent and table.stages == 5
    assert families.gauss(2).rounded().A[0][0] == Q(1, 4)


def test_the_pair_has_both_halves_over_the_same_nodes():
    pair = lobatto_pair(4)
    position, momentum = pair.forms
    assert position.modulus == momentum.modulus and position.weights == momentum.weights and pair.stages == 4
    verlet = lobatto_pair(2).butcher()
    assert verlet.position.A == tableaus.STOERMER_VERLET.position.A
    assert verlet.momentum.A == tableaus.STOERMER_VERLET.momentum.A != verlet.position.A


def test_families_have_a_smallest_member_and_say_which():
    with pytest.raises(ValueError, match=r'Family "gauss": there is no method with s = 0 stages; the smallest has s ='):
        families.gauss(0)
    with pytest.raises(ValueError, match=r'Family "lobatto iiic\*".*s = 1 stages; the smallest has s = 2'):
        families.lobatto_iiic_star(1)
    with pytest.raises(ValueError, match='Family "lobatto iiia-iiib"'):
        lobatto_pair(-3)
    with pytest.raises(TypeError, match=r"number of stages is 2\.5"):
        families.gauss(2.5)  # type: ignore[arg-type]


def test_names_with_a_number_of_stages_are_members():
    assert repr(tableaus.get("Radau IIA 7")).startswith('PolynomialTableau("radau iia 7", 7 stages')
    assert named("lobatto iiia-iiib 6").stages == 6 and named("rk 4") is None and named("gauss") is None
    with pytest.raises(ValueError, match="smallest has s = 2"):
        tableaus.get("lobatto iiib 1")


def test_large_members_are_made():
    for make in (lambda: families.gauss(12), lambda: families.radau_iia(10), lambda: families.lobatto_iiic(10)):
        assert make().form.dimension >= 10


def test_the_row_sums_need_not_be_the_nodes():
    balls = families.lobatto_iiib(2).enclosures()
    assert [float(x) for x in balls.c] == [0.5, 0.5] and [float(x) for x in balls.nodes] == [0, 1]


def test_lobatto_iiif_has_the_printed_coefficients():
    """s = 2, 3, 4 as other programs print them; the two symplectic families as the mean of rows by hand."""
    assert families.lobatto_iiif(2).butcher().A == ButcherTableau([["1/12", "-1/12"], ["7/12", "5/12"]], [0, 0]).A
    third = [["1/30", "-1/15", "1/30"], ["5/24", "1/3", "-1/24"], ["2/15", "11/15", "2/15"]]
    assert families.lobatto_iiif(3).butcher().A == ButcherTableau(third, [0, 0, 0]).A
    fourth = families.lobatto_iiif(4).butcher().A
    r = "sqrt(5)"
    rows = [
        ["1/56", f"-{r}/56", f"{r}/56", "-1/56"],
        [f"37/420 + {r}/120", f"5/24 - {r}/210", f"5/24 - 47*{r}/420", f"-1/210 + {r}/120"],
        [f"37/420 - {r}/120", f"5/24 + 47*{r}/420", f"5/24 + {r}/210", f"-1/210 - {r}/120"],
        ["17/168", f"5/12 - {r}/56", f"5/12 + {r}/56", "11/168"],
    ]
    assert fourth == ButcherTableau(rows, [0, 0, 0, 0]).A
    assert families.lobatto_iiig(2).butcher().A == ButcherTableau([["1/4", "-1/12"], ["7/12", "1/4"]], [0, 0]).A
    assert families.lobatto_iiie(2).butcher().A == ButcherTableau([["1/4", 0], ["1/2", "1/4"]], [0, 0]).A
    assert families.lobatto_iiid(2).butcher().A == ButcherTableau([["1/4", "-1/4"], ["3/4", "1/4"]], [0, 0]).A


@pytest.mark.parametrize("s", range(2, 8))
def test_lobatto_iiif_is_gauss_in_the_basis_of_polynomials(s: int):
    """A' and w are the same, so R(z) is; the stagewise product is not, so order 2s is for linear equations only."""
    found, gauss = families.lobatto_iiif(s).form, families.gauss(s).form
    assert (found.operator, found.weights) == (gauss.operator, gauss.weights) and found.modulus != gauss.modulus


@pytest.mark.parametrize("family", ["lobatto iiif", "lobatto iiig"])
def test_no_method_with_lobattos_quadrature_has_order_2s(family: str):
    """The title of the source says 2s; B(2s − 1) fails for s Lobatto abscissae, whatever A is, if A1 is c."""
    for s in range(2, 8):
        method, rival = FAMILIES[family](s), FAMILIES["lobatto iiia"](s)
        assert method.order == 2 * s
        found, other = order(method), order(rival)
        assert (found.value, found.exact) == (2 * s - 2, True)
        if s > 2 or family == "lobatto iiif":  # IIIG 2 has A1 = (1/6, 5/6)
            assert found.witness == other.witness


@pytest.mark.parametrize("s", range(2, 7))
def test_what_lobatto_iiid_iiie_iiif_and_iiig_are(s: int):
    """Order, A- and L-stable, algebraically and B-stable, symplectic, symmetric; Chan 1990, Jay 2015, and IIIF anew."""
    table = {
        "lobatto iiid": (True, True),
        "lobatto iiie": (True, True),
        "lobatto iiif": (False, False),
        "lobatto iiig": (True, True),
    }
    for name, (monotone, symplectic) in table.items():
        method = FAMILIES[name](s)
        assert order(method).value == 2 * s - 2
        assert (a_stability(method).holds, l_stability(method).holds) == (True, False)
        assert (algebraic_stability(method).holds, b_stability(method).holds) == (monotone, monotone)
        assert symplecticity(method).holds is symplectic and symmetry(method).holds is True
        assert abs(l_stability(method).value) == 1  # of a symmetric method R(z) R(−z) = 1
