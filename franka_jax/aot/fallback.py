"""The same objects without a C compiler: kernels that run on XLA."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from franka_jax.aot.describe import argument_names, describe, leaf_names
from franka_jax.aot.emit_c import emit
from franka_jax.aot.scalarize import double, scalarize, trace
from franka_rt.artefact import KernelException
from franka_rt.buffers import KernelArgumentError, Leaf, split

#: XLA gets slower per state past about a thousand states, when the intermediate arrays leave the cache.
CHUNK = 1024


class XlaBound:
    """Fixed buffers like `franka_rt.kernel.BoundKernel`; `run` goes through XLA."""

    def __init__(self, kernel: XlaKernel, results: np.ndarray | None) -> None:
        self.inputs = tuple(np.zeros(leaf.shape, leaf.word) for leaf in kernel.inputs)
        self.results = np.zeros(sum(leaf.size for leaf in kernel.outputs)) if results is None else results
        self.outputs = split(self.results, kernel.outputs)
        self._kernel = kernel

    def run(self) -> None:
        """Evaluate."""
        for target, value in zip(self.outputs, self._kernel.run_one(self.inputs), strict=True):
            target[...] = value

    def fresh(self) -> tuple[np.ndarray, ...]:
        """Copies of the outputs, views of one new array."""
        return split(self.results.copy(), self._kernel.outputs)


class XlaKernel:
    """A function of fixed shapes with the calls of a compiled kernel, on `jax.jit(...).lower(...).compile()`."""

    backend = "xla"

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> None:
        self.function, self.name = function, name
        self._closed, results = trace(function, arguments)
        self._argument_tree, self._result_tree = jax.tree.structure(arguments), jax.tree.structure(results)
        self._arguments, self._results = describe(arguments), describe(results)
        names = leaf_names(arguments, argument_names(function, len(arguments)))
        self.inputs = tuple(
            Leaf(n, a.shape, double(a.dtype)) for n, a in zip(names, self._closed.in_avals, strict=True)
        )
        self.outputs = tuple(
            Leaf(f"result{i}", a.shape, np.dtype(a.dtype)) for i, a in enumerate(self._closed.out_avals)
        )
        self._compiled: dict[tuple[int, tuple[int, ...]], Any] = {}

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {len(self.inputs)} arrays in, {len(self.outputs)} out, {self.backend}>"

    @property
    def c_source(self) -> str:
        """The C text that a compiler would get."""
        return emit(scalarize(self._closed), self.name)

    @cached_property
    def jax(self) -> Callable[..., Any]:
        """The pure function."""
        return jax.jit(self.function)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Without a compiler there is nothing to save.

        Raises:
            KernelException: always.
        """
        raise KernelException(
            f"the kernel cannot be saved to {os.fspath(path)}: it was not compiled, install a C compiler"
        )

    def bind(self, results: np.ndarray | None = None) -> XlaBound:
        """Fixed buffers."""
        return XlaBound(self, results)

    def empty(self, states: int) -> list[np.ndarray]:
        """Arrays for the results of N states, flat."""
        return [np.empty((states, *leaf.shape), leaf.dtype) for leaf in self.outputs]

    def _executable(self, states: int, axes: tuple[int, ...]) -> Any:
        """The function for `states` states at once (0: one state, no axis)."""
        found = self._compiled.get((states, axes))
        if found is None:
            run = jaxpr_as_fun(self._closed)
            if states:
                run = jax.vmap(run, [0 if axis else None for axis in axes])
            shapes = [
                jax.ShapeDtypeStruct((states,) * axis + leaf.shape, leaf.dtype)
                for leaf, axis in zip(self.inputs, axes, strict=True)
            ]
            with jax.enable_x64(True):
                found = self._compiled[states, axes] = jax.jit(run).lower(*shapes).compile()
        return found

    def run_one(self, leaves: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results of one state, flat."""
        return self._run(0, (0,) * len(leaves), leaves)

    def _run(self, states: int, axes: tuple[int, ...], leaves: Sequence[np.ndarray]) -> list[np.ndarray]:
        with jax.enable_x64(True):
            typed = [np.asarray(x, leaf.dtype) for x, leaf in zip(leaves, self.inputs, strict=True)]
            return [np.array(x) for x in self._executable(states, axes)(*typed)]

    def _leaves(self, arguments: tuple[Any, ...]) -> list[Any]:
        leaves, tree = jax.tree.flatten(arguments)
        if tree != self._argument_tree:
            raise KernelArgumentError(
                f"{self.name}: the arguments have the structure {tree}, not {self._argument_tree}"
            )
        return leaves

    def _give(self, results: list[np.ndarray], out: Any) -> Any:
        if out is None:
            return jax.tree.unflatten(self._result_tree, results)
        for target, value in zip(jax.tree.leaves(out), results, strict=True):
            if target.shape != value.shape or target.dtype != value.dtype:
                raise KernelArgumentError(
                    f"{self.name}: out must have arrays of shape {value.shape} and type {value.dtype}"
                )
            target[...] = value
        return out

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """The results for one state, as `franka_rt.kernel.Kernel.__call__`."""
        leaves = [leaf.check(x) for leaf, x in zip(self.inputs, self._leaves(arguments), strict=True)]
        return self._give(self.run_one(leaves), out)

    def batch(
        self, *arguments: Any, out: Any = None, in_axes: Sequence[int | None] | None = None, threads: int = 1
    ) -> Any:
        """The results for N states, as `franka_rt.kernel.Kernel.batch`; XLA chooses its own threads."""
        chosen = in_axes if in_axes is not None else [0] * len(arguments)
        axes = tuple(int(a == 0) for a, x in zip(chosen, arguments, strict=True) for _ in jax.tree.leaves(x))
        leaves = [leaf.check(x, axis) for leaf, x, axis in zip(self.inputs, self._leaves(arguments), axes, strict=True)]
        lengths = {len(x) for x, axis in zip(leaves, axes, strict=True) if axis}
        if len(lengths) != 1:
            raise KernelArgumentError(f"{self.name}.batch: the leading axes have lengths {sorted(lengths)}")
        (states,) = lengths
        results = self.empty(states)
        self.run_batch(states, leaves, axes, results)
        return self._give(results, out)

    def run_batch(
        self,
        states: int,
        arrays: Sequence[np.ndarray],
        axes: Sequence[int],
        targets: Sequence[np.ndarray],
        threads: int = 1,
    ) -> None:
        """The work of `batch`, in chunks of one length so that XLA compiles once."""
        size = min(CHUNK, 1 << max(states - 1, 0).bit_length())
        for start in range(0, states, size):
            index = np.minimum(np.arange(start, start + size), states - 1)
            chunk = [x[index] if axis else x for x, axis in zip(arrays, axes, strict=True)]
            for target, value in zip(targets, self._run(size, tuple(axes), chunk), strict=True):
                target[start : start + size] = value[: states - start]
