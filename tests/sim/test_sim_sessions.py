"""Sessions with the simulated robots over real sockets, by this project's own client, both versions."""

import itertools
import os
import socket
import threading
import time

import numpy as np
import pytest

from franka_rt import (
    ControllerMode,
    GeneratorMode,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    RobotMode,
    Torques,
    errors,
)
from franka_rt.connection import ClientConnection
from franka_rt.dialect import CommandName, Status
from franka_rt.events import Answer
from franka_rt.gripper_dialect import GRIPPER, VACUUM_GRIPPER
from franka_rt.gripper_state import GripperState, VacuumGripperState
from franka_rt.sim import Faults, SimulatedRobot
from tests.conftest import READY
from tests.sim.driver import ROBOTS

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")


@pytest.fixture(scope="module", params=ROBOTS)
def lock_step(request):
    with SimulatedRobot(request.param, "127.0.0.1", 0, 0, 0, realtime=False) as sim:
        yield sim


@pytest.fixture
def sim(lock_step):
    """A lock-step robot at its ready pose, without faults."""
    lock_step.place(READY)
    yield lock_step
    lock_step.set_faults(Faults())


def connect(sim):
    return Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port)


def command(robot, torque=0.0):
    """Arguments of ``update_motion`` and ``finish_motion`` in a motion of torques alone."""
    none = robot.dialect.torque_generator is GeneratorMode.NONE
    return None if none else JointVelocities(np.zeros(7)), Torques(np.full(7, torque))


def start_torques(robot):
    return robot.start_motion(robot.dialect.torque_generator, ControllerMode.EXTERNAL_CONTROLLER)


def steps(robot, cycles):
    return [robot.update_motion(*command(robot)) for _ in range(cycles)]


def torque_motion(robot, cycles, finish=True):
    """Zero torques for so many cycles; the states."""
    start_torques(robot)
    states = steps(robot, cycles)
    if finish:
        robot.finish_motion(*command(robot))
    return states


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    assert condition()


class Client:
    """The bare protocol: requests by hand, answers by id."""

    def __init__(self, host, port, dialect):
        self.connection = ClientConnection(dialect)
        self.answers: dict[int, Answer] = {}
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((host, 0))
        self.udp.settimeout(5.0)
        self.tcp = socket.create_connection((host, port), timeout=10.0)
        command_id, message = self.connection.connect(self.udp.getsockname()[1])
        self.tcp.sendall(message)
        answer = self.wait(command_id)
        assert (answer.status, answer.body["version"]) == (Status.SUCCESS, dialect.version)

    def send(self, command, **fields):
        command_id, message = self.connection.request(command, **fields)
        self.tcp.sendall(message)
        return command_id

    def wait(self, command_id) -> Answer:
        while command_id not in self.answers:
            self.connection.receive_data(self.tcp.recv(4096))
            self.answers |= {event.command_id: event for event in self.connection.events() if isinstance(event, Answer)}
        return self.answers[command_id]

    def ask(self, command, **fields):
        return self.wait(self.send(command, **fields)).status

    def close(self):
        self.tcp.close()
        self.udp.close()


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_negotiation_reading_and_setters(sim):
    with connect(sim) as robot:
        assert robot.server_version == sim.dialect.version
        first, second = robot.read_once(), robot.read_once()
        assert second.message_id > first.message_id
        robot.set_load(0.5, (0.0, 0.0, 0.1), np.eye(3) * 0.01)
        robot.set_joint_impedance((1000.0,) * 7)
        state = robot.read_once()
        assert state.m_load == pytest.approx(0.5)
        np.testing.assert_allclose(state.tau_J, robot.load_model().gravity(state), atol=1e-4)
        robot.set_load(0.0, np.zeros(3), np.zeros((3, 3)))


def test_what_only_one_version_has(sim):
    with connect(sim) as robot:
        if sim.robot == "fer":
            robot.set_filters(1000.0, 1000.0, 1000.0, 1000.0, 500.0)
            assert not robot.get_virtual_wall(3).active
            with pytest.raises(errors.CommandException, match="invalid argument"):
                robot.set_filters(2000.0, 1000.0, 1000.0, 1000.0, 500.0)
        else:
            assert 'name="link8"' in robot.get_robot_model()


def test_torque_motion_in_lock_step_loses_nothing(sim):
    with connect(sim) as robot:
        states = torque_motion(robot, 300)
        ids = [state.message_id for state in states]
        assert ids == list(range(ids[0], ids[0] + 300))
        assert states[-1].control_command_success_rate == 1.0
        np.testing.assert_allclose(robot.read_once().q, READY, atol=1e-6)


