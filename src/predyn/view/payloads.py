"""Payloads as solids: carried by their link, and where they rest before and after."""

from __future__ import annotations

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.system import Payload
from predyn.model.parts import inertia_matrix
from predyn.solution import Solution
from predyn.view.solids import Floats, Solid, equal_box
from predyn.view.surroundings import phases_with, spans_of_phases

DENSITY = 1500.0  # kg/m^3
FLATTEST = 0.2  # shortest edge of a box over that of the cube with its mass
REST = 1e-3  # m/s: a load that moves faster is not put down


def payload_solids(solution: Solution) -> list[Solid]:
    """Payloads that phases add to the model, each while it is carried; before, where it is picked
    up, and after, where it is put down. Those that a part of the scene shows are omitted.
    """
    loads: dict[tuple[object, ...], list[int]] = {}
    for k, system in enumerate(solution.systems):
        for load in system.payloads:
            loads.setdefault(_key(load), []).append(k)
    found = []
    for key, phases in loads.items():
        load = next(x for x in solution.systems[phases[0]].payloads if _key(x) == key)
        if not _is_part(solution, load, phases):
            for span in spans_of_phases(solution, phases):
                found += _over_time(solution, load, *span)
    return found


def _is_part(solution: Solution, load: Payload, phases: list[int]) -> bool:
    """Whether the scene has a part on the same link in the same phases."""
    parts, link_of = solution.scene.parts if solution.scene else (), solution.model.frame
    return any(
        link_of(part.link).link == link_of(load.link).link and phases_with(solution, part) == phases
        for part in parts
    )


def _key(load: Payload) -> tuple[object, ...]:
    return load.link, float(load.mass), *np.asarray(load.point, float).tolist()


def _over_time(solution: Solution, load: Payload, start: float, end: float) -> list[Solid]:
    frame = solution.model.frame(load.link)
    held = _body(load)
    carried = held._replace(
        link=frame.link,
        R=frame.R @ held.R,
        p=frame.p + frame.R @ held.p,
        shown=(start, end),
    )
    solids = [carried]
    if start > 0.0:
        solids.append(_resting(solution, load, held, start, (0.0, start)))
    if end < solution.duration and _speed(solution, load, end) < REST:
        solids.append(_resting(solution, load, held, end, (end, solution.duration)))
    return solids


def _body(load: Payload) -> Solid:
    """In the axes of its link: a ball for a point mass, else the box with its inertia."""
    p, edge = np.asarray(load.point, float), (load.mass / DENSITY) ** (1.0 / 3.0)
    inertia = inertia_matrix(load.inertia, "payload inertia")
    if not inertia.any() or not load.mass > 0.0:
        return Solid(-1, "sphere", (0.62 * edge,), np.eye(3), p, "payload")
    edges, axes = equal_box(load.mass, inertia)
    shown = np.clip(edges, FLATTEST * edge, edge / FLATTEST)
    return Solid(-1, "box", tuple(shown.tolist()), axes, p, "payload")


def _resting(
    solution: Solution, load: Payload, held: Solid, instant: float, shown: tuple[float, float]
) -> Solid:
    pose = frame_kinematics(solution.model, load.link, solution.channel("q", instant))
    return held._replace(R=pose.R @ held.R, p=pose.p + pose.R @ held.p, shown=shown)


def _speed(solution: Solution, load: Payload, instant: float) -> float:
    channels = (solution.channel(name, instant) for name in ("q", "v"))
    velocity: Floats = frame_kinematics(solution.model, load.link, *channels).v
    return float(np.linalg.norm(velocity))
