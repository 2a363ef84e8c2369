"""Optima of neighbouring problems, solved tightly: an independent check of sensitivities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.nlp import Multipliers, SolverOptions
from predyn.problem import Problem
from predyn.problem.task_quantities import number_value, with_number
from predyn.solution import Solution
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.sensitivity_table import Sensitivities
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.unpack import multipliers_of, sample_motion

OBJECTIVE, MOTION = 1e-5, 1e-4  # relative accuracy of sensitivities
TOLERANCES = (1e-12, 1e-11, 1e-10, 1e-9)  # the smallest that rounding permits
SHARP = 1e-2  # scale of the objective: slacks and multipliers are further apart
TOUCHING = 1e-6  # scaled slack of rows that are active with hardly any multiplier
CHANNELS = ("q", "v", "a", "tau")


class Optimum(NamedTuple):
    numbers: dict[str, np.ndarray]  # objective, durations, motion
    active: frozenset[str]  # rows at their bounds
    multipliers: Multipliers
    x: np.ndarray


def check_sensitivities(problem: Problem, solution: Solution, found: Sensitivities) -> None:
    """Compare with differences of re-solves; the active sets of all must be the same."""
    for k, name in enumerate(found.parameters):
        wanted = slopes(problem, solution, name, found.interval[k])
        assert abs(found.objective[k] / wanted["objective"] - 1.0) <= OBJECTIVE, name
        size = max(np.abs(wanted["duration"]).max(), 1e-3)
        assert np.abs(found.duration[k] - wanted["duration"]).max() <= MOTION * size, name
        for channel in CHANNELS:
            mine = getattr(found, channel)[k]
            known = ~np.isnan(mine)
            assert known.mean() > 0.7
            error = np.abs(mine - wanted[channel])[known].max()
            size = max(np.abs(wanted[channel][known]).max(), 1e-5)
            assert error <= MOTION * size, (name, channel, error)


def slopes(
    problem: Problem, solution: Solution, name: str, range_: np.ndarray
) -> dict[str, np.ndarray]:
    """Central differences at h and h/2, extrapolated to h = 0."""
    value = number_value(problem, name)
    h = min(1e-4 * max(abs(value), 1.0), 0.3 * np.abs(range_ - value).min())
    shifts = (0.0, -h, h, -0.5 * h, 0.5 * h)
    for tolerance in TOLERANCES:  # the same for all, and so are the errors of the solves
        optima: list[Optimum] = []
        for shift in shifts:
            near = optima[0] if optima else solution
            optimum = resolve(with_number(problem, name, value + shift), near, tolerance)
            if optimum is None:
                break
            optima.append(optimum)
        if len(optima) == len(shifts):
            break
    assert len(optima) == len(shifts), f"{name}: no solve is tight enough"
    assert len({optimum.active for optimum in optima}) == 1, f"{name}: choose another parameter"
    _, *sides = (optimum.numbers for optimum in optima)
    return {
        key: (8.0 * (sides[3][key] - sides[2][key]) - (sides[1][key] - sides[0][key])) / (6.0 * h)
        for key in sides[0]
    }


def resolve(problem: Problem, near: Solution | Optimum, tolerance: float) -> Optimum | None:
    """The optimum of a problem next to a known one; None if the solver stops before."""
    program = transcribe(problem)
    known = near.multipliers if isinstance(near, Optimum) else multipliers_of(program, near)
    program.move(near.x)
    program.f_scale = SHARP * max(abs(program.objective()), 1e-3)
    options = SolverOptions(tolerance=tolerance, mu_init=1e-9, max_iterations=30)
    result = solve_nlp(program, near.x, options, known)
    if result.status != "optimal":
        return None
    motion = motion_of(program, result.x)
    samples = sample_motion(motion)
    durations = np.array([curve.duration for curve in motion.curves])
    numbers = {"objective": np.array(result.f), "duration": durations}
    return Optimum(
        numbers | {name: samples[name] for name in CHANNELS},
        _active(program, result.g, result.multipliers.g, result.f),
        result.multipliers,
        result.x,
    )


def _active(program: Program, g: np.ndarray, y: np.ndarray, f: float) -> frozenset[str]:
    slack = np.minimum(g - program.g_lower, program.g_upper - g) / program.g_scale
    force = np.abs(y) * program.g_scale / max(abs(f), 1e-3)
    held = ((force > slack) | (slack < TOUCHING)) & (program.g_lower < program.g_upper)
    return frozenset(program.g_name(int(i)) for i in np.flatnonzero(held))
