"""One step of the trapezoidal rule for natural links, and many, compiled; see trapezoidal.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import evaluate, factor, kept, solve

Floats = NDArray[np.float64]
NEWTON_STEPS = 40
SETTLED = 1e-10  # of a velocity; Newton's next correction is that of its square


class StepRoom(NamedTuple):
    """Room for one step: forces and partials at both of its ends, and a linear system."""

    pivots: NDArray[np.int64]
    force: Floats
    by_z: Floats
    by_v: Floats
    D: Floats
    force_next: Floats
    by_z_next: Floats
    by_v_next: Floats
    D_next: Floats
    S: Floats  # (n, n)
    r: Floats  # (n, 1)


def step_room(n: int, torques: int) -> StepRoom:
    end = ((n,), (n, n), (n, n), (n, torques))
    arrays = (np.zeros(shape) for shape in (*end, *end, (n, n), (n, 1)))
    return StepRoom(np.zeros(n, np.int64), *arrays)


@kept
def advance(system, h, z, v, u, z_next, v_next, room):
    """One step by Newton's method (13a-13h); v_next holds a guess. False if it finds none."""
    n = z.shape[0]
    evaluate(system, z, v, u, room.force, room.by_z, room.by_v, room.D)
    floor = 0.0
    for link in range(system.length.shape[0]):
        floor = max(floor, 1e-3 * system.length[link] / h)
    last = False
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            z_next[i] = z[i] + 0.5 * h * (v_next[i] + v[i])  # (13a)
        evaluate(
            system, z_next, v_next, u,
            room.force_next, room.by_z_next, room.by_v_next, room.D_next,
        )  # fmt: skip
        for i in range(n):
            room.r[i, 0] = -0.5 * h * (room.force[i] + room.force_next[i])  # (13f)
            for j in range(n):
                room.r[i, 0] -= system.mass[i, j] * (v_next[j] - v[j])
                room.S[i, j] = (
                    system.mass[i, j]
                    + 0.5 * h * room.by_v_next[i, j]
                    + 0.25 * h * h * room.by_z_next[i, j]
                )
        if last:
            return True
        if not factor(room.S, room.pivots):
            return False
        solve(room.S, room.pivots, room.r)  # (13g)
        change, size = 0.0, floor
        for i in range(n):
            v_next[i] += room.r[i, 0]
            change = max(change, abs(room.r[i, 0]))
            size = max(size, abs(v_next[i]))
        if not change < 1e6 * size:
            return False
        last = change <= SETTLED * size
    return False


@kept
def march(system, h, z, v, u, room):
    """Fill z and v from their first rows on; the number of steps that were done."""
    for i in range(u.shape[0]):
        for j in range(z.shape[1]):
            v[i + 1, j] = v[i, j]
        if not advance(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], room):
            return i
    return u.shape[0]
