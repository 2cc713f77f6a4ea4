"""Runs scripted motions with the vendor's client of FCI version 5: ``panda_commands.py HOST MOTIONS.json``."""

import json
import os
import sys

from panda_py import libfranka as vendor

COMMANDS = {
    "torques": (vendor.Torques, "control", None),
    "joint_positions": (vendor.JointPositions, "control_joint_position", "control_torque_joint_position"),
    "joint_velocities": (vendor.JointVelocities, "control_joint_velocity", "control_torque_joint_velocity"),
    "cartesian_pose": (vendor.CartesianPose, "control_cartesian_pose", "control_torque_cartesian_pose"),
    "cartesian_velocities": (
        vendor.CartesianVelocities,
        "control_cartesian_velocity",
        "control_torque_cartesian_velocity",
    ),
}


def callback(kind, outputs, elbows=()):
    """Return one output after the other, the last as finished."""
    count = 0

    def call(state, duration):
        nonlocal count
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # the library raises this thread if it may
        command = kind(outputs[count], elbows[count]) if elbows else kind(outputs[count])
        count += 1
        command.motion_finished = count == len(outputs)
        return command

    return call


def main(host, path):
    with open(path) as file:
        motions = json.load(file)
    robot = vendor.Robot(host, vendor.RealtimeConfig.kIgnore)
    for motion in motions:
        kind, alone, together = COMMANDS[motion["kind"]]
        torque = callback(vendor.Torques, motion["torque"])
        if motion["kind"] == "torques":
            getattr(robot, alone)(torque, **motion["options"])
            continue
        callbacks = [callback(kind, motion["motion"], motion["elbow"])]
        if motion["torque"]:
            callbacks.insert(0, torque)
        getattr(robot, together if motion["torque"] else alone)(*callbacks, **motion["options"])


main(*sys.argv[1:])
