"""Unitary matrices by multiplicative updates, exponentials and factors; their score in more digits than theirs."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch.nn.utils import parametrize

from odernn.orthogonal import unitary
from odernn.orthogonal.cayley import modrelu, skew
from odernn.orthogonal.restricted_unitary import (
    apply_restricted,
    parameter_count,
    redundant_directions,
    restricted_unitary,
)
from odernn.orthogonal.unitary import (
    MultiplicativeCayley,
    SkewExponential,
    complex_modrelu,
    expm_skew,
    multiplicative_cayley_update,
    pair_of,
    real_form,
    skew_logarithm,
    unitarity_score,
    unitary_of,
)
from tests.odernn.cells.books.urnn import recurrent_matrix

F64, C128 = torch.float64, torch.complex128
EPS = torch.finfo(F64).eps
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = F64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def random_unitary(n: int, *, seed: int = 1, dtype: torch.dtype = F64) -> torch.Tensor:
    wide = C128 if dtype.is_complex else F64
    return torch.linalg.qr(normal(n, n, seed=seed, dtype=wide))[0].to(dtype)


# --- the multiplicative update


class Exact:
    """Matrices of complex rational numbers: real and imaginary part of every entry."""

    def __init__(self, rows):
        self.rows = [[(Fraction(x.real), Fraction(x.imag)) for x in row] for row in rows]

    @classmethod
    def of(cls, rows):
        found = cls([])
        found.rows = rows
        return found

    def __matmul__(self, other):
        columns = list(zip(*other.rows, strict=True))
        return Exact.of([[_inner(row, column) for column in columns] for row in self.rows])

    def __add__(self, other):
        return Exact.of([[(a + c, b + d) for (a, b), (c, d) in zip(*rows, strict=True)] for rows in self._pairs(other)])

    def _pairs(self, other):
        return zip(self.rows, other.rows, strict=True)

    def times(self, c):
        return Exact.of([[(c * a, c * b) for a, b in row] for row in self.rows])

    @property
    def star(self):
        return Exact.of([[(a, -b) for a, b in column] for column in zip(*self.rows, strict=True)])

    def solve(self, other):
        """X with self X = other, by elimination."""
        n = len(self.rows)
        work = [list(row) + list(right) for row, right in self._pairs(other)]
        for k in range(n):
            pivot = next(i for i in range(k, n) if work[i][k] != (0, 0))
            work[k], work[pivot] = work[pivot], work[k]
            a, b = work[k][k]
            inverse = (a / (a * a + b * b), -b / (a * a + b * b))
            work[k] = [_product(inverse, x) for x in work[k]]
            for i in range(n):
                if i != k:
                    factor = work[i][k]
                    work[i] = [_minus(x, _product(factor, y)) for x, y in zip(work[i], work[k], strict=True)]
        return Exact.of([row[n:] for row in work])

    def floats(self):
        return np.array([[complex(float(a), float(b)) for a, b in row] for row in self.rows])

    def defect(self):
        """‖self* self − I‖_F² as a rational number."""
        gram = (self.star @ self).rows
        return sum((a - (i == j)) ** 2 + b * b for i, row in enumerate(gram) for j, (a, b) in enumerate(row))


def _product(x, y):
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def _minus(x, y):
    return x[0] - y[0], x[1] - y[1]


def _inner(row, column):
    products = [_product(x, y) for x, y in zip(row, column, strict=True)]
    return sum(a for a, _ in products), sum(b for _, b in products)


def identity(n):
    return Exact([[float(i == j) for j in range(n)] for i in range(n)])


def exact_update(W: Exact, G: Exact, step: Fraction) -> Exact:
    B = (G @ W.star) + (W @ G.star).times(-1)
    n, half = len(W.rows), B.times(step / 2)
    return (identity(n) + half).solve((identity(n) + half.times(-1)) @ W)


def exact_unitary(n: int, seed: int, is_complex: bool) -> Exact:
    """A rational unitary matrix: the Cayley transform of a skew-Hermitian one, times another; no entry is a float."""
    generator = np.random.default_rng(seed)
    found = identity(n)
    for _ in range(2):
        whole = generator.integers(-3, 4, (n, n)) + (1j * generator.integers(-3, 4, (n, n)) if is_complex else 0)
        A = Exact((whole - whole.conj().T).tolist())
        found = (identity(n) + A).solve(identity(n) + A.times(-1)) @ found
    return found


@pytest.mark.parametrize("dtype", [F64, C128])
@pytest.mark.parametrize("step", [Fraction(1, 8), Fraction(3), Fraction(-1, 2)])
def test_the_update_is_its_formula_in_rational_numbers_and_stays_unitary_exactly(dtype, step):
    n = 4
    W = exact_unitary(n, 1, dtype.is_complex)
    G = Exact(normal(n, n, seed=2, dtype=dtype).tolist())
    wanted = exact_update(W, G, step)
    assert W.defect() == 0 and wanted.defect() == 0

    def rounded(exact: Exact) -> torch.Tensor:
        return torch.tensor(exact.floats() if dtype.is_complex else exact.floats().real)

    given = rounded(W), rounded(G)
    found = multiplicative_cayley_update(*given, float(step))
    # ‖I + λ/2 B‖ ≤ 1 + |λ| ‖G‖: a backward stable solve, and W rounded to begin with.
    size = 1 + abs(float(step)) * float(torch.linalg.matrix_norm(given[1], 2))
    assert float((found - rounded(wanted)).abs().max()) <= 8 * n * EPS * size
    wrong = exact_update(W, G.times(-1), step)  # the planted fault: uphill
    assert float((found - rounded(wrong)).abs().max()) > 1e-3


@pytest.mark.parametrize("dtype", [F64, C128])
def test_the_loss_falls_at_the_rate_of_half_the_squared_norm_of_b(dtype):
    """L(W) = Re tr(C* W) + |W_12|⁴, its gradient as autograd gives it."""
    W, C = random_unitary(5, dtype=dtype), normal(5, 5, seed=3, dtype=dtype)

    def loss(W):
        return (C.conj() * W).sum().real + W[0, 1].abs() ** 4

    leaf = W.clone().requires_grad_()
    (G,) = torch.autograd.grad(loss(leaf), leaf)
    rate = -0.5 * float(torch.linalg.matrix_norm(G @ W.mH - W @ G.mH)) ** 2

    def slope(G):
        h = 1e-5
        return float(loss(multiplicative_cayley_update(W, G, h)) - loss(multiplicative_cayley_update(W, G, -h))) / (
            2 * h
        )

    assert slope(G) == pytest.approx(rate, rel=1e-7) and rate < -1.0
    assert slope(G.mT) != pytest.approx(rate, rel=1e-2)
    if dtype.is_complex:  # the other convention of a complex derivative
        assert slope(G.conj()) != pytest.approx(rate, rel=1e-2)


def test_both_forms_of_a_complex_parameter_and_its_real_form_are_updated_alike():
    """The embedding of C in real 2x2 matrices is a homomorphism, so updates commute with it, up to rounding."""
    W, G = random_unitary(4, dtype=C128), normal(4, 4, seed=2, dtype=C128)
    wanted = multiplicative_cayley_update(W, G, 0.3)
    torch.testing.assert_close(unitary_of(pair_of(W)), W, rtol=0, atol=0)
    torch.testing.assert_close(multiplicative_cayley_update(real_form(W), real_form(G), 0.3), real_form(wanted))
    for form in (lambda W: W.clone(), pair_of):
        parameter = torch.nn.Parameter(form(W))
        parameter.grad = form(G)
        MultiplicativeCayley([parameter], lr=0.3).step()
        torch.testing.assert_close(parameter.detach(), form(wanted), rtol=0, atol=1e-14)


def test_the_optimizer_finds_a_unitary_target_on_the_manifold_and_additive_steps_leave_it():
    target = random_unitary(4, seed=5, dtype=C128)
    losses = {}
    for kind in (MultiplicativeCayley, torch.optim.SGD):
        W = torch.nn.Parameter(pair_of(random_unitary(4, seed=6, dtype=C128)))
        idle = torch.nn.Parameter(torch.eye(3, dtype=F64))
        optimizer = kind([W, idle], lr=0.1)
        worst = 0.0

        def closure(W=W, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (unitary_of(W) - target).abs().square().sum()
            loss.backward()
            return loss

        for _ in range(60):
            losses[kind] = float(optimizer.step(closure).detach())
            worst = max(worst, unitarity_score(unitary_of(W)))
        assert (worst <= 60 * 8 * 4 * EPS) == (kind is MultiplicativeCayley)
        assert torch.equal(idle.detach(), torch.eye(3, dtype=F64))
    assert losses[MultiplicativeCayley] < 1e-2


def test_single_precision_drifts_and_more_than_double_does():
    scores = []
    for dtype in (torch.float32, F64):
        W, n = random_unitary(8, dtype=dtype), 8
        for k in range(200):
            W = multiplicative_cayley_update(W, normal(n, n, seed=k).to(dtype), 0.05)
        scores.append(unitarity_score(W) / torch.finfo(dtype).eps)
    assert all(1.0 < score < 200 * 8 for score in scores)  # a few roundings of every entry a step


def test_what_is_no_update_is_refused():
    W = torch.eye(3)
    for gradient in (torch.eye(2), torch.eye(3, dtype=F64)):
        with pytest.raises(ValueError, match="gradient is"):
            multiplicative_cayley_update(W, gradient, 0.1)
    with pytest.raises(ValueError, match="step_size is nan"):
        multiplicative_cayley_update(W, W, math.nan)
    with pytest.raises(ValueError, match="W has shape"):
        multiplicative_cayley_update(torch.ones(2, 3), torch.ones(2, 3), 0.1)
    with pytest.raises(TypeError, match="bfloat16"):
        multiplicative_cayley_update(W.bfloat16(), W.bfloat16(), 0.1)
    for lr in (0.0, -1.0, math.inf):
        with pytest.raises(ValueError, match="lr is"):
            MultiplicativeCayley([torch.nn.Parameter(W)], lr=lr)
    for shape in ((3,), (2, 3), (3, 2, 2), (0, 0)):
        with pytest.raises(ValueError, match="a unitary weight is"):
            MultiplicativeCayley([torch.nn.Parameter(torch.zeros(shape))], lr=0.1)


# --- the exponential


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_exponential_is_that_of_the_eigenvalues(n):
    A = skew(3.0 * normal(n * (n - 1) // 2, seed=n), n)
    values, vectors = np.linalg.eigh(1j * A.numpy())
    wanted = (vectors @ np.diag(np.exp(-1j * values)) @ vectors.conj().T).real
    size = 1 + float(torch.linalg.matrix_norm(A, 2))
    found = expm_skew(A)
    assert np.abs(found.numpy() - wanted).max() <= 32 * n * EPS * size
    assert unitarity_score(found) <= 32 * n * EPS * size
    assert float(torch.linalg.det(found)) == pytest.approx(1.0, abs=1e-12)


NORMS = [0.0, *np.geomspace(1e-6, 64.0, 90), *np.linspace(0.5, 64.0, 128)]
"""Dense enough for every scaling that torch's exponential chooses by norm, each of which has a band of its own."""


