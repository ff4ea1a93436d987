"""ode-T5 (Theorem 5, (40)): the Hamiltonian of a reversible circuit of T gates has a unique ground state; tried for
H_prop alone, without H_in, which fixes the input.

H_prop = Σ_l ½(I ⊗ |l⟩⟨l| + I ⊗ |l−1⟩⟨l−1| − U_l ⊗ |l⟩⟨l−1| − U_lᵀ ⊗ |l−1⟩⟨l|) is a sum of squares, so that its ground
states are those with H_prop ψ = 0. Measured: the dimension of that space. Bound: 1.
"""
from fractions import Fraction as F

CASE = "H_prop alone | unique ground state"
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
H = [[sum(t[i][j] for t in terms) for j in range(N)] for i in range(N)]
vectors = []  # the history of each input w: Σ_l U_l … U_1 |w⟩ ⊗ |l⟩
for w in range(size):
    words = [w]
    for gate in gates:
        words.append(gate[words[-1]])
    v = [int(place in [l * size + word for l, word in enumerate(words)]) for place in range(N)]
    vectors += [v] if all(sum(h * y for h, y in zip(row, v)) == 0 for row in H) else []
premise = all(sorted(gate) == list(range(size)) for gate in gates) and 0 <= x < size
print(f"premise {P['circuit']}: {T} reversible gates on {bits} bit(s): {premise}; 2 H_prop:", [[int(2 * h) for h in row] for row in H])
print(f"measured {len(vectors)} histories with H_prop ψ = 0, with no place in common, so independent; bound: dimension 1")
violated = premise and len(vectors) > 1
print("violated" if violated else "NOT violated")
raise SystemExit(0 if violated else 1)
