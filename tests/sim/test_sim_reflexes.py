"""Which flag a command or a collision raises (FCI protocol 19.3)."""

import numpy as np
import pytest

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.sim.motion import MAX_LOST
from tests.reference import READY


def jump(name, value):
    """After a hold, one command that differs by ``value`` from standing still."""

    def provoke(driver):
        driver.hold(name)
        driver.step(**{name: driver.still(name) + np.asarray(value)})

    return provoke


def first(name, value):
    """The very first command."""
    return lambda driver: driver.step(**{name: driver.still(name) + np.asarray(value)})


def accelerate(name, axis, acceleration):
    """A smooth but endless acceleration."""
    return lambda driver: driver.accelerate(name, axis, acceleration)


def elbow(value, count=1):
    def provoke(driver):
        for _ in range(count):
            pose = driver.state.O_T_EE_c.T.ravel()
            driver.step(O_T_EE_c=pose, elbow_c=value(driver.state), valid_elbow=1)

    return provoke


def silent(driver):
    driver.hold("dq_c", 5)
    driver.tick(MAX_LOST)


POSE_UP = np.array([0.0] * 14 + [1.0, 0.0])
NOT_A_ROTATION = np.array([0.1] + [0.0] * 15)
JP, JV, CP, CV = (GeneratorMode(i) for i in (1, 2, 3, 4))
joint, cartesian = "joint_motion_generator_", "cartesian_motion_generator_"

REFLEXES = [
    (JP, first("q_c", 0.2), "joint_position_motion_generator_start_pose_invalid"),
    (JP, jump("q_c", 0.02), joint + "velocity_limits_violation"),
    (JP, jump("q_c", 2e-5), joint + "velocity_discontinuity"),
    (JP, jump("q_c", 7.9e-6), joint + "acceleration_discontinuity"),
    (JV, jump("dq_c", 0.1), joint + "velocity_discontinuity"),
    (JV, jump("dq_c", 0.0089), joint + "acceleration_discontinuity"),
    (JV, accelerate("dq_c", 3, 4.0), joint + "velocity_limits_violation"),
    (CP, first("O_T_EE_c", 0.05 * POSE_UP), "cartesian_position_motion_generator_start_pose_invalid"),
    (CP, jump("O_T_EE_c", 0.01 * POSE_UP), cartesian + "velocity_limits_violation"),
    (CP, jump("O_T_EE_c", 3e-5 * POSE_UP), cartesian + "velocity_discontinuity"),
    (CP, jump("O_T_EE_c", 1.1e-5 * POSE_UP), cartesian + "acceleration_discontinuity"),
    (CP, jump("O_T_EE_c", NOT_A_ROTATION), "cartesian_position_motion_generator_invalid_frame"),
    (CV, jump("O_dP_EE_c", [0.0, 0.1, 0.0, 0.0, 0.0, 0.0]), cartesian + "velocity_discontinuity"),
    (CV, jump("O_dP_EE_c", [0.0, 0.0, 0.0, 0.0, 0.1, 0.0]), cartesian + "velocity_discontinuity"),
    (CP, elbow(lambda s: (s.elbow_c[0] + 0.2, s.elbow_c[1])), cartesian + "start_elbow_invalid"),
    (CP, elbow(lambda s: (s.elbow_c[0], -s.elbow_c[1])), cartesian + "elbow_sign_inconsistent"),
    (CP, elbow(lambda s: (3.0, s.elbow_c[1])), cartesian + "elbow_limit_violation"),
    (None, jump("tau_J_d", 3.0), "controller_torque_discontinuity"),
    (JV, silent, "communication_constraints_violation"),
]


