"""Claims are answered by rules that know no id: planted ones come out as what they are, are kept and replayed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from odernn.published.sources import Source
from tests.tiers import slow
from verification import verdict
from verification.answer import answer
from verification.cases.decision import at, decided
from verification.cases.inequality import Inequality
from verification.certify.second.intervals import iv
from verification.claim import BOTH as PROVED_BY_BOTH
from verification.claim import Attempt, Case, Check, Claim, ClaimError, Decided, Hypothesis, Opinion, Premise
from verification.cli import main
from verification.domains import BUDGETS
from verification.exact_text import number
from verification.kinds import Constant
from verification.parameters import Parameter, declared, rationals
from verification.registry import Registered, Registry
from verification.report.rows import claims as rows
from verification.run.job import Settings
from verification.run.plan import plan
from verification.verdict import Judgement
from verification.witness.check import check as check_witness
from verification.witness.file import LONGEST_NAME, LONGEST_TEXT, MOST_PARAMETERS, Witness, from_json, to_json
from verification.witness.text import WitnessError

SMOKE = BUDGETS["smoke"]
BOTH = (Opinion("balls", True, "2 > 1"), Opinion("mpmath", True, "2 > 1"))
HOLDS = (Premise("x > 0", "1", True),)


def attempt(**changes) -> Attempt:
    return Attempt(**({"tried": "ten points", "evaluations": 10} | changes))


def judged(tried: Attempt | Exception, check: Check | None = None, **case) -> Judgement:
    def ask(budget, seed):
        if isinstance(tried, Exception):
            raise tried
        return tried

    one = Case("free", "x", ask, None if check is None else lambda parameters: check, **case)
    return answer(Claim("planted", Source("me", "here"), "x ≤ 1", "real", (one,)), one, SMOKE, 0)


CANDIDATE = attempt(candidates=({"x": "2"},))


@pytest.mark.parametrize(
    ("tried", "check", "case", "expected"),
    [
        (attempt(), None, {}, verdict.NOT_REFUTED),
        (attempt(proof="for all x", twice="by hand"), None, {}, verdict.PROVED),
        (attempt(evaluations=0), None, {}, verdict.INCONCLUSIVE),
        (attempt(inapplicable="α > 0 fails"), None, {}, verdict.INAPPLICABLE),
        (attempt(vacuous="1 ≤ 10^400"), None, {}, verdict.VACUOUS),
        (attempt(), None, {"is_search": True}, verdict.INCONCLUSIVE),
        (attempt(control=0.89), None, {"is_search": True}, verdict.INCONCLUSIVE),
        (attempt(control=0.9), None, {"is_search": True}, verdict.NOT_REFUTED),
        (attempt(log_measured=1.0, log_claimed=0.0), None, {}, verdict.SUSPECT),
        (attempt(log_measured=1.0, log_claimed=0.0, proof="for all x", twice="by hand"), None, {}, verdict.SUSPECT),
        (CANDIDATE, Check(BOTH, HOLDS), {}, verdict.REFUTED),
        (CANDIDATE, Check(BOTH, HOLDS), {"is_search": True}, verdict.REFUTED),
        (CANDIDATE, Check(BOTH[:1], HOLDS), {}, verdict.SUSPECT),
        (CANDIDATE, Check((BOTH[0], BOTH[0]), HOLDS), {}, verdict.SUSPECT),
        (CANDIDATE, Check((BOTH[0], Opinion("mpmath", False, "?")), HOLDS), {}, verdict.SUSPECT),
        (CANDIDATE, Check(BOTH, (Premise("x > 0", "0", False),)), {}, verdict.SUSPECT),
        (CANDIDATE, Check(BOTH, HOLDS), {"reading": "limit"}, verdict.SUSPECT),
        (CANDIDATE, Check(BOTH, HOLDS, limit="thm-R"), {"reading": "limit"}, verdict.REFUTED),
        (CANDIDATE, Check(BOTH, HOLDS), {"reading": "printed"}, verdict.REFUTED),
        (CANDIDATE, None, {}, verdict.ERROR),
        (ZeroDivisionError("in its own code"), None, {}, verdict.ERROR),
    ],
)
def test_the_verdict_follows_from_the_evidence_alone(tried, check, case, expected):
    found = judged(tried, check, **case)
    assert found.verdict == expected
    assert bool(found.witness) == (expected == verdict.REFUTED)
    assert found.because or expected == verdict.REFUTED


def test_a_candidate_that_certifies_is_found_behind_one_that_does_not():
    def check(parameters):
        violated = number(parameters, "x") > 1
        return Check(tuple(Opinion(name, violated, "") for name in ("balls", "mpmath")))

    tried = attempt(candidates=({"x": "1/2"}, {"x": "3/2"}))
    case = Case("free", "x", lambda *_: tried, check)
    found = answer(Claim("planted", Source("me", ""), "x ≤ 1", "real", (case,)), case, SMOKE, 0)
    assert found.verdict == verdict.REFUTED and json.loads(found.witness)["parameters"] == {"x": "3/2"}


def of_x(right, typed_again, premises=()):
    """x ≤ right(x), typed twice, where nothing is nominated."""
    inequality = Inequality(
        lambda p: (p.x, right(p.x)), lambda p: (p.x, typed_again(p.x)), premises, parameters=declared(*rationals("x"))
    )
    case = Case("free", "x", lambda budget, seed: Attempt("tried", 10), inequality.check)
    return answer(Claim("planted", Source("me", "here"), "x ≤ x + 1", "real", (case,)), case, SMOKE, 0)


def test_typings_that_differ_are_an_error_though_nothing_was_nominated():
    assert of_x(lambda x: x + 1, lambda x: 1 + x).verdict == verdict.NOT_REFUTED
    wrong = of_x(lambda x: x + 1, lambda x: 1 + x + iv.mpf(2) ** -200)
    assert wrong.verdict == verdict.ERROR and "contradict each other at x = " in wrong.because
    assert "the right side is" in wrong.because
    outside = Hypothesis("x > 10^9", lambda p: p.x - 10**9)  # nobody speaks about these x
    assert of_x(lambda x: x + 1, lambda x: 2 + x, (outside,)).verdict == verdict.NOT_REFUTED


def heard(least: str, proof: str = "", budget: str = "standard", **declaration) -> Judgement:
    """x ≤ 1 for x ≥ ``least`` up to 2, where nothing is nominated and something may be proved."""

    def check(parameters):
        violated = number(parameters, "x") > 1
        return Check(tuple(Opinion(name, violated, "") for name in ("balls", "mpmath")), words="x > 1")

    guarded = declared(*rationals("x", least=Fraction(least), most=2), **declaration).guards(check)
    case = Case("free", "x", lambda budget, seed: Attempt("tried", 10, proof=proof), guarded)
    return answer(Claim("planted", Source("me", "here"), "x ≤ 1", "real", (case,)), case, BUDGETS[budget], 0)


def test_a_drawn_place_refutes_what_was_not_nominated_and_even_what_was_proved():
    for proof in ("", "for all x"):
        found = heard("3/2", proof)
        assert found.verdict == verdict.REFUTED and found.because == "x > 1"
        assert Fraction(json.loads(found.witness)["parameters"]["x"]) >= Fraction(3, 2)


@pytest.mark.parametrize(
    ("options", "agreed"),
    [({"budget": "smoke"}, "1 drawn place,"), ({}, "8 drawn places,"), ({"is_costly": True}, "1 drawn place,")],
)
def test_a_proof_says_at_how_many_drawn_places_both_back_ends_agree(options, agreed):
    def holds(parameters):
        return Check(tuple(Opinion(name, False, "") for name in ("balls", "mpmath")))

    budget = BUDGETS[options.pop("budget", "standard")]
    case = Case("free", "x", lambda *_: attempt(proof="for all x"), declared(*rationals("x"), **options).guards(holds))
    found = answer(Claim("planted", Source("me", "here"), "x ≤ 1", "real", (case,)), case, budget, 0)
    assert found.verdict == verdict.PROVED and found.because == f"for all x (and at {agreed} by both back-ends)"
    for twice, said in (
        (PROVED_BY_BOTH, f"and at {agreed} by both back-ends"),
        ("mod p", f"and at {agreed} by both back-ends; mod p"),
    ):
        case = replace(case, ask=lambda *_, twice=twice: attempt(proof="for all x", twice=twice))
        found = answer(Claim("planted", Source("me", "here"), "x ≤ 1", "real", (case,)), case, budget, 0)
        assert found.because == f"for all x ({said})"
    alone = judged(attempt(proof="for all x", twice="by hand"))
    assert (alone.verdict, alone.because) == (verdict.PROVED, "for all x (by hand)")
    once = judged(attempt(proof="for all x"))
    assert once.verdict == verdict.ERROR and "decided once" in once.because


@pytest.mark.parametrize(("is_slow", "shown"), [(False, 25), (True, 5)])
def test_a_typing_that_is_wrong_where_no_place_is_drawn_is_seen_at_a_tenth_of_the_spread_places(
    is_slow: bool, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x ≤ 1 + x, typed again as x ≤ 2 + x for 1/5 < x < 4/5 that are no 64ths: drawn are 64ths, and the ends.

    The quicker look finds nothing anywhere: it is the first typing, which is right.
    """
    checked = []

    def again(p):
        checked.append(p.x)
        x = number(p.texts, "x")
        return p.x, (2 if Fraction(1, 5) < x < Fraction(4, 5) and (64 * x).denominator > 1 else 1) + p.x

    inequality = Inequality(lambda p: (p.x, 1 + p.x), again)
    guarded = declared(*rationals("x", least=0, most=1)).guards(inequality.decide, inequality.may_fail, is_slow=is_slow)
    case = Case("free", "x", lambda *_: attempt(), guarded)
    claim = Claim("planted", Source("me", "here"), "x ≤ 1 + x", "real", (case,))
    found = answer(claim, case, BUDGETS["standard"], 0)
    assert found.verdict == verdict.ERROR and "contradict each other at x = " in found.because
    assert len(checked) > 8  # all that were drawn, and one of the others
    monkeypatch.setattr("verification.answer.BOTH_EVERY", 10**6)
    monkeypatch.setattr("verification.answer.BOTH_EVERY_IF_SLOW", 10**6)
    assert answer(claim, case, BUDGETS["standard"], 0).verdict == verdict.NOT_REFUTED
    monkeypatch.undo()
    checked.clear()

    def right_again(p):
        checked.append(p.x)
        return p.x, 1 + p.x

    right = replace(inequality, intervals=right_again)
    guarded = declared(*rationals("x", least=0, most=1)).guards(right.decide, right.may_fail, is_slow=is_slow)
    assert answer(claim, replace(case, check=guarded), BUDGETS["standard"], 0).verdict == verdict.NOT_REFUTED
    assert len(checked) == 8 + shown


