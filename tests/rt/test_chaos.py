"""A whole Robot against servers that say anything: success, or one of this package's exceptions."""

import contextlib
import random
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from franka_rt import GeneratorMode, JointPositions, RealtimeConfig, Robot, RobotMode, Status, VersionPolicy
from franka_rt.connection import ServerConnection
from franka_rt.dialect import CommandName
from franka_rt.errors import FrankaException, NetworkException
from franka_rt.state_writer import StateWriter
from tests.rt.motions import IGNORE_WARNING

pytestmark = IGNORE_WARNING


class ChaosTransport:
    """A server in memory: honest, except that every byte it sends may be disturbed by the dice."""

    udp_port = 50000

    def __init__(self, dialect, seed, honesty):
        self.dialect, self.dice, self.honesty = dialect, random.Random(seed), honesty
        self.server, self.state = ServerConnection(dialect), StateWriter(dialect)
        self.state.update(robot_mode=RobotMode.IDLE, controller_mode=3)
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
            self.state.update(motion_generator_mode=1, controller_mode=0, robot_mode=RobotMode.MOVE)
        fields = {"version": self.dialect.version} if request.command is CommandName.CONNECT else {}
        self.inbox += self._disturb(self.server.answer(request, status, **fields))
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
        kind, position = self.dice.randrange(4), self.dice.randrange(len(data) + 1)
        noise = self.dice.randbytes(self.dice.randrange(1, 5))
        return (data[:position], data[:position] + noise + data[position:], noise * 300, b"")[kind]

    def receive(self, timeout):
        if self.inbox:
            data, self.inbox = self.inbox, b""
            return data
        return b"" if timeout > 0 else None  # who waits in vain finds the connection closed

    def receive_datagram(self):
        self.datagrams += 1
        if self.datagrams > 60:
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


def in_a_loop(robot):
    count = iter(range(100))

    def callback(state, dt):
        command = JointPositions(np.zeros(7))
        return command.finished() if next(count) == 10 else command

    robot.control_joint_positions(callback, limit_rate=False)


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


MOVES = (by_hand, in_a_loop, in_active_control)


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
