"""Scenarios for franka-rs, an independent client of both versions, as pylibfranka_client.py."""

import os
import time

os.environ["FRANKA_REALTIME"] = "ignore"

import franka
import numpy as np
from common import main, ordinary_scheduling


def connect(host):
    """Its own negotiation: version 10 first, then 5."""
    robot = franka.Robot(host)
    ordinary_scheduling()
    return robot


def seen(robot):
    state = robot.read_once()
    return {name: np.asarray(getattr(state, name)).tolist() for name in ("q", "tau_J", "O_T_EE")}


def session(host):
    """Connect, read, set thresholds, evaluate its own model of the robot."""
    robot = connect(host)
    robot.set_joint_impedance([2500.0] * 7)
    seven, six = [60.0] * 7, [60.0] * 6
    robot.set_collision_behavior(seven, seven, seven, seven, six, six, six, six)
    state = seen(robot)
    model = robot.model()
    q, dq = np.array(state["q"]), np.linspace(-0.5, 0.5, 7)
    values = {"mass": model.mass(q), "coriolis": model.coriolis(q, dq), "gravity": model.gravity(q)}
    result = {name: np.asarray(value).tolist() for name, value in values.items()}
    return result | {"version": int(robot.fci_version), "state": state, "dq": dq.tolist()}


def motions(host):
    """A joint target by torques and by the robot's own controller."""
    robot = connect(host)
    begin, reached = seen(robot), []
    for sign, backend in ((1.0, "impedance"), (-1.0, "robot")):
        with robot.joint_targets(fraction=0.5, backend=backend) as targets:
            targets.move_by([0.1 * sign] * 7)
            end = time.monotonic() + 8.0
            while time.monotonic() < end and np.abs(np.array(targets.state().q) - targets.target()).max() > 5e-3:
                time.sleep(0.02)
            targets.stop()
        reached.append(seen(robot))
    return {"begin": begin, "reached": reached}


def hand(host):
    gripper = connect(host).gripper()
    gripper.move(0.05, 0.2)
    return {"width": gripper.read_once().width}


if __name__ == "__main__":
    main(globals())