def looked_at(fails, budget="standard"):
    """The judgement of x ≤ 1 + x for 0 ≤ x ≤ 1, false where ``fails`` says so and for no x where it says None; and at
    which x the quicker look was asked.
    """
    asked = []

    def look(parameters):
        asked.append(number(parameters, "x"))
        return fails(asked[-1])

    def check(parameters):
        x, violated = number(parameters, "x"), bool(fails(number(parameters, "x")))
        return Check(tuple(Opinion(name, violated, "") for name in ("balls", "mpmath")), words=f"false at x = {x}")

    guarded = declared(*rationals("x", least=0, most=1)).guards(check, look)
    case = Case("free", "x", lambda *_: attempt(), guarded)
    return answer(Claim("planted", Source("me", ""), "x ≤ 1 + x", "real", (case,)), case, BUDGETS[budget], 0), asked


def test_what_is_false_where_no_place_is_drawn_is_found_at_a_spread_place():
    found, _ = looked_at(lambda x: Fraction(1, 5) < x < Fraction(4, 5) and (64 * x).denominator > 1)
    assert found.verdict == verdict.REFUTED
    x = json.loads(found.witness)["parameters"]["x"]
    assert found.because == f"false at x = {x}" and Fraction(1, 5) < Fraction(x) < Fraction(4, 5)


