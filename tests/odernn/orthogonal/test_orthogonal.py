"""The scaled Cayley transform: theorems decided over the rationals, and the float code against them."""

from __future__ import annotations

import copy
import itertools
import math
import random
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from flint import fmpq, fmpq_mat, fmpq_poly
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.profiler import ProfilerActivity, profile

from odernn.executions.recurrence import UNIT_ROUNDOFF
from odernn.orthogonal import signs as cayley_signs
from odernn.orthogonal.cayley import (
    DEFAULT_TAU,
    ScaledCayley,
    block_angles,
    cayley_inverse,
    flip_pair,
    flips,
    free_entries,
    lu_signs,
    modrelu,
    nearest_orthogonal,
    orthogonality_tolerance,
    pair_flips,
    scaled_cayley,
    scaled_cayley_inverse,
    signs_of,
    skew,
)
from tests.tiers import only

U64 = UNIT_ROUNDOFF[torch.float64]
SIZES = (2, 3, 4, 5, 6)


pytestmark = pytest.mark.usefixtures("one_thread")


# ------------------------------------------------------------------------------------------- oracles over the rationals


def identity(n: int) -> fmpq_mat:
    return fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def diagonal(entries: tuple[int, ...]) -> fmpq_mat:
    n = len(entries)
    return fmpq_mat(n, n, [entries[i] if i == j else 0 for i in range(n) for j in range(n)])


def rational_skew(n: int, rng: random.Random) -> fmpq_mat:
    A = fmpq_mat(n, n)
    for i, j in itertools.combinations(range(n), 2):
        A[i, j] = fmpq(rng.randint(-9, 9), rng.randint(1, 5))
        A[j, i] = -A[i, j]
    return A


def cayley(A: fmpq_mat) -> fmpq_mat:
    """Its own inverse, on skew and on orthogonal matrices."""
    return (identity(A.nrows()) + A).inv() * (identity(A.nrows()) - A)


def rational_orthogonal(n: int, seed: int) -> fmpq_mat:
    """Not of the form C(A): the signs in front give either determinant, and the eigenvalue −1 now and then."""
    rng = random.Random(1000 * n + seed)
    D = diagonal(tuple(rng.choice((-1, 1)) for _ in range(n)))
    return D * cayley(rational_skew(n, rng))


def minor(A: fmpq_mat, S: tuple[int, ...]) -> fmpq:
    return fmpq_mat(len(S), len(S), [A[i, j] for i in S for j in S]).det() if S else fmpq(1)


def largest_entry(A: fmpq_mat) -> fmpq:
    return max(abs(entry) for entry in A.entries())


def as_tensor(A: fmpq_mat) -> Tensor:
    return torch.tensor([[int(x.p) / int(x.q) for x in row] for row in A.tolist()], dtype=torch.float64)


def signatures(n: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((1, -1), repeat=n)


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(range(n), size) for size in range(n + 1))


def exact_pivot_entries(W: fmpq_mat, d: tuple[int, ...]) -> list[fmpq]:
    """s_kk of every step by leading minors: the k-th of W + D with d_k = 0, divided by the one before."""
    n = W.nrows()
    leading = [(W + diagonal((*d[:k], *[0] * (n - k))), tuple(range(k)), tuple(range(k + 1))) for k in range(n)]
    return [minor(M, upto) / minor(M, before) for M, before, upto in leading]


# -------------------------------------------------------------------------------------------------- float test matrices


def haar(n: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    Q, R = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)))
    return (Q * torch.sign(torch.diag(R))).to(dtype)


def householder(v: Tensor) -> Tensor:
    v = v / v.norm()
    return torch.eye(len(v), dtype=v.dtype) - 2 * torch.outer(v, v)


