"""Continuation: a problem with kinks, solved with wide roundings first, then with narrow ones.

The kinks are those of |tau v| and of dry friction. Each stage starts from the solution of the one
before. A wide rounding is easy to solve; the solution with it is close enough to that with a narrow
one for Newton's method to converge. Widths that a problem leaves open are a fixed share of the size
that the rounded quantity has in the solution of the first stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import numpy as np

from predyn.errors import listed
from predyn.nlp import SolverOptions
from predyn.problem import Problem
from predyn.solution import CONVERGED, Solution
from predyn.solvers.ipopt_callbacks import Iterate
from predyn.solving.single_solve import Output, Report, solve_once
from predyn.solving.totals import Totals
from predyn.terms.kinked import NARROW
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program
from predyn.transcribe.widths import (
    FRICTION,
    asked_widths,
    bounds_kinks,
    sizes_at,
    used_widths,
    with_widths,
)

Widths = Mapping[str, float]
WIDE = 0.1  # width of the first stage over the size of the rounded quantity
STEP, FRICTION_STEP = 100.0, 10.0  # largest ratio of the widths of two stages
LOOSE, FRICTION_LOOSE = 1e-2, 1e-6  # tolerance before the last stage
BARRIER, FRICTION_BARRIER = 1e-4, 1e-6  # initial barrier parameter after the first stage
CLOSE = 2.0  # ratio of widths that takes no stage of its own
HALVINGS = 2  # how often a stage that fails is approached by one in between
AT_ONCE = 1e-3  # s, for a stage that has no time left
NAMED = 3  # widths in a message
LONGEST = 300  # iterations of a stage that may be approached in this way


@dataclass
class Stages:
    """Solves problems that differ in their widths, one after another."""

    problem: Problem
    output: Output
    totals: Totals = field(default_factory=Totals)
    began: float = field(default_factory=monotonic)
    count: int = 0

    @property
    def friction(self) -> bool:
        return bool(np.any(self.problem.model.coulomb))

    def solve(
        self, widths: Widths, guess: Any, last: bool, most: int | None = None, **options: Any
    ) -> Solution:
        """One stage; all but the last are solved loosely."""
        self.count += 1
        if not last or self.count > 1:
            self.output.announce(f"stage {self.count}{', the last' if last else ''}")
        problem = with_widths(self.problem, widths)
        solver = self._solver(problem.solver, last, most)
        output = self.output._replace(report=self._continued(self.totals.iterations))
        solution = solve_once(replace(problem, solver=solver), guess, output, **options)
        self.totals.add(solution)
        return solution

    def follow(self, widths: Widths, solution: Solution, last: bool, most: int) -> Solution:
        """A stage that starts from the solution of another one."""
        barrier = FRICTION_BARRIER if self.friction else BARRIER
        return self.solve(widths, solution, last, most, mu_init=barrier)

    def _solver(self, solver: SolverOptions, last: bool, most: int | None) -> SolverOptions:
        loose = FRICTION_LOOSE if self.friction else LOOSE
        left = max(solver.max_iterations - self.totals.iterations, 0)
        seconds = self.totals.seconds_left(solver)
        return replace(
            solver,
            tolerance=solver.tolerance if last else max(solver.tolerance, loose),
            max_iterations=left if most is None else min(left, most),
            max_seconds=None if seconds is None else max(seconds, AT_ONCE),
        )

    def _continued(self, done: int) -> Report | None:
        """The report with iterations and seconds counted from the first stage on."""
        report, before = self.output.report, monotonic() - self.began
        if report is None or done == 0:
            return report

        def counted(iterate: Iterate) -> bool | None:
            elapsed = before + iterate.elapsed
            return report(iterate._replace(iteration=done + iterate.iteration, elapsed=elapsed))

        return counted


def solve_in_stages(
    problem: Problem,
    guess: Any,
    output: Output,
    program: Program | None = None,
    **options: Any,
) -> Solution:
    """Solve a problem; if it has kinks, by continuation. `options` are those of `solve_once`.

    program: that of the problem, if it has been built; stages need programs of their own.
    """
    wrong = program is None and problem.validate()  # or only its method makes it complete
    asked = {} if wrong else asked_widths(problem)
    if not asked:
        return solve_once(problem, guess, output, program=program, **options)
    wide, narrow = _first_widths(problem, guess, asked)
    stages = Stages(problem, output)
    single = narrow is not None and not _steps(wide, narrow)
    solution = stages.solve(narrow if single and narrow else wide, guess, single, **options)
    if single or solution.status not in CONVERGED:
        return stages.totals.of(_named(solution, asked))
    if narrow is None:
        narrow = _narrow(problem, solution, asked, wide)
    return stages.totals.of(_narrowed(stages, solution, wide, narrow))


def _first_widths(
    problem: Problem, guess: Any, asked: Mapping[str, float | None]
) -> tuple[dict[str, float], dict[str, float] | None]:
    """Widths of the first stage, and those of the last one if they are known already."""
    known: dict[str, float] = {}
    chosen = problem.guess if guess is None else guess
    if isinstance(chosen, Solution) and chosen.status in CONVERGED:
        known = {name: chosen.widths[name] for name in asked if name in chosen.widths}
    final = {name: known.get(name) if width is None else width for name, width in asked.items()}
    if len(known) == len(asked):
        wide = {name: max(known[name], final[name] or 0.0) for name in asked}
    else:
        program = transcribe(problem)
        sizes = sizes_at(program, first_guess(program, guess))
        wide = {name: max(WIDE * sizes[name], final[name] or 0.0) for name in asked}
    narrow = {name: width for name, width in final.items() if width is not None}
    return wide, narrow if len(narrow) == len(asked) else None


def _narrow(
    problem: Problem, solution: Solution, asked: Mapping[str, float | None], wide: Widths
) -> dict[str, float]:
    """The widths of the last stage."""
    program = transcribe(with_widths(problem, wide))
    sizes = sizes_at(program, first_guess(program, solution))
    return {
        name: min(NARROW * sizes[name], wide[name]) if width is None else width
        for name, width in asked.items()
    }


def _steps(wide: Widths, narrow: Widths) -> int:
    """Number of stages from wide to narrow widths; 0 if they are close to each other."""
    steps = 0
    for name, width in wide.items():
        ratio = width / narrow[name]
        if ratio > CLOSE:
            step = FRICTION_STEP if name.startswith(FRICTION) else STEP
            steps = max(steps, math.ceil(math.log(ratio) / math.log(step) - 1e-9), 1)
    return steps


def _between(wide: Widths, narrow: Widths, share: float) -> dict[str, float]:
    return {name: wide[name] ** (1.0 - share) * narrow[name] ** share for name in wide}


def _narrowed(
    stages: Stages, solution: Solution, wide: dict[str, float], narrow: dict[str, float]
) -> Solution:
    """Narrow the widths of a solution step by step, with smaller steps where one fails."""
    steps = max(_steps(wide, narrow), 1)
    targets = [_between(wide, narrow, k / steps) for k in range(1, steps)] + [narrow]
    reached, halvings = wide, 0
    while targets:
        last = len(targets) == 1
        most = stages.problem.solver.max_iterations if halvings == HALVINGS else LONGEST
        try:
            found = stages.follow(targets[0], solution, last, most)
        except KeyboardInterrupt:
            return _interrupted(solution, reached, narrow)
        if found.status == "interrupted":
            return _interrupted(solution, reached, narrow)
        if found.status in CONVERGED:
            solution, reached = found, targets.pop(0)
        elif halvings < HALVINGS and found.status != "time_limit":
            halvings += 1
            targets.insert(0, _between(reached, targets[0], 0.5))
        else:
            return _short(stages, solution, found, reached, narrow)
    return solution


def _interrupted(solution: Solution, reached: Widths, narrow: Widths) -> Solution:
    message = (
        f"interrupted; this is the last converged motion, {_list(reached, narrow)}; "
        "resume to continue"
    )
    return replace(solution, status="interrupted", message=message)


def _short(
    stages: Stages, solution: Solution, failed: Solution, reached: Widths, narrow: Widths
) -> Solution:
    """The last converged stage, solved to the end, where a narrower one failed.

    A wider rounding of a cost is a less accurate answer, but other friction is another model, and a
    bound on a wider rounding another bound: no success. Nor is a stage that was solved loosely.
    """
    note = f"{_list(reached, narrow)}: that stage ended with {failed.status}"
    loose = True
    if failed.status != "time_limit":
        finished = stages.follow(reached, solution, True, LONGEST)
        if finished.status in CONVERGED:
            solution, loose = finished, False
    note += ", and this one has a loose tolerance" if loose else ""
    other = loose or stages.friction or bounds_kinks(stages.problem)
    status = failed.status if other else "acceptable"
    advice = "allow more iterations and time, try another guess, more segments, or a larger width"
    if stages.friction:
        advice = "try another guess, more segments, or a larger coulomb_speed of the model"
    return replace(solution, status=status, message=f"{note}; {advice}")


def _list(reached: Widths, narrow: Widths) -> str:
    """Where the widths are, and where they should be."""
    parts = [
        f"{name} {reached[name]:.3g} instead of {narrow[name]:.3g}"
        for name in reached
        if reached[name] > narrow[name]
    ]
    return f"with the widths {listed(parts, NAMED)}" if parts else "with a loose tolerance"


def _named(solution: Solution, asked: Mapping[str, float | None]) -> Solution:
    """The solution of the first stage; if it is not a success, with its widths in the message."""
    other = [
        f"{name} {solution.widths[name]:.3g}"
        for name, width in asked.items()
        if solution.widths.get(name, width) != width
    ]
    if solution.status in CONVERGED or not other:
        return solution
    note = f"this stage had the widths {listed(other, NAMED)}"
    return replace(solution, message=f"{solution.message}; {note}")


def settled(problem: Problem, solution: Solution) -> Problem:
    """The problem with the widths of its solution, for solves that follow."""
    if not solution.widths:  # nothing is rounded
        return problem
    return with_widths(problem, {**used_widths(problem), **solution.widths})
