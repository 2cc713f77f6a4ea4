"""Starting active control: the part of a Robot that hands the cycles of a motion to the caller."""

from __future__ import annotations

import contextlib

from numpy.typing import ArrayLike

from franka_rt import checks
from franka_rt.active_control import ActiveControl
from franka_rt.asynchronous import AsynchronousMotion
from franka_rt.commands import CartesianPose, CartesianVelocities, JointPositions, JointVelocities, MotionCommand
from franka_rt.dialect import ArmDialect, ControllerMode, GeneratorMode
from franka_rt.errors import InvalidOperationException
from franka_rt.garbage import no_collection
from franka_rt.manual_motions import ManualMotions
from franka_rt.realtime import RealtimeConfig
from franka_rt.scheduling import LoopScheduling

__all__ = ["ActiveMotions"]


class ActiveMotions(ManualMotions):
    """The part of :class:`franka_rt.Robot` that starts active control.

    Every ``start_*`` raises CommandException if the robot refuses and InvalidOperationException while another motion or
    reading runs. Like libfranka's, the thread that calls it is raised to SCHED_FIFO (see ``robot.scheduling``), here
    until the motion ends; RealtimeException if that is refused although ``RealtimeConfig.ENFORCE`` demands it. Garbage
    collection rests until then, as in a callback loop.
    """

    realtime_config: RealtimeConfig
    scheduling: LoopScheduling

    @property
    def dialect(self) -> ArmDialect:
        """The negotiated protocol version as data."""
        raise NotImplementedError

    def start_torque_control(self) -> ActiveControl:
        """Start a motion of torques alone and hand its cycles to the caller.

        Use it in a ``with`` statement::

            with robot.start_torque_control() as control:
                while running:
                    state, dt = control.read_once()
                    control.write_once(Torques(tau))
                control.write_once(Torques(tau).finished())
        """
        return self._start(None, self.dialect.torque_generator, ControllerMode.EXTERNAL_CONTROLLER)

    def start_joint_position_control(
        self, controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE
    ) -> ActiveControl:
        """Start a motion of :class:`JointPositions`; with EXTERNAL_CONTROLLER every write takes Torques too."""
        return self._start(JointPositions, GeneratorMode.JOINT_POSITION, controller_mode)

    def start_joint_velocity_control(
        self, controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE
    ) -> ActiveControl:
        """Start a motion of :class:`JointVelocities`; with EXTERNAL_CONTROLLER every write takes Torques too."""
        return self._start(JointVelocities, GeneratorMode.JOINT_VELOCITY, controller_mode)

    def start_cartesian_pose_control(
        self, controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE
    ) -> ActiveControl:
        """Start a motion of :class:`CartesianPose`; with EXTERNAL_CONTROLLER every write takes Torques too."""
        return self._start(CartesianPose, GeneratorMode.CARTESIAN_POSITION, controller_mode)

    def start_cartesian_velocity_control(
        self, controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE
    ) -> ActiveControl:
        """Start a motion of :class:`CartesianVelocities`; with EXTERNAL_CONTROLLER every write takes Torques too."""
        return self._start(CartesianVelocities, GeneratorMode.CARTESIAN_VELOCITY, controller_mode)

    def start_asynchronous_motion(
        self, maximum_velocities: ArrayLike, goal_tolerance: float = 1e-3
    ) -> AsynchronousMotion:
        """Start a motion whose joint targets the robot interpolates itself. Version 10 only.

        Args:
            maximum_velocities: (7,) rad/s.
            goal_tolerance: Euclidean distance of q_d from the target that counts as reached, rad.
        """
        if not self.dialect.async_motions:
            raise InvalidOperationException(
                f"libfranka: asynchronous motions are not available on {self.dialect.label}."
            )
        tolerance, controller = checks.number("goal_tolerance", goal_tolerance, 0.0), ControllerMode.JOINT_IMPEDANCE
        control = self._start(JointPositions, GeneratorMode.JOINT_POSITION, controller, maximum_velocities)
        return AsynchronousMotion(control, tolerance)

    def _start(
        self,
        kind: type[MotionCommand] | None,
        generator: GeneratorMode,
        controller: ControllerMode,
        maximum_velocities: ArrayLike | None = None,
    ) -> ActiveControl:
        self._acquire()
        at_end = contextlib.ExitStack()
        at_end.callback(self._busy.release)
        try:
            if maximum_velocities is None:  # an asynchronous motion needs no cycles
                at_end.enter_context(self.scheduling.applied(self.realtime_config is RealtimeConfig.ENFORCE))
                at_end.enter_context(no_collection())
            self._motion.start(generator, controller, maximum_velocities)
            return ActiveControl(self._motion, kind, controller, at_end.close)
        except BaseException:
            at_end.close()
            raise
