"""Minimum-energy tasks of the six-axis arm: five goals, three weights of energy against time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from predyn.config import read_task
from predyn.problem import Constraint, Cost, Problem
from predyn.solution import Solution
from predyn.terms import FramePose, MechanicalEnergy, Term, TotalTime

GOALS = (
    ((0.35, 0.45, 0.20), (np.pi, 0.0, -np.pi / 4)),
    ((0.45, 0.25, 0.35), (np.pi, 0.0, 0.0)),
    ((0.25, 0.50, 0.40), (0.6 * np.pi, 0.3, 0.5)),
    ((0.50, 0.10, 0.15), (np.pi, 0.0, 0.3)),
    ((0.30, 0.35, 0.55), (0.8 * np.pi, 0.2, -0.6)),
)
WEIGHTS = (0.005, 0.02, 0.1)  # 1/W


def task(goal: int, weight: float, term: Term | None = None) -> Problem:
    """Time plus the weight times energy, to a pose of the tool."""
    return replace(
        read_task("arm6-pick").problem,
        costs=(Cost(TotalTime()), Cost(term or MechanicalEnergy(), weight, name="energy")),
        constraints=(Constraint(FramePose("tool", *GOALS[goal]), at="end"),),
    )


def energy_by_trapezoids(solution: Solution, instants: int = 100_001) -> float:
    """The integral of |tau v|, J."""
    t = np.linspace(0.0, solution.duration, instants)
    sample = solution.at(t)
    return float(np.trapezoid(np.abs(sample.tau * sample.v).sum(axis=1), t))
