"""Callback loops, active control and grippers with the simulated FER and FR3, in lock-step: the same every time.

The simulated robots judge commands as the vendor documents it, so a command stream that they accept is one that a real
arm accepts, as far as that is known.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    Gripper,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    TargetStatus,
    Torques,
    VacuumGripper,
)
from franka_rt.errors import CommandException, ControlException
from franka_rt.sim import Faults, SimulatedRobot
from tests.reference import READY
from tests.rt.expect import raises
from tests.rt.motions import MARKS

pytestmark = MARKS

ROOT = Path(__file__).parents[2]
SECONDS = 0.3
ENDS = {
    "joint_positions": JointPositions,
    "joint_velocities": JointVelocities,
    "cartesian_pose": CartesianPose,
    "cartesian_velocities": CartesianVelocities,
}


@pytest.fixture(scope="module", params=["fer", "fr3"])
def standing(request):
    with SimulatedRobot(request.param, port=0, gripper_port=None, realtime=False, patience=0.05) as sim:
        yield sim


@pytest.fixture
def sim(standing):
    standing.set_faults(Faults())
    standing.place(READY)
    return standing


@pytest.fixture
def robot(sim):
    with Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
        yield robot


class Smooth:
    """From the present command to ``amplitude`` more, at rest at both ends, by integrating dt."""

    def __init__(self, kind, amplitude, seconds=SECONDS):
        self.kind, self.amplitude, self.seconds, self.time = kind, amplitude, seconds, 0.0
        self.start: Any = None

    def __call__(self, state, dt):
        if self.start is None:
            self.start = state.q_d if self.kind is JointPositions else state.O_T_EE_c
        self.time += dt
        phase = np.pi * min(self.time / self.seconds, 1.0)
        self.part = 0.5 * self.amplitude * (1 - np.cos(phase))
        self.rate = 0.5 * self.amplitude * np.sin(phase) * np.pi / self.seconds
        command = self.kind(self.output())
        return command.finished() if self.time >= self.seconds else command

    def output(self):
        if self.kind is JointPositions:
            return self.start + self.part * np.eye(7)[3]
        if self.kind is JointVelocities:
            return self.rate * np.eye(7)[3]
        if self.kind is CartesianVelocities:
            return self.rate * np.eye(6)[2]
        pose = self.start.copy()
        pose[2, 3] += self.part
        return pose


AMPLITUDES = {
    "joint_positions": 0.05,
    "joint_velocities": 0.05,
    "cartesian_pose": 0.02,
    "cartesian_velocities": 0.02,
}


def impedance(state, dt):
    return Torques(600 * (state.q_d - state.q) - 30 * (state.dq - state.dq_d))


@pytest.mark.parametrize("torque_callback", [None, impedance], ids=["alone", "with torques"])
@pytest.mark.parametrize("kind", ENDS)
def test_a_smooth_motion_arrives_with_the_default_options(sim, robot, kind, torque_callback):
    before = robot.read_once()
    script = Smooth(ENDS[kind], AMPLITUDES[kind])
    getattr(robot, f"control_{kind}")(script, torque_callback=torque_callback)
    after = robot.read_once()
    moved = (after.q_d - before.q_d)[3] if kind.startswith("joint") else (after.O_T_EE_d - before.O_T_EE_d)[2, 3]
    # with torques the arm follows as well as the callback's springs pull it, and stays where it is when they end
    assert moved == pytest.approx(AMPLITUDES[kind], rel=0.05 if torque_callback is None else 0.15)
    assert not after.last_motion_errors


def test_torques_alone_hold_the_arm_against_a_push(sim, robot):
    model_free = robot.read_once().q
    time = 0.0

    def callback(state, dt):
        nonlocal time
        time += dt
        tau = Torques(600 * (model_free - state.q) - 30 * state.dq)
        return tau.finished() if time > SECONDS else tau

    sim.push([0, 0, -5, 0, 0, 0], 0.2)
    robot.control_torques(callback)
    np.testing.assert_allclose(robot.read_once().q, model_free, atol=0.02)


def steps(kind, size):
    """Nothing, a step up, a step down, nothing: at rest at the end, unless the robot objects before."""
    calls = iter(range(10**6))

    def callback(state, dt):
        call = next(calls)
        values = np.zeros(kind.size)
        values[0] = size * (10 < call < 60)
        command = kind(values)
        return command.finished() if call == 150 else command

    return callback


STEPS = {
    "joint_velocities": (JointVelocities, 0.1, "joint_motion_generator_velocity_discontinuity"),
    "torques": (Torques, 5.0, "controller_torque_discontinuity"),
}


@pytest.mark.parametrize("kind", STEPS)
def test_a_step_passes_the_robot_only_with_the_limiter(sim, robot, kind):
    command, size, flag = STEPS[kind]
    control = getattr(robot, f"control_{kind}")
    with raises(ControlException, flag) as error:
        control(steps(command, size), limit_rate=False, cutoff_frequency=1000.0)
    assert flag in error.value.reasons
    robot.automatic_error_recovery()
    sim.place(READY)
    control(steps(command, size), limit_rate=True, cutoff_frequency=1000.0)


def test_ten_real_reflexes_and_recoveries_in_a_row(sim, robot):
    for _ in range(10):
        with raises(ControlException, "controller_torque_discontinuity"):
            robot.control_torques(steps(Torques, 30.0), limit_rate=False, cutoff_frequency=1000.0)
        assert robot.read_once().needs_recovery
        robot.automatic_error_recovery()
    robot.control_torques(steps(Torques, 0.0))


LINKS = {
    "states lost": Faults(drop_states=0.1),
    "commands lost": Faults(drop_commands=0.1),
    "states twice": Faults(duplicate_states=0.1),
    "states out of order": Faults(reorder_states=0.1),
}


@pytest.mark.parametrize("fault", LINKS)
def test_a_bad_link_costs_cycles_not_the_motion(sim, robot, fault):
    """Ten percent of the datagrams lost, late, twice or out of order: dt tells, and the motion arrives."""
    sim.set_faults(LINKS[fault])
    robot.control_joint_positions(Smooth(JointPositions, 0.01, seconds=0.15), limit_rate=True)
    sim.set_faults(Faults())
    assert not robot.read_once().last_motion_errors
    if fault == "states lost":
        assert robot.loop_statistics.skipped > 0


def test_active_control_and_asynchronous_motion(sim, robot):
    with robot.start_torque_control() as control:
        for _ in range(50):
            control.read_once()
            control.write_once(np.zeros(7))
        control.write_once(Torques(np.zeros(7)).finished())
    if not robot.dialect.async_motions:
        return
    target = robot.read_once().q_d + 0.05 * np.eye(7)[3]
    with robot.start_asynchronous_motion([0.5] * 7) as motion:
        motion.set_target(target)
        assert motion.status() is TargetStatus.EXECUTING
        assert motion.wait(20.0)
    np.testing.assert_allclose(robot.read_once().q_d, target, atol=1e-3)


FORK = """
import os, sys, warnings, numpy
from franka_rt import RealtimeConfig, Robot, Torques
warnings.simplefilter("ignore")
robot = Robot("127.0.0.1", RealtimeConfig.IGNORE, port=int(sys.argv[1]))
control = robot.start_torque_control()
child = os.fork()
if not child:
    try:
        robot.stop()
    except Exception as error:
        print(error, flush=True)
    del control
    robot.close()
    sys.exit()
