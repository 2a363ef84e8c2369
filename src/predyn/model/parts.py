"""Parts of a Model: frames, shapes, limits, packed inertias, rigid poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, ModelError

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]

REVOLUTE, PRISMATIC, SCREW = 0, 1, 2
KINDS = ("revolute", "prismatic", "screw")
SHAPES = ("mesh", "box", "sphere", "cylinder", "capsule")
ROLES = ("visual", "collision")
EPS = float(np.finfo(float).eps)
LARGEST = 1e12  # no number of a model is larger


def frozen(value: ArrayLike, what: str, shape: tuple[int, ...]) -> Array:
    """A read-only C-contiguous float64 copy of `value`, which must have `shape`."""
    array: Array = _frozen(value, what, shape, np.dtype(np.float64), "iubf")
    return array


def frozen_ints(value: ArrayLike, what: str, shape: tuple[int, ...]) -> IntArray:
    """A read-only C-contiguous int64 copy of `value`, which must have `shape`."""
    array: IntArray = _frozen(value, what, shape, np.dtype(np.int64), "iub")
    return array


# Arrays that are frozen already, by identity: an edited model shares them with the one before.
_FROZEN: WeakValueDictionary[int, NDArray] = WeakValueDictionary()


def _frozen(value: Any, what: str, shape: tuple[int, ...], dtype: Any, kinds: str) -> Any:
    known = _FROZEN.get(id(value))
    if known is not None and known is value and value.shape == shape and value.dtype == dtype:
        return value
    try:
        array = np.array(value)
        if array.size and array.dtype.kind not in kinds:
            raise TypeError(f"{array.dtype} values")
        array = np.array(array, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        kind = "whole numbers" if dtype.kind == "i" else "numbers"
        expected = f"{kind} of shape {shape}" if shape else "a number"
        got = f"{value!r:.60}" if isinstance(value, str | Mapping | None) else str(error)
        raise InputError(f"{what}: expected {expected}, got {got}") from None
    if array.shape != shape:
        raise InputError(f"{what}: expected shape {shape}, got {array.shape}")
    array.flags.writeable = False
    _FROZEN[id(array)] = array
    return array


class Limits(NamedTuple):
    """Bounds of the joints, each (n, 2): lower, upper; -inf and +inf if there is none.

    Units: rad or m for position, then per second, per second squared, N m or N for effort.
    """

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array


def rebuilt(self: Any) -> tuple[type, tuple]:
    """Reduce a frozen dataclass so that copies and pickles are rebuilt, checked and read-only."""
    return type(self), tuple(getattr(self, field.name) for field in fields(self))


def text(value: Any, what: str) -> str:
    """The value, if it is a string that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what}: expected a name (str), got {value!r:.60}")
    return value


def dimensions(value: Any, what: str) -> int:
    """Number of axes of an array or of nested lists."""
    try:
        return np.ndim(value)
    except ValueError:
        raise InputError(f"{what}: rows of different lengths, got {value!r:.60}") from None


@dataclass(frozen=True, eq=False)
class Frame:
    """A named pose (R, p) in the frame of a link, or of the world if link is -1."""

    name: str
    link: int
    R: Array
    p: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "R", frozen(self.R, f"frame {self.name!r}: R", (3, 3)))
        object.__setattr__(self, "p", frozen(self.p, f"frame {self.name!r}: p", (3,)))

    __reduce__ = rebuilt


class Triangles(NamedTuple):
    """A surface: points (N, 3) in m, faces (M, 3) of point numbers, counter-clockwise outside."""

    points: NDArray[np.floating]
    faces: NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Shape:
    """A visual or collision shape with the pose (R, p) in the frame of a link (-1: the world).

    size in m: box (x, y, z); sphere (radius,); cylinder and capsule (radius, length along z);
    mesh (scale x, y, z, applied before the pose). `mesh` is the path as written in the model file,
    `file` the file that it was found to be, which is opened only to draw it, and `triangles` its
    surface, if it was given or the model was read from a result file.
    """

    link: int
    kind: str
    R: Array
    p: Array
    size: tuple[float, ...]
    mesh: str | None = None
    role: str = "visual"
    file: str | None = None
    triangles: Triangles | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "R", frozen(self.R, "shape: R", (3, 3)))
        object.__setattr__(self, "p", frozen(self.p, "shape: p", (3,)))
        try:
            size = tuple(float(x) for x in self.size)
        except (TypeError, ValueError):
            raise InputError(f"shape: size: expected numbers, got {self.size!r:.60}") from None
        object.__setattr__(self, "size", size)

    __reduce__ = rebuilt


@dataclass(frozen=True, eq=False)
class DHTable:
    """Standard Denavit-Hartenberg rows (n,) of a model, in its joint order.

    theta and d hold the constant part; q_j is added to theta of a revolute joint and to d of a
    prismatic one. `base` (4, 4) is the pose of the first row's frame in the world.
    """

    theta: Array
    d: Array
    a: Array
    alpha: Array
    base: Array

    def __post_init__(self) -> None:
        n = np.size(self.theta)
        for field in ("theta", "d", "a", "alpha"):
            object.__setattr__(self, field, frozen(getattr(self, field), f"dh.{field}", (n,)))
        object.__setattr__(self, "base", frozen(self.base, "dh.base", (4, 4)))

    __reduce__ = rebuilt


