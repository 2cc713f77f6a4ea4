"""One call of a compiled model: fills a kernel's inputs from the call's arguments, for one state or for many."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from franka_jax.aot import CompiledKernel, XlaKernel
from franka_jax.calls import ARGUMENTS, KINDS, SHAPES
from franka_jax.one_state import OneState, leaves_of


class CompiledCall:
    """A kernel with the arguments of one of the model's calls."""

    def __init__(self, name: str, kernel: CompiledKernel | XlaKernel) -> None:
        self.name, self.kernel = name, kernel
        self.arguments = tuple((argument, KINDS[argument]) for argument in ARGUMENTS[name])
        self._local = threading.local()

    def __call__(self, *values: Any) -> np.ndarray:
        """The single result of a call other than `evaluate`."""
        arrays = self.one(values)
        return (self.many(values) if arrays is None else arrays)[0]

    def one(self, values: Sequence[Any]) -> tuple[np.ndarray, ...] | None:
        """Fresh results of one state; None if some argument has leading axes."""
        try:
            evaluate, fresh = self._local.functions
        except AttributeError:
            state = OneState(self.name, self.kernel.bind(), self.arguments)
            evaluate, fresh = self._local.functions = state.runner(), state.bound.fresh
        return fresh() if evaluate(*values) else None

    def into(self, block: np.ndarray) -> Callable[..., bool]:
        """A function of the call's arguments that writes its results into this block; False for leading axes."""
        return OneState(self.name, self.kernel.bind(block), self.arguments).runner()

    def many(
        self, values: Sequence[Any], targets: Sequence[np.ndarray] | None = None, threads: int = 1
    ) -> list[np.ndarray]:
        """Results for all leading axes, which are broadcast against each other."""
        leaves, shapes = [], []
        for (name, kind), value in zip(self.arguments, values, strict=True):
            leaves += leaves_of(name, kind, value)
            shapes += SHAPES[kind]
        leading = [x.shape[: x.ndim - len(shape)] for x, shape in zip(leaves, shapes, strict=True)]
        try:
            axes = np.broadcast_shapes(*leading)
        except ValueError:
            raise ValueError(
                f"the arguments of {self.name} have different leading axes: {sorted({x for x in leading if x})}"
            ) from None
        states = math.prod(axes)
        moves = [int(own != ()) for own in leading]
        arrays = [
            np.broadcast_to(x, axes + shape).reshape((states, *shape)) if moving else x
            for x, shape, moving in zip(leaves, shapes, moves, strict=True)
        ]
        results = self._targets(states, axes, targets)
        self.kernel.run_batch(states, arrays, moves, results, threads)
        return [x.reshape(axes + leaf.shape) for x, leaf in zip(results, self.kernel.outputs, strict=True)]

    def _targets(self, states: int, axes: tuple[int, ...], targets: Sequence[np.ndarray] | None) -> list[np.ndarray]:
        if targets is None:
            return self.kernel.empty(states)
        for target, leaf in zip(targets, self.kernel.outputs, strict=True):
            if target.shape != axes + leaf.shape:
                raise ValueError(f"out has an array of shape {target.shape}, this call gives {axes + leaf.shape}")
        if len(axes) == 1:
            return list(targets)
        return [
            target.reshape((states, *leaf.shape)) for target, leaf in zip(targets, self.kernel.outputs, strict=True)
        ]
