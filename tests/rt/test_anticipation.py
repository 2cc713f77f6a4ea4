"""Waiting for the next state: what arrives when, and that a rehearsal has no effect."""

import socket
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from franka_jax import aot
from franka_rt import KernelLaw, RealtimeConfig, Robot
from franka_rt.anticipation import Anticipation, anticipation
from franka_rt.callbacks import Callbacks
from franka_rt.compiled_loop.cycle import LawCycle
from franka_rt.recorder import Recorder
from tests.rt.laws import RAW, run_in
from tests.rt.scripted import ScriptedServer

LEAD = 150_000  # ns


class Source:
    """A socket pair with the interface that an anticipation needs of a transport."""

    def __init__(self):
        self.own, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.descriptors = self.own.fileno(), -1

    def poll_datagram(self):
        try:
            return self.own.recv(10, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None


@pytest.fixture
def source():
    source = Source()
    yield source
    source.own.close()
    source.other.close()


@pytest.fixture
def rehearsals():
    return []


@pytest.fixture
def wait(source, rehearsals):
    return Anticipation(source, source.descriptors[0], LEAD, lambda: rehearsals.append(time.perf_counter_ns()) or b"")


def test_a_datagram_that_is_there_already_is_taken_at_once(source, wait, rehearsals):
    source.other.send(b"early")
    assert wait(time.perf_counter_ns()) == b"early"
    assert rehearsals == []


def test_a_datagram_in_time_is_taken_after_one_rehearsal(source, wait, rehearsals):
    def rehearse():
        rehearsals.append(time.perf_counter_ns())
        source.other.send(b"now")

    wait._rehearse = rehearse
    arrived = time.perf_counter_ns()
    assert wait(arrived) == b"now"
    assert len(rehearsals) == 1
    assert rehearsals[0] >= arrived + 1_000_000 - LEAD


def test_a_datagram_that_does_not_come_is_given_up_after_the_lead(wait, rehearsals):
    arrived = time.perf_counter_ns()
    assert wait(arrived) is None
    assert time.perf_counter_ns() >= arrived + 1_000_000 + LEAD
    assert len(rehearsals) == 1


def test_a_closed_socket_is_left_to_the_ordinary_call(source, wait, rehearsals):
    source.own.close()
    assert wait(time.perf_counter_ns()) is None
    wait._descriptors = [-1]
    assert wait(time.perf_counter_ns()) is None
    assert rehearsals == []


def test_after_a_slow_cycle_nothing_is_anticipated(source, wait, rehearsals):
    source.other.send(b"waits for the ordinary call")
    assert wait(time.perf_counter_ns() - 1_000_000 + LEAD // 2) is None
    assert rehearsals == []


def test_a_rehearsal_begins_earlier_the_longer_it_takes(source, wait):
    started = []

    def rehearse():
        started.append(time.perf_counter_ns() - arrived)
        while time.perf_counter_ns() - arrived < started[-1] + 200_000:
            pass
        return b""

    wait._rehearse = rehearse
    for _ in range(500):
        wait._pause = 0  # a busy machine is no reason here
        arrived = time.perf_counter_ns()
        wait(arrived)
        if len(started) == 20:
            break
    assert started[0] >= 1_000_000 - LEAD
    assert min(started[10:]) < 1_000_000 - LEAD


def test_rehearsals_that_take_too_long_are_left_out(wait, rehearsals):
    wait._rehearse = lambda: rehearsals.append(0) or time.sleep(0.7e-3) or b""
    for _ in range(4):
        wait(time.perf_counter_ns())
    assert len(rehearsals) == 1


def test_nothing_to_anticipate_without_sockets_or_lead(source):
    def rehearse() -> bytes:
        return b""

    without_sockets, beyond = (SimpleNamespace(**has) for has in ({}, {"descriptors": (5000, -1)}))
    cases: Any = (source, 0.0), (without_sockets, 1e-4), (beyond, 1e-4)
    for transport, lead in cases:
        with anticipation(transport, lead, rehearse) as nothing:
            assert nothing is None


class Punctual(ScriptedServer):
    """Late enough after a command that the loop rehearses in every cycle, however busy the machine is."""

    def __init__(self, arm):
        super().__init__(arm)
        self.period = 0.003


@pytest.mark.parametrize(("loop", "recorded"), [("python", False), ("python", True), ("reference", False)])
def test_rehearsals_leave_commands_and_memory_alone(arm, loop, recorded, tmp_path, monkeypatch):
    """A law that counts its cycles: with rehearsals the commands are 1, 2, 3 ... as without."""
    law = KernelLaw(aot.compile_function(_count, 0.0, 0.0, name="count"), memory=0.0, last=20.0)
    rehearsed = []
    cycle = LawCycle if loop == "python" else Callbacks
    rehearse = cycle.rehearse
    monkeypatch.setattr(cycle, "rehearse", lambda this, state: rehearsed.append(state) or rehearse(this, state))
    with Punctual(arm) as server:
        recorder = Recorder(tmp_path / "traffic") if recorded else None
        with Robot(server.host, RealtimeConfig.IGNORE, port=server.port, recorder=recorder) as robot:
            robot.scheduling.anticipation = 0.4e-3
            run_in(loop, robot, law, **RAW)
        if recorder is not None:
            recorder.close()
        sent = [float(command.record["control"]["tau_J_d"][0]) for command in server.commands]
    assert sent[:19] == [*range(1, 20)]
    assert bool(rehearsed) == (not recorded)


def _count(memory, last):
    count = memory + 1.0
    return {"tau": count * np.ones(7), "memory": count, "finished": (count >= last) * 1.0}
