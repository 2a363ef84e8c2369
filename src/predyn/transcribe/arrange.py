"""Arrange a problem as sets of instants with blocks of rows: limits, ends, costs, pairs, others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.kernels.forces import ExternalForce, UnknownForce, forces_at, signal_of
from predyn.problem import (
    At,
    Constraint,
    Cost,
    Problem,
    name_of,
    row_bounds,
)
from predyn.problem.offers import name_in
from predyn.terms.joints import JointAcceleration, JointPosition, JointTorque, JointVelocity
from predyn.terms.signals import SignalValue
from predyn.terms.term import Residual
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.layout import PhaseLayout
from predyn.transcribe.lifting import Lift
from predyn.transcribe.limits import limit_constraints
from predyn.transcribe.meetings import meeting_rows
from predyn.transcribe.pool import Pool
from predyn.transcribe.rows import Part, Rows
from predyn.transcribe.shared_pools import shared_pools
from predyn.transcribe.summed_rows import SummedRows, is_timeless

Floats = NDArray[np.float64]
PASSIVE_TORQUE = "passive torque"  # name of the constraint that it is zero
END_TERMS = {"q": JointPosition, "v": JointVelocity, "a": JointAcceleration}


class Made(NamedTuple):
    """What a cost or a constraint at instants has become in a phase."""

    entry: Cost | Constraint
    phase: int
    part: Part
    rows: Rows | None = None  # of a constraint


class Arrangement(SummedRows):
    """All sets and rows of a problem, in the order of the constraints.

    total: bounds on the sum of all durations; the phases are then pieces of a single phase, and its
    constraints are imposed only once where two pieces meet.
    build: whether the sets are built, with their pools, for evaluation.
    """

    def __init__(
        self,
        problem: Problem,
        layouts: Sequence[PhaseLayout],
        lifts: Sequence[Lift] = (),
        total: tuple[float, float] | None = None,
        build: bool = True,
    ) -> None:
        super().__init__(problem, layouts, lifts, pieces=total is not None)
        self.costs: list[tuple[str, Part]] = []
        self.made: list[Made] = []
        for p, phase in enumerate(problem.phases):
            self._add_limits(p)
            self._add_passive_torques(p)
            for end, channel, joints, values in layouts[p].open_ends:
                names = tuple(problem.model.joint_names[j] for j in joints)
                term = END_TERMS[channel](joints=names)
                constraint = Constraint(term, values, values, at=end, name=f"{end} {channel}")
                self._add_constraint(p, constraint)
            self._add_signal_bounds(p)
            for constraint in problem.constraints:
                self._add_problem_constraint(p, constraint)
            for constraint in phase.constraints:
                self._add_phase_constraint(p, constraint)
            for cost in problem.costs:
                if p == 0 or not is_timeless(cost.term.bind_to(self.offers[p])):
                    self._add_cost(p, cost)
            for cost in phase.costs:
                self._add_cost(p, cost)
        for p in range(len(layouts) - 1):
            self.rows += meeting_rows(self, p)
        self.add_dynamics()
        if total is not None:
            self._add_total_duration(total)
        self.rows += self._sums
        self.sets = list(self._sets.values())
        self.pools = self.build_sets() if build else []

    def take_over(self, other: Arrangement) -> None:
        """Become that of another problem, whose numbers the rows and sets already have."""
        self.problem, self.systems, self.offers = other.problem, other.systems, other.offers
        self.sizes = other.sizes
        entries = [made.entry for made in other.made]
        self.made = [x._replace(entry=y) for x, y in zip(self.made, entries, strict=True)]

    def add_dynamics(self) -> None:
        """Add the rows of a method that imposes its own equations of motion."""

    def build_sets(self) -> list[tuple[int, Pool]]:
        """Make the sets ready to be evaluated; the pools that do so, each with its phase."""
        return shared_pools(self)

    def forces(self, p: int, s: Floats) -> list[ExternalForce]:
        """External forces of a phase at normalised times, as numbers or unknown components."""
        direct, known = self.layouts[p].components.direct, []
        for force in self.systems[p].forces:
            at: dict[str, tuple[int, ...]] = {}
            for part in ("force", "moment"):
                name = getattr(force, part)
                if isinstance(name, str):
                    first, count, _ = direct[f"signal:{signal_of(name)[0]}"]
                    at[part] = tuple(range(first, first + count))
            if at:
                force = UnknownForce.of(force, at)
            known.append(force)
        return forces_at(known, s, self.layouts[p].T, lambda name: np.zeros(3))

    # -- constraints --------------------------------------------------------------------------

    def _add_limits(self, p: int) -> None:
        for constraint in limit_constraints(self.systems[p], self.problem.model.joint_names):
            self._add_constraint(p, constraint)

    def _add_signal_bounds(self, p: int) -> None:
        """Impose the bounds of signals whose control points do not bound the curve tightly."""
        for curve in self.layouts[p].curves:
            kind, name = curve.channel.split(":", 1)
            bounded = (np.isfinite(curve.lower) | np.isfinite(curve.upper)) & (
                curve.lower < curve.upper
            )
            if kind == "signal" and not curve.bounded_by_points and bounded.any():
                components = tuple(np.array(curve.components)[bounded].tolist())
                bounds = (curve.lower[bounded], curve.upper[bounded])
                term = SignalValue(name, components)
                self._add_constraint(p, Constraint(term, *bounds, name="signal"))

    def _add_passive_torques(self, p: int) -> None:
        """Impose zero torque at passive joints, at the Greville abscissae of the spline's second
        derivative: two points fewer than control points, including the ends.
        """
        passive = self.systems[p].passive
        if passive:
            points = self.at(p, self.layouts[p].spline.greville_of_acceleration.tolist())
            residual = self.bind(p, JointTorque(joints=passive))
            zero = np.zeros(len(passive))
            self.impose(p, PASSIVE_TORQUE, residual, points, (zero, zero))

    def _add_problem_constraint(self, p: int, constraint: Constraint) -> None:
        """Add a constraint of the problem to phase p, or to the whole motion if p is 0."""
        last = len(self.layouts) - 1
        if constraint.term.pairs:
            if p == 0:
                self._add_pair_constraint(constraint, 0, last, name_of(constraint))
        elif constraint.over == "motion":
            if p == 0:
                self._add_integral(constraint, 0, last)
        elif p == 0 or not is_timeless(constraint.term.bind_to(self.offers[p])):
            self._add_in_phase(p, constraint)

    def _add_phase_constraint(self, p: int, constraint: Constraint) -> None:
        if constraint.term.pairs:
            self._add_pair_constraint(
                constraint, p, p, name_in(self.problem, p, name_of(constraint))
            )
        else:
            self._add_in_phase(p, constraint)

    def _add_in_phase(self, p: int, constraint: Constraint) -> None:
        if constraint.integral:
            self._add_integral(constraint, p, p)
        else:
            self._add_constraint(p, constraint)

    def _add_constraint(self, p: int, constraint: Constraint) -> None:
        residual = self.bind(p, constraint.term)
        bounds = row_bounds(constraint.lower, constraint.upper, residual)
        throughout = isinstance(constraint.at, str) and constraint.at == "throughout"
        if is_timeless(residual):
            points, throughout = self.at(p, "start"), False
        elif constraint.imposed_at is not None:
            points = self.at(p, self._instants(p, constraint.imposed_at))
        elif throughout and bool((bounds[0] == bounds[1]).any()):
            points = self.for_equality(p, residual)
        elif throughout:
            points = self.for_inequality(p, residual)
        else:
            points = self.at(p, constraint.at)
        self.impose(p, name_of(constraint), residual, points, bounds, throughout)
        self.made.append(Made(constraint, p, self.rows[-1].parts[0], self.rows[-1]))

    def impose(
        self,
        p: int,
        name: str,
        residual: Residual,
        points: InstantSet,
        bounds: tuple[Floats, Floats],
        throughout: bool = False,
    ) -> None:
        """Constrain a residual to bounds at each instant of a set of phase p."""
        label = name_in(self.problem, p, name)
        part = Part(points, points.add(Block(label, residual)))
        self.rows.append(
            Rows(label, residual.rows, [part], *bounds, residual.scale, throughout=throughout)
        )

    def _add_cost(self, p: int, cost: Cost) -> None:
        name = name_in(self.problem, p, name_of(cost))
        if cost.term.pairs:
            raise InputError(f"{name}: a term on pairs of instants can only be a constraint")
        at: At = "start" if is_timeless(cost.term.bind_to(self.offers[p])) else cost.at
        weight = float(cost.weight)
        part = self._add_summed(
            p, cost.term, at, weight, name, cost.loss, objective=True, average=cost.average
        )
        self.costs.append((name, part))
        self.made.append(Made(cost, p, part))
