"""The networks whose size the papers print: exact hyperparameters with their source, and parameter counts as printed.

``ROWS`` are the UnICORNN networks of Table 6, complete. ``NETWORKS`` are those of other cells and of the comparisons,
as far as a table gives their size; ``from_paper`` of a cell builds them. Not here, since no count can be made of them:
coRNN, LSTM and others on the vital signs (hidden size not printed), and the LSTM and GRU with skipped updates.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Hyperparameter: TypeAlias = Fraction | bool | str


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One UnICORNN network of Table 6 (Rusch & Mishra 2021, App. A), decimals as exact fractions.

    dt, alpha   Δt of every layer, layer 1 first, and α of all layers
    steps, input_size, hidden_size, num_layers, batch, outputs    N, d, m, L, batch size in training, n_out
    dropout     probability, one mask a sequence, after each layer
    parameters  the number printed in the table of the task, without embedding; None if there is none
    kind        how real input is laid out (``verification.tasks.sequences.build``)
    notes       what the table does not print: "inferred" from the parameter count or the task, "chosen" here
    """

    name: str
    dt: tuple[Fraction, ...]
    alpha: Fraction
    steps: int
    input_size: int
    hidden_size: int
    num_layers: int
    batch: int
    outputs: int
    dropout: Fraction = Fraction(0)
    parameters: str | None = None
    kind: Literal["images", "noise-padded"] = "images"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.dt) != self.num_layers:
            raise ValueError(f"published row {self.name!r}: {len(self.dt)} values of dt for {self.num_layers} layers")


def _every(dt: str, num_layers: int) -> tuple[Fraction, ...]:
    return (Fraction(dt),) * num_layers


ROWS: tuple[PublishedRow, ...] = (
    PublishedRow(
        name="nCIFAR",
        dt=_every("0.126", 3),
        alpha=Fraction("13.0"),
        dropout=Fraction("0.1"),
        parameters="47k",
        steps=1000,
        input_size=96,
        hidden_size=128,
        num_layers=3,
        batch=30,
        outputs=10,
        kind="noise-padded",
        notes=("d = 96 inferred",),
    ),
    PublishedRow(
        name="psMNIST-128",
        dt=_every("0.482", 3),
        alpha=Fraction("12.53"),
        dropout=Fraction("0.1"),
        parameters="35k",
        steps=784,
        input_size=1,
        hidden_size=128,
        num_layers=3,
        batch=64,
        outputs=10,
    ),
    PublishedRow(
        name="psMNIST-256",
        dt=_every("0.19", 3),
        alpha=Fraction("30.65"),
        dropout=Fraction("0.1"),
        parameters="135k",
        steps=784,
        input_size=1,
        hidden_size=256,
        num_layers=3,
        batch=32,
        outputs=10,
    ),
    PublishedRow(
        name="IMDB",
        dt=(Fraction("6.6e-3"), Fraction("0.205")),
        alpha=Fraction("0.0"),
        dropout=Fraction("0.61"),
        steps=500,
        input_size=100,
        hidden_size=128,
        num_layers=2,
        batch=32,
        outputs=1,
        parameters="30k",
        notes=("N = 500 chosen", "n_out = 1 inferred"),
    ),
    PublishedRow(
        name="EigenWorms",
        dt=(Fraction("2.81e-5"), Fraction("0.0343")),
        alpha=Fraction("0.0"),
        dropout=Fraction("0.0"),
        steps=17984,
        input_size=6,
        hidden_size=32,
        num_layers=2,
        batch=8,
        outputs=5,
        parameters="1.5k",
    ),
    PublishedRow(
        name="RR",
        dt=_every("0.011", 3),
        alpha=Fraction("9.0"),
        dropout=Fraction("0.1"),
        steps=4000,
        input_size=2,
        hidden_size=128,
        num_layers=3,
        batch=32,
        outputs=1,
        notes=("m = 128 inferred",),
    ),
    PublishedRow(
        name="HR",
        dt=_every("0.046", 3),
        alpha=Fraction("10.0"),
        dropout=Fraction("0.1"),
        steps=4000,
        input_size=2,
        hidden_size=128,
        num_layers=3,
        batch=32,
        outputs=1,
        notes=("m = 128 inferred",),
    ),
)


