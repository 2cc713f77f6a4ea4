"""Callback loops against a scripted server: order, start, finish, conditioning, and every way they may end badly."""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
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
    filters,
    limits,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    CommandException,
    ControlException,
    InvalidArgumentException,
    InvalidOperationException,
    NetworkException,
)
from franka_rt.garbage import no_collection
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.motions import HALF, LOST, MARKS, REFLEX, Q, forever
from tests.rt.scripted import IDLE, reject

pytestmark = MARKS

POSE = np.array([[1.0, 0, 0, 0.4], [0, -1, 0, 0.1], [0, 0, -1, 0.5], [0, 0, 0, 1]])
KINDS = {
    "joint_positions": (JointPositions, Q),
    "joint_velocities": (JointVelocities, np.full(7, 1e-3)),
    "cartesian_pose": (CartesianPose, POSE),
    "cartesian_velocities": (CartesianVelocities, np.full(6, 1e-3)),
}
FIELDS = {JointPositions: "q_c", JointVelocities: "dq_c", CartesianPose: "O_T_EE_c", CartesianVelocities: "O_dP_EE_c"}
UNTOUCHED = {"limit_rate": False, "cutoff_frequency": 1000.0}


@pytest.fixture(autouse=True)
def at_rest(server):
    """References as of a robot that stands at Q and POSE."""
    server.state.update(q_d=Q, q=Q, O_T_EE_c=POSE, O_T_EE=POSE, elbow_c=(0.1, -1.0), elbow_d=(0.1, -1.0))


class Script:
    """A callback that returns one output after the other, the last marked as finished, and notes its calls."""

    def __init__(self, outputs, kind: Callable[..., Any] = Torques, calls=None, name="motion"):
        self.outputs, self.kind = list(outputs), kind
        self.calls = [] if calls is None else calls
        self.name = name
        self.count = 0

    def __call__(self, state, dt):
        self.calls.append((self.name, state.message_id, dt))
        output = self.outputs[self.count]
        self.count += 1
        last = self.count == len(self.outputs)
        return self.kind(output).finished() if last else output


def drive(robot, kind, motion, torque=None, **options):
    """Run the loop of one kind; ``torques`` has no motion callback."""
    if kind == "torques":
        robot.control_torques(motion, **options)
    else:
        getattr(robot, f"control_{kind}")(motion, torque_callback=torque, **options)


def sent(server, what):
    """(n, ...) a field of all command datagrams."""
    return np.array([c.record["control" if what == "tau_J_d" else "motion"][what] for c in server.commands])


def commands(server):
    """Without the repetitions of the finished one."""
    first = next(i for i, c in enumerate(server.commands) if c.finished)
    return server.commands[: first + 1]


def forget_commands(server, robot):
    """Also those of an ended motion that are still on their way: two fresh states come after them."""
    for _ in range(2):
        robot.read_once()
    server.commands.clear()


def at_command(number, action):
    """An ``on_command`` that acts once, at this command, and ends motions regularly."""

    def on_command(server, command):
        if len(server.commands) == number:
            action(server)
        elif command.finished and server.move is not None:
            server.end_motion(Status.SUCCESS)

    return on_command


# -- start, order, finish ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["torques", *KINDS])
def test_every_state_gets_one_command_and_the_first_step_is_zero(server, robot, kind):
    cls, value = KINDS.get(kind, (Torques, HALF))
    script = Script([value] * 8, cls)
    drive(robot, kind, script, **UNTOUCHED)
    ids = [message_id for _, message_id, _ in script.calls]
    assert [c.message_id for c in commands(server)] == ids
    assert script.calls[0][2] == 0.0
    np.testing.assert_allclose([dt for _, _, dt in script.calls[1:]], np.diff(ids) / 1000.0, rtol=0, atol=0)
    field, expected = ("tau_J_d", value) if cls is Torques else (FIELDS[cls], cls(value).values)
    np.testing.assert_array_equal(sent(server, field), np.tile(expected, (len(server.commands), 1)))
    assert robot.latest_state().robot_mode is RobotMode.IDLE
    assert CommandName.STOP_MOVE not in server.asked()
    assert robot.loop_statistics.cycles == 7


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_the_two_callbacks(arm, server, robot, kind):
    cls, value = KINDS[kind]
    calls = []
    motion = Script([value] * 4, cls, calls, "motion")
    torque = Script([HALF] * 9, Torques, calls, "torque")
    drive(robot, kind, motion, torque, **UNTOUCHED)
    names = [name for name, _, _ in calls]
    if arm is V5:
        assert names == ["motion", "torque"] * 3 + ["motion"]
    else:
        assert names == ["torque", "motion"] * 4
    move = next(r.arguments for r in server.requests if r.command is CommandName.MOVE)
    assert move["controller_mode"] == ControllerMode.EXTERNAL_CONTROLLER
    np.testing.assert_array_equal(sent(server, "tau_J_d"), np.tile(HALF, (len(server.commands), 1)))
    last = server.commands[-1]
    assert (last.motion_finished, last.torque_finished) == (True, arm is V5)


