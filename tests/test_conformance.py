"""The models against the reference values, their derivatives against central differences, and the tables' failures."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from franka_jax import Frame, conformance, fer, fr3, gradient_check, reference, throughput
from franka_jax.cli import report

jax.config.update("jax_enable_x64", True)
DATA = Path(__file__).parent / "data"
FRAMES = [frame.value for frame in Frame]
FRAME_QUANTITIES = ["pose", "body_jacobian", "zero_jacobian"]
DYNAMICS = ["mass", "coriolis", "coriolis_state", "gravity", "gravity_tilted"]
LIBRARY = ["mass", "coriolis", "gravity", "gravity_alt"]
LOADS = {
    "fr3": ["no_load", "hand_like", "hand_like_tilted_K"],
    "fer": ["no_load", "payload", "payload_K_rotz30", "payload_K_rotx30"],
    "fer_library": ["no_load", "payload"],
}
CASES = [
    *((name, q, load, f) for name in ("fr3", "fer") for q in FRAME_QUANTITIES for load in LOADS[name] for f in FRAMES),
    *((name, q, load, "") for name in ("fr3", "fer") for q in DYNAMICS for load in LOADS[name]),
    *(("fer_library", q, load, "") for q in LIBRARY for load in LOADS["fer_library"]),
]


@pytest.fixture(scope="session")
def rows():
    """Every comparison by (reference, quantity, load, frame); each model is compiled once."""
    table = {}
    for name in reference.NAMES:
        one = reference.load(name, DATA)
        for row in conformance.compare(one, conformance.compute(one)):
            table[row.reference, row.quantity, row.load, row.frame] = row
    return table


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(filter(None, case)))
def test_model_equals_reference(rows, case):
    row = rows[case]
    assert row.difference <= row.tolerance


def test_every_comparison_is_a_case(rows):
    assert sorted(rows) == sorted(CASES)


def test_tolerances_are_those_required():
    rigid = dict.fromkeys((*FRAME_QUANTITIES, "mass"), 1e-14) | dict.fromkeys(DYNAMICS[1:], 1e-12)
    library = {"mass": 1e-13, "coriolis": 1e-13, "gravity": 5e-14, "gravity_alt": 5e-14}
    assert {"fr3": rigid, "fer": rigid, "fer_library": library} == conformance.TOLERANCES


def test_references_are_whole():
    sizes = {name: reference.load(name, DATA).values["mass"].shape for name in reference.NAMES}
    assert sizes == {"fr3": (102, 3, 7, 7), "fer": (166, 4, 7, 7), "fer_library": (2, 2, 7, 7)}


@pytest.mark.parametrize(("rule", "index"), [("library", 0), ("rigid", 1)])
def test_non_affinity(rule, index):
    figure = conformance.non_affinity()[index]
    assert figure.name.startswith(rule)
    assert figure.ok


def library_sample():
    """The smallest reference, and values that equal it."""
    one = reference.load("fer_library", DATA)
    return one, {name: value.copy() for name, value in one.values.items()}


@pytest.mark.parametrize("error", [1e-11, np.nan])
def test_one_wrong_number_is_seen(error):
    one, values = library_sample()
    values["coriolis"][1, 1, 6] += error
    wrong = [row for row in conformance.compare(one, values) if not row.ok]
    assert [(row.quantity, row.load) for row in wrong] == [("coriolis", "payload")]
    assert not next(r for r in conformance.worst_frame(tuple(wrong))).ok


def test_worst_frame_keeps_the_largest_difference():
    one, values = library_sample()
    row = conformance.compare(one, values)[0]
    frames = tuple(replace(row, frame=frame, difference=d) for frame, d in (("a", 1.0), ("b", np.nan), ("c", 2.0)))
    assert [r.frame for r in conformance.worst_frame(frames)] == ["b"]
    assert [r.frame for r in conformance.worst_frame(frames[::2])] == ["c"]


def gradient_cases():
    payload = [d for d in gradient_check.DERIVATIVES if d.of == "payload"]
    for name, make, derivatives in (("fr3", fr3, gradient_check.DERIVATIVES), ("fer", fer, payload)):
        for derivative in derivatives:
            yield pytest.param(make, derivative, id=f"{name}-{derivative.name}")


@pytest.mark.parametrize(("make", "derivative"), list(gradient_cases()))
def test_derivatives(make, derivative):
    """At generic states, with no payload and at rest."""
    rows = list(gradient_check.check(make(), [derivative]))
    assert [row.states for row in rows] == list(derivative.batches)
    for row in rows:
        assert row.finite
        assert row.difference <= row.tolerance


def test_gradient_row_is_not_ok_unless_finite_and_close():
    good = gradient_check.GradientRow("d", "s", 1e-12, 1e-9, 1.0, True)
    assert good.ok
    assert not replace(good, difference=1e-8).ok
    assert not replace(good, finite=False).ok
    assert not replace(good, difference=np.nan).ok


def test_throughput_measures_the_five_calls():
    rows = list(throughput.measure(fr3(), batch=4, repeats=3))
    assert [row.call for row in rows] == ["pose", "zero_jacobian", "mass", "coriolis", "gravity"]
    assert all(row.batch == 4 and row.rate == 4 / row.seconds and row.seconds > 0 for row in rows)


def test_table_is_aligned():
    text = report.align(("name", "value"), [("a", "1.0"), ("longer", "12.5")])
    assert text == "name    value\na         1.0\nlonger   12.5"
