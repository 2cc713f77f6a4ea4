"""Setters and getters of a Robot: what can be configured over the command channel, in libfranka's words.

Arguments are checked before anything is sent; what a version lacks raises InvalidOperationException with libfranka's
sentence, a refusal of the robot CommandException.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from franka_rt import requests
from franka_rt.dialect import ArmDialect, CommandName
from franka_rt.events import Answer

__all__ = ["RobotSettings", "VirtualWallCuboid"]


@dataclass(frozen=True, eq=False)
class VirtualWallCuboid:
    """A virtual wall of version 5.

    Attributes:
        id: number of the wall.
        object_world_size: (3,) edge lengths, m.
        p_frame: (4,4) pose of the cuboid.
        active: whether the wall is active.
    """

    id: int
    object_world_size: np.ndarray
    p_frame: np.ndarray
    active: bool


class RobotSettings:
    """The part of :class:`franka_rt.Robot` that configures the arm."""

    @property
    def dialect(self) -> ArmDialect:
        """The negotiated protocol version as data."""
        raise NotImplementedError

    def _command(self, command: CommandName, fields: dict[str, Any]) -> Answer:
        """Send a command and wait for its success."""
        raise NotImplementedError

    def set_collision_behavior(self, *thresholds: ArrayLike) -> None:
        """Set contact and collision thresholds, Nm and N (collision stops the robot).

        Eight arrays: lower and upper torque (7,) during acceleration, lower and upper torque (7,) nominal, lower and
        upper force (6,) during acceleration, lower and upper force (6,) nominal. Or four: lower and upper torque,
        lower and upper force, for both phases. Below lower nothing is reported, between contact, above upper
        collision.
        """
        self._command(*requests.set_collision_behavior(*thresholds))

    def set_joint_impedance(self, K_theta: ArrayLike) -> None:
        """Set the (7,) stiffness of the internal joint impedance controller, 0..14250 Nm/rad."""
        self._command(*requests.set_joint_impedance(K_theta))

    def set_cartesian_impedance(self, K_x: ArrayLike) -> None:
        """Set the (6,) stiffness of the internal Cartesian controller, 10..3000 N/m and 1..300 Nm/rad."""
        self._command(*requests.set_cartesian_impedance(K_x))

    def set_guiding_mode(self, guiding_mode: Sequence[bool], elbow: bool) -> None:
        """Set which of x, y, z, roll, pitch, yaw and the elbow move freely (True) in guiding mode."""
        self._command(*requests.set_guiding_mode(guiding_mode, elbow))

    def set_k(self, EE_T_K: Any) -> None:
        """Set the stiffness frame in the end effector frame, (4,4) or flat column-major, m."""
        self._command(*requests.set_k(EE_T_K))

    def set_ee(self, NE_T_EE: Any) -> None:
        """Set the end effector in the nominal end effector frame, (4,4) or flat column-major, m."""
        self._command(*requests.set_ee(NE_T_EE))

    def set_load(self, load_mass: float, F_x_Cload: ArrayLike, load_inertia: Any) -> None:
        """Set the external load, which adds to the end effector set in Desk.

        Args:
            load_mass: kg, not negative.
            F_x_Cload: (3,) centre of mass in the flange frame, m.
            load_inertia: (3,3) or flat column-major, about the centre of mass in flange axes, kg m^2.
        """
        self._command(*requests.set_load(load_mass, F_x_Cload, load_inertia))

    def set_filters(
        self,
        joint_position_filter_frequency: float,
        joint_velocity_filter_frequency: float,
        cartesian_position_filter_frequency: float,
        cartesian_velocity_filter_frequency: float,
        controller_filter_frequency: float,
    ) -> None:
        """Set the cutoff frequencies of the robot's own filters, 1..1000 Hz, 1000 is off. Version 5 only."""
        frequencies = (
            joint_position_filter_frequency,
            joint_velocity_filter_frequency,
            cartesian_position_filter_frequency,
            cartesian_velocity_filter_frequency,
            controller_filter_frequency,
        )
        self._command(*requests.set_filters(self.dialect, *frequencies))

    def get_virtual_wall(self, id: int) -> VirtualWallCuboid:
        """Return a virtual wall that was configured in Desk. Version 5 only."""
        command, fields = requests.get_virtual_wall(id)
        body = self._command(command, fields).body
        frame = np.array(body["object_frame"]).reshape(4, 4).T.copy()
        return VirtualWallCuboid(
            fields["id"], np.array(body["object_world_size"]), frame, bool(body["object_activation"])
        )
