"""What a vector field is: a right-hand side with its Jacobian, its energy and its constants, as one frozen value.

A field holds tensors and numbers and no parameters of torch: ``cells.integrator.IntegratorRNN`` makes parameters of the
tensors named in ``weights`` and builds the field anew for each forward pass, so that whatever depends on weights alone
(a ``_once.once``) is evaluated once a pass.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypedDict

import torch
from torch import Tensor

from odernn.fields import spectra

State: TypeAlias = tuple[Tensor, ...]
"""The blocks of a state, each (..., hidden): (y,) or (y, z)."""

EnergyLaw: TypeAlias = Literal["conserved", "non-increasing", "conserved at zero drive"]
"""What the exact flow does to ``energy``, at constant drive unless said otherwise."""


class DrawOptions(TypedDict, total=False):
    """How ``random`` of a field draws its weights: whence, where and in which dtype; torch's defaults if not given."""

    generator: torch.Generator | None
    device: torch.device | str | None
    dtype: torch.dtype | None


@dataclasses.dataclass(frozen=True)
class Constants:
    """Numbers that hold for all states and drives, in the Euclidean norm of the whole state; Δ is any difference.

        ‖Δf‖ ≤ lipschitz ‖Δx‖,     ⟨Δf, Δx⟩ ≤ one_sided_lipschitz ‖Δx‖²,     ⟨Δf, Δx⟩ ≤ −cocoercivity ‖Δf‖²

    Each is rounded to the safe side: it includes an allowance for the float64 arithmetic that computed it.
    ``cocoercivity`` is None where no such inequality is known; 0 would say no more than that f is monotone.
    """

    lipschitz: float
    one_sided_lipschitz: float
    cocoercivity: float | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class DenseForm:
    """f(y; x) = L y + U φ(W y + B x), the blocks of the state side by side: y (..., m).

    W  (q, m)            q activations read the state
    U  (m, q), or None   what they do to it; None is the identity
    L  (m, m), or None   the linear part; None is zero
    undriven             so many activations, the first ones, see no drive: B x is x after that many zeros
    is_gated             φ(a; x, x_g) = σ̂(a + x_g) tanh(a + x) with the drive (x, x_g), else tanh

    Of n neurons that do not interact, W, U and L have a third axis: entry [i, j, k] is that of neuron k, from its block
    j to its block i, (1, blocks, n), (blocks, 1, n) and (blocks, blocks, n) for one activation a neuron.

    The Jacobian is L + U diag(φ') W: no matrix a sample is needed to multiply by it.
    """

    W: Tensor
    U: Tensor | None = None
    L: Tensor | None = None
    undriven: int = 0
    is_gated: bool = False

    @property
    def shared_slope(self) -> float:
        """One number for all φ', as they mostly are: tanh has slopes in [0, 1], large near rest; a gate halves them."""
        return 0.375 if self.is_gated else 0.75

    def arguments(self, drive: Tensor) -> tuple[Tensor, Tensor | None]:
        """What is added to W y, (..., q), and what a gate sees besides that sum: φ = σ̂(a + shift) tanh a."""
        if self.is_gated:
            x, gate = drive.chunk(2, dim=-1)
            return x, gate - x
        return (torch.nn.functional.pad(drive, (self.undriven, 0)) if self.undriven else drive), None


@dataclasses.dataclass(frozen=True, eq=False)
class Field(ABC):
    """x' = f(x; drive).   state: its ``blocks``, each (..., hidden);   drive: (..., drive_size).

    blocks            names of the blocks of the state
    weights           the attributes that training changes; the others are hyperparameters
    is_linear         f is affine in the state, with a Jacobian that depends on weights alone
    is_separable      two blocks, y' = velocity(z) and z' = force(y; drive)
    couples_neurons   False: component i of f sees component i of state and drive only
    energy_law        what the flow does to ``energy``, ``None`` if the field has none
    is_reversible     f(ρx) = −ρ f(x) for ρ(y, z) = (y, −z), at every drive
    """

    blocks: ClassVar[tuple[str, ...]] = ("y",)
    weights: ClassVar[tuple[str, ...]] = ()
    is_linear: ClassVar[bool] = False
    is_separable: ClassVar[bool] = False
    couples_neurons: ClassVar[bool] = True
    energy_law: ClassVar[EnergyLaw | None] = None
    is_reversible: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """A field that changes the right-hand side of another one does not inherit its dense form."""
        super().__init_subclass__(**options)
        changed = {"__call__", "velocity", "force", "jacobian"} & set(vars(cls))
        if changed and "dense_form" not in vars(cls):
            cls.dense_form = Field.dense_form  # type: ignore[method-assign]
        if changed and "drive_lipschitz" not in vars(cls):
            cls.drive_lipschitz = Field.drive_lipschitz  # type: ignore[method-assign]

    @property
    @abstractmethod
    def hidden_size(self) -> int:
        """Number of components of one block."""

    @property
    def drive_size(self) -> int:
        """Number of components of the drive."""
        return self.hidden_size

    @abstractmethod
    def __call__(self, state: State, drive: Tensor) -> State:
        """f(x; drive), one tensor a block."""

    @abstractmethod
    def jacobian(self, state: State, drive: Tensor) -> Tensor:
        """∂f/∂x with the blocks one after the other: (..., blocks · hidden, blocks · hidden).

        If neurons are not coupled: (..., hidden, blocks, blocks), one small matrix a neuron.
        """

    def energy(self, state: State, drive: Tensor) -> Tensor:
        """The quantity of ``energy_law``, (...). Raises NotImplementedError if there is none."""
        raise NotImplementedError(
            f"{type(self).__name__} has no energy: no quantity is known that its flow conserves or dissipates. "
            "Ask only fields whose energy_law is not None."
        )

    def dense_form(self) -> DenseForm | None:
        """The field as L y + U φ(W y + B x), by which implicit steps are solved for a whole batch, or ``None``."""
        return None

    def drive_lipschitz(self) -> float | None:
        """D with ‖f(x; u) − f(x; u')‖ ≤ D ‖u − u'‖ for all x, rounded up, or None; ‖U‖ of a dense form with tanh."""
        form = self.dense_form()
        if form is None or form.is_gated:
            return None
        parts = [] if form.U is None else [form.U] if form.U.dim() == 2 else form.U.unbind(-1)
        return max(map(spectra.spectral_norm, parts), default=1.0)

    @abstractmethod
    def constants(self) -> Constants:
        """Lipschitz and monotonicity constants of the weights as they are now; no gradients."""

    def tensors(self) -> dict[str, Tensor]:
        """The attributes that are tensors, by name."""
        attributes = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in attributes.items() if isinstance(value, Tensor)}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Self:
        """The same field with other tensors in the places named."""
        return dataclasses.replace(self, **tensors)


class SeparableField(Field):
    """y' = velocity(z), z' = force(y; drive): each block depends on the other one only."""

    blocks: ClassVar[tuple[str, ...]] = ("y", "z")
    is_separable: ClassVar[bool] = True

    @abstractmethod
    def velocity(self, z: Tensor) -> Tensor:
        """dy/dt."""

    @abstractmethod
    def force(self, y: Tensor, drive: Tensor) -> Tensor:
        """dz/dt."""

    def __call__(self, state: State, drive: Tensor) -> State:
        y, z = state
        velocity, force = torch.broadcast_tensors(self.velocity(z), self.force(y, drive))
        return velocity, force
