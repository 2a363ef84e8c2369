"""Arrange a problem as sets of instants with blocks of rows: limits, ends, costs, pairs, others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.kernels.forces import ExternalForce, UnknownForce, forces_at, signal_of
from predyn.problem import (
    At,
    Constraint,
    Cost,
    Points,
    Problem,
    name_of,
    row_bounds,
    system_of,
)
from predyn.problem.offers import name_in, offer_in
from predyn.terms.duration import TotalTime
from predyn.terms.joints import JointAcceleration, JointPosition, JointTorque, JointVelocity
from predyn.terms.kinked import NARROW
from predyn.terms.signals import SignalValue
from predyn.terms.sums import SumTerm
from predyn.terms.term import Loss, Residual, Smoothed, Term
from predyn.transcribe.control_looks import ControlSet, bounded_curve
from predyn.transcribe.equalities import equality_instants
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.layout import PhaseLayout
from predyn.transcribe.lifting import Copies, Lift, Lifted
from predyn.transcribe.limits import limit_constraints
from predyn.transcribe.meetings import meeting_rows, two_parts
from predyn.transcribe.pool import Pool
from predyn.transcribe.rows import Part, Rows
from predyn.transcribe.shared_pools import shared_pools
from predyn.transcribe.sizes import Sizes

Floats = NDArray[np.float64]
PASSIVE_TORQUE = "passive torque"  # name of the constraint that it is zero
CONTINUOUS = 2  # derivatives that agree between pieces of a single phase
END_TERMS = {"q": JointPosition, "v": JointVelocity, "a": JointAcceleration}


def _timeless(residual: Residual) -> bool:
    """Whether a residual depends on parameters only, which are the same at all times."""
    channels = residual.channels
    return bool(channels) and all(name.startswith("parameter:") for name in channels)


class Made(NamedTuple):
    """What a cost or a constraint at instants has become in a phase."""

    entry: Cost | Constraint
    phase: int
    part: Part
    rows: Rows | None = None  # of a constraint


class Arrangement:
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
        self.problem = problem
        self.layouts: Sequence[PhaseLayout] = layouts
        self.systems = [system_of(problem, p) for p in range(len(layouts))]
        self.offers = [offer_in(problem, p) for p in range(len(layouts))]
        self.sizes = [Sizes(x, y.T) for x, y in zip(self.systems, layouts, strict=True)]
        self._lifts = list(lifts)  # in the order of the constraints
        self._pieces = total is not None
        self._sets: dict[tuple, InstantSet] = {}
        self._sums: list[Rows] = []  # after all others
        self.rows: list[Rows] = []
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
                if p == 0 or not _timeless(cost.term.bind_to(self.offers[p])):
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

    # -- instants -----------------------------------------------------------------------------

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
        elif p == 0 or not _timeless(constraint.term.bind_to(self.offers[p])):
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
        if _timeless(residual):
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

    # -- pairs of instants, integrals, sums -----------------------------------------------------

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
            elif _timeless(piece.bind_to(self.offers[first])):
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

    def for_sum(self, p: int, at: At, residual: Residual, average: bool) -> InstantSet:
        """The instants over which the losses of a residual are summed."""
        return self.at(p, at, cost=True, still=not residual.entries, average=average)

    def _add_cost(self, p: int, cost: Cost) -> None:
        name = name_in(self.problem, p, name_of(cost))
        if cost.term.pairs:
            raise InputError(f"{name}: a term on pairs of instants can only be a constraint")
        at: At = "start" if _timeless(cost.term.bind_to(self.offers[p])) else cost.at
        weight = float(cost.weight)
        part = self._add_summed(
            p, cost.term, at, weight, name, cost.loss, objective=True, average=cost.average
        )
        self.costs.append((name, part))
        self.made.append(Made(cost, p, part))

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