os.waitpid(child, 0)
for _ in range(40):
    control.read_once()
    control.write_once(numpy.zeros(7))
control.write_once(Torques(numpy.zeros(7)).finished())
robot.close()
"""


def test_a_forked_process_neither_uses_nor_ends_its_parents_motion(sim):
    """As multiprocessing does it; the child's end, where its objects are dropped, stops nothing."""
    command = [sys.executable, "-c", FORK, str(sim.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "belongs to the process that was forked" in done.stdout
    assert not sim.state().last_motion_errors


@pytest.fixture
def hands():
    """An FR3 with both kinds of gripper; what arm they sit on makes no difference."""
    with SimulatedRobot("fr3", port=0, gripper_port=0, vacuum_gripper_port=0, realtime=False) as sim:
        yield sim


def test_grippers(hands):
    with Gripper(hands.host, hands.gripper_port) as gripper:
        assert gripper.homing() is True
        hands.hold_object(0.03)
        assert gripper.grasp(0.03, 1.0, 20.0) is True
        assert gripper.read_once().is_grasped
        assert gripper.move(0.07, 1.0) is True
        assert gripper.grasp(0.01, 1.0, 20.0) is False
        assert gripper.grasp(0.05, 1.0, 20.0, 0.03, 0.005) is True
        slow = gripper.move_async(0.04, 0.001)
        assert gripper.stop() is True
        with raises(CommandException, "libfranka gripper: Command aborted!"):
            slow.result(5.0)
        with raises(CommandException, "libfranka gripper: Command failed!", "width 0.2"):
            gripper.move(0.2, 0.1)
    with VacuumGripper(hands.host, hands.vacuum_gripper_port) as gripper:
        hands.offer_part()
        assert gripper.vacuum(40, 2.0) is True
        assert gripper.read_once().part_present
        assert gripper.drop_off(2.0) is True
        hands.offer_part(False)
        assert gripper.vacuum(40, 0.1) is False
        assert gripper.stop() is True