def uniform_free(n: int, seed: int = 0, scale: float = 1.0, dtype: torch.dtype = torch.float64) -> Tensor:
    draw = torch.rand(n * (n - 1) // 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return (scale * (2 * draw - 1)).to(dtype)


def orthogonal_families(n: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(n)
    eye = torch.eye(n, dtype=torch.float64)
    grid = torch.arange(n, dtype=torch.float64)
    cosines = torch.cos(math.pi * (grid + 0.5) * grid[:, None] / n) * math.sqrt(2 / n)
    cosines[0] /= math.sqrt(2)
    return {
        "Haar": haar(n),
        "I": eye,
        "-I": -eye,
        "permutation": eye[torch.randperm(n, generator=generator)],
        "cycle": eye.roll(1, 0),
        "exchange": eye.flip(0),
        "Householder": householder(torch.randn(n, dtype=torch.float64, generator=generator)),
        "Householder of (1, .., 1)": householder(torch.ones(n, dtype=torch.float64)),
        "cosine transform": cosines,
    }


def sign_matrix(n: int) -> Tensor:
    """a_ij = sign(j − i): the largest norm among skew matrices with |a_ij| ≤ 1."""
    return skew(torch.ones(n * (n - 1) // 2, dtype=torch.float64), n)


# --------------------------------------------------------------------------------------------------------- the two maps


def test_free_parameters_are_the_strict_upper_triangle_row_by_row():
    A = skew(torch.arange(1.0, 7.0), 4)
    assert A.tolist() == [[0, 1, 2, 3], [-1, 0, 4, 5], [-2, -4, 0, 6], [-3, -5, -6, 0]]
    assert free_entries(A).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_skew_is_exactly_skew_and_free_entries_inverts_it_bit_for_bit(n, dtype):
    free = uniform_free(n, dtype=dtype)
    A = skew(free, n)
    assert torch.equal(A, -A.T) and A.dtype == dtype
    assert torch.equal(free_entries(A), free)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 33])
def test_the_map_is_the_formula_of_numpy(n):
    A, d = skew(uniform_free(n), n).numpy(), signs_of(n, n // 2, "prefix").numpy()
    expected = np.linalg.inv(np.eye(n) + A) @ (np.eye(n) - A) @ np.diag(d)
    found = scaled_cayley(torch.tensor(A), torch.tensor(d))
    assert np.abs(found.numpy() - expected).max() <= 8 * n * U64 * np.linalg.cond(np.eye(n) + A)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", SIZES)
def test_the_map_is_the_rational_one_to_rounding_in_both_dtypes(n, dtype):
    A = rational_skew(n, random.Random(n))
    d = tuple((-1) ** i for i in range(n))
    W = scaled_cayley(as_tensor(A).to(dtype), torch.tensor(d))
    error = (W.double() - as_tensor(cayley(A) * diagonal(d))).abs().max()
    kappa = float(torch.linalg.cond(torch.eye(n) + as_tensor(A)))
    assert W.dtype == dtype
    assert error <= 8 * n * UNIT_ROUNDOFF[dtype] * kappa


@pytest.mark.parametrize("n", SIZES)
def test_det_of_the_cayley_transform_is_1_so_det_W_is_the_product_of_the_signs(n):
    A = rational_skew(n, random.Random(n))
    assert cayley(A).det() == 1
    for rho in range(n + 1):
        W = scaled_cayley(as_tensor(A), signs_of(n, rho, "prefix"))
        assert float(torch.det(W)) == pytest.approx((-1) ** rho, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex64, torch.int64])
def test_other_dtypes_are_refused_by_name(dtype):
    with pytest.raises(TypeError, match=f"A has dtype {dtype}"):
        scaled_cayley(torch.zeros(3, 3, dtype=dtype), torch.ones(3))
    with pytest.raises(TypeError, match=r"ScaledCayley has dtype torch\.float16"):
        ScaledCayley(3)(torch.zeros(3, dtype=torch.float16))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: skew(torch.zeros(4), 3), r"free has shape \(4,\).* 3 free entries"),
        (lambda: skew(torch.zeros(0), 0), "n is 0"),
        (lambda: free_entries(torch.zeros(2, 3)), r"A has shape \(2, 3\)"),
        (lambda: scaled_cayley(torch.zeros(3), torch.ones(3)), r"A has shape \(3,\)"),
        (lambda: scaled_cayley(torch.zeros(3, 3), torch.ones(2)), r"signs has shape \(2,\).* n = 3"),
    ],
)
def test_shapes_that_do_not_fit_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------------------------------------------------------- gradient


def gradient_formula(A: np.ndarray, d: np.ndarray, G: np.ndarray) -> np.ndarray:
    """V_gᵀ − V_g with V_g = (I + A)⁻ᵀ G (D + Wᵀ)."""
    n = len(A)
    W = np.linalg.inv(np.eye(n) + A) @ (np.eye(n) - A) @ np.diag(d)
    V = np.linalg.inv(np.eye(n) + A).T @ G @ (np.diag(d) + W.T)
    return V.T - V


def wrong_gradients(A: np.ndarray, d: np.ndarray, G: np.ndarray) -> dict[str, np.ndarray]:
    n = len(A)
    inverse = np.linalg.inv(np.eye(n) + A)
    W = inverse @ (np.eye(n) - A) @ np.diag(d)
    right, left = inverse.T @ G @ (np.diag(d) + W.T), inverse @ G @ (np.diag(d) + W.T)
    return {
        "the other sign": right - right.T,
        "no transpose on the inverse": left.T - left,
        "half": (right.T - right) / 2,
        "W for its transpose": (V := inverse.T @ G @ (np.diag(d) + W)).T - V,
    }


def autograd_gradient(A: Tensor, d: Tensor, G: Tensor) -> Tensor:
    free = free_entries(A).requires_grad_()
    (scaled_cayley(skew(free, len(A)), d) * G).sum().backward()
    assert free.grad is not None
    return free.grad


