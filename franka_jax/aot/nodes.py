"""The nodes of scalar expressions in single-assignment form, and references to them.

A *reference* is an integer `2 * node + sign`: the lowest bit says "negated". Equal nodes are one node.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

FLOAT, INT, BOOL = "f", "i", "b"


class Nodes:
    """A growing list of nodes; methods return references.

    `operations[n]` is `(name, *operands)`: operands are references, except for `input` (leaf, element), `const`
    (value), and `wrap` (reference, bits, signed). `kinds[n]` is FLOAT, INT or BOOL.
    """

    def __init__(self) -> None:
        self.operations: list[tuple] = []
        self.kinds: list[str] = []
        self._known: dict[tuple, int] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)
        self.false = self.constant(False)
        self.true = self.constant(True)

    def _node(self, kind: str, *operation) -> int:
        key = (kind, operation)
        node = self._known.get(key)
        if node is None:
            node = len(self.operations)
            self._known[key] = node
            self.operations.append(operation)
            self.kinds.append(kind)
        return 2 * node

    # leaves ---------------------------------------------------------------------------------------------------------

    def input(self, kind: str, leaf: int, element: int) -> int:
        """Element `element` (C order) of input leaf `leaf`."""
        return self._node(kind, "input", leaf, element)

    def constant(self, value: float | int | bool) -> int:
        """A Python number: float, int and bool give the three kinds."""
        if isinstance(value, bool):
            return self._node(BOOL, "const", value)
        if isinstance(value, int):
            return self._node(INT, "const", value)
        if value != value:  # one NaN, compared by identity of its text
            return self._node(FLOAT, "const", "nan")
        return self._node(FLOAT, "const", abs(value)) | (math.copysign(1.0, value) < 0.0)

    def is_constant(self, ref: int) -> bool:
        """Whether the reference is a number known while compiling."""
        return self.operations[ref >> 1][0] == "const"

    def value(self, ref: int) -> Any:
        """The number of a constant reference."""
        value = self.operations[ref >> 1][1]
        if value == "nan":
            return math.nan
        return -value if ref & 1 else value

    def kind(self, ref: int) -> str:
        """FLOAT, INT or BOOL."""
        return self.kinds[ref >> 1]

    def _constants(self, *refs: int) -> bool:
        return all(self.operations[ref >> 1][0] == "const" for ref in refs)

    # queries -------------------------------------------------------------------------------------------------------

    def operands(self, node: int) -> Iterable[int]:
        """The references that a node reads."""
        name, *operands = self.operations[node]
        if name in ("input", "const"):
            return ()
        return operands[:1] if name == "wrap" else operands
