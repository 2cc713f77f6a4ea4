"""The compiled model against the model and the reference values; its loop allocates and traces nothing."""

import os
import subprocess
import sys
import tracemalloc
from typing import Any

import jax
import numpy as np
import pytest

from franka_jax import Frame, Payload, compile_model, fer, fr3
from franka_jax.aot import compile as aot_compile
from franka_jax.calls import ARGUMENTS, NEEDS_FRAME, Quantities

from ..reference import READY, ROOT

FLANGE_TO_EE = np.array([[0.0, -1, 0, 0.01], [1, 0, 0, -0.02], [0, 0, 1, 0.1], [0, 0, 0, 1]])
EE_TO_K = np.eye(4) + np.array([[0, 0, 0, 0.03]] * 3 + [[0] * 4])
HAND = Payload(0.73, [0.01, 0, 0.03], np.diag([0.001, 0.0025, 0.0017]))
GRAVITY = (0.3, -0.2, -9.7)
RNG = np.random.default_rng(3)
STATES = {name: RNG.uniform(-1.5, 1.5, (6, 7)) for name in ("q", "dq", "ddq", "tau")}
OPTIONS = {"payload": HAND, "F_T_EE": FLANGE_TO_EE, "EE_T_K": EE_TO_K, "gravity_earth": GRAVITY}
NAMES = [name for name in ARGUMENTS if name != "evaluate"]
FRAMES = [Frame.JOINT4, Frame.STIFFNESS]


@pytest.fixture(scope="module")
def models():
    return {"fr3": fr3(), "fer": fer(), "rigid_fer": fer(payload_rule="rigid")}


@pytest.fixture(scope="module")
def compiled(models):
    return {name: compile_model(model) for name, model in models.items()}


@pytest.fixture
def fast(compiled):
    return compiled["fr3"]


def arguments(name, index: Any = slice(None), options=OPTIONS) -> dict[str, Any]:
    values = {key: value[index] for key, value in STATES.items()} | dict(options)
    return {key: values[key] for key in ARGUMENTS[name] if key in values}


def close(found, expected, tolerance=1e-13):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == np.float64
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * np.abs(expected).max(initial=0.0)


# the calls of the model ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["plain", "all_options"])
@pytest.mark.parametrize("name", NAMES)
def test_call_equals_the_model(name, options, models, fast):
    for frame in FRAMES if name in NEEDS_FRAME else [None]:
        given = () if frame is None else (frame,)
        values = arguments(name, 0, options)
        close(getattr(fast, name)(*given, **values), getattr(models["fr3"], name)(*given, **values))


@pytest.mark.parametrize("name", NAMES)
def test_leading_axes_equal_a_loop(name, fast):
    given = (Frame.STIFFNESS,) if name in NEEDS_FRAME else ()
    call = getattr(fast, name)
    expected = np.stack([call(*given, **arguments(name, i)) for i in range(6)])
    close(call(*given, **arguments(name)), expected, 1e-15)
    shaped = {k: v.reshape(2, 3, 7) if k in STATES else v for k, v in arguments(name).items()}
    close(call(*given, **shaped), expected.reshape(2, 3, *expected.shape[1:]), 1e-15)


@pytest.mark.parametrize("robot", ["fr3", "rigid_fer"])
def test_evaluate_equals_the_reference(robot, compiled, request):
    """Vendor numbers for every configuration and load; largest absolute differences, as for the model itself."""
    reference = request.getfixturevalue({"rigid_fer": "fer_reference"}.get(robot, f"{robot}_reference"))
    frame = list(reference["frame_names"]).index("end_effector")
    for load in range(len(reference["load_names"])):
        payload = Payload(*(reference[key][load] for key in ("m_total", "F_x_Ctotal", "I_total")))
        transforms = reference["F_T_EE"][load], reference["EE_T_K"][load]
        found = compiled[robot].evaluate(reference["q"], reference["dq"], payload, *transforms)
        assert np.abs(found.O_T_EE - reference["pose"][:, load, frame]).max() <= 1e-14
        assert np.abs(found.zero_jacobian - reference["zero_jacobian"][:, load, frame]).max() <= 1e-14
        assert np.abs(found.mass - reference["mass"][:, load]).max() <= 1e-14
        assert np.abs(found.coriolis - reference["coriolis"][:, load]).max() <= 1e-12
        assert np.abs(found.gravity - reference["gravity"][:, load]).max() <= 1e-12


