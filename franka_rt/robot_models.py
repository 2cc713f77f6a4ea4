"""What a Robot knows of its arm: the URDF it serves, models, joint velocity limits."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from franka_rt import checks
from franka_rt.dialect import ArmDialect, CommandName
from franka_rt.errors import ModelException
from franka_rt.events import Answer
from franka_rt.velocity_envelope import VelocityEnvelope

if TYPE_CHECKING:
    from franka_rt.model import Model
    from franka_rt.robot import Robot

__all__ = ["RobotModels"]


class RobotModels:
    """The part of :class:`franka_rt.Robot` that describes the arm."""

    _urdf = ""
    """As it was when the session began; empty if the robot serves none."""

    @property
    def dialect(self) -> ArmDialect:
        """The negotiated protocol version as data."""
        raise NotImplementedError

    def _command(self, command: CommandName, fields: dict[str, Any]) -> Answer:
        """Send a command and wait for its success."""
        raise NotImplementedError

    def get_robot_model(self) -> str:
        """Fetch the URDF of the arm from the robot. Version 10 only."""
        return self._command(CommandName.GET_ROBOT_MODEL, {}).data.decode("utf-8", errors="replace")

    @property
    def serves_urdf(self) -> bool:
        """The robot hands out its URDF (version 10)."""
        return CommandName.GET_ROBOT_MODEL in self.dialect.commands

    def load_model(self, backend: str = "compiled") -> Model:
        """The arm's model, on "compiled" kernels or pure "jax": FR3 from the robot's URDF, FER from package data.

        Takes up to seconds the first time; not for a running loop. Needs franka_jax.
        """
        from franka_rt.model import load_model  # here, because a client without models does not need it

        return load_model(cast("Robot", self), backend)

    def load_model_from_robot(self) -> Model:
        """The FER's own model library, fetched from the robot. Version 5 only. **Executes the robot's code here.**

        ``FRANKA_RT_MODEL_LIBRARY=off`` in the environment forbids it. The file is private to this user and gone when
        the call returns. ModelException if the robot serves none or it cannot be loaded.
        """
        from franka_rt import model_library
        from franka_rt.model import Model

        self.dialect.spec(CommandName.LOAD_MODEL_LIBRARY)
        model_library.check_allowed()
        answer = self._command(CommandName.LOAD_MODEL_LIBRARY, model_library.machine())
        return Model(model_library.ModelLibrary.from_bytes(answer.data), self.dialect.robot)

    @cached_property
    def velocity_envelope(self) -> VelocityEnvelope:
        """The FR3's position-dependent limits from its URDF; ModelException if that does not state them."""
        if self.dialect.limits.joint_velocity is not None:
            raise ModelException(f"franka_rt: {self.dialect.label} has constant joint velocity limits, no envelope.")
        return VelocityEnvelope.from_urdf(self._urdf)

    def upper_joint_velocity_limits(self, q: ArrayLike) -> np.ndarray:
        """(7,) largest joint velocities at q, rad/s, as the rate limiter uses them (constant on version 5)."""
        return self._velocity_limits(q, upper=True)

    def lower_joint_velocity_limits(self, q: ArrayLike) -> np.ndarray:
        """(7,) smallest joint velocities at q, rad/s, as the rate limiter uses them (constant on version 5)."""
        return self._velocity_limits(q, upper=False)

    def _velocity_limits(self, q: ArrayLike, upper: bool) -> np.ndarray:
        position, constant = checks.vector("q", q, 7), self.dialect.limits.joint_velocity
        if constant is not None:
            return constant.copy() if upper else -constant
        return self.velocity_envelope.upper(position) if upper else self.velocity_envelope.lower(position)

    def _served_urdf(self) -> str:
        return self._urdf

    def _joint_velocity_envelope(self) -> VelocityEnvelope:
        return self.velocity_envelope
