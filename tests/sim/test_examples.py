"""Every shipped example does what it says, on both arms, and asks before a real one moves."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from franka_rt import Gripper, KernelLaw, RealtimeConfig, Robot, RobotState, VacuumGripper
from franka_rt.errors import InvalidOperationException
from franka_rt.examples import runner
from franka_rt.examples.__main__ import NAMES, summary
from franka_rt.sim import Faults
from franka_rt.state_writer import StateWriter
from tests.reference import READY

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")

SHARED = {"__init__", "__main__", "profiles", "runner", "setup"}


QUICK = 0.9
"""Seconds of a motion instead of the examples' own: faster than what they do, so nearer to every limit."""
ROUND = 2.0
"""The same for a circle, which is longer."""


def example(name):
    return importlib.import_module(f"franka_rt.examples.{name}")


@pytest.fixture(autouse=True)
def ordinary_priority(monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "0")


@pytest.fixture
def robot(sim):
    with Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
        yield robot


class Course:
    """Notes what the robot was told and what became of it, in front of an example's callbacks."""

    def __init__(self, robot, monkeypatch):
        self.states, self.commands = [], []
        stage = importlib.import_module("franka_rt.callbacks").Stage
        before = stage.__call__

        def noted(this, state, dt):
            done = before(this, state, dt)
            self.states.append(state)
            self.commands.append(this.command.values)
            return done

        monkeypatch.setattr(stage, "__call__", noted)

    def array(self, field):
        return np.array([getattr(state, field) for state in self.states])


@pytest.fixture
def course(robot, monkeypatch):
    return Course(robot, monkeypatch)


def test_the_list_is_complete():
    files = {path.stem for path in Path(runner.__file__).parent.glob("*.py")}
    assert files - SHARED == set(NAMES)
    assert all(summary(name).endswith(".") for name in NAMES)


BACK_AND_FORTH = {
    # seconds, largest excursion of q_d (rad, joints 1 to 7) or of O_T_EE_d (m)
    "generate_joint_position_motion": (QUICK, "q_d", [0, 0, 0, 0.3, 0.3, 0, 0.3]),
    "generate_joint_velocity_motion": (QUICK, "q_d", [0, 0, 0, 0.2, 0.2, 0.2, 0.2]),
    "motion_with_control": (QUICK, "q_d", [0, 0, 0, 0.3, 0.3, 0, 0.3]),
    "generate_cartesian_pose_motion": (ROUND, "O_T_EE_d", [0.05, 0, 0.1]),
    "generate_cartesian_velocity_motion": (QUICK, "O_T_EE_d", [0.0707, 0, 0.0707]),
    "joint_impedance_control": (ROUND, "O_T_EE_d", [0.05, 0, 0.1]),
}


@pytest.mark.parametrize("name", BACK_AND_FORTH)
def test_motions_go_out_and_come_back(robot, course, name):
    seconds, field, excursion = BACK_AND_FORTH[name]
    example(name).run(robot, seconds)
    values = course.array(field)[:, :3, 3] if field == "O_T_EE_d" else course.array(field)
    np.testing.assert_allclose(np.abs(values - values[0]).max(axis=0), excursion, atol=2e-3)
    np.testing.assert_allclose(values[-1], values[0], atol=2e-3)
    after = robot.read_once()
    assert not after.last_motion_errors
    np.testing.assert_allclose(after.q, after.q_d, atol=0.02)


@pytest.mark.parametrize("name", ["generate_joint_position_motion", "generate_cartesian_pose_motion"])
def test_the_first_command_is_where_the_controller_stands(driver, name):
    """Not where the arm was measured, which is elsewhere when it sags."""
    state = driver.state.copy()
    state.q[:] += 0.002
    state.O_T_EE[:3, 3] += 0.002
    module = example(name)
    callback = getattr(module, "Motion", None) or module.Circle
    wanted = state.q_d if name.startswith("generate_joint") else state.O_T_EE_c.T.ravel()
    np.testing.assert_array_equal(callback()(state, 0.0).values, wanted)


def test_active_control_moves_like_the_callback(robot):
    seen = []
    write = robot._motion.write

    def noted(motion, torques=None):
        seen.append(motion.values)
        return write(motion, torques)

    robot._motion.write = noted
    example("active_control_motion").run(robot, seconds=QUICK)
    way = np.array(seen) - READY
    np.testing.assert_allclose(way.max(axis=0), [0, 0, 0, 0.3, 0.3, 0, 0.3], atol=1e-6)
    np.testing.assert_allclose(robot.read_once().q_d, READY, atol=1e-6)


def test_elbow_swings_and_the_hand_stands(robot, course):
    example("generate_elbow_motion").run(robot, seconds=QUICK)
    np.testing.assert_allclose(np.ptp(course.array("q_d")[:, 2]), 0.2, atol=2e-3)
    poses = course.array("O_T_EE_d")
    np.testing.assert_allclose(poses, np.broadcast_to(poses[0], poses.shape), atol=1e-4)


