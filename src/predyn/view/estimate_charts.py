"""Curves of an estimate, for the page."""

from __future__ import annotations

import numpy as np

from predyn.analysis.curves import base_joints
from predyn.dynamics.kinematics import frame_kinematics
from predyn.estimate.result import BAND, Channel, Estimate
from predyn.model import PRISMATIC, Model
from predyn.recordings.measurements import AXES
from predyn.view.sheets import Floats, Spec, Times, chart, series, thinned

MOST_NUMBERS = 60_000  # of all curves together; longer recordings are thinned
FEWEST, MOST = 60, 2000  # points of one curve
RESIDUALS = 2.5  # noise levels that the axis of residuals shows at least
DEGREES = 180.0 / np.pi


def points_of_a_curve(estimate: Estimate) -> int:
    """How many points each curve may have."""
    curves = 10 * estimate.model.n + 3 * len(estimate.channels)
    return int(np.clip(MOST_NUMBERS // curves, FEWEST, MOST))


def torque_charts(estimate: Estimate, times: Times) -> list[Spec]:
    """One chart for each joint with a motor: steps and their band, and the usual filter."""
    names, most = estimate.model.joint_names, points_of_a_curve(estimate)
    together = -(-len(estimate.t_tau) // most)
    starts = np.arange(0, len(estimate.t_tau), together)
    edges = np.append(estimate.t[starts], estimate.t[-1])
    counts = np.diff(np.append(starts, len(estimate.t_tau)))
    lower, upper = estimate.tau_band
    low, high = np.minimum.reduceat(lower, starts), np.maximum.reduceat(upper, starts)
    mean = np.add.reduceat(estimate.tau, starts) / counts[:, None]
    note = (
        f"Each step is the mean of {together} intervals; its band contains theirs."
        if together > 1
        else ""
    )
    charts, base = [], base_joints(estimate.model)
    for j, name in enumerate(names):
        if name in estimate.unactuated:
            continue
        slide = estimate.model.kind[j] == PRISMATIC
        band = (low[:, j], high[:, j])
        lines = [series(times, edges, mean[:, j], "estimate", j, step=True, band=band)]
        if together > 1:
            lines[0]["joined"] = True
        if estimate.comparison is not None:
            usual = estimate.comparison
            indices = thinned(len(usual.t), most)
            label = f"filter {usual.cutoff:.3g} Hz + inverse dynamics"
            lines.append(
                series(times, usual.t[indices], usual.tau[indices, j], label, j, faint=True)
            )
        title = f"{'Force' if slide else 'Torque'} of {name}"
        if j in base:
            title = f"Residual {'force' if slide else 'moment'} at {name}"
        charts.append(chart(title, "N" if slide else "N m", lines, note=note))
    return charts


def state_charts(estimate: Estimate, times: Times) -> list[Spec]:
    """Positions and speeds with bands: one chart per quantity and unit, angles in degrees."""
    model, charts = estimate.model, []
    indices = thinned(len(estimate.t), points_of_a_curve(estimate))
    slides = model.kind == PRISMATIC
    for title, values, sd, factor, unit, chosen in (
        ("Joint angle", estimate.q, estimate.q_sd, DEGREES, "°", ~slides),
        ("Joint position", estimate.q, estimate.q_sd, 1.0, "m", slides),
        ("Angular velocity", estimate.v, estimate.v_sd, DEGREES, "°/s", ~slides),
        ("Velocity", estimate.v, estimate.v_sd, 1.0, "m/s", slides),
    ):
        lines = []
        for j in np.flatnonzero(chosen).tolist():
            y, reach = factor * values[indices, j], factor * BAND * sd[indices, j]
            band = (y - reach, y + reach)
            lines.append(series(times, estimate.t[indices], y, model.joint_names[j], j, band=band))
        if lines:
            charts.append(chart(title, unit, lines))
    return charts


def channel_charts(estimate: Estimate, times: Times) -> list[Spec]:
    """For each channel what was measured with what was fitted, and the residual."""
    charts, most = [], points_of_a_curve(estimate)
    shown, nodes = _residual_ranges(estimate), thinned(len(estimate.t), most)
    q = estimate.q[nodes]
    for k, channel in enumerate(estimate.channels):
        factor, unit = shown_unit(channel)
        indices = thinned(len(channel.t), most)
        t = channel.t[indices]
        note = (
            f"{len(indices)} of {len(channel.t)} samples are drawn."
            if len(indices) < len(channel.t)
            else ""
        )
        measured = series(times, t, factor * channel.measured[indices], "measured", k, dots=True)
        curve = factor * _fitted(estimate.model, channel, q)
        fitted = series(times, estimate.t[nodes], curve, "fitted", k)
        charts.append(chart(channel.name, unit, [fitted, measured], note=note))
        if channel.sd > 0.0:
            left = residuals(channel)[indices]
            line = series(times, t, left, "residual", k, dots=True, limits=[-BAND, BAND])
            title = f"{channel.name}: residual over noise level"
            more = {"limitName": "95 % of the noise", "shows": shown[_measured_thing(channel)]}
            charts.append(chart(title, "", [line], note=note, **more))
    return charts


def _fitted(model: Model, channel: Channel, q: Floats) -> Floats:
    """What the motion makes of a channel, in gaps too."""
    kind, name = _measured_thing(channel)
    if kind == "angle":
        return q[:, model.joint_index(name)]
    out = np.full(len(q), np.nan)
    finite = np.isfinite(q).all(axis=1)
    places = frame_kinematics(model, name, q[finite]).p
    out[finite] = places[:, AXES.index(channel.name[-1])]
    return out


def _measured_thing(channel: Channel) -> tuple[str, str]:
    """The joint or marker that a channel belongs to."""
    marker = channel.kind == "marker"
    return channel.kind, channel.name.rpartition(".")[0] if marker else channel.name


def _residual_ranges(estimate: Estimate) -> dict[tuple[str, str], list[float]]:
    """What the axes of residuals show, the same for all components of a marker."""
    ranges: dict[tuple[str, str], list[float]] = {}
    for channel in estimate.channels:
        if channel.sd > 0.0:
            low, high = ranges.get(_measured_thing(channel), [-RESIDUALS, RESIDUALS])
            left = residuals(channel)
            left = left[np.isfinite(left)]
            ends = [float(left.min(initial=low)), float(left.max(initial=high))]
            ranges[_measured_thing(channel)] = ends
    return ranges


def lcurve_charts(estimate: Estimate, times: Times) -> list[Spec]:
    """Size of the torques over misfit, by powers of ten; none without a curve."""
    curve = estimate.lcurve
    marks = []
    if 0 <= curve.corner < len(curve.weights):
        marks.append(_mark(curve.misfit, curve.size, curve.corner, "corner"))
    chosen = np.flatnonzero(np.isclose(curve.weights, 1.0, rtol=1e-9, atol=0.0))
    if len(chosen):
        same = int(chosen[0]) == curve.corner
        label = "corner, chosen" if same else "chosen"
        marks = [] if same else marks
        marks.append(_mark(curve.misfit, curve.size, int(chosen[0]), label))
    return lcurve_chart("L-curve", curve.misfit, curve.size, marks, times)


def lcurve_chart(
    title: str, misfit: Floats, size: Floats, marks: list[Spec], times: Times
) -> list[Spec]:
    drawn = np.flatnonzero((misfit > 0.0) & (size > 0.0) & np.isfinite(misfit) & np.isfinite(size))
    if len(drawn) < 2:
        return []
    drawn = drawn[np.argsort(misfit[drawn], kind="stable")]  # the page draws from left to right
    line = series(times, misfit[drawn], size[drawn], title, 0)
    return [
        chart(
            title, "size of the torques", [line], timed=False, log=True, logX=True, points=True,
            xLabel="misfit of the data", marks=marks,
        )
    ]  # fmt: skip


def _mark(misfit: Floats, size: Floats, index: int, label: str) -> Spec:
    return {"x": float(misfit[index]), "y": float(size[index]), "label": label}


def shown_unit(channel: Channel) -> tuple[float, str]:
    """Factor and unit in which people read a channel."""
    return (DEGREES, "°") if channel.unit == "rad" else (1.0, channel.unit)


def residuals(channel: Channel) -> Floats:
    """Measured less fitted, in noise levels."""
    return np.asarray((channel.measured - channel.fitted) / channel.sd)
