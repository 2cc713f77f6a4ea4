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


REFUSED = [
    ([], 2, "the following arguments are required: COMMAND"),
    (["fly"], 2, "invalid choice: 'fly'"),
    (["sim"], 2, "required: --robot"),
    (["sim", "--robot", "panda"], 2, "--robot: invalid choice"),
    (["sim", "--robot", "fr3", "--port", "99999"], 2, "port has to be 0 to 65535"),
    ([*QUICK, "--robot", "fr3", "--host", "192.0.2.1"], 1, "cannot listen on 192.0.2.1"),
    (["read", "127.0.0.1", "--port", "99999"], 2, "port has to be 1 to 65535"),
    (["read", "127.0.0.1", "--count", "0"], 2, "--count has to be 1 to"),
    (["read", "127.0.0.1", "--every", "-1"], 2, "--every has to be at least 0"),
    (["read", "127.0.0.1", "--every", "nan"], 2, "--every has to be one finite number"),
    (["record", "127.0.0.1", "", "--port", "1"], 2, "that is no file name"),
    (["record", "127.0.0.1", "no/such/file"], 2, "cannot record to no/such/file"),
    (["record", "127.0.0.1", "file", "--seconds", "-1"], 2, "--seconds has to be at least 0"),
    (["record", "127.0.0.1", "file", "--port", "1"], 1, "libfranka: Connection to FCI refused"),
    (["communication-test", "--sim", "fr3", "--figure", "no/such/a.png"], 2, "there is no such directory"),
]


@pytest.mark.parametrize(("arguments", "status", "sentence"), REFUSED)
def test_one_clear_line_and_a_status_that_says_whose_fault_it_is(
    arguments, status, sentence, capsys, tmp_path, monkeypatch
):
    """2: the input cannot be used; 1: what was asked for failed. As ``python -m franka_jax``."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == status  # and no warning about realtime, which no command of these needs
    error = capsys.readouterr().err
    assert error.startswith("franka_rt: ")
    assert not error.startswith("franka_rt: franka_rt")
    assert error.count("\n") == 1, error
    assert sentence in error
    assert list(tmp_path.iterdir()) == []
