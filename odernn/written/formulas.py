"""Exact numbers and formulas as a book prints them: 1/2 − √3/6, z²/12, θ instead of "root(x^3 − …, 0.43)"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import flint
from flint import arb, fmpq, fmpq_poly

from odernn.exact.algebraic import Algebraic, NumberField, nearest_float, polynomial_text

MINUS = str.maketrans("-", "−")
"""A minus sign is as wide as a plus sign; the hyphen is not."""
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
NAMES = ("θ", "φ", "ψ", "χ")
"""What generators of fields are called that have no radical for a name."""

LONGEST_FRACTION = 40
"""Rational numbers with more digits are shown by their first six: 0.0446067…"""

_RADICALS = (("sqrt", "√"), ("cbrt", "∛"))
_POWER_OF_TEN = re.compile(r"10*")
_FRACTION = re.compile(r"(?<![\w./])(\d+)(?:/(\d+))?(?![\w.])")
_LETTERS = "a-zθφψχ"
_TERM = re.compile(rf"(?<![\w./])(\d+(?:\.\d+)?…?)(?:/(\d+))?\*([√∛]\d+|[{_LETTERS}])(\^\d+)?(?!\w)")
_SUPERSCRIPT = re.compile(r"(?<=[\w)θφψχ])\^(\d+)")
_HYPHEN = re.compile(r"(?<![A-Za-z0-9])-(?=[\d√∛(.∞≈βθφψχa-z])|(?<= )-(?= )")


def typeset(text: str, names: Mapping[str, str] | None = None) -> str:
    """A formula of a certificate with radical signs, superscripts and minus signs; ``names`` replaces field labels.

    >>> typeset("R(z) = (1 + 1/2*z + 1/12*z^2)/(1 - 1/2*z)"), typeset("7/324 - 1/162*sqrt(6)")
    ('R(z) = (1 + z/2 + z²/12)/(1 − z/2)', '7/324 − √6/162')
    """
    for label, name in (names or {}).items():
        text = text.replace(label, name)
    for word, sign in _RADICALS:
        text = re.sub(rf"\b{word}\((\d+)\)", rf"{sign}\1", text)
    text = _FRACTION.sub(_shortened, text)
    text = _TERM.sub(_term, text).replace(")*", ")")
    text = re.sub(r"([√∛]\d+)\^(\d+)", r"(\1)^\2", text)
    text = _SUPERSCRIPT.sub(lambda match: match[1].translate(SUPERSCRIPTS), text)
    return _HYPHEN.sub("−", text)


def _shortened(match: re.Match[str]) -> str:
    """A long fraction by its first digits; over a power of ten as the decimal that it is."""
    top, bottom = match[1], match[2] or "1"
    if len(bottom) > 5 and _POWER_OF_TEN.fullmatch(bottom) and len(top) + len(bottom) <= 2 * LONGEST_FRACTION:
        return exact_decimal(fmpq(int(top), int(bottom))) or match[0]
    if len(top) + len(bottom) <= LONGEST_FRACTION:
        return match[0]
    with flint.ctx.workprec(128):
        return f"{arb(fmpq(int(top), int(bottom))).str(6, radius=False)}…"


def _term(match: re.Match[str]) -> str:
    top, bottom, symbol, power = match.groups()
    if power and symbol[0] in "√∛":
        symbol = f"({symbol})"
    body = f"{'' if top == '1' else top}{symbol}{power or ''}"
    return f"{body}/{bottom}" if bottom else body


# --- single numbers ---------------------------------------------------------------------------------------------


def exact_decimal(value: fmpq) -> str | None:
    """A rational number as a decimal that ends; ``None`` if it has none."""
    q = int(value.q)
    places = 0
    while 10**places % q:
        places += 1
        if places > q.bit_length():
            return None
    digits = str(abs(int(value.p)) * (10**places // q)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text


def decimals(value: Any, places: int) -> str:
    """Correctly rounded to ``places`` decimals; one that ends before is written as it is, so fewer digits are exact.

    >>> decimals(fmpq(1, 3), 4), decimals(fmpq(1, 2), 4)
    ('0.3333', '0.5')
    """
    if isinstance(value, fmpq):
        short = exact_decimal(value)
        if short is not None and len(short.partition(".")[2]) <= places:
            return short
        return _fixed(round(Fraction(int(value.p), int(value.q)) * 10**places), places)
    bits = 64 + 4 * places
    while True:
        ball = value.ball(bits) if isinstance(value, Algebraic) else value
        with flint.ctx.workprec(bits):
            low, high = (_rational(end) for end in (ball.lower(), ball.upper()))
        ends = {round(end * 10**places) for end in (low, high)}
        if len(ends) == 1 or not isinstance(value, Algebraic):
            return _fixed(max(ends), places)
        bits *= 2


def _rational(value: Any) -> Fraction:
    """The exact value of a ball without radius."""
    mantissa, exponent = (int(part) for part in value.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _fixed(scaled: int, places: int) -> str:
    digits = str(abs(scaled)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if scaled < 0 else text


class Writer(Protocol):
    """How the coefficients of one method are written."""

    def __call__(self, value: Any) -> str: ...


@dataclass(frozen=True)
class Style:
    """How coefficients are meant to be read.

    places     decimals asked for, ``None`` if not          names    of field generators that have no radical
    as_digits  the source prints decimals: show these       as_float the coefficients were floats: show those
    """

    places: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    as_digits: bool = False
    as_float: bool = False

    def decimal(self, value: Any) -> str | None:
        """The number as a decimal, where that is how it is to be read."""
        if self.places is not None or isinstance(value, arb):
            return decimals(value, 6 if self.places is None else self.places)
        if isinstance(value, fmpq) and value.q != 1:
            if self.as_float:
                near = nearest_float(value)
                return str(near) if Fraction(near) == Fraction(int(value.p), int(value.q)) else None
            if self.as_digits and (value.q % 10 == 0 or value.q > 1000):
                return exact_decimal(value)
        return None


@dataclass(frozen=True)
class Plain:
    """Coefficients as text: 1/2 − √3/6."""

    style: Style

    def __call__(self, value: Any) -> str:
        decimal = self.style.decimal(value)
        return decimal.translate(MINUS) if decimal is not None else typeset(str(value), self.style.names)


@dataclass(frozen=True)
class Latex:
    r"""Coefficients for LaTeX's mathematics: \frac{1}{2} - \frac{\sqrt{3}}{6}."""

    style: Style

    def __call__(self, value: Any) -> str:
        decimal = self.style.decimal(value)
        if decimal is not None:
            return decimal
        if not isinstance(value, Algebraic):
            return _latex_term(value, "")
        generator = latex_label(value.field, self.style.names)
        text = ""
        for power, x in enumerate(value.polynomial.coeffs()):
            if x != 0:
                symbol = "" if power == 0 else generator if power == 1 else f"{generator}^{{{power}}}"
                term = _latex_term(x, symbol)
                text += term if not text or term.startswith("-") else f"+{term}"
        return text


