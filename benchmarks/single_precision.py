"""What a float32 model costs in accuracy: its largest errors against the float64 reference values.

    python -m benchmarks.single_precision

Poses, Jacobians, masses and torques are compared with the reference values of tests/data (all configurations and
loads); forward dynamics, which they do not contain, with this project's float64 model under the torques
tau = coriolis + gravity + 1 N m. Inputs are rounded to float32 first, as a program in single precision would do.
"""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from franka_jax import Model, Payload, fer, fr3

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
ROBOTS = {"FR3": (fr3, "fr3_libfranka_0_21.npz"), "FER": (partial(fer, payload_rule="rigid"), "fer_reference.npz")}
QUANTITIES = {
    "pose": "m, 1",
    "zero_jacobian": "m/rad, 1",
    "body_jacobian": "m/rad, 1",
    "mass": "kg m^2",
    "coriolis": "N m",
    "gravity": "N m",
    "forward_dynamics": "rad/s^2",
}


def evaluate(model: Model, q, dq, tau, payload, F_T_EE, EE_T_K) -> dict:
    """All quantities at one configuration; frame quantities at the stiffness frame, which contains all others."""
    frame = "stiffness", q, F_T_EE, EE_T_K
    return {
        "pose": model.pose(*frame),
        "zero_jacobian": model.zero_jacobian(*frame),
        "body_jacobian": model.body_jacobian(*frame),
        "mass": model.mass(q, payload),
        "coriolis": model.coriolis(q, dq, payload),
        "gravity": model.gravity(q, payload),
        "forward_dynamics": model.forward_dynamics(q, dq, tau, payload),
    }


def measure(robot: str) -> dict[str, tuple[float, float]]:
    """Largest absolute error of each quantity, and the largest absolute reference value."""
    make, name = ROBOTS[robot]
    data = dict(np.load(DATA / name))
    tau = data["coriolis"] + data["gravity"] + 1.0
    payloads = jax.vmap(Payload)(data["m_total"], data["F_x_Ctotal"], data["I_total"])
    loads = payloads, data["F_T_EE"], data["EE_T_K"]
    arguments = data["q"], data["dq"], tau, *loads
    single = _over_all(evaluate)(make(dtype=jnp.float32), *_cast(arguments, jnp.float32))
    reference = {**data, "forward_dynamics": _over_all(_forward_dynamics)(make(), *_cast(arguments, jnp.float64))}
    for frame_quantity in ("pose", "zero_jacobian", "body_jacobian"):
        reference[frame_quantity] = reference[frame_quantity][:, :, -1]
    return {key: _largest(single[key], reference[key]) for key in QUANTITIES}


def _over_all(function):
    """`function` over all configurations and, inside, all loads."""
    over_loads = jax.vmap(function, in_axes=(None, None, None, 0, 0, 0, 0))
    return jax.jit(jax.vmap(over_loads, in_axes=(None, 0, 0, 0, None, None, None)))


def _cast(arguments, dtype):
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), arguments)


def _forward_dynamics(model: Model, q, dq, tau, payload, F_T_EE, EE_T_K):
    return model.forward_dynamics(q, dq, tau, payload)


def _largest(got, want) -> tuple[float, float]:
    want = np.asarray(want)
    return float(np.abs(np.asarray(got, np.float64) - want).max()), float(np.abs(want).max())


def main() -> None:
    """Print the table."""
    jax.config.update("jax_enable_x64", True)
    print(f"{'float32 model':<18}{'unit':<12}" + "".join(f"{robot + ' error':>12}{'largest':>10}" for robot in ROBOTS))
    tables = {robot: measure(robot) for robot in ROBOTS}
    for key, unit in QUANTITIES.items():
        cells = "".join(f"{error:>12.1e}{largest:>10.3g}" for error, largest in (tables[r][key] for r in ROBOTS))
        print(f"{key:<18}{unit:<12}{cells}")


if __name__ == "__main__":
    main()
