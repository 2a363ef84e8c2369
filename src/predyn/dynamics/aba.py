"""Forward dynamics by the articulated-body algorithm, in world components.

Inward: the articulated inertia K of each subtree (its resistance to a push while its joints are
free to move) and the force p it needs at zero acceleration. Outward: joint accelerations. With
U = K S, D = S . U + armature and u = tau - S . p minus spring and friction, a joint passes
K - U U^T / D and p + (K - U U^T / D) c + U u / D to its parent, c = psi-dot v_j.
Reference: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3.

This recursion cannot handle rotors that couple joints: then the mass matrix is factored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
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
from predyn.dynamics.crba import mass_matrix
from predyn.dynamics.forward import ACCELERATION, AXIS, PSI
from predyn.dynamics.joint_forces import joint_force
from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import ModelError
from predyn.kernels.arguments import finite, gather, joints, prepare_outputs
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
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
def aba(tree, loads, c, ins, outs, work):
    q, v, tau, values = ins
    (a,) = outs
    n = tree.parent.shape[0]
    outward_bodies(tree, loads, c, q, v, values, work)
    for i in range(n - 1, -1, -1):
        row = i + 1
        S, p = load6(work, row, AXIS), load6(work, row, BIAS)
        A, B = load_symmetric(work, row, K_A), load33(work, row, K_B)
        C = load_symmetric(work, row, K_C)
        U = apply_articulated(A, B, C, S)
        u = load(tau, c, i) - dot6(S, p)
        D = dot6(S, U)
        if tree.loaded[i] == 1:
            store(a, c, i, 0.0)
            u = u - joint_force(tree, c, i, q, v, a)
            D = D + tree.armature[i]
        d = inverse_pivot(D, A, C, S)
        store(work, row, REST, d)
        store(work, row, REST + 1, u)
        store6(work, row, PUSH, U)
        up = tree.parent[i]
        if up > 0:
            A, B, C = (
                subtract_square(A, U[0], d),
                subtract_outer(B, U[0], U[1], d),
                subtract_square(C, U[1], d),
            )
            drift = scale6(load(v, c, i), load6(work, row, PSI))
            p = add6(p, apply_articulated(A, B, C, drift))
            p = add6(p, scale6(u * d, U))
            store_symmetric(work, row, K_A, A)
            store33(work, row, K_B, B)
            store_symmetric(work, row, K_C, C)
            store6(work, row, BIAS, p)
            add_to(work, up, K_A, PUSH, row)
    for i in range(n):
        row = i + 1
        drift = scale6(load(v, c, i), load6(work, row, PSI))
        coming = add6(load6(work, tree.parent[i], ACCELERATION), drift)
        left = load(work, row, REST + 1) - dot6(coming, load6(work, row, PUSH))
        acceleration = left * load(work, row, REST)
        store(a, c, i, acceleration)
        store6(work, row, ACCELERATION, add6(coming, scale6(acceleration, load6(work, row, AXIS))))


ABA = Kernel(
    aba,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (dense(len(tree.parent)),),
    forces=True,
)


def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Joint accelerations (..., n) that the torques cause in the open tree.

    Loops of the model are ignored: closed_forward_dynamics keeps them closed.
    Accurate to a small multiple of rounding times the condition number of the mass matrix times
    (1 + d / l)^2, with l the size of the links and d their distance from the first joint.
    A singular mass matrix (three axes of a ball joint in one plane) is an error; if rotors couple
    joints, it goes unnoticed when rounding keeps the result finite.
    """
    n = joints(model)
    if model.couplings:
        return _check_finite(model, coupled.forward_dynamics(model, q, v, tau, forces, out))
    inputs = (("q", q, n), ("v", v, n), ("tau", tau, n))
    if not has_coupled_rotors(model):
        return _check_finite(model, ABA(model, inputs, forces, out)[0])
    flat, lead = gather(model, inputs, None)
    q, v, tau = (x.reshape(*lead, model.n) for x in flat)
    left = finite("tau", tau) - inverse_dynamics(model, q, v, np.zeros(n), forces=forces)
    (result,) = prepare_outputs((dense(model.n),), left.shape[:-1], out, flat)
    result[...] = np.linalg.solve(mass_matrix(model, q), left[..., None])[..., 0]
    return _check_finite(model, result)


def _check_finite(model: Model, a: NDArray) -> NDArray:
    """The accelerations; an InputError if they are not all finite."""
    if not np.isfinite(a).all():
        *sample, joint = (int(k) for k in np.argwhere(~np.isfinite(a))[0])
        raise ModelError(
            f"forward_dynamics: the acceleration of joint {model.joint_names[joint]!r} at sample "
            f"{tuple(sample)} is {a[(*sample, joint)]}: the mass matrix is singular there (axes in "
            "line, as of a ball joint at the end of its middle axis), or the torques overflow"
        )
    return a
