"""Where equalities that apply throughout are imposed: at no more instants than can be met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from predyn.samples import FRAME_PARTS, STATES
from predyn.terms.term import Residual
from predyn.transcribe.layout import PhaseLayout


def equality_instants(layout: PhaseLayout, residual: Residual) -> Literal["knots"] | list[float]:
    """At the knots, unless these outnumber the free control points; then at Greville abscissae."""
    free, direct = layout.columns >= 0, layout.components.direct  # (control points, joints)
    joints = {x for _, name, x in residual.entries if name in STATES}
    if any(name not in direct and name != "t" for name in residual.channels):
        joints = set(range(free.shape[1]))
    if not joints:
        return _for_signals(layout, residual)
    moving = any(moves(name, x, direct) for _, name, x in residual.entries)
    ends = 2 if moving else int(free[0].any()) + int(free[-1].any())
    most = int(free[:, sorted(joints)].sum()) // len(residual.rows)
    if layout.spline.segments - 1 + ends <= most:
        return "knots"
    best = max(joints, key=lambda j: int(free[:, j].sum()))
    return list(layout.spline.greville[free[:, best]].tolist())


def _for_signals(layout: PhaseLayout, residual: Residual) -> Literal["knots"] | list[float]:
    """For a residual of signals alone: one instant per control point of the coarsest signal."""
    names = {name.partition(":")[2] for name in residual.channels}
    own = [c.spline for c in layout.curves if c.channel.partition(":")[2] in names]
    if not own:
        return "knots"
    spline = min(own, key=lambda x: x.n_control)
    if any(name.startswith("rate:") for name in residual.channels):
        return list((0.5 * (spline.breaks[1:] + spline.breaks[:-1])).tolist())
    return list(spline.greville.tolist())


def moves(channel: str, component: int, direct: Mapping[str, tuple[int, int, int]]) -> bool:
    """Whether a component depends on velocities or accelerations."""
    if channel in direct:
        return direct[channel][2] > 0
    return not (channel.startswith("frame:") and component < FRAME_PARTS["w"].start)
