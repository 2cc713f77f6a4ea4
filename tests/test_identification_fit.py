"""The regression: rank, residuals, the published parameters, single precision, gradients."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import fer
from identification import default_dataset, fit, least_squares, library_fit, regression
from identification.base import base_parameters, regroup
from identification.prior import gaz_2019

from .identification_setup import identification, published_phi, recipe_dataset, reference_dataset, reference_fit


@pytest.fixture(scope="module")
def model():
    return fer()


@pytest.fixture(scope="module")
def rows(model):
    data = reference_dataset()
    return regression.build_rows(model, data, regression.available(data))


def _rank(rows, scale) -> int:
    A = regression.stack(rows)[0]
    return int(least_squares.spectrum(jnp.asarray(A / scale)).rank)


@pytest.mark.parametrize("solver", ["svd", "qr", "float32"])
def test_published_parameters_are_reproduced(solver):
    """The published recipe: all seventy, not only the identified combinations."""
    found = fit(recipe_dataset(), solver=solver, refinements=2)
    assert found.rank == 45
    np.testing.assert_allclose(found.phi, published_phi(), rtol=0, atol=1e-12)


def test_rank_and_residual_of_the_shared_configurations():
    found = reference_fit()
    assert found.rank == 45
    assert found.configurations == 166
    assert found.worst_residual <= 1e-13
    # The fixed column scaling makes the result independent of the configurations.
    np.testing.assert_allclose(found.phi, published_phi(), rtol=0, atol=1e-12)


def _upright(data):
    return dataclasses.replace(data, gravity=data.gravity[:, :1], gravity_vectors=data.gravity_vectors[:, :1])


def test_rank_with_vertical_gravity_only(model):
    """Link 1's first moments do not show on an upright arm."""
    found = fit(_upright(reference_dataset()))
    assert found.rank == 43
    assert found.worst_residual <= 1e-13
    names = {b.name for b in reference_fit().base} - {b.name for b in found.base}
    assert {"m1 c1x", "m1 c1y + m2 c2z"} <= names


@pytest.mark.parametrize(("quantities", "rank"), [(("mass",), 39), (("gravity",), 14), (("mass", "gravity"), 45)])
def test_rank_of_each_quantity(rows, quantities, rank):
    assert _rank({name: rows[name] for name in quantities}, reference_fit().scale) == rank


def test_rank_of_vertical_gravity_alone(model):
    assert _rank(regression.build_rows(model, _upright(reference_dataset()), ("gravity",)), 1.0) == 12


@pytest.mark.parametrize(("configurations", "rank"), [(1, 32), (2, 43), (3, 45)])
def test_rank_of_few_configurations(model, configurations, rank):
    few = recipe_dataset().select(np.arange(100, 100 + configurations))
    assert _rank(regression.build_rows(model, few), reference_fit().scale) == rank


def test_rank_does_not_count_round_off_columns():
    """A column of 3e-15 (cos of a rounded right angle) is a zero column: the scaling's test is relative."""
    A = np.array([[1.0, 3e-15], [2.0, -3e-15], [0.5, 3e-15]])
    np.testing.assert_allclose(regression.column_scale(A), [np.sqrt(5.25), 1.0])


