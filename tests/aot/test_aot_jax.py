"""Kernels inside JAX programs: the same as the pure function under jit, vmap, grad and jacfwd."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import aot
from franka_rt.kernel import KernelException

ROOT = Path(__file__).parents[2]


def function(q, scale, options):
    A = jnp.outer(q, jnp.sin(q)) * scale + jnp.eye(3)
    return {"tau": jnp.tanh(A @ q) / (1 + jnp.linalg.norm(q)), "flag": options["n"] > 1, "n": options["n"] + 1}


RNG = np.random.default_rng(0)
Q, SCALE, OPTIONS = RNG.normal(size=(5, 3)), RNG.normal(size=5), {"n": np.arange(5)}
ONE = Q[0], SCALE[0], {"n": OPTIONS["n"][0]}


@pytest.fixture(scope="module")
def kernel():
    return aot.compile_function(function, *ONE)


def same(agrees, found, expected, tolerance=1e-13):
    agrees(jax.tree.map(np.asarray, found), jax.tree.map(np.asarray, expected), tolerance)


def test_eager_and_jit(kernel, agrees):
    same(agrees, kernel.jax(*ONE), function(*ONE))
    same(agrees, jax.jit(kernel.jax)(*ONE), jax.jit(function)(*ONE))


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)])
def test_vmap(kernel, agrees, axes):
    arguments = [x if axis == 0 else y for x, y, axis in zip((Q, SCALE, OPTIONS), ONE, axes, strict=True)]
    same(agrees, jax.jit(jax.vmap(kernel.jax, axes))(*arguments), jax.vmap(function, axes)(*arguments))


@pytest.mark.parametrize("inner", [(0, None, None), (None, 0, None), (0, 0, None)])
@pytest.mark.parametrize("outer", [(0, None, None), (None, 0, None), (0, 0, None)])
def test_nested_vmap(kernel, agrees, inner, outer):
    shape = [(4,) * (o == 0) + (3,) * (i == 0) for i, o in zip(inner, outer, strict=True)]
    arguments = RNG.normal(size=(*shape[0], 3)), RNG.normal(size=shape[1]), ONE[2]

    def twice(f):
        f = jax.vmap(f, inner) if any(axis == 0 for axis in inner) else f
        return jax.vmap(f, outer)

    same(agrees, jax.jit(twice(kernel.jax))(*arguments), twice(function)(*arguments))


def test_empty_batch(kernel):
    assert jax.vmap(kernel.jax, (0, None, None))(np.zeros((0, 3)), *ONE[1:])["tau"].shape == (0, 3)


@pytest.mark.parametrize(
    "derivative", [jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.grad(lambda q: (f(q) ** 2).sum()))]
)
def test_derivatives(kernel, agrees, derivative):
    def tau(f):
        return lambda q: f(q, *ONE[1:])["tau"]

    found, expected = (jax.jit(jax.vmap(derivative(tau(f)))) for f in (kernel.jax, function))
    same(agrees, found(Q), expected(Q), 1e-12)


def test_inside_scan(kernel, agrees):
    def step(f):
        return lambda q, _: (q + 0.1 * f(q, *ONE[1:])["tau"], None)

    found, expected = (jax.lax.scan(step(f), Q[0], None, length=20)[0] for f in (kernel.jax, function))
    same(agrees, found, expected, 1e-12)


def test_32_bit_arguments_are_converted(kernel, agrees):
    found = kernel.jax(Q[0].astype(np.float32), 1, {"n": np.int32(3)})
    agrees(np.asarray(found["tau"]), np.asarray(function(Q[0].astype(np.float32).astype(float), 1.0, {"n": 3})["tau"]))


def test_wrong_shapes_are_refused(kernel):
    with pytest.raises(KernelException, match=r"q has shape \(5, 3\), the kernel takes \(3,\) \(use jax.vmap"):
        kernel.jax(Q, *ONE[1:])


def run(code, **environment):
    settings = os.environ | {"JAX_PLATFORMS": "cpu"} | environment
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_32_bit_mode_is_refused_with_the_line_to_add_while_numpy_calls_work():
    printed = run(
        "import numpy as np, jax.numpy as jnp; from franka_jax import aot\n"
        "kernel = aot.compile_function(lambda x: jnp.sin(x) / 3, np.ones(2))\n"
        "assert kernel(np.ones(2)).tolist() == (np.sin(np.ones(2)) / 3).tolist(), kernel(np.ones(2))\n"
        "try: kernel.jax(np.ones(2))\n"
        "except aot.KernelException as error: print(error)\n"
    )
    assert 'jax.config.update("jax_enable_x64", True)' in printed


SHARDED = """
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from jax.sharding import NamedSharding, PartitionSpec as P
from franka_jax import Payload, compile_model, fr3

model = fr3()
kernel = compile_model(model).kernel("mass")
mesh = jax.make_mesh((2,), ("states",))
many = jax.vmap(kernel.jax, (0, None))
shared = jax.jit(jax.shard_map(many, mesh=mesh, in_specs=(P("states"), P()), out_specs=P("states"), check_vma=False))
Q = jax.device_put(np.random.default_rng(0).uniform(-1, 1, (64, 7)), NamedSharding(mesh, P("states")))
M = shared(Q, Payload.none())
assert len(M.sharding.device_set) == 2, M.sharding
np.testing.assert_allclose(M, jax.vmap(model.mass)(np.asarray(Q)), rtol=0, atol=1e-13)
print("two devices")
"""


def test_states_are_shared_between_two_devices():
    assert "two devices" in run(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=2")


def test_an_executable_without_its_kernel_is_an_error(kernel):
    """The handler's table does not know the number: a kernel of another process."""
    from franka_jax.aot import ffi

    assert kernel.jax(*ONE)["tau"].shape == (3,)  # the handler is registered
    shape = jax.ShapeDtypeStruct((3,), np.float64)
    with pytest.raises(Exception, match="not loaded in this process"):
        jax.block_until_ready(jax.jit(lambda x: jax.ffi.ffi_call(ffi.TARGET, shape)(x, kernel=np.int64(1)))(Q[0]))
