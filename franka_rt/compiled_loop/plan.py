"""What the program has to do, taken from the dialect, the conditioner and the law; no version is asked for here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from franka_rt.buffers import Leaf
from franka_rt.compiled_loop import memory as shared
from franka_rt.compiled_loop.memory import SharedMemory, Source
from franka_rt.conditioning import Conditioner
from franka_rt.dialect import ArmDialect, ControllerMode, GeneratorMode, RobotMode
from franka_rt.errors import InvalidArgumentException, InvalidOperationException
from franka_rt.filters import SAMPLE_TIME
from franka_rt.kernel_law import KernelLaw
from franka_rt.law_slots import MEMORY
from franka_rt.motion import ANSWER_TIMEOUT
from franka_rt.scheduling import LoopScheduling
from franka_rt.state_fields import MATRIX_SHAPES

__all__ = ["LawLayout", "Task", "fill_conditioning", "fill_datagrams", "make_memory"]

ORPHAN_TIMEOUT = 1.0  # s for a regular end that nobody waits for; StopMove after that
_SPARE_RECORDS = 16  # beyond the log: a reader may be this many cycles late before a record is overwritten
_COMPUTED = {
    "time": (Source.TIME, ()),
    "m_total": (Source.TOTAL_MASS, ()),
    "F_x_Ctotal": (Source.TOTAL_CENTRE, (3,)),
    "I_total": (Source.TOTAL_INERTIA, (3, 3)),
}
_LOAD = ("m_ee", "F_x_Cee", "I_ee", "m_load", "F_x_Cload", "I_load")


def _field_source(dialect: ArmDialect, name: str) -> tuple[Source, int, int, tuple[int, ...]]:
    """(kind, byte in the datagram, size, shape) of a state field."""
    if name in _COMPUTED:
        source, shape = _COMPUTED[name]
        return source, 0, 0, shape
    layout = dialect.state[name] if name in dialect.offsets else None
    if layout is None or layout.base != dialect.real:
        text = f"franka_rt: a compiled loop cannot give {name} of {dialect.label} to a law."
        raise InvalidArgumentException(text, "It takes the real numbers of the state; compiled=False takes all fields.")
    place, size = dialect.offsets[name], layout.itemsize // dialect.real.itemsize
    if size in MATRIX_SHAPES:
        return Source.MATRIX, place, MATRIX_SHAPES[size][0], MATRIX_SHAPES[size]
    return Source.REALS, place, size, layout.shape


class LawLayout:
    """Where everything of a law lies in the shared memory, in words from the start of its inputs or outputs."""

    def __init__(self, law: KernelLaw, dialect: ArmDialect) -> None:
        kernel, slots = law.kernel, law.slots
        if kernel.backend != "c":
            text = "franka_rt: this law's kernel runs on XLA, not as machine code; a compiled loop cannot call it."
            raise InvalidOperationException(text, "Compile the law where there is a C compiler, or use compiled=False.")
        self.slots, self.leaves = slots, (kernel.inputs, kernel.outputs)
        self.inputs, self.input_words = _places(kernel.inputs)
        self.outputs, self.output_words = _places(kernel.outputs)
        self.fields = [self._field(dialect, name, leaf) for name, leaf in slots.fields.items()]
        self.spans = [
            (self.inputs[leaf], kernel.inputs[leaf].size, name == MEMORY)
            for name, (_, leaves) in slots.parameters.items()
            for leaf in leaves
        ]
        self.memory = [
            (self.outputs[after], self.inputs[before], kernel.inputs[before].size) for before, after in slots.memory
        ]

    def _field(self, dialect: ArmDialect, name: str, leaf: int) -> tuple[int, int, int, int]:
        source, place, size, shape = _field_source(dialect, name)
        declared = self.leaves[0][leaf]
        if declared.shape != shape or declared.word != np.float64:
            text = f"franka_rt: {name} is an array {shape} of float64, the law takes {declared.shape} {declared.dtype}."
            raise InvalidArgumentException(text)
        return source, place, size, self.inputs[leaf]

    def sizes(self) -> dict[str, int]:
        """Bytes of the regions that :meth:`fill` writes."""
        return {
            "leaves": (len(self.inputs) + len(self.outputs)) * 8,
            "fields": len(self.fields) * shared.FIELD.itemsize,
            "spans": len(self.spans) * shared.SPAN.itemsize,
            "memory": len(self.memory) * shared.MEMORY.itemsize,
        }

    def fill(self, memory: SharedMemory) -> None:
        """Write it where the program reads it."""
        plan, slots = memory.plan, self.slots
        rows = {"fields": (shared.FIELD, self.fields), "spans": (shared.SPAN, self.spans)}
        rows["memory"] = shared.MEMORY, self.memory
        for (name, (dtype, entries)), count in zip(rows.items(), ("field", "span", "memory"), strict=True):
            memory.region(name, dtype, len(entries))[:] = [tuple(map(int, entry)) for entry in entries]
            plan[f"{count}_count"] = len(entries)
        places = [*self.inputs, *self.outputs]
        memory.region("leaves", np.int64, len(places))[:] = places
        plan["leaf_count"], plan["input_count"], plan["input_words"] = len(places), len(self.inputs), self.input_words
        plan["tau"], plan["dt"] = self.outputs[slots.tau], -1 if slots.dt is None else self.inputs[slots.dt]
        plan["finished"] = -1 if slots.finished is None else self.outputs[slots.finished]
        plan["finished_is_real"] = slots.finished is not None and self.leaves[1][slots.finished].word == np.float64


def _places(leaves: Sequence[Leaf]) -> tuple[list[int], int]:
    """The first word of every leaf, and the number of words."""
    ends = np.cumsum([0, *(leaf.size for leaf in leaves)]).tolist()
    return ends[:-1], ends[-1]


@dataclass(frozen=True)
class Task:
    """What one run needs besides the law.

    Attributes:
        generator, controller: modes of the motion.
        descriptors: of the UDP and the TCP socket.
        stop_message: a StopMove request.
        watchdog: seconds without a heartbeat after which the motion is ended.
        log_size: records that have to stay.
        enforce: whether a refusal of the scheduler is an error.
    """

    dialect: ArmDialect
    generator: GeneratorMode
    controller: ControllerMode
    conditioner: Conditioner
    scheduling: LoopScheduling
    enforce: bool
    descriptors: tuple[int, int]
    stop_message: bytes
    watchdog: float
    log_size: int

    def fill(self, memory: SharedMemory) -> None:
        """Write it where the program reads it."""
        plan = memory.plan
        plan["parent"], (plan["udp"], plan["tcp"]) = os.getpid(), self.descriptors
        plan["stop_size"] = len(self.stop_message)
        memory.region("stop_message", np.uint8, len(self.stop_message))[:] = np.frombuffer(self.stop_message, np.uint8)
        plan["watchdog"], plan["udp_timeout"] = _nanoseconds(self.watchdog), _nanoseconds(self.dialect.udp_timeout)
        plan["finish_timeout"], plan["orphan_timeout"] = map(_nanoseconds, (ANSWER_TIMEOUT, ORPHAN_TIMEOUT))
        self._fill_scheduling(plan)
        plan["running"] = int(self.generator), int(self.controller), int(RobotMode.MOVE)
        fill_datagrams(plan, self.dialect)
        fill_conditioning(plan, self.dialect, self.conditioner)
        plan["log_size"], (plan["record_state"], plan["record_size"]) = self.records, self.record_layout

    @property
    def records(self) -> int:
        """Length of the ring of records."""
        return self.log_size + _SPARE_RECORDS

    @property
    def record_layout(self) -> tuple[int, int]:
        """(byte of the state in a record, bytes of a record); head and command come before the state."""
        state = shared.RECORD_HEAD.itemsize + _whole_words(self.dialect.command.itemsize)
        return state, state + _whole_words(self.dialect.state.itemsize)

    def _fill_scheduling(self, plan: Any) -> None:
        plan["priority"], plan["enforce"] = self.scheduling.resolved_priority(), self.enforce
        plan["core"] = -1 if self.scheduling.cpu is None else self.scheduling.cpu
        plan["lock_memory"], plan["lead"] = self.scheduling.lock_memory, _nanoseconds(self.scheduling.anticipation)


def fill_datagrams(plan: Any, dialect: ArmDialect) -> None:
    """Where everything is in states and commands."""
    offsets = dialect.offsets
    plan["state_size"], plan["command_size"] = dialect.state.itemsize, dialect.command.itemsize
    plan["single_precision"] = dialect.real.itemsize == 4
    plan["state_id"], plan["generator"] = offsets["message_id"], offsets["motion_generator_mode"]
    plan["controller"], plan["robot_mode"] = offsets["controller_mode"], offsets["robot_mode"]
    plan["still_generators"] = sum(1 << int(mode) for mode in dialect.still_generators)
    plan["external_controller"] = int(ControllerMode.EXTERNAL_CONTROLLER)
    plan["command_id"], plan["command_tau"] = _place(dialect, "message_id"), _place(dialect, "control", "tau_J_d")
    plan["finish_flag"] = _place(dialect, *dialect.torque_finish_flag)
    alone = dialect.torque_generator is GeneratorMode.NONE
    plan["command_velocity"] = -1 if alone else _place(dialect, "motion", "dq_c")
    plan["load"] = [offsets[name] for name in _LOAD]


def fill_conditioning(plan: Any, dialect: ArmDialect, conditioner: Conditioner) -> None:
    """What happens to torques before they are sent."""
    limits, offsets = dialect.limits, dialect.offsets
    plan["filtering"], plan["gain"] = conditioner.gain is not None, conditioner.gain or 0.0
    plan["limiting"], plan["sample_time"] = conditioner.limiting, SAMPLE_TIME
    plan["maximum_torque"] = np.inf if conditioner.maximum_torque is None else conditioner.maximum_torque
    plan["torque_rate"] = limits.torque_rate
    plan["jerk"], plan["acceleration"] = limits.joint_jerk, limits.joint_acceleration
    if limits.joint_velocity is not None:  # else torques go alone, and no velocity is sent
        plan["velocity"] = limits.joint_velocity
    names = {"tau_last": "tau_J_d", "velocity_last": "dq_d", "acceleration_last": "ddq_d"}
    for name, field in names.items():
        plan[name] = offsets[field]


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _whole_words(size: int) -> int:
    return -(-size // 8) * 8


def _place(dialect: ArmDialect, *path: str) -> int:
    """Byte of a field of the command datagram, which may lie in a part of it."""
    layout: Any = dialect.command
    place = 0
    for name in path:
        layout, offset = layout.fields[name][:2]
        place += int(offset)
    return place


def make_memory(task: Task, layout: LawLayout) -> SharedMemory:
    """Shared memory of the right size, with the plan in it."""
    words = 8
    sizes = {
        **layout.sizes(),
        "inputs": layout.input_words * words,
        "outputs": layout.output_words * words,
        "stop_message": len(task.stop_message),
        "sets": shared.SETS * (shared.SET_HEAD.itemsize + layout.input_words * words),
        "turnarounds": shared.TURNAROUNDS * words,
        "log": task.records * task.record_layout[1],
    }
    memory = SharedMemory(sizes)
    task.fill(memory)
    layout.fill(memory)
    return memory
