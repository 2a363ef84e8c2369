"""Exact partials of forward dynamics, from those of inverse dynamics.

tau = ID(q, v, FD(q, v, tau)) holds for all q, v, tau, hence with all partials of ID taken at the
acceleration that FD gives,

    da/dq = -M^-1 dID/dq,      da/dv = -M^-1 dID/dv,      da/dtau = M^-1.

The mass matrix comes with the partials and is factored without fill-in (tree_factor.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.arguments import results
from predyn.dynamics.batch import Kernel
from predyn.dynamics.composite import SUMS_END
from predyn.dynamics.fields import dense, scratch
from predyn.dynamics.forces import ExternalForce
from predyn.dynamics.rnea_derivatives import inverse_dynamics_derivatives, rnea_derivatives
from predyn.dynamics.tree import has_coupled_rotors
from predyn.dynamics.tree_factor import factor_pairs, solve_column
from predyn.lanes import jit, load, store
from predyn.model import Model


@jit
def aba_derivatives(tree, loads, c, ins, outs, work):
    a_q, a_v, a_tau, tau, dq, dv, M = outs
    n = tree.parent.shape[0]
    rnea_derivatives(tree, loads, c, ins, (tau, dq, dv, M), work)
    factor_pairs(tree, c, M)
    for k in range(n * n):
        store(a_q, c, k, 0.0)
        store(a_v, c, k, 0.0)
        store(a_tau, c, k, 0.0)
    for i in range(n):
        store(a_tau, c, i * n + i, 1.0)
        k, j = tree.pair[i], i + 1
        while j > 0:
            store(a_q, c, (j - 1) * n + i, -load(dq, c, 2 * k))
            store(a_v, c, (j - 1) * n + i, -load(dv, c, 2 * k))
            if j <= i:
                store(a_q, c, i * n + j - 1, -load(dq, c, 2 * k + 1))
                store(a_v, c, i * n + j - 1, -load(dv, c, 2 * k + 1))
            k, j = k + 1, tree.parent[j - 1]
    for i in range(n):
        solve_column(tree, c, M, a_q, i, n)
        solve_column(tree, c, M, a_v, i, n)
        solve_column(tree, c, M, a_tau, i, n)


def _fields(tree):
    n, count = len(tree.parent), int(tree.pair[-1])
    inner = (scratch(n), scratch(2 * count), scratch(2 * count), scratch(count))
    return (dense(n, n), dense(n, n), dense(n, n), *inner)


ABA_DERIVATIVES = Kernel(
    aba_derivatives,
    work=lambda tree: (len(tree.parent) + 1, SUMS_END),
    outputs=_fields,
    forces=True,
)


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: tuple[NDArray, ...] | None = None,
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Accelerations and their partials: a (..., n), da_dq, da_dv, da_dtau (..., n, n).

    [i, k] is d a_i / d q_k and so on; da_dtau is the inverse of the mass matrix.
    """
    n = model.n
    a = forward_dynamics(model, q, v, tau, forces=forces)
    fields = (dense(n), dense(n, n), dense(n, n), dense(n, n))
    state = [np.asarray(x) for x in (q, v, tau)]
    given = results(fields, a.shape[:-1], out, state)
    given[0][...] = a
    if has_coupled_rotors(model):
        _, dq, dv, M = inverse_dynamics_derivatives(model, q, v, a, forces=forces)
        right = np.concatenate([-dq, -dv, np.broadcast_to(np.eye(n), M.shape)], axis=-1)
        solved = np.split(np.linalg.solve(M, right), 3, axis=-1)
        for target, part in zip(given[1:], solved, strict=True):
            target[...] = part
    else:
        inputs = (("q", q, (n,)), ("v", v, (n,)), ("a", a, (n,)))
        ABA_DERIVATIVES(model, inputs, forces, given[1:])
    return given  # type: ignore[return-value]
