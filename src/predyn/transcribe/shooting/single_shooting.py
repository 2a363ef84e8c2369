"""Single shooting: the passive joints are integrated from the start through all segments.

This is the program of multiple shooting with the states y between segments eliminated: they follow
from integration, so that the gaps d(x, y) between segments are zero, and the derivatives are

    Y = dy/dx = -(dd/dy)^-1 dd/dx      gradient  f_x + Y^T f_y      Hessian  [1 Y^T] H [1; Y]

where the multipliers of the gaps in H make the Lagrangian stationary in y. Every value depends on
all earlier control points: derivatives are dense, and errors grow along the whole motion. Use it
for short motions and for comparison.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.lanes import WIDTH
from predyn.problem import Problem
from predyn.solution import Curve
from predyn.transcribe.program import Floats, Program
from predyn.transcribe.rows import Rows
from predyn.transcribe.shooting.hybrid import HybridProgram, by_segment
from predyn.transcribe.shooting.layout import ShootingLayout
from predyn.transcribe.shooting.stage_pool import StagePool


class _Rolled(HybridProgram):
    """Multiple shooting in which each segment begins at the end of the previous one."""

    def _shoot(self, phase: ShootingLayout, pool: StagePool) -> None:
        count = phase.spline.segments
        for k in range(count):
            group, lane = divmod(k, WIDTH)
            pool.shoot(phase.T, group, group + 1)
            phase.nodes[k + 1] = state = pool.ends[group, :, lane]
            if k + 1 < count:
                group, lane = divmod(k + 1, WIDTH)
                pool.nodes[group, :, lane] = state
        pool.nodes[-1] = phase.nodes[-1][:, None]
        pool.shoot(phase.T, 0, 0)  # the row of the end


class SingleShooting(Program):
    """A program in control points and durations only (and initial states of later phases)."""

    def __init__(self, problem: Problem) -> None:
        self._full = full = _Rolled(problem)
        self.problem, self.model = full.problem, full.model
        found = np.zeros(full.n, bool)
        for phase in full.phases:
            found[phase.node_columns[1:].ravel()] = True
        self._kept = np.flatnonzero(~found)
        self.phases = [self._without_nodes(phase, found) for phase in full.phases]
        self.sets, self.rows, self.costs = full.sets, full.rows, full.costs
        self._names = [x for x in full._names if x[0] < full.first_gap]
        m = full.first_gap
        self.g_lower, self.g_upper, self.g_scale = (
            x[:m] for x in (full.g_lower, full.g_upper, full.g_scale)
        )
        self.x_lower, self.x_upper, self.x_scale = (
            x[self._kept] for x in (full.x_lower, full.x_upper, full.x_scale)
        )
        self.f_scale = 1.0
        self._lay_patterns()

    def _without_nodes(self, phase: ShootingLayout, found: NDArray[np.bool_]) -> ShootingLayout:
        """The layout with indices of the remaining variables; it shares the full arrays."""
        number = np.append(np.where(found, -1, np.cumsum(~found) - 1), -1)  # of -1: -1
        return replace(
            phase,
            columns=number[phase.columns],
            curves=[replace(x, columns=number[x.columns]) for x in phase.curves],
            node_columns=number[phase.node_columns],
            T_column=int(number[phase.T_column]),
        )

    def _lay_patterns(self) -> None:
        full, n = self._full, len(self._kept)
        acts = np.zeros((full.n, n), bool)
        acts[self._kept, np.arange(n)] = True
        for phase, places in zip(full.phases, full.segment_columns, strict=True):
            before = np.zeros(n, bool)
            for k, here in enumerate(by_segment(places[:-1], phase.spline.segments)):
                before = before | acts[here[here >= 0]].any(axis=0)
                acts[phase.node_columns[k + 1]] = before
        rows, columns = full.jacobian_pattern
        self._own = np.flatnonzero(rows < full.first_gap)
        touched = np.zeros((len(self.g_lower), n), bool)
        np.logical_or.at(touched, rows[self._own], acts[columns[self._own]])
        self.jacobian_pattern = _pattern(*np.nonzero(touched))
        self.hessian_pattern = _pattern(*np.tril_indices(n))

    # -- evaluation ---------------------------------------------------------------------------

    def move(self, x: Floats) -> None:
        whole = self._full.x.copy()
        whole[self._kept] = x
        self._full.move(whole)
        self._slopes: Floats | None = None

    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        return self._full._alive(rows)

    def _evaluate(self) -> None:
        self._full._evaluate()

    def _states(self) -> Floats:
        """[1; Y]: derivatives of all variables of multiple shooting in the remaining ones."""
        if self._slopes is None:
            full, n = self._full, len(self._kept)
            full._differentiate()
            Y = np.zeros((full.n + 1, n))  # the last row is for fixed values
            Y[self._kept, np.arange(n)] = 1.0
            for phase, slopes, columns in self._segments():
                for k, slope in enumerate(slopes):
                    Y[phase.node_columns[k + 1]] = slope @ Y[columns[k]]
            self._slopes = Y[:-1]
        return self._slopes

    def _segments(self) -> list[tuple[ShootingLayout, Floats, NDArray[np.int64]]]:
        """For each phase: slopes (segments, 2 passive, P) and the indices in x of the P numbers."""
        full, result = self._full, []
        for phase, pool, columns in zip(
            full.phases, full.stage_pools(), full.segment_columns, strict=True
        ):
            count, size = phase.spline.segments, pool.size
            slopes = by_segment(pool.end_slopes, count).reshape(count, -1, size)
            result.append((phase, slopes, by_segment(columns[:-1], count)))
        return result

    def objective(self) -> float:
        return self._full.objective()

    def cost_parts(self) -> dict[str, float]:
        return self._full.cost_parts()

    def constraints(self, out: Floats) -> None:
        whole = np.empty(self._full.m)
        self._full.constraints(whole)
        out[:] = whole[: len(out)]

    def gradient(self, out: Floats) -> None:
        whole = np.empty(self._full.n)
        self._full.gradient(whole)
        out[:] = whole @ self._states()

    def _jacobian(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
        """Rows, columns and values of the remaining constraints, in all variables."""
        rows, columns = self._full.jacobian_pattern
        values = np.empty(len(rows))
        self._full.jacobian(values)
        return rows[self._own], columns[self._own], values[self._own]

    def jacobian(self, out: Floats) -> None:
        rows, columns, values = self._jacobian()
        dense = np.zeros((len(self.g_lower), len(self._kept)))
        np.add.at(dense, rows, values[:, None] * self._states()[columns])
        out[:] = dense[self.jacobian_pattern]

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        full, Y = self._full, self._states()
        whole = np.concatenate([multipliers, np.zeros(full.m - full.first_gap)])
        slope = np.empty(full.n)
        full.gradient(slope)
        slope *= sigma
        rows, columns, values = self._jacobian()
        np.add.at(slope, columns, values * multipliers[rows])
        for (phase, slopes, _), gap in zip(self._segments(), full.gaps, strict=True):
            states = gap.shape[1]
            push = np.zeros(states)
            for k in range(len(gap) - 1, -1, -1):
                push = slope[phase.node_columns[k + 1]] + push
                whole[gap[k]] = push
                push = push @ slopes[k][:, :states]
        values = np.empty(len(full.hessian_pattern[0]))
        full.hessian(sigma, whole, values)
        rows, columns = full.hessian_pattern
        H = np.zeros((full.n, full.n))
        H[rows, columns] = H[columns, rows] = values
        out[:] = (Y.T @ H @ Y)[self.hessian_pattern]

    def curves(self, x: Floats) -> tuple[Curve, ...]:
        whole = self._full.x.copy()
        whole[self._kept] = x
        return self._full.curves(whole)

    def x_name(self, i: int) -> str:
        return self._full.x_name(int(self._kept[i]))


def _pattern(rows: NDArray, columns: NDArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return rows.astype(np.int32), columns.astype(np.int32)
