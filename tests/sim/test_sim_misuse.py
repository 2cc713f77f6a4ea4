"""Nonsense for the simulated robot and for the command lines: one clear sentence, nothing left behind."""

import contextlib
import os
import resource
import socket
import struct
import subprocess
import sys
import time

import pytest

from franka_rt import RealtimeConfig, Robot
from franka_rt.connection import ClientConnection
from franka_rt.errors import InvalidArgumentException, NetworkException
from franka_rt.sim import Faults, SimulatedRobot
from tests.rt.expect import raises

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")
NAN = float("nan")


@pytest.mark.parametrize("realtime", [False, True])
@pytest.mark.parametrize("ports", [{"port": 65536}, {"port": -1}, {"port": "x"}, {"port": 0, "gripper_port": 70000}])
def test_numbers_that_are_no_ports(realtime, ports):
    with raises(InvalidArgumentException, "port has to be"):
        SimulatedRobot("fr3", realtime=realtime, **ports)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("push", ("x", 1.0)),
        ("push", ([1.0] * 5, 1.0)),
        ("push", ([NAN] * 6, 1.0)),
        ("push", ([1e5] * 6, 1.0)),
        ("push", ([1.0] * 6, "x")),
        ("push", ([1.0] * 6, 0.0)),
        ("place", ("abc",)),
        ("place", ([NAN] * 7,)),
        ("hold_object", ("x",)),
        ("hold_object", (NAN,)),
        ("hold_object", (-0.1,)),
    ],
)
def test_operations_refuse_nonsense(sim, name, arguments):
    with pytest.raises(InvalidArgumentException):
        getattr(sim, name)(*arguments)


@pytest.mark.parametrize(
    "bad", [{"delay_ticks": 0}, {"delay_ticks": 1.5}, {"state_size": -5}, {"cut_tcp_after": "x"}, {"answer_size": -1}]
)
def test_faults_refuse_numbers_that_cannot_be(bad):
    with raises(InvalidArgumentException, next(iter(bad))):
        Faults(**bad)


def test_a_simulation_whose_process_died_can_be_closed():
    sim = SimulatedRobot("fr3", port=0, gripper_port=None)
    process = sim._host._process  # type: ignore[union-attr]
    process.kill()
    process.wait(20.0)
    with raises(NetworkException, "has ended"):
        sim.state()
    sim.close()
    sim.close()
    assert process.stdin.closed
    assert process.stdout.closed


def test_a_client_that_says_nothing_does_not_hold_the_port(monkeypatch):
    monkeypatch.setattr("franka_rt.sim.endpoint._HANDSHAKE", 0.05)
    with (
        SimulatedRobot("fr3", port=0, gripper_port=None, realtime=False) as sim,
        socket.create_connection((sim.host, sim.port), timeout=10.0) as silent,
    ):
        end = time.monotonic() + 20.0
        while sim.statistics()["sessions"] == 0:
            assert time.monotonic() < end
            with contextlib.suppress(NetworkException):
                Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port).close()
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""


@pytest.mark.parametrize("goodbye", [socket.SHUT_RDWR, None], ids=["end", "reset"])
def test_clients_that_are_gone_before_they_are_served(sim, goodbye):
    """Their Connect is read when nobody is there any more."""
    message = ClientConnection(sim.dialect).connect(9)[1]
    for _ in range(6):
        client = socket.socket()
        client.settimeout(10.0)
        with contextlib.suppress(OSError):  # the one before still holds the port
            client.connect((sim.host, sim.port))
            client.sendall(message)
            if goodbye is not None:
                client.shutdown(goodbye)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", goodbye is None, 0))
        client.close()
    end = time.monotonic() + 20.0
    while True:  # nothing holds the port any more
        with contextlib.suppress(NetworkException), Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
            robot.read_once()
            return
        assert time.monotonic() < end


@contextlib.contextmanager
def spare_descriptors(count):
    """This process may open so many more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    holes = [os.open(os.devnull, os.O_RDONLY)]
    while holes[-1] < max(map(int, os.listdir("/proc/self/fd"))) - 1:
        holes.append(os.dup(holes[0]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (holes[-1] + 1 + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in holes:
            os.close(descriptor)


def test_wherever_descriptors_run_out_there_is_one_error_and_both_ends_go_on(sim):
    """The session takes four, two at each end."""
    outcomes = []
    before = len(os.listdir("/proc/self/fd"))
    for count in range(7):
        with spare_descriptors(count), contextlib.suppress(NetworkException):
            Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port, timeout=0.2).close()
            outcomes.append(count)
    assert outcomes[-1] == 6
    assert 0 not in outcomes
    end = time.monotonic() + 20.0
    while len(os.listdir("/proc/self/fd")) > before:
        assert time.monotonic() < end
    with Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
        assert robot.read_once()


# -- command lines ---------------------------------------------------------------------------------------------------


def test_a_reader_that_has_enough(fr3):
    """``read ... | head -1``: no traceback from the closed pipe."""
    command = [sys.executable, "-m", "franka_rt", "read", fr3.host, "--count", "1000", "--every", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"<RobotState FCI version 10")
            process.stdout.close()
            assert process.wait(60.0) == 1
            assert process.stderr is not None
            assert process.stderr.read() == b""
        finally:
            process.kill()
