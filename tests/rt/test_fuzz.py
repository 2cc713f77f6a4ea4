"""Any bytes on TCP or UDP give events or a ProtocolException, nothing else: 10 000 cases over roles and versions."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from franka_rt.connection import ArmClientConnection, ServerConnection
from franka_rt.dialect import CommandName
from franka_rt.errors import ProtocolException
from tests.rt.layouts import ARMS

CASES = 2500
quick = settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])

SIZES = (0, 1, 2, 4, 5, 6, 13, 40, 56, 104, 113, 128, 416)
LIES = (0, 1, 11, 12, 13, 14, 16, 28, 68, 125, 2**16, 2**26, 2**26 + 1, 2**31, 2**32 - 1)


def stream_of(dialect, program):
    """A TCP stream written by a few bytes: well-formed messages, lying headers, stray bytes (cheap to draw)."""
    stream = b""
    for kind, wire_id, command_id, size, filling in zip(*[iter(program)] * 5, strict=False):
        filling = filling % 12 if kind % 4 else filling
        body = bytes([filling]) * SIZES[size % len(SIZES)]
        wire_id, command_id = (
            n if n < 200 else n << 24 for n in (wire_id % 16 if kind % 2 else wire_id, command_id % 8)
        )
        if kind < 16:
            stream += body
        elif kind < 48:
            stream += dialect.header_struct.pack(wire_id, command_id, LIES[filling % len(LIES)]) + body
        elif kind < 128 and wire_id in dialect.by_wire_id:
            stream += dialect.message(
                wire_id, command_id, bytes([filling]) * dialect.by_wire_id[wire_id].request.itemsize
            )
        else:
            stream += dialect.message(wire_id, command_id, body)
    return stream


def drain(connection, stream, cut):
    """Feed the stream in two pieces and its end; the number of events, or the error, which has to stay."""
    seen = 0
    try:
        for piece in (stream[:cut], stream[cut:], b""):
            connection.receive_data(piece)
            seen += sum(1 for _ in connection.events())
    except ProtocolException:
        with pytest.raises(ProtocolException):
            list(connection.events())
    return seen


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_client_stream(dialect):
    @quick
    @given(st.binary(min_size=5, max_size=40))
    def run(program):
        client = ArmClientConnection(dialect)
        client.connect(1)
        for name in (CommandName.MOVE, CommandName.STOP_MOVE, CommandName.SET_LOAD):
            client.request(name)
        drain(client, stream_of(dialect, program), program[-1])

    run()


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_server_stream(dialect):
    @quick
    @given(st.binary(min_size=5, max_size=40))
    def run(program):
        server = ServerConnection(dialect)
        if program[0] % 4:
            server.receive_data(ArmClientConnection(dialect).connect(1)[1])
        drain(server, stream_of(dialect, program), program[-1])

    run()


@pytest.mark.parametrize("dialect", ARMS, ids=lambda d: d.label)
def test_datagrams(dialect):
    sizes = st.sampled_from([0, 1, 370, 371, 1376, 1377, 1378, 2372, 2373, 2374]) | st.integers(0, 3000)

    @settings(quick, max_examples=500)
    @given(sizes, st.binary(min_size=1, max_size=64))
    def run(size, pattern):
        datagram = (pattern * (size // len(pattern) + 1))[:size]
        ends = (
            (dialect.state, ArmClientConnection(dialect).receive_datagram),
            (dialect.command, ServerConnection(dialect).receive_datagram),
        )
        for layout, receive in ends:
            if size == layout.itemsize:
                result: Any = receive(datagram)
                assert result.message_id == int.from_bytes(datagram[:8], "little")
            else:
                with pytest.raises(ProtocolException):
                    receive(datagram)

    run()
