"""Payloads: the rigid rule, the FER library's rule, combination; pitfalls P2-P9."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from franka_jax import Frame, Model, Payload, fer
from franka_jax.urdf import read_arm

from .reference import READY

HAND = Payload(0.73, [0.01, 0, 0.03], np.diag([0.001, 0.0025, 0.0017]))
ZERO = np.zeros(7)


@pytest.fixture(scope="module")
def rigid_fer():
    return fer(payload_rule="rigid")


def sample_payload(samples: dict) -> Payload:
    load = samples["payload"]
    return Payload(load["m_total"], load["F_x_Ctotal"], load["I_total"])


@pytest.mark.parametrize("load", ["no_load", "payload"])
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    ("quantity", "tolerance"), [("mass", 1e-13), ("coriolis", 1e-13), ("gravity", 5e-14), ("gravity_alt", 5e-14)]
)
def test_fer_equals_its_own_library(fer_model, library_samples, load, index, quantity, tolerance):
    sample = library_samples["samples"][index]
    payload = sample_payload(library_samples) if load == "payload" else None
    q = sample["q"]
    value = {
        "mass": lambda: fer_model.mass(q, payload),
        "coriolis": lambda: fer_model.coriolis(q, sample["dq"], payload),
        "gravity": lambda: fer_model.gravity(q, payload),
        "gravity_alt": lambda: fer_model.gravity(q, payload, [0.1, -0.2, -9.7]),
    }[quantity]()
    assert np.abs(value - np.array(sample[load][quantity])).max() <= tolerance


def test_library_rule_is_not_affine_in_the_load_but_the_rigid_rule_is(fer_model, rigid_fer):
    """Pitfall P8, published figure 7e-4."""

    def defect(model, q):
        def added(m):
            return model.mass(q, Payload(m, np.zeros(3), np.zeros((3, 3)))) - model.mass(q)

        return float(jnp.abs(added(2.0) - 2 * added(1.0)).max())

    assert defect(fer_model, ZERO) == pytest.approx(7.117e-4, abs=5e-8)
    assert defect(fer_model, READY) == pytest.approx(7.048e-4, abs=5e-8)
    assert defect(rigid_fer, ZERO) <= 1e-13
    assert defect(rigid_fer, READY) <= 1e-13


def test_the_rules_agree_without_payload_and_in_gravity(fer_model, rigid_fer):
    np.testing.assert_array_equal(fer_model.mass(READY), rigid_fer.mass(READY))
    np.testing.assert_allclose(fer_model.mass(READY, Payload.none()), rigid_fer.mass(READY), atol=1e-15)
    np.testing.assert_allclose(fer_model.gravity(READY, HAND), rigid_fer.gravity(READY, HAND), atol=1e-13)
    assert np.abs(fer_model.mass(READY, HAND) - rigid_fer.mass(READY, HAND)).max() > 1e-4


def test_new_parameters_keep_the_library_rule(fer_model):
    """m7 and c7z stay, c7x and c7y follow the set's first moments."""
    model = fer_model.with_phi(fer_model.phi.at[6, 1].multiply(2.0))
    assert model.payload_rule == "library"
    assert float(model.m7) == float(fer_model.m7)
    np.testing.assert_array_equal(fer_model.with_phi(fer_model.phi).mass(READY, HAND), fer_model.mass(READY, HAND))


@pytest.mark.parametrize("rule", ["Library", "", 1])
def test_unknown_rule(rule):
    with pytest.raises(ValueError, match=r'payload_rule must be "rigid" or "library"'):
        fer(payload_rule=rule)


def test_the_library_rule_needs_a_mass(data):
    """Without one it would divide by zero: every loaded answer would be nan."""
    with pytest.raises(ValueError, match="m7 > 0"):
        Model.from_arm(read_arm(data / "fer_identified_reference.urdf"), "library")


def test_removing_the_payload_restores_the_arm(fr3_model):
    """P2: no hidden state, whatever was evaluated before."""
    before = fr3_model.mass(READY), fr3_model.gravity(READY)
    heavy = Payload(5.0, [0, 0, 0.5], np.zeros((3, 3)))
    assert fr3_model.mass(READY, heavy)[0, 0] != before[0][0, 0]
    assert fr3_model.gravity(READY, heavy)[3] != before[1][3]
    np.testing.assert_array_equal(fr3_model.mass(READY), before[0])
    np.testing.assert_array_equal(fr3_model.gravity(READY), before[1])
    np.testing.assert_allclose(fr3_model.mass(READY, Payload.none()), before[0], atol=1e-15)
    np.testing.assert_allclose(fr3_model.gravity(READY, Payload.none()), before[1], atol=1e-14)


