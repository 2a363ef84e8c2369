"""A planned path with its best timing, phase by phase: where the improvement of a motion starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate
from predyn.collision.checker import Checker
from predyn.collision.clearance import checker_of
from predyn.curves.bspline import BSpline
from predyn.curves.derivative_spline import derivative_spline
from predyn.dynamics.system import Payload
from predyn.planning import Plan, Retiming, plan, retime
from predyn.planning.plan_goals import PoseGoal
from predyn.problem import Duration, Problem, duration_of, system_of
from predyn.solution import Curve, Solution, Stage, Violation
from predyn.solving.certified_improvement import EXCESS, certify_curves
from predyn.solving.robot_task import RobotTask, with_limits
from predyn.solving.single_solve import Output
from predyn.transcribe.motion import Motion
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import dense_violations
from predyn.transcribe.unpack import sample_motion

Floats = NDArray[np.float64]
INTERVALS = (200, 400, 800, 800)  # of the timing: with more, its spline is nearer to the path
SLOWER, SLOWINGS = 1e-4, 4  # of velocity limits, which a timing keeps at its nodes; timings
LONGEST, SHORTEST = 10.0, 1e-3  # s, of the search for a path in one phase
PLANS, QUICK = 8, 2.0  # plans where goals are poses, and s of the search for each in one phase
ENDED = {"time_limit": "time_limit"}  # status of a solution by that of a plan; others: infeasible


@dataclass(frozen=True, eq=False)
class TimedPath:
    """What the stages plan and time found.

    status, message  of a solution without success; "" if there is a motion
    curves           the motion over time, a spline that follows the path
    certificate      of the motion over time
    violations       of limits between the points, worst first
    """

    stages: tuple[Stage, ...]
    retimings: tuple[Retiming, ...] = ()
    curves: tuple[Curve, ...] = ()
    certificate: Certificate | None = None
    violations: tuple[Violation, ...] = ()
    status: str = ""
    message: str = ""

    @property
    def proved(self) -> bool:
        """Whether it is certified and keeps the limits between the points too."""
        certified = self.certificate is not None and self.certificate.status == "certified"
        return certified and all(x.relative <= EXCESS for x in self.violations)


def timed_path(
    program: Program,
    task: RobotTask,
    checkers: Sequence[Checker],
    seed: int,
    output: Output,
    until: float,
) -> TimedPath:
    """Plan each phase from the end of the one before, with a stop between them, and time it.

    The posture that a path happens to find for a pose decides how well it can go on: of several
    plans, the one with the best timing is taken.
    until: when to stop searching for paths, on the clock of `monotonic`
    """
    problem = program.problem
    several = any(isinstance(leg.goal, PoseGoal) for leg in task.legs)
    plans, first = (_best_plan if several else _only_plan)(problem, task, checkers, seed, until)
    output.note(f"plan: {first.status}, {first.seconds:.3g} s, {first.message}")
    if not plans[-1].success:
        name = problem.phases[len(plans) - 1].name or f"phase {len(plans)}"
        where = "" if len(problem.phases) == 1 else f"{name}: "
        status = ENDED.get(plans[-1].status, "infeasible")
        return TimedPath((first,), status=status, message=where + plans[-1].message)
    share = 1.0
    for intervals in INTERVALS:
        retimings = _time(problem, task, plans, intervals, share)
        if not all(x.success for x in retimings):
            bad = next(x for x in retimings if not x.success)
            second = _time_stage(retimings, None)
            output.note(f"time: {bad.status}, {bad.message}")
            return TimedPath((first, second), status=bad.status, message=bad.message)
        curves = _not_too_short(problem, [x.curve for x in retimings])
        certificate = certify_curves(checkers, curves, float(problem.margin))
        over = [] if task.ignored else dense_violations(program, motion_along(program, curves))
        second = _time_stage(retimings, certificate)
        found = TimedPath((first, second), retimings, curves, certificate, tuple(over))
        if found.proved:
            break
        if intervals == INTERVALS[-2] and over:  # what is left goes beyond what finer grids mend
            share = 1.0 / (1.0 + max(x.relative for x in over))
    output.note(f"time: {second.duration:.4g} s, objective {second.objective:.6g}")
    return found


def motion_along(program: Program, curves: tuple[Curve, ...]) -> Motion:
    """A motion of the problem of a program on curves whose splines may be others than its own."""
    problem, own = program.problem, tuple(phase.spline for phase in program.phases)
    return Motion(problem, curves, program.systems_of(problem), {}, {}, own)


def _not_too_short(problem: Problem, curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """The curves, in the least duration that the problem allows where they are faster."""
    found = []
    for phase, curve in zip(problem.phases, curves, strict=True):
        bounds = duration_of(problem, phase)
        least = bounds.min if isinstance(bounds, Duration) else 0.0
        found.append(curve._replace(duration=max(curve.duration, least)))
    return tuple(found)


def _only_plan(
    problem: Problem, task: RobotTask, checkers: Sequence[Checker], seed: int, until: float
) -> tuple[list[Plan], Stage]:
    plans = _plan(problem, task, checkers, seed, until, LONGEST)
    last = plans[-1]
    points = sum(0 if x.path is None else len(x.path) for x in plans)
    message = f"{points} points, seed {seed}" if last.success else last.message
    return plans, _plan_stage(plans, _seconds(plans), message)


def _best_plan(
    problem: Problem, task: RobotTask, checkers: Sequence[Checker], seed: int, until: float
) -> tuple[list[Plan], Stage]:
    """The plan with the lowest objective of a coarse timing; without any, a longer search."""
    best: list[Plan] = []
    least, seconds, count = np.inf, 0.0, 0
    for k in range(PLANS):
        if count and monotonic() > until:
            break
        plans = _plan(problem, task, checkers, PLANS * seed + k, until, QUICK)
        seconds += _seconds(plans)
        if not plans[-1].success:
            if len(plans) == 1 and plans[-1].status != "time_limit":  # so it is with every seed
                return plans, _plan_stage(plans, seconds, plans[-1].message)
            continue
        timings = _time(problem, task, plans, INTERVALS[0], 1.0)
        seconds += sum(x.solve_seconds for x in timings)
        count += 1
        objective = sum(x.objective for x in timings) if all(x.success for x in timings) else np.inf
        if not best or objective < least:
            best, least = plans, objective
    if not best:
        return _only_plan(problem, task, checkers, seed, until)
    points = sum(len(x.path) for x in best if x.path is not None)
    message = f"{points} points, seed {best[-1].seed}, the best of {count} plans"
    return best, _plan_stage(best, seconds, message)


def _plan(
    problem: Problem,
    task: RobotTask,
    checkers: Sequence[Checker],
    seed: int,
    until: float,
    longest: float,
) -> list[Plan]:
    """The plans of the phases, up to the first that fails."""
    plans: list[Plan] = []
    start = task.start
    for leg, checker in zip(task.legs, checkers, strict=True):
        model = with_limits(problem.model, leg.limits)
        own = checker if model is problem.model else checker_of(model, checker.scene)
        seconds = max(min(longest, until - monotonic()), SHORTEST)
        plans.append(
            plan(model, own, start, leg.goal, margin=float(problem.margin), seed=seed,
                 max_seconds=seconds)
        )  # fmt: skip
        if not plans[-1].success:
            break
        path = plans[-1].path
        assert path is not None
        start = path[-1]
    return plans


def _seconds(plans: Sequence[Plan]) -> float:
    return sum(sum(x.seconds.values()) for x in plans)


def _time(
    problem: Problem, task: RobotTask, plans: Sequence[Plan], intervals: int, share: float
) -> tuple[Retiming, ...]:
    """The best timing of each phase.

    share: of the limits of torques and accelerations that may be used
    """
    payloads = (system_of(problem, p).payloads for p in range(len(plans)))
    return tuple(
        _best_timing(x, task.energy, intervals, loads, share)
        for x, loads in zip(plans, payloads, strict=True)
    )


def _best_timing(
    found: Plan, energy: float, intervals: int, payloads: Sequence[Payload], share: float
) -> Retiming:
    """The best timing whose spline over time keeps the velocity limits between its nodes too."""
    assert found.curve is not None
    limits, slower = found.model.limits, 1.0 - SLOWER
    model = found.model
    if share < 1.0:
        model = model.with_limits(
            effort=share * limits.effort, acceleration=share * limits.acceleration
        )
    for _ in range(SLOWINGS):
        retiming = retime(
            model.with_limits(velocity=slower * limits.velocity), found.curve,
            energy=share**2 * energy, intervals=intervals, payloads=payloads,
        )  # fmt: skip
        use = _velocity_use(retiming.curve, limits.velocity) if retiming.success else 0.0
        if use <= 1.0:
            break
        slower /= use
    return retiming


def _velocity_use(curve: Curve, limits: Floats) -> float:
    """The largest velocity over its limit, at most: velocities are between their control points."""
    rates = derivative_spline(BSpline(curve.degree, curve.knots), curve.control, 1).control
    v = rates / curve.duration
    return float(np.maximum(v / limits[:, 1], v / limits[:, 0]).max())


def _plan_stage(plans: Sequence[Plan], seconds: float, message: str) -> Stage:
    last = plans[-1]
    found = [x.certificate.clearance for x in plans if x.certificate is not None]
    return Stage(
        "plan",
        last.status,
        seconds,
        clearance=min(found, default=float("nan")) if last.success else last.distance,
        message=message,
        motion=tuple(x.curve for x in plans if x.curve is not None) or None,
    )


def _time_stage(retimings: Sequence[Retiming], certificate: Certificate | None) -> Stage:
    bad = next((x for x in retimings if not x.success), None)
    clearance = float("nan") if certificate is None else certificate.clearance
    message = bad.message if bad else ""
    if certificate is not None and certificate.status != "certified":
        message = f"the spline over time is not certified ({certificate.status})"
    return Stage(
        "time",
        bad.status if bad else "optimal",
        sum(x.solve_seconds for x in retimings),
        duration=sum(x.duration for x in retimings),
        energy=sum(x.energy for x in retimings) if retimings[0].weight > 0.0 else float("nan"),
        objective=sum(x.objective for x in retimings),
        clearance=clearance,
        message=message,
        motion=None if bad else tuple(x.curve for x in retimings),
    )


def as_solution(path: TimedPath, like: Solution, program: Program, **fields: Any) -> Solution:
    """The timed path as a solution, with what does not depend on the motion from another one."""
    active = dict.fromkeys(name for x in path.retimings for name in x.active)
    return replace(
        like,
        curves=path.curves,
        max_violation=0.0,
        max_violation_dense=max((x.relative for x in path.violations), default=0.0),
        violations=(),
        dense_violations=path.violations,
        active=tuple(active),
        multipliers={},
        unsmoothed={},
        **sample_motion(motion_along(program, path.curves)),
        **fields,
    )
