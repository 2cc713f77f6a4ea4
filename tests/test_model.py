"""The Model facade: contract of arguments, transformations, gradients, physical check; pitfalls D1-D11, J1-J7."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import Frame, Model, Payload, fr3
from franka_jax.dynamics import link_placements

from .reference import READY

FRAMES = [frame.value for frame in Frame]
HAND = Payload(0.73, [0.01, 0, 0.03], np.diag([0.001, 0.0025, 0.0017]))
DQ = np.array([0.5, -0.3, 0.4, 0.6, -0.7, 0.8, -0.2])
F_T_EE = np.array([[0.7071, 0.7071, 0, 0.02], [-0.7071, 0.7071, 0, -0.01], [0, 0, 1, 0.1034], [0, 0, 0, 1]])
EE_T_K = np.eye(4)
EE_T_K[:3, 3] = 0.01, 0.02, 0.03

CALLS = {
    "pose": lambda m, q, dq: m.pose("stiffness", q, F_T_EE, EE_T_K),
    "zero_jacobian": lambda m, q, dq: m.zero_jacobian("stiffness", q, F_T_EE, EE_T_K),
    "body_jacobian": lambda m, q, dq: m.body_jacobian("joint4", q),
    "jacobian_dot": lambda m, q, dq: m.jacobian_dot("flange", q, dq),
    "mass": lambda m, q, dq: m.mass(q, HAND),
    "coriolis": lambda m, q, dq: m.coriolis(q, dq, HAND),
    "gravity": lambda m, q, dq: m.gravity(q, HAND),
    "inverse_dynamics": lambda m, q, dq: m.inverse_dynamics(q, dq, dq, HAND),
    "forward_dynamics": lambda m, q, dq: m.forward_dynamics(q, dq, 10 * dq, HAND),
    "coriolis_matrix": lambda m, q, dq: m.coriolis_matrix(q, dq, HAND),
    "regressor": lambda m, q, dq: m.regressor(q, dq, dq),
    "mass_regressor": lambda m, q, dq: m.mass_regressor(q),
}
calls = pytest.mark.parametrize("call", CALLS)


def compilations(jitted) -> int:
    """How often a jitted function has been compiled."""
    return jitted._cache_size()


@pytest.fixture(scope="module")
def batch(fr3_reference):
    return jnp.asarray(fr3_reference["q"][:5]), jnp.asarray(fr3_reference["dq"][:5])


# --- transformations ------------------------------------------------------------------------------------------------


@calls
def test_jit_equals_eager_and_vmap_equals_loop(fr3_model, batch, call):
    f = CALLS[call]
    Q, DQ = batch
    one_by_one = [f(fr3_model, q, dq) for q, dq in zip(Q, DQ, strict=True)]
    largest = max(1.0, float(jnp.abs(jnp.stack(one_by_one)).max()))
    jitted = jax.jit(f)
    together = jax.jit(jax.vmap(f, in_axes=(None, 0, 0)))(fr3_model, Q, DQ)
    for k, value in enumerate(one_by_one):
        assert jnp.abs(jitted(fr3_model, Q[k], DQ[k]) - value).max() <= 1e-14 * largest
        assert jnp.abs(together[k] - value).max() <= 1e-14 * largest
    assert compilations(jitted) == 1


@calls
def test_empty_batch_and_batch_of_batches(fr3_model, call):
    """D9."""
    f = CALLS[call]
    shape = f(fr3_model, READY, DQ).shape
    assert jax.vmap(f, in_axes=(None, 0, 0))(fr3_model, jnp.zeros((0, 7)), jnp.zeros((0, 7))).shape == (0, *shape)


def test_one_compilation_whatever_the_values(fr3_model):
    """Other configurations, payloads, parameters: the same compiled function."""
    from franka_jax import quantities

    before = compilations(quantities.mass)
    for k in range(3):
        other = fr3_model.with_phi(fr3_model.phi * (1 + k))
        other.mass(READY + k, Payload(0.1 * k, np.zeros(3), np.zeros((3, 3))))
    assert compilations(quantities.mass) - before <= 1


def test_model_is_a_differentiable_argument(fr3_model):
    """The gradient with respect to the parameters is the regressor."""
    ddq = DQ[::-1]
    jacobian = jax.jacrev(lambda model: model.inverse_dynamics(READY, DQ, ddq))(fr3_model)
    Y = fr3_model.regressor(READY, DQ, ddq)
    np.testing.assert_allclose(jacobian.chain.phi.reshape(7, 70), Y, atol=1e-12)
    np.testing.assert_allclose(Y @ fr3_model.phi.ravel(), fr3_model.inverse_dynamics(READY, DQ, ddq), atol=1e-12)
    assert jnp.isfinite(jacobian.chain.placement.rotation).all()


@pytest.mark.parametrize("call", ["pose", "zero_jacobian", "mass", "coriolis", "gravity", "forward_dynamics"])
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev], ids=["forward", "reverse"])
def test_gradients_are_finite_differences(fr3_model, call, mode):
    f = jax.jit(lambda q: CALLS[call](fr3_model, q, DQ))
    derivative = jax.jit(mode(f))(READY)
    h = 1e-6
    for j, step in enumerate(np.eye(7) * h):
        difference = (f(READY + step) - f(READY - step)) / (2 * h)
        assert jnp.abs(derivative[..., j] - difference).max() <= 1e-7 * max(1.0, float(jnp.abs(difference).max()))


@calls
def test_gradients_are_finite_in_special_places(fr3_model, call):
    """Identity, half turn, ready pose; at zero velocity."""
    special = jnp.stack([jnp.zeros(7), jnp.pi * jnp.eye(7)[0], jnp.asarray(READY)])
    gradients = jax.jit(jax.grad(lambda q, dq: CALLS[call](fr3_model, q, dq).sum(), argnums=(0, 1)))
    assert all(jnp.isfinite(g).all() for q in special for g in gradients(q, jnp.zeros(7)))


# --- frames and Jacobians -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", FRAMES)
def test_jacobians_are_derivatives_of_the_pose(fr3_model, frame):
    """J1, J3, J5: central differences of origin and rotation, all ten frames; a rigid F_T_EE, as the rotation needs."""
    rigid = np.eye(4)
    rigid[:3, :3] = [[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]]
    rigid[:3, 3] = 0.02, -0.01, 0.1034
    pose = lambda q: np.asarray(fr3_model.pose(frame, q, rigid, EE_T_K))  # noqa: E731
    J, B = (np.asarray(f(frame, READY, rigid, EE_T_K)) for f in (fr3_model.zero_jacobian, fr3_model.body_jacobian))
    R, h = pose(READY)[:3, :3], 1e-6
    for j, step in enumerate(np.eye(7) * h):
        dT = (pose(READY + step) - pose(READY - step)) / (2 * h)
        S = dT[:3, :3] @ R.T
        np.testing.assert_allclose(J[:, j], [*dT[:3, 3], S[2, 1], S[0, 2], S[1, 0]], atol=1e-9)
    blocks = np.zeros((6, 6))
    blocks[:3, :3] = blocks[3:, 3:] = R.T
    np.testing.assert_allclose(B, blocks @ J, atol=1e-15)
    if frame.startswith("joint"):
        assert (J[:, int(frame[-1]) :] == 0).all()


def test_jacobian_dot_is_the_rate_of_the_jacobian(fr3_model):
    h = 1e-6
    J = [fr3_model.zero_jacobian("end_effector", READY + s * h * DQ, F_T_EE) for s in (1, -1)]
    rate = (J[0] - J[1]) / (2 * h)
    assert jnp.abs(fr3_model.jacobian_dot("end_effector", READY, DQ, F_T_EE) - rate).max() <= 1e-8


def test_transforms_are_used_as_they_are(fr3_model):
    """J7: 0.7071 stays 0.7071; the product of the raw matrices, up to the last rounding."""
    flange = np.asarray(fr3_model.pose("flange", READY))
    assert np.abs(fr3_model.pose("end_effector", READY, F_T_EE) - flange @ F_T_EE).max() <= 2.3e-16


def test_flat_transforms_are_column_major(fr3_model):
    flat = F_T_EE.T.ravel()
    np.testing.assert_array_equal(
        fr3_model.pose("end_effector", READY, flat), fr3_model.pose("end_effector", READY, F_T_EE)
    )
    np.testing.assert_array_equal(
        fr3_model.zero_jacobian("stiffness", READY, flat, list(EE_T_K.T.ravel())),
        fr3_model.zero_jacobian("stiffness", READY, F_T_EE, EE_T_K),
    )


def test_identity_transforms_change_nothing(fr3_model):
    for frame in ("flange", "end_effector", "stiffness"):
        np.testing.assert_array_equal(fr3_model.pose(frame, READY), fr3_model.pose("flange", READY))
    np.testing.assert_array_equal(
        fr3_model.pose("stiffness", READY, np.eye(4), np.eye(4)), fr3_model.pose("flange", READY)
    )


@pytest.mark.parametrize("frame", ["joint8", "joint0", "hand", "EE", "Flange", "", 10, -1, 0, None, 3.5])
def test_unknown_frames(fr3_model, frame):
    """J4: never a wrapped index, always the ten names."""
    with pytest.raises(ValueError, match="Invalid frame given") as caught:
        fr3_model.pose(frame, READY)
    assert all(name in str(caught.value) for name in FRAMES)


def test_frames_as_enum_and_string(fr3_model):
    assert len(Frame) == 10
    np.testing.assert_array_equal(fr3_model.pose(Frame.JOINT3, READY), fr3_model.pose("joint3", READY))
    assert pickle.loads(pickle.dumps(Frame.FLANGE)) is Frame.FLANGE


# --- numbers --------------------------------------------------------------------------------------------------------


def test_mass_is_exactly_symmetric_and_positive(fr3_model, fer_model, fr3_reference, fer_reference):
    """D1, under vmap."""
    for model, reference in ((fr3_model, fr3_reference), (fer_model, fer_reference)):
        M = np.asarray(jax.vmap(model.mass)(reference["q"]))
        np.testing.assert_array_equal(M, np.swapaxes(M, 1, 2))
        assert np.linalg.eigvalsh(M).min() > 0


def test_zero_gravity_vector_gives_zero(fr3_model):
    """D4: a simulator that reports (0, 0, 0) gets zero torque, as documented."""
    assert (fr3_model.gravity(READY, gravity_earth=np.zeros(3)) == 0).all()


def test_far_outside_the_limits(fr3_model):
    """D11: no clipping, no wrapping; periodic in each joint."""
    for j in range(7):
        turned = READY + 2 * np.pi * np.eye(7)[j]
        np.testing.assert_allclose(fr3_model.pose("flange", turned), fr3_model.pose("flange", READY), atol=1e-14)
        np.testing.assert_allclose(fr3_model.gravity(turned), fr3_model.gravity(READY), atol=1e-12)
    assert jnp.isfinite(fr3_model.mass(np.full(7, 100.0))).all()


@pytest.mark.parametrize("name", ["fr3", "fer"])
def test_potential_energy_of_the_whole_arm(name, request):
    """D5: gravity torques are the gradient of the energy of the links at their documented centres."""
    model = request.getfixturevalue(f"{name}_model")

    def energy(q):
        R, p = link_placements(model.chain, q)
        heights = jax.vmap(lambda R, p, phi: (R @ phi[1:4] + phi[0] * p)[2])(R, p, model.phi)
        return 9.81 * heights.sum()

    np.testing.assert_allclose(jax.jit(jax.grad(energy))(jnp.asarray(READY)), model.gravity(READY), atol=1e-12)


# --- arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(128, 7), (1, 7), (2, 3, 7), (0, 7)])
def test_batches_are_refused_with_the_way_out(fr3_model, shape):
    """D9."""
    with pytest.raises(ValueError, match=r"q has shape .*use jax\.vmap"):
        fr3_model.mass(np.zeros(shape))


@pytest.mark.parametrize("shape", [(7, 128), (7, 1), (6,), (8,), (), (0,)])
def test_wrong_shapes_are_refused(fr3_model, shape):
    with pytest.raises(ValueError, match="q has shape") as caught:
        fr3_model.gravity(np.zeros(shape))
    assert "vmap" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("ready", "q must be real numbers"),
        (None, "q must be real numbers"),
        (np.zeros(7, complex), "q must be real numbers, not complex128"),
        (np.zeros(7, bool), "q must be real numbers, not bool"),
        ([0, 0, [0], 0, 0, 0, 0], "q must be an array"),
    ],
    ids=["text", "none", "complex", "bool", "ragged"],
)
def test_wrong_types_are_refused(fr3_model, value, message):
    with pytest.raises(TypeError, match=message):
        fr3_model.mass(value)


@pytest.mark.parametrize(
    "value", [list(READY), tuple(READY), READY.astype(np.float64), jnp.asarray(READY), READY[::-1][::-1]], ids=type
)
def test_lists_tuples_and_arrays_are_accepted(fr3_model, value):
    np.testing.assert_array_equal(fr3_model.mass(value), fr3_model.mass(READY))


def test_integers_and_single_precision_are_widened(fr3_model):
    np.testing.assert_array_equal(fr3_model.mass([0, 1, 0, -1, 0, 1, 0]), fr3_model.mass([0.0, 1, 0, -1, 0, 1, 0]))
    assert fr3_model.mass(READY.astype(np.float32)).dtype == np.float64


def test_other_arguments_are_checked_too(fr3_model):
    with pytest.raises(ValueError, match="F_T_EE has shape"):
        fr3_model.pose("flange", READY, np.zeros((3, 4)))
    with pytest.raises(ValueError, match="flat 16 column-major"):
        fr3_model.pose("flange", READY, EE_T_K=np.zeros(15))
    with pytest.raises(TypeError, match="EE_T_K must be an array"):
        fr3_model.pose("flange", READY, EE_T_K=[[1], [2, 3]])
    with pytest.raises(ValueError, match="gravity_earth has shape"):
        fr3_model.gravity(READY, gravity_earth=9.81)
    with pytest.raises(ValueError, match="dq has shape"):
        fr3_model.coriolis(READY, np.zeros(6))
    with pytest.raises(ValueError, match="phi has shape"):
        fr3_model.with_phi(np.zeros(70))
    with pytest.raises(TypeError, match="float64 or float32"):
        fr3(dtype=np.float16)


def test_representations(fr3_model, fer_model):
    assert repr(fr3_model) == "Model('fr3', payload_rule='rigid', dtype=float64)"
    assert repr(fer_model) == "Model('fer', payload_rule='library', dtype=float64)"
    assert "0.73" in repr(HAND)
    assert "0.0025" in repr(HAND)
    copy = pickle.loads(pickle.dumps(fr3_model))
    np.testing.assert_array_equal(copy.mass(READY), fr3_model.mass(READY))


# --- physical check -------------------------------------------------------------------------------------------------


def test_physical_check_of_the_shipped_sets(fr3_model, fer_model):
    """FR3 link 7 is feasible by 4e-7 only; the FER's identified set is no set of bodies (-2.75e-2)."""
    report = fr3_model.check_physical()
    assert report
    assert 0 < report.links[6].triangle < 1e-6
    report = fer_model.check_physical()
    assert not report
    worst = min(report.links, key=lambda link: link.smallest_eigenvalue)
    assert worst.name == "link2"
    assert worst.smallest_eigenvalue == pytest.approx(-2.75e-2, abs=5e-5)
    assert "negative moment of inertia" in repr(report)


