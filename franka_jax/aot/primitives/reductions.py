"""Sums, products, extrema, cumulative operations, sorting and `dot_general`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial, reduce

import numpy as np

from franka_jax.aot.expression import Graph
from franka_jax.aot.nodes import FLOAT
from franka_jax.aot.primitives.elementwise import binary_operation, finish
from franka_jax.aot.primitives.registry import Operation, Refs, Unsupported, constants, elementwise, kind_of, rule

REDUCTIONS = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor"}


def _neutral(graph: Graph, name: str, dtype: np.dtype) -> int:
    if name in ("max", "min"):
        limits = np.finfo(dtype) if kind_of(dtype) == FLOAT else np.iinfo(dtype)
        value = (
            (-np.inf if name == "max" else np.inf)
            if kind_of(dtype) == FLOAT
            else getattr(limits, ["min", "max"][name == "min"])
        )
    else:
        value = {"prod": 1, "and": -1}.get(name, 0)
    return constants(graph, np.asarray(value).astype(dtype)).item()


def fold_axes(function: Callable[[int, int], int], a: Refs, axes: tuple[int, ...], neutral: int) -> Refs:
    """Combine the elements along `axes`, from first to last."""
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = a.transpose([*kept, *axes]).reshape([*(a.shape[i] for i in kept), -1])
    rows = moved.reshape(-1, moved.shape[-1]).tolist() if moved.size else [[]] * int(np.prod(moved.shape[:-1]))
    return np.array([reduce(function, row) if row else neutral for row in rows], dtype=np.int64).reshape(
        moved.shape[:-1]
    )


def _register_tables() -> None:
    for name, scalar in REDUCTIONS.items():

        def reduction(op: Operation, a: Refs, name: str = name, scalar: str = scalar) -> Refs:
            function = binary_operation(op.graph, scalar, op.dtype)
            return finish(op, fold_axes(function, a, tuple(op.params["axes"]), _neutral(op.graph, name, op.dtype)))

        def cumulative(op: Operation, a: Refs, scalar: str = scalar) -> Refs:
            axis = op.params["axis"]
            lines = np.moveaxis(a, axis, -1)
            lines = np.flip(lines, -1) if op.params["reverse"] else lines
            function = binary_operation(op.graph, scalar, op.dtype)
            rows = [list(itertools.accumulate(row, function)) for row in lines.reshape(-1, lines.shape[-1]).tolist()]
            result = np.array(rows, dtype=np.int64).reshape(lines.shape)
            result = np.flip(result, -1) if op.params["reverse"] else result
            return finish(op, np.moveaxis(result, -1, axis))

        rule(f"reduce_{name}")(reduction)
        if name in ("sum", "prod", "max", "min"):
            rule(f"cum{name}")(cumulative)


_register_tables()


def _extreme_index(op: Operation, a: Refs, better: str) -> Refs:
    """Index of the first extreme element; a NaN wins, as in XLA."""
    graph, (axis,) = op.graph, op.params["axes"]
    lines = np.moveaxis(a, axis, -1)
    best, index = lines[..., 0], np.full(lines.shape[:-1], graph.constant(0))

    def is_better(new: int, old: int) -> int:
        wins = graph.compare(better, new, old)
        if graph.kind(new) != FLOAT:
            return wins
        number = graph.compare("eq", old, old)
        return graph.logic("or", wins, graph.logic("and", graph.compare("ne", new, new), number))

    for i in range(1, lines.shape[-1]):
        wins = elementwise(is_better, lines[..., i], best)
        best = elementwise(graph.select, wins, lines[..., i], best)
        index = elementwise(lambda c, old, i=i: graph.select(c, graph.constant(i), old), wins, index)
    return index


rule("argmax")(partial(_extreme_index, better="gt"))
rule("argmin")(partial(_extreme_index, better="lt"))


@rule("sort")
def _sort(op: Operation, *operands: Refs) -> list[Refs]:
    """Odd-even transposition: stable, as many exchanges as pairs."""
    if op.params["num_keys"] != 1:
        raise Unsupported("sorting by more than one key")
    graph, axis = op.graph, op.params["dimension"]
    columns = [list(np.moveaxis(x, axis, 0)) for x in operands]
    size = len(columns[0])
    for step in range(size):
        for i in range(step % 2, size - 1, 2):
            swap = elementwise(lambda a, b: graph.compare("lt", b, a), columns[0][i], columns[0][i + 1])
            for column in columns:
                low, high = column[i], column[i + 1]
                column[i] = elementwise(graph.select, swap, high, low)
                column[i + 1] = elementwise(graph.select, swap, low, high)
    return [np.moveaxis(np.stack(column), 0, axis) for column in columns]


@rule("dot_general")
def _dot_general(op: Operation, a: Refs, b: Refs) -> Refs:
    ((contract_a, contract_b), (batch_a, batch_b)) = op.params["dimension_numbers"]

    def matrices(x: Refs, contract: tuple[int, ...], batch: tuple[int, ...]) -> Refs:
        free = [i for i in range(x.ndim) if i not in contract and i not in batch]
        size = [int(np.prod([x.shape[i] for i in axes])) for axes in (batch, free, contract)]
        return x.transpose([*batch, *free, *contract]).reshape(size)

    rows, columns = matrices(a, contract_a, batch_a), matrices(b, contract_b, batch_b)
    multiply, add = (binary_operation(op.graph, name, op.dtype) for name in ("mul", "add"))
    zero = constants(op.graph, np.zeros((), op.dtype)).item()

    def product(row: list[int], column: list[int]) -> int:
        return reduce(add, map(multiply, row, column)) if row else zero

    result = [
        [[product(row, column) for column in n] for row in m]
        for m, n in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return finish(op, np.array(result, dtype=np.int64).reshape(op.shape))