def row(name: str) -> PublishedRow:
    """The row of that name; otherwise a LookupError that suggests the nearest."""
    by_name = {r.name: r for r in ROWS}
    if name in by_name:
        return by_name[name]
    raise LookupError(f"no published row {name!r}. {_hint(name, by_name)}Table 6 has: {', '.join(by_name)}.")


def _hint(name: str, names: Iterable[str]) -> str:
    """ "Did you mean …? ", or nothing if no name is near."""
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.4)
    return f"Did you mean {lower[near[0]]!r}? " if near else ""


@dataclass(frozen=True, kw_only=True)
class PublishedNetwork:
    """One network of a table: its size, the number of parameters printed, and hyperparameters if a source is known.

    cell             stem of the cell's file, or "lstm" and "gru": those of torch.nn
    name             of the task, with the hidden size where a table has several; unique among those of its cell
    table            where size and count are printed: key of ``odernn.published.sources`` and place
    parameters       as printed, "134k", without embedding
    hyperparameters  keyword arguments of the constructor of the cell, numbers exact
    source           where the hyperparameters are from, or why some are missing
    notes            "inferred", or what else the table leaves open
    """

    cell: str
    name: str
    table: str
    hidden_size: int
    num_layers: int = 1
    input_size: int
    outputs: int
    parameters: str
    hyperparameters: Mapping[str, Hyperparameter] = field(default_factory=dict, hash=False)
    source: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hyperparameters", MappingProxyType(dict(self.hyperparameters)))


def _cornn(dt: str, gamma: str, epsilon: str) -> dict[str, Hyperparameter]:
    return {"dt": Fraction(dt), "gamma": Fraction(gamma), "epsilon": Fraction(epsilon), "damping": "explicit"}


_CORNN_CODE = "defaults of {} in tk-rusch/coRNN, the authors' code, whose damping is explicit"
_CORNN_NONE = "dt, gamma and epsilon are neither in the paper that prints this row nor in the authors' code of coRNN."
_CHANG_NONE = (
    "the step size and γ of this row are not known: Chang et al. 2019, App. C, search ε in {0.01, 0.1, 1} and γ, and "
    "the table that prints the row gives neither."
)


def _cornn_networks() -> Iterator[PublishedNetwork]:
    """Rusch & Mishra's coRNN as the UnICORNN paper compares with it."""
    yield PublishedNetwork(
        cell="cornn",
        name="psMNIST",
        table="icml Table 1",
        hidden_size=256,
        input_size=1,
        outputs=10,
        parameters="134k",
        hyperparameters=_cornn("0.076", "0.4", "8.0"),
        source=_CORNN_CODE.format("psMNIST/psMNIST_task.py") + "; its log ends at the printed accuracy, 97.34%",
    )
    yield PublishedNetwork(
        cell="cornn",
        name="nCIFAR",
        table="icml Table 2",
        hidden_size=128,
        input_size=96,
        outputs=10,
        parameters="46k",
        hyperparameters=_cornn("0.034", "1.3", "12.7"),
        source=_CORNN_CODE.format("noisy_CIFAR10/noisy_cifar10_task.py"),
    )
    yield PublishedNetwork(
        cell="cornn",
        name="EigenWorms",
        table="icml Table 3",
        hidden_size=32,
        input_size=6,
        outputs=5,
        parameters="2.4k",
        source=_CORNN_NONE,
    )
    yield PublishedNetwork(
        cell="cornn",
        name="IMDB",
        table="icml Table 5",
        hidden_size=128,
        input_size=100,
        outputs=1,
        parameters="46k",
        hyperparameters=_cornn("0.054", "4.9", "4.8"),
        source=_CORNN_CODE.format("IMDB/IMDB_task.py"),
    )
    yield PublishedNetwork(
        cell="cornn",
        name="Lorenz96",
        table="icml Table 7",
        hidden_size=64,
        input_size=5,
        outputs=5,
        parameters="9k",
        source=_CORNN_NONE,
        notes=("n_out = 5 inferred",),
    )


