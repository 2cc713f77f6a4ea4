"""The life of a motion against a scripted server: every way it may start, run, end and fail, both versions."""

import socket
import threading
import time

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    ControllerMode,
    GeneratorMode,
    JointPositions,
    JointVelocities,
    RobotMode,
    Status,
    Torques,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    CommandException,
    ControlException,
    InvalidArgumentException,
    InvalidOperationException,
    NetworkException,
    ProtocolException,
)
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.motions import MARKS, Q
from tests.rt.scripted import IDLE, ScriptedServer, reject, show

pytestmark = MARKS

G = GeneratorMode
EXTERNAL = ControllerMode.EXTERNAL_CONTROLLER
ZERO = Torques(np.zeros(7))
KINDS = {
    "joint positions": (G.JOINT_POSITION, JointPositions(Q)),
    "joint velocities": (G.JOINT_VELOCITY, JointVelocities(np.zeros(7))),
    "Cartesian pose": (G.CARTESIAN_POSITION, CartesianPose(np.eye(4), elbow=[0.1, -1])),
    "Cartesian velocities": (G.CARTESIAN_VELOCITY, CartesianVelocities(np.zeros(6))),
}
REFLEX = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"cartesian_reflex", "joint_reflex"}}


def move_to(robot, steps=5):
    robot.start_motion(G.JOINT_POSITION)
    for _ in range(steps):
        robot.update_motion(JointPositions(Q))


def run_until_it_breaks(robot, command=None, limit=3000):
    for _ in range(limit):
        robot.update_motion(command or JointPositions(Q))


def after(count, action):
    """An ``on_command`` that acts once, at the given command."""

    def on_command(server, command):
        if len(server.commands) == count:
            action(server)

    return on_command


def moves_again(server, robot):
    """A whole regular motion, on a server with ordinary manners."""
    server.on_command = ScriptedServer(server.dialect).on_command
    move_to(robot)
    robot.finish_motion(JointPositions(Q))
    assert robot.read_once().robot_mode is RobotMode.IDLE


# -- regular ends --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("torques", [None, ZERO], ids=["alone", "with torques"])
def test_regular_motion(server, robot, kind, torques):
    generator, command = KINDS[kind]
    controller = ControllerMode.JOINT_IMPEDANCE if torques is None else EXTERNAL
    first = robot.start_motion(generator, controller)
    assert first.modes == (generator, controller, RobotMode.MOVE)
    states = [robot.update_motion(command, torques) for _ in range(20)]
    robot.finish_motion(command, torques)
    assert np.all(np.diff([s.message_id for s in states]) > 0)
    sent = [c.message_id for c in server.commands[:20]]
    assert sent == [first.message_id, *(s.message_id for s in states[:19])]
    flags = [(c.motion_finished, c.record["motion"]["valid_elbow"]) for c in server.commands]
    elbow = int(kind == "Cartesian pose")
    assert flags[:20] == [(False, elbow)] * 20
    assert set(flags[20:]) == {(True, elbow)}
    np.testing.assert_array_equal(server.commands[0].record["motion"][command.field], command.values)
    moves_again(server, robot)


def test_torques_alone(arm, server, robot):
    idle = JointVelocities(np.zeros(7)) if arm.torque_generator is G.JOINT_VELOCITY else None
    robot.start_motion(arm.torque_generator, EXTERNAL)
    for _ in range(5):
        robot.update_motion(idle, Torques(np.arange(7.0)))
    robot.finish_motion(idle, Torques(np.arange(7.0)))
    move = next(r.arguments for r in server.requests if r.command is CommandName.MOVE)
    assert (move["controller_mode"], move["motion_generator_mode"]) == (2, {V5: 1, V10: 4}[arm])
    last = server.commands[-1]
    assert last.record.dtype.itemsize == {V5: 370, V10: 371}[arm]
    assert (last.motion_finished, last.torque_finished) == {V5: (True, True), V10: (False, True)}[arm]
    assert not server.commands[0].record["motion"]["dq_c"].any()
    np.testing.assert_array_equal(last.record["control"]["tau_J_d"], np.arange(7.0))


@pytest.mark.parametrize("delay", [-0.03, 0.03], ids=["answer first", "state first"])
def test_answer_and_state_of_the_end_in_either_order(server, robot, delay):
    def end(server, command):
        if command.finished:
            move, server.move = server.move, None
            later = threading.Timer(abs(delay), lambda: act(second))
            first, second = ("answer", "state") if delay < 0 else ("state", "answer")

            def act(what):
                if what == "answer":
                    server.answer(move, Status.SUCCESS)
                else:
                    server.state.update(**IDLE)

            act(first)
            later.start()

    server.on_command = end
    move_to(robot)
    robot.finish_motion(JointPositions(Q))
    moves_again(server, robot)


