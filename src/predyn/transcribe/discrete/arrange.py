"""Arrange a problem on a discrete motion: rows of the nodes, and where everything else holds.

Quantities of positions and of forces at nodes are bounded at the nodes; what depends on velocities
or torques is bounded within the steps, at the instants of the quadrature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from predyn.curves.node_spline import NodeSpline
from predyn.errors import InputError
from predyn.problem import At, Points
from predyn.problem.offers import name_in
from predyn.samples import FRAME_PARTS
from predyn.samples.registry import units
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual, Term
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.discrete.balance import balance
from predyn.transcribe.discrete.layout import duration_channel
from predyn.transcribe.discrete.node_rows import NodePart, NodeRows
from predyn.transcribe.discrete.sets import HALVES, RULES, StepSet
from predyn.transcribe.equalities import moves
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.limits import limit_constraints

DYNAMICS = "equation of motion"  # name of the rows
BY_BOUNDS = ("position", "effort")  # limits that are bounds of variables


class DiscreteArrangement(Arrangement):
    """All sets and rows of a problem on a discrete motion."""

    def bind(self, p: int, term: Term) -> Residual:
        residual = super().bind(p, term)
        for _, channel, x in residual.entries:
            if channel.startswith("frame:") and x >= FRAME_PARTS["alpha"].start:
                raise InputError(
                    f"term {term.kind!r}: it needs accelerations of {channel[6:]!r}, which method "
                    "'dmoc' does not provide; use method 'spline'"
                )
        return residual

    def _spline(self, p: int) -> NodeSpline:
        spline = self.layouts[p].spline
        assert isinstance(spline, NodeSpline)
        return spline

    # -- instants -----------------------------------------------------------------------------

    def within(self, p: int, x: Sequence[float] | None = None) -> StepSet:
        """Instants at x within each step; None: those of the quadrature."""
        rule = RULES[self._spline(p).degree]
        chosen = rule.x if x is None else tuple(x)
        key = (p, "within", *chosen)
        if key not in self._sets:
            at, ones = np.array(chosen), np.ones(len(chosen))
            self._sets[key] = StepSet(p, self.layouts[p].components, at, ones, timed=False)
        found = self._sets[key]
        assert isinstance(found, StepSet)
        return found

    def for_sum(self, p: int, at: At, residual: Residual, average: bool) -> InstantSet:
        """As usual, but rates of signals, which jump at the nodes, are integrated between these."""
        jumps = self._spline(p).degree == 2 and any(x.startswith("rate:") for x in residual.channels)
        if not jumps or at != "throughout":
            return super().for_sum(p, at, residual, average)
        key = (p, "halves", average)
        if key not in self._sets:
            x, weights = np.array(HALVES.x), np.array(HALVES.weights)
            components = self.layouts[p].components
            self._sets[key] = StepSet(p, components, x, weights, timed=not average)
        return self._sets[key]

    def _choose(self, p: int, at: At | Literal["knots"], cost: bool, average: bool) -> InstantSet:
        if at == "throughout" and cost:
            rule = RULES[self._spline(p).degree]
            x, weights = np.array(rule.x), np.array(rule.weights)
            return StepSet(p, self.layouts[p].components, x, weights, timed=not average)
        if at in ("throughout", "knots"):
            at = self._spline(p).breaks.tolist()
        return super()._choose(p, at, cost, average)

    def _instants(self, p: int, points: Points) -> list[float]:
        nodes = self._spline(p).breaks
        return list(nodes[points.first : len(nodes) - points.last].tolist())

    def for_equality(self, p: int, residual: Residual) -> InstantSet:
        return self.for_inequality(p, residual)

    def for_inequality(self, p: int, residual: Residual) -> InstantSet:
        """The nodes, or the instants within the steps for what moves there."""
        return self.within(p) if self._in_steps(p, residual) else self.at(p, "throughout")

    def _in_steps(self, p: int, residual: Residual) -> bool:
        """Whether a residual depends on velocities, or on signals that jump at the nodes."""
        components = self.layouts[p].components
        for _, channel, x in residual.entries:
            if channel == "t" or channel.startswith("parameter:"):
                continue
            if moves(channel, x, components.direct):
                return True
            if channel in components.direct:
                first = components.direct[channel][0]
                if components.splines[components.signal[first]].degree == 0:
                    return True
        return False

    # -- constraints --------------------------------------------------------------------------

    def _add_limits(self, p: int) -> None:
        for constraint in limit_constraints(self.systems[p], self.problem.model.joint_names):
            if constraint.name not in BY_BOUNDS:
                self._add_constraint(p, constraint)

    def _add_passive_torques(self, p: int) -> None:
        """Torques of passive joints are numbers: zero."""

    def add_dynamics(self) -> None:
        for p in range(len(self.layouts)):
            self._add_motion(p)

    def _add_motion(self, p: int) -> None:
        spline, layout = self._spline(p), self.layouts[p]
        degree, nodes = spline.degree, len(spline.breaks)
        rule, first = RULES[degree], degree * np.arange(spline.steps)
        torques = () if degree == 2 else (("tau", 1.0),)
        parts: list[NodePart] = []
        for x, weight in zip(rule.x, rule.weights, strict=True):
            share = weight / spline.steps
            values, slopes = spline.within(np.array([x]))[:, 0] * share
            for a in range(degree + 1):
                timed = [("lagrangian", 0, values[a])] + [(u, 0, values[a]) for u, _ in torques]
                plain = [("lagrangian", self._n, slopes[a])]
                points = self.within(p, [x])
                parts.append(self._part(p, points, first + a, timed if values[a] else [], plain))
        parts += self._at_nodes(p, nodes)
        ends = ((0, "start", 1.0, layout.control[0], layout.columns[0]),
                (nodes - 1, "end", -1.0, layout.control[-1], layout.columns[-1]))  # fmt: skip
        for node, end, sign, slope, columns in ends:
            if (columns >= 0).any() or slope.any():
                momentum = [("momentum", 0, sign)]
                points = self.at(p, end)
                parts.append(self._part(p, points, np.array([node]), [], momentum))
        zero = np.zeros(self._n)
        # a step's share of the impulse of typical torques
        scale = self.bind(p, JointTorque()).scale * layout.T / (degree * spline.steps)
        names, label = self.problem.model.joint_names, name_in(self.problem, p, DYNAMICS)
        s = tuple(spline.breaks.tolist())
        self.rows.append(NodeRows(label, names, parts, zero, zero, scale, pointwise=False, s=s))

    def _at_nodes(self, p: int, nodes: int) -> list[NodePart]:
        """Forces of loops and contacts, and for parabolas the torques, act at the nodes."""
        spline, parts = self._spline(p), []
        unknown = any(isinstance(x, str) for f in self.systems[p].forces for x in (f.force, f.moment))
        acting = [("holding", -1.0)] * unknown + [("tau", 1.0)] * (spline.degree == 2)
        if not acting:
            return []
        share = np.zeros(nodes)
        for k, weight in zip(
            range(spline.degree + 1), (0.5, 0.5) if spline.degree == 1 else RULES[2].weights,
            strict=True,
        ):
            share[k + spline.degree * np.arange(spline.steps)] += weight / spline.steps
        for weight in np.unique(np.round(share, 14)):
            chosen = np.flatnonzero(np.abs(share - weight) < 1e-13)
            points = self.at(p, spline.breaks[chosen].tolist())
            timed = [(name, 0, sign * share[chosen[0]]) for name, sign in acting]
            parts.append(self._part(p, points, chosen, timed, []))
        return parts

    def _part(
        self,
        p: int,
        points: InstantSet,
        node: np.ndarray,
        timed: list[tuple[str, int, float]],
        plain: list[tuple[str, int, float]],
    ) -> NodePart:
        layout, model = self.layouts[p], self.problem.model
        free = layout.T_column >= 0
        duration = duration_channel(self.problem.phases[p]) if free else layout.T
        unit, scale = units(model, "momentum"), np.ones(self._n)
        residual = balance(model.joint_names, unit, scale, timed, plain, duration)
        return NodePart(points, points.add(Block(DYNAMICS, residual)), node)

    @property
    def _n(self) -> int:
        return self.problem.model.n
