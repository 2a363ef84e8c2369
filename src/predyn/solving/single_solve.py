"""One solve: transcribe, guess, scale, solve, unpack; the latest iterate saved in a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import FileError
from predyn.nlp import Multipliers
from predyn.problem import Problem
from predyn.solution import CONVERGED, Solution
from predyn.solution.later_samples import revised
from predyn.solvers.ipopt import SolverResult, solve_nlp
from predyn.solvers.ipopt_callbacks import HISTORY_FIELDS, Iterate
from predyn.solving.guess_ranking import starting_point
from predyn.solving.retrying import FAILED, Run, run_with_retries
from predyn.solving.totals import Totals
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program
from predyn.transcribe.rank import check_rank
from predyn.transcribe.unpack import multipliers_of, unpack

Floats = NDArray[np.float64]
Report = Callable[[Iterate], bool | None]
OBJECTIVE = 100.0  # scaled objective at the guess: the solver's tolerance is an absolute one
# With unknown forces or torques, multipliers of the constraints are large, and a heavy objective
# makes the solver follow curved constraints in short steps (planar-walker: 348 iterations, not 29).
# In large discrete programs, a light one lets the barrier fall too early (a lift: 162 iterations,
# not 78).
OBJECTIVE_WITH_FORCES, OBJECTIVE_LARGE, LARGE = 2.0, 10.0, 5000  # variables
RESCALED = 5  # at most, solves with the scale of the solution before
TINY = 1e-4  # ratio of the objective's scales at the solution and at the guess
NEAR = 1e-4  # initial barrier parameter where the guess is a motion on coarser points
STIR = 3e-3  # of the scale of a variable; how much it changes the objective counts as its size


@np.errstate(all="ignore")  # the status reports what is not finite
def solve_once(
    problem: Problem,
    guess: Any,
    output: Output | None = None,
    start: tuple[int, int] = (0, 0),
    near: bool = False,
    warm: bool = False,
    mu_init: float | None = None,
    program: Program | None = None,
) -> Solution:
    """Solve a problem from one start, again in other ways if that fails (retrying.py).

    start    seed and number; the first has number 0
    near     perturb the guess, a solution, in search of a better optimum
    warm     continue the guess, a solution, with its barrier parameter
    program  that of the problem, if it has been built
    """
    began = perf_counter()
    if mu_init is None and warm and isinstance(guess, Solution):
        mu_init = _last_barrier(guess, problem.solver.tolerance)
    if mu_init is not None and problem.solver.mu_init is None:
        problem = replace(problem, solver=replace(problem.solver, mu_init=mu_init))
    built = program is not None
    if program is None:
        program = transcribe(problem)
    given = program.problem
    if problem.solver is not given.solver:
        program.problem = replace(given, solver=problem.solver)
    x0 = starting_point(program, start, near, guess)
    if not built:
        program.move(x0)
        evaluate_all(program)
    scaling = -perf_counter()
    scale_objective(program, x0)
    scaling += perf_counter()
    if not built and start[1] == 0:
        # stages, refinements and warm starts would repeat the warnings
        check_rank(program, x0, warn=not isinstance(guess, Solution))
    multipliers = None
    if isinstance(guess, Solution) and start[1] == 0 and (warm or guess.status in CONVERGED):
        multipliers = multipliers_of(program, guess)
    seconds = perf_counter() - began - scaling

    def run(program: Program, x0: Floats, multipliers: Multipliers | None) -> Solution:
        return run_program(program, x0, multipliers, output or Output())

    try:
        solution = _sharpened(run, program, run_with_retries(run, program, x0, multipliers))
        return with_transcription(solution, seconds, scaling)
    finally:
        program.problem = given  # it may be the caller's


def _sharpened(run: Run, program: Program, solution: Solution) -> Solution:
    """The solution; solved on with its own scale while its cost is a tiny part of the guess's."""
    solver, totals = program.problem.solver, Totals(solution)
    for _ in range(RESCALED):
        tiny = TINY * program.f_scale
        if solution.status not in CONVERGED or abs(solution.objective) >= tiny * OBJECTIVE:
            break
        x = first_guess(program, solution)
        scale_objective(program, x)
        if program.f_scale >= tiny:
            break
        left = totals.seconds_left(solver)
        if left is not None:
            left = max(left, 1e-3)
            program.problem = replace(program.problem, solver=replace(solver, max_seconds=left))
        finer = run(program, x, multipliers_of(program, solution))
        totals.add(finer)
        if finer.status in FAILED:
            note = f"with the scale of its own cost, the solve ended with {finer.status}"
            return totals.of(
                replace(solution, status=finer.status, message=f"{solution.message}; {note}")
            )
        solution = totals.of(finer)
    return solution


def _last_barrier(solution: Solution, tolerance: float) -> float | None:
    """The barrier parameter at which a solve was stopped."""
    mu = solution.history.get("mu", np.zeros(0))
    return float(np.clip(mu[-1], 0.1 * tolerance, 0.1)) if len(mu) else None


