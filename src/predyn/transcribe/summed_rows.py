"""Rows that are sums over instants: integrals, terms on pairs of instants, the whole duration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.problem import At, Constraint, Problem, name_of, row_bounds, system_of
from predyn.problem.offers import name_in, offer_in
from predyn.terms.duration import TotalTime
from predyn.terms.kinked import NARROW
from predyn.terms.sums import SumTerm
from predyn.terms.term import Loss, Residual, Smoothed, Term
from predyn.transcribe.chosen_instants import ChosenInstants
from predyn.transcribe.instants import Block
from predyn.transcribe.layout import PhaseLayout
from predyn.transcribe.lifting import Copies, Lift, Lifted
from predyn.transcribe.meetings import two_parts
from predyn.transcribe.rows import Part, Rows
from predyn.transcribe.sizes import Sizes

Floats = NDArray[np.float64]


def is_timeless(residual: Residual) -> bool:
    """Whether a residual depends on parameters only, which are the same at all times."""
    channels = residual.channels
    return bool(channels) and all(name.startswith("parameter:") for name in channels)


class SummedRows(ChosenInstants):
    """Terms bound to the phases of a problem, and rows that add up several instants."""

    def __init__(
        self,
        problem: Problem,
        layouts: Sequence[PhaseLayout],
        lifts: Sequence[Lift] = (),
        pieces: bool = False,
    ) -> None:
        super().__init__(problem, layouts, pieces)
        self.systems = [system_of(problem, p) for p in range(len(layouts))]
        self.offers = [offer_in(problem, p) for p in range(len(layouts))]
        self.sizes = [Sizes(x, y.T) for x, y in zip(self.systems, layouts, strict=True)]
        self._lifts = list(lifts)  # in the order of the constraints
        self._sums: list[Rows] = []  # after all others
        self.rows: list[Rows] = []

    def bind(self, p: int, term: Term) -> Residual:
        """The residual of a term in phase p, with scales that do not depend on units."""
        residual = term.bind_to(self.offers[p])
        residual.scale = self.sizes[p].scale(residual)
        return residual

    def bind_summed(self, p: int, term: Term, loss: Loss | None) -> tuple[Residual, Smoothed]:
        """The residual of a term in a sum over instants, and its loss; None: that of the term."""
        if loss is None or loss == term.loss:
            return term.bind_summed(self.offers[p])
        residual = term.bind_to(self.offers[p])
        width = NARROW * residual.scale.sum() if term.width is None else term.width
        return residual, Smoothed(loss, float(width))

    def _add_pair_constraint(
        self, constraint: Constraint, first: int, last: int, name: str
    ) -> None:
        """Add a constraint between the start of phase `first` and the end of phase `last`."""
        term = constraint.term
        # each side may have signals that the other has not
        sides = [offer_in(self.problem, p, anywhere=True) for p in (first, last)]
        residual = term.bind_to(sides[1])
        residual.scale = self.sizes[last].scale(residual)
        bounds = row_bounds(constraint.lower, constraint.upper, residual)
        lift = next((x for x in self._lifts if x.is_of(constraint, first, last)), None)
        if lift is not None:
            self._lifts.remove(lift)
            self._add_lifted(lift, name, bounds)
            return
        pieces = term.parts if isinstance(term, SumTerm) else ((1.0, term),)
        parts: list[Part] = []
        for factor, piece in pieces:
            if piece.pairs:
                ends = (self.at(first, "start"), self.at(last, "end"))
                parts += two_parts(piece, sides, ends, name, factor)
            elif is_timeless(piece.bind_to(self.offers[first])):
                parts.append(self._add_summed(first, piece, "start", factor, name, "linear"))
            else:
                parts += [
                    self._add_summed(p, piece, "throughout", factor, name)
                    for p in range(first, last + 1)
                ]
        self.rows.append(Rows(name, residual.rows, parts, *bounds, residual.scale, pointwise=False))

    def _add_lifted(self, lift: Lift, name: str, bounds: tuple[Floats, Floats]) -> None:
        """Add rows that set parameters to the values at the first instant, then the lifted rows."""
        zero = np.zeros(len(lift.components))
        for label, residual, points, (lower, upper) in (
            (f"{name} at the start", Copies(lift), self.at(lift.first, "start"), (zero, zero)),
            (name, Lifted(lift), self.at(lift.last, "end"), bounds),
        ):
            part = Part(points, points.add(Block(label, residual)))
            self.rows.append(
                Rows(label, residual.rows, [part], lower, upper, residual.scale, pointwise=False)
            )

    def _add_summed(
        self,
        p: int,
        term: Term,
        at: At,
        weight: float,
        name: str,
        loss: Loss | None = None,
        objective: bool = False,
        average: bool = False,
    ) -> Part:
        """Add a block whose losses are summed over its instants."""
        residual, smoothed = self.bind_summed(p, term, loss)
        points = self.for_sum(p, at, residual, average)
        block = Block(name, residual, loss=smoothed, weight=weight, objective=objective)
        return Part(points, points.add(block))

    def _add_integral(self, constraint: Constraint, first: int, last: int) -> None:
        """Add bounds on the sum of the losses over the instants of several phases."""
        name = constraint.name or f"integral of {name_of(constraint)}"
        if first == last:
            name = name_in(self.problem, first, name)
        parts = [
            self._add_summed(p, constraint.term, constraint.at, 1.0, name)
            for p in range(first, last + 1)
        ]
        low, high = (
            side * np.inf if x is None else float(np.asarray(x))
            for side, x in ((-1, constraint.lower), (1, constraint.upper))
        )
        self._add_sum(name, parts, low, high)

    def _add_total_duration(self, total: tuple[float, float]) -> None:
        parts = [
            self._add_summed(p, TotalTime(), "throughout", 1.0, "total duration")
            for p in range(len(self.layouts))
        ]
        self._add_sum("total duration", parts, *total)

    def _add_sum(self, name: str, parts: list[Part], low: float, high: float) -> None:
        scale = max((abs(x) for x in (low, high) if np.isfinite(x)), default=1.0) or 1.0
        bounds = (np.array([low]), np.array([high]), np.array([scale]))
        self._sums.append(Rows(name, (), parts, *bounds, pointwise=False))