@pytest.mark.parametrize(("mode", "provoke", "flag"), REFLEXES, ids=[f"{k}-{r[2]}" for k, r in enumerate(REFLEXES)])
def test_reflex_raises_the_documented_flag(driver, mode, provoke, flag):
    driver.move(mode)
    provoke(driver)
    state = driver.state
    assert driver.ended is Status.REFLEX_ABORTED
    assert flag in state.last_motion_errors
    assert list(state.current_errors) == list(state.last_motion_errors)
    assert driver.modes[1:] == (ControllerMode.OTHER, RobotMode.REFLEX)
    assert state.motion_generator_mode is GeneratorMode.IDLE
    assert state.control_command_success_rate == 0.0


@pytest.mark.parametrize(
    ("mode", "provoke", "flag"),
    [
        (JP, lambda driver: driver.step(q_c=driver.arm.setpoint.q + 2e-6), joint + "position_limits_violation"),
        (CV, accelerate("O_dP_EE_c", 5, -0.05), cartesian + "joint_position_limits_violation"),
    ],
)
def test_commands_beyond_a_joint_limit(driver, mode, provoke, flag):
    near = READY.copy()
    near[6] = driver.arm.model.upper[6] - 1e-9
    driver.arm.place(near)
    driver.move(mode)
    provoke(driver)
    assert flag in driver.state.last_motion_errors


def test_inverse_kinematics_beyond_joint_velocity(driver):
    """A Cartesian velocity that is allowed but that the joints cannot follow."""
    driver.arm.place(np.array([0, 0.6, 0, -0.9, 0, 1.5, 0.8]))
    driver.move(CV)
    driver.accelerate("O_dP_EE_c", 0, 1.2)
    reasons = set(driver.state.last_motion_errors)
    assert any(name.startswith("cartesian_motion_generator_joint_") for name in reasons), reasons


def test_collision_by_force_and_by_torque(driver):
    driver.move(None)
    driver.hold("tau_J_d")
    driver.arm.plant.push(np.array([0, 0, -80.0, 0, 0, 0]), 1.0)
    contact = False
    for _ in range(100):
        driver.step(tau_J_d=np.zeros(7))
        if driver.ended:
            break
        contact = contact or bool(driver.state.cartesian_contact.any())
    assert contact
    assert "cartesian_reflex" in driver.state.current_errors
    assert driver.state.cartesian_collision[2] == 1.0
    driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY)
    state = driver.tick(2500)
    assert state.robot_mode is RobotMode.IDLE
    assert not state.cartesian_collision.any()


def test_thresholds_decide_about_collisions(driver):
    high = {f"{b}_force_thresholds_{p}": (200.0,) * 6 for b in ("lower", "upper") for p in ("acceleration", "nominal")}
    high |= {
        f"{b}_torque_thresholds_{p}": (200.0,) * 7 for b in ("lower", "upper") for p in ("acceleration", "nominal")
    }
    assert driver.ask(CommandName.SET_COLLISION_BEHAVIOR, **high) == [Status.SUCCESS]
    driver.move(JV)
    driver.arm.plant.push(np.array([0, 0, -60.0, 0, 0, 0]), 0.1)
    driver.hold("dq_c", 150)
    assert driver.ended is None
    assert driver.state.robot_mode is RobotMode.MOVE


def test_measured_limits(driver):
    """Torques that drive joint 7 into its limit."""
    driver.move(None)
    torque = 0.0
    for _ in range(4000):
        torque = min(torque + 0.1, 1.5)
        driver.step(tau_J_d=np.array([0, 0, 0, 0, 0, 0, torque]))
        if driver.ended:
            break
    assert set(driver.state.current_errors) & {"joint_position_limits_violation", "joint_velocity_violation"}
    assert driver.state.robot_mode is RobotMode.REFLEX


def test_beyond_a_joint_limit_recovery_needs_a_hand(driver):
    driver.move(None)
    beyond = READY.copy()
    beyond[6] = driver.arm.model.upper[6] + 0.01
    driver.arm.plant.q = beyond
    driver.tick()
    assert "joint_position_limits_violation" in driver.state.current_errors
    refused = driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY)
    assert refused == [Status.MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED]
