"""Words in two matrices: the joint spectral radius from below, and from above by branch and bound.

The rate over all inputs of a product of Jacobians is log of the joint spectral radius of B(κ₋), B(κ₊) (thm-J (b)):
every word bounds it from below by log ρ(word)/length. Tried are, all words of a kind as one batch,

    two-letter words   B(κ₊)^q B(κ₋)^p over a grid around the quarter periods of ``odernn.bounds.words``;
    balanced words     several such pairs whose runs differ by one step at most: averages of whole quarter periods;
    blocks             every word in B(κ₋)^r, B(κ₊)^r, r steps held;
    Gripenberg         products whose every prefix may still belong to a word faster than the best one plus δ.

What is left of the last is an upper bound max(best + δ, what was cut for want of room), so the search knows itself how
far from the optimum it can be. Letters are in order of time, 0 for the first matrix and 1 for the second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from odernn.bounds.words import best_word
from verification.adversary import CPU

MOST_BLOCKS = 10
"""2^11 words of blocks; longer words take a longer hold."""
AROUND = 2.2
"""Two-letter words reach to AROUND quarter periods of each letter."""


@dataclass(frozen=True)
class Word:
    """``letters`` of one period, log of its spectral radius per letter, and the number of words that were compared."""

    letters: tuple[int, ...]
    rate: float
    evaluations: int

    @property
    def text(self) -> str:
        """ "0^20 1^9" for people."""
        return " ".join(f"{letter}^{sum(1 for _ in run)}" for letter, run in groupby(self.letters))


def log_radius(matrix: Tensor) -> Tensor:
    """log of the spectral radius of 2 × 2 matrices (..., 2, 2)."""
    half = (matrix[..., 0, 0] + matrix[..., 1, 1]) / 2
    determinant = matrix[..., 0, 0] * matrix[..., 1, 1] - matrix[..., 0, 1] * matrix[..., 1, 0]
    root = (half * half - determinant).clamp(min=0).sqrt()
    return torch.maximum(half.abs() + root, determinant.abs().sqrt()).log()


def factors(kappa_low: float, kappa_high: float, step_size: float, *, device: torch.device = CPU) -> Tensor:
    """B(κ₋) and B(κ₊), (2, 2, 2): (y, z) → (y + h z', z'), z' = z − h κ y."""
    rows = [[[1 - step_size**2 * kappa, step_size], [-step_size * kappa, 1.0]] for kappa in (kappa_low, kappa_high)]
    return torch.tensor(rows, dtype=torch.float64, device=device)


def enumerated(pair: Tensor, length: int) -> Word:
    """The fastest of all words of 1 to ``length`` letters; pair (2, 2, 2)."""
    products = torch.eye(2, dtype=pair.dtype, device=pair.device)[None]
    best, count = Word((), -math.inf, 0), 0
    for n in range(1, length + 1):
        products = (pair[:, None] @ products[None]).reshape(-1, 2, 2)  # the new letter is the highest bit
        rates = log_radius(products) / n
        count += rates.numel()
        rate, index = rates.max(dim=0)
        if float(rate) > best.rate + 1e-12:
            best = Word(tuple(int(index) >> k & 1 for k in range(n)), float(rate), 0)
    return Word(best.letters, best.rate, count)


def two_letter(pair: Tensor, most: tuple[int, int]) -> Word:
    """The fastest 0^p 1^q, p, q from 0 to ``most``."""
    powers = []
    for matrix, count in zip(pair, most, strict=True):
        rows = [torch.eye(2, dtype=pair.dtype, device=pair.device)]
        for _ in range(count):
            rows.append(matrix @ rows[-1])
        powers.append(torch.stack(rows))
    lengths = torch.arange(most[0] + 1, device=pair.device)[:, None] + torch.arange(most[1] + 1, device=pair.device)
    rates = log_radius(powers[1][None] @ powers[0][:, None]) / lengths.clamp(min=1)
    rates[0, 0] = -math.inf
    index = int(rates.argmax())
    p, q = divmod(index, most[1] + 1)
    return Word((0,) * p + (1,) * q, float(rates.flatten()[index]), rates.numel() - 1)


def balanced(pair: Tensor, durations: tuple[float, float], *, pairs: int, spread: float = 1.0) -> Word:
    """The fastest 0^{p_1} 1^{q_1} 0^{p_2} ⋯ of 1 to ``pairs`` pairs, the p_i as equal as can be, and the q_i.

    p_i = ⌊(i+1)x⌋ − ⌊ix⌋, q_i the same for y, x and y within ``spread`` of ``durations`` by eighths: whole quarter
    periods are detuned from the resonance, their averages need not be.
    """
    around = torch.arange(-8, 9, dtype=pair.dtype, device=pair.device) * spread / 8
    x, y = (
        grid.flatten().clamp(min=0.5)
        for grid in torch.meshgrid(durations[0] + around, durations[1] + around, indexing="ij")
    )
    most = math.ceil(max(durations) + spread) + 1
    powers = torch.stack([torch.linalg.matrix_power(pair, n) for n in range(most + 1)])
    product = torch.eye(2, dtype=pair.dtype, device=pair.device)
    best, count, length = Word((), -math.inf, 0), 0, torch.zeros_like(x)
    runs: list[tuple[Tensor, Tensor]] = []
    for i in range(pairs):
        p, q = (((i + 1) * grid).floor() - (i * grid).floor() for grid in (x, y))
        runs.append((p, q))
        product = powers[q.long(), 1] @ powers[p.long(), 0] @ product
        length = length + p + q
        rate, index = (log_radius(product) / length.clamp(min=1)).max(dim=0)
        count += x.numel()
        if float(rate) > best.rate + 1e-12:
            spelled = [(0,) * int(p[index]) + (1,) * int(q[index]) for p, q in runs]
            best = Word(tuple(letter for run in spelled for letter in run), float(rate), 0)
    return Word(best.letters, best.rate, count)


