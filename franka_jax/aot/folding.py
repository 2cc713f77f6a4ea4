"""How operations on constants are computed while compiling: in IEEE double arithmetic, as the kernel would."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def _log(x: float) -> float:
    if x == 0.0:
        return -math.inf
    return math.log(x) if x > 0.0 else math.nan


def _round_half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x) if abs(x) < 2.0**52 else x


def _to_float32(x: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(x))


#: How a constant argument of each unary function is folded. Keys are the names of the C library.
FOLD_UNARY: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log": _log,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "fabs": abs,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "rint": lambda x: float(round(x)),
    "round": _round_half_away,
    "erf": math.erf,
    "erfc": math.erfc,
    "lgamma": math.lgamma,
    "to_float32": _to_float32,
}
FOLD_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def wrap_integer(value: int, bits: int, signed: bool) -> int:
    """Two's complement value of an integer in `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
