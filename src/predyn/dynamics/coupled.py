"""Dynamics of coupled models: that of the tree, reduced to the coordinates.

With the slopes A of the joints (expansion.py), tau = A^T tau_tree and M = A^T M_tree A. The
weighted sum of torques w . tau = sum_k W_k tau_k has weights W_k = w_s f'_k that depend on q: its
second partials also hold w_s f''_k d tau_k, and w_s f'''_k tau_k.

The functions of this package call these for models with couplings.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn import dynamics
from predyn.dynamics.chain_rule import Chain
from predyn.dynamics.expansion import F2, F3, A, expansion_of
from predyn.errors import ModelError
from predyn.kernels.arguments import finite, gather, joints, prepare_outputs, real
from predyn.kernels.fields import dense
from predyn.kernels.forces import ExternalForce
from predyn.model import Model

Forces = Sequence[ExternalForce]


def inverse_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, forces: Forces, out: Any
) -> NDArray:
    chain = Chain(model, q, v, a)
    tau = dynamics.inverse_dynamics(chain.tree, *chain.motion, forces=forces)
    return chain.give(out, chain.forces(tau))[0]


def inverse_dynamics_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    chain = Chain(model, q, v, a)
    tau, *tree = dynamics.inverse_dynamics_derivatives(chain.tree, *chain.motion, forces=forces)
    dq, dv, da = (chain.rows(x) for x in chain.first(*tree))
    chain.add_diagonal(dq, chain.joints.slopes[F2] * tau)
    return chain.give(out, chain.forces(tau), dq, dv, da)


def inverse_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    forces: Forces,
    out: Any,
) -> tuple[NDArray, ...]:
    """Blocks qq, qv, vv, qa."""
    chain = Chain(model, q, v, a)
    slopes, tree = chain.joints.slopes, chain.tree
    given = finite("weights", real(model, "weights", weights, joints(model)))
    own = given[..., expansion_of(model).functions.source]
    W = own * slopes[A]
    tau, *first = dynamics.inverse_dynamics_derivatives(tree, *chain.motion, forces=forces)
    blocks = dynamics.inverse_dynamics_hessian(tree, *chain.motion, W, forces=forces)[:4]
    by_q, by_v, by_a = (np.einsum("...i,...ij->...j", W, x) for x in first)
    qq, qv, vv, qa = chain.second(blocks, (by_q, by_v, by_a))
    turned, *mixed = (chain.row_sums(own * slopes[F2], x) for x in chain.first(*first))
    qq += turned + np.swapaxes(turned, -1, -2)
    chain.add_diagonal(qq, own * slopes[F3] * tau)
    return chain.give(out, qq, qv + mixed[0], vv, qa + mixed[1])


def mass_matrix(model: Model, q: ArrayLike, out: Any) -> NDArray:
    chain = Chain(model, q)
    M = dynamics.mass_matrix(chain.tree, chain.joints.q)
    return chain.give(out, chain.rows(chain.columns((M, A))))[0]


def forward_dynamics(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, forces: Forces, out: Any
) -> NDArray:
    """Accelerations, NaN where the mass matrix is singular."""
    n = joints(model)
    flat, lead = gather(model, (("q", q, n), ("v", v, n), ("tau", tau, n)), None)
    q, v, tau = (x.reshape(*lead, model.n) for x in flat)
    finite("tau", tau)
    left = tau - dynamics.inverse_dynamics(model, q, v, np.zeros(n), forces=forces)
    (result,) = prepare_outputs((dense(model.n),), left.shape[:-1], out, flat)
    result[...] = solve(dynamics.mass_matrix(model, q), left[..., None])[..., 0]
    return result


def forward_dynamics_derivatives(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, forces: Forces, out: Any
) -> tuple[NDArray, ...]:
    a = dynamics.forward_dynamics(model, q, v, tau, forces=forces)
    _, dq, dv, M = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=forces)
    inverse = np.linalg.inv(M)
    result = (a, -inverse @ dq, -inverse @ dv, inverse)
    if out is None:
        return result
    given = prepare_outputs([dense(*x.shape) for x in result], (), out, [a])
    for mine, x in zip(given, result, strict=True):
        mine[...] = x
    return given


def solve(M: NDArray, right: NDArray) -> NDArray:
    """M^-1 right (..., n, 1), NaN where a matrix is exactly singular."""
    try:
        return np.linalg.solve(M, right)
    except np.linalg.LinAlgError:
        lead = np.broadcast_shapes(M.shape[:-2], right.shape[:-2])
        M, right = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (M, right))
        result = np.full(right.shape, np.nan)
        for sample in np.ndindex(lead):
            with suppress(np.linalg.LinAlgError):
                result[sample] = np.linalg.solve(M[sample], right[sample])
        return result


def hybrid_dynamics(
    model: Model, states: Sequence[ArrayLike], mask: NDArray[np.bool_], forces: Forces, out: Any
) -> tuple[NDArray, NDArray]:
    """Complete accelerations and torques; states: q, v, a and tau, zero where unused."""
    n = joints(model)
    names = ("q", "v", "a", "tau")
    flat, lead = gather(model, [(x, y, n) for x, y in zip(names, states, strict=True)], None)
    q, v, a, tau = (
        finite(name, x.reshape(*lead, model.n)) for name, x in zip(names, flat, strict=True)
    )
    known = np.where(mask, a, 0.0)
    bias = dynamics.inverse_dynamics(model, q, v, known, forces=forces)
    M = np.broadcast_to(dynamics.mass_matrix(model, q), (*bias.shape, model.n))
    p = np.flatnonzero(~mask)
    shape = bias.shape[:-1]
    both = prepare_outputs((dense(model.n), dense(model.n)), shape, out, flat)
    full, torque = both
    full[...], torque[...] = known, bias
    if len(p):
        left = np.broadcast_to(tau, bias.shape)[..., p] - bias[..., p]
        found = solve(M[..., p[:, None], p], left[..., None])
        full[..., p] = found[..., 0]
        torque += (M[..., p] @ found)[..., 0]
        torque[..., p] = np.broadcast_to(tau, bias.shape)[..., p]
    return full, torque


def hybrid_partials(
    model: Model, q: ArrayLike, v: ArrayLike, a: NDArray, mask: NDArray[np.bool_], forces: Forces
) -> tuple[list[NDArray], list[NDArray]]:
    """Partials of a and of tau in q, v, a and tau, at complete accelerations."""
    _, dq, dv, M = dynamics.inverse_dynamics_derivatives(model, q, v, a, forces=forces)
    p, s = np.flatnonzero(~mask), np.flatnonzero(mask)
    shape = np.broadcast_shapes(M.shape, (*a.shape, model.n))
    M = np.broadcast_to(M, shape)
    inverse = np.linalg.inv(M[..., p[:, None], p])
    by_a, by_tau = np.zeros(shape), np.zeros(shape)
    by_a[..., s[:, None], s] = np.eye(len(s))
    by_a[..., p[:, None], s] = -inverse @ M[..., p[:, None], s]
    by_tau[..., p[:, None], p] = inverse
    da = []
    for x in (dq, dv):
        change = np.zeros(shape)
        change[..., p, :] = -inverse @ x[..., p, :]
        da.append(change)
    dtau = [dq + M @ da[0], dv + M @ da[1], M @ by_a, M @ by_tau]
    for x in dtau[:3]:
        x[..., p, :] = 0.0
    dtau[3][..., p, :] = 0.0
    dtau[3][..., p, p] = 1.0
    return [*da, by_a, by_tau], dtau


def energies(model: Model, q: ArrayLike, v: ArrayLike | None) -> tuple[NDArray, NDArray]:
    """Kinetic and potential energy."""
    chain = Chain(model, q, v)
    kinetic = dynamics.kinetic_energy(chain.tree, chain.joints.q, chain.joints.v)
    return kinetic, dynamics.potential_energy(chain.tree, chain.joints.q)


def torque_regressor(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, out: Any) -> NDArray:
    chain = Chain(model, q, v, a)
    return chain.give(out, chain.rows(dynamics.torque_regressor(chain.tree, *chain.motion)))[0]


def placement_sensitivity(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, forces: Forces, out: Any
) -> NDArray:
    chain = Chain(model, q, v, a)
    x = dynamics.placement_sensitivity(chain.tree, *chain.motion, forces=forces)
    rows = chain.rows(x.reshape(*x.shape[:-2], -1))
    return chain.give(out, rows.reshape(*rows.shape[:-1], *x.shape[-2:]))[0]


def refuse(model: Model, what: str, instead: str) -> None:
    """Raise a ModelError if the model has coupled joints."""
    if model.couplings:
        names = ", ".join(repr(coupling.joint) for coupling in model.couplings[:4])
        raise ModelError(
            f"{what}: model {model.name!r:.60} has joints that follow others ({names}), which it "
            f"does not support; {instead}"
        )
