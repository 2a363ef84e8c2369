"""Inverse dynamics of discrete mechanics by the midpoint rule.

A motion is given at nodes a step h apart. With the discrete Lagrangian L_d(q0, q1) = h L(m, v) at
the midpoint m = (q0 + q1)/2, v = (q1 - q0)/h of an interval, the equations at node 1,

    D2 L_d(q0, q1) + D1 L_d(q1, q2) + h/2 (Q_01 + Q_12) + h tau = 0,

give tau = (p_12 - p_01)/h - (f_01 + f_12)/2 with f and p of lagrangian.py at both midpoints.
Reference: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 10, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled_discrete
from predyn.dynamics.lagrangian import gradients, work_shape
from predyn.errors import InputError
from predyn.kernels.arguments import Input, gather, joints, positive
from predyn.kernels.batch import Kernel
from predyn.kernels.fields import Field, dense, scratch
from predyn.kernels.forces import ExternalForce, Loads, pack_forces
from predyn.kernels.lanes import jit, load, store
from predyn.kernels.tree import Floats, Tree, tree_of
from predyn.model import Model


@jit
def to_midpoint(n, c, start, end, step, m, v):
    """Position and velocity in the middle of an interval."""
    inverse = 1.0 / load(step, c, 0)
    for i in range(n):
        store(m, c, i, 0.5 * (load(start, c, i) + load(end, c, i)))
        store(v, c, i, inverse * (load(end, c, i) - load(start, c, i)))


@jit
def discrete(tree, loads, c, ins, outs, work):
    """ins: q0, q1, q2, h, values of the loads in both intervals; outs: tau, and scratch."""
    q0, q1, q2, h, first, second = ins
    tau, m, v, fp = outs
    n = tree.parent.shape[0]
    nodes, values = (q0, q1, q2), (first, second)
    inverse = 1.0 / load(h, c, 0)
    for i in range(n):
        store(tau, c, i, 0.0)
    for r in range(2):
        sign = 2.0 * r - 1.0
        to_midpoint(n, c, nodes[r], nodes[r + 1], h, m, v)
        gradients(tree, loads, c, (m, v, values[r]), (fp,), work)
        for i in range(n):
            part = (sign * inverse) * load(fp, c, n + i) - 0.5 * load(fp, c, i)
            store(tau, c, i, load(tau, c, i) + part)


def midpoint_scratch(tree: Tree) -> tuple[Field, Field]:
    """Room for m and v of an interval."""
    return scratch(len(tree.parent)), scratch(len(tree.parent))


DISCRETE = Kernel(
    discrete,
    work=work_shape,
    outputs=lambda tree: (
        dense(len(tree.parent)),
        *midpoint_scratch(tree),
        scratch(2 * len(tree.parent)),
    ),
)


def discrete_inputs(
    model: Model,
    nodes: Sequence[ArrayLike],
    h: ArrayLike,
    forces: Sequence[ExternalForce],
    weights: Sequence[Input] = (),
) -> tuple[list[Input], Loads]:
    """Inputs of the kernels after a check, and the constant part of the forces."""
    n = joints(model)
    inputs: list[Input] = [(f"q{k}", q, n) for k, q in enumerate(nodes)]
    inputs += [("h", positive(model, "h", h), ()), *weights]
    _, lead = gather(model, inputs, None)
    loads, wrenches = pack_forces(model, tree_of(model), forces)
    both = np.zeros((2, *lead, 3 * len(wrenches)))
    for k, wrench in enumerate(wrenches):
        both[..., 3 * k : 3 * k + 3] = per_interval(f"forces[{k // 2}]", wrench, lead)
    values: list[Input] = [("forces", x, both.shape[-1:]) for x in both]
    return inputs + values, loads


def per_interval(name: str, wrench: Floats, lead: tuple[int, ...]) -> Floats:
    """Numbers of a force (2, ..., 3) in both intervals."""
    try:
        return np.broadcast_to(wrench, (2, *lead, 3))
    except ValueError:
        raise InputError(
            f"{name}: its numbers must broadcast with {(2, *lead, 3)}, the first axis being the "
            f"interval; got {wrench.shape}"
        ) from None


def discrete_inverse_dynamics(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    q2: ArrayLike,
    h: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Joint torques at the middle one of three nodes, by the midpoint rule: tau (..., n).

    q0, q1, q2: (..., n), positions a step h (...) apart; leading shapes broadcast. tau is the
    constant torque of both intervals for which the discrete Euler-Lagrange equations hold at q1; it
    agrees with inverse dynamics up to h^2. Friction and external forces act at the midpoints. The
    numbers of a force broadcast with (2, ..., 3), the first axis being the interval; so an array
    (..., 3) without that axis holds in both.
    """
    joints(model)
    if model.couplings:
        return coupled_discrete.torques(model, (q0, q1, q2), h, forces, out)
    inputs, loads = discrete_inputs(model, (q0, q1, q2), h, forces)
    return DISCRETE(model, inputs, out=out, constants=loads)[0]
