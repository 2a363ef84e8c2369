"""Energies of coupled models and their gradients, in the coordinates.

Joint k of the tree follows coordinate s, v_k = A v_s with A = f' and dv_k/dq_s = B (expansion.py).
The Lagrangian of the coordinates is that of the tree at its joints' q and v, so

    p_s = sum A p_k        f_s = sum A f_k + B p_k

over the joints that follow s; the second term belongs to the kinetic energy. In a weighted sum, f_k
and p_k have weights A wf and B wf + A wp that depend on q and v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn import dynamics
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.expansion import F2, F3, A, B, D, E, expand_states, expansion_of
from predyn.kernels.arguments import finite, real
from predyn.kernels.forces import ExternalForce
from predyn.model import Model

Forces = Sequence[ExternalForce]


def gradients(
    model: Model, q: ArrayLike, v: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    """T, V, p, dT/dq, dV/dq, Q."""
    chain = Chain(model, q, v)
    x = dynamics.energy_gradients(chain.tree, *chain.motion[:2], forces=forces)
    dT = chain.forces(x.dT_dq) + chain.sums(chain.joints.slopes[B] * x.p)
    rest = (chain.forces(y) for y in (x.dV_dq, x.Q))
    return chain.give(out, x.kinetic, x.potential, chain.forces(x.p), dT, *rest)


def derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    """f and p (..., 2n), and their partials in q and v (..., 2n, n)."""
    chain = Chain(model, q, v)
    slopes = chain.joints.slopes
    x = dynamics.energy_gradients_derivatives(chain.tree, *chain.motion[:2], forces=forces)
    zero = np.zeros_like(x.df_dq)
    f_q, f_v, _ = chain.first(x.df_dq, x.df_dv, zero)
    p_q, p_v, _ = chain.first(x.dp_dq, x.dp_dv, zero)
    dq = [chain.rows(f_q) + chain.row_sums(slopes[B], p_q), chain.rows(p_q)]
    dv = [chain.rows(f_v) + chain.row_sums(slopes[B], p_v), chain.rows(p_v)]
    chain.add_diagonal(dq[0], slopes[F2] * x.f + slopes[D] * x.p)
    chain.add_diagonal(dq[1], slopes[F2] * x.p)
    chain.add_diagonal(dv[0], slopes[F2] * x.p)
    fp = np.concatenate([chain.forces(x.f) + chain.sums(slopes[B] * x.p), chain.forces(x.p)], -1)
    return chain.give(out, fp, np.concatenate(dq, axis=-2), np.concatenate(dv, axis=-2))


def hessian(
    model: Model, q: ArrayLike, v: ArrayLike, weights: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    """Blocks qq, qv, vv."""
    chain = Chain(model, q, v)
    slopes, tree, motion = chain.joints.slopes, chain.tree, chain.motion[:2]
    given = finite("weights", real(model, "weights", weights, (2 * model.n,)))
    source = expansion_of(model).functions.source
    wf, wp = given[..., : model.n][..., source], given[..., model.n :][..., source]
    Wf, Wp = wf * slopes[A], wf * slopes[B] + wp * slopes[A]
    W = np.concatenate(np.broadcast_arrays(Wf, Wp), axis=-1)
    x = dynamics.energy_gradients_derivatives(tree, *motion, forces=forces)
    h = dynamics.energy_gradients_hessian(tree, *motion, W, forces=forces)
    zero = np.zeros_like(h.qq)
    by_q, by_v = (
        np.einsum("...i,...ij->...j", Wf, f) + np.einsum("...i,...ij->...j", Wp, p)
        for f, p in ((x.df_dq, x.dp_dq), (x.df_dv, x.dp_dv))
    )
    blocks = chain.second((h.qq, h.qv, h.vv, zero), (by_q, by_v, np.zeros_like(by_q)))
    qq, qv, vv = blocks[:3]
    # the weights' own partials: dWf/dq = wf f'', dWp/dq = wf D + wp f'', dWp/dv = wf f''
    f_q, f_v, _ = chain.first(x.df_dq, x.df_dv, zero)
    p_q, p_v, _ = chain.first(x.dp_dq, x.dp_dv, zero)
    in_q, in_v = wf * slopes[D] + wp * slopes[F2], wf * slopes[F2]
    turned = chain.row_sums(in_v, f_q) + chain.row_sums(in_q, p_q)
    qq += turned + np.swapaxes(turned, -1, -2)
    qv += chain.row_sums(in_v, f_v) + chain.row_sums(in_q, p_v)
    qv += np.swapaxes(chain.row_sums(in_v, p_q), -1, -2)
    mixed = chain.row_sums(in_v, p_v)
    vv += mixed + np.swapaxes(mixed, -1, -2)
    # and their second ones, with f'''' from E at unit rate
    rate = chain.states[1].reshape(*chain.joints.v.shape[:-1], model.n)[..., source]
    still = np.zeros_like(chain.states[0])
    fourth = expand_states(model, chain.states[0], still + 1.0, still).slopes[E]
    fourth = fourth.reshape(chain.joints.v.shape) * rate
    chain.add_diagonal(qq, wf * slopes[F3] * x.f + (wf * fourth + wp * slopes[F3]) * x.p)
    chain.add_diagonal(qv, wf * slopes[F3] * x.p)
    return chain.give(out, qq, qv, vv)
