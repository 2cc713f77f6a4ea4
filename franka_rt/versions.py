"""Protocol versions, the policy that chooses one, and which robot system speaks which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

__all__ = ["FciVersion", "VersionPolicy", "robot_system"]


class FciVersion(IntEnum):
    """The two protocol versions of this client."""

    V5 = 5
    """FER (Panda), robot system 4.2.1 or later."""
    V10 = 10
    """FR3, robot system 5.9.0 or later."""


@dataclass(frozen=True)
class VersionPolicy:
    """Which versions to offer, in order.

    ``VersionPolicy.AUTO`` offers 10 and, if the robot answers that it speaks 5, connects again and offers 5.
    ``VersionPolicy.exact(FciVersion.V5)`` offers one version only.
    """

    offers: tuple[FciVersion, ...]
    AUTO: ClassVar[VersionPolicy]

    @staticmethod
    def exact(version: FciVersion | int) -> VersionPolicy:
        """Offer this version only. ValueError for a version that this client does not speak."""
        return VersionPolicy((FciVersion(version),))

    def __repr__(self) -> str:
        return f"VersionPolicy.exact({self.offers[0]!s})" if len(self.offers) == 1 else "VersionPolicy.AUTO"


VersionPolicy.AUTO = VersionPolicy((FciVersion.V10, FciVersion.V5))

# The vendor's compatibility table: FCI server version -> (robot system, libfranka release).
_ROBOT_SYSTEMS = {
    10: ("5.9.0 or later (FR3)", "0.18.0 or later"),
    9: ("5.7.2 or later (FR3)", "0.15.0"),
    8: ("5.7.0 or later (FR3)", "0.14.1"),
    7: ("5.5.0 or later (FR3)", "0.13.3"),
    6: ("5.2.0 or later (FR3)", "0.10.0"),
    5: ("4.2.1 or later (FER/Panda)", "0.9.1"),
    4: ("4.0.0 or later (FER/Panda)", "0.8.0"),
    3: ("3.0.0 or 1.3.0 and later (FER/Panda)", "before 0.8.0"),
}


def robot_system(server_version: int) -> str:
    """Say in words which robot system reports this FCI server version (vendor's compatibility table)."""
    if server_version not in _ROBOT_SYSTEMS:
        return f"no released robot system is known to report FCI version {server_version}"
    system, library = _ROBOT_SYSTEMS[server_version]
    return f"FCI version {server_version} belongs to robot system {system}, libfranka {library}"
