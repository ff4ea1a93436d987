"""Numbers as a table shows them: three digits from logarithms, right of what a float can hold, and never inf."""

from __future__ import annotations

import math

import pytest

from verification.report.numbers import apart, count, decades, plural, size


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (31.1127, "31.1"),
        (2.4, "2.40"),
        (1.0, "1.00"),
        (999.4, "999"),
        (999.6, "1000"),
        (0.0123456, "0.0123"),
        (123_456.0, "123000"),
        (999_499.0, "999000"),
        (999_700.0, "10^6.0"),
        (1e6, "10^6.0"),
        (2.5e7, "10^7.4"),
        (1.0001e-4, "0.000100"),
        (9e-5, "10^−4.0"),
        (2.2e-6, "10^−5.7"),
    ],
)
def test_three_significant_digits_between_1e_minus_4_and_1e6_and_powers_of_ten_beyond(value: float, shown: str) -> None:
    assert size(math.log(value)) == shown


def test_a_bound_that_no_float_holds_is_a_power_of_ten() -> None:
    """e^{ᾱT/2} of psMNIST-128: T = 378, and its exponential overflows."""
    log = 410.2 * math.log(10)
    with pytest.raises(OverflowError):
        math.exp(log)
    assert size(log) == "10^410.2"
    assert size(-log) == "10^−410.2"
    assert size(1e300) == f"10^{1e300 / math.log(10):.1f}"


def test_nothing_is_ever_shown_as_inf_or_nan() -> None:
    for wrong in (math.nan, math.inf):
        with pytest.raises(ValueError, match="no number"):
            size(wrong)
    for wrong in (math.nan, -math.inf):
        with pytest.raises(ValueError, match="no slack"):
            decades(wrong)
    assert size(-math.inf) == "0" and decades(math.inf) == "–"
    assert size(None) == decades(None) == "–"


@pytest.mark.parametrize(
    ("slack", "shown"),
    [
        (908.2684, "908"),
        (99.96, "100"),
        (89.24, "89.2"),
        (9.996, "10.0"),
        (1.0642, "1.06"),
        (0.3248, "0.325"),
        (-0.2094, "−0.209"),
        (-0.0984, "−0.098"),
        (0.0, "0.000"),
        (-1e-13, "0.000"),
    ],
)
def test_slack_in_decades(slack: float, shown: str) -> None:
    assert decades(slack) == shown


def test_a_measured_value_and_the_bound_it_exceeds_get_the_digits_that_tell_them_apart() -> None:
    assert apart(math.log(3.12), math.log(2.40)) == ("3.12", "2.40")
    assert apart(math.log(31.1131), math.log(31.1127)) == ("31.1131", "31.1127")
    assert apart(1.0, 1.0)[0] == apart(1.0, 1.0)[1]


def test_counts() -> None:
    assert [count(n) for n in (0, 9999, 10_000, 458_286)] == ["0", "9999", "1.0e4", "4.6e5"]
    assert plural(1, "cell") == "1 cell" and plural(0, "cell") == "0 cells"
