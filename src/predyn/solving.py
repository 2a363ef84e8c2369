"""The conductor: transcribe, solve, unpack; checkpoints, refinement, several starts."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.bspline import BSpline
from predyn.config import read_task
from predyn.errors import FileError, InputError
from predyn.nlp import Multipliers
from predyn.problem import Problem
from predyn.solution import Solution
from predyn.solution_file import load_solution
from predyn.solvers.ipopt import SolverResult, solve_nlp
from predyn.solvers.ipopt_callbacks import HISTORY_FIELDS, Iterate
from predyn.transcribe.free_knots import joined, split
from predyn.transcribe.guess import first_guess, neighbour, random_guess
from predyn.transcribe.spline import SplineProgram, transcribe
from predyn.transcribe.unpack import multipliers_of, unpack

Floats = NDArray[np.float64]
Report = Callable[[Iterate], bool | None]
EPS = float(np.finfo(float).eps)
LARGEST_OBJECTIVE = 1e4
NEAR = 1e-4  # barrier parameter at the start of a refinement: the coarser motion is close


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
    resume: str | os.PathLike[str] | None = None,
) -> Solution:
    """Find the motion. Returns for every outcome: look at `status`, or call `check()`.

    problem     a Problem, or the name or path of a task file
    guess       replaces the problem's: "linear", "inverse_kinematics", (s, q) or a Solution
    starts      how many guesses to try, each in a process of its own; the best local optimum is
                returned, with the spread of all in `starts`; the first is `guess`, the others are
                it bent at random by `seed`
    refine      halve the segments, once at least, until the dense excess and the relative change
                of the objective are below the transcription's tolerance
    report      called after every iteration, False stops; with several starts once for each that
                has ended, with the number of ended starts in place of the iteration
    checkpoint  file that holds the latest iterate, written every checkpoint_seconds
    resume      a checkpoint or an earlier solution of the same problem: start there, with its
                multipliers if the program is the same

    What is found is a local optimum of the spline's program: limits hold at the limit points, and
    what happens between them is measured, not prevented, unless refined.
    """
    text = ""
    if not isinstance(problem, Problem):
        task = read_task(problem)
        problem, text = task.problem, task.text
    _check_arguments(starts, seed, report, checkpoint, checkpoint_seconds, resume)
    if resume is not None:
        if guess is not None:
            raise InputError("guess and resume: expected one of them, got both")
        guess = load_solution(resume)
    if starts > 1:
        if checkpoint is not None or resume is not None:
            raise InputError("checkpoint and resume serve one start; with several leave them out")
        solution = _several(problem, guess, starts, seed, text, report)
        keep = None
    else:
        keep = _Keeper(checkpoint, checkpoint_seconds, text)
        solution = _once(problem, guess, text, report, keep, warm=resume is not None)
    solution = _refined(problem, solution, refine, text, report, keep)
    if problem.transcription.knots == "free" and solution.success:
        solution = _with_free_knots(problem, solution, text, report)
    refined = problem.transcription.refine if refine is None else refine
    return _with_caution(problem, solution, refined)


def _check_arguments(
    starts: Any, seed: Any, report: Any, checkpoint: Any, seconds: Any, resume: Any
) -> None:
    for name, value, least in (("starts", starts, 1), ("seed", seed, 0)):
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


def _once(
    problem: Problem,
    guess: Any,
    text: str,
    report: Report | None = None,
    keep: _Keeper | None = None,
    start: tuple[int, int] = (0, 0),
    near: bool = False,
    warm: bool = False,
    mu_init: float | None = None,
) -> Solution:
    began = perf_counter()
    if mu_init is not None and problem.solver.mu_init is None:
        problem = replace(problem, solver=replace(problem.solver, mu_init=mu_init))
    program = transcribe(problem)
    x0 = (neighbour if near else random_guess)(program, *start, guess)
    _scale_objective(program, x0)
    _evaluate_all(program)
    multipliers = multipliers_of(program, guess) if warm and isinstance(guess, Solution) else None
    return _run(program, x0, multipliers, text, report, keep, perf_counter() - began)


def _run(
    program: SplineProgram,
    x0: Floats,
    multipliers: Multipliers | None,
    text: str,
    report: Report | None,
    keep: _Keeper | None,
    transcribed: float,
) -> Solution:
    """Solve a program, and say what came out."""
    problem = program.problem
    if keep is not None:
        report = keep.watch(program, report)
    result = solve_nlp(program, x0, problem.solver, multipliers, report)
    began = perf_counter()
    program.move(result.x)
    costs = program.cost_parts()
    timings = {
        "transcribe": transcribed,
        "solve": result.seconds,
        "evaluate": result.evaluation_seconds,
    }
    solution = unpack(
        program,
        result.x,
        status=result.status,
        message=result.message,
        objective=result.f,
        costs=costs,
        g=result.g,
        multipliers=result.multipliers,
        history=_history(result),
        timings=timings,
        text=text,
    )
    timings["check"] = perf_counter() - began
    return solution


def _with_caution(problem: Problem, solution: Solution, refined: bool) -> Solution:
    """Say so if a success is too far outside its limits between the points."""
    options = problem.transcription
    if not solution.success or not solution.max_violation_dense > options.refine_tolerance:
        return solution
    advice = "refine" if not refined else f"raise max_refinements (now {options.max_refinements})"
    worst = solution.dense_violations[0]
    caution = (
        f"{worst.name} is outside its bounds by {100 * worst.relative:.2g} % between the points "
        f"where they were imposed: {advice}, or use more segments or limit points"
    )
    return replace(solution, message=f"{solution.message}; {caution}")


def _scale_objective(program: SplineProgram, x0: Floats) -> None:
    """Make the scaled objective no more than LARGEST_OBJECTIVE at the guess.

    Not more: the solver stops at an error in the scaled objective, summed over the limits.
    """
    program.move(x0)
    size = abs(program.objective())
    program.f_scale = max(1.0, size / LARGEST_OBJECTIVE) if np.isfinite(size) else 1.0


def _evaluate_all(program: SplineProgram) -> None:
    """Once at the guess: what must be compiled or loaded is not the solver's time."""
    program.gradient(np.empty(program.n))
    program.constraints(np.empty(program.m))
    program.jacobian(np.empty(len(program.jacobian_pattern[0])))
    if program.problem.solver.hessian != "limited_memory":
        program.hessian(1.0, np.zeros(program.m), np.empty(len(program.hessian_pattern[0])))


