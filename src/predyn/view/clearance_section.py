"""A motion among obstacles in the report: its certificate, distances over time, its stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

import numpy as np

from predyn.collision.clearance import checker_of
from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.solution import Curve, Solution
from predyn.solution.evaluation import phase_starts
from predyn.solution.scene_summary import (
    clearance_text,
    lower_bound,
    millimetres,
    stage_table,
)
from predyn.view.scene import Overlay
from predyn.view.sheets import Floats, Spec, Times, chart, series, thinned
from predyn.view.solids import Solid
from predyn.view.stage import Stage, lay_out
from predyn.view.surroundings import capsule_solids
from predyn.view.tables import Card, table

DENSE, MOST_POINTS = 2000, 500  # instants at which distances are computed, and points of a curve
MOST_PAIRS = 6
REACH = 50.0  # mm beyond the margin that the chart shows: what is farther away is not tight
PROOF = {
    "certified": "The proof covers all times, also between samples, for the capsules of the robot "
    "and the pairs that are checked.",
    "collision": "The motion was not certified: it touches something.",
    "within the margin": "The motion was not certified: it comes closer than the margin.",
    "undecided": "The motion was not certified: it comes too close to something to tell.",
}
NONE = "This motion was not certified; the curves below are samples and prove nothing."
CAPSULES, TIMED = "Capsules", "Timed path"


class Clearances(NamedTuple):
    """Distances (K, P) of the P tightest pairs, NaN in phases without the pair, at times (K,)."""

    t: Floats
    names: list[str]
    distances: Floats


def clearances_of(solution: Solution) -> Clearances | None:
    """None without a scene, or for a model without capsules."""
    if solution.scene is None:
        return None
    total, parts = solution.duration, []
    starts = phase_starts(solution).tolist()
    try:
        for k, (start, curve) in enumerate(zip(starts, solution.curves, strict=True)):
            t = start + np.linspace(0.0, curve.duration, _count(curve.duration / total))
            checker = checker_of(solution.model, solution.scene.in_phase(solution.phase_names[k]))
            q = _positions((curve,), t - start)
            parts.append((t, checker.pairs, checker.distances(q, t)))
    except InputError:  # meshes that were not replaced by capsules
        return None
    least: dict[tuple[str, str], float] = {}
    for _, pairs, distances in parts:
        for pair, x in zip(pairs, distances.min(axis=0), strict=True):
            least[pair] = min(float(x), least.get(pair, np.inf))
    nearest = sorted(least, key=lambda pair: least[pair])[:MOST_PAIRS]
    rows = [_columns(pairs, distances, nearest) for _, pairs, distances in parts]
    t = np.concatenate([t for t, _, _ in parts])
    return Clearances(t, [f"{a} and {b}" for a, b in nearest], np.concatenate(rows))


def _tightest(solution: Solution, found: Clearances) -> list[tuple[float, float]]:
    """Least distance (m) of each pair and its time (s): of the curves, or of the certificate."""
    rows = np.nanargmin(found.distances, axis=0)
    least = [(float(found.distances[k, j]), float(found.t[k])) for j, k in enumerate(rows)]
    certificate = solution.certificate
    if certificate is not None and certificate.pair is not None:
        name = " and ".join(certificate.pair)
        if name in found.names:
            j = found.names.index(name)
            least[j] = min(least[j], (certificate.distance, certificate.time))
    return least


def _count(share: float) -> int:
    return max(20, round(DENSE * share))


def _columns(
    pairs: Sequence[tuple[str, str]], distances: Floats, wanted: list[tuple[str, str]]
) -> Floats:
    """Columns of these pairs, NaN of those that are not there."""
    place = {pair: k for k, pair in enumerate(pairs)}
    absent = np.full(len(distances), np.nan)
    columns = [distances[:, place[x]] if x in place else absent for x in wanted]
    return np.stack(columns, axis=1) if columns else np.zeros((len(distances), 0))


def clearance_section(solution: Solution, found: Clearances | None) -> str:
    """The whole section, whose chart goes into #clearance; nothing without a scene."""
    certificate = solution.certificate
    if solution.scene is None and certificate is None and not solution.stages:
        return ""
    if certificate is None:
        words = [NONE] if solution.scene is not None else []
    else:
        words = [f"{clearance_text(certificate)}.", PROOF[certificate.verdict]]
        if certificate.never_apart:
            pairs = "; ".join(f"{a} and {b}" for a, b in certificate.never_apart)
            words.append(f"Not checked, since their capsules always overlap: {pairs}.")
        if certificate.bare:
            words.append(f"Not checked, without capsules: {', '.join(certificate.bare)}.")
    paragraphs = "".join(f"<p>{escape(_sentence(text))}</p>" for text in words)
    caution = "" if certificate is not None and certificate.status == "certified" else " caution"
    box = f'<div class="message{caution}">{paragraphs}</div>' if paragraphs else ""
    return (
        f'<section id="clearance-section"><h2>Clearance</h2>{box}'
        f'<div id="clearance" class="charts"></div>{_pairs(solution, found)}{_stages(solution)}'
        "</section>"
    )


