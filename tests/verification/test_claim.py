"""The registry: every claim file is found, ids and slugs are unique, and a wrong name suggests the nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from verification.claim import ClaimError, Part, slug
from verification.domains import SearchPoint, point_from_plain
from verification.registry import Registry, announced
from verification.run.job import Settings
from verification.run.plan import Plan, plan

CLAIM_FILE = """
from odernn.tableaus.tableau import Source
from verification.claim import Claim, Part
CLAIMS = (Claim(id={id!r}, source=Source("made", "-"), statement="made",
                parts=(Part("position", "max", lambda s, n: 0 * s.time, lambda s, iv: iv.mpf(0)),)),)
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
        ("CLAIMS = [1]", "CLAIMS is no tuple"),
        ("QUESTIONS = (1,)", "QUESTIONS is no tuple"),
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
    text = CLAIM_FILE.replace('statement="made",', 'statement="made", system=OWN,').replace(
        "CLAIMS =", f"OWN = System({name!r}, *[lambda *a: a] * 3)\nfrom verification.claim import Claim\nCLAIMS ="
    )
    text = "from verification.system import System\n" + text
    (tmp_path / "one.py").write_text(text.format(id="one"))
    if name == "mine":
        assert Registry((tmp_path,)).get("one").claim.system.name == "mine"
        (tmp_path / "two.py").write_text(text.format(id="two"))
    with pytest.raises(ClaimError, match=f'another system is already called "{name}"'):
        Registry((tmp_path,))


def test_systems_are_found_by_their_name() -> None:
    planted = Registry((Path(__file__).parents[1] / "planted",))
    assert Registry().system("unicornn") is planted.system("unicornn") is Registry().get("thm-S").claim.system
    assert planted.system("doubled activation") is planted.get("planted wrong cell").claim.system
    with pytest.raises(ClaimError, match="No claim file brings a system named"):
        Registry().system("doubled activation")


# --- one claim wakes one claim

MOMENTUM = """
from odernn.published.sources import Source
from verification.claim import Claim, Part, Premise

CLAIMS = (
    Claim(
        id="my.momentum",
        source=Source("me2026", "Lemma 1"),
        statement="max_i |z_n^{l,i}| ≤ t_n for all n, l; α = 0",
        premises=(
            Premise("α = 0", lambda s, numbers: -numbers.absolute(s.alpha), strict=False),
        ),
        parts=(Part("momentum", "max", lambda s, numbers: numbers.log(FACTOR * s.time), lambda s, iv: iv.log(s.time)),),
    ),
)
"""


def test_a_file_that_names_its_claims_is_loaded_when_one_of_them_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# Claims: my.momentum\nraise RuntimeError('loaded')\n")
    registry = Registry((tmp_path,))
    assert "my.momentum" in registry.ids() and registry.find("icml-C.1")
    with pytest.raises(ClaimError, match="fails on import: RuntimeError: loaded"):
        registry.find("my.momentum")


def test_a_first_line_over_several_lines_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("# Claims: a · b/c ·\n#   d (1)\n# and no more of it\n\n# not this\n")
    assert announced(path) == ("a", "b/c", "d (1) and no more of it")
    path.write_text('"""No claims named."""\n# Claims: a\n')
    assert announced(path) == ()


def test_a_file_that_exports_other_claims_than_its_first_line_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# Claims: my.position\n" + MOMENTUM)
    with pytest.raises(ClaimError, match=r"first line names my\.position, but it exports my\.momentum"):
        Registry((tmp_path,)).find("my.position")


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
