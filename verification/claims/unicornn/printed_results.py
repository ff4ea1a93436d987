# Claims: both-4-T1-tab · both-4-T2-tab · both-4-T3-tab · both-4-T4-tab · both-4-T5-tab · icml-D-T7-tab
"""What is said of the printed tables of results of UnICORNN: Tables 1 to 5, and Table 7 of the ICML version.

Each sentence is a predicate of the printed numbers. What was trained here beside them is evidence of another kind, and
stands on the page of the claim: ``verification/report/rows/trained_results.py``.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from odernn.published.complexity import PrintedRow
from odernn.published.results import as_row
from odernn.published.sentiment import ACCURACY, PARAMETERS
from odernn.published.sources import Source
from verification.cases.printed_columns import LESS, Relation, columns_case
from verification.claim import Case, Claim

SIGNIFICANT = Fraction(1, 4)
"""What "significantly less" is taken to mean: fewer by this part of the other number, or more."""
COMPARABLE = Fraction(1, 4)
"""What "comparably" is taken to mean: apart by this part of the other number, or less."""

PSMNIST = as_row("icml Table 1", "permuted sequential MNIST, accuracy")
PADDED = as_row("icml Table 2", "noise padded CIFAR-10, accuracy")
WORMS = as_row("icml Table 3", "EigenWorms, accuracy")
BREATHS = as_row("icml Table 4", "respiratory rate, error", {"target": "RR"})
BEATS = as_row("icml Table 4", "heart rate, error", {"target": "HR"})
QUIET = as_row("icml Table 7", "Lorenz 96, F = 0.9, error", {"forcing": 0.9})
CHAOTIC = as_row("icml Table 7", "Lorenz 96, F = 8, error", {"forcing": 8.0})


def _pairs(row: PrintedRow) -> list[tuple[str, str]]:
    """(ours, another): every row of UnICORNN with every one of another network."""
    ours = [name for name in row.numbers if name.startswith("UnICORNN")]
    return [(one, other) for one in ours for other in row.numbers if other not in ours]


def above_case(row: PrintedRow) -> Case:
    """UnICORNN, in each size that is printed, has a larger number than every other network."""
    return columns_case(row, "UnICORNN above all others", lambda: [pair[::-1] for pair in _pairs(row)], LESS)


def below_case(row: PrintedRow) -> Case:
    """UnICORNN has a smaller number than every other network."""
    return columns_case(row, "UnICORNN below all others", lambda: _pairs(row), LESS)


def exceeds_case(row: PrintedRow, number: str) -> Case:
    """UnICORNN has more than that number."""
    relation = Relation(
        f"more than {number}", lambda ours: ours > Fraction(number), lambda ours: ours > Decimal(number)
    )
    return columns_case(row, f"UnICORNN above {number}", lambda: [("UnICORNN",)], relation)


def comparable_case(row: PrintedRow, share: Fraction = COMPARABLE) -> Case:
    """UnICORNN is apart from each other network by this share of theirs, or less."""
    scale, part = Decimal(share.denominator), Decimal(share.numerator)
    relation = Relation(
        f"apart by a share of {share} or less",
        lambda ours, theirs: abs(ours - theirs) <= share * theirs,
        lambda ours, theirs: (scale - part) * theirs <= scale * ours <= (scale + part) * theirs,
    )
    return columns_case(row, f"UnICORNN apart by {share} or less", lambda: _pairs(row), relation)


def fewer_case(share: Fraction = SIGNIFICANT) -> Case:
    """UnICORNN has fewer parameters than each other network of Table 5, by this share of theirs."""
    scaled = Decimal(share.denominator)
    relation = Relation(
        f"fewer by a share of {share} or more",
        lambda ours, theirs: ours <= (1 - share) * theirs,
        lambda ours, theirs: (ours * scaled).compare((share.denominator - share.numerator) * theirs) != 1,
    )
    return columns_case(PARAMETERS, f"UnICORNN has fewer, by {share} or more", lambda: _pairs(PARAMETERS), relation)


CLAIMS = (
    Claim(
        id="both-4-T1-tab",
        source=Source("icml", "Sec. 4, Permuted sequential MNIST, Table 1"),
        statement="on permuted sequential MNIST UnICORNN, with 128 and with 256 units, has a higher accuracy than "
        "every other network of the table",
        semantics="reading",
        cases=(above_case(PSMNIST),),
    ),
    Claim(
        id="both-4-T2-tab",
        source=Source("icml", "Sec. 4, Noise padded CIFAR-10, Table 2"),
        statement="on noise padded CIFAR-10 UnICORNN has the highest accuracy of the table",
        semantics="reading",
        cases=(above_case(PADDED),),
    ),
    Claim(
        id="both-4-T3-tab",
        source=Source("icml", "Sec. 4, EigenWorms, Table 3"),
        statement="on EigenWorms UnICORNN has the highest mean accuracy of the table, more than 90 %",
        semantics="reading",
        cases=(above_case(WORMS), exceeds_case(WORMS, "90")),
    ),
    Claim(
        id="both-4-T4-tab",
        source=Source("icml", "Sec. 4, Healthcare application, Table 4"),
        statement="of respiratory and heart rate UnICORNN has the smallest mean error of the table",
        semantics="reading",
        cases=(below_case(BREATHS), below_case(BEATS)),
    ),
    Claim(
        id="both-4-T5-tab",
        source=Source("icml", "Sec. 4, IMDB, Table 5"),
        statement="on IMDB UnICORNN has the highest accuracy of the table and significantly fewer parameters than "
        f"every other network, which is read as fewer by {SIGNIFICANT} of theirs or more; also tried: by a half",
        semantics="reading",
        cases=(above_case(ACCURACY), fewer_case(), fewer_case(Fraction(1, 2))),
    ),
    Claim(
        id="icml-D-T7-tab",
        source=Source("icml", "App. D, Table 7"),
        statement="on Lorenz 96 the error of UnICORNN is comparable to those of coRNN and the LSTM at F = 0.9, which "
        f"is read as apart by {COMPARABLE} of theirs or less, and larger than that of the LSTM at F = 8",
        semantics="reading",
        cases=(
            comparable_case(QUIET),
            columns_case(CHAOTIC, "UnICORNN above the LSTM", lambda: [("LSTM", "UnICORNN")], LESS),
        ),
    ),
)
