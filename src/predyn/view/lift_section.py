"""The loads of a lift in the report: key numbers, charts, largest values."""

from __future__ import annotations

from html import escape

from predyn.analysis.lifting import COMPRESSION_LIMIT, LiftLoads
from predyn.analysis.sides import LEFT, RIGHT
from predyn.view.numbers import shown
from predyn.view.sheets import Spec, Times, chart, series
from predyn.view.tables import Card, table

COLOURS = {RIGHT: 0, LEFT: 1}  # as in charts of gait
BACK, BOX = 2, 3
ESTIMATE = (
    "Moments are net ones, positive where they extend the joint. Compression of the spine at L5/S1 "
    "is the net force along its lowest part plus the pull of the back muscles, taken as one at "
    "{arm} cm behind the joint (Chaffin 1969). It is an estimate, without muscles that work "
    "against each other, and no measure of a person's risk. Line at {limit} N: the criterion of "
    "the NIOSH lifting equation (Waters et al. 1993)."
)


def lift_section(loads: LiftLoads | None) -> str:
    """The whole section, whose charts go into #lift; nothing without a lift."""
    if loads is None:
        return ""
    words = ESTIMATE.format(
        arm=shown(100.0 * loads.muscle_arm, 3), limit=shown(COMPRESSION_LIMIT, 4)
    )
    rows = [
        (
            f"{peak.name[:1].upper()}{peak.name[1:]}",
            peak.unit,
            shown(peak.value, 4),
            f"{shown(peak.time, 3)} s",
        )
        for peak in loads.peaks()
    ]
    return (
        f'<section id="lift-section"><h2>Lift</h2><p class="note">{escape(words)}</p>'
        '<div id="lift" class="charts gait"></div><h3>Largest values</h3>'
        f"{table(('Quantity', 'Unit', 'Largest', 'at'), rows, 'wwnn')}</section>"
    )


def lift_cards(loads: LiftLoads | None) -> list[Card]:
    """Key numbers of a lift; none without one."""
    if loads is None:
        return []
    height, moment = float(loads.box_height[-1]), float(loads.back_moment.max())
    most = float(loads.compression.max())
    side = "above" if most > COMPRESSION_LIMIT else "below"
    return [
        Card("Box at the end", f"{shown(height, 3)} m", "height of its centre"),
        Card("L5/S1 moment", f"{shown(moment, 3)} N m", "largest, extension"),
        Card(
            "L5/S1 compression",
            f"{shown(most, 3)} N",
            f"largest, an estimate; {side} {shown(COMPRESSION_LIMIT, 4)} N",
        ),
    ]


def lift_charts(loads: LiftLoads, times: Times) -> list[Spec]:
    """The back, hips, knees, the ground and the box over time; left is dashed."""
    t = loads.t
    limit = [None, COMPRESSION_LIMIT]
    back = [
        series(times, t, loads.compression, "with muscles (estimate)", BACK, limits=limit),
        series(times, t, loads.back_force, "net", BACK, dashed=True),
    ]
    charts = [
        chart(
            "L5/S1 extension moment", "N m", [series(times, t, loads.back_moment, "L5/S1", BACK)]
        ),
        chart("L5/S1 compression", "N", back, legend=True, limitName="NIOSH"),
    ]
    for title, unit, values in (
        ("Hip extension moment", "N m", loads.hip_moment),
        ("Knee extension moment", "N m", loads.knee_moment),
        ("Vertical ground force", "N", loads.ground_force),
    ):
        lines = [
            series(times, t, y, side, COLOURS[side], **({"dashed": True} if side == LEFT else {}))
            for side, y in values.items()
        ]
        charts.append(chart(title, unit, lines, legend=True))
    charts.append(
        chart("Height of the box", "m", [series(times, t, loads.box_height, "centre", BOX)])
    )
    return charts
