"""Sine and cosine of the kernels against exact arithmetic: below 1 ulp over +-1e4 rad, in both widths."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import aot

BITS = 220  # of the fixed-point reference; arguments need 67 before and after cancellation


def _pi(bits):
    """pi * 2**bits by Machin's formula."""

    def arctan_inverse(n):
        total = term = (1 << (bits + 10)) // n
        k, sign = 1, 1
        while term:
            term //= n * n
            k, sign = k + 2, -sign
            total += sign * (term // k)
        return total

    return (4 * (4 * arctan_inverse(5) - arctan_inverse(239))) >> 10


PI = _pi(BITS)


def exact_sin_cos(x):
    """sin and cos of a double as fixed-point integers with BITS bits."""
    value = Fraction(x)
    scaled = (value.numerator << BITS) // value.denominator
    quadrant = round(Fraction(2 * scaled, PI))
    r = scaled - quadrant * PI // 2
    parts, term, n = [0, 0], 1 << BITS, 0
    while term:
        parts[n % 2] += term if n % 4 < 2 else -term
        n += 1
        term = (term * r >> BITS) // n
    cosine, sine = parts
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][quadrant % 4]


def ulps(found, exact):
    """Distance in units of the last place of the exact value."""
    spacing = math.ulp(exact / (1 << BITS))
    return abs(Fraction(found) - Fraction(exact, 1 << BITS)) / Fraction(spacing)


def arguments():
    rng = np.random.default_rng(0)
    near = np.arange(-6366, 6367, 37) * (np.pi / 2)
    hard = [-2.5 * np.pi, 6381956970095103 * 2.0**-39, 1e4, -1e4, 2.0**-30, 1e-30, 0.0, np.pi / 4, 6366 * np.pi / 2]
    return np.concatenate([rng.uniform(-1e4, 1e4, 1000), rng.uniform(-4, 4, 1000), near, np.nextafter(near, 0), hard])


@pytest.fixture(scope="module")
def kernel():
    return aot.compile_function(lambda x: (jnp.sin(x), jnp.cos(x)), np.zeros(3), name="sincos")


@pytest.fixture(scope="module")
def padded():
    x = arguments()
    return np.append(x, np.zeros(-len(x) % 3)).reshape(-1, 3)


def test_sine_and_cosine_are_below_one_ulp(kernel, padded):
    found = kernel.batch(padded)
    errors = [
        (float(ulps(f.flat[i], e)), x)
        for i, x in enumerate(padded.ravel().tolist())
        for f, e in zip(found, exact_sin_cos(x), strict=True)
    ]
    assert len(errors) > 4000
    assert max(errors)[0] < 0.75, max(errors)


def test_one_state_and_batch_agree_bit_for_bit(kernel, padded):
    for row, *expected in zip(padded[::7], *(r[::7] for r in kernel.batch(padded)), strict=True):
        np.testing.assert_array_equal(kernel(row), expected)


@pytest.mark.parametrize("x", [1e5 + 1.0, -3e8, 1e300, np.inf, np.nan])
def test_large_and_special_arguments_are_those_of_the_library(kernel, x):
    row = np.array([0.5, x, 1.0])
    found = kernel(row)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, (np.sin(row), np.cos(row)), rtol=3e-16, atol=0)
    np.testing.assert_array_equal(kernel.batch(row[None])[0][0], found[0])


def test_a_nested_argument_is_a_group_of_its_own(agrees):
    def nested(x):
        return jnp.sin(jnp.cos(x) + jnp.sin(x[::-1])), jnp.cos(2 * x)

    x = np.linspace(-3, 3, 5)
    agrees(aot.compile_function(nested, x, optimize="-O1")(x), jax.jit(nested)(x))
