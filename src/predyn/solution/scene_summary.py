"""Certificate and stages of a motion among obstacles, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from predyn.errors import listed
from predyn.solution.parts import MOST_LISTED
from predyn.solution.stages import Stage

if TYPE_CHECKING:
    from predyn.collision.certificate import Certificate
    from predyn.solution.solution import Solution


def summary_of_surroundings(solution: Solution) -> dict[str, Any]:
    """Certificate and stages in numbers and words; without curves."""
    certificate = solution.certificate
    entries: dict[str, Any] = {"certificate": None, "stages": []}
    if certificate is not None:
        left_out = {name: getattr(certificate, name) for name in ("never_apart", "bare")}
        fields = ("status", "margin", "clearance", "guaranteed", "pair", "time")
        known = {name: getattr(certificate, name) for name in fields}
        entries["certificate"] = known | left_out
    for stage in solution.stages:
        values = {name: value for name, value in vars(stage).items() if name != "motion"}
        entries["stages"].append(values)
    return entries


def certificate_rows(certificate: Certificate | None) -> list[tuple[str, str]]:
    """Rows (label, text) of the table that printing shows."""
    if certificate is None:
        return []
    rows = [("clearance", clearance_text(certificate))]
    pairs = certificate.never_apart
    if pairs:
        names = "; ".join(f"{a} and {b}" for a, b in pairs[:MOST_LISTED])
        more = f"; and {len(pairs) - MOST_LISTED} more" if len(pairs) > MOST_LISTED else ""
        rows.append(("not checked", f"{names}{more} (their capsules always overlap)"))
    if certificate.bare:
        rows.append(("not checked", f"{listed(certificate.bare, MOST_LISTED)} (without capsules)"))
    return rows


def clearance_text(certificate: Certificate) -> str:
    """The verdict with its pair, time and distances, in one sentence."""
    margin = f"margin {millimetres(certificate.margin)}"
    if certificate.pair is None:
        return f"{certificate.verdict}, {margin}; no pair came near"
    one, other = certificate.pair
    where = f"{one} and {other} at {certificate.time:.4g} s"
    if certificate.status == "certified":
        least, found = lower_bound(certificate), millimetres(certificate.clearance)
        return f"certified, {margin}: at least {least} at all times; {found} found, {where}"
    distance = millimetres(certificate.distance)
    if certificate.status == "collision":
        return f"{certificate.verdict}, {margin}: {where}, {distance}"
    return f"undecided, {margin}: {where} too close to tell, {distance}"


def lower_bound(certificate: Certificate) -> str:
    """The guaranteed distance in whole micrometres; not rounded up, since it is a bound."""
    distance = certificate.guaranteed
    return f"{math.floor(1e6 * distance) / 1e3:.10g} mm" if math.isfinite(distance) else "-"


def millimetres(distance: float) -> str:
    """A distance in m as text; a dash if it is not known."""
    return f"{1e3 * distance:.4g} mm" if math.isfinite(distance) else "-"


def stage_table(stages: Sequence[Stage]) -> list[tuple[str, ...]]:
    """Header and one row for each stage; none without stages."""
    header = ("stage", "status", "duration", "energy", "objective", "clearance", "computed in")
    return [header, *map(_stage_row, stages)] if stages else []


def _stage_row(stage: Stage) -> tuple[str, ...]:
    return (
        stage.name,
        stage.status,
        _number(stage.duration, " s"),
        _number(stage.energy),
        _number(stage.objective),
        millimetres(stage.clearance),
        _number(stage.seconds, " s", digits=3),
    )


def _number(value: float, unit: str = "", digits: int = 5) -> str:
    return f"{value:.{digits}g}{unit}" if math.isfinite(value) else "-"
