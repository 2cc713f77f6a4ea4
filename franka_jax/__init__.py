"""Vendor-exact, differentiable models of the Franka FR3 and FER (Panda) in JAX.

    import jax
    jax.config.update("jax_enable_x64", True)
    from franka_jax import fr3

    model = fr3()
    model.mass(q)                                # (7, 7), one configuration
    jax.vmap(model.mass)(Q)                      # (N, 7, 7)
    fast = compile_model(model)                  # the same calls as machine code: NumPy in and out, a microsecond

Importing this package changes nothing in JAX and reads no file.
"""

from . import aot
from .compiled import CompiledModel, Evaluation, compile_model
from .frames import Frame
from .model import GRAVITY_EARTH, Model
from .payload import Payload
from .robots import fer, fr3
from .urdf import UrdfError
from .wrench import WrenchEstimate, estimate_wrench

__all__ = [
    "GRAVITY_EARTH",
    "CompiledModel",
    "Evaluation",
    "Frame",
    "Model",
    "Payload",
    "UrdfError",
    "WrenchEstimate",
    "aot",
    "compile_model",
    "estimate_wrench",
    "fer",
    "fr3",
]