def turn(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Rotation matrix (3, 3) by an angle (rad) about the unit vector `axis` (3,), or matrices
    (..., n, 3, 3) by angles (..., n) about unit vectors (n, 3).
    """
    x, y, z = np.asarray(axis, dtype=float).T
    c, s = np.cos(angle), np.sin(angle)
    k = 1.0 - c
    matrix = np.array(
        [
            [c + k * x * x, k * x * y - s * z, k * x * z + s * y],
            [k * x * y + s * z, c + k * y * y, k * y * z - s * x],
            [k * x * z - s * y, k * y * z + s * x, c + k * z * z],
        ]
    )
    return matrix if matrix.ndim == 2 else np.moveaxis(matrix, (0, 1), (-2, -1))


def joint_motion(kind: int, axis: Array, pitch: float, q: float) -> tuple[Array, Array]:
    """Pose (R, p) of the link frame in its placement frame at coordinate q."""
    if kind == PRISMATIC:
        return np.eye(3), axis * q
    return turn(axis, q), axis * (pitch * q if kind == SCREW else 0.0)


def inertia_matrix(value: ArrayLike | None, what: str) -> Array:
    """(3, 3) from a matrix, three numbers (diagonal), one number (zz) or None (zero)."""
    if value is None:
        return np.zeros((3, 3))
    axes = dimensions(value, what)
    if axes == 0:
        return np.diag([0.0, 0.0, float(frozen(value, what, ()))])
    if axes == 1:
        return np.diag(frozen(value, what, (3,)))
    matrix = frozen(value, what, (3, 3))
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-12 * np.abs(matrix).max()):
        raise ModelError(f"{what} is not symmetric: {matrix.tolist()}")
    return 0.5 * (matrix + matrix.T)


def pack_inertia(mass: float, com: ArrayLike, inertia: Array) -> Array:
    """(10,) row m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin, from I (3, 3) about c."""
    c = np.asarray(com, dtype=float)
    full = inertia + mass * (c @ c * np.eye(3) - np.outer(c, c))
    xx, xy, yy, xz, yz, zz = full[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]
    return np.array([mass, *(mass * c), xx, xy, yy, xz, yz, zz])


def about_origin(row: Array) -> Array:
    """The (3, 3) inertia about the origin from a (10,) row."""
    xx, xy, yy, xz, yz, zz = row[4:]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def unpack_inertia(row: Array) -> tuple[float, Array, Array]:
    """Mass, centre of mass (zero if massless) and inertia (3, 3) about it, from a (10,) row."""
    mass = float(row[0])
    c = row[1:4] / mass if mass > 0.0 else np.zeros(3)
    return mass, c, about_origin(row) - mass * (c @ c * np.eye(3) - np.outer(c, c))


_FULL = np.array([4, 5, 7, 5, 6, 8, 7, 8, 9])  # columns of inertia rows that form a full matrix


def unpack_inertias(rows: Array) -> tuple[Array, Array, Array]:
    """Masses (n,), centres of mass (n, 3) and inertias (n, 3, 3) about them, from rows (n, 10)."""
    mass, moments = rows[:, 0], rows[:, 1:4]
    c = np.divide(moments, mass[:, None], out=np.zeros_like(moments), where=mass[:, None] != 0.0)
    inertia = rows[:, _FULL].reshape(-1, 3, 3) + moments[:, :, None] * c[:, None, :]
    inertia.reshape(-1, 9)[:, ::4] -= (moments * c).sum(axis=1)[:, None]  # the diagonals
    return mass, c, inertia


def move_inertia(row: Array, R: Array, p: Array) -> Array:
    """The same body's (10,) row in a frame in which its own frame has the pose (R, p)."""
    mass, c, inertia = unpack_inertia(row)
    return pack_inertia(mass, R @ c + p, R @ inertia @ R.T)


def weld(
    parent: IntArray, fixed: NDArray[np.bool_], R: Array, p: Array
) -> tuple[IntArray, Array, Array]:
    """Hosts of links after some of them are fixed to their parents.

    R (n, 3, 3), p (n, 3): pose of each fixed link in its parent. Returns, for every link, the
    nearest link at or above it that still moves (-1: the world), and its pose in that host's frame.
    """
    n = len(parent)
    host = np.arange(n)
    host_R, host_p = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
    for j in np.flatnonzero(fixed):
        k = parent[j]
        if k < 0:
            host[j], host_R[j], host_p[j] = -1, R[j], p[j]
        else:
            host[j] = host[k]
            host_R[j] = host_R[k] @ R[j]
            host_p[j] = host_R[k] @ p[j] + host_p[k]
    return host, host_R, host_p
