"""The simulated vacuum gripper without sockets, as in ``gripper.py``."""

from __future__ import annotations

from dataclasses import replace

from franka_rt.dialect import CommandName, Status
from franka_rt.events import CommandDatagram, Request
from franka_rt.gripper_dialect import VACUUM_GRIPPER, DeviceStatus
from franka_rt.gripper_state import VacuumGripperState
from franka_rt.sim.reply import Reply

__all__ = ["VacuumGripper"]

_PERIOD = 10  # ticks between two states
_RATE = 1  # mbar a millisecond while the pump works or the part is blown off
_LEAK = 5  # mbar that the pump reaches without a part
_TIGHT = 500  # mbar, everything that the gripper can do


class VacuumGripper:
    """A suction gripper above a part, or without one (``part``)."""

    dialect = VACUUM_GRIPPER

    def __init__(self, first_id: int = 1000) -> None:
        green = DeviceStatus.GREEN
        self.state = VacuumGripperState(first_id, False, False, False, green, 0, 0)
        self.part = False
        self.outbox: list[Reply] = []
        self._request: Request | None = None
        self._target = self._left = 0

    def handle(self, request: Request) -> None:
        """Take a request; it aborts the one that runs."""
        self._finish(Status.ABORTED)
        if request.command is CommandName.STOP:
            self.state = replace(self.state, actual_power=0)
            self.outbox.append(Reply(request, Status.SUCCESS, b"", {}))
            return
        suck = request.command is CommandName.VACUUM
        self._request, self._left = request, int(request.arguments["timeout"])
        self._target = 10 * int(request.arguments["vacuum"]) if suck else 0
        self.state = replace(self.state, actual_power=100 if suck else 0, part_detached=False)

    def receive(self, datagram: CommandDatagram) -> None:
        """A gripper gets no datagrams."""

    def disconnect(self) -> None:
        """The client is gone; a part stays where it is."""
        self._request = None
        self.outbox.clear()

    def tick(self) -> bytes | None:
        """Advance by 1 ms; a state every so many milliseconds."""
        if self._request is not None:
            self._work()
        self.state = replace(self.state, message_id=self.state.message_id + 1)
        return self.state.datagram() if self.state.message_id % _PERIOD == 0 else None

    def _work(self) -> None:
        reach = min(self._target, _TIGHT if self.part else _LEAK)
        vacuum = self.state.vacuum + max(-_RATE, min(_RATE, reach - self.state.vacuum))
        present = self.part and vacuum >= 50
        self.state = replace(
            self.state,
            vacuum=vacuum,
            in_control_range=self._target > 0 and vacuum >= self._target,
            part_detached=self.state.part_present and not present,
            part_present=present,
        )
        self._left -= 1
        if vacuum == self._target:
            self._finish(Status.SUCCESS)
        elif self._left <= 0:
            self._finish(Status.UNSUCCESSFUL)

    def _finish(self, status: Status) -> None:
        if self._request is not None:
            self.outbox.append(Reply(self._request, status, b"", {}))
            self._request = None
