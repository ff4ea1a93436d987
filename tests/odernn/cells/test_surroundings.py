"""Every cell, in every execution, where torch takes a module: meta, torch.func, autocast, replicas, compilers, ONNX.

What an execution cannot do is refused by name; docs/executions.md has it in one table.
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, vmap

from odernn import CoRNN, LinOSS, UnICORNN
from tests.odernn.cells.test_cells import BOOKS, F64, ONE_A_CELL, blocks_of, build, normal, width

OTHERS = {"unicornn": ("cpu", "parallel"), "linoss": ("parallel",)}
"""Executions beside "torch" of the cells whose layers do not say ``offered``."""


def executions_of(name: str) -> list[str]:
    """Those of a CPU."""
    offered = getattr(build(name, next(iter(BOOKS[name].CASES))).layers[0], "offered", ("torch", *OTHERS.get(name, ())))
    return [each for each in offered if each != "cuda"]


ALL = [(name, label, execution) for name, label in ONE_A_CELL for execution in executions_of(name)]
VALUES_DECIDE = [("unicornn", "parallel")]
"""How many iterations there are depends on values, which meta does not have and vmap hides."""

DENSE = [each for each in ALL if each[2] == "cpu" and each[0] != "unicornn"]
"""Those that go into an ONNX as their loops."""

everywhere = pytest.mark.parametrize(("name", "label", "execution"), ALL)


def network_of(name: str, label: str, execution: str, **manners) -> nn.Module:
    network = build(name, label, **manners)
    if execution != "torch":
        for each in [network] if hasattr(network, "execution") else network.layers:
            each.execution = execution
    return network


def test_all_executions_are_asked():
    assert len({name for name, *_ in ALL}) == len(BOOKS)
    fused = {(name, execution) for name, _, execution in ALL if execution != "torch"}
    assert fused >= {(name, "cpu") for name in ("cornn", "exprnn", "scornn", "unicornn")}
    assert fused >= {("linoss", "parallel"), ("unicornn", "parallel")}


# --- no values


@everywhere
def test_on_meta_outputs_and_gradients_have_shapes(name: str, label: str, execution: str):
    network = network_of(name, label, execution, num_layers=2).to("meta")
    u = torch.zeros(5, 2, width(network), dtype=F64, device="meta")
    if (name, execution) in VALUES_DECIDE:
        with pytest.raises(NotImplementedError, match=f'execution="{execution}" does not run on meta'):
            network(u)
        return
    output, state = network(u)
    assert output.is_meta and output.shape == (5, 2, network.output_size)
    assert all(block.is_meta and block.shape[:2] == (2, 2) for block in blocks_of(state))
    output.sum().backward()
    assert all(each.grad is not None and each.grad.shape == each.shape for each in network.parameters())


@everywhere
def test_a_sequence_of_no_steps_has_zero_gradients(name: str, label: str, execution: str):
    network = network_of(name, label, execution)
    u = torch.zeros(0, 2, width(network), dtype=F64, requires_grad=True)
    output, state = network(u)
    (output.sum() + sum(block.sum() for block in blocks_of(state))).backward()
    assert all(each.grad is not None and not each.grad.any() for each in (u, *network.parameters()))


@pytest.mark.parametrize(
    ("name", "label"), [("integrator", "implicit midpoint on oscillator"), ("odernn", "implicit midpoint")]
)
def test_steps_that_are_solved_for_are_exported_mapped_and_run_on_meta(name: str, label: str):
    network, u, other = build(name, label), normal(3, 2, 2), normal(3, 2, 2, seed=8)
    rows = network(other)[0]
    exported = torch.export.export(network, (u,)).module()
    torch.testing.assert_close(exported(other)[0], rows, rtol=0, atol=1e-14)
    samples = vmap(lambda one: network(one.unsqueeze(1))[0].squeeze(1), 1, 1)(other)
    torch.testing.assert_close(samples, rows, rtol=0, atol=1e-14)
    weights = many_weights(network)
    stacked = {key: torch.stack([each[key] for each in weights]) for key in weights[0]}
    mapped = vmap(grad(lambda given: functional_call(network, given, (u,))[0].square().sum()))(stacked)
    network(u)[0].square().sum().backward()
    for key, weight in network.named_parameters():
        torch.testing.assert_close(mapped[key][0], weight.grad, rtol=1e-12, atol=1e-13)
    output, _ = network.to("meta")(u.to("meta"))
    output.sum().backward()
    assert output.is_meta and output.shape == rows.shape


# --- torch.func


def many_weights(network: nn.Module) -> list[dict[str, Tensor]]:
    return [{key: value.detach() * scale for key, value in network.named_parameters()} for scale in (1.0, 1.01)]


@everywhere
def test_torch_func_differentiates_and_maps_over_weights_and_samples(name: str, label: str, execution: str):
    network = network_of(name, label, execution)
    u, weights = normal(4, 3, width(network)), many_weights(network)
    stacked = {key: torch.stack([each[key] for each in weights]) for key in weights[0]}

    def loss(given, sequences=u):
        return functional_call(network, given, (sequences,))[0].square().sum()

    def by_autograd(given, sequences=u):
        leaves = {key: value.clone().requires_grad_() for key, value in given.items()}
        total = functional_call(network, leaves, (sequences,))[0].square().sum()
        return dict(zip(leaves, torch.autograd.grad(total, list(leaves.values())), strict=True))

    wanted = by_autograd(weights[1])
    torch.testing.assert_close(grad(loss)(weights[1]), wanted, rtol=1e-12, atol=1e-12)
    if (name, execution) in VALUES_DECIDE:
        with pytest.raises(NotImplementedError, match=f'execution="{execution}" cannot be mapped by torch.func.vmap'):
            vmap(loss)(stacked)
        return
    with warnings.catch_warnings(action="error"):  # that of torch, which calls an operator one by one on its own
        mapped = vmap(grad(loss))(stacked)
        each_sample = vmap(lambda one: grad(loss)(weights[1], one.unsqueeze(1)), 1)(u)
    torch.testing.assert_close({key: value[1] for key, value in mapped.items()}, wanted, rtol=1e-12, atol=1e-12)
    last = by_autograd(weights[1], u[:, 2:])
    torch.testing.assert_close({key: value[2] for key, value in each_sample.items()}, last, rtol=1e-12, atol=1e-12)
    jacobian = jacrev(lambda given: functional_call(network, given, (u,))[0][-1, 0, 0])(weights[1])
    assert any(value.any() for value in jacobian.values())


def test_a_fused_derivative_has_none_of_its_own_under_torch_func():
    for network in (CoRNN(2, 3, dt=0.1, gamma=1.0, epsilon=1.0, execution="cpu"), UnICORNN(2, 3, dt=0.1, alpha=1.0)):
        network.execution, weights, u = "cpu", dict(network.named_parameters()), torch.ones(3, 1, 2)
        twice = grad(
            lambda q, f=network, u=u: sum(
                each.square().sum()
                for each in grad(lambda p: functional_call(f, p, (u,))[0].square().sum())(q).values()
            )
        )
        with pytest.raises((RuntimeError, NotImplementedError), match='Use execution="torch"'):
            twice(weights)


def test_linoss_that_is_unstable_is_refused_under_vmap_too():
    network = LinOSS(2, 3, dt=1.0, dtype=F64)
    weights = dict(network.named_parameters())
    stacked = {key: torch.stack([value, value]).detach() for key, value in weights.items()}
    stacked["layers.0.A_raw"][1, 2] = 4.5
    with pytest.raises(ValueError, match=r"dt² A reaches 4\.5"):
        vmap(lambda given: functional_call(network, given, (torch.zeros(2, 1, 2, dtype=F64),))[0])(stacked)


# --- autocast


@everywhere
def test_under_autocast_outputs_states_and_gradients_keep_the_digits_of_the_parameters(name, label, execution):
    network = network_of(name, label, execution, num_layers=2).float()
    u = normal(5, 2, width(network)).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, state = network(u)
        total = output.square().sum()
    total.backward()
    assert {output.dtype, *(block.dtype for block in blocks_of(state))} == {torch.float32}
    assert {each.grad.dtype for each in network.parameters()} == {torch.float32}
    # A row that was rounded to eight bits and widened again would be one of bfloat16.
    assert not torch.equal(output, output.bfloat16().float())


def test_what_torchs_own_layers_give_under_autocast():
    u, found = torch.randn(5, 2, 3), {}
    for kind in (nn.LSTM, nn.RNN, nn.GRU, nn.Linear):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = kind(3, 4)(u)
        found[kind.__name__] = (result[0] if isinstance(result, tuple) else result).dtype
    assert found == {"LSTM": torch.bfloat16, "RNN": torch.bfloat16, "GRU": torch.float32, "Linear": torch.bfloat16}


# --- several processes, several devices


@pytest.mark.skipif(torch.cuda.is_available(), reason="nn.DataParallel takes the CUDA device that is there")
@everywhere
def test_data_parallel_without_a_device_is_the_module(name: str, label: str, execution: str):
    network = network_of(name, label, execution)
    u = normal(3, 2, width(network))
    wrapped = nn.DataParallel(network, dim=1)
    assert torch.equal(wrapped(u)[0], network(u)[0])


DISTRIBUTED = (("cornn", "cpu"), ("linoss", "torch"), ("unicornn", "cpu"))


def its_gradients(name: str, execution: str, at: slice, wrap=lambda network: network) -> dict[str, Tensor]:
    torch.manual_seed(3)
    network = network_of(name, next(iter(BOOKS[name].CASES)), execution)
    u = normal(6, 4, width(network), seed=4)[:, at]
    wrapped = wrap(network)  # kept until the gradients are there: it averages them
    wrapped(u)[0].square().mean().backward()
    return {key: value.grad for key, value in network.named_parameters()}


def process(rank: int, folder: str) -> None:
    """One of two, with half of the batch."""
    torch.distributed.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    half = slice(0, 2) if rank == 0 else slice(2, 4)
    found = [its_gradients(*each, half, nn.parallel.DistributedDataParallel) for each in DISTRIBUTED]
    torch.save(found, f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.slow  # two processes that import torch
def test_two_processes_have_the_gradients_of_the_whole_batch(tmp_path: Path):
    torch.multiprocessing.spawn(process, (str(tmp_path),), nprocs=2)
    everything = [its_gradients(*each, slice(None)) for each in DISTRIBUTED]
    halves = [its_gradients(*each, slice(0, 2)) for each in DISTRIBUTED]
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        torch.testing.assert_close(found, everything, rtol=1e-12, atol=1e-14)
        for mine, half in zip(found, halves, strict=True):
            assert any(not torch.allclose(mine[key], half[key], rtol=1e-3) for key in mine)


# --- compilers


@pytest.mark.slow  # a C++ compiler takes ten seconds and more for each
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler, and there is no g++")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.parametrize("name", ["linoss", "unicornn", "cornn"])
def test_inductor_compiles_the_loop_and_its_gradients(name: str):
    network = build(name, next(iter(BOOKS[name].CASES)))
    u = normal(3, 2, width(network)).requires_grad_()
    torch._dynamo.reset()
    leaves = [u, *network.parameters()]
    both = [run(u)[0] for run in (network, torch.compile(network, fullgraph=True))]
    gradients = [torch.autograd.grad(output.square().sum(), leaves) for output in both]
    torch.testing.assert_close(both[1], both[0], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-11, atol=1e-11)


WITHOUT_ONNX = {"exprnn": "matrix_exp", "scornn": "lu_factor", "urnn": "select"}
"""By the node that ONNX, or its exporter, does not have: an exponential, a linear solve, complex numbers."""


def onnx_runtime():
    """The module; skips where one of the three packages is missing."""
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package, reason=f"export to ONNX needs {package}, which is not installed")
    return pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def test_what_goes_into_an_onnx_is_the_loop_of_torch(monkeypatch: pytest.MonkeyPatch):
    """That the file runs is asked below, where the packages are there."""
    network, u = CoRNN(2, 3, dt=0.1, gamma=1.0, epsilon=1.0, execution="cpu"), torch.ones(3, 1, 2)

    def operators() -> set[str]:
        nodes = torch.export.export(network, (u,)).graph.nodes
        return {str(node.target) for node in nodes if "odernn" in str(node.target)}

    assert operators() == {"odernn.dense_forward.default"}
    monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
    assert not operators()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the exporter's own
@pytest.mark.parametrize(("name", "label", "execution"), [each for each in ALL if each[2] == "torch" or each in DENSE])
def test_onnx_runs_the_loop_or_the_exporter_names_what_it_lacks(name: str, label: str, execution: str, tmp_path: Path):
    runtime = onnx_runtime()
    network = network_of(name, label, execution, num_layers=2).float().eval()
    u = normal(4, 2, width(network)).float()
    file = tmp_path / "network.onnx"
    if name in WITHOUT_ONNX:
        with pytest.raises(torch.onnx.errors.OnnxExporterError, match=WITHOUT_ONNX[name]):
            torch.onnx.export(network, (u,), file, dynamo=True)
        return
    torch.onnx.export(network, (u,), file, dynamo=True, dynamic_shapes=({1: torch.export.Dim.DYNAMIC},))
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    for batch in (2, 5):
        sequences = normal(4, batch, width(network)).float()
        with torch.no_grad():
            output, state = network(sequences)
        found = session.run(None, {session.get_inputs()[0].name: sequences.numpy()})
        for given, wanted in zip(found, (output, *blocks_of(state)), strict=True):
            torch.testing.assert_close(torch.from_numpy(given), wanted, rtol=1e-5, atol=1e-5)