@dataclass(frozen=True)
class Bracket:
    """log of the joint spectral radius lies between ``word.rate`` and ``upper``, in floats."""

    word: Word
    upper: float


def gripenberg(pair: Tensor, *, length: int, delta: float, width: int = 4096) -> Bracket:
    """Branch and bound to words of ``length`` letters; at most ``width`` products are kept, the largest bounds first.

    A product P of n letters may be dropped when min over its prefixes of ‖P_k‖^{1/k} is at most e^{best + δ}: every
    longer product splits into dropped ones. Norms are spectral, so the pair should come in good coordinates.
    """
    products = torch.eye(2, dtype=pair.dtype, device=pair.device)[None]
    scale = torch.zeros(1, dtype=pair.dtype, device=pair.device)
    bound = torch.full_like(scale, math.inf)
    spelled = torch.zeros(1, 0, dtype=torch.int64, device=pair.device)
    best, count, cut = Word((), -math.inf, 0), 0, -math.inf
    for n in range(1, length + 1):
        products = (pair[:, None] @ products[None]).reshape(-1, 2, 2)
        letters = torch.arange(2, device=pair.device).repeat_interleave(spelled.shape[0])[:, None]
        spelled = torch.cat([spelled.repeat(2, 1), letters], dim=1)
        size = products.abs().amax(dim=(1, 2))
        products, scale = products / size[:, None, None], scale.repeat(2) + size.log()
        bound = torch.minimum(bound.repeat(2), (torch.linalg.matrix_norm(products, ord=2).log() + scale) / n)
        rates = (log_radius(products) + scale) / n
        count += rates.numel()
        rate, index = rates.max(dim=0)
        if float(rate) > best.rate + 1e-12:
            best = Word(tuple(spelled[int(index)].tolist()), float(rate), 0)
        alive = (bound > best.rate + delta).nonzero()[:, 0]
        if alive.numel() > width:
            order = alive[bound[alive].argsort(descending=True)]
            alive, cut = order[:width], max(cut, float(bound[order[width]]))
        products, scale, bound, spelled = products[alive], scale[alive], bound[alive], spelled[alive]
        if not alive.numel():
            break
    open_ends = float(bound.max()) if bound.numel() else -math.inf
    upper = max(best.rate + delta, cut, open_ends)
    return Bracket(Word(best.letters, best.rate, count), upper)


def search(
    kappa_low: float, kappa_high: float, step_size: float, *, blocks: int = MOST_BLOCKS, device: torch.device = CPU
) -> Word:
    """The fastest word found for B(κ₋), B(κ₊)."""
    pair = factors(kappa_low, kappa_high, step_size, device=device)
    quarters = [_quarter(kappa, step_size) for kappa in (kappa_low, kappa_high)]
    reach = math.ceil(AROUND * max(min(quarters), 1)), math.ceil(AROUND * max(quarters))
    words = [two_letter(pair, (max(reach), max(reach))), enumerated(pair, blocks)]
    for hold in sorted({max(1, round(quarter / parts)) for quarter in quarters for parts in (1, 2, 3)} - {1}):
        held = torch.stack([torch.linalg.matrix_power(factor, hold) for factor in pair])
        word = enumerated(held, blocks)
        letters = tuple(letter for letter in word.letters for _ in range(hold))
        words.append(Word(letters, word.rate / hold, word.evaluations))
    if min(quarters) > 1:
        words.append(balanced(pair, (words[0].letters.count(0), words[0].letters.count(1)), pairs=6))
    best = max(words, key=lambda word: word.rate)
    return Word(best.letters, best.rate, sum(word.evaluations for word in words))


def _quarter(kappa: float, step_size: float) -> int:
    """Steps of a quarter period; where B(κ) does not turn, of one radian of √|κ| (4 at κ = 0)."""
    square = step_size**2 * kappa / 4
    if 0 < square < 1:
        return max(1, min(64, round(math.pi / 4 / math.asin(math.sqrt(square)))))
    return 4


# --- the power control

GOLDEN = ((1.0, 1.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 1.0))
"""Two shears, of determinant 1 like B(κ): the joint spectral radius is the golden ratio, reached by the word 0 1.
Each by itself grows only linearly: a constant input reaches 0 of the optimum."""
RESONANT = (4.0, -2.0, 0.1), (4.0, -3.0, 0.1)
"""(α, w, h): the words 0^9 1^9 and 0^14 1^8; those of two letters or less reach less than a tenth of their rates."""


def control(blocks: int = MOST_BLOCKS, device: torch.device = CPU) -> float:
    """The smallest share of a known rate that the words reach: the golden pair; thm-J (c), a constant input; and inside
    −α < w < 0, where constants rotate, the word of two quarter periods of ``odernn.bounds.words`` (thm-J (d)).
    """
    golden = enumerated(torch.tensor(GOLDEN, dtype=torch.float64, device=device), blocks).rate / math.log(
        (1 + math.sqrt(5)) / 2
    )
    shares = [golden]
    for alpha, w, h in ((2.0, -7.0, 0.05), (4.0, -12.0, 0.2), (0.0, -1.0, 0.0343)):
        known = 2 * math.asinh(h * math.sqrt(-alpha - w) / 2)
        shares.append(search(alpha + w, alpha, h, blocks=blocks, device=device).rate / known)
    for alpha, w, h in RESONANT:
        _, _, known = best_word(kappa_low=alpha + w, kappa_high=alpha, step_size=h)
        shares.append(search(alpha + w, alpha, h, blocks=blocks, device=device).rate / known)
    return min(shares)
