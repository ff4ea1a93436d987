"""ode-T5-fix (Theorem 5): the evolution i ψ' = H ψ or ψ' = −H ψ has one fixed point, the output; tried: that there is
one (multiples and 0 counted), that it attracts under i ψ' = H ψ, that under ψ' = −H ψ no start but 0 ends in 0.

H = H_in + H_prop ≥ 0 of a reversible circuit, Hᵀ = H. v = Σ_l U_l … U_1 |x⟩ ⊗ |l⟩ has H v = 0. Both equations keep what
is orthogonal to v apart from it; i ψ' = H ψ keeps its length, ψ' = −H ψ keeps ψ·v.
"""
from fractions import Fraction as F

CASE = "both equations | one fixed point"
P = {"circuit": "not", "input": "0"}

bits, gates = {"not": (1, [[1, 0]])}[P["circuit"]]  # gates by the images of the words 0, 1, …
size, T, x = 2**bits, len(gates), int(P["input"])  # the place of |word⟩ ⊗ |l⟩ is l · size + word
N = size * (T + 1)
def matrix(entries):
    M = [[F(0)] * N for _ in range(N)]
    for row, column, value in entries:
        M[row][column] += value
    return M
def hop(gate, up, low):  # ½(|l⟩⟨l| + |l−1⟩⟨l−1| − U |l⟩⟨l−1| − Uᵀ |l−1⟩⟨l|), up and low the first places of l and l − 1
    moved = [(up + gate[w], low + w) for w in range(size)]
    return matrix([(i, j, F(1 if i == j else -1, 2)) for p, q in moved for i, j in ((p, p), (q, q), (p, q), (q, p))])
terms = [hop(gate, l * size, (l - 1) * size) for l, gate in enumerate(gates, 1)]  # of H_prop
terms += [matrix([(w, w, F(1)) for w in range(size) if (w ^ x) >> b & 1]) for b in range(bits)]  # of H_in, one a bit
H, words = [[sum(t[i][j] for t in terms) for j in range(N)] for i in range(N)], [x]
for gate in gates:
    words.append(gate[words[-1]])
times = lambda M, u: [sum(a * b for a, b in zip(row, u)) for row in M]
v = [int(place in [l * size + w for l, w in enumerate(words)]) for place in range(N)]
fixed = sum(not any(times(H, [k * y for y in v])) for k in (0, 1, 2))
distance = 1 - F(1, T + 1)  # of |x⟩ ⊗ |0⟩ from the line of v, squared: its part along v is v/(T + 1)
other = next((w for w in range(size) if w != x), None)  # |w⟩ ⊗ |0⟩ is orthogonal to v
premise = not any(times(H, v)) and H == [list(row) for row in zip(*H)] and 0 <= x < size
print(f"premise {P['circuit']}, input {x}: H v = 0, Hᵀ = H: {premise}; v = {v}, 2H = {[[int(2 * e) for e in row] for row in H]}")
measured, bound, text = {"b": (fixed, 1, "fixed points among 0, v, 2v"), "i": (distance, 0, "squared distance of |x⟩⊗|0⟩ to v"),
                         "ψ": (int(other is not None), 0, f"start orthogonal to v, which goes to 0: |{other}⟩⊗|0⟩")}[CASE[0]]
print(f"measured {measured} {text}, against bound {bound}")
violated = premise and measured > bound
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