def test_physical_check_names_the_link_and_the_reason(fr3_model):
    """U13: principal moments of the published FER link 4, whose largest exceeds the sum of the others."""
    phi = np.array(fr3_model.phi)
    phi[3] = [3.587895, 0, 0, 0, 0.00368, 0, 0.00796, 0, 0, 0.01274]
    phi[5, 0] = -1.0
    report = fr3_model.with_phi(phi).check_physical()
    assert [(link.name, link.reason) for link in report.violations] == [
        ("link4", "triangle inequality violated"),
        ("link6", "mass not positive"),
    ]
    assert report.links[3].triangle == pytest.approx(0.00368 + 0.00796 - 0.01274)


def test_a_point_mass_is_a_body(fr3_model):
    """Its pseudo-inertia has three zeros, which come out as -1e-17 in half of the cases."""
    centers = np.random.default_rng(5).uniform(-0.3, 0.3, (7, 3))
    points = np.array([[1.3, *(1.3 * c), *np.zeros(6)] for c in centers])
    tensors = 1.3 * np.array([c @ c * np.eye(3) - np.outer(c, c) for c in centers])
    points[:, 4:] = tensors[:, [0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    assert fr3_model.with_phi(points).check_physical()
    points[:, 4] -= 1e-9
    assert len(fr3_model.with_phi(points).check_physical().violations) == 7


def test_a_description_that_is_not_physical_loads(data):
    assert not Model.from_urdf(data / "fer_identified_reference.urdf").check_physical()
