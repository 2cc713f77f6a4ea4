"""How exact the compiled kernels are: largest differences to `jax.jit` and to the vendor's reference values.

python -m benchmarks.accuracy
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

from franka_jax import CompiledModel, Model, Payload, compile_model, fer, fr3
from franka_jax.calls import evaluate

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
KEYS = {
    "O_T_EE": "pose",
    "zero_jacobian": "zero_jacobian",
    "mass": "mass",
    "coriolis": "coriolis",
    "gravity": "gravity",
}


def reference_values(file: dict[str, np.ndarray], load: int) -> dict[str, np.ndarray]:
    """The five quantities of the end-effector frame under one load."""
    frame = list(file["frame_names"]).index("end_effector")
    return {
        name: file[key][:, load, frame] if key in ("pose", "zero_jacobian") else file[key][:, load]
        for name, key in KEYS.items()
    }


def differences(
    model: Model, fast: CompiledModel, file: dict[str, np.ndarray]
) -> dict[str, tuple[float, float, float]]:
    """Per quantity: to the reference and to jit (largest absolute), and the latter over the largest magnitude."""
    worst = dict.fromkeys(KEYS, (0.0, 0.0, 0.0))
    for load in range(len(file["load_names"])):
        payload = Payload(*(file[key][load] for key in ("m_total", "F_x_Ctotal", "I_total")))
        options = payload, file["F_T_EE"][load], file["EE_T_K"][load], np.array([0.0, 0.0, -9.81])
        jitted = jax.jit(jax.vmap(lambda q, dq, options=options: evaluate(model, q, dq, *options)))(
            file["q"], file["dq"]
        )
        found = fast.evaluate(file["q"], file["dq"], *options)
        for name, expected in reference_values(file, load).items():
            value, other = getattr(found, name), np.asarray(getattr(jitted, name))
            to_jit = np.abs(value - other).max()
            each = np.abs(value - expected).max(), to_jit, to_jit / np.abs(other).max()
            a, b, c = map(max, worst[name], map(float, each))
            worst[name] = a, b, c
    return worst


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    for robot, model, name in (
        ("FR3 against libfranka 0.21.3", fr3(), "fr3_libfranka_0_21.npz"),
        ("FER (rigid payload rule) against Pinocchio", fer(payload_rule="rigid"), "fer_reference.npz"),
    ):
        with np.load(DATA / name) as file:
            rows = differences(model, compile_model(model), dict(file))
        print(f"{robot}\n  {'largest difference to':24s} {'reference':>10s} {'jax.jit':>10s} {'jit/largest':>12s}")
        for quantity, values in rows.items():
            print(f"  {quantity:24s} {values[0]:10.1e} {values[1]:10.1e} {values[2]:12.1e}")


if __name__ == "__main__":
    main()
