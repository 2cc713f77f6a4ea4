"""The robot's state: a read-only view of one state datagram under libfranka's names.

A :class:`RobotState` keeps the datagram's bytes and looks at them when asked. All its arrays are float64, poses are
(4,4) and inertias (3,3) in ordinary C order, whichever version sent them: version 5 vectors are viewed where they
are, version 10's single precision is widened field by field, as libfranka does. Arrays are read-only;
:meth:`RobotState.copy` gives a state with memory of its own and writable arrays.

Fields that the wire does not have (m_total, F_x_Ctotal, I_total) are computed as in :mod:`franka_rt.combined_load`.

The other direction, for a server: :class:`franka_rt.state_writer.StateWriter` fills a datagram by the same names.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from franka_rt import combined_load
from franka_rt.dialect import ArmDialect, ControllerMode, GeneratorMode, RobotMode, arm_dialect
from franka_rt.error_flags import Errors
from franka_rt.errors import ProtocolException
from franka_rt.state_fields import Accelerometer, Matrix, Scalar, Vector, state_fields
from franka_rt.state_text import public_fields, summary, vendor_text

__all__ = ["Errors", "RobotState"]


_MESSAGE_ID = struct.Struct("<Q").unpack_from
_FLOAT64 = np.dtype(np.float64)  # the instance saves a conversion per state
_ROBOT_MODES = {mode.value: mode for mode in RobotMode}
_GENERATORS = {mode.value: mode for mode in GeneratorMode}
_CONTROLLERS = {mode.value: mode for mode in ControllerMode}


class RobotState:
    """One state of the robot. Field names, meanings and units are libfranka's; see the module for conventions.

    Raises ProtocolException ("libfranka: incorrect object size") for a datagram of another size than the dialect's.
    """

    __slots__ = ("_matrices", "_reals", "datagram", "is_copy", "layout", "message_id")

    O_T_EE = Matrix("(4,4) measured pose of the end effector in the base frame, m")
    O_T_EE_d = Matrix("(4,4) last desired pose of the motion generator in the base frame, m")
    F_T_EE = Matrix("(4,4) end effector in the flange frame, m")
    EE_T_K = Matrix("(4,4) stiffness frame in the end effector frame, m")
    F_T_NE = Matrix("(4,4) nominal end effector in the flange frame, m (set in Desk)")
    NE_T_EE = Matrix("(4,4) end effector in the nominal end effector frame, m")
    m_ee = Scalar("mass of the configured end effector, kg")
    I_ee = Matrix("(3,3) inertia of the end effector about its centre of mass, flange axes, kg m^2")
    F_x_Cee = Vector("(3,) centre of mass of the end effector in the flange frame, m")
    m_load = Scalar("mass of the external load, kg")
    I_load = Matrix("(3,3) inertia of the load about its centre of mass, flange axes, kg m^2")
    F_x_Cload = Vector("(3,) centre of mass of the load in the flange frame, m")
    elbow = Vector("(2,) position of joint 3, rad; sign of (joint 4 - flip angle)")
    elbow_d = Vector("(2,) desired elbow")
    tau_J = Vector("(7,) measured link-side joint torque, Nm")
    tau_J_d = Vector("(7,) desired link-side joint torque without gravity, Nm")
    dtau_J = Vector("(7,) derivative of the measured torque, Nm/s")
    q = Vector("(7,) measured joint position, rad")
    q_d = Vector("(7,) desired joint position, rad")
    dq = Vector("(7,) measured joint velocity, rad/s")
    dq_d = Vector("(7,) desired joint velocity, rad/s")
    ddq_d = Vector("(7,) desired joint acceleration, rad/s^2")
    joint_contact = Vector("(7,) contact level of each joint, 0 when the contact ends")
    cartesian_contact = Vector("(6,) contact level in x, y, z, R, P, Y")
    joint_collision = Vector("(7,) collision level of each joint, kept until reset")
    cartesian_collision = Vector("(6,) collision level in x, y, z, R, P, Y, kept until reset")
    tau_ext_hat_filtered = Vector("(7,) filtered external torque, Nm")
    O_F_ext_hat_K = Vector("(6,) external wrench at the stiffness frame, base axes, N and Nm")
    K_F_ext_hat_K = Vector("(6,) external wrench at the stiffness frame, its own axes, N and Nm")
    O_dP_EE_d = Vector("(6,) desired end effector twist in the base frame, m/s and rad/s")
    O_ddP_O = Vector("(3,) gravity vector as the robot states it, (0, 0, -9.81) m/s^2")
    elbow_c = Vector("(2,) commanded elbow")
    delbow_c = Vector("(2,) commanded elbow velocity, rad/s; 0")
    ddelbow_c = Vector("(2,) commanded elbow acceleration, rad/s^2; 0")
    O_T_EE_c = Matrix("(4,4) last commanded pose of the end effector in the base frame, m")
    O_dP_EE_c = Vector("(6,) last commanded end effector twist, m/s and rad/s")
    O_ddP_EE_c = Vector("(6,) last commanded end effector acceleration, m/s^2 and rad/s^2")
    theta = Vector("(7,) motor position, rad")
    dtheta = Vector("(7,) motor velocity, rad/s")
    accelerometer_top = Accelerometer("(6,3) upper accelerometers of joints 1-6, m/s^2; version 10 only")
    accelerometer_bottom = Accelerometer("(6,3) lower accelerometers of joints 1-6, m/s^2; version 10 only")

    message_id: int
    """Millisecond counter of the robot; what a command echoes."""
    datagram: bytes
    """As it was received."""
    is_copy: bool
    """The arrays are the copy's own; they may have been changed, and count instead of the datagram."""

    def __init__(self, dialect: ArmDialect, datagram: bytes | bytearray | memoryview) -> None:
        layout = self.layout = state_fields(dialect)
        if len(datagram) != layout.size:
            raise ProtocolException(
                "libfranka: incorrect object size",
                f"A state datagram of {dialect.label} has {layout.size} bytes, this one {len(datagram)}.",
            )
        self.datagram = datagram if type(datagram) is bytes else bytes(datagram)
        self.is_copy = False
        self._reals: np.ndarray | None = None
        self._matrices: np.ndarray | None = None
        self.message_id = _MESSAGE_ID(datagram)[0]

    @property
    def reals(self) -> np.ndarray:
        """(n,) all real numbers of the datagram up to the modes, in the order of the wire."""
        if self._reals is None:
            layout = self.layout
            reals = np.frombuffer(self.datagram, layout.real, layout.count, 8)
            if layout.narrow:
                reals = reals.astype(_FLOAT64)
                reals.setflags(write=False)
            self._reals = reals
        return self._reals

    def numbers(self, name: str) -> Sequence[float]:
        """The numbers of a real field as plain floats, in the order of the wire: matrices column by column."""
        if self.is_copy:
            return np.ravel(getattr(self, name), "F" if name in self.layout.matrices else "C").tolist()
        field = self.layout.wire[name]
        return field.unpack(self.datagram, field.place)

    def ordered(self) -> np.ndarray:
        """All matrices of a copy, row by row, gathered once."""
        if self._matrices is None:
            self._matrices = self.reals[self.layout.matrix_order]
            self._matrices.setflags(write=self.is_copy)
        return self._matrices

    @property
    def dialect(self) -> ArmDialect:
        """The protocol version that the state came in."""
        return self.layout.dialect

    @property
    def time(self) -> float:
        """Seconds since the robot was started (``message_id`` in seconds)."""
        return self.message_id / 1000.0

    @property
    def robot_mode(self) -> RobotMode:
        """Mode of the robot; a number that the protocol does not define reads as OTHER."""
        return _ROBOT_MODES.get(self.datagram[self.layout.robot_mode], RobotMode.OTHER)

    @property
    def motion_generator_mode(self) -> int:
        """Motion generator mode, a :class:`GeneratorMode` where the number is a defined one."""
        number = self.datagram[self.layout.generator]
        return _GENERATORS.get(number, number)

    @property
    def controller_mode(self) -> int:
        """Controller mode, a :class:`ControllerMode` where the number is a defined one."""
        number = self.datagram[self.layout.controller]
        return _CONTROLLERS.get(number, number)

    @property
    def modes(self) -> tuple[int, int, int]:
        """(generator, controller, robot mode) as plain numbers, the cheap form for the motion machine."""
        data, layout = self.datagram, self.layout
        return data[layout.generator], data[layout.controller], data[layout.robot_mode]

    @property
    def current_errors(self) -> Errors:
        """Errors that are active now."""
        return Errors(self.datagram[self.layout.errors])

    @property
    def last_motion_errors(self) -> Errors:
        """Errors that ended the last motion."""
        return Errors(self.datagram[self.layout.reflex_reason])

    @property
    def control_command_success_rate(self) -> float:
        """Share (0..1) of the last 100 commands that arrived in time; 0 while no motion runs."""
        real = self.layout.dialect.real
        return float(np.frombuffer(self.datagram[-real.itemsize :], real)[0])

    @property
    def needs_recovery(self) -> bool:
        """The robot will not move before ``automatic_error_recovery()``, whether or not a current error shows."""
        return self.robot_mode is RobotMode.REFLEX

    @property
    def m_total(self) -> float:
        """Mass of end effector and load together, kg."""
        return combined_load.mass(self.m_ee, self.m_load, self.layout.real)

    @property
    def F_x_Ctotal(self) -> np.ndarray:
        """(3,) common centre of mass of end effector and load in the flange frame, m."""
        return combined_load.centre(self.m_ee, self.F_x_Cee, self.m_load, self.F_x_Cload)

    @property
    def I_total(self) -> np.ndarray:
        """(3,3) common inertia about the common centre of mass, flange axes, kg m^2."""
        parts = (self.m_ee, self.F_x_Cee, self.I_ee), (self.m_load, self.F_x_Cload, self.I_load)
        return combined_load.inertia(*parts, self.m_total, self.F_x_Ctotal)

    @property
    def setup_bytes(self) -> bytes | None:
        """F_T_EE, EE_T_K, end effector and load as received, to notice a change cheaply; None for a copy."""
        return None if self.is_copy else self.datagram[self.layout.setup]

    def copy(self) -> RobotState:
        """The same state over memory of its own, with writable arrays."""
        other = RobotState(self.dialect, self.datagram)
        other._restore(self.reals, self._matrices)
        return other

    def _restore(self, reals: np.ndarray, matrices: np.ndarray | None) -> None:
        self.is_copy, self._reals = True, reals.copy()
        self._matrices = None if matrices is None else matrices.copy()

    def to_dict(self) -> dict[str, Any]:
        """All public fields, in libfranka's order, as fresh arrays, numbers, lists of names and strings."""
        return public_fields(self)

    def __reduce__(self) -> tuple[Any, ...]:
        own = (self.reals, self._matrices) if self.is_copy else None
        return _unpickle, (int(self.dialect.fci_version), self.datagram, own)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RobotState):
            return NotImplemented
        if self.dialect is not other.dialect or self.datagram != other.datagram:
            return False
        pairs = (self.reals, other.reals), (self.ordered(), other.ordered())  # matrices of a copy are apart
        return all(np.array_equal(*pair, equal_nan=True) for pair in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return vendor_text(self)

    def __repr__(self) -> str:
        return summary(self)


def _unpickle(version: int, datagram: bytes, own: tuple[np.ndarray, np.ndarray | None] | None) -> RobotState:
    state = RobotState(arm_dialect(version), datagram)
    if own is not None:
        state._restore(*own)
    return state
