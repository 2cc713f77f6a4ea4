"""What devices put into their outboxes."""

from __future__ import annotations

from typing import Any, NamedTuple

from franka_rt.dialect import Status
from franka_rt.events import Request

__all__ = ["Reply"]


class Reply(NamedTuple):
    """An answer to send: arguments of ``ServerConnection.answer``."""

    request: Request
    status: Status
    data: bytes
    fields: dict[str, Any]
