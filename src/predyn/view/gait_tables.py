"""The gait cycles of a motion as HTML: how they were found, steps and strides, peaks, residuals."""

from __future__ import annotations

from html import escape

import numpy as np

from predyn.analysis.events import CONTACTS
from predyn.analysis.gait import GaitCycles
from predyn.analysis.sides import LEFT, RIGHT, SIDES
from predyn.view.gait_charts import main_curves, title_of
from predyn.view.numbers import NOTHING, shown
from predyn.view.tables import Card, table

SIGNS = (
    "Angles and moments have the signs of the model's joints{changed}, which need not be those of "
    "your laboratory; moments are internal ones, on the link that the joint moves."
)
CARDS = (  # title, parameter, note
    ("Walking speed", "walking speed", ""),
    ("Step length", "step length", ""),
    ("Cadence", "cadence", ""),
    (
        "Mechanical cost of transport",
        "mechanical cost of transport",
        "work of all joints, both signs, per body weight and distance",
    ),
)
REACTIONS = (
    "Reaction forces are net forces between segments. Muscles press the joint surfaces together in "
    "addition, so contact forces in the joint are larger."
)


def gait_section(gait: GaitCycles | None) -> str:
    """The whole section; nothing without gait cycles."""
    if gait is None:
        return ""
    counts = " and ".join(
        f"{count} {side}"
        for side in SIDES
        if (count := sum(cycle.side == side for cycle in gait.cycles))
    )
    plural = "s" if max(sum(x.side == s for x in gait.cycles) for s in SIDES) > 1 else ""
    begin = (
        f"{counts} cycle{plural}, from heel strike to heel strike of the same foot. Dashed: toe "
        f"off. Moments and powers are divided by {shown(gait.mass, 4)} kg. BW: body weight, "
        f"{shown(gait.weight, 3)} N."
    )
    turned = [name for name, factor in gait.signs.items() if factor < 0]
    signs = SIGNS.format(changed=f" (reversed: {', '.join(turned)})" if turned else "")
    kinetic = any(curve.quantity == "reaction" for curve in gait.curves.values())
    convention = f"{signs} {REACTIONS}" if kinetic else signs
    paragraphs = (" ".join((begin, *gait.notes)), convention)
    text = "".join(f'<p class="note">{escape(words)}</p>' for words in paragraphs)
    return (
        f'<section id="gait-section"><h2>Gait cycle</h2>{text}'
        '<div id="gait" class="charts gait"></div>'
        '<details><summary>Other joints</summary><div id="gait-more" class="charts gait"></div>'
        f"</details><h3>Peaks</h3>{_peaks(gait)}"
        f'<div class="pair"><div><h3>Steps and strides</h3>{_steps(gait)}</div>'
        f"<div>{_residuals(gait)}</div></div></section>"
    )


def gait_cards(gait: GaitCycles | None) -> list[Card]:
    """Key numbers of walking; none without gait cycles."""
    cards = []
    for title, name, note in CARDS if gait is not None else ():
        assert gait is not None
        if name in gait.parameters:
            both = gait.parameters[name]
            values = np.concatenate((both.left, both.right))
            if len(values):
                unit = "" if both.unit == "1" else f" {both.unit}"
                cards.append(Card(title, f"{shown(float(values.mean()), 3)}{unit}", note))
    return cards


def _steps(gait: GaitCycles) -> str:
    rows = [
        (name, "" if x.unit == "1" else x.unit, _mean(x.left), _mean(x.right))
        for name, x in gait.parameters.items()
        if len(x.left) or len(x.right)
    ]
    words = (
        '<p class="note">Mean ± sd between cycles. A step ends with the heel strike of its side.'
        "</p>"
    )
    return table(("Quantity", "Unit", "Left", "Right"), rows, "wwnn") + words


def _mean(values: np.ndarray) -> str:
    if not len(values):
        return NOTHING
    return _spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else np.nan)


def _spread(mean: float, sd: float) -> str:
    """Mean ± sd; a deviation that is rounding is 0, an unknown one is left out."""
    text = shown(mean, 3)
    return f"{text} ± {shown(sd if sd > 1e-9 * abs(mean) else 0.0, 2)}" if sd >= 0.0 else text


def _peaks(gait: GaitCycles) -> str:
    """Largest and smallest values of the curves that are shown first."""
    found = {(peak.curve, peak.kind, peak.side): peak for peak in gait.peaks()}
    rows = []
    for name in main_curves(gait):
        for kind in ("maximum", "minimum"):
            cells = []
            for side in (LEFT, RIGHT):
                peak = found.get((name, kind, side))
                if peak is None:
                    cells += [NOTHING, NOTHING]
                    continue
                cells += [_spread(peak.value, peak.value_sd), f"{peak.percent:.0f} %"]
            curve = gait.curves[name]
            rows.append((f"{title_of(curve)}, {kind}", curve.unit, *cells))
    return table(("Curve", "Unit", "Left", "at", "Right", "at"), rows, "wwnnnn")


def _residuals(gait: GaitCycles) -> str:
    """Of the base: what the measured forces and the motion leave unexplained.

    Those of a prediction belong to its verification.
    """
    if any(CONTACTS in cycle.sources for cycle in gait.cycles):
        return ""
    rows = []
    for curve in gait.curves.values():
        values = np.concatenate((curve.left, curve.right)).ravel()
        if curve.quantity != "residual" or not len(values):
            continue
        rms, most = float(np.sqrt(np.mean(values**2))), float(np.abs(values).max())
        share = f"{shown(100.0 * rms / gait.weight, 2)} % of body weight"
        if curve.unit != "N":
            share = f"{shown(rms / gait.mass, 2)} N m/kg"
        rows.append((curve.joint, curve.unit, shown(rms, 3), shown(most, 3), share))
    if not rows:
        return ""
    words = (
        "<h3>Residuals of the base</h3>"
        '<p class="note">Forces and moments at the base that neither the ground nor a joint '
        "explains: errors of the model, the motion and the plates. They are not joint moments.</p>"
    )
    return words + table(("Coordinate", "Unit", "RMS", "Largest", "RMS, relative"), rows, "wwnnw")
