"""Partials of hybrid dynamics beside Pinocchio's computeABADerivatives, and as published."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from against_pinocchio import BATCH, TREES, states, tree
from timing import medians

import predyn
from oracles.pinocchio_oracle import pinocchio_model


def _theirs(peer, data, q, v, tau) -> None:
    for k in range(BATCH):
        pin.computeABADerivatives(peer, data, q[k], v[k], tau[k])


def _reusing(function, *args) -> partial:
    return partial(function, *args, out=function(*args))


def derivatives(repeats: int) -> list[dict]:
    """Microseconds a sample, into reused arrays. Pinocchio has no hybrid dynamics: all passive is
    its forward dynamics; with every other joint passive the same is beside more results."""
    rows = []
    for n, depth_like in TREES:
        model, (q, v, tau) = tree(n, depth_like), states(n)
        peer = pinocchio_model(model)
        nobody, every_other = np.zeros(n, bool), np.arange(n) % 2 == 0
        function = predyn.hybrid_dynamics_derivatives
        published = predyn.dynamics.hybrid_recursion_derivatives
        rivals = {
            "pinocchio": partial(_theirs, peer, peer.createData(), q, v, tau),
            "all passive": _reusing(function, model, q, v, None, tau, nobody),
            "half passive": _reusing(function, model, q, v, tau, tau, every_other),
            "half, published": _reusing(published, model, q, v, tau, tau, every_other),
        }
        times = {key: 1e6 * x / BATCH for key, x in medians(rivals, repeats).items()}
        ratio = times["pinocchio"] / times["all passive"]
        half = times["pinocchio"] / times["half passive"]
        rows.append({"joints": n, **times, "ratio": ratio, "ratio, half": half})
    return rows
