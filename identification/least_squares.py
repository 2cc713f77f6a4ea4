"""Minimum-norm least squares of a matrix without full column rank, differentiable.

    A = U S V^T,   r = #{s_k > threshold s_1},   x = V_r S_r^-1 U_r^T b = A+ b

Three ways to the same x:

    svd       the singular value decomposition of A
    qr        A = Q R first, then the decomposition of the square R: less work for tall A
    float32   R and its decomposition in single precision, then steps  x += P V S^-2 V^T A^T (b - A x)
              with A^T (b - A x) and P in double precision; each step gains about six digits

P = B B^T projects onto the row space (A^T U_r = B R): without it, a step along the single-precision V
would leave 1e-8 in the null space, where no residual sees it.

The derivative at constant rank (Golub, Pereyra 1973) does not divide by differences of singular values, which vanish:

    dx = A+ (db - dA x) + A+ A+^T dA^T (b - A x) + (1 - A+ A) dA^T A+^T x
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Solver = Literal["svd", "qr", "float32"]
THRESHOLD = 1e-12
"""Singular values below this fraction of the largest count as zero, in double precision."""
THRESHOLD_FLOAT32 = 1e-5
"""The same in single precision (round-off there is about 1e-7 of the largest)."""


class Spectrum(NamedTuple):
    """U (n, p), singular values (p,) and V^T (p, p) of A, and its rank: singular values above the threshold."""

    U: Float[Array, "n p"]
    values: Float[Array, "p"]
    Vt: Float[Array, "p p"]
    rank: Int[Array, ""]

    @property
    def inverse_values(self) -> Float[Array, "p"]:
        """1/s_k, and zero from the rank on."""
        kept = jnp.arange(self.values.shape[0]) < self.rank
        return jnp.where(kept, 1 / jnp.where(kept, self.values, 1.0), 0.0)


def spectrum(A: Float[Array, "n p"], solver: Solver = "svd", threshold: float | None = None) -> Spectrum:
    """Decomposition and rank of A; `threshold` defaults to the precision's own. ValueError for an unknown solver."""
    if solver not in ("svd", "qr", "float32"):
        raise ValueError(f'solver must be "svd", "qr" or "float32", not {solver!r}')
    if threshold is None:
        threshold = THRESHOLD_FLOAT32 if solver == "float32" else THRESHOLD
    if solver == "svd":
        U, values, Vt = jnp.linalg.svd(A, full_matrices=False)
    else:
        Q, R = jnp.linalg.qr(A.astype(jnp.float32) if solver == "float32" else A)
        U, values, Vt = jnp.linalg.svd(R, full_matrices=False)
        U = jnp.matmul(Q, U, precision="highest")
    return Spectrum(U, values, Vt, jnp.sum(values > threshold * values[0]))


def minimum_norm(
    A: Float[Array, "n p"],
    b: Float[Array, "n"],
    solver: Solver = "svd",
    refinements: int = 1,
    threshold: float | None = None,
) -> Float[Array, "p"]:
    """x = A+ b. `refinements` (of the float32 solver only): further steps after the first solve.

    Differentiable in A and b as long as the rank does not change.
    """
    return _minimum_norm(solver, refinements, threshold, A, b)


def _solve(solver: Solver, refinements: int, found: Spectrum, A: Array, b: Array) -> Array:
    if solver != "float32":
        return found.Vt.T @ (found.inverse_values * (found.U.T @ b))
    kept = found.inverse_values > 0
    basis = jnp.linalg.qr(A.T @ (found.U * kept).astype(A.dtype))[0] * kept
    x = jnp.zeros(A.shape[1], A.dtype)
    for _ in range(1 + refinements):
        x = x + basis @ (basis.T @ _normal_step(found, A.T @ (b - A @ x)))
    return x


def _normal_step(found: Spectrum, g: Array) -> Array:
    """V S^-2 V^T g in single precision, for g of any size."""
    size = jnp.max(jnp.abs(g))
    scaled = (g / jnp.where(size > 0, size, 1.0)).astype(jnp.float32)
    projected = jnp.matmul(found.Vt, scaled, precision="highest")
    step = jnp.matmul(found.Vt.T, found.inverse_values**2 * projected, precision="highest")
    return step.astype(g.dtype) * size


def _forward(solver, refinements, threshold, A, b):
    return _solve(solver, refinements, spectrum(A, solver, threshold), A, b)


_minimum_norm = jax.custom_jvp(_forward, nondiff_argnums=(0, 1, 2))


@_minimum_norm.defjvp
def _minimum_norm_jvp(solver, refinements, threshold, primals, tangents):
    (A, b), (dA, db) = primals, tangents
    x = _minimum_norm(solver, refinements, threshold, A, b)
    U, _, Vt, _ = exact = spectrum(A, "svd" if solver == "float32" else solver, threshold)
    inverse = exact.inverse_values

    def pinv(v):
        return Vt.T @ (inverse * (U.T @ v))

    def pinv_transposed(v):
        return U @ (inverse * (Vt @ v))

    def off_row_space(v):
        return v - Vt.T @ ((inverse > 0) * (Vt @ v))

    dx = pinv(db - dA @ x) + pinv(pinv_transposed(dA.T @ (b - A @ x)))
    return x, dx + off_row_space(dA.T @ pinv_transposed(x))