def test_point_to_point(sim, robot, course):
    """From elsewhere, within the share of the limits that was asked for, beginning at q_d."""
    sim.place(READY + 0.1)
    example("joint_point_to_point_motion").run(robot, speed=0.8)
    np.testing.assert_allclose(robot.read_once().q_d, READY, atol=1e-5)
    away = np.abs(course.array("q_d") - example("joint_point_to_point_motion").GOAL).max(axis=1)
    assert away.min() < 1e-4
    limit = robot.dialect.limits
    assert (np.abs(course.array("dq_d")) <= 0.82 * robot.upper_joint_velocity_limits(READY)).all()
    assert (np.abs(course.array("ddq_d")) <= 0.9 * limit.joint_acceleration).all()
    np.testing.assert_allclose(course.commands[0], READY + 0.1, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options"), [("cartesian_impedance_control", {}), ("compiled_impedance", {"compiled": True})]
)
def test_impedance_gives_way_like_its_spring(sim, robot, monkeypatch, capsys, name, options):
    before = robot.read_once()
    control = robot.control_torques

    def pushed(law, **chosen):
        assert chosen == options
        sim.push([0, 8, 0, 0, 0, 0], 1.7)
        control(law, **chosen)

    monkeypatch.setattr(robot, "control_torques", pushed)
    example(name).run(robot, seconds=1.5)
    away = robot.latest_state().O_T_EE[:3, 3] - before.O_T_EE[:3, 3]
    np.testing.assert_allclose(away, [0, 8 / 150, 0], atol=6e-3)
    assert "mm away" in capsys.readouterr().out
    robot.read(lambda state: state.time < before.time + 1.8)  # until nobody pushes any more


def test_the_compiled_impedance_is_the_one_in_python(robot):
    """With a load and an end effector, away from where the arm is held, and moving."""
    python, here = example("cartesian_impedance_control"), robot.read_once().O_T_EE
    turn = np.array([[1, -1e-4, 0], [1e-4, 1, 0], [0, 0, 1]])  # so small that an angle is its sine
    there = here.copy()
    there[:3] = turn @ here[:3] + [[0, 0, 0, 0.02], [0, 0, 0, -0.01], [0, 0, 0, 0.03]]
    writer = StateWriter(robot.dialect)
    writer.update(q=READY, dq=np.linspace(-0.5, 0.7, 7), F_T_EE=here, m_load=2.0, F_x_Cload=[0.01, -0.02, 0.05])
    states = []
    for pose in (here, there):
        writer["O_T_EE"] = pose
        states.append(RobotState(robot.dialect, writer.datagram()))
    law = python.CartesianImpedance(robot.load_model(), seconds=1.0)
    springs = {"goal": states[0].O_T_EE, "stiffness": python.STIFFNESS, "damping": python.DAMPING}
    compiled = KernelLaw(example("compiled_impedance").compile_law(robot), end=1.0, memory=0.0, **springs)
    for state in states:
        np.testing.assert_allclose(compiled(state, 0.001).values, law(state, 0.001).values, rtol=0, atol=1e-8)


def test_force_control_presses_with_the_force_it_says(sim, robot):
    sim.put_table(float(robot.read_once().O_T_EE[2, 3]))
    try:
        assert example("force_control").run(robot, seconds=2.5) == pytest.approx(5.0, abs=0.1)
    finally:
        sim.put_table(None)
    assert not robot.read_once().last_motion_errors


def test_force_control_stops_without_a_surface(robot):
    with pytest.raises(InvalidOperationException, match="gave way"):
        example("force_control").run(robot)
    assert not robot.read_once().needs_recovery


def test_reading_examples(robot, capsys):
    example("echo_robot_state").run(robot, count=2)
    assert capsys.readouterr().out.count("RobotState") == 2
    example("print_joint_poses").run(robot)
    out = capsys.readouterr().out
    assert out.count("rotation") == 10
    assert float(out.split()[-1]) < 1e-6


@pytest.fixture(scope="module")
def hands(request):
    from franka_rt.sim import SimulatedRobot

    with SimulatedRobot("fr3", port=0, gripper_port=0, vacuum_gripper_port=0, realtime=False, patience=2.0) as sim:
        yield sim


def test_grasp(hands, monkeypatch):
    module = example("grasp_object")
    monkeypatch.setattr(module, "SPEED", 1.0)
    hands.hold_object(0.03)
    with Gripper(hands.host, hands.gripper_port) as gripper:
        assert module.run(gripper, hold=0.0) is True
        assert gripper.read_once().width == pytest.approx(0.08)
        hands.hold_object(0.0)
        assert module.pick(gripper, hold=0.0) is False


@pytest.mark.parametrize("present", [True, False])
def test_vacuum(hands, present, monkeypatch):
    hands.offer_part(present)
    module = example("vacuum_object")
    monkeypatch.setattr(module, "TIMEOUT", 2.0 if present else 0.1)
    with VacuumGripper(hands.host, hands.vacuum_gripper_port) as gripper:
        assert module.run(gripper, hold=0.0) is present
        assert not gripper.read_once().part_present


def test_lost_states_do_not_change_where_a_motion_ends(sim, robot):
    sim.set_faults(Faults(drop_states=0.005))
    robot.control_joint_velocities(example("generate_joint_velocity_motion").Motion(seconds=1.0), limit_rate=True)
    sim.set_faults(Faults())
    assert robot.loop_statistics.skipped > 0
    np.testing.assert_allclose(robot.read_once().q_d, READY, atol=0.02)
