"""Names of commands, answers and modes over all versions; their numbers on the wire are the dialects' business."""

from __future__ import annotations

from enum import Enum, IntEnum

from franka_rt.versions import FciVersion

__all__ = ["CommandName", "ControllerMode", "GeneratorMode", "RobotMode", "Status"]


class CommandName(Enum):
    """Commands of arm and grippers; the value is the display name that messages use."""

    CONNECT = "Connect"
    MOVE = "Move"
    STOP_MOVE = "Stop Move"
    GET_CARTESIAN_LIMIT = "Get Cartesian Limit"
    SET_COLLISION_BEHAVIOR = "Set Collision Behavior"
    SET_JOINT_IMPEDANCE = "Set Joint Impedance"
    SET_CARTESIAN_IMPEDANCE = "Set Cartesian Impedance"
    SET_GUIDING_MODE = "Set Guiding Mode"
    SET_EE_TO_K = "Set EE to K"
    SET_NE_TO_EE = "Set NE to EE"
    SET_LOAD = "Set Load"
    SET_FILTERS = "Set Filters"
    AUTOMATIC_ERROR_RECOVERY = "Automatic Error Recovery"
    LOAD_MODEL_LIBRARY = "Load Model Library"
    GET_ROBOT_MODEL = "Get Robot Model"
    HOMING = "Homing"
    GRASP = "Grasp"
    STOP = "Stop"
    VACUUM = "Vacuum"
    DROP_OFF = "Drop Off"

    def command(self, version: FciVersion) -> int | None:
        """Wire id of this arm command in a protocol version, or None if that version lacks it."""
        from franka_rt.dialect import arm_dialect  # here, because the dialects are made of these names

        spec = arm_dialect(version).commands.get(self)
        return None if spec is None else spec.wire_id


class Status(Enum):
    """Answers to commands, over all versions; which byte means what is a table of each version."""

    SUCCESS = "Success"
    MOTION_STARTED = "MotionStarted"
    PREEMPTED = "Preempted"
    PREEMPTED_DUE_TO_SAFETY = "PreemptedDueToActivatedSafetyFunctions"
    REJECTED_DUE_TO_SAFETY = "CommandRejectedDueToActivatedSafetyFunctions"
    COMMAND_NOT_POSSIBLE_REJECTED = "CommandNotPossibleRejected"
    START_AT_SINGULAR_POSE_REJECTED = "StartAtSingularPoseRejected"
    INVALID_ARGUMENT_REJECTED = "InvalidArgumentRejected"
    MANUAL_ERROR_RECOVERY_REQUIRED_REJECTED = "ManualErrorRecoveryRequiredRejected"
    REFLEX_ABORTED = "ReflexAborted"
    EMERGENCY_ABORTED = "EmergencyAborted"
    INPUT_ERROR_ABORTED = "InputErrorAborted"
    ABORTED = "Aborted"
    INCOMPATIBLE_LIBRARY_VERSION = "IncompatibleLibraryVersion"
    ERROR = "Error"
    FAIL = "Fail"
    UNSUCCESSFUL = "Unsuccessful"


class RobotMode(IntEnum):
    """Mode of the robot as the state reports it."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6


class GeneratorMode(IntEnum):
    """Motion generator mode, in the numbering of the state datagram."""

    IDLE = 0
    JOINT_POSITION = 1
    JOINT_VELOCITY = 2
    CARTESIAN_POSITION = 3
    CARTESIAN_VELOCITY = 4
    NONE = 5


class ControllerMode(IntEnum):
    """Controller mode; the state datagram and the Move request agree in its numbers."""

    JOINT_IMPEDANCE = 0
    CARTESIAN_IMPEDANCE = 1
    EXTERNAL_CONTROLLER = 2
    OTHER = 3
