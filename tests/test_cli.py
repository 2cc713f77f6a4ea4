"""`python -m franka_jax` in process: what it writes, and that bad input gives one line and leaves nothing behind."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
import pytest

from franka_jax import Model, Payload, fer, fr3
from franka_jax.__main__ import main
from franka_jax.cli import progress as progress_module
from franka_jax.cli.output import replacing
from franka_jax.evaluate import CHUNK

DATA = Path(__file__).parent / "data"
Q = [0.1, -0.7, 0.2, -2.1, 0.3, 1.6, 0.8]
DQ = [0.5, -0.4, 0.3, -0.2, 0.1, 0.2, -0.3]
PAYLOAD = [1.23, -0.002, 0.008, 0.03, 0.0031, 0.0046, 0.0049, 1e-4, -2e-4, 3e-4]
BODY = Payload(1.23, PAYLOAD[1:4], [[0.0031, 1e-4, -2e-4], [1e-4, 0.0046, 3e-4], [-2e-4, 3e-4, 0.0049]])
HEADER = ",".join([f"q{i}" for i in range(1, 8)] + [f"dq{i}" for i in range(1, 8)])


def words(numbers) -> list[str]:
    return [repr(float(x)) for x in numbers]


def line(*numbers) -> str:
    return ",".join(words([*numbers]))


@pytest.fixture
def run(capfd, monkeypatch):
    """Run the command in process: exit status, standard output, standard error (without progress)."""
    monkeypatch.setattr(progress_module, "DELAY", 1e9)

    def call(*arguments) -> tuple[int, str, str]:
        status = main([str(word) for word in arguments])
        return status, *capfd.readouterr()

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Run with input that must be refused: the one line said about it. Files are as they were."""

    def listing():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def call(*arguments) -> str:
        before = listing()
        status, out, err = run(*arguments)
        assert status == 2
        assert out == ""
        assert err.startswith("franka_jax: ")
        assert err.count("\n") == 1, err
        assert listing() == before
        return err

    return call