def units_of(W: torch.Tensor) -> float:
    """‖W*W − I‖₂ in units u, 2⁻²⁴ or 2⁻⁵³, summed in 80 bits."""
    wide = W.numpy().astype(np.clongdouble if W.is_complex() else np.longdouble)
    gram = (wide.conj().T @ wide - np.eye(len(W))).astype(complex if W.is_complex() else float)
    is_single = W.dtype in (torch.float32, torch.complex64)
    return float(np.linalg.norm(gram, 2)) * (2.0**24 if is_single else 2.0**53)


def skew_of_norm(n: int, norm: float, dtype: torch.dtype, seed: int) -> torch.Tensor:
    M = normal(n, n, seed=seed, dtype=C128 if dtype.is_complex else F64)
    A = M - M.mH
    return (A * (norm / float(torch.linalg.matrix_norm(A, 2)))).to(dtype)


DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_exponential_is_unitary_to_two_units_at_every_norm(n, dtype):
    worst = max(units_of(expm_skew(skew_of_norm(n, norm, dtype, seed))) for seed, norm in enumerate(NORMS))
    assert 0.5 < worst <= 2.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_sweep_sees_that_scaling_and_squaring_alone_is_not(dtype):
    worst = max(units_of(torch.linalg.matrix_exp(skew_of_norm(2, x, dtype, seed))) for seed, x in enumerate(NORMS))
    assert worst > 20.0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [64, 512])
