"""Inverse dynamics and its partials beside Pinocchio, which takes one sample per call."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from timing import medians

import predyn
from oracles.pinocchio_oracle import pinocchio_model
from predyn.dynamics.rnea_derivatives import RNEA_DERIVATIVES
from predyn.kernels.batch import aligned
from predyn.kernels.forces import NO_LOADS
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import tree_of

BATCH = 512
TREES = ((6, 1.0), (30, 0.8), (55, 0.85))  # joints, how chain-like


def tree(n: int, depth_like: float) -> predyn.Model:
    return predyn.models.random_tree(
        n, 1, depth_like=depth_like, kinds=("revolute", "prismatic"), axes="z"
    )


def states(n: int) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(0).standard_normal((3, BATCH, n)))


def _row(n: int, times: dict[str, float]) -> dict:
    ours, theirs = (1e6 * times[key] / BATCH for key in ("predyn", "pinocchio"))
    return {"joints": n, "predyn": ours, "pinocchio": theirs, "ratio": theirs / ours}


def _rnea(peer, data, q, v, a) -> None:
    for k in range(BATCH):
        pin.rnea(peer, data, q[k], v[k], a[k])


def _partials(peer, data, q, v, a) -> None:
    for k in range(BATCH):
        pin.computeRNEADerivatives(peer, data, q[k], v[k], a[k])


def _partials_kept(peer, data, q, v, a, kept) -> None:
    for k in range(BATCH):
        pin.computeRNEADerivatives(peer, data, q[k], v[k], a[k])
        kept[0][k], kept[1][k], kept[2][k] = data.dtau_dq, data.dtau_dv, data.M


def inverse_dynamics(repeats: int) -> list[dict]:
    rows = []
    for n, depth_like in TREES:
        model, state = tree(n, depth_like), states(n)
        peer = pinocchio_model(model)
        rivals = {
            "predyn": partial(predyn.inverse_dynamics, model, *state, out=np.empty((BATCH, n))),
            "pinocchio": partial(_rnea, peer, peer.createData(), *state),
        }
        rows.append(_row(n, medians(rivals, repeats)))
    return rows


def partials_dense(repeats: int) -> list[dict]:
    rows = []
    for n, depth_like in TREES:
        model, state = tree(n, depth_like), states(n)
        peer = pinocchio_model(model)
        out = tuple(np.zeros((BATCH, *shape)) for shape in ((n,), (n, n), (n, n), (n, n)))
        kept = tuple(np.zeros((BATCH, n, n)) for _ in range(3))
        rivals = {
            "predyn": partial(predyn.inverse_dynamics_derivatives, model, *state, out=out),
            "pinocchio": partial(_partials_kept, peer, peer.createData(), *state, kept),
        }
        rows.append(_row(n, medians(rivals, repeats)))
    return rows


def partials_in_lanes(repeats: int) -> list[dict]:
    rows = []
    for n, depth_like in TREES:
        model, state = tree(n, depth_like), states(n)
        peer, view = pinocchio_model(model), tree_of(model)
        ins = tuple(in_lanes(x) for x in (*state, np.empty((BATCH, 0))))
        fields = RNEA_DERIVATIVES.fields(view)
        outs = tuple(aligned(BATCH // WIDTH, field.packed, WIDTH) for field in fields)
        work = aligned(*RNEA_DERIVATIVES.work(view), WIDTH)
        rivals = {
            "predyn": partial(RNEA_DERIVATIVES.sweep, view, NO_LOADS, ins, outs, work),
            "pinocchio": partial(_partials, peer, peer.createData(), *state),
        }
        rows.append(_row(n, medians(rivals, repeats)))
    return rows


def in_lanes(x: np.ndarray) -> np.ndarray:
    """(B, k) as (B / WIDTH, k, WIDTH)."""
    result = aligned(len(x) // WIDTH, x.shape[1], WIDTH)
    result[:] = x.reshape(len(x) // WIDTH, WIDTH, x.shape[1]).transpose(0, 2, 1)
    return result
