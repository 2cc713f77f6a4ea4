"""Arguments and calls that make no sense: one FrankaException, nothing sent, the session as good as before."""

import contextlib
import copy
import gc
import os
import pickle
import threading

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    ControllerMode,
    FciVersion,
    GeneratorMode,
    JointPositions,
    LoopScheduling,
    RealtimeConfig,
    Robot,
    Status,
    Torques,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import ControlException, InvalidArgumentException, InvalidOperationException, NetworkException
from franka_rt.recorder import Kind, Recorder, Recording
from franka_rt.replay import ReplayTransport
from franka_rt.v5 import V5
from tests.rt.expect import raises
from tests.rt.motions import HALF, IGNORE_WARNING, REFLEX, forever

pytestmark = IGNORE_WARNING
HUGE = 10**400
IDENTITY = np.eye(4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"realtime_config": "enforce"},
        {"realtime_config": ""},
        {"version": "AUTO"},
        {"version": FciVersion.V5},
        {"timeout": 0.0},
        {"timeout": -1.0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": "long"},
        {"log_size": -1},
        {"log_size": 1.5},
        {"port": 0},
        {"port": 65536},
        {"port": "1337"},
        {"host": None},
    ],
    ids=str,
)
def test_a_robot_refuses_wrong_arguments(server, wrong):
    options = {"host": server.host, "port": server.port, "realtime_config": RealtimeConfig.IGNORE, **wrong}
    with pytest.raises(InvalidArgumentException):
        Robot(**options)
    assert not server.requests


SETTERS = [
    ("set_joint_impedance", [HUGE] * 7),
    ("set_joint_impedance", np.full(7, 1j)),
    ("set_guiding_mode", None, True),
    ("set_guiding_mode", "abcdef", True),
    ("set_guiding_mode", [float("nan")] * 6, True),
    ("set_guiding_mode", [True] * 6, [1, 2]),
    ("set_guiding_mode", [True] * 6, "no"),
    ("set_load", HUGE, [0, 0, 0], np.eye(3)),
    ("set_k", HUGE),
    ("start_motion", []),
    ("load_model", "quick"),
]
WALLS = [("get_virtual_wall", wrong) for wrong in ("x", None, 1.5, 2**31, -(2**40))]


@pytest.mark.parametrize(("name", "arguments"), [(n, a) for n, *a in [*SETTERS, *WALLS]])
def test_setters_refuse_nonsense_before_anything_is_sent(server, robot, name, arguments):
    before = len(server.requests)
    with pytest.raises(InvalidArgumentException):
        getattr(robot, name)(*arguments)
    assert len(server.requests) == before


@pytest.mark.parametrize("wrong", ["x", HUGE, object()])
@pytest.mark.parametrize("kind", [CartesianPose, Torques])
def test_commands_refuse_what_are_no_numbers(kind, wrong):
    with raises(InvalidArgumentException, "numbers"):
        kind(wrong)
    with raises(InvalidArgumentException, "numbers"):
        kind([wrong] * kind.size)


@pytest.mark.parametrize("meddle", ["cancel_motion", "finish_motion", "update_motion"])
def test_the_motion_of_a_loop_is_not_a_motion_by_hand(robot, meddle):
    refused = []

    def callback(state, dt):
        command = Torques(np.zeros(7))
        if len(refused) == 3:
            return command.finished()
        with raises(InvalidOperationException, "another control or read operation is running", "stop()") as info:
            getattr(robot, meddle)()
        refused.append(info)
        return command

    robot.control_torques(callback)
    assert len(refused) == 3
    robot.read_once()  # nobody holds the session any more


OPTIONS = [
    ({"cutoff_frequency": "100"}, "cutoff_frequency has to be one number"),
    ({"cutoff_frequency": None}, "cutoff_frequency has to be one number"),
    ({"limit_rate": "yes"}, "limit_rate is True, False or None"),
    ({"limit_rate": 2}, "limit_rate is True, False or None"),
]
SCHEDULING = [
    ({"priority": 1000}, "priority of a loop has to be 0 to 99"),
    ({"priority": 5.5}, "priority of a loop has to be a whole number"),
    ({"cpu": 9999}, "core of a loop has to be 0 to"),
    ({"cpu": "first"}, "core of a loop has to be a whole number"),
]


@pytest.mark.parametrize(("options", "complaint"), OPTIONS, ids=str)
def test_nonsense_options_of_a_loop_are_refused_before_the_motion(server, robot, options, complaint):
    with raises(InvalidArgumentException, complaint):
        robot.control_torques(forever(HALF), **options)
    assert CommandName.MOVE not in server.asked()


@pytest.mark.parametrize(("settings", "complaint"), SCHEDULING, ids=str)
def test_nonsense_scheduling_is_refused_before_the_motion(server, robot, settings, complaint):
    robot.scheduling = LoopScheduling(**settings)
    for start in (lambda: robot.control_torques(forever(HALF)), robot.start_torque_control):
        with raises(InvalidArgumentException, complaint):
            start()
    assert CommandName.MOVE not in server.asked()
    robot.read_once()


@pytest.mark.parametrize("wrong", [np.zeros(7, complex), np.array([None] * 7), [["a"] * 7], True, Torques])
def test_what_are_no_torques_ends_the_motion_with_one_error(server, robot, wrong):
    with pytest.raises(InvalidArgumentException):
        robot.control_torques(forever(wrong))
    assert server.commands == []


