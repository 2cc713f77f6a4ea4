"""The payload rule's two parameters from loaded answers."""

import numpy as np
import pytest

from franka_jax import Model, Payload, fer, urdf
from identification import DatasetError, default_dataset, fit_payload, library_fit, regression, sampling

from .identification_setup import (
    REFERENCE_URDF,
    identification,
    library_coriolis,
    library_samples,
    library_velocities,
    limits,
)

M7, C7Z = 0.5362215936072519, 0.03119086969164915  # published with the payload law


@pytest.fixture(scope="module")
def unloaded():
    """The fit without payload and its rows."""
    model = fer()
    return identification().fit, regression.build_rows(model, default_dataset().unloaded)


@pytest.mark.parametrize("start", [None, (0.3, 0.0), (2.0, 0.1), (0.05, -0.1)])
def test_parameters_are_recovered_from_two_samples(unloaded, start):
    base, rows = unloaded
    found = fit_payload(base, rows, library_samples(), start=start)
    assert found.rank == 47
    assert abs(found.m7 - M7) <= 1e-9
    assert abs(found.c7z - C7Z) <= 1e-9
    assert max(r.max for r in found.library.values()) <= 1e-13


@pytest.mark.parametrize("model", [fer(), None], ids=["package", "identified"])
@pytest.mark.parametrize("row", [2, 3])
def test_loaded_answers_of_the_library(model, row):
    """The shipped model and the freshly identified one, through their own functions."""
    model = identification().model if model is None else model
    samples = library_samples()
    payload = Payload(samples.m_total[row], samples.F_x_Ctotal[row], samples.I_total[row])
    q, dq = samples.q[row], library_velocities()[row]
    np.testing.assert_allclose(model.mass(q, payload), samples.mass[row], rtol=0, atol=1e-13)
    np.testing.assert_allclose(model.coriolis(q, dq, payload), library_coriolis()[row], rtol=0, atol=1e-13)
    for vector, torque in zip(samples.gravity_vectors[row], samples.gravity[row], strict=True):
        np.testing.assert_allclose(model.gravity(q, payload, vector), torque, rtol=0, atol=1e-13)


def test_rigid_rule_misses_the_loaded_answers():
    """The figures of the payload law: 2.96e-3 kg m^2 and 1.06e-3 N m; gravity does not differ."""
    payload = identification().payload
    assert payload is not None
    rigid = payload.rigid
    assert rigid["mass"].max == pytest.approx(2.96e-3, rel=1e-2)
    assert rigid["coriolis"].max == pytest.approx(1.06e-3, rel=1e-2)
    assert rigid["gravity"].max <= 1e-13


def test_other_parameters_are_found_too():
    """Answers of a model with another m7 and c7z, two payloads."""
    model = Model.from_arm(urdf.read_arm(REFERENCE_URDF), "library", 0.9, 0.07)
    q, dq = sampling.recipe(limits())
    payloads = Payload(0.5, [0.0, 0.02, 0.1], np.zeros((3, 3))), Payload(2.0, [0.0, 0.0, 0.0], np.eye(3) * 0.01)
    data = sampling.evaluate(model, q[20:26], dq[20:26], payloads)
    rows = regression.build_rows(model, data.unloaded)
    found = fit_payload(library_fit.fit_rows(rows, model, scale=identification().fit.scale), rows, data)
    assert found.m7 == pytest.approx(0.9, abs=1e-9)
    assert found.c7z == pytest.approx(0.07, abs=1e-9)


def test_loaded_rows_are_needed(unloaded):
    base, rows = unloaded
    with pytest.raises(DatasetError, match="no row carries a payload"):
        fit_payload(base, rows, library_samples().unloaded)
    with pytest.raises(DatasetError, match="every row carries a payload"):
        library_fit.fit(library_samples().loaded)
    with pytest.raises(DatasetError, match=r"use Dataset\.unloaded"):
        regression.build_rows(fer(), library_samples())
