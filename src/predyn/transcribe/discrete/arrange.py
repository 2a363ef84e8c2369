"""Arrange a problem on a discrete motion: rows of the nodes, and where everything else holds.

Quantities of positions and of forces at nodes are bounded at the nodes; what depends on velocities
or torques is bounded within the steps, at the instants of the quadrature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from predyn.curves.node_spline import NodeSpline
from predyn.problem import At, Points
from predyn.problem.accelerations import looks_at_accelerations
from predyn.problem.offers import name_in
from predyn.samples.registry import units
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.discrete.balance import Acting, balance
from predyn.transcribe.discrete.layout import duration_channel
from predyn.transcribe.discrete.node_rows import NodePart, NodeRows
from predyn.transcribe.discrete.sets import HALVES, NODE_WEIGHTS, RULES, DifferenceSet, StepSet
from predyn.transcribe.equalities import moves
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.kernels import Ints
from predyn.transcribe.limits import limit_constraints

DYNAMICS = "equation of motion"  # name of the rows
BY_BOUNDS = ("position", "effort")  # limits that are bounds of variables


class DiscreteArrangement(Arrangement):
    """All sets and rows of a problem on a discrete motion."""

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

    def differences(self, p: int, residual: Residual, timed: bool = False) -> DifferenceSet:
        """Where differences are symmetric: those of second order at the nodes, jerks in between."""
        jerk = "jerk" in residual.channels
        key = (p, "differences", jerk, timed)
        if key not in self._sets:
            s = self._spline(p).breaks
            weights = np.diff(s)
            if jerk:
                s = s[:-1] + 0.5 * weights
            else:
                weights = 0.5 * (np.append(weights, 0.0) + np.insert(weights, 0, 0.0))
            self._sets[key] = DifferenceSet(p, self.layouts[p].components, s, weights, timed)
        found = self._sets[key]
        assert isinstance(found, DifferenceSet)
        return found

    def for_sum(self, p: int, at: At, residual: Residual, average: bool) -> InstantSet:
        """As usual, but rates of signals, which jump at the nodes, are integrated between these,
        and accelerations where they are known.
        """
        if at == "throughout" and looks_at_accelerations(residual):
            return self.differences(p, residual, timed=not average)
        jumps = self._spline(p).degree == 2 and any(
            x.startswith("rate:") for x in residual.channels
        )
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
            nodes = self._spline(p).breaks
            return InstantSet(p, self.layouts[p].components, nodes, np.ones(len(nodes)), False)
        points = super()._choose(p, at, cost, average)
        if self.layouts[p].least_points:  # with the same positions at nodes, velocities at ends
            ones = np.ones(len(points.s))
            return DifferenceSet(p, points.components, points.s, ones, False)
        return points

    def _instants(self, p: int, points: Points) -> list[float]:
        nodes = self._spline(p).breaks
        return list(nodes[points.first : len(nodes) - points.last].tolist())

    def for_equality(self, p: int, residual: Residual) -> InstantSet:
        return self.for_inequality(p, residual)

    def for_inequality(self, p: int, residual: Residual) -> InstantSet:
        """The nodes, or the instants within the steps for what moves there."""
        if looks_at_accelerations(residual):
            return self.differences(p, residual)
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
        """The rows of all nodes of a phase (balance.py)."""
        spline, layout, names = self._spline(p), self.layouts[p], self.problem.model.joint_names
        parts = [*self._from_steps(p), *self._from_nodes(p), *self._from_ends(p)]
        zero = np.zeros(self._n)
        # a step's share of the impulse of typical torques
        scale = self.bind(p, JointTorque()).scale * layout.T / (len(spline.breaks) - 1)
        label, s = name_in(self.problem, p, DYNAMICS), tuple(spline.breaks.tolist())
        self.rows.append(NodeRows(label, names, parts, zero, zero, scale, pointwise=False, s=s))

    def _from_steps(self, p: int) -> Iterator[NodePart]:
        """Forces, momenta and, for straight lines, torques within the steps."""
        spline = self._spline(p)
        rule, first = RULES[spline.degree], spline.degree * np.arange(spline.steps)
        force, momentum, at = "lagrangian", "lagrangian", self._n
        if self.problem.model.couplings:  # forces and momenta are summed up separately
            force, momentum, at = "generalized_force", "momentum", 0
        acting = (force, "tau") if spline.degree == 1 else (force,)
        for x, weight in zip(rule.x, rule.weights, strict=True):
            values, slopes = spline.within(np.array([x]))[:, 0] * (weight / spline.steps)
            for a in range(spline.degree + 1):
                timed = [(name, 0, float(values[a])) for name in acting if values[a]]
                plain = [(momentum, at, float(slopes[a]))]
                yield self._part(p, self.within(p, [x]), first + a, timed, plain)

    def _from_nodes(self, p: int) -> Iterator[NodePart]:
        """Forces of loops and contacts and, for parabolas, torques act at the nodes."""
        spline = self._spline(p)
        given = [x for force in self.systems[p].forces for x in (force.force, force.moment)]
        acting = [("holding", -1.0)] if any(isinstance(x, str) for x in given) else []
        if spline.degree == 2:
            acting.append(("tau", 1.0))
        share = np.zeros(len(spline.breaks))
        for k, weight in enumerate(NODE_WEIGHTS[spline.degree]):
            share[k + spline.degree * np.arange(spline.steps)] += weight / spline.steps
        for weight in np.unique(share.round(14)) if acting else ():
            chosen = np.flatnonzero(share.round(14) == weight)
            points = self.at(p, spline.breaks[chosen].tolist())
            timed = [(name, 0, sign * float(share[chosen[0]])) for name, sign in acting]
            yield self._part(p, points, chosen, timed, [])

    def _from_ends(self, p: int) -> Iterator[NodePart]:
        """Momenta at the ends, unless these are at rest."""
        layout, last = self.layouts[p], len(self._spline(p).breaks) - 1
        start: tuple[At, int, int, float] = ("start", 0, 0, 1.0)
        end: tuple[At, int, int, float] = ("end", -1, last, -1.0)
        for at, control, node, sign in (start, end):
            if (layout.columns[control] >= 0).any() or layout.control[control].any():
                momentum = [("momentum", 0, sign)]
                yield self._part(p, self.at(p, at), np.array([node]), [], momentum)

    def _part(
        self, p: int, points: InstantSet, node: Ints, timed: list[Acting], plain: list[Acting]
    ) -> NodePart:
        """What the instants of a set add to the rows of nodes (instants,)."""
        layout, model = self.layouts[p], self.problem.model
        free = layout.T_column >= 0
        duration = duration_channel(self.problem.phases[p]) if free else layout.T
        unit, scale = units(model, "momentum"), np.ones(self._n)
        residual = balance(model.joint_names, unit, scale, timed, plain, duration)
        return NodePart(points, points.add(Block(DYNAMICS, residual)), node)

    @property
    def _n(self) -> int:
        return self.problem.model.n