def test_cancel_and_stop_without_motion(server, robot):
    robot.stop()
    move_to(robot)
    robot.cancel_motion()
    assert server.asked()[-2:] == [CommandName.MOVE, CommandName.STOP_MOVE]
    moves_again(server, robot)


def test_asynchronous_motion(arm, server, robot):
    if not arm.async_motions:
        with raises(InvalidArgumentException, "no field"):
            robot.start_motion(G.JOINT_POSITION, maximum_velocities=[1.0] * 7)
        return
    robot.start_motion(G.JOINT_POSITION, maximum_velocities=[1.0] * 7)
    request = server.requests[-1].arguments
    assert request["use_async_motion_generator"] == 1
    np.testing.assert_array_equal(request["maximum_velocity"], np.ones(7))
    for _ in range(30):
        robot.update_motion()
    robot.finish_motion(JointPositions(Q))
    assert [c.finished for c in server.commands] == [True] * len(server.commands)


# -- refused starts ------------------------------------------------------------------------------------------------


def test_every_first_answer(arm, server, robot):
    statuses = arm.spec(CommandName.MOVE).statuses
    for number in range(21):
        message = lambda s, r, n=number: s.tcp.sendall(arm.message(1, r.command_id, bytes([n])))  # noqa: E731
        server.on[CommandName.MOVE] = message
        status = statuses[number] if number < len(statuses) else None
        if status is Status.MOTION_STARTED:
            continue
        if status is None:
            with raises(ProtocolException, "libfranka: Unexpected response while handling Move command!"):
                robot.start_motion(G.JOINT_POSITION)
        elif status is Status.SUCCESS:
            with raises(ProtocolException, "Unexpected reply to a Move command"):
                robot.start_motion(G.JOINT_POSITION)
        else:
            with raises(CommandException, "libfranka: Move command") as error:
                robot.start_motion(G.JOINT_POSITION)
            assert (error.value.command, error.value.status) == (CommandName.MOVE, status)
    server.on[CommandName.MOVE] = ScriptedServer(arm).on[CommandName.MOVE]
    moves_again(server, robot)


def test_a_refused_move_needs_no_stop(server, robot):
    server.on[CommandName.MOVE] = reject(Status.START_AT_SINGULAR_POSE_REJECTED)
    with raises(CommandException, "libfranka: Move command rejected: cannot start at singular pose!"):
        robot.start_motion(G.CARTESIAN_POSITION)
    assert CommandName.STOP_MOVE not in server.asked()


def test_a_second_answer_before_the_motion_shows(server, robot):
    def start(server, request):
        server.answer(request, Status.MOTION_STARTED)
        server.answer(request, Status.COMMAND_NOT_POSSIBLE_REJECTED)

    server.on[CommandName.MOVE] = start
    with raises(ControlException, "command not possible in the current mode") as error:
        robot.start_motion(G.JOINT_POSITION)
    assert len(error.value.log) == 0


@pytest.mark.parametrize("second", [Status.MOTION_STARTED, Status.SUCCESS])
def test_nonsense_before_the_motion_shows(server, robot, second):
    def start(server, request):
        server.answer(request, Status.MOTION_STARTED)
        server.answer(request, second)

    server.on[CommandName.MOVE] = start
    with pytest.raises(ProtocolException):
        robot.start_motion(G.JOINT_POSITION)


def test_a_motion_that_never_shows_is_cancelled(server, robot, monkeypatch):
    monkeypatch.setattr("franka_rt.motion.ANSWER_TIMEOUT", 0.2)
    server.on[CommandName.MOVE] = lambda s, r: s.answer(r, Status.MOTION_STARTED)
    with raises(NetworkException, "did not change within 0.2 s"):
        robot.start_motion(G.JOINT_POSITION)
    assert server.asked()[-1] is CommandName.STOP_MOVE


def test_start_while_another_client_moves(server, robot):
    server.state.update(motion_generator_mode=G.JOINT_VELOCITY, robot_mode=RobotMode.MOVE)
    robot.read(lambda state: state.robot_mode is not RobotMode.MOVE)
    with raises(ControlException, "libfranka robot: Attempted to start multiple motions!"):
        robot.start_motion(G.JOINT_POSITION)
    assert CommandName.MOVE not in server.asked()