def test_the_same_motion_twice_gives_the_same_states(sim):
    def run():
        sim.place(READY)
        with connect(sim) as robot:
            state = robot.start_motion(GeneratorMode.JOINT_POSITION)
            seen = []
            for k in range(200):
                state = robot.update_motion(JointPositions(READY + 0.02 * (1 - np.cos(np.pi * k / 200)) / 2))
                seen.append((state.q.copy(), state.dq.copy(), state.tau_J.copy()))
            robot.cancel_motion()
        return np.array(seen)

    np.testing.assert_array_equal(run(), run())


def test_one_session_at_a_time(sim):
    with connect(sim) as robot:
        with pytest.raises(errors.NetworkException):
            connect(sim)
        robot.read_once()
    wait_for(lambda: not sim.statistics()["connected"])
    with connect(sim) as robot:
        assert robot.read_once().robot_mode is RobotMode.IDLE


def test_a_client_that_disappears_ends_its_motion(sim):
    arm = Client(sim.host, sim.port, sim.dialect)
    mode = sim.dialect.torque_generator
    arm.send(CommandName.MOVE, controller_mode=2, motion_generator_mode=sim.dialect.move_generators[mode])
    wait_for(lambda: sim.statistics()["moving"])
    arm.close()
    wait_for(lambda: not sim.statistics()["moving"])
    with connect(sim) as other:
        assert other.read_once().robot_mode is RobotMode.IDLE


def test_user_stop_and_guiding(sim):
    with connect(sim) as robot:
        torque_motion(robot, 10, finish=False)
        sim.press_user_stop()
        with pytest.raises(errors.ControlException, match="User Stop pressed"):
            steps(robot, 50)
        assert robot.read_once().robot_mode is RobotMode.USER_STOPPED
        with pytest.raises(errors.CommandException, match="User stopped"):
            robot.set_joint_impedance((1000.0,) * 7)
        sim.release_user_stop()
        sim.start_guiding()
        wait_for(lambda: robot.read_once().robot_mode is RobotMode.GUIDING)
        sim.stop_guiding()
        wait_for(lambda: robot.read_once().robot_mode is RobotMode.IDLE)


def test_ten_reflexes_and_recoveries(sim):
    with connect(sim) as robot:
        for _ in range(10):
            torque_motion(robot, 3, finish=False)
            with pytest.raises(errors.ControlException, match="controller_torque_discontinuity"):
                robot.update_motion(*command(robot, 20.0))
            robot.automatic_error_recovery()
        torque_motion(robot, 5)


def test_push_shows_up(sim):
    with connect(sim) as robot:
        sim.push([0, 0, -10.0, 0, 0, 0], 0.5)
        wait_for(lambda: robot.read_once().O_F_ext_hat_K[2] > 5.0)
        wait_for(lambda: abs(robot.read_once().O_F_ext_hat_K[2]) < 0.1)


# --- faults -----------------------------------------------------------------------------------------------------------


def test_lossy_states_and_commands_are_survived(sim):
    sim.set_faults(Faults(drop_states=0.1, drop_commands=0.1, duplicate_states=0.1, reorder_states=0.1))
    with connect(sim) as robot:
        states = torque_motion(robot, 60)
    ids = [state.message_id for state in states]
    assert all(b > a for a, b in itertools.pairwise(ids))
    assert ids[-1] - ids[0] > 60
    assert 0.5 < states[-1].control_command_success_rate < 1.0


def test_delayed_commands_count_as_lost(sim):
    with connect(sim) as robot:
        sim.set_faults(Faults(delay_commands=1.0, delay_ticks=3))
        with pytest.raises(errors.ControlException, match="communication_constraints_violation"):
            torque_motion(robot, 600)


def test_reset_during_a_motion(sim):
    sim.set_faults(Faults(cut_tcp_after=20))
    with connect(sim) as robot, pytest.raises(errors.NetworkException):
        torque_motion(robot, 2000)
    wait_for(lambda: not sim.statistics()["moving"])


def test_states_of_the_wrong_size(sim):
    sim.set_faults(Faults(state_size=100))
    with pytest.raises(errors.ProtocolException, match="incorrect object size"):
        connect(sim)


def test_silence(sim):
    sim.set_faults(Faults(silent_after=30))
    with connect(sim) as robot, pytest.raises(errors.NetworkException):
        [robot.read_once() for _ in range(40)]


def test_refused_commands(sim):
    sim.set_faults(Faults(refuse={"Move": "ReflexAborted", "Set Load": Status.COMMAND_NOT_POSSIBLE_REJECTED}))
    with connect(sim) as robot:
        with pytest.raises(errors.CommandException, match="aborted by reflex"):
            start_torques(robot)
        with pytest.raises(errors.CommandException, match="not possible"):
            robot.set_load(0.1, np.zeros(3), np.zeros((3, 3)))


@pytest.mark.parametrize("version", [4, 6, 9, 11])
def test_another_version(sim, version):
    sim.set_faults(Faults(connect_version=version))
    with pytest.raises(errors.IncompatibleVersionException) as caught:
        connect(sim)
    assert caught.value.server_version == version


