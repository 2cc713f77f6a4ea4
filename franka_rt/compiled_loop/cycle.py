"""One cycle of a kernel law in one call, for the Python loop: law, clamp, filter, limiter, command (cycle.c).

The interpreter receives the state, makes this call and sends the command; what lies between takes about a microsecond
instead of ten. Where there is no C compiler, or a law asks for what only Python can give it, the loop calls the law and
:mod:`franka_rt.conditioning` instead, with the same commands to the last bit.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from franka_rt.artefact import KernelException
from franka_rt.buffers import pointers
from franka_rt.commands import JointVelocities, Torques
from franka_rt.compiled_loop.memory import SharedMemory
from franka_rt.compiled_loop.plan import LawLayout, fill_conditioning, fill_datagrams
from franka_rt.compiled_loop.program import cycle_library
from franka_rt.conditioning import Conditioner
from franka_rt.dialect import ArmDialect
from franka_rt.errors import InvalidArgumentException, InvalidOperationException, RealtimeException
from franka_rt.kernel_law import KernelLaw
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["LawCycle", "law_cycle", "refuse"]

_NOT_FINITE = -1  # of run_cycle


class _Cycle(ctypes.Structure):
    """``struct cycle`` in cycle.c."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("memory", "kernel", "leaves", "inputs", "outputs", "command")]


@contextlib.contextmanager
def law_cycle(motion: MotionControl, law: KernelLaw, conditioner: Conditioner) -> Iterator[LawCycle | None]:
    """The law's cycle for a loop, None where it cannot be had."""
    try:
        library, layout = cycle_library(), LawLayout(law, motion.session.dialect)
    except (RealtimeException, KernelException, InvalidArgumentException, InvalidOperationException):
        yield None
        return
    memory = SharedMemory(layout.sizes())
    try:
        memory.close_descriptor()
        layout.fill(memory)
        yield LawCycle(motion, law, conditioner, library, memory)
    finally:
        memory.close()


class LawCycle:
    """A :class:`franka_rt.control_loop.Cycle`."""

    def __init__(
        self,
        motion: MotionControl,
        law: KernelLaw,
        conditioner: Conditioner,
        library: ctypes.PyDLL,
        memory: SharedMemory,
    ) -> None:
        self._motion, self._law, self._conditioner = motion, law, conditioner
        dialect = motion.session.dialect
        fill_datagrams(memory.plan, dialect)
        fill_conditioning(memory.plan, dialect, conditioner)
        self._has_motion = bool(memory.plan["command_velocity"] >= 0)
        self._command = bytearray(dialect.command.itemsize)
        self._parts = _parts(dialect, self._command)
        bound = law.bound
        self._leaves = pointers((*bound.inputs, *bound.outputs))
        self._struct = _Cycle(
            memory.plan.ctypes.data,
            ctypes.cast(law.kernel.entry_point, ctypes.c_void_p),
            ctypes.cast(self._leaves, ctypes.c_void_p),
            bound.inputs[0].ctypes.data if bound.inputs else None,
            bound.results.ctypes.data,
            self._parts["whole"].ctypes.data,
        )
        place = ctypes.addressof(self._struct)
        prototype = [ctypes.c_void_p, ctypes.c_char_p]
        self._run = ctypes.PYFUNCTYPE(ctypes.c_int64, *prototype, ctypes.c_double)(("run_cycle", library))
        self._try = ctypes.PYFUNCTYPE(None, *prototype)(("rehearse_cycle", library))
        self._place = ctypes.c_void_p(place)

    def call(self, state: RobotState, dt: float) -> bool:
        """See :class:`franka_rt.control_loop.Cycle`."""
        law = self._law
        law.take()
        ended = self._run(self._place, state.datagram, dt)
        if ended == _NOT_FINITE:
            refuse(self._conditioner, law.torques, self._has_motion, state)
        return law.stopping() or ended != 0

    def write(self) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        return self._motion.write_datagram(bytes(self._command), self._has_motion, True)

    def rehearse(self, state: RobotState) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        self._try(self._place, state.datagram)
        self._motion.machine.check_command(self._has_motion, True)
        return bytes(self._command)

    def last(self, state: RobotState) -> tuple[JointVelocities | None, Torques]:
        """See :class:`franka_rt.control_loop.Cycle`."""
        motion = JointVelocities(self._parts["dq_c"].copy()) if self._has_motion else None
        return motion, Torques(self._parts["tau_J_d"].copy())


def _parts(dialect: ArmDialect, command: bytearray) -> dict[str, np.ndarray]:
    record: Any = np.frombuffer(command, dialect.command)[0:1]
    parts = {"tau_J_d": record["control"]["tau_J_d"][0], "dq_c": record["motion"]["dq_c"][0]}
    return parts | {"whole": np.frombuffer(command, np.uint8)}


def refuse(conditioner: Conditioner, torques: np.ndarray, with_motion: bool, state: RobotState) -> None:
    """Raise what the Python code raises for these torques (7,), of which it is known that something is not finite."""
    for command in (JointVelocities(np.zeros(7)), Torques(torques)):
        if isinstance(command, Torques) or with_motion:
            conditioner.prepare(type(command))(command, state, False).validate()
    raise InvalidArgumentException("Commanding value is infinite or NaN.")
