"""Primitives that move elements without computing: plain NumPy indexing on arrays of references."""

from __future__ import annotations

import numpy as np

from franka_jax.aot.primitives.registry import Operation, Refs, constants, rule


@rule("reshape")
def _reshape(op: Operation, a: Refs) -> Refs:
    order = op.params.get("dimensions")
    return (a if order is None else a.transpose(order)).reshape(op.params["new_sizes"])


@rule("squeeze", "expand_dims")
def _reshape_to_result(op: Operation, a: Refs) -> Refs:
    return a.reshape(op.shape)


@rule("transpose")
def _transpose(op: Operation, a: Refs) -> Refs:
    return a.transpose(op.params["permutation"])


@rule("broadcast_in_dim")
def _broadcast_in_dim(op: Operation, a: Refs) -> Refs:
    shape = [1] * len(op.shape)
    for axis, size in zip(op.params["broadcast_dimensions"], a.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(a.reshape(shape), op.shape)


@rule("slice")
def _slice(op: Operation, a: Refs) -> Refs:
    starts, limits, strides = (op.params[k] for k in ("start_indices", "limit_indices", "strides"))
    return a[tuple(map(slice, starts, limits, strides or [1] * a.ndim))]


@rule("concatenate")
def _concatenate(op: Operation, *parts: Refs) -> Refs:
    return np.concatenate(parts, axis=op.params["dimension"])


@rule("stack")
def _stack(op: Operation, *parts: Refs) -> Refs:
    return np.stack(parts, axis=op.params["axis"])


@rule("unstack")
def _unstack(op: Operation, a: Refs) -> list[Refs]:
    return list(np.moveaxis(a, op.params["axis"], 0))


@rule("tile")
def _tile(op: Operation, a: Refs) -> Refs:
    return np.tile(a, op.params["reps"])


@rule("split")
def _split(op: Operation, a: Refs) -> list[Refs]:
    return np.split(a, np.cumsum(op.params["sizes"])[:-1].tolist(), axis=op.params["axis"])


@rule("rev")
def _rev(op: Operation, a: Refs) -> Refs:
    return np.flip(a, op.params["dimensions"])


@rule("iota")
def _iota(op: Operation) -> Refs:
    axis = op.params["dimension"]
    index = np.arange(op.shape[axis]).astype(op.dtype)
    return constants(
        op.graph, np.broadcast_to(np.expand_dims(index, [i for i in range(len(op.shape)) if i != axis]), op.shape)
    )


@rule("pad")
def _pad(op: Operation, a: Refs, value: Refs) -> Refs:
    padded = np.full(op.shape, value.item(), dtype=np.int64)
    source, target = [], []
    for size, total, (low, _, interior) in zip(a.shape, op.shape, op.params["padding_config"], strict=True):
        position = low + np.arange(size) * (interior + 1)
        inside = (position >= 0) & (position < total)
        source.append(np.flatnonzero(inside))
        target.append(position[inside])
    padded[np.ix_(*target)] = a[np.ix_(*source)]
    return padded