def test_a_refusal_that_the_version_does_not_have(sim):
    with pytest.raises(errors.InvalidArgumentException, match="has no status"):
        sim.set_faults(Faults(refuse={"Set Load": "ReflexAborted"}))
    with connect(sim) as robot:  # nothing has changed
        robot.set_load(0.0, np.zeros(3), np.zeros((3, 3)))


def test_cut_answers(sim):
    with connect(sim) as robot:
        sim.set_faults(Faults(answer_size=12))
        with pytest.raises(errors.FrankaException):
            robot.set_load(0.0, np.zeros(3), np.zeros((3, 3)))
        sim.set_faults(Faults())


# --- the process ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def realtime():
    with SimulatedRobot("fr3", port=0, gripper_port=0) as sim:
        yield sim


def test_real_time_process(realtime):
    """In a process of its own; the clock may be late on a busy machine, ids never jump because of it."""
    with connect(realtime) as robot:
        before = realtime.statistics()["ticks"]
        states = torque_motion(robot, 200)
        assert realtime.statistics()["ticks"] - before >= 200
    assert all(b.message_id > a.message_id for a, b in itertools.pairwise(states))
    np.testing.assert_allclose(realtime.state().q, READY, atol=1e-6)


def test_errors_of_the_process_are_raised_here(realtime):
    with pytest.raises(errors.NetworkException, match="cannot listen"):
        SimulatedRobot("fr3", port=realtime.port, gripper_port=None)


def test_close_leaves_nothing_behind():
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for realtime in (False, True):
        sim = SimulatedRobot("fer", port=0, gripper_port=0, realtime=realtime)
        port = sim.port
        sim.close()
        sim.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((sim.host, port), timeout=5.0)
        with pytest.raises(errors.InvalidArgumentException, match="closed"):
            sim.push([1, 0, 0, 0, 0, 0], 1.0)
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.parametrize("robot", ["panda", "", None])
def test_unknown_robot(robot):
    with pytest.raises(errors.InvalidArgumentException, match="there is no robot"):
        SimulatedRobot(robot)


# --- grippers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def hand(sim):
    hand = Client(sim.host, sim.gripper_port, GRIPPER)
    yield hand
    hand.close()
    sim.hold_object(0.0)


@pytest.fixture
def sucker(sim):
    sucker = Client(sim.host, sim.vacuum_gripper_port, VACUUM_GRIPPER)
    yield sucker
    sucker.close()
    sim.offer_part(False)


def grasp(hand, width, inner=0.005, outer=0.005, force=20.0):
    return hand.ask(CommandName.GRASP, width=width, epsilon=(inner, outer), speed=1.0, force=force)


def test_gripper_moves_grasps_and_misses(sim, hand):
    assert hand.ask(CommandName.MOVE, width=0.05, speed=1.0) is Status.SUCCESS
    sim.hold_object(0.03)
    assert grasp(hand, 0.032) is Status.SUCCESS
    while not (state := GripperState.from_datagram(hand.udp.recv(100))).is_grasped:
        pass
    assert state.width == 0.03
    assert grasp(hand, 0.04) is Status.UNSUCCESSFUL
    assert grasp(hand, 0.04, inner=0.02) is Status.SUCCESS
    assert hand.ask(CommandName.HOMING) is Status.SUCCESS


@pytest.mark.parametrize("fields", [{"width": 0.2, "speed": 0.1}, {"width": 0.02, "speed": 0.0}])
def test_impossible_gripper_moves_fail(hand, fields):
    assert hand.ask(CommandName.MOVE, **fields) is Status.FAIL


def test_stop_aborts_the_gripper(hand):
    hand.ask(CommandName.MOVE, width=0.08, speed=1.0)
    slow = hand.send(CommandName.MOVE, width=0.0, speed=0.001)
    assert hand.ask(CommandName.STOP) is Status.SUCCESS
    assert hand.wait(slow).status is Status.ABORTED


def test_vacuum_gripper(sim, sucker):
    assert sucker.ask(CommandName.VACUUM, vacuum=10, profile=0, timeout=50) is Status.UNSUCCESSFUL  # nothing there
    sim.offer_part()
    assert sucker.ask(CommandName.VACUUM, vacuum=10, profile=0, timeout=2000) is Status.SUCCESS
    while not (state := VacuumGripperState.from_datagram(sucker.udp.recv(100))).part_present:
        pass
    assert state.vacuum >= 50
    assert sucker.ask(CommandName.DROP_OFF, timeout=2000) is Status.SUCCESS
    endless = sucker.send(CommandName.VACUUM, vacuum=200, profile=0, timeout=100000)
    assert sucker.ask(CommandName.STOP) is Status.SUCCESS
    assert sucker.wait(endless).status is Status.ABORTED
