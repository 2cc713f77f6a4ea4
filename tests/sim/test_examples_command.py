"""The examples' command line: it asks before a real arm moves, and explains what goes wrong."""

import contextlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from franka_rt.errors import ControlException
from franka_rt.examples import runner, setup
from franka_rt.examples.__main__ import NAMES
from franka_rt.examples.__main__ import main as examples_main
from tests.reference import READY, ROOT

pytestmark = pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")


@pytest.fixture(autouse=True)
def ordinary_priority(monkeypatch):
    monkeypatch.setenv("FRANKA_RT_PRIORITY", "0")


def move_joints(robot):
    setup.go_to(robot, READY + 0.05)


def call(sim, run, *arguments):
    return runner.main(run, "Moves all joints.", argv=[sim.host, "--port", str(sim.port), *arguments])


@pytest.fixture(autouse=True)
def ordinary_machine(monkeypatch):
    monkeypatch.setenv("FRANKA_REALTIME", "ignore")


@pytest.mark.parametrize(("answer", "moved"), [("no", 0.0), ("", 0.0), (EOFError, 0.0), ("yes", 0.05)])
def test_a_real_arm_moves_only_after_a_yes(sim, monkeypatch, capsys, answer, moved):
    def reply(_):
        if answer is EOFError:
            raise EOFError
        return answer

    monkeypatch.setattr("builtins.input", reply)
    sessions = sim.statistics()["sessions"]
    assert call(sim, move_joints) == (0 if moved else 1)
    assert "Moves all joints." in capsys.readouterr().out
    np.testing.assert_allclose(sim.state().q_d, READY + moved, atol=1e-5)
    assert (sim.statistics()["sessions"] == sessions) == (not moved)


@pytest.mark.parametrize("arguments", [[], ["127.0.0.1", "--sim", "fr3"]])
def test_no_robot_is_one_clear_line(capsys, arguments):
    assert runner.main(move_joints, "Moves.", argv=arguments) == 2
    said = capsys.readouterr()
    assert "give the robot's address, or --sim fer" in said.err
    assert said.err.count("\n") == 1


def test_a_line_that_cannot_be_used_is_one_clear_line(capsys):
    with pytest.raises(SystemExit) as caught:
        runner.main(move_joints, "Moves.", argv=["--sim", "panda"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        runner.main(move_joints, "Moves.", argv=["--version"])
    assert caught.value.code == 0
    assert "FCI versions 5, 10" in capsys.readouterr().out


def test_a_wrong_protocol_version_is_refused(sim, capsys):
    other = 15 - sim.dialect.version
    assert call(sim, move_joints, "--yes", "--fci", str(other)) == 1
    assert "version" in capsys.readouterr().err


def interrupted(robot):
    raise_at = iter(range(10**6))

    def callback(state, dt):
        if next(raise_at) == 20:
            raise KeyboardInterrupt
        return state.q_d

    robot.control_joint_positions(callback)


def test_ctrl_c_stops_the_arm(sim, capsys):
    assert call(sim, interrupted, "--yes") == 130
    assert "has been stopped" in capsys.readouterr().err
    assert sim.statistics()["moving"] is False
    assert not sim.state().needs_recovery


def jerk(robot):
    robot.control_joint_velocities(lambda state, dt: np.full(7, 0.3), limit_rate=False, cutoff_frequency=1000.0)


def test_a_reflex_is_explained_in_one_block_and_recovered_from(sim, capsys):
    assert call(sim, jerk, "--yes") == 1
    said = capsys.readouterr().err
    assert "joint_motion_generator_velocity_discontinuity" in said
    assert "logged cycles" in said
    assert "--recover" in said
    assert "Traceback" not in said
    assert sim.state().needs_recovery
    assert call(sim, move_joints, "--yes", "--recover") == 0


def test_an_exception_without_a_log_is_explained_too():
    assert runner.explain(ControlException("No motion.")).splitlines() == [
        "The motion ended in an error.",
        "  No motion.",
    ]


def start(name, *arguments):
    command = [sys.executable, "-m", f"franka_rt.examples.{name}", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_at_the_command_line(lock_step):
    with start("echo_robot_state", lock_step.host, "--port", str(lock_step.port)) as reading:
        assert reading.stdout is not None
        assert any("RobotState" in line for line in reading.stdout)
        reading.send_signal(signal.SIGINT)
        assert "Interrupted" in reading.communicate(timeout=60)[1]
        assert reading.returncode == 130


def test_the_command_line_with_a_simulated_robot():
    """In a process of its own, with its surroundings; nothing asks."""
    with start("grasp_object", "--sim", "fr3") as process:
        out, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")
    assert "Grasped: the fingers are 30.0 mm apart" in out


def test_a_simulated_arm_moves_without_a_question(sim, monkeypatch, capsys):
    found = []
    monkeypatch.setattr(runner, "simulated", lambda robot, **options: contextlib.nullcontext(sim))
    assert runner.main(move_joints, "Moves.", argv=["--sim", sim.robot], surroundings=found.append) == 0
    np.testing.assert_allclose(sim.state().q_d, READY + 0.05, atol=1e-5)
    assert found == [sim]
    assert sim.dialect.label in capsys.readouterr().out


def test_the_list_is_printed(capsys):
    examples_main()
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)
