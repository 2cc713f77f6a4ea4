"""Automatic derivatives against central differences, at generic states and where formulas tend to break.

The difference quotient is the five-point one, whose error is h^4 f^(5)/30 plus round-off eps |f| / h:

    f'(x) ~ (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / (12 h)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .model import Model
from .payload import Payload

STEP = 1e-3
TOLERANCE = 1e-9
"""Allowed difference, relative to the largest entry of the derivative (or to 1, if that is smaller)."""

Vector = Float[Array, "n"]


@dataclass(frozen=True)
class GradientRow:
    """One derivative at a set of states: largest absolute difference from the difference quotient, largest entry."""

    derivative: str
    states: str
    difference: float
    tolerance: float
    largest: float
    finite: bool

    @property
    def ok(self) -> bool:
        """Whether every entry is finite and agrees."""
        return self.finite and self.difference <= self.tolerance


@dataclass(frozen=True)
class Derivative:
    """`value` as a function of the state's entries named in `of`, joined to one vector; `mode` differentiates it."""

    name: str
    of: str
    mode: Callable[..., Any]
    value: Callable[[Model, dict[str, Array], Vector], Array]
    batches: tuple[str, ...] = ("with payload", "zero payload", "zero velocity")


def _payload(x: Float[Array, "13"]) -> Payload:
    return Payload(x[0], x[1:4], x[4:].reshape(3, 3))


AT_ANY_VELOCITY = ("with payload", "zero payload")
DERIVATIVES = (
    Derivative(
        "d gravity / d q", "q", jax.jacrev, lambda m, s, x: m.gravity(x, _payload(s["payload"])), AT_ANY_VELOCITY
    ),
    Derivative(
        "d coriolis / d (q, dq)", "q dq", jax.jacrev, lambda m, s, x: m.coriolis(x[:7], x[7:], _payload(s["payload"]))
    ),
    Derivative("d mass / d q", "q", jax.jacfwd, lambda m, s, x: m.mass(x, _payload(s["payload"])), AT_ANY_VELOCITY),
    Derivative(
        "d inverse_dynamics / d phi",
        "phi",
        jax.jacrev,
        lambda m, s, x: m.with_phi(x.reshape(7, 10)).inverse_dynamics(
            s["q"], s["dq"], s["ddq"], _payload(s["payload"])
        ),
    ),
    Derivative(
        "d inverse_dynamics / d payload",
        "payload",
        jax.jacrev,
        lambda m, s, x: m.inverse_dynamics(s["q"], s["dq"], s["ddq"], _payload(x)),
    ),
)


def states(model: Model) -> dict[str, dict[str, np.ndarray]]:
    """Named batches of states: arrays with a leading axis of 8, `payload` as m, c (3), I (9)."""
    rng = np.random.default_rng(7)
    limits = model.limits
    ready = np.array([0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4])
    q = np.concatenate([np.zeros((1, 7)), ready[None], rng.uniform(limits.lower, limits.upper, (6, 7))])
    generic = {
        "q": q,
        "dq": rng.uniform(-1, 1, (8, 7)) * limits.velocity,
        "ddq": rng.uniform(-5, 5, (8, 7)),
        "payload": np.tile([1.23, -0.002, 0.008, 0.03, 3.1e-3, 0, 0, 0, 4.6e-3, 0, 0, 0, 4.9e-3], (8, 1)),
        "phi": np.tile(np.asarray(model.phi).ravel(), (8, 1)),
    }
    return {
        "with payload": generic,
        "zero payload": generic | {"payload": np.zeros((8, 13))},
        "zero velocity": generic | {"dq": np.zeros((8, 7))},
    }


def check(model: Model, derivatives: Iterable[Derivative] = DERIVATIVES) -> Iterator[GradientRow]:
    """A row per derivative and batch of states, as they are computed."""
    batches = states(model)
    for derivative in derivatives:
        for name in derivative.batches:
            yield _row(derivative, name, *_both(model, derivative, batches[name]))


def _row(derivative: Derivative, name: str, automatic: Array, quotient: Array) -> GradientRow:
    a, b = np.asarray(automatic), np.asarray(quotient)
    largest = float(np.abs(b).max())
    finite = bool(np.isfinite(a).all())
    return GradientRow(
        derivative.name, name, float(np.abs(a - b).max()), TOLERANCE * max(largest, 1.0), largest, finite
    )


@partial(jax.jit, static_argnames="derivative")
def _both(model: Model, derivative: Derivative, batch: dict[str, Array]) -> tuple[Array, Array]:
    """Automatic derivative and difference quotient, (8, ..., n) each."""

    def one(state: dict[str, Array]) -> tuple[Array, Array]:
        f = partial(derivative.value, model, state)
        x = jnp.concatenate([state[key] for key in derivative.of.split()])
        return derivative.mode(f)(x), _central_difference(f, x)

    return jax.vmap(one)({key: jnp.asarray(value) for key, value in batch.items()})


def _central_difference(f: Callable[[Vector], Array], x: Vector) -> Array:
    offsets = STEP * jnp.array([-2, -1, 1, 2], x.dtype)
    weights = jnp.array([1, -8, 8, -1], x.dtype) / (12 * STEP)
    directions = jnp.eye(x.size, dtype=x.dtype)
    values = jax.vmap(jax.vmap(f, out_axes=-1), out_axes=-1)(x + offsets[:, None, None] * directions)
    return jnp.sum(values * weights, axis=-1)
