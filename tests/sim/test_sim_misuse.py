"""Nonsense for the simulated robot and for the command lines: one clear sentence, nothing left behind."""

import contextlib
import socket
import subprocess
import sys
import time

import pytest

from franka_rt import RealtimeConfig, Robot
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
