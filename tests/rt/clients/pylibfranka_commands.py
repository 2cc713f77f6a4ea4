"""Runs scripted motions with the vendor's client of FCI version 10: ``pylibfranka_commands.py HOST MOTIONS.json``."""

import json
import os
import sys

import pylibfranka as vendor

COMMANDS = {
    "torques": (vendor.Torques, "start_torque_control"),
    "joint_positions": (vendor.JointPositions, "start_joint_position_control"),
    "joint_velocities": (vendor.JointVelocities, "start_joint_velocity_control"),
    "cartesian_pose": (vendor.CartesianPose, "start_cartesian_pose_control"),
    "cartesian_velocities": (vendor.CartesianVelocities, "start_cartesian_velocity_control"),
}


def main(host, path):
    with open(path) as file:
        motions = json.load(file)
    robot = vendor.Robot(host, vendor.RealtimeConfig.kIgnore)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # the library raises this thread if it may
    for motion in motions:
        kind, start = COMMANDS[motion["kind"]]
        mode = [] if motion["kind"] == "torques" else [vendor.ControllerMode.JointImpedance]
        control = getattr(robot, start)(*mode)
        outputs = motion["motion"] or motion["torque"]
        for number, output in enumerate(outputs, 1):
            control.readOnce()
            command = kind(output)
            command.motion_finished = number == len(outputs)
            control.writeOnce(command)
        del control


main(*sys.argv[1:])
