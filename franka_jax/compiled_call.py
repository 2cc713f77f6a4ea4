"""One call of a compiled model: fills a kernel's inputs from the call's arguments, for one state or for many."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from franka_jax.aot import CompiledKernel, XlaKernel
from franka_jax.calls import ARGUMENTS, DEFAULTS, KINDS, PAYLOAD, SHAPES, TRANSFORM, VECTOR
from franka_jax.model import GRAVITY_EARTH

PAYLOAD_FIELDS = ("m_total", "F_x_Ctotal", "I_total")
_ARM = (7,)
_DOUBLE = np.dtype(np.float64)


def real_array(name: str, value: Any) -> np.ndarray:
    """`value` as float64.

    Raises:
        TypeError: not real numbers.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}") from error
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be real numbers, not {array.dtype}")
    return array if array.dtype == _DOUBLE else array.astype(_DOUBLE)


def _payload_arrays(value: Any) -> tuple[Any, Any, Any]:
    try:
        fields = vars(value)  # one attribute access instead of three: those of an equinox module are slow
        return fields["m_total"], fields["F_x_Ctotal"], fields["I_total"]
    except (TypeError, KeyError):
        raise TypeError(f"payload must be a Payload or None, not {type(value).__name__}") from None


def leaves_of(name: str, kind: str, value: Any) -> tuple[np.ndarray, ...]:
    """The arrays behind one argument, with whatever leading axes it has.

    Raises:
        TypeError: not real numbers.
        ValueError: another shape.
    """
    if value is None and kind in DEFAULTS:
        return DEFAULTS[kind]
    parts = list(zip(PAYLOAD_FIELDS, _payload_arrays(value), strict=True)) if kind == PAYLOAD else [(name, value)]
    arrays = tuple(real_array(part, x) for part, x in parts)
    if kind == TRANSFORM and arrays[0].shape == (16,):
        arrays = (arrays[0].reshape(4, 4).T,)
    for (part, _), array, shape in zip(parts, arrays, SHAPES[kind], strict=True):
        if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
            flat = " or flat 16 column-major" if kind == TRANSFORM else ""
            raise ValueError(f"{part} has shape {array.shape}, it must be {shape}{flat}, or (N, ...) for N states")
    return arrays


class CompiledCall:
    """A kernel with the arguments of one of the model's calls."""

    def __init__(self, name: str, kernel: CompiledKernel | XlaKernel) -> None:
        self.name, self.kernel = name, kernel
        self.arguments = tuple((argument, KINDS[argument]) for argument in ARGUMENTS[name])
        self._local = threading.local()

    def __call__(self, *values: Any) -> np.ndarray:
        """The single result of a call other than `evaluate`."""
        arrays = self.one(values) if np.ndim(values[0]) == 1 else None
        return (self.many(values) if arrays is None else arrays)[0]

    def one(self, values: Sequence[Any]) -> tuple[np.ndarray, ...] | None:
        """Fresh results of one state; None if some argument has leading axes."""
        try:
            evaluate, fresh = self._local.functions
        except AttributeError:
            state = OneState(self)
            evaluate, fresh = self._local.functions = state.runner(), state.bound.fresh
        return fresh() if evaluate(*values) else None

    def into(self, block: np.ndarray) -> Callable[..., bool]:
        """A function of the call's arguments that writes its results into this block; False for leading axes."""
        return OneState(self, block).runner()

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


class OneState:
    """The input buffers of a call for one state, and which of its options differ from their defaults."""

    def __init__(self, call: CompiledCall, block: np.ndarray | None = None) -> None:
        self.bound: Any = call.kernel.bind(block)
        buffers = iter(self.bound.inputs)
        self.slots = [(name, kind, tuple(next(buffers) for _ in SHAPES[kind])) for name, kind in call.arguments]
        self.changed: set[int] = set()
        for _, kind, targets in self.slots:
            _write(targets, DEFAULTS.get(kind, (np.zeros(7),)))

    def fill(self, values: Sequence[Any]) -> bool:
        """Write the arguments of one state; False if some have leading axes."""
        for i, value in enumerate(values):
            name, kind, targets = self.slots[i]
            if (value is None or value is GRAVITY_EARTH) and kind != VECTOR:
                if i in self.changed:
                    self.changed.discard(i)
                    _write(targets, DEFAULTS[kind])
                continue
            arrays: tuple[Any, ...] = _payload_arrays(value) if kind == PAYLOAD else (value,)
            for array, target in zip(arrays, targets, strict=True):
                if not (type(array) is np.ndarray and array.dtype is _DOUBLE and array.shape == target.shape):
                    arrays = leaves_of(name, kind, value)
                    if any(x.ndim != t.ndim for x, t in zip(arrays, targets, strict=True)):
                        return False
                    break
            _write(targets, arrays)
            if kind != VECTOR:
                self.changed.add(i)
        return True

    def runner(self) -> Callable[..., bool]:
        """`fill` and run; for `evaluate` with a short way when float64 arrays q and dq are all that is given."""
        fill, run, changed, array = self.fill, self.bound.run, self.changed, np.ndarray

        def call(*values: Any) -> bool:
            if not fill(values):
                return False
            run()
            return True

        if [name for name, _, _ in self.slots] != list(ARGUMENTS["evaluate"]):
            return call
        q_buffer, dq_buffer = self.bound.inputs[:2]

        def evaluate(q: Any, dq: Any, payload: Any, F_T_EE: Any, EE_T_K: Any, gravity: Any) -> bool:
            if (
                payload is F_T_EE is EE_T_K is None
                and gravity is GRAVITY_EARTH
                and type(q) is type(dq) is array
                and q.dtype is dq.dtype is _DOUBLE
                and q.shape == dq.shape == _ARM
                and not changed
            ):
                q_buffer[...] = q
                dq_buffer[...] = dq
                run()
                return True
            return call(q, dq, payload, F_T_EE, EE_T_K, gravity)

        return evaluate


def _write(targets: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> None:
    for target, value in zip(targets, values, strict=True):
        target[...] = value
