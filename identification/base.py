"""Base parameters: the combinations of the seventy parameters that torques can show, by name.

Columns are taken in order, link 1 first (inertias, first moments, mass); a column that is independent of those taken
before is kept, every other one is a combination of kept ones, A_dep = A_ind K. Then

    A theta = A_ind (theta_ind + K theta_dep) = A_ind beta          beta_i = theta_i + sum_j K_ij theta_j

is the regrouping of Gautier and Khalil (1990), found from numbers. The names are Gaz's: J is about the frame's origin.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

NAMES = tuple(
    f"{kind}{link}{axes}" if kind == "J" else (f"m{link}" if not axes else f"m{link} c{link}{axes}")
    for link in range(1, 8)
    for kind, axes in [("m", ""), ("m", "x"), ("m", "y"), ("m", "z")]
    + [("J", pair) for pair in ("xx", "xy", "yy", "xz", "yz", "zz")]
)
"""Names of theta's seventy entries in order: m kg, m c kg m, J kg m^2."""
_WITHIN_LINK = (9, 4, 5, 7, 8, 6, 1, 2, 3, 0)
ORDER = tuple(10 * link + k for link in range(7) for k in _WITHIN_LINK)
"""The order in which columns are offered."""
INDEPENDENT = 1e-9
"""A column counts as dependent if less than this part of it is left after projection."""
NEGLIGIBLE = 1e-9
"""Coefficients below this are round-off."""


@dataclass(frozen=True)
class BaseParameter:
    """One identified combination: sum of coefficient times named parameter, and its value in SI units."""

    terms: tuple[tuple[float, str], ...]
    value: float

    @property
    def name(self) -> str:
        """Such as `J1zz + J2yy`; coefficients (lengths and their squares, SI units) to four digits."""
        text = ""
        for coefficient, parameter in self.terms:
            sign = " - " if coefficient < 0 else " + "
            size = "" if abs(abs(coefficient) - 1) < NEGLIGIBLE else f"{abs(coefficient):.4g} "
            text += f"{sign}{size}{parameter}"
        return text.removeprefix(" + ")

    def __repr__(self) -> str:
        return f"{self.name} = {self.value:.6g}"


class Regrouping(NamedTuple):
    """Indices of kept and of dependent columns, and K (kept, dependent) with A_dep = A_ind K."""

    kept: list[int]
    dependent: list[int]
    K: Float[np.ndarray, "r k"]


def regroup(R: Float[np.ndarray, "n 70"]) -> Regrouping:
    """The regrouping of a matrix with A's row space (A itself or its QR factor)."""
    kept, dependent = _independent_columns(R)
    K = np.linalg.lstsq(R[:, kept], R[:, dependent], rcond=None)[0]
    return Regrouping(kept, dependent, np.where(np.abs(K) > NEGLIGIBLE, K, 0.0))


def base_parameters(groups: Regrouping, theta: Float[np.ndarray, "70"]) -> tuple[BaseParameter, ...]:
    """The base parameters and their values at theta."""
    found = []
    for column, row in zip(groups.kept, groups.K, strict=True):
        others = ((float(k), NAMES[other]) for k, other in zip(row, groups.dependent, strict=True) if k != 0)
        terms = ((1.0, NAMES[column]), *others)
        found.append(BaseParameter(terms, float(theta[column] + row @ theta[groups.dependent])))
    return tuple(found)


def null_directions(groups: Regrouping) -> Float[np.ndarray, "70 k"]:
    """One direction for each dependent parameter: it grows by one, the kept ones by -K. No torque changes along it.

    Few entries are not zero, so that parameters of different size do not mix (an orthonormal basis would mix them).
    """
    directions = np.zeros((len(NAMES), len(groups.dependent)))
    directions[groups.dependent, np.arange(len(groups.dependent))] = 1.0
    directions[groups.kept] = -groups.K
    return directions


def _independent_columns(R: np.ndarray) -> tuple[list[int], list[int]]:
    """Greedy choice in ORDER by Gram-Schmidt, projected twice for accuracy."""
    basis, kept, dependent = np.zeros((len(R), 0)), [], []
    for column in ORDER:
        left = R[:, column]
        for _ in range(2):
            left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        if size > INDEPENDENT * max(np.linalg.norm(R[:, column]), 1e-9 * np.abs(R).max()):
            basis = np.column_stack([basis, left / size])
            kept.append(column)
        else:
            dependent.append(column)
    return kept, dependent
