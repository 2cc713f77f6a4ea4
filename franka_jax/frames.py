"""The ten frames of libfranka's `franka::Frame`."""

from enum import Enum


class Frame(Enum):
    """A frame of the arm; the value is the string that is accepted in its place.

    JOINT1 ... JOINT7: link i after its joint's rotation. FLANGE: the URDF link `link8`. END_EFFECTOR: flange times
    F_T_EE. STIFFNESS: end effector times EE_T_K.
    """

    JOINT1 = "joint1"
    JOINT2 = "joint2"
    JOINT3 = "joint3"
    JOINT4 = "joint4"
    JOINT5 = "joint5"
    JOINT6 = "joint6"
    JOINT7 = "joint7"
    FLANGE = "flange"
    END_EFFECTOR = "end_effector"
    STIFFNESS = "stiffness"

    @classmethod
    def of(cls, frame: "Frame | str") -> "Frame":
        """The frame named by a `Frame` or its string. ValueError for anything else, with the ten names."""
        if isinstance(frame, cls):
            return frame
        if isinstance(frame, str) and frame in _BY_NAME:
            return _BY_NAME[frame]
        names = ", ".join(_BY_NAME)
        raise ValueError(f"Invalid frame given: {frame!r}. The frames are {names}.")

    @property
    def link(self) -> int:
        """Index of the moving link that carries the frame, 0 to 6."""
        return min(_ORDER[self], 6)


_BY_NAME = {frame.value: frame for frame in Frame}
_ORDER = {frame: index for index, frame in enumerate(Frame)}
