"""LinOSS: forced harmonic oscillators, linear in state and input, stepped implicitly or by kick and drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Unpack

import torch
from torch import Tensor, nn

from odernn.cells.common import arguments
from odernn.cells.common.representation import differing, shown
from odernn.cells.common.sequences import State
from odernn.cells.common.time_scales import memory_in_steps
from odernn.cells.recurrent import Manners, RecurrentLayer, RecurrentNetwork, StepFunction, empty_parameters
from odernn.certificate import Certificate
from odernn.executions import dense
from odernn.fields.linear_oscillator import LinearOscillator

if TYPE_CHECKING:
    from odernn.integrators.guarantees import Guarantees

__all__ = ["CELL", "LinOSS", "LinOSSLayer"]

Scheme: TypeAlias = Literal["imex", "im"]
Guard: TypeAlias = Literal["refuse", "clamp", "none"]
Execution: TypeAlias = Literal["torch", "cpu", "parallel"]

CHECK_DT = partial(arguments.positive, "dt")
LIMIT = 4.0
"""Of dt² A: above it a mode of the IMEX step grows exponentially."""
CLAMPED = LIMIT * (1.0 - 2.0**-10)
"""Where ``guard="clamp"`` stops: at 4 itself the step is a Jordan block, and rounding could pass it."""


class _Stable(torch.autograd.Function):
    """dt² A as it is, a ValueError above 4. A Function, since torch.func.vmap shows no values to anything else."""

    @staticmethod
    def forward(squares: Tensor) -> Tensor:
        if not bool((squares <= LIMIT).all()):
            raise ValueError(
                f"dt² A reaches {float(squares.max()):.17g}, but the IMEX step is stable up to 4. Give a smaller dt, "
                'guard="clamp" to cut A, or scheme="im".'
            )
        return squares.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], squares: Tensor) -> tuple[Tensor, int | None]:
        return _Stable.apply(squares), in_dims[0]  # type: ignore[no-untyped-call]


class LinOSSLayer(dense.FusedLayer, RecurrentLayer):
    """A_raw (n,) with A = max(A_raw, 0), and B (n, input) of one layer, n = hidden."""

    offered: ClassVar[tuple[dense.Name, ...]] = ("torch", "cpu", "parallel")
    state_names: tuple[str, ...] = ("y", "z")
    like_name: str = "B"

    dt: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        dt: float,
        scheme: Scheme = "imex",
        guard: Guard = "refuse",
        execution: Execution = "torch",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.scheme: Scheme = arguments.one_of("scheme", scheme, ("imex", "im"))
        self.guard: Guard = arguments.one_of("guard", guard, ("refuse", "clamp", "none"))
        self.execution = execution
        self.register_exact("dt", dt, CHECK_DT, device=device)
        empty = empty_parameters(device, dtype)
        self.A_raw = empty(hidden_size)
        self.B = empty(hidden_size, input_size)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """A_raw ~ U(0, 1), with "imex" U(0, min(1, 2/dt²)); B ~ U(−r, r) with r = 1/√input: this library's."""
        top = min(1.0, 0.5 * LIMIT / float(self.dt) ** 2) if self.scheme == "imex" and not self.dt.is_meta else 1.0
        nn.init.uniform_(self.A_raw, 0.0, top, generator=generator)
        r = self.input_size**-0.5
        nn.init.uniform_(self.B, -r, r, generator=generator)

    def frequencies(self) -> Tensor:
        """A ≥ 0 (n,), squares of frequencies, as the step uses it: with ``guard="clamp"`` at most 4 (1 − 2⁻¹⁰)/dt².

        Differentiable; 0 where A is cut. With ``guard="refuse"`` ValueError where dt² A > 4.
        """
        A = torch.relu(self.A_raw)
        if self.scheme == "im" or self.guard == "none":
            return A
        if self.guard == "clamp":
            return torch.minimum(A, (CLAMPED / self.dt**2).to(A.dtype))
        squares = self.dt**2 * A.detach().double()
        if torch.compiler.is_compiling():  # a graph cannot branch on values, but can stop: RuntimeError where it runs
            torch._assert_async((squares <= LIMIT).all(), "dt² A of LinOSS is above 4.")
        elif not squares.is_meta:
            _Stable.apply(squares)  # type: ignore[no-untyped-call]
        return A

    def drives(self, below: Tensor) -> Tensor:
        """B u."""
        return nn.functional.linear(below, self.B)

    def drive_weights(self) -> tuple[Tensor, None]:
        return self.B, None

    def dense_recurrence(self) -> dense.DenseRecurrence:
        A, dt = self.frequencies(), self.dt.to(self.B.dtype)
        S = 1.0 / (1.0 + dt * dt * A) if self.scheme == "im" else torch.ones_like(A)
        return dense.DenseRecurrence("oscillator", {}, (self.dt,), {"A": A, "S": S})

    def stepper(self) -> StepFunction:
        A, dt = self.frequencies(), self.dt.to(self.B.dtype)
        share = 1.0 / (1.0 + dt * dt * A) if self.scheme == "im" else None

        def step(state: State, x: Tensor) -> State:
            y, z = state
            z = z + dt * (x - A * y)
            if share is not None:  # z_n with A y_n = A (y_{n−1} + dt z_n) in the place of A y_{n−1}
                z = share * z
            return y + dt * z, z

        return step

    def back_stepper(self) -> StepFunction:
        A, dt = self.frequencies(), self.dt.to(self.B.dtype)
        is_implicit = self.scheme == "im"

        def back(state: State, x: Tensor) -> State:
            y, z = state
            before = y - dt * z
            return before, z - dt * (x - A * (y if is_implicit else before))

        return back

    def matrix(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """M with (y_n, z_n) = M (y_{n−1}, z_{n−1}) + the drive: its four entries, each (n,).

        imex  [[1 − dt² A, dt], [−dt A, 1]]             im  S [[1, dt], [−dt A, 1]],  S = 1/(1 + dt² A)
        """
        A, dt = self.frequencies(), self.dt.to(self.B.dtype)
        one = torch.ones_like(A)
        if self.scheme == "imex":
            return (one - dt * dt * A, dt * one), (-dt * A, one)
        S = 1.0 / (1.0 + dt * dt * A)
        return (S, dt * S), (-dt * A * S, S)

    def fused(self, drives: Tensor, state: State) -> State | None:
        """All steps at once: log₂ N sweeps, each of which doubles how many drives every row has seen.

            r_n ← r_n + M^(2^k) r_{n−2^k},   k = 0, 1, …       from r_n = (dt² S x_n, dt S x_n), and M (y_0, z_0) in r_1

        M is the same for all times, so a sweep needs one power of it: the associative scan of the paper with its
        matrices left out. O(N log N) work and memory of the derivative, against N steps one after the other.
        """
        if self.execution != "parallel":
            return super().fused(drives, state)
        (a, b), (c, d) = self.matrix()
        dt = self.dt.to(self.B.dtype)
        kick = dt * (drives if self.scheme == "imex" else a * drives)  # a is S there
        y, z = dt * kick, kick
        if not len(drives):
            return y, z
        y0, z0 = state
        y = torch.cat(((y[0] + (a * y0 + b * z0)).unsqueeze(0), y[1:]))
        z = torch.cat(((z[0] + (c * y0 + d * z0)).unsqueeze(0), z[1:]))
        seen = 1
        while seen < len(drives):
            earlier_y, earlier_z = y[:-seen], z[:-seen]
            y, z = (
                torch.cat((y[:seen], y[seen:] + (a * earlier_y + b * earlier_z))),
                torch.cat((z[:seen], z[seen:] + (c * earlier_y + d * earlier_z))),
            )
            a, b, c, d = a * a + b * c, b * (a + d), c * (a + d), b * c + d * d
            seen *= 2
        return y, z

    def field(self) -> LinearOscillator:
        """y' = z, z' = x − A y with the weights as they are now."""
        return LinearOscillator(self.frequencies())

    def guarantees(self) -> Guarantees:
        """Of symplectic Euler ("imex") or implicit Euler ("im") on this field; ``power_boundedness`` says more."""
        from odernn import tableaus
        from odernn.integrators.guarantees import guarantees_of  # exact algebra, which a forward pass does not need

        method = tableaus.SYMPLECTIC_EULER if self.scheme == "imex" else tableaus.IMPLICIT_EULER
        return guarantees_of(method, self.field(), float(self.dt))

    def power_boundedness(self) -> Certificate:
        """Whether all powers of M are bounded: whether no state grows without input, however many steps are made.

            imex  iff 0 < dt² A_i < 4 for all i: det M = 1, trace 2 − dt² A_i, two different eigenvalues on the circle
            im    iff A_i > 0 for all i: both eigenvalues have the modulus 1/√(1 + dt² A_i) < 1

        At A_i = 0 both schemes have M = [[1, dt], [0, 1]], a free particle: y grows by dt z_0 a step. At dt² A_i = 4,
        which ``guard="refuse"`` admits, −M of IMEX is such a Jordan block, too. Decided exactly for the dt and the A of
        the layer as they are stored; rounding of the steps is not counted. ``margin`` is the least of dt² A_i and, with
        "imex", of 4 − dt² A_i; ``witness`` its i, from 1.
        """
        with torch.no_grad():
            squares = [Fraction(float(self.dt)) ** 2 * a for a in arguments.exact("A", self.frequencies())]
        margins = [min(s, 4 - s) if self.scheme == "imex" else s for s in squares]
        margin = min(margins)
        condition = "0 < dt² A < 4" if self.scheme == "imex" else "A > 0"
        text = f"{condition}; dt² A from {float(min(squares)):.6g} to {float(max(squares)):.6g}"
        witness = 1 + margins.index(margin)
        return Certificate("the step is power bounded", margin > 0, True, witness, text, margin=margin)


class LinOSS(dense.FusedNetwork, RecurrentNetwork):
    """y″ = −A y + B u, A = diag(A_i) ≥ 0.   Rusch, Rus 2025 (LinOSS: oscillatory state-space models)

        imex  z_n = z_{n−1} + dt (−A y_{n−1} + B u_n),   y_n = y_{n−1} + dt z_n    symplectic Euler: kick, drift
        im    z_n = z_{n−1} + dt (−A y_n + B u_n),       y_n = y_{n−1} + dt z_n    implicit Euler, in closed form

    input  u : (time, batch, input), or (time, input)      output  y of the last layer : (time, batch, hidden)
    state  (y, z) : each (layers · directions, batch, hidden), zero if not given

    dt         one number or one a layer, > 0. Float64 buffers
    scheme     "imex" or "im"
    guard      of "imex", whose modes grow exponentially where dt² A > 4: "refuse" raises ValueError in a forward pass;
               "clamp" cuts A just below 4/dt², without a gradient there; "none" lets them grow
    execution  "torch": a loop; "parallel": all times at once in log₂ N sweeps, the same up to rounding, for devices on
               which a step costs more than its arithmetic: on one CPU core the loop is faster from a few hundred steps
               on; "cpu": fused, differentiable once, needs the extra ``fast``. An attribute, too, of the network and
               of each layer, and checked
    generator  of the initial weights, see ``LinOSSLayer.reset_parameters``

    The other arguments are those of ``RecurrentNetwork``. A = max(A_raw, 0) as in the paper. A layer is linear, and so
    is a stack: the nonlinear maps between the layers of the paper's model are the caller's.

    Both steps have an inverse. IMEX has determinant 1, it preserves dy ∧ dz of every neuron; IM shrinks that by
    1/(1 + dt² A), and its inverse expands.
    """

    holds: ClassVar[str] = (
        "every step is linear and invertible (inverse()); its powers stay bounded where 0 < dt² A < 4, with im for "
        "every A > 0 (power_boundedness())"
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float | Sequence[float],
        scheme: Scheme = "imex",
        guard: Guard = "refuse",
        execution: Execution = "torch",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **manners: Unpack[Manners],
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, **manners)
        self.fill(
            LinOSSLayer,
            generator,
            per_layer={"dt": dt},
            scheme=scheme,
            guard=guard,
            execution=execution,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def suggest(cls, steps: int, *, memory: float | None = None, hidden_size: int | None = None) -> dict[str, Any]:
        """dt = min(1, 2/√M), by which the mean oscillator of IM forgets in M steps.

        A ~ U(0, 1) at the start, 1/2 in the mean. IM multiplies by (1 + dt² A)^(−1/2) a step, by e⁻¹ in M of them where
        dt² A M/2 = 1, that is dt = 2/√M. IMEX forgets nothing: M random inputs of size 1 add up to dt √(M/(2A)), of
        size 2 for the same dt, whatever M is. dt² A ≤ 1 is within the limit 4 of IMEX.
        """
        return {"dt": min(1.0, 2.0 / math.sqrt(memory_in_steps(steps, memory, hidden_size)))}

    def power_boundedness(self) -> tuple[Certificate, ...]:
        """``LinOSSLayer.power_boundedness`` of every layer and direction, in the order of ``layers``."""
        return tuple(layer.power_boundedness() for layer in self.layers)

    def shown_options(self) -> list[str]:
        first = self.layers[0]
        guard = [f"guard={first.guard!r}"] if first.scheme == "imex" else []
        execution = differing(execution=(first.execution, "torch"))
        return [*shown(self.layers[:: self.directions], "dt"), f"scheme={first.scheme!r}", *guard, *execution]


CELL = LinOSS