def _antisymmetric_networks() -> Iterator[PublishedNetwork]:
    for name, gated, parameters in (("nCIFAR", False, "36k"), ("nCIFAR gated", True, "37k")):
        yield PublishedNetwork(
            cell="antisymmetric",
            name=name,
            table="icml Table 2",
            hidden_size=256,
            input_size=96,
            outputs=10,
            parameters=parameters,
            hyperparameters={"gated": gated},
            source=_CHANG_NONE,
        )


def _unicornn_networks() -> Iterator[PublishedNetwork]:
    """The one whose Δt and α are in no table; the others are ``ROWS``."""
    yield PublishedNetwork(
        cell="unicornn",
        name="Lorenz96",
        table="icml Table 7",
        hidden_size=90,
        num_layers=2,
        input_size=5,
        outputs=5,
        parameters="9k",
        source="dt and alpha of this row are not printed: Table 6 does not have the task.",
        notes=("n_out = 5 inferred",),
    )


def _scornn_networks() -> Iterator[PublishedNetwork]:
    """rho, the number of −1 in D, as the fraction of n that the text states: it need not be an integer."""

    def network(
        name: str, table: str, n: int, d: int, outputs: int, parameters: str, rho: str, source: str
    ) -> PublishedNetwork:
        return PublishedNetwork(
            cell="scornn",
            name=name,
            table=table,
            hidden_size=n,
            input_size=d,
            outputs=outputs,
            parameters=parameters,
            hyperparameters={"rho": n * Fraction(rho)},
            source=source,
        )

    for n, parameters in ((170, "16k"), (360, "69k"), (512, "137k")):
        yield network(f"MNIST-{n}", "scornn Table 1", n, 1, 10, parameters, "1/10", "rho = n/10: with the table")
        yield network(f"psMNIST-{n}", "scornn Table 1", n, 1, 10, parameters, "1/2", "rho = n/2: with the table")
    for n, parameters in ((224, "83k"), (322, "135k"), (425, "200k")):
        yield network(f"TIMIT-{n}", "scornn Table 2", n, 129, 129, parameters, "1/10", "rho = n/10: with the table")
    yield network("copying", "scornn Sec. 5.1", 190, 10, 9, "22k", "1/2", "rho = n/2: scornn Sec. 5.1")
    for length, rho in ((200, "1/2"), (400, "7/10"), (750, "7/10")):
        place = "scornn Sec. 5.2"
        yield network(f"adding-{length}", place, 170, 2, 1, "15k", rho, f"rho = n · {rho}: {place}")


def _gated_networks() -> Iterator[PublishedNetwork]:
    """LSTM and GRU: no hyperparameters of the recurrence."""
    table = """
        lstm  psMNIST     256    1   10   270k    icml Table 1
        gru   psMNIST     256    1   10   200k    icml Table 1
        lstm  nCIFAR      128   96   10    64k    icml Table 2
        lstm  EigenWorms   32    6    5    5.3k   icml Table 3
        lstm  IMDB        128  100    1   220k    icml Table 5
        gru   IMDB        128  100    1    99k    icml Table 5
        lstm  Lorenz96     44    5    5     9k    icml Table 7
        lstm  MNIST-128   128    1   10    68k    scornn Table 1
        lstm  MNIST-256   256    1   10   270k    scornn Table 1
        lstm  MNIST-512   512    1   10 1,058k    scornn Table 1
        lstm  TIMIT-84     84  129  129    83k    scornn Table 2
        lstm  TIMIT-120   120  129  129   135k    scornn Table 2
        lstm  TIMIT-158   158  129  129   200k    scornn Table 2
        lstm  copying      68   10    9    22k    scornn Sec. 5.1
        lstm  adding       60    2    1    15k    scornn Sec. 5.2
    """
    for line in table.strip().splitlines():
        cell, name, n, d, outputs, parameters, place = line.split(maxsplit=6)
        yield PublishedNetwork(
            cell=cell,
            name=name,
            table=place,
            hidden_size=int(n),
            input_size=int(d),
            outputs=int(outputs),
            parameters=parameters,
        )


