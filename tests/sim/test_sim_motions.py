"""How motions start, are refused, lose commands and end: flags, statuses and modes (FCI protocol 6, 7, 19)."""

import dataclasses
import time

import numpy as np
import pytest

from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.model_library import SYMBOLS, machine
from franka_rt.sim import library
from franka_rt.sim.model import load_model
from franka_rt.sim.modes import Event
from franka_rt.sim.motion import MAX_LOST
from franka_rt.sim.parameters import DT
from tests.reference import READY
from tests.sim.driver import GENERATOR_OF, Driver

IDLE = (GeneratorMode.IDLE, ControllerMode.OTHER, RobotMode.IDLE)


# --- start ----------------------------------------------------------------------------------------------------------


def test_idle_is_shown_without_a_motion(driver):
    assert driver.modes == IDLE
    assert driver.state.control_command_success_rate == 0.0


@pytest.mark.parametrize("mode", [m for m in GeneratorMode if m not in (GeneratorMode.IDLE, GeneratorMode.NONE)])
@pytest.mark.parametrize("controller", [c for c in ControllerMode if c is not ControllerMode.OTHER])
def test_first_state_shows_the_modes_and_rest(driver, mode, controller):
    assert driver.move(mode, controller) == [Status.MOTION_STARTED]
    state = driver.state
    assert driver.modes == (mode, controller, RobotMode.MOVE)
    np.testing.assert_allclose(state.q_d, state.q, atol=1e-5)
    np.testing.assert_allclose(state.O_T_EE_c, state.O_T_EE, atol=1e-5)
    for name in ("dq_d", "ddq_d", "O_dP_EE_c", "O_ddP_EE_c", "delbow_c", "ddelbow_c"):
        assert not getattr(state, name).any(), name
    assert not state.current_errors
    assert not state.last_motion_errors


@pytest.mark.parametrize(
    "fields",
    [
        {"controller_mode": 3},
        {"motion_generator_mode": 9},
        {"maximum_path_deviation": (-1.0, 1.0, 1.0)},
        {"maximum_goal_pose_deviation": (np.nan, 1.0, 1.0)},
    ],
)
def test_nonsense_in_move_is_refused(driver, fields):
    assert driver.ask(CommandName.MOVE, **fields) == [Status.INVALID_ARGUMENT_REJECTED]
    assert driver.tick().modes == IDLE


def test_cartesian_motions_do_not_start_at_a_singularity(driver):
    driver.arm.place(np.zeros(7))  # stretched upwards: joints 1, 3, 5 and 7 turn about one axis
    assert driver.move(GeneratorMode.CARTESIAN_POSITION) == [Status.START_AT_SINGULAR_POSE_REJECTED]
    assert driver.move(GeneratorMode.JOINT_POSITION) == [Status.MOTION_STARTED]


def test_a_second_move_is_refused(driver):
    driver.move(None)
    assert driver.move(GeneratorMode.JOINT_POSITION) == [Status.COMMAND_NOT_POSSIBLE_REJECTED]
    assert driver.state.robot_mode is RobotMode.MOVE


# --- lost commands ----------------------------------------------------------------------------------------------------