def test_finished_torques_end_a_motion_with_both(arm, server, robot):
    """Version 10 skips the motion callback then, version 5 has called it already."""
    calls = []
    motion = Script([Q, Q + 1e-6, Q + 2e-6, Q + 3e-6], JointPositions, calls, "motion")
    torque = Script([HALF, HALF, 2 * HALF], Torques, calls, "torque")
    drive(robot, "joint_positions", motion, torque, **UNTOUCHED)
    assert motion.count == {V5: 3, V10: 2}[arm]
    np.testing.assert_array_equal(sent(server, "q_c")[-1], Q + {V5: 2e-6, V10: 1e-6}[arm])
    np.testing.assert_array_equal(sent(server, "tau_J_d")[-1], 2 * HALF)


@pytest.mark.parametrize("kind", KINDS)
def test_finished_in_the_very_first_cycle(arm, server, robot, kind):
    cls, value = KINDS[kind]
    motion, torque = Script([value] * (1 if arm is V5 else 2), cls), Script([HALF] * (2 if arm is V5 else 1))
    drive(robot, kind, motion, torque, **UNTOUCHED)
    assert (motion.count, torque.count) == {V5: (1, 0), V10: (0, 1)}[arm]
    assert all(c.motion_finished for c in server.commands)
    np.testing.assert_array_equal(sent(server, "tau_J_d")[0], {V5: np.zeros(7), V10: HALF}[arm])
    if arm is V10:  # the robot is held where it is, where the vendor's client sends zeros
        held = {"joint_positions": np.float32(Q), "cartesian_pose": np.float32(POSE.T.ravel())}.get(kind)
        np.testing.assert_array_equal(sent(server, FIELDS[cls])[0], 0.0 * cls(value).values if held is None else held)


def test_torques_alone(arm, server, robot):
    drive(robot, "torques", Script([HALF] * 5), **UNTOUCHED)
    move = next(r.arguments for r in server.requests if r.command is CommandName.MOVE)
    assert (move["controller_mode"], move["motion_generator_mode"]) == {V5: (2, 1), V10: (2, 4)}[arm]
    assert {c.record.dtype.itemsize for c in server.commands} == {{V5: 370, V10: 371}[arm]}
    assert not sent(server, "dq_c").any()
    last = server.commands[-1]
    assert (last.motion_finished, last.torque_finished) == {V5: (True, True), V10: (False, True)}[arm]


def test_zero_velocity_of_torques_alone_is_conditioned_too(arm, server, robot):
    server.state["dq_d"] = np.full(7, 0.01)
    drive(robot, "torques", Script([HALF] * 3), limit_rate=False)
    if arm is V5:
        gain = filters.low_pass_gain(100.0)
        np.testing.assert_allclose(sent(server, "dq_c")[0], (1 - gain) * 0.01, rtol=1e-12)
    else:
        assert not sent(server, "dq_c").any()


def test_lost_states_are_a_longer_step(server, robot):
    def skip(server):
        server.state["message_id"] = int(server.state["message_id"]) + 3

    server.on_command = at_command(5, skip)
    script = Script([HALF] * 12)
    drive(robot, "torques", script)
    assert max(dt for _, _, dt in script.calls) >= 0.004
    statistics = robot.loop_statistics
    assert statistics.skipped >= 3
    assert statistics.longest_gap >= 4


# -- what callbacks return -----------------------------------------------------------------------------------------

OUTPUTS = {
    "list": lambda x: np.asarray(x).tolist(),
    "tuple": lambda x: tuple(np.asarray(x).tolist()),
    "float32": lambda x: np.asarray(x, np.float32),
    "jax": jnp.asarray,
    "jax float32": lambda x: jnp.asarray(x, jnp.float32),
    "integers": lambda x: np.ones(np.shape(x), int) if np.ndim(x) == 1 else np.eye(4, dtype=int),
    "strided": lambda x: np.repeat(np.asarray(x), 2, axis=0)[::2],
}


