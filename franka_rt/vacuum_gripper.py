"""The vacuum gripper (Cobot Pump)."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from franka_rt import checks
from franka_rt.dialect import CommandName
from franka_rt.errors import CommandException, InvalidArgumentException
from franka_rt.gripper_client import GripperClient
from franka_rt.gripper_dialect import VACUUM_GRIPPER, VacuumProfile
from franka_rt.gripper_state import VacuumGripperState
from franka_rt.session import Connector

__all__ = ["VacuumGripper"]


class VacuumGripper(GripperClient):
    """Connects to a vacuum gripper; arguments, outcomes and futures as for :class:`franka_rt.Gripper`."""

    def __init__(
        self,
        host: str,
        port: int = VACUUM_GRIPPER.port,
        *,
        timeout: float | None = None,
        command_timeout: float = 120.0,
        connector: Connector | None = None,
    ) -> None:
        decode = VacuumGripperState.from_datagram
        super().__init__(VACUUM_GRIPPER, "vacuum gripper", decode, host, port, timeout, command_timeout, connector)

    def read_once(self) -> VacuumGripperState:
        """A fresh state; what had been queued is thrown away. NetworkException when none comes within a second.

        InvalidOperationException while another thread reads.
        """
        return self._read_once()

    def vacuum(self, control_point: int, timeout: float, profile: VacuumProfile | int = VacuumProfile.P0) -> bool:
        """Build up vacuum to hold a part.

        Args:
            control_point: what to build up, in units of 10 mbar, 0..255.
            timeout: seconds after which to give up, in whole milliseconds on the wire.
            profile: production setup profile of the gripper.
        """
        return self._call(CommandName.VACUUM, **_vacuum(control_point, timeout, profile))

    def vacuum_async(
        self, control_point: int, timeout: float, profile: VacuumProfile | int = VacuumProfile.P0
    ) -> Future[bool]:
        """:meth:`vacuum` without waiting."""
        return self._start(CommandName.VACUUM, **_vacuum(control_point, timeout, profile))

    def drop_off(self, timeout: float) -> bool:
        """Let the part go; give up after so many seconds."""
        return self._call(CommandName.DROP_OFF, timeout=_milliseconds(timeout))

    def drop_off_async(self, timeout: float) -> Future[bool]:
        """:meth:`drop_off` without waiting."""
        return self._start(CommandName.DROP_OFF, timeout=_milliseconds(timeout))

    def stop(self) -> bool:
        """Stop what runs; from any thread."""
        return self._call(CommandName.STOP)

    def stop_async(self) -> Future[bool]:
        """:meth:`stop` without waiting."""
        return self._start(CommandName.STOP)


def _milliseconds(timeout: float) -> int:
    return round(1000.0 * checks.number("timeout", timeout, 0.0))


def _vacuum(control_point: int, timeout: float, profile: VacuumProfile | int) -> dict[str, Any]:
    point = checks.number("control_point", control_point, 0.0)
    if point > 255 or point != int(point):
        raise InvalidArgumentException(f"franka_rt: control_point is a whole number 0..255, not {control_point!r}.")
    if profile not in tuple(VacuumProfile):
        raise CommandException("Vacuum Gripper: Vacuum profile not defined!", command=CommandName.VACUUM)
    return {"vacuum": int(point), "profile": int(profile), "timeout": _milliseconds(timeout)}
