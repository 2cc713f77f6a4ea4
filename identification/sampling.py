"""Which configurations to ask a closed model for, and asking.

The 208 configurations of the published fit: q = 0, the ready pose, six corners of the joint box, 200 from splitmix64.
They are part of the definition of the fit, because they fix the column scaling (see `regression`).

    splitmix64 (Steele, Lea, Flood 2014):   state += 0x9e3779b97f4a7c15
    z = (z ^ z >> 30) 0xbf58476d1ce4e5b9;  z = (z ^ z >> 27) 0x94d049bb133111eb;  z ^ z >> 31;   u = (z >> 11) 2^-53
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float

from franka_jax import Frame, Model, Payload
from franka_jax.description import Limits

from .dataset import Dataset
from .library import LibraryError, SharedObject

SEED = 20260905
READY = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)
CORNERS = (0b1010101, 0b0101010, 0b1100110, 0b0011001, 0b1111000, 0b0000111)
"""Bit j picks the upper limit of joint j + 1."""
RANDOM = 200
GRAVITY = 9.81 * np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, -1.0]])
"""Gravity vectors, m/s^2, base axes: along three axes, so that link 1's first moments are seen."""


States = tuple[Float[np.ndarray, "n 7"], Float[np.ndarray, "n 7"], Float[np.ndarray, "n 7"]]
"""q rad, dq rad/s, ddq rad/s^2."""


class Backend(Protocol):
    """What can be asked: `franka_jax.Model` and `library.SharedObject` both can."""

    def mass(self, q: Any, payload: Payload | None = None) -> Any:
        """Mass matrix (7, 7)."""
        ...

    def coriolis(self, q: Any, dq: Any, payload: Payload | None = None) -> Any:
        """Coriolis torques (7,)."""
        ...

    def gravity(self, q: Any, payload: Payload | None = None, gravity_earth: Any = ...) -> Any:
        """Gravity torques (7,)."""
        ...


def splitmix64(seed: int, count: int) -> Float[np.ndarray, "count"]:
    """Uniform numbers in [0, 1)."""
    k = np.arange(1, count + 1, dtype=np.uint64)
    z = np.uint64(seed) + k * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return ((z ^ z >> np.uint64(31)) >> np.uint64(11)) * 2.0**-53


def recipe(limits: Limits, seed: int = SEED) -> tuple[Float[np.ndarray, "208 7"], Float[np.ndarray, "208 7"]]:
    """q (rad) and dq (rad/s) of the 208 configurations; q = 0 and the ready pose rest, corners move at +-0.5 rad/s."""
    upper = np.array([[mask >> joint & 1 for joint in range(7)] for mask in CORNERS], dtype=bool)
    corners = np.where(upper, limits.upper, limits.lower)
    draws = splitmix64(seed, RANDOM * 14).reshape(RANDOM, 7, 2)  # per joint, in turn: one for q, one for dq
    q = limits.lower + (limits.upper - limits.lower) * draws[:, :, 0]
    dq = limits.velocity * (2 * draws[:, :, 1] - 1)
    fixed = np.array([np.zeros(7), READY])
    return np.concatenate([fixed, corners, q]), np.concatenate([np.zeros((2, 7)), np.where(upper, 0.5, -0.5), dq])


def random_states(limits: Limits, count: int, seed: int, acceleration: float = 5.0) -> States:
    """(count, 7) each: q uniform in the limits, |dq| up to the limits, |ddq| up to `acceleration` rad/s^2."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(limits.lower, limits.upper, (count, 7))
    dq = rng.uniform(-limits.velocity, limits.velocity, (count, 7))
    return q, dq, rng.uniform(-acceleration, acceleration, (count, 7))


def evaluate(
    backend: Backend,
    q: Float[np.ndarray, "N 7"],
    dq: Float[np.ndarray, "N 7"],
    payloads: tuple[Payload, ...] = (),
    gravity_vectors: Float[np.ndarray, "G 3"] = GRAVITY,
    about: str = "not said",
    each: Callable[[], None] = lambda: None,
) -> Dataset:
    """Ask a backend for all quantities at (q, dq): without payload, then with each of `payloads` at all of them.

    `each` is called after every configuration, for progress.
    """
    rows: list[tuple[np.ndarray, ...]] = []
    for payload in (None, *payloads):
        for position, velocity in zip(q, dq, strict=True):
            mass = np.asarray(backend.mass(position, payload))
            held = [np.asarray(backend.gravity(position, payload, gravity_earth=g)) for g in gravity_vectors]
            rows.append((mass, np.array(held), np.asarray(backend.coriolis(position, velocity, payload))))
            each()
    cases = [Payload.none() if payload is None else payload for payload in (None, *payloads)]
    n = len(q)
    return Dataset(
        np.tile(q, (len(cases), 1)),
        np.array([row[0] for row in rows]),
        np.tile(gravity_vectors, (len(rows), 1, 1)),
        np.array([row[1] for row in rows]),
        np.repeat([float(p.m_total) for p in cases], n),
        np.repeat([np.asarray(p.F_x_Ctotal, float) for p in cases], n, axis=0),
        np.repeat([np.asarray(p.I_total, float) for p in cases], n, axis=0),
        np.tile(dq, (len(cases), 1)),
        np.array([row[2] for row in rows]),
        about,
    )


def check_geometry(library: SharedObject, model: Model) -> float:
    """Largest difference, m, of the library's flange poses from the model's at the first configurations of the recipe.

    LibraryError if it exceeds 1e-9: the parameters of one arm mean nothing on the placements of another.
    """
    q = recipe(model.limits)[0][:20]
    difference = max(float(np.abs(library.pose(Frame.FLANGE, x) - model.pose(Frame.FLANGE, x)).max()) for x in q)
    if not difference < 1e-9:
        raise LibraryError(f"{library.path}: its flange poses differ from the arm's by {difference:.1e} m")
    return difference
