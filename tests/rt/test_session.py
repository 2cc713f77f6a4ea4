"""Connecting, commands and states of a Robot against a scripted server, both versions."""

import errno
import json
import os
import socket
import threading
import time

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    ControllerMode,
    FciVersion,
    GeneratorMode,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    RobotMode,
    Status,
    Torques,
    VersionPolicy,
    realtime,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    CommandException,
    ControlException,
    IncompatibleVersionException,
    InvalidArgumentException,
    InvalidOperationException,
    ModelException,
    NetworkException,
    ProtocolException,
    RealtimeException,
)
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from franka_rt.velocity_envelope import VelocityEnvelope
from tests.rt.expect import raises
from tests.rt.layouts import DATA
from tests.rt.motions import IGNORE_WARNING
from tests.rt.scripted import URDF, ScriptedServer, reject

pytestmark = IGNORE_WARNING
IGNORE = RealtimeConfig.IGNORE
EXACT = VersionPolicy.exact


def open_robot(server, version=VersionPolicy.AUTO, **options):
    return Robot(server.host, IGNORE, version, server.port, **options)


# -- negotiation ---------------------------------------------------------------------------------------------------


def test_auto_finds_the_version(arm, server, robot):
    assert robot.fci_version is arm.fci_version
    assert robot.server_version == arm.version
    assert server.sessions == {V10: 1, V5: 2}[arm]
    assert arm.label in repr(robot)


def test_exact_offers_one_version(server):
    with ScriptedServer(V5) as five, open_robot(five, EXACT(FciVersion.V5)) as robot:
        assert robot.fci_version is FciVersion.V5
        assert five.sessions == 1
    with ScriptedServer(V5) as five, pytest.raises(IncompatibleVersionException) as error:
        open_robot(five, EXACT(10))
    assert (error.value.server_version, error.value.library_version, five.sessions) == (5, 10, 1)


@pytest.mark.parametrize(("version", "system"), [(4, "4.0.0"), (6, "5.2.0"), (9, "5.7.2"), (11, "no released")])
def test_other_versions_are_final_and_explained(version, system):
    with ScriptedServer(V10, version=version) as server:
        with pytest.raises(IncompatibleVersionException) as error:
            open_robot(server)
        assert server.sessions == 1
    assert (error.value.server_version, error.value.library_version) == (version, 10)
    start = f"libfranka: Incompatible library version (server version: {version}, library version: 10)."
    assert error.value.text.startswith(start)
    assert system in error.value.hint.lower()


def test_success_with_another_version_is_refused(arm):
    def lie(server, request):
        server.answer(request, Status.SUCCESS, version=7)

    with ScriptedServer(arm) as server:
        server.on[CommandName.CONNECT] = lie
        with pytest.raises(IncompatibleVersionException):
            open_robot(server)


def test_undefined_connect_status(arm):
    with ScriptedServer(arm) as server:
        server.on[CommandName.CONNECT] = lambda s, r: s.tcp.sendall(arm.message(0, 0, b"\x07\x0a\x00"))
        with raises(ProtocolException, "libfranka: Protocol error during connection attempt"):
            open_robot(server)


# -- failures to connect -------------------------------------------------------------------------------------------


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_refused():
    with raises(NetworkException, "libfranka: Connection to FCI refused", "FCI is not activated") as error:
        Robot("127.0.0.1", IGNORE, port=closed_port())
    assert error.value.text.endswith("Please install FCI feature or enable FCI mode in Desk.")


def test_unresolved():
    with raises(NetworkException, "Host not found", "does not resolve"):
        Robot("no-such-robot.invalid", IGNORE)