NETWORKS: tuple[PublishedNetwork, ...] = (
    *_cornn_networks(),
    *_antisymmetric_networks(),
    *_unicornn_networks(),
    *_scornn_networks(),
    *_gated_networks(),
)


def networks(cell: str) -> tuple[PublishedNetwork, ...]:
    """Those of one cell, in the order of the tables; a LookupError that suggests the nearest if it has none."""
    of_cell = tuple(published for published in NETWORKS if published.cell == cell)
    if not of_cell:
        cells = dict.fromkeys(published.cell for published in NETWORKS)
        known = ", ".join(cells)
        raise LookupError(f"no published network of a cell {cell!r}. {_hint(cell, cells)}There are: {known}.")
    return of_cell


def network(cell: str, name: str) -> PublishedNetwork:
    """The network of that cell and name; otherwise a LookupError that suggests the nearest."""
    by_name = {published.name: published for published in networks(cell)}
    if name in by_name:
        return by_name[name]
    raise LookupError(
        f"no published {cell} network {name!r}. {_hint(name, by_name)}The tables have: {', '.join(by_name)}."
    )


def arguments(cell: str, name: str, overrides: Mapping[str, Any], *, required: Iterable[str] = ()) -> dict[str, Any]:
    """What the constructor of the cell takes for a printed network, ``overrides`` last; fractions become floats.

    Raises LookupError for an unknown name, TypeError where an argument in ``required`` is neither printed nor given.
    """
    published = network(cell, name)
    sizes = {
        "input_size": published.input_size,
        "hidden_size": published.hidden_size,
        "num_layers": published.num_layers,
    }
    exact = published.hyperparameters.items()
    printed = {key: float(value) if isinstance(value, Fraction) else value for key, value in exact}
    merged: dict[str, Any] = {**sizes, **printed, **overrides}
    missing = [argument for argument in required if argument not in merged]
    if missing:
        raise TypeError(
            f"The {cell} network {name!r} is printed without {', '.join(missing)}: {published.source} "
            f"Give them: from_paper({name!r}, {', '.join(f'{argument}=…' for argument in missing)})."
        )
    return merged


class Recurrent(Protocol):
    """torch.nn.LSTM, torch.nn.GRU, and the cells of this library."""

    hidden_size: int
    bidirectional: bool

    def parameters(self) -> Iterator[Tensor]: ...


def parameter_count(module: Recurrent, outputs: int, readout_bias: bool = True) -> int:
    """Parameters of the module and of an affine readout of its last output: (features + 1) · outputs more.

    torch.nn.LSTM and GRU have two bias vectors where the equations have one: 4 or 3 times the hidden size more.
    """
    features = module.hidden_size * (2 if module.bidirectional else 1)
    return sum(parameter.numel() for parameter in module.parameters()) + (features + int(readout_bias)) * outputs


def agrees(count: int, printed: str) -> bool:
    """Whether a count reads as printed when it is rounded or cut off at the last printed digit: 135,434 is "135k"."""
    digits = printed.removesuffix("k").replace(",", "")
    unit = Fraction(1000, 10 ** len(digits.partition(".")[2]))
    value = Fraction(digits) * 1000
    return value - unit / 2 <= count < value + unit


def agrees_to_tens(count: int, printed: str) -> bool:
    """Whether the last 0 of "270k" only holds its place: a count agrees if it reads so to tens of thousands, rounded or
    cut off, as 267,786 and 276,000 do. False for a printed number without such a 0, "137k" or "5.0k".
    """
    digits = printed.removesuffix("k").replace(",", "")
    if not printed.endswith("0k") or "." in digits:
        return False
    return Fraction(digits) * 1000 - 5000 <= count < Fraction(digits) * 1000 + 10000
