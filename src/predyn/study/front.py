"""The Pareto front between two costs: optima of weighted sums, each found from a neighbour.

The weights are chosen before, from one solve of the task as it is: with costs A0 and B0 there,
point k minimises (1 - w_k) A / A0 + w_k B / B0, with w_k evenly spaced in log(w / (1 - w)). A sweep
goes from one end to the other, each point from the one before. Neighbours may lead along a branch
of local optima, so the ends and the task itself are solved from their own guesses too; where one of
these, or any point of the front, is better at some weight than the point there, that point is
solved again from it, and its neighbours after it. At last, points before a jump of the front are
solved from the other side of it too. All this depends on numbers alone, not on time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.problem import Cost, Problem
from predyn.problem.problem import name_of
from predyn.solution import Solution
from predyn.solving import solve
from predyn.solving.nearby import solve_nearby
from predyn.study.collecting import cost_of
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program
from predyn.transcribe.widths import asked_widths

Floats = NDArray[np.float64]
LOGIT = 4.0  # of the first and last weight: from 1.8 to 98.2 %
BETTER = 1e-6  # relative difference of objectives that counts
EQUAL = 1e-6  # of the range of a cost: less is no difference
JUMP = 5.0  # a step along the front so many times as large as an even one
NOISE = 1e-7  # of the value of a cost: that of solves to their tolerance
ROUNDS = 3  # of the front, in search of better branches


@dataclass(frozen=True)
class FrontPoint:
    """The optimum for one weight; a and b are the two costs as the task weighs them."""

    weight: float
    solution: Solution
    a: float
    b: float
    seconds: float

    @property
    def solved(self) -> bool:
        return self.solution.success


def cost_names(problem: Problem) -> list[str]:
    """The names of all costs, each once."""
    costs = [*problem.costs, *(x for phase in problem.phases for x in phase.costs)]
    return list(dict.fromkeys(name_of(x) for x in costs))


def chosen_costs(problem: Problem, between: Sequence[str] | None) -> tuple[str, str]:
    """The two costs to weigh against each other."""
    names = cost_names(problem)
    if between is None:
        if len(names) != 2:
            listed = ", ".join(map(repr, names)) or "none"
            raise InputError(
                f"between: expected the names of two costs, since task {problem.name!r} has "
                f"{len(names)}: {listed}"
            )
        return names[0], names[1]
    if not isinstance(between, list | tuple) or len(between) != 2:
        raise InputError(f"between: expected the names of two costs, got {between!r:.60}")
    for name in between:
        if name not in names:
            raise unknown_name("cost", name, names)
    if between[0] == between[1]:
        raise InputError(f"between: expected two different costs, got {between[0]!r} twice")
    return between[0], between[1]


def front_weights(points: int) -> Floats:
    """Weights of the second cost."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.linspace(-LOGIT, LOGIT, points))))


def find_front(
    problem: Problem,
    names: tuple[str, str],
    points: int,
    report: Callable[[int, int], object] | None = None,
) -> list[FrontPoint]:
    """The points of the front by weight of the second cost; report: points done and failed."""
    return _Front(problem, names, front_weights(points), report).find()


