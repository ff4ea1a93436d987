"""What a report of ``certify`` says of every cell: rounding, what nobody knows, what is refused."""

from __future__ import annotations

import copy
import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import pytest
import torch

from benchmarks import _cell_attacks as attacks
from benchmarks._cell_kinds import KINDS
from odernn import cells, tableaus
from odernn.bounds import NetworkBounds, certify
from odernn.bounds.network import lipschitz
from odernn.bounds.network.report import UNKNOWN, LayerBounds, QuantityBound, computed_line, shown, verdicts_of
from odernn.bounds.reconstruction import PRECISIONS
from odernn.cells.antisymmetric import AntisymmetricRNN
from odernn.cells.arnn_2_2 import ARNN22
from odernn.cells.exprnn import ExpRNN
from odernn.cells.indrnn import IndRNN
from odernn.cells.linoss import LinOSS
from odernn.cells.lipschitz import LipschitzRNN
from odernn.cells.qunn import QUNN
from odernn.cells.recurrent import RecurrentNetwork
from odernn.cells.scornn import ScoRNN
from tests.odernn.bounds.small_networks import drawn
from tests.tiers import spread

ALL_KINDS: dict[str, Callable[[torch.Generator], torch.nn.Module]] = {
    **KINDS,
    "UnICORNN": lambda g: cells.get("unicornn")(2, 4, 2, dt=0.1, alpha=2.0, generator=g, dtype=torch.float64),
}


# --- rounding


def _pushed_up(network: Any, weight: str, size: float) -> Any:
    """Every drive positive and as large as it can be, nothing else."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.fill_(size if name.endswith(weight) else 0.0)
    return network


@pytest.mark.parametrize(
    ("network", "quantity"),
    [
        (_pushed_up(AntisymmetricRNN(1, 1, dt=0.1, gamma=0.0), "V", 1e6), "|h_n|, n ≤ N"),
        (_pushed_up(ARNN22(1, 1, dt=0.05), "V", 1e6), "|y_n|, n ≤ N"),
        (_pushed_up(ScoRNN(1, 1, rho=0), "U", 0.1), "‖h_n‖₂, n ≤ N"),
        (_pushed_up(LinOSS(1, 1, dt=0.1, scheme="im"), "B", 0.1), "|z_n|, n ≤ N"),
    ],
)
def test_a_run_in_float32_exceeds_what_is_exact_and_not_what_is_computed(network: Any, quantity: str) -> None:
    """Sums of n equal numbers that no float is: rounding adds up, and the line about computed states knows."""
    exceeded = 0
    with torch.no_grad():
        rows = attacks.run(network, torch.ones(3000, 1, 1))[0]
    block = rows["z"] if "z_n" in quantity else next(iter(rows.values()))
    for steps in (10, 100, 700, 3000):
        lines = certify(network, input_bound=1.0, steps=steps).layers[0]
        (computed,) = (line for line in lines.bounds if attacks.plain(line.quantity) == f"{quantity[:-7]} as computed")
        exact = lines[quantity].log
        assert exact is not None and computed.log is not None
        reached = math.log(float(block[:steps].double().abs().max()))
        assert reached <= computed.log
        exceeded += reached > exact
    assert exceeded > 0


# --- what nobody knows, and what is refused


class LeakyRNN(RecurrentNetwork):
    """A cell of somebody's, which no theorem here is about."""

    def __init__(self) -> None:
        super().__init__(2, 3)
        self.fill(type(ExpRNN(2, 3).layers[0]), None)


def test_of_a_cell_without_theorems_every_line_says_so() -> None:
    for network in (LeakyRNN(), QUNN(4, 4, block_length=2), cells.get("odernn")(2, 3, tableau=tableaus.EULER, eta=0.1)):
        report = certify(network, input_bound=1.0, steps=4)
        assert all(line.log is None for layer in report.layers for line in layer.bounds)
        assert UNKNOWN in str(report) and "no theorem here is about" in str(report)
        assert report._repr_html_().count(UNKNOWN) == sum(len(layer.bounds) for layer in report.layers)


