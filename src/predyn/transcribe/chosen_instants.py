"""Which instants of its phases a problem looks at: sets of them, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from predyn.errors import InputError
from predyn.problem import At, Points, Problem
from predyn.terms.term import Residual
from predyn.transcribe.control_looks import ControlSet, bounded_curve
from predyn.transcribe.equalities import equality_instants
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.layout import PhaseLayout

CONTINUOUS = 2  # derivatives that agree between pieces of a single phase


class ChosenInstants:
    """The sets of instants at which costs and constraints of each phase are evaluated.

    pieces: whether the phases are pieces of a single one, which share their ends.
    """

    def __init__(
        self, problem: Problem, layouts: Sequence[PhaseLayout], pieces: bool = False
    ) -> None:
        self.problem = problem
        self.layouts: Sequence[PhaseLayout] = layouts
        self._pieces = pieces
        self._sets: dict[tuple, InstantSet] = {}

    def at(
        self,
        p: int,
        at: At | Literal["knots"],
        cost: bool = False,
        still: bool = False,
        average: bool = False,
    ) -> InstantSet:
        """The set of instants of a phase at which a cost or constraint is evaluated.

        Residuals that do not depend on the motion (still) have separate sets, evaluated once.

        "knots" is for equalities that hold throughout: one instant more than segments, because
        each segment has one control point to satisfy them.
        """
        if isinstance(at, str):
            key: tuple = (p, still, at, cost and at == "throughout", average)
        else:
            key = (p, still, *(float(s) for s in at))
        if key not in self._sets:
            self._sets[key] = self._choose(p, at, cost, average)
        return self._sets[key]

    def _choose(self, p: int, at: At | Literal["knots"], cost: bool, average: bool) -> InstantSet:
        options, spline = self.problem.transcription, self.layouts[p].spline
        pieces = self.layouts[p].pieces
        integral = at == "throughout" and cost
        if integral:
            s, weights = pieces.gauss_points(options.gauss_points)
        else:
            ends = {"start": [0.0], "end": [1.0]}
            if at in ("throughout", "knots"):
                s = spline.breaks if at == "knots" else pieces.limit_points(options.limit_points)
                if p > 0 and self._pieces:
                    s = s[1:]  # the end of the piece before is the same instant
            elif isinstance(at, str):
                if at not in ends:
                    raise InputError(
                        f"at: expected 'throughout', 'start', 'end' or fractions, got {at!r}"
                    )
                s = np.array(ends[at])
            else:
                s = np.array(at, float)
            weights = np.ones(len(s))
        timed = integral and not average
        return InstantSet(p, self.layouts[p].components, s, weights, timed)

    def _instants(self, p: int, points: Points) -> list[float]:
        """The instants that a constraint asks for."""
        layout, options = self.layouts[p], self.problem.transcription
        s = layout.pieces.limit_points(options.limit_points)
        if points.of == "motion":
            s = layout.spline.greville
        chosen = s[points.first : len(s) - points.last].tolist()
        if not chosen:
            raise InputError(
                f"imposed_at: {points.first} and {points.last} of {len(s)} points are left out in "
                f"{self.layouts[p].name!r}, and none is left"
            )
        return list(chosen)

    def for_equality(self, p: int, residual: Residual) -> InstantSet:
        """The instants at which an equality that applies throughout is imposed."""
        if self._pieces:
            return self.at(p, "knots")
        return self.at(p, equality_instants(self.layouts[p], residual))

    def for_inequality(self, p: int, residual: Residual) -> InstantSet:
        """The instants, or control points, at which an inequality that applies throughout is
        imposed.
        """
        components = self.layouts[p].components
        curve = bounded_curve(components, residual)
        if self.problem.transcription.limits == "points" or curve is None:
            return self.at(p, "throughout")
        key = (p, "control", *curve)
        if key not in self._sets:
            # pieces of a single phase share their ends up to the acceleration
            later = self._pieces and p > 0 and curve[1] <= CONTINUOUS
            self._sets[key] = ControlSet(p, components, *curve, later)
        return self._sets[key]

    def for_sum(self, p: int, at: At, residual: Residual, average: bool) -> InstantSet:
        """The instants over which the losses of a residual are summed."""
        return self.at(p, at, cost=True, still=not residual.entries, average=average)
