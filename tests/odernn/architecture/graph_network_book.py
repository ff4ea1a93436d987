"""The networks of graphs once more: numpy, one vector a node of the unfolding, kept in a dictionary.

Nothing here knows of components, blocks, orders or batches of times: networkx sorts the unfolding, and every node of
it is computed from its predecessors by the printed sum. Also random graphs to try it on.
"""

from __future__ import annotations

import random

import networkx
import numpy as np

from odernn.architecture import Edge, GraphError, RNNGraph


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def parameter(network, key):
    return {k.replace("·", "."): v for k, v in network.state_dict().items()}[key].double().numpy()


def weight(network, tail, head, sigma):
    return parameter(network, f"weight.{tail}->{head}:{sigma}")


def rows_of(matrix, k, size):
    return matrix[k * size : (k + 1) * size]


class Book:
    """Evaluates ``network`` on one sequence x (N, input) whose first row is at time ``start``."""

    def __init__(self, network, x, past_h=None, past_c=None, start=0):
        self.network, self.graph, self.x, self.start = network, network.graph, x, start
        self.past_h, self.past_c = past_h or {}, past_c or {}
        self.is_lstm = network.unit_name != "tanh"
        self.h, self.c = {}, {}
        self.stop = start + len(x)
        reach = max((e.sigma for e in self.graph.edges), default=0)
        self.unfolding = self.graph.unfolding(start - max(reach, 0), self.stop)
        for t, v in networkx.topological_sort(self.unfolding):
            if t >= start:
                self.evaluate(t, v)

    def before(self, past, t, v, size):
        """The value of v at t < start: windows have the oldest row first and only times at which v acts."""
        if v not in past:
            return np.zeros(size)
        times = [s for s in range(t, self.start) if (s - self.graph.nodes[v]) % self.graph.period == 0]
        return past[v][len(past[v]) - len(times)]

    def value(self, known, past, t, v, size):
        return known[t, v] if t >= self.start else self.before(past, t, v, size)

    def is_source(self, v):
        return v in self.graph.inputs and not any(e.head == v for e in self.graph.edges)

    def is_reader(self, v):
        return v in self.graph.outputs and v not in self.graph.inputs and not any(e.tail == v for e in self.graph.edges)

    def size(self, v):
        if self.is_source(v):
            return self.x.shape[1]
        given = self.network.hidden_size
        return given if isinstance(given, int) else given[v]

    def edges_into(self, t, v):
        """(edge, h of its tail) with those of the tails that lie within the window: later ones count as zero."""
        order = {e: k for k, e in enumerate(self.graph.edges)}
        found = []
        for (s, u), _, data in self.unfolding.in_edges((t, v), data=True):
            edge = Edge(u, v, data["sigma"])
            assert s + edge.sigma == t
            found.append((order[edge], edge, self.value(self.h, self.past_h, s, u, self.size(u)), s))
        return [each[1:] for each in sorted(found, key=lambda each: each[0])]

    def evaluate(self, t, v):
        if self.is_source(v):
            self.h[t, v] = self.x[t - self.start]
            return
        if self.is_reader(v) and self.network.output_size is None:
            known = {edge: value for edge, value, _ in self.edges_into(t, v)}
            parts = [known.get(e, np.zeros(self.size(e.tail))) for e in self.graph.edges if e.head == v]
            self.h[t, v] = np.concatenate(parts) if parts else np.zeros(0)
            return
        bias = parameter(self.network, f"bias.{v}") if self.network.has_bias else 0.0
        if self.is_reader(v):
            total = np.zeros(self.network.output_size) + bias
            self.h[t, v] = total + sum(weight(self.network, *e) @ value for e, value, _ in self.edges_into(t, v))
        elif self.is_lstm:
            self.lstm(t, v, bias)
        else:
            total = np.zeros(self.size(v)) + bias
            for edge, value, _ in self.edges_into(t, v):
                total = total + weight(self.network, *edge) @ value
            if v in self.graph.inputs:
                total = total + parameter(self.network, f"weight.x->{v}") @ self.x[t - self.start]
            self.h[t, v] = np.tanh(total)

    def lstm(self, t, v, bias):
        """Each gate by its own sum. Which edges carry a cell is decided here once more."""
        unit, size = self.network.unit, self.size(v)
        carried = [
            e
            for e in self.graph.edges
            if e.head == v and not self.is_source(e.tail) and (unit.carry == "all" or e.sigma != 0)
        ]
        incoming = self.edges_into(t, v)

        def gate(k, own=None):
            total = np.zeros(size) + (rows_of(bias, k, size) if self.network.has_bias else 0.0)
            for edge, value, _ in incoming:
                matrix = weight(self.network, *edge)
                if own is not None and edge in carried and unit.forget_reads == "own":
                    if edge == own:
                        total = total + rows_of(matrix, 3, size) @ value
                else:
                    total = total + rows_of(matrix, k, size) @ value
            if v in self.graph.inputs:
                total = total + rows_of(parameter(self.network, f"weight.x->{v}"), k, size) @ self.x[t - self.start]
            return total

        cell = sigmoid(gate(1)) * np.tanh(gate(0))
        for edge, _, s in incoming:
            if edge in carried:
                k = 3 + carried.index(edge)
                cell = cell + sigmoid(gate(k, own=edge)) * self.value(self.c, self.past_c, s, edge.tail, size)
        self.c[t, v] = cell
        self.h[t, v] = sigmoid(gate(2)) * (np.tanh(cell) if unit.cell_output == "tanh" else cell)

    def output(self):
        """(N, width): at each time the outputs that act then, side by side."""
        rows = []
        for t in range(self.start, self.stop):
            acting = [v for v in self.graph.outputs if (t - self.graph.nodes[v]) % self.graph.period == 0]
            rows.append(np.concatenate([np.zeros(0), *(self.h[t, v] for v in acting)]))
        width = self.network.output_width
        return np.array([np.pad(row, (0, width - len(row))) for row in rows]).reshape(len(self.x), width)

    def final(self, known, past):
        """The window of each node in ``past`` at the end."""
        found = {}
        for v, rows in past.items():
            every = [known[t, v] for t in range(self.start, self.stop) if (t, v) in known]
            found[v] = np.concatenate([rows, np.array(every).reshape(-1, rows.shape[1])])[-len(rows) :]
        return found


def random_graph(seed: int, *, nodes: int = 5, negative: bool = True, periods=(1, 1, 2, 3)) -> RNNGraph:
    """A graph that meets the conditions: inputs may be entered, outputs left, components may run backward."""
    draw = random.Random(seed)
    while True:
        m = draw.choice(periods)
        count = draw.randint(1, nodes)
        times = {f"v{k}": draw.randrange(m) for k in range(count)}
        names = list(times)
        edges = set()
        for _ in range(draw.randint(count, 3 * count)):
            u, v = draw.choice(names), draw.choice(names)
            base = (times[v] - times[u]) % m
            edges.add((u, v, base + m * draw.randint(-2 if negative else 0, 3 if m == 1 else 1)))
        inputs = draw.sample(names, draw.randint(0, min(2, count)))
        outputs = draw.sample(names, draw.randint(1, count))
        try:
            return RNNGraph(f"random {seed}", m, times, tuple(edges), inputs, outputs, allow_unreachable=True)
        except GraphError:
            continue
