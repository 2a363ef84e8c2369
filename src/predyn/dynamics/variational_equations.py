"""Equations of one step of the variational simulation, and their Jacobian.

variational_step.py states them. Here are forces and momenta in the middle of a step, the momenta at
its ends that follow from them, and the partials of these in the velocity of the step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.dynamics.composite import SUMS_END
from predyn.dynamics.free_rotation import (
    HINGE,
    moment_in_base_axes,
    to_base_axes,
    turn_base,
    turn_by,
)
from predyn.dynamics.lagrangian_derivatives import gradient_fields, gradients_derivatives
from predyn.kernels.lanes import jit, shared
from predyn.kernels.spatial import add, cross, dot, scale, sub, unit
from predyn.kernels.tree import Floats, Ints, Tree


class Room(NamedTuple):
    """Memory of a step."""

    m: Floats  # (1, n) positions in the middle
    v: Floats  # (1, n) velocities
    next_q: Floats  # (1, n)
    fp: Floats  # (1, 2n)
    dq: Floats  # packed partials of gradient_fields
    dv: Floats
    fq: Floats  # (n, n) the same as matrices
    fv: Floats
    pq: Floats
    pv: Floats
    phi: Floats  # (m,) equations of loops at the end of the step
    next_rows: Floats  # (m, n)
    rows: Floats  # (m, n) at its start
    spare: Floats  # (m, n)
    chosen: Ints  # (m,) independent equations
    A: Floats  # (n + m, n + m)
    x: Floats  # (n + m,)
    e: Floats  # (4,) orientation of the base at the end
    work: Floats


def room_for(tree: Tree, equations: int) -> Room:
    n, m = len(tree.parent), equations
    fp, dq, dv = (np.zeros((1, field.packed)) for field in gradient_fields(tree))
    fq, fv, pq, pv = (np.zeros((n, n)) for _ in range(4))
    next_rows, rows, spare = (np.zeros((m, n)) for _ in range(3))
    return Room(
        m=np.zeros((1, n)),
        v=np.zeros((1, n)),
        next_q=np.zeros((1, n)),
        fp=fp,
        dq=dq,
        dv=dv,
        fq=fq,
        fv=fv,
        pq=pq,
        pv=pv,
        phi=np.zeros(m),
        next_rows=next_rows,
        rows=rows,
        spare=spare,
        chosen=np.zeros(m, np.int64),
        A=np.zeros((n + m, n + m)),
        x=np.zeros(n + m),
        e=np.zeros(4),
        work=np.zeros((n + 1, SUMS_END)),
    )


@jit
def _spread(tree, room):
    """Packed partials as matrices."""
    n = tree.parent.shape[0]
    dq, dv = room.dq, room.dv
    for i in range(n):
        for j in range(n):
            room.fq[i, j] = room.fv[i, j] = room.pq[i, j] = 0.0
            room.pv[i, j] = tree.rotor[i, j] if tree.rotor.shape[0] > 0 else 0.0
    for i in range(n):
        k, up = tree.pair[i], i + 1
        while up > 0:
            j = up - 1
            if j != i:
                room.fq[i, j], room.pq[i, j] = dq[0, 4 * k + 1], dq[0, 4 * k + 3]
                room.fv[i, j] = dv[0, 3 * k + 1]
                room.pv[i, j] += dv[0, 3 * k + 2]
            room.fq[j, i], room.pq[j, i] = dq[0, 4 * k], dq[0, 4 * k + 2]
            room.fv[j, i] = dv[0, 3 * k]
            room.pv[j, i] += dv[0, 3 * k + 2]
            k += 1
            up = tree.parent[j]


@jit
def vector_at(x, i):
    """Three numbers of a vector, from i on."""
    return (x[i], x[i + 1], x[i + 2])


@jit
def base_spin(h, v):
    """b of a step whose angular velocity in the middle is that of v (1, n)."""
    return scale(0.25 * h, vector_at(v[0], HINGE))


@jit
def turn_momentum(b, p):
    """G p."""
    return add(scale(1.0 - dot(b, b), p), add(scale(2.0, cross(b, p)), scale(2.0 * dot(b, p), b)))


@shared
def evaluate(tree, loads, free, h, q, e, tau, values, room):
    """f + tau and p at the middle of the step with velocities room.v, and their partials.

    The slides of a free base are zero, since nothing depends on its place; its torques are moments
    about the base's axes.
    """
    n = tree.parent.shape[0]
    for i in range(n):
        room.m[0, i] = q[0, i] + 0.5 * h * room.v[0, i]
    if free:
        middle = turn_by(e, base_spin(h, room.v))
        turn_base(tree, middle)
        for i in range(2 * HINGE):
            room.m[0, i] = 0.0
    gradients_derivatives(tree, loads, 0, (room.m, room.v, values), (room.fp, room.dq, room.dv),
                          room.work)  # fmt: skip
    _spread(tree, room)
    if free:
        p, rates = vector_at(room.fp[0], n + HINGE), vector_at(room.v[0], HINGE)
        N = moment_in_base_axes(vector_at(room.fp[0], HINGE), p, rates)
        to_base_axes(n, N, p, rates, room.fq, room.fv, room.pq, room.pv)
        for i in range(3):
            room.fp[0, HINGE + i] = N[i]
    for i in range(n):
        room.fp[0, i] += tau[i]


@jit
def momentum_at_end(n, free, h, side, room, p):
    """Momenta at the start (side -1) or the end (side 1) of the step, without those of loops."""
    for i in range(n):
        p[i] = room.fp[0, n + i] + (0.5 * h * side) * room.fp[0, i]
    if free:
        b = scale(-side, base_spin(h, room.v))
        N, spin = vector_at(room.fp[0], HINGE), vector_at(room.fp[0], n + HINGE)
        turned = add(
            scale(0.5 * h * side, add(N, cross(b, N))),
            turn_momentum(b, spin),
        )
        for i in range(3):
            p[HINGE + i] = turned[i]


@jit
def fill_jacobian(n, free, h, room):
    """Partials of h/2 f - p at the start of the step in v, in the leading block of room.A."""
    A, half = room.A, 0.5 * h
    fq, fv, pq, pv = room.fq, room.fv, room.pq, room.pv
    if free:
        _turn_columns(n, base_spin(h, room.v), fq, pq)
    for i in range(n):
        for j in range(n):
            A[i, j] = half * (fv[i, j] + half * fq[i, j]) - (pv[i, j] + half * pq[i, j])
    if free:
        b, spin = base_spin(h, room.v), vector_at(room.fp[0], n + HINGE)
        N = vector_at(room.fp[0], HINGE)
        for j in range(n):
            moment = (
                fv[HINGE, j] + half * fq[HINGE, j],
                fv[HINGE + 1, j] + half * fq[HINGE + 1, j],
                fv[HINGE + 2, j] + half * fq[HINGE + 2, j],
            )
            momentum = (
                pv[HINGE, j] + half * pq[HINGE, j],
                pv[HINGE + 1, j] + half * pq[HINGE + 1, j],
                pv[HINGE + 2, j] + half * pq[HINGE + 2, j],
            )
            turned = sub(
                scale(half, add(moment, cross(b, moment))),
                turn_momentum(b, momentum),
            )
            for i in range(3):
                A[HINGE + i, j] = turned[i]
        for j in range(3):  # b itself changes with the angular velocity
            change = add(
                add(scale(-2.0 * b[j], spin), scale(2.0, cross(unit(j), spin))),
                add(scale(2.0 * dot(b, spin), unit(j)), scale(2.0 * spin[j], b)),
            )
            change = scale(0.25 * h, sub(scale(half, cross(unit(j), N)), change))
            for i in range(3):
                A[HINGE + i, HINGE + j] += change[i]


@jit
def _turn_columns(n, b, fq, pq):
    """Partials in rotations of the base in the middle become those in h/2 times its velocity."""
    size = 1.0 / (1.0 + dot(b, b))
    for r in range(n):
        for k in range(2):
            rows = fq if k == 0 else pq
            x = vector_at(rows[r], HINGE)
            turned = scale(size, add(x, cross(b, x)))
            for i in range(3):
                rows[r, HINGE + i] = turned[i]
