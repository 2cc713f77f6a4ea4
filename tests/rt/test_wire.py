"""Recorded sessions of the vendor's clients: our requests equal theirs byte for byte, their replies read well."""

import json
from typing import Any

import numpy as np
import pytest

from franka_rt import requests
from franka_rt.commands import (
    CartesianPose,
    CartesianVelocities,
    CommandEncoder,
    JointPositions,
    JointVelocities,
    Torques,
)
from franka_rt.connection import ArmClientConnection, ServerConnection
from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.events import Answer, CommandDatagram
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.layouts import DATA, only_event

RECORDINGS = {V10: "wire_libfranka_0_21_3.jsonl", V5: "wire_libfranka_0_9_2.jsonl"}
J, C, E = ControllerMode.JOINT_IMPEDANCE, ControllerMode.CARTESIAN_IMPEDANCE, ControllerMode.EXTERNAL_CONTROLLER
G = GeneratorMode


MOTIONS = [JointPositions, JointVelocities, CartesianPose, CartesianVelocities, None]


def translation(z):
    pose = np.eye(4)
    pose[2, 3] = z
    return pose


COLLISION = requests.set_collision_behavior([20.0] * 7, [20.0] * 7, [10.0] * 6, [10.0] * 6)
CARTESIAN = requests.set_cartesian_impedance([3000, 3000, 3000, 300, 300, 300])
LOAD = requests.set_load(0.5, [0, 0, 0.03], np.diag([0.001] * 3))
STOP, RECOVER = (CommandName.STOP_MOVE, {}), (CommandName.AUTOMATIC_ERROR_RECOVERY, {})
CALLS = {
    V10: [
        (CommandName.GET_ROBOT_MODEL, {}),
        (CommandName.GET_ROBOT_MODEL, {}),
        COLLISION,
        requests.set_joint_impedance([3000, 3000, 3000, 2500, 2500, 2000, 2000]),
        CARTESIAN,
        requests.set_ee(translation(0.1)),
        requests.set_k(translation(0.05)),
        LOAD,
        requests.set_load(0, [0, 0, 0], np.zeros((3, 3))),
        requests.set_ee(np.eye(4)),
        requests.set_k(np.eye(4)),
        *(
            requests.move(V10, generator, controller)
            for generator, controller in (
                (G.NONE, E),
                (G.JOINT_POSITION, J),
                (G.JOINT_VELOCITY, J),
                (G.CARTESIAN_POSITION, C),
                (G.CARTESIAN_VELOCITY, C),
                (G.NONE, E),
            )
        ),
        STOP,
        STOP,
        RECOVER,
    ],
    V5: [
        (CommandName.LOAD_MODEL_LIBRARY, {"architecture": 0, "system": 0}),
        COLLISION,
        requests.set_joint_impedance([3000] * 7),
        CARTESIAN,
        LOAD,
        requests.move(V5, G.JOINT_VELOCITY, E),
        requests.move(V5, G.JOINT_POSITION, J),
        requests.move(V5, G.JOINT_VELOCITY, E),
        STOP,
        STOP,
        RECOVER,
    ],
}


@pytest.fixture(params=RECORDINGS, ids=lambda d: d.label)
def dialect(request):
    return request.param


@pytest.fixture
def recording(dialect):
    lines = (DATA / "wire" / RECORDINGS[dialect]).read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [(e["kind"], bytes.fromhex(e["hex"]).ljust(e["size"], b"\0")) for e in entries]


@pytest.fixture
def requested(recording):
    return [data for kind, data in recording if kind == "tcp_request"]


def test_our_requests_are_theirs(dialect, requested):
    client = ArmClientConnection(dialect)
    port = int.from_bytes(requested[0][14:16], "little")
    ours = [client.connect(port)[1], *(client.request(name, **fields)[1] for name, fields in CALLS[dialect])]
    assert len(ours) == len(requested)
    for mine, theirs, (name, _) in zip(ours, requested, [(CommandName.CONNECT, {}), *CALLS[dialect]], strict=True):
        assert mine == theirs, name


def test_whole_session_replays(dialect, recording):
    """Requests as the server reads them, replies and states as the client reads them, in the recorded order."""
    client, server = ArmClientConnection(dialect), ServerConnection(dialect)
    answers: list[Any] = []
    seen, states, commands = [], [], []
    for kind, data in recording:
        if kind == "tcp_request":
            server.receive_data(data)
            request = only_event(server)
            names = request.arguments.dtype.names or ()
            client.request(request.command, **{name: request.arguments[name] for name in names})
            seen.append(request.command)
        elif kind == "tcp_reply":
            client.receive_data(data)
            answers.extend(client.events())
        elif kind == "udp_state":
            states.append(client.receive_datagram(data))
        else:
            commands.append((kind, server.receive_datagram(data)))
    assert seen == [CommandName.CONNECT, *(name for name, _ in CALLS[dialect])]
    assert all(isinstance(answer, Answer) for answer in answers)
    assert client.open_requests == {}
    moves = [a.status for a in answers if a.command is CommandName.MOVE]
    motions = len(moves) // 2
    assert moves == [Status.MOTION_STARTED, Status.SUCCESS] * (motions - 1) + [Status.MOTION_STARTED, Status.PREEMPTED]
    assert all(a.status is Status.SUCCESS for a in answers if a.command is not CommandName.MOVE)
    assert [s.message_id % 1000 for s in states] == [1] * len(states)
    assert {s.robot_mode for s in states} == {RobotMode.IDLE, RobotMode.MOVE}
    assert [c.finished for _, c in commands] == [kind == "udp_command_final" for kind, _ in commands]


def rebuilt(dialect, command: CommandDatagram, move):
    """The same datagram from our command classes."""
    torque_only = move["controller_mode"] == E
    kind = MOTIONS[move["motion_generator_mode"]]
    motion = kind(command.record["motion"][kind.field]) if kind else None
    torques = Torques(command.record["control"]["tau_J_d"]) if torque_only else None
    return CommandEncoder(dialect).encode(command.message_id, motion, torques, command.finished)


def test_command_datagrams_are_theirs(dialect, recording):
    server, move, compared = ServerConnection(dialect), None, 0
    for kind, data in recording:
        if kind == "tcp_request":
            server.receive_data(data)
            request = only_event(server)
            move = request.arguments if request.command is CommandName.MOVE else move
        elif kind.startswith("udp_command"):
            assert rebuilt(dialect, server.receive_datagram(data), move) == data
            compared += 1
    assert compared == {V10: 23, V5: 11}[dialect]