class _Front:
    def __init__(
        self,
        problem: Problem,
        names: tuple[str, str],
        weights: Floats,
        report: Callable[[int, int], object] | None,
    ) -> None:
        self._problem, self._names, self._weights = problem, names, weights
        self._report = report or (lambda done, failed: None)
        base = solve(problem, verbose=False)
        if base.status == "interrupted":
            raise KeyboardInterrupt
        if not base.success:
            raise InputError(
                f"task {problem.name!r} cannot be solved with its own weights, which the front "
                f"starts from: {base.status}: {base.message}"
            )
        self._base = base
        self._scale = tuple(cost_of(base.costs, name) for name in names)
        for name, value in zip(names, self._scale, strict=True):
            if not 0.0 < value < np.inf:
                raise InputError(
                    f"cost {name!r} is {value:.6g} in the optimum of task {problem.name!r}; "
                    "expected a positive value, since the weights are relative to it"
                )
        self._program = self._made_program()
        self._points: list[FrontPoint | None] = [None] * len(weights)

    def find(self) -> list[FrontPoint]:
        n = len(self._weights)
        self._improve(0, self._cold(0))
        self._sweep()
        last = self._cold(n - 1)
        middle = int(np.argmin(np.abs(self._weights - self._own_weight())))
        self._improve(n - 1, last)
        self._improve(middle, self._near(middle, self._base))
        for _ in range(ROUNDS):
            if not self._cross_check():
                break
        self._step_back()
        return [point for point in self._points if point is not None]

    def _sweep(self) -> None:
        """Each point from the one before it."""
        for k in range(1, len(self._weights)):
            before = self._points[k - 1]
            if before is not None and before.solved:
                point = self._near(k, before.solution)
                self._improve(k, point if point.solved else self._cold(k))
            else:
                self._improve(k, self._cold(k))
            found = [x for x in self._points if x is not None]
            self._report(len(found), sum(not x.solved for x in found))

    def _cross_check(self) -> bool:
        """Solve points again from others that are better at their weight; whether one was."""
        changed = False
        for k, weight in enumerate(self._weights):
            here = self._points[k]
            others = [x for x in self._points if x is not None and x.solved and x is not here]
            if not others:
                continue
            best = min(others, key=lambda x: self._value(weight, x.a, x.b, x))
            if here is not None and here.solved:
                value = self._value(weight, here.a, here.b, here)
                if self._value(weight, best.a, best.b, best) >= value - BETTER * abs(value):
                    continue
            changed |= self._improve(k, self._near(k, best.solution))
        return changed

    def _step_back(self) -> None:
        """Points before a jump of the front, also from the other side of the jump.

        The sweep may have stayed on a branch of local optima longer than it was the best one.
        """
        points = [x if x is not None and x.solved else None for x in self._points]
        costs = np.array([(np.nan, np.nan) if x is None else (x.a, x.b) for x in points])
        if np.isnan(costs).all():
            return
        ranges = np.nanmax(costs, axis=0) - np.nanmin(costs, axis=0)
        steps = np.abs(np.diff(costs, axis=0)) * (len(costs) - 1)
        jumps = (steps > JUMP * ranges).any(axis=1)
        improved = False
        for k in range(len(costs) - 2, -1, -1):
            after = self._points[k + 1]
            if (jumps[k] or improved) and after is not None and after.solved:
                improved = self._improve(k, self._near(k, after.solution))

    def _improve(self, k: int, point: FrontPoint) -> bool:
        """Take a point if it is better than the one there."""
        here = self._points[k]
        if here is None or (point.solved and not here.solved):
            self._points[k] = point
            return True
        if not point.solved:
            return False
        value = here.solution.objective
        if point.solution.objective < value - BETTER * abs(value):
            self._points[k] = point
            return True
        return False

    def _value(self, weight: float, a: float, b: float, point: FrontPoint) -> float:
        """The objective of a motion at another weight."""
        factors = self._factors(weight)
        costs = point.solution.costs
        rest = sum(costs.values()) - sum(cost_of(costs, name) for name in self._names)
        return factors[0] * a + factors[1] * b + rest

    def _own_weight(self) -> float:
        a, b = self._scale
        return b / (a + b)

    def _factors(self, weight: float) -> tuple[float, float]:
        """Of the two costs, so that their sum is about as large as in the task."""
        a, b = self._scale
        return (a + b) * (1.0 - weight) / a, (a + b) * weight / b

    def _weighted(self, problem: Problem, weight: float) -> Problem:
        factors = dict(zip(self._names, self._factors(weight), strict=True))

        def scaled(costs: tuple[Cost, ...]) -> tuple[Cost, ...]:
            return tuple(
                replace(x, weight=factors[name_of(x)] * x.weight) if name_of(x) in factors else x
                for x in costs
            )

        phases = tuple(
            replace(phase, costs=scaled(tuple(phase.costs))) if phase.costs else phase
            for phase in problem.phases
        )
        same = all(new is old for new, old in zip(phases, problem.phases, strict=True))
        return replace(
            problem,
            costs=scaled(tuple(problem.costs)),
            phases=problem.phases if same else phases,
        )

    def _made_program(self) -> Program | None:
        """One program for all weights; None where its solves take more than one step."""
        problem = self._base.problem
        if problem is None or problem.scene is not None or asked_widths(problem):
            return None
        options = problem.transcription
        if options.refine or options.knots == "free":
            return None
        return transcribe(problem)

    def _near(self, k: int, guess: Solution) -> FrontPoint:
        began = perf_counter()
        weight = float(self._weights[k])
        solution = None
        if self._program is not None and self._base.problem is not None:
            try:
                problem = self._weighted(self._base.problem, weight)
                solution = solve_nearby(self._program, problem, guess)
            except InputError:  # another pattern
                self._program = None
        if solution is None:
            solution = solve(self._weighted(self._problem, weight), guess=guess, verbose=False)
        return self._point(weight, solution, perf_counter() - began)

    def _cold(self, k: int) -> FrontPoint:
        began = perf_counter()
        weight = float(self._weights[k])
        solution = None
        if self._program is not None and self._base.problem is not None:
            try:
                self._program.retarget(self._weighted(self._base.problem, weight))
                solution = solve(self._program, verbose=False)
            except InputError:  # another pattern
                self._program = None
        if solution is None:
            solution = solve(self._weighted(self._problem, weight), verbose=False)
        return self._point(weight, solution, perf_counter() - began)

    def _point(self, weight: float, solution: Solution, seconds: float) -> FrontPoint:
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        values = [
            cost_of(solution.costs, name) / factor
            for name, factor in zip(self._names, self._factors(weight), strict=True)
        ]
        return FrontPoint(weight, solution, float(values[0]), float(values[1]), seconds)


def margin(cost: Floats) -> float:
    """Differences of a cost that do not count: those of costs without a conflict are noise."""
    return max(EQUAL * float(np.ptp(cost)), NOISE * float(np.abs(cost).max()), 1e-300)


def dominated(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Which points another one is better than in one cost and not worse in the other; NaN: none."""
    worse = np.zeros(len(a), bool)
    usable = np.isfinite(a) & np.isfinite(b)
    if not usable.any():
        return worse
    margins = [margin(x[usable]) for x in (a, b)]
    for k in np.flatnonzero(usable):
        below = [x[usable] < x[k] - m for x, m in zip((a, b), margins, strict=True)]
        not_above = [x[usable] <= x[k] + m for x, m in zip((a, b), margins, strict=True)]
        worse[k] = bool(np.any(not_above[0] & not_above[1] & (below[0] | below[1])))
    return worse


def knee(a: Floats, b: Floats) -> int | None:
    """The point farthest below the line between the ends of the front, both costs from 0 to 1."""
    usable = np.flatnonzero(np.isfinite(a) & np.isfinite(b) & ~dominated(a, b))
    if len(usable) < 3:
        return None
    spans = [float(np.ptp(x[usable])) for x in (a, b)]
    if any(span <= margin(x[usable]) for x, span in zip((a, b), spans, strict=True)):
        return None
    total = sum((x[usable] - x[usable].min()) / span for x, span in zip((a, b), spans, strict=True))
    best = int(np.argmin(total))
    return int(usable[best]) if total[best] < 1.0 - 1e-9 else None
