"""What is wrong with a solution, found by Pinocchio and SciPy's B-splines at 400 instants."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline

from predyn.problem import Duration, Problem
from predyn.solution import Solution
from predyn.terms import Effort, TotalTime
from solving.random_tasks import Torques

INSTANTS = 400  # in each phase
SAME = 1e-8  # relative, of two evaluations of the same curve
IMPOSED = 2e-6  # of boundary values; the solver's tolerance and relaxation
MET = 1e-6  # relative jump between phases; relative error of a duration
UNREPORTED = 1e-6  # largest excess that is not reported, relative to the limit
INTEGRATED = 0.02  # relative error of the trapezoidal rule for a cost


class Track(NamedTuple):
    """One phase, evaluated here: t (K,) from its start, others (K, n)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


def errors_of(problem: Problem, solution: Solution) -> list[str]:
    """What a success should not have; empty if all is well."""
    torques = Torques(problem.model)
    tracks = [_track(curve, torques) for curve in solution.curves]
    found = [
        *_values(solution, tracks),
        *_jumps(problem, tracks),
        *_cost(problem, solution, tracks),
    ]
    for k, track in enumerate(tracks):
        found += _limits(problem, solution, track)
        found += _passive(problem, solution, track)
        found += _duration(problem, k, solution.curves[k].duration)
        found += _ends(problem, k, track)
    return found


def _track(curve, torques: Torques) -> Track:
    s = np.linspace(0, 1, INSTANTS)
    spline = BSpline(np.asarray(curve.knots), np.asarray(curve.control), curve.degree)
    q, v, a = (spline(s, nu=order) / curve.duration**order for order in range(3))
    return Track(s * curve.duration, q, v, a, torques(q, v, a))


def _values(solution: Solution, tracks: list[Track]) -> Iterator[str]:
    """The solution's own evaluation; the last instant of a phase is the first of the next."""
    begin = 0.0
    for track in tracks:
        given = solution.at(np.minimum(begin + track.t[:-1], solution.duration))
        for name, least in (("q", 1e-3), ("v", 1e-3), ("a", 1e-3), ("tau", 1.0)):
            own = getattr(track, name)
            off = np.abs(own[:-1] - getattr(given, name)).max() / max(np.abs(own).max(), least)
            if off > SAME:
                yield f"{name} is off by {off:.1e}"
        begin += track.t[-1]


def _jumps(problem: Problem, tracks: list[Track]) -> Iterator[str]:
    for k, (before, after) in enumerate(pairwise(tracks)):
        for name in "qva"[: problem.continuity + 1]:
            x, y = getattr(before, name), getattr(after, name)
            jump = np.abs(x[-1] - y[0]).max() / max(1.0, np.abs(x).max())
            if jump > MET:
                yield f"{name} jumps by {jump:.1e} after phase {k + 1}"


def _cost(problem: Problem, solution: Solution, tracks: list[Track]) -> Iterator[str]:
    total = 0.0
    names = problem.model.joint_names
    for cost in problem.costs:
        if isinstance(cost.term, TotalTime):
            total += cost.weight * solution.duration
        elif isinstance(cost.term, Effort):
            chosen = [names.index(x) for x in cost.term.joints or names]
            total += cost.weight * sum(
                np.trapezoid((track.tau[:, chosen] ** 2).sum(1), track.t) for track in tracks
            )
        else:
            return
    if abs(total - solution.objective) > INTEGRATED * abs(total) + 1e-9:
        yield f"the objective is {solution.objective:.6g}, computed {total:.6g}"


def _limits(problem: Problem, solution: Solution, track: Track) -> Iterator[str]:
    limits, names = problem.limits or problem.model.limits, problem.model.joint_names
    for kind, channel in zip(limits._fields, ("q", "v", "a", "tau"), strict=True):
        values, bounds = getattr(track, channel), np.asarray(getattr(limits, kind), float)
        for j, name in enumerate(names):
            if kind == "effort" and name in problem.passive:
                continue
            low, high = bounds[j]
            excess = max((values[:, j] - high).max(), (low - values[:, j]).max())
            if not excess > 0.0:
                continue
            reported = max(
                (x.excess for x in solution.dense_violations
                 if kind in x.name and x.name.endswith(name)), default=0.0,
            )  # fmt: skip
            size = np.abs(bounds[j][np.isfinite(bounds[j])]).max()
            if excess > reported + UNREPORTED * max(size, 1e-3):
                yield f"{kind} {name}: {excess:.3g} over {size:.3g}, reported {reported:.3g}"


def _passive(problem: Problem, solution: Solution, track: Track) -> Iterator[str]:
    passive = np.isin(problem.model.joint_names, problem.passive)
    if not passive.any():
        return
    largest = np.abs(track.tau[:, passive]).max()
    reported = max(
        (x.excess for x in solution.dense_violations if "passive" in x.name), default=0.0
    )
    motors = max(np.abs(track.tau[:, ~passive]).max(), 1e-3)
    if largest > reported + UNREPORTED * motors:
        yield f"the passive torque is {largest:.3g}, reported {reported:.3g}"


def _duration(problem: Problem, k: int, duration: float) -> Iterator[str]:
    given = problem.phases[k].duration
    low, high = (given.min, given.max) if isinstance(given, Duration) else (given, given)
    if not low * (1.0 - MET) <= duration <= high * (1.0 + MET):
        yield f"phase {k + 1} takes {duration:.9g} s, not {low:.9g} .. {high:.9g}"


def _ends(problem: Problem, k: int, track: Track) -> Iterator[str]:
    phase = problem.phases[k]
    for state, i in ((phase.start, 0), (phase.end, -1)):
        for name in "qva":
            wanted = getattr(state, name)
            if wanted is None:
                continue
            wanted = np.asarray(wanted, float)
            off = np.abs(getattr(track, name)[i] - wanted) / np.maximum(1.0, np.abs(wanted))
            if np.nanmax(np.append(off, 0.0)) > IMPOSED:
                yield f"phase {k + 1}: boundary {name} is off by {np.nanmax(off):.1e}"
