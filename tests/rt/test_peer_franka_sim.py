"""Our client against franka-sim, an independent server for version 10 (its physics replaced by plain kinematics)."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from franka_rt import ControllerMode, GeneratorMode, JointPositions, RealtimeConfig, Robot, RobotMode, Torques
from franka_rt.errors import ControlException, NetworkException
from tests.rt.expect import raises

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")]
SERVER = Path(__file__).parent / "peers" / "franka_sim_server.py"
HOST = "127.0.0.44"


def connect(port, process):
    """A session as soon as the server listens."""
    for _ in range(200):
        try:
            return Robot(HOST, RealtimeConfig.IGNORE, port=port)
        except NetworkException:
            assert process.poll() is None, "franka-sim ended"
            time.sleep(0.1)
    raise AssertionError("franka-sim does not listen")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    if importlib.util.find_spec("franka_sim") is None:
        text = "franka-sim is not installed: our client was NOT compared with an independent server"
        warnings.warn(f"{text} (pip install --no-deps franka-sim==1.1.7)", stacklevel=1)
        pytest.skip(text)
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("franka_sim") / "log").open("w")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = ["timeout", "-k", "1", "90", sys.executable, str(SERVER), HOST, str(port)]
    with log, subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process:
        try:
            with connect(port, process) as robot:
                yield robot
        finally:
            process.terminate()  # timeout passes it on


def run(robot, generator, controller, motion, torques, cycles=200):
    first = state = robot.start_motion(generator, controller)
    for step in range(cycles):
        state = robot.update_motion(motion and motion(first, step), torques)
    robot.finish_motion(motion and motion(first, cycles - 1), torques)
    return first, state


def joint_motion(first, step):
    q = first.q_d.copy()
    q[6] += 0.02 * (1 - np.cos(np.pi * step / 200))
    return JointPositions(q)


def test_read_and_set(robot):
    states = [robot.read_once() for _ in range(5)]
    assert np.all(np.diff([state.message_id for state in states]) > 0)
    np.testing.assert_allclose(states[0].q, [0, -0.785, 0, -2.356, 0, 1.571, 0.785], atol=1e-6)
    robot.set_load(0.1, [0, 0, 0.02], np.eye(3) * 1e-4)
    robot.set_collision_behavior([20] * 7, [20] * 7, [10] * 6, [10] * 6)
    assert robot.get_robot_model().lstrip().startswith("<")
    assert np.all(robot.upper_joint_velocity_limits(states[0].q) > 0)


def test_torques(robot):
    run(robot, GeneratorMode.NONE, ControllerMode.EXTERNAL_CONTROLLER, None, Torques(np.zeros(7)))


def test_joint_positions(robot):
    first, last = run(robot, GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE, joint_motion, None)
    assert last.q[6] - first.q[6] == pytest.approx(0.04, abs=1e-3)


def test_stop_and_recovery(robot):
    first = robot.start_motion(GeneratorMode.JOINT_POSITION)
    robot.stop()
    with raises(ControlException, "libfranka: Move command preempted!"):
        for _ in range(1000):
            robot.update_motion(JointPositions(first.q_d))
    robot.automatic_error_recovery()
    assert robot.read_once().robot_mode is RobotMode.IDLE
    run(robot, GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE, joint_motion, None)
