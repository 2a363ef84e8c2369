"""Exact partials of forward dynamics, from those of inverse dynamics.

tau = ID(q, v, FD(q, v, tau)) holds for all q, v, tau. Hence, with all partials of ID evaluated at
the acceleration from FD,

    da/dq = -M^-1 dID/dq,      da/dv = -M^-1 dID/dv,      da/dtau = M^-1.

This is hybrid dynamics without active joints (hybrid_partials.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.dynamics.aba import forward_dynamics
from predyn.dynamics.actuation import view_with_mask
from predyn.dynamics.hybrid_derivatives import HYBRID_PARTIALS
from predyn.kernels.arguments import joints, prepare_outputs
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.model import Model


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
    (n,) = joints(model)
    if model.couplings:
        found = coupled.forward_dynamics_derivatives(model, q, v, tau, forces, out)
        return found[0], found[1], found[2], found[3]
    a = forward_dynamics(model, q, v, tau, forces=forces)
    fields = (dense(n), dense(n, n), dense(n, n), dense(n, n))
    state = [np.asarray(x) for x in (q, v, tau)]
    given = prepare_outputs(fields, a.shape[:-1], out, state)
    given[0][...] = a
    inputs = (("q", q, (n,)), ("v", v, (n,)), ("a", a, (n,)))
    nobody = np.zeros(n, np.bool_)
    HYBRID_PARTIALS(model, inputs, forces, given[1:], view=view_with_mask(model, nobody))
    return given  # type: ignore[return-value]
