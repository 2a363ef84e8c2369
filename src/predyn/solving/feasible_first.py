"""A motion that meets all constraints as the guess: the problem solved first without its costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn.problem import Problem
from predyn.solution import Solution
from predyn.solving.continuation import solve_in_stages
from predyn.solving.single_solve import Output

FEASIBLE = "feasible"


def feasible_motion(problem: Problem, output: Output) -> Solution:
    """The motion found without costs from q = 0, or from the nearest limit of a joint.

    If none is found, the result is the best attempt: the solve with costs may still succeed.
    """
    low, high = np.asarray((problem.limits or problem.model.limits).position, float).T
    rest = np.clip(np.zeros(problem.model.n), low, high)
    bare = replace(
        problem,
        costs=(),
        phases=[replace(phase, costs=()) for phase in problem.phases],
        guess=([0.0, 1.0], np.stack([rest, rest])),
    )
    return solve_in_stages(bare, None, output)
