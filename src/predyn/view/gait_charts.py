"""Curves over the gait cycle, for the page: left and right, mean ± sd, norms."""

from __future__ import annotations

import numpy as np

from predyn.analysis.curves import ANATOMY
from predyn.analysis.gait import Curve, GaitCycles
from predyn.analysis.sides import LEFT, SIDES
from predyn.view.sheets import Spec, Times, chart, series

COLOURS = {"right": 0, "left": 1}
NORM = 7  # colour
SAME = 1e-3  # relative: curves this near cover each other
MOST_CYCLES = 10  # drawn of each side
ROWS = ("angle", "moment", "power", "reaction")


def gait_charts(gait: GaitCycles, times: Times) -> tuple[list[Spec], list[Spec]]:
    """Hips, knees, ankles in rows of three with the ground force, and the other curves."""
    first = main_curves(gait)
    stances = {
        side: float(np.mean([x.stance for x in gait.cycles if x.side == side]))
        for side in SIDES
        if any(x.side == side for x in gait.cycles)
    }
    verticals = [
        {"x": round(stance, 2), "joint": COLOURS[side], "label": f"toe off {side}"}
        for side, stance in stances.items()
    ]
    charts = {
        name: _chart(gait, name, curve, times, verticals)
        for name, curve in gait.curves.items()
        if len(curve.left) or len(curve.right)
    }
    others = [spec for name, spec in charts.items() if name not in first]
    return [charts[name] for name in first if name in charts], others


def main_curves(gait: GaitCycles) -> list[str]:
    """Names: of each quantity one of the hip, the knee, the ankle; then ground forces, thigh."""
    names = []
    for quantity in ROWS:
        for words in ANATOMY.values():
            names += [
                name
                for name, curve in gait.curves.items()
                if curve.quantity == quantity and any(word in curve.joint for word in words)
            ][:1]
    names += [name for name, curve in gait.curves.items() if curve.quantity == "force"]
    names += [name for name in ("thigh_angle",) if name in gait.curves]
    return names + [name for name, curve in gait.curves.items() if curve.quantity == "pressure"]


def title_of(curve: Curve) -> str:
    words = f"{curve.joint.replace('_', ' ')} {curve.quantity}"
    if curve.quantity == "force":
        words = words.removesuffix(" force").replace("ground", "ground force,")
    if curve.quantity == "pressure":
        words = f"pressure, {curve.joint} of the heel"
    if curve.joint == "thigh":
        words = "thigh against the vertical"
    return words[:1].upper() + words[1:]


def _covered(curve: Curve) -> bool:
    """Whether left and right are the same curve, so that one would hide the other."""
    if len(curve.left) != 1 or len(curve.right) != 1:
        return False
    size = float(np.nanmax(np.abs(curve.right), initial=0.0))
    return float(np.nanmax(np.abs(curve.left - curve.right), initial=0.0)) <= SAME * size


def _chart(gait: GaitCycles, name: str, curve: Curve, times: Times, verticals: list[Spec]) -> Spec:
    lines, singles = [], []
    if name in gait.norms:
        mean, sd = gait.norms[name]
        band = (mean - sd, mean + sd)
        lines.append(series(times, gait.percent, mean, "norm", NORM, band=band))
    for side, colour in COLOURS.items():
        rows = curve.side(side)
        if not len(rows):
            continue
        mean, sd = curve.mean(side), curve.sd(side)
        spread = {"band": (mean - sd, mean + sd)} if len(rows) > 1 else {}
        label = side if len(rows) == 1 else f"{side} ({len(rows)})"
        look = {"dashed": True} if side == LEFT and _covered(curve) else {}
        lines.append(series(times, gait.percent, mean, label, colour, **spread, **look))
        if len(rows) > 1:
            singles += [
                series(times, gait.percent, row, label, colour, thin=True)
                for row in rows[:MOST_CYCLES]
            ]
    most = max(len(curve.left), len(curve.right))
    note = f"{MOST_CYCLES} cycles of each side are drawn." if most > MOST_CYCLES else ""
    return chart(
        title_of(curve), curve.unit, lines + singles, timed=False, legend=True, note=note,
        xLabel="% of the gait cycle", bandName="± 1 sd", verticals=verticals,
    )  # fmt: skip
