"""`python -m identification`: the package's data regenerated, the report, and what bad input does."""

import contextlib
import dataclasses
import io
import json
import re
from importlib.resources import files

import numpy as np
import pytest

from franka_jax import fer, urdf
from identification import dataset, default_dataset, identify, output, report
from identification.__main__ import main

from .identification_setup import REFERENCE_URDF, identification, reference_dataset


def _package(name: str) -> str:
    return files("franka_jax.robots").joinpath(name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder that `fer --out --report` wrote, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("written"), io.StringIO()
    files_to_write = ["--out", str(folder / "fer.urdf"), "--report", str(folder / "report")]
    with contextlib.redirect_stdout(printed):
        assert main(["fer", *files_to_write, "--quiet", "--compare", str(REFERENCE_URDF)]) == 0
    return folder, printed.getvalue()


@pytest.fixture(scope="module")
def written(run):
    return run[0]


def test_command_regenerates_the_package_data(written):
    assert sorted(path.name for path in written.iterdir()) == ["fer.json", "fer.urdf", "report"]
    made, shipped = urdf.read_arm(written / "fer.urdf"), urdf.read_arm(_package("fer.urdf"))
    np.testing.assert_allclose(made.phi, shipped.phi, rtol=0, atol=1e-12)
    assert made.description == shipped.description
    made, shipped = json.loads((written / "fer.json").read_text()), json.loads(_package("fer.json"))
    assert made["m7"] == pytest.approx(shipped["m7"], abs=1e-11)
    assert made["c7z"] == pytest.approx(shipped["c7z"], abs=1e-11)
    assert made["dataset"] == shipped["dataset"]
    assert made["command"] == shipped["command"] == "python -m identification fer"
    np.testing.assert_array_equal(shipped["phi"], np.asarray(fer().phi))


def test_physical_twin_of_the_package_is_regenerated(tmp_path):
    contents = output.outputs(identification(), tmp_path / "twin.urdf", True, output.base_urdf())
    made, shipped = urdf.read_arm(contents[tmp_path / "twin.urdf"]), urdf.read_arm(_package("fer_physical.urdf"))
    np.testing.assert_allclose(made.phi, shipped.phi, rtol=0, atol=1e-6)
    numbers = json.loads(_package("fer_physical.json"))
    assert numbers["physical_twin"]["torque_error"] == pytest.approx(identification().twin.error.relative, rel=1e-6)
    assert numbers["payload_rule"] == "rigid"
    np.testing.assert_array_equal(numbers["phi"], np.asarray(fer(physical=True).phi))


def test_report_has_its_figures(written):
    text = (written / "report" / "report.md").read_text()
    for name in report.CAPTIONS:
        assert f"({name}.png)" in text
        assert (written / "report" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert text.count("| `") == 45
    assert "m1 c1y + m2 c2z" in text
    assert "library rule" in text


def test_summary_says_what_was_found(run):
    text = run[1]
    assert "45 of 70" in text
    assert "best of all exact fits -7.767" in text
    assert "torque error 0.247 %" in text
    difference = re.search(r"the seventy parameters differ by at most (\S+)", text)
    assert difference is not None
    assert float(difference[1]) <= 1e-12


def test_inertials_of_another_description_are_replaced(tmp_path):
    """Meshes and names of a given URDF stay; a description that is no arm is refused."""
    text = _package("fer.urdf").replace('<link name="link1">', '<link name="link1"><visual name="shell" />')
    contents = output.outputs(identification(), tmp_path / "x.urdf", False, text)
    made = contents[tmp_path / "x.urdf"].decode()
    assert '<visual name="shell" />' in made
    np.testing.assert_array_equal(urdf.read_arm(made).phi, identification().phi)


def _save(folder, **changes):
    arrays = {name: value.copy() for name, value in reference_dataset().select(np.arange(6)).arrays.items()}
    np.savez(folder / "bad.npz", allow_pickle=False, **(arrays | changes))


BAD = {
    "row": (lambda f: _save(f, gravity=np.full((6, 2, 7), np.nan)), [], "gravity is not finite in rows 0, 1"),
    "absent": (lambda f: None, [], "cannot be read"),
    "loaded only": (lambda f: _save(f, m_total=np.ones(6)), [], "every row carries a payload"),
    "suffix": (lambda f: _save(f), ["--out", "{}/out.xml"], "the file to write ends in .urdf"),
    "urdf": (lambda f: _save(f), ["--urdf", "{}/bad.npz"], "not readable XML"),
    "two sources": (lambda f: _save(f), ["--library", "{}/x.so"], "two sources"),
}


@pytest.mark.parametrize(("prepare", "extra", "message"), BAD.values(), ids=BAD)
def test_bad_input_gives_one_line_and_writes_nothing(tmp_path, capsys, prepare, extra, message):
    prepare(tmp_path)
    out = tmp_path / "fer.urdf"
    out.write_text("keep me")
    before = sorted(tmp_path.iterdir())
    arguments = ["fer", "--data", str(tmp_path / "bad.npz"), "--quiet", "--out", str(out)]
    assert main([*arguments, *(text.format(tmp_path) for text in extra)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert sorted(tmp_path.iterdir()) == before
    assert out.read_text() == "keep me"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["fer", "--solver", "x"], "invalid choice: 'x'"),
        (["sample", "--out", "x.npz", "--payload", "1", "2"], "--payload: expected 7 arguments"),
    ],
    ids=["nothing", "command", "solver", "payload"],
)
def test_nonsense_gives_one_line(capsys, arguments, message):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize(("mass", "message"), [("nan", "not finite"), ("-1", "must not be negative")])
def test_a_payload_that_is_none_is_refused_before_any_work(tmp_path, capsys, mass, message):
    assert main(["sample", "--out", str(tmp_path / "x.npz"), "--payload", mass, *"000000"]) == 1
    assert re.fullmatch(f"error: --payload: .*{message}.*\n", capsys.readouterr().err)


def test_negative_numbers_may_have_an_exponent(tmp_path, capsys):
    payload = ["1", "-1e-3", "0", "-5.0e-2", "1e-3", "1e-3", "1e-3"]
    out = tmp_path / "absent" / "data.xyz"
    assert main(["sample", "--out", str(out), "--payload", *payload]) == 1  # it came to the name of the file
    assert "ends in .npz or .json" in capsys.readouterr().err


def test_sample_of_another_arm(tmp_path, capsys):
    out = tmp_path / "fr3.json"
    assert main(["sample", "--backend", "fr3", "--out", str(out), "--quiet"]) == 0
    assert "208 rows" in capsys.readouterr().out
    assert len(dataset.read(out)) == 208


def test_failed_write_leaves_nothing(tmp_path):
    """The second of two files cannot be written: the first is not there either."""
    from identification.files import write_all

    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        write_all({tmp_path / "first": b"1", tmp_path / "file" / "second": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_all({tmp_path / "first": b"1", tmp_path / "folder": b"2"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_repr_says_what_it_is():
    found = identification()
    assert repr(default_dataset()) == ("Dataset(170 rows, 2 with payload, 2 gravity vectors a row, with Coriolis)")
    assert repr(found.fit).startswith("LibraryFit(rank 45, 168 configurations, worst residuals: mass ")
    assert repr(found.payload).startswith("PayloadFit(m7 = 0.5362215936")
    assert repr(found.reachable).startswith("Reachable(eigenvalue -7.767")
    assert repr(found.twin) == "Twin(0.247 % torque error, 16.000 kg)"
    assert repr(found.twin.error) == "TorqueError(0.247 % over 500 random states, seed 20260905)"


def test_upright_few_and_inexact_data_are_called_so():
    """Four configurations of an upright arm with noise: less is identified, and the summary says what is lacking."""
    data = reference_dataset().select(np.arange(20, 24))
    noise = 1e-3 * np.random.default_rng(3).normal(size=(4, 1, 7))
    upright = dataclasses.replace(
        data, gravity=data.gravity[:, :1] + noise, gravity_vectors=data.gravity_vectors[:, :1], dq=None, coriolis=None
    )
    found = identify(upright)
    assert found.fit.rank == 43
    assert found.heldout == {}
    assert found.payload is None
    assert float(found.model.m7) == float(fer().m7)
    text = found.summary()
    assert "45 need gravity off the vertical" in text
    assert "NOT EXACT" in text
    assert found.reachable.gap <= 1e-6
    assert found.twin.eigenvalues.min() >= 1e-6
    assert "no rows with a payload" in report.markdown(found)