def _history(result: SolverResult) -> dict[str, Floats]:
    columns = zip(*result.history, strict=True) if result.history else [()] * len(HISTORY_FIELDS)
    return {
        name: np.array(column, float) for name, column in zip(HISTORY_FIELDS, columns, strict=True)
    }


def _refined(
    problem: Problem,
    solution: Solution,
    refine: bool | None,
    text: str,
    report: Report | None = None,
    keep: _Keeper | None = None,
) -> Solution:
    """Halve the segments until neither limits between the points nor the objective ask for more."""
    options = problem.transcription
    if not (options.refine if refine is None else refine):
        return solution
    total, iterations = dict(solution.timings), solution.iterations
    for _ in range(options.max_refinements):
        if not solution.success:
            break
        problem = _halved(problem)
        finer = _once(problem, solution, text, report, keep, mu_init=NEAR)
        for name, seconds in finer.timings.items():
            total[name] = total.get(name, 0.0) + seconds
        iterations += finer.iterations
        finer = replace(finer, starts=solution.starts, iterations=iterations)
        if finer.status == "interrupted":
            return finer
        if not finer.success:
            note = f"refining further ended with {finer.status}: {finer.message}"
            solution = replace(solution, message=f"{solution.message}; {note}")
            break
        change = abs(finer.objective - solution.objective)
        solution = finer
        small = options.refine_tolerance * max(abs(finer.objective), EPS)
        if finer.max_violation_dense <= options.refine_tolerance and change <= small:
            break
    return replace(solution, timings=total, solve_seconds=total["solve"])


def _with_free_knots(
    problem: Problem, solution: Solution, text: str, report: Report | None
) -> Solution:
    """Let the knots of a solution move."""
    began = perf_counter()
    (curve,) = solution.curves
    spline = replace(problem.transcription, segments=BSpline(curve.degree, curve.knots).segments)
    phases = tuple(replace(phase, segments=None) for phase in problem.phases)
    program = split(replace(problem, transcription=spline, phases=phases), solution.duration)
    x0 = first_guess(program, solution)
    _scale_objective(program, x0)
    _evaluate_all(program)
    found = _run(program, x0, None, text, report, None, perf_counter() - began)
    if not found.success and found.status != "interrupted":
        note = f"with free knots the solve ended with {found.status}, so these are equal segments"
        return replace(solution, message=f"{solution.message}; {note}")
    total = {k: x + solution.timings.get(k, 0.0) for k, x in found.timings.items()}
    found = replace(found, timings=total, solve_seconds=total["solve"], starts=solution.starts)
    return joined(found, problem.name, problem)


def _halved(problem: Problem) -> Problem:
    """The same problem with every segment split in two."""
    options = problem.transcription
    knots = options.knots
    if not isinstance(knots, str):
        middle = tuple(0.5 * (a + b) for a, b in pairwise(knots))
        knots = tuple(sorted((*knots, *middle)))
    phases = tuple(
        p if p.segments is None else replace(p, segments=2 * p.segments) for p in problem.phases
    )
    finer = replace(options, segments=2 * options.segments, knots=knots)
    return replace(problem, transcription=finer, phases=phases)


