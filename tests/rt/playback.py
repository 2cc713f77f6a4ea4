"""A robot that plays the same states to any client and notes the commands, and the motions it is used for.

The content of a state depends only on how many commands of the motion came before it, so that clients of any speed see
the same: after a command the next content goes out at once, and is repeated with a new id when nothing comes.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from franka_rt.dialect import ArmDialect, CommandName, Status
from franka_rt.rotations import rotated
from tests.rt.scripted import ScriptedServer, show

CYCLES = 12
PATIENCE = 0.8  # s; far above what a busy machine takes for one command, below the clients' own limit of 1 s
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
KINDS = ("joint_positions", "joint_velocities", "cartesian_pose", "cartesian_velocities")


class Playback(ScriptedServer):
    """Plays ``contents`` (fields of one state after the other) in every motion; ``motions`` are the commands seen."""

    def __init__(self, dialect: ArmDialect, contents: list[dict[str, Any]], host: str = "127.0.0.1", port: int = 0):
        super().__init__(dialect, host, port)
        self.contents = contents
        self.motions: list[list[Any]] = []
        self.on[CommandName.MOVE] = lambda _, request: self._begin(request)
        self.on_command = lambda _, command: self._next(command)

    def _begin(self, request):
        self.move = request
        self.motions.append([])
        self.answer(request, Status.MOTION_STARTED)
        show(self, request)
        self._show(0, 0.03)

    def _next(self, command):
        self.motions[-1].append(command.record)
        if command.finished:
            self.end_motion(Status.SUCCESS)
            self.period = 0.001
        else:
            self._show(len(self.motions[-1]), PATIENCE)

    def _show(self, number, patience):
        self.state.update(**self.contents[number])
        self.send_state()
        self.period = PATIENCE
        self.due = time.monotonic() + patience


@dataclass
class Motion:
    """One motion of a script: what the callbacks return, and with which options."""

    kind: str
    motion: list[list[float]] = field(default_factory=list)
    torque: list[list[float]] = field(default_factory=list)
    elbow: list[list[float]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def cycles(self) -> int:
        """Commands until the first callback ends the motion."""
        return min(len(outputs) for outputs in (self.motion, self.torque) if outputs)

    @property
    def label(self) -> str:
        parts = [self.kind, *(["torques"] if self.torque and self.motion else []), *(["elbow"] if self.elbow else [])]
        return ", ".join([*parts, *(f"{k} {v}" for k, v in self.options.items())])


def pose(rotation, translation):
    out = np.eye(4)
    out[:3, :3] = np.reshape(rotation, (3, 3))
    out[:3, 3] = translation
    return out


class Script:
    """Random states and outputs near them, some within and some beyond every limit."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        q, rotation, position = np.array([0, -0.7, 0, -2.3, 0, 1.5, 0.7]), IDENTITY, np.array([0.4, 0.1, 0.5])
        rotation = rotated(rotation, (1.0, 0.4, -2.0), 1.0)
        self.contents, self.poses = [], []
        for _ in range(CYCLES + 1):
            q = q + self.noise(1e-2, 7)
            rotation, position = rotated(rotation, self.noise(1.0, 3).tolist(), 0.01), position + self.noise(1e-3, 3)
            self.poses.append((rotation, position))
            self.contents.append(self.content(q, pose(rotation, position)))

    def noise(self, size, n):
        return size * self.rng.normal(size=n) * self.rng.choice([1e-2, 1.0])

    def content(self, q, T):
        return {
            "q": q, "q_d": q, "dq_d": self.noise(0.5, 7), "ddq_d": self.noise(4.0, 7), "tau_J_d": self.noise(10.0, 7),
            "O_T_EE": T, "O_T_EE_c": T, "O_dP_EE_c": self.noise(0.3, 6), "O_ddP_EE_c": self.noise(3.0, 6),
            "elbow_c": (self.noise(1.0, 1)[0], -1.0), "delbow_c": (self.noise(0.5, 1)[0], 0.0),
            "ddelbow_c": (self.noise(3.0, 1)[0], 0.0),
        }  # fmt: skip

    def outputs(self, kind):
        return [self.output(kind, *pair).tolist() for pair in zip(self.contents, self.poses, strict=True)][:CYCLES]

    def output(self, kind, content, around):
        if kind == "torques":
            return content["tau_J_d"] + self.noise(2.0, 7)
        if kind == "joint_positions":
            return content["q_d"] + self.noise(2e-3, 7)
        if kind == "joint_velocities":
            return content["dq_d"] + self.noise(0.1, 7)
        if kind == "cartesian_velocities":
            return content["O_dP_EE_c"] + self.noise(0.1, 6)
        turned = rotated(around[0], self.noise(1.0, 3).tolist(), 2e-3)
        return pose(turned, around[1] + self.noise(1e-3, 3)).T.ravel()

    def motions(self, choices):
        """Every kind, alone and with torques and elbow, with each choice of options."""
        for options in choices:
            yield Motion("torques", torque=self.outputs("torques"), options=options)
            for kind in KINDS:
                yield Motion(kind, self.outputs(kind), options=options)
                yield Motion(kind, self.outputs(kind), torque=self.outputs("torques"), options=options)
                if kind.startswith("cartesian"):
                    elbow = [[c["elbow_c"][0] + self.noise(1e-3, 1)[0], -1.0] for c in self.contents]
                    yield Motion(kind, self.outputs(kind), elbow=elbow[:CYCLES], options=options)

    def early_ends(self):
        """Either callback ends a motion with both, also in its first cycle."""
        for kind in KINDS:
            for length in (1, 5):
                yield Motion(kind, self.outputs(kind)[:length], torque=self.outputs("torques"))
                yield Motion(kind, self.outputs(kind), torque=self.outputs("torques")[:length])
