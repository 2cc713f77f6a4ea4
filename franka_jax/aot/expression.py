"""Scalar expressions in single-assignment form, simplified while they are built.

A `Graph` holds every scalar of a function once. A *reference* is an integer `2 * node + sign`: the lowest bit says
"negated". Signs therefore never cost an operation of their own: `-a * b`, `a * -b` and `-(a * b)` are one node, `a - b`
and `b - a` are one node, and a fixed joint rotation of -90 degrees disappears like the identity does. Rounding to
nearest is symmetric, so moving a sign changes no value.

Simplifications are those that keep the value of every *finite* expression: constants are folded in IEEE double
arithmetic, `x * 0 = 0`, `x * 1 = x`, `x + 0 = x`, `x - x = 0`; equal expressions are shared (commutative operands
sorted). Nothing is reassociated or distributed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from franka_jax.aot.folding import FOLD_COMPARE, FOLD_UNARY, wrap_integer
from franka_jax.aot.nodes import BOOL, FLOAT, INT, Nodes

#: f(-x) = -f(x) and f(-x) = f(x), exactly, in the C library as in XLA.
ODD = frozenset(
    {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf", "trunc", "rint", "round"}
)
EVEN = frozenset({"cos", "cosh", "fabs"})


class Graph(Nodes):
    """Nodes, and the operations that make them from others; every method returns a reference (see the module's
    docstring).
    """

    # float arithmetic -----------------------------------------------------------------------------------------------

    def add(self, a: int, b: int) -> int:
        """a + b."""
        if a >> 1 == 0:  # node 0 is the constant zero
            return b
        if b >> 1 == 0:
            return a
        if a ^ b == 1:
            return self.zero
        if self._constants(a, b):
            return self.constant(self.value(a) + self.value(b))
        if a == b:
            return self.mul(self.constant(2.0), a)
        low, high = (a, b) if a < b else (b, a)
        if (a ^ b) & 1:
            return self._node(FLOAT, "sub", low & ~1, high & ~1) ^ (low & 1)
        return self._node(FLOAT, "add", low & ~1, high & ~1) ^ (a & 1)

    def sub(self, a: int, b: int) -> int:
        """a - b."""
        return self.add(a, b ^ 1)

    def mul(self, a: int, b: int) -> int:
        """a * b."""
        na, nb, sign = a & ~1, b & ~1, (a ^ b) & 1
        if na == 0 or nb == 0:
            return self.zero
        if na == self.one:
            return nb ^ sign
        if nb == self.one:
            return na ^ sign
        if self._constants(a, b):
            return self.constant(self.value(a) * self.value(b))
        return self._node(FLOAT, "mul", *sorted((na, nb))) ^ sign

    def div(self, a: int, b: int) -> int:
        """a / b."""
        na, nb, sign = a & ~1, b & ~1, (a ^ b) & 1
        if na == 0 and nb != 0:
            return self.zero
        if nb == self.one:
            return na ^ sign
        if self._constants(nb) and nb != 0:
            divisor = self.value(nb)
            if self._constants(na):
                return self.constant(self.value(na) / divisor) ^ sign
            if math.frexp(divisor)[0] == 0.5 and 1e-300 < divisor < 1e300:  # a power of two: the product is exact
                return self.mul(na, self.constant(1.0 / divisor)) ^ sign
        return self._node(FLOAT, "div", na, nb) ^ sign

    def unary(self, name: str, a: int) -> int:
        """A function of the C library (a key of FOLD_UNARY)."""
        if self.is_constant(a):
            try:
                return self.constant(float(FOLD_UNARY[name](self.value(a))))
            except (ValueError, OverflowError):
                pass  # outside the domain: left to the C library, which gives nan or inf like XLA does
        sign = a & 1 if name in ODD else 0
        if name in ODD or name in EVEN:
            a &= ~1
        if name in ("fabs", "to_float32", "floor", "ceil", "rint") and self.operations[a >> 1][0] == name and not a & 1:
            return a ^ sign
        return self._node(FLOAT, name, a) ^ sign

    def binary(self, name: str, a: int, b: int) -> int:
        """atan2, pow, fmod, nextafter or copysign of the C library."""
        if name == "pow" and self._constants(b) and self.value(b) in (0.5, 1.0, 2.0):
            return {0.5: lambda: self.unary("sqrt", a), 1.0: lambda: a, 2.0: lambda: self.mul(a, a)}[self.value(b)]()
        if self._constants(a, b):
            try:
                fold = {"atan2": math.atan2, "pow": math.pow, "fmod": math.fmod, "nextafter": math.nextafter}
                return self.constant(fold.get(name, math.copysign)(self.value(a), self.value(b)))
            except (ValueError, OverflowError):
                pass
        return self._node(FLOAT, name, a, b)

    def extremum(self, name: str, a: int, b: int) -> int:
        """`max` or `min` of two floats; a NaN wins, as in XLA."""
        if a == b:
            return a
        if self._constants(a, b):
            x, y = self.value(a), self.value(b)
            return self.constant(math.nan if x != x or y != y else (max if name == "max" else min)(x, y))
        if self.is_constant(b) or (a > b and not self.is_constant(a)):
            a, b = b, a
        return self._node(FLOAT, name, a, b)

    # decisions ------------------------------------------------------------------------------------------------------

    def compare(self, name: str, a: int, b: int) -> int:
        """lt, le, gt, ge, eq or ne of two floats or two integers, or eq and ne of two booleans."""
        if name in ("gt", "ge"):
            name, a, b = {"gt": "lt", "ge": "le"}[name], b, a
        if self._constants(a, b):
            return self.constant(FOLD_COMPARE[name](self.value(a), self.value(b)))
        if self.kind(a) == BOOL:
            return self.logic("xor", a, b) if name == "ne" else self.invert(self.logic("xor", a, b))
        if a == b and self.kind(a) == INT:
            return self.constant(name in ("le", "eq"))
        if name in ("eq", "ne") and a > b:
            a, b = b, a
        return self._node(BOOL, name, a, b)

    def invert(self, a: int) -> int:
        """Logical not."""
        if self.is_constant(a):
            return self.constant(not self.value(a))
        name, *operands = self.operations[a >> 1]
        return operands[0] if name == "not" else self._node(BOOL, "not", a)

    def logic(self, name: str, a: int, b: int) -> int:
        """and, or, xor of two booleans."""
        if self.is_constant(b):
            a, b = b, a
        if self.is_constant(a):
            absorbing, neutral = {"and": (False, True), "or": (True, False), "xor": (None, False)}[name]
            if self.value(a) == absorbing:
                return a
            return b if self.value(a) == neutral else self.invert(b)
        if a == b:
            return self.false if name == "xor" else a
        return self._node(BOOL, name, *sorted((a, b)))

    def select(self, condition: int, yes: int, no: int) -> int:
        """`yes` where the condition holds, else `no`."""
        if yes == no:
            return yes
        if self.is_constant(condition):
            return yes if self.value(condition) else no
        kind = self.kind(yes)
        name, *operands = self.operations[condition >> 1]
        if name == "not":
            condition, yes, no = operands[0], no, yes
        if kind == BOOL:
            chosen = self.logic("and", condition, yes)
            return self.logic("or", chosen, self.logic("and", self.invert(condition), no))
        sign = 1 if kind == FLOAT and yes & 1 and no & 1 else 0
        return self._node(kind, "select", condition, yes ^ sign, no ^ sign) ^ sign

    # integers -------------------------------------------------------------------------------------------------------

    def integer(self, name: str, fold: Callable[[int, int], int], a: int, b: int) -> int:
        """A binary integer operation; `fold` is its meaning for Python integers."""
        if self._constants(a, b):
            return self.constant(int(fold(self.value(a), self.value(b))))
        if name == "iadd" and self.constant(0) in (a, b):
            return a if b == self.constant(0) else b
        if name == "imul" and self.constant(1) in (a, b):
            return a if b == self.constant(1) else b
        return self._node(INT, name, a, b)

    def wrap(self, a: int, bits: int, signed: bool) -> int:
        """An integer reduced to the range of its type."""
        if self.is_constant(a):
            return self.constant(wrap_integer(self.value(a), bits, signed))
        if bits == 64 or self.operations[a >> 1][0] in ("input", "wrap"):
            return a
        return self._node(INT, "wrap", a, bits, signed)

    def convert(self, a: int, kind: str) -> int:
        """Between float (towards zero, saturating at 64 bits), integer and boolean."""
        source = self.kind(a)
        if source == kind:
            return a
        if self.is_constant(a):
            value = self.value(a)
            if kind == INT and not math.isfinite(value):
                value = 0 if value != value else (2**63 - 1 if value > 0 else -(2**63))
            return self.constant({FLOAT: float, INT: int, BOOL: bool}[kind](value))
        if kind == BOOL:
            return self.compare("ne", a, self.zero if source == FLOAT else self.constant(0))
        if source == BOOL:
            return self.select(a, *((self.one, self.zero) if kind == FLOAT else (self.constant(1), self.constant(0))))
        return self._node(kind, "to_float" if kind == FLOAT else "to_int", a)
