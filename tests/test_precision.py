"""Precision and side effects, each in a process of its own where JAX's settings matter; pitfalls X1, D10."""

import subprocess
import sys
import textwrap

import jax
import numpy as np

from franka_jax import fr3

from .reference import ROOT


def run(program: str) -> str:
    """Run a program in a fresh interpreter at the root of the checkout; its output, or a failure with its error."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_changes_nothing():
    """X1: no precision switch, no backend started, no file of a robot read."""
    output = run(
        """
        import jax
        before = jax.config.read("jax_enable_x64")
        import franka_jax, franka_jax.dynamics, franka_jax.urdf, franka_jax.robots
        from jax._src import xla_bridge
        print(before, jax.config.read("jax_enable_x64"), len(xla_bridge._backends))
        import jax.numpy as jnp
        print((jnp.ones(3) @ jnp.ones((3, 2))).dtype)
        """
    )
    assert output.split() == ["False", "False", "0", "float32"]


def test_double_precision_models_need_double_precision_jax():
    output = run(
        """
        import jax
        from franka_jax import fr3, fer, Model
        for build in (fr3, fer):
            try:
                build()
            except RuntimeError as error:
                print(error)
        with jax.enable_x64(True):
            model = fr3()
            model.mass([0.0] * 7)
        try:
            model.mass([0.0] * 7)
        except RuntimeError as error:
            print(error)
        import numpy as np
        print(fr3(dtype=np.float32).mass([0.0] * 7).dtype)
        """
    )
    lines = output.splitlines()
    assert len(lines) == 4
    assert all('jax.config.update("jax_enable_x64", True)' in line for line in lines[:3])
    assert lines[3] == "float32"


def test_single_precision_model(fr3_reference):
    """D10: a float32 model computes in float32 throughout and keeps the documented error."""
    model, q, dq = fr3(dtype=np.float32), fr3_reference["q"], fr3_reference["dq"]
    for name, function, arguments in (
        ("mass", model.mass, (q,)),
        ("gravity", model.gravity, (q,)),
        ("coriolis", model.coriolis, (q, dq)),
    ):
        value = jax.vmap(function)(*arguments)
        assert value.dtype == np.float32
        reference = fr3_reference[name][:, 0]
        assert np.abs(value - reference).max() <= 2e-6 * np.abs(reference).max(), name