def test_black_hole_is_given_up_in_bounded_time():
    """A full backlog drops connection requests as an unreachable host does."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = [socket.socket() for _ in range(4)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    try:
        started = time.monotonic()
        with raises(NetworkException, "libfranka: Connection timeout", "did not answer within 0.3 s"):
            Robot("127.0.0.1", IGNORE, port=listener.getsockname()[1], timeout=0.3)
        assert time.monotonic() - started < 10.0
    finally:
        for sock in (*fillers, listener):
            sock.close()


def test_unreachable(monkeypatch):
    def no_route(self, address):
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    monkeypatch.setattr(socket.socket, "connect", no_route)
    with raises(NetworkException, "libfranka: Connection error: Network is unreachable", "no way to"):
        Robot("127.0.0.1", IGNORE)


def test_no_udp_names_the_port_and_suggests_a_firewall(arm):
    before = len(os.listdir("/proc/self/fd"))
    with ScriptedServer(arm, states=False) as server:
        with raises(NetworkException, "libfranka: UDP receive: Timeout") as error:
            open_robot(server)
        port = int(server.requests[-1].arguments["udp_port"])
    assert str(port) in error.value.hint
    assert "firewall" in error.value.hint
    assert len(os.listdir("/proc/self/fd")) == before, "sockets are left open"


def test_silent_server(arm):
    with ScriptedServer(arm, silent=True) as server:
        with raises(NetworkException, "libfranka: TCP receive: Timeout", "another client") as error:
            open_robot(server, timeout=0.2)
        assert "Connect was not answered within 0.2 s" in str(error.value)


def test_second_client_of_a_server_for_one(server, robot):
    with raises(NetworkException, "another client"):
        open_robot(server, timeout=0.2)
    assert robot.read_once().robot_mode is RobotMode.IDLE


def test_safety_rule_at_connect():
    with ScriptedServer(V10) as server:
        server.on[CommandName.GET_ROBOT_MODEL] = reject(Status.REJECTED_DUE_TO_SAFETY)
        with raises(CommandException, "activated safety function", "safety rule"):
            open_robot(server)


def test_nothing_leaks_over_500_failed_negotiations():
    def resources():
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    with ScriptedServer(V10, version=9) as server:
        before = resources()
        for _ in range(500):
            with pytest.raises(IncompatibleVersionException):
                open_robot(server)
        deadline = time.monotonic() + 5.0
        while resources() != before and time.monotonic() < deadline:
            time.sleep(0.01)  # the server's own sockets of the last session
        assert resources() == before


def test_close_is_idempotent(server):
    with open_robot(server) as robot:
        robot.close()
        robot.close()
    assert robot.closed
    with raises(NetworkException, "libfranka: TCP connection got interrupted"):
        robot.set_load(0, [0, 0, 0], np.zeros((3, 3)))
    with raises(NetworkException, "libfranka: TCP connection got interrupted", "connect again"):
        robot.read_once()
    assert "closed" in repr(robot)
    assert robot.latest_state().robot_mode is RobotMode.IDLE


# -- realtime ------------------------------------------------------------------------------------------------------


@pytest.fixture
def ordinary_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(realtime, "_KERNEL_FLAG", tmp_path / "missing")
    monkeypatch.delenv("FRANKA_REALTIME", raising=False)


def test_enforce_fails_before_touching_the_robot(ordinary_machine, server):
    for config in (RealtimeConfig.ENFORCE, None):
        with raises(RealtimeException, "PREEMPT_RT", "RealtimeConfig.IGNORE"):
            Robot(server.host, config, port=server.port)
    assert server.sessions == 0


@pytest.mark.filterwarnings("default::franka_rt.realtime.RealtimeWarning")
def test_ignore_works_and_warns_once(ordinary_machine, server, monkeypatch):
    monkeypatch.setenv("FRANKA_REALTIME", "ignore")
    with pytest.warns(realtime.RealtimeWarning) as warned, Robot(server.host, port=server.port) as robot:
        robot.read_once()
    assert len(warned) == 1
    assert warned[0].filename == __file__


def test_environment_is_checked(monkeypatch):
    monkeypatch.setenv("FRANKA_REALTIME", "maybe")
    with raises(InvalidArgumentException, "maybe"):
        RealtimeConfig.from_environment()


def test_probing_leaves_this_thread_alone():
    before = os.sched_getscheduler(0)
    realtime.problems()
    assert os.sched_getscheduler(0) == before


def silence(server, robot):
    """No states any more, and none is queued: after an answer the server has seen that it shall not send."""
    server.states = False
    robot.stop()
    robot._session.poll_state()


# -- states --------------------------------------------------------------------------------------------------------


def test_read_once_is_fresh_after_idling(server, robot):
    time.sleep(0.2)
    before = int(server.state["message_id"])
    assert robot.read_once().message_id >= before
    assert robot.latest_state().message_id >= before


def test_read_until_false(robot):
    seen = []

    def callback(state):
        seen.append(state.message_id)
        return len(seen) < 20

    robot.read(callback)
    assert len(seen) == 20
    assert np.all(np.diff(seen) > 0)


def test_read_ends_when_the_server_closes(server, robot):
    closing = threading.Timer(0.05, lambda: server.tcp.shutdown(socket.SHUT_RDWR))
    closing.start()
    with raises(NetworkException, "libfranka: "):
        robot.read(lambda state: True)
    closing.join()


def test_stale_and_duplicate_states_are_skipped(server, robot):
    silence(server, robot)
    last = robot.latest_state().message_id
    for message_id in (last + 1, last, last + 3, last + 1, last + 2, last + 3):
        server.state["message_id"] = message_id
        server.udp.sendto(server.state.datagram(), server.client)
    assert robot._session.receive_state().message_id == last + 3
    server.state["message_id"] = last + 3
    server.states = True
    assert robot.read_once().message_id > last + 3


def test_a_stream_that_stands_still_is_given_up(server, robot):
    def stand():
        server.udp.sendto(server.state.datagram(), server.client)

    server.send_state = stand
    with raises(NetworkException, "libfranka: UDP receive: Timeout", "none is newer than"):
        robot.read(lambda state: True)


def test_a_fresh_state_comes_after_whatever_is_queued(arm, server, robot):
    silence(server, robot)
    for _ in range(3):
        server.udp.sendto(bytes(99), server.client)
    server.states = True
    assert robot.read_once()


@pytest.mark.parametrize("extra", [-1, 1, 996])
def test_datagram_of_the_wrong_size(arm, server, robot, extra):
    silence(server, robot)
    server.udp.sendto(bytes(arm.state.itemsize + extra), server.client)
    with raises(ProtocolException, "libfranka: incorrect object size"):
        robot._session.receive_state()


def test_datagrams_of_strangers_are_dropped(arm, server, robot):
    forged = StateWriter(arm)
    forged["message_id"] = 10**9
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(forged.datagram(), server.client)
    assert [robot.read_once().message_id < 10**9 for _ in range(3)] == [True] * 3


# -- commands ------------------------------------------------------------------------------------------------------

SETTERS = {
    CommandName.SET_COLLISION_BEHAVIOR: lambda r: r.set_collision_behavior([20] * 7, [20] * 7, [10] * 6, [10] * 6),
    CommandName.SET_JOINT_IMPEDANCE: lambda r: r.set_joint_impedance([3000] * 7),
    CommandName.SET_CARTESIAN_IMPEDANCE: lambda r: r.set_cartesian_impedance([3000] * 3 + [300] * 3),
    CommandName.SET_GUIDING_MODE: lambda r: r.set_guiding_mode([True] * 6, False),
    CommandName.SET_EE_TO_K: lambda r: r.set_k(np.eye(4)),
    CommandName.SET_NE_TO_EE: lambda r: r.set_ee(np.eye(4)),
    CommandName.SET_LOAD: lambda r: r.set_load(0.5, [0, 0, 0.1], np.eye(3) * 1e-3),
    CommandName.SET_FILTERS: lambda r: r.set_filters(100, 100, 100, 100, 100),
    CommandName.GET_CARTESIAN_LIMIT: lambda r: r.get_virtual_wall(3),
    CommandName.GET_ROBOT_MODEL: lambda r: r.get_robot_model(),
    CommandName.AUTOMATIC_ERROR_RECOVERY: lambda r: r.automatic_error_recovery(),
    CommandName.STOP_MOVE: lambda r: r.stop(),
}


@pytest.mark.parametrize("name", SETTERS, ids=lambda n: n.value)
def test_command_is_sent_or_refused_by_version(arm, server, robot, name):
    before = len(server.messages)
    if name in arm.commands:
        SETTERS[name](robot)
        assert server.asked()[-1] is name
    else:
        with pytest.raises(InvalidOperationException) as error:
            SETTERS[name](robot)
        assert error.value.text == f"libfranka: {name.value} is not available on FCI version {arm.version}."
        assert len(server.messages) == before


@pytest.mark.parametrize(
    ("mode", "advice"),
    [
        (RobotMode.OTHER, "brakes"),
        (RobotMode.MOVE, "stop it"),
        (RobotMode.GUIDING, "guiding"),
        (RobotMode.REFLEX, "automatic_error_recovery"),
        (RobotMode.USER_STOPPED, "user stop"),
    ],
)
def test_not_possible_names_the_mode_and_what_to_do(arm, server, robot, mode, advice):
    server.state["robot_mode"] = mode
    robot.read(lambda state: state.robot_mode is not mode)
    for name in set(SETTERS) & set(arm.commands):
        server.on[name] = reject(Status.COMMAND_NOT_POSSIBLE_REJECTED)
        with pytest.raises(CommandException) as error:
            SETTERS[name](robot)
        text = mode.name.replace("_", " ").capitalize()
        assert error.value.text.startswith(
            f'libfranka: {name.value} command rejected: command not possible in the current mode ("{text}")!'
        )
        assert advice in str(error.value)
        assert (error.value.command, error.value.robot_mode) == (name, mode)


def test_every_status_of_every_command_has_its_exception(arm, server, robot):
    for name in set(SETTERS) & set(arm.commands):
        for status in arm.spec(name).statuses:
            server.on[name] = reject(status)
            if status is Status.SUCCESS and name not in (CommandName.GET_CARTESIAN_LIMIT,):
                SETTERS[name](robot)
            elif status is not Status.SUCCESS:
                with raises(CommandException, "libfranka:") as error:
                    SETTERS[name](robot)
                assert error.value.status is status
        wire_id, undefined = arm.commands[name].wire_id, len(arm.spec(name).statuses)
        body = bytes([undefined]) + bytes(arm.spec(name).response.itemsize - 1)
        server.on[name] = lambda s, r, w=wire_id, b=body: s.tcp.sendall(arm.message(w, r.command_id, b))
        with pytest.raises(ProtocolException) as error:
            SETTERS[name](robot)
        assert error.value.text == f"libfranka: Unexpected response while handling {name.value} command!"


def test_unanswered_command_is_given_up(server, robot, monkeypatch):
    monkeypatch.setattr("franka_rt.robot._TIMEOUT", 0.1)
    server.on[CommandName.SET_LOAD] = lambda s, r: None
    with raises(NetworkException, "Set Load was not answered within 0.1 s"):
        SETTERS[CommandName.SET_LOAD](robot)
    SETTERS[CommandName.SET_JOINT_IMPEDANCE](robot)


def test_server_that_closes_during_a_command(server, robot):
    server.on[CommandName.SET_LOAD] = lambda s, r: s.tcp.shutdown(socket.SHUT_RDWR)
    with raises(NetworkException, "libfranka: server closed connection"):
        SETTERS[CommandName.SET_LOAD](robot)


def test_commands_from_many_threads(robot):
    errors = []

    def work():
        try:
            for _ in range(20):
                SETTERS[CommandName.SET_LOAD](robot)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert errors == []
    assert robot._session.connection.open_requests == {}


EYE3 = np.eye(3) * 1e-3
LOWER = np.tril(np.ones((3, 3)))
SCALED = np.diag([1.1, 1, 1, 1])
BAD = {
    "negative mass": lambda r: r.set_load(-1, [0, 0, 0], EYE3),
    "NaN mass": lambda r: r.set_load(np.nan, [0, 0, 0], EYE3),
    "infinite centre": lambda r: r.set_load(1, [0, 0, np.inf], EYE3),
    "inertia of 8": lambda r: r.set_load(1, [0, 0, 0], np.ones(8)),
    "one triangle": lambda r: r.set_load(1, [0, 0, 0], LOWER),
    "negative moment": lambda r: r.set_load(1, [0, 0, 0], np.diag([1, 1, -1])),
    "text": lambda r: r.set_load("heavy", [0, 0, 0], EYE3),
    "six stiffnesses": lambda r: r.set_joint_impedance([3000] * 6),
    "negative stiffness": lambda r: r.set_cartesian_impedance([-1] * 6),
    "scaled rotation": lambda r: r.set_ee(SCALED),
    "row-major flat": lambda r: r.set_k(np.array([[1, 0, 0, 0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).ravel()),
    "five thresholds": lambda r: r.set_collision_behavior(*[[1] * 7] * 5),
    "force of 7": lambda r: r.set_collision_behavior([1] * 7, [1] * 7, [1] * 7, [1] * 6),
    "five guiding flags": lambda r: r.set_guiding_mode([True] * 5, True),
}


@pytest.mark.parametrize("call", BAD.values(), ids=BAD.keys())
def test_bad_arguments_are_refused_before_sending(server, robot, call):
    before = len(server.messages)
    with pytest.raises(InvalidArgumentException) as error:
        call(robot)
    assert isinstance(error.value, ValueError)
    robot.set_load(0, [0, 0, 0], np.zeros((3, 3)))
    assert len(server.messages) == before + 1


def test_arguments_go_out_column_major(server, robot):
    pose = np.eye(4)
    pose[:3, 3] = (0.1, 0.2, 0.3)
    robot.set_ee(pose)
    np.testing.assert_array_equal(server.requests[-1].arguments["NE_T_EE"], pose.T.ravel())
    robot.set_ee(pose.T.ravel())
    np.testing.assert_array_equal(server.requests[-1].arguments["NE_T_EE"], pose.T.ravel())
    robot.set_guiding_mode([True, False] * 3, elbow=True)
    assert bytes(server.messages[-1][12:]) == bytes([1, 0, 1, 0, 1, 0, 1])


def test_virtual_wall():
    with ScriptedServer(V5) as server, open_robot(server) as robot:
        wall = robot.get_virtual_wall(3)
    assert (wall.id, wall.active) == (3, True)
    np.testing.assert_array_equal(wall.p_frame[:3, 3], (1, 2, 3))
    np.testing.assert_array_equal(wall.object_world_size, (0.1, 0.2, 0.3))


def test_velocity_limits(arm, robot):
    """FR3: libfranka's own numbers at 102 configurations; FER: its constants."""
    reference = np.load(DATA / "fr3_libfranka_0_21.npz")
    for i, q in enumerate(reference["q"]):
        upper, lower = robot.upper_joint_velocity_limits(q), robot.lower_joint_velocity_limits(q)
        if arm is V5:
            np.testing.assert_array_equal((upper, -lower), [V5.limits.joint_velocity] * 2)
        else:
            np.testing.assert_allclose(upper, reference["joint_velocity_upper"][i], rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(lower, reference["joint_velocity_lower"][i], rtol=1e-13, atol=1e-15)


def test_velocity_envelope_near_and_past_the_limits():
    envelope = VelocityEnvelope.from_urdf(URDF.decode())
    for joint, position, expected in (
        (0, 0, 2.62),
        (0, 2.7, 0.89990),
        (0, 2.76, 0.64738),
        (1, 1.7, 0.58883),
        (0, 9, 0),
    ):
        q = np.zeros(7)
        q[joint] = position
        assert envelope.upper(q)[joint] + 1e-3 == pytest.approx(expected, abs=5e-6)
        q[joint] = -position
        assert envelope.lower(q)[joint] - 1e-3 == pytest.approx(-expected, abs=5e-6)


@pytest.mark.parametrize(
    ("urdf", "complaint"),
    [
        ("nonsense", "Failed to parse URDF for joint velocity limits"),
        ("<model/>", "no <robot> element exists"),
        ("<robot><joint name='joint1'/></robot>", "Missing <position_based_velocity_limits> element for joint: joint1"),
        ("<robot/>", "Missing required joints: joint1 joint2 "),
    ],
)
def test_a_model_without_the_envelope_connects_and_says_so_later(urdf, complaint):
    with ScriptedServer(V10) as server:
        server.on[CommandName.GET_ROBOT_MODEL] = lambda s, r: s.answer(r, data=urdf.encode())
        with open_robot(server) as robot, pytest.raises(ModelException, match=complaint):
            robot.upper_joint_velocity_limits(np.zeros(7))


# -- recorded sessions ---------------------------------------------------------------------------------------------

LAST = {
    GeneratorMode.NONE: (None, Torques(np.zeros(7))),
    GeneratorMode.JOINT_POSITION: (JointPositions(np.zeros(7)), None),
    GeneratorMode.JOINT_VELOCITY: (JointVelocities(np.zeros(7)), None),
    GeneratorMode.CARTESIAN_POSITION: (CartesianPose(np.eye(4)), None),
    GeneratorMode.CARTESIAN_VELOCITY: (CartesianVelocities(np.zeros(6)), None),
}
EXTERNAL = ControllerMode.EXTERNAL_CONTROLLER


def run_motion(robot, generator, controller, stop=False):
    motion, torques = LAST[generator]
    if controller is EXTERNAL:
        torques = Torques(np.zeros(7))
    robot.start_motion(generator, controller)
    if not stop:
        robot.finish_motion(motion, torques)
        return
    robot.stop()
    with raises(ControlException, "libfranka: Move command preempted!"):
        for _ in range(1000):
            robot.update_motion(motion, torques)


def replay(robot, arm):
    """The calls of the recorded clients."""
    translation = np.eye(4)
    if arm is V10:
        robot.get_robot_model()
    else:
        with raises(ModelException, "Server reports error when loading model library"):
            robot.load_model_from_robot()
    robot.set_collision_behavior([20.0] * 7, [20.0] * 7, [10.0] * 6, [10.0] * 6)
    robot.set_joint_impedance([3000] * 7 if arm is V5 else [3000, 3000, 3000, 2500, 2500, 2000, 2000])
    robot.set_cartesian_impedance([3000, 3000, 3000, 300, 300, 300])
    if arm is V10:
        for call, height in ((robot.set_ee, 0.1), (robot.set_k, 0.05)):
            translation[2, 3] = height
            call(translation)
    robot.set_load(0.5, [0, 0, 0.03], np.diag([0.001] * 3))
    if arm is V10:
        robot.set_load(0, [0, 0, 0], np.zeros((3, 3)))
        robot.set_ee(np.eye(4))
        robot.set_k(np.eye(4))
    torque = arm.torque_generator
    run_motion(robot, torque, EXTERNAL)
    run_motion(robot, GeneratorMode.JOINT_POSITION, ControllerMode.JOINT_IMPEDANCE)
    if arm is V10:
        run_motion(robot, GeneratorMode.JOINT_VELOCITY, ControllerMode.JOINT_IMPEDANCE)
        run_motion(robot, GeneratorMode.CARTESIAN_POSITION, ControllerMode.CARTESIAN_IMPEDANCE)
        run_motion(robot, GeneratorMode.CARTESIAN_VELOCITY, ControllerMode.CARTESIAN_IMPEDANCE)
    run_motion(robot, torque, EXTERNAL, stop=True)
    robot.automatic_error_recovery()


def test_a_session_of_ours_equals_the_recorded_one(arm):
    name = {V10: "wire_libfranka_0_21_3.jsonl", V5: "wire_libfranka_0_9_2.jsonl"}[arm]
    lines = [json.loads(line) for line in (DATA / "wire" / name).read_text().splitlines()]
    recorded = [bytes.fromhex(e["hex"]) for e in lines if e["kind"] == "tcp_request"]
    with ScriptedServer(arm) as server, open_robot(server, EXACT(arm.fci_version)) as robot:
        replay(robot, arm)
        ours = server.messages
    assert [m[:14] for m in ours[:1]] == [m[:14] for m in recorded[:1]]  # what follows is the UDP port
    assert ours[1:] == recorded[1:]
