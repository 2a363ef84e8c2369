"""Which equations of closed loops are independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.loop_kinematics import loop_equations
from predyn.kernels.tree import Floats, Ints
from predyn.model import Model

RANK = 1e-7  # smallest singular value of independent equations, as a share of the largest one
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
    rows = found.jacobian.reshape(-1, m, model.n)
    kept = _select(rows) if m and len(rows) else []
    dropped = [k for k in range(m) if k not in kept]
    return IndependentEquations(
        np.array(kept, np.int64),
        np.array(dropped, np.int64),
        tuple(found.names[k] for k in kept),
        tuple(found.names[k] for k in dropped),
    )


def _select(jacobians: Floats) -> list[int]:
    sizes = np.linalg.svd(jacobians, compute_uv=False)
    counted = is_nonzero(sizes)
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


def is_nonzero(sizes: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which singular values (..., k), largest first, count as different from zero."""
    return (sizes > RANK * sizes[..., :1]) & (sizes > 0.0)


def solve_least_norm(matrix: Floats, right: Floats) -> Floats:
    """The smallest x (..., n) that minimises |matrix x - right|, for matrix (..., m, n)."""
    U, sizes, Vt = np.linalg.svd(matrix, full_matrices=False)
    along = np.einsum("...mk,...m->...k", U, right)
    scaled = np.divide(along, sizes, out=np.zeros_like(along), where=is_nonzero(sizes))
    return np.einsum("...kn,...k->...n", Vt, scaled)
