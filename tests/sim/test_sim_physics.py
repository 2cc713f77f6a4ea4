"""The simulated arm's states obey the equations of motion, and its controllers do what they say."""

import numpy as np
import pytest

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.sim.parameters import DT
from tests.reference import READY
from tests.sim.driver import GENERATOR_OF, Driver

WRENCH = np.array([4.0, -6.0, -9.0, 0.3, -0.2, 0.5])


@pytest.fixture
def model(driver):
    return driver.arm.model.model


def smooth(n, amplitude):
    """n values from 0 to amplitude with zero velocity and acceleration at both ends."""
    s = np.arange(1, n + 1) / n
    return amplitude * (10 * s**3 - 15 * s**4 + 6 * s**5)


def loaded(state):
    from franka_jax import Payload

    return Payload(state.m_total, state.F_x_Ctotal, state.I_total)


def test_measured_torque_obeys_the_equation_of_motion(driver, model):
    """tau_J = M ddq + c + g - J^T F from one state to the next, with the arm moving and pushed."""
    driver.ask(
        CommandName.SET_LOAD, m_load=0.5, F_x_Cload=(0.01, 0.0, 0.05), I_load=np.diag([0.002, 0.002, 0.001]).ravel()
    )
    driver.move(None)
    driver.arm.plant.push(WRENCH, 1.0)
    torque = np.zeros(7)
    for _ in range(60):
        torque = torque + np.array([0.05, 0.02, -0.05, 0.05, 0.02, -0.02, 0.02])
        driver.step(tau_J_d=torque)
    plant = driver.arm.plant
    q, dq = plant.q, plant.dq
    assert np.abs(dq).max() > 0.01
    external = plant.quantities.jacobian.T @ WRENCH
    state = driver.step(tau_J_d=torque)
    ddq = (plant.dq - dq) / DT
    expected = model.inverse_dynamics(q, dq, ddq, loaded(state)) - external
    np.testing.assert_allclose(plant.tau_J, expected, atol=1e-6)  # the load of the state is float32 on v10
    np.testing.assert_allclose(plant.q, q + DT * plant.dq, atol=1e-15)


def test_drive_torque_accelerates_link_and_rotor(driver):
    """(M + B) ddq = tau - c - friction residual: one joint, from rest."""
    driver.move(None)
    plant = driver.arm.plant
    M = plant.quantities.mass + np.diag(driver.arm.parameters.armature)
    torque = np.array([0, 0, 0, 0, 0.5, 0, 0.0])
    driver.step(tau_J_d=torque)
    np.testing.assert_allclose(plant.dq / DT, np.linalg.solve(M, torque), rtol=1e-9, atol=1e-12)


def test_nothing_moves_without_torque(driver):
    driver.move(None)
    state = driver.follow("tau_J_d", [np.zeros(7)] * 300, finish=False)
    np.testing.assert_allclose(state.q, READY, atol=1e-6)
    np.testing.assert_allclose(state.dq, 0.0, atol=1e-9)
    np.testing.assert_array_equal(state.O_ddP_O, driver.dialect.real.type(np.array([0, 0, -9.81])))


def test_external_wrench_is_estimated_with_the_vendors_sign(driver):
    """What the arm exerts on its surroundings is positive, so a push shows up negative, at the stiffness frame."""
    K = np.eye(4)
    K[:3, 3] = 0.01, 0.02, 0.03
    driver.ask(CommandName.SET_EE_TO_K, EE_T_K=K.T.ravel())
    driver.arm.plant.push(WRENCH, 1.0)
    state = driver.tick(400)
    pose = state.O_T_EE
    lever = pose[:3, :3] @ K[:3, 3]
    at_K = np.concatenate([WRENCH[:3], WRENCH[3:] - np.cross(lever, WRENCH[:3])])
    np.testing.assert_allclose(state.O_F_ext_hat_K, -at_K, atol=0.05)
    np.testing.assert_allclose(state.K_F_ext_hat_K[:3], pose[:3, :3].T @ -WRENCH[:3], atol=0.05)
    np.testing.assert_allclose(state.tau_ext_hat_filtered, -driver.arm.plant.quantities.jacobian.T @ WRENCH, atol=0.05)
    state = driver.tick(1000)
    np.testing.assert_allclose(state.O_F_ext_hat_K, 0.0, atol=1e-6)


