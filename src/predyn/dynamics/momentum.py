"""Centre of mass, momentum and its rate, with their exact partials.

They are sums over all links of m c, I v and I a + v x* I v (the rate of momentum without gravity).
The partials of the rate in q_k, v_k, a_k are the vectors F_q, F_v, F_a of joint k in
rnea_derivatives.py (Q, V, U in the code); and

    d (sum I v)/dq_k = I_k psi-dot_k + S_k x* (sum I v)_k       d (sum I v)/dv_k = U_k
    d (sum m c)/dq_k = linear part of U_k

where I_k and (sum I v)_k are sums over the subtree of joint k.

Angular momentum L and its rate are about the centre of mass.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_motion
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.composite import (
    FORCE,
    MASS,
    MOMENTUM,
    PSI2,
    SUMS_END,
    coriolis_times,
    inertia_times,
    outward_composites,
    sum_into_parent,
)
from predyn.dynamics.forward import AXIS, PSI
from predyn.errors import ModelError
from predyn.kernels.arguments import motion
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add6,
    cross,
    cross_force,
    load3,
    load6,
    scale,
    scale6,
    store3,
    sub,
)
from predyn.kernels.tree import weightless_tree_of
from predyn.model import Model

_TOTAL_END = MOMENTUM + 6


class CentroidalMotion(NamedTuple):
    """World components. The linear momentum is mass times velocity."""

    mass: float  # kg
    com: NDArray  # (..., 3) centre of mass, m
    velocity: NDArray  # (..., 3)
    acceleration: NDArray  # (..., 3)
    angular_momentum: NDArray  # (..., 3) about the centre of mass, kg m^2/s
    angular_momentum_rate: NDArray  # (..., 3) N m


class CentroidalDerivatives(NamedTuple):
    """Partials (..., 3, n). com_q is also velocity_v and acceleration_a, L_v also rate_a."""

    com_q: NDArray
    velocity_q: NDArray
    acceleration_q: NDArray
    acceleration_v: NDArray
    L_q: NDArray
    L_v: NDArray
    rate_q: NDArray
    rate_v: NDArray


@jit
def _totals(tree, loads, c, ins, work):
    """Sums over all links in row 0: returns (1 / mass, com, momentum, rate) about the origin."""
    q, v, a = ins
    n = tree.parent.shape[0]
    outward_composites(tree, loads, c, q, v, a, q, work)
    for k in range(FORCE, _TOTAL_END):
        store(work, 0, k, 0.0)
    for i in range(n - 1, -1, -1):
        sum_into_parent(tree, loads, i, work)
        if tree.parent[i] == 0:
            for k in range(FORCE, _TOTAL_END):
                store(work, 0, k, load(work, 0, k) + load(work, i + 1, k))
    inverse = 1.0 / load(work, 0, MASS)
    com = scale(inverse, load3(work, 0, MASS + 1))
    return inverse, com, load6(work, 0, MOMENTUM), load6(work, 0, FORCE)


@jit
def centroidal_motion(tree, loads, c, ins, outs, work):
    inverse, com, momentum, rate = _totals(tree, loads, c, ins, work)
    store3(outs[0], c, 0, com)
    store3(outs[1], c, 0, scale(inverse, momentum[1]))
    store3(outs[2], c, 0, scale(inverse, rate[1]))
    store3(outs[3], c, 0, sub(momentum[0], cross(com, momentum[1])))
    store3(outs[4], c, 0, sub(rate[0], cross(com, rate[1])))


@jit
def _store_column(out, c, n, i, x):
    for k in range(3):
        store(out, c, k * n + i, x[k])


@jit
def _about_com(change, com, moved, force):
    """Change of (moment about com) when the wrench changes and com moves."""
    return sub(sub(change[0], cross(com, change[1])), cross(moved, force))


@jit
def centroidal_derivatives(tree, loads, c, ins, outs, work):
    com_q, velocity_q, acceleration_q, acceleration_v, L_q, L_v, rate_q, rate_v = outs
    n = tree.parent.shape[0]
    inverse, com, momentum, rate = _totals(tree, loads, c, ins, work)
    for i in range(n):
        row = i + 1
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        U = inertia_times(work, row, S)
        V = add6(coriolis_times(work, row, S), scale6(2.0, inertia_times(work, row, psi)))
        Q = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
        Q = add6(Q, cross_force(S, load6(work, row, FORCE)))
        P = add6(inertia_times(work, row, psi), cross_force(S, load6(work, row, MOMENTUM)))
        moved = scale(inverse, U[1])
        still = scale(0.0, moved)
        _store_column(com_q, c, n, i, moved)
        _store_column(velocity_q, c, n, i, scale(inverse, P[1]))
        _store_column(acceleration_q, c, n, i, scale(inverse, Q[1]))
        _store_column(acceleration_v, c, n, i, scale(inverse, V[1]))
        _store_column(L_q, c, n, i, _about_com(P, com, moved, momentum[1]))
        _store_column(L_v, c, n, i, _about_com(U, com, still, momentum[1]))
        _store_column(rate_q, c, n, i, _about_com(Q, com, moved, rate[1]))
        _store_column(rate_v, c, n, i, _about_com(V, com, still, rate[1]))


CENTROIDAL_MOTION = Kernel(
    centroidal_motion,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=lambda tree: tuple(dense(3) for _ in range(5)),
    view=weightless_tree_of,
)
CENTROIDAL_DERIVATIVES = Kernel(
    centroidal_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=lambda tree: tuple(dense(3, len(tree.parent)) for _ in range(8)),
    view=weightless_tree_of,
)


def _inputs(model: Model, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None) -> tuple:
    inputs = motion(model, q, v, a)
    if model.mass == 0.0:
        raise ModelError(f"model {model.name!r} has no mass and so no centre of mass")
    return inputs


def spatial_momentum(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    out: tuple[NDArray, ...] | None = None,
) -> CentroidalMotion:
    """Centre of mass, its motion, and the angular momentum about it with its rate.

    q, v, a: (..., n); v and a are zero if not given. Armature and rotors, which spin inside the
    joints, are not included. out: the five arrays after the mass.
    """
    inputs = _inputs(model, q, v, a)
    if model.couplings:
        chain = Chain(model, q, v, a)
        return spatial_momentum(chain.tree, *chain.motion, out=out)
    parts = CENTROIDAL_MOTION(model, inputs, out=out)
    return CentroidalMotion(model.mass, *parts)


def spatial_momentum_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    out: tuple[NDArray, ...] | None = None,
) -> CentroidalDerivatives:
    """Exact partials of spatial_momentum in q, v and a."""
    inputs = _inputs(model, q, v, a)
    if model.couplings:
        found = coupled_motion.spatial_momentum_derivatives(model, q, v, a, out)
        return CentroidalDerivatives(*found)
    return CentroidalDerivatives(*CENTROIDAL_DERIVATIVES(model, inputs, out=out))


def center_of_mass(model: Model, q: ArrayLike) -> NDArray:
    """Centre of mass of all links, (..., 3), world components."""
    return spatial_momentum(model, q).com
