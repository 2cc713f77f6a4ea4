"""The Franka Hand."""

from __future__ import annotations

import warnings
from concurrent.futures import Future
from typing import Any

from franka_rt import checks
from franka_rt.dialect import CommandName, Status
from franka_rt.gripper_client import GripperClient
from franka_rt.gripper_dialect import GRIPPER
from franka_rt.gripper_state import GripperState
from franka_rt.session import Connector

__all__ = ["Gripper", "NotHomedWarning"]

_HOME_FIRST = "The largest width is not known: call homing() first (after every start and every change of fingers)."


class NotHomedWarning(UserWarning):
    """The gripper does not know its largest width."""


class Gripper(GripperClient):
    """Connects to a gripper.

    Args:
        host: address or name, the robot's.
        port: TCP port of the gripper.
        timeout: seconds for connecting and for the handshake.
        command_timeout: seconds that a command may take.
        connector: opens the transport instead of sockets to ``host``, for tests.

    Commands return True for success and False when they were carried out without success; they raise CommandException
    when the gripper refused or aborted them, ProtocolException for an answer that makes no sense and NetworkException
    when the connection breaks. ``*_async`` send the command at once and return a :class:`concurrent.futures.Future` of
    the same; a control loop goes on meanwhile. :meth:`stop` may come from any thread and aborts what runs.

    Use ``with Gripper(...) as gripper`` or ``close()``.
    """

    def __init__(
        self,
        host: str,
        port: int = GRIPPER.port,
        *,
        timeout: float | None = None,
        command_timeout: float = 120.0,
        connector: Connector | None = None,
    ) -> None:
        decode = GripperState.from_datagram
        super().__init__(GRIPPER, "gripper", decode, host, port, timeout, command_timeout, connector)

    def read_once(self) -> GripperState:
        """A fresh state; what had been queued is thrown away. NetworkException when none comes within a second.

        InvalidOperationException while another thread reads.
        """
        return self._read_once()

    def homing(self) -> bool:
        """Find out the largest width by opening and closing. Needed after power-on and after a change of fingers."""
        return self._call(CommandName.HOMING)

    def homing_async(self) -> Future[bool]:
        """:meth:`homing` without waiting."""
        return self._start(CommandName.HOMING)

    def move(self, width: float, speed: float) -> bool:
        """Open or close to a width (m) with a speed (m/s), without grasping."""
        return self._call(CommandName.MOVE, **_move(width, speed))

    def move_async(self, width: float, speed: float) -> Future[bool]:
        """:meth:`move` without waiting."""
        return self._start(CommandName.MOVE, **_move(width, speed))

    def grasp(
        self,
        width: float,
        speed: float,
        force: float,
        epsilon_inner: float = 0.005,
        epsilon_outer: float = 0.005,
    ) -> bool:
        """Close until the fingers meet something, and hold it.

        The object counts as grasped (True) if the fingers' distance d then satisfies
        ``width - epsilon_inner < d < width + epsilon_outer``. False means that d is elsewhere, which is no
        failure of the gripper: ``read_once().width`` and ``.is_grasped`` tell what is between the fingers. For an
        object of unknown size choose ``width`` in the middle of what may come, and tolerances that reach its ends.

        Args:
            width: expected size of the object, m.
            speed: closing speed, m/s.
            force: grasping force, N.
            epsilon_inner: how much smaller than ``width`` the object may be, m.
            epsilon_outer: how much larger than ``width`` the object may be, m.
        """
        return self._call(CommandName.GRASP, **_grasp(width, speed, force, epsilon_inner, epsilon_outer))

    def grasp_async(
        self,
        width: float,
        speed: float,
        force: float,
        epsilon_inner: float = 0.005,
        epsilon_outer: float = 0.005,
    ) -> Future[bool]:
        """:meth:`grasp` without waiting."""
        return self._start(CommandName.GRASP, **_grasp(width, speed, force, epsilon_inner, epsilon_outer))

    def stop(self) -> bool:
        """Stop what runs, also to let go of the force on a grasped object; from any thread."""
        return self._call(CommandName.STOP)

    def stop_async(self) -> Future[bool]:
        """:meth:`stop` without waiting."""
        return self._start(CommandName.STOP)

    def _explain(self, command: CommandName, status: Status) -> str:
        if command not in (CommandName.MOVE, CommandName.GRASP) or status not in (Status.FAIL, Status.UNSUCCESSFUL):
            return ""
        state = self._try_state()
        if state is None or state.max_width > 0.0:
            return ""
        if status is Status.UNSUCCESSFUL:
            warnings.warn(f"franka_rt: {command.value} was unsuccessful. {_HOME_FIRST}", NotHomedWarning, stacklevel=4)
        return _HOME_FIRST


def _move(width: float, speed: float) -> dict[str, Any]:
    return {"width": checks.number("width", width), "speed": checks.number("speed", speed)}


def _grasp(width: float, speed: float, force: float, inner: float, outer: float) -> dict[str, Any]:
    epsilon = checks.number("epsilon_inner", inner), checks.number("epsilon_outer", outer)
    return {**_move(width, speed), "force": checks.number("force", force), "epsilon": epsilon}
