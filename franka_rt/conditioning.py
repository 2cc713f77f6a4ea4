"""What happens to a callback's output before it is sent: low-pass filter, then rate limiter (FCI protocol, section 9).

References are what the robot reports as last commanded. On version 10 (``first_command_is_reference``) the first
position or pose of a motion is its own reference: it is sent as it is, and its commanded velocity is zero.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from franka_rt import filters, limits
from franka_rt.commands import CartesianPose, CartesianVelocities, JointPositions, JointVelocities, Torques
from franka_rt.dialect import ArmDialect
from franka_rt.errors import InvalidArgumentException
from franka_rt.filters import MAX_CUTOFF_FREQUENCY, low_pass_gain
from franka_rt.state import RobotState
from franka_rt.velocity_envelope import VelocityEnvelope

__all__ = ["Conditioner"]

Bounds = Callable[[Sequence[float]], tuple[list[float], list[float]]]


class Conditioner:
    """Filters and limits the commands of one control loop.

    Args:
        dialect: decides limits and references.
        limit_rate: whether to limit; None takes the version's default (5: True, 10: False).
        cutoff_frequency: of the filter, Hz; 1000 and above switch it off.
        envelope: gives the joint velocity envelope of a version whose limits depend on the position; asked for only
            if it is needed.
        clamp: hold torques within what the joints may be commanded, before all else (kernel laws).

    InvalidArgumentException for a cutoff that is NaN or not positive, and for what is no number or truth value.
    """

    def __init__(
        self,
        dialect: ArmDialect,
        limit_rate: bool | None,
        cutoff_frequency: float,
        envelope: Callable[[], VelocityEnvelope] | None = None,
        clamp: bool = False,
    ) -> None:
        self._limiting = dialect.limit_rate if limit_rate is None else bool(limit_rate)
        if not isinstance(limit_rate, bool | np.bool_ | None):
            raise InvalidArgumentException(f"franka_rt: limit_rate is True, False or None, not {limit_rate!r}.")
        self._limits = dialect.limits
        if not isinstance(cutoff_frequency, numbers.Real):
            raise InvalidArgumentException(
                f"franka_rt: cutoff_frequency has to be one number, got {cutoff_frequency!r}."
            )
        self._gain = None if cutoff_frequency >= MAX_CUTOFF_FREQUENCY else low_pass_gain(cutoff_frequency)
        self._maximum_torque = dialect.maximum_torque.tolist() if clamp else None
        self._own_reference = dialect.first_command_is_reference
        self._envelope = envelope
        self._bounds: Bounds | None = None

    @property
    def gain(self) -> float | None:
        """Weight of the new value in the low-pass filter, None without one."""
        return self._gain

    @property
    def limiting(self) -> bool:
        """Whether rates are limited."""
        return self._limiting

    @property
    def maximum_torque(self) -> list[float] | None:
        """What torques are clamped to, Nm, None if they are not."""
        return self._maximum_torque

    def prepare(self, kind: type[Any]) -> Callable[[Any, RobotState, bool], Any]:
        """The function (command, state, is the first of the motion) -> command to send, for one kind of command."""
        if self._limiting and kind in (JointPositions, JointVelocities):
            self._bounds = self._velocity_bounds()
        return getattr(self, _METHODS[kind])

    def _velocity_bounds(self) -> Bounds:
        constant = self._limits.joint_velocity
        if constant is None:
            assert self._envelope is not None, "position-dependent limits need an envelope"
            return self._envelope().bounds
        both = constant.tolist(), (-constant).tolist()
        return lambda q: both

    def torques(self, command: Torques, state: RobotState, first: bool) -> Torques:
        """(7,) Nm, against tau_J_d."""
        values = command.values.tolist()
        if self._maximum_torque is not None:
            values = limits.clamp_torques(values, self._maximum_torque)
        if self._gain is not None or self._limiting:
            last = state.numbers("tau_J_d")
            if self._gain is not None:
                values = filters.low_pass(values, last, self._gain)
            if self._limiting:
                values = limits.limit_torques(values, last, self._limits)
        return Torques.trusted(values)

    def joint_velocities(self, command: JointVelocities, state: RobotState, first: bool) -> JointVelocities:
        """(7,) rad/s, against dq_d and ddq_d, with the limits at q_d."""
        values, last = command.values.tolist(), state.numbers("dq_d")
        if self._gain is not None:
            values = filters.low_pass(values, last, self._gain)
        if self._bounds is not None:
            bounds = self._bounds(state.numbers("q_d"))
            values = limits.limit_joint_velocities(values, last, state.numbers("ddq_d"), self._limits, *bounds)
        return JointVelocities.trusted(values)

    def joint_positions(self, command: JointPositions, state: RobotState, first: bool) -> JointPositions:
        """(7,) rad, against q_d, dq_d and ddq_d, with the limits at the position reference."""
        values = command.values.tolist()
        last = values if first and self._own_reference else state.numbers("q_d")
        if self._gain is not None:
            values = filters.low_pass(values, last, self._gain)
        if self._bounds is not None:
            rates = state.numbers("dq_d"), state.numbers("ddq_d")
            values = limits.limit_joint_positions(values, last, *rates, self._limits, *self._bounds(last))
        return JointPositions.trusted(values)

    def cartesian_pose(self, command: CartesianPose, state: RobotState, first: bool) -> CartesianPose:
        """Pose, against O_T_EE_c, O_dP_EE_c and O_ddP_EE_c."""
        values = command.values.tolist()
        own = first and self._own_reference
        last = values if own else state.numbers("O_T_EE_c")
        if self._gain is not None:
            values = filters.low_pass_pose(values, last, self._gain)
        if self._limiting:
            rates = state.numbers("O_dP_EE_c"), state.numbers("O_ddP_EE_c")
            values = limits.limit_pose(values, last, *rates, self._limits)
        conditioned = CartesianPose.trusted(values)
        conditioned.elbow = self._elbow(command.elbow, state, own)
        return conditioned

    def cartesian_velocities(self, command: CartesianVelocities, state: RobotState, first: bool) -> CartesianVelocities:
        """(6,) twist, against O_dP_EE_c and O_ddP_EE_c."""
        values, last = command.values.tolist(), state.numbers("O_dP_EE_c")
        if self._gain is not None:
            values = filters.low_pass(values, last, self._gain)
        if self._limiting:
            values = limits.limit_twist(values, last, state.numbers("O_ddP_EE_c"), self._limits)
        conditioned = CartesianVelocities.trusted(values)
        conditioned.elbow = self._elbow(command.elbow, state, False)
        return conditioned

    def _elbow(self, elbow: np.ndarray | None, state: RobotState, own: bool) -> np.ndarray | None:
        """The elbow's position against elbow_c, delbow_c and ddelbow_c; its sign passes untouched."""
        if elbow is None:
            return None
        position, sign = elbow.tolist()
        last = position if own else state.numbers("elbow_c")[0]
        if self._gain is not None:
            position = filters.low_pass([position], [last], self._gain)[0]
        if self._limiting:
            rates = state.numbers("delbow_c")[0], state.numbers("ddelbow_c")[0]
            position = limits.limit_elbow(position, last, *rates, self._limits)
        return np.array((position, sign))


_METHODS = {
    Torques: "torques",
    JointPositions: "joint_positions",
    JointVelocities: "joint_velocities",
    CartesianPose: "cartesian_pose",
    CartesianVelocities: "cartesian_velocities",
}
