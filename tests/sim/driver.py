"""A client without sockets: requests and commands go straight into a simulated arm."""

from collections.abc import Iterable

import numpy as np

from franka_rt.connection import ServerConnection
from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, Status, pack, unpack
from franka_rt.events import Request
from franka_rt.layouts import DEFAULT_DEVIATION
from franka_rt.sim.arm import Arm
from franka_rt.sim.model import load_model
from franka_rt.sim.parameters import DT, PARAMETERS
from franka_rt.state import RobotState

ROBOTS = ("fer", "fr3")


GENERATOR_OF = {
    "q_c": GeneratorMode.JOINT_POSITION,
    "dq_c": GeneratorMode.JOINT_VELOCITY,
    "O_T_EE_c": GeneratorMode.CARTESIAN_POSITION,
    "O_dP_EE_c": GeneratorMode.CARTESIAN_VELOCITY,
    "tau_J_d": None,
}
"""Which generator takes which part of a command; None stands for torques alone."""


class Driver:
    """One arm and what it has answered and shown."""

    def __init__(self, robot: str) -> None:
        self.arm = Arm(PARAMETERS[robot], load_model(robot))
        self.dialect = self.arm.dialect
        self._connection = ServerConnection(self.dialect)
        self._next_id = 1
        self.answers: list[tuple[CommandName, Status]] = []
        self.state = self.tick()

    def ask(self, name: CommandName, **fields) -> list[Status]:
        """Statuses that are answered at once."""
        layout = self.dialect.spec(name).request
        request = Request(self._next_id, name, unpack(layout, pack(layout, fields)))
        self._next_id += 1
        self.arm.handle(request)
        return self._collect()

    def move(
        self, generator: GeneratorMode | None, controller=ControllerMode.JOINT_IMPEDANCE, **fields
    ) -> list[Status]:
        """Send Move; None stands for torques alone. The first state of the motion is shown if it is accepted."""
        if generator is None:
            generator, controller = self.dialect.torque_generator, ControllerMode.EXTERNAL_CONTROLLER
        number = self.dialect.move_generators[generator]
        fields = {
            "maximum_path_deviation": DEFAULT_DEVIATION,
            "maximum_goal_pose_deviation": DEFAULT_DEVIATION,
        } | fields
        answers = self.ask(CommandName.MOVE, motion_generator_mode=number, controller_mode=controller, **fields)
        self.tick()
        return answers

    def tick(self, count: int = 1) -> RobotState:
        """Milliseconds without a command."""
        for _ in range(count):
            self.state = RobotState(self.dialect, self.arm.tick())
            self._collect()
        return self.state

    def step(self, finished: bool = False, echo: int | None = None, **fields) -> RobotState:
        """Answer the last state (or ``echo``) with a command, and a millisecond passes."""
        self.arm.receive(self._connection.receive_datagram(self.command(finished, echo, **fields)))
        return self.tick()

    def command(self, finished: bool = False, echo: int | None = None, **fields) -> bytes:
        """A command datagram."""
        record = np.zeros((), self.dialect.command)
        record["message_id"] = self.state.message_id if echo is None else echo
        for name, value in fields.items():
            record["control" if name == "tau_J_d" else "motion"][name] = value
        part, flag = (
            self.dialect.torque_finish_flag if set(fields) == {"tau_J_d"} else ("motion", "motion_generation_finished")
        )
        record[part][flag] = finished
        return record.tobytes()

    def follow(self, name: str, values: Iterable[np.ndarray], finish: bool = True) -> RobotState:
        """One command a millisecond; the last with the finished flag."""
        sequence = list(values)
        for k, value in enumerate(sequence):
            self.step(finish and k == len(sequence) - 1, None, **{name: value})
        return self.state

    def hold(self, name: str, count: int = 20) -> None:
        """Commands that ask for no movement."""
        for _ in range(count):
            self.step(False, None, **{name: self.still(name)})

    def still(self, name: str) -> np.ndarray:
        """The command that asks for no movement now."""
        now = {"q_c": self.state.q_d, "O_T_EE_c": self.state.O_T_EE_c.T.ravel(), "O_dP_EE_c": np.zeros(6)}
        return now.get(name, np.zeros(7))

    def accelerate(self, name: str, axis: int, acceleration: float, duration: float = 3.0) -> None:
        """Velocity commands that rise smoothly on one axis, until the motion ends or the time (s) is over."""
        velocity = np.zeros_like(self.still(name))
        for k in range(int(duration / DT)):
            velocity[axis] += min(1.0, k / 100) * acceleration * DT
            self.step(False, None, **{name: velocity})
            if self.ended:
                return

    @property
    def modes(self) -> tuple[int, int, int]:
        """(generator, controller, robot mode) of the last state."""
        return self.state.modes

    @property
    def ended(self) -> Status | None:
        """The last answer to Move if it was a second one."""
        statuses = [status for name, status in self.answers if name is CommandName.MOVE]
        return statuses[-1] if statuses and statuses[-1] is not Status.MOTION_STARTED else None

    def _collect(self) -> list[Status]:
        replies, self.arm.outbox[:] = list(self.arm.outbox), []
        self.answers += [(reply.request.command, reply.status) for reply in replies]
        return [reply.status for reply in replies]
