"""The report's numbers as HTML: badge, key numbers and tables. All text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from predyn.model import PRISMATIC, Model
from predyn.solution import EXCEEDS, SUCCESS, Solution, Violation
from predyn.solution.evaluation import passive_joints
from predyn.solution.summary import linear_algebra_share, over_phases
from predyn.view.numbers import NOTHING, seconds, shown

MOST_ROWS = 40
TOLERABLE = 1e-3  # relative excess between the imposed points that needs no warning
SAME = 1e-6  # objectives closer than this, relative, are one local optimum
NOISE = 1e-9  # a relative violation that is rounding
WARNING = '<div class="warning">'
RATES = {"position": "", "velocity": "/s", "acceleration": "/s²", "jerk": "/s³"}
POINT = re.compile(r" at \S+ %$")  # the end of the name of a constraint at a point


class Card(NamedTuple):
    """A key number: a title, the number, a note, and whether it is a warning."""

    title: str
    value: str
    note: str = ""
    warning: bool = False


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kinds: str) -> str:
    """An HTML table; cells are text. kinds: one letter per column, t for text, n for numbers
    (right-aligned), w for words that stay on one line.
    """
    classes = ["" if kind == "t" else f' class="{kind}"' for kind in kinds]
    top = "".join(
        f'<th scope="col"{kind}>{escape(cell)}</th>'
        for cell, kind in zip(head, classes, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, classes, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def badge(solution: Solution, warnings: Sequence[str] = ()) -> str:
    """The status in one word, with a mark that does not rely on colour; then each warning."""
    good = solution.success
    word = solution.status.replace("_", " ")
    bad = "no solution" if solution.status == EXCEEDS else "not converged"
    text = f"✓ {word}" if good else f"✗ {bad}: {word}"
    return f'<span class="badge {"good" if good else "bad"}">{escape(text)}</span>' + "".join(
        f'<a class="badge warning" href="#verification">⚠ {escape(text)}</a>' for text in warnings
    )


def verdict(solution: Solution) -> str:
    """The message; without success also the worst violations."""
    message = f"<p>{escape(solution.message)}</p>" if solution.message else ""
    if solution.success:
        warning = _between(solution)
        kind = "message caution" if warning else "message"
        if "is outside its bounds" not in solution.message:
            message += warning
        return f'<div class="{kind}">{message}</div>' if message else ""
    if solution.status == EXCEEDS:
        outside = [v for v in solution.dense_violations if v.relative > NOISE]
        listed = violations(outside[:10], solution.model)
        return (
            '<div class="alarm" role="alert"><h2>This motion exceeds its limits</h2>'
            f"{message}<p>The solver converged, but the limits hold only at the points where they "
            f"were imposed.</p><h3>Worst violations</h3>{listed}</div>"
        )
    violated = [violation for violation in solution.violations if violation.relative > NOISE]
    worst = (
        f"<h3>Worst violations</h3>{violations(violated[:10], solution.model)}"
        if violated
        else "<p>No constraint is violated: the objective had not converged.</p>"
    )
    return (
        '<div class="alarm" role="alert"><h2>This motion is not a solution</h2>'
        f"{message}<p>The solver stopped with status "
        f"<strong>{escape(solution.status)}</strong>. Its last iterate is shown below; "
        f"do not use it without checking.</p>{worst}</div>"
    )


def _between(solution: Solution) -> str:
    """A warning where limits are exceeded between the imposed points.

    Torques of passive joints are not limits: the section on verification covers them.
    """
    passive = tuple(f"passive torque {joint}" for joint in passive_joints(solution))
    limits = [v for v in solution.dense_violations if not any(name in v.name for name in passive)]
    if not limits or not limits[0].relative > TOLERABLE:
        return ""
    worst = limits[0]
    return (
        f"<p><strong>Between the imposed points a limit is exceeded by "
        f"{shown(100.0 * worst.relative, 3)} %</strong> ({escape(worst.name)}{_when(worst)}). "
        "More segments or limit points, or refinement, reduce this.</p>"
    )


def between_only(solution: Solution) -> list[Violation]:
    """The dense violations without those at imposed points."""
    imposed = {repr(violation) for violation in solution.violations}
    return [v for v in solution.dense_violations if repr(v) not in imposed]


def key_numbers(solution: Solution, more: Sequence[Card] = (), first: Sequence[Card] = ()) -> str:
    """Cards; `more` come last."""
    cards = [
        *first,
        Card("Objective", shown(solution.objective, 7)),
        Card("Duration", f"{shown(solution.duration, 5)} s", _phases(solution)),
        Card("Iterations", str(solution.iterations)),
        Card("Solve time", seconds(solution.solve_seconds), _share(solution)),
        Card(
            "Worst violation at imposed points",
            shown(solution.max_violation, 2),
            _worst(solution.violations),
        ),
        Card(
            "Worst violation, also in between",
            shown(solution.max_violation_dense, 2),
            _worst(solution.dense_violations),
        ),
        Card("Variables, constraints", f"{solution.n_variables}, {solution.n_constraints}"),
        *more,
    ]
    return card_list(cards)


def card_list(cards: Iterable[Card]) -> str:
    return "".join(
        f"{WARNING if card.warning else '<div>'}<dt>{escape(card.title)}</dt>"
        f"<dd>{escape(card.value)}"
        + (f"<small>{escape(card.note)}</small>" if card.note else "")
        + "</dd></div>"
        for card in cards
    )


def _share(solution: Solution) -> str:
    share = linear_algebra_share(solution)
    return "" if np.isnan(share) else f"{share:.0%} of it linear algebra"


def _phases(solution: Solution) -> str:
    return f"{len(solution.curves)} phases" if len(solution.curves) > 1 else ""


def _worst(listed: Sequence[Violation]) -> str:
    if not listed or not listed[0].excess > 0.0:
        return "relative to the limit"
    return f"relative: {listed[0].name}{_when(listed[0])}"


def _when(violation: Violation) -> str:
    return f", t = {shown(violation.time, 4)} s" if np.isfinite(violation.time) else ""


def violations(listed: Sequence[Violation], model: Model) -> str:
    """Violations in the order given, the first MOST_ROWS."""
    if not listed:
        return "<p>None.</p>"
    units = _limit_units(model)
    head = ("Name", "Excess", "Relative", "Value", "Lower", "Upper", "Unit", "Time [s]")
    rows = [
        (
            v.name,
            *(shown(x, 3) for x in (v.excess, v.relative)),
            *(shown(x, 6) for x in (v.value, v.lower, v.upper)),
            units.get(POINT.sub("", v.name.rpartition(": ")[2]), "SI"),
            shown(v.time, 4),
        )
        for v in listed[:MOST_ROWS]
    ]
    more = len(listed) - len(rows)
    rest = f"<p>and {more} more, all smaller.</p>" if more > 0 else ""
    return table(head, rows, "tnnnnnwn") + rest


def _limit_units(model: Model) -> dict[str, str]:
    """Units by the names of limits of joints; other constraints are in SI units, too."""
    units = {}
    for j, joint in enumerate(model.joint_names):
        slide = model.kind[j] == PRISMATIC
        length, effort = ("m", "N") if slide else ("rad", "N m")
        for quantity, per in RATES.items():
            units[f"{quantity} {joint}"] = f"{length}{per}"
        for quantity in ("effort", "passive torque"):
            units[f"{quantity} {joint}"] = effort
    return units


def costs(solution: Solution) -> str:
    """The objective by term, with bars, and exact integrals where they differ."""
    exact = solution.unsmoothed
    more = [
        f"{escape(name)} {shown(value, 7)} ({shown(solution.costs[name], 7)} as optimised)"
        if name in solution.costs
        else f"{escape(name)} {shown(value, 7)}"
        for name, value in exact.items()
    ]
    note = f"<p>Integrated exactly along the motion: {'; '.join(more)}.</p>" if more else ""
    together = over_phases(solution, solution.costs)
    if len(together) == len(solution.costs):
        return _cost_table(solution.costs) + note
    ordered = dict(sorted(together.items(), key=lambda item: -abs(item[1])))
    return (
        f"{_cost_table(ordered)}{note}<details><summary>By phase</summary>"
        f"{_cost_table(solution.costs)}</details>"
    )


def _cost_table(costs: dict[str, float]) -> str:
    whole = sum(abs(value) for value in costs.values()) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="n">{shown(value, 7)}</td>'
        f'<td class="n">{shown(100.0 * value / whole, 3)} %</td>'
        f'<td class="meter"><svg viewBox="0 0 100 10" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{100.0 * abs(value) / whole:.2f}" height="10"/></svg>'
        "</td></tr>"
        for name, value in costs.items()
    )
    return (
        '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Term</th>'
        '<th scope="col" class="n">Value</th><th scope="col" class="n">Share</th><th></th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def active(solution: Solution) -> str:
    if not solution.active:
        return "<p>No limit is active.</p>"
    names = "".join(f"<li>{escape(name)}</li>" for name in solution.active)
    return f'<ul class="tags">{names}</ul>'


def starts(solution: Solution) -> str:
    """A summary of the starts, and a row for each with what it recorded, best first."""
    numbered = [{"start": k + 1} | start for k, start in enumerate(solution.starts)]
    order = sorted(
        numbered, key=lambda start: np.nan_to_num(start.get("objective", np.nan), nan=np.inf)
    )
    keys = list(dict.fromkeys(key for start in order for key in start))
    rows = [[_cell(start.get(key, "")) for key in keys] for start in order]
    kinds = "".join("t" if key == "status" else "n" for key in keys)
    return _spread(solution) + table(
        [key.replace("_", " ").capitalize() for key in keys], rows, kinds
    )


def _spread(solution: Solution) -> str:
    """How many starts converged, and how far apart their local optima are."""
    objectives = [
        float(start["objective"])
        for start in solution.starts
        if start.get("status") in SUCCESS and np.isfinite(start.get("objective", np.nan))
    ]
    if not objectives:
        return "<p>None converged.</p>"
    best, worst, middle = min(objectives), max(objectives), float(np.median(objectives))
    near = sum(value - best <= SAME * max(abs(best), 1e-12) for value in objectives)
    return (
        f"<p>{len(objectives)} of {len(solution.starts)} converged, to objectives from "
        f"{shown(best, 7)} to {shown(worst, 7)} (median {shown(middle, 7)}); {near} reached the "
        "best.</p>"
    )


def _cell(value: object) -> str:
    return shown(float(value), 8) if isinstance(value, float | np.floating) else str(value)


def links(model: Model) -> str:
    rows = []
    for j, name in enumerate(model.link_names):
        mass, moment = float(model.inertia[j, 0]), model.inertia[j, 1:4]
        com = NOTHING if mass == 0.0 else ", ".join(shown(x, 4) for x in moment / mass)
        parent = "world" if model.parent[j] < 0 else model.link_names[model.parent[j]]
        rows.append((name, parent, shown(mass, 5), com))
    head = ("Link", "Parent", "Mass [kg]", "Centre of mass in link axes [m]")
    return table(head, rows, "wwnn") + f"<p>Total mass {shown(model.mass, 5)} kg.</p>"


def provenance(solution: Solution) -> str:
    short, long = [], []
    for key, value in solution.provenance.items():
        if "\n" in value:
            long.append(f"<h3>{escape(key)}</h3><pre>{escape(value)}</pre>")
        else:
            short.append((key, value))
    times = [(f"time to {key}", seconds(value)) for key, value in solution.timings.items()]
    return table(("Item", "Value"), short + times, "wt") + "".join(long)