def _latex_term(x: fmpq, symbol: str) -> str:
    top, bottom = abs(int(x.p)), int(x.q)
    body = symbol if symbol and top == 1 else f"{top}{symbol}"
    if bottom != 1:
        body = rf"\frac{{{body}}}{{{bottom}}}"
    return f"-{body}" if x < 0 else body


_LATEX_NAMES = {"θ": r"\theta", "φ": r"\varphi", "ψ": r"\psi", "χ": r"\chi"}


def latex_label(number_field: NumberField, names: Mapping[str, str]) -> str:
    """The generator of a field for LaTeX."""
    label = number_field.label
    if label in names:
        return _LATEX_NAMES[names[label]]
    radical = re.fullmatch(r"(sqrt|cbrt)\((\d+)\)", label)
    if radical:
        return rf"\sqrt{'[3]' if radical[1] == 'cbrt' else ''}{{{radical[2]}}}"
    root = re.fullmatch(r"\((\d+)\^\(1/(\d+)\)\)", label)
    return rf"\sqrt[{root[2]}]{{{root[1]}}}" if root else r"\theta"


def named_fields(values: Iterable[Any]) -> dict[str, NumberField]:
    """The fields without a radical for a name, by the letter that stands for their generator."""
    fields = dict.fromkeys(value.field for value in values if isinstance(value, Algebraic))
    return dict(
        zip(NAMES, (number_field for number_field in fields if number_field.label.startswith("root(")), strict=False)
    )


def legend(name: str, number_field: NumberField) -> str:
    """What a letter stands for: its minimal polynomial and first digits."""
    near = decimals(number_field.generator(), 12).translate(MINUS)
    return f"{name} ≈ {near} is a root of {descending(number_field.modulus)}"


def descending(polynomial: fmpq_poly) -> str:
    """x³ − 3x² + 3x/2 − 1/6: the highest power first."""
    terms = [
        (x < 0, polynomial_text(fmpq_poly([0] * k + [abs(x)]), "x"))
        for k, x in enumerate(polynomial.coeffs())
        if x != 0
    ][::-1]
    text = "".join(f" {'-' if negative else '+'} {term}" for negative, term in terms)
    return typeset(f"-{text[3:]}" if text.startswith(" -") else text[3:])
