"""A robot's own library as the source: a stand-in compiled from C with the published parameters."""

import dataclasses
import shutil
import subprocess

import numpy as np
import pytest

from franka_jax import Model, Payload, fer, urdf
from identification import LibraryError, SharedObject, fit, sampling
from identification.__main__ import main
from identification.dataset import read

from .identification_setup import (
    REFERENCE_URDF,
    library_coriolis,
    library_samples,
    library_velocities,
    limits,
    published_model,
    published_phi,
)
from .reference import ROOT

COMPILER = shutil.which("cc") or shutil.which("gcc")


def _c_array(name, values) -> str:
    text = ", ".join(float(x).hex() for x in np.ravel(values))
    shape = "".join(f"[{n}]" for n in np.shape(values))
    return f"static const double {name}{shape} = {{{text}}};\n"


def _compile(folder, *flags):
    """The shared object of the stand-in; the test needs a C compiler and says so."""
    assert COMPILER, "a C compiler (cc or gcc) is needed for this test"
    arm = urdf.read_arm(REFERENCE_URDF)
    assert np.array_equal(arm.flange_rotation, np.eye(3))
    (folder / "parameters.h").write_text(
        _c_array("ROTATION", arm.rotation.reshape(7, 9))
        + _c_array("TRANSLATION", arm.translation)
        + _c_array("PHI", arm.phi)
        + _c_array("FLANGE", arm.flange_translation)
        + f"#define M7 {float(published_model().m7)!r}\n#define C7Z {float(published_model().c7z)!r}\n"
    )
    path = folder / "library.so"
    source = ROOT / "tests" / "identification_stub.c"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-w", f"-I{folder}", *flags, str(source), "-o", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return _compile(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("row", range(4))
def test_calls_reach_the_library(path, row):
    """Argument order and column-major results, against the genuine answers (with and without payload)."""
    library, samples = SharedObject(path, execute=True), library_samples()
    payload = Payload(samples.m_total[row], samples.F_x_Ctotal[row], samples.I_total[row])
    q, dq = samples.q[row], library_velocities()[row]
    np.testing.assert_allclose(library.mass(q, payload), samples.mass[row], rtol=0, atol=1e-12)
    np.testing.assert_allclose(library.coriolis(q, dq, payload), library_coriolis()[row], rtol=0, atol=1e-12)
    for vector, torque in zip(samples.gravity_vectors[row], samples.gravity[row], strict=True):
        np.testing.assert_allclose(library.gravity(q, payload, vector), torque, rtol=0, atol=1e-12)
    np.testing.assert_allclose(library.pose("flange", q), fer().pose("flange", q), rtol=0, atol=1e-14)
    np.testing.assert_allclose(library.pose("joint4", q), fer().pose("joint4", q), rtol=0, atol=1e-14)


def test_consent_is_needed(path):
    with pytest.raises(LibraryError, match="executes the robot's code"):
        SharedObject(path)


def test_what_is_no_library_is_refused(path, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a shared object")
    for bad in (text, tmp_path / "absent.so"):
        with pytest.raises(LibraryError, match="cannot be loaded"):
            SharedObject(bad, execute=True)
    incomplete = _compile(tmp_path, "-DINCOMPLETE")
    with pytest.raises(LibraryError, match="lacks 1 of the thirty functions: O_T_J9"):
        SharedObject(incomplete, execute=True)
    with pytest.raises(LibraryError, match="flange poses differ"):
        sampling.check_geometry(SharedObject(path, execute=True), _taller())


def _taller():
    arm = urdf.read_arm(REFERENCE_URDF)
    shifted = dataclasses.replace(arm, translation=arm.translation + 0.01)
    return Model.from_arm(shifted)


def test_sample_command_and_fit(path, tmp_path, capsys):
    """From the shared object to the seventy parameters."""
    out = tmp_path / "answers.npz"
    command = ["sample", "--library", str(path), "--out", str(out), "--quiet"]
    assert main(command) == 1
    assert "executes the robot's code: add --execute-library" in capsys.readouterr().err
    assert not out.exists()
    assert main([*command, "--execute-library", "--payload", "1", "0", "0", "0.05", "0.002", "0.002", "0.001"]) == 0
    data = read(out)
    assert (len(data), len(data.loaded)) == (416, 208)
    np.testing.assert_array_equal(data.q[:208], sampling.recipe(limits())[0])
    np.testing.assert_allclose(fit(data).phi, published_phi(), rtol=0, atol=1e-12)
