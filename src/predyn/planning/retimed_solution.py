"""A retimed path as a Solution: one phase, its curve a cubic spline in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.reactions import joint_reactions
from predyn.dynamics.system import PhaseSystem
from predyn.solution import Curve, Solution, Violation

if TYPE_CHECKING:
    from predyn.planning.retimed_motion import Retiming

Floats = NDArray[np.float64]


def hermite_curve(t: Floats, q: Floats, v: Floats) -> Curve:
    """The cubic with positions and velocities (K, n) at times (K,): a B-spline with double knots.

    Its control points are the inner Bezier points of each piece.
    """
    third = np.diff(t)[:, None] / 3.0
    control = np.stack([q[:-1] + v[:-1] * third, q[1:] - v[1:] * third], axis=1)
    control = np.concatenate([q[:1], control.reshape(-1, q.shape[1]), q[-1:]])
    inner = np.repeat(t[1:-1] / t[-1], 2)
    return Curve(3, np.concatenate([np.zeros(4), inner, np.ones(4)]), control, float(t[-1]))


def solution_of(result: Retiming, name: str) -> Solution:
    """The motion of a retiming, with its costs and its dense check."""
    result.check()
    system = PhaseSystem(result.loaded, result.payloads, (), (), result.model.limits, None)
    found = [
        Violation(x.name, abs(x.value - x.limit), x.relative, x.value, -np.inf, np.inf, x.time)
        for x in result.excess
    ]
    bounded = [
        x._replace(upper=e.limit) if e.value > e.limit else x._replace(lower=e.limit)
        for x, e in zip(found, result.excess, strict=True)
    ]
    costs = {"time": result.duration}
    if result.weight > 0.0:
        costs["energy"] = result.weight * result.energy
    return Solution(
        name=name,
        model=result.model,
        status=result.status,
        message=result.message,
        objective=result.objective,
        iterations=result.iterations,
        solve_seconds=result.solve_seconds,
        max_violation=0.0,
        max_violation_dense=result.max_excess,
        curves=(result.curve,),
        phase_names=("path",),
        t=result.t,
        phase=np.zeros(len(result.t), np.int64),
        q=result.q,
        v=result.v,
        a=result.a,
        tau=result.tau,
        reactions=joint_reactions(result.loaded, result.q, result.v, result.a),
        limits=result.model.limits,
        costs=costs,
        violations=(),
        dense_violations=tuple(bounded),
        active=result.active,
        multipliers={},
        history={},
        timings={"solve": result.solve_seconds},
        jacobian=(np.zeros(0, np.int32), np.zeros(0, np.int32)),
        n_variables=len(result.b) - 2,
        n_constraints=0,
        x=result.b[1:-1],
        systems=(system,),
    )
