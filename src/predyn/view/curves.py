"""Curves of a motion over time and over iterations, for the page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.model import PRISMATIC
from predyn.model.couplings import independent
from predyn.simulation.predicted_phases import Pieces
from predyn.solution import Curve, Solution
from predyn.solution.evaluation import has_motor, phase_starts
from predyn.view.numbers import rounded, written_unit
from predyn.view.sheets import FEW, FIRST, Floats, Spec, Times, chart, series

Joints = NDArray[np.int64]

MOST_NUMBERS = 36_000  # of all curves together; longer motions are thinned
SMOOTH = 181  # samples that make a curve look smooth
CHANNELS = ("t", "q", "v", "a", "tau", "reactions")
ROUNDING = 1e-12  # values this small, next to the largest of their curve, are zero
DEGREES = 180.0 / np.pi
TITLES = {  # of charts of turning and of sliding joints
    "position": ("Joint angle", "Joint position"),
    "velocity": ("Angular velocity", "Velocity"),
    "acceleration": ("Angular acceleration", "Acceleration"),
}
ANGLES = ("°", "°/s", "°/s²")
TORQUE, FORCE = "Joint torque", "Joint force"
MOST_POINTS = 600  # of the chart of a signal, as long as its pieces allow


def motion_charts(solution: Solution, times: Times) -> list[Spec]:
    """One chart per quantity and unit, angles in degrees, with the limits of the joints."""
    model = solution.model
    t, q, v, a, tau, reactions = _sampled(solution)
    slides = np.flatnonzero(model.kind == PRISMATIC)
    turns = np.flatnonzero(model.kind != PRISMATIC)
    driven = np.asarray(has_motor(solution, np.arange(len(solution.curves))).any(axis=0))
    charts = []

    def add(title: str, unit: str, joints: Joints, values: Floats, limit: str = "") -> None:
        lines = []
        factor = DEGREES if unit in ANGLES else 1.0
        for j in joints.tolist():
            line = series(times, t, _cleaned(factor * values[:, j]), model.joint_names[j], j)
            lines.append(line)
            if limit:
                line["limits"] = rounded(factor * _bounds(solution, limit)[j])
                lines += _changing_limits(solution, limit, j, factor, times)
        if lines:
            charts.append(chart(title, unit, lines))

    for quantity, values, turning, sliding in (
        ("position", q, "°", "m"),
        ("velocity", v, "°/s", "m/s"),
        ("acceleration", a, "°/s²", "m/s²"),
    ):
        add(TITLES[quantity][0], turning, turns, values, quantity)
        add(TITLES[quantity][1], sliding, slides, values, quantity)
    add(TORQUE, "N m", turns[driven[turns]], tau, "effort")
    add(FORCE, "N", slides[driven[slides]], tau, "effort")
    every, own = np.arange(model.n), reactions[:, independent(model)]
    add("Reaction force", "N", every, np.linalg.norm(own[:, :, 3:], axis=2))
    add("Reaction moment", "N m", every, np.linalg.norm(own[:, :, :3], axis=2))
    return charts


def clock_data(solution: Solution) -> dict[str, Any]:
    """Start and end of the motion, and of its phases."""
    ends = np.cumsum([curve.duration for curve in solution.curves]).tolist()
    pairs = zip(solution.phase_names, ends, strict=True)
    phases = [{"name": name, "end": end} for name, end in pairs]
    return {"start": 0.0, "end": ends[-1], "phases": phases}


def state_rows(solution: Solution, charts: list[Spec]) -> list[Spec]:
    """Position and effort of each joint, in which curves; the effort also with its largest size."""
    positions = curves_of("charts", charts, TITLES["position"])
    efforts = curves_of("charts", charts, (TORQUE, FORCE))
    rows = []
    for j, name in enumerate(solution.model.joint_names):
        effort = None
        if j in efforts:
            line, place = efforts[j]
            limit = max(abs(bound or 0.0) for bound in line["limits"])
            effort = place | {"most": limit or max(abs(y or 0.0) for y in line["y"]) or 1.0}
        rows.append({"name": name, "joint": j, "position": positions[j][1], "effort": effort})
    return rows


def curves_of(
    place: str, charts: list[Spec], titles: Collection[str]
) -> dict[int, tuple[Spec, Spec]]:
    """By joint: its line in the charts of these titles, and where the page finds it."""
    return {
        line["joint"]: (line, {"place": place, "chart": k, "line": i})
        for k, spec in enumerate(charts)
        if spec["title"] in titles
        for i, line in enumerate(spec["series"])
        if "faint" not in line
    }


def first_shown(solution: Solution, charts: list[Spec]) -> list[int]:
    """Of many joints those whose effort varies most, relative to the limit where there is one."""
    n = solution.model.n
    if n <= FEW:
        return list(range(n))
    weight = np.zeros(n)
    for j, (line, _) in curves_of("charts", charts, (TORQUE, FORCE)).items():
        sizes = [y for y in line["y"] if y is not None]
        weight[j] = (max(sizes) - min(sizes)) / (line["limits"][1] or 1.0)
    return sorted(np.argsort(-weight, kind="stable")[:FIRST].tolist())


def _cleaned(values: Floats) -> Floats:
    """Without what is only rounding."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.where(np.abs(values) < ROUNDING * largest, 0.0, values)


