"""Datasets: what the package ships, files, and what is refused."""

import json

import numpy as np
import pytest

from identification import DatasetError, dataset, default_dataset, sampling

from .identification_setup import library_samples, library_velocities, limits, reference_dataset, small_file_arrays


def test_package_dataset_is_the_reference_data():
    shipped = default_dataset()
    for name, value in shipped.arrays.items():
        parts = [reference_dataset().arrays[name], library_samples().arrays[name]]
        expected = np.concatenate(parts)
        if name == "mass":  # the file keeps the upper triangle; the library's own halves differ by 1e-16
            expected = np.triu(expected) + np.swapaxes(np.triu(expected, 1), 1, 2)
        np.testing.assert_array_equal(value, expected, err_msg=name)
    assert "not answers of a robot" in shipped.about


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_file_round_trip_is_exact(tmp_path, suffix):
    data = default_dataset()
    dataset.write(data, tmp_path / f"data{suffix}")
    back = dataset.read(tmp_path / f"data{suffix}")
    assert back.sha256 == data.sha256
    assert back.about == data.about
    assert [path.name for path in tmp_path.iterdir()] == [f"data{suffix}"]


def _broken(change):
    arrays = small_file_arrays()
    change(arrays)
    return arrays


def _set(name, index, value):
    def change(arrays):
        arrays[name][index] = value

    return change


def _put(name, value):
    return lambda arrays: arrays.update({name: value})


BAD = {
    "nan": (_set("q", (2, 3), np.nan), r"q is not finite in row 2"),
    "infinite": (_set("coriolis", (4, 0), np.inf), r"coriolis is not finite in row 4"),
    "degrees": (_set("q", (slice(1, 3), 0), 90.0), r"q is beyond 2 pi \(degrees\?\) in rows 1, 2"),
    "asymmetric": (_set("mass", (3, 0, 1), 9.0), r"mass is not symmetric in row 3"),
    "missing": (lambda arrays: arrays.pop("mass"), r"mass is missing"),
    "shape": (_put("q", np.zeros((5, 6))), r"q has shape \(5, 6\), \(any, 7\) is needed"),
    "length": (_put("gravity", np.zeros((4, 2, 7))), r"gravity has shape \(4, 2, 7\), \(5, 2, 7\) is needed"),
    "text": (_put("q", [["a"] * 7] * 5), r"q is not an array of real numbers"),
    "digits": (_put("q", [["1"] * 7] * 5), r"q is not an array of real numbers"),
    "ragged": (_put("q", [[0.0] * 7, [0.0] * 6]), r"q is not an array of real numbers"),
    "complex": (_put("q", np.zeros((5, 7), complex)), r"q is not an array of real numbers"),
    "no vectors": (
        lambda arrays: arrays.update(gravity=np.zeros((5, 0, 7)), gravity_vectors=np.zeros((0, 3))),
        r"there are no gravity vectors",
    ),
    "half": (lambda arrays: arrays.pop("dq"), r"dq and coriolis come together"),
    "mass sign": (_put("m_total", -np.ones(5)), r"m_total is negative in rows 0, 1, 2, 3, 4"),
    "tensor": (_put("I_total", np.ones((5, 3, 3))), r"I_total is given without m_total in rows"),
    "empty": (lambda arrays: arrays.update({k: v[:0] for k, v in arrays.items()}), r"there are no rows"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_data_name_the_rows(change, message):
    with pytest.raises(DatasetError, match=message):
        dataset.from_arrays(_broken(change))


FILES = {
    "not-json.json": (b"{", "cannot be read"),
    "list.json": (b"[1]", "an object with the keys"),
    "no-archive.npz": (b"PK", "cannot be read"),
    "table.csv": (b"1,2", "a .npz or .json file"),
    "bytes.json": (b"\xff\xfe\x00", "cannot be read"),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES)
def test_bad_files_are_named(tmp_path, request, content, message):
    path = tmp_path / request.node.callspec.id
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        dataset.read(path)
    assert path.name in str(caught.value)


def test_missing_file_and_pickles_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="cannot be read"):
        dataset.read(tmp_path / "absent.npz")
    np.savez(tmp_path / "objects.npz", q=np.array([{}], dtype=object))
    with pytest.raises(DatasetError, match="cannot be read"):
        dataset.read(tmp_path / "objects.npz")


def test_defaults_of_the_file_format(tmp_path):
    arrays = small_file_arrays()
    plain = {"q": arrays["q"].tolist(), "mass": arrays["mass"].tolist(), "gravity": arrays["gravity"][:, 0].tolist()}
    (tmp_path / "plain.json").write_text(json.dumps(plain))
    data = dataset.read(tmp_path / "plain.json")
    assert data.coriolis is None
    np.testing.assert_array_equal(data.gravity_vectors, np.tile([0, 0, -9.81], (5, 1, 1)))
    assert len(data.unloaded) == 5


def test_splitmix64_known_answers():
    """The published first outputs for seed 1234567, as 53-bit fractions."""
    outputs = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431)
    np.testing.assert_array_equal(sampling.splitmix64(1234567, 4), [(z >> 11) * 2.0**-53 for z in outputs])


def test_recipe_holds_the_published_samples():
    """The two published answers of the library belong to q = 0 and to the first corner, with their velocities."""
    q, dq = sampling.recipe(limits())
    assert q.shape == dq.shape == (208, 7)
    np.testing.assert_array_equal(q[[0, 2]], library_samples().q[:2])
    np.testing.assert_array_equal(dq[[0, 2]], library_velocities()[:2])
    assert (q[8:] >= limits().lower).all()
    assert (q[8:] <= limits().upper).all()
    assert (np.abs(dq[8:]) <= limits().velocity).all()
