"""Element-wise primitives that choose, limit and convert."""

from __future__ import annotations

import operator

import numpy as np

from franka_jax.aot.nodes import BOOL
from franka_jax.aot.primitives.elementwise import binary_operation, finish
from franka_jax.aot.primitives.registry import Operation, Refs, elementwise, kind_of, rule


@rule("is_finite")
def _is_finite(op: Operation, a: Refs) -> Refs:
    graph, largest = op.graph, op.graph.constant(float(np.finfo(op.inputs[0].dtype).max))
    return elementwise(lambda r: graph.compare("le", graph.unary("fabs", r), largest), a)


@rule("not")
def _not(op: Operation, a: Refs) -> Refs:
    graph = op.graph
    if kind_of(op.dtype) == BOOL:
        return elementwise(graph.invert, a)
    return finish(op, elementwise(lambda r: graph.integer("ixor", operator.xor, r, graph.constant(-1)), a))


@rule("clamp")
def _clamp(op: Operation, low: Refs, x: Refs, high: Refs) -> Refs:
    largest, smallest = (binary_operation(op.graph, name, op.dtype) for name in ("max", "min"))
    return elementwise(lambda l, r, h: smallest(h, largest(l, r)), low, x, high)


@rule("select_n")
def _select_n(op: Operation, which: Refs, *cases: Refs) -> Refs:
    graph = op.graph
    if op.inputs[0].dtype == np.bool_:
        return elementwise(lambda c, *x: graph.select(c, x[-1], x[0]), which, *cases)

    def choose(index: int, *values: int) -> int:
        chosen = values[-1]
        for i in range(len(values) - 2, -1, -1):
            chosen = graph.select(graph.compare("le", index, graph.constant(i)), values[i], chosen)
        return chosen

    return elementwise(choose, which, *cases)


@rule("convert_element_type")
def _convert(op: Operation, a: Refs) -> Refs:
    return finish(op, elementwise(lambda r: op.graph.convert(r, kind_of(op.dtype)), a))


@rule(
    "copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier", "device_put", "pvary", "real", "conj"
)
def _identity(op: Operation, *values: Refs) -> list[Refs]:
    return list(values)  # of real numbers
