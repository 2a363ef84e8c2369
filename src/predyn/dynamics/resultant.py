"""The resultant of all forces that move a mechanism, and its exact partials.

It is the sum over all links of the force that moves the link, f = I a + v x* I v, minus its weight
and the given external loads: what the surroundings (the ground, or a fixture) must exert. As a
wrench about the world origin it needs no joint axes, so it has no gimbal lock. Its partials in q_k,
v_k, a_k are the vectors F_q, F_v, F_a of joint k in rnea_derivatives.py (Q, V, U in the code).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.composite import (
    FORCE,
    PSI2,
    SUMS_END,
    coriolis_times,
    inertia_times,
    outward_composites,
    sum_into_parent,
    turning_times,
)
from predyn.dynamics.forward import AXIS, PSI
from predyn.dynamics.rnea import COLUMNS, outward_forces
from predyn.dynamics.rnea import FORCE as RNEA_FORCE
from predyn.kernels.arguments import joints
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.spatial import add6, cross_force, load6, scale6
from predyn.kernels.tree import placed_tree_of
from predyn.model import Model


class ResultantDerivatives(NamedTuple):
    """wrench (..., 6) and its partials (..., 6, n) in q, v, a."""

    wrench: NDArray
    dq: NDArray
    dv: NDArray
    da: NDArray


@jit
def resultant(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    (wrench,) = outs
    outward_forces(tree, loads, c, q, v, a, values, work)
    for k in range(6):
        store(wrench, c, k, 0.0)
    for row in range(1, tree.parent.shape[0] + 1):
        for k in range(6):
            store(wrench, c, k, load(wrench, c, k) + load(work, row, RNEA_FORCE + k))


@jit
def _store_column(out, c, n, i, x):
    for k in range(3):
        store(out, c, k * n + i, x[0][k])
        store(out, c, (k + 3) * n + i, x[1][k])


@jit
def resultant_derivatives(tree, loads, c, ins, outs, work):
    q, v, a, values = ins
    wrench, dq, dv, da = outs
    n = tree.parent.shape[0]
    has_loads = loads.row.shape[0] > 0
    outward_composites(tree, loads, c, q, v, a, values, work)
    for k in range(6):
        store(wrench, c, k, 0.0)
    for i in range(n - 1, -1, -1):
        row = i + 1
        S, psi, psi2 = load6(work, row, AXIS), load6(work, row, PSI), load6(work, row, PSI2)
        F = load6(work, row, FORCE)
        V = add6(coriolis_times(work, row, S), scale6(2.0, inertia_times(work, row, psi)))
        Q = add6(inertia_times(work, row, psi2), coriolis_times(work, row, psi))
        Q = add6(Q, cross_force(S, F))
        if has_loads:
            Q = add6(Q, turning_times(work, row, S[0]))
        _store_column(dq, c, n, i, Q)
        _store_column(dv, c, n, i, V)
        _store_column(da, c, n, i, inertia_times(work, row, S))
        if tree.parent[i] == 0:
            for k in range(6):
                store(wrench, c, k, load(wrench, c, k) + load(work, row, FORCE + k))
        sum_into_parent(tree, loads, i, work)


RESULTANT = Kernel(
    resultant,
    work=lambda tree: (len(tree.parent) + 1, COLUMNS),
    outputs=lambda tree: (dense(6),),
    forces=True,
    view=placed_tree_of,
)
RESULTANT_DERIVATIVES = Kernel(
    resultant_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=lambda tree: (dense(6), *(dense(6, len(tree.parent)) for _ in range(3))),
    forces=True,
    view=placed_tree_of,
)


def resultant_wrench(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """What the surroundings exert in addition to `forces`: (..., 6), moment and force.

    World axes, the moment about the world origin. It moves all links and carries their weight.
    Springs, friction, armature and rotors act between links and are not included.
    """
    n = joints(model)
    if model.couplings:
        chain = Chain(model, q, v, a)
        return resultant_wrench(chain.tree, *chain.motion, forces=forces, out=out)
    return RESULTANT(model, (("q", q, n), ("v", v, n), ("a", a, n)), forces, out)[0]


def resultant_wrench_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> ResultantDerivatives:
    """The wrench of resultant_wrench and its exact partials in q, v and a."""
    n = joints(model)
    if model.couplings:
        chain = Chain(model, q, v, a)
        found = resultant_wrench_derivatives(chain.tree, *chain.motion, forces=forces)
        results = chain.give(out, found.wrench, *chain.first(found.dq, found.dv, found.da))
        return ResultantDerivatives(*results)
    inputs = (("q", q, n), ("v", v, n), ("a", a, n))
    return ResultantDerivatives(*RESULTANT_DERIVATIVES(model, inputs, forces, out))
