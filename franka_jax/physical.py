"""Is a set of inertial parameters a set of bodies? Per link, from the pseudo-inertia (see `dynamics.inertia`).

A link is physically consistent if its 4x4 pseudo-inertia matrix is positive semidefinite; in plain words: the mass is
positive, the principal moments about the centre of mass are positive, and none exceeds the sum of the other two
(triangle inequality).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUND_OFF = 1e-12
"""A negative eigenvalue of this fraction of the largest is a zero: a point mass has three zeros."""


@dataclass(frozen=True)
class LinkReport:
    """Judgement of one link.

    `mass` kg; `smallest_eigenvalue` of the pseudo-inertia (mixed units: its sign is the statement; round-off of a zero,
    see `ROUND_OFF`, is given as 0); `moments` (3,) kg m^2 about the centre of mass, ascending; `triangle` kg m^2: sum
    of the two smaller moments minus the largest.
    """

    name: str
    mass: float
    smallest_eigenvalue: float
    moments: tuple[float, float, float]
    triangle: float

    @property
    def physical(self) -> bool:
        """Whether a body with these parameters can exist."""
        return self.smallest_eigenvalue >= 0 and self.mass >= 0

    @property
    def reason(self) -> str:
        """What is wrong, or an empty string."""
        if self.physical:
            return ""
        if self.mass <= 0:
            return "mass not positive"
        return "negative moment of inertia" if self.moments[0] < 0 else "triangle inequality violated"


@dataclass(frozen=True)
class PhysicalReport:
    """One `LinkReport` per moving link; false in a boolean context if any link is not a body."""

    links: tuple[LinkReport, ...]

    def __bool__(self) -> bool:
        return all(link.physical for link in self.links)

    @property
    def violations(self) -> tuple[LinkReport, ...]:
        """The links that no body can have."""
        return tuple(link for link in self.links if not link.physical)

    def __repr__(self) -> str:
        head = f"{'link':<12}{'mass kg':>10}{'min eig':>12}{'triangle':>12}  principal moments kg m^2"
        rows = [
            f"{x.name:<12}{x.mass:>10.4f}{x.smallest_eigenvalue:>12.2e}{x.triangle:>12.2e}  "
            + " ".join(f"{m:.5f}" for m in x.moments)
            + (f"   {x.reason}" if x.reason else "")
            for x in self.links
        ]
        return "\n".join([head, *rows])


def check_links(names: Sequence[str], phi: np.ndarray) -> PhysicalReport:
    """Judge the parameters phi (n, 10) of the links `names`."""
    return PhysicalReport(tuple(_check_link(name, row) for name, row in zip(names, phi, strict=True)))


def _check_link(name: str, phi: np.ndarray) -> LinkReport:
    m, h = phi[0], phi[1:4]
    xx, xy, yy, xz, yz, zz = phi[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J = np.block([[np.trace(I) / 2 * np.eye(3) - I, h[:, None]], [h[None, :], np.array([[m]])]])
    c = h / m if m != 0 else np.zeros(3)
    moments = np.linalg.eigvalsh(I - m * (c @ c * np.eye(3) - np.outer(c, c)))
    low, middle, high = (float(x) for x in moments)
    smallest, *_, largest = (float(x) for x in np.linalg.eigvalsh(J))
    if -ROUND_OFF * largest < smallest < 0:
        smallest = 0.0
    return LinkReport(name, float(m), smallest, (low, middle, high), low + middle - high)
