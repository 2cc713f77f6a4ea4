"""The demonstration: both loops run the same law against a pushed arm, and everything that was seen is drawn."""

import numpy as np
import pytest

from franka_rt import RealtimeConfig, Robot
from franka_rt.__main__ import main
from franka_rt.demo import command, figures
from franka_rt.demo.course import drive
from franka_rt.demo.law import make_law, model_call
from franka_rt.errors import RealtimeException
from franka_rt.sim import Faults

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")


@pytest.fixture(autouse=True)
def ordinary_priority(monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "0")


@pytest.mark.parametrize("compiled", [False, True], ids=["python", "compiled"])
def test_the_arm_follows_gives_way_and_comes_back(sim, compiled):
    law = make_law(sim.robot)
    with Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
        course = drive(sim, robot, law, 1.5, compiled)
        assert not robot.read_once().last_motion_errors
        assert min(model_call(law, robot.load_model(), robot.read_once())) > 0.0
    assert course.statistics.cycles > 1000
    assert 0.015 < course.displacement < 0.08
    assert course.rest < 0.02
    assert np.ptp(course.target[:, 1]) == pytest.approx(0.08, abs=2e-3)
    assert f"{course.statistics.cycles} cycles" in course.summary()
    assert course.torques.shape == (len(course.time), 7)
    for name in ("tracking", "torques", "cycles"):
        axes = [axis for axis in figures.draw(name, [course]).axes if axis.get_visible()]
        assert all("/" in axis.get_ylabel() or axis.get_ylabel() == "cycles" for axis in axes)
        assert "/" in axes[-1].get_xlabel()


def test_the_command(tmp_path, capsys, monkeypatch):
    """One arm in real time, and a machine that cannot build the compiled loop."""

    def refuse():
        raise RealtimeException("franka_rt: no compiler here.")

    monkeypatch.setattr("franka_rt.compiled_loop.loop.executable", refuse)
    monkeypatch.setattr(command, "_ATTEMPTS", 20)  # other programs may want this machine
    assert main(["demo", "--robots", "fer", "--seconds", "0.5", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "FCI version 5 was agreed on" in out
    assert "five model calls" in out
    assert "state to command p50" in out
    assert "not done: franka_rt: no compiler here." in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cycles.png", "torques.png", "tracking.png"]


def test_without_a_compiler_the_arm_waits_for_the_law(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "find_compiler", lambda: None)
    assert main(["demo", "--robots", "fr3", "--seconds", "0.5", "--out", str(tmp_path)]) == 0
    assert "waits for it" in capsys.readouterr().out


def test_a_machine_that_is_too_busy_is_told(sim, monkeypatch, capsys):
    """The motion is lost again and again; the arm is recovered each time, and free at the end."""
    sim.set_faults(Faults(drop_commands=1.0))
    with Robot(sim.host, RealtimeConfig.IGNORE, port=sim.port) as robot:
        monkeypatch.setattr(command, "_ATTEMPTS", 2)
        assert command._course(sim, robot, make_law(sim.robot), 0.5, compiled=False) == []
        assert not robot.read_once().needs_recovery
    out = capsys.readouterr().out
    assert out.count("once more") == 1
    assert "given up after 2 attempts" in out
