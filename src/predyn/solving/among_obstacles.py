"""Motions among obstacles: plan a path, time it, improve the motion, and prove the result.

A motion that is returned as a success is certified and never worse than the timed path, however the
improvement ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate
from predyn.collision.checker import Checker
from predyn.collision.clearance import checker_of
from predyn.errors import InputError
from predyn.nlp import Multipliers
from predyn.problem import Duration, Problem, Spline, duration_of
from predyn.problem.offers import name_in, phase_names
from predyn.problem.problem import name_of
from predyn.solution import NOT_CERTIFIED, SUCCESS, Solution, Stage
from predyn.solution.later_samples import revised
from predyn.solving.certified_improvement import (
    EXCESS,
    Candidate,
    Improvement,
    Improver,
    certify_curves,
    within,
)
from predyn.solving.robot_task import RobotTask, energy_in, robot_task
from predyn.solving.single_solve import Output, evaluate_all, scale_objective
from predyn.solving.timed_path import TimedPath, as_solution, motion_along, timed_path
from predyn.solving.until_certified import solve_until_certified
from predyn.storage.interrupts import held_back
from predyn.transcribe.guess import first_guess, motion_guess, searches
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import Motion, motion_of
from predyn.transcribe.program import Program, require_valid
from predyn.transcribe.recheck import dense_violations, residual_values
from predyn.transcribe.rows import Rows
from predyn.transcribe.unpack import multipliers_of, unpack
from predyn.transcribe.unsmoothed import costs_along

Floats = NDArray[np.float64]
ALIKE = 1e-6  # relative; objectives nearer than this are equal
MET = 1e-6  # of its scale; how far outside its bounds a constraint may be at the end of a path


def solve_among_obstacles(
    problem: Problem, guess: Any, output: Output, seed: int, starts: int
) -> Solution:
    """The motion of a problem with a scene; each start plans with another seed."""
    require_valid(problem)
    options = problem.transcription
    if type(options) is Spline and options.limits != "everywhere":  # as the proof is
        options = replace(options, limits="everywhere")
        problem = replace(problem, transcription=options)
    assert problem.scene is not None
    scenes = [problem.scene.in_phase(name) for name in phase_names(problem)]
    checkers = [checker_of(problem.model, scene) for scene in scenes]
    task, first = robot_task(problem, checkers), problem.guess if guess is None else guess
    why = task if isinstance(task, str) else ""
    if not isinstance(first, str):
        why = why or "the guess is a motion"
    if why and starts > 1:
        raise InputError(
            f"starts: expected 1, got {starts}: each start plans another path, but nothing is "
            f"planned, since {why}"
        )
    if isinstance(task, str):
        return solve_until_certified(problem, guess, checkers, output, task)
    chain = _Chain(problem, task, checkers, output)
    searches(chain.program, first)  # an InputError if there is no such guess
    if not isinstance(first, str):
        return chain.improve(first, None, chain.deadline())
    found: list[Solution] = []
    stopped = False
    for k in range(starts):
        try:
            found.append(chain.run(seed + k))
        except KeyboardInterrupt:  # while a path was planned
            if not found:
                raise
            stopped = True
            break
        if found[-1].status == "interrupted":
            break
    best = min(found, key=lambda x: (not x.success, x.objective))
    if stopped:
        note = f"stopped after {len(found)} starts; the best of them is {best.status}"
        best = revised(best, status="interrupted", message=note)
    if starts > 1:
        each = ({"status": x.status, "objective": x.objective} for x in found)
        best = revised(best, starts=tuple(each))
    return best


class _Chain:
    """The stages of one problem; its program is built once."""

    def __init__(
        self, problem: Problem, task: RobotTask, checkers: Sequence[Checker], output: Output
    ) -> None:
        self.problem, self.task, self.checkers, self.output = problem, task, checkers, output
        began = perf_counter()
        self.program: Program = transcribe(problem)
        self._seconds = {"transcribe": perf_counter() - began}
        self._scaled = False

    def deadline(self) -> float:
        """When to stop, on the clock of `monotonic`."""
        limit = self.problem.solver.max_seconds
        return np.inf if limit is None else monotonic() + limit

    def run(self, seed: int) -> Solution:
        until = self.deadline()
        path = timed_path(self.program, self.task, self.checkers, seed, self.output, until)
        if path.status:
            return self._without_motion(path)
        return self.improve(None, path, until)

    def improve(self, guess: Any, path: TimedPath | None, until: float) -> Solution:
        """Improve a given guess, or the timed path; the better of path and result is returned."""
        began = perf_counter()
        program = self.program
        target, multipliers = np.inf, None
        found = Improvement()
        try:
            with held_back():  # a Ctrl-C does not lose the timed path
                x = (
                    first_guess(program, guess)
                    if path is None
                    else (motion_guess(program, path.curves))
                )
                self._scale(x)
                if path is not None:
                    path, target = self._priced(path)
                elif isinstance(guess, Solution):
                    multipliers = multipliers_of(program, guess)
            improver = Improver(program, self.checkers, self.output, until)
            found = improver.run(x, target, multipliers)
        except KeyboardInterrupt:
            found.interrupted = True
        best = found.best
        kept = self._kept_guess(x, best) if isinstance(guess, Solution) else None
        if best is not None and path is not None and not self._is_better(best.result.x, target):
            best = None
        certificate: Certificate | None
        if kept is not None:
            certificate = kept
            status = "interrupted" if found.interrupted else "acceptable"
            message = f"the guess; {found.rounds} programs found nothing better that is certified"
            solution = self._solution(x, status, message, found)
        elif best is not None:
            solution = self._unpacked(best, found)
            certificate = best.certificate
        elif path is not None and np.isfinite(target):
            solution, certificate = self._not_improved(path, target, found), path.certificate
        else:
            solution, certificate = self._failed(found)
        stage = self._stage(solution, certificate, found, perf_counter() - began)
        self.output.note(
            f"improve: {solution.status}, objective {solution.objective:.6g}, {found.rounds} "
            f"programs, {'no certificate' if certificate is None else certificate.status}"
        )
        stages = (*(path.stages if path is not None else ()), stage)
        return self._completed(solution, certificate, stages, perf_counter() - began)

    def _scale(self, x: Floats) -> None:
        """Scale the objective at the first motion, and no more: later ones are compared with it."""
        if not self._scaled:
            self.program.move(x)
            evaluate_all(self.program)
            scale_objective(self.program, x)
            self._scaled = True

    def _kept_guess(self, x: Floats, best: Candidate | None) -> Certificate | None:
        """The proof of a given motion that keeps all limits, if no better one was found."""
        self.program.move(x)
        objective = self.program.objective()
        if best is not None and best.result.f <= objective * (1.0 + ALIKE):
            return None
        g = np.empty(self.program.m)
        self.program.constraints(g)
        certificate = certify_curves(
            self.checkers, self.program.curves(x), float(self.problem.margin)
        )
        proved = certificate.status == "certified" and within(g, self.program)
        excess = dense_violations(self.program, motion_of(self.program, x)) if proved else []
        return certificate if proved and all(v.relative <= EXCESS for v in excess) else None

    # -- the timed path -------------------------------------------------------------------------

    def _priced(self, path: TimedPath) -> tuple[TimedPath, float]:
        """The path with its cost in the problem; infinite if it is not a motion of the problem."""
        plan, time = path.stages
        costs = costs_along(self.program, motion_along(self.program, path.curves))
        why = self._contradiction(path)
        if costs is None or why:
            note = f"a guess only: stages plan and time do not account for {why or 'all costs'}"
            time = replace(time, objective=float("nan"), message=note)
            return replace(path, stages=(plan, time)), np.inf
        objective = sum(costs.values())
        time = replace(
            time,
            duration=sum(curve.duration for curve in path.curves),
            objective=objective,
            energy=energy_in(self.problem, costs),
        )
        return replace(path, stages=(plan, time)), objective if path.proved else np.inf

    def _contradiction(self, path: TimedPath) -> str:
        """What a path contradicts in the problem; "" if nothing."""
        if self.task.ignored:
            return ", ".join(self.task.ignored)
        for phase, curve in zip(self.problem.phases, path.curves, strict=True):
            bounds = duration_of(self.problem, phase)
            if isinstance(bounds, Duration) and curve.duration > bounds.max:
                return f"a duration of at most {bounds.max:g} s"
        motion = motion_along(self.program, path.curves)
        for p, phase in enumerate(self.problem.phases):
            goals = (*self.problem.constraints, *phase.constraints)
            names = {name_in(self.problem, p, name_of(x)) for x in goals}
            for rows in self.program.rows:
                if rows.name in names and not self._is_met(motion, p, rows):
                    return f"constraint {rows.name!r}"
        return ""

    def _is_met(self, motion: Motion, p: int, rows: Rows) -> bool:
        """Whether a constraint on the end of a phase holds."""
        residual = rows.parts[0].block.residual
        end = motion.samples(p, np.ones(1), residual.channels)
        values = residual_values(residual, end, 1)
        off = np.maximum(rows.lower - values[:, 0], values[:, 0] - rows.upper) / residual.scale
        return bool((off <= MET).all())

    def _is_better(self, x: Floats, target: float) -> bool:
        costs = costs_along(self.program, motion_of(self.program, x))
        return costs is None or sum(costs.values()) < target

    # -- results --------------------------------------------------------------------------------

    def _unpacked(self, best: Candidate, found: Improvement) -> Solution:
        result, end = best.result, ""
        status = "optimal" if best.optimal else "acceptable"
        if found.interrupted:
            status = "interrupted"
        if best.confined:
            end = "; it stayed near its start, and a better motion may be further away"
        elif not best.optimal:
            end = f"; the last program ended with: {result.message}"
        message = f"improved in {found.rounds} programs{end}"
        return self._solution(result.x, status, message, found, result.multipliers)

    def _not_improved(self, path: TimedPath, target: float, found: Improvement) -> Solution:
        """The timed path: certified, but on the planned path."""
        x = motion_guess(self.program, path.curves)
        status = "interrupted" if found.interrupted else "acceptable"
        message = f"the timed path; {found.rounds} programs found nothing better that is certified"
        like = self._solution(x, status, message, found)
        costs = costs_along(self.program, motion_along(self.program, path.curves)) or {}
        return as_solution(path, like, self.program, status=status, objective=target, costs=costs)

    def _failed(self, found: Improvement) -> tuple[Solution, Certificate | None]:
        """The last motion, which is not a success."""
        result, certificate = found.last, found.certificate
        if result is None or certificate is None:  # interrupted at once
            x = first_guess(self.program)
            return self._solution(x, "interrupted", "interrupted", found), None
        if certificate.status != "certified":
            one, other = certificate.pair or ("", "")
            status, message = NOT_CERTIFIED, (
                f"not proved to keep clear after {found.rounds} programs: {one!r} and {other!r} "
                f"are {1e3 * certificate.distance:.3g} mm apart at {certificate.time:.4g} s "
                f"({certificate.status}); try another seed, more segments or a smaller margin"
            )  # fmt: skip
            if result.status not in SUCCESS:
                message += f"; the last program ended with: {result.message}"
        else:
            status = "iteration_limit" if result.status in SUCCESS else result.status
            message = f"certified, but not within all limits: {result.message}"
        if found.interrupted:
            status = "interrupted"
        return self._solution(result.x, status, message, found, result.multipliers), certificate

    def _without_motion(self, path: TimedPath) -> Solution:
        """No path: the guess of the problem stands in for a motion."""
        x = first_guess(self.program)
        solution = self._solution(x, path.status, path.message, Improvement())
        return self._completed(solution, None, path.stages, 0.0)

    def _solution(
        self,
        x: Floats,
        status: str,
        message: str,
        found: Improvement,
        multipliers: Multipliers | None = None,
    ) -> Solution:
        program = self.program
        g, m, n = np.empty(program.m), program.m, program.n
        program.move(x)
        program.constraints(g)
        own = Multipliers(np.zeros(m), np.zeros(n), np.zeros(n))
        if multipliers is not None:
            own = multipliers._replace(g=multipliers.g[:m])
        return unpack(
            program,
            x,
            status=status,
            message=message,
            objective=program.objective(),
            costs=program.cost_parts(),
            g=g,
            multipliers=own,
            history={"iteration": np.array([float(found.iterations)])},
            timings=dict(self._seconds),
            text=self.output.text,
        )

    def _stage(
        self,
        solution: Solution,
        certificate: Certificate | None,
        found: Improvement,
        seconds: float,
    ) -> Stage:
        return Stage(
            "improve",
            solution.status,
            seconds,
            duration=solution.duration,
            energy=energy_in(self.problem, solution.costs),
            objective=solution.objective,
            clearance=float("nan") if certificate is None else certificate.clearance,
            message=f"{found.rounds} programs, {found.iterations} iterations",
            motion=solution.curves,
        )

    def _completed(
        self,
        solution: Solution,
        certificate: Certificate | None,
        stages: tuple[Stage, ...],
        seconds: float,
    ) -> Solution:
        timings = {**self._seconds, **{x.name: x.seconds for x in stages}, "solve": seconds}
        return revised(
            solution,
            scene=self.problem.scene,
            certificate=certificate,
            stages=stages,
            timings=timings,
            solve_seconds=sum(x.seconds for x in stages),
        )
