"""The network of ``exact_network`` typed again, in mpmath intervals; imports nothing from odernn or verification.

Derivatives are found another way: not column by column through the recursion, but by dynamic programming over the grid
of layers and times with 2m × 2m blocks, dX^q_n = B dX^q_{n−1} + C dX^{q−1} + …, so that an error would have to be made
twice in different forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath

from verification.certify.second import intervals

BITS = 192
iv = intervals.iv


def exact(text: str) -> list[Any]:
    """The intervals of "1 -3/4 2"."""
    intervals = []
    for word in text.split():
        above, _, under = word.partition("/")
        intervals.append(iv.mpf(int(above)) / iv.mpf(int(under or "1")))
    return intervals


def tanh(x: Any) -> Any:
    """Increasing, so end by end; 0 is kept exactly. Only for the moderate arguments of a typed network."""
    if x.a == 0 and x.b == 0:
        return iv.mpf(0)
    low, high = (1 - 2 / (iv.exp(2 * iv.mpf(end)) + 1) for end in (x.a, x.b))
    return iv.mpf([low.a, high.b])


def excludes_zero(x: Any) -> bool:
    x = iv.mpf(x)
    return bool(x.a > 0 or x.b < 0)


def zeros(size: int) -> list[list[Any]]:
    return [[iv.mpf(0)] * size for _ in range(size)]


def eye(size: int) -> list[list[Any]]:
    return [[iv.mpf(int(i == j)) for j in range(size)] for i in range(size)]


def mul(*factors: list[list[Any]]) -> list[list[Any]]:
    product = factors[0]
    for factor in factors[1:]:
        product = [
            [sum((product[i][k] * factor[k][j] for k in range(len(factor))), iv.mpf(0)) for j in range(len(factor[0]))]
            for i in range(len(product))
        ]
    return product


def add(a: list[list[Any]], b: list[list[Any]], sign: int = 1) -> list[list[Any]]:
    return [[a[i][j] + sign * b[i][j] for j in range(len(a[0]))] for i in range(len(a))]


def flat(a: list[list[Any]]) -> list[Any]:
    return [x for row in a for x in row]


def det(a: list[list[Any]]) -> Any:
    """Elimination with the largest pivot; the whole line if no pivot is certain."""
    a = [list(row) for row in a]
    value = iv.mpf(1)
    for k in range(len(a)):
        best = max(range(k, len(a)), key=lambda r: abs(a[r][k]).a)
        if not abs(a[best][k]).a > 0:
            return iv.mpf(["-inf", "inf"])
        if best != k:
            a[k], a[best], value = a[best], a[k], -value
        value *= a[k][k]
        for r in range(k + 1, len(a)):
            ratio = a[r][k] / a[k][k]
            a[r] = [x - ratio * y for x, y in zip(a[r], a[k], strict=True)]
    return value


class IntervalNetwork:
    """The run of typed parameters: y[n][l][i], z[n][l][i] (l = 0 is the input), s[n][l][i] = σ'(A^l_{n−1})."""

    def __init__(self, plain: dict[str, str], sam: bool) -> None:
        self.sam = sam
        self.L, self.m, self.S = int(plain["layers"]), int(plain["neurons"]), int(plain["skip"])
        m = self.m
        self.alpha, self.dt = exact(plain["alpha"])[0], exact(plain["dt"])[0]
        c, w, b = (exact(plain[name]) for name in ("c", "w", "b"))
        self.sh = [[]] + [[self._logistic(x) for x in c[l * m : l * m + m]] for l in range(self.L)]
        self.h = [[self.dt * x for x in row] for row in self.sh]
        self.w = [[]] + [w[l * m : l * m + m] for l in range(self.L)]
        self.b = [[]] + [b[l * m : l * m + m] for l in range(self.L)]
        V = exact(plain["V"])
        self.V: list[Any] = [[]] + [[V[(l * m + i) * m : (l * m + i) * m + m] for i in range(m)] for l in range(self.L)]
        Q = exact(plain.get("Lambda", ""))
        edges = range(self.L - self.S if self.S else 0)
        self.Q: list[Any] = [None] * (self.S + 1) + [
            [Q[(l * m + i) * m : (l * m + i) * m + m] for i in range(m)] for l in edges
        ]
        u = exact(plain["u"])
        self.N = len(u) // m - 1
        self.y: list[Any] = [[u[n * m : n * m + m]] for n in range(self.N + 1)]
        self.z: list[Any] = [[None] for _ in range(self.N + 1)]
        self.A: list[Any] = [[None] for _ in range(self.N + 1)]
        start = {name: exact(plain[name]) if name in plain else [iv.mpf(0)] * (self.L * m) for name in ("y0", "z0")}
        for l in range(self.L):
            self.y[0].append(start["y0"][l * m : l * m + m])
            self.z[0].append(start["z0"][l * m : l * m + m])
        for n in range(1, self.N + 1):
            for l in range(1, self.L + 1):
                self._step(n, l)
        self.s = [[[None if x is None else 1 - tanh(x) ** 2 for x in row or []] for row in at] for at in self.A]

    @staticmethod
    def _logistic(c: Any) -> Any:
        return iv.mpf(1) / 2 if c.a == 0 and c.b == 0 else 1 / (1 + iv.exp(-c))

    def drive(self, n: int, l: int, i: int) -> Any:
        """(V^l y^{l−1}_n + Λ^l y^{l−S−1}_n + b^l)_i."""
        drive = self.b[l][i] + sum((self.V[l][i][r] * self.y[n][l - 1][r] for r in range(self.m)), iv.mpf(0))
        if self.S and l > self.S:
            drive += sum((self.Q[l][i][r] * self.y[n][l - self.S - 1][r] for r in range(self.m)), iv.mpf(0))
        return drive

    def _step(self, n: int, l: int) -> None:
        A, y, z = [], [], []
        for i in range(self.m):
            A.append(self.drive(n - 1 if self.sam else n, l, i) + self.w[l][i] * self.y[n - 1][l][i])
            z.append(self.z[n - 1][l][i] - self.h[l][i] * tanh(A[i]) - self.h[l][i] * self.alpha * self.y[n - 1][l][i])
            y.append(self.y[n - 1][l][i] + self.h[l][i] * z[i])
        for store, values in ((self.A, A), (self.y, y), (self.z, z)):
            store[n].append(values)

    def B(self, l: int, n: int) -> list[list[Any]]:
        """The one-step block as the product of a kick and a drift."""
        kick, drift = eye(2 * self.m), eye(2 * self.m)
        for i in range(self.m):
            kick[2 * i + 1][2 * i] = -self.h[l][i] * (self.alpha + self.s[n][l][i] * self.w[l][i])
            drift[2 * i][2 * i + 1] = self.h[l][i]
        return mul(drift, kick)

    def DE(self, l: int, n: int, far: bool = False) -> list[list[Any]]:
        """The blocks of (49), (50) into layer l; with Λ if ``far``."""
        blocks = zeros(2 * self.m)
        source = (self.Q[l] if self.S and l > self.S else None) if far else self.V[l]
        for i in range(self.m):
            for r in range(self.m):
                if source is not None:
                    kick = -self.h[l][i] * self.s[n][l][i] * source[i][r]
                    blocks[2 * i][2 * r], blocks[2 * i + 1][2 * r] = self.h[l][i] * kick, kick
        return blocks

    def reach(self, start: Callable[[int, int], Any], upto: int) -> list[list[Any]]:
        """Blocks G[n][l] with G = start(n, l) where that is given, else the sum over what step n of layer l sees."""
        size = 2 * self.m
        G: list[list[Any]] = []
        for n in range(upto + 1):
            G.append([None])
            for l in range(1, self.L + 1):
                given = start(n, l)
                if given is not None or n == 0:
                    G[n].append(given if given is not None else zeros(size))
                    continue
                value = mul(self.B(l, n), G[n - 1][l])
                lower = G[n - 1] if self.sam else G[n]
                if l > 1:
                    value = add(value, mul(self.DE(l, n), lower[l - 1]))
                if self.S and l - self.S - 1 >= 1:
                    value = add(value, mul(self.DE(l, n, far=True), lower[l - self.S - 1]))
                G[n].append(value)
        return G

    def total(self, q: int, n: int, l: int, k: int) -> list[list[Any]]:
        """dX^q_n/dX^l_k through all routes."""

        def start(time: int, layer: int) -> Any:
            if (time, layer) == (k, l):
                return eye(2 * self.m)
            return zeros(2 * self.m) if time < k or (time == k and layer < l) else None

        return list(self.reach(start, n)[n][q])

    def whole_step(self, n: int) -> list[list[Any]]:
        """The 2mL × 2mL Jacobian of step n."""
        size = 2 * self.m
        jacobian = zeros(size * self.L)
        for l in range(1, self.L + 1):

            def start(time: int, layer: int, l: int = l) -> Any:
                return (eye(size) if layer == l else zeros(size)) if time < n else None

            column = self.reach(start, n)[n]
            for q in range(1, self.L + 1):
                for i in range(size):
                    jacobian[(q - 1) * size + i][(l - 1) * size : l * size] = column[q][i]
        return jacobian


def symplectic_defect(network: IntervalNetwork) -> list[Any]:
    """ω(a, b) = Σ a_y b_z − a_z b_y of every two columns of the step, minus that of the unit vectors."""
    columns = list(zip(*network.whole_step(1), strict=True))
    defects = []
    for i in range(len(columns)):
        for j in range(i + 1, len(columns)):
            a, b = columns[i], columns[j]
            area = sum((a[t] * b[t + 1] - a[t + 1] * b[t] for t in range(0, len(a), 2)), iv.mpf(0))
            defects.append(area - int(i % 2 == 0 and j == i + 1))
    return defects


def run(plain: dict[str, str], sam: bool, residual: Callable[[IntervalNetwork], list[Any]]) -> tuple[bool, str]:
    """(whether some residual excludes 0, the largest in words), at ``BITS`` bits."""
    with iv.workprec(BITS):
        values = [iv.mpf(x) for x in residual(IntervalNetwork(plain, sam))]
        largest = max(values, key=lambda x: abs(x).a)
        return excludes_zero(largest), f"largest residual {mpmath.nstr(largest, 12)}"
