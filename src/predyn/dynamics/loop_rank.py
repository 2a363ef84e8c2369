"""Which equations of closed loops are independent.

Some linkages move only because their equations depend on each other wherever loops are closed
(planar ones do so everywhere). There, singular values that vanish with closed loops are as large as
the gap in other poses, and must not count: either the gap or the rank at closed loops is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.loop_kinematics import loop_equations
from predyn.kernels.tree import Floats, Ints
from predyn.model import Model

RANK = 1e-7  # smallest singular value of independent equations, as a share of the largest one
GAP, MOST = 100.0, 1e-4  # the same, as a share of the gap of the loops, but at most this
ROUNDING = 1e-12  # singular values below are those of zero rows
PREFERENCE = 1e-2  # share of the smallest one that an early equation must keep to be preferred


class IndependentEquations(NamedTuple):
    """Equations that are kept, and those that follow from them."""

    kept: Ints  # numbers of the equations in the order of loop_equations
    dropped: Ints
    names: tuple[str, ...]  # of those kept
    dropped_names: tuple[str, ...]


def independent_equations(
    model: Model, q: ArrayLike, *, loops: str | Sequence[str] | None = None
) -> IndependentEquations:
    """Equations of the model's loops that determine the others, at poses q (..., n).

    A planar loop that is closed by a hinge has five equations, two of which are independent. The
    rank is that of the Jacobian, by its singular values, at the pose where it is largest; of
    several such poses, the one farthest from a singular pose. Earlier equations are preferred.
    Near a singular pose the result can differ from that elsewhere: give several poses.
    """
    found = loop_equations(model, q, loops=loops)
    m = len(found.names)
    kept = list[int]()
    if found.jacobian.size:
        kept = _select(found.jacobian.reshape(-1, m, model.n), found.values.reshape(-1, m))
    dropped = [k for k in range(m) if k not in kept]
    return IndependentEquations(
        np.array(kept, np.int64),
        np.array(dropped, np.int64),
        tuple(found.names[k] for k in kept),
        tuple(found.names[k] for k in dropped),
    )


def _select(jacobians: Floats, values: Floats) -> list[int]:
    sizes = np.linalg.svd(jacobians, compute_uv=False)
    counted = is_nonzero(sizes, values)
    ranks = counted.sum(axis=-1)
    smallest = np.where(counted, sizes, np.inf).min(axis=-1)
    best = int(np.lexsort((smallest, ranks))[-1])
    rank, rows = int(ranks[best]), jacobians[best]
    if rank == 0:
        return []
    kept: list[int] = []
    for least in (PREFERENCE * smallest[best], RANK * sizes[best, 0]):
        for k in range(len(rows)):
            if k not in kept and len(kept) < rank:
                trial = np.linalg.svd(rows[sorted([*kept, k])], compute_uv=False)
                if trial[-1] > least:
                    kept.append(k)
    return sorted(kept)


def is_nonzero(
    sizes: NDArray[np.floating], values: Floats | None = None, rank: int | None = None
) -> NDArray[np.bool_]:
    """Which singular values (..., k) of loops, largest first, count as different from zero.

    values: of the equations (..., m), if loops may be open; rank: if it is known.
    """
    if rank is not None:
        return (np.arange(sizes.shape[-1]) < rank) & (sizes > ROUNDING)
    least = RANK * sizes[..., :1]
    if values is not None:
        gap = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
        least = np.maximum(least, np.minimum(GAP * gap, MOST * sizes[..., :1]))
    return sizes > np.maximum(least, ROUNDING)


def solve_least_norm(
    matrix: Floats, right: Floats, values: Floats | None = None, rank: int | None = None
) -> Floats:
    """The smallest x (..., n) that minimises |matrix x - right|, for rows of loops (..., m, n).

    values, rank: as for is_nonzero.
    """
    U, sizes, Vt = np.linalg.svd(matrix, full_matrices=False)
    along = np.einsum("...mk,...m->...k", U, right)
    scaled = np.divide(
        along, sizes, out=np.zeros_like(along), where=is_nonzero(sizes, values, rank)
    )
    return np.einsum("...kn,...k->...n", Vt, scaled)
