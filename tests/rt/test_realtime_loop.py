"""What loops do to the scheduling of their thread, and the commands that judge machine and connection."""

import argparse
import os
import threading

import numpy as np
import pytest

from franka_rt import LoopScheduling, LoopStatistics, RealtimeConfig, Status, Torques, command_doctor, fitness
from franka_rt import command_communication_test as communication
from franka_rt.dialect import CommandName, RobotMode
from franka_rt.errors import InvalidArgumentException, RealtimeException
from tests.rt.expect import raises
from tests.rt.motions import IGNORE_WARNING

pytestmark = IGNORE_WARNING

NORMAL = (os.SCHED_OTHER, 0)


class Scheduler:
    """Stands in for the system's: notes what is asked of it, or refuses."""

    def __init__(self, monkeypatch, refuses=False):
        self.calls, self.threads, self.refuses = [], set(), refuses
        monkeypatch.setattr(os, "sched_setscheduler", self.set)
        monkeypatch.setattr(os, "sched_getscheduler", lambda pid: os.SCHED_OTHER)

    def set(self, pid, policy, param):
        if self.refuses and policy == os.SCHED_FIFO:
            raise PermissionError(1, "Operation not permitted")
        self.calls.append((policy, param.sched_priority))
        self.threads.add(pid)


def loop(robot, seen=None, error=None):
    """A loop of five cycles; ``seen`` collects what a function says in the callback."""
    count = iter(range(100))

    def callback(state, dt):
        if seen is not None:
            seen.append(os.sched_getaffinity(0))
        if error is not None:
            raise error
        command = Torques(np.zeros(7))
        return command.finished() if next(count) == 5 else command

    robot.control_torques(callback)


@pytest.mark.parametrize(
    ("variable", "priority", "expected"), [("", None, 99), ("7", None, 7), ("7", 3, 3), ("0", None, 0), ("", 0, 0)]
)
def test_the_loops_thread_is_raised_and_put_back(robot, monkeypatch, variable, priority, expected):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", variable)
    scheduler = Scheduler(monkeypatch)
    robot.scheduling.priority = priority
    loop(robot)
    assert scheduler.calls == ([(os.SCHED_FIFO, expected), NORMAL] if expected else [])
    with pytest.raises(ZeroDivisionError):
        loop(robot, error=ZeroDivisionError())
    assert len(scheduler.calls) == (4 if expected else 0)
    assert scheduler.calls[-1:] == ([NORMAL] if expected else [])


@pytest.mark.parametrize("elsewhere", [False, True])
def test_active_control_raises_the_thread_that_starts_it_until_the_motion_ends(robot, monkeypatch, elsewhere):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "")
    scheduler = Scheduler(monkeypatch)
    control = robot.start_torque_control()
    control.read_once()
    assert scheduler.calls == [(os.SCHED_FIFO, 99)]
    if elsewhere:  # whoever ends it, the same thread is put back
        thread = threading.Thread(target=control.cancel)
        thread.start()
        thread.join()
    else:
        control.write_once(Torques(np.zeros(7)).finished())
    assert scheduler.calls[1:] == [NORMAL]
    assert scheduler.threads == {threading.get_native_id()}
    robot.read_once()


def test_active_control_is_refused_if_realtime_is_enforced(server, robot, monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "")
    Scheduler(monkeypatch, refuses=True)
    robot.realtime_config = RealtimeConfig.ENFORCE
    with raises(RealtimeException, "libfranka: unable to set realtime scheduling: Operation not permitted", "doctor"):
        robot.start_torque_control()
    assert CommandName.MOVE not in server.asked()
    robot.realtime_config = RealtimeConfig.IGNORE
    with robot.start_torque_control():
        pass


def test_a_refusal_is_an_error_only_if_realtime_is_enforced(server, robot, monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "")
    Scheduler(monkeypatch, refuses=True)
    loop(robot)
    moves = server.asked().count(CommandName.MOVE)
    robot.realtime_config = RealtimeConfig.ENFORCE
    with raises(RealtimeException, "libfranka: unable to set realtime scheduling: Operation not permitted", "doctor"):
        loop(robot)
    assert server.asked().count(CommandName.MOVE) == moves
    robot.realtime_config = RealtimeConfig.IGNORE
    loop(robot)


def test_a_core_of_its_own(robot):
    before = os.sched_getaffinity(0)
    cpu = max(before)
    robot.scheduling = LoopScheduling(cpu=cpu, lock_memory=True)
    seen = []
    loop(robot, seen)
    assert seen == [{cpu}] * 6
    assert os.sched_getaffinity(0) == before


def test_nonsense_in_the_environment(server, robot, monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "high")
    with raises(InvalidArgumentException, "FRANKA_RT_PRIORITY is 'high'"):
        loop(robot)
    assert CommandName.MOVE not in server.asked()


# -- commands ------------------------------------------------------------------------------------------------------


def call(module, *arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return module.run(parser.parse_args([str(a) for a in arguments]))


def test_doctor(capsys):
    call(command_doctor, "--seconds", 0.05)
    lines = capsys.readouterr().out
    for item in ("kernel", "SCHED_FIFO", "memory lock", "clock governor", "cores", "load", "wake-up from 1 ms sleeps"):
        assert f" {item}: " in lines
    assert "it for a real robot" in lines


def test_every_bad_finding_comes_with_advice():
    for finding in fitness.findings(0.02):
        assert bool(finding.advice) == (finding.good is False)
    assert len(fitness.wake_up_delays(0.01)) == 10
    assert fitness.wake_up_delays(0.01).min() >= 0.0


def test_communication_test(server, tmp_path, capsys):
    server.state["control_command_success_rate"] = 0.97
    figure = tmp_path / "histograms.png"
    assert call(communication, server.host, "--port", server.port, "--cycles", 300, "--yes", "--figure", figure) == 0
    out = capsys.readouterr().out
    assert "Success rate: average 0.970, least 0.970" in out
    assert "This loop: 299 commands" in out
    assert figure.stat().st_size > 1000
    commands = [c for c in server.commands if not c.finished]
    assert len(commands) == 299
    assert not any(c.record["control"]["tau_J_d"].any() for c in commands)


def test_communication_test_shows_an_abort(server, capsys):
    reason = {"robot_mode": RobotMode.REFLEX, "reflex_reason": {"communication_constraints_violation"}}
    server.on_command = lambda s, c: s.end_motion(Status.REFLEX_ABORTED, **reason)
    assert call(communication, server.host, "--port", server.port, "--yes") == 1
    assert "communication_constraints_violation" in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["n", "", None])
def test_communication_test_asks_before_the_robot_gives_way(server, monkeypatch, capsys, answer):
    def reply(_):
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", reply)
    assert call(communication, server.host, "--port", server.port) == 1
    assert "gives way to any push" in capsys.readouterr().out
    assert server.asked() == []


def test_communication_test_has_no_default_robot():
    for arguments in ((), ("host", "--sim", "fr3"), ("host", "--cycles", 0)):
        with raises(InvalidArgumentException, "give the robot's address or --sim"):
            call(communication, *arguments)


@pytest.mark.parametrize(
    ("rate", "gap", "word"), [(1.0, 1, "GOOD"), (0.96, 3, "FAIR"), (0.92, 1, "FAIR"), (0.5, 1, "BAD")]
)
def test_verdicts(rate, gap, word):
    test = communication.CommunicationTest(500, progress=False)
    test.count = 500
    test.rates[:], test.gaps[:] = rate, gap
    statistics = LoopStatistics()
    assert f"\n{word}: " in test.verdict(statistics)
    test.count = 50
    assert "Too short" in test.verdict(statistics)
