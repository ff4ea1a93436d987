"""scoRNN: an orthogonal recurrence by the scaled Cayley transform, and modReLU."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.orthogonal_layers import HiddenJacobian, OrthogonalLayer, OrthogonalNetwork
from odernn.cells.common.representation import differing
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, empty_parameters
from odernn.executions import dense
from odernn.fields.skew_linear import SkewLinear
from odernn.orthogonal import resigning
from odernn.orthogonal.cayley import Placement, ScaledCayley, signs_of, skew
from odernn.orthogonal.resigning import Moments
from odernn.published import networks as published

__all__ = ["CELL", "HiddenJacobian", "ScoRNN", "ScoRNNLayer"]

Initial: TypeAlias = Literal["small", "glorot"]

SMALL = 0.01
"""Half the width of the uniform distributions of the published code."""


class ScoRNNLayer(OrthogonalLayer):
    """free (n(n−1)/2,), U (n, input), b (n,), h0 (n,) of one layer, n = hidden; b, h0 are None where there is none.

    With ``nonexpansive`` free_b is learned in the place of b, see ``ModReLULayer``.

    free  the strict upper triangle of A row by row, as ``orthogonal.cayley.skew`` takes it; ``cayley.signs`` is the
          diagonal of D, an int8 buffer
    """

    like_name: str = "U"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        rho: int,
        signs: Placement = "aligned",
        initial: Initial = "small",
        bias: bool = True,
        nonexpansive: bool = False,
        learn_initial_state: bool = False,
        execution: dense.Name = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.execution = execution
        self.placement: Placement = arguments.one_of("signs", signs, ("aligned", "prefix", "random"))
        self.rho = _checked_rho(rho, hidden_size, signs)
        self.initial: Initial = arguments.one_of("initial", initial, ("small", "glorot"))
        empty = empty_parameters(device, dtype)
        self.free = empty(hidden_size * (hidden_size - 1) // 2)
        self.U = empty(hidden_size, input_size)
        self.make_biases(empty, bias=bias, nonexpansive=nonexpansive)
        self.h0 = empty(hidden_size) if learn_initial_state else None
        self.cayley = ScaledCayley(hidden_size).to(device)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """A of 2x2 blocks with angles ~ U[0, π/2], D with ρ signs −1 (Sec. 4.2), and by ``initial``

            small   U ~ U(−0.01, 0.01), b = 0                                        SpartinStuff/scoRNN, scoRNN.py
            glorot  U ~ U(−r, r), r = √(6/(n + input)), b ~ U(−0.01, 0.01)           Gayan225/scuRNN, scuRNN.py

        the authors' codes of this paper and of the next, Maduranga, Helfrich, Ye 2019. h0 ~ U(−0.01, 0.01) is this
        library's: at h0 = 0 and b = 0 inputs that begin with zeros have z = 0, where no gradient passes.
        """
        self.cayley.initialise_(self.free, self.rho, placement=self.placement, generator=generator)
        is_glorot = self.initial == "glorot"
        r = math.sqrt(6.0 / (self.hidden_size + self.input_size)) if is_glorot else SMALL
        nn.init.uniform_(self.U, -r, r, generator=generator)
        self.reset_biases(SMALL if is_glorot else 0.0, generator)
        if self.h0 is not None:
            nn.init.uniform_(self.h0, -SMALL, SMALL, generator=generator)

    def recurrent_matrix(self) -> Tensor:
        """W = (I + A)⁻¹(I − A) D with the weights as they are now, (n, n); one LU factorisation, differentiable."""
        W: Tensor = self.cayley(self.free)
        return W

    def drives(self, below: Tensor) -> Tensor:
        """U u."""
        return nn.functional.linear(below, self.U)

    def re_sign(
        self,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        moments: Moments = "transform",
        tau: float | None = None,
    ) -> int:
        """``odernn.orthogonal.resigning.re_sign`` of this layer: max |a_ij| ≤ tau by other signs, the same W."""
        return resigning.re_sign(self.cayley, self.free, optimizer, moments=moments, tau=tau)

    def field(self, dt: float = 1.0) -> SkewLinear:
        """y' = S y, S = −2A/dt, whose implicit midpoint step of size dt is y ↦ C(A) y: this recurrence without inputs
        if all signs are +1 and b = 0, up to the choice of derivative at z_i = 0.

        Raises ValueError where a sign is −1, and for a dt that is not positive.
        """
        arguments.positive("dt", [dt])
        negative = int((self.cayley.signs < 0).sum())
        if negative:
            raise ValueError(
                f"signs has {negative} entries -1, but an implicit midpoint step is C(A) and W is C(A) D. Make the "
                "cell with rho=0."
            )
        return SkewLinear(skew(self.free, self.hidden_size).triu(1) * (-2.0 / dt))


def _checked_rho(rho: int, n: int, signs: Placement) -> int:
    """``rho`` if that many signs can be placed."""
    if signs == "aligned" and isinstance(rho, int) and not isinstance(rho, bool) and rho % 2:
        raise ValueError(
            f'rho is {rho}, but signs="aligned" puts the -1s on whole 2x2 blocks. Give an even rho, or signs="prefix".'
        )
    signs_of(n, rho, "prefix")
    return rho


class ScoRNN(OrthogonalNetwork):
    """h_n = modReLU(U u_n + W h_{n-1}; b) with an orthogonal W.   Helfrich, Willmott & Ye 2018 (scoRNN), Secs. 3, 4

        W = (I + A)⁻¹(I − A) D,   Aᵀ = −A trained,   D = diag(±1)
        modReLU(z; b)_i = sign(z_i) max(|z_i| + b_i, 0),   0 at z_i = 0, with derivative 0 there

    input  u : (time, batch, input), or (time, input)      output  h of the last layer : (time, batch, hidden)
    state  h : (layers · directions, batch, hidden); if not given zero, or the trained h0

    rho                  number of −1s in D at the start, 0..hidden: the paper tunes it between n/10 and 7n/10
    signs                where: "aligned" on whole 2x2 blocks of the initial A (ρ even), "prefix" on the first ρ
                         coordinates, "random"; see ``odernn.orthogonal.cayley.signs_of``
    bias                 whether there is a b; without, the activation is the identity and the network linear
    nonexpansive         True: b = −|v| with v learned, so that modReLU is soft thresholding and no input moves states
                         further apart than ‖U‖ √N times its own change (``bounds.certify``); ``unlimited()`` undoes it
    initial              "small" or "glorot": U and b at the start, see ``ScoRNNLayer.reset_parameters``
    learn_initial_state  whether every layer has a trained h0
    execution            "torch": a loop; "cpu": fused, differentiable once, needs the extra ``fast``; "cuda": one
                         launch with W on the chip, differentiable once, on a CUDA device, up to 192 units, in
                         float64 128. An attribute, too, of the network and of each layer, and checked
    generator            of the initial weights

    The other arguments are those of ``RecurrentNetwork``. W is factored once a forward pass, layer and direction, and
    stays in the dtype of the parameters under autocast. The paper has one layer; a stack is this library's.

    The published code multiplies rows, h W, which is the recurrence with Wᵀ and puts the −1s last. Wᵀ = C(−D A D) D, so
    that is this network with other signs of the entries of A, in training, too: SGD, RMSprop and Adam are odd in them.
    """

    holds: ClassVar[str] = "W is orthogonal for all weights, so |∂h_n/∂h_m| ≤ 1 up to its rounding (hidden_jacobians())"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        rho: int,
        signs: Placement = "aligned",
        bias: bool = True,
        nonexpansive: bool = False,
        initial: Initial = "small",
        learn_initial_state: bool = False,
        execution: dense.Name = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            ScoRNNLayer,
            generator,
            rho=rho,
            signs=signs,
            initial=initial,
            bias=bias,
            nonexpansive=nonexpansive,
            learn_initial_state=learn_initial_state,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(
        cls,
        steps: int,
        *,
        memory: float | None = None,
        hidden_size: int | None = None,
        share: float = 0.5,
    ) -> dict[str, Any]:
        """rho, the even number nearest to share · n: whatever the steps, for W turns and does not forget.

        Without inputs a 2x2 block turns by an angle in [0, π/2] at the start, and by its supplement where D has its −1s
        there. So ρ/n is the share of angles beyond π/2, and ρ = n/2 spreads them over [0, π] evenly: waves of every
        period from 2 steps on. A small share leaves slow waves only, which is what sums over a sequence need: the paper
        tunes it between 1/10 and 7/10. Raises ValueError without hidden_size.
        """
        memory_in_steps(steps, memory, hidden_size)
        if hidden_size is None:
            raise ValueError("hidden_size is needed: rho counts units. Give the n that the cell will have.")
        n = arguments.positive_integer("hidden_size", hidden_size)
        if not 0.0 <= arguments.number("share", share) <= 1.0:
            raise ValueError(f"share is {share}, but it is the share of units with a −1: give a number in 0..1.")
        return {"rho": min(2 * round(share * n / 2), n - n % 2)}

    @classmethod
    def from_paper(cls, name: str, **overrides: Any) -> Self:
        """The network of that name in ``published.networks("scornn")``, untrained; ``overrides`` are arguments.

        ρ is the printed fraction of n, half rounded up; signs="prefix" unless given, as in the published code and
        because ρ may be odd. Raises LookupError with the nearest name. The readout is the caller's:

            >>> network = ScoRNN.from_paper("TIMIT-425")
            >>> network.hidden_size, network.layers[0].rho
            (425, 43)
        """
        given = published.arguments("scornn", name, overrides)
        if "rho" not in overrides:
            printed = published.network("scornn", name).hyperparameters["rho"]
            assert isinstance(printed, Fraction)
            given["rho"] = math.floor(printed + Fraction(1, 2))
        return cls(**{"signs": "prefix", **given})

    def re_sign(
        self,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        moments: Moments = "transform",
        tau: float | None = None,
    ) -> int:
        """Exchange pairs of signs until max |a_ij| ≤ tau in all layers; the number of exchanges. W stays.

        Between steps, with the optimizer that updates the network: its state is carried along. See
        ``orthogonal.resigning.re_sign`` for arguments and errors; an error leaves its layer and later ones unchanged.
        """
        return sum(layer.re_sign(optimizer, moments=moments, tau=tau) for layer in self.layers)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        changed = differing(
            bias=(first.has_bias, True),
            nonexpansive=(first.nonexpansive, False),
            initial=(first.initial, "small"),
            learn_initial_state=(first.h0 is not None, False),
            execution=(first.execution, "torch"),
        )
        return [f"rho={first.rho}, signs={first.placement!r}", *changed]


CELL = ScoRNN
