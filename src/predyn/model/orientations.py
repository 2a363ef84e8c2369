"""Target orientations: rotation matrices, or roll, pitch, yaw."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.model.numbers import real_numbers, shown
from predyn.model.parts import Array, turn

ROTATION_ERROR = 1e-6  # how far R R^T may be from the identity
TINY = 1e-15  # a direction cosine below this is rounding and gets no entry


def rotation_of(value: ArrayLike, what: str) -> Array:
    """(3, 3) from a rotation matrix, or from angles (3,) about the world's x, then y, then z."""
    expected = "a rotation matrix (3, 3) or roll, pitch, yaw in radians"
    given = real_numbers(value, what, expected)
    if given.shape == (3,) and np.all(np.isfinite(given)):
        x, y, z = np.eye(3)
        return zero_rounding(turn(z, given[2]) @ turn(y, given[1]) @ turn(x, given[0]))
    if given.shape != (3, 3) or not np.all(np.isfinite(given)):
        raise InputError(f"{what}: expected {expected}, got {shown(value)}")
    error = np.abs(given @ given.T - np.eye(3)).max()
    if not error <= ROTATION_ERROR or np.linalg.det(given) < 0.0:
        raise InputError(
            f"{what}: this is not a rotation matrix: R R^T differs from the identity by "
            f"{error:.1e}, determinant {np.linalg.det(given):.3g}"
        )
    return zero_rounding(given)


def zero_rounding(values: Array) -> Array:
    """The values, with zero in place of rounding errors of direction cosines."""
    return np.where(np.abs(values) < TINY, 0.0, values)


def quaternions(R: Array) -> Array:
    """Unit quaternions (..., 4), in the order w, x, y, z, of rotation matrices (..., 3, 3)."""
    xx, yy, zz = (R[..., k, k] for k in range(3))
    x, y, z = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xy, yz, zx = (R[..., i, j] + R[..., j, i] for i, j in ((1, 0), (2, 1), (0, 2)))
    rows = [  # each is a multiple of the quaternion; the largest one is exact
        (1.0 + xx + yy + zz, x, y, z),
        (x, 1.0 + xx - yy - zz, xy, zx),
        (y, xy, 1.0 - xx + yy - zz, yz),
        (z, zx, yz, 1.0 - xx - yy + zz),
    ]
    table = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    best = np.argmax(np.diagonal(table, axis1=-2, axis2=-1), axis=-1)
    e = np.take_along_axis(table, best[..., None, None], axis=-2)[..., 0, :]
    return np.asarray(e / np.linalg.norm(e, axis=-1, keepdims=True))
