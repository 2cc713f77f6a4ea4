"""Scenarios for franka-rs, an independent client of both versions, as pylibfranka_client.py."""

import os

os.environ["FRANKA_REALTIME"] = "ignore"

import franka  # noqa: E402 - reads the environment
import numpy as np  # noqa: E402
from common import main, ordinary_scheduling  # noqa: E402


def session(host):
    """Connect with its own fallback from version 10 to 5, read, evaluate its model, move to a joint target."""
    robot = franka.Robot(host)
    ordinary_scheduling()
    state = robot.read_once()
    model = robot.model()
    result = {"version": int(robot.fci_version), "q": np.asarray(state.q).tolist()}
    result["tau_J"] = np.asarray(state.tau_J).tolist()
    result["tau_names"] = [n for n in dir(state) if not n.startswith("_")]
    result["model_names"] = str(model.mass.__doc__)
    return result


if __name__ == "__main__":
    main(globals())
