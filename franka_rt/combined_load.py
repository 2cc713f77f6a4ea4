"""End effector and load as one body, as libfranka computes it (FCI protocol 15.1).

With [c]x the cross-product matrix, everything in flange axes, tensors about the respective centre of mass::

    m_total    = m_ee + m_load                                           (added in the datagram's precision)
    F_x_Ctotal = (m_ee c_ee + m_load c_load) / (m_ee + m_load)           (zero without mass)
    I_total    = (I_ee - m_ee [c_ee]x^2) + (I_load - m_load [c_load]x^2) + m_total [c_total]x^2

The inertia of a massless part does not count.
"""

from __future__ import annotations

import numpy as np

__all__ = ["centre", "inertia", "mass"]

Part = tuple[float, np.ndarray, np.ndarray]
"""Mass (kg), centre of mass (3,) m, inertia (3,3) kg m^2."""


def mass(m_ee: float, m_load: float, real: np.dtype) -> float:
    """kg, added in the precision in which the numbers came."""
    return float(real.type(m_ee) + real.type(m_load))


def centre(m_ee: float, c_ee: np.ndarray, m_load: float, c_load: np.ndarray) -> np.ndarray:
    """(3,) m."""
    if not m_ee + m_load > 0.0:
        return np.zeros(3)
    return (m_ee * c_ee + m_load * c_load) / (m_ee + m_load)


def inertia(ee: Part, load: Part, m_total: float, c_total: np.ndarray) -> np.ndarray:
    """(3,3) kg m^2."""
    if m_total == 0.0:
        return np.zeros((3, 3))
    about_flange = sum((I - m * _cross_squared(c) for m, c, I in (ee, load) if m != 0.0), np.zeros((3, 3)))
    return about_flange + m_total * _cross_squared(c_total)


def _cross_squared(c: np.ndarray) -> np.ndarray:
    """[c]x [c]x = c c^T - |c|^2 1, not with np.dot, which rounds as the processor likes and not as law.h."""
    x, y, z = c.tolist()
    return np.outer(c, c) - (x * x + y * y + z * z) * np.eye(3)
