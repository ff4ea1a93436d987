"""``odernn doctor``: what is installed, what runs here, and why the rest does not."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import odernn
from verification.commands.options import STORE, Action, DataOption, FormatOption, StoreOption, WidthOption
from verification.commands.results import rendered
from verification.commands.terminal import DONE, INTERNAL, cores, harmless, out
from verification.report.numbers import plural
from verification.report.table import Cell, Column, Table

NEEDED = {
    "torch": "torch",
    "numpy": "numpy",
    "scipy": "scipy",
    "sympy": "sympy",
    "networkx": "networkx",
    "python-flint": "flint",
    "mpmath": "mpmath",
    "scikit-learn": "sklearn",
    "safetensors": "safetensors",
    "filelock": "filelock",
    "rich": "rich",
}
"""Distribution and the module that it brings."""

OK, MISSING, BROKEN = "ok", "missing", "BROKEN"


@dataclass(frozen=True)
class Finding:
    what: str
    found: str
    state: str = OK
    remark: str = ""


def command(
    store: StoreOption = STORE, data: DataOption = None, format: FormatOption = "text", width: WidthOption = None
) -> Action:
    """Say what is installed, what runs here, and why the rest does not."""
    return Action(lambda: run(store=store, data=data, format=format, width=width))


def run(*, store: Path, data: Path | None, format: str, width: int | None = None) -> int:
    """Exit code 0 unless something is broken that odernn itself needs."""
    findings = [
        Finding("odernn", odernn.__version__),
        Finding("python", platform.python_version()),
        *(_package(name, module) for name, module in NEEDED.items()),
        Finding("platform", platform.platform()),
        Finding("cores", str(cores())),
        *_carefully("arithmetic", _arithmetic),
        *_carefully("executions", _executions),
        *_carefully("name cuda", _cuda_namespace),
        *_carefully("store", lambda: [_store_folder(store), *store_parts(store)]),
        *_carefully("digits", _digits),
        *_carefully("MNIST", lambda: [_mnist(data)]),
    ]
    broken = [finding.what for finding in findings if finding.state == BROKEN]
    table = Table(
        title=f"odernn is broken: {', '.join(broken)}" if broken else "odernn is in order",
        columns=(Column("what"), Column("found"), Column("state"), Column("remark", width=90)),
        rows=tuple(
            (row.what, row.found, Cell("", strong=row.state) if row.state == BROKEN else row.state, row.remark)
            for row in findings
        ),
    )
    out(rendered(table, format, width=width))
    return INTERNAL if broken else DONE


def _carefully(what: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """A doctor does not die of what he finds."""
    try:
        return look()
    except Exception as error:
        return [Finding(what, "–", BROKEN, harmless(f"{type(error).__name__}: {error}"))]


def _package(name: str, module: str) -> Finding:
    try:
        importlib.import_module(module)
    except Exception as error:
        return Finding(name, "–", BROKEN, harmless(f"{type(error).__name__}: {error}"))
    try:
        return Finding(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "unknown version")


def _executions() -> list[Finding]:
    from odernn import executions

    reasons = executions.available()
    return [
        Finding(
            f"execution {name}",
            "no" if reason else "yes",
            (BROKEN if name == "torch" else MISSING) if reason else OK,
            reason or ("the reference" if name == "torch" else ""),
        )
        for name, reason in reasons.items()
    ]


def _arithmetic() -> list[Finding]:
    """What the last bits of a run depend on, and whether they can be trusted."""
    from verification.run import arithmetic

    found, here = arithmetic.surprises(thoroughly=True), arithmetic.environment()
    kept = "to nearest, once; subnormal numbers are kept (no FTZ, no DAZ); asked of Python, numpy, torch, BLAS"
    which = Finding("arithmetic", f"not {arithmetic.IEEE}", BROKEN, f"{'; '.join(found)}. {arithmetic.ADVICE}")
    fused = f"rounded once here, maybe twice elsewhere: torch's {here['fused']}" if here["fused"] else ""
    parts = [(name, of, str(value)) for name in ("threads", "blas", "vectors") for of, value in here[name].items()]
    return [
        which if found else Finding("arithmetic", arithmetic.IEEE, OK, kept),
        *(Finding(f"{name} of {of}", value) for name, of, value in parts),
        Finding("processor", here["processor"], OK, fused),
    ]


def _cuda_namespace() -> list[Finding]:
    """NVIDIA's packages own the namespace ``cuda``; a file ``cuda/__init__.py`` anywhere would hide theirs or ours."""
    name = "name cuda"
    namespace = importlib.util.find_spec("cuda")
    if namespace is not None and namespace.origin is not None:
        remark = f"{namespace.origin} takes the name for itself: remove the package that brought it"
        return [Finding(name, "taken", BROKEN, remark)]
    if namespace is None or importlib.util.find_spec("cuda.odernn_kernels") is None:
        return [Finding(name, "no", BROKEN, "cuda.odernn_kernels is missing: install odernn again")]
    portions = plural(len(list(namespace.submodule_search_locations or ())), "folder")
    return [Finding(name, "shared", OK, f"a namespace of {portions}; our part is cuda.odernn_kernels")]


def _store_folder(store: Path) -> Finding:
    folder = store.parent
    if not folder.is_dir():
        return Finding("store", "no", MISSING, f'folder "{folder}" does not exist; choose another file with --store')
    if not os.access(folder, os.W_OK):
        return Finding("store", "no", MISSING, f'folder "{folder}" is not writable; choose another file with --store')
    return Finding("store", "yes", OK, f"{store} {'exists' if store.exists() else 'can be made'}")


def store_parts(store: Path) -> list[Finding]:
    """Whether all that the store holds is as it was written; a row for each part that is not."""
    if not store.exists():
        return []
    from verification.commands.results import damage
    from verification.run.mending import examined
    from verification.run.store import StoreError

    try:
        found = examined(store)
    except StoreError as error:
        return [Finding("store file", "no", BROKEN, harmless(str(error)))]
    if not found.is_checked:
        remark = "written by an older odernn, without checksums; the next `odernn verify` that writes it adds them"
        return [Finding("store file", plural(len(found.whole), "part"), MISSING, remark)]
    if found.is_sound:
        return [Finding("store file", plural(len(found.whole), "part"), OK, "each as it was written")]
    again = f"the `odernn verify` that wrote it keeps {plural(len(found.whole), 'part')} and does the rest again"
    damaged = [Finding("store part", "–", BROKEN, harmless(line)) for line in damage(found)]
    return [Finding("store file", "damaged", BROKEN, again), *damaged]


def _digits() -> list[Finding]:
    from verification.tasks import digits

    source = digits.load()
    return [Finding("digits", "yes", OK, f"{len(source.images)} images from {source.origin}")]


def _mnist(data: Path | None) -> Finding:
    from verification.tasks import mnist
    from verification.tasks.images import DataError

    folder = data or os.environ.get(mnist.ENVIRONMENT)
    if not folder:
        remark = f"not needed; --task mnist reads the four official files from --data or {mnist.ENVIRONMENT}"
        return Finding("MNIST", "no", MISSING, remark)
    try:
        path = mnist.find(folder, mnist.IMAGES["train"])
    except DataError as error:
        return Finding("MNIST", "no", MISSING, harmless(str(error)))
    return Finding("MNIST", "yes", OK, f"in {path.parent}")
