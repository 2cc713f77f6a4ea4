"""Slices, gathers and scatters, with indices that are known while compiling or not.

A start index that depends on an input is resolved by selecting among all windows it can mean, which also clamps it the
way XLA does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from franka_jax.aot.expression import Graph
from franka_jax.aot.primitives.elementwise import binary_operation, finish
from franka_jax.aot.primitives.registry import Operation, Refs, constants, elementwise, rule

COMBINE = {"scatter-add": "add", "scatter_add": "add", "scatter-sub": "sub", "scatter_sub": "sub"}
COMBINE |= {f"scatter{s}{name}": name for s in "-_" for name in ("mul", "min", "max")}


def _choose(graph: Graph, index: int, cases: Sequence[Refs]) -> Refs:
    """`cases[clip(index, 0, len(cases) - 1)]`."""
    chosen = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        condition = np.broadcast_to(graph.compare("le", index, graph.constant(i)), chosen.shape)
        chosen = elementwise(graph.select, condition, cases[i], chosen)
    return chosen


def window(graph: Graph, operand: Refs, starts: Sequence[int], sizes: Sequence[int]) -> Refs:
    """The window of `sizes` at `starts` (references), clamped into the operand."""
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        last = operand.shape[axis] - size
        if graph.is_constant(start):
            first = min(max(int(graph.value(start)), 0), last)
            operand = np.take(operand, range(first, first + size), axis)
        else:
            cases = [np.take(operand, range(i, i + size), axis) for i in range(last + 1)]
            operand = _choose(graph, start, cases)
    return operand


def update_window(
    graph: Graph, operand: Refs, starts: Sequence[int], sizes: Sequence[int], update: Callable[[Refs], Refs]
) -> Refs:
    """The operand with `update` applied to the window of `sizes` at `starts`, clamped into the operand."""
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if not graph.is_constant(start):
            fixed = [
                [*starts[:axis], graph.constant(i), *starts[axis + 1 :]] for i in range(operand.shape[axis] - size + 1)
            ]
            return _choose(graph, start, [update_window(graph, operand, s, sizes, update) for s in fixed])
    where = tuple(
        slice(first := min(max(int(graph.value(start)), 0), length - size), first + size)
        for start, size, length in zip(starts, sizes, operand.shape, strict=True)
    )
    result = operand.copy()
    result[where] = update(operand[where])
    return result


def _inside(graph: Graph, starts: Sequence[int], sizes: Sequence[int], shape: Sequence[int]) -> int:
    """Whether the window needs no clamping."""
    result = graph.true
    for start, size, length in zip(starts, sizes, shape, strict=True):
        for test in (
            graph.compare("ge", start, graph.constant(0)),
            graph.compare("le", start, graph.constant(length - size)),
        ):
            result = graph.logic("and", result, test)
    return result


def _positions(indices: Refs) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    for position in np.ndindex(indices.shape[:-1]):
        yield position, indices[position].tolist()


def _starts(graph: Graph, rank: int, vector: list[int], to_operand: Sequence[int]) -> list[int]:
    starts = [graph.constant(0)] * rank
    for axis, value in zip(to_operand, vector, strict=True):
        starts[axis] = value
    return starts


def _add_batching(
    graph: Graph, starts: list[int], position: tuple[int, ...], operand_dims: Sequence[int], index_dims: Sequence[int]
) -> None:
    for operand_axis, index_axis in zip(operand_dims, index_dims, strict=True):
        starts[operand_axis] = graph.constant(position[index_axis])


def _fills(op: Operation) -> bool:
    return "fill" in str(op.params["mode"]).lower()


def _fill_value(op: Operation) -> int:
    value, dtype = op.params.get("fill_value"), np.dtype(op.dtype)
    if value is None:
        limits = {"f": np.nan, "b": True, "i": np.iinfo(dtype).min if dtype.kind == "i" else 0}
        limits["u"] = np.iinfo(dtype).max if dtype.kind == "u" else 0
        value = limits[dtype.kind]
    return constants(op.graph, np.asarray(value, dtype)).item()


@rule("dynamic_slice")
def _dynamic_slice(op: Operation, a: Refs, *starts: Refs) -> Refs:
    return window(op.graph, a, [s.item() for s in starts[: a.ndim]], op.params["slice_sizes"])


@rule("dynamic_update_slice")
def _dynamic_update_slice(op: Operation, a: Refs, update: Refs, *starts: Refs) -> Refs:
    return update_window(op.graph, a, [s.item() for s in starts], update.shape, lambda _: update)


@rule("gather")
def _gather(op: Operation, operand: Refs, indices: Refs) -> Refs:
    graph, d, sizes = op.graph, op.params["dimension_numbers"], op.params["slice_sizes"]
    dropped = {*d.collapsed_slice_dims, *d.operand_batching_dims}
    kept = [size for axis, size in enumerate(sizes) if axis not in dropped]
    batch_axes = [axis for axis in range(len(op.shape)) if axis not in d.offset_dims]
    result = np.empty([*indices.shape[:-1], *kept], np.int64)
    for position, vector in _positions(indices):
        starts = _starts(graph, operand.ndim, vector, d.start_index_map)
        _add_batching(graph, starts, position, d.operand_batching_dims, d.start_indices_batching_dims)
        found = window(graph, operand, starts, sizes)
        if _fills(op):
            valid = np.broadcast_to(_inside(graph, starts, sizes, operand.shape), found.shape)
            found = elementwise(graph.select, valid, found, np.broadcast_to(_fill_value(op), found.shape))
        result[position] = found.reshape(kept)
    return np.moveaxis(result, range(result.ndim), [*batch_axes, *d.offset_dims])


def _scatter_as(name: str, op: Operation, operand: Refs, indices: Refs, updates: Refs) -> Refs:
    graph, d = op.graph, op.params["dimension_numbers"]
    dropped = {*d.inserted_window_dims, *d.operand_batching_dims}
    batch_axes = [axis for axis in range(updates.ndim) if axis not in d.update_window_dims]
    moved = updates.transpose([*batch_axes, *d.update_window_dims])
    window_sizes = iter(moved.shape[len(batch_axes) :])
    sizes = [1 if axis in dropped else next(window_sizes) for axis in range(operand.ndim)]
    combine = binary_operation(graph, COMBINE[name], op.dtype) if name in COMBINE else (lambda old, new: new)
    result = operand
    for position, vector in _positions(indices):
        starts = _starts(graph, operand.ndim, vector, d.scatter_dims_to_operand_dims)
        _add_batching(graph, starts, position, d.operand_batching_dims, d.scatter_indices_batching_dims)
        valid = _inside(graph, starts, sizes, operand.shape) if _fills(op) else graph.true
        new = moved[position].reshape(sizes)

        def update(old: Refs, new: Refs = new, valid: int = valid) -> Refs:
            changed = elementwise(combine, old, new)
            return elementwise(graph.select, np.broadcast_to(valid, old.shape), changed, old)

        result = update_window(graph, result, starts, sizes, update)
    return finish(op, result)


for _name in ("scatter", *COMBINE):
    rule(_name)(partial(_scatter_as, _name))
