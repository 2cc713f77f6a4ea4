"""Rotation vectors: R = exp([w]x), and the 6-vector that leads from one pose to another."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["advance", "difference", "exp", "is_transform", "log"]


def exp(w: np.ndarray) -> np.ndarray:
    """(3,3) rotation about w by |w| rad: 1 + sin|w| K + (1 - cos|w|) K^2, K = [w/|w|]x (Rodrigues)."""
    angle = math.sqrt(w @ w)
    if angle < 1e-15:
        return np.eye(3)
    x, y, z = w / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)


def log(R: np.ndarray) -> np.ndarray:
    """(3,) rotation vector of R, rad, for angles below pi: axis from the antisymmetric part, angle by atan2."""
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = math.sqrt(axis @ axis)
    cosine = 0.5 * (R[0, 0] + R[1, 1] + R[2, 2] - 1.0)
    if sine < 1e-12:
        return axis
    return axis * (math.atan2(sine, cosine) / sine)


def difference(T: np.ndarray, T0: np.ndarray) -> np.ndarray:
    """(6,) translation (m) and rotation vector (rad) from pose T0 to pose T, base axes."""
    return np.concatenate([T[:3, 3] - T0[:3, 3], log(T[:3, :3] @ T0[:3, :3].T)])


def advance(T0: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The pose that :func:`difference` would find ``step`` away from T0."""
    T = np.eye(4)
    T[:3, :3] = exp(step[3:]) @ T0[:3, :3]
    T[:3, 3] = T0[:3, 3] + step[:3]
    return T


def is_transform(T: np.ndarray, tolerance: float = 1e-5) -> bool:
    """Bottom row 0 0 0 1, rows and columns of the rotation block of unit length (libfranka's test), determinant 1."""
    R = T[:3, :3]
    if not np.isfinite(T).all() or not np.array_equal(T[3], (0.0, 0.0, 0.0, 1.0)):
        return False
    lengths = np.concatenate([np.linalg.norm(R, axis=0), np.linalg.norm(R, axis=1)])
    return bool(np.abs(lengths - 1.0).max() < tolerance and np.linalg.det(R) > 1.0 - 10 * tolerance)
