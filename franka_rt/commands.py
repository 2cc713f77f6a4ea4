"""Command objects of the five interfaces, and the command datagram they go into.

A callback may also return a plain array; ``Torques(tau).finished()`` ends the motion regularly with this command.
Validation and its texts are libfranka's (FCI protocol, sections 6, 10 and 17.4).
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, Self

import numpy as np

from franka_rt import checks
from franka_rt.dialect import ArmDialect, GeneratorMode
from franka_rt.errors import InvalidArgumentException

__all__ = [
    "CartesianPose",
    "CartesianVelocities",
    "Command",
    "CommandEncoder",
    "JointPositions",
    "JointVelocities",
    "MotionCommand",
    "Torques",
]

_FLOAT64 = np.dtype(np.float64)
_NOT_FINITE = "Commanding value is infinite or NaN."
_NO_TRANSFORM = "libfranka: Attempt to set invalid transformation in motion generator. Has to be column major!"
_BAD_ELBOW = "Invalid elbow configuration given! Only +1 or -1 are allowed for the sign of the 4th joint."


class Command:
    """What all commands have: ``values`` (n,) as they go on the wire, and ``motion_finished``."""

    size: ClassVar[int]
    name: ClassVar[str]  # libfranka's name of the list, for its texts

    def __init__(self, values: Any) -> None:
        self.values = self._convert(values)
        self.motion_finished = False

    @classmethod
    def trusted(cls, values: list[float]) -> Self:
        """A command of numbers whose count is known to be right; for running loops."""
        command = object.__new__(cls)
        command.values, command.motion_finished = np.array(values), False
        return command

    def _convert(self, values: Any) -> np.ndarray:
        array = self._numbers(values)
        self._check_shape(array.shape)
        return array

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != (self.size,):
            raise InvalidArgumentException(
                f"Invalid number of elements in {self.name}.",
                f"{self.size} numbers are needed, the array has the shape {shape}.",
            )

    def _numbers(self, values: Any) -> np.ndarray:
        if type(values) is np.ndarray and values.dtype == _FLOAT64:
            return values
        try:
            if np.iscomplexobj(values):
                raise TypeError("complex numbers")
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgumentException(f"franka_rt: {self.name} has to be {self.size} numbers.") from None

    def finished(self) -> Self:
        """This command, marked as the last of the motion."""
        self.motion_finished = True
        return self

    def validate(self) -> None:
        """Raise InvalidArgumentException for values that must not be sent, also for others than it was made with."""
        self._check_shape(self.values.shape)
        if not checks.finite(self.values.tolist()):
            raise InvalidArgumentException(_NOT_FINITE)

    def __repr__(self) -> str:
        end = ", finished" if self.motion_finished else ""
        return f"{type(self).__name__}({np.array2string(self.values, precision=6)}{end})"


class Torques(Command):
    """(7,) joint torques in Nm, without gravity and friction, which the robot compensates itself."""

    size, name = 7, "tau_J"

    @property
    def tau_J(self) -> np.ndarray:
        """(7,) Nm."""
        return self.values


class MotionCommand(Command):
    """A command of a motion generator."""

    generator: ClassVar[GeneratorMode]
    field: ClassVar[str]
    elbow: np.ndarray | None = None


class JointPositions(MotionCommand):
    """(7,) joint positions, rad."""

    size, name, generator, field = 7, "joint_positions", GeneratorMode.JOINT_POSITION, "q_c"

    @property
    def q(self) -> np.ndarray:
        """(7,) rad."""
        return self.values


class JointVelocities(MotionCommand):
    """(7,) joint velocities, rad/s."""

    size, name, generator, field = 7, "joint_velocities", GeneratorMode.JOINT_VELOCITY, "dq_c"

    @property
    def dq(self) -> np.ndarray:
        """(7,) rad/s."""
        return self.values


class _CartesianCommand(MotionCommand):
    """Cartesian commands may fix the elbow: (2,) joint 3 in rad and the sign (+1, -1) of joint 4; both zero is none."""

    def __init__(self, values: Any, elbow: Any = None) -> None:
        super().__init__(values)
        self.elbow = None if elbow is None else checks.elbow(elbow)
        if self.elbow is not None and not self.elbow.any():
            self.elbow = None

    def validate(self) -> None:
        super().validate()
        if self.elbow is None:
            return
        if not checks.finite(self.elbow.tolist()):
            raise InvalidArgumentException(_NOT_FINITE)
        if self.elbow[1] not in (1.0, -1.0):
            raise InvalidArgumentException(_BAD_ELBOW)


class CartesianPose(_CartesianCommand):
    """(4,4) pose of the end effector in the base frame, m; a flat array of 16 is read column-major as in libfranka."""

    size, name = 16, "cartesian_pose"
    generator, field = GeneratorMode.CARTESIAN_POSITION, "O_T_EE_c"

    def _convert(self, values: Any) -> np.ndarray:
        array = self._numbers(values)
        return super()._convert(array.T.ravel() if array.shape == (4, 4) else array)

    @property
    def O_T_EE(self) -> np.ndarray:
        """(4,4) in C order."""
        return self.values.reshape(4, 4).T

    def validate(self) -> None:  # noqa: D102
        super().validate()
        if not checks.is_flat_transform(self.values.tolist()):
            raise InvalidArgumentException(_NO_TRANSFORM)


class CartesianVelocities(_CartesianCommand):
    """(6,) twist of the end effector in the base frame, m/s and rad/s."""

    size, name = 6, "cartesian_velocities"
    generator, field = GeneratorMode.CARTESIAN_VELOCITY, "O_dP_EE_c"

    @property
    def O_dP_EE(self) -> np.ndarray:
        """(6,) m/s, rad/s."""
        return self.values


_MESSAGE_ID = struct.Struct("<Q")


class CommandEncoder:
    """Fills one command datagram again and again; fields that a command does not use stay zero.

    One encoder serves one motion: give every :meth:`encode` the same kinds of command.
    """

    def __init__(self, dialect: ArmDialect) -> None:
        self._buffer = bytearray(dialect.command.itemsize)
        record: Any = np.frombuffer(self._buffer, dialect.command)[0:1]
        self._motion, self._control = record["motion"], record["control"]
        self._fields = {name: self._motion[name][0] for name in ("q_c", "dq_c", "O_T_EE_c", "O_dP_EE_c", "elbow_c")}
        self._tau = self._control["tau_J_d"][0]
        part, flag = dialect.torque_finish_flag
        self._torque_flag = record[part][flag]
        self._motion_flag = self._motion["motion_generation_finished"]

    def encode(
        self, message_id: int, motion: MotionCommand | None, torques: Torques | None, finished: bool = False
    ) -> bytes:
        """The datagram that answers state ``message_id``.

        ``finished`` sets the flag that ends this kind of motion: the motion's where there is a motion command, else
        the one for torques alone. Commands are not validated here.
        """
        _MESSAGE_ID.pack_into(self._buffer, 0, message_id)
        if motion is not None:
            self._fields[motion.field][:] = motion.values
            self._put_elbow(motion.elbow)
        if torques is not None:
            self._tau[:] = torques.values
        if finished:
            (self._torque_flag if motion is None else self._motion_flag)[0] = 1
        return bytes(self._buffer)

    def _put_elbow(self, elbow: np.ndarray | None) -> None:
        if elbow is not None:
            self._fields["elbow_c"][:] = elbow
            self._motion["valid_elbow"][0] = 1
        elif self._motion["valid_elbow"][0]:
            self._fields["elbow_c"][:] = 0.0
            self._motion["valid_elbow"][0] = 0
