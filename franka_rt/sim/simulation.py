"""A whole simulated robot: arm, grippers, their ports, and the loop that gives them time.

Real time: a state every millisecond of the wall clock. Where the machine cannot keep up, simulated time falls behind
instead of two states following at once: the simulation's own lateness is never counted against the client.

Lock-step: while a motion runs, the next millisecond begins as soon as the client has answered the last state, however
long (up to a limit) that takes; without a motion a millisecond lasts about a millisecond. A motion's course then
depends on the commands alone, not on the clock.
"""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from franka_rt.errors import NetworkException
from franka_rt.sim.arm import Arm
from franka_rt.sim.endpoint import Endpoint
from franka_rt.sim.faults import Faults
from franka_rt.sim.gripper import Gripper
from franka_rt.sim.model import load_model
from franka_rt.sim.modes import Event
from franka_rt.sim.parameters import DT, PARAMETERS
from franka_rt.sim.vacuum import VacuumGripper

__all__ = ["Configuration", "Simulation"]

_FD_SETSIZE = 1024  # what select() can take
_SHORTEST = 0.5 * DT  # s that a client has at least between two states


@dataclass(frozen=True)
class Configuration:
    """What to simulate; see ``SimulatedRobot``."""

    robot: str
    host: str
    port: int
    gripper_port: int | None
    vacuum_gripper_port: int | None
    realtime: bool
    seed: int
    faults: Faults = field(default_factory=Faults)
    patience: float = 0.1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return {**asdict(self), "faults": self.faults.to_dict()}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Configuration:
        """The inverse of :meth:`to_dict`."""
        return cls(**{**plain, "faults": Faults(**plain["faults"])})


def _listen(host: str, ports: Iterable[int | None]) -> list[socket.socket | None]:
    """A bound socket for each port; none is left open if one of them cannot be had."""
    with contextlib.ExitStack() as opened:
        try:
            sockets = [
                None if port is None else opened.enter_context(socket.create_server((host, port), backlog=8))
                for port in ports
            ]
        except OSError as error:
            text = f"franka_rt: the simulated robot cannot listen on {host}: {error}."
            raise NetworkException(text, "Choose another address or port; 0 takes any free one.") from error
        opened.pop_all()
    return sockets


def _readable(sockets: list[socket.socket], timeout: float) -> list[socket.socket]:
    """Those that can be read, after at most so many seconds.

    ``select`` counts microseconds, which real time needs, but takes only descriptors below 1024; ``poll`` takes all, in
    whole milliseconds, which is enough for lock-step in a process with many descriptors.
    """
    if max(s.fileno() for s in sockets) < _FD_SETSIZE:
        return select.select(sockets, [], [], timeout)[0]
    poller, by_number = select.poll(), {s.fileno(): s for s in sockets}
    for number in by_number:
        poller.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poller.poll(1e3 * timeout)]