def test_a_class_that_borrows_a_name_borrows_no_theorem() -> None:
    class LEM(LeakyRNN):
        pass

    assert certify(LEM(), input_bound=1.0, steps=2).layers[0].bounds[0].log is None
    for kind, arguments in ((cells.get("lem"), (2, 3)), (torch.nn.GRU, (2, 3))):
        inherited = type("Mine", (kind,), {"extra": 1})(*arguments)
        assert certify(inherited, input_bound=1.0, steps=2).layers[0].bounds[0].log is not None
        changed = type("Mine", (kind,), {"forward": lambda self, u: u})(*arguments)
        assert all(line.log is None for line in certify(changed, input_bound=1.0, steps=2).layers[0].bounds)


def test_refusals_name_the_thing_and_the_next_step() -> None:
    network = LinOSS(2, 3, dt=3.0, guard="none")
    with torch.no_grad():
        network.layers[0].A_raw.fill_(5.0)
    assert certify(network, input_bound=1.0, steps=300).layers[0]["|y_n|, n ≤ N"].log > 100  # type: ignore[operator]
    with pytest.raises(ValueError, match="rms_energy is of UnICORNN's estimate, but network is a LinOSS"):
        certify(network, input_bound=1.0, steps=3, rms_energy=1.0)
    with pytest.raises(ValueError, match="bidirectional"):
        certify(torch.nn.LSTM(2, 3, bidirectional=True), input_bound=1.0, steps=3)
    with pytest.raises(TypeError, match=r"verification\.trial"):
        certify(torch.nn.Sequential(network), input_bound=1.0, steps=3)
    with pytest.raises(ValueError, match="on the device meta"):
        certify(ExpRNN(2, 3, device="meta"), input_bound=1.0, steps=3)
    projected = certify(torch.nn.LSTM(2, 4, proj_size=2), input_bound=1.0, steps=3).layers[0]
    assert all(line.log is None for line in projected.bounds)


@pytest.mark.parametrize("kind", spread(KINDS, 9))
def test_every_line_is_finite_however_short_long_or_silent_a_run_is(kind: str) -> None:
    network = KINDS[kind](drawn(len(kind)))
    for steps, bound, aim in ((1, 0.0, 0.0), (2, 1e6, 1e-6), (700, 1.0, 1.0)):
        report = certify(network, input_bound=bound, steps=steps, target_bound=aim)
        assert_finite_or_said(report)
        assert len(str(report).splitlines()) > 6


def test_a_line_that_no_float_can_hold_is_no_information() -> None:
    assert shown(QuantityBound("q", 100.0, "thm")) == "no information"
    assert shown(QuantityBound("q", 100.0, "thm", sign="≥")) == "≥ 10^43.4"
    assert shown(QuantityBound("q", None, "", "why")) == UNKNOWN


def test_what_a_table_shows_is_a_bound_as_well() -> None:
    """Rounded up after ≤, down after ≥, and by no more than the digits shown; 2⁻⁹ was shown as ≤ 0.00195."""
    assert shown(QuantityBound("q", math.log(2.0**-9), "thm")) == "≤ 0.00196"
    logs = [math.log(2.0**-9), 0.0, 1e-12, -1e-12, math.log(0.9995), -9.3, 13.8, -20.0, 87.0]
    for log in [*logs, 1e-3, -1e-3, *torch.linspace(-30, 80, 300, dtype=torch.float64).tolist()]:
        with mpmath.workdps(40):
            up, down = (_number(shown(QuantityBound("q", log, "thm", sign=sign))) for sign in ("≤", "≥"))
            assert down <= mpmath.exp(log) <= up and up <= down * 1.27, log


def _number(text: str) -> mpmath.mpf:
    """Of "≤ 0.00196", "≤ 10^-8.6" or "≤ 1 + 2e-12"."""
    first, _, rest = text[2:].partition(" ")
    if rest:
        return mpmath.mpf(first) + mpmath.mpf(rest.replace(" ", "").replace("−", "-"))
    base, _, power = first.partition("^")
    return mpmath.mpf(base) ** mpmath.mpf(power) if power else mpmath.mpf(base)


