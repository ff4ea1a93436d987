"""Vector fields x' = f(x; drive): one file a field, or a family that shares its algebra.

====================== ========================================= ======================= ==========================
field                  right-hand side                           energy                  source
====================== ========================================= ======================= ==========================
Oscillator             y' = z,  z' = −[tanh(w ⊙ y + x) + α y]    conserved               UnICORNN, 2021
CoupledOscillator      y' = z,                                   none                    coRNN, 2021
                       z' = tanh(W y + W_z z + x) − γ y − ε z
Antisymmetric          y' = tanh(A y + x),  A = W − Wᵀ − γ I     non-increasing          AntisymmetricRNN, 2019
GatedAntisymmetric     y' = σ̂(A y + x_g) ⊙ tanh(A y + x)         none                    AntisymmetricRNN, 2019
SkewLinear             y' = (W − Wᵀ) y + x                       conserved at x = 0      Cayley map, scoRNN 2018
LinearOscillator       y' = z,  z' = x − A ⊙ y                   conserved               LinOSS, 2025
Monotone               y' = −Kᵀ tanh(K y + x)                    non-increasing          gradient flow
Semilinear             y' = A y + tanh(W y + x)                  none                    Lipschitz RNN, 2021
SeparableHamiltonian   y' = Lᵀ tanh(L z),                        conserved               this library
                       z' = −Kᵀ tanh(K y + x)
====================== ========================================= ======================= ==========================

    >>> from odernn import fields
    >>> fields.get("skew_linear") is fields.SkewLinear
    True

Importing this package imports no field. ``names`` and ``get`` scan the folder: a field is a concrete subclass of
``field.Field`` in a file whose name does not start with an underscore, and its name is the class's in snake case.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odernn.fields.antisymmetric import Antisymmetric, GatedAntisymmetric
    from odernn.fields.coupled_oscillator import CoupledOscillator
    from odernn.fields.field import Field
    from odernn.fields.hamiltonian import SeparableHamiltonian
    from odernn.fields.linear_oscillator import LinearOscillator
    from odernn.fields.monotone import Monotone
    from odernn.fields.oscillator import Oscillator
    from odernn.fields.semilinear import Semilinear
    from odernn.fields.skew_linear import SkewLinear

__all__ = [
    "Antisymmetric",
    "CoupledOscillator",
    "GatedAntisymmetric",
    "LinearOscillator",
    "Monotone",
    "Oscillator",
    "Semilinear",
    "SeparableHamiltonian",
    "SkewLinear",
    "get",
    "names",
]

_CONTRACT = "field"


@functools.cache
def _catalogue() -> dict[str, type[Field]]:
    """Every field of the folder by its class name."""
    contract: type[Field] = importlib.import_module(f"{__name__}.{_CONTRACT}").Field
    modules = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    classes = (
        value
        for stem in sorted(modules)
        if stem != _CONTRACT
        for value in vars(importlib.import_module(f"{__name__}.{stem}")).values()
        if inspect.isclass(value) and value.__module__ == f"{__name__}.{stem}"
    )
    return {
        field_class.__name__: field_class
        for field_class in classes
        if issubclass(field_class, contract)
        and not inspect.isabstract(field_class)
        and not field_class.__name__.startswith("_")
    }


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def names() -> tuple[str, ...]:
    """The names of all fields in snake case, sorted."""
    return tuple(sorted(_snake_case(name) for name in _catalogue()))


def get(name: str) -> type[Field]:
    """The class of the field of that name. Raises KeyError with the nearest name."""
    for class_name, field_class in _catalogue().items():
        if _snake_case(class_name) == name:
            return field_class
    near = difflib.get_close_matches(_snake_case(name), names(), n=1)
    advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names())}."
    raise KeyError(f'No field is called "{name}". {advice}')


def __getattr__(name: str) -> Any:
    # Class names only: Python asks for __path__, __wrapped__ and submodules here, too, and those must cost nothing.
    if name[:1].isupper() and name in _catalogue():
        globals()[name] = _catalogue()[name]
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. It offers: {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted(__all__)
