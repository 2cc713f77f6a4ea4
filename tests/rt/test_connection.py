"""Client and server ends of the protocol against each other, without sockets."""

from typing import Any

import numpy as np
import pytest

from franka_rt.connection import ArmClientConnection, ClientConnection, ServerConnection
from franka_rt.dialect import CommandName, Dialect, Status
from franka_rt.errors import InvalidArgumentException, InvalidOperationException, ProtocolException
from franka_rt.events import Answer, Closed, InvalidAnswer, Request, StrayAnswer
from franka_rt.gripper_dialect import GRIPPER
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.layouts import DIALECTS, only_event


class Pair:
    """A connected client and server."""

    def __init__(self, dialect: Dialect):
        self.client, self.server = ClientConnection(dialect), ServerConnection(dialect)
        request = self.ask(*self.client.connect(50000))
        assert (request.arguments["version"], request.arguments["udp_port"]) == (dialect.version, 50000)
        answer = self.tell(self.server.answer(request, Status.SUCCESS, version=dialect.version))
        assert (answer.command_id, answer.status, answer.body["version"]) == (0, Status.SUCCESS, dialect.version)

    def ask(self, command_id, message) -> Request:
        self.server.receive_data(message)
        request = only_event(self.server)
        assert isinstance(request, Request)
        assert request.command_id == command_id
        return request

    def tell(self, message) -> Any:
        self.client.receive_data(message)
        return only_event(self.client)


@pytest.fixture(params=DIALECTS.values(), ids=list(DIALECTS))
def dialect(request):
    return request.param


@pytest.fixture
def pair(arm):
    return Pair(arm)


def test_every_command_there_and_back(dialect):
    pair = Pair(dialect)
    for name in dialect.commands:
        if name is CommandName.CONNECT:
            continue
        request = pair.ask(*pair.client.request(name))
        assert request.command is name
        for status in dialect.spec(name).statuses[1:2]:
            answer = pair.tell(pair.server.answer(request, status))
            assert (answer.command, answer.status) == (name, status)


def test_arguments_arrive(pair):
    inertia = np.arange(9.0)
    request = pair.ask(*pair.client.request(CommandName.SET_LOAD, m_load=0.5, F_x_Cload=[0, 0, 0.1], I_load=inertia))
    np.testing.assert_array_equal(request.arguments["I_load"], inertia)
    assert request.arguments["m_load"] == 0.5


@pytest.mark.parametrize("chunk", [1, 7, 12, 13, 10**6])
def test_any_split_gives_the_same_events(arm, chunk):
    pair, events = Pair(arm), []
    requests = [pair.ask(*pair.client.request(CommandName.STOP_MOVE)) for _ in range(5)]
    stream = b"".join(pair.server.answer(request, Status.SUCCESS) for request in requests)
    for i in range(0, len(stream), chunk):
        pair.client.receive_data(stream[i : i + chunk])
        events.extend(pair.client.events())
    assert [(event.command_id, event.status) for event in events] == [(i, Status.SUCCESS) for i in range(1, 6)]


def test_answers_out_of_order_and_trailing_data():
    pair = Pair(V10)
    first = pair.ask(*pair.client.request(CommandName.GET_ROBOT_MODEL))
    second = pair.ask(*pair.client.request(CommandName.STOP_MOVE))
    assert pair.tell(pair.server.answer(second, Status.SUCCESS)).command is CommandName.STOP_MOVE
    model = pair.tell(pair.server.answer(first, Status.SUCCESS, data=b"<robot/>"))
    assert (model.command_id, model.data) == (first.command_id, b"<robot/>")
    assert pair.client.open_requests == {}


def test_move_is_answered_twice(pair):
    move = pair.ask(*pair.client.request(CommandName.MOVE))
    started = pair.tell(pair.server.answer(move, Status.MOTION_STARTED))
    assert (started.final, pair.client.open_requests) == (False, {1: CommandName.MOVE})
    other = pair.ask(*pair.client.request(CommandName.STOP_MOVE))
    assert pair.tell(pair.server.answer(other, Status.SUCCESS)).final
    end = pair.tell(pair.server.answer(move, Status.PREEMPTED))
    assert (end.command_id, end.status, end.final) == (1, Status.PREEMPTED, True)
    with pytest.raises(InvalidOperationException, match="not open"):
        pair.server.answer(move, Status.SUCCESS)


def test_rejected_move_has_one_answer(pair):
    move = pair.ask(*pair.client.request(CommandName.MOVE))
    assert pair.tell(pair.server.answer(move, Status.COMMAND_NOT_POSSIBLE_REJECTED)).final
    assert isinstance(pair.tell(pair.server.dialect.message(1, 1, b"\0")), StrayAnswer)


def test_late_answer_to_a_forgotten_request_is_harmless(pair):
    move = pair.ask(*pair.client.request(CommandName.MOVE))
    pair.client.forget(move.command_id)
    assert pair.tell(pair.server.answer(move, Status.ABORTED)) == StrayAnswer(move.command_id)


@pytest.mark.parametrize("size", [0, 1, 11, 2**26 + 1, 2**31, 2**32 - 1])
def test_absurd_sizes(arm, size):
    for end in (ArmClientConnection(arm), ServerConnection(arm)):
        end.receive_data(arm.header_struct.pack(2, 0, size))
        for _ in range(2):
            with pytest.raises(ProtocolException, match=r"libfranka: Incorrect TCP message size\."):
                list(end.events())