@pytest.mark.parametrize("make", OUTPUTS.values(), ids=OUTPUTS)
def test_whatever_is_an_array_of_numbers_is_taken(server, robot, make):
    for kind, (cls, value) in {"torques": (Torques, HALF), **KINDS}.items():
        forget_commands(server, robot)
        drive(robot, kind, Script([make(value)] * 2, cls), **UNTOUCHED)
        field = "tau_J_d" if cls is Torques else FIELDS[cls]
        np.testing.assert_array_equal(sent(server, field)[0], cls(np.asarray(make(value), float)).values)


def test_flat_poses_are_column_major_and_elbows_go_along(server, robot):
    def callback(state, dt):
        pose = CartesianPose(POSE.T.ravel(), elbow=[0.1, -1])
        return pose.finished() if dt else pose

    robot.control_cartesian_pose(callback, **UNTOUCHED)
    np.testing.assert_array_equal(sent(server, "O_T_EE_c")[0], POSE.T.ravel())
    np.testing.assert_array_equal(sent(server, "elbow_c")[0], [0.1, -1])
    assert sent(server, "valid_elbow").all()


MISSHAPEN = {
    "six": (np.zeros(6), "Invalid number of elements in tau_J. Returned of shape (6,) by the callback "),
    "column": (np.zeros((7, 1)), "Invalid number of elements in tau_J. Returned of shape (7, 1) by the callback "),
    "None": (None, "has to return Torques, not None."),
    "text": ("abc", "tau_J has to be 7 numbers. Returned 'abc' by the callback "),
    "number": (1.0, "Invalid number of elements in tau_J. Returned 1.0 by the callback "),
    "other command": (JointVelocities(np.zeros(7)), "has to return Torques, not JointVelocities."),
    "nested": ([[1], [2, 3]], "by the callback "),
}


@pytest.mark.parametrize("case", MISSHAPEN)
def test_what_is_no_command_is_refused_in_one_line(server, robot, case):
    output, complaint = MISSHAPEN[case]

    def my_law(state, dt):
        return output if dt else HALF

    with raises(InvalidArgumentException, complaint, "my_law") as error:
        robot.control_torques(my_law)
    assert "\n" not in str(error.value)
    assert server.asked()[-1] is CommandName.STOP_MOVE
    drive(robot, "torques", Script([HALF] * 3))


TEXTS = {  # in libfranka's order: filter, limiter, final check
    (100.0, True): "lowpass-filter: current or past input value of the signal to be filtered is infinite or NaN.",
    (100.0, False): "lowpass-filter: current or past input value of the signal to be filtered is infinite or NaN.",
    (1000.0, True): {
        "torques": "Commanding value is infinite or NaN.",
        "joint_positions": "commanded_positions is infinite or NaN.",
        "joint_velocities": "commanded_velocities is infinite or NaN.",
        "cartesian_pose": "O_T_EE_c is infinite or NaN.",
        "cartesian_velocities": "O_dP_EE_c is infinite or NaN.",
    },
    (1000.0, False): "Commanding value is infinite or NaN.",
}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("options", TEXTS, ids=str)
def test_not_finite_is_never_sent(server, robot, options, bad):
    cutoff, limit = options
    for kind, (cls, value) in {"torques": (Torques, HALF), **KINDS}.items():
        broken = np.array(value)
        broken.flat[3] = bad
        forget_commands(server, robot)
        text = TEXTS[options] if isinstance(TEXTS[options], str) else TEXTS[options][kind]
        with raises(InvalidArgumentException, text):
            drive(robot, kind, Script([value] * 4 + [broken] * 2, cls), limit_rate=limit, cutoff_frequency=cutoff)
        assert len(server.commands) == 4
        assert all(np.isfinite(c.record["motion"]["q_c"]).all() for c in server.commands)
        assert server.asked()[-1] is CommandName.STOP_MOVE


