# Claims: both-novanish · both-novanish-norm · both-exploding-mitigated · icml-3.1-T3
"""Whether contributions of early steps can vanish, and gradients grow, exponentially in the number of steps.

At fixed dt the network is one neuron with V = 1, c = 0 and inputs that are free
(``verification.cases.gradient_decay``); at fixed T it is a stack of single neurons.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from flint import fmpq, fmpq_mat, fmpq_mpoly_ctx

from odernn.published.sources import Source
from verification.cases.chain_ends import sam_output_case, sam_state_case
from verification.cases.chain_gradients import inputs
from verification.cases.corrected_bounds import proof_of_gradient
from verification.cases.gradient_decay import ALPHA, DT, W, decay_case, resonant_decay_case
from verification.cases.gradient_growth import bound_growth_case, fixed_horizon_case, growth_case
from verification.cases.gradient_theorems import chain_case, chains
from verification.cases.inequality import T_AT_MOST_ONE
from verification.cases.network_gradient import gradient_parameters
from verification.cases.order import order_case
from verification.cases.small_step_growth import small_step_case
from verification.cases.top_layer_gradients import top_layer_case
from verification.certify.scalar_stack import ScalarStack
from verification.claim import Attempt, Case, Check, Claim, Opinion, Parameters
from verification.domains import Budget
from verification.exact_text import brief, number, numbers
from verification.kinds import Listed, Rational
from verification.measure.corrected_forms import CorrectedGradient
from verification.measure.exact_cayley import identity
from verification.measure.gradient_forms import SAM_13
from verification.measure.published_forms import SAM_32, Root
from verification.parameters import Parameter, declared

# --- the norm of the product does not


def determinant_is_one() -> str:
    """det B(κ) = 1 as a polynomial in h and κ; "" if it is not."""
    ring = fmpq_mpoly_ctx.get(("h", "kappa"))
    h, kappa = ring.gens()
    columns = []
    for y, z in ((ring.constant(1), ring.constant(0)), (ring.constant(0), ring.constant(1))):
        z = z - h * kappa * y
        columns.append((y + h * z, z))
    determinant = columns[0][0] * columns[1][1] - columns[0][1] * columns[1][0]
    if determinant - ring.constant(1) != ring.constant(0):
        return ""
    return "det B(κ) = 1 as a polynomial in h and κ: ‖Φ(n,k)‖² ≥ |det Φ(n,k)| = 1 for all n, k, weights and inputs"


PRODUCTS = declared(
    Parameter("h", Rational(above=0, below=1)), Parameter("kappa", Listed(Rational(least=-1000, most=1000), (1, 50)))
)
"""κ = α + w σ'(·) ŝ of the steps that are multiplied, the earliest first."""


def _shrinks(parameters: Parameters) -> Check:
    """‖Φ‖₂ < 1 for a product of steps B(κ): both roots of λ² − tr(ΦᵀΦ) λ + det(ΦᵀΦ) are below 1."""
    h, kappas = number(parameters, "h"), numbers(parameters, "kappa")
    step, product = fmpq(h.numerator, h.denominator), fmpq_mat(2, 2, [1, 0, 0, 1])
    for kappa in kappas:
        kick = step * fmpq(kappa.numerator, kappa.denominator)
        product = fmpq_mat(2, 2, [1 - step * kick, step, -kick, 1]) * product
    gram = product.transpose() * product
    first = gram[0, 0] < 1 and (identity(2) - gram).det() > 0  # I − ΦᵀΦ is positive definite
    moved = []
    for y, z in ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))):
        for kappa in kappas:
            z -= h * kappa * y
            y += h * z
        moved.append((y, z))
    (a, c), (b, d) = moved
    size, volume = a * a + b * b + c * c + d * d, (a * d - b * c) ** 2
    same = [Fraction(int(x.p), int(x.q)) for x in product.entries()] == [a, b, c, d]
    return Check(
        opinions=(
            Opinion("flint", bool(first), f"det(I − ΦᵀΦ) = {(identity(2) - gram).det()}"),
            Opinion("fractions", size < 2 and 1 - size + volume > 0, f"tr ΦᵀΦ = {brief(size)}, det ΦᵀΦ = {volume}"),
        ),
        words=f"h = {h}, κ = {parameters['kappa']}: ‖Φ(n,k)‖ < 1",
        apart="" if same else f"the products of {len(kappas)} steps differ",
    )