def test_the_exponential_is_unitary_to_two_units_at_larger_sizes(n, dtype):
    for seed, norm in enumerate((0.1, 0.45, 1.0, 2.1, 5.0, 16.0, 64.0)[:: 1 if n == 64 else 3]):
        assert units_of(expm_skew(skew_of_norm(n, norm, dtype, seed))) <= 2.0


@pytest.mark.parametrize("angle", [1e-9, 0.45, 0.58, 1.0, 3.0, 64.0])
def test_the_exponential_of_a_plane_is_its_rotation(angle):
    for dtype, tolerance in ((F64, 4e-16 * (1 + 4 * angle)), (torch.float32, 1e-7)):
        turn = float(torch.tensor(angle, dtype=dtype))
        found = expm_skew(torch.tensor([[0.0, turn], [-turn, 0.0]], dtype=dtype))
        wanted = torch.tensor([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]], dtype=F64)
        assert float((found.to(F64) - wanted).abs().max()) <= tolerance


def test_derivatives_in_single_precision_are_those_of_double_rounded():
    free, weight = 3.0 * normal(28), normal(8, 8)
    gradients, curvatures = [], []
    for dtype in (F64, torch.float32):
        point = free.to(dtype).requires_grad_()
        (first,) = torch.autograd.grad((expm_skew(skew(point, 8)) * weight.to(dtype)).sum(), point, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), point)
        gradients.append(first.detach().to(F64)), curvatures.append(second.to(F64))
    assert torch.allclose(gradients[0], gradients[1], rtol=1e-5, atol=1e-5)
    assert torch.allclose(curvatures[0], curvatures[1], rtol=1e-4, atol=1e-4)


