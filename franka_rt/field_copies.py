"""Fields of states copied into fixed arrays, again and again, without arrays in between.

Arrays that lie side by side in memory, as the inputs of a kernel do, are filled together: one unpacking that skips what
lies between the fields in the datagram, one packing.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from franka_rt.state import RobotState
from franka_rt.state_fields import StateLayout, WireField

__all__ = ["FieldCopies"]

Run = list[tuple[WireField, np.ndarray]]
"""Fields whose arrays lie side by side."""


class FieldCopies:
    """For one thread.

    Args:
        fields: attribute of a state, and the array that takes its value.

    Calling it copies; ValueError if a value does not fit its array.
    """

    def __init__(self, fields: Sequence[tuple[str, np.ndarray]]) -> None:
        self._fields = fields
        self._layout: StateLayout | None = None
        self._copies: list[Callable[[bytes], None]] = []
        self._assigned = fields  # what is not in the datagram as it is wanted

    def __call__(self, state: RobotState) -> None:
        """Copy the fields of this state."""
        if state.is_copy:
            self._assign(state, self._fields)
            return
        if state.layout is not self._layout:
            self._prepare(state.layout)
        data = state.datagram
        for copy in self._copies:
            copy(data)
        if self._assigned:
            self._assign(state, self._assigned)

    @staticmethod
    def _assign(state: RobotState, fields: Sequence[tuple[str, np.ndarray]]) -> None:
        for name, target in fields:
            target[...] = getattr(state, name)

    def _prepare(self, layout: StateLayout) -> None:
        runs, assigned, end = [], [], 0
        for name, target in self._fields:
            field = layout.wire.get(name)
            if field is None or not _fits(field, target):
                assigned.append((name, target))
                continue
            if target.ctypes.data != end:
                runs.append([])
            runs[-1].append((field, target))
            end = target.ctypes.data + target.nbytes
        self._copies, self._assigned, self._layout = [_copy(run) for run in runs], assigned, layout


def _fits(field: WireField, target: np.ndarray) -> bool:
    """Whether numpy has nothing to convert or to refuse."""
    return target.shape == field.shape and target.dtype == np.float64 and target.flags.c_contiguous


def _copy(run: Run) -> Callable[[bytes], None]:
    on_wire = sorted((field for field, _ in run), key=lambda field: field.place)
    first = end = on_wire[0].place
    layout, found, count = "<", {}, 0
    for field in on_wire:
        layout += f"{field.place - end}x{field.layout}"
        end = field.place + struct.calcsize("<" + field.layout)
        found[field.place], count = count, count + len(field.order)
    wanted = [found[field.place] + i for field, _ in run for i in field.order]
    unpack, pack = struct.Struct(layout).unpack_from, struct.Struct(f"={count}d").pack_into
    memory = (ctypes.c_char * (8 * count)).from_address(run[0][1].ctypes.data)
    if wanted == list(range(count)):
        return lambda data: pack(memory, 0, *unpack(data, first))
    order: Any = itemgetter(*wanted)
    return lambda data: pack(memory, 0, *order(unpack(data, first)))
