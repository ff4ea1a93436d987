"""The structural statements of UnICORNN on trial: what comes out, that every refutation is seen by a third computation
in float64 with autograd, and that the same machinery refutes planted falsehoods and spares planted truths.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from tests.tiers import spread
from tests.verification.claims import claim_rows as rows
from verification.answer import answer
from verification.cases import layer_blocks, leapfrog_energy, path_products
from verification.cases.identity import PathIdentity, PolynomialIdentity, StateIdentity
from verification.certify.second import exact_network as again
from verification.claim import ClaimError
from verification.claims.unicornn import (
    backpropagation,
    direct_partials,
    hamiltonian,
    inverse,
    jacobian_paths,
    structure,
)
from verification.domains import BUDGETS
from verification.measure import exact_network as net
from verification.measure import ring_matrices
from verification.measure.exact_network import Shape

FAMILIES = (structure, inverse, hamiltonian, backpropagation, jacobian_paths)
CLAIMS = {claim.id: claim for family in FAMILIES for claim in family.CLAIMS}
SMOKE = BUDGETS["smoke"]
REFUTED, PROVED, NOT_REFUTED = "refuted", "proved", "not-refuted"

EXPECTED = {
    "both-2-sigmoid": {"σ̂(u)": PROVED},
    "icml-effective-dt-def": {"σ̂(u)": PROVED, "one step": PROVED},
    "both-2-noninteraction": {"dX_j/dX_{j−1}": PROVED},
    "both-2-onlypossible": {
        "one step": PROVED,
        "explicit and invertible": REFUTED,
        "volume-preserving": REFUTED,
        "symplectic": REFUTED,
    },
    "both-sympl-1layer": {"BᵀJB": PROVED, "det B": PROVED},
    "both-volume-Llayer": {
        "L ≤ 3, m ≤ 2 | det DF, icml indices": PROVED,
        "L ≤ 3, m ≤ 2 | det DF, sam indices": PROVED,
        "L ≤ 6 | det DF, icml indices": NOT_REFUTED,
        "L ≤ 6 | det DF, sam indices": NOT_REFUTED,
    },
    "icml-7-inverse": {"L ≤ 3, m ≤ 2 | (7) after (6)": PROVED, "L ≤ 6 | (7) after (6)": NOT_REFUTED},
    "sam-7-inverse": {
        "L = 1 | (7) after (31)": REFUTED,
        "L = 1, constant input | (7) after (31)": PROVED,
        "L = 2, constant input | (7) after (31)": REFUTED,
    },
    "both-symplectic-Llayer": {
        "L = 1, m ≤ 2 | DFᵀ J DF, icml indices": PROVED,
        "L = 2, m ≤ 2 | DFᵀ J DF, icml indices": REFUTED,
        "DFᵀ J DF, sam indices": REFUTED,
        "inverse": PROVED,
    },
    "both-4-hamiltonian": {"(2) against (4)": PROVED},
    "both-9-gradHamiltonian": {"(8) against (9)": PROVED},
    "both-liouville-a": {"asymptotic stability": PROVED},
    "both-liouville-b": {"asymptotic stability": PROVED, "stability of (0, 0)": REFUTED},
    "both-2.1-frequency": {
        "w = 0, no input | angular frequency": REFUTED,
        "w = 1, no input | angular frequency": REFUTED,
        "angular frequency √α, at every amplitude": PROVED,
        "√(α + w) grows with α": PROVED,
        "√(α + w) grows with w": PROVED,
    },
    "icml-4-damping": {"decay, ODE (1)": REFUTED, "decay, scheme (5)": REFUTED},
    "both-2.2-exactH": {
        "leapfrog, H = z²/2 + y^4/4 | H along the steps": REFUTED,
        "implicit midpoint, H = (a y² + 2b y z + c z²)/2 | H along the steps": PROVED,
        "H along the flow": PROVED,
        "z² + (1 − h²/4) y² along the steps": PROVED,
        "H along (5)": REFUTED,
    },
    "both-B-recursion": {
        "N ≤ 5 | dE/dw": PROVED,
        "N ≤ 5 | δ^y": PROVED,
        "N ≤ 16 | dE/dw": NOT_REFUTED,
        "N ≤ 16 | δ^y": NOT_REFUTED,
    },
    "both-B-verification": {
        **dict.fromkeys(
            ("line 1: dE/dw", "line 2: dE/dz_n", "line 3: dE/dy_{n−1}", "line 4: δ^z", "line 4: δ^y", "dE/dx_n"), PROVED
        ),
        "N ≤ 5 | line 5: a_k": PROVED,
        "N ≤ 5 | dE/d(dt)": PROVED,
        "N ≤ 16 | line 5: a_k": NOT_REFUTED,
        "N ≤ 16 | dE/d(dt)": NOT_REFUTED,
    },
    "both-(44)/(17)": {"dX^L_n/dθ, icml indices": PROVED, "dX^L_n/dθ, sam indices": PROVED},
    "both-46": {
        "(46)": PROVED,
        "L = 2 | (46), icml indices": REFUTED,
        "L = 3 | (46), icml indices": REFUTED,
        "L = 2 | (46), sam indices, blocks (49), (50)": REFUTED,
        "L = 3 | (46), sam indices, blocks (49), (50)": REFUTED,
        "(46), sam indices, exact blocks": REFUTED,
    },
    "both-92": {"(92), icml indices": REFUTED, "(92), sam indices, blocks (49), (50)": REFUTED},
    "both-46-vs-92": {"right sides, icml indices": REFUTED, "right sides, sam indices": REFUTED},
    "both-48-50": {"B": PROVED, "D, E": PROVED},
    "sam-49-50-indices": {
        "D, E of (49), (50)": REFUTED,
        "dA/dV of (59)": PROVED,
        "(63) for θ = V, sam indices": REFUTED,
    },
    "both-96-99": {"dX³_n/dX¹_n": PROVED},
    "both-104": {
        "(104), total": REFUTED,
        "(104), partial": REFUTED,
        "(104), skip edge": REFUTED,
        "(L, S) = (4, 3), (5, 4) | (104), edges l − S": PROVED,
        "(L, S) = (4, 2), (5, 3), (7, 3) | (104), edges l − S": REFUTED,
        "all routes, edges l − S": PROVED,
    },
}
"""Verdict by quantity, or by "domain | quantity" where the quantity alone does not tell."""

CASES = [(q.id, c.domain, c.quantity) for q in CLAIMS.values() for c in q.cases]


def test_every_pin_has_its_case():
    assert set(EXPECTED) == set(CLAIMS) and len(CLAIMS) == 26
    assert sum(map(len, EXPECTED.values())) == len(CASES) == 78


@pytest.mark.parametrize(("name", "domain", "quantity"), CASES)
def test_verdict(name, domain, quantity):
    claim = CLAIMS[name]
    judgement = answer(claim, claim.case(domain, quantity), SMOKE, 1)
    assert judgement.verdict == rows.pinned(EXPECTED[name], domain, quantity), judgement.because
    assert judgement.because


@pytest.mark.parametrize("family", spread(FAMILIES, 2), ids=lambda f: f.__name__.rpartition(".")[2])
def test_names_do_not_matter(family):
    rows.assert_no_name_of_a_family_matters(family, list(CLAIMS))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__.rpartition(".")[2])
def test_a_claim_file_names_no_verdict(family):
    rows.assert_names_no_verdict(family)


# --- a third computation: float64 and autograd


class Floats:
    """The run of a typed network in float64. ``at(q, n, moved)`` computes X^q_n as a function of states put in place
    of the computed ones, so that autograd gives every total derivative.
    """

    def __init__(self, plain, sam):
        read = {k: [float(Fraction(x)) for x in v.split()] for k, v in plain.items()}
        self.L, self.m, self.S, self.sam = (int(plain["layers"]), int(plain["neurons"]), int(plain["skip"]), sam)
        L, m = self.L, self.m

        def tensor(name, *shape):
            return torch.tensor(read[name], dtype=torch.float64).reshape(*shape)

        self.alpha = read["alpha"][0]
        self.dt = read["dt"][0]
        self.h = self.dt * torch.sigmoid(tensor("c", L, m))
        self.w, self.b, self.V = tensor("w", L, m), tensor("b", L, m), tensor("V", L, m, m)
        self.Q = tensor("Lambda", L - self.S, m, m) if self.S else None
        self.u = tensor("u", -1, m)
        self.N = len(self.u) - 1

    def step(self, l, y, z, below, far=None):
        """One step of layer l (from 1)."""
        drive = self.V[l - 1] @ below + self.b[l - 1]
        if far is not None:
            drive = drive + self.Q[l - self.S - 1] @ far
        z = z - self.h[l - 1] * (torch.tanh(self.w[l - 1] * y + drive) + self.alpha * y)
        return y + self.h[l - 1] * z, z

    def states(self, moved=None):
        """levels[n][l] = (y, z), with moved[(l, n)] in place of what is computed."""
        zero = torch.zeros(self.m, dtype=torch.float64)
        levels = [[(self.u[0], None)] + [(zero, zero)] * self.L]
        for l in range(1, self.L + 1):
            if moved and (l, 0) in moved:
                levels[0][l] = (moved[l, 0][0::2], moved[l, 0][1::2])
        for n in range(1, self.N + 1):
            now = [(self.u[n], None)]
            for l in range(1, self.L + 1):
                seen = levels[n - 1] if self.sam else now
                far = seen[l - self.S - 1][0] if self.S and l > self.S else None
                y, z = self.step(l, *levels[n - 1][l], seen[l - 1][0], far)
                if moved and (l, n) in moved:
                    y, z = moved[l, n][0::2], moved[l, n][1::2]
                now.append((y, z))
            levels.append(now)
        return levels

    def value(self, l, n):
        y, z = self.states()[n][l]
        return torch.stack([y, z], 1).reshape(-1)

    def total(self, q, n, l, k):
        def function(x):
            y, z = self.states({(l, k): x})[n][q]
            return torch.stack([y, z], 1).reshape(-1)

        return torch.autograd.functional.jacobian(function, self.value(l, k))

    def own(self, q, n):
        """dX^q_n/dX^q_{n−1}: nothing below changes."""
        return self.total(q, n, q, n - 1)

    def climb(self, q, n, far=False):
        """The derivative with respect to the input that the step reads."""
        levels = self.states()
        seen = levels[n - 1] if self.sam else levels[n]
        source = q - self.S - 1 if far else q - 1
        if source < 0 or (far and not self.S):
            return torch.zeros(2 * self.m, 2 * self.m, dtype=torch.float64)

        def function(y):
            below = seen[q - 1][0] if far else y
            beyond = (y if far else seen[q - self.S - 1][0]) if self.S and q > self.S else None
            return torch.stack(self.step(q, *levels[n - 1][q], below, beyond), 1).reshape(-1)

        found = torch.zeros(2 * self.m, 2 * self.m, dtype=torch.float64)
        found[:, 0::2] = torch.autograd.functional.jacobian(function, seen[source][0])
        return found

    def whole(self):
        """DF of the first step."""
        size = 2 * self.m

        def function(x):
            moved = {(l, 0): x[(l - 1) * size : l * size] for l in range(1, self.L + 1)}
            return torch.cat([torch.stack(pair, 1).reshape(-1) for pair in self.states(moved)[1][1:]])

        return torch.autograd.functional.jacobian(function, torch.zeros(size * self.L, dtype=torch.float64))

    def along_time(self, q):
        found = torch.eye(2 * self.m, dtype=torch.float64)
        for j in range(2, self.N + 1):
            found = self.own(q, j) @ found
        return found

    def early(self, l, blocks=True):
        found = torch.eye(2 * self.m, dtype=torch.float64)
        for q in range(l + 1, self.L + 1):
            found = (self.climb(q, 1) if blocks else torch.zeros_like(found)) @ found
        return self.along_time(self.L) @ found

    def late(self):
        return self.climb(3, self.N) @ self.climb(2, self.N) @ self.along_time(1)

    def inverse_gap(self):
        levels = self.states()
        now, gaps = levels[self.N], []
        for l in range(1, self.L + 1):
            y = now[l][0] - self.h[l - 1] * now[l][1]
            A = self.w[l - 1] * y + self.V[l - 1] @ now[l - 1][0] + self.b[l - 1]
            z = now[l][1] + self.h[l - 1] * (torch.tanh(A) + self.alpha * y)
            gaps += [y - levels[-2][l][0], z - levels[-2][l][1]]
        return torch.stack(gaps)

    def symplectic_gap(self):
        DF = self.whole()
        J = torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)] * (self.L * self.m))
        return DF.T @ J @ DF - J

    def stacked_gap(self, reading, longer=0):
        L, S = self.L, self.S + longer
        nu = L // S if L % S else L // S - 1
        first = chain = torch.eye(2 * self.m, dtype=torch.float64)
        for l in range(2, L - nu * S + 1):
            first = self.climb(l, 1) @ first
        for q in range(L - nu * S + S, L + 1, S):
            if reading == "partial":
                factor = torch.zeros_like(first)
            else:
                factor = self.total(q, 1, q - S, 1) if reading == "total" else self.climb(q, 1, far=True)
            first = factor @ first
        for l in range(2, L + 1):
            chain = self.climb(l, 1) @ chain
        return self.total(L, 1, 1, 1) - first - chain


def _all_early(f, blocks=True):
    return torch.stack([f.total(f.L, f.N, l, 1) - f.early(l, blocks) for l in range(1, f.L + 1)])


NETWORK_GAPS = [
    ("both-46", "L = 2", "(46), icml indices", path_products.EARLY, _all_early),
    ("both-46", "L = 3", "(46), icml indices", path_products.EARLY, _all_early),
    ("both-46", "L = 2", "(46), sam indices, blocks (49), (50)", path_products.EARLY_SAM, _all_early),
    ("both-46", "L = 3", "(46), sam indices, blocks (49), (50)", path_products.EARLY_SAM, _all_early),
    ("both-46", "L = 2", "(46), sam indices, exact blocks", path_products.EARLY_SAM_EXACT,
     lambda f: _all_early(f, blocks=False)),
    ("both-92", "L = 3", "(92), icml indices", path_products.LATE, lambda f: f.total(3, f.N, 1, 1) - f.late()),
    ("both-92", "L = 3", "(92), sam indices, blocks (49), (50)", path_products.LATE_SAM,
     lambda f: f.total(3, f.N, 1, 1) - f.late()),
    ("both-46-vs-92", "L = 3", "right sides, icml indices", path_products.EARLY_LATE, lambda f: f.early(1) - f.late()),
    ("both-46-vs-92", "L = 3", "right sides, sam indices", path_products.EARLY_LATE_SAM,
     lambda f: f.early(1) - f.late()),
    ("sam-49-50-indices", "L ≤ 3, m ≤ 2", "D, E of (49), (50)", layer_blocks.CLIMB_SAM,
     lambda f: f.total(2, 1, 1, 1) - f.climb(2, 1)),
    *(("both-104", "(L, S) = (4, 2), (5, 3)", f"(104), {reading}", jacobian_paths.STACKED[reading],
       lambda f, reading=reading: f.stacked_gap(reading)) for reading in ("total", "partial", "skip edge")),
    ("both-104", "(L, S) = (4, 2), (5, 3), (7, 3)", "(104), edges l − S", jacobian_paths.EDGES_BY_S,
     lambda f: f.stacked_gap("skip edge", longer=1)),
    ("both-symplectic-Llayer", "L = 2, m ≤ 2", "DFᵀ J DF, icml indices", inverse.SYMPLECTIC, Floats.symplectic_gap),
    ("both-symplectic-Llayer", "L = 2, m ≤ 2", "DFᵀ J DF, sam indices", inverse.SYMPLECTIC_SAM, Floats.symplectic_gap),
    ("sam-7-inverse", "L = 1", "(7) after (31)", inverse.SAM, Floats.inverse_gap),
    ("sam-7-inverse", "L = 2, constant input", "(7) after (31)", inverse.SAM_CONSTANT, Floats.inverse_gap),
]  # fmt: skip


def witness_of(name, domain, quantity):
    return rows.witness_of(CLAIMS[name], domain, quantity)


@pytest.mark.parametrize(
    ("name", "domain", "quantity", "identity", "gap"), NETWORK_GAPS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_autograd_finds_the_same_difference(name, domain, quantity, identity, gap):
    parameters = witness_of(name, domain, quantity)
    found = gap(Floats(parameters, identity.indices == "sam"))
    with net.at_precision():
        network, states = net.typed(parameters, identity.indices)
        if isinstance(identity, PathIdentity):
            values = identity.residual(network)
        else:
            u = [level[0] for level in network.levels]
            values = identity.residual(network.weights, states[-2], u[-2], u[-1], net.arb.tanh)
        largest = max(abs(float(v)) for v in values)
    assert largest > 1e-3
    assert abs(float(found.abs().max()) - largest) < 64 * 2**-53


def test_autograd_finds_the_other_violations():
    """exactH, (63), and the coupled multi-scale step, at their witnesses."""
    f = Floats(witness_of("both-2.2-exactH", "constant input", "H along (5)"), False)

    def energy(y, z):
        A = f.w[0] * y + f.V[0] @ f.u[0] + f.b[0]
        return float((f.alpha * y * y + z * z) / 2 + torch.log(torch.cosh(A)) / f.w[0])

    levels = f.states()
    assert abs(energy(*levels[-1][1]) - energy(*levels[0][1])) > 1e-2

    f = Floats(witness_of("sam-49-50-indices", "L = 1", "(63) for θ = V, sam indices"), True)

    def momentum(V):
        f.V = V
        return f.states()[-1][1][1]

    slope = float(torch.autograd.functional.jacobian(momentum, f.V.clone()).abs().max())
    assert slope > f.dt * (1 + max(1.0, float(f.u[-1].abs().max())))  # y_{k−1} = 0

    for wanted in structure.PROPERTIES:
        p = witness_of("both-2-onlypossible", "m = 2, full W", wanted)
        W = torch.tensor([float(x) for x in p["W"].split()], dtype=torch.float64).reshape(2, 2)
        h = torch.tensor([float(Fraction(x)) for x in p["h"].split()], dtype=torch.float64)

        def step(x, W=W, h=h):
            z = x[1::2] - h * (torch.tanh(W @ x[0::2] + 0.3) + x[0::2])
            return torch.stack([x[0::2] + h * z, z], 1).reshape(-1)

        DF = torch.autograd.functional.jacobian(step, torch.tensor([0.7, -0.2, -1.1, 0.4], dtype=torch.float64))
        J = torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)] * 2)
        assert DF[1, 2] != 0 and h[0] != h[1] and abs(float(torch.det(DF)) - 1) < 1e-14
        assert ((DF.T @ J @ DF - J).abs().max() < 1e-14) == (wanted == "symplectic")


def test_simulation_finds_the_oscillations():
    """Periods by zero crossings, amplitudes over 200 periods, the gradients of liouville-b bounded."""

    def orbit(kappa, steps, h):
        y, z, found = 1.0, 0.0, []
        for _ in range(steps):  # Störmer-Verlet
            z -= h / 2 * kappa * y
            y += h * z
            z -= h / 2 * kappa * y
            found.append(y)
        return found

    for w in (0, 1):
        alpha = float(Fraction(witness_of("both-2.1-frequency", f"w = {w}, no input", "angular frequency")["alpha"]))
        y = orbit(alpha + w, 20000, 1e-3)
        crossings = [n for n in range(1, len(y)) if y[n - 1] < 0 <= y[n]]
        frequency = 2 * torch.pi * (len(crossings) - 1) / ((crossings[-1] - crossings[0]) * 1e-3)
        assert abs(frequency - (alpha + w) ** 0.5) < 0.01 < abs(frequency - alpha)
    p = witness_of("icml-4-damping", "free oscillations", "decay, scheme (5)")
    alpha, h = float(Fraction(p["alpha"])), float(Fraction(p["h"]))
    y, z, sizes = 1.0, 0.0, []
    for _ in range(5000):
        z -= h * alpha * y
        y += h * z
        sizes.append(abs(y))
    assert max(sizes[-100:]) > 0.98 * max(sizes[:100])
    p = witness_of("both-liouville-b", "free", "stability of (0, 0)")
    kappa = float(Fraction(p["alpha"])) + float(Fraction(p["w"]))
    assert max(map(abs, orbit(kappa, 100000, 1e-2))) < 1.01


# --- the machinery on planted statements


def verdict_of(case) -> str:
    judgement = rows.verdict_of(case)
    assert judgement.verdict != rows.ERROR, judgement.because
    return judgement.verdict


def path_case(residual, retyped, shapes, indices="icml"):
    return PathIdentity(indices, residual, retyped, "planted").case("planted", "planted", shapes)


def _own_wrong(power, sign):
    """B with h^power κ in the place of h²κ, or the sign of the lower left entry changed."""

    def own(network):
        h, k = network.weights.h[0][0], network.weights.alpha + network.weights.w[0][0] * network.slopes[1][0][0]
        return ring_matrices.entries(
            ring_matrices.minus(network.total(1, 1, 1, 0), [[1 - h**power * k, h], [sign * h * k, 1]])
        )

    def typed_again(n):
        h, k = n.h[1][0], n.alpha + n.w[1][0] * n.s[1][1][0]
        return again.flat(again.add(n.whole_step(1), [[1 - h**power * k, h], [sign * h * k, 1]], -1))

    return path_case(own, typed_again, (Shape(1, 1, 1),))


def _climb_wrong(sign, V_transposed):
    def residual(network):
        m, found = network.neurons, []
        for i, r in itertools.product(range(m), range(m)):
            V = network.weights.V[1][r][i] if V_transposed else network.weights.V[1][i][r]
            E = sign * network.weights.h[1][i] * network.slopes[1][1][i] * V
            found.append(network.partial(2, 1)[2 * i + 1][2 * r] - E)
        return found

    def typed_again(n):
        V = list(zip(*n.V[2], strict=True)) if V_transposed else n.V[2]
        places = itertools.product(range(n.m), repeat=2)
        return [n.DE(2, 1)[2 * i + 1][2 * r] - sign * n.h[2][i] * n.s[1][2][i] * V[i][r] for i, r in places]

    return path_case(residual, typed_again, (Shape(2, 2 if V_transposed else 1, 1),))


def _determinant_wrong(value):
    return path_case(
        lambda n: [ring_matrices.determinant(n.step_jacobian(1)) - value],
        lambda n: [again.det(n.whole_step(1)) - value],
        (Shape(2, 1, 1),),
    )


def _coupling_wrong():
    """Neurons said not to depend on themselves."""
    return path_case(lambda n: [n.total(1, 1, 1, 0)[1][0]], lambda n: [n.whole_step(1)[1][0]], (Shape(1, 2, 1),))


def _sum_wrong(indices):
    """(44) without k = n."""

    def residual(network):
        L, N, h = network.layers, network.steps, network.weights.h[0][0]

        def source(l, k):
            kick = -h * network.slopes[k][0][0] if l == 1 else 0
            return [h * kick], [kick]

        right = [0, 0]
        for k in range(1, N):
            y, z = source(1, k)
            total = ring_matrices.product(network.total(L, N, 1, k), [y, z])
            right = [a + b[0] for a, b in zip(right, total, strict=True)]
        return [a - b for a, b in zip(network.along(N, source), right, strict=True)]

    def typed_again(n):
        """What is missing is the term k = N itself."""
        kick = -n.h[1][0] * n.s[n.N][1][0]
        return again.flat(again.mul(n.total(n.L, n.N, 1, n.N), [[n.h[1][0] * kick], [kick]]))

    return path_case(residual, typed_again, (Shape(1, 1, 2),), indices)


def _products_in_wrong_order():
    """(46) with L = 1 and the factors in the order of time."""

    def residual(network):
        if network.steps < 3:
            return [0]
        right = ring_matrices.product(network.own(1, 2), network.own(1, 3))
        return ring_matrices.entries(ring_matrices.minus(network.total(1, 3, 1, 1), right))

    def typed_again(n):
        if n.N < 3:
            return [again.iv.mpf(0)]
        return again.flat(again.add(n.total(1, 3, 1, 1), again.mul(n.B(1, 2), n.B(1, 3)), -1))

    return path_case(residual, typed_again, (Shape(1, 1, 3),))


def _three_without_H():
    def residual(network):
        G = ring_matrices.product(network.climb(3, 1), network.climb(2, 1))
        G[1] = [0] * len(G[1])
        return ring_matrices.entries(ring_matrices.minus(network.total(3, 1, 1, 1), G))

    return path_case(residual, lambda n: [n.total(3, 1, 1, 1)[1][0]], (Shape(3, 1, 1),))


def _recursion_wrong(change):
    """dE/dw from the published recursion with one factor, sign or index changed."""

    def summed(N, h, w, alpha, loss, slope, y):
        dy, dz, total = loss(N), 0, 0
        for k in range(1, N + 1):
            at = slope(N - k if change == "index" and k < N else N - k + 1)
            dz = dz + dy * h
            total = total + dz * h * at * y(N - k) * (1 if change == "sign" else -1)
            dy = dy - dz * h * (at * w + (0 if change == "alpha" else alpha)) * (1 if change != "step" else h)
            dy = dy + loss(N - k)
        return total

    def residual(n):
        weights = n.weights
        return [
            backpropagation.by_w(n)
            - summed(
                n.steps,
                weights.h[0][0],
                weights.w[0][0],
                weights.alpha,
                lambda t: n.levels[t][0][0],
                lambda t: n.slopes[t][0][0],
                lambda t: n.levels[t][1][0],
            )
        ]

    def typed_again(n):
        dy, dz, exact = again.iv.mpf(0), again.iv.mpf(0), again.iv.mpf(0)
        for t in range(1, n.N + 1):
            dz -= n.h[1][0] * (n.s[t][1][0] * (n.y[t - 1][1][0] + n.w[1][0] * dy) + n.alpha * dy)
            dy += n.h[1][0] * dz
            exact += n.y[t][0][0] * dy
        return [
            exact
            - summed(
                n.N,
                n.h[1][0],
                n.w[1][0],
                n.alpha,
                lambda t: n.y[t][0][0],
                lambda t: n.s[t][1][0],
                lambda t: n.y[t][1][0],
            )
        ]

    return path_case(residual, typed_again, (Shape(1, 1, 4),))


def _inverse_wrong(change):
    """(7) after icml (6) with the sign of the force, the index of y or α changed."""

    def back(h, y, z, w, drive, alpha, sigma):
        before = y - h * z
        at = y if change == "index" else before
        force = sigma(w * at + drive) + (0 if change == "alpha" else alpha * before)
        return before, (z - h * force if change == "sign" else z + h * force)

    def residual(weights, before, u_before, u, sigma):
        after, _ = net.forward(weights, before, u_before, u, sigma)
        (y,), (z,) = after[0]
        found = back(weights.h[0][0], y, z, weights.w[0][0], weights.drive(0, 0, [u]), weights.alpha, sigma)
        return [found[0] - before[0][0][0], found[1] - before[0][1][0]]

    def typed_again(n):
        y, z = n.y[n.N][1][0], n.z[n.N][1][0]
        found = back(n.h[1][0], y, z, n.w[1][0], n.drive(n.N, 1, 0), n.alpha, again.tanh)
        return [found[0] - n.y[n.N - 1][1][0], found[1] - n.z[n.N - 1][1][0]]

    changes = ({"u": "0 1"}, {"u": "0 1 1"})
    return StateIdentity("icml", residual, typed_again, "planted", changes).case("p", "p", (Shape(1, 1, 1),))


def _own_step_wrong():
    names = ("dt", "sh", "alpha", "y", "z", "s")
    return PolynomialIdentity(
        names,
        lambda v: [v["dt"] * (v["s"] + v["alpha"] * v["y"]) * (v["sh"] - 1)],
        lambda v: [(v["s"] + v["alpha"] * v["y"]) * (v["sh"] * v["dt"] - v["dt"])],
        "planted: σ̂ left out",
    ).case("p", "p")


def _sensitivity_energy_wrong():
    """(9) without the factor 1/2 before σ' w."""
    return PolynomialIdentity(
        ("alpha", "w1", "s1", "C1", "y1"),
        lambda v: [2 * v["s1"] * v["w1"] * v["y1"] - v["s1"] * v["w1"] * v["y1"]],
        lambda v: [v["y1"] * v["s1"] * v["w1"]],
        "planted",
    ).case("p", "p")