def test_skew_hermitian_matrices_have_unitary_exponentials():
    M = normal(5, 5, dtype=C128)
    assert unitarity_score(expm_skew(M - M.mH)) <= 1e-13 and unitarity_score(expm_skew(M)) > 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_skew_has_its_exponential_uncorrected(dtype):
    M = normal(4, 4, dtype=C128 if dtype.is_complex else F64)
    wanted, single = torch.linalg.matrix_exp(M), dtype in (torch.float32, torch.complex64)
    assert float((expm_skew(M.to(dtype)) - wanted).abs().max()) <= (1e-5 if single else 1e-13) * float(
        wanted.abs().max()
    )


def test_derivatives_of_the_exponential_are_those_of_finite_differences():
    free = normal(6).requires_grad_()
    assert torch.autograd.gradcheck(lambda free: expm_skew(skew(free, 4)), free)
    assert torch.autograd.gradgradcheck(lambda free: expm_skew(skew(free, 4)), free)


def test_autocast_does_not_reach_the_exponential():
    A = skew(normal(10).float(), 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = expm_skew(A)
    assert torch.equal(found, expm_skew(A))


SPECTRA = {"rotations": (), "a plane turned by π": (0, 1), "all turned by π": (0, 1, 2, 3), "almost nothing": None}


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("case", SPECTRA)
def test_the_logarithm_is_skew_principal_and_an_inverse(n, case):
    flipped, Q = SPECTRA[case], random_unitary(n, seed=3)
    if flipped is None:
        W = expm_skew(skew(1e-9 * normal(n * (n - 1) // 2), n))
    elif flipped:
        W = Q @ torch.diag(torch.tensor([-1.0 if i in flipped else 1.0 for i in range(n)], dtype=F64)) @ Q.mT
    else:
        W = expm_skew(skew(normal(n * (n - 1) // 2), n))
    A = skew_logarithm(W)
    assert torch.equal(A, -A.mT) and float(torch.linalg.matrix_norm(A, 2)) <= math.pi + 1e-12
    assert float((expm_skew(A) - W).abs().max()) <= 64 * n * EPS


def test_what_has_no_such_logarithm_is_refused():
    with pytest.raises(ValueError, match="determinant −1"):
        skew_logarithm(torch.diag(torch.tensor([1.0, 1.0, -1.0])))
    with pytest.raises(ValueError, match=r"not orthogonal: max \|WᵀW − I\| is 3"):
        skew_logarithm(2 * torch.eye(3))
    with pytest.raises(TypeError, match="float32 and float64"):
        skew_logarithm(torch.eye(3, dtype=torch.float16))


def test_a_weight_of_any_module_can_be_an_exponential():
    linear = torch.nn.Linear(5, 5, dtype=F64)
    with pytest.raises(ValueError, match="not orthogonal"):
        parametrize.register_parametrization(linear, "weight", SkewExponential(5))
    linear = torch.nn.Linear(5, 5, dtype=F64)
    with torch.no_grad():
        linear.weight.copy_(expm_skew(skew(normal(10), 5)))
    before = linear.weight.detach().clone()
    parametrize.register_parametrization(linear, "weight", SkewExponential(5))
    assert float((linear.weight - before).detach().abs().max()) <= 1e-14
    torch.optim.SGD(linear.parameters(), lr=0.1).step(lambda: linear(normal(3, 5)).square().sum().backward())
    assert unitarity_score(linear.weight.detach()) <= 1e-14 and not torch.allclose(linear.weight, before)
    with pytest.raises(ValueError, match="this parametrisation has n = 5"):
        linear.weight = torch.eye(4, dtype=F64)


# --- the score


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_score_is_that_of_rational_arithmetic(dtype, n):
    for seed in range(3):
        W = random_unitary(n, seed=seed, dtype=dtype)
        wanted = math.sqrt(Exact(W.tolist()).defect())
        assert unitarity_score(W) == pytest.approx(wanted, rel=1e-6, abs=1e-21)
    assert unitarity_score(normal(n, n, dtype=dtype) * 100) > 1.0


def test_a_last_bit_is_seen_and_what_is_exactly_unitary_has_score_zero():
    W = torch.eye(300, dtype=F64)[torch.randperm(300, generator=torch.Generator().manual_seed(1))]
    assert unitarity_score(W) == 0.0 and unitarity_score(W.to(C128) * 1j) == 0.0
    W[W == 1.0] = torch.cat((torch.tensor([1 - 2.0**-53], dtype=F64), torch.ones(299, dtype=F64)))
    assert unitarity_score(W) == pytest.approx(2.0**-52, rel=1e-12)
    assert unitarity_score(torch.zeros(3, 3, dtype=F64)) == math.sqrt(3)
    tiny = torch.eye(3, dtype=F64)
    tiny[0, 1] = 1e-20  # columns 1 and 2 of product 1e-20; a float64 sum of squares sees the same here
    assert unitarity_score(tiny) == pytest.approx(math.sqrt(2) * 1e-20, rel=1e-3)


def test_with_fewer_slices_the_score_is_wrong(monkeypatch):
    W = random_unitary(7)
    wanted = math.sqrt(Exact(W.tolist()).defect())
    for slices in (1, 2):
        monkeypatch.setattr(unitary, "SLICES", slices)
        assert abs(unitarity_score(W) / wanted - 1) > 1e-3


def test_the_score_refuses_what_it_cannot_hold(monkeypatch):
    with pytest.raises(ValueError, match="not finite"):
        unitarity_score(torch.full((2, 2), math.nan))
    monkeypatch.setattr(unitary, "LARGEST", 4)
    with pytest.raises(ValueError, match="W has 6 real rows"):
        unitarity_score(torch.eye(3, dtype=C128))
    assert unitarity_score(torch.eye(6)) == 0.0  # single precision has no such limit


# --- seven n numbers


def restricted(n: int, seed: int = 1):
    permutation = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return normal(3, n, seed=seed), normal(2, 2, n, seed=seed + 1), permutation


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 30])
def test_the_factors_make_the_product_of_seven_matrices(n):
    angles, reflectors, permutation = restricted(n)
    book = {"angles": angles.numpy(), "reflectors": reflectors.numpy(), "permutation": permutation.numpy()}
    W = restricted_unitary(angles, reflectors, permutation)
    assert np.abs(W.numpy() - recurrent_matrix(book)).max() <= 32 * n * EPS
    h = normal(5, 2, n, seed=9, dtype=C128)
    torch.testing.assert_close(
        apply_restricted(h, angles, reflectors, permutation), h @ W.mT, rtol=0, atol=64 * n * EPS
    )
    assert unitarity_score(W) <= 32 * n * EPS
    assert angles.numel() + reflectors.numel() == parameter_count(n) == 7 * n
    if n > 2:  # the inverse permutation is another matrix
        other = restricted_unitary(angles, reflectors, torch.argsort(permutation))
        assert torch.equal(torch.argsort(permutation), permutation) or float((other - W).abs().max()) > 1e-3


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 10])
def test_the_image_has_seven_dimensions_less_than_numbers_and_misses_most_matrices_from_six_on(n):
    """Rank of the differential at random points: min(n², 7n − 7); the published bound is n > 7, by 7n < n²."""
    for seed in (1, 2):
        angles, reflectors, permutation = restricted(n, seed=seed)

        def entries(x, permutation=permutation):
            return torch.view_as_real(restricted_unitary(x[: 3 * n].view(3, n), x[3 * n :].view(2, 2, n), permutation))

        point = torch.cat((angles.flatten(), reflectors.flatten()))
        J = torch.autograd.functional.jacobian(entries, point).reshape(2 * n * n, 7 * n)
        values = torch.linalg.svdvals(J)
        rank = int((values > 1e-9 * values[0]).sum())
        assert rank == min(n * n, 7 * n - 7) and (rank < n * n) == (n >= 6)
        kernel = redundant_directions(angles, reflectors, permutation)
        assert int(torch.linalg.matrix_rank(kernel)) == 7
        assert float((J @ kernel.mT).abs().max()) <= 64 * n * EPS * float(kernel.abs().max())
        kernel[4] = kernel[4].roll(1)  # a direction that is none is seen
        assert float((J @ kernel.mT).abs().max()) > 1e-3


def test_factors_of_other_sizes_are_refused():
    angles, reflectors, permutation = restricted(4)
    for wrong, name in (
        ((angles[:2], reflectors, permutation), "angles"),
        ((angles, reflectors[0], permutation), "reflectors"),
        ((angles, reflectors, permutation[1:]), "permutation"),
    ):
        with pytest.raises(ValueError, match=f"{name} has shape"):
            apply_restricted(normal(4, dtype=C128), *wrong)


# --- complex modReLU


def test_complex_modrelu_changes_the_modulus_and_keeps_the_angle():
    z, b = normal(50, 6), torch.tensor([-0.5, 0.3, 0.0], dtype=F64)
    found = complex_modrelu(z, b)
    for row, values in zip(z.tolist(), found.tolist(), strict=True):
        for i in range(3):
            w = complex(row[i], row[3 + i])
            wanted = cmath.rect(max(abs(w) + float(b[i]), 0.0), cmath.phase(w))
            assert abs(complex(values[i], values[3 + i]) - wanted) <= 8 * EPS * (1 + abs(w))
    on_the_line = torch.cat((z[:, :3], torch.zeros(50, 3, dtype=F64)), dim=1)
    torch.testing.assert_close(complex_modrelu(on_the_line, b)[:, :3], modrelu(z[:, :3], b), rtol=1e-14, atol=1e-15)


def test_its_jacobian_has_the_singular_values_one_and_one_plus_b_over_the_modulus():
    for b, z in ((0.5, (0.03, -0.04)), (-0.5, (0.6, 0.8)), (-2.0, (0.6, 0.8))):
        J = torch.autograd.functional.jacobian(
            lambda z, b=b: complex_modrelu(z, torch.tensor([b], dtype=F64)), torch.tensor(z, dtype=F64)
        )
        modulus = math.hypot(*z)
        wanted = sorted((1.0, 1 + b / modulus), reverse=True) if modulus + b > 0 else [0.0, 0.0]
        assert torch.linalg.svdvals(J).tolist() == pytest.approx(wanted, abs=1e-13)


def test_its_derivatives_exist_off_zero_and_are_zero_there():
    b = torch.tensor([0.4, -0.1], dtype=F64, requires_grad=True)
    z = normal(3, 4).requires_grad_()
    assert torch.autograd.gradcheck(complex_modrelu, (z, b)) and torch.autograd.gradgradcheck(complex_modrelu, (z, b))
    nothing = torch.zeros(1, 4, dtype=F64, requires_grad=True)
    value = complex_modrelu(nothing, b)
    assert not value.any() and not any(g.any() for g in torch.autograd.grad(value.sum(), (nothing, b)))


def test_no_square_overflows_or_underflows():
    b = torch.zeros(2)
    for size in (1e-30, 1e30):
        z = torch.tensor([3.0, -1.0, 4.0, 2.0]) * size
        torch.testing.assert_close(complex_modrelu(z, b), z, rtol=1e-6, atol=0)
    tiny = complex_modrelu(torch.tensor([3.0, 4.0]) * 1e-30, torch.ones(1))
    torch.testing.assert_close(tiny, torch.tensor([0.6, 0.8]), rtol=1e-6, atol=0)


def test_a_bias_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"Give it the shape \(2,\)"):
        complex_modrelu(torch.zeros(3, 4), torch.zeros(4))
