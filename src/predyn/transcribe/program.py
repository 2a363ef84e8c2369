"""Base class of the programs of all methods: numbered and named constraints, costs by name."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.system import PhaseSystem
from predyn.errors import InputError
from predyn.model import Model
from predyn.nlp import NLP
from predyn.problem import Problem, system_of
from predyn.solution import Curve
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.layout import PhaseLayout
from predyn.transcribe.rows import Rows, row_scale

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FIXED_EXCESS = 1e-9  # relative tolerance for rounding errors of fixed rows


class Program(NLP):
    """The program of a problem. `phases` hold the curves of the current point."""

    problem: Problem
    model: Model
    phases: Sequence[PhaseLayout]
    discrete: ClassVar[bool] = False  # whether the motion is known at nodes only

    def _take(self, arrangement: Arrangement) -> None:
        """Take over the sets and rows of an arrangement."""
        self.sets, self.rows, self.costs = arrangement.sets, arrangement.rows, arrangement.costs
        self._pools, self._arrangement = arrangement.pools, arrangement
        self._cost_sets = list({id(x.points): x.points for _, x in self.costs}.values())
        self._evaluated = self._differentiated = self._eager = False
        self.f_scale = 1.0
        self._number_rows()

    def systems_of(self, problem: Problem) -> tuple[PhaseSystem, ...]:
        """What moves in each phase of a problem: this one, or one with other numbers."""
        return tuple(system_of(problem, p) for p in range(len(problem.phases)))

    @abstractmethod
    def curves(self, x: Floats) -> tuple[Curve, ...]:
        """The motion defined by decision variables; the current point is not changed."""

    def with_typical_torques(self, x: Floats) -> Floats:
        """Decision variables with torques of typical size, if torques are among them."""
        return x

    @abstractmethod
    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        """(instants, rows): whether any free variable acts on a row."""

    @abstractmethod
    def _evaluate(self) -> None:
        """Evaluate rows and their losses at the current point, if not done yet."""

    def _number_rows(self) -> None:
        """Number the constraints; rows on which no free variable acts are checked and left out."""
        self._names: list[tuple[int, str, Rows | None, Ints]] = []
        first = 0
        for rows in self.rows:
            alive = self._alive(rows) if rows.pointwise else np.ones((1, rows.size), bool)
            kept = rows.number(first, alive)
            self._names.append((first, rows.name, rows, kept))
            first += len(kept)
        self._gather_bounds()

    def _gather_bounds(self, changed: Sequence[Rows] | None = None) -> None:
        """Bounds and scales of the numbered constraints; None: of all."""
        if changed is None:
            m = sum(len(kept) for _, _, _, kept in self._names)
            self.g_lower, self.g_upper, self.g_scale = (np.empty(m) for _ in range(3))
        for first, _, rows, kept in self._names:
            assert rows is not None
            if changed is None or any(rows is x for x in changed):
                r, here = kept % rows.size, slice(first, first + len(kept))
                self.g_lower[here], self.g_upper[here] = rows.lower[r], rows.upper[r]
                self.g_scale[here] = row_scale(rows.lower, rows.upper, rows.scale)[r]

    def _variable_bounds(self, count: int) -> None:
        self.x_lower, self.x_upper = np.full(count, -np.inf), np.full(count, np.inf)
        self.x_scale = np.ones(count)
        for phase in self.phases:
            for curve in phase.curves:
                free = curve.columns >= 0
                self.x_scale[curve.columns[free]] = np.broadcast_to(curve.scale, free.shape)[free]
                if curve.bounded_by_points or curve.is_parameter:
                    for bound, value in ((self.x_lower, curve.lower), (self.x_upper, curve.upper)):
                        bound[curve.columns[free]] = np.broadcast_to(value, free.shape)[free]
        for phase in self.phases:
            if phase.T_column >= 0:
                self.x_lower[phase.T_column], self.x_upper[phase.T_column] = phase.T_bounds
                self.x_scale[phase.T_column] = phase.T

    def _check_fixed_rows(self, changed: Sequence[Rows] | None = None) -> None:
        """Raise an InputError for rows outside their bounds on which no free variable acts.

        changed: those with other numbers than at the last check; None: all.
        """
        looked_at = [x for x in (self.rows if changed is None else changed) if x.fixed.any()]
        if changed is not None and not looked_at:
            return
        x = np.minimum(np.maximum(self.x_lower, 0.0), self.x_upper)
        for phase in self.phases:
            for curve in phase.curves:
                if curve.is_parameter:
                    x[curve.columns] = curve.control
            if phase.T_column >= 0:
                x[phase.T_column] = phase.T
        self.move(x)
        self._evaluate()
        wrong = []
        for rows in looked_at:
            points, block = rows.parts[0].points, rows.parts[0].block
            value = points.values.of(block)  # (instants, rows)
            slack = FIXED_EXCESS * row_scale(rows.lower, rows.upper, rows.scale)
            outside = (value < rows.lower - slack) | (value > rows.upper + slack)
            fixed = rows.fixed & points.chosen[:, None]
            for k, r in np.argwhere(fixed & (outside | np.isnan(value))):
                unit = "" if block.residual.units[r] == "1" else f" {block.residual.units[r]}"
                bounds = f"{rows.lower[r]:.6g} .. {rows.upper[r]:.6g}{unit}"
                wrong.append(
                    f"the residual of {rows.name} {rows.rows[r]} is {value[k, r]:.6g} at "
                    f"{100 * points.s[k]:.4g} % of the phase, outside {bounds}, and the given "
                    "values leave it no freedom"
                )
        if wrong:
            more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise InputError(f"problem {self.problem.name!r}: " + "; ".join(wrong[:5]) + more)

    def _acting(self) -> set[tuple[int, int]]:
        """Phase and number of each component that acts on any row."""
        found = set()
        for points in self.sets:
            groups = points.chained.groups
            counts = points.values.sums.weight[groups.row] != 0.0
            found |= {(points.phase, int(c)) for c in groups.component[counts]}
        return found

    def _check_parameters(self) -> None:
        """Raise an InputError for parameters of the model on which nothing depends."""
        acting = self._acting() if any(x.quantities for x in self.problem.parameters) else set()
        for k, parameter in enumerate(self.problem.parameters):
            name = f"parameter:{parameter.name}"
            places = {(p, x.components.direct[name][0]) for p, x in enumerate(self.phases)
                      if name in x.components.direct}  # fmt: skip
            if parameter.quantities and not places & acting:
                raise InputError(
                    f"problem {self.problem.name!r}: parameters[{k}]: nothing depends on parameter "
                    f"{parameter.name!r} ({', '.join(parameter.quantities)}): no cost, limit or "
                    "constraint changes with it; add one, or remove the parameter"
                )

    def retarget(self, problem: Problem) -> None:
        """Exchange the numbers: another problem whose program has the same pattern.

        Raises an InputError, and changes nothing, if the pattern differs.
        """
        from predyn.transcribe.methods import transcribe  # which knows the programs of all methods

        other = transcribe(problem)
        if type(other) is not type(self):
            raise InputError(
                f"retarget: the method of {problem.name!r} makes another kind of program: "
                f"{type(other).__name__}, here {type(self).__name__}; transcribe it on its own"
            )
        for one, new in (
            (self.jacobian_pattern, other.jacobian_pattern),
            (self.hessian_pattern, other.hessian_pattern),
        ):
            same = all(np.array_equal(a, b) for a, b in zip(one, new, strict=True))
            if not same or (self.n, self.m) != (other.n, other.m):
                differs = "other dependencies"
                if (self.n, self.m) != (other.n, other.m):
                    differs = f"{other.n} variables and {other.m} constraints, "
                    differs += f"here {self.n} and {self.m}"
                raise InputError(
                    f"retarget: the program of {other.problem.name!r} has another pattern: "
                    f"{differs}; transcribe it on its own"
                )
        self.__dict__ = other.__dict__

    def parameter_columns(self) -> dict[str, int]:
        """Places in x of the parameters of the problem."""
        found = {
            phase.duration: layout.T_column
            for phase, layout in zip(self.problem.phases, self.phases, strict=True)
            if isinstance(phase.duration, str)
        }
        curves = {c.channel: int(c.columns[0, 0]) for c in self.phases[0].curves}
        for parameter in self.problem.parameters:
            channel = f"parameter:{parameter.name}"
            if channel in curves:
                found[parameter.name] = curves[channel]
        return found

    def duration_name(self, layout: PhaseLayout) -> str:
        """The name of the duration of a phase in messages."""
        for name, column in self.parameter_columns().items():
            if column == layout.T_column:
                return f"parameter {name}"
        return "duration" if len(self.phases) == 1 else f"{layout.name}: duration"

    def objective(self) -> float:
        self._evaluate()
        total = 0.0
        for points in self._cost_sets:
            total += points.objective()
        return total

    @contextmanager
    def following_kinks(self) -> Iterator[None]:
        """While a solver moves from point to point: the Hessian of smooth |r| from kinks.py."""
        kinks = [points.kinks for points in self.sets if points.has_kinks]
        for kink in kinks:
            kink.follow(True)
        try:
            yield
        finally:
            for kink in kinks:
                kink.follow(False)

    def cost_parts(self) -> dict[str, float]:
        """Parts of the objective by the name of the cost."""
        self._evaluate()
        parts: dict[str, float] = {}
        for name, part in self.costs:
            parts[name] = parts.get(name, 0.0) + part.points.total(part.block)
        return parts

    def g_name(self, i: int) -> str:
        """The bounded quantity and its instant in the phase."""
        return self.g_place(i)[0]

    def g_place(self, i: int) -> tuple[str, tuple[int, float] | None]:
        """The name of a constraint, and its instant."""
        name, where = self.g_quantity(i), self.g_instant(i)
        return (name if where is None else f"{name} at {100 * where[1]:.4g} %"), where

    def g_quantity(self, i: int) -> str:
        """The bounded quantity: the constraint and its row."""
        name, rows, k = self._row(i)
        return name if rows is None else rows.quantity(k)

    def g_quantities(self, chosen: NDArray[np.bool_]) -> Iterator[str]:
        """The names of the chosen constraints (m,), each once for all of its instants."""
        for first, name, rows, kept in self._names:
            some = kept[chosen[first : first + len(kept)]]
            if rows is None or not rows.rows:
                yield from [name] * bool(len(some))
            else:
                yield from (rows.quantity(k) for k in sorted({*(some % rows.size).tolist()}))

    def g_instant(self, i: int) -> tuple[int, float] | None:
        """Phase and normalised time of a constraint, None if it belongs to no single instant."""
        _, rows, k = self._row(i)
        return None if rows is None else rows.instant(k)

    def g_blocks(self) -> list[tuple[str, slice]]:
        """Names and ranges of the blocks of constraints."""
        return [(name, slice(first, first + len(kept))) for first, name, _, kept in self._names]

    def _row(self, i: int) -> tuple[str, Rows | None, int]:
        """Name and Rows of a constraint, and its index among all instants and rows of these."""
        if not 0 <= i < self.m:
            raise IndexError(i)
        # blocks without constraints of their own begin where the next one does
        first, name, rows, kept = self._names[bisect_right(self._names, i, key=itemgetter(0)) - 1]
        return name, rows, int(kept[i - first])


def require_problem(problem: Any) -> None:
    """Raise an InputError for anything but a Problem."""
    if not isinstance(problem, Problem):
        raise InputError(f"problem: expected a Problem, got {type(problem).__name__}")


def require_valid(problem: Problem) -> None:
    """Raise an InputError that lists all errors of a problem, if there are any."""
    require_problem(problem)
    wrong = problem.validate()
    if wrong:
        raise InputError(f"problem {problem.name!r}: " + "; ".join(wrong))
