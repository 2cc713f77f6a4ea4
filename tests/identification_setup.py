"""What the identification tests share: the reference data as datasets, and one identification of the package's."""

import json
from functools import cache

import numpy as np

from franka_jax import Model, fer, urdf
from franka_jax.description import Limits
from identification import Dataset, Identification, LibraryFit, default_dataset, fit, identify, sampling
from identification.dataset import from_arrays

from .reference import DATA

REFERENCE_URDF = DATA / "fer_identified_reference.urdf"


@cache
def identification() -> Identification:
    """The package's data identified."""
    return identify(default_dataset())


@cache
def published_phi() -> np.ndarray:
    """The published identified parameters, (7, 10)."""
    return urdf.read_arm(REFERENCE_URDF).phi


@cache
def published_model() -> Model:
    """The published parameters with the library's payload rule (m7, c7z as published with the payload law)."""
    return Model.from_arm(urdf.read_arm(REFERENCE_URDF), "library", 0.5362215936072519, 0.03119086969164915)


@cache
def recipe_dataset() -> Dataset:
    """The published model's answers at the 208 configurations."""
    return sampling.evaluate(published_model(), *sampling.recipe(limits()))


@cache
def limits() -> Limits:
    """The FER's limits."""
    return fer().limits


@cache
def reference_dataset() -> Dataset:
    """The 166 shared configurations, without payload."""
    with np.load(DATA / "fer_reference.npz") as d:
        return from_arrays(
            {
                "q": d["q"],
                "mass": d["mass"][:, 0],
                "gravity": np.stack([d["gravity"][:, 0], d["gravity_tilted"][:, 0]], axis=1),
                "gravity_vectors": np.array([d["gravity_vector"], d["gravity_tilted_vector"]]),
                "dq": d["dq"],
                "coriolis": d["coriolis"][:, 0],
            }
        )


@cache
def reference_fit() -> LibraryFit:
    """The fit to the 166 shared configurations."""
    return fit(reference_dataset())


@cache
def library_samples() -> Dataset:
    """The two genuine answers of a FER's library, without payload and then with 1.23 kg."""
    samples = json.loads((DATA / "fer_library_samples.json").read_text())
    payload = samples["payload"]
    rows = []
    for case, on in (("no_load", 0.0), ("payload", 1.0)):
        for sample in samples["samples"]:
            answer = sample[case]
            rows.append(
                {
                    "q": sample["q"],
                    "dq": sample["dq"],
                    "mass": answer["mass"],
                    "coriolis": answer["coriolis"],
                    "gravity": [answer["gravity"], answer["gravity_alt"]],
                    "gravity_vectors": [[0, 0, -9.81], [0.1, -0.2, -9.7]],
                    "m_total": payload["m_total"] * on,
                    "F_x_Ctotal": np.array(payload["F_x_Ctotal"]) * on,
                    "I_total": np.array(payload["I_total"]) * on,
                }
            )
    return from_arrays({key: np.array([row[key] for row in rows]) for key in rows[0]})


@cache
def library_velocities() -> np.ndarray:
    """dq of the four genuine answers."""
    dq = library_samples().dq
    assert dq is not None
    return dq


@cache
def library_coriolis() -> np.ndarray:
    """Coriolis torques of the four genuine answers."""
    coriolis = library_samples().coriolis
    assert coriolis is not None
    return coriolis


def small_file_arrays() -> dict[str, np.ndarray]:
    """Five rows under the file keys, for tests that break them."""
    data = reference_dataset().select(np.arange(5))
    return {name: value.copy() for name, value in data.arrays.items()}