@pytest.mark.parametrize("n", [3, 6, 20])  # for n = 2 everything commutes and W may stand for its transpose
def test_autograd_gives_the_gradient_of_theorem_3_2_and_none_of_the_slips(n):
    A, d = skew(uniform_free(n), n), signs_of(n, n // 2, "prefix")
    G = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    found = autograd_gradient(A, d, G).numpy()
    upper = np.triu_indices(n, 1)
    scale = np.abs(found).max()
    assert np.abs(found - gradient_formula(A.numpy(), d.numpy(), G.numpy())[upper]).max() <= 1e-14 * n * scale
    for slip, wrong in wrong_gradients(A.numpy(), d.numpy(), G.numpy()).items():
        assert np.abs(found - wrong[upper]).max() > 1e-3 * scale, slip


def interpolated(values: dict[int, fmpq]) -> fmpq_poly:
    """The polynomial of degree at most 2 with these values at −1, 0, 1."""
    below, middle, above = values[-1], values[0], values[1]
    return fmpq_poly([middle, (above - below) / 2, (above + below) / 2 - middle])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_directional_derivatives_over_the_rationals(n):
    """Along a_ij + t, det(I + A) W and det(I + A) are quadratic in t: three points give the derivative exactly."""
    rng = random.Random(n)
    A, d = rational_skew(n, rng), tuple(rng.choice((1, -1)) for _ in range(n))
    G = fmpq_mat(n, n, [rng.randint(-5, 5) for _ in range(n * n)])
    expected = []
    for i, j in itertools.combinations(range(n), 2):
        numerator, denominator = {}, {}
        for t in (-1, 0, 1):
            moved = fmpq_mat(A)
            moved[i, j], moved[j, i] = A[i, j] + t, A[j, i] - t
            W = cayley(moved) * diagonal(d)
            denominator[t] = (identity(n) + moved).det()
            numerator[t] = denominator[t] * sum(G[r, s] * W[r, s] for r in range(n) for s in range(n))
        P, Q = interpolated(numerator), interpolated(denominator)
        expected.append((P.derivative()(0) * Q(0) - P(0) * Q.derivative()(0)) / Q(0) ** 2)
    found = autograd_gradient(as_tensor(A), torch.tensor(d), as_tensor(G))
    exact = torch.tensor([int(x.p) / int(x.q) for x in expected], dtype=torch.float64)
    assert float((found - exact).abs().max()) <= 1e-14 * max(1.0, float(exact.abs().max())) * 8


@pytest.mark.parametrize("n", [2, 3, 5])
def test_first_and_second_derivatives_against_differences(n):
    free, d = uniform_free(n).requires_grad_(), signs_of(n, 1, "prefix")
    assert torch.autograd.gradcheck(lambda f: scaled_cayley(skew(f, n), d), free)
    assert torch.autograd.gradgradcheck(lambda f: scaled_cayley(skew(f, n), d), free)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_refinement_changes_the_map_and_its_gradient_by_rounding_only(dtype):
    n = 32
    free, d = uniform_free(n, dtype=dtype).requires_grad_(), signs_of(n, 8)
    results = []
    for refine in (False, True):
        W = scaled_cayley(skew(free, n), d, refine=refine)
        results.append((W, torch.autograd.grad((W**3).sum(), free)[0]))
    scale = 16 * n * UNIT_ROUNDOFF[dtype]
    for plain, refined in zip(*results, strict=True):
        assert 0 < (plain - refined).abs().max() <= scale * plain.abs().max()


def test_forward_and_reverse_mode_and_vmap_agree():
    n, d = 4, torch.tensor([1, -1, 1, 1])

    def W(free: Tensor) -> Tensor:
        return scaled_cayley(skew(free, n), d)

    free = uniform_free(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch registers its own forward rules by torch.jit
        forward = torch.func.jacfwd(W)(free)
        hessian = torch.func.hessian(lambda f: (W(f) ** 3).sum())(free)
    torch.testing.assert_close(forward, torch.func.jacrev(W)(free), rtol=0, atol=1e-14)
    reverse = torch.autograd.functional.hessian(lambda f: (W(f) ** 3).sum(), free)
    torch.testing.assert_close(hessian, reverse, rtol=0, atol=1e-13)
    batch = torch.stack([uniform_free(n, seed) for seed in range(3)])
    torch.testing.assert_close(torch.func.vmap(W)(batch), torch.stack([W(f) for f in batch]), rtol=0, atol=1e-15)


def plain_solve(A: Tensor, d: Tensor) -> Tensor:
    eye = torch.eye(len(A), dtype=A.dtype)
    return torch.linalg.solve(eye + A, eye - A) * d


def factorisations(cayley_map: Callable[[Tensor, Tensor], Tensor], order: int) -> int:
    """LU factorisations in the map and its first ``order`` derivatives."""
    n = 8
    free, d = uniform_free(n).requires_grad_(), signs_of(n, 2)
    with warnings.catch_warnings(action="ignore"), profile(activities=[ProfilerActivity.CPU]) as events:
        value = (cayley_map(skew(free, n), d) ** 3).sum()
        for _ in range(order):
            (gradient,) = torch.autograd.grad(value, free, create_graph=True)
            value = (gradient**2).sum()
    names = [event.name for event in events.events()]
    assert any("lu_solve" in name for name in names)
    assert not any("inv" in name for name in names)
    return sum(name in ("aten::linalg_lu_factor_ex", "aten::lu_factor") for name in names)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_one_factorisation_serves_the_map_and_its_derivatives(order):
    assert factorisations(scaled_cayley, order) == 1


def test_the_count_of_factorisations_sees_those_of_a_plain_solve():
    assert factorisations(plain_solve, 0) == 1
    assert factorisations(plain_solve, 2) > 1


def gradient_in_autocast(cayley_map: Callable[[Tensor, Tensor], Tensor], is_on: bool) -> tuple[Tensor, Tensor]:
    n = 32
    free, d = uniform_free(n, dtype=torch.float32).requires_grad_(), signs_of(n, 8)
    A = skew(free, n)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_on):
        W = cayley_map(A, d)
        (gradient,) = torch.autograd.grad((W**3).sum(), free)
    return W.detach(), gradient


def test_autocast_changes_neither_the_map_nor_its_gradient():
    for inside, outside in zip(
        gradient_in_autocast(scaled_cayley, True), gradient_in_autocast(scaled_cayley, False), strict=True
    ):
        assert inside.dtype == torch.float32
        assert torch.equal(inside, outside)


def test_autocast_does_change_the_gradient_of_a_plain_solve():
    inside, outside = (gradient_in_autocast(plain_solve, is_on)[1] for is_on in (True, False))
    assert (inside - outside).abs().max() > 1e-4 * outside.abs().max()


# --------------------------------------------------------------------------------------- thm-SC-flip: exchange identity


@pytest.mark.parametrize("n", SIZES)
def test_negating_columns_multiplies_det_by_the_principal_minor(n):
    Z = cayley(rational_skew(n, random.Random(n)))
    A, base = cayley(Z), (identity(n) + Z).det()
    for S in subsets(n):
        flipped = Z * diagonal(tuple(-1 if i in S else 1 for i in range(n)))
        ratio = (identity(n) + flipped).det() / base
        assert ratio == minor(A, S)
        if len(S) % 2:
            assert ratio == 0
        if len(S) == 2:
            assert ratio == A[S] ** 2


@pytest.mark.parametrize("n", SIZES)
def test_a_pair_flip_is_the_cayley_transform_of_the_flipped_matrix_for_every_pair(n):
    Z = cayley(rational_skew(n, random.Random(n)))
    A = cayley(Z)
    for j, k in itertools.combinations(range(n), 2):
        if A[j, k] == 0:
            continue
        exact = as_tensor(cayley(Z * diagonal(tuple(-1 if i in (j, k) else 1 for i in range(n)))))
        found = flip_pair(as_tensor(A), j, k)
        assert torch.equal(found, -found.T)
        assert (found - exact).abs().max() <= 16 * U64 * float(largest_entry(A)) * exact.abs().max()


def test_a_pair_flip_is_its_own_inverse_and_leaves_its_argument_alone():
    A = skew(uniform_free(7), 7)
    before = A.clone()
    twice = flip_pair(flip_pair(A, 1, 4), 1, 4)
    assert torch.equal(A, before)
    torch.testing.assert_close(twice, A, rtol=0, atol=64 * U64 * float(1 / A[1, 4].abs()))


def test_a_slip_in_the_pair_flip_is_seen():
    Z = cayley(rational_skew(4, random.Random(4)))
    A = cayley(Z)
    exact = as_tensor(cayley(Z * diagonal((-1, -1, 1, 1))))
    wrong = flip_pair(as_tensor(A), 0, 1)
    wrong[0, 1], wrong[1, 0] = -wrong[0, 1], -wrong[1, 0]  # +1/α in the corner, as for a symmetric pivot
    assert (wrong - exact).abs().max() > 1e-3


# ------------------------------------------------------------------------------------ thm-SC-lu: the starting signature


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", SIZES)
def test_elimination_finds_the_signs_of_the_exact_minors_and_a_determinant_of_at_least_1(n, seed):
    W = rational_orthogonal(n, seed)
    d = tuple(lu_signs(as_tensor(W)).tolist())
    assert all(d_k * s_kk >= 0 for d_k, s_kk in zip(d, exact_pivot_entries(W, d), strict=True))
    assert abs((W + diagonal(d)).det()) >= 1
    # log det(I + A_0) ≤ n log 2, in the integers: det(I + A_0) = 2ⁿ / |det(W + D)|
    assert abs((identity(n) + cayley(W * diagonal(d))).det()) <= 2**n


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_minus_the_identity_is_all_minus_signs_and_A_zero(n):
    found = scaled_cayley_inverse(-torch.eye(n, dtype=torch.float64))
    assert found.signs.tolist() == [-1] * n
    assert not found.A.any() and found.flips == 0


def test_a_zero_pivot_entry_takes_the_sign_plus():
    exchange = torch.eye(2, dtype=torch.float64).flip(0)
    assert lu_signs(exchange).tolist() == [1, -1]


# --------------------------------------------------------------------------------- thm-SC-exist: bounded representation


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", SIZES)
def test_over_all_signatures_the_largest_determinant_bounds_every_principal_minor(n, seed):
    W = rational_orthogonal(n, seed)
    determinants = {d: (identity(n) + W * diagonal(d)).det() for d in signatures(n)}
    best = max(determinants, key=lambda d: determinants[d])
    A = cayley(W * diagonal(best))
    assert all(minor(A, S) <= 1 for S in subsets(n))
    assert largest_entry(A) <= 1
    for d, determinant in determinants.items():  # false rows: some admissible signatures do not bound A
        if determinant != 0:
            largest = largest_entry(cayley(W * diagonal(d)))
            assert largest <= 1 or determinant < determinants[best]


def test_some_signatures_do_not_bound_A():
    W = rational_orthogonal(5, 0)
    admissible = [d for d in signatures(5) if (identity(5) + W * diagonal(d)).det() != 0]
    assert any(largest_entry(cayley(W * diagonal(d))) > 2 for d in admissible)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", SIZES)
def test_from_every_admissible_signature_the_flips_arrive_at_entries_of_at_most_1(n, seed):
    W = rational_orthogonal(n, seed)
    reached = 0
    for d in signatures(n):
        if (identity(n) + W * diagonal(d)).det() == 0:
            continue
        A = as_tensor(cayley(W * diagonal(d)))
        found = pair_flips(A, torch.tensor(d))
        exact = cayley(W * diagonal(tuple(found.signs.tolist())))
        assert largest_entry(exact) <= 1 + fmpq(1, 2**20)
        scale = 1 + float(A.abs().max())  # the error of reading the rational A as floats
        assert (found.A - as_tensor(exact)).abs().max() <= 64 * n * U64 * scale
        reached += 1
    assert reached >= 2 ** (n - 1) // 2


@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_of_a_rational_matrix_is_the_exact_A_for_its_signs(n):
    for seed in range(6):
        W = rational_orthogonal(n, seed)
        A, signs, _ = scaled_cayley_inverse(as_tensor(W))
        exact = cayley(W * diagonal(tuple(signs.tolist())))
        assert largest_entry(exact) <= 1 + fmpq(1, 2**20)
        assert (A - as_tensor(exact)).abs().max() <= 16 * n**2 * U64


@pytest.mark.parametrize("n", [8, 40])
def test_every_flip_multiplies_the_determinant_by_the_square_of_its_entry(n):
    A, d = skew(uniform_free(n, scale=30.0), n), torch.ones(n, dtype=torch.int8)
    W = scaled_cayley(A, d)
    eye = torch.eye(n, dtype=torch.float64)

    def log_det(signs: Tensor) -> float:
        return float(torch.linalg.slogdet(eye + W * signs)[1])

    count = 0
    for flip in flips(A, d):
        assert abs(float(A[flip.j, flip.k])) == float(A.abs().max()) > DEFAULT_TAU
        gain = 2 * math.log(abs(float(A[flip.j, flip.k])))
        assert log_det(flip.signs) - log_det(d) == pytest.approx(gain, abs=1e-9)
        A, d, count = flip.A, flip.signs, count + 1
    assert count > n / 4
    assert log_det(d) <= n * math.log(2) + 1e-12


@pytest.mark.parametrize("n", only([1, 2, 3, 64, 512], 1, 2, 3, 64))
def test_every_family_of_orthogonal_matrices_has_a_bounded_representation(n):
    families = orthogonal_families(n)
    assert len(families) == 9
    for name, W in families.items():
        A, signs, count = scaled_cayley_inverse(W)
        assert A.abs().max() <= 1 + 1e-5, name
        assert (W - scaled_cayley(A, signs, refine=True)).abs().max() <= 1e-12, name
        # Without refinement the error of the map, 2 u ‖I + A‖ times a constant, is not always below 1e-12.
        norm = float(torch.linalg.matrix_norm(torch.eye(n, dtype=torch.float64) + A, 2)) if n <= 64 else 2 * n / math.pi
        assert (W - scaled_cayley(A, signs)).abs().max() <= 1e-14 + 2 * 32 * U64 * norm, name
        assert torch.equal(A, -A.T), name
        assert count <= n / 16 + 2, name


@pytest.mark.parametrize("seed", range(3))
def test_a_haar_matrix_of_512_needs_at_most_20_flips(seed):
    found = scaled_cayley_inverse(haar(512, seed))
    assert 0 < found.flips <= 20


def test_float32_is_decided_in_float64_and_returned_in_float32():
    W = haar(64, dtype=torch.float32)
    A, signs, _ = scaled_cayley_inverse(W)
    assert A.dtype == torch.float32 and signs.dtype == torch.int8
    assert torch.equal(signs, scaled_cayley_inverse(W.double(), tolerance=1e-5).signs)
    assert A.abs().max() <= DEFAULT_TAU
    assert (W - scaled_cayley(A, signs)).abs().max() <= 64 * UNIT_ROUNDOFF[torch.float32] * 8


@pytest.mark.parametrize("scale", [2.0, 1e3, 1e9])
def test_pair_flips_keep_W_however_large_the_entries_and_however_many_the_flips(scale):
    n = 192
    A, d = skew(uniform_free(n, scale=scale), n), signs_of(n, 7, "prefix")
    found = pair_flips(A, d)
    assert found.flips > (cayley_signs.REFRESH_EVERY if scale > 2 else 0)
    assert found.A.abs().max() <= DEFAULT_TAU
    assert torch.equal(found.A, -found.A.T)
    # W of the unbounded A is itself known only to u κ(I + A): compare where that is small, and A with its own W.
    kappa = float(torch.linalg.cond(torch.eye(n, dtype=torch.float64) + A))
    assert (scaled_cayley(found.A, found.signs) - scaled_cayley(A, d)).abs().max() <= n * U64 * min(kappa, 1e6)


def test_entries_near_the_largest_float_do_not_overflow_in_a_flip():
    A = skew(torch.tensor([1e300, 2e299, -7e299], dtype=torch.float64), 3)
    found = pair_flips(A, torch.ones(3))
    assert torch.isfinite(found.A).all() and found.A.abs().max() <= 1
    assert found.signs.tolist() == [-1, -1, 1]


def test_pair_flips_of_a_bounded_A_change_nothing_and_share_nothing():
    A, d = skew(uniform_free(6), 6), signs_of(6, 2)
    found = pair_flips(A, d)
    assert found.flips == 0 and torch.equal(found.A, A) and torch.equal(found.signs, d)
    found.A.zero_()
    found.signs.zero_()
    assert A.any() and d.all()


def test_for_the_exchange_matrix_the_bound_1_is_sharp():
    exchange = fmpq_mat(2, 2, [0, 1, 1, 0])
    admissible = [d for d in signatures(2) if (identity(2) + exchange * diagonal(d)).det() != 0]
    assert sorted(admissible) == [(-1, 1), (1, -1)]
    assert all(largest_entry(cayley(exchange * diagonal(d))) == 1 for d in admissible)
    A, _, count = scaled_cayley_inverse(as_tensor(exchange), tau=1.0)
    assert A.abs().max() == 1 and count == 0


def test_a_rotation_by_almost_pi_needs_447_without_signs_and_nothing_with_them():
    a = 0.99999
    b = math.sqrt((1 - a) * (1 + a))
    W = torch.tensor([[-a, -b], [b, -a]], dtype=torch.float64)
    assert float(cayley_inverse(W)[0, 1]) == pytest.approx(447.212, abs=1e-3)
    A, signs, _ = scaled_cayley_inverse(W)
    assert signs.tolist() == [-1, -1] and float(A.abs().max()) == pytest.approx(1 / 447.212, rel=1e-5)


def test_a_signature_that_comes_back_is_an_error_and_not_an_endless_loop(monkeypatch):
    monkeypatch.setattr(cayley_signs, "flip_pair", lambda A, j, k: A)
    with pytest.raises(RuntimeError, match=r"signature after flip 2 .* Raise tau"):
        pair_flips(skew(torch.tensor([2.0]), 2), torch.ones(2))


def test_tau_1_ends_on_matrices_whose_entries_are_all_ties():
    n = 64
    for W in (householder(torch.ones(n, dtype=torch.float64)), torch.eye(n, dtype=torch.float64).roll(1, 0)):
        found = scaled_cayley_inverse(W, tau=1.0)
        assert found.A.abs().max() <= 1 + 8 * n**2 * U64


def test_cayley_inverse_inverts_the_map_and_refuses_the_eigenvalue_minus_1():
    A = skew(uniform_free(9), 9)
    found = cayley_inverse(scaled_cayley(A, torch.ones(9)))
    assert torch.equal(found, -found.T)
    torch.testing.assert_close(found, A, rtol=0, atol=1e-13)
    reflection = haar(6) * signs_of(6, int(torch.det(haar(6)) > 0), "prefix")
    assert torch.det(reflection) < 0
    for Z in (-torch.eye(4), householder(torch.ones(5)), torch.eye(2).flip(0), reflection, reflection.float()):
        with pytest.raises(ValueError, match=r"Z has the eigenvalue -1.*scaled_cayley_inverse\(Z\)"):
            cayley_inverse(Z)


@pytest.mark.parametrize("inverse", [lu_signs, scaled_cayley_inverse, cayley_inverse])
@pytest.mark.parametrize(
    ("W", "message"),
    [
        (torch.zeros(2, 3), r"has shape \(2, 3\)"),
        (torch.zeros(4), r"has shape \(4,\)"),
        (torch.eye(3).fill_diagonal_(math.nan), r"not finite: entry \(0, 0\).* nan, one of 3"),
        (torch.eye(3) * math.inf, "not finite"),
        (2 * torch.eye(3), r"not orthogonal: max\|. *.*\| is 3, more than .*nearest_orthogonal"),
        (torch.eye(3, dtype=torch.float64) * (1 + 1e-12), "not orthogonal"),
    ],
)
def test_a_matrix_that_is_not_orthogonal_is_refused_with_the_reason(inverse, W, message):
    with pytest.raises(ValueError, match=message):
        inverse(W)


def test_the_tolerance_is_the_callers_when_given():
    W = torch.eye(3, dtype=torch.float64) * (1 + 1e-12)
    assert scaled_cayley_inverse(W, tolerance=1e-11).signs.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="more than 1e-13"):
        scaled_cayley_inverse(W, tolerance=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 16, 256])
