"""The pages about Python, from docstrings: one for each room of `odernn` and each public module of `verification`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import odernn

FOLDER = "reference/api"
ROOMS = {
    "odernn.cells": "recurrent networks as torch modules",
    "odernn.bounds": "what is proved of a network with its weights",
    "odernn.fields": "right-hand sides, with Jacobians and constants",
    "odernn.integrators": "one step of any method on any field",
    "odernn.tableaus": "methods: the catalogue, families, files",
    "odernn.properties": "what a method is, decided exactly",
    "odernn.certificate": "a property, whether it holds, and the evidence",
    "odernn.executions": "ways to compute one recurrence",
    "odernn.orthogonal": "orthogonal and unitary weights",
    "odernn.architecture": "architectures as cyclic graphs",
    "odernn.published": "what the papers print, and how a source is cited",
    "odernn.exact": "numbers that decide",
}
BESIDE = {
    "odernn.cells": ["odernn.cells.recurrent"],
    "odernn.executions": ["odernn.executions.recurrence"],
    "odernn.tableaus": ["odernn.tableaus.families", "odernn.tableaus.files"],
}
"""Modules that a room's page has besides what the room itself offers."""
TRIAL = {
    "verification.cli": "the command as a function",
    "verification.monitors": "bounds while a network learns",
    "verification.trained.loading": "a checkpoint and its data",
    "verification.trained.trial": "a trained network on trial",
    "verification.training.configuration": "what is trained, and how",
    "verification.training.loop": "training",
    "verification.tasks": "where sequences come from",
    "verification.tasks.task": "what a task loads",
    "verification.claim": "what a claim file says",
    "verification.parameters": "what a case may be asked about",
    "verification.kinds": "kinds of parameters",
    "verification.registry": "claims by their ids",
    "verification.verdict": "verdicts, and how they add up",
    "verification.witness.file": "the file of a counterexample",
    "verification.witness.check": "deciding it again",
}


def pages() -> dict[str, str]:
    """Each page by its name below docs/, without ".md"; the first one is the table of the others."""
    documented: set[int] = set()
    made = {f"{FOLDER}/{name}": page(name, documented) for name in [*ROOMS, *TRIAL]}
    return {f"{FOLDER}/index": index(), **made}


def names() -> list[str]:
    """The names of those pages."""
    return [f"{FOLDER}/{name}" for name in ["index", *ROOMS, *TRIAL]]


def index() -> str:
    """The page that leads to the others, and says where every name of `odernn` stands."""
    lines = ["# Python", "", "Names, types and what they mean, from the docstrings of the code.", ""]
    for title, group in (("`odernn`, the objects", ROOMS), ("`verification`, the trial", TRIAL)):
        lines += [f"## {title}", "", "| module | what it has |", "|:--|:--|"]
        lines += [f"| [{name}]({name}.md) | {what} |" for name, what in group.items()] + [""]
    lines += ["## What `from odernn import …` offers", "", "| name | stands in |", "|:--|:--|"]
    lines += [f"| {{py:obj}}`odernn.{name}` | [{room}]({room}.md) |" for name, room in sorted(exports().items())]
    return "\n".join(lines) + "\n"


def exports() -> dict[str, str]:
    """The names that `odernn` offers, no modules, and the room of each."""
    return {
        name: room_of(getattr(odernn, name))
        for name in odernn.__all__
        if not name.startswith("_") and not inspect.ismodule(getattr(odernn, name))
    }


def room_of(thing: Any) -> str:
    """The room that an object was defined in. Raises LookupError where no page of the reference is its room's."""
    home = str(thing.__module__)
    if home == "flint.types.fmpq":  # Q, which is not ours
        return "odernn.tableaus"
    for room in ROOMS:
        if f"{home}.".startswith(f"{room}."):
            return room
    raise LookupError(f"{thing} of {home} is public but belongs to no page of the reference. Name its room in ROOMS.")


def page(name: str, documented: set[int]) -> str:
    """The page of one module; what another page has already is not described twice."""
    module = importlib.import_module(name)
    lines = [f"# {name}", "", "```{eval-rst}", f".. automodule:: {name}", "   :no-members:", ""]
    lines += list(_entries(list(offered(module)), documented, module=name))
    for below in submodules(module):
        lines += ["```", "", f"## {below.__name__}", "", "```{eval-rst}"]
        lines += [f".. automodule:: {below.__name__}", "   :no-members:", ""]
        lines += list(_entries(list(offered(below)), documented, module=below.__name__))
    return "\n".join([*lines, "```"]) + "\n"


def offered(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public names of a module and what they are: those it says it offers, else classes and functions made in it."""
    room = module.__name__
    if room in ROOMS:
        yield from ((f"odernn.{name}", getattr(odernn, name)) for name, home in exports().items() if home == room)
    if hasattr(module, "__all__"):
        for name in module.__all__:
            if not inspect.ismodule(getattr(module, name)):
                yield f"{room}.{name}", getattr(module, name)
    else:
        for name, thing in vars(module).items():
            made_here = inspect.isclass(thing) or inspect.isfunction(thing)
            if made_here and not name.startswith("_") and thing.__module__ == room:
                yield f"{room}.{name}", thing


def submodules(module: ModuleType) -> list[ModuleType]:
    """Modules that a module offers by name, and those beside it, that say anything."""
    offers = [getattr(module, name) for name in getattr(module, "__all__", ()) if module.__name__ in ROOMS]
    modules = [thing for thing in offers if inspect.ismodule(thing) and thing.__name__.startswith(module.__name__)]
    return [*modules, *map(importlib.import_module, BESIDE.get(module.__name__, ()))]


def _entries(things: list[tuple[str, Any]], documented: set[int], *, module: str) -> Iterator[str]:
    """A directive for each that nobody has described."""
    for name, thing in things:
        if id(thing) in documented:
            continue
        documented.add(id(thing))
        if inspect.isclass(thing):
            yield from (f".. autoclass:: {name}", "   :members:")
            yield from ("   :show-inheritance:", "") if thing.__bases__ != (object,) else ("",)
        elif callable(thing):
            yield from (f".. autofunction:: {name}", "")
        else:
            yield from (f".. autodata:: {name}", "")
