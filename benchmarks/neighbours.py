"""A loop over neighbouring problems with one program: how much of its time is outside the solver.

Each problem differs from the built-in task arm6-pick by up to 1 %, is written into the program by
`retarget` and solved from the solution before. Making the problems is not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import predyn
from predyn.problem import Problem
from predyn.transcribe.methods import transcribe

SOLVES, CHANGE = 100, 0.01


def loops(repeats: int) -> list[dict]:
    """Milliseconds a solve; shares of the time outside the solver: median, lowest, highest loop."""
    task = predyn.load_task("arm6-pick")
    return [
        _row(name, task, neighbour, max(3, repeats // 3))
        for name, neighbour in (("goal", with_goal), ("mass of the last link", with_mass))
    ]


def with_goal(task: Problem, factor: float) -> Problem:
    """The task with another position of the tool at the end."""
    (goal,) = task.constraints
    term = replace(goal.term, position=tuple(factor * x for x in goal.term.position))
    return replace(task, constraints=(replace(goal, term=term),))


def with_mass(task: Problem, factor: float) -> Problem:
    """The task with another mass of the last link."""
    model = task.model
    mass = factor * model.inertia[-1, 0]
    return replace(task, model=model.with_mass(model.link_names[-1], mass))


def _row(
    name: str, task: Problem, neighbour: Callable[[Problem, float], Problem], repeats: int
) -> dict:
    program = transcribe(task)
    solution = predyn.solve(program)
    shares, times = [], []
    for seed in range(repeats):
        total = inside = retarget = 0.0
        for factor in np.random.default_rng(seed).uniform(1.0 - CHANGE, 1.0 + CHANGE, SOLVES):
            problem = neighbour(task, float(factor))
            began = time.perf_counter()
            program.retarget(problem)
            retarget += time.perf_counter() - began
            solution = predyn.solve(program, guess=solution).check()
            total += time.perf_counter() - began
            inside += solution.solve_seconds
        shares.append(100.0 * (1.0 - inside / total))
        times.append(1e3 * np.array([total, total - inside, retarget]) / SOLVES)
    ms, outside, retargeting = np.median(times, axis=0).tolist()
    return {
        "changed": name,
        "solves": SOLVES,
        "a solve": ms,
        "outside": outside,
        "of it retarget": retargeting,
        "outside, %": float(np.median(shares)),
        "lowest, %": min(shares),
        "highest, %": max(shares),
    }
