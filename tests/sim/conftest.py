"""Simulated robots on addresses of their own: the vendor's clients know the ports 1337 and 1338 only."""

import os

import pytest

from franka_rt.sim import Faults, SimulatedRobot
from tests.reference import READY
from tests.sim.driver import ROBOTS, Driver


def address(number: int) -> str:
    """A loopback address that no other test process of this machine uses."""
    pid = os.getpid()
    return f"127.{1 + pid // 250 % 250}.{1 + pid % 250}.{number}"


@pytest.fixture(scope="session")
def fr3_sim():
    """A lock-step FR3 on the vendor's ports: busy machines make it slower, never wrong."""
    with SimulatedRobot("fr3", address(10), realtime=False) as sim:
        yield sim


@pytest.fixture(scope="session")
def fer_sim():
    with SimulatedRobot("fer", address(5), realtime=False) as sim:
        yield sim


@pytest.fixture
def fr3(fr3_sim):
    """The FR3 at its ready pose."""
    fr3_sim.place(READY)
    return fr3_sim


@pytest.fixture
def fer(fer_sim):
    """The FER at its ready pose."""
    fer_sim.place(READY)
    return fer_sim


@pytest.fixture(params=ROBOTS)
def driver(request):
    """An arm without sockets."""
    return Driver(request.param)


@pytest.fixture(scope="session", params=ROBOTS)
def lock_step(request):
    """A lock-step robot with both hands on free ports."""
    with SimulatedRobot(request.param, port=0, gripper_port=0, vacuum_gripper_port=0, realtime=False) as sim:
        yield sim


@pytest.fixture
def sim(lock_step):
    """The lock-step robot at its ready pose, without faults."""
    lock_step.place(READY)
    yield lock_step
    lock_step.set_faults(Faults())
