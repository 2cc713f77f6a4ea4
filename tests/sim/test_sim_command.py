"""``python -m franka_rt``."""

import pytest

from franka_rt.__main__ import COMMANDS, main

QUICK = ["sim", "--port", "0", "--gripper-port", "0", "--lock-step", "--seconds", "0.2"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize("robot", ["fer", "fr3"])
def test_sim_says_where_it_listens_and_what_it_does(robot, capsys):
    assert main([*QUICK, "--robot", robot, "--vacuum-gripper-port", "0"]) == 0
    out = capsys.readouterr().out
    assert f"SimulatedRobot({robot!r}" in out
    assert "no client, idle" in out


def test_one_clear_line_for_a_bad_address(capsys):
    assert main([*QUICK, "--robot", "fr3", "--host", "192.0.2.1"]) == 1
    assert "cannot listen on 192.0.2.1" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["fly"], ["sim"], ["sim", "--robot", "panda"]])
def test_usage_errors(arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