@pytest.mark.parametrize("direction", np.eye(6))
def test_however_strong_a_push_the_numbers_stay_finite(driver, direction):
    driver.arm.plant.push(3e4 * direction, 0.2)
    for _ in range(300):
        assert np.isfinite(driver.tick().reals).all()


def test_cartesian_impedance_gives_way_like_its_spring(driver):
    driver.ask(CommandName.SET_CARTESIAN_IMPEDANCE, K_x=(500.0, 500.0, 500.0, 50.0, 50.0, 50.0))
    driver.move(GeneratorMode.CARTESIAN_POSITION, ControllerMode.CARTESIAN_IMPEDANCE)
    begin = driver.state
    driver.arm.plant.push(np.array([5.0, 0, 0, 0, 0, 0]), 2.0)
    state = driver.follow("O_T_EE_c", [begin.O_T_EE_c.T.ravel()] * 1000, finish=False)
    np.testing.assert_allclose(state.O_T_EE[:3, 3] - begin.O_T_EE[:3, 3], (5.0 / 500.0, 0, 0), atol=2e-3)
    np.testing.assert_allclose(state.O_T_EE_c, begin.O_T_EE_c, atol=1e-7)


def test_joint_impedance_gives_way_like_its_spring(driver):
    stiffness = np.full(7, 600.0)
    driver.ask(CommandName.SET_JOINT_IMPEDANCE, K_theta=stiffness)
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.arm.plant.push(np.array([0, 0, -8.0, 0, 0, 0]), 3.0)
    state = driver.follow("dq_c", [np.zeros(7)] * 1000, finish=False)
    expected = driver.arm.plant.quantities.jacobian.T @ np.array([0, 0, -8.0, 0, 0, 0]) / stiffness
    np.testing.assert_allclose(state.q - state.q_d, expected, atol=5e-4)


@pytest.mark.parametrize("controller", [ControllerMode.JOINT_IMPEDANCE, ControllerMode.CARTESIAN_IMPEDANCE])
def test_joint_positions_are_tracked_and_echoed(driver, controller):
    driver.move(GeneratorMode.JOINT_POSITION, controller)
    begin = driver.state.q_d
    path = begin + smooth(600, 0.15)[:, None] * np.array([1, -1, 1, -1, 1, -1, 1])
    velocity = np.diff(path, axis=0, prepend=begin[None]) / DT
    for q, dq in zip(path[:-1], velocity, strict=False):
        state = driver.step(q_c=q)
        np.testing.assert_allclose(state.q_d, q, atol=1e-6)
        np.testing.assert_allclose(state.dq_d, dq, atol=1e-3)
        assert state.robot_mode is RobotMode.MOVE
        assert np.abs(state.q - state.q_d).max() < 0.02
    driver.step(True, q_c=path[-1])
    driver.tick(300)
    assert driver.ended is Status.SUCCESS
    np.testing.assert_allclose(driver.state.q, path[-1], atol=1e-3)


def test_cartesian_poses_are_tracked_and_echoed(driver):
    driver.move(GeneratorMode.CARTESIAN_POSITION)
    begin = driver.state.O_T_EE_c
    shift = smooth(1000, 1.0)[:, None] * np.array([0.08, 0.05, -0.05])
    pose = begin.copy()
    for k, d in enumerate(shift):
        pose[:3, 3] = begin[:3, 3] + d
        state = driver.step(k == len(shift) - 1, O_T_EE_c=pose.T.ravel())
        np.testing.assert_allclose(state.O_T_EE_d, pose, atol=1e-5)
    assert driver.ended is Status.SUCCESS
    state = driver.tick(300)
    np.testing.assert_allclose(state.O_T_EE, pose, atol=1e-3)


