"""Sessions with the simulated robots over real sockets, by this project's own client, both versions."""

import itertools
import os
import resource
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
from franka_rt.dialect import CommandName, Status
from franka_rt.sim import Faults, SimulatedRobot
from tests.reference import READY
from tests.sim.bare import Client

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")


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


@pytest.fixture
def many_descriptors():
    """More than ``select`` can count."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096) if hard > 0 else 4096, hard))
    taken = [os.open(os.devnull, os.O_RDONLY)]
    while taken[-1] < 1100:
        taken.append(os.dup(taken[0]))
    yield
    for descriptor in taken:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_in_a_process_with_many_descriptors(many_descriptors):
    with SimulatedRobot("fr3", port=0, gripper_port=None, realtime=False) as sim, connect(sim) as robot:
        assert len(torque_motion(robot, 20)) == 20


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
        before = sim.statistics()
        states = torque_motion(robot, 300)
        after = sim.statistics()
        assert after["lost"] == before["lost"]
        assert after["taken"] - before["taken"] == 301  # the last one with the finished flag
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
        states = torque_motion(robot, 30)
    ids = [state.message_id for state in states]
    assert all(b > a for a, b in itertools.pairwise(ids))
    assert ids[-1] - ids[0] > 30
    assert 0.5 < states[-1].control_command_success_rate < 1.0


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
    client = Client(sim.host, sim.port, sim.dialect)
    sim.set_faults(Faults(answer_size=12))
    client.send(CommandName.STOP_MOVE)
    assert len(client.tcp.recv(100)) == 12
    client.close()


# --- the process ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def realtime():
    with SimulatedRobot("fr3", port=0, gripper_port=0) as sim:
        yield sim


def undisturbed(robot, motion, attempts=10):
    """What a motion returns that this program was not kept from for 20 ms; others may use the machine too."""
    for _ in range(attempts - 1):
        try:
            return motion()
        except errors.ControlException as error:
            if error.reasons != ("communication_constraints_violation",):
                raise
            robot.automatic_error_recovery()
    return motion()


def test_real_time_process(realtime):
    """In a process of its own; the clock may be late on a busy machine, ids never jump because of it."""
    with connect(realtime) as robot:
        before = realtime.statistics()["ticks"]
        states = undisturbed(robot, lambda: torque_motion(robot, 200))
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
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # sessions of earlier tests may end meanwhile


@pytest.mark.parametrize("robot", ["panda", "", None])
def test_unknown_robot(robot):
    with pytest.raises(errors.InvalidArgumentException, match="there is no robot"):
        SimulatedRobot(robot)
