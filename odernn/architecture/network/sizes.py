"""Shapes of the parameters of a network of a graph, their number, and the hidden size that spends a given number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

from odernn.architecture.graph import RNNGraph
from odernn.architecture.network.plan import Wiring
from odernn.architecture.network.units import Carry, CellOutput, ForgetReads, Unit, UnitName, unit_of
from odernn.architecture.walks import Edge
from odernn.cells.common import arguments

Rounding: TypeAlias = Literal["nearest", "down"]


@final
@dataclass(frozen=True)
class Sizes:
    """Sizes of the nodes that others may read or that have weights, and the shapes of all parameters.

    weights  (rows, columns) by edge; input_weights by unit that is an input; biases rows by node
    """

    input_size: int
    output_size: int | None
    nodes: Mapping[str, int]
    weights: Mapping[Edge, tuple[int, int]]
    input_weights: Mapping[str, tuple[int, int]]
    biases: Mapping[str, int]

    @classmethod
    def of(
        cls,
        wiring: Wiring,
        unit: Unit,
        hidden_size: int | Mapping[str, int],
        input_size: int,
        output_size: int | None,
    ) -> Sizes:
        input_size = arguments.positive_integer("input_size", input_size)
        if output_size is not None:
            output_size = arguments.positive_integer("output_size", output_size)
        nodes = _hidden_sizes(wiring, hidden_size)
        nodes |= dict.fromkeys(wiring.nodes("source"), input_size)
        nodes |= dict.fromkeys(wiring.nodes("reader"), output_size or 0)
        weights, input_weights, biases = {}, {}, {}
        for node in wiring.nodes("unit"):
            carried = wiring.carried[node]
            for edge in wiring.into[node]:
                gates = unit.gates_of_edge(len(carried), edge in carried)
                weights[edge] = (gates * nodes[node], nodes[edge.tail])
                if edge in carried and nodes[edge.tail] != nodes[node]:
                    raise ValueError(
                        f"{wiring.graph}: the edge {edge} brings a cell state of {nodes[edge.tail]} components to one "
                        f"of {nodes[node]}. Give both nodes the same hidden size."
                    )
            rows = len(unit.gate_names(carried)) * nodes[node]
            if wiring.takes_input(node):
                input_weights[node] = (rows, input_size)
            biases[node] = rows
        for node in wiring.nodes("reader") if output_size is not None else ():
            biases[node] = nodes[node]
            for edge in wiring.into[node]:
                weights[edge] = (nodes[node], nodes[edge.tail])
        return cls(input_size, output_size, nodes, weights, input_weights, biases)

    def count(self, *, bias: bool) -> int:
        """The number of parameters."""
        products = (
            rows * columns for shapes in (self.weights, self.input_weights) for rows, columns in shapes.values()
        )
        return sum(products) + (sum(self.biases.values()) if bias else 0)


def _hidden_sizes(wiring: Wiring, hidden_size: int | Mapping[str, int]) -> dict[str, int]:
    units = wiring.nodes("unit")
    if not isinstance(hidden_size, Mapping):
        return dict.fromkeys(units, arguments.positive_integer("hidden_size", hidden_size))
    if set(hidden_size) != set(units):
        raise ValueError(
            f"hidden_size names {sorted(hidden_size)}, but the units of {wiring.graph} are {sorted(units)}."
        )
    return {node: arguments.positive_integer(f"hidden_size of {node}", hidden_size[node]) for node in units}


def parameter_count(
    graph: RNNGraph,
    hidden_size: int | Mapping[str, int],
    input_size: int = 1,
    output_size: int | None = None,
    unit: UnitName = "tanh",
    *,
    bias: bool = True,
    carry: Carry = "delayed",
    forget_reads: ForgetReads = "all",
    cell_output: CellOutput = "tanh",
) -> int:
    """The number of parameters of ``GraphRNN`` with these arguments, without building it."""
    named_unit = unit_of(unit, carry=carry, forget_reads=forget_reads, cell_output=cell_output)
    return Sizes.of(Wiring.of(graph, named_unit), named_unit, hidden_size, input_size, output_size).count(bias=bias)


def hidden_size_for(
    graph: RNNGraph,
    parameters: int,
    input_size: int = 1,
    output_size: int | None = None,
    unit: UnitName = "tanh",
    *,
    rounding: Rounding = "nearest",
    bias: bool = True,
    carry: Carry = "delayed",
    forget_reads: ForgetReads = "all",
    cell_output: CellOutput = "tanh",
) -> int:
    """The hidden size, the same for all units, with which the network has this number of parameters.

    The number grows strictly with the hidden size, so that bisection in integers is exact. ``rounding``: "down", the
    largest size that does not exceed the number; "nearest", the size whose number is closest (the smaller of two).
    Raises ValueError if one component is already too much.

        >>> skip, plain = get("skip-40"), get("sh")
        >>> hidden_size_for(plain, parameter_count(skip, 512, bias=False), bias=False)
        724
    """
    arguments.positive_integer("parameters", parameters)
    arguments.one_of("rounding", rounding, ("nearest", "down"))
    named_unit = unit_of(unit, carry=carry, forget_reads=forget_reads, cell_output=cell_output)
    wiring = Wiring.of(graph, named_unit)

    def count(size: int) -> int:
        return Sizes.of(wiring, named_unit, size, input_size, output_size).count(bias=bias)

    if count(1) > parameters:
        raise ValueError(
            f"{graph}: with one component in each unit the network has {count(1)} parameters, more than {parameters}. "
            "Allow more parameters, or take a smaller graph."
        )
    high = 2
    while count(high) <= parameters:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) <= parameters else (low, middle)
    is_nearer = count(high) - parameters < parameters - count(low)
    return high if rounding == "nearest" and is_nearer else low
