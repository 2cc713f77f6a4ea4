"""Shared fixtures: both versions, a scripted robot, a session with it."""

import threading

import pytest

from franka_rt import RealtimeConfig, Robot
from tests.rt.layouts import ARMS
from tests.rt.scripted import ScriptedServer


@pytest.fixture(autouse=True)
def ordinary_priority(monkeypatch):
    """Loops of tests do not push other programs of the machine aside, where they could."""
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "0")


@pytest.fixture
def no_thread_left():
    """Whatever a test started has ended when server and session are closed; ask for it before them."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and not t.name.startswith("kernel")]
    for thread in left:
        thread.join(5.0)
    assert not [t for t in left if t.is_alive()]


@pytest.fixture(params=ARMS, ids=lambda d: d.label)
def arm(request):
    """Every test that uses it runs for both versions."""
    return request.param


@pytest.fixture
def server(arm):
    with ScriptedServer(arm) as server:
        yield server


@pytest.fixture
def robot(server):
    with Robot(server.host, RealtimeConfig.IGNORE, port=server.port) as robot:
        yield robot
