"""How long the model's calls take: compiled kernels, `jax.jit`, and every other library that is installed.

    python -m benchmarks.model            # prints ratios, writes benchmarks/results/model.json and model.png

One run measures everything in turn (interleaved rounds, medians with spread). The work is the five calls of a
controller for the FR3: pose and zero Jacobian of the end effector, mass matrix, Coriolis and gravity torques.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
#: Numbers of the five results of one state.
RESULT_WORDS = 16 + 42 + 49 + 7 + 7
ARITHMETIC, COPYING = "arithmetic (SHA-256)", "copying memory"
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
    return cases


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
    return cases | bounds(Q, n)


def bounds(Q: np.ndarray, states: int) -> dict[str, Case]:
    """What one and two threads of this machine achieve at pure arithmetic and at copying as much memory as the results
    take; on a shared machine two threads do not always get two cores.
    """
    pool = ThreadPoolExecutor(1)
    text = bytes(200_000)
    source, target = np.ones((2, states * RESULT_WORDS))
    halves = [(target[part], source[part]) for part in (slice(None, len(source) // 2), slice(len(source) // 2, None))]

    def both(work: Callable[[Any], object], parts: Sequence[Any]) -> None:
        second = pool.submit(work, parts[1])
        work(parts[0])
        second.result()

    return {
        f"{ARITHMETIC}, 1 thread": Case(lambda: [hashlib.sha256(text), hashlib.sha256(text)], states),
        f"{ARITHMETIC}, 2 threads": Case(lambda: both(hashlib.sha256, (text, text)), states),
        f"{COPYING}, 1 thread": Case(lambda: np.copyto(target, source), states),
        f"{COPYING}, 2 threads": Case(lambda: both(lambda pair: np.copyto(*pair), halves), states),
    }


def thread_ratios(timings: Mapping[str, Timing]) -> str:
    """How much faster two threads are than one: the kernel, and the bounds of the machine in the same run."""
    pairs = {
        "kernel": ("kernel, evaluate(out=)", "kernel, evaluate(out=, threads=2)"),
        ARITHMETIC: (f"{ARITHMETIC}, 1 thread", f"{ARITHMETIC}, 2 threads"),
        COPYING: (f"{COPYING}, 1 thread", f"{COPYING}, 2 threads"),
    }
    ratios = [f"{name} x {timings[one].median / timings[two].median:.2f}" for name, (one, two) in pairs.items()]
    return f"two threads against one: {', '.join(ratios)}"


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
    return cases


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


def peer_cases(libraries: Sequence[peers.Peer], section: str, units: int) -> dict[str, Case]:
    """What the other libraries do of a section."""
    return {
        name: Case(units=units, timed=partial(peer.time, section, name))
        for peer in libraries
        for name in peer.cases.get(section, ())
    }


def describe_peers(libraries: Sequence[peers.Peer], fast: CompiledModel, states: peers.States) -> str:
    """Who takes part, who is missing, and how far the results for one state are apart."""
    ours, lines = fast.evaluate(states.q, states.dq), []
    for peer in libraries:
        apart = [float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(peer.values, ours, strict=True)]
        lines.append(f"  {peer.name}: largest differences of its five results {', '.join(f'{x:.0e}' for x in apart)}")
    missing = [name for name in peers.MODULES if name not in peers.available()]
    lines += [f"  NOT MEASURED: {name} is not installed (pip install {peers.PACKAGES[name]})" for name in missing]
    return "\n".join(["peers, each in its own process:", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=STATES, help="size of the batch (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of measurements (default: %(default)s)")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    print(f"{machine()}; jax {jax.__version__}", flush=True)
    model, fast = _compile()
    states = peers.random_states(options.states)
    libraries = [peers.Peer(name, options.states) for name in peers.available()]
    print(describe_peers(libraries, fast, states), flush=True)
    sections: dict[str, dict[str, Timing]] = {}
    for key, title, units, cases, base in (
        ("single", "one state", 1, single_cases(model, fast, states.q, states.dq), "kernel, evaluate(out=)"),
        (
            "batch",
            f"per state of {options.states}",
            options.states,
            batch_cases(model, fast, states.Q, states.dQ),
            "kernel, evaluate(out=)",
        ),
        (
            "derivatives",
            "derivatives of the dynamics",
            1,
            derivative_cases(model, states.q, states.dq, states.ddq),
            "kernel, buffers reused, inverse_dynamics",
        ),
    ):
        seconds = 0.012 if key == "batch" else 0.004
        timings = measure(cases | peer_cases(libraries, key, units), options.rounds, seconds)
        if key == "batch":
            print(thread_ratios(timings))
        sections[title] = {
            name: timing for name, timing in timings.items() if not name.startswith((ARITHMETIC, COPYING))
        }
        print(table(title, sections[title], base), flush=True)
    for peer in libraries:
        peer.close()
    print(f"written: {save('model', sections)}, {chart('model', sections)}")


if __name__ == "__main__":
    main()
