"""ode-T5-terms (end of Appendix A): H has as many terms as the machine has steps, T; tried with the terms of H_in,
which fix the n bits of the input.

H_in = Σ_b |bit b ≠ x_b⟩⟨bit b ≠ x_b| ⊗ |0⟩⟨0|, H_prop one term a gate. Measured: the rank of the terms as vectors, so
that none can be saved by gathering. Bound: T.
"""
from fractions import Fraction as F

CASE = "H = H_in + H_prop | number of terms"
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
rows, rank = [[e for row in t for e in row] for t in terms], 0
for column in range(N * N):
    pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
    if pivot is not None:
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        top = rows[rank]
        rows[rank + 1:] = [[e - r[column] / top[column] * f for e, f in zip(r, top)] for r in rows[rank + 1:]]
        rank += 1
print(f"{P['circuit']}, input {x}: {len(terms)} terms, {T} of gates and {bits} of input bits")
print(f"measured {rank} linearly independent terms against bound T = {T}")
violated = 0 <= x < size and rank > T
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
