"""The prior of the FER's regression: the published physical parameters of Gaz et al. 2019.

C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano, A. De Luca, "Dynamic Identification of the Franka Emika Panda Robot
With Retrieval of Feasible Parameters Using Penalty-Based Optimization", IEEE Robotics and Automation Letters 4(4),
4147-4154, 2019, doi 10.1109/LRA.2019.2931248; supplementary material, revised 15 October 2019 (the set p-hat).

Link 1's c_z does not act on any torque and is not in the publication; -0.04762 m is the figure that robot descriptions
derived from it carried, and the one the published identified set was corrected from.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from franka_jax.dynamics import inertia

CITATION = "Gaz et al. 2019, IEEE RA-L 4(4):4147-4154, doi 10.1109/LRA.2019.2931248, set p-hat; link 1 c_z = -0.04762 m"

# m kg; cx cy cz m; Ixx Ixy Iyy Ixz Iyz Izz kg m^2 about the centre of mass, axes of the joint frame.
GAZ_2019_CENTERED: Float[np.ndarray, "7 10"] = np.array(
    [
        [4.970684, 0.003875, 0.002081, -0.04762, 0.70337, -0.000139, 0.70661, 0.006772, 0.019169, 0.009117],
        [0.646926, -0.003141, -0.02872, 0.003495, 0.007962, -0.003925, 0.02811, 0.010254, 0.000704, 0.025995],
        [3.228604, 0.027518, 0.039252, -0.066502, 0.037242, -0.004761, 0.036155, -0.011396, -0.012805, 0.01083],
        [3.587895, -0.05317, 0.104419, 0.027454, 0.025853, 0.007796, 0.019552, -0.001332, 0.008641, 0.028323],
        [1.225946, -0.011953, 0.041065, -0.038437, 0.035549, -0.002117, 0.029474, -0.004037, 0.000229, 0.008627],
        [1.666555, 0.060149, -0.014117, -0.010517, 0.001964, 0.000109, 0.004354, -0.001158, 0.000341, 0.005433],
        [0.735522, 0.010517, -0.004252, 0.061597, 0.012516, -0.000428, 0.010027, -0.001196, -0.000741, 0.004815],
    ]
)


def gaz_2019() -> Float[np.ndarray, "7 10"]:
    """The prior as phi per link, inertia about the joint frame's origin (see `franka_jax.dynamics.inertia`)."""
    return np.asarray(jax.vmap(_to_origin)(jnp.asarray(GAZ_2019_CENTERED)))


def _to_origin(row: Float[Array, "10"]) -> Float[Array, "10"]:
    return inertia.from_mass_center(row[0], row[1:4], inertia.tensor(row))
