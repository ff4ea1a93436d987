"""ode-T1-expl (Section 3): a simple ODERNN represents the dynamics of an LSTM "while providing specific stability
guarantees through Theorem 1". Conditions of Theorem 1: (I) M = [M_ij] >= 0 for some weight G > 0; (II) every B_i >= 0.

Cells as tables: y₊ = y + Σ B_i k_i with explicit stages (A_ii = 0), so M_ii = -B_iᵀ G B_i. T = tanh(c₊), s = σ(W y + V
x + b); CW-RNN: clocks that act. B_i in blocks b I of width 2. Measured for e = e_component: (I) eᵀ M_ii e = -|B_i
e|^2, G = I (for other G > 0 the sign is the same), (II) eᵀ B_i e. Bound: >= 0.
"""
from fractions import Fraction as F

CASE = "LSTM, gated | I: M ≥ 0 for some G > 0"
P = {"stage": "0", "component": "1", "z": "1/2"}

name, z, q = CASE.split(" | ")[0], F(P["z"]), F(1, 4)
h, c, i, f, g, o, T, s, r = (F(x, 7) for x in (3, -5, 2, 6, -4, 1, 5, -2, 9))  # any values
new_c, minus = f * c + i * g, [[-1, 0], [0, -1]]
CELLS = {  # y, k_i, B_i, y₊ of the cell
    "LSTM, gated": ([h, c], {0: [h, c], 1: [i, f, g, o], 2: [T]},
                    {0: minus, 1: [[0, 0, 0, 0], [0, c, i, 0]], 2: [[o], [0]]}, [o * T, new_c]),
    "LSTM, constant": ([h, c], {0: [h, c], 2: [(f + c)**2, (f - c)**2], 3: [(i + g)**2, (i - g)**2],
                                5: [(o + T)**2, (o - T)**2]},
                       {0: minus, 2: [[0, 0], [q, -q]], 3: [[0, 0], [q, -q]], 5: [[q, -q], [0, 0]]}, [o * T, new_c]),
    "GRU, gated": ([h], {0: [h], 2: [g]}, {0: [[z - 1]], 2: [[1 - z]]}, [z * h + (1 - z) * g]),
    "GRU, constant": ([h], {0: [h], 4: [g], 5: [(h + z - g)**2], 6: [(z + g - h)**2]},
                      {0: [[-1]], 4: [[1]], 5: [[q]], 6: [[-q]]}, [z * h + (1 - z) * g]),
    "URNN, leak form": ([h], {1: [s - h]}, {1: [[1]]}, [s]),
}
y, k, B, cell = CELLS.get(name, ([h], {0: [h], 1: [s]}, {0: [[-1]], 1: [[1]]}, [s]))  # URNN and CW-RNN: the last
table = [y[n] + sum(b * x for j in B for b, x in zip(B[j][n], k[j])) for n in range(len(y))]
stage, e = int(P["stage"]), (int(P["component"]) - 1) // 2
column = [row[e] for row in B[stage]]
print(f"premise: y + Σ B_i k_i = ({', '.join(map(str, table))}) is the new state of the cell:", table == cell)
print(f"B_{stage} e has the blocks ({', '.join(map(str, column))})")
measured = -sum(b * b for b in column) if "| I:" in CASE else column[e]
print(f"measured {'eᵀ M_ii e' if '| I:' in CASE else 'eᵀ B_i e'} = {measured} against bound >= 0")
violated = table == cell and measured < 0
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
