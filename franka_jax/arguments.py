"""Arguments of the public functions: shapes and types checked with one clear sentence, values left traced."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_ENABLE_X64 = 'jax.config.update("jax_enable_x64", True)'


def require_precision(dtype: Any) -> None:
    """RuntimeError if a float64 model is used while JAX would silently compute in float32."""
    if jnp.dtype(dtype) == np.float64 and not jax.config.read("jax_enable_x64"):
        raise RuntimeError(
            "this model is float64, but JAX has 64-bit numbers switched off. Add this line at the start of the "
            f"program: {_ENABLE_X64}   (or ask for a single-precision model: fr3(dtype=jnp.float32))"
        )


def array(name: str, value: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """`value` as a JAX array of the given shape and float dtype.

    Raises TypeError for what is not real numbers and ValueError for another shape; a leading batch axis is answered
    with "use jax.vmap".
    """
    return jnp.asarray(host_array(name, value, shape), dtype)


def host_array(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """As `array`, but numbers that are not JAX's stay a float64 numpy array, whatever JAX's precision setting."""
    value = _read(name, value, shape)
    if not (jnp.issubdtype(value.dtype, jnp.floating) or jnp.issubdtype(value.dtype, jnp.integer)):
        raise TypeError(f"{name} must be real numbers, not {value.dtype}")
    if value.shape != shape:
        batch = value.ndim > len(shape) and value.shape[value.ndim - len(shape) :] == shape
        hint = " For a batch use jax.vmap over the function." if batch else ""
        raise ValueError(f"{name} has shape {value.shape}, one configuration needs {shape}.{hint}")
    return value if isinstance(value, jax.Array) else value.astype(np.float64)


def _read(name: str, value: Any, shape: tuple[int, ...]) -> Any:
    """`value` as an array of whatever shape it has."""
    if isinstance(value, jax.Array):
        return value
    try:
        return np.asarray(value)
    except jax.errors.TracerArrayConversionError:
        return jnp.asarray(value)  # a list in which some numbers are traced
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of {shape} real numbers: {error}") from error


def transform(name: str, value: Any, dtype: Any) -> Array:
    """A homogeneous transform: (4, 4), or libfranka's flat 16 numbers in column-major order. None is the identity."""
    if value is None:
        return jnp.eye(4, dtype=dtype)
    value = _read(name, value, (4, 4))
    if value.shape == (16,):
        return array(name, value, (16,), dtype).reshape(4, 4).T
    return jnp.asarray(_matrix(name, value, 4), dtype)


def tensor(name: str, value: Any) -> Any:
    """An inertia tensor: (3, 3), or libfranka's flat 9 numbers in column-major order."""
    value = _read(name, value, (3, 3))
    if value.shape == (9,):
        return host_array(name, value, (9,)).reshape(3, 3).T
    return _matrix(name, value, 3)


def _matrix(name: str, value: Any, n: int) -> Any:
    try:
        return host_array(name, value, (n, n))
    except ValueError as error:
        raise ValueError(f"{error} ({n}, {n}) or flat {n * n} column-major are accepted.") from None
