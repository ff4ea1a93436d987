"""Text means one exact number, or says why it means none."""

from __future__ import annotations

import subprocess
import sys

import pytest
from flint import fmpq

from odernn.exact.algebraic import nearest_float, root_of, sqrt
from odernn.exact.compositum import nth_root
from odernn.exact.expressions import parse
from tests.tiers import spread

Q = fmpq
SAME = [
    ("1/3", Q(1, 3)),
    ("0.1", Q(1, 10)),
    (".5", Q(1, 2)),
    ("1e-3", Q(1, 1000)),
    ("12.5e1", Q(125)),
    ("0.100000000000000000000000000000000001", Q(10**35 + 1, 10**36)),
    ("\N{MINUS SIGN}2", Q(-2)),
    ("-(1 + 2)*3", Q(-9)),
    ("2^3^2", Q(512)),
    ("2**-1", Q(1, 2)),
    ("8^(1/3)", Q(2)),
    ("(-8)^(1/3)", Q(-2)),
    ("cbrt(-27)", Q(-3)),
    ("1/2-sqrt(3)/6", Q(1, 2) - sqrt(3) / 6),
    ("1/2 - 1/6*sqrt(3)", Q(1, 2) - sqrt(3) / 6),
    ("sqrt(12)/2", sqrt(3)),
    ("3^(1/2)", sqrt(3)),
    ("sqrt(1/2)", sqrt(2) / 2),
    ("(88-7*sqrt(6))/360", (88 - 7 * sqrt(6)) / 360),
    ("1/(2-cbrt(2))", 1 / (2 - nth_root(Q(2), 3))),
    ("1/(2-2^(1/3))", 1 / (2 - nth_root(Q(2), 3))),
    ("root(x^3-3*x^2+3/2*x-1/6, 0.4358665)", root_of([Q(-1, 6), Q(3, 2), -3, 1], 0.4358665)),
    ("root(-(x-1)*(x+1)+1, 1.4)", sqrt(2)),
    ("sqrt(2)*sqrt(3)-sqrt(6)", Q(0)),
]


@pytest.mark.parametrize(("text", "value"), SAME)
def test_text_means_the_number(text: str, value):
    assert parse(text) == value and isinstance(parse(text), type(value))


def test_decimals_are_exact_and_not_the_double():
    assert parse("0.1+0.2") == Q(3, 10) != Q(*(0.1 + 0.2).as_integer_ratio())


@pytest.mark.parametrize("text", ["sqrt(2)+sqrt(3)", "sqrt(1/2+sqrt(3)/6)", "cbrt(2)*sqrt(5)-1", "7^(2/5)"])
def test_numbers_of_several_fields_have_the_right_value(text: str):
    python = text.replace("sqrt", "__import__('math').sqrt").replace("cbrt", "__import__('math').cbrt")
    assert nearest_float(parse(text)) == pytest.approx(eval(python.replace("^", "**")), rel=1e-14)


@pytest.mark.parametrize("text", ["1/2 - 1/6*sqrt(3)", "cbrt(2)^2", "(7^(1/5))^2 + 1", "sqrt(2)+sqrt(3)"])
def test_what_is_printed_can_be_read_again(text: str):
    assert parse(str(parse(text))) == parse(text)


