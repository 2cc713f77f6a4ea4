"""The commands that read and record, against a scripted server."""

import argparse
import json

import numpy as np
import pytest

from franka_rt import command_read, command_record
from franka_rt.errors import NetworkException
from franka_rt.recorder import Kind, Recording
from tests.rt.expect import raises
from tests.rt.motions import IGNORE_WARNING

pytestmark = IGNORE_WARNING


def call(module, *arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    module.run(parser.parse_args([str(a) for a in arguments]))


def test_read(server, capsys):
    call(command_read, server.host, "--port", server.port, "--count", 2, "--every", 0.01)
    assert capsys.readouterr().out.count("<RobotState") == 2


def test_read_json(server, capsys):
    pose = np.arange(16.0).reshape(4, 4)
    server.state["O_T_EE"] = pose
    call(command_read, server.host, "--port", server.port, "--json")
    state = json.loads(capsys.readouterr().out)
    assert state["O_T_EE"] == pose.tolist()
    assert state["robot_mode"] == "idle"


def test_record(server, tmp_path, capsys):
    path = tmp_path / "session.frec"
    call(command_record, server.host, path, "--port", server.port, "--seconds", 0.2)
    recording = Recording.load(path)
    assert len(recording.states) > 50
    assert recording.of(Kind.TCP_REQUEST)
    assert "records" in capsys.readouterr().out


def test_host_is_needed_and_may_be_wrong(server):
    with pytest.raises(SystemExit):
        call(command_read)
    with raises(NetworkException, "refused"):
        call(command_read, "127.0.0.1", "--port", 1)