class _Keeper:
    """Writes the latest iterate to a file now and then."""

    def __init__(self, path: str | os.PathLike[str] | None, seconds: float, text: str) -> None:
        self._path = None if path is None else Path(path)
        self._seconds, self._text = seconds, text
        self._due = monotonic() + seconds

    def watch(self, program: SplineProgram, report: Report | None) -> Report | None:
        """A report that also keeps the iterate."""
        if self._path is None:
            return report

        def watching(iterate: Iterate) -> bool | None:
            now = monotonic()
            if now >= self._due:
                self._due = now + self._seconds
                self._write(program, iterate.x, iterate.multipliers, iterate)
            return report(iterate) if report is not None else None

        return watching

    def _write(
        self, program: SplineProgram, x: Floats, multipliers: Multipliers, iterate: Iterate
    ) -> None:
        numbers = {"iteration": iterate.iteration, "objective": iterate.objective}
        history = {name: np.array([float(value)]) for name, value in numbers.items()}
        solution = unpack(
            program, x, status="interrupted", message="A checkpoint: the solve was going on.",
            objective=iterate.objective, costs={}, g=None, multipliers=multipliers,
            history=history, timings={"solve": iterate.elapsed}, text=self._text,
        )  # fmt: skip
        assert self._path is not None
        try:
            solution.save(self._path)
        except FileError as error:
            warnings.warn(f"no checkpoint is kept: {error}", RuntimeWarning, stacklevel=2)
            self._path, self._due = None, float("inf")


# -- several starts -------------------------------------------------------------------------------

FIRST, GENERATION = 20, 10  # starts from the guess, then starts from the best so far at a time


def _start(job: tuple[Problem, Any, int, int, bool, str]) -> Solution:
    """One start, in a process of its own."""
    problem, guess, seed, number, near, text = job
    return _once(problem, guess, text, start=(seed, number), near=near)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _said_clearly() -> Iterator[None]:
    """What goes wrong between processes, in words."""
    try:
        yield
    except BrokenProcessPool:
        raise InputError(
            "starts: the processes of the starts ended by themselves. A script that asks for "
            'several starts must call solve under `if __name__ == "__main__":`; otherwise the '
            "memory may have run out"
        ) from None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in str(error).lower():
            raise
        raise InputError(
            f"starts: the problem cannot be sent to other processes ({error}); user terms take "
            "functions of a module, not lambdas or inner functions"
        ) from None


def _several(
    problem: Problem,
    guess: Any,
    starts: int,
    seed: int,
    text: str,
    report: Report | None,
) -> Solution:
    """The best of several starts. Each process has one thread: MUMPS is not thread safe.

    The first starts bend the guess at random; of later ones two in three bend the best optimum so
    far, ten at a time, so that what is found does not depend on how many processes there are.
    """
    began = monotonic()
    workers = min(starts, os.cpu_count() or 1)
    found: list[Solution] = []
    stopped = False
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with _said_clearly(), ProcessPoolExecutor(workers, context, _begin_worker) as pool:
        try:
            while len(found) < starts:
                later = len(found) >= FIRST
                stop = min(starts, len(found) + (GENERATION if later else FIRST))
                jobs = []
                for k in range(len(found), stop):
                    near = later and k % 3 != 0
                    source = _best(found) if near else guess
                    jobs.append((problem, source, seed, k, near, text))
                for solution in pool.map(_start, jobs):
                    found.append(solution)
                    if report is not None and report(_ended(found, monotonic() - began)) is False:
                        stop, starts, stopped = len(found), len(found), True
                        break
        except KeyboardInterrupt:
            if not found:
                raise
            stopped = True
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
    spread = tuple(
        {
            "start": k,
            "status": s.status,
            "objective": s.objective,
            "iterations": s.iterations,
            "max_violation": s.max_violation,
        }
        for k, s in enumerate(found)
    )
    best = replace(_best(found), starts=spread)
    if stopped:
        note = f"stopped after {len(found)} starts; the best of them is {best.status}"
        best = replace(best, status="interrupted", message=note)
    return best


def _ended(found: list[Solution], elapsed: float) -> Iterate:
    """The start that ended last, and the best of those so far, as an iterate."""
    best, last = _best(found), found[-1]
    worst = f"start {len(found)}: {last.status}, {last.objective:.6g}"
    none = Multipliers(np.zeros(0), np.zeros(0), np.zeros(0))
    numbers = (best.objective, best.max_violation, worst, 0.0, 0.0, 0.0, elapsed, False, best.x)
    return Iterate(len(found), *numbers, none)


def _best(found: list[Solution]) -> Solution:
    """The lowest objective of those that succeeded, or the least violation."""
    return min(found, key=lambda s: (not s.success, s.objective if s.success else s.max_violation))
