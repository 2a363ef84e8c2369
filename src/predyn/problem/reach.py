"""Whether contact points can reach their places at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC, SCREW, Model
from predyn.problem.check_phases import Finding, numbers
from predyn.problem.offers import phase_name
from predyn.problem.stances import AXES, Neighbours, Node, Stances

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

SAME = 1e-6  # m, and of the direction of an axis
VISIBLE = 1e-3  # m, of postures, whose angles are often rounded

ROUNDING = 1e-9  # m, of a place that was computed


def reach_problems(problem: Problem, neighbours: Neighbours, stances: Stances) -> Iterator[Finding]:
    """Places below the ground, and pairs of them that the links between two points cannot reach."""
    for p, contacts in enumerate(neighbours.contacts):
        placed = {name: _numbers(stances, Node(p, name)) for name in contacts}
        where = ("phases", p, "contacts")
        for name, place in placed.items():
            own = contacts[name].place  # None: reported where the place is given
            if own is None or own[2] is None or "z" not in place:
                continue
            x = place.get("x")
            heights = [problem.ground.height, *(height for _, height in problem.ground.steps)]
            ground = min(heights) if x is None else problem.ground.height_at(x)
            if place["z"] < ground - ROUNDING:
                yield (
                    where,
                    f"the place of {name!r} in phase {phase_name(problem, p)!r} is at z = "
                    f"{place['z']:g} m, below the ground at {ground:g} m; lower ground.height to "
                    "the lowest place, or raise the place",
                )
        for one, other in combinations(placed, 2):
            axes = [axis for axis in AXES if axis in placed[one] and axis in placed[other]]
            gap = np.array([placed[one][axis] - placed[other][axis] for axis in axes])
            apart = float(np.linalg.norm(gap))
            reach, rigid = largest_distance(problem.model, one, other)
            touch = f"{one!r} and {other!r} touch {apart:.6g} m apart in phase "
            touch += f"{phase_name(problem, p)!r}, but "
            exact = rigid and {*axes, _normal(problem.model)} >= {*AXES}
            if apart > reach + SAME and not rigid:
                yield (
                    where,
                    f"{touch}the links between them reach {reach:.6g} m; shorten the step, or use "
                    "longer legs",
                )
            elif apart > reach + SAME or (exact and apart < reach - SAME):
                yield (
                    where,
                    f"{touch}they are {reach:.6g} m apart on one link; give one of the places, or "
                    "places that fit",
                )


def state_problems(problem: Problem, neighbours: Neighbours, stances: Stances) -> Iterator[Finding]:
    """Given postures in which a contact point is not in its place."""
    from predyn.dynamics.kinematics import frame_kinematics

    for p, phase in enumerate(problem.phases):
        for end, state in (("start", phase.start), ("end", phase.end)):
            q = numbers(getattr(state, "q", None))
            if q is None or q.shape != (problem.model.n,) or not np.isfinite(q).all():
                continue
            for name in neighbours.contacts[p]:
                place = _numbers(stances, Node(p, name))
                at = dict(zip(AXES, frame_kinematics(problem.model, name, q).p, strict=True))
                off = [axis for axis in place if abs(at[axis] - place[axis]) > VISIBLE]
                if off:
                    given, wanted = (
                        ", ".join(f"{axis} = {x[axis]:.6g}" for axis in off) for x in (at, place)
                    )
                    yield (
                        ("phases", p, end, "q"),
                        f"this posture has {name!r} at {given} m, but its place is {wanted} m; "
                        "move the posture or the place",
                    )


def _numbers(stances: Stances, node: Node) -> dict[str, float]:
    """Coordinates of a stance that are given numbers."""
    found = {}
    for axis in AXES:
        with suppress(KeyError):  # not held in any phase of the stance
            place = stances.place(node, axis)
            if not place.parameters:
                found[axis] = place.number
    return found


def _normal(model: Model) -> str:
    """The world axis along which no point of a model can move; "" if there is none."""
    tree, turned = model.expanded, list[NDArray[np.float64]]()
    along = np.ones(3, bool)
    for link, parent in enumerate(tree.parent):
        R = tree.R[link] if parent < 0 else turned[parent] @ tree.R[link]
        turned.append(R)
        axis = np.abs(R @ tree.axis[link])
        still = axis < SAME if tree.kind[link] == PRISMATIC else axis > 1.0 - SAME
        along &= still & (tree.kind[link] != SCREW)
    return AXES[int(np.argmax(along))] if along.any() else ""


def largest_distance(model: Model, one: str, other: str) -> tuple[float, bool]:
    """An upper bound of the distance between two frames: the links between them, stretched out.

    The second value tells whether they are on one link, so that this is their distance.
    """
    tree = model.expanded
    reach = 0.0
    chains = []
    for name in (one, other):
        frame, chain = model.frame(name), []
        link = frame.link
        while link >= 0:
            chain.append(link)
            link = int(tree.parent[link])
        chains.append((frame, chain))
    common = {*chains[0][1]} & {*chains[1][1]}
    ends = []
    for frame, chain in chains:
        own = [link for link in chain if link not in common]
        if any(tree.kind[link] == PRISMATIC for link in own):
            return float("inf"), False
        if not own:  # the frame is on the common link itself
            ends.append(np.array(frame.p))
            continue
        reach += float(np.linalg.norm(frame.p))
        reach += sum(float(np.linalg.norm(tree.p[link])) for link in own[:-1])
        ends.append(np.array(tree.p[own[-1]]))
    rigid = not any(link not in common for _, chain in chains for link in chain)
    return reach + float(np.linalg.norm(ends[0] - ends[1])), rigid
