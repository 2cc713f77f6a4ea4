"""Precision and side effects, each in a process of its own where JAX's settings matter; pitfalls X1, D10."""

import pickle
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
        try:
            model.with_phi(np.ones((7, 10)))
        except RuntimeError as error:
            print(error)
        print(fr3(dtype=np.float32).mass([0.0] * 7).dtype)
        """
    )
    lines = output.splitlines()
    assert len(lines) == 5
    assert all('jax.config.update("jax_enable_x64", True)' in line for line in lines[:4])
    assert lines[4] == "float32"


def test_payloads_combine_in_single_precision_without_a_warning():
    output = run(
        """
        import warnings
        warnings.simplefilter("error")
        from franka_jax import Payload
        one = Payload(1.0, [0, 0, 0.1], [0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01])
        print(one.combine(one).F_x_Ctotal)
        """
    )
    assert output == "[0.  0.  0.1]"


def test_descriptions_from_another_process_have_the_hash_of_this_one(tmp_path):
    """A static part with another hash would be compiled again and not be found in a dictionary."""
    description = fr3(dtype=np.float32).description
    file = tmp_path / "description"
    run(
        f"""
        import pickle
        from franka_jax import fr3
        with open({str(file)!r}, "wb") as file:
            pickle.dump(fr3(dtype="float32").description, file)
        """
    )
    copy = pickle.loads(file.read_bytes())
    assert copy == description
    assert hash(copy) == hash(description)


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