HALF = Fraction(1, 2)
FALSEHOODS = {
    "σ̂ = 1/2 + tanh": structure.between_zero_and_one(HALF, Fraction(1)),
    "σ̂ = tanh/2": structure.between_zero_and_one(Fraction(0), HALF),
    "effective step without σ̂": _own_step_wrong(),
    "B with h κ for h² κ": _own_wrong(1, -1),
    "B with the other sign": _own_wrong(2, 1),
    "E with the other sign": _climb_wrong(1, False),
    "E with V transposed": _climb_wrong(-1, True),
    "det DF = −1": _determinant_wrong(-1),
    "det DF = 2": _determinant_wrong(2),
    "no interaction with oneself": _coupling_wrong(),
    "(44) without k = n, icml": _sum_wrong("icml"),
    "(44) without k = n, sam": _sum_wrong("sam"),
    "(46), L = 1, reversed": _products_in_wrong_order(),
    "(96)-(99) without H": _three_without_H(),
    **{f"recursion: {change}": _recursion_wrong(change) for change in ("sign", "index", "alpha", "step")},
    **{f"inverse: {change}": _inverse_wrong(change) for change in ("sign", "index", "alpha")},
    "(59) with y_k": StateIdentity(
        "sam",
        layer_blocks._derivative_by_V(late=True),
        layer_blocks._derivative_by_V_again(late=True),
        "planted",
        ({"u": "0 1"},),
    ).case("p", "p", (Shape(1, 1, 1),)),
    **{
        f"(104), edges l − S, {skips} skips at most, (L, S) = (7, 3)": jacobian_paths.route_sum(skips).case(
            "p", "p", jacobian_paths.MORE_ROUTES[-1:]
        )
        for skips in (0, 1)
    },
    "frequency 2√α": hamiltonian.every_amplitude_case(factor=2),
    "the frequency falls with α": hamiltonian.tuning_case("alpha", sign=-1),
    "the frequency falls with w": hamiltonian.tuning_case("w", sign=-1),
    "H with −log cosh": hamiltonian.hamiltonian_case(sign=-1),
    "H without 1/w": hamiltonian.hamiltonian_case(power=0),
    "H with w for 1/w": hamiltonian.hamiltonian_case(power=1),
    "(9) without 1/2": _sensitivity_energy_wrong(),
    "no asymptotic stability, damped": hamiltonian.fixed_point_case(asymptotic=True, damping=1),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_planted_falsehood_is_refuted(name):
    assert verdict_of(FALSEHOODS[name]) == REFUTED


@pytest.mark.parametrize("name", ["alpha", "w"])
@pytest.mark.parametrize(("sign", "is_violated"), [(1, False), (-1, True)])
def test_both_back_ends_decide_the_tuning_of_a_neuron_by_its_two_frequencies(name, sign, is_violated):
    """√(3 + 1) = 2 and √(3 + 1 + 5) = 3, whichever of α and w the gap is added to."""
    balls, again = hamiltonian.tuning_case(name, sign).check({"alpha": "3", "w": "1", "gap": "5"}).opinions
    assert [float(word) for word in re.findall(r"\d+\.\d+", balls.text)] == [2, 3]
    assert {float(word) for word in re.findall(r"\d+\.\d+", again.text)} == {1}
    assert balls.violated is again.violated is is_violated


def _both_paths(network):
    """L = 2, N = 2: climb at time 1 or at time 2. Says nothing of a single step, which may be drawn."""
    if len(network.slopes) < 3:
        return [network.weights.alpha * 0]
    early = ring_matrices.product(network.own(2, 2), network.climb(2, 1))
    late = ring_matrices.product(network.climb(2, 2), network.own(1, 2))
    return ring_matrices.entries(ring_matrices.minus(network.total(2, 2, 1, 1), ring_matrices.plus(early, late)))


def _routes(network):
    """(L, S) = (4, 2): the chain, and the one edge from layer 1 to layer 4."""
    chain = ring_matrices.product(*(network.climb(l, 1) for l in (4, 3, 2)))
    return ring_matrices.entries(
        ring_matrices.minus(network.total(4, 1, 1, 1), ring_matrices.plus(chain, network.jump(4, 1)))
    )


def _sam_inverse(weights, before, u_before, u, sigma):
    """The inverse of (31) with the input that (31) has."""
    after, _ = net.forward(weights, before, u_before, u, sigma)
    levels, found = [u_before], []
    for l, ((y,), (z,)) in enumerate(after):
        y = y - weights.h[l][0] * z
        z = z + weights.h[l][0] * (sigma(weights.w[l][0] * y + weights.drive(l, 0, levels)) + weights.alpha * y)
        levels.append([y])
        found += [y - before[l][0][0], z - before[l][1][0]]
    return found


def _invariant(v):
    """Q_α = α y² + z² − α h y z along the step with w = 0."""
    z = v["z"] - v["h"] * v["a"] * v["y"]
    y = v["y"] + v["h"] * z

    def Q(y, z):
        return v["a"] * y * y + z * z - v["a"] * v["h"] * y * z

    return [Q(y, z) - Q(v["y"], v["z"])]


TRUTHS = {
    "both paths": path_case(_both_paths, lambda n: [0], (Shape(2, 1, 2), Shape(2, 2, 2))),
    "both routes": path_case(_routes, lambda n: [0], (Shape(4, 1, 1, 2),)),
    "inverse of (31)": StateIdentity("sam", _sam_inverse, lambda n: [0], "true", ({},)).case(
        "p", "p", tuple(Shape(L, 1, 1) for L in (1, 2, 3))
    ),
    "invariant": PolynomialIdentity(("h", "a", "y", "z"), _invariant, lambda v: [v["h"] * 0], "true").case("p", "p"),
    "frequency √α": hamiltonian.frequency_case(Fraction(0), claimed_power=HALF),
    "damping damps, ODE": hamiltonian.damping_case(discrete=False, damping=1),
    "damping damps, scheme": hamiltonian.damping_case(discrete=True, damping=1),
    "(63) with icml indices": layer_blocks.gradient_by_V("icml"),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_true_sibling_is_not_refuted(name):
    assert verdict_of(TRUTHS[name]) in (PROVED, NOT_REFUTED)


def test_doubt_remains_off_the_hypotheses():
    """dt = 1, a start other than 0, w = 0 in H, equal time steps, uncoupled neurons: no refutation."""
    case = CLAIMS["both-46"].case("L = 2", "(46), icml indices")
    good = witness_of("both-46", "L = 2", "(46), icml indices")
    assert not rows.doubt_of(case, good)
    assert rows.doubt_of(case, {**good, "dt": "1"})
    assert rows.doubt_of(case, {**good, "alpha": "-1"})
    assert rows.doubt_of(case, {**good, "y0": "0 1"})
    assert rows.doubt_of(case, {**good, "V": "0 0"})  # uncoupled layers: both sides vanish
    with pytest.raises(ClaimError, match='"layers" is "2"'):
        CLAIMS["both-46"].case("L = 1, n − k ≤ 3", "(46)").check(good)
    case = CLAIMS["sam-7-inverse"].case("L = 2, constant input", "(7) after (31)")
    good = witness_of("sam-7-inverse", "L = 2, constant input", "(7) after (31)")
    assert not rows.doubt_of(case, good)
    assert "the input does not change" in rows.doubt_of(case, {**good, "u": "0 1"})
    case = CLAIMS["both-2.2-exactH"].case("constant input", "H along (5)")
    good = witness_of("both-2.2-exactH", "constant input", "H along (5)")
    assert not rows.doubt_of(case, good)
    assert "the input does not change" in rows.doubt_of(case, {**good, "u": "0 1"})
    case = CLAIMS["both-2-onlypossible"].case("m = 2, full W", "symplectic")
    good = witness_of("both-2-onlypossible", "m = 2, full W", "symplectic")
    assert not rows.doubt_of(case, good)
    for change in ({"h": "1/4 1/4"}, {"W": "1 0 0 1"}, {"W": "0 1 1 0"}):
        assert rows.doubt_of(case, {**good, **change})


def test_both_ways_to_total_derivatives_agree():
    """Tangents in balls against blocks in intervals, two neurons, three layers, skips, either convention."""
    shape = Shape(3, 2, 3, 2)
    plain = net.menu(shape)[-1]
    for indices in ("icml", "sam"):
        with net.at_precision():
            network, _ = net.typed(plain, indices)
            ours = {
                (q, n, l, k): [float(x) for x in ring_matrices.entries(network.total(q, n, l, k))]
                for q in (1, 2, 3)
                for l in range(1, q + 1)
                for n in (2, 3)
                for k in (1, 2)
            }
            whole = [float(x) for x in ring_matrices.entries(network.step_jacobian(1))]
        again.iv.prec = again.BITS
        other = again.IntervalNetwork(plain, indices == "sam")
        floats = Floats(plain, indices == "sam")
        for place, values in ours.items():
            theirs = [float(x.mid) for x in again.flat(other.total(*place))]
            assert values == pytest.approx(theirs, abs=1e-15, rel=1e-14)
            assert values == pytest.approx(floats.total(*place).reshape(-1).tolist(), abs=1e-14)
        assert whole == pytest.approx([float(x.mid) for x in again.flat(other.whole_step(1))], abs=1e-15)
        assert whole == pytest.approx(floats.whole().reshape(-1).tolist(), abs=1e-14)


def test_parameters_that_do_not_fit_are_named():
    plain = net.small_network(Shape(2, 1, 1))
    with pytest.raises(ClaimError, match='"w" has 1 entries; L = 2, m = 1 ask for 2'):
        net.typed({**plain, "w": "1"}, "icml")
    with pytest.raises(ClaimError, match='"u"'):
        net.typed({**plain, "u": "1"}, "icml")


def test_leapfrog_keeps_one_energy_of_the_quadratic_and_no_other() -> None:
    """The planted falsehoods: H itself, h²/2 in the place of h²/4, implicit Euler, and a flow with the other sign."""
    claim = CLAIMS["both-2.2-exactH"]
    verdicts = [
        answer(claim, case, SMOKE, 0).verdict
        for case in (
            leapfrog_energy.change_case(2),
            leapfrog_energy.kept_case(Fraction(1, 2)),
            leapfrog_energy.kept_case(),
            leapfrog_energy.midpoint_case(0),
            leapfrog_energy.midpoint_case(),
            leapfrog_energy.flow_case(1),
            leapfrog_energy.flow_case(),
        )
    ]
    assert verdicts == [REFUTED, REFUTED, PROVED, REFUTED, PROVED, REFUTED, PROVED]


def test_the_midpoint_rule_of_the_case_is_solved_in_floats() -> None:
    """x' from numpy's solve keeps xᵀSx; the explicit and the implicit rule of order 1 do not."""
    S, h, x = np.array([[1.3, -0.4], [-0.4, 0.7]]), 0.5, np.array([0.9, -0.2])
    A = h / 2 * np.array([[0, 1], [-1, 0]]) @ S
    after = np.linalg.solve(np.eye(2) - A, (np.eye(2) + A) @ x)
    assert after @ S @ after == pytest.approx(x @ S @ x, rel=1e-14)
    implicit = np.linalg.solve(np.eye(2) - 2 * A, x)
    assert abs(implicit @ S @ implicit - x @ S @ x) > 1e-3


def test_a_leapfrog_step_is_that_of_velocity_verlet_in_floats() -> None:
    y, z, h = 0.7, -0.3, 0.25
    moved = y + h * z - h * h / 2 * y**3
    momentum = z - h / 2 * (y**3 + moved**3)
    for step in (leapfrog_energy._step, leapfrog_energy._step_again):
        assert max(abs(a - b) for a, b in zip(step(y, z, h, 4), (moved, momentum), strict=True)) < 1e-15


def test_the_direct_derivative_by_c_needs_both_terms() -> None:
    """The planted falsehood: without dt σ̂'(c) z_k in ∂⁺y_k."""
    claim = direct_partials.CLAIMS[0]
    made = [answer(claim, direct_partials.partials_case(whole), SMOKE, 0).verdict for whole in (True, False)]
    assert made == [PROVED, REFUTED]