def test_a_session_closed_by_its_own_callback_says_so(server, robot):
    def callback(state, dt):
        robot.close()
        return HALF

    with raises(NetworkException, "This session was closed"):
        robot.control_torques(callback)
    assert server.asked()[-1] is CommandName.STOP_MOVE


def test_a_session_closed_inside_active_control_says_so(server, robot):
    with robot.start_torque_control() as control:
        control.read_once()
        robot.close()
        with raises(NetworkException, "This session was closed"):
            control.write_once(HALF)
    assert control.finished
    assert server.asked()[-1] is CommandName.STOP_MOVE


@pytest.mark.parametrize("duplicate", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_exceptions_of_a_motion_can_be_sent_elsewhere(server, robot, duplicate):
    server.on_command = lambda s, c: s.end_motion(Status.REFLEX_ABORTED, **REFLEX)
    with pytest.raises(ControlException) as info:
        robot.control_torques(forever(HALF))
    error, same = info.value, duplicate(info.value)
    assert (str(same), same.reasons, same.status) == (str(error), ("joint_reflex",), Status.REFLEX_ABORTED)
    assert same.statistics.to_dict() == error.statistics.to_dict()
    np.testing.assert_array_equal(same.log.state_array("q"), error.log.state_array("q"))
    np.testing.assert_array_equal(same.log.command_array("tau_J_d"), error.log.command_array("tau_J_d"))


def test_two_hundred_motions_leave_nothing_behind(server, robot):
    """Half of them end in an exception."""

    def failing(state, dt):
        raise ZeroDivisionError

    def grown():
        gc.collect()
        return threading.active_count(), len(os.listdir("/proc/self/fd")), len(gc.get_objects())

    def motions(count):
        for number in range(count):
            with contextlib.suppress(ZeroDivisionError):
                robot.control_torques(failing if number % 2 else lambda state, dt: Torques(HALF).finished())
        server.requests.clear()
        server.commands.clear()
        server.messages.clear()

    motions(20)
    threads, descriptors, objects = grown()
    motions(200)
    after = grown()
    assert after[:2] == (threads, descriptors)
    assert after[2] < objects + 100
    assert robot._session.connection.open_requests == {}
    assert not robot._session.channel._answers


def test_a_session_that_was_closed_in_a_motion_says_so(robot):
    robot.start_motion(GeneratorMode.JOINT_POSITION)
    robot.update_motion(JointPositions(np.zeros(7)))
    robot.close()
    for call in (robot.read_once, lambda: robot.start_motion(GeneratorMode.JOINT_POSITION), robot.stop):
        with raises(NetworkException, "This session was closed"):
            call()
    with raises(InvalidOperationException, "no motion was started"):
        robot.cancel_motion()


def test_modes_are_numbers_of_the_version(robot):
    with raises(InvalidArgumentException, "Invalid controller mode"):
        robot.start_motion(GeneratorMode.JOINT_POSITION, "internal")
    assert robot.start_motion(GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE)
    robot.cancel_motion()


# -- recordings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_recorder_needs_a_file_name(path):
    with raises(InvalidArgumentException, "no file name"):
        Recorder(path)


def test_a_recorder_does_not_take_a_directory_for_a_file(tmp_path):
    with raises(InvalidArgumentException, "no file name"):
        Recorder(tmp_path)
    assert not list(tmp_path.parent.glob("*.part"))


@pytest.mark.parametrize(
    "content", [b"[1]\n", b'{"kind": 5}\n', b"FRANKA-RECORDING 1\n\x63" + bytes(12), b"\xff\xfe", b"{"]
)
def test_what_is_no_recording(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with raises(InvalidArgumentException, "is no recording"):
        Recording.load(path)


def test_a_recording_that_is_not_there(tmp_path):
    with raises(InvalidArgumentException, "cannot read", "No such file"):
        Recording.load(tmp_path / "missing")
    with raises(InvalidArgumentException, "no Connect"):
        ReplayTransport(Recording(()))


class _Late:
    """A transport whose queued datagrams arrive between two looks at the queue."""

    udp_port = 1

    def __init__(self):
        self.queue = [None, b"1", None, b"2", b"3", None]

    def poll_datagram(self):
        return self.queue.pop(0)

    def shutdown(self):
        pass

    close = shutdown


def test_a_replay_looks_at_the_queue_as_often_as_the_recorded_session(tmp_path):
    path = tmp_path / "late.frec"
    with Recorder(path) as recorder:
        transport = recorder.wrap(_Late(), V5)  # type: ignore[arg-type]
        recorder.record(Kind.TCP_REQUEST, bytes(16))
        seen = [transport.poll_datagram() for _ in range(6)]
    entries = list(Recording.load(path))
    connect = entries[1].data[:12] + (5).to_bytes(2, "little") + bytes(2)
    entries[1] = type(entries[1])(Kind.TCP_REQUEST, 0.0, connect)
    replayed = ReplayTransport(Recording(tuple(entries)))
    replayed.send(connect)
    assert [replayed.poll_datagram() for _ in range(6)] == seen == [None, b"1", None, b"2", b"3", None]
