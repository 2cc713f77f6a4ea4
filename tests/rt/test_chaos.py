"""A whole Robot against servers that say anything: success, or one of this package's exceptions."""

import contextlib
import random
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    GeneratorMode,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    RobotMode,
    Status,
    Torques,
    VersionPolicy,
)
from franka_rt.connection import ServerConnection
from franka_rt.dialect import CommandName
from franka_rt.errors import FrankaException, NetworkException
from franka_rt.state_writer import StateWriter
from tests.rt.motions import IGNORE_WARNING
from tests.rt.scripted import URDF

pytestmark = IGNORE_WARNING


REFERENCES = ("q_d", "dq_d", "ddq_d", "tau_J_d", "O_T_EE_c", "O_dP_EE_c", "O_ddP_EE_c", "elbow_c")


class ChaosTransport:
    """A server in memory: honest, except that every byte it sends may be disturbed by the dice."""

    udp_port = 50000

    def __init__(self, dialect, seed, honesty):
        self.dialect, self.dice, self.honesty = dialect, random.Random(seed), honesty
        self.server, self.state = ServerConnection(dialect), StateWriter(dialect)
        self.state.update(robot_mode=RobotMode.IDLE, controller_mode=3, O_T_EE_c=np.eye(4))
        self.inbox, self.closed, self.datagrams, self.sent = b"", False, 0, 0
        self.move = None

    def send(self, data):
        self.sent += 1
        with contextlib.suppress(FrankaException):
            self.server.receive_data(data)
            for request in self.server.events():
                self._reply(request)

    def _reply(self, request):
        status = Status.SUCCESS
        if request.command is CommandName.MOVE:
            status, self.move = Status.MOTION_STARTED, request
            by_number = {number: mode for mode, number in self.dialect.move_generators.items()}
            self.state.update(
                motion_generator_mode=by_number[int(request.arguments["motion_generator_mode"])],
                controller_mode=int(request.arguments["controller_mode"]),
                robot_mode=RobotMode.MOVE,
            )
        fields = {"version": self.dialect.version} if request.command is CommandName.CONNECT else {}
        data = URDF if request.command is CommandName.GET_ROBOT_MODEL else b""
        self.inbox += self._disturb(self.server.answer(request, status, data, **fields))
        if request.command is CommandName.STOP_MOVE:
            self._end(Status.PREEMPTED)

    def _end(self, status):
        self.state.update(motion_generator_mode=0, controller_mode=3, robot_mode=RobotMode.IDLE)
        if self.move is not None:
            self.inbox += self._disturb(self.server.answer(self.move, status))
        self.move = None

    def _disturb(self, data):
        if self.dice.random() < self.honesty:
            return data
        kind, position = self.dice.randrange(6), self.dice.randrange(len(data) + 1)
        noise = self.dice.randbytes(self.dice.randrange(1, 5))
        longer = data[:position] + noise + data[position:]
        other = (data[:position] + noise + data[position + len(noise) :])[: len(data)]
        return (data[:position], longer, noise * 300, b"", other, self._another_state(data))[kind]

    def _another_state(self, data):
        """A state (or the start of an answer) with another id, other modes, or numbers that are none."""
        if len(data) < self.dialect.state.itemsize:
            return data
        state: Any = np.frombuffer(data, self.dialect.state, count=1).copy()
        name = self.dice.choice(
            ["message_id", "motion_generator_mode", "controller_mode", "robot_mode", "q_d", "O_T_EE_c"]
        )
        state[name] = np.nan if state[name].dtype.kind == "f" else self.dice.choice([0, 1, 2, 3, 4, 5, 6, 255])
        return state.tobytes()

    def receive(self, timeout):
        if self.inbox:
            data, self.inbox = self.inbox, b""
            return data
        return b"" if timeout > 0 else None  # who waits in vain finds the connection closed

    def receive_datagram(self):
        self.datagrams += 1
        if self.datagrams > 150:
            raise NetworkException("libfranka: UDP receive: Timeout")
        self.state["message_id"] = int(self.state["message_id"]) + 1
        return self._disturb(self.state.datagram())

    def poll_datagram(self):
        return None

    def send_datagram(self, data):
        if self.server.receive_datagram(data).finished:
            self._end(Status.SUCCESS)

    def shutdown(self):
        self.closed = True

    close = shutdown


Q = JointPositions(np.zeros(7))


def by_hand(robot):
    robot.start_motion(GeneratorMode.JOINT_POSITION)
    for _ in range(10):
        robot.update_motion(Q)
    robot.finish_motion(Q)


def in_loops(robot):
    """Of all kinds, filtered and limited by what the states say."""
    for kind in (JointPositions, JointVelocities, CartesianPose, CartesianVelocities, Torques):
        name = "torques" if kind is Torques else kind.name
        getattr(robot, f"control_{name}")(counting(kind), limit_rate=True)


def counting(kind):
    count = iter(range(100))

    def callback(state, dt):
        command = kind(np.eye(4) if kind is CartesianPose else np.zeros(kind.size))
        return command.finished() if next(count) == 10 else command

    return callback


def in_active_control(robot):
    with robot.start_joint_position_control() as control:
        for _ in range(10):
            control.read_once()
            control.write_once(Q)
        control.write_once(JointPositions(np.zeros(7)).finished())


def session(transport, dialect, move):
    """Everything a program does, in short; True if it went well."""
    version = VersionPolicy.exact(dialect.fci_version)
    with Robot("chaos", RealtimeConfig.IGNORE, version, connector=lambda _: transport) as robot:
        robot.set_load(0.1, [0, 0, 0], np.eye(3) * 1e-3)
        move(robot)
        robot.automatic_error_recovery()
    return True


MOVES = (by_hand, in_loops, in_active_control)


@pytest.mark.parametrize("move", MOVES)
def test_an_honest_server_is_understood(arm, move):
    assert session(ChaosTransport(arm, 0, honesty=1.0), arm, move)


@pytest.mark.parametrize("honesty", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("move", MOVES)
def test_any_server_gives_success_or_one_of_our_exceptions(arm, move, honesty):
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(0, 2**32))
    def run(seed):
        transport = ChaosTransport(arm, seed, honesty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(FrankaException):
                session(transport, arm, move)
        assert transport.closed

    run()
