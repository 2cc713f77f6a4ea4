"""Gripper and vacuum gripper against a scripted one: outcomes, futures, states, and what people reported."""

import threading
import time

import numpy as np
import pytest

from franka_rt import (
    DeviceStatus,
    Gripper,
    RealtimeConfig,
    Robot,
    Status,
    Torques,
    VacuumGripper,
    VacuumProfile,
)
from franka_rt.dialect import CommandName
from franka_rt.errors import (
    CommandException,
    IncompatibleVersionException,
    InvalidArgumentException,
    InvalidOperationException,
    NetworkException,
    ProtocolException,
)
from franka_rt.gripper import NotHomedWarning
from franka_rt.gripper_dialect import GRIPPER, VACUUM_GRIPPER
from franka_rt.v10 import V10
from tests.rt.expect import raises
from tests.rt.scripted import ScriptedServer, reject
from tests.rt.scripted_gripper import ScriptedGripper

pytestmark = pytest.mark.usefixtures("no_thread_left")

KINDS = {"gripper": (GRIPPER, Gripper), "vacuum gripper": (VACUUM_GRIPPER, VacuumGripper)}
CALLS = {
    "gripper": {
        CommandName.HOMING: ("homing", ()),
        CommandName.MOVE: ("move", (0.05, 0.1)),
        CommandName.GRASP: ("grasp", (0.03, 0.1, 20.0)),
        CommandName.STOP: ("stop", ()),
    },
    "vacuum gripper": {
        CommandName.VACUUM: ("vacuum", (40, 1.5, VacuumProfile.P2)),
        CommandName.DROP_OFF: ("drop_off", (2.5,)),
        CommandName.STOP: ("stop", ()),
    },
}
EVERY = [(kind, command) for kind, calls in CALLS.items() for command in calls]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def server(kind):
    with ScriptedGripper(KINDS[kind][0]) as server:
        yield server


@pytest.fixture
def gripper(kind, server):
    with KINDS[kind][1](server.host, server.port) as gripper:
        yield gripper


def call(gripper, kind, command, suffix=""):
    name, arguments = CALLS[kind][command]
    return getattr(gripper, name + suffix)(*arguments)


# -- outcomes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", "_async"])
def test_four_outcomes_and_nonsense(server, gripper, kind, suffix):
    def outcome(command):
        result = call(gripper, kind, command, suffix)
        return result.result(5.0) if suffix else result

    for command in CALLS[kind]:
        for number, expected in ((0, True), (2, False)):
            server.raw_status(number)
            assert outcome(command) is expected
        for number, verb in ((1, "failed"), (3, "aborted")):
            server.raw_status(number)
            with raises(CommandException, f"libfranka {kind}: Command {verb}!", command.value) as error:
                outcome(command)
            assert error.value.command is command
            assert error.value.status in (Status.FAIL, Status.ABORTED)
        server.raw_status(7)
        with raises(ProtocolException, f"libfranka {kind}: Unexpected response while handling command!"):
            outcome(command)


def test_requests_carry_the_values(server, gripper, kind):
    for command in CALLS[kind]:
        assert call(gripper, kind, command) is True
    requests = {r.command: r.arguments for r in server.requests}
    if kind == "gripper":
        grasp = requests[CommandName.GRASP]
        assert [grasp[n] for n in ("width", "speed", "force")] == [0.03, 0.1, 20.0]
        assert grasp["epsilon"].tolist() == (0.005, 0.005)
        assert requests[CommandName.MOVE].tolist() == (0.05, 0.1)
    else:
        assert requests[CommandName.VACUUM].tolist() == (40, 2, 1500)
        assert requests[CommandName.DROP_OFF].tolist() == (2500,)


def test_server_version_and_repr(server, gripper, kind):
    assert gripper.server_version == {"gripper": 3, "vacuum gripper": 1}[kind]
    assert repr(gripper) == f"<{type(gripper).__name__} {server.host}:{server.port}>"
    gripper.close()
    gripper.close()
    assert gripper.closed
    assert repr(gripper).endswith(", closed>")
    with raises(NetworkException, "connect again"):
        gripper.stop()


