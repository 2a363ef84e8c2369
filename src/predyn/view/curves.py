"""Curves over time and over iterations, in the form that chart.js draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC
from predyn.simulation.predicted_phases import Pieces
from predyn.solution import Curve, Solution
from predyn.solution.evaluation import has_motor, phase_starts
from predyn.view.numbers import rounded

Floats = NDArray[np.float64]

MOST_NUMBERS = 100_000  # of all curves together; longer motions are thinned
SMOOTH = 181  # samples that make a curve look smooth
CHANNELS = ("t", "q", "v", "a", "tau", "reactions")
ROUNDING = 1e-12  # values this small, next to the largest of their curve, are zero
DEGREES = 180.0 / np.pi
MOST_POINTS = 600  # of the chart of a signal, as long as its pieces allow


def motion_charts(solution: Solution) -> dict[str, Any]:
    """Time and one chart per quantity and unit: joints, values (degrees for angles), limits."""
    model = solution.model
    t, q, v, a, tau, reactions = _sampled(solution)
    slides = np.flatnonzero(model.kind == PRISMATIC)
    turns = np.flatnonzero(model.kind != PRISMATIC)
    driven = np.asarray(has_motor(solution, np.arange(len(solution.curves))).any(axis=0))
    charts = []
    for title, values, limit, turning, sliding in (
        ("position", q, "position", "°", "m"),
        ("velocity", v, "velocity", "°/s", "m/s"),
        ("acceleration", a, "acceleration", "°/s²", "m/s²"),
        ("effort", tau, "effort", "N m", "N"),
    ):
        bounds = _bounds(solution, limit)
        for joints, unit, factor in (
            (turns, turning, 1.0 if title == "effort" else DEGREES),
            (slides, sliding, 1.0),
        ):
            if title == "effort":
                joints = joints[driven[joints]]
            if len(joints):
                name = TITLES[title, unit]
                charts.append(_chart(name, unit, joints, factor * values, factor * bounds))
    every = np.arange(model.n)
    for name, unit, part in (
        ("Reaction force", "N", slice(3, 6)),
        ("Reaction moment", "N m", slice(0, 3)),
    ):
        size = np.linalg.norm(reactions[:, :, part], axis=2)
        charts.append(_chart(name, unit, every, size, None))
    boundaries = np.cumsum([curve.duration for curve in solution.curves])
    return {
        "t": rounded(t, 6),
        "duration": float(boundaries[-1]),
        "joints": list(model.joint_names),
        "units": ["m" if kind == PRISMATIC else "°" for kind in model.kind],
        "phases": [
            {"name": name, "end": float(end)}
            for name, end in zip(solution.phase_names, boundaries, strict=True)
        ],
        "charts": charts,
    }


def _bounds(solution: Solution, name: str) -> Floats:
    """Limits (n, 2) that hold in all phases alike; infinite where phases differ."""
    if not solution.systems:
        return np.asarray(getattr(solution.limits, name), float)
    each = np.stack([np.asarray(getattr(x.limits, name), float) for x in solution.systems])
    return np.where((each == each[0]).all(axis=0), each[0], (-np.inf, np.inf))


def signal_charts(solution: Solution) -> list[dict[str, Any]]:
    """One chart for each signal; jumps between and inside phases are drawn upright."""
    charts = []
    for name, signal in solution.signal_curves.items():
        pairs = zip(signal.curves, phase_starts(solution).tolist(), strict=True)
        parts = [_traced(curve, start) for curve, start in pairs if curve is not None]
        if not parts:
            continue
        ends = np.array([0.0, solution.duration])  # the axis shows the whole motion
        gap = np.full((1, len(signal.components)), np.nan)
        t = np.concatenate([ends[:1], *(times for times, _ in parts), ends[1:]])
        values = np.concatenate([gap, *(values for _, values in parts), gap])
        lines = [
            {"joint": k, "name": component, "y": rounded(values[:, k])}
            for k, component in enumerate(signal.components)
        ]
        unit = "" if signal.unit == "1" else signal.unit
        charts.append(
            {"title": f"Signal {name}", "unit": unit, "x": rounded(t, 6), "series": lines}
        )
    return charts


def _traced(curve: Curve, start: float) -> tuple[Floats, Floats]:
    """Times and values of each piece up to its ends, and a gap after the last one."""
    pieces = Pieces((curve,), start)
    ends = np.append(pieces.starts[1:], pieces.end)
    inside = max(2, min(12, MOST_POINTS // len(ends))) if curve.degree > 1 else 2
    t, values = [], []
    for piece, (low, high) in enumerate(zip(pieces.starts, ends, strict=True)):
        times = np.linspace(low, high, inside)
        t.append(times)
        values.append(np.stack([pieces.at(x, piece)[0] for x in times]))
    gap = np.full((1, curve.control.shape[1]), np.nan)
    return np.concatenate([*t, [pieces.end]]), np.concatenate([*values, gap])


TITLES = {
    ("position", "°"): "Joint angle",
    ("position", "m"): "Joint position",
    ("velocity", "°/s"): "Angular velocity",
    ("velocity", "m/s"): "Velocity",
    ("acceleration", "°/s²"): "Angular acceleration",
    ("acceleration", "m/s²"): "Acceleration",
    ("effort", "N m"): "Joint torque",
    ("effort", "N"): "Joint force",
}


def _chart(
    title: str, unit: str, joints: NDArray[np.int64], values: Floats, bounds: Floats | None
) -> dict[str, Any]:
    largest = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=0)
    values = np.where(np.abs(values) < ROUNDING * largest, 0.0, values)
    return {
        "title": title,
        "unit": unit,
        "joints": joints.tolist(),
        "values": [rounded(values[:, j]) for j in joints],
        "limits": [rounded(bounds[j]) if bounds is not None else [None, None] for j in joints],
    }


def _sampled(solution: Solution) -> list[Floats]:
    """t, q, v, a, tau, reactions: the solution's samples, and between them where they are few.

    Efforts of joints that are passive in a phase are NaN there.
    """
    acting = np.where(has_motor(solution, solution.phase), solution.tau, np.nan)
    own = [acting if name == "tau" else getattr(solution, name) for name in CHANNELS]
    most = max(50, MOST_NUMBERS // (6 * solution.model.n))
    between = np.linspace(0.0, solution.duration, min(most, SMOOTH))[1:-1]
    apart = np.abs(between[:, None] - solution.t).min(axis=1)
    between = between[apart > 1e-6 * solution.duration]
    if len(solution.t) + len(between) <= most:
        added = solution.at(between)
        motors = has_motor(solution, solution.phase_at(between))
        added = added._replace(tau=np.where(motors, added.tau, np.nan))
        own = [
            np.concatenate([x, getattr(added, name)]) for x, name in zip(own, CHANNELS, strict=True)
        ]
        order = np.argsort(own[0], kind="stable")
        return [x[order] for x in own]
    indices = np.unique(np.round(np.linspace(0, len(solution.t) - 1, most)).astype(np.int64))
    return [x[indices] for x in own]


def history_charts(solution: Solution) -> list[dict[str, Any]]:
    """Objective and violation of each iterate."""
    history = solution.history
    x = history.get("iteration", np.zeros(0))
    charts = []
    for key, title in (("objective", "Objective"), ("violation", "Constraint violation")):
        y = np.asarray(history.get(key, np.zeros(0)), dtype=float)
        if len(x) < 2 or len(y) != len(x) or not np.isfinite(y).any():
            continue
        positive = y[np.isfinite(y) & (y > 0.0)]
        wide = len(positive) > 0 and positive.max() > 100.0 * positive.min()
        log = bool(wide and (key == "violation" or len(positive) == np.isfinite(y).sum()))
        charts.append({"title": title, "x": rounded(x, 7), "y": rounded(y, 7), "log": log})
    return charts
