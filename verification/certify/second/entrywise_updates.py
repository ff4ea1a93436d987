"""Steps of gradient methods on one entry, typed again as sums over all gradients so far.

m_k = Σ β^{k−j} w g_j,  v_k = Σ β^{k−j} (1 − β) g_j²      w = 1 for momentum, 1 − β elsewhere
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Steps = list[tuple[Fraction, Fraction]]


def _mean(values: Sequence[Fraction], rate: Fraction) -> Fraction:
    """Σ rate^{k−j} values_j, j ≤ k = their number."""
    return sum((rate ** (len(values) - 1 - j) * x for j, x in enumerate(values)), Fraction(0))


def steps(method: str, gradients: Sequence[Fraction], first: Fraction, second: Fraction) -> Steps:
    """(p, q) of every step λ p/(√q + ε)."""
    made = []
    for k in range(1, len(gradients) + 1):
        seen = gradients[:k]
        squares = [g * g for g in seen]
        if method == "SGD with momentum":
            made.append((_mean(seen, first), Fraction(0)))
        elif method == "Adam":  # Σ_{j<k} β^j = (1 − β^k)/(1 − β)
            made.append(
                (
                    _mean(seen, first) / sum(first**j for j in range(k)),
                    _mean(squares, second) / sum(second**j for j in range(k)),
                )
            )
        else:
            centre = (1 - first) * _mean(seen, first) if method == "RMSprop, centred" else Fraction(0)
            made.append((seen[-1], (1 - first) * _mean(squares, first) - centre**2))
    return made


def stay_opposite(one: Steps, other: Steps) -> bool | None:
    """Whether every pair of steps is opposite; None where the p and the q of one differ, so that this does not say."""
    pairs = [(p == -r, q == s, p == 0) for (p, q), (r, s) in zip(one, other, strict=True)]
    if any(same != opposite and not (opposite and is_zero) for opposite, same, is_zero in pairs):
        return False  # of p and q one alone differs, and the root grows with what is under it
    return None if any(not opposite and not same for opposite, same, _ in pairs) else True