@pytest.mark.parametrize("load", ["no_load", "payload"])
def test_fer_equals_its_own_library(compiled, library_samples, load):
    body = library_samples["payload"]
    payload = Payload(body["m_total"], body["F_x_Ctotal"], body["I_total"]) if load == "payload" else None
    for sample in library_samples["samples"]:
        found = compiled["fer"].evaluate(np.array(sample["q"]), np.array(sample["dq"]), payload)
        for name, tolerance in (("mass", 1e-13), ("coriolis", 1e-13), ("gravity", 5e-14)):
            assert np.abs(getattr(found, name) - np.array(sample[load][name])).max() <= tolerance


@pytest.mark.parametrize("robot", ["fr3", "fer"])
@pytest.mark.parametrize("options", [{}, OPTIONS], ids=["plain", "all_options"])
def test_evaluate_equals_jit(robot, options, models, compiled):
    model = models[robot]
    values = arguments("evaluate", 1, options)
    q, dq, payload, gravity = (
        values["q"],
        values["dq"],
        values.get("payload"),
        values.get("gravity_earth", (0, 0, -9.81)),
    )
    transforms = values.get("F_T_EE"), values.get("EE_T_K")
    expected = (
        model.pose("end_effector", q, *transforms),
        model.zero_jacobian("end_effector", q, *transforms),
        model.mass(q, payload),
        model.coriolis(q, dq, payload),
        model.gravity(q, payload, gravity),
    )
    for f, e in zip(compiled[robot].evaluate(**values), expected, strict=True):
        close(f, e)


def test_columns_of_16_are_transforms(fast):
    flat = FLANGE_TO_EE.ravel(order="F")
    close(fast.pose("end_effector", READY, flat), fast.pose("end_effector", READY, FLANGE_TO_EE), 0)
    close(fast.evaluate(READY, READY, F_T_EE=flat).O_T_EE, fast.pose("end_effector", READY, FLANGE_TO_EE), 1e-15)


def test_options_per_state(fast):
    payloads = jax.tree.map(lambda x: np.stack([x, 0 * x, 2 * x]), HAND)
    transforms = np.stack([np.eye(4), FLANGE_TO_EE, EE_TO_K])
    found = fast.evaluate(STATES["q"][:3], STATES["dq"][0], payloads, transforms)
    for i, (payload, transform) in enumerate(
        zip([HAND, None, jax.tree.map(lambda x: 2 * x, HAND)], transforms, strict=True)
    ):
        for f, e in zip(found, fast.evaluate(STATES["q"][i], STATES["dq"][0], payload, transform), strict=True):
            close(f[i], e, 1e-15)


# evaluate -----------------------------------------------------------------------------------------------------------


def same(found, expected):
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(f, e)


def test_fresh_results_are_writable_and_independent(fast):
    first, second = fast.evaluate(READY, READY), fast.evaluate(READY, READY)
    for array in first:
        array[...] = 7.0
    same(second, fast.evaluate(READY, READY))


def test_no_hidden_state(fast):
    """Options of one call do not reach the next one, with or without `out`."""
    plain = fast.evaluate(READY, READY)
    out = fast.evaluate(READY, READY)
    for key, value in OPTIONS.items():
        fast.evaluate(READY, READY, **{key: value})
        same(fast.evaluate(READY, READY), plain)
        same(fast.evaluate(READY, READY, **{key: value}, out=out), fast.evaluate(READY, READY, **{key: value}))
        same(fast.evaluate(READY, READY, out=out), plain)