@pytest.mark.parametrize(
    ("elbow", "complaint"),
    [([0.0, 0.0], None), ([0.1, 0.0], "Only +1 or -1"), ([0.1, 0.999], "Only +1 or -1"), ([0.1, -1.0], None)],
)
def test_elbow(server, robot, elbow, complaint):
    def callback(state, dt):
        pose = CartesianPose(POSE, elbow=elbow)
        return pose.finished() if dt else pose

    if complaint:
        with raises(InvalidArgumentException, complaint):
            robot.control_cartesian_pose(callback)
        assert server.commands == []
    else:
        robot.control_cartesian_pose(callback)
        assert set(sent(server, "valid_elbow")) == {int(any(elbow))}


def test_default_filter_repairs_a_rotation_but_not_the_bottom_row(server, robot):
    scaled, row = POSE.copy(), POSE.copy()
    scaled[:3, :3] *= 1.1
    row[3, 0] = 0.1
    robot.control_cartesian_pose(Script([scaled] * 2, CartesianPose), limit_rate=False)
    with raises(InvalidArgumentException, "Has to be column major!"):
        robot.control_cartesian_pose(forever(scaled), **UNTOUCHED)
    for options in ({}, UNTOUCHED):
        with raises(InvalidArgumentException, "Has to be column major!"):
            robot.control_cartesian_pose(forever(row), **options)


# -- filter and limiter --------------------------------------------------------------------------------------------


def test_first_position_of_a_motion(arm, server, robot):
    """Version 10 sends it as it is; version 5 limits it against q_d."""
    target = Q + 1e-3
    robot.control_joint_positions(Script([target] * 2, JointPositions), limit_rate=True)
    first = sent(server, "q_c")[0]
    if arm is V10:
        np.testing.assert_allclose(first, target, rtol=0, atol=1e-15)
    else:
        filtered = filters.low_pass(target.tolist(), Q.tolist(), filters.low_pass_gain(100.0))
        upper = arm.limits.joint_velocity.tolist()
        zero = [0.0] * 7
        expected = limits.limit_joint_positions(
            filtered, Q.tolist(), zero, zero, arm.limits, upper, [-u for u in upper]
        )
        np.testing.assert_array_equal(first, expected)
        assert np.all(first < Q + 1e-5)


def test_first_pose_of_a_motion_and_its_elbow(arm, server, robot):
    target = POSE.copy()
    target[0, 3] += 1e-3
    script = Script([CartesianPose(target, (0.11, -1))] * 2, CartesianPose)
    script.kind = lambda output: CartesianPose(output.O_T_EE, output.elbow)
    robot.control_cartesian_pose(script, limit_rate=True)
    first, elbow = sent(server, "O_T_EE_c")[0], sent(server, "elbow_c")[0]
    unchanged = abs(first[12] - target[0, 3]) < 1e-15, abs(elbow[0] - 0.11) < 1e-15
    assert unchanged == ((True, True) if arm is V10 else (False, False))
    assert elbow[1] == -1


def command_after(server, robot, kind, **options):
    """The third command of a loop whose callback asks for a jump."""
    cls, value = {"torques": (Torques, HALF), **KINDS}[kind]
    jump = np.array(value)
    if cls is CartesianPose:
        jump[0, 3] += 0.01
    else:
        jump += 10.0 if cls is Torques else 0.01
    forget_commands(server, robot)
    drive(robot, kind, Script([jump] * 4, cls), **options)
    return sent(server, "tau_J_d" if cls is Torques else FIELDS[cls])[2], cls(jump).values


@pytest.mark.parametrize("kind", ["torques", *KINDS])
def test_each_option_has_its_effect_and_the_defaults_are_the_vendors(arm, server, robot, kind):
    def run(**options):
        return command_after(server, robot, kind, **options)[0]

    as_given = run(**UNTOUCHED)
    np.testing.assert_array_equal(as_given, command_after(server, robot, kind, **UNTOUCHED)[1])
    filtered = run(limit_rate=False)
    limited = run(limit_rate=True, cutoff_frequency=1000.0)
    both = run(limit_rate=True, cutoff_frequency=20.0)
    assert len({tuple(x) for x in (as_given, filtered, limited, both)}) >= 3
    assert not np.array_equal(as_given, filtered)
    assert not np.array_equal(as_given, limited)
    np.testing.assert_array_equal(run(), run(limit_rate=arm.limit_rate, cutoff_frequency=100.0))
    assert np.array_equal(run(), filtered) == (arm is V10)


