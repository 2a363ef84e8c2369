"""The section on the ground: footprints with the way of the pressure, margins, charts."""

from __future__ import annotations

from html import escape

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.solution import Solution
from predyn.solution.ground import GroundLoad
from predyn.view.ground_charts import Ground, foot_colours, outline
from predyn.view.numbers import NOTHING, shown
from predyn.view.scene import nice_step
from predyn.view.sheets import Floats
from predyn.view.tables import table

WIDTH, MARGIN, TALLEST = 1000.0, 34.0, 300.0  # px
NARROW = 1e-3  # m: a motion in a plane has no footprints
WAYS = (1, 0, 2, 3, 4, 5, 5, 5)  # classes of the style sheet by number of colour
ROUND = 0.03  # m, around contact points


def ground_section(solution: Solution, ground: Ground) -> str:
    """The whole section; its charts go into #ground and #points."""
    plane, words = solution.ground, ""
    if plane is not None:
        slope = f", rising by {shown(100.0 * plane.slope, 3)} % along x" if plane.slope else ""
        form = "friction cone" if plane.cone == "cone" else "friction pyramid inside the cone"
        words = f"Coefficient of friction {shown(plane.friction, 3)}, {form}{slope}. "
    words += (
        f"BW: body weight, {shown(ground.weight, 4)} N. Friction used: tangential force over what "
        "friction can hold; the foot slips at 100 %; not drawn below 2 % of body weight. Support "
        "margin: the distance of the centre of pressure of the whole body from the edge of the "
        "touching points; 0 on a line or a point."
    )
    return (
        f'<section id="ground-section"><h2>Ground</h2><p class="note">{escape(words)}</p>'
        f'{footprints(solution, ground)}<div id="ground" class="charts gait"></div>'
        f"{_margins(ground)}"
        "<details><summary>Forces at contact points</summary>"
        '<div id="points" class="charts next"></div></details></section>'
    )


def _margins(ground: Ground) -> str:
    rows = []
    for load in ground.patches:
        if not load.touching.any():
            continue
        force = load.force[:, 2] / ground.weight
        share = ground.friction.get(load.sole.name)
        used = ("", "") if share is None or not ground.friction_known else _largest(ground.t, share)
        rows.append((load.sole.name, f"{shown(float(force.max()), 3)} BW", *used))
    head = ("Patch", "Largest vertical force", "Most friction used", "at")
    least = float(np.nanmin(ground.balance)) if np.isfinite(ground.balance).any() else np.nan
    words = f"Least distance of the pressure from the edge: {shown(100.0 * least, 2)} cm."
    return "<h3>Margins</h3>" + table(head, rows, "wnnn") + f'<p class="note">{escape(words)}</p>'


def _largest(t: Floats, share: Floats) -> tuple[str, str]:
    if not np.isfinite(share).any():
        return NOTHING, NOTHING
    k = int(np.nanargmax(share))
    return f"{shown(100.0 * float(share[k]), 3)} %", f"{shown(float(t[k]), 3)} s"


def footprints(solution: Solution, ground: Ground) -> str:
    """Feet, pressure and the centre of mass from above; empty for a motion in a plane."""
    prints = [(foot, shape) for foot in ground.feet for shape in _prints(solution, foot)]
    com = solution.channel("com", ground.t)[:, :2]
    ways = [foot.pressure[:, :2] for foot in ground.feet]
    every = np.concatenate([*(shape for _, shape in prints), com, *ways])
    every = every[np.isfinite(every).all(axis=1)]
    low, high = every.min(axis=0), every.max(axis=0)
    if not high[1] - low[1] > NARROW:
        return ""
    span = high - low + 2.0 * ROUND
    scale = min((WIDTH - 2.0 * MARGIN) / span[0], (TALLEST - 2.0 * MARGIN) / span[1])
    height = span[1] * scale + 2.0 * MARGIN

    def at(points: Floats) -> str:
        x = MARGIN + scale * (points[:, 0] - low[0] + ROUND)
        y = MARGIN + scale * (high[1] + ROUND - points[:, 1])
        return "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))

    colours = foot_colours([foot.sole.name for foot in ground.feet])
    parts = []
    for foot, shape in prints:
        paint = f"var(--c{colours[foot.sole.name]})"
        parts.append(
            f'<path opacity="0.18" d="M{at(shape)}Z" fill="{paint}" stroke="{paint}" '
            f'stroke-width="{2.0 * ROUND * scale:.1f}" stroke-linejoin="round" '
            'stroke-linecap="round"/>'
        )
    parts.append(
        f'<path d="M{at(com)}" fill="none" stroke="var(--soft)" stroke-width="1.6" '
        'stroke-dasharray="6 4"><title>centre of mass</title></path>'
    )
    for foot in ground.feet:
        paint = f"var(--c{colours[foot.sole.name]})"
        for piece in _pieces(foot):
            parts.append(
                f'<path d="M{at(foot.pressure[piece, :2])}" fill="none" stroke="{paint}" '
                'stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">'
                f"<title>{escape(foot.sole.name)}: centre of pressure</title></path>"
            )
    step = nice_step(0.25 * span[0])
    x, y = MARGIN, height - 8.0
    parts.append(
        f'<path d="M{x:.1f} {y - 4:.1f}v4h{step * scale:.1f}v-4" fill="none" stroke="var(--soft)"/>'
        f'<text x="{x + step * scale + 6:.1f}" y="{y:.1f}">{shown(step, 2)} m</text>'
    )
    legend = ", ".join(
        f'<span class="way{WAYS[colours[foot.sole.name]]}">━</span> {escape(foot.sole.name)}'
        for foot in ground.feet
    )
    return (
        f'<svg class="figure wide" viewBox="0 0 {WIDTH:g} {height:.0f}" role="img" '
        f'aria-label="Footprints and centre of pressure from above">{"".join(parts)}</svg>'
        f'<p class="note">Seen from above, x to the right: footprints, centre of pressure '
        f"({legend}) and centre of mass (dashed).</p>"
    )


def _prints(solution: Solution, foot: GroundLoad) -> list[Floats]:
    """Outlines of its contact points, once for each time that it stands: when most of it does."""
    shapes = []
    for piece in _pieces(foot):
        q = solution.channel("q", foot.t[piece])
        points = np.stack(
            [frame_kinematics(solution.model, x, q).p for x in foot.sole.points], axis=1
        )
        flat = int(np.argmin(points[:, :, 2].max(axis=1)))
        shapes.append(outline(points[flat, :, :2]))
    return [shape for shape in shapes if len(shape)]


def _pieces(foot: GroundLoad) -> list[np.ndarray]:
    """Rows of each stretch in which the foot touches."""
    rows = np.flatnonzero(foot.touching)
    return [x for x in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(x) > 1]
