"""Active control and asynchronous motions against a scripted server."""

import gc
import threading
import time

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    ControllerMode,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    RobotMode,
    Status,
    TargetStatus,
    Torques,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    CommandException,
    ControlException,
    InvalidArgumentException,
    InvalidOperationException,
    NetworkException,
)
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.motions import MARKS, REFLEX, Q
from tests.rt.scripted import IDLE, ScriptedServer, reject

pytestmark = MARKS

TAU = Torques(np.full(7, 0.5))
EXTERNAL = ControllerMode.EXTERNAL_CONTROLLER
STARTS = {
    "joint_position": (JointPositions(Q), "q_c"),
    "joint_velocity": (JointVelocities(np.zeros(7)), "dq_c"),
    "cartesian_pose": (CartesianPose(np.eye(4)), "O_T_EE_c"),
    "cartesian_velocity": (CartesianVelocities(np.zeros(6)), "O_dP_EE_c"),
}


def start(robot, kind, *arguments):
    return getattr(robot, f"start_{kind}_control")(*arguments)


def finished(command):
    return type(command)(command.O_T_EE if isinstance(command, CartesianPose) else command.values).finished()


def moves_again(robot):
    with robot.start_torque_control() as control:
        control.read_once()
        control.write_once(finished(TAU))
    assert control.finished
    assert robot.read_once().robot_mode is RobotMode.IDLE


@pytest.mark.parametrize("torques", [None, TAU], ids=["alone", "with torques"])
@pytest.mark.parametrize("kind", STARTS)
def test_a_whole_motion(server, robot, kind, torques):
    command, field = STARTS[kind]
    parts = (command,) if torques is None else (command, torques)
    ids = []
    with start(robot, kind, *([] if torques is None else [EXTERNAL])) as control:
        for _ in range(10):
            state, dt = control.read_once()
            assert dt == (0.0 if not ids else (state.message_id - ids[-1]) / 1000)
            ids.append(state.message_id)
            control.write_once(*parts)
        control.write_once(finished(command), *parts[1:])
        assert control.finished
    assert [c.message_id for c in server.commands[:10]] == ids
    np.testing.assert_array_equal(server.commands[0].record["motion"][field], command.values)
    assert not any(c.motion_finished for c in server.commands[:10])
    assert server.commands[-1].motion_finished
    assert CommandName.STOP_MOVE not in server.asked()
    moves_again(robot)


def test_torques_alone(arm, server, robot):
    with robot.start_torque_control() as control:
        for _ in range(5):
            control.read_once()
            control.write_once(np.full(7, 0.5))
        control.write_once(finished(TAU))
    last = server.commands[-1]
    assert (last.motion_finished, last.torque_finished) == {V5: (True, True), V10: (False, True)}[arm]
    assert not any(c.record["motion"]["dq_c"].any() for c in server.commands)
    assert repr(control) == "<ActiveControl of Torques, finished>"


def test_the_first_write_may_come_before_the_first_read(server, robot):
    with robot.start_torque_control() as control:
        control.write_once(TAU)
        control.write_once(finished(TAU))
    assert server.commands


