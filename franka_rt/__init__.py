"""A lean 1 kHz client for the Franka Control Interface, versions 5 and 10.

Needs numpy and the standard library alone; models and the simulated robot import jax when they are used.
"""

from franka_rt import errors
from franka_rt.commands import CartesianPose, CartesianVelocities, JointPositions, JointVelocities, Torques
from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot, VirtualWallCuboid
from franka_rt.state import Errors, RobotState
from franka_rt.versions import FciVersion, VersionPolicy

__all__ = [
    "CartesianPose",
    "CartesianVelocities",
    "CommandName",
    "ControllerMode",
    "Errors",
    "FciVersion",
    "GeneratorMode",
    "JointPositions",
    "JointVelocities",
    "RealtimeConfig",
    "Robot",
    "RobotMode",
    "RobotState",
    "Status",
    "Torques",
    "VersionPolicy",
    "VirtualWallCuboid",
    "errors",
]
