"""The ground under a motion: charts of its forces, and how near to slipping and tipping it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.analysis.sides import find_pairs
from predyn.solution import Solution
from predyn.solution.evaluation import phase_starts
from predyn.solution.ground import (
    GroundLoad,
    Sole,
    feet_of,
    ground_loads,
    patches_as_soles,
    plane_of,
)
from predyn.view.sheets import Floats, Spec, Times, chart, series

RATE, FEWEST, MOST = 200.0, 21, 400  # instants of a phase: per second, at least, at most in all
LIGHT = 0.02  # of body weight: below, friction and pressure say nothing
HELD = 1e-4  # m: points that touch are held to this
FLAT = 1e-6  # m, of a model in the plane
AXES = {"vertical": 2, "along x": 0, "along y": 1}


class Ground(NamedTuple):
    """Forces of the ground along a motion, and margins; NaN where they say nothing."""

    t: Floats  # (K,) s, both sides of phase boundaries
    weight: float  # N
    feet: list[GroundLoad]
    patches: list[GroundLoad]
    friction: dict[str, Floats]  # of each patch, share of what friction holds
    balance: Floats  # m, of the centre of pressure from the edge of what touches
    friction_known: bool


def ground_of(solution: Solution) -> Ground:
    """Sampled forces and margins of a motion on the ground."""
    t, phases = _instants(solution)
    model, plane = solution.model, plane_of(solution)
    weight = model.weight
    loads = ground_loads(solution, t, feet_of(model), phases)
    feet = [load for load in loads if load.touching.any()]
    patches = ground_loads(solution, t, patches_as_soles(model), phases)
    friction = {}
    for load in patches:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.hypot(load.force[:, 0], load.force[:, 1]) / (
                plane.friction * load.force[:, 2]
            )
        if load.touching.any():
            friction[load.sole.name] = np.where(load.force[:, 2] > LIGHT * weight, share, np.nan)
    points = [Sole(x.name, x.name, (x.name,)) for x in model.contact_points]
    single = ground_loads(solution, t, points, phases)
    known = solution.ground is not None
    return Ground(t, weight, feet, patches, friction, _balance(feet, single, weight), known)


def _instants(solution: Solution) -> tuple[Floats, NDArray[np.int64]]:
    rate = min(RATE, MOST / solution.duration)
    times, phases = [], []
    for k, (curve, start) in enumerate(zip(solution.curves, phase_starts(solution), strict=True)):
        count = max(FEWEST, int(np.ceil(rate * curve.duration)))
        times.append(start + np.linspace(0.0, curve.duration, count))
        phases.append(np.full(count, k))
    t = np.minimum(np.concatenate(times), solution.duration)
    return t, np.concatenate(phases)


def _balance(feet: list[GroundLoad], points: list[GroundLoad], weight: float) -> Floats:
    """Distance of the centre of pressure of the whole body from the edge of the touching points."""
    force = sum(foot.force[:, 2] for foot in feet)
    total = np.zeros((len(feet[0].t), 2))
    for foot in feet:
        total += np.nan_to_num(foot.pressure[:, :2]) * foot.force[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = total / np.asarray(force)[:, None]
    margins = np.full(len(centre), np.nan)
    planar = all(np.ptp(np.nan_to_num(p.pressure[:, 1])) < FLAT for p in points)
    for k in np.flatnonzero(np.asarray(force) > LIGHT * weight):
        corners = np.array([p.pressure[k, :2] for p in points if p.touching[k]])
        margin = edge_distance(corners, centre[k], planar)
        margins[k] = 0.0 if abs(margin) < HELD else margin
    return margins


def edge_distance(corners: Floats, point: Floats, planar: bool) -> float:
    """Of a point (2,) inside the hull of corners (C, 2) from its edge, m; 0 on a line or a corner.

    planar: along x alone.
    """
    if planar:
        return float(min(corners[:, 0].max() - point[0], point[0] - corners[:, 0].min()))
    hull = outline(corners)
    if len(hull) < 3:
        return 0.0
    along = np.roll(hull, -1, axis=0) - hull
    inward = np.stack([-along[:, 1], along[:, 0]], axis=1)
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    return float(np.sum((point - hull) * inward, axis=1).min())


def outline(points: Floats) -> Floats:
    """The convex hull of points (P, 2), counter-clockwise (Andrew's chain)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered, float).reshape(-1, 2)

    def half(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for p in line:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= FLAT**2:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]), float)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def foot_colours(names: list[str]) -> dict[str, int]:
    """Right and left as in gait charts; others follow."""
    pairs = find_pairs(names)
    colours = {pair.right: 0 for pair in pairs} | {pair.left: 1 for pair in pairs}
    for name in names:
        colours.setdefault(name, 2 + len(colours) % 5)
    return colours


def ground_charts(ground: Ground, times: Times) -> list[Spec]:
    """Forces on the feet in body weights, use of friction, balance; right and left overlaid."""
    colours = foot_colours([foot.sole.name for foot in ground.feet])
    charts = []
    for title, axis in AXES.items():
        lines: list[Spec] = []
        for foot in ground.feet:
            y = np.where(foot.touching, foot.force[:, axis] / ground.weight, np.nan)
            name = foot.sole.name
            line = series(times, ground.t, y, name, colours[name])
            covered = any(line["y"] == other["y"] for other in lines)
            lines.append(line | ({"dashed": True} if covered else {}))
        if any(y for line in lines for y in line["y"]):
            charts.append(chart(f"Ground force, {title}", "BW", lines))
    marks = foot_colours(list(ground.friction))
    dashes: dict[int, int] = {}
    lines = []
    for name, share in ground.friction.items() if ground.friction_known else ():
        second = dashes.setdefault(marks[name], 0) > 0
        dashes[marks[name]] += 1
        line = series(times, ground.t, 100.0 * share, name, marks[name], limits=[None, 100.0])
        lines.append(line | ({"dashed": True} if second else {}))
    if lines:
        charts.append(chart("Friction used", "%", lines, limitName="slips"))
    balance = series(times, ground.t, 100.0 * ground.balance, "margin", 2, limits=[0.0, None])
    look = {"limitName": "tips", "shows": [0.0]}
    charts.append(chart("Support margin", "cm", [balance], **look))
    return charts