def _bounds(solution: Solution, name: str) -> Floats:
    """Limits (n, 2) that hold in all phases alike; infinite where phases differ."""
    if not solution.systems:
        return np.asarray(getattr(solution.limits, name), float)
    each = np.stack([np.asarray(getattr(x.limits, name), float) for x in solution.systems])
    return np.where((each == each[0]).all(axis=0), each[0], (-np.inf, np.inf))


def _changing_limits(
    solution: Solution, name: str, j: int, factor: float, times: Times
) -> list[Spec]:
    """Curves of the limits of a joint that are not the same in all phases."""
    if not solution.systems:
        return []
    each = np.stack([np.asarray(getattr(x.limits, name), float)[j] for x in solution.systems])
    starts = phase_starts(solution)
    ends = np.append(starts[1:], solution.duration)
    t = np.column_stack((starts, ends)).ravel()
    title = f"limit of {solution.model.joint_names[j]}"
    return [
        series(times, t, factor * np.repeat(bounds, 2), title, j, faint=True, dashed=True)
        for bounds in each.T
        if np.any(bounds != bounds[0])
    ]


def signal_charts(
    solution: Solution, times: Times, names: Collection[str] | None = None
) -> list[Spec]:
    """One chart for each signal, or those named; jumps are drawn upright."""
    charts = []
    for name, signal in solution.signal_curves.items():
        if names is not None and name not in names:
            continue
        pairs = zip(signal.curves, phase_starts(solution).tolist(), strict=True)
        parts = [_traced(curve, start) for curve, start in pairs if curve is not None]
        if not parts:
            continue
        ends = np.array([0.0, solution.duration])  # the axis shows the whole motion
        gap = np.full((1, len(signal.components)), np.nan)
        t = np.concatenate([ends[:1], *(at for at, _ in parts), ends[1:]])
        values = np.concatenate([gap, *(values for _, values in parts), gap])
        lines = [
            series(times, t, values[:, k], component, k)
            for k, component in enumerate(signal.components)
        ]
        charts.append(chart(f"Signal {name}", written_unit(signal.unit), lines))
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


def history_charts(solution: Solution, times: Times) -> list[Spec]:
    """Objective and violation of each iterate."""
    history = solution.history
    x = np.asarray(history.get("iteration", np.zeros(0)), dtype=float)
    if np.any(np.diff(x) <= 0.0):  # the counts of several runs: those of all iterates instead
        x = np.arange(float(len(x)))
    charts = []
    for key, title in (("objective", "Objective"), ("violation", "Constraint violation")):
        y = np.asarray(history.get(key, np.zeros(0)), dtype=float)
        if len(x) < 2 or len(y) != len(x) or not np.isfinite(y).any():
            continue
        positive = y[np.isfinite(y) & (y > 0.0)]
        wide = len(positive) > 0 and positive.max() > 100.0 * positive.min()
        log = bool(wide and (key == "violation" or len(positive) == np.isfinite(y).sum()))
        more = {"log": log, "timed": False, "points": len(x) < 60, "xLabel": "iteration"}
        charts.append(chart(title, "", [series(times, x, y, title, 0)], **more))
    return charts