def test_one_state_as_json(run):
    status, out, err = run(
        "evaluate", "--robot", "fr3", "--q", *words(Q), "--dq", *words(DQ), "--payload", *words(PAYLOAD)
    )
    assert (status, err) == (0, "")
    answer = json.loads(out)
    model = fr3()
    assert [answer[name] for name in ("robot", "payload_rule", "frame")] == ["fr3", "rigid", "end_effector"]
    expected = {
        "q": Q,
        "dq": DQ,
        "pose": model.pose("end_effector", Q),
        "body_jacobian": model.body_jacobian("end_effector", Q),
        "zero_jacobian": model.zero_jacobian("end_effector", Q),
        "mass": model.mass(Q, BODY),
        "coriolis": model.coriolis(Q, DQ, BODY),
        "gravity": model.gravity(Q, BODY),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(answer[name], np.asarray(value)[None], rtol=0, atol=1e-13, err_msg=name)


def test_transforms_gravity_and_frame(run):
    T = np.array([[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1.0]])
    flat, g = words(T.T.ravel()), words([2.9, -4.1, -8.4])
    given = ("--F_T_EE", *flat, "--EE_T_K", *flat, "--gravity_earth", *g, "--frame", "stiffness")
    answer = json.loads(run("evaluate", "--robot", "fer", "--q", *words(Q), *given)[1])
    np.testing.assert_allclose(answer["pose"][0], fer().pose("stiffness", Q, T, T), rtol=0, atol=1e-14)
    np.testing.assert_allclose(answer["gravity"][0], fer().gravity(Q, None, [2.9, -4.1, -8.4]), rtol=0, atol=1e-13)
    assert np.all(answer["coriolis"][0] == np.zeros(7))


def test_csv_to_npz_agrees_with_the_reference(run, tmp_path):
    """A payload in every second row, columns in another order, comments, a byte-order mark, a column not used."""
    with np.load(DATA / "fr3_libfranka_0_21.npz") as file:
        q, dq, mass, coriolis, I = (file[k] for k in ("q", "dq", "mass", "coriolis", "I_total"))
        body = np.array([file["m_total"][1], *file["F_x_Ctotal"][1], *I[1][[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])
    load = np.arange(len(q)) % 2
    header = "time,dq1,dq2,dq3,dq4,dq5,dq6,dq7,q1,q2,q3,q4,q5,q6,q7,m,cx,cy,cz,ixx,iyy,izz,ixy,ixz,iyz"
    rows = [line(7.5, *b, *a, *(some * body)) for a, b, some in zip(q, dq, load, strict=True)]
    source, out = tmp_path / "states.csv", tmp_path / "answers.npz"
    source.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["# a comment", header, "", *rows]).encode())
    status, _, err = run("evaluate", "--robot", "fr3", "--input", source, "--out", out)
    assert (status, err) == (0, "franka_jax: not used: time\n")
    with np.load(out) as answer:
        np.testing.assert_allclose(answer["mass"], mass[np.arange(len(q)), load], rtol=0, atol=1e-14)
        np.testing.assert_allclose(answer["coriolis"], coriolis[np.arange(len(q)), load], rtol=0, atol=1e-12)
        assert np.array_equal(answer["q"], q)
        assert np.array_equal(answer["m_total"], np.where(load, 1.23, 0.0))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.npz", "states.csv"]


def test_chunks_join(run, tmp_path):
    """Three chunks, the last one not full; a payload for all rows."""
    q = np.random.default_rng(0).uniform(-1, 1, (2 * CHUNK + 7, 7))
    np.savez(tmp_path / "q.npz", q=q, F_x_Ctotal=[0, 0, 0.1], m_total=0.5)
    answer = json.loads(run("evaluate", "--robot", "fr3", "--input", tmp_path / "q.npz")[1])
    assert np.shape(answer["mass"]) == (len(q), 7, 7)
    body = Payload(0.5, [0, 0, 0.1], np.zeros((3, 3)))
    for i in (0, CHUNK - 1, CHUNK, len(q) - 1):
        np.testing.assert_allclose(answer["gravity"][i], fr3().gravity(q[i], body), rtol=0, atol=1e-12)


def test_answers_can_be_read_again(run, tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.json"
    given = ("--q", *words(Q), "--dq", *words(DQ), "--payload", *words(PAYLOAD))
    assert run("evaluate", "--robot", "fr3", *given, "--out", first)[0] == 0
    assert run("evaluate", "--robot", "fr3", "--input", first, "--out", second)[0] == 0
    answer = json.loads(second.read_text())
    with np.load(first) as file:
        assert np.array_equal(answer["mass"], file["mass"])
        assert np.array_equal(answer["I_total"], file["I_total"])


def test_csv_without_header(run, tmp_path):
    (tmp_path / "q.csv").write_text(f"{line(*Q)}\n{line(*DQ)}\n")
    status, out, _ = run("evaluate", "--robot", "fr3", "--input", tmp_path / "q.csv")
    assert status == 0
    np.testing.assert_allclose(json.loads(out)["gravity"][1], fr3().gravity(DQ), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("robot", "expected"),
    [
        (["--robot", "fr3"], fr3),
        (["--robot", "fer"], fer),
        (["--robot", "fer", "--payload-rule", "rigid"], lambda: fer("rigid")),
        (["--urdf", str(DATA / "fr3_vendor.urdf")], lambda: Model.from_urdf(DATA / "fr3_vendor.urdf")),
    ],
)
def test_model_that_is_evaluated(run, monkeypatch, robot, expected):
    seen = []
    monkeypatch.setattr("franka_jax.evaluate.evaluate", lambda model, *_: seen.append(model) or {})
    assert run("evaluate", *robot, "--q", *words(Q))[0] == 0
    assert eqx.tree_equal(seen[0], expected())


ONE = ("--robot", "fr3", "--q", *words(Q))


@pytest.mark.parametrize(
    ("arguments", "say"),
    [
        ((), "required"),
        (("--robot", "fr3"), "no configurations: give --q"),
        (("--robot", "ur5", "--q", *words(Q)), "ur5"),
        (("--q", *words(Q)), "--robot --urdf is required"),
        (("--robot", "fr3", "--q", "1", "2"), "--q takes 7 numbers, found 2"),
        (("--robot", "fr3", "--q", *words(Q[:6]), "abc"), "abc"),
        (("--robot", "fr3", "--q", *words(Q[:6]), "nan"), "command line: q is not finite"),
        (("--robot", "fr3", "--q", *words(Q[:6]), "-inf"), "command line: q is not finite"),
        ((*ONE, "--dq", "1"), "--dq takes 7 numbers, found 1"),
        ((*ONE, "--frame", "tool"), "Invalid frame given: 'tool'"),
        ((*ONE, "--payload", "1", "2"), "--payload takes 4 or 7 or 10 numbers, found 2"),
        ((*ONE, "--payload", "-1", "0", "0", "0"), "mass must not be negative"),
        ((*ONE, "--payload", "inf", "0", "0", "0"), "m_total is not finite"),
        ((*ONE, "--payload-rule", "library"), "--payload-rule belongs to --robot fer"),
        ((*ONE, "--gravity_earth", "9.81"), "--gravity_earth takes 3 numbers"),
        (
            (*ONE, "--F_T_EE", *words(np.ravel([[1, 0, 0, 0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))),
            "column-major",
        ),
        ((*ONE, "--dq", *["1e300"] * 7), "coriolis is not finite"),
        ((*ONE, "--input", "absent.csv"), "absent.csv: No such file"),
        ((*ONE, "--input", "absent.npz"), "absent.npz: No such file"),
        ((*ONE, "--input", "states.txt"), "must end in .csv or .npz"),
        ((*ONE, "--out", "."), "it is a directory"),
        ((*ONE, "--out", "answers.txt"), "must end in .npz or .json"),
        ((*ONE, "--out", "absent/answers.npz"), "directory absent does not exist"),
        (("--urdf", "absent.urdf", "--q", *words(Q)), "absent.urdf"),
        (("--urdf", "bad.urdf", "--q", *words(Q)), "seven"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_bad_arguments(refused, tmp_path, monkeypatch, arguments, say):
    monkeypatch.chdir(tmp_path)
    Path("bad.urdf").write_text("<robot name='two'><link name='a'/></robot>")
    assert say in refused("evaluate", *arguments)


GOOD = line(*Q, *DQ)


@pytest.mark.parametrize(
    ("text", "say"),
    [
        ("", "has no rows"),
        ("# nothing\n\n", "has no rows"),
        (HEADER, "a header line but no rows"),
        ("a,b,c\n1,2,3", "the header lacks q1, q2, q3, q4, q5, q6, q7; found: a, b, c"),
        (HEADER.replace(",dq7", "") + "\n" + line(*Q, *DQ[:6]), "the header lacks dq7"),
        (HEADER.replace("q2", "q1", 1) + "\n" + GOOD, "q1 is there twice"),
        (line(*Q[:6]), "line 1: 6 columns and no header line"),
        (f"{HEADER}\n{GOOD}\n\n{GOOD.replace('0.3', 'nan', 1)}", "line 4: q5 is nan, a finite number is needed"),
        (f"{HEADER}\n{GOOD}\n{GOOD.replace('0.3', 'x', 1)}", "line 3: q5 is 'x', a number is needed"),
        (f"{HEADER}\n{GOOD.replace('0.3', '', 1)}", "line 2: q5 is '', a number is needed"),
        (f"{HEADER}\n{GOOD}\n{GOOD},1", "line 3: 15 columns, 14 are needed"),
        (
            f"{HEADER}\n" + f"{GOOD},1\n" * 9,
            "line 2: 15 columns, 14 are needed (more bad rows: lines 3, 4, 5, 6, 7, ...)",
        ),
        (f"{HEADER},m,cx,cy,cz\n{GOOD},1,0,0,0\n{GOOD},-2,0,0,0", "line 3: the payload's mass must not be negative"),
        (f"{HEADER},cx,cy,cz\n{GOOD},0,0,0", "a payload needs its mass"),
        (f'{HEADER}\n"{GOOD}', "cannot read"),
        (f"{HEADER}\n{GOOD}\n\x00", "line"),
        (HEADER.replace(",", ";") + "\n" + GOOD.replace(",", ";"), "the header lacks q1"),
    ],
)
def test_bad_csv(refused, tmp_path, text, say):
    source = tmp_path / "states.csv"
    source.write_text(text)
    said = refused("evaluate", "--robot", "fr3", "--input", source, "--out", tmp_path / "answers.npz")
    assert say in said
    assert "states.csv" in said


def test_csv_in_another_encoding(refused, tmp_path):
    (tmp_path / "states.csv").write_bytes(f"{HEADER},Größe\n".encode("latin-1"))
    assert "states.csv" in refused("evaluate", "--robot", "fr3", "--input", tmp_path / "states.csv")


@pytest.mark.parametrize(
    ("arrays", "say"),
    [
        ({}, "the array q is missing; found: no arrays"),
        ({"Q": [Q]}, "the array q is missing; found: Q"),
        ({"q": [Q[:6]]}, "q has shape (1, 6), it must be (N, 7)"),
        ({"q": np.zeros((0, 7))}, "q has shape (0, 7)"),
        ({"q": [["a"] * 7]}, "q must be real numbers"),
        (
            {"q": [Q, [*Q[:6], np.nan], [*Q[:6], np.inf]]},
            "row 1 (counted from 0): q is not finite (and 1 more such rows)",
        ),
        ({"q": [Q] * 3, "dq": [DQ] * 2}, "dq has 2 rows, q has 3"),
        ({"q": [Q], "m_total": 1.0, "I_total": np.triu(np.ones((3, 3)))}, "not symmetric"),
        ({"q": [Q], "F_T_EE": np.ones((4, 4))}, "row 0 (counted from 0): F_T_EE is no transform"),
        ({"q": np.array([None, {}], dtype=object)}, "not an npz archive of named number arrays"),
    ],
)
def test_bad_npz(refused, tmp_path, arrays, say):
    np.savez(tmp_path / "states.npz", **arrays)
    said = refused("evaluate", "--robot", "fr3", "--input", tmp_path / "states.npz", "--out", tmp_path / "answers.json")
    assert say in said


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "npy", "directory"])
def test_unreadable_npz(refused, tmp_path, damage):
    source = tmp_path / "states.npz"
    np.savez(tmp_path / "good.npz", q=[Q])
    whole = (tmp_path / "good.npz").read_bytes()
    if damage == "directory":
        source.mkdir()
    elif damage == "npy":
        with open(source, "wb") as file:
            np.save(file, [Q])
    else:
        source.write_bytes({"text": b"q = 1", "empty": b"", "cut": whole[: len(whole) // 2]}[damage])
    assert "states.npz" in refused("evaluate", "--robot", "fr3", "--input", source)


def test_given_twice(refused, tmp_path):
    np.savez(tmp_path / "s.npz", q=[Q], m_total=1.0)
    source = ("evaluate", "--robot", "fr3", "--input", tmp_path / "s.npz")
    assert "q is given twice" in refused(*source, "--q", *words(Q))
    assert "the payload is given twice" in refused(*source, "--payload", "1", "0", "0", "0")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "answers.json"
    target.write_text("old")

    def interrupted():
        with replacing(target) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("robot", "suffix", "head"), [("both", ".png", b"\x89PNG"), ("fr3", ".svg", b"<?xml"), ("fer", ".pdf", b"%PDF")]
)
def test_plot(run, tmp_path, robot, suffix, head):
    out = tmp_path / f"frames{suffix}"
    assert run("plot", "--robot", robot, "--out", out)[0] == 0
    assert out.read_bytes().startswith(head)
    assert list(tmp_path.iterdir()) == [out]


def test_plot_refuses(refused, tmp_path):
    assert "it is a directory" in refused("plot", "--out", tmp_path)
    assert ".png or .pdf or .svg" in refused("plot", "--out", tmp_path / "x.bmp")
    assert "--q takes 7 numbers" in refused("plot", "--out", tmp_path / "x.png", "--q", "1")
    assert "q is not finite" in refused("plot", "--out", tmp_path / "x.png", "--q", *["nan"] * 7)
    assert "--out" in refused("plot")


def test_plot_without_matplotlib(refused, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "franka-jax[plot]"' in refused("plot", "--out", tmp_path / "x.png")


def test_figure_shows_ten_frames_with_units():
    pytest.importorskip("matplotlib")
    from franka_jax import Frame, plot

    figure = plot.figure([("FR3", fr3())], np.array(Q))
    axes: Any = figure.axes[0]
    names = [name for text in axes.texts for name in text.get_text().split(" · ")]
    assert sorted(names) == sorted(frame.value for frame in Frame)
    assert [axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel()] == ["x (m)", "y (m)", "z (m)"]


def test_labels_stay_apart():
    from franka_jax.plot import spread

    heights = spread(np.array([0.1, 0.5, 0.5, 0.5, 0.95]), 0.2, 0.8, 0.05)
    assert np.all(np.diff(heights) >= 0.05 - 1e-12)
    assert heights.min() >= 0.2
    assert heights.max() <= 0.8


@pytest.fixture
def data(tmp_path):
    """A copy of the reference values."""
    copy = tmp_path / "data"
    copy.mkdir()
    for name in ("fr3_libfranka_0_21.npz", "fer_reference.npz", "fer_library_samples.json"):
        shutil.copy(DATA / name, copy)
    return copy


def test_conformance_passes(run, data):
    status, out, err = run("conformance", "--data", data)
    assert (status, err) == (0, "")
    assert "FR3 against libfranka 0.21.3: 102 configurations x 3 loads, ten frames" in out
    assert "7.117e-04" in out
    assert out.endswith("All 255 comparisons are within their tolerances.\n")


def test_conformance_fails_on_one_wrong_number(run, data):
    path = data / "fer_library_samples.json"
    samples = json.loads(path.read_text())
    samples["samples"][1]["payload"]["mass"][6][6] += 1e-12
    path.write_text(json.dumps(samples))
    status, out, _ = run("conformance", "--data", data)
    assert status == 1
    assert "1.0e-12 !" in out
    assert out.endswith("1 of 255 comparisons exceed their tolerance (marked !).\n")


@pytest.mark.parametrize("file", ["fr3_libfranka_0_21.npz", "fer_library_samples.json"])
@pytest.mark.parametrize("damage", ["absent", "garbage", "incomplete"])
def test_conformance_refuses_damaged_references(refused, data, file, damage):
    path = data / file
    if damage == "absent":
        path.unlink()
    elif damage == "garbage":
        path.write_text("garbage")
    elif path.suffix == ".npz":
        np.savez(path, q=[Q], frame_names=[])
    else:
        path.write_text("{}")
    assert f"cannot use the reference values {path}" in refused("conformance", "--data", data)


def test_conformance_without_data(refused, tmp_path, monkeypatch):
    assert "give --data DIR" in refused("conformance", "--data", tmp_path / "absent")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("franka_jax.reference.__file__", str(tmp_path / "site-packages" / "franka_jax" / "x.py"))
    assert "run in a checkout of the project or give --data DIR" in refused("conformance")


@pytest.mark.parametrize("command", [[], ["conformance"], ["evaluate"], ["plot"]])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as exit_status:
        main([*command, "--help"])
    assert exit_status.value.code == 0
    assert "usage: python -m franka_jax" in capsys.readouterr().out


def test_unknown_command(refused):
    assert "'dance'" in refused("dance")


def test_as_a_module(tmp_path):
    """The process itself: one line, no traceback, status 2."""
    command = [sys.executable, "-m", "franka_jax", "evaluate", "--robot", "fr3", "--q", "1"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("franka_jax: --q takes 7 numbers")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("installed", [True, False])
def test_progress_is_silent_when_quick(capsys, monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(progress_module.progress(range(5), "work")) == list(range(5))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("installed", [True, False])
def test_progress_is_shown_when_slow(capsys, monkeypatch, installed):
    if installed:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(progress_module, "DELAY", 0.01)
    for _ in progress_module.progress(range(3), "work"):
        time.sleep(0.15)
    assert "work: " in capsys.readouterr().err
