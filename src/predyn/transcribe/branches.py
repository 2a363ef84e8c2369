"""Branches of inverse kinematics: several postures for each goal, and the best routes over them.

A six-axis arm reaches a pose with up to eight postures (elbow up or down, wrist flipped), and a
straight line to one of them may pass through the floor while that to another one does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import REVOLUTE, Model
from predyn.problem import Problem
from predyn.transcribe.posture_rows import PostureRows
from predyn.transcribe.program import Program
from predyn.transcribe.way_points import Goal, WayPoint, fill_free, way_points

Floats = NDArray[np.float64]
TRIES = 40  # descents of inverse kinematics for each goal, from postures all over the limits
MOST_POSTURES, MOST_ROUTES = 12, 24
KEPT = 4  # routes that are followed further from each posture
DIFFERENT = 0.2  # rad or m; postures that differ by less in every joint count as one
SAMPLES = 16  # postures that are checked on each leg of a route
CLEAR = 1e-2  # excess over the bounds, relative to their scales, that a guess may have
PENALTY = 1e3  # of an excess of 1, in the unit of length


class Route(NamedTuple):
    """Straight lines over way points."""

    points: list[Floats]
    excess: float  # over bounds on postures: at the way points, and the mean of each leg
    length: float  # time that the slowest joint takes at its velocity limit, s; rad or m without

    @property
    def clear(self) -> bool:
        return self.excess <= CLEAR


def has_branches(problem: Problem) -> bool:
    """Whether goals of frames determine joint positions, so that there are branches."""
    return any(point.sought for point in way_points(problem, search=True))


def reachable_branches(problem: Problem) -> bool:
    """Whether there are branches, and inverse kinematics reaches all goals."""
    try:
        return has_branches(problem) and bool(nearest_route(problem, search=True))
    except InputError:  # a goal out of reach
        return False


def nearest_route(problem: Problem, search: bool) -> list[Floats]:
    """Positions at the way points, each near the one before. Raises an InputError for a goal out of
    reach.
    """
    points = way_points(problem, search)
    found: list[Floats] = []
    for point in points:
        near = found[-1] if found else point.middle
        found.append(_reach(problem.model, point, near) if point.sought else point.q)
    return fill_free(points, found)


def measured_route(program: Program, points: list[Floats]) -> Route:
    """A route with its excess and length."""
    return _Rating(program).rate(points)


def routes(program: Program) -> list[Route]:
    """The best routes over the branches of all goals, best first: within the bounds on postures
    along straight lines, then short.

    The nearest route is among them. Equal programs give equal routes.
    """
    problem, rating = program.problem, _Rating(program)
    first = nearest_route(problem, search=True)
    options = [
        _postures(problem.model, point, q) if point.sought else [point.q]
        for point, q in zip(rating.points, first, strict=True)
    ]
    paths = [[([q], rating.at(0, q[None])[0])] for q in options[0]]  # by the posture they end at
    for k in range(1, len(options)):
        known = [path for ending in paths for path in ending]
        paths = [_extended(rating, k, known, q)[:KEPT] for q in options[k]]
    found = [fill_free(rating.points, path) for ending in paths for path, _ in ending]
    rated = [rating.rate(x) for x in (first, *found)]
    rated.sort(key=lambda x: (max(x.excess - CLEAR, 0.0), x.length))  # stable: the nearest first
    kept: list[Route] = []
    for route in rated:
        if not any(np.abs(np.subtract(route.points, x.points)).max() < DIFFERENT for x in kept):
            kept.append(route)
    return kept[:MOST_ROUTES]


class _Rating:
    """Rates routes and their legs."""

    def __init__(self, program: Program) -> None:
        self.points = way_points(program.problem, search=True)
        self._rows = PostureRows(program)
        speed = np.abs(program.model.limits.velocity).min(axis=1)
        self._pace = 1.0 / np.where(np.isfinite(speed) & (speed > 0.0), speed, 1.0)
        self.turns = program.model.kind == REVOLUTE

    def at(self, k: int, q: Floats) -> Floats:
        """Penalties (K,) of postures at way point k."""
        point = self.points[k]
        postures = np.where(np.isnan(q), point.middle, q)
        return PENALTY * self._rows.excess(point.phase, postures, point.s)

    def legs(self, k: int, begin: Floats, end: Floats) -> tuple[Floats, Floats]:
        """Mean excess and length (K,) of lines (K, n) to way point k from the one before."""
        share = np.linspace(0.0, 1.0, SAMPLES)[:, None, None]
        q = begin + share * (end - begin)
        excess = self._rows.excess(self.points[k].phase, q.reshape(-1, q.shape[-1]))
        length: Floats = (np.abs(end - begin) * self._pace).max(axis=1)
        return excess.reshape(SAMPLES, -1).mean(axis=0), length

    def rate(self, route: list[Floats]) -> Route:
        excess = sum(float(self.at(k, q[None])[0]) / PENALTY for k, q in enumerate(route))
        length = 0.0
        for k in range(1, len(route)):
            more, distance = self.legs(k, route[k - 1][None], route[k][None])
            excess, length = excess + float(more[0]), length + float(distance[0])
        return Route(route, excess, length)


def _extended(
    rating: _Rating, k: int, known: list[tuple[list[Floats], float]], q: Floats
) -> list[tuple[list[Floats], float]]:
    """Paths to the way point before, continued to posture q at way point k, the best first."""
    point = rating.points[k]
    turned = [_nearest_turn(rating.turns, point, q, path[-1]) for path, _ in known]
    before, after = np.array([path[-1] for path, _ in known]), np.array(turned)
    begin = np.where(np.isnan(before), after, before)
    begin = np.where(np.isnan(begin), point.middle, begin)
    end = np.where(np.isnan(after), begin, after)
    excess, length = rating.legs(k, begin, end)
    cost = np.array([cost for _, cost in known]) + PENALTY * excess + length + rating.at(k, end)
    order = np.argsort(cost, kind="stable")
    return [([*known[i][0], turned[i]], float(cost[i])) for i in order]


def _postures(model: Model, point: WayPoint, first: Floats) -> list[Floats]:
    """Postures that reach the goal of a way point, within its limits, different modulo turns."""
    from predyn.dynamics.pose_search import inverse_kinematics

    assert point.goal is not None
    limited, found = _limited(model, point), [first]
    low, high = limited.limits.position.T
    turns = model.kind == REVOLUTE
    reach, bounded = np.where(turns, np.pi, 1.0), np.isfinite(low) & np.isfinite(high)
    lowest = np.where(bounded, low, np.maximum(low, first - reach))
    highest = np.where(bounded, high, np.minimum(high, first + reach))
    random = np.random.default_rng(0)
    for k in range(TRIES):
        start = point.middle if k == 0 else random.uniform(lowest, highest)
        result = inverse_kinematics(limited, *point.goal, guess=start, starts=1)
        away = np.abs(result.q - np.array(found))
        away = np.where(turns, np.abs((away + np.pi) % (2.0 * np.pi) - np.pi), away)
        if result.converged and bool((away.max(axis=1) > DIFFERENT).all()):
            found.append(result.q)
        if len(found) == MOST_POSTURES:
            break
    return found


def _reach(model: Model, point: WayPoint, near: Floats) -> Floats:
    """The posture of a way point near another; an InputError if its goal is out of reach."""
    from predyn.dynamics.pose_search import inverse_kinematics  # few guesses need it

    assert point.goal is not None
    goal: Goal = point.goal
    near = np.where(np.isnan(near), point.middle, near)
    found = inverse_kinematics(_limited(model, point), *goal, guess=near)
    if not found.converged and np.isnan(point.q).all():
        raise InputError(
            f"guess: inverse kinematics finds no joint positions for the goal of {goal.frame!r} "
            f"(nearest: {found.position_error:.3g} m and {found.angle_error:.3g} rad off); check "
            "the goal and the position limits, or use another guess"
        )
    return np.where(np.isnan(point.q), found.q, point.q)


def _limited(model: Model, point: WayPoint) -> Model:
    """The model with the limits of a way point, which hold given joints where they are."""
    given = ~np.isnan(point.q)
    low, high = np.where(given, point.q, point.low), np.where(given, point.q, point.high)
    bounds = np.stack([low, high], axis=1)
    if np.array_equal(bounds, model.limits.position):
        return model
    return model.with_limits(position=bounds)


def _nearest_turn(turns: NDArray[np.bool_], point: WayPoint, q: Floats, near: Floats) -> Floats:
    """The posture with its revolute joints in the turn nearest to another posture."""
    near = np.where(np.isnan(near), q, near)
    turned = q - 2.0 * np.pi * np.round((q - near) / (2.0 * np.pi))
    free = turns & np.isnan(point.q) & (turned >= point.low) & (turned <= point.high)
    return np.where(free, turned, q)
