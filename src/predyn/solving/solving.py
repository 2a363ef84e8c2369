"""The conductor: one solve or several starts, then refinement and free knots, if asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from predyn.config import read_task
from predyn.errors import InputError
from predyn.model import PRISMATIC
from predyn.model.floating_base import MOMENT_ARM, floating_base
from predyn.problem import Dmoc, Hybrid, Problem
from predyn.problem.check_contacts import can_be_written_out
from predyn.problem.contact_program import written_out
from predyn.problem.plausibility import warn_if_implausible
from predyn.solution import CONVERGED, MOST_EXCESS, Solution, Violation
from predyn.solution.later_samples import revised
from predyn.solving.continuation import settled, solve_in_stages
from predyn.solving.denser_points import with_enough_points
from predyn.solving.feasible_first import FEASIBLE, feasible_motion
from predyn.solving.refinement import refined, with_free_knots
from predyn.solving.several_starts import best_of_starts
from predyn.solving.shown_progress import shown_progress
from predyn.solving.single_solve import Checkpoints, Output, Report
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.layout import end_values
from predyn.transcribe.program import Program


def solve(
    problem: Problem | Program | str | os.PathLike[str],
    *,
    guess: Any = None,
    starts: int = 1,
    seed: int = 0,
    refine: bool | None = None,
    report: Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 10.0,
    checkpoint_iterations: int | None = None,
    resume: str | os.PathLike[str] | Solution | None = None,
    verbose: bool | None = None,
) -> Solution:
    """Find the optimal motion. Returns for every outcome: see `status`, or call `check()`.

    problem     a Problem, the name or path of a task file, or a Program, for many similar problems
    guess       replaces the problem's: "auto", "linear", "inverse_kinematics", "feasible", (s, q)
                or a Solution; of a successful one the multipliers are used too, where names of
                constraints agree
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
    resume      a checkpoint or an earlier solution (a file or a Solution): continue there, with
                its multipliers and barrier parameter
    verbose     whether to show progress on standard error, or in the notebook; None: on a
                terminal or in a notebook, without a `report`

    The result is a local optimum of the transcribed program: limits hold at the limit points;
    violations between them are measured. If one exceeds 5 % of its bound, the motion is solved
    again with more limit points, up to three times; if that does not suffice, it is not a success.

    With a scene, a path is planned, timed and improved (docs/obstacles.md). Only a motion that is
    certified to keep clear is a success; starts plan with different seeds, and each problem with
    its limits imposed everywhere.
    """
    problem, program, text = _read(problem)
    every = 1 if checkpoint_iterations is None else checkpoint_iterations
    _check_arguments(starts, seed, every, report, checkpoint, checkpoint_seconds, resume)
    if refine not in (None, True, False):
        raise InputError(f"refine: expected True, False or None, got {refine!r:.60}")
    guess = _checked_guess(guess, resume)
    if program is None:
        problem = _prepared(problem, warm=isinstance(guess, Solution))
    with shown_progress(verbose, report) as output:
        output = output._replace(text=text)
        if program is None and problem.scene is not None:
            _check_with_scene(refine, problem, guess, checkpoint)
            from predyn.solving.among_obstacles import solve_among_obstacles

            found = solve_among_obstacles(problem, guess, output, seed, starts)
            return _with_caution(found.problem or problem, found, False)
        if program is None and FEASIBLE in (guess, problem.guess if guess is None else None):
            output.announce("without costs")
            guess = feasible_motion(problem, output)
        if starts > 1:
            output.announce(f"{starts} starts")
            first = best_of_starts(problem, guess, starts, seed, text, output.report)
        else:
            saved = Checkpoints(checkpoint, checkpoint_seconds, checkpoint_iterations, text)
            output = output._replace(checkpoints=saved)
            first = solve_in_stages(problem, guess, output, program, warm=resume is not None)
        return _finished(problem, first, output, refine)


def _finished(problem: Problem, first: Solution, output: Output, refine: bool | None) -> Solution:
    """More points or segments, or free knots, where the first solution or the task asks for it."""
    refine = problem.transcription.refine if refine is None else refine
    problem, solution = settled(problem, first), first
    if refine:  # adds points itself
        solution = refined(problem, solution, output)
    else:
        problem, solution = with_enough_points(problem, solution, output)
    if problem.transcription.knots == "free" and solution.status in CONVERGED:
        solution = with_free_knots(problem, solution, output)
    # stages and repeats have other options, such as the time that is left
    solved = solution.problem
    if solved is not None and solved.solver is not problem.solver:
        solved = replace(solved, solver=problem.solver)
    if solved is not solution.problem or first.starts is not solution.starts:
        solution = revised(solution, starts=first.starts, problem=solved)
    return _with_caution(problem, solution, refine)


def _read(
    given: Problem | Program | str | os.PathLike[str],
) -> tuple[Problem, Program | None, str]:
    """The problem, its program if that is given, and the text of its task file."""
    if isinstance(given, Program):
        if given.problem.scene is not None:
            raise InputError(
                "problem: a program with a scene is not solved by itself, since its motion would "
                "not be certified; solve its problem (program.problem)"
            )
        return given.problem, given, ""
    if isinstance(given, Problem):
        return given, None, ""
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            "problem: expected a Problem, or the name or path of a task file, got "
            f"{type(given).__name__}"
        )
    task = read_task(given)
    return task.problem, None, task.text


def _checked_guess(guess: Any, resume: str | os.PathLike[str] | Solution | None) -> Any:
    """The guess, or the solution at which to resume."""
    if resume is None:
        return guess
    if guess is not None:
        raise InputError("guess and resume: expected one of them, got both")
    if isinstance(resume, Solution):
        return resume
    from predyn.solution.file import load_solution  # few solves read files

    return load_solution(resume)


def _prepared(problem: Problem, warm: bool) -> Problem:
    """The problem with contacts written out and a number of steps, after warnings.

    Errors are left to the transcription.

    Whoever has a solution to start from (warm) has seen the warnings.
    """
    if can_be_written_out(problem):
        problem = written_out(problem)
    hybrid = isinstance(problem.transcription, Hybrid)
    if (warm and not hybrid) or problem.validate():
        return problem
    if not warm:
        warn_if_implausible(problem)
    if not hybrid:
        return problem
    from predyn.transcribe.shooting.step_choice import with_chosen_steps  # few solves need it

    return with_chosen_steps(problem, warn=not warm)


def _check_arguments(
    starts: Any, seed: Any, every: Any, report: Any, checkpoint: Any, seconds: Any, resume: Any
) -> None:
    if starts != 1 and (checkpoint is not None or resume is not None):
        raise InputError(
            f"checkpoint and resume: expected starts=1, got {starts!r:.60}; omit one or the other"
        )
    numbers = (("starts", starts, 1), ("seed", seed, 0), ("checkpoint_iterations", every, 1))
    for name, value, least in numbers:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least:
            raise InputError(f"{name}: expected a whole number from {least}, got {value!r:.60}")
    if report is not None and not callable(report):
        raise InputError(f"report: expected a function, got {type(report).__name__}")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 0.0:
        raise InputError(f"checkpoint_seconds: expected seconds from 0, got {seconds!r:.60}")
    paths = str | os.PathLike
    if checkpoint is not None and not isinstance(checkpoint, paths):
        raise InputError(
            f"checkpoint: expected the path of a file, got {type(checkpoint).__name__}"
        )
    if resume is not None and not isinstance(resume, paths | Solution):
        raise InputError(
            f"resume: expected the path of a file or a Solution, got {type(resume).__name__}"
        )
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise InputError(f"checkpoint: there is no folder {str(Path(checkpoint).parent)!r:.200}")


def _check_with_scene(refine: bool | None, problem: Problem, guess: Any, checkpoint: Any) -> None:
    if refine or (refine is None and problem.transcription.refine):
        raise InputError("refine: not available with a scene; use more segments")
    if problem.transcription.knots == "free":
        raise InputError("knots: 'free' is not available with a scene; use more segments")
    if FEASIBLE in (guess, problem.guess if guess is None else None):
        raise InputError("guess: 'feasible' is not available with a scene; use 'auto'")
    if checkpoint is not None:
        raise InputError("checkpoint: not available with a scene; Ctrl-C keeps the best motion")


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
    """Add a warning if a converged motion is too far outside its limits between the points, or if
    passive joints may be unable to reach their goals.
    """
    options = problem.transcription
    if solution.status == "evaluation_error" and isinstance(options, Hybrid):
        caution = (
            "the integration of passive joints may overflow: use more steps or segments (strong "
            "damping and stiff springs need many), shooting = 'multiple', or another guess"
        )
        return revised(solution, message=f"{solution.message}; {caution}")
    if solution.status == "infeasible" and problem.passive:
        return revised(solution, message=f"{solution.message}; {_out_of_reach(problem, solution)}")
    excess = solution.max_violation_dense
    if solution.status not in CONVERGED or not excess > min(options.refine_tolerance, MOST_EXCESS):
        return solution
    return revised(
        solution, message=f"{solution.message}; {_excess_text(problem, solution, refined)}"
    )


def _excess_text(problem: Problem, solution: Solution, refined: bool) -> str:
    """The worst excess between the points, and what to do about it."""
    options, worst = problem.transcription, solution.dense_violations[0]
    advice = f"raise max_refinements (now {options.max_refinements}), or " if refined else (
        "refine, or " if problem.scene is None else ""
    )  # fmt: skip
    when = "" if np.isnan(worst.time) else f" at {worst.time:.4g} s"
    hybrid = isinstance(options, Hybrid)
    if isinstance(options, Dmoc):
        return (
            f"{worst.name} is outside its bounds by {100 * worst.relative:.3g} %{when}, within a "
            f"step: {advice}use more steps"
        )
    if PASSIVE_TORQUE in worst.name and problem.ground_forces:
        missing = _missing(problem, worst)
        if missing:
            return (
                f"{missing}{when} between the points where the equations of motion hold: "
                f"{advice}use more segments"
            )
    if PASSIVE_TORQUE in worst.name:
        other = "more steps" if hybrid else "or, better, method 'hybrid'"
        return (
            f"{worst.name} is {worst.value:.2g}{when}, {100 * worst.relative:.3g} % of the motors' "
            f"largest, between the points where it is zero: {advice}use more segments, {other}"
        )
    everywhere = options.limits == "points" and not hybrid and "effort" not in worst.name
    everywhere &= worst.lower < worst.upper  # equations hold at points only
    other = ", or limits = 'everywhere' for q, v, a and jerk" if everywhere else ""
    return (
        f"{worst.name} is outside its bounds by {100 * worst.relative:.3g} %{when}, between the "
        f"points where they were imposed: {advice}use more segments or limit points{other}"
    )


def _missing(problem: Problem, worst: Violation) -> str:
    """The force or moment that the ground leaves missing; empty if it is not at the base."""
    model, base = problem.model, floating_base(problem.model)
    for j in () if base is None else base.tolist():
        name = model.joint_names[j]
        if worst.name.endswith(f"{PASSIVE_TORQUE} {name}"):
            slide = model.kind[j] == PRISMATIC
            what, unit = ("a force", "N") if slide else ("a moment", "N m")
            per = "of the weight" if slide else f"of the weight times {MOMENT_ARM:g} m"
            size = f"{abs(worst.value):.2g} {unit} ({100.0 * worst.relative:.2g} % {per})"
            return f"{what} of {size} is missing at the floating base, {name},"
    return ""
