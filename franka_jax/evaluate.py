"""The `evaluate` command: model quantities of many states, to npz, JSON or the terminal.

Answers, with a leading axis of N states: `pose` (N, 4, 4), `body_jacobian` and `zero_jacobian` (N, 6, 7) of one frame,
`mass` (N, 7, 7), `coriolis` and `gravity` (N, 7); the states they belong to stand next to them.
"""

import json
from functools import partial
from pathlib import Path
from typing import IO, Any

import jax
import numpy as np

from .cli.csv_states import read_csv
from .cli.input_error import InputError
from .cli.npz_states import read_npz
from .cli.output import replacing
from .cli.progress import progress
from .cli.states import Fields, States
from .frames import Frame
from .model import Model

CHUNK = 1024
"""States per compiled call, the last one filled up: every input uses one compilation, and progress shows between."""

SUFFIXES = (".npz", ".json")
_READERS = {".csv": read_csv, ".npz": read_npz}


def read_states(path: Path) -> Fields:
    """What a .csv or .npz gives. InputError, with the line or row, for what cannot be used."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"cannot read {path}: the name must end in .csv or .npz")
    return reader(path)


def evaluate(model: Model, frame: Frame, states: States) -> dict[str, np.ndarray]:
    """All quantities at all states, by name: `vmap` over chunks of one size, so that one compilation serves all."""
    n, size = len(states.q), CHUNK
    parts = []
    for start in progress(range(0, n, size), "evaluate"):
        rows = np.arange(start, start + size).clip(max=n - 1)
        answer = _evaluate(model, frame, jax.tree.map(lambda leaf, rows=rows: leaf[rows], states))
        parts.append({name: np.asarray(value)[: n - start] for name, value in answer.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def results(model: Model, frame: Frame, states: States) -> dict[str, Any]:
    """The answers with the robot, the frame and the states they belong to. InputError if an answer overflows."""
    answers = evaluate(model, frame, states)
    for name, value in answers.items():
        bad = np.flatnonzero(~np.isfinite(value.reshape(len(value), -1)).all(axis=1))
        if len(bad):
            raise InputError(f"state {bad[0]} (counted from 0): {name} is not finite; the inputs are too large")
    payload = states.payload
    body = {"m_total": payload.m_total, "F_x_Ctotal": payload.F_x_Ctotal, "I_total": payload.I_total}
    given = {name: value for name, value in states._asdict().items() if name != "payload"} | body
    head = {"robot": model.description.name, "payload_rule": model.payload_rule, "frame": frame.value}
    return {**head, **given, **answers}


def write(answers: dict[str, Any], path: Path) -> None:
    """The results as .npz or .json, whole or not at all."""
    with replacing(path) as file:
        if path.suffix.lower() == ".npz":
            np.savez(file, **answers)
        else:
            write_json(answers, file)


def write_json(answers: dict[str, Any], file: IO[bytes]) -> None:
    """One JSON object, a name per line; numbers with all their digits."""
    lines = (
        f"{json.dumps(k)}: {json.dumps(v.tolist() if isinstance(v, np.ndarray) else v)}" for k, v in answers.items()
    )
    file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


@partial(jax.jit, static_argnames="frame")
def _evaluate(model: Model, frame: Frame, states: States) -> dict[str, jax.Array]:
    def one(s: States) -> dict[str, jax.Array]:
        return {
            "pose": model.pose(frame, s.q, s.F_T_EE, s.EE_T_K),
            "body_jacobian": model.body_jacobian(frame, s.q, s.F_T_EE, s.EE_T_K),
            "zero_jacobian": model.zero_jacobian(frame, s.q, s.F_T_EE, s.EE_T_K),
            "mass": model.mass(s.q, s.payload),
            "coriolis": model.coriolis(s.q, s.dq, s.payload),
            "gravity": model.gravity(s.q, s.payload, s.gravity_earth),
        }

    return jax.vmap(one)(states)
