"""Compiled steps of the trapezoidal rule for natural links; see trapezoidal.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.published.link_kernels import cached_kernel, evaluate, factor, solve

Floats = NDArray[np.float64]
NEWTON_STEPS = 40
SETTLED = 1e-10  # relative to a velocity; Newton's next correction would be its square


class StepScratch(NamedTuple):
    """Scratch memory for one step: forces and partials at both ends, and a linear system."""

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


def make_step_scratch(n: int, torques: int) -> StepScratch:
    end = ((n,), (n, n), (n, n), (n, torques))
    arrays = (np.zeros(shape) for shape in (*end, *end, (n, n), (n, 1)))
    return StepScratch(np.zeros(n, np.int64), *arrays)


@cached_kernel
def advance(system, h, z, v, u, z_next, v_next, scratch):
    """One step by Newton's method (13a-13h); v_next contains a guess. False if it fails."""
    n = z.shape[0]
    evaluate(system, z, v, u, scratch.force, scratch.by_z, scratch.by_v, scratch.D)
    floor = 0.0
    for link in range(system.length.shape[0]):
        floor = max(floor, 1e-3 * system.length[link] / h)
    last = False
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            z_next[i] = z[i] + 0.5 * h * (v_next[i] + v[i])  # (13a)
        evaluate(
            system, z_next, v_next, u,
            scratch.force_next, scratch.by_z_next, scratch.by_v_next, scratch.D_next,
        )  # fmt: skip
        for i in range(n):
            scratch.r[i, 0] = -0.5 * h * (scratch.force[i] + scratch.force_next[i])  # (13f)
            for j in range(n):
                scratch.r[i, 0] -= system.mass[i, j] * (v_next[j] - v[j])
                scratch.S[i, j] = (
                    system.mass[i, j]
                    + 0.5 * h * scratch.by_v_next[i, j]
                    + 0.25 * h * h * scratch.by_z_next[i, j]
                )
        if last:
            return True
        if not factor(scratch.S, scratch.pivots):
            return False
        solve(scratch.S, scratch.pivots, scratch.r)  # (13g)
        change, size = 0.0, floor
        for i in range(n):
            v_next[i] += scratch.r[i, 0]
            change = max(change, abs(scratch.r[i, 0]))
            size = max(size, abs(v_next[i]))
        if not change < 1e6 * size:
            return False
        last = change <= SETTLED * size
    return False


@cached_kernel
def march(system, h, z, v, u, scratch):
    """Fill z and v from their first rows on; returns the number of steps done."""
    for i in range(u.shape[0]):
        for j in range(z.shape[1]):
            v[i + 1, j] = v[i, j]
        if not advance(system, h, z[i], v[i], u[i], z[i + 1], v[i + 1], scratch):
            return i
    return u.shape[0]
