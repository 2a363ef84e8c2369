"""Discrete inverse dynamics beside CasADi: torques, Jacobian and weighted Hessian, and growth.

The peer is an SX function of an energy made of 4x4 matrices (tests/oracles), differentiated by
CasADi and run in its virtual machine through the buffer interface. Its outputs have the sparsity
that CasADi finds.
"""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np
from against_casadi import through_buffer
from against_pinocchio import BATCH, TREES, in_lanes, tree
from timing import exponent, medians

import predyn
from oracles.casadi_energy import discrete_torques
from predyn import dynamics
from predyn.dynamics.lagrangian import ENERGY_GRADIENTS
from predyn.kernels.batch import aligned
from predyn.kernels.forces import NO_LOADS
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import tree_of


def against_casadi(repeats: int) -> list[dict]:
    """Microseconds a sample of the equations at one node."""
    rows = []
    for n, depth_like in TREES:
        model = tree(n, depth_like)
        rng = np.random.default_rng(0)
        q, w = rng.standard_normal((3, BATCH, n)), rng.standard_normal((BATCH, n))
        h = np.full(BATCH, 0.5)
        vector, square = np.zeros((BATCH, n)), [np.zeros((BATCH, n, n)) for _ in range(5)]
        edge, corner = [np.zeros((BATCH, n)) for _ in range(3)], np.zeros(BATCH)
        ours = {
            "value": partial(dynamics.discrete_inverse_dynamics, model, *q, h, out=vector),
            "Jacobian": partial(
                dynamics.discrete_inverse_dynamics_derivatives,
                *(model, *q, h),
                out=(vector, *square[:3], edge[0]),
            ),
            "Hessian": partial(
                dynamics.discrete_inverse_dynamics_hessian,
                *(model, *q, h, w),
                out=(*square, *edge, corner),
            ),
        }
        inputs = (np.column_stack([*q, h]), w)
        for name, function in _functions(model).items():
            rivals = {"predyn": ours[name], "vm": through_buffer(function, inputs)}
            times = medians(rivals, max(3, repeats // 3))
            us = {key: 1e6 * value / BATCH for key, value in times.items()}
            row = {"joints": n, "of the equations": name, "predyn": us["predyn"]}
            rows.append(row | {"casadi": us["vm"], "ratio": us["vm"] / us["predyn"]})
    return rows


def _functions(model: predyn.Model) -> dict[str, ca.Function]:
    """CasADi functions of the nodes with the step, and of the weights."""
    e = discrete_torques(model)
    x, w = ca.vertcat(*e.nodes), ca.SX.sym("w", model.n)
    found = {
        "value": [e.tau],
        "Jacobian": [e.tau, ca.jacobian(e.tau, x)],
        "Hessian": [ca.triu(ca.hessian(ca.dot(w, e.tau), x)[0])],
    }
    return {name: ca.Function(name, [x, w], ca.cse(y)) for name, y in found.items()}


def chains(repeats: int) -> list[dict]:
    """f and p of pendulum chains in lanes, which grow linearly; the exponent in the last row."""
    sizes, rows = [25, 50, 100, 200, 400], []
    for n in sizes:
        view = tree_of(predyn.models.pendulum_chain(n))
        samples = np.random.default_rng(0).standard_normal((2, BATCH, n))
        ins = tuple(in_lanes(x) for x in (*samples, np.empty((BATCH, 0))))
        outs = (aligned(BATCH // WIDTH, 2 * n, WIDTH),)
        work = aligned(*ENERGY_GRADIENTS.work(view), WIDTH)
        call = partial(ENERGY_GRADIENTS.sweep, view, NO_LOADS, ins, outs, work)
        rows.append({"links": n, "f and p, us": 1e6 * medians({"": call}, repeats)[""] / BATCH})
    rows.append({"links": "exponent"})
    rows[-1]["f and p, us"] = exponent(sizes, [row["f and p, us"] for row in rows[:-1]])
    return rows
