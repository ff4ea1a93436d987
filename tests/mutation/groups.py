"""Which files are broken together, which of their functions, and which tests are to notice it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import operators
import trials
from operators import Mutant

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
    return Group(
        names.split()[0].replace("/", " "),
        files,
        tuple(f"tests/odernn/bounds/test_{name}.py" for name in tests.split()),
    )


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
    _bounds("sharp icml sam", "bounds_sharp bounds_square_root bounds_icml bounds_sam"),
    _bounds("jacobian forms words", "bounds_jacobian"),
    _bounds("layers routes", "bounds_layers bounds_gradient"),
    _bounds("gradient", "bounds_gradient certify_unicornn certify_growth certify_typed_again state_allowances"),
    _bounds(
        "network/unicornn network/states network/weights",
        "certify_unicornn certify_growth certify_typed_again state_allowances bounds_gradient bounds_trials",
    ),
    _bounds(
        "reconstruction",
        "bounds_reconstruction certify_unicornn certify_growth certify_typed_again state_allowances",
    ),
    _bounds("sensitivity", "bounds_sensitivity"),
    _bounds("numbers", "bounds_numbers bounds_sharp bounds_jacobian"),
    _bounds("orthogonal", "bounds_orthogonal"),
    _bounds("arnn", "bounds_arnn"),
    _bounds("hidden_gradient", "bounds_hidden_gradient"),
    _bounds("cayley_rounding", "bounds_cayley_rounding"),
    _bounds("switching", "bounds_switching certify_growth"),
    _bounds("damped", "bounds_damped"),
    _bounds("network/lipschitz", "reach certify_inputs"),
    Group(
        "network damped",
        ("odernn/bounds/network/damped.py",),
        (
            "tests/odernn/bounds/test_damped_typed_again.py",
            "tests/odernn/cells/test_damped_unicornn_lines.py",
        ),
    ),
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
            "verification/cases/chain_jacobians.py",
            "verification/cases/three_norms.py",
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
        "small steps",
        "small_step_growth one_error",
        "test_claims_small_steps test_claims_gradients mutation/test_margins",
    ),
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
            for name in (
                "witness/test_witness",
                "witness/test_large_runs",
                "witness/test_words_of_a_run",
                "test_instance",
                "claims/test_answer",
            )
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
        "odernn_stability odernn_contraction burrage_butcher qunn_conditions",
        "test_claims_odernn_stability mutation/test_checks_in_floats",
    ),
    _checks(
        "checks of Cayley",
        "related cayley_statements cayley_entries cayley_reach scornn_parameters scaled_cayley bounded_entries "
        "orthogonal_updates orthogonal_reach scaled_cayley_theorems",
        "test_claims_cayley verification/cases/test_scornn_parameters verification/cases/test_related "
        "mutation/test_orthogonality_sides",
    ),
    _checks(
        "checks of graphs",
        "graph_statements graph_kinds graph_growth graph_conditions",
        "test_claims_graphs mutation/test_margins",
    ),
    _checks("checks of counts", "parameter_counts module_counts table_arithmetic", "test_claims_counts"),
    _checks(
        "checks of gradients",
        "network_gradient gradient_bounds jacobian_bounds chain_jacobians three_norms",
        "test_claims_gradients verification/certify/test_network_gradient mutation/test_margins",
    ),
    Group(
        "gradient theorems",
        (
            "verification/measure/corrected_forms.py",
            "verification/measure/gradient_theorems.py",
            "verification/certify/second/gradient_theorems.py",
            "verification/cases/corrected_bounds.py",
            "verification/cases/gradient_theorems.py",
        ),
        ("tests/verification/claims/test_claims_gradient_theorems.py",),
    ),
    Group(
        "rebuilt states",
        ("verification/certify/second/rebuilding.py", "verification/cases/binades.py"),
        ("tests/verification/claims/test_claims_rebuilt_states.py", "tests/mutation/test_library_sides.py"),
    ),
    Group(
        "rebuilt states on trial",
        ("verification/cases/rebuilding.py",),
        ("tests/verification/claims/test_claims_rebuilt_states.py", "tests/mutation/test_library_sides.py"),
        r"^(rebuild|check|opinion|_replayed|_in_library)$",
    ),
    Group(
        "meshes of rotations",
        ("verification/measure/rotation_mesh.py", "verification/certify/second/rotation_mesh.py"),
        ("tests/mutation/test_library_sides.py", "tests/verification/claims/test_claims_cayley.py"),
    ),
    Group(
        "slopes of activations",
        ("verification/cases/activation_slopes.py",),
        ("tests/verification/claims/test_claims_modrelu.py", "tests/mutation/test_library_sides.py"),
        r"^(decide|first|again|value|rises|ask)$",
    ),
    Group(
        "theorems of the library",
        tuple(
            f"verification/cases/{name}.py"
            for name in (
                "step_products",
                "invariant_form",
                "ode_theorems",
                "vanishing_inputs",
                "growth_factors",
                "word_rates",
                "orbit_separation",
            )
        ),
        ("tests/verification/claims/test_claims_library_states.py", "tests/mutation/test_library_sides.py"),
        PATTERN + "|" + CHECKS,
    ),
    _claims("small shares", "small_shares", "mutation/test_library_sides"),
    _claims("energy steps", "energy_step", "test_claims_sensitivities mutation/test_library_sides"),
    _claims("any network", "initialised", "verification/cases/test_initialised mutation/test_library_sides"),
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
