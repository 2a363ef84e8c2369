"""Guessed forces of loops: the smallest ones that carry passive joints at rest.

Passive joints are balanced by loops and contacts alone. In trees that stand on contacts these have
guesses of their own; in the others, such as a person on welded soles or a box in two hands, the
forces of loops carry the weight: Phi^T lambda equals the torques at rest, and lambda is smallest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.loop_kinematics import loop_equations
from predyn.dynamics.rnea import inverse_dynamics
from predyn.model import Model
from predyn.problem.problem import Problem
from predyn.problem.system import system_of

Floats = NDArray[np.float64]


def carrying_forces(
    problem: Problem, p: int, q: Floats, equations: dict[str, float]
) -> dict[str, float]:
    """The mean over poses (K, n) of the forces of named equations in phase p, all of them closed.

    equations: the unit of each force, such as 1 for forces and 0.5 m for moments
    """
    model, system = problem.model, system_of(problem, p)
    standing = {_root(model, model.frame(x.point).link) for x in problem.phases[p].contacts}
    carried = [
        j for j, name in enumerate(model.joint_names)
        if name in system.passive and _root(model, j) not in standing
    ]  # fmt: skip
    if model.couplings or not carried:
        return {}
    found = loop_equations(model, q)
    chosen = [found.names.index(name) for name in equations]
    units = np.array(list(equations.values()))
    rest = np.zeros_like(q)
    weight = inverse_dynamics(model, q, rest, rest)[:, carried]
    by_force = found.jacobian[:, chosen][:, :, carried].swapaxes(1, 2) * units
    forces = np.linalg.pinv(by_force, rcond=1e-6) @ weight[:, :, None]
    mean = units * forces[:, :, 0].mean(axis=0)
    return dict(zip(equations, mean.tolist(), strict=True))


def _root(model: Model, link: int) -> int:
    """The first joint of the tree that a link belongs to; -1: the world."""
    while link >= 0 and model.parent[link] >= 0:
        link = int(model.parent[link])
    return link
