"""Charts of what the costs and constraints of a problem look at, with their bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from predyn.problem import Constraint, Cost, Problem, name_of, row_bounds
from predyn.problem.offers import offer_in
from predyn.samples import Samples
from predyn.solution import Solution
from predyn.solution.evaluation import phase_starts
from predyn.solution.parts import ROUNDING
from predyn.terms.contact import ContactPlace, OnContacts
from predyn.terms.term import Residual
from predyn.view.numbers import rounded, written_unit
from predyn.view.sheets import Floats, Spec, Times, chart, series

DRAWN = ("q", "v", "a", "tau")  # have charts of their own
CONSTANT = ("t", "parameter")
WRITTEN_OUT = ("below ground", "force begins", "force ends")  # constraints of contacts
POINTS = 121  # of each curve in each phase
DEGREES = 180.0 / np.pi
SHOWN = {"rad": (DEGREES, "°"), "rad/s": (DEGREES, "°/s"), "rad/s^2": (DEGREES, "°/s²")}
Place = tuple[str, ...]  # identifies a chart, or a curve


class Piece(NamedTuple):
    """A quantity in one phase, and the bounds of one entry there: at all times, or at some."""

    t: Floats
    y: Floats
    at: Floats | None  # None: at all times
    lower: float
    upper: float


@dataclass
class Curve:
    name: str
    pieces: dict[int, list[Piece]] = field(default_factory=dict)  # by phase


@dataclass
class Sheet:
    unit: str
    titles: dict[str, None] = field(default_factory=dict)
    curves: dict[Place, Curve] = field(default_factory=dict)


def term_charts(solution: Solution, times: Times) -> list[Spec]:
    """One chart for each frame, channel or term, and unit; none if the problem is not known."""
    if solution.problem is None:
        return []
    sheets: dict[Place, Sheet] = {}
    for p in range(len(solution.curves)):
        for entry in _entries(solution.problem, p):
            _add(sheets, solution, p, entry)
    return [_chart(sheet, len(solution.curves), times) for sheet in sheets.values()]


def _entries(problem: Problem, p: int) -> Iterator[Cost | Constraint]:
    phase = problem.phases[p]
    constraints = (*problem.constraints, *phase.constraints)
    entries: tuple[Cost | Constraint, ...] = (*constraints, *problem.costs, *phase.costs)
    yield from (entry for entry in entries if not entry.term.pairs and not _of_contacts(entry))


def _of_contacts(entry: Cost | Constraint) -> bool:
    """Whether it belongs to contacts, which have a section of their own."""
    return isinstance(entry.term, OnContacts | ContactPlace) or entry.name in WRITTEN_OUT


def _add(sheets: dict[Place, Sheet], solution: Solution, p: int, entry: Cost | Constraint) -> None:
    """Add the rows of an entry in phase p to the charts they belong to."""
    assert solution.problem is not None
    residual = entry.term.bind_to(offer_in(solution.problem, p))
    kinds = {channel.partition(":")[0] for channel in residual.channels}
    if kinds <= set(CONSTANT) or (isinstance(entry, Cost) and len(kinds) == 1 and kinds & {*DRAWN}):
        return
    t = _times(solution, p, np.linspace(0.0, 1.0, POINTS))
    values, targets, quantities = _values(solution, residual, t)
    lower, upper = _bounds(entry, residual)
    at = None if entry.at == "throughout" else _times(solution, p, _fractions(entry.at))
    for row, name in enumerate(residual.rows):
        factor, unit = SHOWN.get(residual.units[row], (1.0, written_unit(residual.units[row])))
        group, quantity = quantities[row] or ((str(id(entry)),), (str(row),))
        sheet = sheets.setdefault((*group, unit), Sheet(unit))
        sheet.titles[_titled(name_of(entry))] = None
        piece = Piece(
            t,
            factor * values[row],
            at,
            factor * (lower[row] + targets[row]),
            factor * (upper[row] + targets[row]),
        )
        sheet.curves.setdefault(quantity, Curve(name)).pieces.setdefault(p, []).append(piece)


def _values(
    solution: Solution, residual: Residual, t: Floats
) -> tuple[Floats, Floats, list[tuple[Place, Place] | None]]:
    """Rows (rows, K), targets that were subtracted, and where a row is a channel's component.

    A row that is a component minus a target is drawn as that component: a position, not its
    distance from a goal.
    """
    samples = Samples(
        {c: np.ascontiguousarray(solution.channel(c, t).T) for c in residual.channels}
    )
    values = np.empty((len(residual.rows), len(t)))
    residual.value(samples, values)
    targets = np.zeros(len(values))
    quantities: list[tuple[Place, Place] | None] = [None] * len(values)
    for row in range(len(values)):
        own = [(channel, k) for r, channel, k in residual.entries if r == row]
        if residual.constant and len(own) == 1:
            channel, k = own[0]
            offsets = samples[channel][k] - values[row]
            size = float(np.abs(samples[channel][k]).max()) + float(np.abs(values[row]).max())
            if np.ptp(offsets) <= 1e-9 * size:
                targets[row] = offsets[0]
                values[row] = samples[channel][k]
                quantities[row] = (channel,), (channel, str(k))
    return values, targets, quantities


def _bounds(entry: Cost | Constraint, residual: Residual) -> tuple[Floats, Floats]:
    """Bounds of each row; infinite for costs and integrals."""
    if isinstance(entry, Cost) or entry.integral:
        return row_bounds(-np.inf, np.inf, residual)
    return row_bounds(entry.lower, entry.upper, residual)


def _fractions(at: object) -> Floats:
    return np.atleast_1d(np.asarray({"start": 0.0, "end": 1.0}.get(str(at), at), float))


def _times(solution: Solution, p: int, s: Floats) -> Floats:
    """Seconds; the end of a phase is just before the start of the next one."""
    start, duration = phase_starts(solution)[p], solution.curves[p].duration
    inside = start + duration - 4.0 * ROUNDING * solution.duration
    return np.asarray(np.minimum(start + duration * s, inside))


def _chart(sheet: Sheet, phases: int, times: Times) -> Spec:
    lines: list[Spec] = []
    marks: list[Spec] = []
    for k, curve in enumerate(sheet.curves.values()):
        parts = [pieces[0] for pieces in curve.pieces.values()]
        t = np.concatenate([np.append(part.t, part.t[-1]) for part in parts])
        y = np.concatenate([np.append(part.y, np.nan) for part in parts])
        line = series(times, t, y, curve.name, k)
        held = [piece for pieces in curve.pieces.values() for piece in pieces]
        always = [piece for piece in held if piece.at is None and _bounded(piece)]
        same = {(piece.lower, piece.upper) for piece in always}
        if len(same) == 1 and len(always) == phases:
            line["limits"] = rounded(same.pop())
            always = []
        lines.append(line)
        for piece in (*always, *(piece for piece in held if piece.at is not None)):
            if piece.at is not None and piece.lower == piece.upper:
                marks += [{"x": x, "y": piece.lower, "label": ""} for x in piece.at.tolist()]
            else:
                lines += _limits(piece, curve.name, k, times)
    title = ", ".join([*sheet.titles][:3]) + (", …" if len(sheet.titles) > 3 else "")
    if not marks:
        return chart(title, sheet.unit, lines)
    note = "Rings: required values."
    shows = [mark["y"] for mark in marks]
    return chart(title, sheet.unit, lines, marks=marks, shows=shows, note=note)


def _limits(piece: Piece, name: str, joint: int, times: Times) -> list[Spec]:
    """Bounds in one phase or at instants only, as curves and dots of their own."""
    lines = []
    at = piece.t[[0, -1]] if piece.at is None else piece.at
    for bound in sorted({piece.lower, piece.upper}):
        if np.isfinite(bound):
            look = {"dots": True} if piece.at is not None else {"faint": True, "dashed": True}
            y = np.full(len(at), bound)
            lines.append(series(times, at, y, f"limit of {name}", joint, **look))
    return lines


def _bounded(piece: Piece) -> bool:
    return bool(np.isfinite(piece.lower) or np.isfinite(piece.upper))


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:].replace("_", " ")
