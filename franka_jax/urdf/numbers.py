"""Numbers in URDF text, read exactly: decimals become fractions, so that each result is rounded once.

Neither the locale nor the platform's `strtod` takes part.
"""

import math
import re
from fractions import Fraction

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


class UrdfError(ValueError):
    """A robot description that cannot be read, or does not describe a seven-axis arm; one sentence says why."""


def read_numbers(text: str, count: int, where: str) -> tuple[Fraction, ...]:
    """Exactly `count` decimal numbers separated by white space. UrdfError naming `where` for anything else, and for
    numbers beyond the range of a float64.
    """
    words = text.split()
    if len(words) != count or not all(_NUMBER.fullmatch(word) for word in words):
        need = "one decimal number" if count == 1 else f"{count} decimal numbers separated by spaces"
        raise UrdfError(f"{where} must be {need}, found {text!r}")
    if not all(map(math.isfinite, map(float, words))):
        raise UrdfError(f"{where} is too large: {text[:100]!r}")
    return tuple(Fraction(word) for word in words)


def shortest_decimal(accept, exact: Fraction) -> str:
    """The shortest decimal text near `exact` for which `accept(Fraction)` is true; `exact` itself must be accepted.

    Tried with 1 to 40 significant digits, then `exact` in full (it must then be a finite decimal).
    """
    for digits in range(1, 41):
        text = _round_to(exact, digits)
        if accept(Fraction(text)):
            return text
    return _finite_decimal(exact)


def _round_to(value: Fraction, digits: int) -> str:
    """`value` rounded to significant digits, in the form 1.25e-3 or 0.125."""
    if value == 0:
        return "0"
    exponent = _decimal_exponent(abs(value))
    scaled = round(value * Fraction(10) ** (digits - 1 - exponent))
    return _place_point(scaled, exponent - digits + 1)


def _decimal_exponent(value: Fraction) -> int:
    exponent = len(str(value.numerator)) - len(str(value.denominator))
    while Fraction(10) ** exponent > value:
        exponent -= 1
    while Fraction(10) ** (exponent + 1) <= value:
        exponent += 1
    return exponent


def _finite_decimal(value: Fraction) -> str:
    shift = 0
    while value.denominator != 1:
        value *= 10
        shift -= 1
        if shift < -2000:
            raise ValueError("not a finite decimal")
    return _place_point(value.numerator, shift)


def _place_point(integer: int, shift: int) -> str:
    """integer * 10**shift as text: plain between 1e-5 and 1e16, with an exponent outside."""
    sign, digits = ("-" if integer < 0 else ""), str(abs(integer))
    stripped = digits.rstrip("0") or "0"
    shift += len(digits) - len(stripped)
    point = len(stripped) + shift
    if -5 < point <= 0:
        return f"{sign}0.{'0' * -point}{stripped}"
    if 0 < point <= 16:
        whole, part = stripped[:point].ljust(point, "0"), stripped[point:]
        return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"
    part = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{sign}{stripped[0]}{part}e{point - 1}"