def test_nineteen_lost_commands_are_survived(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.hold("dq_c", 150)
    assert driver.state.control_command_success_rate == 1.0
    driver.tick(MAX_LOST - 1)
    assert driver.state.control_command_success_rate == pytest.approx(1 - (MAX_LOST - 1) / 100)
    driver.hold("dq_c", 1)
    driver.tick(MAX_LOST - 1)
    assert driver.ended is None
    driver.tick()
    assert driver.ended is Status.REFLEX_ABORTED


def test_a_missing_motion_command_is_extrapolated_with_constant_acceleration(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    for k in range(1, 60):
        driver.step(dq_c=np.full(7, 2e-5 * k * k / 2))
    before = driver.state
    state = driver.tick()
    np.testing.assert_allclose(state.ddq_d, before.ddq_d, rtol=1e-5)
    np.testing.assert_allclose(state.dq_d, before.dq_d + DT * before.ddq_d, rtol=1e-4, atol=1e-7)


def test_a_missing_torque_command_repeats_the_last(driver):
    driver.move(None)
    driver.step(tau_J_d=np.full(7, 0.4))
    state = driver.tick()
    np.testing.assert_allclose(state.tau_J_d, 0.4, atol=1e-6)


def test_a_late_command_counts_as_lost(driver):
    driver.move(None)
    driver.hold("tau_J_d", 10)
    state = driver.step(echo=driver.state.message_id - 1, tau_J_d=np.full(7, 0.5))
    assert not state.tau_J_d.any()
    assert state.control_command_success_rate < 1.0


def test_commands_from_before_the_motion_are_ignored(driver):
    old = driver.state.message_id
    driver.move(None)
    state = driver.step(echo=old, tau_J_d=np.full(7, 500.0))
    assert driver.ended is None
    assert not state.tau_J_d.any()
    assert state.control_command_success_rate == 1.0


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GENERATOR_OF)
def test_finished_flag_ends_the_motion(driver, name):
    driver.move(GENERATOR_OF[name])
    driver.hold(name)
    last = driver.still(name)
    driver.step(True, **{name: last})
    assert driver.ended is Status.SUCCESS
    assert driver.modes == IDLE
    assert driver.state.control_command_success_rate == 0.0
    driver.step(True, **{name: last})  # the client repeats it until it has seen the end
    assert driver.modes == IDLE


def test_finishing_at_speed_is_a_reflex(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.accelerate("dq_c", 6, 2.0, 0.3)
    speed = driver.state.dq_d
    driver.step(True, dq_c=speed)
    assert driver.ended is Status.REFLEX_ABORTED
    assert "joint_motion_generator_acceleration_discontinuity" in driver.state.last_motion_errors


def test_stop_brakes_before_it_answers(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.accelerate("dq_c", 6, 2.0, 0.4)
    assert driver.ask(CommandName.STOP_MOVE) == []
    speeds = []
    while driver.ended is None and len(speeds) < 500:
        assert driver.state.robot_mode is RobotMode.MOVE
        speeds.append(driver.tick().dq_d[6])
    assert driver.answers[-2:] == [(CommandName.MOVE, Status.PREEMPTED), (CommandName.STOP_MOVE, Status.SUCCESS)]
    assert len(speeds) > 10
    assert np.all(np.diff(speeds) <= 0)
    assert driver.modes == IDLE
    assert not driver.state.dq_d.any()


def test_torque_motion_ends_at_rest_where_it_is(driver):
    driver.move(None)
    for _ in range(80):
        driver.step(tau_J_d=np.array([0, 0, 0, 0, 0, 0, 0.3]))
    moving = driver.state
    assert moving.dq[6] > 0.05
    driver.step(True, tau_J_d=np.array([0, 0, 0, 0, 0, 0, 0.3]))
    driver.tick(400)
    assert driver.ended is Status.SUCCESS
    np.testing.assert_allclose(driver.state.dq, 0.0, atol=1e-3)
    np.testing.assert_allclose(driver.state.q, moving.q, atol=0.05)


@pytest.mark.parametrize(
    ("event", "status", "mode"),
    [
        (Event.USER_STOP, Status.EMERGENCY_ABORTED, RobotMode.USER_STOPPED),
        (Event.GUIDE, Status.ABORTED, RobotMode.GUIDING),
        (Event.SAFETY, Status.PREEMPTED_DUE_TO_SAFETY, RobotMode.IDLE),
    ],
)
def test_interruptions(driver, event, status, mode):
    driver.move(None)
    driver.hold("tau_J_d")
    driver.arm.happen(event)
    driver.tick()
    possible = driver.dialect.spec(CommandName.MOVE).statuses
    assert driver.ended is (status if status in possible else Status.ABORTED)
    assert driver.modes == (*IDLE[:2], mode)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e308])
@pytest.mark.parametrize("name", GENERATOR_OF)
def test_a_command_that_is_not_a_number_or_absurd(driver, name, bad):
    driver.move(GENERATOR_OF[name])
    driver.hold(name, 3)
    command = np.array(driver.still(name), float)
    command[2] = bad
    driver.step(**{name: command})
    assert driver.ended is Status.INPUT_ERROR_ABORTED
    assert np.isfinite(driver.tick(5).reals).all()
    assert driver.state.robot_mode is RobotMode.IDLE


def test_what_does_not_matter_may_be_anything(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.step(dq_c=np.zeros(7), q_c=np.full(7, np.nan), tau_J_d=np.full(7, np.inf))
    assert driver.ended is None
    assert np.isfinite(driver.tick().reals).all()


# --- modes ------------------------------------------------------------------------------------------------------------


def in_mode(driver, mode):
    """Lead the arm into a mode."""
    if mode in (RobotMode.MOVE, RobotMode.REFLEX):
        driver.move(None)
        driver.hold("tau_J_d", 3)
    if mode is RobotMode.REFLEX:
        driver.step(tau_J_d=np.full(7, 5.0))
    if mode is RobotMode.GUIDING:
        driver.arm.happen(Event.GUIDE)
    if mode is RobotMode.USER_STOPPED:
        driver.arm.happen(Event.USER_STOP)
    assert driver.tick().robot_mode is mode


MODES = [RobotMode.IDLE, RobotMode.MOVE, RobotMode.REFLEX, RobotMode.GUIDING, RobotMode.USER_STOPPED]


@pytest.mark.parametrize("mode", MODES)
def test_setters_need_an_idle_robot(driver, mode):
    in_mode(driver, mode)
    possible = Status.SUCCESS if mode is RobotMode.IDLE else Status.COMMAND_NOT_POSSIBLE_REJECTED
    assert driver.ask(CommandName.SET_JOINT_IMPEDANCE, K_theta=(1000.0,) * 7) == [possible]
    assert driver.ask(CommandName.SET_GUIDING_MODE, guiding_mode=(1,) * 6, nullspace=0) == [possible]


@pytest.mark.parametrize("mode", [m for m in MODES if m is not RobotMode.MOVE])
def test_stop_without_a_motion_succeeds_in_every_mode(driver, mode):
    in_mode(driver, mode)
    assert driver.ask(CommandName.STOP_MOVE) == [Status.SUCCESS]
    assert driver.tick().robot_mode is mode


def test_recovery_leads_back_and_keeps_the_reason(driver):
    in_mode(driver, RobotMode.REFLEX)
    assert driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY) == []
    assert driver.tick().robot_mode is RobotMode.AUTOMATIC_ERROR_RECOVERY
    driver.tick(500)
    assert driver.answers[-1] == (CommandName.AUTOMATIC_ERROR_RECOVERY, Status.SUCCESS)
    assert driver.state.robot_mode is RobotMode.IDLE
    assert not driver.state.current_errors
    assert "controller_torque_discontinuity" in driver.state.last_motion_errors
    assert driver.move(None) == [Status.MOTION_STARTED]
    assert not driver.state.last_motion_errors


def test_user_stop_aborts_a_recovery(driver):
    in_mode(driver, RobotMode.REFLEX)
    driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY)
    driver.arm.happen(Event.USER_STOP)
    driver.tick(200)
    assert driver.answers[-1] == (CommandName.AUTOMATIC_ERROR_RECOVERY, Status.EMERGENCY_ABORTED)
    assert driver.state.robot_mode is RobotMode.USER_STOPPED
    assert driver.state.current_errors