@np.errstate(all="ignore")
def run_program(
    program: Program,
    x0: Floats,
    multipliers: Multipliers | None,
    output: Output,
) -> Solution:
    """Solve a program and return the outcome."""
    problem, report = program.problem, output.report
    if output.checkpoints is not None:
        report = output.checkpoints.watch(program, report)
    with program.following_kinks():
        result = solve_nlp(program, x0, problem.solver, multipliers, report)
    began = perf_counter()
    costs = program.cost_parts()  # the program is at result.x
    timings = {"solve": result.seconds, "evaluate": result.evaluation_seconds}
    outcome: dict[str, Any] = {
        "status": result.status,
        "message": result.message,
        "objective": result.f,
        "costs": costs,
        "g": result.g,
        "multipliers": result.multipliers,
        "history": history_of(result),
        "timings": timings,
        "text": output.text,
    }
    try:
        solution = unpack(program, result.x, **outcome)
    except KeyboardInterrupt:  # what the solver has found is kept
        outcome["status"] = "interrupted"
        outcome["message"] = f"interrupted during the re-check after the solve: {result.message}"
        solution = unpack(program, result.x, **outcome, recheck=False)
    timings["check"] = perf_counter() - began
    return solution


def with_transcription(solution: Solution, seconds: float, scaling: float = 0.0) -> Solution:
    """The solution with the time until its solve began; scaling is a part of the solve."""
    timings = {"transcribe": seconds, **solution.timings}
    timings["solve"] += scaling
    return revised(solution, timings=timings, solve_seconds=timings["solve"])


def stopped(solution: Solution, when: str) -> Solution:
    """The last converged motion before an interrupt."""
    message = f"interrupted {when}; this is the last converged motion: {solution.message}"
    return replace(solution, status="interrupted", message=message)


def scale_objective(program: Program, x0: Floats) -> None:
    """Make the scaled objective OBJECTIVE at the guess, whatever its unit is.

    Where it is zero there, or no more than rounding errors, slope and curvature count. Torques that
    are unknowns count with their typical size.
    """
    program.move(program.with_typical_torques(x0))
    gradient = np.empty(program.n)
    program.gradient(gradient)
    slope = float(np.abs(gradient * program.x_scale).max(initial=0.0))
    size = max(abs(program.objective()), STIR * slope, 0.5 * STIR**2 * _curvature(program))
    program.move(x0)
    unknown = program.problem.ground_forces or program.discrete
    wanted = OBJECTIVE_WITH_FORCES if unknown else OBJECTIVE
    if program.discrete and program.n > LARGE:
        wanted = OBJECTIVE_LARGE
    program.f_scale = size / wanted if 0.0 < size < np.inf else 1.0


def _curvature(program: Program) -> float:
    """The largest second derivative of the objective in one scaled variable."""
    if program.problem.solver.hessian == "limited_memory":
        return 0.0
    rows, columns = program.hessian_pattern
    hessian = np.empty(len(rows))
    program.hessian(1.0, np.zeros(program.m), hessian)
    own = rows == columns
    return float(np.abs(hessian[own] * program.x_scale[rows[own]] ** 2).max(initial=0.0))


def evaluate_all(program: Program) -> None:
    """Once at the guess: what must be compiled or loaded is not the solver's time."""
    program.gradient(np.empty(program.n))
    program.constraints(np.empty(program.m))
    program.jacobian(np.empty(len(program.jacobian_pattern[0])))
    if program.problem.solver.hessian != "limited_memory":
        program.hessian(1.0, np.zeros(program.m), np.empty(len(program.hessian_pattern[0])))


def history_of(result: SolverResult) -> dict[str, Floats]:
    columns = zip(*result.history, strict=True) if result.history else [()] * len(HISTORY_FIELDS)
    return {
        name: np.array(column, float) for name, column in zip(HISTORY_FIELDS, columns, strict=True)
    }


def _unheard(part: str) -> None:
    """Nobody asked for the parts of the solve."""


class Output(NamedTuple):
    """What a solve passes on: the text of its task file, iterates, checkpoints."""

    text: str = ""  # kept in solutions
    report: Report | None = None
    checkpoints: Checkpoints | None = None
    announce: Callable[[str], None] = _unheard  # called with the name of a part that begins
    note: Callable[[str], None] = _unheard  # called with what a part has found


class Checkpoints:
    """Writes the latest iterate to a file at intervals."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        seconds: float,
        iterations: int | None,
        text: str,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._seconds, self._iterations, self._text = seconds, iterations, text
        self._due = np.inf

    def watch(self, program: Program, report: Report | None) -> Report | None:
        """A report that also saves the iterate."""
        if self._path is None:
            return report
        if self._due == np.inf:  # only now: kernels are compiled before the first solve
            self._due = monotonic() + self._seconds

        def watching(iterate: Iterate) -> bool | None:
            now = monotonic()
            every = self._iterations
            turn = every is not None and (iterate.iteration + 1) % every == 0
            if self._path is not None and (turn or now >= self._due):
                self._due = now + self._seconds
                self._write(program, iterate.x, iterate.multipliers, iterate)
            return report(iterate) if report is not None else None

        return watching

    def _write(
        self, program: Program, x: Floats, multipliers: Multipliers, iterate: Iterate
    ) -> None:
        numbers = {"iteration": iterate.iteration, "objective": iterate.objective, "mu": iterate.mu}
        history = {name: np.array([float(value)]) for name, value in numbers.items()}
        solution = unpack(
            program, x, status="interrupted", message="A checkpoint of a solve in progress.",
            objective=iterate.objective, costs={}, g=None, multipliers=multipliers,
            history=history, timings={"solve": iterate.elapsed}, text=self._text,
        )  # fmt: skip
        assert self._path is not None
        try:
            solution.save(self._path)
        except FileError as error:
            warnings.warn(f"checkpoints are switched off: {error}", RuntimeWarning, stacklevel=2)
            self._path = None