def test_payload_is_added_as_a_body(fr3_model):
    """P3, P4: M(load) - M(0) = m Jv^T Jv + Jw^T R I R^T Jw at the load's centre of mass, flange axes."""
    I = np.array([[0.004, 0.0005, -0.0002], [0.0005, 0.006, 0.0003], [-0.0002, 0.0003, 0.005]])
    c = np.array([0.02, -0.05, 0.11])
    at_center = np.eye(4)
    at_center[:3, 3] = c
    J = fr3_model.zero_jacobian(Frame.END_EFFECTOR, READY, F_T_EE=at_center)
    R = fr3_model.pose("flange", READY)[:3, :3]
    expected = 1.0 * J[:3].T @ J[:3] + J[3:].T @ R @ I @ R.T @ J[3:]
    added = fr3_model.mass(READY, Payload(1.0, c, I)) - fr3_model.mass(READY)
    assert np.abs(added - expected).max() <= 1e-12
    gravity = fr3_model.gravity(READY, Payload(1.0, c, I)) - fr3_model.gravity(READY)
    assert np.abs(gravity - J[:3].T @ np.array([0, 0, 9.81])).max() <= 1e-12


def test_vendor_values(fr3_model):
    """Values of the vendor's own tests, given to six digits."""
    bare = [0, -3.52387, 0, -3.44254, 0, 1.63362, 0]
    np.testing.assert_allclose(fr3_model.gravity(ZERO), bare, atol=1e-5)
    np.testing.assert_allclose(fr3_model.gravity(ZERO, gravity_earth=(0, 0, 9.81)), -np.array(bare), atol=1e-5)
    np.testing.assert_allclose(fr3_model.gravity(ZERO, HAND), [0, -4.22568, 0, -3.33154, 0, 2.33543, 0], atol=1e-5)
    np.testing.assert_allclose(
        fr3_model.coriolis(ZERO, np.ones(7), HAND),
        [0.25211, -1.97502, 0.254311, 0.987115, 0.122285, -0.256464, -0.000634562],
        atol=1e-5,
    )
    row = [-0.0414226, 2.73892, -0.0437247, -1.15444, -0.0372567, 0.0137625, -0.00396178]
    np.testing.assert_allclose(fr3_model.mass(ZERO)[1], row, atol=1e-5)
    assert float(fr3_model.mass(ZERO, HAND)[1, 1]) == pytest.approx(2.97982, abs=1e-5)
    held = [0, -1.70904, -0.639461, 18.958219, 0.7919, 1.587943, 0]
    np.testing.assert_allclose(fr3_model.gravity(READY), held, atol=1e-5)


def test_massless_inertia_counts(fr3_model):
    """P6: libfranka adds I_total even where m_total is 0."""
    spin = Payload(0.0, np.zeros(3), 0.1 * np.eye(3))
    added = jnp.diag(fr3_model.mass(READY, spin) - fr3_model.mass(READY))
    np.testing.assert_allclose(added, 0.1, atol=1e-15)


def test_vendor_combination():
    """The vendor's own example of an end effector with a load (reference implementation's numbers)."""
    hand = Payload(0.73, [-0.01, 0, -0.03], np.diag([0.001, 0.0025, 0.0017]))
    load = Payload(0.5, [0.01, -0.2, 0.03], np.diag([0.001, 0.025, 0.3]))
    for total in (hand.combine(load), load.combine(hand)):
        assert float(total.m_total) == pytest.approx(1.23, abs=1e-15)
        center = [-0.00186991869918699, -0.0813008130081301, -0.00560975609756098]
        np.testing.assert_allclose(total.F_x_Ctotal, center, atol=1e-15)
        tensor = [0.0149382113821138, 0.0011869918699187, -0.00035609756097561]
        tensor += [0.0011869918699187, 0.0286869918699187, 0.0035609756097561]
        tensor += [-0.00035609756097561, 0.0035609756097561, 0.313688617886179]
        np.testing.assert_allclose(np.ravel(total.I_total), tensor, atol=1e-14)


def test_combination_is_adding_both_bodies(fr3_model):
    other = Payload(0.4, [-0.1, 0.02, 0.2], np.diag([0.002, 0.003, 0.004]))
    added = fr3_model.mass(READY, HAND) + fr3_model.mass(READY, other) - fr3_model.mass(READY)
    np.testing.assert_allclose(fr3_model.mass(READY, HAND.combine(other)), added, atol=1e-14)


