"""Element-wise arithmetic and functions."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any

import numpy as np

from franka_jax.aot.expression import Graph
from franka_jax.aot.nodes import BOOL, FLOAT, INT
from franka_jax.aot.primitives.registry import Operation, Refs, Unsupported, elementwise, kind_of, rule

#: JAX's name -> name in the C library.
UNARY = {
    name: name
    for name in [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "exp2",
        "expm1",
        "log",
    ]
}
UNARY |= {
    "log1p": "log1p",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "floor": "floor",
    "ceil": "ceil",
    "erf": "erf",
    "erfc": "erfc",
}
UNARY |= {"lgamma": "lgamma"}


def truncated_division(a: int, b: int) -> int:
    """Integer division towards zero; by zero it gives -1, as in XLA."""
    return -1 if b == 0 else int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b))


def truncated_remainder(a: int, b: int) -> int:
    """Remainder with the sign of the dividend; by zero it gives the dividend, as in XLA."""
    return a if b == 0 else a - b * truncated_division(a, b)


INTEGER = {
    "add": ("iadd", operator.add),
    "sub": ("isub", operator.sub),
    "mul": ("imul", operator.mul),
    "div": ("idiv", truncated_division),
    "rem": ("irem", truncated_remainder),
    "max": ("imax", max),
    "min": ("imin", min),
    "and": ("iand", operator.and_),
    "or": ("ior", operator.or_),
    "xor": ("ixor", operator.xor),
}


def finish(op: Operation, refs: Refs) -> Refs:
    """Reduce results to the range of their type: float32 is rounded, integers wrap around."""
    graph, dtype = op.graph, np.dtype(op.dtype)
    if dtype == np.float32:
        return elementwise(lambda r: graph.unary("to_float32", r), refs)
    if dtype.kind in "iu" and dtype.itemsize < 8:
        return elementwise(lambda r: graph.wrap(r, 8 * dtype.itemsize, dtype.kind == "i"), refs)
    return refs


def integer_operation(graph: Graph, name: str) -> Any:
    """The scalar function of a binary integer primitive."""
    return partial(graph.integer, *INTEGER[name])


def binary_operation(graph: Graph, name: str, dtype: Any) -> Any:
    """The scalar function of a binary primitive for one type."""
    kind = kind_of(dtype)
    if kind == INT:
        return integer_operation(graph, name)
    if kind == BOOL:
        name = {"add": "or", "mul": "and", "max": "or", "min": "and"}.get(name, name)
        return partial(graph.logic, name)
    if name in ("max", "min"):
        return partial(graph.extremum, name)
    return partial(graph.binary, "fmod") if name == "rem" else getattr(graph, name)


def _register_tables() -> None:
    for name, c_name in UNARY.items():

        def apply_unary(op: Operation, a: Refs, c_name: str = c_name) -> Refs:
            return finish(op, elementwise(partial(op.graph.unary, c_name), a))

        rule(name)(apply_unary)
    for name in INTEGER:

        def apply_binary(op: Operation, a: Refs, b: Refs, name: str = name) -> Refs:
            return finish(op, elementwise(binary_operation(op.graph, name, op.dtype), a, b))

        rule(name)(apply_binary)
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):

        def apply_compare(op: Operation, a: Refs, b: Refs, name: str = name) -> Refs:
            return elementwise(partial(op.graph.compare, name), a, b)

        rule(name)(apply_compare)
    for name in ("atan2", "nextafter"):

        def apply_function(op: Operation, a: Refs, b: Refs, name: str = name) -> Refs:
            return finish(op, elementwise(partial(op.graph.binary, name), a, b))

        rule(name)(apply_function)


_register_tables()


@rule("add_any")
def _add_any(op: Operation, a: Refs, b: Refs) -> Refs:
    return finish(op, elementwise(binary_operation(op.graph, "add", op.dtype), a, b))


def negate(graph: Graph, ref: int) -> int:
    """-x of a float or an integer."""
    return ref ^ 1 if graph.kind(ref) == FLOAT else graph.integer("isub", operator.sub, graph.constant(0), ref)


@rule("neg")
def _neg(op: Operation, a: Refs) -> Refs:
    return finish(op, elementwise(partial(negate, op.graph), a))


@rule("abs")
def _abs(op: Operation, a: Refs) -> Refs:
    graph = op.graph
    if kind_of(op.dtype) == FLOAT:
        return elementwise(partial(graph.unary, "fabs"), a)
    largest = integer_operation(graph, "max")
    return finish(op, elementwise(lambda r: largest(r, negate(graph, r)), a))


@rule("sign")
def _sign(op: Operation, a: Refs) -> Refs:
    graph = op.graph
    zero, one = (graph.zero, graph.one) if kind_of(op.dtype) == FLOAT else (graph.constant(0), graph.constant(1))

    def sign(ref: int) -> int:
        negative = graph.select(
            graph.compare("lt", ref, zero), negate(graph, one), ref if graph.kind(ref) == FLOAT else zero
        )
        return graph.select(graph.compare("gt", ref, zero), one, negative)  # zero and nan are returned as they are

    return elementwise(sign, a)


@rule("square")
def _square(op: Operation, a: Refs) -> Refs:
    return finish(op, elementwise(lambda r: binary_operation(op.graph, "mul", op.dtype)(r, r), a))


@rule("rsqrt")
def _rsqrt(op: Operation, a: Refs) -> Refs:
    return finish(op, elementwise(lambda r: op.graph.div(op.graph.one, op.graph.unary("sqrt", r)), a))


@rule("logistic")
def _logistic(op: Operation, a: Refs) -> Refs:
    graph = op.graph
    return finish(op, elementwise(lambda r: graph.div(graph.one, graph.add(graph.one, graph.unary("exp", r ^ 1))), a))


@rule("integer_pow")
def _integer_pow(op: Operation, a: Refs) -> Refs:
    graph, exponent = op.graph, op.params["y"]
    multiply = binary_operation(graph, "mul", op.dtype)

    def power(ref: int) -> int:
        if exponent == 0:
            return graph.one if graph.kind(ref) == FLOAT else graph.constant(1)
        result, base, rest = None, ref, abs(exponent)
        while rest:
            if rest & 1:
                result = base if result is None else multiply(result, base)
            rest >>= 1
            base = multiply(base, base) if rest else base
        assert result is not None
        return graph.div(graph.one, result) if exponent < 0 else result

    return finish(op, elementwise(power, a))


@rule("pow")
def _pow(op: Operation, a: Refs, b: Refs) -> Refs:
    if kind_of(op.dtype) != FLOAT:
        raise Unsupported("an integer raised to a power that is not known while compiling")
    graph = op.graph
    to_float = [elementwise(lambda r: graph.convert(r, FLOAT), x) for x in (a, b)]
    return finish(op, elementwise(partial(graph.binary, "pow"), *to_float))


@rule("round")
def _round(op: Operation, a: Refs) -> Refs:
    half_away = int(op.params["rounding_method"]) == 0
    return elementwise(partial(op.graph.unary, "round" if half_away else "rint"), a)