def test_messages_before_the_bad_one_are_not_lost(pair):
    request = pair.ask(*pair.client.request(CommandName.STOP_MOVE))
    pair.client.receive_data(
        pair.server.answer(request, Status.SUCCESS) + pair.client.dialect.header_struct.pack(2, 9, 3)
    )
    events = pair.client.events()
    assert isinstance(next(events), Answer)
    with pytest.raises(ProtocolException):
        next(events)


def test_bare_header_answer_is_too_short(pair):
    pair.client.request(CommandName.STOP_MOVE)
    event = pair.tell(pair.client.dialect.message(2, 1, b""))
    assert isinstance(event, InvalidAnswer)
    assert event.error.text == "libfranka: Incorrect TCP message size."


def test_longer_answers_are_accepted(pair):
    pair.client.request(CommandName.STOP_MOVE)
    assert pair.tell(pair.client.dialect.message(2, 1, b"\0\0\0\0")).status is Status.SUCCESS


def test_undefined_status_blames_the_command(pair):
    pair.client.request(CommandName.SET_LOAD)
    event = pair.tell(pair.client.dialect.message(9, 1, bytes([17])))
    assert isinstance(event, InvalidAnswer)
    assert event.error.text == "libfranka: Unexpected response while handling Set Load command!"


def test_gripper_statuses_have_two_bytes():
    pair = Pair(GRIPPER)
    pair.client.request(CommandName.HOMING)
    assert pair.tell(GRIPPER.message(1, 1, b"\2\0")).status is Status.UNSUCCESSFUL
    pair.client.request(CommandName.HOMING)
    assert isinstance(pair.tell(GRIPPER.message(1, 2, b"\2\1")), InvalidAnswer)


def test_close(pair):
    pair.client.receive_data(b"\1\0\0")
    pair.client.receive_data(b"")
    assert list(pair.client.events()) == [Closed(partial=True)]
    assert list(pair.client.events()) == []
    pair.server.receive_data(b"")
    assert list(pair.server.events()) == [Closed(partial=False)]


def test_command_that_a_version_lacks_uses_nothing_up():
    client = ClientConnection(V5)
    with pytest.raises(InvalidOperationException, match="Get Robot Model is not available on FCI version 5"):
        client.request(CommandName.GET_ROBOT_MODEL)
    with pytest.raises(InvalidArgumentException, match="no field"):
        client.request(CommandName.SET_LOAD, mass=1.0)
    assert client.connect(1)[0] == 0


def test_ids_wrap(arm):
    client = ClientConnection(arm)
    client._next_id = 0xFFFFFFFF
    assert [client.request(CommandName.STOP_MOVE)[0] for _ in range(2)] == [0xFFFFFFFF, 0]


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (V10.message(2, 0, b""), "Connect"),
        (V10.message(99, 0, b""), "no command 99"),
        (V10.message(0, 0, bytes(5)), "Connect request has 16 bytes"),
    ],
)
def test_server_refuses(message, complaint):
    server = ServerConnection(V10)
    server.receive_data(message)
    with pytest.raises(ProtocolException, match=complaint):
        list(server.events())


def test_server_refuses_a_second_connect_and_a_reused_id(pair):
    pair.server.receive_data(pair.client.connect(1)[1])
    with pytest.raises(ProtocolException, match="first request"):
        list(pair.server.events())
    other = Pair(pair.server.dialect)
    message = other.client.request(CommandName.MOVE)[1]
    other.server.receive_data(message + message)
    with pytest.raises(ProtocolException, match="used twice"):
        list(other.server.events())


@pytest.mark.parametrize(("ids", "accepted"), [([2], [2]), ([2, 1, 4, 2, 3], [2, 4]), ([5, 5, 6], [5, 6])])
def test_newest_state_wins(arm, ids, accepted):
    client, writer = ArmClientConnection(arm), StateWriter(arm)
    states = []
    for message_id in ids:
        writer["message_id"] = message_id
        states.append(client.receive_datagram(writer.datagram()))
    assert [state.message_id for state in states if state is not None] == accepted


@pytest.mark.parametrize("wrong", [0, 1, 1376, 1378, 2372, 2374])
def test_wrong_datagram_size(arm, wrong):
    with pytest.raises(ProtocolException, match="libfranka: incorrect object size"):
        ArmClientConnection(arm).receive_datagram(bytes(wrong))
    with pytest.raises(ProtocolException, match="command datagram"):
        ServerConnection(arm).receive_datagram(bytes(wrong))


def test_states_of_the_other_version_are_refused():
    for ours, theirs in ((V5, V10), (V10, V5)):
        with pytest.raises(ProtocolException):
            ArmClientConnection(ours).receive_datagram(StateWriter(theirs).datagram())


def test_command_datagram_flags(arm):
    record: Any = np.zeros((), arm.command)
    record["message_id"] = 7
    assert not ServerConnection(arm).receive_datagram(record.tobytes()).finished
    part, field = arm.torque_finish_flag
    record[part][field] = 1
    command = ServerConnection(arm).receive_datagram(record.tobytes())
    assert (command.message_id, command.torque_finished, command.finished) == (7, True, True)
    assert command.motion_finished == (part == "motion")
