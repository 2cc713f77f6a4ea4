"""Random small programs from all families of primitives agree with `jax.jit`; many share one compilation."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from franka_jax import aot

SAFE_UNARY = {
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "atan": jnp.arctan,
    "exp": lambda x: jnp.exp(-jnp.abs(x)),
    "log1p": lambda x: jnp.log1p(jnp.abs(x)),
    "sqrt": lambda x: jnp.sqrt(1 + x * x),
    "neg": jnp.negative,
    "abs": jnp.abs,
    "square": lambda x: jnp.square(x) / (1 + jnp.square(x)),
    "reciprocal": lambda x: 1 / (2 + jnp.square(x)),
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "floor": lambda x: jnp.floor(x + 0.123),
    "cumsum": lambda x: jnp.cumsum(x, axis=-1) / x.shape[-1],
    "reverse": lambda x: x[..., ::-1],
    "transpose": lambda x: x.T,
    "roll": lambda x: jnp.roll(x, 1, axis=0),
    "normalize": lambda x: x / (1 + jnp.linalg.norm(x)),
    "sort": lambda x: jnp.sort(x, axis=0),
    "set_row": lambda x: x.at[1].set(x[0] * 0.5).at[2].add(1.0),
    "scan": lambda x: jax.lax.scan(lambda c, r: (0.5 * (c + r), c * r), jnp.ones(3), x)[1],
    "cond": lambda x: jax.lax.cond(x[0, 0] > x[1, 1], lambda y: y - 1.0, lambda y: 0.5 * y, x),
    "pick": lambda x: x[jnp.argmax(x[:, 0])][None] + 0 * x,
    "gradient": jax.grad(lambda x: jnp.sum(jnp.sin(x) * x.T)),
    "solve": lambda x: jnp.linalg.solve(x @ x.T / (1 + jnp.sum(x * x)) + jnp.eye(3), x),
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T / (1 + jnp.sum(x * x)) + jnp.eye(3)),
    "constant": lambda x: x * jnp.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5], [1.0, -1.0, 0.0]]),
    "where": lambda x: jnp.where(x > 0.1, x, x.T),
}
SAFE_BINARY = {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": lambda a, b: a * b / (1 + jnp.abs(a)),
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "matmul": lambda a, b: a @ b / 3,
    "atan2": lambda a, b: jnp.arctan2(a, b * b + 0.1),
    "cross": lambda a, b: jnp.cross(a, b),
    "select": lambda a, b: jnp.where((a < b) & (b < 1.0) | ~(a > 0), a, b),
    "hypot": lambda a, b: jnp.sqrt(a * a + b * b + 0.01),
    "difference_of_same": lambda a, b: (a - b) + (b - a) + a * b - b * a,
}

steps = st.one_of(
    st.tuples(st.sampled_from(sorted(SAFE_UNARY)), st.integers(0, 99)),
    st.tuples(st.sampled_from(sorted(SAFE_BINARY)), st.integers(0, 99), st.integers(0, 99)),
)
programs = st.lists(steps, min_size=1, max_size=8)


def run(program, a, b):
    values = [a, b]
    for name, *operands in program:
        function = SAFE_UNARY.get(name) or SAFE_BINARY[name]
        values.append(function(*(values[-1 - i % len(values)] for i in operands)))
    return values[-1]


@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(st.lists(programs, min_size=20, max_size=20))
def test_random_programs_agree_with_jit(agrees, several):
    def together(a, b):
        return [run(program, a, b) for program in several]

    rng = np.random.default_rng(len(str(several)))
    a, b = rng.normal(size=(2, 5, 3, 3))
    kernel = aot.compile_function(together, a[0], b[0], optimize="-O1")
    reference = jax.jit(jax.vmap(together))(a, b)
    for found, expected in zip(kernel.batch(a, b), reference, strict=True):
        agrees(found, expected)
    agrees(kernel(a[3], b[3]), [np.asarray(x[3]) for x in reference])
