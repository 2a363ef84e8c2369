"""Valid problems that probably do not say what was meant: a warning for each, before the solve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.errors import listed, warn_of_problem
from predyn.model import REVOLUTE, Limits
from predyn.model.floating_base import floating_bases
from predyn.model.parts import Array
from predyn.problem.contact_program import written_out
from predyn.problem.offers import phase_name
from predyn.problem.system import system_of
from predyn.terms.frames import FrameOrientation, FramePose
from predyn.terms.joints import JointPosition
from predyn.terms.selection import joint_indices
from predyn.terms.term import Term

if TYPE_CHECKING:
    from predyn.problem.problem import Constraint, Phase, Problem

TURN = 2.0 * np.pi
ROUNDING = 1e-9
UNLIMITED = (100.0,)  # rad, a common way to write "no limit"
NAMED = 4  # places that a message names


def warn_if_implausible(problem: Problem) -> None:
    """Give a ProblemWarning for each thing in a valid problem that is probably not meant."""
    for message in implausible(problem):
        warn_of_problem(problem.name, message)


def implausible(problem: Problem) -> list[str]:
    """What is probably not meant in a valid problem; each message says what to do."""
    problem = written_out(problem)  # with contacts, a base has no motors by default
    return [*_without_cost(problem), *_driven_base(problem), *_degrees(problem)]


def _without_cost(problem: Problem) -> Iterator[str]:
    costs = [*problem.costs, *(cost for phase in problem.phases for cost in phase.costs)]
    if not any(cost.weight for cost in costs):
        what = "all costs have weight 0" if costs else "there is no cost"
        yield (
            f"{what}: every motion within the constraints is a solution, and which one is found "
            "depends on the guess; add a cost, such as effort, or time if a duration is free"
        )


# -- floating bases ----------------------------------------------------------------------------


def _driven_base(problem: Problem) -> Iterator[str]:
    names = problem.model.joint_names
    costs = [*problem.costs, *(cost for phase in problem.phases for cost in phase.costs)]
    if any(cost.term.kind == "ground_torque" for cost in costs):
        return  # what the base lacks is the ground force
    limited = np.asarray(np.isfinite(problem.model.limits.position).any(axis=1))
    for base in floating_bases(problem.model):
        if limited[base].any():  # a gantry has ends
            continue
        for p in range(len(problem.phases)):
            system = system_of(problem, p)
            motors = [
                names[j]
                for j in base
                if names[j] not in system.passive and np.any(system.limits.effort[j] != 0.0)
            ]
            if motors:
                where = "" if len(problem.phases) == 1 else f" in {phase_name(problem, p)!r}"
                yield (
                    f"a floating base has motors{where}: {', '.join(motors)}; nothing holds such a "
                    "base, so name these joints in `passive` (forces on it are external forces or "
                    "signals)"
                )
                break


# -- degrees -----------------------------------------------------------------------------------


def _degrees(problem: Problem) -> Iterator[str]:
    places = list(dict.fromkeys((*_boundary_degrees(problem), *_limit_degrees(problem))))
    parts: list[Problem | Phase] = [problem, *problem.phases]
    for part in parts:
        for term in (*(x.term for x in part.costs), *(x.term for x in part.constraints)):
            places += _goal_degrees(problem, term)
        for constraint in part.constraints:
            places += _bound_degrees(problem, constraint)
    if places:
        yield (
            f"angles that look like degrees: {listed(places, NAMED)}; angles are in "
            "radians: use numpy.radians, or in task files q_deg, position_deg, orientation_deg"
        )


def like_degrees(angles: Array) -> NDArray[np.bool_]:
    """Which angles are more likely degrees than radians: whole multiples of 5 above one turn, and
    all from two turns on that are not whole quarter turns.
    """
    size = np.abs(np.where(np.isfinite(angles), angles, 0.0))
    quarters = size / (0.25 * TURN)
    whole_quarters = np.abs(quarters - np.round(quarters)) < ROUNDING * (1.0 + quarters)
    fives = np.abs(size - 5.0 * np.round(size / 5.0)) < ROUNDING
    return np.asarray(((size > TURN) & fives) | ((size >= 2.0 * TURN) & ~whole_quarters))


def _limits_like_degrees(low: float, high: float) -> bool:
    """Whether the limits of an angle are whole multiples of 5 up to 360, at least one of them
    beyond two turns.
    """
    bounds = np.array([low, high])
    if not np.isfinite(bounds).all() or np.isin(np.abs(bounds), UNLIMITED).all():
        return False
    size = np.abs(bounds)
    return bool(np.all((size % 5.0 == 0.0) & (size <= 360.0)) and size.max() >= 2.0 * TURN)


def _boundary_degrees(problem: Problem) -> Iterator[str]:
    model = problem.model
    for p, phase in enumerate(problem.phases):
        low, high = system_of(problem, p).limits.position.T
        multi_turn = np.isfinite(low) & np.isfinite(high) & (high - low > 2.0 * TURN)
        for end, state in (("start", phase.start), ("end", phase.end)):
            if state.q is None:
                continue
            q = np.asarray(state.q, float)
            for j in np.flatnonzero(like_degrees(q) & (model.kind == REVOLUTE)):
                if not multi_turn[j] or _limits_like_degrees(low[j], high[j]):
                    yield f"{phase_name(problem, p)} {end} q {model.joint_names[j]} = {q[j]:g}"


def _limit_degrees(problem: Problem) -> Iterator[str]:
    model = problem.model
    for p in range(len(problem.phases)):
        limits: Limits = system_of(problem, p).limits
        for j in np.flatnonzero(model.kind == REVOLUTE):
            low, high = limits.position[j]
            if _limits_like_degrees(low, high):
                yield f"position limits of {model.joint_names[j]} = {low:g} .. {high:g}"


def _goal_degrees(problem: Problem, term: Term) -> Iterator[str]:
    """Targets of joint positions and of orientations."""
    model = problem.model
    if isinstance(term, JointPosition):
        index = joint_indices(model, term.joints, term.kind)
        target = np.broadcast_to(np.asarray(term.target, float), len(index))
        for j in np.flatnonzero(like_degrees(target) & (model.kind[index] == REVOLUTE)):
            yield f"target of {model.joint_names[index[j]]} = {target[j]:g}"
    elif isinstance(term, FrameOrientation | FramePose):
        given = term.target if isinstance(term, FrameOrientation) else term.orientation
        angles = np.asarray(given, float)
        if angles.shape == (3,) and np.abs(angles).max() > TURN * (1.0 + ROUNDING):
            yield f"orientation of {term.frame} = ({', '.join(f'{x:g}' for x in angles)})"


def _bound_degrees(problem: Problem, constraint: Constraint) -> Iterator[str]:
    """Bounds on joint positions."""
    model, term = problem.model, constraint.term
    if not isinstance(term, JointPosition):
        return
    index = joint_indices(model, term.joints, term.kind)
    for given in (constraint.lower, constraint.upper):
        bound = np.broadcast_to(np.asarray(np.nan if given is None else given, float), len(index))
        for j in np.flatnonzero(like_degrees(bound) & (model.kind[index] == REVOLUTE)):
            yield f"bound on {model.joint_names[index[j]]} = {bound[j]:g}"
