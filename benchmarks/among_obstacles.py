"""Motions among obstacles: the shared problems of Panda and UR5, planned, timed and improved.

    python benchmarks/among_obstacles.py FOLDER_OF_SCENES [EVERY]

Objective relative to the timed path, energy at equal time, and seconds of CPU on one thread.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import predyn
from planning.shared_problems import load_problem, problem_files
from predyn.problem import Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Effort, TotalTime


def problem_of(file: Path) -> Problem:
    given = load_problem(file)
    rest = np.zeros(given.model.n)
    phase = Phase(Duration(0.05, 20.0, 1.0), State(given.start, rest), State(given.goal, rest))
    return Problem(
        given.model,
        (phase,),
        (Cost(TotalTime()), Cost(Effort(normalised=True))),
        transcription=Spline(segments=16, degree=4),
        scene=given.scene,
    )


def at_equal_time(problem: Problem, solution: predyn.Solution) -> float:
    """Energy with a free path, in the time of the timed path, over that of the timed path."""
    timed = solution.stages[1]
    phase = replace(problem.phases[0], duration=timed.duration)
    fixed = replace(problem, phases=(phase,), costs=problem.costs[1:])
    found = predyn.solve(fixed, guess=solution, verbose=False)
    return found.objective / timed.energy if found.success else float("nan")


def main() -> None:
    files = problem_files(Path(sys.argv[1]))[:: int(sys.argv[2]) if len(sys.argv) > 2 else 1]
    rows = []
    for file in files:
        problem = problem_of(file)
        began = process_time()
        solution = predyn.solve(problem, verbose=False)
        seconds = process_time() - began
        ratio = solution.objective / solution.stages[1].objective if solution.success else np.nan
        energy = at_equal_time(problem, solution) if solution.success else np.nan
        rows.append((solution.success, ratio, energy, seconds, solution.max_violation_dense))
        print(f"{file.stem:36} {solution.status:14} objective {ratio:.3f}  energy at equal time "
              f"{energy:.3f}  {seconds:.2f} s", flush=True)  # fmt: skip
    good, ratio, energy, seconds, excess = np.array(rows, float).T
    print(f"certified {int(good.sum())} of {len(files)}; objective {np.nanmedian(ratio):.3f}, "
          f"worst {np.nanmax(ratio):.3f}; energy at equal time {np.nanmedian(energy):.3f} "
          f"({int(np.isfinite(energy).sum())} motions); CPU {np.median(seconds):.2f} s, 95 % "
          f"{np.percentile(seconds, 95):.2f} s; excess {excess.max():.2e}")  # fmt: skip


if __name__ == "__main__":
    main()
