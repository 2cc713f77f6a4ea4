"""The table of primitives: name -> rule that maps arrays of references to arrays of references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from franka_jax.aot.expression import Graph
from franka_jax.aot.nodes import BOOL, FLOAT, INT

#: An array of references into a graph, with the shape of the value it stands for.
Refs = np.ndarray
Rule = Callable[..., "Refs | Sequence[Refs]"]

RULES: dict[str, Rule] = {}


class UnsupportedPrimitive(NotImplementedError):
    """A function uses something that has no straight-line form; the text names it and the user's line.

    `primitive` is its name, `location` the line ("file.py:12 (function)") or "" where JAX recorded none.
    """

    def __init__(self, primitive: str, location: str, reason: str = "") -> None:
        self.primitive, self.location, self.reason = primitive, location, reason
        where = f" at {location}" if location else ""
        because = f": {reason}" if reason else ""
        super().__init__(
            f"the JAX primitive '{primitive}'{where} cannot be compiled to a straight-line kernel{because}. "
            f"Keep that part outside the compiled function, or write it with supported operations "
            f"(franka_jax.aot.supported_primitives() lists them)."
        )


class Unsupported(Exception):
    """Raised by a rule with the reason; the evaluator adds the primitive's name and the user's line."""


@dataclass(frozen=True)
class Operation:
    """What a rule knows besides its operands: graph, the equation's parameters and types, how to evaluate a jaxpr."""

    graph: Graph
    params: dict[str, Any]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    evaluate: Callable[..., list[Refs]]

    @property
    def dtype(self) -> np.dtype:
        """Type of the first result."""
        return self.outputs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return self.outputs[0].shape


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for primitives of these names."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def kind_of(dtype: Any) -> str:
    """FLOAT, INT or BOOL of a NumPy type; others have no straight-line form."""
    dtype = np.dtype(dtype)
    if dtype in (np.float64, np.float32):
        return FLOAT
    if dtype == np.bool_:
        return BOOL
    if dtype.kind in "iu":
        return INT
    raise Unsupported(f"values of type {dtype} are not supported (float64, float32, integers and booleans are)")


def elementwise(function: Callable[..., int], *arrays: Refs) -> Refs:
    """`function` of the references of arrays, broadcast against each other."""
    shape = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        arrays = tuple(np.broadcast_to(array, shape) for array in arrays)
    flat = [array.ravel().tolist() for array in arrays]
    return np.fromiter(map(function, *flat), np.int64, len(flat[0])).reshape(shape)


def constants(graph: Graph, values: Any) -> Refs:
    """References of known numbers."""
    values = np.asarray(values)
    kind = {FLOAT: float, INT: int, BOOL: bool}[kind_of(values.dtype)]
    return elementwise(lambda i: graph.constant(kind(values.flat[i])), np.arange(values.size).reshape(values.shape))


def known(graph: Graph, refs: Refs) -> np.ndarray | None:
    """The numbers of an array of constants, or None when one depends on an input."""
    if not all(graph.is_constant(ref) for ref in refs.ravel().tolist()):
        return None
    return np.array([graph.value(ref) for ref in refs.ravel().tolist()]).reshape(refs.shape)