def test_elbow_is_followed(driver):
    driver.move(GeneratorMode.CARTESIAN_POSITION)
    begin = driver.state
    for k, d in enumerate(smooth(1000, 0.1)):
        elbow = begin.elbow_c[0] + d, begin.elbow_c[1]
        driver.step(k == 999, O_T_EE_c=begin.O_T_EE_c.T.ravel(), elbow_c=elbow, valid_elbow=1)
    assert driver.ended is Status.SUCCESS
    assert driver.state.q_d[2] == pytest.approx(0.1, abs=1e-5)
    np.testing.assert_allclose(driver.state.O_T_EE_d, begin.O_T_EE_d, atol=1e-5)


def test_cartesian_velocity_is_integrated(driver):
    driver.move(GeneratorMode.CARTESIAN_VELOCITY)
    begin = driver.state.O_T_EE
    speed = 0.1 * np.sin(np.linspace(0, np.pi, 801)) ** 2
    state = driver.follow("O_dP_EE_c", [np.array([0, 0, 0, 0, 0, v]) for v in speed])
    assert driver.ended is Status.SUCCESS
    turned = state.O_T_EE_c[:3, :3] @ begin[:3, :3].T
    assert np.arctan2(turned[1, 0], turned[0, 0]) == pytest.approx(speed.sum() * DT, abs=1e-6)
    np.testing.assert_allclose(state.O_T_EE_c[:3, 3], begin[:3, 3], atol=1e-6)


def test_same_commands_give_the_same_bytes():
    def run():
        driver = Driver("fr3")
        driver.move(None)
        rng = np.random.default_rng(3)
        torque, datagrams = np.zeros(7), []
        for _ in range(100):
            torque = torque + rng.uniform(-0.2, 0.2, 7)
            driver.step(tau_J_d=torque)
            datagrams.append(driver.arm.writer.datagram())
        return datagrams

    assert run() == run()


def limited(v, s, U, L, limits):
    """The vendor's rate limiter for velocities (FCI protocol 9.4), from the echoes of a state."""
    A, J = limits.joint_acceleration, limits.joint_jerk
    a = s.ddq_d + np.clip(((v - s.dq_d) / DT - s.ddq_d) / DT, -J, J) * DT
    rise, fall = np.minimum(J / A * (U - s.dq_d), A), np.maximum(J / A * (L - s.dq_d), -A)
    return s.dq_d + np.maximum(np.minimum(a, rise), fall) * DT


def velocity_limits(driver):
    """The vendor's margins taken off: constants (version 5) or the envelope at q_d (version 10)."""
    constant = driver.dialect.limits.joint_velocity
    if constant is not None:
        return -constant, constant
    lower, upper = driver.arm.model.velocity_limits(driver.state.q_d)
    return lower + 1e-3, upper - 1e-3


@pytest.mark.parametrize("name", ["q_c", "dq_c"])
def test_what_the_vendors_rate_limiter_lets_through_is_accepted(driver, name):
    """Steps at the limits, saturated all the time, from echoes in the wire's precision."""
    driver.move(GENERATOR_OF[name])
    begin, limits = driver.state.q_d, driver.dialect.limits
    signs = np.array([1, -1, 1, -1, 1, -1, 1])
    for k in range(1200):
        s = driver.state
        L, U = velocity_limits(driver)
        side = 1 if k // 300 % 2 == 0 else -1
        if name == "dq_c":
            driver.step(dq_c=limited(1.5 * side * signs, s, U, L, limits))
        else:
            driver.step(q_c=s.q_d + limited((begin + 0.05 * side * signs - s.q_d) / DT, s, U, L, limits) * DT)
        assert driver.ended is None, driver.state
