"""From a JAX function of fixed shapes to a graph of scalars.

The function is traced once, in float64 whatever the process's x64 setting is, and its jaxpr is evaluated on NumPy
arrays of references into a `Graph`: moving elements is plain indexing, arithmetic adds nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from franka_jax.aot.expression import Graph
from franka_jax.aot.primitives import RULES, Operation, Refs, Unsupported, UnsupportedPrimitive, constants, kind_of

_JAX_FILES = os.path.dirname(os.path.abspath(jax.__file__)) + os.sep
_OWN_FILES = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Program:
    """A scalarised function: the graph and, per leaf, shapes, NumPy types and the references of the results."""

    graph: Graph
    input_shapes: tuple[tuple[int, ...], ...]
    input_dtypes: tuple[np.dtype, ...]
    output_shapes: tuple[tuple[int, ...], ...]
    output_dtypes: tuple[np.dtype, ...]
    outputs: tuple[Refs, ...]

    def live_nodes(self) -> list[int]:
        """The nodes that some result needs, in the order in which they were built."""
        needed = set()
        stack = [ref >> 1 for refs in self.outputs for ref in refs.ravel().tolist()]
        while stack:
            node = stack.pop()
            if node not in needed:
                needed.add(node)
                stack.extend(ref >> 1 for ref in self.graph.operands(node))
        return sorted(needed)

    @property
    def operation_count(self) -> int:
        """Arithmetic operations left after all simplifications."""
        return sum(self.graph.operations[node][0] not in ("input", "const") for node in self.live_nodes())


def double(dtype: Any) -> np.dtype:
    """The type a leaf has inside a kernel: floats are float64, integers and booleans stay."""
    dtype = np.dtype(dtype)
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def trace(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[ClosedJaxpr, Any]:
    """The jaxpr of `function` for arguments of these shapes, and the tree of its results."""
    with jax.enable_x64(True):
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), double(_dtype(x))), tuple(arguments))
        return jax.make_jaxpr(function, return_shape=True)(*shapes)


def _dtype(x: Any) -> np.dtype:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def scalarize(closed: ClosedJaxpr) -> Program:
    """Evaluate a closed jaxpr on symbols.

    Raises:
        UnsupportedPrimitive: something in it has no straight-line form.
    """
    graph = Graph()
    inputs = [_symbols(graph, leaf, aval) for leaf, aval in enumerate(closed.in_avals)]
    outputs = _Evaluator(graph).closed(closed, *inputs)
    return Program(
        graph,
        tuple(aval.shape for aval in closed.in_avals),
        tuple(np.dtype(aval.dtype) for aval in closed.in_avals),
        tuple(aval.shape for aval in closed.out_avals),
        tuple(np.dtype(aval.dtype) for aval in closed.out_avals),
        tuple(outputs),
    )


def _symbols(graph: Graph, leaf: int, aval: Any) -> Refs:
    try:
        kind = kind_of(aval.dtype)
    except Unsupported as reason:
        raise UnsupportedPrimitive("input", "", f"argument {leaf}: {reason}") from None
    size = int(np.prod(aval.shape))
    return np.array([graph.input(kind, leaf, i) for i in range(size)], np.int64).reshape(aval.shape)


class _Evaluator:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.constants: dict[int, tuple[Any, Refs]] = {}

    def closed(self, jaxpr: ClosedJaxpr | Jaxpr, *arguments: Refs) -> list[Refs]:
        if isinstance(jaxpr, ClosedJaxpr):
            return self.open(jaxpr.jaxpr, [self.constant(c) for c in jaxpr.consts], arguments)
        return self.open(jaxpr, [], arguments)

    def constant(self, value: Any) -> Refs:
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = (value, constants(self.graph, value))  # keeps `value`, so its id, alive
        return known[1]

    def open(self, jaxpr: Jaxpr, consts: Sequence[Refs], arguments: Sequence[Refs]) -> list[Refs]:
        values: dict[Any, Refs] = {}

        def read(atom: Any) -> Refs:
            if isinstance(atom, Literal):
                return constants(self.graph, np.asarray(atom.val, getattr(atom.aval, "dtype")))  # noqa: B009 (typed loosely)
            return values[atom]

        values.update(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            results = self.equation(equation, [read(v) for v in equation.invars])
            values.update(zip(equation.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def equation(self, equation: Any, operands: list[Refs]) -> Sequence[Refs]:
        name = equation.primitive.name
        rule = RULES.get(name)
        if rule is None:
            raise UnsupportedPrimitive(name, user_line(equation))
        avals = ([v.aval for v in equation.invars], [v.aval for v in equation.outvars])
        try:
            results = rule(Operation(self.graph, equation.params, *avals, self.closed), *operands)
        except Unsupported as reason:
            raise UnsupportedPrimitive(name, user_line(equation), str(reason)) from None
        except UnsupportedPrimitive as error:
            if error.location:
                raise
            raise UnsupportedPrimitive(error.primitive, user_line(equation), error.reason) from None
        return [results] if isinstance(results, np.ndarray) else results


def user_line(equation: Any) -> str:
    """'file.py:12 (function)' of the innermost line outside JAX that built an equation; "" when JAX recorded none."""
    traceback = getattr(equation.source_info, "traceback", None)
    for frame in traceback.frames if traceback is not None else ():
        if not frame.file_name.startswith((_JAX_FILES, _OWN_FILES, "<")):
            return f"{frame.file_name}:{frame.line_num} ({frame.function_name})"
    return ""
