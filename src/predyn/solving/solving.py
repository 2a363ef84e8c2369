"""The conductor: one solve or several starts, then refinement and free knots, if asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from predyn.config import read_task
from predyn.errors import InputError
from predyn.problem import Hybrid, Problem
from predyn.solution import Solution
from predyn.solving.continuation import settled, solve_in_stages
from predyn.solving.refinement import refined, with_free_knots
from predyn.solving.several_starts import best_of_starts
from predyn.solving.single_solve import Checkpoints, Report
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.layout import end_values


def solve(
    problem: Problem | str | os.PathLike[str],
    *,
    guess: Any = None,
    starts: int = 1,
    seed: int = 0,
    refine: bool | None = None,
    report: Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 10.0,
    checkpoint_iterations: int | None = None,
    resume: str | os.PathLike[str] | None = None,
) -> Solution:
    """Find the optimal motion. Returns for every outcome: see `status`, or call `check()`.

    problem     a Problem, or the name or path of a task file
    guess       replaces the problem's: "linear", "inverse_kinematics", (s, q) or a Solution
    starts      number of starts, each in its own process; the best local optimum is returned, with
                the outcome of each in `starts`; the first starts at `guess`, the others at random
                deformations of it
    seed        random seed for the starts after the first
    refine      halve the segments, at least once, until the dense excess and the relative change
                of the objective are below the transcription's tolerance
    report      called after every iteration; returns False to stop; with several starts called
                once per finished start, with their number in place of the iteration
    checkpoint  file for the latest iterate, written every checkpoint_seconds, and every
                checkpoint_iterations if given
    resume      a checkpoint or an earlier solution of the same problem: start there, with its
                multipliers if the program is the same

    The result is a local optimum of the transcribed program: limits hold at the limit points;
    violations between them are measured but not prevented, unless refined.
    """
    text = ""
    if not isinstance(problem, Problem):
        task = read_task(problem)
        problem, text = task.problem, task.text
    every = 1 if checkpoint_iterations is None else checkpoint_iterations
    _check_arguments(starts, seed, every, report, checkpoint, checkpoint_seconds, resume)
    if resume is not None:
        if guess is not None:
            raise InputError("guess and resume: expected one of them, got both")
        from predyn.solution.file import load_solution  # few solves read files

        guess = load_solution(resume)
    if starts > 1:
        if checkpoint is not None or resume is not None:
            raise InputError(
                f"checkpoint and resume: expected starts=1, got {starts}; omit one or the other"
            )
        solution = best_of_starts(problem, guess, starts, seed, text, report)
        checkpoints = None
    else:
        checkpoints = Checkpoints(checkpoint, checkpoint_seconds, checkpoint_iterations, text)
        warm = resume is not None
        solution = solve_in_stages(problem, guess, text, report, checkpoints, warm=warm)
    problem = settled(problem, solution)
    solution = refined(problem, solution, refine, text, report, checkpoints)
    if problem.transcription.knots == "free" and solution.success:
        solution = with_free_knots(problem, solution, text, report)
    asked = problem.transcription.refine if refine is None else refine
    return _with_caution(problem, solution, asked)


def _check_arguments(
    starts: Any, seed: Any, every: Any, report: Any, checkpoint: Any, seconds: Any, resume: Any
) -> None:
    numbers = (("starts", starts, 1), ("seed", seed, 0), ("checkpoint_iterations", every, 1))
    for name, value, least in numbers:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name}: expected a whole number from {least}, got {value!r:.60}")
    if report is not None and not callable(report):
        raise InputError(f"report: expected a function, got {type(report).__name__}")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0.0:
        raise InputError(f"checkpoint_seconds: expected seconds from 0, got {seconds!r:.60}")
    for name, path in (("checkpoint", checkpoint), ("resume", resume)):
        if path is not None and not isinstance(path, str | os.PathLike):
            raise InputError(f"{name}: expected the path of a file, got {type(path).__name__}")
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise InputError(f"checkpoint: there is no folder {str(Path(checkpoint).parent)!r:.200}")


def _out_of_reach(problem: Problem, solution: Solution) -> str:
    """The goals of passive joints, which only the others move, and the limits of these."""
    model, asked = problem.model, []
    for phase in problem.phases:
        values = zip("qv", end_values(phase.end, model.n), strict=False)
        for letter, value in values:
            for name in problem.passive:
                x = value[model.joint_index(name)]
                if np.isfinite(x):
                    asked.append(f"end {letter} {name} = {x:.4g}")
    goals = f" ({', '.join(asked[:4])})" if asked else ""
    held = f", with {', '.join(solution.active[:4])} at their bounds" if solution.active else ""
    return (
        f"the passive joints may be unable to reach their goals{goals}{held}: allow more time "
        "or torque, other end values, or use a guess that swings"
    )


def _with_caution(problem: Problem, solution: Solution, refined: bool) -> Solution:
    """Add a warning if a success is too far outside its limits between the points, or if passive
    joints may be unable to reach their goals.
    """
    options = problem.transcription
    if solution.status == "evaluation_error" and isinstance(options, Hybrid):
        caution = (
            "the integration of passive joints may overflow: use more steps or segments (strong "
            "damping and stiff springs need many), shooting = 'multiple', or another guess"
        )
        return replace(solution, message=f"{solution.message}; {caution}")
    if solution.status == "infeasible" and problem.passive:
        return replace(solution, message=f"{solution.message}; {_out_of_reach(problem, solution)}")
    if not solution.success or not solution.max_violation_dense > options.refine_tolerance:
        return solution
    advice = "refine" if not refined else f"raise max_refinements (now {options.max_refinements})"
    worst = solution.dense_violations[0]
    if PASSIVE_TORQUE in worst.name:
        other = "more steps" if isinstance(options, Hybrid) else "or, better, method 'hybrid'"
        caution = (
            f"{worst.name} is {worst.value:.2g}, {100 * worst.relative:.3g} % of the motors' "
            f"largest, between the points where it is zero: {advice}, or use more segments, {other}"
        )
    else:
        caution = (
            f"{worst.name} is outside its bounds by {100 * worst.relative:.3g} % between the "
            f"points where they were imposed: {advice}, or use more segments or limit points"
        )
    return replace(solution, message=f"{solution.message}; {caution}")
