"""Rigid-body algorithms of a serial chain of revolute joints, as pure JAX functions of one configuration.

Nothing here knows of Franka: a `Chain` holds placements and inertial parameters as array leaves, every function takes
one configuration q of shape (n,), batches come from `jax.vmap`.
"""

from .aba import aba
from .chain import Chain, joint_placements
from .coriolis import coriolis_matrix
from .crba import crba
from .jacobian import body_jacobian, zero_jacobian
from .kinematics import link_placements
from .regressor import mass_regressor, torque_regressor
from .rnea import rnea
from .rotation import rotation_exp, rotation_log
from .spatial import Placement

__all__ = [
    "Chain",
    "Placement",
    "aba",
    "body_jacobian",
    "coriolis_matrix",
    "crba",
    "joint_placements",
    "link_placements",
    "mass_regressor",
    "rnea",
    "rotation_exp",
    "rotation_log",
    "torque_regressor",
    "zero_jacobian",
]