REFUSED = [
    ("", "it is empty"),
    ("   ", "it is empty"),
    ("one", "'one' has no meaning here"),
    ("nan", "'nan' has no meaning"),
    ("inf", "'inf' has no meaning"),
    ("2sqrt(3)", r"cannot be read at character 1; products need a \*"),
    ("sqrt(3", "cannot be read at character 5"),
    ("1..2", "cannot be read"),
    ("sin(1)", "sin is not known"),
    ("sqrt(-1)", "square root of -1 is not real"),
    ("sqrt(1, 2)", "sqrt takes one number, not 2"),
    ("x+1", "x has a meaning only inside root"),
    ("root(x^2+1, 1)", "no real root"),
    ("root(x^2-2, 0)", "equally near"),
    ("root(x, 1, 2)", "root takes a polynomial in x and a number"),
    ("root(1/x, 2)", "divided by numbers only"),
    ("root(x^sqrt(2), 2)", "cannot be an exponent"),
    ("2^sqrt(2)", "cannot be an exponent"),
    ("2^(1/99)", "too large"),
    ("9^9^9^9", "too large"),
    ("((9^400)^400)^400", "too many digits"),
    ("1e999999", "the exponent of 1e999999 is larger"),
    ("sqrt(2)^(1/16)*3^(1/13)", "degree up to"),
    ("__import__('os').getcwd()", "has no meaning"),
    ("'1'", "has no meaning"),
    ("True", "has no meaning"),
    ("1j", "has no meaning"),
    ("[1][0]", "has no meaning"),
    ("1 if 2 else 3", "has no meaning"),
    ("lambda: 1", "has no meaning"),
    ("1; 2", "cannot be read"),
    ("0x10.", "cannot be read"),
    ("7 // 2", "has no meaning"),
    ("-" * 1500 + "1", "nested too deeply"),
    ("1+" * 1500 + "1", "3001 characters"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text[:20] for text, _ in REFUSED])
def test_text_that_means_no_number_says_why(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize("text", ["1/0", "0^-1", "1/(sqrt(2)*sqrt(3)-sqrt(6))", "sqrt(2)/(sqrt(8)-2*sqrt(2))"])
def test_a_division_by_a_number_that_is_zero_is_seen(text: str):
    with pytest.raises(ZeroDivisionError):
        parse(text)


def test_a_division_by_a_tiny_number_is_none():
    assert parse("1/(sqrt(2) - 1.41421356237309504880168872420969807856967187537694)") > 10**49


HARD = [
    "cbrt(1e400+1)",
    "sqrt(10^80+10^7+3)",
    "sqrt(1/(10^80+10^7+3))",
    "cbrt(1e400+1)*sqrt(10^80+10^7+3)",
    "cbrt(10^50+7)+cbrt(10^49+9)+cbrt(10^48+11)",
    "2^(10^9)",
    "10^10^10^10",
    "((9^400)^20+1)^(1/16)",
    "sqrt(10^60+sqrt(10^80+10^7+3))",
    "(10^399+sqrt(2)*10^200)^(1/3)+cbrt(5)",
    "(1e400+sqrt(2))^(1/16)",
    "sqrt(sqrt(sqrt(sqrt(sqrt(10^101+7)))))",
    "sqrt(1+" * 6 + "2" + ")" * 6,
    "sqrt(" * 90 + "2" + ")" * 90,
    "(" * 900 + "1" + ")" * 900,
    "root(x^2-2, 10^400)",
    f"root(x^16-{10**100 + 7}*x^3+{10**90}*x-1/{3**300}, 1)",
    f"root(x^3-{10**1000 + 1}, {10**300})",
    "root((x-1e300)*(x-1e299)^3*(x^2-2), 1.4)",
    f"root(x^2-{10**80 + 10**7 + 3}*x-{10**80 + 10**7 + 3}, 1e80)",
    "root((x^16-1e300*x+1)^16+1e200, 1)",
    "root(((x^16)^16)^16-2, 1)",
    f"root((x^4-{10**70}*x^3+1)^15+x-{10**90}, 1)",
    "root((x^4-1e20*x+3)^16-x-7, 1)",
    "((2^(1/8)/10^300+1)^5+3^(1/8))",
    "1/(sqrt(2)+cbrt(3)+7^(1/5)/10^200)",
    "(sqrt(2)+cbrt(3)+1/7)^400",
]


@pytest.mark.parametrize("text", spread(HARD, 6), ids=[text[:30] for text in HARD])
def test_no_text_hangs_the_parser(text: str):
    """In a process of its own: a hang inside FLINT can only be killed."""
    program = (
        "import sys\nfrom odernn.exact.expressions import parse\n"
        "try:\n    number = str(parse(sys.argv[1]))\nexcept ValueError as error:\n    number = str(error)\n"
        "assert number"
    )
    done = subprocess.run([sys.executable, "-c", program, text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