def _norms(budget: Budget, seed: int) -> Attempt:
    """The smallest norm of random products, in floats, beside the proof."""
    import torch

    from verification.measure.gradient import log_norms_of_products

    batch = {"smoke": 64, "standard": 512, "deep": 4096}[budget.name]
    generator = torch.Generator().manual_seed(seed % 2**63)
    w = 18 * torch.rand(batch, generator=generator, dtype=torch.float64) - 9
    slopes = torch.rand(100, batch, generator=generator, dtype=torch.float64)
    norms = log_norms_of_products(1 + w * slopes, torch.full((batch,), 0.1, dtype=torch.float64))
    smallest = float(norms.min())
    return Attempt(
        tried=f"{batch} random products of 100 factors, |w| ≤ 9, α = 1, h = 1/10",
        evaluations=norms.numel(),
        log_measured=-smallest,
        log_claimed=0.0,
        proof=determinant_is_one(),
    )


# --- at fixed T


ANY_LAYER = gradient_parameters("b", whole="no")
BY_INPUT = gradient_parameters("V", whole="no", layer=lambda _: range(1, 2))


def all_layers_case(theta: Literal["b", "V"], form: CorrectedGradient, states: Root = SAM_32) -> Case:
    """The bound of thm-G-inf with its proof, α > 0, dt < 1, and (32) for its F, F_z: at fixed T free of dt and N.

    form, states   those of thm-G-inf and (32); smaller ones have no proof
    """

    def proof(budget: Budget, seed: int) -> str:
        ends = (sam_output_case(states), sam_state_case("momentum", states))
        parts = (proof_of_gradient(form, budget, seed), *(end.ask(budget, seed).proof for end in ends))
        return f"free of dt and N at fixed T; {'; '.join(parts)}" if all(parts) else ""

    domain, quantity = (
        ("T fixed, all layers", "|dE/dθ|, θ not V^1") if theta == "b" else ("T fixed, |u| ≤ U", "|dE/dV^1|")
    )
    points, parameters = (chains, ANY_LAYER) if theta == "b" else (inputs, BY_INPUT)
    return chain_case(domain, quantity, form, theta, points, parameters, proof)


STACKS = {
    "L = 1": ScalarStack(),
    "L = 1, w = −9": ScalarStack(alpha=ALPHA, w=W),
    "L = 3": ScalarStack(layers=3),
}


CLAIMS = (
    Claim(
        id="both-novanish",
        source=Source("sam", "Sec. 3, D.3, D.4"),
        statement="for k ≪ n and t_n of order 1 |∂E_k^{(n,L)}/∂θ| does not decay exponentially in n − k: it is not "
        "below every power of dt, but of order dt (asked of three stacks; thm-R has it for all); also tried: dt fixed, "
        "n → ∞",
        semantics="real",
        cases=(
            decay_case(ALPHA, W, DT, domain="dt fixed, n → ∞, w < −α"),
            resonant_decay_case(ALPHA, DT, domain="dt fixed, n → ∞, −α < w < 0"),
            *(
                order_case(
                    stack, "contribution", 1, "at least", domain=f"{name}, T = 1, k = 1 + n/16", symbol="|∂E_k/∂w|"
                )
                for name, stack in STACKS.items()
            ),
        ),
    ),
    Claim(
        id="both-novanish-norm",
        source=Source("sam", "Sec. 3"),
        statement="the product Φ(n,k) of Jacobians of the hidden "
        "state does not tend to 0 in norm: ‖Φ(n,k)‖ ≥ 1 (thm-V (a))",
        semantics="real",
        cases=(Case("all weights, inputs, α, h", "1/‖Φ(n,k)‖ ≤ 1", _norms, PRODUCTS.guards(_shrinks)),),
    ),
    Claim(
        id="both-exploding-mitigated",
        source=Source("sam", "Sec. 3"),
        statement="the exploding gradient problem is mitigated: with bounded weights and at T ≤ 1 the gradient stays "
        "bounded as dt → 0 (θ of the top layer by (13), of all by thm-G-inf with (32), both free of dt and N); "
        "also tried: dt fixed, N → ∞",
        semantics="real",
        cases=(
            growth_case(ALPHA, W, DT, domain="dt fixed, N → ∞"),
            top_layer_case(SAM_13, "T ≤ 1", (T_AT_MOST_ONE,)),
            all_layers_case("b", CorrectedGradient()),
            all_layers_case("V", CorrectedGradient()),
        ),
    ),
    Claim(
        id="icml-3.1-T3",
        source=Source("icml", "Sec. 3"),
        statement="the bound (12) is O((N dt)³), and at every fixed small dt the gradient does not "
        "grow exponentially in N; also tried: dt → 0 at fixed T",
        semantics="slope",
        cases=(
            bound_growth_case(3),
            small_step_case(ALPHA, W, DT, domain="every fixed dt ≤ dt₀, N → ∞"),
            fixed_horizon_case(Fraction(2)),
        ),
    ),
)
