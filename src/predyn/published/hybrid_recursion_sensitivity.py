"""Sensitivity of the published hybrid recursion: algorithm 4.1, for branched chains.

For x = q_j, v_j, the given a_j or tau_j it differentiates algorithms 3.4-3.6 line by line. With i
a link, the paper's "i < j" means "i not in the subtree of j", i - 1 is the parent, and 63-68 are
sums over the children, of which only j has the extra terms. Corrections to the printed equations:

    da_i     -ad_{S_i v_i} dV_i for all i in the subtree, also for x = q_i
    db_i     -ad*_{dV_i} (J V_i) - ad*_{V_i} (J dV_i)
    65       -Ad_h* ad*_{S_j} z+_j + Ad_h* dz+_j + db_i, and dAd_h = -ad_{S_j} Ad_h in 63
    75       dc = (Omega (dtau - S^T dz) - (tau - S^T z) dOmega) / Omega^2
    dz+_i    dz + dphi (tau - S^T z) + phi (dtau - S^T dz)
    80       da_i = dc - dphi^T V-dot+ - phi^T dV-dot+

A wrench fixed in world directions rotates in the link's frame: it adds to dz_i in q_j.
hybrid_derivatives.py computes the same faster.
Reference: as in hybrid_recursion.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.actuation import Actuated, pack_on_tree, read_mask
from predyn.dynamics.hybrid import check_finite, hybrid_inputs
from predyn.dynamics.hybrid_derivatives import Partials, flatten_out, split_partials
from predyn.dynamics.joint_forces import joint_slope, joint_stiffness
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense, scratch
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import (
    add6,
    apply_transposed,
    cross,
    cross_force,
    cross_motion,
    dot6,
    load3,
    load6,
    load33,
    scale6,
    store3,
    store6,
    sub6,
    wrench_at,
)
from predyn.model import Model
from predyn.published.hybrid_recursion import (
    COLUMNS,
    COMING,
    J_HAT,
    J_PLUS,
    OMEGA,
    PHI,
    VELOCITY,
    Z_PLUS,
    T,
    U,
    add_in_parent,
    along_screw,
    inertia_times,
    load_in_link,
    matrix_times,
    on_screw,
    recursion,
    recursive_view,
    to_link,
    to_parent,
)
from predyn.published.hybrid_recursion import DRIFT as DRIFT_VALUE

POSITION, RATE, GIVEN = 0, 1, 2  # x = q_j, v_j, and a_j or tau_j

# Columns of a link's row in addition to those of the recursion, all d/dx
TURN = COLUMNS  # angular part of Ad_{T_ji^-1} S_j, 3
DV = COLUMNS + 3  # dV, 6
DDRIFT = COLUMNS + 9  # da, 6
DZ = COLUMNS + 15  # dz, 6, first dB
DJ = COLUMNS + 21  # dJ-hat, 36
DJ_PLUS = COLUMNS + 57  # dJ-hat+, 36
DPHI = COLUMNS + 93  # dphi, 6
DC = COLUMNS + 99  # dc
DACCELERATION = COLUMNS + 100  # dV-dot, 6
FOUND = COLUMNS + 106  # df_i
ALL_COLUMNS = COLUMNS + 107


@jit
def _outward_rates(tree, c, j, kind, v, work):
    """Links of the subtree of j: dV, da and db."""
    for i in range(j, j + tree.size[j]):
        row, up = i + 1, tree.parent[i]
        V = load6(work, row, VELOCITY)
        rate = load(v, c, i)
        own = along_screw(tree, i, rate)
        one = along_screw(tree, i, 1.0 + 0.0 * rate)
        if i > j:
            dV = to_link(work, row, load6(work, up, DV))
            turn = apply_transposed(load33(work, row, T), load3(work, up, TURN))
        else:
            turn = one[0]
            dV = scale6(0.0, V)
            if kind == POSITION:
                dV = cross_motion(V, one)  # ad of Ad V_P on S, and S x S = 0
            if kind == RATE:
                dV = one
        da = cross_motion(dV, own)
        if i == j and kind == RATE:
            da = add6(da, cross_motion(V, one))
        momentum, change = inertia_times(tree, i, V), inertia_times(tree, i, dV)
        store3(work, row, TURN, turn)
        store6(work, row, DV, dV)
        store6(work, row, DDRIFT, da)
        store6(work, row, DZ, add6(cross_force(dV, momentum), cross_force(V, change)))


@jit
def _turn_loads(tree, loads, c, j, values, work):
    """World-fixed loads in the subtree of j as it rotates."""
    for k in range(loads.row.shape[0]):
        row = loads.row[k]
        if loads.world[k] == 1 and j < row and row <= j + tree.size[j]:
            p, moment, force = load_in_link(loads, c, k, values, work)
            w = load3(work, row, TURN)
            turned = wrench_at(p, cross(w, moment), cross(w, force))
            store6(work, row, DZ, add6(load6(work, row, DZ), turned))


@jit
def _clear(work, row, first, last):
    for k in range(first, last):
        store(work, row, k, 0.0)


@jit
def _own_torque(tree, active, c, i, j, kind, q, v):
    """d tau_i / dx minus spring, ligaments and friction, at a passive joint."""
    change = 0.0 * load(v, c, i)
    if i == j:
        if kind == GIVEN and active[i] == 0:
            change = change + 1.0
        if tree.loaded[i] == 1:
            if kind == POSITION:
                change = change - joint_stiffness(tree, c, i, q)
            if kind == RATE:
                change = change - joint_slope(tree, c, i, v)
    return change


@jit
def _inward_link(tree, active, c, i, j, kind, q, v, a, work):
    """69-75 and the lines of z+ and J-hat+ for one link; J-hat changes only above j."""
    row = i + 1
    above = i < j and kind == POSITION
    one = along_screw(tree, i, 1.0 + 0.0 * load(v, c, i))
    dz = load6(work, row, DZ)
    if i >= j:
        da = load6(work, row, DDRIFT)
        if i == j and kind == GIVEN and active[i] == 1:
            da = add6(da, one)
        dz = add6(dz, matrix_times(work, row, J_HAT, da))  # 69
    if above:
        known = load6(work, row, DRIFT_VALUE)
        if active[i] == 1:
            known = add6(known, along_screw(tree, i, load(a, c, i)))
        dz = add6(dz, matrix_times(work, row, DJ, known))  # 69
    store6(work, row, DZ, dz)
    if active[i] == 1:
        if above:
            for k in range(36):
                store(work, row, DJ_PLUS + k, load(work, row, DJ + k))
        return dz
    phi, omega, u = load6(work, row, PHI), load(work, row, OMEGA), load(work, row, U)
    du = _own_torque(tree, active, c, i, j, kind, q, v) - on_screw(tree, i, dz)
    plus = add6(dz, scale6(du, phi))
    dc = du * omega
    if above:
        push = matrix_times(work, row, DJ, one)
        domega = on_screw(tree, i, push)  # 71
        dphi = scale6(omega, sub6(push, scale6(domega, phi)))  # 73
        dc = dc - u * omega * omega * domega  # 75
        plus = add6(plus, scale6(u, dphi))
        store6(work, row, DPHI, dphi)
        for k in range(0, 36, 6):
            column, change = load6(work, row, J_HAT + k), load6(work, row, DJ + k)
            less = scale6(on_screw(tree, i, column), dphi)
            less = add6(less, scale6(on_screw(tree, i, change), phi))
            store6(work, row, DJ_PLUS + k, sub6(change, less))
    store(work, row, DC, dc)
    return plus


@jit
def _inward(tree, active, c, j, kind, q, v, a, work):
    """Backward recursion over the subtree of j and the links above it."""
    i = j + tree.size[j] - 1
    while i >= 0:
        row, up = i + 1, tree.parent[i]
        plus = _inward_link(tree, active, c, i, j, kind, q, v, a, work)
        if i <= j and up > 0:  # the parent is above j and depends on x through this child only
            _clear(work, up, DZ, DPHI + 6)
        if i == j and kind == POSITION:
            one = along_screw(tree, i, 1.0 + 0.0 * load(v, c, i))
            plus = add6(plus, cross_force(one, load6(work, row, Z_PLUS)))  # 65
            for k in range(0, 36, 6):  # 63: in the link's frame -(ad_S^T J+ + J+ ad_S)
                _clear(work, row, DJ + k, DJ + k + 6)
                store(work, row, DJ + k + k // 6, 1.0)
                unit = load6(work, row, DJ + k)
                first = cross_force(one, matrix_times(work, row, J_PLUS, unit))
                second = matrix_times(work, row, J_PLUS, cross_motion(one, unit))
                store6(work, row, DJ_PLUS + k, sub6(first, second))
        if up > 0:
            share = to_parent(work, row, plus)
            store6(work, up, DZ, add6(load6(work, up, DZ), share))  # 66, 68
            if i <= j and kind == POSITION:
                add_in_parent(work, row, DJ_PLUS, up, DJ)  # 63, 64, 67
        i = i - 1 if i > j else up - 1


@jit
def _is_related(tree, i, j):
    """Whether z of link i depends on joint j: one is above the other."""
    return (j <= i and i < j + tree.size[j]) or (i <= j and j < i + tree.size[i])


@jit
def _outward(tree, active, c, j, kind, q, v, work):
    """Forward recursion over all links."""
    for i in range(tree.parent.shape[0]):
        row, up = i + 1, tree.parent[i]
        near, above = _is_related(tree, i, j), i < j and kind == POSITION
        coming = load6(work, row, COMING)
        one = along_screw(tree, i, 1.0 + 0.0 * load(v, c, i))
        change = to_link(work, row, load6(work, up, DACCELERATION))
        if i == j and kind == POSITION:
            change = add6(change, cross_motion(coming, one))  # 77
        moving = change
        if active[i] == 1:
            F = matrix_times(work, row, J_HAT, change)
            if near:
                F = add6(F, load6(work, row, DZ))
                if above:
                    F = add6(F, matrix_times(work, row, DJ, coming))
            torque = on_screw(tree, i, F)  # 79
            if i == j:
                torque = torque - _own_torque(tree, active, c, i, j, kind, q, v)
                if kind == GIVEN:
                    torque = torque + tree.armature[i]
                    moving = add6(moving, one)
            store(work, row, FOUND, torque)
        else:
            acceleration = -dot6(change, load6(work, row, PHI))
            if near:
                acceleration = acceleration + load(work, row, DC)
                if above:
                    acceleration = acceleration - dot6(coming, load6(work, row, DPHI))  # 80
            store(work, row, FOUND, acceleration)
            moving = add6(moving, scale6(acceleration, one))
        if i >= j and near:
            moving = add6(moving, load6(work, row, DDRIFT))
        store6(work, row, DACCELERATION, moving)  # 81


@jit
def recursion_sensitivity(view, loads, c, ins, outs, work):
    q, v, values = ins[0], ins[1], ins[4]
    a, tau = outs[:2]
    f_q, f_v, f_u = outs[10:]
    recursion(view, loads, c, ins, (a, tau), work)
    tree, active = view.tree, view.active
    n = tree.parent.shape[0]
    for k in range(6):
        store(work, 0, DACCELERATION + k, 0.0)
    for j in range(n):
        for kind in range(3):
            _outward_rates(tree, c, j, kind, v, work)
            if kind == POSITION:
                _turn_loads(tree, loads, c, j, values, work)
            _inward(tree, active, c, j, kind, q, v, a, work)
            _outward(tree, active, c, j, kind, q, v, work)
            for i in range(n):
                found = load(work, i + 1, FOUND)
                if kind == POSITION:
                    store(f_q, c, i * n + j, found)
                elif kind == RATE:
                    store(f_v, c, i * n + j, found)
                else:
                    store(f_u, c, i * n + j, found)
    split_partials(view, c, (f_q, f_v, f_u), outs[2:10])


def _fields(view: Actuated) -> tuple[Field, ...]:
    n = len(view.parent)
    matrices = (*(dense(n, n) for _ in range(8)), *(scratch(n * n) for _ in range(3)))
    return (dense(n), dense(n), *matrices)


HYBRID_RECURSION_SENSITIVITY = Kernel(
    recursion_sensitivity,
    work=lambda view: (len(view.parent) + 1, ALL_COLUMNS),
    outputs=_fields,
    forces=True,
    pack=pack_on_tree,
)


def hybrid_recursion_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    active: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple | None = None,
) -> tuple[NDArray, NDArray, Partials, Partials]:
    """hybrid_dynamics_derivatives by the published recursion: a, tau, da, dtau."""
    mask = read_mask(model, active)
    inputs = hybrid_inputs(model, q, v, a, tau, mask)
    view = recursive_view(model, mask)
    found = HYBRID_RECURSION_SENSITIVITY(model, inputs, forces, flatten_out(out), view=view)
    check_finite(model, mask, *found[:2])
    return found[0], found[1], found[2:6], found[6:]  # type: ignore[return-value]