def test_what_the_usual_constructions_make_is_within_the_tolerance(n, dtype):
    eye = torch.eye(n, dtype=torch.float64)
    made = {
        "rounded": haar(n, dtype=dtype),
        "QR": torch.linalg.qr(torch.randn(n, n, dtype=dtype, generator=torch.Generator().manual_seed(n)))[0],
        "Cayley": scaled_cayley(skew(uniform_free(n, dtype=dtype), n), torch.ones(n)),
        "worst conditioned Cayley": scaled_cayley(sign_matrix(n).to(dtype), torch.ones(n)),
        "orthogonal_": nn.init.orthogonal_(torch.empty(n, n, dtype=dtype)),
    }
    for name, W in made.items():
        defect = float((W.double().T @ W.double() - eye).abs().max())
        assert defect <= orthogonality_tolerance(n, dtype), name


@pytest.mark.parametrize(
    ("A", "signs", "tau", "message"),
    [
        (torch.zeros(2, 3), torch.ones(2), 1.0, r"A has shape"),
        (torch.ones(2, 2), torch.ones(2), 1.0, r"A is not skew-symmetric: max\|A \+ A\^T\| is 2"),
        (torch.zeros(2, 2), torch.ones(3), 1.0, r"signs has shape \(3,\)"),
        (torch.zeros(2, 2), torch.tensor([1, 0]), 1.0, "signs holds 0"),
        (torch.zeros(2, 2), torch.ones(2), 0.999, "tau is 0.999"),
        (torch.zeros(2, 2), torch.ones(2), math.nan, "tau is nan"),
        (torch.tensor([[0, math.inf], [-math.inf, 0]]), torch.ones(2), 1.0, "A is not finite"),
    ],
)
def test_arguments_of_pair_flips_are_checked(A, signs, tau, message):
    with pytest.raises(ValueError, match=message):
        pair_flips(A, signs, tau)


