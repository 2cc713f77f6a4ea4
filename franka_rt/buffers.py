"""Arrays at the binary interface of a kernel: shapes, types, memory layout, addresses."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from franka_rt.artefact import KernelException


class KernelArgumentError(KernelException, ValueError):
    """An argument has the wrong shape, type or structure."""


class Leaf:
    """One array of a kernel: callers see `dtype`, inside every element is a double or a 64-bit integer (`word`)."""

    __slots__ = ("dtype", "name", "shape", "size", "word")

    def __init__(self, name: str, shape: Sequence[int], dtype: Any) -> None:
        self.name, self.shape, self.dtype = name, tuple(shape), np.dtype(dtype)
        self.word = np.dtype(np.float64 if self.dtype.kind == "f" else np.int64)
        self.size = math.prod(self.shape)

    def check(self, value: Any, leading: int = 0) -> np.ndarray:
        """`value` as an array of this leaf's shape after `leading` axes.

        Raises:
            KernelArgumentError: wrong shape, or a type that would lose something.
        """
        array = np.asarray(value)
        if array.shape[leading:] != self.shape or array.ndim != len(self.shape) + leading:
            expected = str(("N", *self.shape) if leading else self.shape).replace("'", "")
            raise KernelArgumentError(f"{self.name} has shape {array.shape}, the kernel takes {expected}")
        if array.dtype != self.word and not np.can_cast(array.dtype, self.word, "same_kind"):
            raise KernelArgumentError(f"{self.name} has type {array.dtype}, the kernel takes {self.dtype}")
        return array


def aligned(words: int) -> np.ndarray:
    """`words` float64 zeros that start at a multiple of 64 bytes."""
    memory = np.zeros(words + 8)
    offset = -memory.ctypes.data % 64 // 8
    return memory[offset : offset + words]


def split(
    block: np.ndarray, leaves: Sequence[Leaf], before: tuple[int, ...] = (), after: tuple[int, ...] = ()
) -> tuple:
    """Views of one array per leaf, of shape (*before, *leaf.shape, *after), one behind the other in `block`."""
    factor, offset, views = math.prod(before) * math.prod(after), 0, []
    for leaf in leaves:
        views.append(np.ndarray(before + leaf.shape + after, leaf.word, block, offset))
        offset += leaf.size * factor * 8
    return tuple(views)


def pointers(arrays: Sequence[np.ndarray]) -> Any:
    """The addresses of arrays as the C functions take them; holds the arrays, so that they live as long."""
    addresses: Any = (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))
    addresses.arrays = tuple(arrays)
    return addresses


def words(values: Sequence[int]) -> Any:
    """Integers as the C functions take them."""
    return (ctypes.c_int64 * max(len(values), 1))(*values)


class BoundKernel:
    """A kernel with its own input and output arrays: write into `inputs`, call `run()`, read `outputs`.

    Both are tuples of arrays in the order of the kernel's leaves, float64 or int64; `results` is the one array that all
    outputs are views of. `run` allocates nothing and keeps the interpreter lock, which for a microsecond is cheaper
    than giving it back; `fresh()` gives copies of the outputs of one state. Not for two threads at once.
    """

    __slots__ = ("fresh", "inputs", "outputs", "results", "run")

    def __init__(
        self, function: Any, inputs: tuple, outputs: tuple, results: np.ndarray, leaves: Sequence[Leaf], *more: Any
    ) -> None:
        self.inputs, self.outputs, self.results = inputs, outputs, results
        self.run: Callable[[], Any] = partial(function, pointers((*inputs, *outputs)), *more)
        self.fresh = _copier(results, outputs, leaves)


def _copier(results: np.ndarray, outputs: tuple, leaves: Sequence[Leaf]) -> Callable[[], tuple[np.ndarray, ...]]:
    """A function that gives copies of the outputs of one state, views of one new array."""
    if len(leaves) < 2:
        copies = [array.copy for array in outputs]
        return lambda: tuple([copy() for copy in copies])
    # the fields of a record: taking one apart is three times faster than making its views one by one
    record = np.dtype([(f"{i}", leaf.word, leaf.shape) for i, leaf in enumerate(leaves)])
    fields, copy, array = itemgetter(*(f"{i}" for i in range(len(leaves)))), results.copy, np.ndarray
    return lambda: fields(array((), record, copy()))


def _has_c_rows(array: np.ndarray, dtype: np.dtype) -> bool:
    """Whether every element along the first axis lies in C order, aligned, whole words apart."""
    inner = np.lib.stride_tricks.as_strided(array, array.shape[1:], array.strides[1:]) if len(array) else array
    return bool(array.dtype == dtype and array.flags.aligned and inner.flags.c_contiguous and array.strides[0] % 8 == 0)


def as_rows(array: np.ndarray, dtype: np.dtype, axis: int) -> np.ndarray:
    """The array as the kernel reads it: itself where its layout allows, else a copy; `axis` 1 with a leading axis."""
    if axis == 0:
        return (
            np.array(array, dtype, order="C", copy=None) if array.flags.aligned else np.array(array, dtype, order="C")
        )
    return array if _has_c_rows(array, dtype) else np.array(array, dtype, order="C")


def row_target(target: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array that the kernel writes: the target itself where its layout allows."""
    return target if _has_c_rows(target, dtype) else np.empty(target.shape, dtype)
