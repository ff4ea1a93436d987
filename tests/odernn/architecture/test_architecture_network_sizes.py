"""Numbers of parameters by hand, by search, and as they are printed (Zhang et al. 2016, Section 4.4, Appendix B.4)."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odernn.architecture import GraphRNN, get, hidden_size_for, parameter_count
from tests.odernn.architecture.graph_network_book import random_graph

LSTM = "multidimensional-lstm"
CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "architecture.md"


def drawn(seed: int) -> tuple[tuple, dict]:
    """Arguments of a network but for its hidden size."""
    draw = random.Random(seed)
    unit = draw.choice(["tanh", LSTM])
    options = {"bias": draw.random() < 0.5}
    if unit == LSTM:
        options |= {"carry": draw.choice(["delayed", "all"]), "forget_reads": draw.choice(["all", "own"])}
    return (draw.randint(1, 4), draw.choice([None, 3]), unit), options


@pytest.mark.parametrize("seed", range(40))
def test_the_count_is_that_of_the_network(seed: int) -> None:
    (input_size, output_size, unit), options = drawn(seed)
    graph = random_graph(seed)
    network = GraphRNN(graph, 3, input_size, unit, output_size=output_size, device="meta", **options)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert parameter_count(graph, 3, input_size, output_size, unit, **options) == count
    sizes = dict.fromkeys(network.wiring.nodes("unit"), 3)
    assert parameter_count(graph, sizes, input_size, output_size, unit, **options) == count


@pytest.mark.parametrize("seed", range(40))
def test_the_size_is_the_best_of_all(seed: int) -> None:
    (input_size, output_size, unit), options = drawn(seed)
    graph = random_graph(seed)
    counts = {n: parameter_count(graph, n, input_size, output_size, unit, **options) for n in range(1, 60)}
    draw = random.Random(seed)
    for parameters in (counts[1], counts[17], counts[17] - 1, *(draw.randint(counts[1], counts[50]) for _ in range(5))):
        arguments = (graph, parameters, input_size, output_size, unit)
        nearest = min(counts, key=lambda n, p=parameters: (abs(counts[n] - p), n))
        assert hidden_size_for(*arguments, **options) == nearest
        below = max(n for n in counts if counts[n] <= parameters)
        assert hidden_size_for(*arguments, rounding="down", **options) == below


def by_hand(name: str, n: int, i: int, o: int, unit: str = "tanh", forget_reads: str = "all") -> int:
    """sh and skip-k: gates · (recurrent matrices + input + bias) + read-out."""
    loops = 1 if name == "sh" else 2
    if unit == "tanh":
        return loops * n * n + n * i + n + o * (n + 1)
    forget = loops if forget_reads == "own" else loops * loops  # loops gates, each with 1 or with all matrices
    return (3 * loops + forget) * n * n + (3 + loops) * (n * i + n) + o * (n + 1)


@pytest.mark.parametrize("name", ["sh", "skip-5"])
@pytest.mark.parametrize(("unit", "options"), [("tanh", {}), (LSTM, {}), (LSTM, {"forget_reads": "own"})])
def test_counts_of_plain_and_skip_networks_by_hand(name: str, unit: str, options: dict) -> None:
    for n in (1, 64, 90):
        assert parameter_count(get(name), n, 2, 10, unit, **options) == by_hand(name, n, 2, 10, unit, **options)


@pytest.mark.parametrize(
    ("printed", "unit", "i", "o"),
    [
        ((724, 512), "tanh", 10, 10),  # copying: ten symbols
        ((90, 64), "tanh", 1, 10),  # sequential digits
        ((128, 90), LSTM, 2, 1),  # adding
        ((90, 64), LSTM, 1, 10),  # sequential digits
    ],
)
def test_printed_pairs_of_equal_parameters_are_equal_within_2_5_per_cent(printed, unit, i, o) -> None:
    """cplx-4.4-par: without skip and with. For the LSTM with forget gates that read their own edge only."""
    plain, skip = printed
    options = {"forget_reads": "own"} if unit == LSTM else {}
    counts = (
        parameter_count(get("sh"), plain, i, o, unit, **options),
        parameter_count(get("skip-30"), skip, i, o, unit, **options),
    )
    assert abs(counts[1] / counts[0] - 1) < 0.025
    found = hidden_size_for(get("skip-30"), counts[0], i, o, unit, **options)
    assert abs(found - skip) <= 2


@pytest.mark.parametrize(("plain", "skip", "i", "o", "equal"), [(128, 90, 2, 1, 81), (90, 64, 1, 10, 57)])
def test_forget_gates_that_read_every_edge_have_a_quarter_more_parameters_than_printed(
    plain, skip, i, o, equal
) -> None:
    """Of the two readings of f_u = σ(Σ W_{f_u}(u') h_u), the one with h_{u'} does not have the printed sizes."""
    budget = parameter_count(get("sh"), plain, i, o, LSTM)
    assert parameter_count(get("skip-30"), skip, i, o, LSTM) > 1.2 * budget
    assert hidden_size_for(get("skip-30"), budget, i, o, LSTM) == equal


def test_size_90_has_8_thousand_parameters_without_its_read_out() -> None:
    """cplx-B.4-8K: hidden size 90 at (d_f, d_r) = (2, 1); 8280 with input and bias, and the read-out has 910 more."""
    graph = get("(2,1)")
    assert parameter_count(graph, 90, bias=False) - 90 == 90**2 == 8100
    assert parameter_count(graph, 90) == 8280
    assert parameter_count(graph, 90, output_size=10) == 8280 + 910
    assert hidden_size_for(graph, 8000, output_size=10) == 84  # 84² + 12 · 84 + 10 = 8074, 83² + 12 · 83 + 10 = 7895
    assert hidden_size_for(graph, 8000, bias=False) == 89


def test_what_no_size_can_spend_is_refused() -> None:
    with pytest.raises(ValueError, match=r"with one component in each unit the network has 7 parameters, more than 6"):
        hidden_size_for(get("td"), 6)
    assert hidden_size_for(get("td"), 7) == 1
    for changes, message in (({"parameters": 0}, "parameters is 0"), ({"rounding": "up"}, "rounding is 'up'")):
        with pytest.raises(ValueError, match=message):
            hidden_size_for(**({"graph": get("td"), "parameters": 100} | changes))
    with pytest.raises(TypeError, match="graph is a str"):
        hidden_size_for("td", 100)


# The page.


def row(task: str, unit: str, plain: int, skip: int, i: int, o: int, **options: str) -> str:
    name = "tanh" if unit == "tanh" else f"lstm, f_e reads {'its own edge' if options else 'all edges'}"
    counts = [parameter_count(get(graph), n, i, o, unit, **options) for graph, n in (("sh", plain), ("skip-30", skip))]
    change = f"{100 * (counts[1] / counts[0] - 1):+.1f} %".replace("-", "−")
    equal = hidden_size_for(get("skip-30"), counts[0], i, o, unit, **options)
    return f"| {task} | {name} | {plain} | {skip} | {counts[0]}, {counts[1]} ({change}) | {equal} |"


def test_the_table_of_equal_parameters_on_the_page_is_what_is_computed() -> None:
    own = {"forget_reads": "own"}
    rows = [
        row("copying", "tanh", 724, 512, 10, 10),
        row("sequential digits", "tanh", 90, 64, 1, 10),
        row("adding", LSTM, 128, 90, 2, 1),
        row("adding", LSTM, 128, 90, 2, 1, **own),
        row("sequential digits", LSTM, 90, 64, 1, 10),
        row("sequential digits", LSTM, 90, 64, 1, 10, **own),
    ]
    text = PAGE.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith(("| copying", "| sequential", "| adding"))] == rows


@pytest.mark.slow
def test_the_python_of_the_page_prints_what_stands_below_it() -> None:
    (block,) = re.findall(
        r"```python\n(import torch\nfrom odernn\.architecture import GraphRNN.*?)```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert done.stdout.splitlines() == said and len(said) == 2
