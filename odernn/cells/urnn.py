"""uRNN: a unitary recurrence on complex states, of restricted and of full capacity, and complex modReLU."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.modrelu_layers import ModReLULayer, ModReLUNetwork
from odernn.cells.common.representation import differing
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, StepFunction, empty_parameters
from odernn.orthogonal import restricted_unitary
from odernn.orthogonal.restricted_unitary import apply_restricted
from odernn.orthogonal.unitary import complex_modrelu, pair_of, real_form, unitarity_score, unitary_of

__all__ = ["CELL", "URNN", "ComplexJacobian", "FullURNNLayer", "RestrictedURNNLayer"]

Capacity: TypeAlias = Literal["restricted", "full"]
Product: TypeAlias = Literal["factors", "matrix"]


@dataclass(frozen=True)
class ComplexJacobian:
    """What the weights say of J = ∂h_t/∂h_{t−1} = E_t W, as a real map of 2n numbers; z_i as in ``URNN``.

    E_t has for every unit a block with singular values 1 along z_i and 1 + b_i/|z_i| across it where |z_i| + b_i > 0,
    and 0, 0 where not. So for every t and all inputs

        ‖J‖₂ ≤ √(1 + defect)             if all b_i ≤ 0; and ‖h_t − h'_t‖ ≤ √(1 + defect) ‖h_{t−1} − h'_{t−1}‖
        ‖J‖₂ ≤ √(1 + defect) (1 + b/m)   if all b_i ≤ b, b ≥ 0, and all |z_i| ≥ m: no bound as a z_i tends to 0
        σ_min(J) ≥ √(1 − defect)         if all b_i ≥ 0 and no z_i = 0

    *Proof.* ‖W h‖² = ‖h‖² + h*(W*W − I)h. In polar coordinates modReLU is r ↦ r + b at a fixed angle: 1 along z and
    (r + b)/r across it. For b ≤ 0 it is soft thresholding, the proximal map of −b|z|, which is non-expansive. ∎

    With real states, as in scoRNN, there is no direction across z, and ‖J‖₂ ≤ √(1 + defect) for every b.

    defect         ‖W*W − I‖_F, at least the spectral norm, evaluated in more digits than W has
    smallest_bias  and largest_bias: over the units, 0 without b
    """

    defect: float
    smallest_bias: float
    largest_bias: float

    @property
    def is_lipschitz(self) -> bool:
        """All b_i ≤ 0: two states never move apart by more than √(1 + defect)."""
        return self.largest_bias <= 0.0

    @property
    def smallest(self) -> float:
        """√(1 − defect) where all b_i ≥ 0, else 0: a bound from below on the singular values of J off z_i = 0."""
        return math.sqrt(max(1.0 - self.defect, 0.0)) if self.smallest_bias >= 0.0 else 0.0

    def largest(self, smallest_modulus: float = 0.0) -> float:
        """The bound on ‖J‖₂ for all |z_i| ≥ ``smallest_modulus``; inf where there is none."""
        stretch = 0.0 if self.is_lipschitz else math.inf
        if not self.is_lipschitz and smallest_modulus > 0.0:
            stretch = self.largest_bias / smallest_modulus
        return math.sqrt(1.0 + self.defect) * (1.0 + stretch)

    def __str__(self) -> str:
        if self.is_lipschitz:
            return f"singular values of ∂h_t/∂h_(t−1) ≤ {self.largest():.6g} (defect of W {self.defect:.2g})"
        stretch = f"1 + {self.largest_bias:.3g}/|z|"
        return f"singular values of ∂h_t/∂h_(t−1) up to {stretch}, no bound near z = 0 (defect of W {self.defect:.2g})"


class _URNNLayer(ModReLULayer):
    """V (2n, input), b (n,), h0 (2n,), n = hidden: real parts and then imaginary ones; b, h0 may be None.

    With ``nonexpansive`` free_b is learned in the place of b, see ``ModReLULayer``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool,
        nonexpansive: bool,
        learn_initial_state: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        empty = empty_parameters(device, dtype)
        self.V = empty(2 * hidden_size, input_size)
        self.make_biases(empty, bias=bias, nonexpansive=nonexpansive)
        self.h0 = empty(2 * hidden_size) if learn_initial_state else None

    @property
    def state_sizes(self) -> tuple[int, ...]:
        """2n."""
        return (2 * self.hidden_size,)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """V ~ U(−r, r), r = √(6/(n + input)), b = 0, h0 ~ U(−s, s), s = √(3/(2n)), so that E|h0|² = 1.

        Arjovsky et al. 2016; ``nonexpansive``: b as ``ModReLULayer`` says; and W by ``reset_unitary``.
        """
        n = self.hidden_size
        self.reset_unitary(generator)
        r = math.sqrt(6.0 / (n + self.input_size))
        nn.init.uniform_(self.V, -r, r, generator=generator)
        self.reset_biases(0.0, generator)
        if self.h0 is not None:
            s = math.sqrt(3.0 / (2 * n))
            nn.init.uniform_(self.h0, -s, s, generator=generator)

    @abstractmethod
    def reset_unitary(self, generator: torch.Generator | None = None) -> None:
        """The initial W."""

    @abstractmethod
    def recurrent_matrix(self) -> Tensor:
        """W (n, n), complex, with the weights as they are now; differentiable."""

    def product(self) -> Callable[[Tensor], Tensor]:
        """h ↦ W h on (batch, 2n), real and imaginary parts side by side."""
        M_T = real_form(self.recurrent_matrix()).T
        return lambda h: torch.mm(h, M_T)

    def drives(self, below: Tensor) -> Tensor:
        """V u, real and imaginary parts side by side."""
        return nn.functional.linear(below, self.V)

    def stepper(self) -> StepFunction:
        product, b = self.product(), self.biases()

        def step(state: State, x: Tensor) -> State:
            (h,) = state
            z = product(h) + x
            return (z if b is None else complex_modrelu(z, b),)

        return step

    def hidden_jacobian(self) -> ComplexJacobian:
        """Bounds on ∂h_t/∂h_{t−1} for the weights as they are now, see ``ComplexJacobian``."""
        found = self.biases()
        b = torch.zeros(1) if found is None else found.detach()
        return ComplexJacobian(unitarity_score(self.recurrent_matrix()), float(b.min()), float(b.max()))


