"""Motion of natural links by the trapezoidal rule (Trujillo 2006, section 3).

    (z+ - z) / h = (v+ + v) / 2                                                            (11)
    (M + I) (v+ - v) / h + (f+ + f) / 2 + g = (D+ + D) u / 2                                (12)

with z+ = z_{i+1} and so on, and u held over the step. The torque is consistent with the rule,
(D+ + D) u / 2; the paper prints its value at the left end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, PredynError
from predyn.published.link_steps import make_step_scratch, march
from predyn.published.natural_links import NaturalLinks

Floats = NDArray[np.float64]


class LinksMotion(NamedTuple):
    """Times (N + 1,), coordinates and velocities (N + 1, n)."""

    t: Floats
    z: Floats
    v: Floats


def simulate_links(
    links: NaturalLinks, z0: ArrayLike, v0: ArrayLike, torques: ArrayLike, step: float
) -> LinksMotion:
    """Simulate from z0, v0 (n,) under torques (N, torques), each held for `step` seconds."""
    u = np.ascontiguousarray(torques, float)
    if u.ndim != 2 or u.shape[1] != len(links.torques) or not len(u):
        raise InputError(
            f"torques: expected (N, {len(links.torques)}) with N at least 1, got {u.shape}"
        )
    h = check_step(step)
    z, v = np.zeros((len(u) + 1, links.n)), np.zeros((len(u) + 1, links.n))
    z[0], v[0] = check_state(links, z0, v0)
    if not np.isfinite(u).all():
        raise InputError(f"torques: not finite in row {int(np.argmin(np.isfinite(u).all(axis=1)))}")
    done = march(links.system, h, z, v, u, make_step_scratch(links.n, u.shape[1]))
    if done < len(u):
        raise PredynError(
            f"Newton's method finds no solution of the trapezoidal step at {done * h:g} s: use a "
            f"step shorter than {h:g} s, or softer springs"
        )
    return LinksMotion(np.arange(len(u) + 1, dtype=np.float64) * h, z, v)


def check_step(step: float) -> float:
    if not (isinstance(step, float | int) and math.isfinite(step) and step > 0):
        raise InputError(f"step: expected seconds above 0, got {step!r}")
    return float(step)


def check_state(links: NaturalLinks, z0: ArrayLike, v0: ArrayLike) -> tuple[Floats, Floats]:
    state = []
    for name, given in (("z0", z0), ("v0", v0)):
        x = np.asarray(given, float)
        if x.shape != (links.n,) or not np.isfinite(x).all():
            raise InputError(f"{name}: expected {links.n} finite numbers, got {given!r}")
        state.append(x)
    return state[0], state[1]