@pytest.mark.parametrize(("budget", "drawn", "spread"), [("smoke", 1, 20), ("standard", 8, 250)])
def test_a_search_says_at_how_many_places_and_gives_up_after_ten_times_as_many(budget, drawn, spread):
    found, asked = looked_at(lambda x: False, budget)
    assert found.verdict == verdict.NOT_REFUTED and len(asked) == drawn + spread
    assert found.because.endswith(f"; {spread} places spread over the declaration")
    found, asked = looked_at(lambda x: None, budget)
    assert found.verdict == verdict.NOT_REFUTED and len(asked) == 10 * drawn + 10 * spread
    assert "places" not in found.because


def test_what_is_constant_is_heard_once():
    def check(parameters):
        return Check(tuple(Opinion(name, False, "") for name in ("balls", "mpmath")))

    guarded = declared(Parameter("x", Constant(Fraction(1, 3)))).guards(check)
    case = Case("free", "x", lambda *_: attempt(proof="for all x"), guarded)
    found = answer(Claim("planted", Source("me", "here"), "x ≤ 1", "real", (case,)), case, BUDGETS["standard"], 0)
    assert "(and at 1 drawn place," in found.because


def test_slack_is_in_decades_of_what_was_tried_or_of_the_witness():
    hundred, ten = math.log(100), math.log(10)
    tried = judged(attempt(log_measured=ten, log_claimed=hundred + ten))
    assert (tried.log_worst, tried.log_bound, tried.slack) == (ten, hundred + ten, pytest.approx(2))
    assert judged(attempt(log_measured=ten)).slack is None
    found = judged(CANDIDATE, Check(BOTH, log_measured=hundred + ten, log_claimed=ten))
    assert (found.log_worst, found.log_bound, found.slack) == (hundred + ten, ten, pytest.approx(-2))