WRONG = {
    "torques to an internal controller": (
        "joint_position", [], [JointPositions(Q), TAU], "Torques can only be commanded in kExternalController mode.",
    ),
    "no torques for an external one": ("joint_position", [EXTERNAL], [JointPositions(Q)], "Torque command missing"),
    "another motion": (
        "joint_position", [], [JointVelocities(np.zeros(7))],
        "Wrong writeOnce method called for currently active control!",
    ),
    "a motion for torques": ("torque", [], [JointPositions(Q)], "Wrong writeOnce method called"),
    "two for torques": ("torque", [], [TAU, TAU], "Wrong writeOnce method called"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_commands_of_the_wrong_kind_are_not_sent_and_the_motion_goes_on(server, robot, case):
    kind, arguments, parts, complaint = WRONG[case]
    with start(robot, kind, *arguments) as control:
        control.read_once()
        with raises(ControlException, complaint):
            control.write_once(*parts)
        assert not control.finished
        control.read_once()
    assert server.commands == []
    assert server.asked()[-1] is CommandName.STOP_MOVE


@pytest.mark.parametrize("bad", [[np.nan] * 7, [0.0] * 6, None, "abc"], ids=["NaN", "six", "None", "text"])
def test_values_that_must_not_be_sent(server, robot, bad):
    with robot.start_torque_control() as control:
        control.read_once()
        with pytest.raises(InvalidArgumentException):
            control.write_once(bad)
        control.write_once(TAU)
        control.write_once(finished(TAU))
    assert not any(np.isnan(c.record["control"]["tau_J_d"]).any() for c in server.commands)
    assert len(server.commands) >= 2


def test_after_the_end(server, robot):
    with robot.start_torque_control() as control:
        control.read_once()
        control.write_once(finished(TAU))
        with raises(ControlException, "writeOnce must not be called after the motion has finished."):
            control.write_once(TAU)
        with raises(ControlException, "the motion has finished"):
            control.read_once()
        control.cancel()
    assert CommandName.STOP_MOVE not in server.asked()


def test_the_robot_is_busy_until_the_motion_ends(server, robot):
    with robot.start_torque_control() as control:
        for call in (robot.read_once, robot.start_torque_control, lambda: robot.control_torques(lambda s, t: TAU)):
            with raises(InvalidOperationException, "another control or read operation is running"):
                call()
        assert repr(control) == "<ActiveControl of Torques, running>"
    moves_again(robot)


def test_leaving_the_block_or_dropping_the_object_stops_the_arm(server, robot):
    with robot.start_torque_control() as control:
        control.read_once()
    assert server.asked()[-1] is CommandName.STOP_MOVE
    with pytest.raises(ZeroDivisionError), robot.start_torque_control() as control:
        raise ZeroDivisionError
    assert server.asked().count(CommandName.STOP_MOVE) == 2
    control = robot.start_torque_control()
    del control
    gc.collect()
    assert server.asked().count(CommandName.STOP_MOVE) == 3
    moves_again(robot)


def test_garbage_collection_rests_until_the_motion_ends(server, robot):
    with robot.start_torque_control():
        assert not gc.isenabled()
    assert gc.isenabled()
    server.on[CommandName.MOVE] = reject(Status.START_AT_SINGULAR_POSE_REJECTED)
    with pytest.raises(CommandException):
        robot.start_torque_control()
    assert gc.isenabled()


def test_a_refused_start_leaves_the_robot_free(server, robot):
    server.on[CommandName.MOVE] = reject(Status.START_AT_SINGULAR_POSE_REJECTED)
    for kind in STARTS:
        with raises(CommandException, "cannot start at singular pose"):
            start(robot, kind)
    with raises(InvalidArgumentException, "libfranka: Invalid controller mode given."):
        robot.start_joint_position_control(ControllerMode.OTHER)
    server.on[CommandName.MOVE] = ScriptedServer(server.dialect).on[CommandName.MOVE]
    moves_again(robot)


def test_reflex_ends_it_at_once_and_the_robot_is_free(server, robot):
    server.on_command = lambda s, c: s.end_motion(Status.REFLEX_ABORTED, **REFLEX)
    control = robot.start_torque_control()
    control.read_once()
    control.write_once(TAU)
    with raises(ControlException, "motion aborted by reflex", "joint_reflex") as error:
        for _ in range(1000):
            control.read_once()
    assert control.finished
    assert error.value.reasons == ("joint_reflex",)
    assert any(error.value.log.command_array("tau_J_d")[:, 0] == 0.5)
    server.state.update(**IDLE)
    server.on_command = ScriptedServer(server.dialect).on_command
    robot.automatic_error_recovery()
    moves_again(robot)


def test_a_dead_stream_ends_it(server, robot):
    control = robot.start_torque_control()
    server.states = False
    with raises(NetworkException, "UDP receive: Timeout"):
        for _ in range(1000):
            control.read_once()
    assert control.finished


def test_a_refused_stop_on_the_way_out_is_an_exception_not_the_end_of_the_process(server, robot):
    def stop(server, request):
        server.answer(request, Status.COMMAND_NOT_POSSIBLE_REJECTED)
        server.end_motion(Status.PREEMPTED)

    server.on[CommandName.STOP_MOVE] = stop
    with raises(CommandException, "Stop Move command rejected"), robot.start_torque_control() as control:
        control.read_once()
    with pytest.raises(ZeroDivisionError), robot.start_torque_control():
        raise ZeroDivisionError


def test_a_second_thread_gets_an_error_and_the_motion_goes_on(server, robot):
    control = robot.start_torque_control()
    server.states = False
    robot.set_k(np.eye(4))
    robot._session.poll_state()
    control.write_once(TAU)
    first = threading.Thread(target=control.read_once)
    first.start()
    while not robot._motion._turn.locked():
        time.sleep(0.001)
    for call in (control.read_once, lambda: control.write_once(TAU), control.cancel):
        with raises(InvalidOperationException, "another thread is reading or commanding", "stop()"):
            call()
    server.states = True
    first.join(5.0)
    control.write_once(finished(TAU))
    assert control.finished
    assert CommandName.STOP_MOVE not in server.asked()


# -- asynchronous motions ------------------------------------------------------------------------------------------


def test_version_5_has_no_asynchronous_motions(arm, server, robot):
    if arm is V5:
        with raises(InvalidOperationException, "asynchronous motions are not available on FCI version 5"):
            robot.start_asynchronous_motion([1.0] * 7)
        assert CommandName.MOVE not in server.asked()
        return
    for bad in ([1.0] * 6, [-1.0] * 7, [np.nan] * 7):
        with pytest.raises(InvalidArgumentException):
            robot.start_asynchronous_motion(bad)
    with raises(InvalidArgumentException, "goal_tolerance"):
        robot.start_asynchronous_motion([1.0] * 7, goal_tolerance=-1)
    assert CommandName.MOVE not in server.asked()


@pytest.fixture
def fr3_server():
    with ScriptedServer(V10) as server:
        server.state.update(q_d=Q)
        yield server


@pytest.fixture
def fr3(fr3_server):
    with Robot(fr3_server.host, RealtimeConfig.IGNORE, port=fr3_server.port) as robot:
        yield robot


def test_asynchronous_targets(fr3_server, fr3):
    with fr3.start_asynchronous_motion([1.0] * 7, goal_tolerance=2e-3) as motion:
        move = next(r.arguments for r in fr3_server.requests if r.command is CommandName.MOVE)
        assert move["use_async_motion_generator"] == 1
        np.testing.assert_array_equal(move["maximum_velocity"], np.ones(7))
        assert motion.status() is TargetStatus.IDLE
        motion.set_target(Q + 0.1)
        assert motion.status() is TargetStatus.EXECUTING
        assert not motion.wait(0.02)
        fr3_server.state.update(q_d=Q + 0.1, dq_d=np.full(7, 0.1))
        assert not motion.wait(0.02), "there, but not standing"
        fr3_server.state.update(dq_d=np.zeros(7))
        assert motion.wait(5.0)
        np.testing.assert_allclose(motion.remaining(fr3.latest_state()), 0, atol=1e-6)
        assert len(fr3_server.commands) == 1
    assert not motion.running
    assert motion.status() is TargetStatus.IDLE
    last = fr3_server.commands[-1]
    assert last.motion_finished
    np.testing.assert_allclose(last.record["motion"]["q_c"], Q + 0.1, atol=1e-6)
    with raises(InvalidOperationException, "has ended"):
        motion.set_target(Q)


def test_one_thread_sets_targets_while_another_waits(fr3_server, fr3):
    reached = []
    with fr3.start_asynchronous_motion([1.0] * 7) as motion:
        motion.set_target(Q + 0.1)
        waiting = threading.Thread(target=lambda: reached.append(motion.wait(10.0)))
        waiting.start()
        for k in range(20):
            motion.set_target(Q + 0.01 * k)
        fr3_server.state.update(q_d=Q + 0.19)
        waiting.join(10.0)
        assert motion.running
    assert reached == [True]


def test_a_stalled_arm_is_not_reported_as_arrived(fr3_server, fr3):
    with fr3.start_asynchronous_motion([1.0] * 7) as motion:
        motion.set_target(Q + 0.1)
        assert not motion.wait(0.05)
        np.testing.assert_allclose(motion.remaining(fr3.latest_state()), 0.1, atol=1e-6)


def test_an_error_of_an_asynchronous_motion_is_raised_once(fr3_server, fr3):
    motion = fr3.start_asynchronous_motion([1.0] * 7)
    fr3_server.on_command = lambda s, c: s.end_motion(Status.REFLEX_ABORTED, **REFLEX)
    motion.set_target(Q + 0.1)  # elsewhere: at Q it would be reached before the server has the command
    with raises(ControlException, "motion aborted by reflex", "joint_reflex"):
        motion.wait(5.0)
    assert not motion.running
    assert motion.status() is TargetStatus.ABORTED
    fr3_server.state.update(**IDLE)
    fr3_server.on_command = ScriptedServer(V10).on_command
    fr3.automatic_error_recovery()
    moves_again(fr3)


def test_bad_targets_are_not_sent(fr3_server, fr3):
    with fr3.start_asynchronous_motion([1.0] * 7) as motion:
        for bad in (Q[:6], np.full(7, np.nan), None):
            with pytest.raises(InvalidArgumentException):
                motion.set_target(bad)
        assert motion.running
    assert all(c.motion_finished for c in fr3_server.commands)
