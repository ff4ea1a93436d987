"""The registry: which claim stands in which file, without loading the others.

A claim file is a Python file under ``verification/claims`` (or in a folder given with ``--claims``) that exports
``CLAIMS``. The comment at its top names its ids, ``# Claims: my.momentum · my.position``: asking
about one claim then loads its file and no other. A file without that comment is loaded to see what it exports.
"""

from __future__ import annotations

import difflib
import functools
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from odernn import folders
from odernn.folders import FolderError
from verification.claim import Case, Claim, ClaimError, Place, slug
from verification.system import UNICORNN, System

CLAIMS = Path(__file__).parent / "claims"
HEADING = "# Claims:"
SEPARATOR = "·"


@dataclass(frozen=True)
class Registered:
    """A claim and the file that it came from."""

    claim: Claim
    path: Path


def announced(path: Path) -> tuple[str, ...]:
    """The ids that the comment at the top of a claim file names; () if there is none. A line that ends in · goes on."""
    words: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            goes_on = words[-1].endswith(SEPARATOR) if words else line.startswith(HEADING)
            if not (goes_on and line.startswith("#")):
                break
            words.append(line.removeprefix(HEADING).lstrip("#").strip())
    return tuple(word.strip() for word in " ".join(words).split(SEPARATOR) if word.strip())


class Registry:
    """All claims by id, from the package's folders and any extra folders. Ids and slugs are unique.

    Iteration loads every file, ``state_bounds`` those that speak of one, ``get`` a single file.

    >>> Registry().get("icml-C.1").claim.source.key
    'icml'
    """

    def __init__(self, extra: tuple[Path, ...] = ()) -> None:
        self.extra = extra
        self._paths: dict[str, Path] = {}
        self._by_slug: dict[str, str] = {}
        self._loaded: dict[Path, dict[str, Registered]] = {}
        self._systems = {UNICORNN.name: UNICORNN}
        for path in _claim_files(extra):
            for identifier in announced(path) or self._load(path):
                self._name(identifier, path)

    def _name(self, identifier: str, path: Path) -> None:
        """Take the id and the slug, or say that one of them is taken."""
        short = slug(identifier)
        for known, key in ((self._paths, identifier), (self._by_slug, short)):
            if key in known:
                raise ClaimError(f'Claim "{identifier}" in "{path}": the name "{key}" is taken. Choose another id.')
        self._by_slug[short] = identifier
        self._paths[identifier] = path

    def _load(self, path: Path) -> dict[str, Registered]:
        """What the file exports, by id; it is run once."""
        if path not in self._loaded:
            exported = _exported(_module(path), path)
            for claim in exported:
                self._check_system(claim, path)
            entries = {claim.id: Registered(claim, path) for claim in exported}
            if len(entries) < len(exported):
                twice = next(one for one in entries if [claim.id for claim in exported].count(one) > 1)
                raise ClaimError(f'Claim "{twice}" in "{path}": the name "{twice}" is taken. Choose another id.')
            if announced(path) and announced(path) != tuple(entries):
                raise ClaimError(
                    f'Claim file "{path}": its first line names {", ".join(announced(path))}, but it exports '
                    f"{', '.join(entries)}. Write the ids that it exports, in their order, behind {HEADING}"
                )
            self._loaded[path] = entries
        return self._loaded[path]

    def _check_system(self, claim: Claim, path: Path) -> None:
        """Searches find a system by its name, certificates by the claim: one name must mean one system."""
        if claim.state_bound is None:
            return
        system = claim.bound.system
        if self._systems.setdefault(system.name, system) is not system:
            raise ClaimError(
                f'Claim "{claim.id}" in "{path}": another system is already called "{system.name}". Rename this one.'
            )

    def __iter__(self) -> Iterator[Registered]:
        return (self._load(path)[identifier] for identifier, path in self._paths.items())

    def __len__(self) -> int:
        return len(self._paths)

    def state_bounds(self) -> Iterator[Registered]:
        """The claims that bound hidden states, in the order of their files; a file without the word has none."""
        may_have = {path: "state_bound" in path.read_text(encoding="utf-8") for path in set(self._paths.values())}
        entries = (self._load(path)[identifier] for identifier, path in self._paths.items() if may_have[path])
        return (entry for entry in entries if entry.claim.state_bound is not None)

    def ids(self) -> tuple[str, ...]:
        """Every id, in the order of the files; none of them is loaded for it."""
        return tuple(self._paths)

    def path(self, identifier: str) -> Path:
        """The file of a claim, by its exact id."""
        return self._paths[identifier]

    def owner(self, registered: Registered) -> str:
        """The first claim of the same file with the same system: what searches of that system are called after."""
        claims = [entry.claim for entry in self._load(registered.path).values() if entry.claim.state_bound is not None]
        return next(claim.id for claim in claims if claim.bound.system is registered.claim.bound.system)

    def get(self, name: str) -> Registered:
        """The claim with this id or slug; ClaimError otherwise, with the nearest id if one is near."""
        identifier = name if name in self._paths else self._by_slug.get(slug(name) if name else "")
        if identifier is not None:
            return self._load(self._paths[identifier])[identifier]
        near = difflib.get_close_matches(slug(name), self._by_slug, n=1)
        hint = f' Did you mean "{self._by_slug[near[0]]}"?' if near else ""
        raise ClaimError(f'Unknown claim "{name}".{hint} `odernn claims` lists all of them.')


