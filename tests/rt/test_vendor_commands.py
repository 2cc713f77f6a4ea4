"""The same states and callback outputs for the vendor's clients and this one: the command streams are equal.

Version 5 with the whole of libfranka 0.9's callback loops (filter, limiter, both callbacks); version 10 with what
pylibfranka has, active control. Each client runs in a process of its own with a hard time limit.
"""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from franka_rt import (
    CartesianPose,
    CartesianVelocities,
    JointPositions,
    JointVelocities,
    RealtimeConfig,
    Robot,
    Torques,
)
from franka_rt.v5 import V5
from franka_rt.v10 import V10
from tests.rt.playback import Playback, Script
from tests.sim.peer import require

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore::franka_rt.realtime.RealtimeWarning")]

CLIENTS = Path(__file__).parent / "clients"
OPTIONS = [
    {},
    {"limit_rate": False, "cutoff_frequency": 1000.0},
    {"limit_rate": True, "cutoff_frequency": 1000.0},
    {"limit_rate": False, "cutoff_frequency": 30.0},
    {"limit_rate": True, "cutoff_frequency": 300.0},
]
KINDS = {
    "joint_positions": JointPositions,
    "joint_velocities": JointVelocities,
    "cartesian_pose": CartesianPose,
    "cartesian_velocities": CartesianVelocities,
}


def address(number):
    """A loopback address of this process: the vendor's clients know one port only."""
    pid = os.getpid()
    return f"127.{1 + pid // 250 % 250}.{1 + pid % 250}.{number}"


def vendor_streams(dialect, client, module, host, script, motions, tmp_path):
    require(module)
    path = tmp_path / "motions.json"
    path.write_text(json.dumps([dataclasses.asdict(motion) for motion in motions]))
    with Playback(dialect, script.contents, host, 1337) as server:
        command = [sys.executable, str(CLIENTS / client), host, str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, ended.stderr[-2000:]
        return server.motions


def our_streams(dialect, script, motions, run):
    with Playback(dialect, script.contents) as server:
        with Robot(server.host, RealtimeConfig.IGNORE, port=server.port) as robot:
            for motion in motions:
                run(robot, motion)
        return server.motions


def callback(kind, outputs, elbows=()):
    commands = [kind(x, e) for x, e in zip(outputs, elbows, strict=True)] if elbows else [kind(x) for x in outputs]
    commands[-1].finished()
    stream = iter(commands)
    return lambda state, dt: next(stream)


def run_loop(robot, motion):
    torque = callback(Torques, motion.torque) if motion.torque else None
    if motion.kind == "torques":
        robot.control_torques(torque, **motion.options)
        return
    move = callback(KINDS[motion.kind], motion.motion, motion.elbow)
    getattr(robot, f"control_{motion.kind}")(move, torque_callback=torque, **motion.options)


def run_active(robot, motion):
    start = motion.kind.replace("velocities", "velocity").rstrip("s")
    kind = KINDS.get(motion.kind, Torques)
    outputs = motion.motion or motion.torque
    with getattr(robot, f"start_{start}_control")() as control:
        for number, output in enumerate(outputs, 1):
            control.read_once()
            control.write_once(kind(output).finished() if number == len(outputs) else output)


def assert_equal(motions, theirs, ours):
    """Bit for bit, poses to rounding."""
    assert len(theirs) == len(ours) == len(motions)
    for motion, their, our in zip(motions, theirs, ours, strict=True):
        assert len(their) == len(our) == motion.cycles, motion.label
        for part in ("motion", "control"):
            for name in their[0][part].dtype.names:
                a, b = (np.array([record[part][name] for record in stream], float) for stream in (their, our))
                tolerance = 1e-14 if name == "O_T_EE_c" else 0.0
                np.testing.assert_allclose(b, a, rtol=0, atol=tolerance, err_msg=f"{motion.label}: {name}")


def test_version_5_callback_loops(tmp_path):
    script = Script()
    motions = [*script.motions(OPTIONS), *script.early_ends()]
    theirs = vendor_streams(V5, "panda_commands.py", "panda_py", address(51), script, motions, tmp_path)
    assert_equal(motions, theirs, our_streams(V5, script, motions, run_loop))


def test_version_10_active_control(tmp_path):
    script = Script(1)
    motions = [m for m in script.motions([{}]) if not m.elbow and not (m.torque and m.motion)]
    theirs = vendor_streams(V10, "pylibfranka_commands.py", "pylibfranka", address(52), script, motions, tmp_path)
    assert_equal(motions, theirs, our_streams(V10, script, motions, run_active))
