import jax
import numpy as np
import pytest

#: Agreement with `jax.jit`, of each array's largest magnitude.
TOLERANCE = 1e-13


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Kernels of this session are compiled in this session."""
    patch = pytest.MonkeyPatch()
    patch.setenv("FRANKA_JAX_CACHE", str(tmp_path_factory.mktemp("kernels")))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def agrees():
    """Compare trees of arrays: same structure, shapes and types, values to `tolerance` of the largest magnitude."""

    def compare(found, expected, tolerance=TOLERANCE):
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for f, e in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            f, e = np.asarray(f), np.asarray(e)
            assert (f.shape, f.dtype) == (e.shape, e.dtype)
            scale = np.abs(e[np.isfinite(e)]).max(initial=0.0) if e.dtype.kind == "f" else 0
            np.testing.assert_allclose(f, e, rtol=0, atol=tolerance * scale)

    return compare
