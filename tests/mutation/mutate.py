"""Mutation check of every bound formula: break it in every way, run its tests, and explain what no test notices.

    python tests/mutation/mutate.py                          everything (about half an hour on one core; --jobs 2)
    python tests/mutation/mutate.py --file sharp             files whose path contains "sharp"
    python tests/mutation/mutate.py --function '^peak_'      functions whose name matches a pattern
    python tests/mutation/mutate.py --sample 150 --seed 1    a random sample
    python tests/mutation/mutate.py --page                   write docs/mutation.md again from the stored result

A process imports the files and their tests once. Then every mutant has a fork of it, in which the code of the broken
function takes the place of the old one in all its instances (functions, methods, closures in claims), and the tests
that run the broken statement are called, the fast ones first, until one fails. Which tests run a statement is measured
before, each test in a fork of its own. Without a mutant all tests must pass.

Exit code 1 if a mutant survives that tests/mutation/survivors.toml does not explain.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

import operators  # noqa: E402
import trials  # noqa: E402
from operators import Mutant  # noqa: E402
from results import (  # noqa: E402
    KEY,
    explained_again,
    merged,
    page,
    record_of,
    settled_files,
    unexplained,
    updated,
)
from trials import SURVIVED, Outcome, run_group  # noqa: E402

RESULT = trials.ROOT / "benchmarks" / "results" / "mutation.json"
PAGE = trials.ROOT / "docs" / "mutation.md"

FORMULAS = (
    r"^(second_)?bound$|(^|_)(balls|intervals)(_|$)|^(ball|interval)$|_(ball|interval)$|^_(ball|interval)_"
    r"|^_second_|^printed_bound$|^sides$|^_(invariant|supremum)$|^_mean_"
)
"""The functions of claims and of makers of cases that are a bound or one side of an inequality, by name."""
MEASURES = (
    r"|^(float|_float_form|exceeds|exponent|_beta_small|_beta_large|_added|_power_row|growth_sum(_again)?"
    r"|_log_growth_parts|_bias_gradient|contracting_eigenvalue|determinant_is_one|row_by_row|tuned_tail"
    r"|printed_hops|printed_power|counter|_counter_by_counting|_residual_power|_floor_at|off_resonance|_drifts|_area"
    r"|_area_again|_gradient_polynomial|_growth_check|_squares_check|_identities_check|_residual_again|expected_loss"
    r"|squared_error_by_polynomials|multiplications|cubic)$"
)
"""And those that are a measured quantity, its closed form or the polynomial of a proof."""
PATTERN = FORMULAS + MEASURES
CHECKS = r"^(check|decide|holds|admits|_?premises?\w*|doubt\w*|read|impose|meets_\w+|attains_\w+|is_\w+|_holds\w*)$"
"""What stands between a witness and "certified": checks, premises, what reads a parameter."""
CONVERTERS = ("_ball", "_interval")
"""Functions with such a name that only convert one number."""

DRAWS = ("draw", "_drawn")
"""What an attack draws: any other distribution would do."""


@dataclass(frozen=True)
class Group:
    """Files that are tried together, and the tests that are to notice a mutant of them."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    only: str = ""  # a pattern of functions; "": all of a file, but in claims and cases those of PATTERN


def _bounds(names: str, tests: str) -> Group:
    files = tuple(f"odernn/bounds/{name}.py" for name in names.split())
    return Group(names.split()[0], files, tuple(f"tests/odernn/bounds/test_bounds_{name}.py" for name in tests.split()))


def _named(folder: Path, stem: str) -> list[Path]:
    """The claim files and the makers of cases of that name."""
    return [*folder.glob(f"claims/*/{stem}.py"), *folder.glob(f"cases/{stem}.py")]


def _claims(name: str, files: str, tests: str) -> Group:
    folder = trials.ROOT / "verification"
    paths = [path for stem in files.split() for path in _named(folder, stem)]
    test_files = tuple(f"tests/{name if '/' in name else f'verification/claims/{name}'}.py" for name in tests.split())
    return Group(name, tuple(path.relative_to(trials.ROOT).as_posix() for path in paths), test_files)


def _checks(name: str, files: str, tests: str) -> Group:
    return replace(_claims(name, files, tests), only=CHECKS)


