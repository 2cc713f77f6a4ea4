"""Where the fields of a state datagram are, and the properties through which RobotState shows them.

A field is read from the datagram when it is asked for; for a few numbers, unpacking and packing them again is faster
than numpy's conversion. The real numbers of a state lie side by side from byte 8 on, so one float64 array can hold them
all: that is what a copy with arrays of its own has, with its fields as slices.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from franka_rt.dialect import ArmDialect
from franka_rt.layouts import ERROR_NAMES

__all__ = ["MATRIX_SHAPES", "Accelerometer", "Matrix", "Scalar", "StateLayout", "Vector", "state_fields"]


class _State(Protocol):
    layout: StateLayout
    datagram: bytes
    _reals: np.ndarray | None

    @property
    def reals(self) -> np.ndarray: ...

    def ordered(self) -> np.ndarray: ...


@dataclass(frozen=True, slots=True)
class WireField:
    """One real field in a datagram.

    Attributes:
        place: its first byte.
        layout: of its numbers, for :mod:`struct`.
        unpack: (bytes, place) -> its numbers as plain floats, in the order of the wire.
        order: which of these comes where in a C-ordered array.
        array: bytes of the datagram -> read-only float64 array.
        shape: of that array.
    """

    place: int
    layout: str
    unpack: Callable[[bytes, int], tuple[float, ...]]
    order: tuple[int, ...]
    array: Callable[[bytes], np.ndarray]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateLayout:
    """Where the numbers of one dialect's state are, in units of its real type."""

    dialect: ArmDialect
    size: int  # bytes of the datagram
    real: np.dtype
    narrow: bool  # real is not float64
    count: int  # real numbers from byte 8 on, without the success rate
    wire: dict[str, WireField]  # every real field
    slices: dict[str, slice]  # the same in units of the real type
    matrix_order: np.ndarray  # wire indices of all matrices, row by row
    matrices: dict[str, tuple[slice, tuple[int, int]]]  # the same fields in that order
    generator: int
    controller: int
    errors: slice
    reflex_reason: slice
    robot_mode: int
    setup: slice  # bytes of F_T_EE, EE_T_K, end effector and load


_FLOAT64 = np.dtype(np.float64)
_frombuffer = np.frombuffer
MATRIX_SHAPES = {16: (4, 4), 9: (3, 3)}


@lru_cache
def state_fields(dialect: ArmDialect) -> StateLayout:
    """The places of all fields in the state datagram of a version."""
    offsets, width = dialect.offsets, dialect.real.itemsize
    start, count = 8, (offsets["motion_generator_mode"] - 8) // dialect.real.itemsize
    wire, slices, matrices, order = {}, {}, {}, []
    for name, (dtype, offset) in ((n, f[:2]) for n, f in (dialect.state.fields or {}).items()):
        if dtype.base != dialect.real or offset >= offsets["motion_generator_mode"]:
            continue
        first, size = (offset - start) // width, dtype.itemsize // width
        wire[name] = _wire_field(dialect.real, offset, size, dtype.shape)
        slices[name] = slice(first, first + size)
        if size in MATRIX_SHAPES:
            shape = MATRIX_SHAPES[size]
            matrices[name] = (slice(len(order), len(order) + size), shape)
            order.extend(np.arange(first, first + size).reshape(shape).T.ravel())
    flags = len(ERROR_NAMES)
    return StateLayout(
        dialect,
        dialect.state.itemsize,
        dialect.real,
        dialect.real != np.float64,
        count,
        wire,
        slices,
        np.array(order),
        matrices,
        offsets["motion_generator_mode"],
        offsets["controller_mode"],
        slice(offsets["errors"], offsets["errors"] + flags),
        slice(offsets["reflex_reason"], offsets["reflex_reason"] + flags),
        offsets["robot_mode"],
        slice(offsets["F_T_EE"], offsets["elbow"]),
    )


def _wire_field(real: np.dtype, place: int, size: int, shape: tuple[int, ...]) -> WireField:
    layout, order = f"{size}{real.char}", tuple(range(size))
    if size in MATRIX_SHAPES:
        shape = MATRIX_SHAPES[size]
        order = tuple(np.arange(size).reshape(shape).T.ravel().tolist())
    unpack, pack = struct.Struct("<" + layout).unpack_from, struct.Struct(f"={size}d").pack
    in_order: Any = itemgetter(*order) if size > 1 else tuple

    def view(data: bytes) -> np.ndarray:
        return _frombuffer(data, _FLOAT64, size, place)

    def widened(data: bytes) -> np.ndarray:
        return _frombuffer(pack(*unpack(data, place)))

    def turned(data: bytes) -> np.ndarray:
        return _frombuffer(pack(*in_order(unpack(data, place)))).reshape(shape)

    array = turned if len(shape) > 1 else view if real == _FLOAT64 else widened
    return WireField(place, layout, unpack, order, array, shape)


class Vector(property):
    """A (n,) field of the state.

    A property, because nothing that Python offers calls a function for an attribute faster; and what it calls depends
    on its name, hence the second construction.
    """

    def __init__(self, doc: str) -> None:
        super().__init__(doc=doc)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__init__(self._getter(name), doc=self.__doc__)

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> np.ndarray:
            reals, layout = state._reals, state.layout
            return layout.wire[name].array(state.datagram) if reals is None else reals[layout.slices[name]]

        return get


class Scalar(Vector):
    """A number of the state."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> float:
            reals, layout = state._reals, state.layout
            if reals is not None:
                return float(reals[layout.slices[name].start])
            field = layout.wire[name]
            return field.unpack(state.datagram, field.place)[0]

        return get


class Matrix(Vector):
    """A matrix of the state, turned from the wire's column-major into C order."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> np.ndarray:
            if state._reals is None:
                return state.layout.wire[name].array(state.datagram)
            where, shape = state.layout.matrices[name]
            return state.ordered()[where].reshape(shape)

        return get


class Accelerometer(Vector):
    """(6,3), version 10 only."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> np.ndarray:
            reals, layout = state._reals, state.layout
            if name not in layout.wire:
                raise AttributeError(f"{layout.dialect.label} has no {name}")
            if reals is not None:
                return reals[layout.slices[name]].reshape(6, 3)
            return layout.wire[name].array(state.datagram)

        return get