def test_late_modes(server, robot):
    def start(server, request):
        server.move = request
        server.answer(request, Status.MOTION_STARTED)
        threading.Timer(0.05, show, (server, request)).start()

    server.on[CommandName.MOVE] = start
    move_to(robot)
    robot.finish_motion(JointPositions(Q))


def test_modes_that_a_version_lacks(arm, server, robot):
    if G.NONE not in arm.move_generators:
        with raises(InvalidArgumentException, "libfranka: Invalid motion generator mode given."):
            robot.start_motion(G.NONE, EXTERNAL)
    with raises(InvalidArgumentException, "libfranka: Invalid controller mode given."):
        robot.start_motion(G.JOINT_POSITION, ControllerMode.OTHER)
    text = "controller mode given.\nWithout a motion generator only torques" if arm is V10 else "motion generator mode"
    with raises(InvalidArgumentException, f"libfranka: Invalid {text}"):
        robot.start_motion(G.NONE, ControllerMode.JOINT_IMPEDANCE)
    assert CommandName.MOVE not in server.asked()
    moves_again(server, robot)


# -- bad ends ------------------------------------------------------------------------------------------------------


def test_reflex(server, robot):
    def reflex(server):
        server.state["control_command_success_rate"] = 0.0
        server.state["message_id"] = int(server.state["message_id"]) + 3
        server.end_motion(Status.REFLEX_ABORTED, **REFLEX)

    server.state["control_command_success_rate"] = 0.75
    server.on_command = after(120, reflex)
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, "automatic_error_recovery() clears it") as error:
        run_until_it_breaks(robot)
    state = robot.latest_state()
    first, second = error.value.text.split("\n")
    assert (
        first == "libfranka: Move command aborted: motion aborted by reflex! " + '["joint_reflex", "cartesian_reflex"]'
    )
    records = error.value.log
    lost = records[-1].state.message_id - records[-2].state.message_id - 1
    assert lost >= 3
    rate = 0.75 * (1 - lost / 100)
    assert second == f"control_command_success_rate: {rate:g} packets lost in a row in the last sample: {lost}"
    assert error.value.reasons == ("joint_reflex", "cartesian_reflex")
    assert len(records) == 50
    assert state.needs_recovery
    assert server.asked()[-1] is CommandName.STOP_MOVE
    np.testing.assert_array_equal(records.command_array("q_c"), np.tile(Q, (50, 1)))
    assert records.state_array("q").shape == (50, 7)
    header, *rows = records.to_csv().splitlines()
    assert header.startswith("time,success_rate,state.q[0]")
    assert header.endswith("cmd.tau_J_d[6]")
    assert {row.count(",") for row in rows} == {header.count(",")}


def test_ten_reflexes_and_recoveries_in_a_row(server, robot):
    for attempt in range(10):
        count = len(server.commands)
        server.on_command = after(count + 5, lambda s: s.end_motion(Status.REFLEX_ABORTED, **REFLEX))
        robot.start_motion(G.JOINT_POSITION)
        with raises(ControlException, "motion aborted by reflex"):
            run_until_it_breaks(robot)
        server.state.update(robot_mode=RobotMode.IDLE)
        robot.automatic_error_recovery()
        assert server.asked().count(CommandName.AUTOMATIC_ERROR_RECOVERY) == attempt + 1
    moves_again(server, robot)


ENDS = {
    Status.EMERGENCY_ABORTED: "libfranka: Move command aborted: User Stop pressed!",
    Status.INPUT_ERROR_ABORTED: "libfranka: Move command aborted: invalid input provided!",
    Status.PREEMPTED: "libfranka: Move command preempted!",
    Status.ABORTED: "libfranka: Move command aborted!",
    Status.PREEMPTED_DUE_TO_SAFETY: "libfranka: Move command preempted due to activated safety function!",
}


@pytest.mark.parametrize("status", ENDS, ids=lambda s: s.value)
def test_other_ends(arm, server, robot, status):
    if status not in arm.spec(CommandName.MOVE).statuses:
        assert arm is V5
        return
    server.on_command = after(5, lambda s: s.end_motion(status, robot_mode=RobotMode.USER_STOPPED))
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, ENDS[status]) as error:
        run_until_it_breaks(robot)
    assert error.value.status is status
    assert "control_command_success_rate" not in error.value.text
    server.state.update(**IDLE)
    moves_again(server, robot)


