"""SimulatedRobot: the handle on a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from franka_rt import checks
from franka_rt.errors import InvalidArgumentException
from franka_rt.sim.faults import Faults
from franka_rt.sim.host import Host, ProcessHost, ThreadHost
from franka_rt.sim.parameters import PARAMETERS
from franka_rt.sim.simulation import Configuration
from franka_rt.state import RobotState

__all__ = ["SimulatedRobot"]

_STRONGEST = 1e4  # N, Nm


class SimulatedRobot:
    """A simulated FER or FR3 that speaks FCI on real sockets: version 5 for "fer", version 10 for "fr3".

    Args:
        robot: "fer" or "fr3".
        host: address to listen on.
        port: TCP port of the arm; 0 takes any free one, read it back from :attr:`port`. The vendor's clients know
            1337 only, so give each server its own 127.x address for them.
        gripper_port: the same for the hand (vendor: 1338); None for an arm without hand.
        realtime: True: 1 kHz by the clock, in a process of its own. False: lock-step, in a thread of this process: a
            motion goes on as fast as the client answers and depends on its commands alone.
        seed: of the random draws of faults.
        faults: what goes wrong, see :class:`Faults`.
        vacuum_gripper_port: TCP port of a vacuum gripper (vendor: 1339); None, the default, for none.
        patience: seconds of the wall clock that a lock-step motion waits for a command before it counts as lost.

    Raises InvalidArgumentException for an unknown robot or a number that is no port, NetworkException if a port cannot
    be opened. Use it in a ``with`` statement or call :meth:`close`, which is idempotent.

    Example::

        with SimulatedRobot("fr3", port=0, gripper_port=0, realtime=False) as sim:
            sim.push([0, 0, -10, 0, 0, 0], 0.5)
    """

    def __init__(
        self,
        robot: str,
        host: str = "127.0.0.1",
        port: int = 1337,
        gripper_port: int | None = 1338,
        realtime: bool = True,
        seed: int = 0,
        faults: Faults | None = None,
        vacuum_gripper_port: int | None = None,
        patience: float = 0.1,
    ) -> None:
        if robot not in PARAMETERS:
            raise InvalidArgumentException(f'franka_rt: there is no robot {robot!r}; it is "fer" or "fr3".')
        self.robot, self.host, self.dialect = robot, host, PARAMETERS[robot].dialect
        ports = port, gripper_port, vacuum_gripper_port
        for wanted in ports:
            if wanted is not None:
                checks.integer("port", wanted, 0, 65535)
        wait = checks.number("patience", patience, minimum=0.0)
        configuration = Configuration(robot, host, *ports, realtime, seed, faults or Faults(), wait)
        self._host: Host | None = (ProcessHost if realtime else ThreadHost)(configuration)
        found = iter(self._host.ports)
        opened = [None if wanted is None else next(found) for wanted in ports]
        self.port: int = opened[0] or 0
        self.gripper_port, self.vacuum_gripper_port = opened[1], opened[2]

    # --- what a person or the surroundings could do -------------------------------------------------------------------

    def push(self, wrench: Sequence[float] | np.ndarray, seconds: float) -> None:
        """Push the end effector with a wrench (6,) in N and Nm, base axes, for some time. Pushes add up."""
        values, duration = checks.vector("wrench", wrench, 6), checks.number("seconds", seconds)
        if np.abs(values).max() > _STRONGEST:
            raise InvalidArgumentException(f"franka_rt: a push has at most {_STRONGEST:g} N and Nm, got {wrench!r}.")
        if duration <= 0.0:
            raise InvalidArgumentException(f"franka_rt: a push takes a positive time, got {seconds!r}.")
        self._operate("push", values.tolist(), duration)

    def put_table(self, height: float | None) -> None:
        """Put a horizontal table under the arm, its surface (m, base frame) for the end effector to press on.

        It is hard and slippery, and only the end effector meets it. None takes it away.
        """
        self._operate("set_table", None if height is None else checks.number("height", height))

    def press_user_stop(self) -> None:
        """Press the user stop; a motion is aborted."""
        self._operate("happen", "USER_STOP")

    def release_user_stop(self) -> None:
        """Release the user stop; the robot is idle again."""
        self._operate("happen", "RELEASE")

    def start_guiding(self) -> None:
        """Press the guiding button: the arm gives way to pushes; a motion is aborted."""
        self._operate("happen", "GUIDE")

    def stop_guiding(self) -> None:
        """Release the guiding button."""
        self._operate("happen", "RELEASE")

    def activate_safety_function(self) -> None:
        """A safety function becomes active: a motion is preempted (version 5 knows no such answer: aborted)."""
        self._operate("happen", "SAFETY")

    def place(self, q: Sequence[float] | np.ndarray) -> None:
        """Put the arm at q (7,) rad, at rest, idle and without errors. For tests: no real arm jumps."""
        self._operate("place", checks.vector("q", q, 7).tolist())

    def hold_object(self, width: float) -> None:
        """Put an object of this width (m) between the fingers; 0 takes it away."""
        self._operate("set_object_width", checks.number("width", width, minimum=0.0))

    def offer_part(self, present: bool = True) -> None:
        """Put a part under the vacuum gripper, or take it away."""
        self._operate("set_part", bool(present))

    def set_faults(self, faults: Faults) -> None:
        """Faults from now on; ``Faults()`` ends them."""
        self._operate("set_faults", faults.to_dict())

    # --- looking at it ------------------------------------------------------------------------------------------------

    def state(self) -> RobotState:
        """The arm's present state, whether or not a client is connected."""
        return RobotState(self.dialect, bytes.fromhex(self._operate("state")))

    def statistics(self) -> dict[str, Any]:
        """What has happened so far.

        ``ticks`` of the millisecond counter, ``late`` ones that the machine could not keep, commands ``taken`` in time
        and ``lost``, ``sessions``, whether a client is ``connected``, the ``mode`` and whether the arm is ``moving``.
        """
        return self._operate("statistics")

    def close(self) -> None:
        """End the simulation; a connected client sees the end of its stream."""
        host, self._host = self._host, None
        if host is not None:
            host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._host is None else f"{self.host}:{self.port}"
        return f"SimulatedRobot({self.robot!r}, {self.dialect.label}, {state})"

    def _operate(self, name: str, *arguments: Any) -> Any:
        if self._host is None:
            raise InvalidArgumentException("franka_rt: the simulated robot is closed.")
        return self._host.operate(name, *arguments)
