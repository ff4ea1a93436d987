"""What may be typed after ``odernn verify``: its own options, beside those that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ClaimArgument: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="CLAIM", help="Ids of claims; all if none is named.")
]
BudgetOption: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="smoke, standard or deep.")]
SeedOption: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Where all randomness comes from.")]
JobsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        show_default=False,
        help="Worker processes; 0 works in this one.  [default: one a core]",
    ),
]
JobSecondsOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="N",
        min=0.1,
        show_default=False,
        help="The longest that a job may take; its cells are errors then, and the rest goes on.  "
        "[default: 3600, 21600 or 86400 by budget]",
    ),
]
JobMemoryOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="GIB",
        min=0.1,
        show_default=False,
        help="The most that a job may hold, likewise.  [default: its share of the machine, at least 4]",
    ),
]
DeviceOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="Where states are searched and measured: cpu, cuda or cuda:N.")
]
EngineOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help='Where jobs run: local, or dask://HOST:PORT (needs "odernn[cluster]").')
]
ShardOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="I/N", help="Only the I-th of N parts, into a store for `odernn merge`."),
]
OwnStoreOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="The file with all results.  [default: odernn.sqlite, or odernn-I-of-N.sqlite]",
    ),
]
TaskOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Real input: digits or mnist; with --checkpoint or --model any task.  "
        "[default: digits, or the checkpoint's]",
    ),
]
DownloadOption: TypeAlias = Annotated[
    bool, typer.Option("--download", help="Fetch MNIST's files into that folder first.")
]
ResultFormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="In the place of the screen the whole table: text, github, latex, csv or json.",
    ),
]
AllOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--full",
        help="In the place of the screen every refutation, and a table with a row for every quantity and its point.",
    ),
]
QuietOption: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print the last line of the screen only.")]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="In the place of the screen JSON lines, one judgement a line.")
]
ExpectOption: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Verdicts to compare with; exit code 1 if one differs.")
]
WitnessesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where witnesses go.  [default: witnesses, beside the store]"),
]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Instead of the claims, what holds for this trained network: a folder of "
        "`odernn train`, a .safetensors, or a .pt with tensors only.",
    ),
]
ConfigOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="With --checkpoint: a TOML file whose [network] describes it."),
]
RowOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --config: the row of a file with rows.")
]
RootOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="With --checkpoint or --model: the folder of the task's files (else $ODERNN_DATA)."
    ),
]
SettingsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="With --checkpoint or --model: an option of the task; may be repeated."
    ),
]
SequencesOption: TypeAlias = Annotated[
    int, typer.Option(metavar="K", min=1, help="With --checkpoint, or --model and --task: so many of the test split.")
]
ModelOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE:NAME",
        help="Instead of the claims, what the recurrent layers of a torch module of yours do: NAME in a Python file, "
        "which is run; a module, or what makes one without arguments.",
    ),
]
InputsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With --model: (time, count, features) in .npy, .npz, .pt, or .csv (one sequence)."
    ),
]
TargetsOption: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --model: classes or numbers, if not beside the inputs.")
]
WeightsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --model: its state_dict, a .pt with tensors only or a .safetensors."),
]
BatchFirstOption: TypeAlias = Annotated[
    bool, typer.Option("--batch-first", help="With --model: inputs are (count, time, features).")
]