def test_reflex_after_the_finished_flag(server, robot):
    def on_command(server, command):
        if command.finished:
            server.end_motion(Status.REFLEX_ABORTED, **REFLEX)

    server.on_command = on_command
    move_to(robot)
    with raises(ControlException, "Motion finished commanded, but the robot is still moving! [", "success_rate"):
        robot.finish_motion(JointPositions(Q))


def test_lost_communication_comes_with_a_checklist(server, robot):
    reason = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"communication_constraints_violation"}}
    server.on_command = after(5, lambda s: s.end_motion(Status.REFLEX_ABORTED, **reason))
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, "communication_constraints_violation", "20 commands in a row", "realtime kernel"):
        run_until_it_breaks(robot)


def test_success_for_a_broken_motion_is_a_protocol_error(server, robot):
    server.on_command = after(5, lambda s: s.end_motion(Status.SUCCESS))
    robot.start_motion(G.JOINT_POSITION)
    with raises(ProtocolException, "Unexpected reply to a Move command"):
        run_until_it_breaks(robot)
    moves_again(server, robot)


def test_finish_without_a_command(arm, server, robot):
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, arm.nothing_to_finish_text):
        robot.finish_motion()
    assert server.asked()[-1] is CommandName.STOP_MOVE
    moves_again(server, robot)


def test_a_broken_motion_without_an_answer_ends_in_bounded_time(server, robot, monkeypatch):
    monkeypatch.setattr("franka_rt.motion.ANSWER_TIMEOUT", 0.2)
    server.on_command = after(5, lambda s: s.state.update(**IDLE))
    robot.start_motion(G.JOINT_POSITION)
    with raises(NetworkException, "Move was not answered within 0.2 s"):
        run_until_it_breaks(robot)
    monkeypatch.undo()
    server.move = None
    moves_again(server, robot)


def test_late_answer_of_a_cancelled_move_is_harmless(server, robot):
    def stop(server, request):
        server.answer(request)
        server.state.update(**IDLE)

    server.on[CommandName.STOP_MOVE] = stop
    move_to(robot)
    robot.cancel_motion()
    server.answer(server.move, Status.PREEMPTED)
    server.move = None
    moves_again(server, robot)


def test_stop_from_another_thread(server, robot):
    robot.start_motion(G.JOINT_POSITION)
    stopper = threading.Timer(0.05, robot.stop)
    stopper.start()
    with raises(ControlException, "libfranka: Move command preempted!"):
        run_until_it_breaks(robot)
    stopper.join()
    assert server.asked().count(CommandName.STOP_MOVE) == 2
    moves_again(server, robot)


def test_refused_stop_does_not_hide_the_reason(server, robot):
    server.on[CommandName.STOP_MOVE] = reject(Status.COMMAND_NOT_POSSIBLE_REJECTED)
    server.on_command = after(5, lambda s: s.end_motion(Status.EMERGENCY_ABORTED))
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, "User Stop pressed"):
        run_until_it_breaks(robot)


# -- what the user does wrong --------------------------------------------------------------------------------------