@pytest.mark.parametrize("cutoff", [999.9, 1000.0, 1e6, np.inf])
def test_cutoffs(server, robot, cutoff):
    out, asked = command_after(server, robot, "torques", limit_rate=False, cutoff_frequency=cutoff)
    gain = 1.0 if cutoff >= 1000 else filters.low_pass_gain(cutoff)
    assert round(gain, 4) in (1.0, 0.8627)
    np.testing.assert_allclose(out, gain * asked, rtol=1e-15)


@pytest.mark.parametrize("cutoff", [0.0, -1.0, np.nan])
def test_bad_cutoffs_are_refused_before_anything_is_sent(server, robot, cutoff):
    for kind in ("torques", *KINDS):
        with raises(InvalidArgumentException, "cutoff_frequency is zero, negative, infinite or NaN"):
            drive(robot, kind, forever(HALF), cutoff_frequency=cutoff)
    assert CommandName.MOVE not in server.asked()


def test_bad_callbacks_and_modes_are_refused_before_anything_is_sent(arm, server, robot):
    with raises(InvalidArgumentException, "libfranka: Invalid control callback given."):
        robot.control_torques(None)
    with raises(InvalidArgumentException, "libfranka: Invalid motion callback given."):
        robot.control_joint_positions(None)
    for motion, torque in ((forever(POSE), 3), (None, forever(HALF))):
        text = "Got no motion or control callback." if arm is V10 else "Invalid "
        with raises(InvalidArgumentException, f"libfranka: {text}"):
            robot.control_cartesian_pose(motion, torque_callback=torque)
    with raises(InvalidArgumentException, "libfranka: Invalid controller mode given.", "torque_callback"):
        robot.control_joint_velocities(forever(HALF), ControllerMode.EXTERNAL_CONTROLLER)
    with raises(InvalidArgumentException, "libfranka: Invalid controller mode given."):
        robot.control_joint_velocities(forever(HALF), ControllerMode.OTHER)
    assert CommandName.MOVE not in server.asked()
    drive(robot, "torques", Script([HALF] * 3))


def test_controller_mode_reaches_the_robot(server, robot):
    robot.control_joint_positions(Script([Q] * 2, JointPositions), ControllerMode.CARTESIAN_IMPEDANCE)
    move = next(r.arguments for r in server.requests if r.command is CommandName.MOVE)
    assert move["controller_mode"] == ControllerMode.CARTESIAN_IMPEDANCE
    assert server.state["motion_generator_mode"] == GeneratorMode.IDLE


# -- bad ends ------------------------------------------------------------------------------------------------------


class UserError(Exception):
    pass


