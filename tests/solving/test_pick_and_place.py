"""The built-in task that carries a load in its middle phase."""

from __future__ import annotations

import numpy as np

import predyn
from predyn.problem import system_of


def test_the_load_is_felt_in_the_middle_phase_only() -> None:
    problem = predyn.load_task("two-link-pick-place")
    solution = predyn.solve(problem).check()
    assert solution.phase_names == ("reach", "carry", "return")
    np.testing.assert_allclose(solution.objective, 2.026239, rtol=1e-6)
    bare = predyn.inverse_dynamics(problem.model, solution.q, solution.v, solution.a)
    for p in range(3):
        here = solution.phase == p
        state = (x[here] for x in (solution.q, solution.v, solution.a))
        tau = predyn.inverse_dynamics(system_of(problem, p).model, *state)
        np.testing.assert_allclose(solution.tau[here], tau, rtol=0, atol=1e-10)
        difference = np.abs(solution.tau[here] - bare[here]).max()
        assert difference > 1.0 if p == 1 else difference < 1e-10
