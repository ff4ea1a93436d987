"""Claims: published statements in the form in which they are put to the test, and their registry.

A claim file is a Python file in ``verification/claims`` (or in a folder given with ``--claims``) that exports
``CLAIMS``. Nothing in a claim says what the verdict will be.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.util
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from odernn.bounds.numbers import Exact, Numbers
from odernn.tableau import Source
from verification.system import UNICORNN, System

if TYPE_CHECKING:
    from verification.question import Question

QUANTITIES = ("position", "momentum")
NORMS = ("max", "euclidean")


class ClaimError(ValueError):
    """A claim that cannot be found, loaded or told from another one."""


@dataclass(frozen=True)
class Setting:
    """The quantities that premises and bounds may use, as numbers of one namespace.

    Published bounds speak of dt: t_n = ``time`` = n·dt and T = ``horizon`` = N·dt. Sharp ones speak of the effective
    steps h = dt·σ̂(c), one a neuron group (``step_sizes``). ``step`` is n (an int, or an array 1..N for floats).
    """

    alpha: Any
    dt: Any
    step: Any
    steps: Any
    hidden_size: int
    step_sizes: Any
    time: Any
    horizon: Any

    @staticmethod
    def of(
        numbers: Numbers, *, alpha: Exact, dt: Exact, step: Any, steps: int, hidden_size: int, step_sizes: Any
    ) -> Setting:
        """The setting of step n of an N-step run with nominal step dt."""
        dt_number = numbers.exact(dt)
        return Setting(
            numbers.exact(alpha), dt_number, step, steps, hidden_size, step_sizes, step * dt_number, steps * dt_number
        )


@dataclass(frozen=True)
class Premise:
    """A hypothesis as a margin: it holds where margin > 0 (or ≥ 0 if ``strict`` is False).

    ``second_margin(setting, iv)`` is the margin typed independently for mpmath's intervals, as ``Part.second_bound`` is
    the bound. Without it the second back-end cannot prove the premise, so that no violation is certified.
    """

    text: str
    margin: Callable[[Setting, Numbers], Any]
    strict: bool = True
    second_margin: Callable[[Any, Any], Any] | None = None

    def holds(self, margin: Any) -> bool:
        """Certain for balls: False also means "not proved"."""
        return bool(margin > 0 if self.strict else margin >= 0)


@dataclass(frozen=True)
class Part:
    """One inequality of a claim: log ‖quantity of layer l at step n‖ ≤ bound, for every n ≤ N and every layer.

    ``bound(setting, numbers)`` returns a natural logarithm. ``second_bound(setting, iv)`` is the same bound typed
    independently for mpmath's interval context; ``setting`` then is a plain namespace of intervals.
    """

    quantity: str
    norm: str
    bound: Callable[[Setting, Numbers], Any]
    second_bound: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if self.quantity not in QUANTITIES or self.norm not in NORMS:
            raise ClaimError(
                f"Part ({self.quantity!r}, {self.norm!r}): quantity is one of {QUANTITIES}, norm one of {NORMS}."
            )

    @property
    def symbol(self) -> str:
        letter = {"position": "yₙ", "momentum": "zₙ"}[self.quantity]
        return f"max abs({letter})" if self.norm == "max" else f"‖{letter}‖₂"


@dataclass(frozen=True)
class Claim:
    """A statement on trial.

    ``asymptotic`` says that the statement is meant for dt → 0 ("dt ≪ 1 sufficiently small"); it then is tried at the
    printed values and in the limit. ``origin`` is "published" or "library" (a theorem of this library, with a proof).
    ``dominated_by`` may name a sharper theorem: an annotation, never a verdict.
    """

    id: str
    source: Source
    statement: str
    parts: tuple[Part, ...]
    premises: tuple[Premise, ...] = ()
    asymptotic: bool = False
    origin: str = "published"
    system: System = UNICORNN
    dominated_by: str = ""
    version: int = 1

    @property
    def slug(self) -> str:
        return slug(self.id)

    @property
    def second_premises(self) -> tuple[tuple[str, Callable[[Any, Any], Any] | None, bool], ...]:
        """(text, margin typed again, strict) of every premise: what the second back-end is asked."""
        return tuple((each.text, each.second_margin, each.strict) for each in self.premises)


def slug(identifier: str) -> str:
    """Lower case, runs of other characters become ``-``."""
    return re.sub(r"[^a-z0-9]+", "-", identifier.lower()).strip("-")


@dataclass(frozen=True)
class Registered:
    """A claim and where it came from.

    ``digest`` is the SHA-256 of its file's text; in a user's folder, of all Python files there, which it may import.
    """

    claim: Claim
    path: Path
    digest: str


_CLAIMS = Path(__file__).parent / "claims"


@dataclass(frozen=True)
class RegisteredQuestion:
    """A question and where it came from; ``digest`` as of a claim."""

    question: Question
    path: Path
    digest: str


class Registry:
    """All claims and questions by id, from the package's folder and any extra folders. Ids and slugs are unique.

    Iteration is over the claims; ``questions`` are the others.

    >>> Registry().get("icml-C.1").claim.source.key
    'icml'
    """

    def __init__(self, extra: tuple[Path, ...] = ()) -> None:
        self._by_id: dict[str, Registered] = {}
        self._questions: dict[str, RegisteredQuestion] = {}
        self._by_slug: dict[str, str] = {}
        self._systems = {UNICORNN.name: UNICORNN}
        for folder in (_CLAIMS, *extra):
            if not folder.is_dir():
                raise ClaimError(f'Claims folder "{folder}" does not exist. Give a folder of claim files to --claims.')
            files = sorted(folder.glob("*.py"))
            for path in files:
                if not path.name.startswith("_"):
                    self._add_file(path, files if folder in extra else [path])

    def _add_file(self, path: Path, read: list[Path]) -> None:
        digest = hashlib.sha256(b"\0".join([path.name.encode(), *(each.read_bytes() for each in read)])).hexdigest()
        module = _load(path, digest)
        claims, questions = _exported(module, path)
        for claim in claims:
            self._check_system(claim, path)
            self._name(claim.id, claim.slug, "Claim", path)
            self._by_id[claim.id] = Registered(claim, path, digest)
        for question in questions:
            self._name(question.id, question.slug, "Question", path)
            self._questions[question.id] = RegisteredQuestion(question, path, digest)

    def _name(self, identifier: str, short: str, kind: str, path: Path) -> None:
        """Take the id and the slug, or say that one of them is taken."""
        taken = {*self._by_id, *self._questions}
        for known, key in ((taken, identifier), (self._by_slug, short)):
            if key in known:
                raise ClaimError(f'{kind} "{identifier}" in "{path}": the name "{key}" is taken. Choose another id.')
        self._by_slug[short] = identifier

    def _check_system(self, claim: Claim, path: Path) -> None:
        """Searches find a system by its name, certificates by the claim: one name must mean one system."""
        known = self._systems.setdefault(claim.system.name, claim.system)
        if known is not claim.system:
            raise ClaimError(
                f'Claim "{claim.id}" in "{path}": another system is already called "{claim.system.name}". '
                "Rename this one."
            )

    def __iter__(self) -> Iterator[Registered]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def system(self, name: str) -> System:
        """The built-in system or the one that a claim file brings; ClaimError if there is none of that name."""
        if name not in self._systems:
            raise ClaimError(f'No claim file brings a system named "{name}". Known are {", ".join(self._systems)}.')
        return self._systems[name]

    def questions(self) -> Iterator[RegisteredQuestion]:
        """All questions, in the order of their files."""
        return iter(self._questions.values())

    def get(self, name: str) -> Registered:
        """The claim with this id or slug; ClaimError with the nearest id otherwise."""
        found = self.find(name)
        if isinstance(found, RegisteredQuestion):
            raise ClaimError(f'"{name}" is a question, with checks of its own, and no bound on hidden states.')
        return found

    def get_question(self, name: str) -> RegisteredQuestion:
        """The question with this id or slug; ClaimError otherwise."""
        found = self.find(name)
        if isinstance(found, Registered):
            raise ClaimError(f'"{name}" is a bound on hidden states, and no question with checks of its own.')
        return found

    def find(self, name: str) -> Registered | RegisteredQuestion:
        """The claim or question with this id or slug; ClaimError with the nearest id otherwise."""
        known: dict[str, Registered | RegisteredQuestion] = {**self._by_id, **self._questions}
        if name in known:
            return known[name]
        if slug(name) in self._by_slug and name:
            return known[self._by_slug[slug(name)]]
        near = difflib.get_close_matches(slug(name), self._by_slug, n=1, cutoff=0.0)
        hint = f' Did you mean "{self._by_slug[near[0]]}"?' if near else ""
        raise ClaimError(f'Unknown claim "{name}".{hint} `odernn claims` lists all of them.')


def registry_of(claims_dirs: tuple[str, ...]) -> Registry:
    """The registry for a job. A worker process reads the claim files once, and again if one of them has changed.

    That is a third of a second a job. A process that is nobody's worker reads them each time: it may have changed what
    they import, as tests do.
    """
    folders = tuple(Path(folder) for folder in claims_dirs)
    if multiprocessing.parent_process() is None:
        return Registry(folders)
    files = [path for folder in (_CLAIMS, *folders) for path in sorted(folder.glob("*.py"))]
    return _kept(folders, tuple((path, (stat := path.stat()).st_mtime_ns, stat.st_size) for path in files))


@functools.lru_cache(maxsize=1)
def _kept(folders: tuple[Path, ...], _files: tuple[tuple[Path, int, int], ...]) -> Registry:
    return Registry(folders)


def _exported(module: ModuleType, path: Path) -> tuple[tuple[Claim, ...], tuple[Question, ...]]:
    """What a file exports: ``CLAIMS``, ``QUESTIONS`` or both."""
    from verification.question import Question  # which is about claims, too

    claims, questions = getattr(module, "CLAIMS", ()), getattr(module, "QUESTIONS", ())
    for name, kind, values in (("CLAIMS", Claim, claims), ("QUESTIONS", Question, questions)):
        if not isinstance(values, tuple) or not all(isinstance(value, kind) for value in values):
            raise ClaimError(
                f'Claim file "{path}": {name} is no tuple ({kind.__name__}(...), ...). See docs/adding.md.'
            )
    if not claims and not questions:
        raise ClaimError(
            f'Claim file "{path}" exports no CLAIMS = (Claim(...), ...) and no QUESTIONS. See docs/adding.md.'
        )
    return claims, questions


def _load(path: Path, digest: str) -> ModuleType:
    name = f"odernn_claims_{path.stem}_{digest[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ClaimError(f'Claim file "{path}" cannot be imported as Python.')
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module that they are defined in
    try:
        spec.loader.exec_module(module)
    except ClaimError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise ClaimError(f'Claim file "{path}" fails on import: {type(error).__name__}: {error}.') from error
    return module


def admissible(claim: Claim, instance_setting: Setting, numbers: Numbers) -> list[tuple[Premise, Any, bool]]:
    """Every premise with its margin at the setting and whether it (certainly) holds."""
    margins = [(premise, premise.margin(instance_setting, numbers)) for premise in claim.premises]
    return [(premise, margin, premise.holds(margin)) for premise, margin in margins]