BAD_POSE = np.eye(4)
BAD_POSE[3, 0] = 0.1
BAD_COMMANDS = {
    "NaN": (G.JOINT_POSITION, lambda: JointPositions([np.nan, *Q[1:]]), "Commanding value is infinite or NaN."),
    "inf": (G.JOINT_VELOCITY, lambda: JointVelocities([np.inf] * 7), "Commanding value is infinite or NaN."),
    "six": (G.JOINT_POSITION, lambda: JointPositions(Q[:6]), "Invalid number of elements in joint_positions."),
    "column": (G.JOINT_POSITION, lambda: JointPositions(Q[:, None]), "Invalid number of elements in joint_positions."),
    "None": (G.JOINT_POSITION, lambda: JointPositions(None), "joint_positions"),
    "bottom row": (G.CARTESIAN_POSITION, lambda: CartesianPose(BAD_POSE), "Has to be column major!"),
    "scaled": (G.CARTESIAN_POSITION, lambda: CartesianPose(np.diag([1.1, 1, 1, 1])), "Has to be column major!"),
    "elbow": (G.CARTESIAN_POSITION, lambda: CartesianPose(np.eye(4), [0.1, 0.999]), "Only +1 or -1 are allowed"),
    "NaN elbow": (G.CARTESIAN_VELOCITY, lambda: CartesianVelocities(np.zeros(6), [np.nan, 1]), "infinite or NaN"),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_bad_commands_are_never_sent_and_end_the_motion(server, robot, case):
    generator, make, complaint = BAD_COMMANDS[case]
    robot.start_motion(generator)
    with raises(InvalidArgumentException, complaint):
        try:
            command = make()
        except InvalidArgumentException:
            robot.cancel_motion()
            raise
        robot.update_motion(command)
    assert server.commands == []
    assert server.asked()[-1] is CommandName.STOP_MOVE
    moves_again(server, robot)


def test_nan_torque(arm, server, robot):
    motion = JointVelocities(np.zeros(7)) if arm is V5 else None
    robot.start_motion(arm.torque_generator, EXTERNAL)
    with raises(InvalidArgumentException, "Commanding value is infinite or NaN."):
        robot.update_motion(motion, Torques([np.nan] * 7))
    assert server.commands == []


@pytest.mark.parametrize(("elbow", "kept"), [([0, 0], None), ([0.1, -1], [0.1, -1]), (None, None)])
def test_elbow_counts_unless_it_is_all_zero(elbow, kept):
    command = CartesianPose(np.eye(4), elbow)
    command.validate()
    assert kept == (None if command.elbow is None else command.elbow.tolist())


def test_commands_that_do_not_fit_the_motion(server, robot):
    robot.start_motion(G.JOINT_POSITION)
    with raises(ControlException, "libfranka robot: Trying to send control command, but no controller running!"):
        robot.update_motion(None, ZERO)
    with raises(InvalidOperationException, "no motion was started"):
        robot.update_motion(JointPositions(Q))
    moves_again(server, robot)


def test_reading_beside_a_motion(server, robot):
    move_to(robot)
    for call in (robot.read_once, lambda: robot.read(lambda s: False), lambda: robot.start_motion(G.JOINT_POSITION)):
        with raises(InvalidOperationException, "another control or read operation is running", "latest_state()"):
            call()
    assert robot.latest_state().robot_mode is RobotMode.MOVE
    robot.set_load(0, [0, 0, 0], np.zeros((3, 3)))
    robot.finish_motion(JointPositions(Q))


def test_skipped_states_are_seen_as_time(server, robot):
    def skip(server):
        server.state["message_id"] = int(server.state["message_id"]) + 3

    server.on_command = after(5, skip)
    first = robot.start_motion(G.JOINT_POSITION)
    states = [robot.update_motion(JointPositions(Q)) for _ in range(10)]
    assert max(np.diff([first.message_id, *(s.message_id for s in states)])) >= 4
    server.on_command = ScriptedServer(server.dialect).on_command
    robot.finish_motion(JointPositions(Q))


def test_a_second_thread_in_a_motion_gets_an_error_and_the_motion_goes_on(server, robot):
    robot.start_motion(G.JOINT_POSITION)
    server.states = False
    robot.set_k(np.eye(4))  # after its answer no state is on its way
    first = threading.Thread(target=robot.update_motion, args=(JointPositions(Q),))
    first.start()
    while not server.commands:
        time.sleep(0.001)
    for call in (robot.update_motion, robot.finish_motion, robot.cancel_motion):
        with raises(InvalidOperationException, "another thread is reading or commanding", "stop()"):
            call()
    server.states = True
    first.join(5.0)
    robot.update_motion(JointPositions(Q))
    robot.finish_motion(JointPositions(Q))
    assert CommandName.STOP_MOVE not in server.asked()


# -- broken connections --------------------------------------------------------------------------------------------


def test_state_stream_dies(arm, server, robot):
    def silence(server):
        server.states = False

    server.on_command = after(5, silence)
    robot.start_motion(G.JOINT_POSITION)
    with raises(NetworkException, "libfranka: UDP receive: Timeout"):
        run_until_it_breaks(robot)
    assert robot.closed == arm.udp_failure_ends_session
    assert (CommandName.STOP_MOVE in server.asked()) == (not arm.udp_failure_ends_session)


def test_command_channel_is_cut(server, robot):
    server.on_command = after(5, lambda s: s.tcp.shutdown(socket.SHUT_RDWR))
    robot.start_motion(G.JOINT_POSITION)
    with raises(NetworkException, "libfranka: "):
        run_until_it_breaks(robot)
    robot.close()


def test_leaving_the_with_block_stops_the_motion(server, robot):
    move_to(robot)
    robot.close()
    assert server.asked()[-1] is CommandName.STOP_MOVE


def test_closing_beside_a_running_loop(server, robot):
    closer = threading.Timer(0.05, robot.close)
    robot.start_motion(G.JOINT_POSITION)
    closer.start()
    with pytest.raises((NetworkException, ControlException)):
        run_until_it_breaks(robot)
    closer.join()
    assert robot.closed
