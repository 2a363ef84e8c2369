"""What is assumed of torques: that they, their differences or second differences are small.

Order 0 looks at each torque, order 1 at the change from one interval to the next, order 2 at the
change of that change. What changes independently may be the torques of joints; those on links,
where the torque on a link is that of its joint less those of the joints it carries about parallel
axes; or the accelerations of joints, each times an inertia: who moves smoothly needs torques that
go together.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.estimate.grid_kernels import differences
from predyn.estimate.result import LINKS
from predyn.estimate.spline_grid import TOUCHED, Floats, Ints
from predyn.model import PRISMATIC, Model
from predyn.model.couplings import independent

PARALLEL = 1e-9


class Rows(NamedTuple):
    """Rows value + J x of neighbouring unknowns, see band.py."""

    first: Ints  # (R,)
    J: Floats  # (R, width)
    value: Floats  # (R,)


class Changes(NamedTuple):
    """Rows of the sum to be minimised, in the order of time and then of joint."""

    rows: Rows  # what must be small
    start: tuple[Rows, ...]  # the first torque (order 1, 2) and its first change (2)


def combination(model: Model, active: NDArray[np.bool_], of: str) -> Floats:
    """Matrix (m, n) that makes torques of active joints, or on links, from those of all joints."""
    A = np.eye(model.n)
    if of == LINKS:
        links = independent(model).tolist()
        for k, j in enumerate(links):
            parent = int(model.parent[j])
            if parent not in links:  # the world, or a link whose joint follows another
                continue
            above = links.index(parent)
            if not (active[k] and active[above]):
                continue
            if (model.kind[k] == PRISMATIC) != (model.kind[above] == PRISMATIC):
                continue
            cosine = float(model.axis[parent] @ (model.R[j] @ model.axis[j]))
            if abs(abs(cosine) - 1.0) < PARALLEL:
                A[above, k] = -np.sign(cosine)
    return A[active]


def inertias(active: NDArray[np.bool_], U: Floats, h: float) -> tuple[Floats, float, float]:
    """Matrix (m, n) that makes torques of accelerations, and the logarithms of two volumes.

    U: slopes (K, n, 3 n) of the torques about some motion. B = h^2 d tau_k / d c_{k+2} is the mass
    matrix, with what friction and springs add over a step. The matrix is diagonal: the geometric
    means over time of what accelerates a joint alone. The unknowns of an interval are a motion by
    d a = d c_{k+2} / h^2, or torques by B: the evidence needs the logarithm of the ratio of volumes
    that the products and the torques of active joints fill, summed over the intervals; the second
    one is that of the accelerations themselves.
    """
    n = len(active)
    B = h**2 * U[:, :, 2 * n :]
    own = np.abs(np.diagonal(B, axis1=1, axis2=2)[:, active])  # below 0 in motions beyond all sense
    D = np.exp(np.log(np.maximum(own, 1e-300)).mean(axis=0))
    _, whole = np.linalg.slogdet(B)
    _, passive = np.linalg.slogdet(B[:, ~active][:, :, ~active])
    bare = float(passive.sum()) - float(whole.sum())
    return np.diag(D) @ np.eye(n)[active], len(B) * float(np.log(D).sum()) + bare, bare


def changes(tau: Floats, U: Floats, A: Floats | None, order: int) -> Changes:
    """Rows of an order from torques or accelerations (K, n), their slopes (K, n, 3 n), and the
    matrix that combines them; None: each by itself."""
    n = U.shape[2] // TOUCHED
    value, J = (tau, U) if A is None else (tau @ A.T, A @ U)
    start = []
    for _ in range(order):
        start.append(_rows(value[:1], J[:1], n))
        count, m, width = J.shape
        change, wider = np.empty((count - 1, m)), np.empty((count - 1, m, width + n))
        differences(value, J, change, wider)
        value, J = change, wider
    return Changes(_rows(value, J, n), tuple(start))


def is_unit(A: Floats) -> bool:
    return A.shape[0] == A.shape[1] and bool((np.eye(len(A)) == A).all())


def _rows(value: Floats, J: Floats, n: int) -> Rows:
    count, m, width = J.shape
    return Rows(_first(count, m, n), J.reshape(count * m, width), value.ravel())


@lru_cache(maxsize=64)
def _first(count: int, m: int, n: int) -> Ints:
    return np.repeat(np.arange(count) * n, m)
