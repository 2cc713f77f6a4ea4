"""States per second of the five calls of a control loop, batched under `jit(vmap)`."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from .model import Model
from .payload import Payload

BATCH = 4096
REPEATS = 9


@dataclass(frozen=True)
class ThroughputRow:
    """One call: median over the repeats, seconds per batch and states per second."""

    call: str
    batch: int
    seconds: float

    @property
    def rate(self) -> float:
        """States per second."""
        return self.batch / self.seconds


def measure(model: Model, batch: int = BATCH, repeats: int = REPEATS) -> Iterator[ThroughputRow]:
    """A row per call, compilation not counted. Random states within the limits, one payload."""
    rng = np.random.default_rng(0)
    limits = model.limits
    q = jax.device_put(rng.uniform(limits.lower, limits.upper, (batch, 7)).astype(model.dtype))
    dq = jax.device_put((rng.uniform(-1, 1, (batch, 7)) * limits.velocity).astype(model.dtype))
    payload = Payload(1.23, [-0.002, 0.008, 0.03], np.diag([3.1e-3, 4.6e-3, 4.9e-3]))
    calls = {
        "pose": lambda q, dq: model.pose("end_effector", q),
        "zero_jacobian": lambda q, dq: model.zero_jacobian("end_effector", q),
        "mass": lambda q, dq: model.mass(q, payload),
        "coriolis": lambda q, dq: model.coriolis(q, dq, payload),
        "gravity": lambda q, dq: model.gravity(q, payload),
    }
    for name, call in calls.items():
        compiled = jax.jit(jax.vmap(call)).lower(q, dq).compile()
        yield ThroughputRow(name, batch, _median_seconds(lambda compiled=compiled: compiled(q, dq), repeats))


def _median_seconds(call, repeats: int) -> float:
    jax.block_until_ready(call())
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
