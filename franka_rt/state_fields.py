"""Where the fields of a state datagram are, and the properties through which RobotState shows them.

The real numbers of a state lie side by side from byte 8 on, so one float64 array holds them all and a field is a
slice of it; matrices are gathered into C order together, when the first one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from franka_rt.dialect import ArmDialect
from franka_rt.layouts import ERROR_NAMES

__all__ = ["MATRIX_SHAPES", "Accelerometer", "Matrix", "Scalar", "StateLayout", "Vector", "state_fields"]


class _State(Protocol):
    layout: StateLayout
    _reals: np.ndarray | None

    @property
    def reals(self) -> np.ndarray: ...

    def ordered(self) -> np.ndarray: ...


@dataclass(frozen=True, slots=True)
class StateLayout:
    """Where the numbers of one dialect's state are, in units of its real type."""

    dialect: ArmDialect
    size: int  # bytes of the datagram
    real: np.dtype
    narrow: bool  # real is not float64
    count: int  # real numbers from byte 8 on, without the success rate
    slices: dict[str, slice]  # every real field
    matrix_order: np.ndarray  # wire indices of all matrices, row by row
    matrices: dict[str, tuple[slice, tuple[int, int]]]  # the same fields in that order
    generator: int
    controller: int
    errors: slice
    reflex_reason: slice
    robot_mode: int
    tool: slice  # bytes of F_T_EE and EE_T_K
    load: slice  # bytes of end effector and load


MATRIX_SHAPES = {16: (4, 4), 9: (3, 3)}


@lru_cache
def state_fields(dialect: ArmDialect) -> StateLayout:
    """The places of all fields in the state datagram of a version."""
    offsets, width = dialect.offsets, dialect.real.itemsize
    start, count = 8, (offsets["motion_generator_mode"] - 8) // dialect.real.itemsize
    slices, matrices, order = {}, {}, []
    for name, (dtype, offset) in ((n, f[:2]) for n, f in (dialect.state.fields or {}).items()):
        if dtype.base != dialect.real or offset >= offsets["motion_generator_mode"]:
            continue
        first, size = (offset - start) // width, dtype.itemsize // width
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
        slices,
        np.array(order),
        matrices,
        offsets["motion_generator_mode"],
        offsets["controller_mode"],
        slice(offsets["errors"], offsets["errors"] + flags),
        slice(offsets["reflex_reason"], offsets["reflex_reason"] + flags),
        offsets["robot_mode"],
        slice(offsets["F_T_EE"], offsets["F_T_NE"]),
        slice(offsets["m_ee"], offsets["elbow"]),
    )


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
            reals = state._reals  # without the property's call where possible: this runs several times per cycle
            return (state.reals if reals is None else reals)[state.layout.slices[name]]

        return get


class Scalar(Vector):
    """A number of the state."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        return lambda state: float(state.reals[state.layout.slices[name].start])


class Matrix(Vector):
    """A matrix of the state, turned from the wire's column-major into C order."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> np.ndarray:
            where, shape = state.layout.matrices[name]
            return state.ordered()[where].reshape(shape)

        return get


class Accelerometer(Vector):
    """(6,3), version 10 only."""

    @staticmethod
    def _getter(name: str) -> Callable[[Any], Any]:
        def get(state: _State) -> np.ndarray:
            if name not in state.layout.slices:
                raise AttributeError(f"{state.layout.dialect.label} has no {name}")
            return state.reals[state.layout.slices[name]].reshape(6, 3)

        return get