def test_a_payload_changed_in_place_counts(fast):
    payload = Payload(1.0, [0.0, 0, 0], np.zeros((3, 3)))
    out = fast.evaluate(READY, READY, payload)
    payload.F_x_Ctotal[0] = 0.1
    same(
        fast.evaluate(READY, READY, payload, out=out),
        fast.evaluate(READY, READY, Payload(1.0, [0.1, 0, 0], np.zeros((3, 3)))),
    )


def test_out_of_another_model_is_not_confused(compiled):
    out = compiled["fr3"].evaluate(READY, READY)
    compiled["fr3"].evaluate(READY, READY, out=out)
    same(compiled["fer"].evaluate(READY, READY, out=out), compiled["fer"].evaluate(READY, READY))
    same(compiled["fr3"].evaluate(READY, READY, out=out), compiled["fr3"].evaluate(READY, READY))


@pytest.mark.parametrize("convert", [list, np.float32, np.asfortranarray, lambda x: np.repeat(x, 2)[::2]])
def test_out_takes_any_configuration(fast, convert):
    q, dq = convert(READY), convert(STATES["dq"][0])
    out = fast.evaluate(READY, READY)
    kept = out.mass
    assert fast.evaluate(q, dq, out=out) is out
    assert out.mass is kept
    same(out, fast.evaluate(np.array(q, float), np.array(dq, float)))


@pytest.mark.parametrize("threads", [1, 2])
def test_out_for_many_states(fast, threads):
    Q = RNG.uniform(-1, 1, (1001, 7))
    out = fast.evaluate(Q, Q)
    expected = [x.copy() for x in fast.evaluate(Q[::-1], Q)]
    assert fast.evaluate(Q[::-1], Q, out=out, threads=threads) is out
    same(out, expected)


@pytest.mark.parametrize("shape", [(0, 7), (1, 7), (2, 3, 7)])
def test_shapes_of_batches(fast, shape):
    found = fast.evaluate(np.zeros(shape), np.zeros(shape))
    assert [x.shape for x in found] == [(*shape[:-1], *s) for s in ((4, 4), (6, 7), (7, 7), (7,), (7,))]


def test_a_million_states_in_bounded_memory(fast):
    Q = np.broadcast_to(READY, (1_000_000, 7))
    tracemalloc.start()
    total = sum(float(part.gravity[:, 1].sum()) for _, part in fast.evaluate_chunks(Q, Q, size=8192))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == pytest.approx(1e6 * fast.gravity(READY)[1])
    assert peak < 40e6  # all results would be 968 MB


def test_the_loop_neither_traces_compiles_nor_allocates(fast, monkeypatch):
    out = fast.evaluate(READY, READY)
    fast.evaluate(READY, READY, HAND, out=out)
    for name in ("trace", "scalarize", "emit"):
        monkeypatch.setattr(aot_compile, name, None)
    q = READY.copy()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        fast.evaluate(q, q, out=out)
    assert tracemalloc.get_traced_memory()[0] - before < 2000
    tracemalloc.stop()


def test_not_finite_in_not_finite_out(fast):
    q = READY.copy()
    q[3] = np.nan
    found = fast.evaluate(q, READY)
    assert np.isnan(found.O_T_EE).any()
    assert np.isnan(found.mass).any()
    assert np.isnan(found.coriolis).any()
    assert np.isnan(found.gravity).any()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: f.mass(np.zeros(6)), ValueError, "q has shape (6,), it must be (7,), or (N, ...)"),
        (lambda f: f.mass(np.zeros((7, 1))), ValueError, "q has shape (7, 1)"),
        (lambda f: f.mass("ready"), TypeError, "q must be real numbers"),
        (lambda f: f.mass(READY + 1j), TypeError, "not complex128"),
        (lambda f: f.mass(READY, 0.5), TypeError, "payload must be a Payload or None, not float"),
        (lambda f: f.pose("tool", READY), ValueError, "The frames are joint1"),
        (
            lambda f: f.pose("flange", READY, np.eye(3)),
            ValueError,
            "F_T_EE has shape (3, 3), it must be (4, 4) or flat 16",
        ),
        (lambda f: f.evaluate(np.zeros((3, 7)), np.zeros((2, 7))), ValueError, "different leading axes: [(2,), (3,)]"),
        (lambda f: f.evaluate(READY, None), TypeError, "dq must be real numbers"),
        (
            lambda f: f.evaluate(np.zeros((3, 7)), READY, out=f.evaluate(READY, READY)),
            ValueError,
            "out has an array of shape",
        ),
        (lambda f: f.kernel("masses"), ValueError, "there is no call 'masses'"),
        (lambda f: f.kernel("pose"), ValueError, "takes a frame"),
    ],
)
def test_errors_name_the_argument(fast, call, error, words):
    with pytest.raises(error) as raised:
        call(fast)
    assert words in str(raised.value)