def test_combination_with_nothing():
    """As in libfranka: the tensor of a massless part is dropped, nothing plus nothing is nothing."""
    ghost = Payload(0.0, [1, 1, 1], np.eye(3))
    for total in (HAND.combine(ghost), HAND.combine(Payload.none())):
        for name in ("m_total", "F_x_Ctotal", "I_total"):
            np.testing.assert_allclose(getattr(total, name), getattr(HAND, name), atol=1e-16)
    empty = ghost.combine(Payload.none())
    assert all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(empty))
    gradients = jax.grad(lambda p: p.combine(Payload.none()).I_total.sum())(Payload.none())
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))


@pytest.mark.parametrize("model_name", ["fr3_model", "fer_model"])
def test_gradients_at_zero_payload_are_finite(model_name, request):
    model = request.getfixturevalue(model_name)

    @jax.jit
    @jax.grad
    def gradient(payload: Payload):
        return model.mass(READY, payload).sum() + model.coriolis(READY, 0 * READY, payload).sum()

    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient(Payload.none())))
    slope = jax.grad(lambda m: model.gravity(READY, Payload(m, np.zeros(3), np.zeros((3, 3))))[3])(0.0)
    step = model.gravity(READY, Payload(1.0, np.zeros(3), np.zeros((3, 3))))[3] - model.gravity(READY)[3]
    assert float(slope) == pytest.approx(float(step), abs=1e-12)


def test_column_major_tensor():
    flat = np.arange(9.0)
    np.testing.assert_array_equal(Payload(1, np.zeros(3), flat).I_total, flat.reshape(3, 3).T)


@pytest.mark.parametrize("other", [1.0, (1.0, [0, 0, 0], np.zeros(9)), "hand", {"m_total": 1.0}], ids=type)
def test_what_is_no_payload_is_refused(fr3_model, other):
    with pytest.raises(TypeError, match="payload must be a Payload"):
        fr3_model.mass(READY, other)
    with pytest.raises(TypeError, match="payload must be a Payload"):
        HAND.combine(other)


def test_a_batch_of_payloads_needs_vmap(fr3_model):
    batch = jax.vmap(lambda m: Payload(m, np.array([0, 0, 0.1]), np.zeros((3, 3))))(jnp.array([0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match=r"a batch of shape \(3,\).*use jax\.vmap"):
        fr3_model.gravity(READY, batch)
    held = jax.vmap(fr3_model.gravity, in_axes=(None, 0))(READY, batch)
    one = fr3_model.gravity(READY, Payload(2.0, [0, 0, 0.1], np.zeros((3, 3))))
    np.testing.assert_allclose(held[2], one, atol=1e-13)


def test_lists_may_hold_traced_numbers(fr3_model):
    def held(z):
        return fr3_model.gravity(READY, Payload(2.0, [0, 0, z], [[z, 0, 0], [0, z, 0], [0, 0, z]]))[3]

    slope = (held(0.2) - held(0.1)) / 0.1
    assert float(jax.jit(jax.grad(held))(0.1)) == pytest.approx(float(slope), abs=1e-11)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.0, [0, 0, 0], np.zeros(8)), ValueError, "flat 9 column-major"),
        ((1.0, [0, 0], np.zeros(9)), ValueError, r"F_x_Ctotal has shape \(2,\)"),
        (([1.0], [0, 0, 0], np.zeros(9)), ValueError, r"m_total has shape \(1,\)"),
        (("heavy", [0, 0, 0], np.zeros(9)), TypeError, "m_total must be real numbers"),
        ((1.0, [0, 0, 1j], np.zeros(9)), TypeError, "F_x_Ctotal must be real numbers"),
        ((None, [0, 0, 0], np.zeros(9)), TypeError, "m_total must be real numbers"),
        ((1.0, [0, 0, 0], [[1], [2, 3]]), TypeError, "I_total must be an array"),
    ],
)
def test_bad_shapes_and_types(arguments, error, message):
    with pytest.raises(error, match=message):
        Payload(*arguments)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (Payload(-1.0, np.zeros(3), np.zeros((3, 3))), "must not be negative"),
        (Payload(np.nan, np.zeros(3), np.zeros((3, 3))), "not finite"),
        (Payload(1.0, [0, np.inf, 0], np.zeros((3, 3))), "not finite"),
        (Payload(1.0, np.zeros(3), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    ],
    ids=["negative", "nan", "inf", "asymmetric"],
)
def test_nonsense_is_judged_on_request(payload, message):
    """P9: traced values pass through, `check` judges concrete ones."""
    with pytest.raises(ValueError, match=message):
        payload.check()
    assert HAND.check() is HAND
