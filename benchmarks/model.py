"""How long the model's calls take: compiled kernels, `jax.jit`, and every other library that is installed.

    python -m benchmarks.model            # prints ratios, writes benchmarks/results/model.json and model.png

One run measures everything in turn (interleaved rounds, medians with spread). The work is the five calls of a
controller for the FR3: pose and zero Jacobian of the end effector, mass matrix, Coriolis and gravity torques.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Timing, chart, machine, measure, save, table
from franka_jax import CompiledModel, Model, Payload, aot, compile_model, fr3
from franka_jax.calls import evaluate

STATES = 10_000
GRAVITY = np.array([0.0, 0.0, -9.81])


def single_cases(model: Model, fast: CompiledModel, q: np.ndarray, dq: np.ndarray) -> dict[str, Case]:
    """One state, NumPy in and out."""
    out = fast.evaluate(q, dq)
    fast.evaluate(q, dq, out=out)
    payload = Payload(0.73, [0.01, 0.0, 0.03], np.diag([0.001, 0.0025, 0.0017]))
    jitted = jax.jit(lambda q, dq: evaluate(model, q, dq, None, None, None, GRAVITY))
    cases = {
        "kernel, evaluate(out=)": Case(lambda: fast.evaluate(q, dq, out=out)),
        "kernel, pointers prepared": Case(fast.kernel("evaluate").bind().run),
        "kernel, evaluate, fresh arrays": Case(lambda: fast.evaluate(q, dq)),
        "kernel, evaluate(payload, out=)": Case(lambda: fast.evaluate(q, dq, payload, out=out)),
        "kernel, mass alone": Case(lambda: fast.mass(q)),
        "jax.jit": Case(lambda: jax.block_until_ready(jitted(q, dq))),
    }
    return cases | {f"{name}": Case(call) for name, call in peers.single(q, dq).items()}


def batch_cases(model: Model, fast: CompiledModel, Q: np.ndarray, dQ: np.ndarray) -> dict[str, Case]:
    """Many states, on one core unless the name says otherwise."""
    kernel = fast.kernel("evaluate")
    shared = (0, 0, None, None, None, None)
    blocks = kernel.bind_blocks(len(Q), shared) if isinstance(kernel, aot.CompiledKernel) else None
    out = fast.evaluate(Q, dQ)
    options = Payload.none(), np.eye(4), np.eye(4), GRAVITY
    inside = jax.jit(jax.vmap(kernel.jax, shared))
    pure = jax.jit(jax.vmap(lambda q, dq: evaluate(model, q, dq, None, None, None, GRAVITY)))
    on_device = jnp.asarray(Q), jnp.asarray(dQ)
    n = len(Q)
    cases = {
        "kernel, evaluate(out=)": Case(lambda: fast.evaluate(Q, dQ, out=out), n),
        "kernel, evaluate(out=, threads=2)": Case(lambda: fast.evaluate(Q, dQ, out=out, threads=2), n),
        "kernel, evaluate, fresh arrays": Case(lambda: fast.evaluate(Q, dQ), n),
        "kernel.jax inside jit(vmap)": Case(lambda: jax.block_until_ready(inside(*on_device, *options)), n),
        "jit(vmap)": Case(lambda: jax.block_until_ready(pure(*on_device)), n),
    }
    if blocks is not None:
        cases["kernel, own layout"] = Case(blocks.run, n)
    return cases | {name: Case(call, len(Q)) for name, call in peers.batch(Q, dQ).items()}


def derivative_cases(model: Model, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> dict[str, Case]:
    """147 partial derivatives of inverse and of forward dynamics."""
    cases = {}
    for name in ("inverse_dynamics", "forward_dynamics"):
        derivative = jax.jacfwd(getattr(model, name), argnums=(0, 1, 2))
        kernel, jitted = aot.compile_function(derivative, q, dq, ddq, name=f"{name}_derivatives"), jax.jit(derivative)
        bound = kernel.bind()
        cases[f"kernel, buffers reused, {name}"] = Case(partial(_run_bound, bound, (q, dq, ddq)))
        cases[f"kernel, fresh arrays, {name}"] = Case(lambda k=kernel: k(q, dq, ddq))
        cases[f"kernel, pointers prepared, {name}"] = Case(bound.run)
        cases[f"jax.jit, {name}"] = Case(lambda f=jitted: jax.block_until_ready(f(q, dq, ddq)))
    return cases | {name: Case(call) for name, call in peers.derivatives(q, dq, ddq).items()}


def _run_bound(bound: Any, values: tuple[np.ndarray, ...]) -> None:
    for buffer, value in zip(bound.inputs, values, strict=True):
        buffer[...] = value
    bound.run()


def _compile() -> tuple[Model, CompiledModel]:
    model = fr3()
    for text in ("compiling or loading the kernel", "loading it again"):
        start = time.perf_counter()
        fast = compile_model(model)
        print(f"{text}: {1e3 * (time.perf_counter() - start):.0f} ms")
    return model, fast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=STATES, help="size of the batch (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of measurements (default: %(default)s)")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print(f"{machine()}; jax {jax.__version__}; peers: {', '.join(peers.available()) or 'none installed'}", flush=True)
    model, fast = _compile()
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1, 1, (3, 7))
    Q, dQ = rng.uniform(-1, 1, (2, options.states, 7))
    sections: dict[str, dict[str, Timing]] = {}
    for title, cases, base in (
        ("one state", single_cases(model, fast, q, dq), "kernel, evaluate(out=)"),
        (f"per state of {options.states}", batch_cases(model, fast, Q, dQ), "kernel, evaluate(out=)"),
        (
            "derivatives of the dynamics",
            derivative_cases(model, q, dq, ddq),
            "kernel, buffers reused, inverse_dynamics",
        ),
    ):
        sections[title] = measure(cases, options.rounds)
        print(table(title, sections[title], base), flush=True)
    print(f"written: {save('model', sections)}, {chart('model', sections)}")


if __name__ == "__main__":
    main()