class Simulation:
    """Devices, sockets and the loop; all of it in the thread that calls :meth:`run`, others use :meth:`call`."""

    def __init__(self, configuration: Configuration) -> None:
        c = self.configuration = configuration
        c.faults.check(PARAMETERS[c.robot].dialect)
        listeners = _listen(c.host, (c.port, c.gripper_port, c.vacuum_gripper_port))
        self.arm = Arm(PARAMETERS[c.robot], load_model(c.robot), hand=c.gripper_port is not None)
        self.gripper, self.vacuum = Gripper(), VacuumGripper()
        self.late = 0
        self._running = True
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = queue.SimpleQueue()
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        devices = (self.arm, self.gripper, self.vacuum)
        pairs = zip(devices, listeners, strict=True)
        self.endpoints = [Endpoint(d, bound, c.faults, c.seed) for d, bound in pairs if bound is not None]

    # --- the loop -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Simulate until :meth:`stop`; closes the sockets at the end."""
        wait = self._wait_for_clock if self.configuration.realtime else self._wait_for_client
        self._deadline = time.monotonic()
        try:
            while self._running:
                wait()
                self._tick()
        finally:
            self.close()

    def stop(self) -> None:
        """End :meth:`run`; from any thread."""
        self.call(lambda: setattr(self, "_running", False), lambda _: None)

    def call(self, function: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Let the loop call a function and hand the result (or the exception) to ``done``; from any thread."""
        self._calls.put((function, done))
        self._waker.send(b"\0")

    def close(self) -> None:
        """Close all sockets."""
        for endpoint in self.endpoints:
            endpoint.close()
        self._wake.close()
        self._waker.close()

    def _tick(self) -> None:
        self._cut()
        for endpoint in self.endpoints:
            endpoint.begin_tick()
            endpoint.send_state(endpoint.device.tick())

    def _cut(self) -> None:
        endpoint, motion = self.endpoints[0], self.arm.motion
        after = endpoint.faults.cut_tcp_after
        if motion is not None and after is not None and motion.states >= after:
            endpoint.close_session(reset=True)

    def _wait_for_clock(self) -> None:
        while (left := self._deadline - time.monotonic()) > 0:
            self._serve(left)
        self._serve(0.0)
        now = time.monotonic()
        self.late += now > self._deadline + DT
        self._deadline = max(self._deadline + DT, now + _SHORTEST)

    def _wait_for_client(self) -> None:
        start = time.monotonic()
        while True:
            motion = self.arm.motion
            if motion is not None and motion.answered(self.arm.message_id):
                return
            limit = self.configuration.patience if motion is not None and motion.awaits_command else DT
            left = start + limit - time.monotonic()
            if left <= 0:
                return
            self._serve(left)

    def _serve(self, timeout: float) -> None:
        """Wait for sockets and serve what they bring."""
        owners = {s: endpoint for endpoint in self.endpoints for s in endpoint.sockets()}
        for ready in _readable([*owners, self._wake], timeout):
            if ready is self._wake:
                self._take_calls()
            elif ready.fileno() >= 0:  # not closed by what came before
                owners[ready].serve(ready)

    def _take_calls(self) -> None:
        self._wake.recv(1)
        function, done = self._calls.get()
        try:
            done(function())
        except Exception as error:  # to the caller, whatever it is
            done(error)

    # --- what can be done to it ---------------------------------------------------------------------------------------

    def ports(self) -> list[int]:
        """TCP ports in the order arm, gripper, vacuum gripper, as far as they exist."""
        return [endpoint.port for endpoint in self.endpoints]

    def operate(self, name: str, *arguments: Any) -> Any:
        """An operation by name with plain values; to be called by the loop."""
        return _OPERATIONS[name](self, *arguments)

    def _statistics(self) -> dict[str, Any]:
        return {
            "ticks": self.arm.message_id,
            "late": self.late,
            "taken": self.arm.taken,
            "lost": self.arm.lost,
            "sessions": self.endpoints[0].sessions,
            "connected": self.endpoints[0].connected,
            "mode": self.arm.mode.name,
            "moving": self.arm.motion is not None,
        }

    def _set_faults(self, faults: dict[str, Any]) -> None:
        wanted = Faults(**faults)
        wanted.check(self.arm.dialect)
        for endpoint in self.endpoints:
            endpoint.set_faults(wanted)

    def _place(self, q: list[float]) -> None:
        self.arm.reset(np.array(q, float))


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "push": lambda s, wrench, seconds: s.arm.plant.push(np.array(wrench, float), seconds),
    "happen": lambda s, event: s.arm.happen(Event[event]),
    "place": Simulation._place,
    "state": lambda s: s.arm.writer.datagram().hex(),
    "statistics": Simulation._statistics,
    "set_faults": Simulation._set_faults,
    "set_object_width": lambda s, width: setattr(s.gripper, "object_width", float(width)),
    "set_table": lambda s, height: setattr(s.arm.plant, "table", height),
    "set_part": lambda s, present: setattr(s.vacuum, "part", bool(present)),
}