def test_identified_model_answers_as_the_references(fer_reference):
    """The model's own M, g, c with the fitted parameters, at all configurations."""
    found, r = identification().model, fer_reference
    mass = jax.vmap(found.mass)(r["q"])
    coriolis = jax.vmap(found.coriolis)(r["q"], r["dq"])
    tilted = jax.vmap(lambda q: found.gravity(q, None, r["gravity_tilted_vector"]))(r["q"])
    np.testing.assert_allclose(mass, r["mass"][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(coriolis, r["coriolis"][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(tilted, r["gravity_tilted"][:, 0], rtol=0, atol=1e-12)


def test_held_out_fifth_is_predicted(rows, model):
    found, differences = library_fit.holdout(rows, model)
    assert found.configurations == 133
    assert set(differences) == {"mass", "gravity", "coriolis"}
    assert max(r.max for r in differences.values()) <= 1e-13


def test_another_scaling_changes_only_what_no_torque_shows(rows, model):
    found = fit(reference_dataset(), scale=np.ones(70))
    assert np.abs(found.phi - published_phi()).max() > 1e-4
    assert found.worst_residual <= 1e-13
    assert library_fit.residuals(rows, found.theta)["coriolis"].max <= 1e-13


def test_base_parameters_and_null_space():
    found = identification().fit
    assert len(found.base) == found.rank == 45
    assert {"J1zz + J2yy", "m1 c1x", "m1 c1y + m2 c2z", "J7zz"} <= {b.name for b in found.base}
    published = base_parameters(regroup(found.triangle), published_phi().ravel())
    np.testing.assert_allclose([b.value for b in found.base], [b.value for b in published], rtol=0, atol=1e-12)
    assert found.null_space.shape == (70, 25)
    assert np.abs(found.triangle @ found.null_space).max() < 1e-11
    assert np.linalg.matrix_rank(found.null_space) == 25


def test_single_precision_and_one_refinement():
    rough = fit(default_dataset(), solver="float32", refinements=0)
    assert rough.rank == 45
    assert rough.worst_residual > 1e-9
    assert fit(default_dataset(), solver="float32").worst_residual <= 1e-11


@pytest.mark.parametrize("solver", ["svd", "qr"])
def test_minimum_norm_equals_the_pseudo_inverse(solver):
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(30, 6)) @ rng.normal(size=(6, 10)), rng.normal(size=30)
    x = least_squares.minimum_norm(jnp.asarray(A), jnp.asarray(b), solver)
    np.testing.assert_allclose(x, np.linalg.pinv(A, rcond=1e-12) @ b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", ["svd", "float32"])
@pytest.mark.parametrize("argument", ["q", "mass", "gravity", "prior"])
def test_gradient_equals_finite_differences(model, argument, solver):
    """Of a number made of all seventy parameters, with noisy data so that the residual's part counts too."""
    rng = np.random.default_rng(5)
    data = recipe_dataset().select(np.arange(40, 44))
    scale = jnp.asarray(identification().fit.scale)
    noise = rng.normal(size=data.mass.shape) * 1e-3
    inputs = {
        "q": jnp.asarray(data.q),
        "mass": jnp.asarray(data.mass + noise + np.swapaxes(noise, 1, 2)),
        "gravity": jnp.asarray(data.gravity + rng.normal(size=data.gravity.shape) * 1e-2),
        "prior": jnp.asarray(gaz_2019().ravel()),
    }
    weights, vectors = jnp.asarray(rng.normal(size=70)), jnp.asarray(data.gravity_vectors)
    direction = jnp.asarray(rng.normal(size=inputs[argument].shape))
    value, gradients = _fit_value(model, solver, weights, vectors, scale)

    def along(h):
        return value(inputs | {argument: inputs[argument] + h * direction})

    # Linear in all but q, so a long step costs no accuracy there; fourth order in q.
    h = 2e-3 if argument == "q" else 1.0
    finite = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    gradient = jnp.vdot(gradients(inputs)[argument], direction)
    np.testing.assert_allclose(gradient, finite, rtol=1e-6, atol=1e-9)


_JITTED: dict = {}


def _fit_value(model, solver, weights, vectors, scale):
    """w . theta as a function of the inputs, and its gradient, compiled once for each solver."""
    if solver not in _JITTED:

        def value(x):
            theta = library_fit.fit_answers(model, x["q"], x["mass"], x["gravity"], vectors, x["prior"], scale, solver)
            return weights @ theta

        _JITTED[solver] = jax.jit(value), jax.jit(jax.grad(value))
    return _JITTED[solver]


def test_unknown_solver_and_quantity(model):
    with pytest.raises(ValueError, match="solver must be"):
        fit(reference_dataset(), solver="cholesky")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"unknown quantities \['friction'\]"):
        regression.build_rows(model, reference_dataset(), ("friction",))
