"""Session-wide setup: 64-bit JAX, the models and reference data loaded once."""

import json
import signal
from pathlib import Path

import jax
import numpy as np
import pytest

from .reference import DATA

jax.config.update("jax_enable_x64", True)


def pytest_configure() -> None:
    """Ctrl-C reaches tests also where the suite was started in the background, with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the reference data."""
    return DATA


@pytest.fixture(scope="session")
def vendor_urdf() -> str:
    """The FR3's description as the vendor's tools accept it."""
    return (DATA / "fr3_vendor.urdf").read_text()


@pytest.fixture(scope="session")
def fr3_model():
    from franka_jax import fr3

    return fr3()


@pytest.fixture(scope="session")
def fer_model():
    from franka_jax import fer

    return fer()


@pytest.fixture(scope="session")
def library_samples() -> dict:
    """Two answers of a real FER's own model library."""
    return json.loads((DATA / "fer_library_samples.json").read_text())


@pytest.fixture(scope="session")
def fr3_reference() -> dict[str, np.ndarray]:
    with np.load(DATA / "fr3_libfranka_0_21.npz") as file:
        return dict(file)


@pytest.fixture(scope="session")
def fer_reference() -> dict[str, np.ndarray]:
    with np.load(DATA / "fer_reference.npz") as file:
        return dict(file)