class RestrictedURNNLayer(_URNNLayer):
    """angles (3, n) and reflectors (2, 2, n) as in ``orthogonal.restricted_unitary``; permutation (n,), a buffer."""

    permutation: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        product: Product = "factors",
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        manner: dict[str, Any] = {"device": device, "dtype": dtype}
        drawn: dict[str, Any] = {"bias": bias, "nonexpansive": nonexpansive, "learn_initial_state": learn_initial_state}
        super().__init__(input_size, hidden_size, **drawn, **manner)
        self.way: Product = arguments.one_of("product", product, ("factors", "matrix"))
        self.angles = nn.Parameter(torch.empty(3, hidden_size, **manner))
        self.reflectors = nn.Parameter(torch.empty(2, 2, hidden_size, **manner))
        self.register_buffer("permutation", torch.arange(hidden_size, device=device))

    def reset_unitary(self, generator: torch.Generator | None = None) -> None:
        """θ ~ U(−π, π), v ~ U(−1, 1), as in the paper, and a new permutation."""
        nn.init.uniform_(self.angles, -math.pi, math.pi, generator=generator)
        nn.init.uniform_(self.reflectors, -1.0, 1.0, generator=generator)
        drawn_on = None if generator is None else generator.device
        self.permutation.copy_(torch.randperm(self.hidden_size, generator=generator, device=drawn_on))

    def recurrent_matrix(self) -> Tensor:
        return restricted_unitary.restricted_unitary(self.angles, self.reflectors, self.permutation)

    def product(self) -> Callable[[Tensor], Tensor]:
        if self.way == "matrix":
            return super().product()
        n = self.hidden_size

        def by_factors(h: Tensor) -> Tensor:
            moved = apply_restricted(torch.complex(h[:, :n], h[:, n:]), self.angles, self.reflectors, self.permutation)
            return torch.cat((moved.real, moved.imag), dim=1)

        return by_factors

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        errors: list[str] = rest[-1]
        value = state_dict.get(prefix + "permutation")
        if isinstance(value, Tensor) and value.shape == self.permutation.shape and not value.is_meta:
            permutation = value.tolist()
            if sorted(permutation) != list(range(self.hidden_size)):
                errors.append(f"permutation is {permutation}, but it has each of 0..{self.hidden_size - 1} once.")
                return
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FullURNNLayer(_URNNLayer):
    """W (2, n, n), the real and the imaginary part of a unitary matrix: 2n² numbers on a manifold of n² dimensions."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        manner: dict[str, Any] = {"device": device, "dtype": dtype}
        drawn: dict[str, Any] = {"bias": bias, "nonexpansive": nonexpansive, "learn_initial_state": learn_initial_state}
        super().__init__(input_size, hidden_size, **drawn, **manner)
        self.W = nn.Parameter(torch.empty(2, hidden_size, hidden_size, **manner))

    @torch.no_grad()
    def reset_unitary(self, generator: torch.Generator | None = None) -> None:
        """W by Haar's measure: Q of a Gaussian matrix, columns turned so that the diagonal of R is positive.

        This library's.
        """
        drawn_on = None if generator is None else generator.device
        size = (2, self.hidden_size, self.hidden_size)
        Q, R = torch.linalg.qr(unitary_of(torch.randn(size, generator=generator, dtype=torch.float64, device=drawn_on)))
        diagonal = R.diagonal()
        self.W.copy_(pair_of(Q * (diagonal / diagonal.abs())))

    def recurrent_matrix(self) -> Tensor:
        return unitary_of(self.W)


class URNN(ModReLUNetwork):
    """h_n = modReLU(W h_{n−1} + V u_n; b) with a unitary W and complex h.   Arjovsky, Shah, Bengio 2016 (uRNN)

        modReLU(z; b)_i = z_i/|z_i| max(|z_i| + b_i, 0),   0 at z_i = 0
        restricted  W = D_3 R_2 F⁻¹ D_2 Π R_1 F D_1                     7n numbers: ``orthogonal.restricted_unitary``
        full        W any unitary matrix, moved by (I + λ/2 B)⁻¹ (I − λ/2 B)         Wisdom et al. 2016

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, 2 hidden)
    state  h : (layers · directions, batch, 2 hidden), Re h and then Im h; if not given zero, or the trained h0

    hidden_size          n, the number of complex units: outputs and states have 2n numbers, which a read-out sees
    capacity             "restricted" or "full"
    product              how a restricted W h is computed: "factors", O(n log n) a step, or "matrix", O(n²) with a W
                         formed once a forward pass; the same up to rounding. On one core they break even at n ≈ 512
    bias                 whether there is a b; without, the activation is the identity and the network linear
    nonexpansive         as in ``ScoRNN``: b = −|v| with v learned, so that Jacobians are bounded at z = 0, too
    learn_initial_state  whether every layer has a trained h0
    generator            of the initial weights, see ``reset_parameters`` and ``reset_unitary`` of the layers

    The other arguments are those of ``RecurrentNetwork``. The paper has one layer; a stack is this library's.

    **Training.** A full W stays unitary by ``MultiplicativeCayley`` alone; other optimizers add to it:

        unitary = MultiplicativeCayley(network.unitary_parameters(), lr=1e-3)
        others = torch.optim.RMSprop(network.other_parameters(), lr=1e-3)

    Rounding takes it away from unitarity slowly even so: ``hidden_jacobians()`` and ``unitarity_score``
    say how far. A restricted W is unitary by construction, for any optimizer.
    """

    holds: ClassVar[str] = (
        "W is unitary: restricted for all weights, full as long as MultiplicativeCayley moves it; ∂h_n/∂h_m is "
        "bounded away from z = 0 (hidden_jacobians())"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        capacity: Capacity,
        product: Product = "factors",
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.capacity: Capacity = arguments.one_of("capacity", capacity, ("restricted", "full"))
        if capacity == "full" and product != "factors":
            raise ValueError(
                f'product is {product!r}, but a full W has no factors. Leave it out, or give capacity="restricted".'
            )
        self.fill(
            FullURNNLayer if capacity == "full" else partial(RestrictedURNNLayer, product=product),
            generator,
            bias=bias,
            nonexpansive=nonexpansive,
            learn_initial_state=learn_initial_state,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """capacity="restricted", whatever the steps: 7n numbers, unitary for any optimizer, O(n log n) a step.

        The full capacity has all unitary matrices, and needs an optimizer of its own: choose it where 7n are too few.
        """
        memory_in_steps(steps, memory, hidden_size)
        return {"capacity": "restricted"}

    @property
    def output_size(self) -> int:
        """2n a direction."""
        return 2 * self.hidden_size * self.directions

    @staticmethod
    def parameter_count(input_size: int, hidden_size: int, output_size: int, *, capacity: Capacity) -> int:
        """Of one layer with b, trained h0 and a real read-out of p = ``output_size`` numbers from (Re h, Im h):

            restricted  7n + 2nm + 2np + p + 3n           full  n² + 2nm + 2np + p + 3n

        A complex number counts as 2; 3n are b and h0. This is the convention of Helfrich, Willmott, Ye 2018. The n² of
        a full W are the dimensions of the unitary group: W is stored as 2n² numbers. The 7n of a restricted one are the
        numbers that are stored: no more than 7n − 7 dimensions come of them (``odernn.orthogonal.restricted_unitary``).
        """
        n, m, p = hidden_size, input_size, output_size
        arguments.one_of("capacity", capacity, ("restricted", "full"))
        unitary = restricted_unitary.parameter_count(n) if capacity == "restricted" else n * n
        return unitary + 2 * n * m + 2 * n * p + p + 3 * n

    def unitary_parameters(self) -> list[nn.Parameter]:
        """The W of all layers of full capacity, for ``orthogonal.unitary.MultiplicativeCayley``; none if restricted."""
        return [layer.W for layer in self.layers if isinstance(layer, FullURNNLayer)]

    def other_parameters(self) -> list[nn.Parameter]:
        """All parameters that any optimizer may move."""
        unitary = {id(parameter) for parameter in self.unitary_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in unitary]

    def recurrent_matrices(self) -> tuple[Tensor, ...]:
        """W of every layer and direction, complex, in the order of ``layers``."""
        return tuple(layer.recurrent_matrix() for layer in self.layers)

    def hidden_jacobians(self) -> tuple[ComplexJacobian, ...]:
        """Bounds on ∂h_t/∂h_{t−1} of every layer and direction, in the order of ``layers``."""
        return tuple(layer.hidden_jacobian() for layer in self.layers)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(
            product=(first.way if isinstance(first, RestrictedURNNLayer) else "factors", "factors"),
            bias=(first.has_bias, True),
            nonexpansive=(first.nonexpansive, False),
            learn_initial_state=(first.h0 is not None, False),
        )
        return [f"capacity={self.capacity!r}", *changed]


CELL = URNN
