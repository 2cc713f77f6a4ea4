"""Interior-point method for linear matrix inequalities of 4x4 blocks: a log-det barrier with Newton steps.

    minimise    f(z) = c.z + |W z - b|^2 / 2
    subject to  F_k(z) = F_k0 + sum_j z_j F_kj >= 0  (k = 1 ... K),      a_l + A_l.z >= 0  (l = 1 ... L)

For growing t, minimise  t f(z) - sum log det F_k - sum log(a_l + A_l.z)  by Newton's method. With F_k = L L^T the
gradient and the Hessian are those of a least-squares problem,

    G = [ sqrt(t) W;  vec(L^-1 F_kj L^-T);  A_l / s_l ],     H = G^T G,     -gradient = G^T e - t c

so a QR factorisation of G gives the step with half the digits lost that forming H would cost (F has entries of hundreds
beside eigenvalues of 1e-9 near the end). At the centre for t, Z_k = F_k^-1 / t and u_l = 1/(t s_l) are dual feasible
and the duality gap is nu / t, nu = 4 K + L (Boyd, Vandenberghe 2004, chapter 11); `reachable` measures it instead.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

START, GROWTH = 1e-3, 10.0
CENTERED = 1e-9
"""A centre is reached when half the squared Newton decrement is below this."""
STEPS_PER_CENTER = 60


class Problem(NamedTuple):
    """The data of the problem above; n variables."""

    c: Float[Array, "n"]
    W: Float[Array, "r n"]
    b: Float[Array, "r"]
    F0: Float[Array, "K 4 4"]
    F: Float[Array, "K n 4 4"]
    a: Float[Array, "L"]
    A: Float[Array, "L n"]

    @property
    def nu(self) -> int:
        """The barrier's parameter: the gap at a centre is nu / t."""
        return 4 * len(self.F0) + len(self.a)

    def objective(self, z: Float[Array, "n"]) -> Float[Array, ""]:
        """f(z)."""
        return self.c @ z + 0.5 * jnp.sum((self.W @ z - self.b) ** 2)

    def blocks(self, z: Float[Array, "n"]) -> Float[Array, "K 4 4"]:
        """F_k(z)."""
        return self.F0 + jnp.einsum("kjab,j->kab", self.F, z)

    def slacks(self, z: Float[Array, "n"]) -> Float[Array, "L"]:
        """a_l + A_l.z."""
        return self.a + self.A @ z


class Solution(NamedTuple):
    """Point, barrier weight t reached, Newton steps taken, and the dual variables Z (K, 4, 4), u (L,)."""

    z: Float[Array, "n"]
    t: Float[Array, ""]
    steps: Int[Array, ""]
    Z: Float[Array, "K 4 4"]
    u: Float[Array, "L"]


@jax.jit
def solve(problem: Problem, start: Float[Array, "n"], gap: float | Float[Array, ""]) -> Solution:
    """Follow the centres from a strictly feasible `start` until nu / t <= gap (in units of f)."""
    final = problem.nu / gap

    def unfinished(state):
        return state[1] < final

    def advance(state):
        z, t, steps = state
        t = jnp.minimum(t * GROWTH, final)
        z, taken = _center(problem, z, t)
        return z, t, steps + taken

    z, t, steps = jax.lax.while_loop(unfinished, advance, (start, jnp.asarray(START / GROWTH), jnp.asarray(0)))
    inverse = _inverse(problem.blocks(z))
    return Solution(z, t, steps, inverse / t, 1 / (t * problem.slacks(z)))


def _center(problem: Problem, z: Array, t: Array) -> tuple[Array, Array]:
    """Newton's method with backtracking on the barrier function for one t."""

    def unfinished(state):
        _, steps, decrement, length = state
        return (steps < STEPS_PER_CENTER) & (decrement > CENTERED) & (length > 1e-9)

    def newton(state):
        z, steps, _, _ = state
        direction, decrement = _direction(problem, z, t)
        length = _line_search(problem, z, t, direction, decrement)
        return jnp.where(length > 1e-9, z + length * direction, z), steps + 1, decrement, length

    z, steps, _, _ = jax.lax.while_loop(unfinished, newton, (z, jnp.asarray(0), jnp.asarray(jnp.inf), jnp.asarray(1.0)))
    return z, steps


def _direction(problem: Problem, z: Array, t: Array) -> tuple[Array, Array]:
    """The Newton step and half its squared decrement, from the QR factor of the column-scaled G."""
    inverse_root = jnp.linalg.inv(jnp.linalg.cholesky(problem.blocks(z)))
    conic = jnp.einsum("kab,kjbc,kdc->kadj", inverse_root, problem.F, inverse_root).reshape(-1, len(z))
    linear = problem.A / problem.slacks(z)[:, None]
    weighted = jnp.sqrt(t) * problem.W
    G = jnp.concatenate([weighted, conic, linear])
    identity = jnp.tile(jnp.eye(4).ravel(), len(problem.F0))
    e = jnp.concatenate([jnp.sqrt(t) * (problem.b - problem.W @ z), identity, jnp.ones(len(linear))])
    size = jnp.linalg.norm(G, axis=0)
    R = jnp.linalg.qr(G / size, mode="r")
    downhill = (G.T @ e - t * problem.c) / size
    half = jax.scipy.linalg.solve_triangular(R, downhill, trans=1)
    return jax.scipy.linalg.solve_triangular(R, half) / size, 0.5 * half @ half


def _line_search(problem: Problem, z: Array, t: Array, direction: Array, decrement: Array) -> Array:
    """Length of a step that lowers the barrier function (Armijo, 0.1); outside the cone it counts as infinite."""
    here = _value(problem, z, t, z)

    def too_long(length):
        there = _value(problem, z + length * direction, t, z)
        return (length > 1e-9) & ~(there <= here - 0.2 * length * decrement)

    return jax.lax.while_loop(too_long, lambda length: 0.5 * length, jnp.asarray(1.0))


def _value(problem: Problem, z: Array, t: Array, origin: Array) -> Array:
    """Barrier function minus t f(origin), the difference formed without cancellation; NaN outside the cone."""
    step = z - origin
    change = problem.c @ step + 0.5 * (problem.W @ step) @ (problem.W @ (z + origin) - 2 * problem.b)
    diagonal = jnp.diagonal(jnp.linalg.cholesky(problem.blocks(z)), axis1=1, axis2=2)
    return t * change - 2 * jnp.sum(jnp.log(diagonal)) - jnp.sum(jnp.log(problem.slacks(z)))


def _inverse(blocks: Array) -> Array:
    half = jnp.linalg.inv(jnp.linalg.cholesky(blocks))
    return jnp.einsum("kba,kbc->kac", half, half)
