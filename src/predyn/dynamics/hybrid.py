"""Hybrid dynamics: accelerations given at active joints, torques at passive ones.

One articulated-body recursion for any mix, in world components. Inward, a passive joint passes
K - U U^T / D and p + (K - U U^T / D) c + U u / D to its parent (aba.py); an active joint passes K
and p + K (c + S a), because it does not yield. Outward, with a' = a_parent + c,

    passive   a = (u - U . a') / D            active   tau = U . (a' + S a) + S . p

plus spring, friction and armature if the joint has them. With all joints active, this is inverse
dynamics; with all passive, the articulated-body algorithm. These are algorithms 3.4-3.6 of the
paper whose published form is in hybrid_recursion.py.

This recursion cannot handle rotors that couple joints. Then the mass matrix and the bias torques
are partitioned, and M_pp a_p = tau_p - bias_p - M_pa a_a is solved (hybrid_partitioned).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.actuation import Actuated, pack_on_tree, read_mask, view_with_mask
from predyn.dynamics.articulated import (
    BIAS,
    COLUMNS,
    K_A,
    K_B,
    K_C,
    PUSH,
    REST,
    add_to,
    apply_articulated,
    inverse_pivot,
    outward_bodies,
    subtract_outer,
    subtract_square,
)
from predyn.dynamics.forward import ACCELERATION, AXIS, PSI
from predyn.dynamics.hybrid_partitioned import hybrid_partitioned, partitioned_work
from predyn.dynamics.joint_forces import joint_force
from predyn.errors import InputError, ModelError
from predyn.kernels.arguments import Input, joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add6,
    dot6,
    load6,
    load33,
    load_symmetric,
    scale6,
    store6,
    store33,
    store_symmetric,
)
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import Model


@jit
def hybrid(tree, loads, active, c, ins, outs, work):
    """ins: q, v, a, tau, values of the loads; outs: a, tau, which may be the same arrays.

    active  (n,) 1 where a is read, 0 where tau is
    work    (n + 1, COLUMNS)
    """
    q, v, a_in, tau_in, values = ins
    a, tau = outs
    n = tree.parent.shape[0]
    outward_bodies(tree, loads, c, q, v, values, work)
    for i in range(n - 1, -1, -1):
        row, up = i + 1, tree.parent[i]
        S, p = load6(work, row, AXIS), load6(work, row, BIAS)
        A, B = load_symmetric(work, row, K_A), load33(work, row, K_B)
        C = load_symmetric(work, row, K_C)
        U = apply_articulated(A, B, C, S)
        store6(work, row, PUSH, U)
        drift = scale6(load(v, c, i), load6(work, row, PSI))
        if active[i] == 1:
            given = load(a_in, c, i)
            store(a, c, i, given)
            store(work, row, REST + 1, dot6(S, p))
            p = add6(p, add6(apply_articulated(A, B, C, drift), scale6(given, U)))
        else:
            u = load(tau_in, c, i) - dot6(S, p)
            D = dot6(S, U)
            if tree.loaded[i] == 1:
                store(a, c, i, 0.0)
                u = u - joint_force(tree, c, i, q, v, a)
                D = D + tree.armature[i]
            d = inverse_pivot(D, A, C, S)
            store(work, row, REST, d)
            store(work, row, REST + 1, u)
            if up > 0:
                A, B, C = (
                    subtract_square(A, U[0], d),
                    subtract_outer(B, U[0], U[1], d),
                    subtract_square(C, U[1], d),
                )
                p = add6(p, add6(apply_articulated(A, B, C, drift), scale6(u * d, U)))
                store_symmetric(work, row, K_A, A)
                store33(work, row, K_B, B)
                store_symmetric(work, row, K_C, C)
        if up > 0:
            store6(work, row, BIAS, p)
            add_to(work, up, K_A, PUSH, row)
    for i in range(n):
        row = i + 1
        S, U = load6(work, row, AXIS), load6(work, row, PUSH)
        drift = scale6(load(v, c, i), load6(work, row, PSI))
        coming = add6(load6(work, tree.parent[i], ACCELERATION), drift)
        rest = load(work, row, REST + 1)
        if active[i] == 1:
            moving = add6(coming, scale6(load(a, c, i), S))
            needed = dot6(moving, U) + rest
            if tree.loaded[i] == 1:
                needed = needed + joint_force(tree, c, i, q, v, a)
            store(tau, c, i, needed)
            store6(work, row, ACCELERATION, moving)
        else:
            acceleration = (rest - dot6(coming, U)) * load(work, row, REST)
            store(a, c, i, acceleration)
            store(tau, c, i, load(tau_in, c, i))
            store6(work, row, ACCELERATION, add6(coming, scale6(acceleration, S)))


@jit
def _recursion(view, loads, c, ins, outs, work):
    hybrid(view.tree, loads, view.active, c, ins, outs, work)


@jit
def _partitioned(view, loads, c, ins, outs, work):
    hybrid_partitioned(view.tree, loads, view.active, c, ins, outs, work)


def _fields(view: Actuated) -> tuple[Field, ...]:
    return dense(len(view.parent)), dense(len(view.parent))


HYBRID = Kernel(
    _recursion,
    work=lambda view: (len(view.parent) + 1, COLUMNS),
    outputs=_fields,
    forces=True,
    pack=pack_on_tree,
)
HYBRID_PARTITIONED = Kernel(
    _partitioned,
    work=lambda view: partitioned_work(view.tree),
    outputs=_fields,
    forces=True,
    pack=pack_on_tree,
)


def hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    active: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray]:
    """Complete accelerations and torques (..., n) from the given ones: a, tau.

    active  (n,) True if the acceleration of the joint is given and its torque unknown, False if
            the torque is given and the acceleration unknown
    a       (..., n) read only at active joints, where it must be finite; None if there are none
    tau     (..., n) read only at passive joints, where it must be finite; None if there are none

    With all joints active, tau is inverse_dynamics; with all passive, a is forward_dynamics. A
    singular mass matrix of the passive joints is an error; if rotors couple joints, it goes
    unnoticed when rounding keeps the result finite.
    """
    mask = read_mask(model, active)
    inputs = hybrid_inputs(model, q, v, a, tau, mask)
    if model.couplings:
        states = [value for _, value, _ in inputs]
        return check_finite(model, mask, *coupled.hybrid_dynamics(model, states, mask, forces, out))
    view = view_with_mask(model, mask)
    kernel = HYBRID_PARTITIONED if has_coupled_rotors(model) else HYBRID
    result = kernel(model, inputs, forces, out, view=view)
    return check_finite(model, mask, *result)


def hybrid_inputs(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    mask: NDArray[np.bool_],
) -> tuple[Input, ...]:
    """The kernels' inputs; None, for values that no joint reads, becomes zeros."""
    n = joints(model)
    read = {"a": (a, mask, "active"), "tau": (tau, ~mask, "passive")}
    given: list[Input] = [("q", q, n), ("v", v, n)]
    for name, (value, where, kind) in read.items():
        if value is None and where.any():
            joint = model.joint_names[int(np.argmax(where))]
            raise InputError(f"{name}: expected numbers, for joint {joint!r} is {kind}; got None")
        given.append((name, np.zeros(n) if value is None else _read(value, where), n))
    return tuple(given)


def _read(value: ArrayLike, where: NDArray[np.bool_]) -> ArrayLike:
    """The same, with zeros in unread elements if any number is not finite."""
    array = np.asarray(value)
    fits = array.dtype.kind == "f" and array.shape[-1:] == where.shape
    if not fits or np.isfinite(np.add.reduce(array, axis=None)):
        return value
    return np.where(where, array, 0.0)


def check_finite(
    model: Model, mask: NDArray[np.bool_], a: NDArray, tau: NDArray
) -> tuple[NDArray, NDArray]:
    """The results; an InputError if they are not all finite."""
    for x, what in ((a, "acceleration"), (tau, "torque")):
        if not np.isfinite(x).all():
            *sample, joint = (int(k) for k in np.argwhere(~np.isfinite(x))[0])
            cause = "the accelerations overflow"
            if not mask.all():
                cause = "the mass matrix of the passive joints is singular there (a massless tip, "
                cause += "axes in line), or the torques overflow"
            raise ModelError(
                f"hybrid_dynamics: the {what} of joint {model.joint_names[joint]!r} at sample "
                f"{tuple(sample)} is {x[(*sample, joint)]}: {cause}"
            )
    return a, tau
