"""The two robots from package data. The URDF files are written by this project's writer; NOTICE names their origin."""

import json
from importlib.resources import files
from typing import Any

import numpy as np

from .. import urdf
from ..model import Model


def fr3(dtype: Any = np.float64) -> Model:
    """The FR3: figures of the vendor's description; equals libfranka 0.21's `franka::Model` to round-off.

    A real FR3 serves its own description (GetRobotModel): use `Model.from_urdf` with that text where you have it.
    """
    return Model.from_urdf(_data("fr3.urdf"), dtype=dtype)


def fer(payload_rule: str | None = None, dtype: Any = np.float64, physical: bool = False) -> Model:
    """The FER (Panda): an identified parameter set that reproduces the FER's own model library to round-off.

    `payload_rule="library"` (the default) merges a payload as that library does (see `payload`), `"rigid"` as rigid
    bodies add. The set reproduces numbers; it is not a set of physical bodies (see `Model.check_physical`): do not seed
    a simulator with it.

    `physical=True`: the physical twin, for simulation. Its parameters belong to real bodies (every pseudo-inertia
    positive definite, links 1-7 together 16 kg) and are the nearest such to the identified set: its torques differ from
    the exact ones by 0.25 % (norm over random states in the limits; the mass matrix by up to 0.019 kg m^2, gravity by
    up to 0.01 N m). Payloads are added by the rigid rule unless the other is asked for.

    Both sets are written by `python -m identification fer` (with `--physical`).
    """
    rule = payload_rule if payload_rule is not None else ("rigid" if physical else "library")
    numbers = json.loads(_data("fer.json"))
    arm = urdf.read_arm(_data("fer_physical.urdf" if physical else "fer.urdf"))
    return Model.from_arm(arm, rule, numbers["m7"], numbers["c7z"], dtype=dtype)


def _data(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
