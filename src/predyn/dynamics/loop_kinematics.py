"""Equations of closed loops at a state: values, Jacobian and bias.

Of frames a and b with angular velocities w and Jacobians J (angular) and K (linear), a product of
axes s = u_a.u_b changes with

    ds/dt = (w_a - w_b).c,   c = u_a x u_b,   dc/dt = (w_a x u_a) x u_b + u_a x (w_b x u_b),

so that its row of the Jacobian is c^T (J_a - J_b). model/loops.py has the equations themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.kernels.arguments import finite, gather, joints
from predyn.kernels.tree import Floats
from predyn.model import Model
from predyn.model.loops import PRODUCTS, Gap, Loop, loop_gap, loop_values, named_loops


class LoopEquations(NamedTuple):
    """phi(q) = 0 of closed loops, with d phi/dt = Phi v and d^2 phi/dt^2 = Phi a + bias.

    Units of phi: m for positions and distances, 1 for products of axes.
    """

    values: Floats  # (..., m) phi
    jacobian: Floats  # (..., m, n) Phi
    bias: Floats  # (..., m) dPhi/dt v
    names: tuple[str, ...]  # (m,) "LOOP x" and so on


def loop_equations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    loops: str | Sequence[str] | None = None,
) -> LoopEquations:
    """Equations of the model's loops at q, v (..., n); v is zero if not given.

    loops: names of the loops to take, in the model's order; default: all. The loops need not be
    closed at q. Equations may depend on each other: see independent_equations.
    """
    n = joints(model)
    closed = named_loops(model, loops)
    rest = np.zeros(model.n)
    flat, lead = gather(model, (("q", q, n), ("v", rest if v is None else v, n)), None)
    states = [finite(name, x) for name, x in zip(("q", "v"), flat, strict=True)]
    values, jacobian, bias = evaluate_loops(model, closed, *states)
    names = tuple(name for loop in closed for name in loop.equations)
    m = len(names)
    return LoopEquations(
        values.reshape(*lead, m), jacobian.reshape(*lead, m, model.n), bias.reshape(*lead, m), names
    )


def evaluate_loops(
    model: Model, loops: Sequence[Loop], q: Floats, v: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Values (B, m), Jacobian (B, m, n) and bias (B, m) at flat states (B, n)."""
    B = len(q)
    parts = [_evaluate_loop(model, loop, q, v) for loop in loops]
    values = np.concatenate([np.zeros((B, 0)), *(part[0] for part in parts)], axis=-1)
    jacobian = np.concatenate([np.zeros((B, 0, model.n)), *(part[1] for part in parts)], axis=-2)
    bias = np.concatenate([np.zeros((B, 0)), *(part[2] for part in parts)], axis=-1)
    return values, jacobian, bias


def _evaluate_loop(
    model: Model, loop: Loop, q: Floats, v: Floats | None
) -> tuple[NDArray, NDArray, NDArray]:
    frames = loop.frame_a, loop.frame_b
    a, b = (frame_kinematics(model, frame, q, v) for frame in frames)
    J_a, J_b = (frame_kinematics_derivatives(model, frame, q).jacobian for frame in frames)
    values = loop_values(loop, a.R, a.p, b.R, b.p)
    rows, pull = J_a[:, 3:] - J_b[:, 3:], a.a - b.a
    if loop.distance is not None:
        apart, speed = a.p - b.p, a.v - b.v
        rows = np.einsum("bi,bij->bj", apart, rows)[:, None] / loop.distance
        squares = (apart * pull + speed * speed).sum(axis=-1, keepdims=True)
        return values, rows, squares / loop.distance
    if not PRODUCTS[loop.kind]:
        return values, rows, pull
    of_a, of_b = (list(x) for x in zip(*PRODUCTS[loop.kind], strict=True))
    u_a, u_b = (np.swapaxes(x, 1, 2) for x in (a.R[..., of_a], b.R[..., of_b]))  # (B, products, 3)
    c = _cross(u_a, u_b)
    rows = np.concatenate((rows, c @ (J_a[:, :3] - J_b[:, :3])), axis=1)
    swing = np.einsum("bi,bki->bk", a.alpha - b.alpha, c)
    if v is not None:
        w_a, w_b = a.w[:, None], b.w[:, None]
        dc = _cross(_cross(w_a, u_a), u_b) + _cross(u_a, _cross(w_b, u_b))
        swing = swing + ((w_a - w_b) * dc).sum(axis=-1)
    return values, rows, np.concatenate((pull, swing), axis=1)


def _cross(x: NDArray, y: NDArray) -> NDArray:
    """Of vectors (..., 3); np.cross takes several times as long for a few of them."""
    (a, b, c), (d, e, f) = ((z[..., 0], z[..., 1], z[..., 2]) for z in (x, y))
    return np.stack((b * f - c * e, c * d - a * f, a * e - b * d), axis=-1)


def gaps_of(model: Model, loops: Sequence[Loop], q: Floats) -> list[Gap]:
    """How far each loop is from closed at flat poses (B, n)."""
    found = []
    for loop in loops:
        a, b = (frame_kinematics(model, frame, q) for frame in (loop.frame_a, loop.frame_b))
        found.append(loop_gap(loop, a.R, a.p, b.R, b.p))
    return found


def describe_gap(loop: Loop, gap: Gap, sample: int) -> str:
    """How far a loop is from closed at one of the poses, in words."""
    text = f"loop {loop.name!r:.60} is open by {float(gap.distance[sample]):.3g} m"
    if PRODUCTS.get(loop.kind):
        text += f" and {float(gap.angle[sample]):.3g} rad"
    return f"{text} between {loop.frame_a!r:.60} and {loop.frame_b!r:.60}"