GROUPS = (
    _bounds("sharp icml sam", "sharp square_root icml sam"),
    _bounds("jacobian forms words", "jacobian"),
    _bounds("layers routes", "layers gradient"),
    _bounds("gradient", "gradient network"),
    _bounds("network/network_bounds network/states network/weights", "network gradient trials"),
    _bounds("reconstruction", "reconstruction network"),
    _bounds("sensitivity", "sensitivity"),
    _bounds("numbers", "numbers sharp jacobian"),
    _bounds("orthogonal", "orthogonal"),
    _bounds("arnn", "arnn"),
    _bounds("hidden_gradient", "hidden_gradient"),
    _bounds("cayley_rounding", "cayley_rounding"),
    Group(
        "inequalities",
        (
            "verification/measure/published_forms.py",
            "verification/measure/energy_growth.py",
            "verification/claims/unicornn/proof_steps.py",
            "verification/cases/chain_ends.py",
            "verification/cases/one_step_norms.py",
            "verification/claims/unicornn/ode_bounds.py",
            "verification/cases/ode_states.py",
            "verification/cases/ode_sensitivities.py",
            "verification/claims/unicornn/printed_forms.py",
        ),
        (
            "tests/verification/claims/test_claims_inequalities.py",
            "tests/mutation/test_sides.py",
            "tests/mutation/test_margins.py",
        ),
    ),
    Group(
        "state",
        (
            "verification/claims/unicornn/icml_state.py",
            "verification/claims/unicornn/sam_state.py",
            "verification/claims/library/sharp_state.py",
        ),
        (
            "tests/verification/certify/second/test_intervals.py::"
            "test_both_typings_of_every_shipped_bound_enclose_the_same_number",
            "tests/mutation/test_state_bounds.py",
            "tests/mutation/test_margins.py",
        ),
    ),
    Group(
        "flows",
        tuple(f"verification/{name}.py" for name in ("certify/linear_flow", "certify/suprema", "measure/ode")),
        tuple(
            f"tests/{name}.py"
            for name in (
                "verification/claims/test_claims_inequalities",
                "verification/claims/test_claims_sensitivities",
                "mutation/test_sides",
                "mutation/test_measures",
            )
        ),
    ),
    Group(
        "gradients",
        (
            "verification/measure/gradient_forms.py",
            "verification/cases/chain_gradients.py",
            "verification/cases/top_layer_gradients.py",
            "verification/claims/unicornn/gradient_bounds.py",
            "verification/claims/unicornn/jacobian_bounds.py",
        ),
        (
            "tests/verification/claims/test_claims_gradients.py",
            "tests/mutation/test_measures.py",
            "tests/mutation/test_margins.py",
        ),
    ),
    _claims("slopes", "gradient_decay gradient_growth vanishing depth_orders representation", "test_claims_slopes"),
    _claims(
        "energy",
        "elementary sensitivities rest_sensitivities",
        "test_claims_sensitivities mutation/test_sides mutation/test_margins",
    ),
    _claims(
        "orthogonality",
        "cayley_rounding modrelu scaled_cayley",
        "test_claims_cayley_rounding test_claims_modrelu test_claims_cayley mutation/test_orthogonality_sides",
    ),
    _claims("tasks", "synthetic_tasks scornn_counts", "test_claims_scornn_tables"),
    Group(
        "readers",
        tuple(f"verification/{name}.py" for name in ("kinds", "parameters")),
        ("tests/verification/test_parameters.py",),
    ),
    Group(
        "rules",
        tuple(f"verification/{name}.py" for name in ("verdict", "answer", "certify/enclosures")),
        tuple(
            f"tests/verification/{name}.py"
            for name in ("test_verdict", "claims/test_answer", "certify/test_enclosures")
        ),
    ),
    Group(
        "witnesses",
        (
            *(f"verification/witness/{name}.py" for name in ("file", "text", "check", "state_run", "state_check")),
            "verification/instance.py",
        ),
        tuple(
            f"tests/verification/{name}.py"
            for name in ("witness/test_witness", "witness/test_large_runs", "test_instance", "claims/test_answer")
        ),
    ),
    _checks(
        "checks of floats and orders",
        "order gradient_decay gradient_growth representation elementary",
        "test_claims_slopes",
    ),
    _checks(
        "checks of identities",
        "identity layer_blocks structure hamiltonian energy_balance",
        "test_claims_structure mutation/test_checks_in_floats",
    ),
    _checks(
        "checks of modes", "decision arnn_modes frozen_slopes arnn_reversibility arnn_stability", "test_claims_arnn"
    ),
    _checks(
        "checks of stability",
        "odernn_stability odernn_contraction burrage_butcher",
        "test_claims_odernn_stability mutation/test_checks_in_floats",
    ),
    _checks(
        "checks of Cayley",
        "related cayley_statements cayley_entries cayley_reach scornn_parameters scaled_cayley bounded_entries "
        "orthogonal_updates orthogonal_reach scaled_cayley_theorems",
        "test_claims_cayley verification/cases/test_scornn_parameters verification/cases/test_related",
    ),
    _checks(
        "checks of graphs",
        "graph_statements graph_kinds graph_growth graph_conditions",
        "test_claims_graphs mutation/test_margins",
    ),
    _checks("checks of counts", "parameter_counts table_arithmetic", "test_claims_counts"),
    _checks(
        "checks of gradients",
        "network_gradient gradient_bounds jacobian_bounds",
        "test_claims_gradients verification/certify/test_network_gradient mutation/test_margins",
    ),
    _checks(
        "checks of inequalities",
        "inequality one_step_norms chain_ends ode_states",
        "test_claims_inequalities mutation/test_margins",
    ),
    _claims(
        "graphs",
        "graph_lstm graph_tables",
        "test_claims_networks test_claims_tables mutation/test_graph_sides mutation/test_margins",
    ),
)


