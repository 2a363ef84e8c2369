"""Instants of a discrete motion: within the steps, where velocities and forces are looked at, and
between neighbouring nodes, whose differences are accelerations and jerks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.curves.bspline import BSpline
from predyn.curves.node_spline import NodeSpline
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.kernels import Floats, Ints
from predyn.transcribe.layout import Components
from predyn.transcribe.pool import widened


class Rule(NamedTuple):
    """Quadrature within a step: instants x from 0 to 1 and weights (sum 1)."""

    x: tuple[float, ...]
    weights: tuple[float, ...]


MIDPOINT = Rule((0.5,), (1.0,))
LOBATTO = Rule((0.0, 0.5, 1.0), (1 / 6, 2 / 3, 1 / 6))
HALVES = Rule((0.25, 0.75), (0.5, 0.5))  # between the nodes of a parabola
RULES = {1: MIDPOINT, 2: LOBATTO}  # by the degree of the pieces
NODE_WEIGHTS = {1: (0.5, 0.5), 2: LOBATTO.weights}  # shares of a step that belong to its nodes


class StepSet(InstantSet):
    """Instants at x, one or several, within each step; velocities are those of the pieces."""

    def __init__(
        self, phase: int, components: Components, x: Floats, weights: Floats, timed: bool
    ) -> None:
        spline = components.splines[0]
        assert isinstance(spline, NodeSpline)
        step = np.repeat(np.arange(spline.steps), len(x))
        self._step, self._x = step, np.tile(x, spline.steps)
        s = (step + self._x) / spline.steps
        each = np.tile(weights, spline.steps) / spline.steps
        super().__init__(phase, components, s, each, timed)

    def _looks(self) -> tuple[Floats, Ints]:
        found = [self.of_joints(self.components.splines[0])]
        left = self._x == 1.0
        for spline in self.components.splines[1:]:
            basis, first = spline.basis(self.s).transpose(1, 0, 2), spline.span(self.s)
            basis[left] = spline.basis(self.s[left], side="left").transpose(1, 0, 2)
            first[left] = spline.span(self.s[left], side="left")
            found.append((basis, first))
        return widened(self.components, found)

    def of_joints(self, spline: BSpline) -> tuple[Floats, Ints]:
        assert isinstance(spline, NodeSpline)
        basis = np.zeros((len(self.s), 4, spline.degree + 1))
        basis[:, :2] = spline.within(self._x).transpose(1, 0, 2)
        return basis, 1 + spline.degree * self._step


class DifferenceSet(InstantSet):
    """Instants at which accelerations and jerks are those of a cubic through neighbouring nodes."""

    def _looks(self) -> tuple[Floats, Ints]:
        joints, *others = self.components.splines
        found = [self.of_joints(joints)]
        found += [(x.basis(self.s).transpose(1, 0, 2), x.span(self.s)) for x in others]
        return widened(self.components, found)

    def of_joints(self, spline: BSpline) -> tuple[Floats, Ints]:
        assert isinstance(spline, NodeSpline)
        return spline.differences(self.s)
