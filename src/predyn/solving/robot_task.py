"""What planning and timing can do for a problem: from posture to posture, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.collision.checker import Checker
from predyn.errors import ModelError
from predyn.model import Limits, Model
from predyn.model.floating_base import floating_base
from predyn.planning.path_torques import without_friction
from predyn.planning.plan_goals import PoseGoal
from predyn.problem import Constraint, Cost, Duration, Problem, Spline, duration_of, system_of
from predyn.problem.offers import name_in, phase_names
from predyn.problem.problem import name_of
from predyn.terms.duration import TotalTime
from predyn.terms.effort import Effort
from predyn.terms.frames import FrameOrientation, FramePose, FramePosition
from predyn.transcribe.layout import end_values
from predyn.transcribe.way_points import way_points

Floats = NDArray[np.float64]
GOALS = (FramePosition, FrameOrientation, FramePose)


class Leg(NamedTuple):
    """One phase: where it ends, and the limits in it."""

    goal: Floats | PoseGoal
    limits: Limits


@dataclass(frozen=True, eq=False)
class RobotTask:
    """A motion of a robot from a start over the goals of all phases.

    energy   weight of the energy over that of the time
    ignored  what planning and timing do not account for: their motion is a guess only
    """

    start: Floats
    legs: tuple[Leg, ...]
    energy: float
    ignored: tuple[str, ...]


def robot_task(problem: Problem, checkers: Sequence[Checker]) -> RobotTask | str:
    """The task, or why a problem cannot be planned."""
    why = _unplannable(problem, checkers)
    if why:
        return why
    points = way_points(problem, search=True)
    if np.isnan(points[0].q).any():
        return "the positions at the start are not all given"
    legs = []
    for p in range(len(problem.phases)):
        (end,) = (x for x in points if x.phase == p and x.s == 1.0)
        limits = system_of(problem, p).limits
        if not np.isnan(end.q).any():
            legs.append(Leg(end.q, limits))
        elif end.goal is not None and np.isnan(end.q).all():
            also = tuple(PoseGoal(*x) for x in end.also)
            legs.append(Leg(PoseGoal(*end.goal, also=also), limits))
        else:
            name = phase_names(problem)[p]
            return f"the end of {name} has neither joint positions nor the pose of a frame"
    if any(0.0 < x.s < 1.0 for x in points):
        return "a frame has a goal within a phase; begin a new phase there"
    still = _dwell(problem, points[0].q, legs)
    if still:
        return f"{still} ends where it starts"
    return RobotTask(points[0].q, tuple(legs), _energy(problem), _ignored(problem))


def _dwell(problem: Problem, start: Floats, legs: Sequence[Leg]) -> str:
    """The first phase whose positions at both ends are the same; "" if there is none."""
    before: Floats | PoseGoal = start
    for name, leg in zip(phase_names(problem), legs, strict=True):
        goal = leg.goal
        poses = isinstance(before, PoseGoal) or isinstance(goal, PoseGoal)
        if not poses and np.array_equal(np.asarray(before), np.asarray(goal)):
            return name
        before = goal
    return ""


def with_limits(model: Model, limits: Limits) -> Model:
    """The model with the limits of a phase."""
    same = all(np.array_equal(a, b) for a, b in zip(model.limits, limits, strict=True))
    return model if same else model.with_limits(*limits)


def _unplannable(problem: Problem, checkers: Sequence[Checker]) -> str:
    model, options = problem.model, problem.transcription
    found = {
        "an obstacle moves": any(x.moving for x in checkers),
        "the model has loops": bool(model.loops),
        "the base floats": floating_base(model) is not None,
        "the motion is cyclic": problem.cycle is not None,
        "the problem has contacts": any(phase.contacts for phase in problem.phases),
        "the problem has signals or parameters": bool(problem.signals or problem.parameters),
        "joints are passive": any(
            system_of(problem, p).passive for p in range(len(problem.phases))
        ),
        f"the method is {options.method!r}": type(options) is not Spline,
        "the knots are free": options.knots == "free",
        "joints that follow others have friction": _followers_rub(model),
        "a joint has neither effort nor acceleration limits": not (
            _limited(problem, "effort") | _limited(problem, "acceleration")
        ).all(),
    }
    return next((why for why, holds in found.items() if holds), "")


def _limited(problem: Problem, quantity: str) -> NDArray[np.bool_]:
    """(phases, n): which joints have finite limits of a quantity."""
    each = [system_of(problem, p).limits for p in range(len(problem.phases))]
    values = np.stack([getattr(limits, quantity) for limits in each])
    return np.asarray(np.isfinite(values).all(axis=-1))


def _followers_rub(model: Model) -> bool:
    """Whether timing refuses the friction of joints that follow others."""
    if model.loops:  # a reason by itself
        return False
    try:
        without_friction(model)
    except ModelError:
        return True
    return False


def _ignored(problem: Problem) -> tuple[str, ...]:
    """What a path with its best timing may violate."""
    found: dict[str, None] = {}
    for p, phase in enumerate(problem.phases):
        system = system_of(problem, p)
        found |= {"jerk limits": None} if system.jerk_limit is not None else {}
        found |= {"external forces": None} if system.forces else {}
        if not isinstance(duration_of(problem, phase), Duration):
            found["given durations"] = None
        for state in (phase.start, phase.end):
            _, v, a = end_values(state, problem.model.n)
            found |= {"velocities at ends": None} if np.nan_to_num(v).any() else {}
            found |= {"accelerations at ends": None} if np.isfinite(a).any() else {}
        for entry in (*phase.constraints, *problem.constraints):
            if not _is_goal(entry):
                found[f"constraint {entry.name or entry.term.kind!r}"] = None
    return tuple(found)


def _is_goal(entry: Constraint) -> bool:
    """Whether a constraint is met by the end of a path: one that asks for more is not a goal."""
    return isinstance(entry.term, GOALS) and entry.at == "end" and not entry.integral


def energy_in(problem: Problem, costs: Mapping[str, float]) -> float:
    """The energy without its weights, from the values of all costs; NaN if it is not a cost."""
    found = []
    for p, phase in enumerate(problem.phases):
        for cost in (*problem.costs, *phase.costs):
            name = name_in(problem, p, name_of(cost))
            if _is_energy(cost) and cost.weight > 0.0 and name in costs:
                found.append(costs[name] / cost.weight)
    return sum(found) if found else float("nan")


def _all_costs(problem: Problem) -> list[Cost]:
    return [*problem.costs, *(cost for phase in problem.phases for cost in phase.costs)]


def _is_energy(cost: Cost) -> bool:
    """Whether a cost is the energy of `predyn.retime`: torques over their limits, squared."""
    term = cost.term
    plain = isinstance(term, Effort) and term.normalised and term.form == "square"
    return bool(plain and cost.at == "throughout" and not cost.average)


def _energy(problem: Problem) -> float:
    """The weight of the energy over that of time; 1 without a cost of time, if it has a scale."""
    if not _limited(problem, "effort").all():
        return 0.0
    time = sum(x.weight for x in _all_costs(problem) if isinstance(x.term, TotalTime))
    energy = sum(x.weight for x in _all_costs(problem) if _is_energy(x))
    return float(energy / time) if time > 0.0 else 1.0
