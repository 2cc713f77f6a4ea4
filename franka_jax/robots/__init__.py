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


def fer(payload_rule: str = "library", dtype: Any = np.float64) -> Model:
    """The FER (Panda): an identified parameter set that reproduces the FER's own model library to round-off.

    `payload_rule="library"` merges a payload as that library does (see `payload`), `"rigid"` as rigid bodies add. The
    set reproduces numbers; it is not a set of physical bodies (see `Model.check_physical`): do not seed a simulator
    with it.
    """
    rule = json.loads(_data("fer.json"))
    return Model.from_arm(urdf.read_arm(_data("fer.urdf")), payload_rule, rule["m7"], rule["c7z"], dtype=dtype)


def _data(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