# ------------------------------------------------------------------------ thm-SC-norm, thm-O-float: what the bound buys


@pytest.mark.parametrize("n", [2, 5, 16, 48])
def test_bounded_entries_keep_norm_condition_and_eigen_angles_bounded(n):
    eye = torch.eye(n, dtype=torch.float64)
    matrices = [scaled_cayley_inverse(haar(n, seed)).A for seed in range(4)]
    matrices += [skew(torch.sign(uniform_free(n, seed)), n) for seed in range(4)]
    for A in matrices:
        room = DEFAULT_TAU * (1 + 1e-12)
        assert torch.linalg.matrix_norm(A, 2) <= room / math.tan(math.pi / (2 * n))
        assert torch.linalg.cond(eye + A) <= room / math.sin(math.pi / (2 * n))
        angles = torch.linalg.eigvals(scaled_cayley(A, torch.ones(n))).angle()
        assert angles.abs().max() <= math.pi - math.pi / n + 1e-5
        largest = float(angles.abs().max())
        assert float(A.abs().max()) >= math.tan(largest / 2) / (n - 1) * (1 - 1e-12)


# ------------------------------------------------------------------------------------------------------- initialisation


@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_the_eigenvalues_of_the_first_weight_are_the_drawn_angles(n):
    A = block_angles(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    assert torch.equal(A, -A.T)
    t = 2 * np.arctan(np.diag(A.numpy(), 1)[::2])
    assert ((t >= 0) & (t <= np.pi / 2)).all()
    expected = np.sort(np.concatenate([t, -t, [0.0] * (n % 2)]))
    found = np.sort(np.angle(np.linalg.eigvals(scaled_cayley(A, torch.ones(n)).numpy())))
    assert np.abs(found - expected).max() <= 1e-12
    assert np.count_nonzero(A.numpy()) == 2 * (n // 2)


def test_s_is_the_root_of_the_paper():
    A = block_angles(40, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    t = torch.rand(20, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * math.pi / 2
    expected = torch.sqrt((1 - torch.cos(t)) / (1 + torch.cos(t)))
    torch.testing.assert_close(torch.diag(A, 1)[::2], expected, rtol=1e-13, atol=0)


def test_a_block_of_angle_pi_over_3_has_the_eigenvalues_of_the_theorem_for_all_four_signs():
    s = math.tan(math.pi / 6)
    A = torch.tensor([[0, s], [-s, 0]], dtype=torch.float64)

    def angles(*d: int) -> list[float]:
        return sorted(torch.linalg.eigvals(scaled_cayley(A, torch.tensor(d))).angle().tolist())

    assert angles(1, 1) == pytest.approx([-math.pi / 3, math.pi / 3])
    assert angles(-1, -1) == pytest.approx([-2 * math.pi / 3, 2 * math.pi / 3])
    for d in ((1, -1), (-1, 1)):  # a reflection: the angle is lost
        assert sorted(abs(angle) for angle in angles(*d)) == pytest.approx([0, math.pi], abs=1e-12)


def distance_to_uniform(angles: np.ndarray) -> float:
    """Kolmogorov distance to the uniform distribution on (−π, π]."""
    n = len(angles)
    F = (np.sort(angles) + np.pi) / (2 * np.pi)
    return float(max((np.arange(1, n + 1) / n - F).max(), (F - np.arange(n) / n).max()))


@pytest.mark.slow
def test_with_half_of_the_signs_negative_and_aligned_the_eigen_angles_are_uniform():
    n = 2000
    A = block_angles(n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def angles(rho: int) -> np.ndarray:
        W = scaled_cayley(A, signs_of(n, rho)).numpy()
        blocks = np.stack([W[i : i + 2, i : i + 2] for i in range(0, n, 2)])
        assert np.count_nonzero(W) <= 2 * n
        return np.angle(np.linalg.eigvals(blocks)).ravel()

    assert distance_to_uniform(angles(n // 2)) <= 0.02
    assert distance_to_uniform(angles(0)) >= 0.2


def test_signs_are_placed_as_named():
    assert signs_of(5, 2).tolist() == [-1, -1, 1, 1, 1]
    assert signs_of(5, 3, "prefix").tolist() == [-1, -1, -1, 1, 1]
    assert signs_of(4, 0).tolist() == [1] * 4 and signs_of(4, 4).tolist() == [-1] * 4
    first, again, other = (
        signs_of(40, 17, "random", generator=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert int((first == -1).sum()) == int((other == -1).sum()) == 17


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((4, 3), ValueError, 'rho is 3, but placement "aligned"'),
        ((4, 5, "prefix"), ValueError, "rho is 5"),
        ((4, -1, "prefix"), ValueError, "rho is -1"),
        ((4, 2.0, "prefix"), TypeError, "rho is 2.0"),
        ((4, True, "prefix"), TypeError, "rho is True"),
        ((4, 2, "suffix"), ValueError, "placement is 'suffix'"),
        ((0, 0), ValueError, "n is 0"),
    ],
)
def test_an_impossible_number_of_signs_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        signs_of(*arguments)


# -------------------------------------------------------------------------------------------------------------- modReLU


def test_modrelu_is_its_formula_and_its_jacobian_is_the_pattern_of_active_units():
    z = torch.tensor([-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0], dtype=torch.float64)
    for b in (-1.0, -0.25, 0.0, 0.75):
        bias = torch.full_like(z, b)
        expected = [math.copysign(1, x) * max(abs(x) + b, 0) if x else 0.0 for x in z.tolist()]
        assert modrelu(z, bias).tolist() == expected
        active = torch.tensor([float(abs(x) + b > 0 and x != 0) for x in z.tolist()], dtype=torch.float64)
        by_z, by_b = torch.func.jacrev(modrelu, argnums=(0, 1))(z, bias)
        assert torch.equal(by_z, torch.diag(active))
        assert torch.equal(by_b, torch.diag(active * torch.sign(z)))


def test_modrelu_takes_one_bias_for_each_unit_and_any_batch():
    z, b = torch.randn(5, 3, 4), torch.tensor([0.1, -0.2, 0.3, 0.0])
    assert torch.equal(modrelu(z, b)[2, 1], modrelu(z[2, 1], b))
    for wrong in (torch.zeros(3), torch.zeros(1, 1, 1, 4), torch.zeros(2, 1, 4)):
        with pytest.raises(ValueError, match=r"b has shape .* Give it the shape \(4,\)"):
            modrelu(z, wrong)


# ------------------------------------------------------------------------------------------------------ parametrisation


def orthogonal_linear(n: int = 6, **options: object) -> tuple[nn.Linear, ScaledCayley]:
    linear = nn.Linear(n, n, dtype=torch.float64)
    with torch.no_grad():
        linear.weight.copy_(haar(n))
    parametrize.register_parametrization(linear, "weight", ScaledCayley(n, **options))
    return linear, linear.parametrizations.weight[0]


def test_an_orthogonal_weight_survives_registration_and_assignment():
    linear, cayley_map = orthogonal_linear()
    torch.testing.assert_close(linear.weight, haar(6), rtol=0, atol=1e-14)
    assert linear.parametrizations.weight.original.shape == (15,)
    other = haar(6, seed=5)
    linear.weight = other
    torch.testing.assert_close(linear.weight, other, rtol=0, atol=1e-14)
    assert torch.equal(cayley_map.signs, scaled_cayley_inverse(other).signs)
    assert linear.parametrizations.weight.original.abs().max() <= DEFAULT_TAU


def test_a_weight_that_is_not_orthogonal_is_an_error_unless_it_is_to_be_projected():
    linear = nn.Linear(5, 5)
    start = linear.weight.detach().clone()
    with pytest.raises(ValueError, match=r"W is not orthogonal.*project=True"):
        parametrize.register_parametrization(linear, "weight", ScaledCayley(5))
    assert torch.equal(linear.weight, start) and not parametrize.is_parametrized(linear)
    parametrize.register_parametrization(linear, "weight", ScaledCayley(5, project=True))
    U, _, Vh = np.linalg.svd(start.double().numpy())
    np.testing.assert_allclose(linear.weight.detach().numpy(), U @ Vh, atol=1e-6)


def test_the_polar_factor_is_nearer_than_other_orthogonal_matrices_and_needs_a_regular_matrix():
    W = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    best = (W - nearest_orthogonal(W)).norm()
    for seed in range(20):
        nearby = nearest_orthogonal(W) @ scaled_cayley(skew(uniform_free(5, seed, 0.05), 5), torch.ones(5))
        assert (W - nearby).norm() > best
    for singular in (torch.zeros(3, 3), torch.ones(3, 3)):
        with pytest.raises(ValueError, match=r"W is singular to within rounding.*nn.init.orthogonal_"):
            nearest_orthogonal(singular)


def test_a_failed_assignment_leaves_signs_and_parameter_alone():
    linear, cayley_map = orthogonal_linear()
    before = copy.deepcopy(linear.state_dict())
    for wrong in (2 * haar(6), torch.zeros(6, 6, dtype=torch.float64), haar(5)):
        with pytest.raises(ValueError, match="W "):
            linear.weight = wrong
    assert all(torch.equal(value, before[name]) for name, value in linear.state_dict().items())
    assert cayley_map.signs.dtype == torch.int8


def test_state_dict_and_deepcopy_carry_the_signs():
    linear, cayley_map = orthogonal_linear()
    linear.weight = haar(6, seed=3)
    other, _ = orthogonal_linear()
    assert (other.weight - linear.weight).abs().max() > 0.1
    other.load_state_dict(linear.state_dict())
    copied = copy.deepcopy(linear)
    for twin in (other, copied):
        assert torch.equal(twin.weight, linear.weight)
        assert torch.equal(twin.parametrizations.weight[0].signs, cayley_map.signs)
    copied.weight = -haar(6, seed=4)
    assert not torch.equal(copied.parametrizations.weight[0].signs, cayley_map.signs)
    torch.testing.assert_close(linear.weight, haar(6, seed=3), rtol=0, atol=1e-14)


def test_a_state_dict_with_signs_other_than_1_is_refused_whole():
    cayley_map = ScaledCayley(3)
    with pytest.raises(RuntimeError, match="signs holds 2"):
        cayley_map.load_state_dict({"signs": torch.tensor([1, 2, -1], dtype=torch.int8)})
    assert cayley_map.signs.tolist() == [1, 1, 1]
    cayley_map.load_state_dict({"signs": torch.tensor([1.0, -1.0, -1.0])})
    assert cayley_map.signs.tolist() == [1, -1, -1]


@pytest.mark.parametrize("kind", [nn.RNN, nn.RNNCell])
def test_the_hidden_weight_of_a_torch_rnn_stays_orthogonal_under_training(kind):
    torch.manual_seed(0)
    rnn = kind(3, 8)
    name = "weight_hh_l0" if kind is nn.RNN else "weight_hh"
    parametrize.register_parametrization(rnn, name, ScaledCayley(8, project=True))
    free = rnn.parametrizations[name].original
    start = getattr(rnn, name).detach().clone()
    optimizer = torch.optim.Adam(rnn.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        with parametrize.cached():
            output = rnn(torch.randn(4, 2, 3))[0] if kind is nn.RNN else rnn(torch.randn(2, 3), torch.ones(2, 8))
        output.square().sum().backward()
        assert free.grad is not None and free.grad.abs().max() > 0
        optimizer.step()
    W = getattr(rnn, name)
    assert (W - start).abs().max() > 1e-2
    assert (W.T @ W - torch.eye(8)).abs().max() < 1e-6


def test_initialise_writes_the_angles_and_the_signs_that_were_asked_for():
    linear, cayley_map = orthogonal_linear(7)
    free = linear.parametrizations.weight.original
    cayley_map.initialise_(free, 4, generator=torch.Generator().manual_seed(2))
    assert cayley_map.signs.tolist() == [-1] * 4 + [1] * 3
    expected = block_angles(7, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert torch.equal(skew(free, 7), expected)
    before = copy.deepcopy(linear.state_dict())
    with pytest.raises(ValueError, match="rho is 3"):
        cayley_map.initialise_(free, 3)
    with pytest.raises(ValueError, match=r"free has shape \(3,\)"):
        cayley_map.initialise_(torch.zeros(3), 2)
    assert all(torch.equal(value, before[name]) for name, value in linear.state_dict().items())


def test_constructor_arguments_are_checked_and_shown():
    with pytest.raises(ValueError, match="n is 0"):
        ScaledCayley(0)
    with pytest.raises(ValueError, match=r"tau is 0\.5"):
        ScaledCayley(3, tau=0.5)
    with pytest.raises(ValueError, match=r"signs has shape \(2,\)"):
        ScaledCayley(3, signs=torch.ones(2))
    with pytest.raises(ValueError, match=r"W has shape \(4, 4\).* n = 3"):
        ScaledCayley(3).right_inverse(torch.eye(4))
    given = signs_of(3, 2)
    made = ScaledCayley(3, tau=2.0, signs=given)
    given.fill_(1)
    assert repr(made) == "ScaledCayley(n=3, tau=2.0, project=False)"
    assert made.signs.tolist() == [-1, -1, 1]