def test_other_version(kind):
    with ScriptedGripper(KINDS[kind][0], version=9) as server:
        with raises(IncompatibleVersionException, "server version: 9") as error:
            KINDS[kind][1](server.host, server.port)
        assert error.value.server_version == 9


def test_nobody_there(kind):
    with ScriptedGripper(KINDS[kind][0]) as server:
        port = server.port
    with pytest.raises(NetworkException):
        KINDS[kind][1]("127.0.0.1", port)


BAD = {
    "width": lambda g: g.move(np.nan, 0.1),
    "speed": lambda g: g.grasp(0.01, "fast", 10),
    "force": lambda g: g.grasp(0.01, 0.1, np.inf),
    "epsilon_outer": lambda g: g.grasp(0.01, 0.1, 10, 0.005, None),
}


@pytest.mark.parametrize("kind", ["gripper"], indirect=True)
def test_bad_arguments_are_not_sent(server, gripper):
    for name, act in BAD.items():
        with raises(InvalidArgumentException, name):
            act(gripper)
    assert server.asked() == [CommandName.CONNECT]


@pytest.mark.parametrize("kind", ["vacuum gripper"], indirect=True)
def test_bad_arguments_of_the_vacuum_gripper_are_not_sent(server, gripper):
    for point in (-1, 256, 1.5, np.nan):
        with raises(InvalidArgumentException, "control_point"):
            gripper.vacuum(point, 1.0)
    with raises(InvalidArgumentException, "timeout"):
        gripper.drop_off(-1)
    with raises(CommandException, "Vacuum Gripper: Vacuum profile not defined!"):
        gripper.vacuum(40, 1.0, 7)
    assert server.asked() == [CommandName.CONNECT]


# -- what people reported ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gripper"], indirect=True)
def test_a_grasp_beside_the_expected_width_is_false_not_an_exception(server, gripper):
    server.on[CommandName.GRASP] = reject(Status.UNSUCCESSFUL)
    assert gripper.grasp(0.01, 0.1, 20) is False
    server.change(is_grasped=True, width=0.03)
    gripper.read_once()
    assert gripper.read_once().is_grasped
    assert "width - epsilon_inner < d < width + epsilon_outer" in (Gripper.grasp.__doc__ or "")


@pytest.mark.parametrize("kind", ["gripper"], indirect=True)
def test_a_refused_epsilon_is_shown(server, gripper):
    server.on[CommandName.GRASP] = reject(Status.FAIL)
    with raises(CommandException, "Command failed!", "Grasp(width 0.01, speed 0.1, force 20.0, epsilon (1.0, 0.5))"):
        gripper.grasp(0.01, 0.1, 20, 1.0, 0.5)


@pytest.mark.parametrize("kind", ["gripper"], indirect=True)
def test_home_first(server, gripper):
    server.change(max_width=0.0)
    server.on[CommandName.MOVE] = reject(Status.FAIL)
    with raises(CommandException, "homing() first"):
        gripper.move(0.05, 0.1)
    server.on[CommandName.MOVE] = reject(Status.UNSUCCESSFUL)
    with pytest.warns(NotHomedWarning, match=r"homing\(\) first"):
        assert gripper.move(0.05, 0.1) is False


def test_commands_work_without_any_states(kind):
    with ScriptedGripper(KINDS[kind][0], states=False) as server, KINDS[kind][1](server.host, server.port) as gripper:
        for command in CALLS[kind]:
            assert call(gripper, kind, command) is True
        with raises(NetworkException, "UDP receive: Timeout"):
            gripper.read_once()
        assert gripper.stop() is True
        server.states = True
        assert gripper.read_once().time > 1.0


