"""From a problem to sets of instants with blocks of rows: limits, ends, costs, pairs, the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError
from predyn.kernels.lanes import WIDTH
from predyn.problem import At, Constraint, Cost, Problem, row_bounds
from predyn.samples import STATES, Samples, split_side
from predyn.terms.duration import TotalTime
from predyn.terms.joints import (
    JointAcceleration,
    JointJerk,
    JointPosition,
    JointTorque,
    JointVelocity,
)
from predyn.terms.pairs import Continuity
from predyn.terms.term import Residual, Smoothed, Term
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.layout import PhaseLayout, passive_mask
from predyn.transcribe.pool import Pool

Floats = NDArray[np.float64]
LIMIT_TERMS = {
    "position": JointPosition,
    "velocity": JointVelocity,
    "acceleration": JointAcceleration,
    "jerk": JointJerk,
    "effort": JointTorque,
}
PASSIVE_TORQUE = "passive torque"  # that there is none
END_TERMS = {"q": JointPosition, "v": JointVelocity, "a": JointAcceleration}


@dataclass(eq=False)
class Rows:
    """Pointwise constraints: a block at all instants of a set."""

    name: str
    points: InstantSet
    block: Block
    lower: Floats
    upper: Floats
    throughout: bool


@dataclass(eq=False)
class PairRows:
    """Constraints between two instants; each side has its part of the entries."""

    name: str
    residual: Residual
    sides: tuple[tuple[InstantSet, Block], tuple[InstantSet, Block]]
    lower: Floats
    upper: Floats


@dataclass(eq=False)
class Sum:
    """A sum over instants that is bounded: one constraint."""

    name: str
    parts: list[tuple[InstantSet, int]]  # set, number of the block
    lower: float
    upper: float
    scale: float
    row: int = -1  # its number among the constraints


def name_of(entry: Cost | Constraint) -> str:
    """Its own name, else that of its term, else the kind of the term."""
    return str(entry.name or getattr(entry.term, "name", None) or entry.term.kind)


class Arrangement:
    """All sets and rows of a problem, in the order of the constraints.

    total: bounds of the sum of all durations; the phases are then pieces of one, under the same
    constraints, which hold once where two pieces meet.
    """

    def __init__(
        self,
        problem: Problem,
        layouts: Sequence[PhaseLayout],
        total: tuple[float, float] | None = None,
    ) -> None:
        self.problem, self.model = problem, problem.model
        self.layouts: Sequence[PhaseLayout] = layouts
        self._pieces = total is not None
        self._sets: dict[tuple, InstantSet] = {}
        self.rows: list[Rows | PairRows] = []
        self.sums: list[Sum] = []
        self.costs: list[tuple[str, InstantSet, int]] = []  # name, set, number of the block
        for p, phase in enumerate(problem.phases):
            self._limits(p)
            self._passive_joints(p)
            for end, channel, joints, values in layouts[p].open_ends:
                names = tuple(self.model.joint_names[j] for j in joints)
                term = END_TERMS[channel](joints=names)
                constraint = Constraint(term, values, values, at=end, name=f"{end} {channel}")
                self._constraint(p, constraint)
            for constraint in (*problem.constraints, *phase.constraints):
                self._any_constraint(p, constraint, constraint in phase.constraints)
            for cost in (*problem.costs, *phase.costs):
                self._cost(p, cost)
        for p in range(len(layouts) - 1):
            self._continuity(p)
        if total is not None:
            time = TotalTime()
            loss = Smoothed(time.loss, time.width)
            parts = [
                self._summed(p, time, "throughout", loss, 1.0, "total duration")
                for p in range(len(layouts))
            ]
            self.sums.append(Sum("total duration", parts, *total, scale=total[1]))
        self.sets = list(self._sets.values())
        self.pools = self._pool()

    def _pool(self) -> list[tuple[int, Pool]]:
        """Build the sets: those of a phase that look at the same channels share a pool."""
        shared: dict[tuple, list[InstantSet]] = {}
        for points in self.sets:
            channels = points.channels
            orders = 4 if "jerk" in channels else 3 if channels else 0
            derived = tuple(sorted(c for c in channels if c not in (*STATES, "t")))
            shared.setdefault((points.phase, orders, derived), []).append(points)
        pools = []
        for (p, orders, derived), sets in shared.items():
            s = np.concatenate([points.padded for points in sets])
            spline, forces = self.layouts[p].spline, self.problem.forces
            pool = Pool(self.model, spline, s, orders, derived, forces)
            first = 0
            for points in sets:
                points.build(pool, first)
                first += points.chunks
            pools.append((p, pool))
        return pools

    def _label(self, p: int, name: str) -> str:
        return name if len(self.layouts) == 1 else f"{self.layouts[p].name}: {name}"

    def _at(
        self, p: int, at: At | Literal["knots"], cost: bool = False, still: bool = False
    ) -> InstantSet:
        """The set of instants of a phase that a cost or a constraint looks at.

        What is the same for every motion (still) has sets of its own, evaluated once.

        "knots" is for what shall hold throughout with equality: as many instants as there are
        segments and one, for there is one control point a segment to meet it.
        """
        options, spline = self.problem.transcription, self.layouts[p].spline
        if isinstance(at, str):
            key: tuple = (p, still, at, cost and at == "throughout")
        else:
            key = (p, still, *(float(s) for s in at))
        if key not in self._sets:
            timed = False
            if at == "throughout" and cost:
                s, weights = spline.gauss_points(options.gauss_points)
                timed = True
            else:
                ends = {"start": [0.0], "end": [1.0]}
                if at in ("throughout", "knots"):
                    s = spline.limit_points(1 if at == "knots" else options.limit_points)
                    if p > 0 and self._pieces:
                        s = s[1:]  # the end of the piece before is the same instant
                elif isinstance(at, str):
                    if at not in ends:
                        raise InputError(
                            f"at: expected 'throughout', 'start', 'end' or fractions, got {at!r}"
                        )
                    s = np.array(ends[at])
                else:
                    s = np.array(key[2:], float)
                weights = np.ones(len(s))
            self._sets[key] = InstantSet(self.model, p, spline, s, weights, timed)
        return self._sets[key]

    def _limits(self, p: int) -> None:
        model, problem = self.model, self.problem
        passive = passive_mask(problem)
        limits = dict((problem.limits or model.limits)._asdict())
        if problem.jerk_limit is not None:
            j = np.broadcast_to(np.asarray(problem.jerk_limit, float), (model.n,))
            limits["jerk"] = np.stack([-j, j], axis=1)
        for kind, term in LIMIT_TERMS.items():
            if kind not in limits:
                continue
            bound = limits[kind]
            there, equal = np.isfinite(bound).any(axis=1), bound[:, 0] == bound[:, 1]
            if kind == "effort":
                there, equal = there & ~passive, equal & ~passive
            for rows in (there & ~equal, equal):
                if rows.any():
                    names = tuple(model.joint_names[j] for j in np.flatnonzero(rows))
                    lower, upper = bound[rows].T
                    self._constraint(p, Constraint(term(joints=names), lower, upper, name=kind))

    def _passive_joints(self, p: int) -> None:
        """No torque at passive joints, where the second derivative of the spline has its Greville
        abscissae: two points fewer than control points, the ends among them.
        """
        if self.problem.passive:
            points = self._at(p, self.layouts[p].spline.greville_of_acceleration.tolist())
            term = JointTorque(joints=self.problem.passive)
            self._rows(p, Constraint(term, 0.0, 0.0, name=PASSIVE_TORQUE), points, False)

    def _continuity(self, p: int) -> None:
        """Between a phase and the next. Accelerations of passive joints follow from the rest."""
        names, order = self.model.joint_names, self.problem.continuity
        first, second = self._at(p, "end"), self._at(p + 1, "start")
        between = f"continuity {self.layouts[p].name} to {self.layouts[p + 1].name}"
        active = tuple(name for name in names if name not in self.problem.passive)
        for joints, most in ((active, order), (tuple(self.problem.passive), min(order, 1))):
            if joints:
                self._pair(Continuity(most, joints), 0.0, 0.0, first, second, between)

    def _any_constraint(self, p: int, constraint: Constraint, own: bool) -> None:
        name = name_of(constraint)
        if constraint.term.pairs:
            if not own and p > 0:
                return  # of the whole motion, once
            last = p if own else len(self.layouts) - 1
            self._pair(
                constraint.term, constraint.lower, constraint.upper,
                self._at(p, "start"), self._at(last, "end"), self._label(p, name) if own else name,
            )  # fmt: skip
        elif constraint.integral:
            self._sum(p, constraint)
        else:
            self._constraint(p, constraint)

    def _constraint(self, p: int, constraint: Constraint) -> None:
        residual = constraint.term.bind(self.model)
        lower, upper = row_bounds(constraint.lower, constraint.upper, residual)
        throughout = isinstance(constraint.at, str) and constraint.at == "throughout"
        equal = throughout and bool((lower == upper).any())
        self._rows(p, constraint, self._at(p, "knots" if equal else constraint.at), throughout)

    def _rows(self, p: int, constraint: Constraint, points: InstantSet, throughout: bool) -> None:
        residual = constraint.term.bind(self.model)
        lower, upper = row_bounds(constraint.lower, constraint.upper, residual)
        name = self._label(p, name_of(constraint))
        block = points.add(Block(name, residual))
        self.rows.append(Rows(name, points, block, lower, upper, throughout))

    def _pair(
        self,
        term: Term,
        lower: ArrayLike | None,
        upper: ArrayLike | None,
        first: InstantSet,
        second: InstantSet,
        name: str,
    ) -> None:
        residual = term.bind(self.model)
        if residual.curved:
            raise InputError(f"{name}: a term on pairs of instants must be linear in its channels")
        sides = []
        for k, points in enumerate((first, second)):
            columns = [e for e, x in enumerate(residual.entries) if split_side(x[1])[0] == k]
            block = Block(name, residual, columns=np.array(columns, np.int64))
            sides.append((points, points.add(block)))
        low, high = row_bounds(lower, upper, residual)
        self.rows.append(PairRows(name, residual, (sides[0], sides[1]), low, high))

    def _summed(
        self, p: int, term: Term, at: At, loss: Smoothed, weight: float, name: str
    ) -> tuple:
        if term.pairs:
            raise InputError(f"{name}: a term on pairs of instants serves as a constraint only")
        residual = term.bind(self.model)
        points = self._at(p, at, cost=True, still=not residual.entries)
        points.add(Block(name, residual, loss=loss, weight=weight))
        return points, len(points.blocks) - 1

    def _cost(self, p: int, cost: Cost) -> None:
        loss = Smoothed(cost.loss or cost.term.loss, cost.term.width)
        name = self._label(p, name_of(cost))
        points, k = self._summed(p, cost.term, cost.at, loss, float(cost.weight), name)
        self.costs.append((name, points, k))

    def _sum(self, p: int, constraint: Constraint) -> None:
        name = self._label(p, constraint.name or f"integral of {name_of(constraint)}")
        loss = Smoothed(constraint.term.loss, constraint.term.width)
        points, k = self._summed(p, constraint.term, constraint.at, loss, 1.0, name)
        low, high = (
            side * np.inf if x is None else float(np.asarray(x))
            for side, x in ((-1, constraint.lower), (1, constraint.upper))
        )
        scale = max((abs(x) for x in (low, high) if np.isfinite(x)), default=1.0) or 1.0
        self.sums.append(Sum(name, [(points, k)], low, high, scale))


class PairEvaluation:
    """Values and partials of pair rows, handed to the two sets that hold their halves."""

    def __init__(self, pair: PairRows) -> None:
        self._pair = pair
        residual = pair.residual
        self._partials = np.zeros((len(residual.entries), 1, WIDTH))
        channels = {}
        for channel in residual.channels:
            side, plain = split_side(channel)
            channels[channel] = pair.sides[side][0].samples[plain]
        self._samples = Samples(channels)

    def value(self) -> None:
        points, block = self._pair.sides[0]
        self._pair.residual.value(self._samples, points.view(points._values, block.rows))

    def derive(self) -> None:
        self._pair.residual.partials(self._samples, self._partials)
        for points, block in self._pair.sides:
            points.view(points._partials, block.entries)[:] = self._partials[block.columns]