def test_the_first_five_candidates_are_checked():
    def check(parameters):
        violated = number(parameters, "x") > 1
        return Check(tuple(Opinion(name, violated, "") for name in ("balls", "mpmath")))

    for place, expected in ((4, verdict.REFUTED), (5, verdict.SUSPECT)):
        tried = attempt(candidates=tuple({"x": "2" if k == place else "0"} for k in range(7)))
        case = Case("free", "x", lambda *_, tried=tried: tried, check)
        claim = Claim("planted", Source("me", ""), "x ≤ 1", "real", (case,))
        assert answer(claim, case, SMOKE, 0).verdict == expected


def test_a_back_end_that_decides_otherwise_refutes_nothing():
    yes, no = (lambda p, is_one=is_one: Decided(is_one, "1") for is_one in (True, False))
    for names, is_apart in ((("flint", "fractions"), True), (("balls", "mpmath"), False)):
        case = decided("free", "x", at({"x": "1"}), yes, no, box="x = 1", claimed="0", names=names)
        check = case.check({"x": "1"})
        assert bool(check.contradiction) == is_apart
        assert ("contradict" in verdict.doubt_about(check, case)) == is_apart


def test_a_comparison_that_is_not_a_number_is_refused():
    with pytest.raises(ClaimError, match="log_measured is nan"):
        attempt(log_measured=float("nan"))


def test_two_cases_of_one_place_and_a_question_without_cases_are_refused():
    case = Case("free", "x", lambda *_: attempt())
    with pytest.raises(ClaimError, match="two cases are both"):
        Claim("planted", Source("me", ""), "", "real", (case, case))
    with pytest.raises(ClaimError, match="no cases"):
        Claim("planted", Source("me", ""), "", "real", ())
    with pytest.raises(ClaimError, match="semantics is"):
        Claim("planted", Source("me", ""), "", "guess", (case,))


# --- the registry, the run and the witness


PLANTED = """
from odernn.tableaus.tableau import Source
from verification.kinds import Constant
from verification.parameters import Parameter, declared, rationals
from verification.claim import Attempt, Case, Check, Opinion, Claim
from verification.exact_text import number


def ask(budget, seed):
    return Attempt("one point", 1, candidates=({"x": "3/2"},))


def check(parameters):
    x = number(parameters, "x")
    return Check(tuple(Opinion(name, x * x > 2, f"x² = {x * x}") for name in ("exact", "again")), words=f"x = {x}")


CASE = Case("all x", "x²", ask, declared(*rationals("x")).guards(check))
CLAIMS = (Claim("planted.square", Source("me", "Lemma 1"), "x² ≤ 2 for all x", "alg", (CASE,)),)
"""


