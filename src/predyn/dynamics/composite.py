"""Sums over subtrees that every derivative of the Newton-Euler recursion needs.

Rotate joint k slightly and observe from a frame that rotates with its subtree: there, all inertias
and joint axes are constant, and only the motion entering through the joint changes. Every velocity
of the subtree changes by psi-dot_k = v_parent x S_k and every acceleration by
psi-ddot_k + psi-dot_k x v_i, with psi-ddot_k = a_parent x S_k + v_parent x psi-dot_k. Hence the
force of link i changes by

    I_i psi-ddot_k + 2 B_i psi-dot_k,      2 B y = v x* I y - I (v x y) + y x* I v.

Both are linear in quantities of link i that simply add up over a subtree: the inertia (m, h, I),
its rate of change I-dot, and the momentum (n, l), because 2 B y = (I-dot y_a + y_a x n, 2 y_a x l).
A load fixed in world directions rotates backwards in that frame, which adds N w_k, where w_k is the
angular part of S_k. This is the algebra of Singh, Russell and Wensing, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

from predyn.dynamics.forward import (
    ACCELERATION,
    END,
    VELOCITY,
    center,
    load_vectors,
    move,
    place,
    symmetric,
    world_row,
)
from predyn.dynamics.joint_forces import joint_force
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add,
    add6,
    apply,
    apply_inertia,
    apply_symmetric,
    apply_transposed,
    cross,
    cross_force,
    cross_motion,
    dot,
    inertia_rate,
    load3,
    load6,
    load33,
    load_symmetric,
    scale,
    store3,
    store6,
    store33,
    store_symmetric,
    sub,
    sub6,
    world_inertia,
    wrench_at,
)

PSI2 = END  # psi-ddot, 6
FORCE = END + 6  # F, 6; from here on the columns are sums over the subtree
MASS = END + 12  # m, h, I: 10
RATE = END + 22  # I-dot, 6
MOMENTUM = END + 28  # n, l: 6
LOAD_MOMENT = END + 34  # N, angular rows, 9
LOAD_FORCE = END + 43  # sum of the world-fixed loads' forces, 3
SUMS_END = END + 46


@jit
def outward_composites(tree, loads, c, q, v, a, values, work):
    """Kinematics, psi-ddot, and the contributions of each link's own body and loads."""
    n = tree.parent.shape[0]
    world_row(work, tree.gravity)
    for i in range(n):
        row = i + 1
        R, origin, S = place(tree, c, i, q, work)
        v_i, a_i, psi = move(tree, c, i, S, v, a, work)
        up = tree.parent[i]
        psi2 = add6(
            cross_motion(load6(work, up, ACCELERATION), S),
            cross_motion(load6(work, up, VELOCITY), psi),
        )
        store6(work, row, PSI2, psi2)
        if tree.body[i] == 1:
            m = tree.mass[i]
            h, I = world_inertia(R, m, center(tree, i, R, origin), symmetric(tree.Ic, i))  # noqa: E741
            momentum = apply_inertia(m, h, I, v_i)
            force = add6(apply_inertia(m, h, I, a_i), cross_force(v_i, momentum))
            store6(work, row, FORCE, force)
            store(work, row, MASS, m)
            store3(work, row, MASS + 1, h)
            store_symmetric(work, row, MASS + 4, I)
            store_symmetric(work, row, RATE, inertia_rate(h, I, v_i)[1])
            store6(work, row, MOMENTUM, momentum)
        else:
            for k in range(FORCE, LOAD_MOMENT):
                store(work, row, k, 0.0)
    if loads.row.shape[0] > 0:
        add_loads(n, loads, c, values, work)


@jit
def add_loads(n, loads, c, values, work):
    """Subtract the loads in column FORCE, and collect how those fixed in the world turn."""
    for row in range(1, n + 1):
        for k in range(LOAD_MOMENT, SUMS_END):
            store(work, row, k, 0.0)
    for k in range(loads.row.shape[0]):
        row = loads.row[k]
        point, moment, force = load_vectors(loads, c, k, values, work)
        wrench = wrench_at(point, moment, force)
        store6(work, row, FORCE, sub6(load6(work, row, FORCE), wrench))
        if loads.world[k] == 1:
            N = load33(work, row, LOAD_MOMENT)
            store33(work, row, LOAD_MOMENT, add_turning(N, point, moment, force))
            store3(work, row, LOAD_FORCE, add(load3(work, row, LOAD_FORCE), force))


@jit
def add_turning(N, p, m, f):
    """N plus the matrix of w -> p x (w x f) + w x m, by columns."""
    pf = dot(p, f)
    return (
        add(N[0], (pf - p[0] * f[0], -p[0] * f[1] - m[2], m[1] - p[0] * f[2])),
        add(N[1], (m[2] - p[1] * f[0], pf - p[1] * f[1], -p[1] * f[2] - m[0])),
        add(N[2], (-p[2] * f[0] - m[1], m[0] - p[2] * f[1], pf - p[2] * f[2])),
    )


@jit
def sum_into_parent(tree, loads, i, work):
    """Add the sums of link i to its parent's."""
    up = tree.parent[i]
    if up > 0:
        last = SUMS_END if loads.row.shape[0] > 0 else LOAD_MOMENT
        for k in range(FORCE, last):
            store(work, up, k, load(work, up, k) + load(work, i + 1, k))


@jit
def inertia_times(work, row, x):
    """I x with the subtree's inertia."""
    m, h = load(work, row, MASS), load3(work, row, MASS + 1)
    return apply_inertia(m, h, load_symmetric(work, row, MASS + 4), x)


@jit
def coriolis_times(work, row, x):
    """2 B x with the subtree's B."""
    n, l = load6(work, row, MOMENTUM)  # noqa: E741
    angular = add(apply_symmetric(load_symmetric(work, row, RATE), x[0]), cross(x[0], n))
    return (angular, cross(x[0], scale(2.0, l)))


@jit
def coriolis_transposed_times(work, row, x):
    """(2 B)^T x, a force without linear part: its angular part."""
    n, l = load6(work, row, MOMENTUM)  # noqa: E741
    angular = sub(apply_symmetric(load_symmetric(work, row, RATE), x[0]), cross(x[0], n))
    return add(angular, cross(scale(2.0, l), x[1]))


@jit
def turning_times(work, row, w):
    """N w: the effect of the subtree's world-fixed loads when it rotates by w."""
    N = load33(work, row, LOAD_MOMENT)
    return (apply(N, w), cross(w, load3(work, row, LOAD_FORCE)))


@jit
def turning_transposed_times(work, row, x):
    """N^T x, a 3-vector."""
    N = load33(work, row, LOAD_MOMENT)
    return add(apply_transposed(N, x[0]), cross(load3(work, row, LOAD_FORCE), x[1]))


@jit
def joint_torque(tree, c, i, S_dot_F, q, v, a):
    """Joint torque: the subtree's force along the axis plus spring, friction and armature."""
    if tree.loaded[i] == 1:
        return S_dot_F + joint_force(tree, c, i, q, v, a)
    return S_dot_F
