"""Data sets and synthetic tasks: where real input comes from. One file a task; its stem is the name.

    >>> from verification import tasks
    >>> sequences, targets, spec = tasks.get("adding").load("test", steps=20, count=3)
    >>> sequences.shape, targets.shape
    ((20, 3, 2), (3,))

A file of this folder is a task if its ``load`` begins with the parameters ``split, root`` (``task.py`` says what it
returns). If it also has ``download(folder)``, its files can be fetched. Importing this package imports none of them.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verification.tasks.task import Loaded

SIGNATURE = ("split", "root")


@dataclass(frozen=True)
class Task:
    """A task of the folder.

    name      the stem of its file;  summary  the first line of its docstring
    load      (split, root=None, *, …) -> sequences, targets, spec
    download  fetches the files into a folder and returns where they are; None for a task without files to fetch
    """

    name: str
    summary: str
    load: Callable[..., Loaded]
    download: Callable[[str | Path], Path] | None

    @property
    def options(self) -> Mapping[str, object]:
        """The keywords of ``load`` with their defaults."""
        parameters = inspect.signature(self.load).parameters.values()
        return MappingProxyType({p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY})


@functools.cache
def _all() -> Mapping[str, Task]:
    stems = sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_"))
    modules = {stem: importlib.import_module(f"{__name__}.{stem}") for stem in stems}
    return MappingProxyType({stem: _task(stem, module) for stem, module in modules.items() if _is_task(module)})


def _is_task(module: ModuleType) -> bool:
    load = vars(module).get("load")
    return callable(load) and tuple(inspect.signature(load).parameters)[:2] == SIGNATURE


def _task(stem: str, module: ModuleType) -> Task:
    summary = (module.__doc__ or "").strip().partition("\n")[0]
    return Task(stem, summary, module.load, vars(module).get("download"))


def names() -> tuple[str, ...]:
    """The names of all tasks, sorted."""
    return tuple(_all())


def get(name: str) -> Task:
    """The task of that name; case, blanks and hyphens do not matter. Raises KeyError with the nearest name."""
    spelt = name.strip().casefold().replace(" ", "_").replace("-", "_")
    if spelt not in _all():
        near = difflib.get_close_matches(spelt, names(), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names())}."
        raise KeyError(f'No task is called "{name}". {advice}')
    return _all()[spelt]
