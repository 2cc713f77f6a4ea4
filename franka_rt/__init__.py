"""A lean 1 kHz client for the Franka Control Interface, versions 5 and 10.

Needs numpy and the standard library alone; models and the simulated robot import jax when they are used.
"""

from franka_rt import errors
from franka_rt.active_control import ActiveControl
from franka_rt.asynchronous import AsynchronousMotion, TargetStatus
from franka_rt.commands import CartesianPose, CartesianVelocities, JointPositions, JointVelocities, Torques
from franka_rt.dialect import CommandName, ControllerMode, GeneratorMode, RobotMode, Status
from franka_rt.gripper import Gripper
from franka_rt.gripper_dialect import DeviceStatus, VacuumProfile
from franka_rt.gripper_state import GripperState, VacuumGripperState
from franka_rt.kernel_law import KernelLaw
from franka_rt.loop_statistics import LoopStatistics
from franka_rt.realtime import RealtimeConfig
from franka_rt.robot import Robot, VirtualWallCuboid
from franka_rt.scheduling import LoopScheduling
from franka_rt.state import Errors, RobotState
from franka_rt.vacuum_gripper import VacuumGripper
from franka_rt.versions import FciVersion, VersionPolicy

__all__ = [
    "ActiveControl",
    "AsynchronousMotion",
    "CartesianPose",
    "CartesianVelocities",
    "CommandName",
    "ControllerMode",
    "DeviceStatus",
    "Errors",
    "FciVersion",
    "GeneratorMode",
    "Gripper",
    "GripperState",
    "JointPositions",
    "JointVelocities",
    "KernelLaw",
    "LoopScheduling",
    "LoopStatistics",
    "RealtimeConfig",
    "Robot",
    "RobotMode",
    "RobotState",
    "Status",
    "TargetStatus",
    "Torques",
    "VacuumGripper",
    "VacuumGripperState",
    "VacuumProfile",
    "VersionPolicy",
    "VirtualWallCuboid",
    "errors",
]