# compiling ----------------------------------------------------------------------------------------------------------


def test_kernels_come_from_the_cache_by_the_models_numbers(models, compiled, monkeypatch):
    monkeypatch.setattr(aot_compile, "trace", None)
    again = compile_model(models["fr3"])
    same(again.evaluate(READY, READY), compiled["fr3"].evaluate(READY, READY))
    changed = models["fr3"].with_phi(models["fr3"].phi.at[6, 0].add(1e-6))
    with pytest.raises(TypeError):  # another model is another kernel: it is traced
        compile_model(changed)


def test_every_frame_can_be_prepared(fast):
    fast.prepare("pose:flange", "mass")
    assert "pose:flange" in repr(fast)


def test_kernels_are_saved_for_other_programs(fast, tmp_path):
    fast.kernel("evaluate").save(tmp_path / "arm.kernel")
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import numpy as np; from franka_rt.kernel import load\n"
        f"kernel = load({str(tmp_path / 'arm.kernel')!r})\n"
        f"q = np.array({READY.tolist()})\n"
        "payload = {'m_total': 0.0, 'F_x_Ctotal': np.zeros(3), 'I_total': np.zeros((3, 3))}\n"
        "result = kernel(q, q, payload, np.eye(4), np.eye(4), np.array([0, 0, -9.81]))\n"
        "print(result.gravity.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(eval(done.stdout), fast.evaluate(READY, READY).gravity)


def test_works_while_the_process_is_in_32_bit_mode():
    code = (
        "import jax, numpy as np\n"
        "from franka_jax import compile_model, fr3\n"
        "with jax.enable_x64(True): model = fr3()\n"
        "print(compile_model(model).gravity(np.zeros(7)).tolist(), jax.config.jax_enable_x64)\n"
    )
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    start = [sys.executable, "-c", code]
    done = subprocess.run(start, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("False\n")
    np.testing.assert_allclose(eval(done.stdout[: -len(" False\n")]), fr3().gravity(np.zeros(7)), atol=1e-13)


def test_xla_backend_gives_the_same(models, fast, monkeypatch):
    monkeypatch.setattr(aot_compile, "find_compiler", lambda cpu: None)
    with pytest.warns(UserWarning, match="no C compiler"):
        slow = compile_model(models["fr3"])
    assert slow.backend == "xla"
    out = slow.evaluate(READY, READY)
    for values in (arguments("evaluate", 1), arguments("evaluate", 2, {})):
        for f, e in zip(slow.evaluate(**values, out=out), fast.evaluate(**values), strict=True):
            close(f, e)
    for f, e in zip(slow.evaluate(STATES["q"], STATES["dq"]), fast.evaluate(STATES["q"], STATES["dq"]), strict=True):
        close(f, e)


def test_derivatives_through_the_kernel(models, fast):
    kernel = fast.kernel("gravity").jax
    gravity = np.array([0, 0, -9.81])

    def torque(q):
        return kernel(q, Payload.none(), gravity)

    close(np.asarray(jax.jit(jax.jacfwd(torque))(READY)), jax.jit(jax.jacfwd(models["fr3"].gravity))(READY))


def test_names_of_the_five():
    assert Quantities._fields == ("O_T_EE", "zero_jacobian", "mass", "coriolis", "gravity")
