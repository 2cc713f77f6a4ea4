"""Compiled kernels: a pure function of fixed shapes as machine code, called through ctypes with NumPy arrays.

`franka_jax.aot.compile_function` makes them and `Kernel.save` writes them; `load` opens the file with NumPy alone:

    kernel = load("law.kernel")
    tau = kernel(q, dq)                 # fresh, writable arrays
    bound = kernel.bind()               # for a loop: fixed buffers, nothing allocated
    bound.inputs[0][:] = q
    bound.run()
    taus = kernel.batch(Q, DQ)          # leading axis on every argument
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from franka_rt.artefact import Artefact, KernelException, open_library, read, write
from franka_rt.buffers import BoundKernel, KernelArgumentError, Leaf, aligned, as_rows, row_target, split, words
from franka_rt.rows import parts_of, run_rows
from franka_rt.structure import flatten, is_plain, leaf_count, unflatten

__all__ = ["BoundKernel", "Kernel", "KernelArgumentError", "KernelException", "Leaf", "load"]


def _as_declared(array: np.ndarray, leaf: Leaf) -> np.ndarray:
    return array.astype(leaf.dtype, copy=False)


class Kernel:
    """A compiled function: `kernel(*arguments)` for one state, `kernel.batch(*arguments)` for many.

    Arguments and results have the structure of the function that was compiled. `inputs` and `outputs` describe the
    leaves, `manifest` everything else. Calls from several threads are safe.
    """

    backend = "c"

    def __init__(self, artefact: Artefact, origin: str = "the kernel") -> None:
        self._artefact = artefact
        manifest = self.manifest = artefact.manifest
        self.name: str = manifest["name"]
        self.inputs, self.outputs = (
            tuple(Leaf(leaf["name"], leaf["shape"], leaf["dtype"]) for leaf in manifest[key])
            for key in ("inputs", "outputs")
        )
        self._arguments, self._results = manifest["arguments"], manifest["results"]
        self._plain = is_plain(self._arguments)
        self._only_words = all(leaf.word == leaf.dtype for leaf in self.outputs)
        self._build = self._builder()
        self._handle = library = open_library(artefact.library, origin)
        self.lanes = ctypes.c_int64.in_dll(library, "kernel_lanes").value
        self._one = ctypes.PyDLL(None, handle=library._handle).kernel_call
        self._one.restype = None
        self._many = library.kernel_batch
        self._many.restype = ctypes.c_int64
        self._local = threading.local()

    def _builder(self) -> Callable[[Sequence[Any]], Any]:
        """The function that nests the leaves of a result."""
        if is_plain(self._results):
            return tuple
        return partial(unflatten, self._results)

    def __repr__(self) -> str:
        def arrays(leaves: Sequence[Leaf]) -> str:
            return ", ".join(f"{leaf.name}{list(leaf.shape)}" for leaf in leaves)

        operations = self.manifest["operations"]
        signature = f"{self.name}({arrays(self.inputs)}) -> {arrays(self.outputs)}"
        return f"<kernel {signature}: {operations} operations, {self.backend}>"

    @property
    def entry_point(self) -> Any:
        """The C function for one state, ``void kernel_call(void *const *buffers)``."""
        return self._one

    @property
    def library(self) -> bytes:
        """The shared object."""
        return self._artefact.library

    @property
    def c_source(self) -> str:
        """The C text that was compiled."""
        return self._artefact.source

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kernel to one file, which `load` opens without JAX.

        Raises:
            KernelException: the file cannot be written; nothing half-written stays.
        """
        write(path, self._artefact)

    def bind(self, results: np.ndarray | None = None) -> BoundKernel:
        """Fixed buffers for a loop that allocates nothing; `results` is the block of an earlier binding."""
        inputs = split(aligned(sum(leaf.size for leaf in self.inputs)), self.inputs)
        if results is None:
            results = aligned(sum(leaf.size for leaf in self.outputs))
        return BoundKernel(self._one, inputs, split(results, self.outputs), results, self.outputs)

    def bind_blocks(self, states: int, in_axes: Sequence[int | None] | None = None) -> BoundKernel:
        """Buffers in the kernel's own layout, the fastest way to evaluate very many states: every leaf is an array
        (blocks, *shape, lanes), state i is block i // lanes, lane i % lanes. An argument whose entry of `in_axes` is
        None holds for all states: its leaves are arrays (*shape, lanes), to be filled along all lanes.
        """
        blocks, lanes, axes = -(-states // self.lanes), self.lanes, self._axes(in_axes)
        inputs = tuple(
            split(aligned(leaf.size * lanes * (blocks if axis else 1)), [leaf], (blocks,) * axis, (lanes,))[0]
            for leaf, axis in zip(self.inputs, axes, strict=True)
        )
        results = aligned(blocks * lanes * sum(leaf.size for leaf in self.outputs))
        outputs = split(results, self.outputs, (blocks,), (lanes,))
        sizes = [leaf.size * axis for leaf, axis in zip(self.inputs, axes, strict=True)]
        strides = words([*sizes, *(leaf.size for leaf in self.outputs)])
        function = partial(self._handle.kernel_blocks, ctypes.c_int64(blocks))
        return BoundKernel(function, inputs, outputs, results, self.outputs, strides)

    # one state ------------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """The results for one state as fresh, writable arrays, or written into `out` (an earlier result).

        Raises:
            KernelArgumentError: an argument has the wrong shape, type or structure.
        """
        try:
            slots, run, fresh, buffers = self._local.state
        except AttributeError:  # the first call of this thread
            slots, run, fresh, buffers = self._local.state = self._state()
        if not self._plain or len(arguments) != len(slots):
            arguments = tuple(self._leaves(arguments))
        for (buffer, dtype, shape, check), value in zip(slots, arguments):  # noqa: B905 (equally long, and strict is slow)
            if type(value) is ndarray and value.dtype is dtype and value.shape == shape:
                buffer[...] = value
            else:
                buffer[...] = check(value)
        run()
        if out is None:
            return fresh()
        for target, buffer in zip(self._targets(out, ()), buffers, strict=True):
            target[...] = buffer
        return out

    def _state(self) -> tuple[Any, ...]:
        """What calls for one state need: per input its buffer, type, shape and check; `run`; a function giving fresh
        results; the buffers of the outputs.
        """
        bound = self.bind()
        leaves = zip(bound.inputs, self.inputs, strict=True)
        slots = tuple((buffer, buffer.dtype, buffer.shape, leaf.check) for buffer, leaf in leaves)
        fresh, build, outputs = bound.fresh, self._build, self.outputs
        if not self._only_words:
            return slots, bound.run, lambda: build(list(map(_as_declared, fresh(), outputs))), bound.outputs
        return slots, bound.run, fresh if build is tuple else lambda: build(fresh()), bound.outputs

    def _leaves(self, arguments: tuple[Any, ...]) -> Sequence[Any]:
        if self._plain and len(arguments) == len(self.inputs):
            return arguments
        try:
            return flatten(self._arguments, arguments)
        except ValueError as error:
            raise KernelArgumentError(f"{self.name}: {error}") from None

    def _targets(self, out: Any, leading: tuple[int, ...]) -> list[np.ndarray]:
        try:
            targets = flatten(self._results, out, "out")
        except ValueError as error:
            raise KernelArgumentError(f"{self.name}: {error}") from None
        for target, leaf in zip(targets, self.outputs, strict=True):
            fits = isinstance(target, np.ndarray) and target.shape == (*leading, *leaf.shape) and target.flags.writeable
            if not fits or target.dtype != leaf.dtype:
                raise KernelArgumentError(
                    f"out: {leaf.name} must be a writable {leaf.dtype} array of shape {(*leading, *leaf.shape)}"
                )
        return targets

    # many states ----------------------------------------------------------------------------------------------------

    def batch(
        self, *arguments: Any, out: Any = None, in_axes: Sequence[int | None] | None = None, threads: int = 1
    ) -> Any:
        """The results for N states: a leading axis of length N on every argument and every result.

        Args:
            arguments: as for one state, every array with the leading axis; any memory layout.
            out: an earlier result of the same N, written again.
            in_axes: per argument 0, or None for one that has no leading axis and holds for all states.
            threads: how many share the states.

        Raises:
            KernelArgumentError: wrong shape, type or structure, or unequal N.
        """
        axes = self._axes(in_axes)
        arrays = [leaf.check(x, axis) for leaf, x, axis in zip(self.inputs, self._leaves(arguments), axes, strict=True)]
        lengths = {len(array) for array, axis in zip(arrays, axes, strict=True) if axis}
        if len(lengths) != 1:
            raise KernelArgumentError(f"{self.name}.batch: the leading axes have lengths {sorted(lengths)}")
        (states,) = lengths
        targets = self.empty(states) if out is None else self._targets(out, (states,))
        self.run_batch(states, arrays, axes, targets, threads)
        return self._build(targets) if out is None else out

    def empty(self, states: int) -> list[np.ndarray]:
        """Arrays for the results of N states, flat. They share one block: above 4 MB NumPy asks the system for large
        pages, which makes writing fresh memory ten times faster.
        """
        views = split(np.empty(states * sum(leaf.size for leaf in self.outputs)), self.outputs, (states,))
        return [
            x if x.dtype == leaf.dtype else x.astype(leaf.dtype) for x, leaf in zip(views, self.outputs, strict=True)
        ]

    def _axes(self, in_axes: Sequence[int | None] | None) -> list[int]:
        """1 for every leaf with a leading axis, else 0."""
        if in_axes is None:
            return [1] * len(self.inputs)
        described = self._arguments["tuple"] if self._arguments else ()
        if len(in_axes) != len(described) or set(in_axes) - {0, None}:
            raise KernelArgumentError(f"{self.name}: in_axes must hold 0 or None for each of the arguments")
        return [int(axis == 0) for axis, part in zip(in_axes, described, strict=True) for _ in range(leaf_count(part))]

    def run_batch(
        self,
        states: int,
        arrays: Sequence[np.ndarray],
        axes: Sequence[int],
        targets: Sequence[np.ndarray],
        threads: int = 1,
    ) -> None:
        """The work of `batch` on checked leaves: inputs with (axis 1) or without (0) the leading axis, and targets."""
        sources = [as_rows(x, leaf.word, axis) for x, leaf, axis in zip(arrays, self.inputs, axes, strict=True)]
        results = [row_target(target, leaf.word) for target, leaf in zip(targets, self.outputs, strict=True)]
        parts = parts_of(states, threads, self.lanes)
        if not run_rows(self._many, parts, [*sources, *results], [*axes, *([1] * len(results))]):
            raise MemoryError(f"{self.name}.batch")
        for target, result in zip(targets, results, strict=True):
            if target is not result:
                target[...] = result


def load(path: str | os.PathLike[str]) -> Kernel:
    """Open a saved kernel.

    Raises:
        KernelException: unreadable, truncated, damaged, newer than this package, or compiled for another machine; the
            text says which.
    """
    origin = os.fspath(path)
    try:
        return Kernel(read(path), origin)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise KernelException(f"{origin} has an incomplete manifest or library ({error}): compile it again") from error
