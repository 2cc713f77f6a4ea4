"""The arguments of one of the model's calls as a kernel takes them, and the short way for one state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from franka_jax.calls import DEFAULTS, PAYLOAD, SHAPES, TRANSFORM, VECTOR
from franka_jax.model import GRAVITY_EARTH

PAYLOAD_FIELDS = ("m_total", "F_x_Ctotal", "I_total")
_ARM = (7,)
_attribute = object.__getattribute__
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
        fields = _attribute(value, "__dict__")  # past the attribute access of equinox modules, which is slow
        return fields["m_total"], fields["F_x_Ctotal"], fields["I_total"]
    except (AttributeError, KeyError):
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


class OneState:
    """The input buffers of a call for one state, and which of its options differ from their defaults."""

    def __init__(self, call: str, bound: Any, arguments: Sequence[tuple[str, str]]) -> None:
        self.bound = bound
        buffers = iter(bound.inputs)
        slots = [(name, kind, tuple(next(buffers) for _ in SHAPES[kind])) for name, kind in arguments]
        writers = [(_payload_writer if kind == PAYLOAD else _writer)(name, kind, t) for name, kind, t in slots]
        count = sum(kind == VECTOR for _, kind, _ in slots)  # configurations come first, they are never left out
        self.vectors = writers[:count]
        self.options = [
            Option(DEFAULTS[kind], t, w) for (_, kind, t), w in list(zip(slots, writers, strict=True))[count:]
        ]
        self.short = call == "evaluate"
        self.changed: set[Option] = set()
        for option in self.options:
            option.reset()

    def runner(self) -> Callable[..., bool]:
        """A function of the call's arguments that runs the kernel; False, with nothing done, for leading axes.

        `evaluate` has a short way for what a control loop does: float64 arrays q and dq, all else left out.
        """
        vectors, options, changed, run, array = self.vectors, self.options, self.changed, self.bound.run, np.ndarray

        def call(*values: Any) -> bool:
            for write, value in zip(vectors, values, strict=False):
                if not write(value):
                    return False
            for option, value in zip(options, values[len(vectors) :], strict=True):
                if value is None or value is GRAVITY_EARTH:
                    if option in changed:
                        option.reset()
                        changed.discard(option)
                elif option.write(value):
                    changed.add(option)
                else:
                    return False
            run()
            return True

        if not self.short:
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


class Option:
    """An argument that may be left out."""

    __slots__ = ("defaults", "targets", "write")

    def __init__(
        self, defaults: Sequence[np.ndarray], targets: Sequence[np.ndarray], write: Callable[[Any], bool]
    ) -> None:
        self.defaults, self.targets, self.write = defaults, targets, write

    def reset(self) -> None:
        """Write the default."""
        _write(self.targets, self.defaults)


def _writer(name: str, kind: str, targets: tuple[np.ndarray, ...]) -> Callable[[Any], bool]:
    """A function that writes the argument of one state into its buffer; False for one with leading axes."""
    (target,) = targets
    array, shape = np.ndarray, target.shape

    def write(value: Any) -> bool:
        if type(value) is array and value.dtype is _DOUBLE and value.shape == shape:
            target[...] = value
            return True
        return _write_converted(name, kind, targets, value)

    return write


def _payload_writer(name: str, kind: str, targets: tuple[np.ndarray, ...]) -> Callable[[Any], bool]:
    """The same for the three arrays of a payload."""
    (mass, centre, inertia), array = targets, np.ndarray

    def write(value: Any) -> bool:
        m, c, I = _payload_arrays(value)
        if (
            type(m) is type(c) is type(I) is array
            and m.dtype is c.dtype is I.dtype is _DOUBLE
            and (m.shape, c.shape, I.shape) == SHAPES[PAYLOAD]
        ):
            mass[...] = m
            centre[...] = c
            inertia[...] = I
            return True
        return _write_converted(name, kind, targets, value)

    return write


def _write_converted(name: str, kind: str, targets: Sequence[np.ndarray], value: Any) -> bool:
    arrays = leaves_of(name, kind, value)
    if any(x.ndim != target.ndim for x, target in zip(arrays, targets, strict=True)):
        return False
    _write(targets, arrays)
    return True


def _write(targets: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> None:
    for target, value in zip(targets, values, strict=True):
        target[...] = value