@pytest.mark.parametrize(
    "error", [UserError("mine"), KeyboardInterrupt(), SystemExit(3)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("when", [0, 5])
def test_what_the_callback_raises_comes_out_and_the_arm_is_stopped(server, robot, error, when):
    count = iter(range(100))

    def callback(state, dt):
        if next(count) == when:
            raise error
        return HALF

    with pytest.raises(type(error)) as info:
        robot.control_torques(callback)
    assert info.value is error
    assert server.asked()[-2:] == [CommandName.MOVE, CommandName.STOP_MOVE]
    assert len(server.commands) == when
    drive(robot, "torques", Script([HALF] * 3))


def test_ctrl_c(server, robot):
    """A real signal, wherever the loop stands."""
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        robot.control_torques(forever(HALF))
    timer.join()
    assert server.asked()[-2:] == [CommandName.MOVE, CommandName.STOP_MOVE]
    drive(robot, "torques", Script([HALF] * 3))


def test_refused_start(server, robot):
    server.on[CommandName.MOVE] = reject(Status.COMMAND_NOT_POSSIBLE_REJECTED)
    with raises(CommandException, "command not possible in the current mode"):
        robot.control_torques(forever(HALF))
    assert CommandName.STOP_MOVE not in server.asked()


def test_reflex_carries_the_log_as_arrays(server, robot):
    server.state["control_command_success_rate"] = 0.5
    server.on_command = at_command(80, lambda s: s.end_motion(Status.REFLEX_ABORTED, **REFLEX))
    with raises(ControlException, 'motion aborted by reflex! ["joint_reflex"]', "control_command_success_rate: ") as e:
        robot.control_torques(forever(HALF), **UNTOUCHED)
    error = e.value
    assert error.reasons == ("joint_reflex",)
    assert len(error.log) == 50
    np.testing.assert_array_equal(error.log.command_array("tau_J_d"), np.tile(HALF, (50, 1)))
    assert error.log.state_array("q_d").shape == (50, 7)
    assert error.statistics is robot.loop_statistics
    assert "This loop" not in str(error)


def test_lost_communication_shows_the_loops_own_statistics(server, robot):
    def lose(server):
        server.state["message_id"] = int(server.state["message_id"]) + 57
        server.end_motion(Status.REFLEX_ABORTED, **LOST)

    server.on_command = at_command(40, lose)

    def slow_once(state, dt):
        if robot.loop_statistics.cycles == 30:
            time.sleep(0.02)
        return HALF

    texts = "communication_constraints_violation", "This loop: 40 commands", "states missed", "realtime kernel"
    with raises(ControlException, *texts) as error:
        robot.control_torques(slow_once)
    statistics = error.value.statistics
    assert statistics.slow >= 1
    assert statistics.to_dict()["longest"] >= 0.02
    assert statistics.skipped >= 10 + 57
    assert statistics.longest_gap >= 58
    assert statistics.turnaround.shape == (40,)


def test_ten_recoveries_in_a_row(server, robot):
    for attempt in range(10):
        forget_commands(server, robot)
        server.on_command = at_command(5, lambda s: s.end_motion(Status.REFLEX_ABORTED, **REFLEX))
        with raises(ControlException, "motion aborted by reflex"):
            robot.control_torques(forever(HALF))
        assert robot.latest_state().needs_recovery
        server.state.update(**IDLE)
        robot.automatic_error_recovery()
        assert server.asked().count(CommandName.AUTOMATIC_ERROR_RECOVERY) == attempt + 1
    server.on_command = at_command(10**9, None)
    drive(robot, "torques", Script([HALF] * 5))


def test_stop_from_another_thread(server, robot):
    stopper = threading.Timer(0.05, robot.stop)
    stopper.start()
    with raises(ControlException, "libfranka: Move command preempted!"):
        robot.control_torques(forever(HALF))
    stopper.join()
    drive(robot, "torques", Script([HALF] * 3))


def test_stop_in_the_callback(server, robot):
    going_on = forever(HALF)

    def callback(state, dt):
        if len(server.commands) >= 5:  # a server that lags takes several at once
            robot.stop()
        return going_on(state, dt)

    with raises(ControlException, "libfranka: Move command preempted!"):
        robot.control_torques(callback)
    drive(robot, "torques", Script([HALF] * 3))


def test_closing_beside_a_running_loop(server, robot):
    closer = threading.Timer(0.05, robot.close)
    closer.start()
    with pytest.raises((NetworkException, ControlException)):
        robot.control_torques(forever(HALF))
    closer.join()
    assert robot.closed
    assert gc.isenabled()


def test_motion_and_reading_in_a_callback_are_refused_and_end_the_motion(server, robot):
    for call in (robot.read_once, robot.start_torque_control, lambda: robot.control_torques(forever(HALF))):
        with raises(InvalidOperationException, "another control or read operation is running"):
            robot.control_torques(lambda state, dt, call=call: call())
    assert server.commands == []


def test_other_threads_see_states_but_may_not_read(server, robot):
    seen, refused = set(), []

    def look():
        while robot.loop_statistics is None or robot.loop_statistics.cycles < 60:
            seen.add(robot.latest_state().message_id)
            time.sleep(0.002)
            if robot.loop_statistics and robot.loop_statistics.cycles > 10 and not refused:
                start = time.monotonic()
                try:
                    robot.read_once()
                except InvalidOperationException as error:
                    refused.append((str(error), time.monotonic() - start))

    thread = threading.Thread(target=look)
    thread.start()
    drive(robot, "torques", Script([HALF] * 200))
    thread.join()
    assert len(seen) > 5
    assert "another control or read operation is running" in refused[0][0]


def test_collection_stays_off_until_the_last_of_two_loops_has_ended():
    with no_collection():
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()


def test_garbage_collection_rests_during_a_loop_and_is_restored(server, robot):
    seen = []

    def callback(state, dt):
        seen.append((gc.isenabled(), gc.get_freeze_count() > 0))
        if len(seen) == 3:
            raise UserError
        return HALF

    assert gc.isenabled()
    frozen = gc.get_freeze_count()
    with pytest.raises(UserError):
        robot.control_torques(callback)
    assert seen == [(False, True)] * 3
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
    gc.disable()
    try:
        drive(robot, "torques", Script([HALF] * 3))
        assert not gc.isenabled()
    finally:
        gc.enable()