def _claim_files(extra: tuple[Path, ...]) -> list[Path]:
    """The files of the package by their names, whatever folder they are in, then those of the extra folders."""
    if stray := sorted(CLAIMS.glob("[!_]*.py")):
        raise ClaimError(f'Claim file "{stray[0]}" lies beside the folders of the papers. Move it into one of them.')
    files = sorted(CLAIMS.glob("*/[!_]*.py"), key=lambda path: path.stem)
    try:
        return [*files, *folders.files("claim", extra)]
    except FolderError as error:
        raise ClaimError(str(error)) from None


def registry_of(claims_dirs: tuple[str, ...]) -> Registry:
    """The registry for a job. A worker process keeps what it has loaded until one of the claim files changes.

    A process that is nobody's worker reads them each time: it may have changed what they import, as tests do.
    """
    places = tuple(Path(folder) for folder in claims_dirs)
    if multiprocessing.parent_process() is None:
        return Registry(places)
    beside = [path for place in places for path in place.rglob("*.py")]  # what they import, too
    files = [path for path in (*_claim_files(places), *beside) if path.is_file()]
    return _kept(places, tuple((path, (stat := path.stat()).st_mtime_ns, stat.st_size) for path in files))


@functools.lru_cache(maxsize=1)
def _kept(places: tuple[Path, ...], _files: tuple[tuple[Path, int, int], ...]) -> Registry:
    return Registry(places)


def system_of(owner: str | None, claims_dirs: tuple[str, ...]) -> System:
    """What a search or a control runs: the system of the claim that owns the job, UnICORNN where none does.

    A name alone may mean two systems.
    """
    return UNICORNN if owner is None else registry_of(claims_dirs).get(owner).claim.bound.system


def _exported(module: ModuleType, path: Path) -> tuple[Claim, ...]:
    """What a file exports."""
    claims = getattr(module, "CLAIMS", ())
    if not isinstance(claims, tuple) or not claims or not all(isinstance(claim, Claim) for claim in claims):
        raise ClaimError(f'Claim file "{path}" exports no CLAIMS = (Claim(...), ...). See docs/adding.md.')
    for claim in claims:
        _check_declarations(claim, path)
    return claims


def _check_declarations(claim: Claim, path: Path) -> None:
    """A witness from anywhere is read by ``check``: it must say what it is about."""
    cases: tuple[Case | Place, ...] = (*claim.cases, *claim.places)
    if not cases:
        return
    from verification.parameters import Guarded  # a bound on states needs none

    for case in cases:
        if case.check is not None and not isinstance(case.check, Guarded):
            raise ClaimError(
                f'Claim file "{path}", claim "{claim.id}", case ({case.domain}, {case.quantity}): its check does not '
                "declare its parameters. Give the case declared(Parameter(...), ...).guards(check): docs/adding.md."
            )


def _module(path: Path) -> ModuleType:
    """The file as a module, run anew when its text has changed."""
    try:
        return folders.load("claim", path)
    except FolderError as error:
        if isinstance(error.__cause__, ClaimError):
            raise error.__cause__ from None
        raise ClaimError(str(error)) from error.__cause__
