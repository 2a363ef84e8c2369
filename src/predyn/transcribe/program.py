"""What the programs of all methods share: numbered and named constraints, costs by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.nlp import NLP
from predyn.problem import Problem
from predyn.solution import Curve
from predyn.transcribe.arrange import Arrangement, PairEvaluation, PairRows, Rows
from predyn.transcribe.layout import PhaseLayout
from predyn.transcribe.pattern import lanes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SMALL_BOUND = 1e-3  # of a row's typical size
FIXED_EXCESS = 1e-9  # relative; what rounding may put a fixed row outside its bounds


class Program(NLP):
    """The program of a problem. `phases` hold the curves of the point it was moved to last."""

    problem: Problem
    model: Model
    phases: Sequence[PhaseLayout]

    def _take(self, arrangement: Arrangement) -> None:
        """The sets and rows of a problem."""
        self.sets, self.costs, self.sums = arrangement.sets, arrangement.costs, arrangement.sums
        self._pools = arrangement.pools
        self.rows = arrangement.rows
        self._pairs = [PairEvaluation(x) for x in self.rows if isinstance(x, PairRows)]
        self._cost_sets = list({id(s): s for _, s, _ in self.costs}.values())
        self._evaluated = self._differentiated = self._eager = False
        self.f_scale = 1.0
        self._number_rows()

    @abstractmethod
    def curves(self, x: Floats) -> tuple[Curve, ...]:
        """The motion that decision variables stand for; the program stays where it is."""

    @abstractmethod
    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        """(instants, rows): whether anything that is free acts on a row."""

    @abstractmethod
    def _evaluate(self) -> None:
        """Rows and their losses at the present point, if not done."""

    def _number_rows(self) -> None:
        """Number the constraints; a row on which nothing free acts is checked and left out."""
        lower, upper, scale = [], [], []
        self._names: list[tuple[int, str, Rows | PairRows | None, Ints]] = []
        first = 0
        for rows in self.rows:
            if isinstance(rows, PairRows):
                index = first + np.arange(len(rows.lower))
                for k, (points, block) in enumerate(rows.sides):
                    points.lambda_row[0, block.rows, 0] = index
                    if k == 0:
                        points.value_row = _own(points.value_row, points.lambda_row)
                        points.value_row[0, block.rows, 0] = index
                    else:
                        points.value_row = _own(points.value_row, points.lambda_row)
                        points.value_row[0, block.rows, 0] = -1
                keep = index[None] - first
                size = rows.residual.scale
            else:
                on = self._alive(rows)
                index = np.where(on, first + np.cumsum(on).reshape(on.shape) - 1, -1)
                rows.points.lambda_row[:, rows.block.rows] = lanes(rows.points, index)
                if rows.points.value_row is not rows.points.lambda_row:
                    rows.points.value_row[:, rows.block.rows] = lanes(rows.points, index)
                keep = np.flatnonzero(on)[None]
                size = rows.block.residual.scale
            m = len(rows.lower)
            r = keep.ravel() % m
            lower.append(rows.lower[r])
            upper.append(rows.upper[r])
            scale.append(row_scale(rows.lower, rows.upper, size)[r])
            self._names.append((first, rows.name, rows, keep.ravel()))
            first += keep.size
        for total in self.sums:
            lower.append(np.array([total.lower]))
            upper.append(np.array([total.upper]))
            scale.append(np.array([total.scale]))
            total.row = first
            for points, k in total.parts:
                points.aim(k, first)
            self._names.append((first, total.name, None, np.zeros(1, np.int64)))
            first += 1
        self.g_lower, self.g_upper, self.g_scale = (
            np.concatenate([*x, np.zeros(0)]) for x in (lower, upper, scale)
        )

    def _variable_bounds(self, count: int) -> None:
        self.x_lower, self.x_upper = np.full(count, -np.inf), np.full(count, np.inf)
        self.x_scale = np.ones(count)
        for phase in self.phases:
            if phase.T_column >= 0:
                self.x_lower[phase.T_column], self.x_upper[phase.T_column] = phase.T_bounds
                self.x_scale[phase.T_column] = phase.T

    def _check_fixed_rows(self) -> None:
        """Raise for rows that are outside their bounds and on which nothing free acts."""
        x = np.zeros(self.n)
        for phase in self.phases:
            if phase.T_column >= 0:
                x[phase.T_column] = phase.T
        self.move(x)
        self._evaluate()
        wrong = []
        for rows in self.rows:
            if isinstance(rows, PairRows):
                continue
            points, residual = rows.points, rows.block.residual
            value = points.values_of(rows.block)  # (instants, rows)
            scale = row_scale(rows.lower, rows.upper, residual.scale)
            slack = FIXED_EXCESS * scale
            fixed = (points.rows_of(rows.block) < 0) & points.chosen[:, None]
            outside = (value < rows.lower - slack) | (value > rows.upper + slack)
            for k, r in np.argwhere(fixed & (outside | np.isnan(value))):
                bounds = f"{rows.lower[r]:.6g} .. {rows.upper[r]:.6g} {residual.units[r]}"
                wrong.append(
                    f"{rows.name} {residual.rows[r]} is {value[k, r]:.6g} at "
                    f"{100 * points.s[k]:.4g} % of the phase, outside {bounds}, and the boundary "
                    "values leave it no freedom"
                )
        if wrong:
            more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise InputError(f"problem {self.problem.name!r}: " + "; ".join(wrong[:5]) + more)

    def objective(self) -> float:
        self._evaluate()
        total = 0.0
        for points in self._cost_sets:
            total += points.objective()
        return total

    def cost_parts(self) -> dict[str, float]:
        """The objective by name of cost."""
        self._evaluate()
        parts: dict[str, float] = {}
        for name, points, k in self.costs:
            parts[name] = parts.get(name, 0.0) + points.total(k)
        return parts

    def g_name(self, i: int) -> str:
        """The bounded quantity, and where in its phase."""
        where = self.g_instant(i)
        return self.g_quantity(i) + ("" if where is None else f" at {100 * where[1]:.4g} %")

    def g_quantity(self, i: int) -> str:
        """The bounded quantity: the constraint and its row."""
        name, rows, k = self._row(i)
        if rows is None:
            return name
        residual = rows.residual if isinstance(rows, PairRows) else rows.block.residual
        return f"{name} {residual.rows[k % len(residual.rows)]}"

    def g_instant(self, i: int) -> tuple[int, float] | None:
        """Phase and normalised time of a constraint, None if it belongs to no single instant."""
        _, rows, k = self._row(i)
        if not isinstance(rows, Rows):
            return None
        return rows.points.phase, float(rows.points.s[k // len(rows.lower)])

    def g_blocks(self) -> list[tuple[str, slice]]:
        """Named stretches of the constraints."""
        return [(name, slice(first, first + len(kept))) for first, name, _, kept in self._names]

    def _row(self, i: int) -> tuple[str, Rows | PairRows | None, int]:
        """Name and rows of a constraint, and its number among all instants and rows of them."""
        for first, name, rows, kept in self._names:
            if first <= i < first + len(kept):
                return name, rows, int(kept[i - first])
        raise IndexError(i)


def _own(values: Ints, other: Ints) -> Ints:
    """A copy, if the two are one array."""
    return values.copy() if values is other else values


def row_scale(lower: Floats, upper: Floats, size: Floats) -> Floats:
    """The larger finite bound of each row; its typical size where that is larger by far.

    A bound that is almost zero says nothing about the size of what it bounds.
    """
    bound = np.maximum(
        np.where(np.isfinite(lower), abs(lower), 0.0), np.where(np.isfinite(upper), abs(upper), 0.0)
    )
    return np.where(bound > SMALL_BOUND * size, bound, size)


def refuse_wrong(problem: Problem) -> None:
    """An InputError lists all that is wrong with a problem."""
    wrong = problem.validate()
    if wrong:
        raise InputError(f"problem {problem.name!r}: " + "; ".join(wrong))
