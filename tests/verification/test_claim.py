"""The registry: every claim file is found, ids and slugs are unique, and a wrong name suggests the nearest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from verification.claim import ClaimError, Part, slug
from verification.domains import SearchPoint, point_from_plain
from verification.registry import Registry, announced, system_of
from verification.run.job import Settings
from verification.run.plan import Plan, plan
from verification.system import UNICORNN

CLAIM_FILE = """
from odernn.tableaus.tableau import Source
from verification.claim import Claim, Part, StateBound
BOUND = StateBound((Part("position", "max", lambda s, n: 0 * s.time, lambda s, iv: iv.mpf(0)),))
CLAIMS = (Claim(id={id!r}, source=Source("made", "-"), statement="made", semantics="real", state_bound=BOUND),)
"""


def test_registry_holds_the_published_state_bounds_and_the_theorems() -> None:
    registry = Registry()
    assert {"icml-C.1", "sam-D.1-a", "sam-D.1-b", "thm-S", "thm-S-Q"} <= {entry.claim.id for entry in registry}
    assert all(entry.claim.statement and entry.claim.source.where for entry in registry)
    assert {entry.claim.origin for entry in registry} == {"published", "library"}


def test_claims_are_found_by_id_and_by_slug() -> None:
    registry = Registry()
    assert registry.get("icml-C.1") is registry.get("icml-c-1")
    assert slug("icml-7 (inverse)") == "icml-7-inverse"


@pytest.mark.parametrize(("wrong", "nearest"), [("icml-C1", "icml-C.1"), ("thm-S-K", "thm-S-Q"), ("sam-D1", "sam-D.1")])
def test_unknown_claim_suggests_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(ClaimError, match=f'Unknown claim "{wrong}".*{nearest}'):
        Registry().get(wrong)


def test_extra_folder_adds_its_claims(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLAIM_FILE.format(id="mine"))
    (tmp_path / "_helper.py").write_text("raise RuntimeError('not a claim file')")
    assert Registry((tmp_path,)).get("mine").path == tmp_path / "mine.py"
    assert len(Registry((tmp_path,))) == len(Registry()) + 1


@pytest.mark.parametrize("taken", ["thm-S", "THM S"])
def test_taken_id_or_slug_is_refused(tmp_path: Path, taken: str) -> None:
    (tmp_path / "mine.py").write_text(CLAIM_FILE.format(id=taken))
    with pytest.raises(ClaimError, match="is taken"):
        Registry((tmp_path,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "exports no CLAIMS"),
        ("CLAIMS = [1]", "exports no CLAIMS"),
        ("CLAIMS = (1,)", "exports no CLAIMS"),
        ("import nowhere_at_all", "fails on import"),
    ],
)
def test_file_that_is_no_claim_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(ClaimError, match=message):
        Registry((tmp_path,))


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClaimError, match="does not exist"):
        Registry((tmp_path / "nowhere",))


@pytest.mark.parametrize(("quantity", "norm"), [("velocity", "max"), ("position", "l1")])
def test_part_refuses_an_unknown_quantity_or_norm(quantity: str, norm: str) -> None:
    with pytest.raises(ClaimError, match="quantity is one of"):
        Part(quantity, norm, lambda s, n: 0, lambda s, iv: 0)


@pytest.mark.parametrize("name", ["unicornn", "mine"])
def test_one_name_means_one_system(tmp_path: Path, name: str) -> None:
    """A file's own recurrence called "unicornn" would be searched as the product's and certified as its own."""
    text = CLAIM_FILE.replace(",))\nCLAIMS", ",), system=OWN)\nCLAIMS").replace(
        "BOUND =", f"OWN = System({name!r}, *[lambda *a: a] * 3)\nBOUND ="
    )
    text = "from verification.system import System\n" + text
    (tmp_path / "one.py").write_text(text.format(id="one"))
    if name == "mine":
        assert Registry((tmp_path,)).get("one").claim.bound.system.name == "mine"
        (tmp_path / "two.py").write_text(text.format(id="two"))
    with pytest.raises(ClaimError, match=f'another system is already called "{name}"'):
        Registry((tmp_path,))


def test_a_job_runs_the_system_of_its_claim_whatever_others_are_called(tmp_path: Path) -> None:
    """Files that name their claims are loaded one at a time, so that nobody sees two systems of one name together."""
    text = CLAIM_FILE.replace(",))\nCLAIMS", ",), system=OWN)\nCLAIMS").replace(
        "BOUND =", 'OWN = System("same", *[lambda *a: a] * 3)\nBOUND ='
    )
    for name in ("one", "two"):
        heading = f"# Claims: {name}\nfrom verification.system import System\n"
        (tmp_path / f"{name}.py").write_text(heading + text.format(id=name))
    settings = Settings(claims=("one", "two"), claims_dirs=(str(tmp_path),))
    with pytest.raises(ClaimError, match='another system is already called "same"'):
        plan(settings, Registry((tmp_path,)))
    for name in ("one", "two"):
        jobs = plan(replace(settings, claims=(name,)), Registry((tmp_path,))).measuring
        assert {job.spec["owner"] for job in jobs} == {name} and {job.spec["system"] for job in jobs} == {"same"}
        system = system_of(jobs[0].spec["owner"], settings.claims_dirs)
        assert system is not UNICORNN
        assert system.step.__code__.co_filename == str(tmp_path / f"{name}.py")


def test_jobs_of_unicornn_belong_to_no_claim_and_planted_systems_to_the_first_of_their_file() -> None:
    folder = Path(__file__).parents[1] / "planted"
    settings = Settings(claims=("planted wrong cell", "thm-S"), claims_dirs=(str(folder),))
    jobs = plan(settings, Registry((folder,))).measuring
    owners = {job.spec["system"]: job.spec.get("owner") for job in jobs if "system" in job.spec}
    assert owners["unicornn"] is None and owners["doubled activation"] in Registry((folder,)).ids()


def test_a_file_that_exits_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(ClaimError, match=r"mine\.py\" fails on import: SystemExit"):
        Registry((tmp_path,))
    (tmp_path / "mine.py").write_bytes(b"x = '\xe9'\n")
    with pytest.raises(ClaimError, match=r"mine\.py\" fails on import: SyntaxError"):
        Registry((tmp_path,))


def test_what_lies_beside_claim_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(CLAIM_FILE.format(id="mine"))
    (tmp_path / "_bad.py").write_text("no python")
    (tmp_path / ".#mine.py").symlink_to("nowhere")
    (tmp_path / "folder.py").mkdir()
    settings = Settings(claims=("mine",), claims_dirs=(str(tmp_path),))
    assert plan(settings, Registry((tmp_path, tmp_path))).judging


# --- one claim wakes one claim

MOMENTUM = """
from odernn.published.sources import Source
from verification.claim import Claim, Hypothesis, Part, StateBound