def test_recovery_when_there_is_nothing_to_recover(driver):
    assert driver.ask(CommandName.AUTOMATIC_ERROR_RECOVERY) == [Status.SUCCESS]


def test_guiding_gives_way_and_stays_there(driver):
    in_mode(driver, RobotMode.GUIDING)
    driver.arm.plant.push(np.array([0, 15.0, 0, 0, 0, 0]), 0.5)
    driver.tick(800)
    driver.arm.happen(Event.RELEASE)
    moved = driver.state.q
    assert np.abs(moved - READY).max() > 0.05
    state = driver.tick(300)
    assert driver.modes == IDLE
    np.testing.assert_allclose(state.q, moved, atol=0.1)
    np.testing.assert_allclose(state.q_d, state.q, atol=1e-3)


def test_a_lost_client_ends_the_motion(driver):
    driver.move(GeneratorMode.JOINT_VELOCITY)
    driver.accelerate("dq_c", 6, 2.0, 0.2)
    driver.arm.disconnect()
    driver.tick(300)
    assert driver.modes == IDLE
    assert not driver.state.dq_d.any()
    assert not driver.arm.outbox


# --- the model library ------------------------------------------------------------------------------------------------


def test_thirty_functions_are_those_the_client_binds():
    assert set(library.functions()) == set(SYMBOLS)


@pytest.mark.parametrize("other", [{"architecture": 2, "system": 0}, {"architecture": 0, "system": 1}])
def test_no_library_for_other_machines(other):
    driver = Driver("fer")
    assert driver.ask(CommandName.LOAD_MODEL_LIBRARY, **other) == []
    for _ in range(200):
        driver.tick()
        if driver.answers:
            break
        time.sleep(0.01)
    assert driver.answers == [(CommandName.LOAD_MODEL_LIBRARY, Status.ERROR)]
    assert driver.state.robot_mode is RobotMode.IDLE  # and the stream went on


def test_without_a_compiler_there_is_no_library(monkeypatch):
    monkeypatch.setattr("franka_rt.sim.library.find_compiler", lambda cpu: None)
    unseen = dataclasses.replace(load_model("fer"))
    assert library.model_library(unseen, machine()) is None


# --- torques beside a generator ---------------------------------------------------------------------------------------


def test_torques_beside_a_generator(driver):
    """The user's torques drive the arm, the generator's positions are echoed; the motion flag ends both."""
    driver.move(GeneratorMode.JOINT_POSITION, ControllerMode.EXTERNAL_CONTROLLER)
    assert driver.modes == (GeneratorMode.JOINT_POSITION, ControllerMode.EXTERNAL_CONTROLLER, RobotMode.MOVE)
    begin, torque = driver.state.q_d, np.array([0, 0, 0, 0, 0, 0, 0.3])
    for k in range(101):
        q = begin + 1e-3 * np.sin(np.pi * k / 100) ** 2
        state = driver.step(q_c=q, tau_J_d=torque)
        np.testing.assert_allclose(state.q_d, q, atol=1e-6)
        np.testing.assert_allclose(state.tau_J_d, torque, atol=1e-6)
    assert driver.state.q[6] - begin[6] > 5e-3  # the torque, not the positions, moved it
    driver.step(True, q_c=begin, tau_J_d=torque)
    driver.tick(400)
    assert driver.ended is Status.SUCCESS
    assert driver.modes == IDLE
