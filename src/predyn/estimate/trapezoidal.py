"""Motion of natural links by the trapezoidal rule (Trujillo 2006, section 3), compiled.

    (z+ - z) / h = (v+ + v) / 2                                                            (11)
    (M + I) (v+ - v) / h + (f+ + f) / 2 + g = (D+ + D) u / 2                                (12)

with z+ = z_{i+1} and so on, and u held over the step. The torque is taken as consistent with the
rule, (D+ + D) u / 2; the paper prints its value at the left end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, PredynError
from predyn.estimate.link_kernels import System, evaluate, factor, kept, solve
from predyn.estimate.natural_links import NaturalLinks

Floats = NDArray[np.float64]
NEWTON_STEPS = 40
SETTLED = 1e-10  # of a velocity; Newton's next correction is that of its square


class StepRoom(NamedTuple):
    """Room for one step: forces and partials at both of its ends, and a linear system."""

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
    pivots: NDArray[np.int64]


def step_room(n: int, torques: int) -> StepRoom:
    shapes = ((n,), (n, n), (n, n), (n, torques)) * 2 + ((n, n), (n, 1))
    return StepRoom(*(np.zeros(shape) for shape in shapes), np.zeros(n, np.int64))


class LinksMotion(NamedTuple):
    """Times (N + 1,), coordinates and velocities (N + 1, n)."""

    t: Floats
    z: Floats
    v: Floats


def simulate_links(
    links: NaturalLinks, z0: ArrayLike, v0: ArrayLike, torques: ArrayLike, step: float
) -> LinksMotion:
    """The motion from z0, v0 (n,) on under torques (N, torques), each held for `step` seconds."""
    u = np.ascontiguousarray(torques, float)
    if u.ndim != 2 or u.shape[1] != len(links.torques) or not len(u):
        raise InputError(
            f"torques: expected (N, {len(links.torques)}) with N at least 1, got {u.shape}"
        )
    h = checked_step(step)
    z, v = np.zeros((len(u) + 1, links.n)), np.zeros((len(u) + 1, links.n))
    z[0], v[0] = checked_state(links, z0, v0)
    if not np.isfinite(u).all():
        raise InputError(f"torques: not finite in row {int(np.argmin(np.isfinite(u).all(axis=1)))}")
    done = march(links.system, h, z, v, u, step_room(links.n, u.shape[1]))
    if done < len(u):
        raise PredynError(
            f"the trapezoidal step from {done * h:g} s on has no solution that Newton's method "
            f"finds: take a step shorter than {h:g} s, or softer springs"
        )
    return LinksMotion(h * np.arange(len(u) + 1), z, v)


def checked_step(step: float) -> float:
    if not (isinstance(step, float | int) and math.isfinite(step) and step > 0):
        raise InputError(f"step: expected seconds, more than 0, got {step!r}")
    return float(step)


def checked_state(links: NaturalLinks, z0: ArrayLike, v0: ArrayLike) -> tuple[Floats, Floats]:
    state = []
    for name, given in (("z0", z0), ("v0", v0)):
        x = np.asarray(given, float)
        if x.shape != (links.n,) or not np.isfinite(x).all():
            raise InputError(f"{name}: expected {links.n} finite numbers, got {given!r}")
        state.append(x)
    return state[0], state[1]


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


__all__ = ["LinksMotion", "System", "simulate_links"]