def test_a_question_whose_check_declares_nothing_is_no_question(tmp_path: Path, capsys):
    text = PLANTED.replace('declared(*rationals("x")).guards(check)', "check")
    assert text != PLANTED
    (tmp_path / "square.py").write_text(text)
    assert main(["verify", "planted.square", "--claims", str(tmp_path), "--jobs", "1"]) != 0
    assert "case (all x, x²): its check does not declare its parameters" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("jobs", ["0", slow("1")])
def test_a_question_in_a_users_folder_is_answered_kept_and_replayed(tmp_path: Path, capsys, monkeypatch, jobs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "square.py").write_text(PLANTED)
    assert main(["verify", "planted.square", "--claims", "mine", "--jobs", jobs, "--full"]) == 0
    shown = capsys.readouterr().out
    assert "refuted    planted.square  all x  x²  x = 3/2" in shown
    witness = Path(re.search(r"odernn witness verify (\S+\.json)", shown).group(1))
    assert main(["witness", "verify", str(witness), "--claims", "mine"]) == 0
    assert "certified: planted.square is violated" in capsys.readouterr().out
    assert main(["witness", "show", str(witness)]) == 0
    assert "3/2" in capsys.readouterr().out
    text = witness.read_text()
    witness.write_text(text.replace("3/2", "1/2"))
    assert main(["witness", "verify", str(witness), "--claims", "mine"]) == 3
    for broken in (text.replace('"x"', '"y"'), text.replace("all x", "some x"), text.replace("planted", "plant")):
        witness.write_text(broken)
        assert main(["witness", "verify", str(witness), "--claims", "mine"]) == 3
    (tmp_path / "expect.json").write_text(json.dumps({"planted.square | all x | x²": "proved"}))
    assert main(["verify", "planted.square", "--claims", "mine", "--jobs", jobs, "--expect", "expect.json"]) == 1
    capsys.readouterr()
    assert main(["claims", "--claims", "mine", "--format", "json"]) == 0
    assert "planted.square" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "this odernn reads 1 and 2"),
        ({"version": True}, "this odernn reads 1 and 2"),
        ({"format": "odernn-counterexample"}, "this odernn reads 1 and 2"),
        ({"format": "odernn"}, "format is"),
        ({"parameters": {"x": 1}}, "texts by name"),
        ({"parameters": {"x": "1" * (LONGEST_TEXT + 1)}}, "texts by name"),
        ({"parameters": {str(k): "1" for k in range(MOST_PARAMETERS + 1)}}, "at most 64"),
        ({"parameters": []}, "expected an object"),
        ({"parameters": {"instance": {}}}, "is read as free, printed, limit"),
        ({"parameters": {"instance": {}}, "domain": "free"}, "field 'layer' is missing"),
        ({"claim": 1}, "claim: expected"),
        ({"claim": "a" * (LONGEST_NAME + 1)}, "claim: expected"),
        ({"quantity": "\x1b[2J"}, "quantity: expected"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_a_file_that_is_no_witness_is_refused(change, message):
    good = json.loads(to_json(Witness("q", "d", "x", {"x": "1"})))
    with pytest.raises(WitnessError, match=message):
        from_json(json.dumps(good | change))
    assert from_json(json.dumps(good)).parameters == {"x": "1"}
    at_most = {str(k): "1" * (LONGEST_TEXT if k == 0 else 1) for k in range(MOST_PARAMETERS)}
    assert from_json(json.dumps(good | {"parameters": at_most, "claim": "a" * LONGEST_NAME})).parameters == at_most
    assert (LONGEST_TEXT, MOST_PARAMETERS, LONGEST_NAME) == (262_144, 64, 1024)


def test_what_a_check_says_of_a_witness():
    """Every parameter, every premise, both opinions, the limit, the sentence; and what is in the way."""

    def said(**more):
        def check(parameters):
            opinions = (Opinion("balls", True, "one"), Opinion("mpmath", True, "two"))
            return Check(opinions, (Premise("x ≠ 0", parameters["x"], parameters["x"] != "0"),), **more)

        case = Case("d", "q", lambda *_: attempt(), declared(*rationals("x", least=0)).guards(check))
        claim = Claim("planted", Source("me", "here"), "planted", "real", (case,))
        registry, path = Registry.__new__(Registry), Path("made.py")
        registry._paths, registry._by_slug = {claim.id: path}, {claim.slug: claim.id}
        registry._loaded = {path: {claim.id: Registered(claim, path)}}
        return lambda x: check_witness(Witness("planted", "d", "q", {"x": x}), registry)

    given, opinions = "given    x = {}: a rational number ≥ 0", ("balls    violates: one", "mpmath   violates: two")
    full = said(limit="for every dt", words="x is large")("3")
    assert full.lines == (
        given.format(3),
        "premise  x ≠ 0: margin 3, holds",
        *opinions,
        "limit    for every dt",
        "that is  x is large",
    )
    bare = said()("0")
    assert (full.certified, bare.certified) == (True, False)
    assert bare.lines[:4] == (given.format(0), "premise  x ≠ 0: margin 0, NOT proved", *opinions)
    assert bare.lines[4].startswith("but      ")
    assert len(bare.lines) == 5


def test_a_counterexample_of_version_1_is_read():
    witness = Witness("q", "d", "x", {"x": "1"})
    once = json.loads(to_json(witness)) | {"format": "odernn-counterexample", "version": 1}
    assert from_json(json.dumps(once)) == witness
    for change in ({"version": 2}, {"format": "odernn-witness"}, {"more": 1}):
        with pytest.raises(WitnessError):
            from_json(json.dumps(once | change))


def test_every_case_is_a_job_with_a_key_of_its_own():
    registry = Registry()
    claims = [entry for entry in registry if entry.claim.state_bound is None]
    whole = plan(Settings(claims=tuple(each.claim.id for each in claims)), registry)
    assert not whole.measuring and claims
    assert (
        len({job.key for job in whole.judging}) == len(whole.judging) == sum(len(each.claim.cases) for each in claims)
    )
    other = plan(Settings(seed=1, claims=tuple(each.claim.id for each in claims)), registry)
    assert not {job.key for job in whole.judging} & {job.key for job in other.judging}
    everything = plan(Settings(), registry)
    assert {job.key for job in whole.judging} <= {job.key for job in everything.judging}


def test_no_file_of_claims_speaks_of_verdicts():
    folder = Path(verdict.__file__).parent / "claims"
    words = {*verdict.PRECEDENCE} - {"error"}  # a word of numerical analysis, too
    for path in sorted(folder.glob("*.py")):
        found = [word for word in words if re.search(rf'["\']{re.escape(word)}["\']', path.read_text())]
        assert not found, (path.name, found)
    planted = 'VERDICT = "refuted"'
    assert any(re.search(rf'["\']{word}["\']', planted) for word in words)


def test_rows_of_questions_show_their_own_words():
    found = judged(attempt(found="slope 1.00 ± 0.01", claimed="slope 2"))
    assert rows.is_question(found)
    table = rows.table([found], rows.Facts("0", "smoke", 0))
    assert "slope 1.00 ± 0.01" in table.rows[0] and "slope 2" in table.rows[0]
    assert rows.verdicts([found]) == {"planted | free | x": verdict.NOT_REFUTED}
    assert number({"x": "-3/4"}, "x") == Fraction(-3, 4)


def test_witnesses_whose_names_differ_in_signs_only_have_files_of_their_own():
    check = Check(BOTH, HOLDS)
    tried = [Case("free", quantity, lambda *_: CANDIDATE, lambda _: check) for quantity in ("≤ C dt", "≥ c dt")]
    claim = Claim("planted", Source("me", ""), "both", "slope", tuple(tried))
    names = rows.witness_names([answer(claim, case, SMOKE, 0) for case in tried])
    assert sorted(names.values()) == ["planted-free-c-dt-2.json", "planted-free-c-dt.json"]
