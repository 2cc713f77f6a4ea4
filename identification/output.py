"""What identification writes: a URDF with its inertials replaced, and JSON with all numbers and their origin."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from franka_jax import urdf

from . import prior, reachable, twin
from .identify import Identification
from .library_fit import Residual

PHI_ORDER = "m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the joint frame's origin; kg, kg m, kg m^2"


def base_urdf() -> str:
    """The package's FER description, whose inertials are replaced by default."""
    return files("franka_jax.robots").joinpath("fer.urdf").read_text(encoding="utf-8")


def outputs(found: Identification, path: Path, physical: bool, description: str | bytes) -> dict[Path, bytes]:
    """Contents of `path` (a URDF) and of the JSON beside it. UrdfError if `description` is not a seven-axis arm."""
    phi = found.twin.phi if physical else found.phi
    text = urdf.replace_inertials(description, phi)
    numbers = _rows_on_one_line(json.dumps(provenance(found, physical), indent=1))
    return {path: text.encode(), path.with_suffix(".json"): (numbers + "\n").encode()}


def _rows_on_one_line(text: str) -> str:
    """Indented JSON with every list of plain numbers on one line."""
    return re.sub(r"\[[^\[\]{}\"]*\]", lambda match: " ".join(match[0].split()), text)


def provenance(found: Identification, physical: bool = False) -> dict[str, Any]:
    """All numbers of an identification and their origin, ready for JSON."""
    fit = found.fit
    model = found.physical_model if physical else found.model
    return {
        "about": _ABOUT_TWIN if physical else _ABOUT,
        "command": "python -m identification fer" + (" --physical" if physical else ""),
        "payload_rule": model.payload_rule,
        "m7": float(model.m7),
        "m7_unit": "kg",
        "c7z": float(model.c7z),
        "c7z_unit": "m, joint-7 frame",
        "phi": (found.twin.phi if physical else found.phi).tolist(),
        "phi_order": PHI_ORDER,
        "dataset": {
            "about": found.data.about,
            "sha256": found.data.sha256,
            "rows": len(found.data),
            "loaded_rows": int((found.data.m_total > 0).sum()),
        },
        "prior": prior.CITATION,
        "column_scaling": "column norms of A at the 208 configurations of `identification sample`",
        "solver": fit.solver,
        "rank": fit.rank,
        "singular_values": fit.singular_values.tolist(),
        "residuals": _residuals(fit.residuals),
        "held_out": _residuals(found.heldout),
        "payload": None if found.payload is None else _payload(found),
        "smallest_eigenvalue": _reachable(found),
        "physical_twin": _twin(found.twin),
        "base_parameters": [{"name": b.name, "value": b.value} for b in fit.base],
    }


_ABOUT = (
    "Inertial parameters identified from a FER's closed model: they reproduce its numbers and are no set of bodies."
)
_ABOUT_TWIN = "Physically consistent parameters nearest to those identified from a FER's closed model; for simulation."


def _residuals(residuals: dict[str, Residual]) -> dict[str, Any]:
    return {name: {"max": r.max, "rms": r.rms, "unit": r.unit} for name, r in residuals.items()}


def _payload(found: Identification) -> dict[str, Any]:
    assert found.payload is not None
    fit = found.payload
    return {
        "rank": fit.rank,
        "c7": fit.c7.tolist(),
        "library_rule": _residuals(fit.library),
        "rigid_rule": _residuals(fit.rigid),
    }


def _reachable(found: Identification) -> dict[str, Any]:
    best = found.reachable
    return {
        "as_fitted": best.as_fitted,
        "best_of_exact_fits": best.eigenvalue,
        "certified_bound": best.bound,
        "gap": best.gap,
        "trace_bound": reachable.TRACE_BOUND,
    }


def _twin(found: twin.Twin) -> dict[str, Any]:
    error = found.error
    return {
        "torque_error": error.relative,
        "torque_error_of_prior": found.prior_error.relative,
        "states": error.states,
        "seed": error.seed,
        "rms_per_joint": np.asarray(error.rms).tolist(),
        "mass_max": error.mass,
        "gravity_max": error.gravity,
        "smallest_eigenvalues": found.eigenvalues.tolist(),
        "total_mass": found.total_mass,
        "gap": found.gap,
    }
