"""Cost of a state: decoding it, and receiving it into an object next to the bare socket call.

    python -m benchmarks.state_decode

Prints medians in microseconds, each measured beside its reference in the same run, and the ratios.
"""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable

from franka_rt.connection import ArmClientConnection
from franka_rt.dialect import ArmDialect
from franka_rt.state import RobotState
from franka_rt.state_writer import StateWriter
from franka_rt.v5 import V5
from franka_rt.v10 import V10

ROUNDS, CALLS = 400, 100


def microseconds(function: Callable[[], object], setup: Callable[[], object]) -> float:
    """Median over rounds of the mean time of a call, us."""
    times = []
    for _ in range(ROUNDS):
        setup()
        start = time.perf_counter()
        for _ in range(CALLS):
            function()
        times.append((time.perf_counter() - start) / CALLS * 1e6)
    return statistics.median(times)


def nothing() -> None:
    """No setup."""


def decode(dialect: ArmDialect) -> float:
    """View plus q, dq, tau_J."""
    datagram = StateWriter(dialect).datagram()

    def run() -> None:
        state = RobotState(dialect, datagram)
        _ = state.q, state.dq, state.tau_J

    return microseconds(run, nothing)


def receive(dialect: ArmDialect) -> tuple[float, float]:
    """(recv_into, received and accepted as a RobotState) from a loopback socket that has the datagrams queued."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 2**20)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    writer, buffer, size = StateWriter(dialect), bytearray(4096), dialect.state.itemsize + 1
    connection = ArmClientConnection(dialect)

    def fill() -> None:
        for _ in range(CALLS):
            writer["message_id"] = int(writer["message_id"]) + 1
            sender.send(writer.datagram())

    def accept() -> None:
        state = connection.receive_datagram(receiver.recv(size))
        assert state is not None
        _ = state.modes

    bare = microseconds(lambda: receiver.recv_into(buffer), fill)
    full = microseconds(accept, fill)
    receiver.close()
    sender.close()
    return bare, full


def main() -> None:
    """Print the table."""
    print(f"{'':16} {'view, q, dq, tau_J':>20} {'recv_into':>10} {'recv + state':>13} {'added':>7} {'ratio':>6}")
    for dialect in (V5, V10):
        bare, full = receive(dialect)
        numbers = f"{bare:7.2f} us {full:10.2f} us {full - bare:4.2f} us {full / bare:5.2f}"
        print(f"{dialect.label:16} {decode(dialect):17.2f} us {numbers}")


if __name__ == "__main__":
    main()