def _pairs(solution: Solution, found: Clearances | None) -> str:
    """The tightest pairs with their least distances, times and phases."""
    if found is None or not found.names:
        return ""
    ends = np.cumsum([curve.duration for curve in solution.curves])
    rows = []
    for (distance, time), name in sorted(zip(_tightest(solution, found), found.names, strict=True)):
        phase = min(int(np.searchsorted(ends, time - 1e-9 * ends[-1])), len(ends) - 1)
        rows.append([name, millimetres(distance), f"{time:.4g} s", solution.phase_names[phase]])
    head, kinds = ["Pair", "Least distance", "At", "Phase"], "wnnw"
    shown = 4 if len(ends) > 1 else 3
    body = table(head[:shown], [row[:shown] for row in rows], kinds[:shown])
    return f"<h3>Tightest pairs</h3>{body}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _stages(solution: Solution) -> str:
    if not solution.stages:
        return ""
    head, *rows = stage_table(solution.stages)
    texts = (*(_sentence(x) for x in head), "Message")
    cells = [(*row, stage.message) for row, stage in zip(rows, solution.stages, strict=True)]
    return f"<h3>Stages</h3>{table(texts, cells, 'wwnnnnnt')}"


def clearance_cards(solution: Solution) -> list[Card]:
    """The guaranteed clearance as a key number; a warning without a proof."""
    certificate = solution.certificate
    if certificate is None:
        return []
    if certificate.status == "certified":
        note = f"certified at all times, margin {millimetres(certificate.margin)}"
        proved = np.isfinite(certificate.guaranteed)  # it is infinite if there are no pairs
        value = f"≥ {lower_bound(certificate)}" if proved else "certified"
        return [Card("Clearance", value, note)]
    return [Card("Clearance", certificate.verdict, clearance_text(certificate), True)]


def clearance_charts(solution: Solution, found: Clearances | None, times: Times) -> list[Spec]:
    """Distances of the tightest pairs over time up to REACH beyond the margin, their least one."""
    if found is None or not found.names:
        return []
    margin = 0.0 if solution.certificate is None else 1e3 * solution.certificate.margin
    kept = thinned(len(found.t), MOST_POINTS)
    kept = np.union1d(kept, np.nanargmin(found.distances, axis=0))  # the tightest instants too
    lines = [
        series(times, found.t[kept], 1e3 * found.distances[kept, k], name, k, limits=[margin, None])
        for k, name in enumerate(found.names)
    ]
    least, time = min(_tightest(solution, found))
    most = max(margin + REACH, 2e3 * least)
    look = {
        "legend": True,
        "limitName": f"margin, {margin:.4g} mm",
        "shows": [0.0, margin],
        "most": round(most, 3),
        "marks": [{"x": round(time, 6), "y": 1e3 * least,
                   "label": f"{millimetres(least)} at {time:.4g} s"}],
        "note": f"Distances above {most:.3g} mm lie beyond the axis.",
    }  # fmt: skip
    return [chart("Distance of the tightest pairs", "mm", lines, **look)]


def scene_overlays(solution: Solution, stage: Stage) -> list[Overlay]:
    """What the animation may show over the motion: capsules, and the motion before improvement."""
    overlays = []
    capsules = capsule_solids(solution)
    if capsules:
        overlays.append(Overlay(CAPSULES, _with_solids(stage, capsules), False))
    names = [x.name for x in solution.stages]
    timed = next((x for x in solution.stages if x.name == "time"), None)
    if timed is not None and timed.motion and "improve" in names:
        q = _positions(timed.motion, stage.times)
        overlays.append(Overlay(TIMED, lay_out(solution.model, stage.times, q), False))
    return overlays


def _with_solids(stage: Stage, solids: list[Solid]) -> Stage:
    return replace(stage, solids=solids, ends=[], paths=[])


def _positions(curves: Sequence[Curve], times: Floats) -> Floats:
    """Joint positions (K, n) of phases at times (K,) from their start; at rest after the end."""
    ends = np.cumsum([curve.duration for curve in curves])
    phase = np.minimum(np.searchsorted(ends, times, side="left"), len(curves) - 1)
    q = np.empty((len(times), curves[0].control.shape[1]))
    for k, curve in enumerate(curves):
        rows = phase == k
        s = (times[rows] - (ends[k] - curve.duration)) / curve.duration
        spline = BSpline(curve.degree, curve.knots)
        q[rows] = spline.evaluate(curve.control, np.clip(s, 0.0, 1.0), 1.0, derivatives=0)[0]
    return q