# --- the verdict


LINE = QuantityBound
VERDICTS_TYPED: dict[str, tuple[list[QuantityBound], dict[str, str]]] = {
    "bounded": (
        [LINE("|h_n|, n ≤ N", 2.0, "t"), LINE("|ĥ_n| as computed", 2.1, "t")],
        {"states": "cannot blow up", "computed states": "cannot blow up"},
    ),
    "the larger decides": ([LINE("|h_n|, n ≤ N", 2.0, "t"), LINE("|c_n|, n ≤ N", 14.0, "t")], {"states": "not known"}),
    "just within": ([LINE("|dE/dθ|, θ = V", 6 * math.log(10) - 1e-9, "t")], {"gradients": "cannot blow up"}),
    "just beyond": ([LINE("|dE/dθ|, θ = V", 6 * math.log(10) + 1e-9, "t")], {"gradients": "not known"}),
    "one is unknown": (
        [LINE("|dE/dθ|, θ = V", 0.0, "t"), LINE("|dE/dθ|, θ = W", None, "", "why")],
        {"gradients": "not known"},
    ),
    "grows": (
        [LINE("‖∂h_N/∂h_1‖₂", 90.0, "t"), LINE("the same, from below", 14.0, "t", "some", "≥")],
        {"small changes": "can blow up"},
    ),
    "between": (
        [LINE("‖∂h_N/∂h_1‖₂", 90.0, "t"), LINE("the same, from below", 13.0, "t", "some", "≥")],
        {"small changes": "not known"},
    ),
    "from below of what is unknown": (
        [LINE("‖∂h_N/∂h_1‖₂", None, "", "why"), LINE("the same, from below", 14.0, "t", "some", "≥")],
        {"small changes": "can blow up"},
    ),
    "an estimate": ([LINE("√Q of that error", 99.0, "t", "an estimate", "≈")], {}),
    "derivative and distance": (
        [LINE("‖∂h_N/∂h_1‖₂", 0.0, "t"), LINE("‖h_N − h'_N‖ / ‖h_1 − h'_1‖", None, "", "jumps")],
        {"small changes": "cannot blow up", "distances of two runs per ‖h_1 − h'_1‖": "not known"},
    ),
    "two runs on different inputs": (
        [
            LINE(lipschitz.OVER_ALL, 0.0, "t"),
            LINE(lipschitz.A_STEP, 90.0, "t"),
            LINE(lipschitz.OF_MEAN, 90.0, "t"),
            LINE(lipschitz.COMPUTED, None, "", "why"),
            LINE(lipschitz.ROUNDED, 90.0, "t"),
        ],
        {"distances of two runs per ‖u − u'‖₂": "cannot blow up"},
    ),
}


@pytest.mark.parametrize("name", VERDICTS_TYPED)
def test_a_verdict_is_that_of_the_worst_line(name: str) -> None:
    lines, expected = VERDICTS_TYPED[name]
    found = verdicts_of(LayerBounds(1, tuple(lines), ()))
    assert {subject: verdict for subject, (verdict, _) in found.items()} == expected


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_verdict_names_every_quantity_within_eighty_columns(kind: str) -> None:
    """Of 64 steps: every line but those of one step and estimates counts; nothing is in two verdicts."""
    report = certify(ALL_KINDS[kind](drawn(1)), input_bound=1.0, steps=64)
    text = report.verdict
    assert max(map(len, text.splitlines())) <= 80 and str(report).startswith(f"{report.title}\n\n{text}\n")
    for layer in report.layers:
        verdicts = verdicts_of(layer)
        assert {"states", "gradients"} <= set(verdicts) and any("small changes" in subject for subject in verdicts)
        states = [line.log for line in layer.bounds if "n ≤ N" in line.quantity]
        is_known = all(log is not None and log <= math.log(1e6) for log in states)
        assert verdicts["states"][0] == ("cannot blow up" if is_known else "not known")
        below = [line.log for line in layer.bounds if line.sign == "≥" and "step" not in line.quantity]
        can = any(verdict == "can blow up" for verdict, _ in verdicts.values())
        assert can == (max(below, default=0.0) >= math.log(1e6))  # type: ignore[operator, type-var]
        flat = " ".join(text.split())
        for subject, (_, why) in verdicts.items():
            assert subject in flat and f"({why}" in flat


