"""Control interfaces of a Robot: callback loops (``control_*``) and active control (``start_*_control``).

Callback loops filter and limit what the callback returns, as libfranka does by default: low-pass filter at 100 Hz, rate
limiter on for version 5 and off for version 10 (``robot.dialect.limit_rate``). Active control sends what it is given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from franka_rt import checks
from franka_rt.active_motions import ActiveMotions
from franka_rt.callbacks import Callback, Callbacks, Stage
from franka_rt.commands import (
    CartesianPose,
    CartesianVelocities,
    JointPositions,
    JointVelocities,
    MotionCommand,
    Torques,
)
from franka_rt.conditioning import Conditioner
from franka_rt.control_loop import ControlLoop, Cycle
from franka_rt.dialect import ControllerMode, GeneratorMode
from franka_rt.errors import InvalidArgumentException
from franka_rt.kernel_law import KernelLaw, is_pure_law
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.realtime import RealtimeConfig
from franka_rt.scheduling import LoopScheduling
from franka_rt.velocity_envelope import VelocityEnvelope

__all__ = ["RobotControl"]

_NO_TORQUES = "libfranka: Invalid control callback given."
_NO_MOTION = "libfranka: Invalid motion callback given."
_SHORTEST_WATCHDOG = 0.05  # s; a shorter one would bite on any busy machine
_STILL = JointVelocities(np.zeros(7))


def _stand_still(state: Any, dt: float) -> JointVelocities:
    """Motion callback of a version that has no motion of torques alone."""
    return _STILL


class RobotControl(ActiveMotions):
    """The part of :class:`franka_rt.Robot` that moves the arm.

    All callbacks are called as ``callback(state, dt)`` once per received state: a
    :class:`~franka_rt.RobotState` and the seconds since the state before (0.0 the first time; a multiple of 1 ms when
    states were lost, so integrate it). They return a command object or an array of its numbers;
    ``Torques(tau).finished()`` and the like end the motion regularly. Whatever a callback raises stops the arm and
    comes out of the call; what is not finite or has the wrong shape is refused before it is sent
    (InvalidArgumentException).

    All motions raise CommandException if the robot refuses to start, ControlException (``.log``, ``.reasons``,
    ``.statistics``) if the motion ends badly, NetworkException if the connection breaks, and
    InvalidOperationException while another motion or reading runs.

    Attributes:
        loop_statistics: what the last callback loop measured of itself, None before the first.
        scheduling: priority, core and memory locking of callback loops, :class:`LoopScheduling`.
    """

    realtime_config: RealtimeConfig
    loop_statistics: LoopStatistics | None = None

    def __init__(self) -> None:
        super().__init__()
        self.scheduling = LoopScheduling()

    def _served_urdf(self) -> str:
        """The robot's own description, empty if it serves none."""
        raise NotImplementedError

    def _joint_velocity_envelope(self) -> VelocityEnvelope:
        raise NotImplementedError

    # -- callback loops ------------------------------------------------------------------------------------------

    def control_torques(
        self,
        callback: Callback,
        limit_rate: bool | None = None,
        cutoff_frequency: float = 100.0,
        *,
        compiled: bool = False,
        watchdog: float = 1.0,
    ) -> None:
        """Command joint torques (7,) in Nm, on top of the robot's own gravity and friction compensation.

        Zero torque is not "off": the arm floats, with gravity compensated and Coriolis torques not.

        Args:
            callback: returns :class:`Torques` or 7 numbers; or a :class:`KernelLaw`, whose torques are also held within
                what the joints may be commanded (``robot.dialect.maximum_torque``).
            limit_rate: limit the torque rate to 1000 Nm/s; None takes the version's default (5: True, 10: False).
            cutoff_frequency: of the low-pass filter, Hz; 1000 and above switch it off.
            compiled: run a :class:`KernelLaw` without the interpreter, in a process of its own; see
                docs/compiled_loop.md. Without a C compiler RealtimeException.
            watchdog: seconds without a sign of life from this process after which a compiled loop ends the motion.
        """
        if not callable(callback):
            raise InvalidArgumentException(_NO_TORQUES)
        if isinstance(callback, KernelLaw):
            callback.check_robot(self.dialect.robot, self._served_urdf())
        if compiled:
            self._compiled_loop(callback, limit_rate, cutoff_frequency, watchdog)
            return
        generator = self.dialect.torque_generator
        still = None if generator is GeneratorMode.NONE else _stand_still
        external = ControllerMode.EXTERNAL_CONTROLLER
        self._loop(JointVelocities, still, callback, generator, external, limit_rate, cutoff_frequency)

    def control_joint_positions(
        self,
        callback: Callback,
        controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE,
        limit_rate: bool | None = None,
        cutoff_frequency: float = 100.0,
        torque_callback: Callback | None = None,
    ) -> None:
        """Command joint positions (7,) in rad. Start from ``state.q_d``, not ``state.q``.

        Args:
            callback: returns :class:`JointPositions` or 7 numbers.
            controller_mode: JOINT_IMPEDANCE or CARTESIAN_IMPEDANCE; of no account with a torque callback.
            limit_rate: limit velocity, acceleration and jerk; None takes the version's default (5: True, 10: False).
            cutoff_frequency: of the low-pass filter, Hz; 1000 and above switch it off.
            torque_callback: returns :class:`Torques`; replaces the internal controller.
        """
        self._control(JointPositions, callback, controller_mode, limit_rate, cutoff_frequency, torque_callback)

    def control_joint_velocities(
        self,
        callback: Callback,
        controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE,
        limit_rate: bool | None = None,
        cutoff_frequency: float = 100.0,
        torque_callback: Callback | None = None,
    ) -> None:
        """Command joint velocities (7,) in rad/s; arguments as for :meth:`control_joint_positions`."""
        self._control(JointVelocities, callback, controller_mode, limit_rate, cutoff_frequency, torque_callback)

    def control_cartesian_pose(
        self,
        callback: Callback,
        controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE,
        limit_rate: bool | None = None,
        cutoff_frequency: float = 100.0,
        torque_callback: Callback | None = None,
    ) -> None:
        """Command poses of the end effector in the base frame, (4,4) in C order or flat 16 column-major, m.

        Start from ``state.O_T_EE_c``. ``CartesianPose(pose, elbow=(q3, sign))`` fixes the elbow too. Other arguments
        as for :meth:`control_joint_positions`.
        """
        self._control(CartesianPose, callback, controller_mode, limit_rate, cutoff_frequency, torque_callback)

    def control_cartesian_velocities(
        self,
        callback: Callback,
        controller_mode: ControllerMode = ControllerMode.JOINT_IMPEDANCE,
        limit_rate: bool | None = None,
        cutoff_frequency: float = 100.0,
        torque_callback: Callback | None = None,
    ) -> None:
        """Command twists (6,) of the end effector in the base frame, m/s and rad/s.

        ``CartesianVelocities(twist, elbow=(q3, sign))`` fixes the elbow too. Other arguments as for
        :meth:`control_joint_positions`.
        """
        self._control(CartesianVelocities, callback, controller_mode, limit_rate, cutoff_frequency, torque_callback)

    def _compiled_loop(self, law: Callback, limit_rate: bool | None, cutoff_frequency: float, watchdog: float) -> None:
        from franka_rt.compiled_loop import CompiledLoop  # here, because most sessions do not need it

        if not is_pure_law(law):
            text = "franka_rt: a compiled loop runs a KernelLaw, not a Python function."
            raise InvalidArgumentException(text, "Compile the law with franka_jax.aot, or use compiled=False.")
        watchdog = checks.number("watchdog", watchdog, _SHORTEST_WATCHDOG)
        conditioner = Conditioner(self.dialect, limit_rate, cutoff_frequency, clamp=True)
        enforce = self.realtime_config is RealtimeConfig.ENFORCE
        with self._exclusive():
            loop = CompiledLoop(self._motion, law, conditioner, self.scheduling, enforce, watchdog)
            self.loop_statistics = loop.statistics
            loop.run()

    def _control(
        self,
        kind: type[MotionCommand],
        callback: Callback,
        controller: ControllerMode,
        limit_rate: bool | None,
        cutoff_frequency: float,
        torque_callback: Callback | None,
    ) -> None:
        no_motion, no_torques = (_NO_MOTION, "") if torque_callback is None else self.dialect.no_callback_texts
        if not callable(callback):
            raise InvalidArgumentException(no_motion)
        if torque_callback is not None:
            if not callable(torque_callback):
                raise InvalidArgumentException(no_torques)
            controller = ControllerMode.EXTERNAL_CONTROLLER
        elif controller == ControllerMode.EXTERNAL_CONTROLLER:
            raise InvalidArgumentException("libfranka: Invalid controller mode given.", "Give a torque_callback.")
        self._loop(kind, callback, torque_callback, kind.generator, controller, limit_rate, cutoff_frequency)

    def _loop(
        self,
        kind: type[MotionCommand],
        callback: Callback | None,
        torque_callback: Callback | None,
        generator: GeneratorMode,
        controller: ControllerMode,
        limit_rate: bool | None,
        cutoff_frequency: float,
    ) -> None:
        envelope = self._joint_velocity_envelope
        clamp = isinstance(torque_callback, KernelLaw)
        conditioner = Conditioner(self.dialect, limit_rate, cutoff_frequency, envelope, clamp)
        law = torque_callback.running() if isinstance(torque_callback, KernelLaw) else contextlib.nullcontext()
        with law, self._exclusive():
            scheduled = self.scheduling.applied(self.realtime_config is RealtimeConfig.ENFORCE)
            with self._cycle(kind, callback, torque_callback, conditioner) as cycle:
                loop = ControlLoop(self._motion, generator, controller, cycle, scheduled, self.scheduling.anticipation)
                self.loop_statistics = loop.statistics
                loop.run()

    @contextlib.contextmanager
    def _cycle(
        self,
        kind: type[MotionCommand],
        callback: Callback | None,
        torque_callback: Callback | None,
        conditioner: Conditioner,
    ) -> Iterator[Cycle]:
        """What a loop does with a state: for torques alone with a compiled part where that is possible."""
        alone = callback is None or callback is _stand_still
        if torque_callback is not None and alone:
            from franka_rt.compiled_loop.cycle import compiled_cycle  # here, because many sessions do not need it

            with compiled_cycle(self._motion, torque_callback, conditioner) as cycle:
                if cycle is not None:
                    yield cycle
                    return
        motion_stage = None if callback is None else Stage(kind, callback, conditioner)
        torque_stage = None if torque_callback is None else Stage(Torques, torque_callback, conditioner)
        yield Callbacks(self._motion, motion_stage, torque_stage)
