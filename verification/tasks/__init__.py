"""Data sets and synthetic tasks: where real input comes from. One file a task; its stem is the name.

    >>> from verification import tasks
    >>> sequences, targets, spec = tasks.get("adding").load("test", steps=20, count=3)
    >>> sequences.shape, targets.shape
    ((20, 3, 2), (3,))

A file of this folder is a task if its ``load`` begins with the parameters ``split, root`` (``task.py`` says what it
returns). If it also has ``download(folder)``, its files can be fetched. Importing this package imports none of them.
A task of one's own is such a file in any folder: ``tasks.get("mine", extra=["my_tasks"])``.
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
    from odernn.folders import Folders
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
    stems = sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
    modules = {stem: importlib.import_module(f"{__name__}.{stem}") for stem in stems}
    return MappingProxyType({stem: _task(stem, module) for stem, module in modules.items() if _is_task(module)})


def _is_task(module: ModuleType) -> bool:
    load = vars(module).get("load")
    return callable(load) and tuple(inspect.signature(load).parameters)[:2] == SIGNATURE


def _task(stem: str, module: ModuleType) -> Task:
    summary = (module.__doc__ or "").strip().partition("\n")[0]
    return Task(stem, summary, module.load, vars(module).get("download"))


def names(extra: Folders = ()) -> tuple[str, ...]:
    """The names of all tasks of the package, and of the extra folders' files; sorted."""
    return tuple(sorted((*_all(), *_own(extra))))


def _own(extra: Folders) -> Mapping[str, Path]:
    """The tasks of these folders by name, with their files. FolderError for a name that is taken."""
    folders = tuple(extra)
    if not folders:
        return {}
    from odernn.folders import by_stem

    return by_stem("task", folders, Path(__file__).parent, _spelling)


def file_of(name: str, extra: Folders) -> Path | None:
    """The file of that task in the extra folders; None for a task of the package."""
    return _own(extra).get(_spelling(name))


def get(name: str, extra: Folders = ()) -> Task:
    """The task of that name, in the package or in a file of the extra folders; case, blanks, hyphens do not matter.

    Raises KeyError with the nearest name; FolderError for a folder or a file that is not what it must be.
    """
    folders = tuple(extra)
    spelling, mine = _spelling(name), _own(folders)
    if spelling in mine:
        return _loaded(spelling, mine[spelling])
    if spelling not in _all():
        near = difflib.get_close_matches(spelling, names(folders), n=1)
        advice = f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(names(folders))}."
        raise KeyError(f'No task is called "{name}". {advice}')
    return _all()[spelling]


def _spelling(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def _loaded(name: str, path: Path) -> Task:
    """The task of somebody's file."""
    from odernn.folders import FolderError, load

    module = load("task", path)
    if not _is_task(module):
        raise FolderError(
            f'Task file "{path}" exports no load(split, root, ...). Write one that returns sequences, targets and a '
            "TaskSpec; see docs/adding.md."
        )
    return _task(name, module)
