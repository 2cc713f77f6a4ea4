"""Cycles of the Python loop that end in C: law, clamp, filter, limiter and command in one call (cycle.c).

The interpreter receives the state and sends the command. What lies between takes a kernel law about a microsecond
instead of ten; of a callback in Python, what happens to its torques. Where there is no C compiler, or a law asks for
what only Python can give it, :class:`franka_rt.callbacks.Callbacks` does the same, with the same commands to the last
bit.
"""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from franka_rt.buffers import pointers
from franka_rt.callbacks import Callback, Source
from franka_rt.commands import JointVelocities, Torques
from franka_rt.compiled_loop.memory import SharedMemory
from franka_rt.compiled_loop.plan import LawLayout, fill_conditioning, fill_datagrams
from franka_rt.compiled_loop.program import cycle_library
from franka_rt.conditioning import Conditioner
from franka_rt.dialect import ArmDialect
from franka_rt.errors import FrankaException, InvalidArgumentException
from franka_rt.kernel_law import KernelLaw, is_pure_law
from franka_rt.motion import MotionControl
from franka_rt.state import RobotState

__all__ = ["LawCycle", "TorqueCycle", "compiled_cycle", "refuse"]

_NOT_TO_BE_HAD = (FrankaException, OSError, RuntimeError, ValueError)
"""No compiler or one that fails, no place for its files, no home directory, no descriptor left, a law for Python."""
_PUT_TORQUES = struct.Struct("=7d").pack_into


class _Struct(ctypes.Structure):
    """``struct cycle`` in cycle.c."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("memory", "kernel", "leaves", "inputs", "outputs", "command")]


@contextlib.contextmanager
def compiled_cycle(
    motion: MotionControl, callback: Callback, conditioner: Conditioner
) -> Iterator[LawCycle | TorqueCycle | None]:
    """The cycle of a loop that commands torques alone, None where it cannot be had."""
    law = callback if is_pure_law(callback) else None
    try:
        library = cycle_library()
        layout = None if law is None else LawLayout(law, motion.session.dialect)
        memory = SharedMemory(layout.sizes() if layout else {})
    except _NOT_TO_BE_HAD:
        yield None
        return
    try:
        memory.close_descriptor()
        if law is not None and layout is not None:
            layout.fill(memory)
            yield LawCycle(motion, law, conditioner, library, memory)
        else:
            yield TorqueCycle(motion, callback, conditioner, library, memory)
    finally:
        memory.close()


class CompiledCycle:
    """A :class:`franka_rt.control_loop.Cycle`; subclasses say where the torques come from.

    Args:
        memory: with a plan, in which only the law is missing or written already.
        arrays: addresses of the law's kernel, leaves and inputs; and where the torques come to lie.
    """

    def __init__(
        self,
        motion: MotionControl,
        conditioner: Conditioner,
        library: ctypes.PyDLL,
        memory: SharedMemory,
        arrays: tuple[int | None, int | None, int | None, int],
    ) -> None:
        dialect = motion.session.dialect
        self._motion, self._conditioner, self._library = motion, conditioner, library
        fill_datagrams(memory.plan, dialect)
        fill_conditioning(memory.plan, dialect, conditioner)
        self._with_motion = bool(memory.plan["command_velocity"] >= 0)
        self._command = bytearray(dialect.command.itemsize)
        self._tau, self._dq, whole = _parts(dialect, self._command)
        self._struct = _Struct(memory.plan.ctypes.data, *arrays, whole.ctypes.data)
        self._place = ctypes.c_void_p(ctypes.addressof(self._struct))
        self._answer = self._function("answer_state", ctypes.c_int64)

    def _function(self, name: str, result: Any, *more: Any) -> Any:
        return ctypes.PYFUNCTYPE(result, ctypes.c_void_p, ctypes.c_char_p, *more)((name, self._library))

    def write(self) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        return self._motion.write_datagram(bytes(self._command), self._with_motion, True)

    def _rehearsed(self) -> bytes:
        self._motion.machine.check_command(self._with_motion, True)
        return bytes(self._command)

    def last(self, state: RobotState) -> tuple[JointVelocities | None, Torques]:
        """See :class:`franka_rt.control_loop.Cycle`."""
        return JointVelocities(self._dq.copy()) if self._with_motion else None, Torques(self._tau.copy())


class LawCycle(CompiledCycle):
    """Torques of a kernel law."""

    def __init__(
        self,
        motion: MotionControl,
        law: KernelLaw,
        conditioner: Conditioner,
        library: ctypes.PyDLL,
        memory: SharedMemory,
    ) -> None:
        self._law, bound = law, law.bound
        self._leaves = pointers((*bound.inputs, *bound.outputs))
        kernel, leaves = (ctypes.cast(x, ctypes.c_void_p).value for x in (law.kernel.entry_point, self._leaves))
        inputs = bound.inputs[0].ctypes.data if bound.inputs else None
        super().__init__(motion, conditioner, library, memory, (kernel, leaves, inputs, bound.results.ctypes.data))
        self._run = self._function("run_law_on", ctypes.c_int64, ctypes.c_double)
        self._try = self._function("rehearse_law_on", None)

    def call(self, state: RobotState, dt: float) -> bool:
        """See :class:`franka_rt.control_loop.Cycle`."""
        law = self._law
        law.take()
        ended = self._run(self._place, state.datagram, dt)
        stopping = law.stopping()
        if ended < 0:
            refuse(self._conditioner, law.torques, self._with_motion, state)
        return stopping or ended != 0

    def rehearse(self, state: RobotState) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        self._try(self._place, state.datagram)
        return self._rehearsed()


class TorqueCycle(CompiledCycle):
    """Torques of a callback in Python."""

    def __init__(
        self,
        motion: MotionControl,
        callback: Callback,
        conditioner: Conditioner,
        library: ctypes.PyDLL,
        memory: SharedMemory,
    ) -> None:
        self._source = Source(Torques, callback)
        self._torques = bytearray(7 * 8)
        memory.plan["tau"] = 0
        super().__init__(
            motion, conditioner, library, memory, (None, None, None, np.frombuffer(self._torques).ctypes.data)
        )

    def call(self, state: RobotState, dt: float) -> bool:
        """See :class:`franka_rt.control_loop.Cycle`."""
        output = self._source(state, dt)
        try:
            _PUT_TORQUES(self._torques, 0, *output.values.tolist())
        except (struct.error, TypeError):  # they were replaced after the command was made
            output.validate()
            raise
        if self._answer(self._place, state.datagram) < 0:
            refuse(self._conditioner, output.values, self._with_motion, state)
        return output.motion_finished

    def rehearse(self, state: RobotState) -> bytes:
        """See :class:`franka_rt.control_loop.Cycle`."""
        self._source.rehearse(state)
        self._answer(self._place, state.datagram)
        return self._rehearsed()


def _parts(dialect: ArmDialect, command: bytearray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Torques and joint velocities in a command, and the whole of it."""
    record: Any = np.frombuffer(command, dialect.command)[0:1]
    return record["control"]["tau_J_d"][0], record["motion"]["dq_c"][0], np.frombuffer(command, np.uint8)


def refuse(conditioner: Conditioner, torques: np.ndarray, with_motion: bool, state: RobotState) -> None:
    """Raise what the Python code raises for these torques (7,), of which it is known that something is not finite."""
    commands = (JointVelocities(np.zeros(7)), Torques(torques)) if with_motion else (Torques(torques),)
    for command in [conditioner.prepare(type(command))(command, state, False) for command in commands]:
        command.validate()
    raise InvalidArgumentException("Commanding value is infinite or NaN.")