def test_old_states_are_thrown_away(server, gripper):
    time.sleep(0.05)
    first = gripper.read_once()
    for _ in range(500):
        server.udp.sendto(server.state.datagram(), server.client)
    server.udp.sendto(b"short", server.client)
    time.sleep(0.02)
    before = server.state.message_id
    state = gripper.read_once()
    assert state.message_id >= before > first.message_id


def test_a_state_of_the_wrong_size(server, gripper):
    server.send_state = lambda: server.udp.sendto(b"short", server.client)
    with raises(ProtocolException, "libfranka: incorrect object size"):
        gripper.read_once()


def test_two_readers(server, gripper):
    server.states = False

    def read():
        with pytest.raises(NetworkException):
            gripper.read_once()

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.1)
    with raises(InvalidOperationException, "another read operation is running"):
        gripper.read_once()
    thread.join()


def test_public_state(server, gripper, kind):
    state = gripper.read_once()
    if kind == "gripper":
        assert state.to_dict() | {"time": 0} == {
            "width": 0.04, "max_width": 0.08, "is_grasped": False, "temperature": 30, "time": 0,
        }  # fmt: skip
    else:
        assert (state.device_status, state.part_present, state.vacuum) == (DeviceStatus.GREEN, True, 400)


@pytest.mark.parametrize(("kind", "command"), EVERY, indirect=["kind"])
def test_a_future_does_not_wait_and_stop_comes_from_anywhere(server, gripper, kind, command):
    server.hold(command)

    def stop(server, request):
        for pending in server.pending:
            server.answer(pending, Status.ABORTED)
        server.pending.clear()
        server.answer(request)

    if command is not CommandName.STOP:
        server.on[CommandName.STOP] = stop
    future = call(gripper, kind, command, "_async")
    time.sleep(0.03)
    assert future.running()
    assert gripper.read_once() is not None
    if command is CommandName.STOP:
        server.answer(server.pending[0])
        assert future.result(5.0) is True
        return
    assert gripper.stop() is True
    with raises(CommandException, "Command aborted!"):
        future.result(5.0)


def test_closing_ends_waiting_futures(server, gripper, kind):
    server.hold(*CALLS[kind])
    futures = [call(gripper, kind, command, "_async") for command in CALLS[kind]]
    threads = threading.active_count()
    gripper.close()
    for future in futures:
        with pytest.raises(NetworkException):
            future.result(5.0)
    assert threading.active_count() <= threads - len(futures)


def test_a_gripper_that_goes_away(server, gripper, kind):
    server.hold(*CALLS[kind])
    futures = [call(gripper, kind, command, "_async") for command in CALLS[kind]]
    while len(server.pending) < len(futures):
        time.sleep(0.005)
    server.tcp.shutdown(2)
    for future in futures:
        with raises(NetworkException, "libfranka: server closed connection"):
            future.result(5.0)


def test_a_command_that_takes_too_long(kind):
    with ScriptedGripper(KINDS[kind][0]) as server:
        server.hold(*CALLS[kind])
        complaint = raises(NetworkException, "Stop was not answered within 0.1 s")
        with KINDS[kind][1](server.host, server.port, command_timeout=0.1) as gripper, complaint:
            gripper.stop()


@pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")
@pytest.mark.parametrize("kind", ["gripper"], indirect=True)
def test_a_slow_gripper_does_not_hold_up_the_arm(server, gripper):
    """The call returns long before the gripper answers, and the loop goes on answering every state meanwhile."""
    server.hold(CommandName.GRASP)
    futures, count = [], []

    def callback(state, dt):
        if not futures:
            futures.append(gripper.grasp_async(0.03, 0.1, 20))
        command = Torques(np.zeros(7))
        count.append(dt)
        return command.finished() if len(count) == 200 else command

    with ScriptedServer(V10) as arm, Robot(arm.host, RealtimeConfig.IGNORE, port=arm.port) as robot:
        robot.control_torques(callback)
        assert len(count) == 200
        assert futures[0].running()
        server.answer(server.pending[0])
        assert futures[0].result(5.0) is True