CLAIMS = (
    Claim(
        id="my.momentum",
        source=Source("me2026", "Lemma 1"),
        statement="max_i |z_n^{l,i}| ≤ t_n for all n, l; α = 0",
        semantics="real",
        state_bound=StateBound(
            (Part("momentum", "max", lambda s, numbers: numbers.log(FACTOR * s.time), lambda s, iv: iv.log(s.time)),),
            (Hypothesis("α = 0", lambda s: -abs(s.alpha), strict=False),),
        ),
    ),
)
"""


def test_a_file_that_names_its_claims_is_loaded_when_one_of_them_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# Claims: my.momentum\nraise RuntimeError('loaded')\n")
    registry = Registry((tmp_path,))
    assert "my.momentum" in registry.ids() and registry.get("icml-C.1")
    with pytest.raises(ClaimError, match="fails on import: RuntimeError: loaded"):
        registry.get("my.momentum")


def test_a_first_line_over_several_lines_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("# Claims: a · b/c ·\n#   d (1)\n# a licence\n\n# not this\n")
    assert announced(path) == ("a", "b/c", "d (1)")
    path.write_text('"""No claims named."""\n# Claims: a\n')
    assert announced(path) == ()


def test_a_file_that_exports_other_claims_than_its_first_line_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# Claims: my.position\n" + MOMENTUM)
    with pytest.raises(ClaimError, match=r"first line names my\.position, but it exports my\.momentum"):
        Registry((tmp_path,)).get("my.position")


def test_a_users_claim_searches_only_what_its_premises_admit_and_a_new_bound_searches_nothing_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(MOMENTUM.replace("FACTOR", "1"))
    settings = Settings(claims=("my.momentum",), claims_dirs=(str(tmp_path),))
    first, everything = plan(settings, Registry((tmp_path,))), plan(Settings(), Registry())

    def searched(the_plan: Plan) -> set[tuple[SearchPoint, int]]:
        searches = [job.spec for job in the_plan.measuring if job.kind == "search"]
        return {(point_from_plain(spec["point"]), spec["layer"]) for spec in searches}

    assert searched(first) == {(point, layer) for point, layer in searched(everything) if point.alpha == 0}
    assert 0 < len(first.measuring) < len(everything.measuring) / 2
    (tmp_path / "mine.py").write_text(MOMENTUM.replace("FACTOR", "2"))
    second = plan(settings, Registry((tmp_path,)))
    assert [job.key for job in second.measuring] == [job.key for job in first.measuring]
    assert not {job.key for job in second.judging} & {job.key for job in first.judging}