# --- the mutants of a group


def _states_more(file: str) -> bool:
    """Whether it holds more than formulas: claims and makers of cases also search, propose and word."""
    return "/claims/" in file or "/cases/" in file


def mutants_of(group: Group, pattern: str = "") -> list[Mutant]:
    """Of every file of the group whose path contains ``pattern``."""
    texts = {file: (trials.ROOT / file).read_text() for file in group.files if pattern in file}
    return [
        mutant
        for file, text in texts.items()
        for mutant in operators.mutants(text, file, only=group.only or (PATTERN if _states_more(file) else None))
        if (group.only or not _states_more(file) or mutant.function not in CONVERTERS)
        and not mutant.function.endswith(DRAWS)
    ]


Chosen = TypeVar("Chosen")


def choose(mutants: Sequence[Chosen], count: int | None, seed: int) -> list[Chosen]:
    """``count`` of them at random, in order; all if it is None."""
    if count is None or count >= len(mutants):
        return list(mutants)
    return [mutants[i] for i in sorted(random.Random(seed).sample(range(len(mutants)), count))]


# --- the command


def _workers(
    work: Sequence[tuple[Group, list[Mutant]]], jobs: int, say: Callable[[str], None]
) -> Iterator[tuple[Group, list[Outcome]]]:
    """One process a group, so that only its own tests are imported; ``jobs`` of them at once."""
    waiting = list(work)
    running: list[tuple[Group, subprocess.Popen[bytes], Path]] = []
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                group, mutants = waiting.pop(0)
                ask, answer = Path(folder) / f"{group.name}.in", Path(folder) / f"{group.name}.out"
                ask.write_bytes(pickle.dumps((trials.ROOT, group, mutants)))
                command = [sys.executable, __file__, "--worker", str(ask), str(answer)]
                running.append((group, subprocess.Popen(command, cwd=trials.ROOT), answer))
            for entry in list(running):
                group, process, answer = entry
                if process.poll() is not None:
                    running.remove(entry)
                    if process.returncode:
                        raise RuntimeError(f"The worker of {group.name} ended with {process.returncode}.")
                    yield group, pickle.loads(answer.read_bytes())
            time.sleep(0.2)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Mutation check of the bound formulas.")
    parser.add_argument("--file", default="", help="only files whose path contains this")
    parser.add_argument("--function", help="only functions whose qualified name has a match of this pattern")
    parser.add_argument("--group", help=f"only the files of {', '.join(group.name for group in GROUPS)}")
    parser.add_argument("--sample", type=int, help="so many mutants, chosen at random")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every N-th mutant, from the I-th; see --merge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--settled", action="store_true", help="only files whose mutants have all been tried before")
    parser.add_argument("--again", type=Path, metavar="RESULT", help="try the survivors of a stored result once more")
    parser.add_argument("--merge", type=Path, nargs="+", metavar="RESULT", help="results as one, with the page")
    parser.add_argument("--page", action="store_true", help="write the page again from the stored result")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--out", type=Path, help="where the result goes (default: the repository's, for a full run)")
    parser.add_argument("--root", type=Path, help="another project: mutate its --files under its --tests")
    parser.add_argument("--files", nargs="+", default=(), help="with --root")
    parser.add_argument("--tests", nargs="+", default=(), help="with --root")
    parser.add_argument("--worker", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser


def _work(ask: Path, answer: Path) -> None:
    """What a process of ``_workers`` does: the mutants of one group, from a file into a file."""
    root, group, mutants = pickle.loads(ask.read_bytes())
    trials.move_to(root)

    def say(text: str) -> None:
        os.write(2, f"{group.name}: {text}\n".encode())

    answer.write_bytes(pickle.dumps(run_group(group.files, group.tests, mutants, say)))


def _written_again(results: Sequence[Path]) -> int:
    """Stored results as one in the place of the repository's, explained anew, with the page."""
    record = explained_again(merged([json.loads(path.read_text()) for path in results]))
    record["of"] = _total(GROUPS)
    RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(record))
    return any(each["kind"] == "unexplained" for each in record["survivors"])


def _asked(options: argparse.Namespace, groups: Iterable[Group]) -> list[tuple[Group, Mutant]]:
    """The mutants that the options name; --sample chooses among them."""
    asked = [(group, mutant) for group in groups for mutant in mutants_of(group, options.file)]
    if options.function:
        asked = [(group, mutant) for group, mutant in asked if re.search(options.function, mutant.function)]
    if options.settled:
        settled = settled_files(json.loads(RESULT.read_text()))
        asked = [(group, mutant) for group, mutant in asked if mutant.file in settled]
    which, parts = map(int, options.shard.split("/"))
    asked = asked[which - 1 :: parts]
    if options.again:
        stored = json.loads(options.again.read_text())
        alive = {tuple(each[name] for name in KEY) for each in stored["survivors"]}
        asked = [(group, mutant) for group, mutant in asked if mutant.key in alive]
    return asked


def _is_full(options: argparse.Namespace) -> bool:
    """Whether nothing is left out: only then the result takes the place of the repository's."""
    some = (options.file, options.function, options.group, options.root, options.settled)
    return options.sample is None and options.shard.endswith("/1") and not any(some)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.worker:
        _work(*options.worker)
        return 0
    if options.page or options.merge:
        return _written_again(options.merge or [RESULT])
    groups = [group for group in GROUPS if options.group in (None, group.name)]
    if options.root:
        trials.move_to(options.root)
        groups = [Group("other", tuple(options.files), tuple(options.tests))]
    asked = _asked(options, groups)
    if options.list:
        for group, mutant in asked:
            print(group.name, mutant.file, mutant.line, mutant.operator, mutant.before, "→", mutant.after, sep="\t")
        return 0
    work: dict[str, tuple[Group, list[Mutant]]] = {}
    for group, mutant in choose(asked, options.sample, options.seed):
        work.setdefault(group.name, (group, []))[1].append(mutant)
    start = time.monotonic()
    outcomes = {}
    for group, found in _workers(list(work.values()), options.jobs, print):
        outcomes[group.name] = found
        survived = sum(each.fate == SURVIVED for each in found)
        print(f"{group.name}: {len(found)} mutants, {survived} survived", flush=True)
    ordered = [each for group in groups for each in outcomes.get(group.name, [])]
    record = record_of(ordered, time.monotonic() - start)
    record["of"] = _total(groups)
    if options.again:
        record = updated(json.loads(options.again.read_text()), record, [each.mutant for each in ordered])
    is_full = _is_full(options)
    if options.out or is_full:
        (options.out or RESULT).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if is_full and not options.out:
        PAGE.write_text(page(record))
    new = unexplained(ordered)
    for each in new:
        print(f"survived, unexplained: {each.file}:{each.line} {each.function}: {each.before} → {each.after}")
    print(f"{record['killed']} of {record['mutants']} killed in {record['seconds']} s")
    return bool(new)


def _total(groups: Iterable[Group]) -> dict[str, int]:
    """How many mutants there are of each file."""
    return dict(Counter(mutant.file for group in groups for mutant in mutants_of(group)))


if __name__ == "__main__":
    sys.exit(main())
