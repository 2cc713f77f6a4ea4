"""The machine-readable wire layouts (sizes, offsets, ids, statuses) as literal numbers."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from franka_rt.connection import Connection
from franka_rt.dialect import Dialect
from franka_rt.gripper_dialect import GRIPPER, VACUUM_GRIPPER
from franka_rt.v5 import V5
from franka_rt.v10 import V10

DATA = Path(__file__).parent.parent / "data"
DIALECTS: dict[str, Dialect] = {"v5": V5, "v10": V10, "gripper": GRIPPER, "vacuum_gripper": VACUUM_GRIPPER}
ARMS = (V5, V10)


@cache
def layout(name: str) -> dict:
    return json.loads((DATA / "fci" / f"{name}.json").read_text())


def wire_name(dialect: Dialect, command) -> str:
    """The vendor's identifier of a command, from its wire id."""
    name = next(key for key, value in DIALECTS.items() if value is dialect)
    return next(
        key for key, entry in layout(name)["commands"].items() if entry["id"] == dialect.commands[command].wire_id
    )


def only_event(connection: Connection) -> Any:
    """The one event that a connection has to report now."""
    (event,) = connection.events()
    return event
