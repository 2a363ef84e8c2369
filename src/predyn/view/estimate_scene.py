"""The animation of an estimate: the fitted motion, the measured markers and forces around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.estimate.result import Estimate
from predyn.view.arrows import SMALL, UNITS
from predyn.view.scene import Overlay, points_or_none, scene_data
from predyn.view.solids import Floats
from predyn.view.stage import ARROW, frame_count, lay_out

LEAST_RATE, RATE = 15.0, 30.0  # frames a second
MOST_FRAMES, MOST_POSES = 3000, 8000  # in all, and times the number of links
NEAR = 0.75  # of a sample interval: what is farther away in time is not shown


def estimate_scene(estimate: Estimate) -> dict[str, Any]:
    """What the page draws; the motion must be finite."""
    times = frame_times(estimate)
    q = positions_at(estimate, times)
    stage = lay_out(estimate.model, times, q)
    overlays = []
    usual = estimate.comparison
    if usual is not None:
        filtered = np.column_stack([np.interp(times, usual.t, column) for column in usual.q.T])
        overlays.append(Overlay("Filtered", lay_out(estimate.model, times, filtered), shown=False))
    scene = scene_data(stage, overlays, "Estimate")
    scene["markers"] = _markers(estimate, times, q)
    scene["loads"] = _loads(estimate, times, 4.0 * ARROW * stage.view.radius)
    if scene["markers"]:
        scene["options"]["Markers"] = True
    if scene["loads"]:
        scene["options"]["Forces"] = True
    return scene


def frame_times(estimate: Estimate) -> Floats:
    """Equal steps over the recording, or over so much of its beginning as can be shown smoothly."""
    most = max(frame_count(estimate.model), min(MOST_FRAMES, MOST_POSES // estimate.model.n))
    length = min(float(estimate.t[-1] - estimate.t[0]), (most - 1) / LEAST_RATE)
    count = int(np.clip(np.ceil(RATE * length) + 1, frame_count(estimate.model), most))
    return np.asarray(np.linspace(estimate.t[0], estimate.t[0] + length, count))


def positions_at(estimate: Estimate, times: Floats) -> Floats:
    """Joint positions: acceleration is constant in each interval."""
    k = np.clip(np.searchsorted(estimate.t, times, side="right") - 1, 0, len(estimate.t_tau) - 1)
    s = (times - estimate.t[k])[:, None]
    return np.asarray(estimate.q[k] + s * (estimate.v[k] + 0.5 * s * estimate.a[k]))


def _markers(estimate: Estimate, times: Floats, q: Floats) -> list[dict[str, Any]]:
    """Measured places at the frames' times; a component never measured is that of the motion."""
    data = estimate.measurements
    used = {channel.name.rpartition(".")[0] for channel in estimate.channels}
    nearest, near = _nearest(data.t, times)
    shown = []
    for name, places in data.markers.items():
        if name not in used:
            continue
        points = places[nearest]
        never = ~np.isfinite(places).any(axis=0)
        points[:, never] = frame_kinematics(estimate.model, name, q).p[:, never]
        seen = near & np.isfinite(points).all(axis=1)
        shown.append({"name": name, "points": points_or_none(points, seen)})
    return shown


def _loads(estimate: Estimate, times: Floats, length: float) -> list[dict[str, Any]]:
    """Measured forces and moments as arrows; the largest of each kind has this length."""
    measured = [estimate.measurements.forces[name] for name in estimate.force_links]
    loads = []
    for kind, unit in UNITS.items():
        sizes = [np.linalg.norm(getattr(x, kind), axis=1).max() for x in measured]
        largest = max(sizes, default=0.0)
        for x in measured if largest > 0.0 else []:
            vector, feet = (
                np.column_stack([np.interp(times, x.t, column) for column in values.T])
                for values in (getattr(x, kind), x.point)
            )
            size = np.linalg.norm(vector, axis=1)
            acts = (size > SMALL * largest) & (times >= x.t[0]) & (times <= x.t[-1])
            if not acts.any():
                continue
            shrink = 0.5 if kind == "moment" else 1.0
            tips = feet + vector * (shrink * length / largest)
            loads.append(
                {
                    "kind": kind,
                    "feet": points_or_none(feet, acts),
                    "tips": points_or_none(tips, acts),
                    "labels": [f"{y:.3g} {unit}" for y in size],
                }
            )
    return loads


def _nearest(t: Floats, times: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Index of the nearest sample to each time, and whether it is near."""
    after = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
    nearest = np.where(times - t[after - 1] < t[after] - times, after - 1, after)
    return nearest, np.abs(t[nearest] - times) <= NEAR * float(np.median(np.diff(t)))