def test_premises_stand_above_the_table_in_text_and_in_a_notebook() -> None:
    report = certify(AntisymmetricRNN(2, 3, dt=0.1, gamma=0.0), input_bound=1.0, steps=4)
    for text in (str(report), report._repr_html_()):
        for premise in ("zero initial state or the learned one", "without dropout", "nothing overflows", "TF32"):
            assert text.count(premise) == 1
        assert "gradients are of exact arithmetic" in text and "E is the mean over n of" in text


@pytest.mark.parametrize("kind", [cells.get("indrnn"), torch.nn.GRU])
def test_a_network_that_trains_with_dropout_is_told_so(kind: Any) -> None:
    def says(network: Any) -> bool:
        return "dropout = 0.5" in str(certify(network, input_bound=1.0, steps=3))

    assert says(kind(2, 3, 2, dropout=0.5)) and not says(kind(2, 3, 2, dropout=0.5).eval())
    assert not says(kind(2, 3, 2))


@pytest.mark.parametrize(
    ("network", "dtype", "steps"),
    [(torch.nn.RNN(1, 1, nonlinearity="relu"), torch.float16, 28), (IndRNN(1, 1), torch.float32, 300)],
)
def test_states_that_overflow_in_the_dtype_have_no_bound_as_computed(network: Any, dtype: Any, steps: int) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(1.5)
        reached = network.to(dtype)(torch.ones(steps, 1, 1, dtype=dtype))[0]
    assert reached[-1].isinf().all()
    for count, is_known in ((steps, False), (steps // 3, True)):
        lines = certify(network, input_bound=1.0, steps=count).layers[0].bounds
        (line,) = (line for line in lines if "as computed" in line.quantity)
        assert (line.log is not None) == is_known and ("it may overflow in" in line.about) != is_known
        assert reached[:count].isfinite().all() == is_known


def test_rounding_never_takes_from_a_bound() -> None:
    line = computed_line("q", 1.0, 1.0 - 2.0**-50, PRECISIONS["float64"], "thm")
    assert line.log == 1.0 and "rounding adds 0.0e+00 of it" in line.about


NO_NUMBER = re.compile(r"\b(nan|inf)\b|[≤≥≈] -?∞", re.IGNORECASE)


def assert_finite_or_said(report: NetworkBounds[Any]) -> None:
    """Every line has a finite number and a theorem, or neither and a reason; no text shows what is no number."""
    for layer in report.layers:
        for line in layer.bounds:
            assert line.log is None or (math.isfinite(line.log) and isinstance(line.log, float)), line
            assert (line.log is None) == (line.theorem == "") and line.about
    for text in (str(report), report._repr_html_()):
        assert not NO_NUMBER.search(text.replace("thm-G-inf", "thm-G"))


def test_a_text_with_what_is_no_number_is_noticed() -> None:
    """The check above can fail: nan and inf as words, and a bound of ∞, but no tanh, bound or norm ‖·‖_∞."""
    for text in ("≤ nan by", "-inf", "NaN", "≤ ∞", "≥ -∞"):
        assert NO_NUMBER.search(text)
    assert not NO_NUMBER.search("tanh, ‖∂X_N/∂X_1‖_∞ ≤ 2, information")
    report = certify(IndRNN(1, 1), input_bound=1.0, steps=2)
    for log in (math.nan, math.inf):
        (layer,) = report.layers
        spoilt = replace(layer, bounds=(replace(layer.bounds[0], log=log), *layer.bounds[1:]))
        with pytest.raises(AssertionError):
            assert_finite_or_said(replace(report, layers=(spoilt,)))


@pytest.mark.parametrize("kind", spread(ALL_KINDS, 9))
@pytest.mark.parametrize("size", [1e20, 1e155, 1e300, 1.7e308])
def test_huge_weights_and_inputs_have_finite_bounds_or_words(kind: str, size: float) -> None:
    """Every parameter alone, all together, and the inputs: no case is an error. 1e155 is the root of the largest."""
    network = ALL_KINDS[kind](drawn(len(kind)))
    kept = copy.deepcopy(network.state_dict())
    for huge in (*(name for name, _ in network.named_parameters()), ""):
        network.load_state_dict(kept)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                if huge in (name, ""):
                    parameter.copy_(size * parameter.sign())
        assert_finite_or_said(certify(network, input_bound=1.0, steps=5))
    network.load_state_dict(kept)
    for bound, aim in ((size, 1.0), (1.0, size), (size, size)):
        assert_finite_or_said(certify(network, input_bound=bound, steps=5, target_bound=aim))


def test_what_overflows_is_said_in_words() -> None:
    mixed = {"beta_a": 0.5, "gamma_a": 0.1, "beta_w": 0.5, "gamma_w": 0.1}
    for network, name in ((ExpRNN(2, 3), "free"), (LipschitzRNN(2, 3, dt=0.1, **mixed), "M_W")):
        with torch.no_grad():
            getattr(network.layers[0], name).fill_(3e38)
        lines = certify(network, input_bound=1.0, steps=5).layers[0].bounds
        assert lines and all("too large for floats" in line.about for line in lines if line.log is None)
        assert any(line.log is None for line in lines)


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_dtype_is_refused_where_the_network_refuses_it(kind: str, dtype: torch.dtype) -> None:
    """A forward pass is the oracle: who can run has a report, who cannot has the error of the forward pass."""
    network = ALL_KINDS[kind](drawn()).to(dtype)
    try:
        with torch.no_grad():
            network(torch.ones(2, 1, network.input_size, dtype=dtype))
    except TypeError as error:
        assert dtype in (torch.float16, torch.bfloat16) and str(dtype) in str(error)
        with pytest.raises(TypeError, match=re.escape(str(error))):
            certify(network, input_bound=1.0, steps=2)
    else:
        assert dtype in (torch.float32, torch.float64) or kind.startswith("torch ")
        assert certify(network, input_bound=1.0, steps=2).dtype == str(dtype).removeprefix("torch.")


def test_dtypes_without_theorems_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"dtype torch\.complex64, but bounds are known of .*Convert the network"):
        certify(torch.nn.LSTM(2, 3, dtype=torch.complex64), input_bound=1.0, steps=3)
    for network, name in ((torch.nn.LSTM(2, 3), "weight_hh_l0"), (ScoRNN(2, 4, 2, rho=2), r"layers\.1\.free")):
        parameter = network.get_parameter(name.replace("\\", ""))
        parameter.data = parameter.data.double()
        with pytest.raises(TypeError, match=f"The parameter {name} has dtype torch.float64 but the parameters have"):
            certify(network, input_bound=1.0, steps=3)


def test_of_weights_that_are_computed_nothing_is_known() -> None:
    made = torch.nn.utils.parametrizations.orthogonal(torch.nn.RNN(2, 3), "weight_hh_l0")
    normed = torch.nn.utils.parametrizations.weight_norm(torch.nn.LSTM(2, 3), "weight_hh_l0")
    own = LinOSS(2, 3, dt=0.1)
    own.forward = lambda u: u  # type: ignore[method-assign]
    layered = LinOSS(2, 3, dt=0.1)
    layered.layers[0].__class__ = type("Mine", (type(layered.layers[0]),), {"stepper": None, "__module__": "mine"})
    for network in (made, normed, own, layered):
        lines = certify(network, input_bound=1.0, steps=3).layers[0].bounds
        assert lines and all(line.log is None for line in lines)


@pytest.mark.slow
def test_families_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import torch, sys\nfrom odernn.bounds import certify\nfrom odernn.cells.lem import LEM\n"
        "certify(LEM(1, 2), input_bound=1.0, steps=2)\n"
        "assert 'odernn.bounds.network.cornn' not in sys.modules\n"
        "assert 'odernn.cells.unicornn' not in sys.modules"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
