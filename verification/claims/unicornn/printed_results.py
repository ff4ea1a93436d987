# Claims: both-4-T5-tab
"""What is said of a printed table of results of UnICORNN: Table 5, IMDB."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from odernn.published.sentiment import ACCURACY, PARAMETERS
from odernn.published.sources import Source
from verification.cases.printed_columns import LESS, Relation, columns_case
from verification.claim import Case, Claim

SIGNIFICANT = Fraction(1, 4)
"""What "significantly less" is taken to mean: fewer by this part of the other number, or more."""
OTHERS = [name for name in PARAMETERS.numbers if name != "UnICORNN"]


def fewer_case(share: Fraction = SIGNIFICANT) -> Case:
    """UnICORNN has fewer parameters than each other network of the table, by this share of theirs."""
    scaled = Decimal(share.denominator)
    relation = Relation(
        f"fewer by a share of {share} or more",
        lambda ours, theirs: ours <= (1 - share) * theirs,
        lambda ours, theirs: (ours * scaled).compare((share.denominator - share.numerator) * theirs) != 1,
    )
    quantity = f"UnICORNN has fewer, by {share} or more"
    return columns_case(PARAMETERS, quantity, lambda: [("UnICORNN", name) for name in OTHERS], relation)


CLAIMS = (
    Claim(
        id="both-4-T5-tab",
        source=Source("icml", "Sec. 4, IMDB, Table 5"),
        statement="on IMDB UnICORNN has the highest accuracy of the table and significantly fewer parameters than "
        f"every other network, which is read as fewer by {SIGNIFICANT} of theirs or more; also tried: by a half",
        semantics="reading",
        cases=(
            columns_case(ACCURACY, "UnICORNN above all others", lambda: [(name, "UnICORNN") for name in OTHERS], LESS),
            fewer_case(),
            fewer_case(Fraction(1, 2)),
        ),
    ),
)
