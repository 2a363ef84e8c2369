"""Words for paths that cannot be followed: which joint, where, and by how much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC, Model
from predyn.planning.best_timing import Blocked
from predyn.planning.path_rows import Grid
from predyn.planning.path_torques import directions

Floats = NDArray[np.float64]


def explain_limits(model: Model, grid: Grid) -> str | None:
    """Limits that leave no range at all to a joint, or no velocity in the way that it must go."""
    for kind in ("effort", "acceleration"):
        low, high = getattr(model.limits, kind).T
        none = np.flatnonzero(low == high)
        if len(none):
            j = int(none[0])
            return (
                f"the {kind} limits of joint {model.joint_names[j]!r} are both {low[j] + 0.0:g} "
                "and leave no range; a path needs one"
            )
    way, (low, high) = directions(grid.dense[1]), model.limits.velocity.T
    still = ((way > 0.0) & (high <= 0.0)) | ((way < 0.0) & (low >= 0.0))
    if not still.any():
        return None
    row, j = (int(x) for x in np.argwhere(still)[0])
    side = int(way[row, j] > 0.0)
    return (
        f"joint {model.joint_names[j]!r} moves at {_share(grid, row)}, and its "
        f"{('lower', 'upper')[side]} velocity limit {model.limits.velocity[j, side] + 0.0:g} "
        "allows no motion that way"
    )


def explain_blocked(model: Model, grid: Grid, blocked: Blocked) -> str:
    """What blocks the path: torque at rest beyond its limit, otherwise the limits that conflict."""
    static = _static_excess(model, grid)
    if static is not None:
        return static
    kind, joint, side, _ = blocked.name
    bound = getattr(model.limits, kind)[joint, side] + 0.0  # not -0
    return (
        f"no speed is possible at {_place(grid, blocked.node)}: the {('lower', 'upper')[side]} "
        f"{kind} limit {bound:g} of joint {model.joint_names[joint]!r} contradicts the other "
        "limits there"
    )


def _static_excess(model: Model, grid: Grid) -> str | None:
    """The joint whose weight, springs and Coulomb friction most exceed its limit."""
    T, limits = grid.torques, model.limits.effort
    tau = T.g + model.coulomb * T.direction
    over = np.maximum(tau - limits[:, 1], limits[:, 0] - tau)
    size = np.where(np.isfinite(limits), np.abs(limits), 0.0).max(axis=1)
    share = over / np.maximum(size, 1e-12)
    row, joint = (int(x) for x in np.unravel_index(np.argmax(share), share.shape))
    if not share[row, joint] > 0.0:
        return None
    unit = "N" if model.kind[joint] == PRISMATIC else "N m"
    side = int(tau[row, joint] > limits[joint, 1])
    return (
        f"joint {model.joint_names[joint]!r} needs {tau[row, joint]:.5g} {unit} against gravity, "
        f"springs and friction at {_place(grid, row // 2)}, beyond its effort limit "
        f"{limits[joint, side] + 0.0:g} {unit}"
    )


def _place(grid: Grid, node: int) -> str:
    """A node as a share of the length of the path."""
    return _share(grid, node * (len(grid.dense[0]) - 1) // (len(grid.u) - 1))


def _share(grid: Grid, row: int) -> str:
    """A row of the dense places as a share of the length of the path."""
    q = grid.dense[0]
    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1)))
    return f"{100.0 * length[row] / length[-1]:.3g} % of the path"
