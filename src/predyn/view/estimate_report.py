"""The report of an estimate: one HTML file that needs nothing but a browser."""

from __future__ import annotations

from html import escape

import numpy as np

from predyn.analysis.cycles import find_gait
from predyn.analysis.gait import GaitCycles
from predyn.estimate.result import Estimate
from predyn.view import estimate_tables, tables
from predyn.view.curves import TITLES, curves_of
from predyn.view.estimate_charts import (
    channel_charts,
    lcurve_charts,
    state_charts,
    torque_charts,
)
from predyn.view.estimate_scene import estimate_scene, frame_times
from predyn.view.gait_charts import gait_charts
from predyn.view.gait_tables import gait_section
from predyn.view.numbers import shown
from predyn.view.pages import assembled
from predyn.view.sheets import FEW, FIRST, Spec, Times, page_data, picker

NOTHING = (
    '<p class="message">The estimate contains values that are not finite, so there is no '
    "animation.</p>"
)


def estimate_html(estimate: Estimate, gait: GaitCycles | None = None) -> str:
    """The whole page as text; it loads nothing from anywhere.

    gait: by default the gait cycles that the estimate has, if any.
    """
    gait = find_gait(estimate) if gait is None else gait
    moving = bool(np.isfinite(estimate.q).all() and np.isfinite(estimate.v).all())
    values = {
        "title": escape(estimate.name),
        "tab": escape(estimate.name if estimate.success else f"Not converged: {estimate.name}"),
        "sub": escape(f"Torques behind a recorded motion. Model {estimate.model.name}"),
        "badge": estimate_tables.badge(estimate),
        "verdict": estimate_tables.verdict(estimate),
        "numbers": estimate_tables.key_numbers(estimate),
        "nothing": _animated(estimate) if moving else NOTHING,
        "gait": gait_section(gait),
        "torque_words": estimate_tables.torque_words(estimate),
        "torque_table": estimate_tables.torques(estimate),
        "noise": estimate_tables.noise(estimate),
        "noise_words": escape(estimate_tables.NOISE_WORDS),
        "lcurve_words": escape(estimate_tables.LCURVE_WORDS),
        "orders": estimate_tables.orders(estimate),
        "data_table": estimate_tables.data_table(estimate),
        "links": tables.links(estimate.model),
    }
    return assembled("estimate.html", values, _data(estimate, moving, gait))


def _animated(estimate: Estimate) -> str:
    """A note if the animation does not show the whole recording."""
    shown_to, end = float(frame_times(estimate)[-1]), float(estimate.t[-1])
    if np.isclose(shown_to, end, rtol=1e-9, atol=1e-9):
        return ""
    return f'<p class="note">The animation ends at {shown(shown_to)} s of {shown(end)} s.</p>'


def _data(estimate: Estimate, moving: bool, gait: GaitCycles | None) -> Spec:
    times = Times()
    charts = {
        "torques": torque_charts(estimate, times),
        "states": state_charts(estimate, times),
        "channels": channel_charts(estimate, times),
        "lcurve": lcurve_charts(estimate, times),
    }
    if gait is not None:
        charts["gait"], charts["gait-more"] = gait_charts(gait, times)
    joints = list(estimate.model.joint_names)
    varying = np.nan_to_num(estimate.tau.std(axis=0) / (estimate.tau_sd.mean(axis=0) + 1e-300))
    first = np.argsort(-varying)[:FIRST].tolist() if len(joints) > FEW else range(len(joints))
    channels = [channel.name for channel in estimate.channels]
    some = range(len(channels) if len(channels) <= FEW else FIRST)
    pickers = [
        picker("joint-picker", ["torques", "states"], joints, sorted(first)),
        picker("channel-picker", ["channels"], channels, some),
    ]
    if not moving:
        return page_data(times, charts, pickers)
    start, *_, end = frame_times(estimate).tolist()
    return page_data(
        times,
        charts,
        pickers,
        {"start": start, "end": end, "phases": []},
        estimate_scene(estimate),
        _state_rows(estimate, charts),
    )


def _state_rows(estimate: Estimate, charts: dict[str, list[Spec]]) -> list[Spec]:
    """Of each joint its position and effort, taken from the charts."""
    positions = curves_of("states", charts["states"], TITLES["position"])
    torques = charts["torques"]
    efforts = curves_of("torques", torques, [spec["title"] for spec in torques])
    rows = []
    for j, name in enumerate(estimate.model.joint_names):
        effort = None
        if j in efforts:
            most = float(np.nan_to_num(np.abs(estimate.tau[:, j]).max())) or 1.0
            effort = efforts[j][1] | {"most": most}
        rows.append({"name": name, "joint": j, "position": positions[j][1], "effort": effort})
    return rows
