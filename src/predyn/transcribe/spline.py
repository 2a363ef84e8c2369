"""Joint motions as B-splines: a problem becomes a sparse program with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.batch import Direct
from predyn.problem import Problem
from predyn.solution import Curve
from predyn.transcribe import kernels
from predyn.transcribe.arrange import Arrangement, Rows
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.layout import PhaseLayout, lay_out, passive_mask
from predyn.transcribe.pattern import Places, alive, hessian_entries, lanes, touch
from predyn.transcribe.program import Program, refuse_wrong

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_PLACE = np.zeros((0, 0), np.int64)


class SplineProgram(Program):
    """All joints are splines; tau = 0 holds at points for those without a motor."""

    def __init__(self, problem: Problem, total: tuple[float, float] | None = None) -> None:
        """total: bounds of the sum of all durations, if the phases are pieces of one."""
        self.problem, self.model = problem, problem.model
        self.phases = _lay_out(problem)
        self._exact = problem.solver.hessian != "gauss_newton"
        free = [c.max() for c in (p.columns for p in self.phases)]
        count = 1 + max(int(max(free)), *(p.T_column for p in self.phases))
        self._take(Arrangement(problem, self.phases, total))
        self._pools = [(p, pool) for p, pool in self._pools if not pool.idle]
        self._variable_bounds(count)
        self._lay_jacobian(count)
        self._lay_hessian(count)
        self._moves = [(p, Direct(kernels.take, p.columns, p.control)) for p in self.phases]
        self._grads = [
            (grad, Direct(kernels.give, grad, p.columns, p.T_column))
            for p, grad in ((p, np.zeros_like(p.control)) for p in self.phases)
        ]
        self._check_fixed_rows()

    # -- construction -------------------------------------------------------------------------

    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        return alive(rows.points, self.phases[rows.points.phase], rows.block.rows)

    def _lay_jacobian(self, count: int) -> None:
        places = Places(count)
        tickets: list[tuple[InstantSet, slice, slice]] = []
        for points in self.sets:
            layout = self.phases[points.phase]
            row = points.lambda_row.transpose(0, 2, 1).reshape(-1, points.lambda_row.shape[1])
            row = row[: len(points.s)]  # (instants, rows)
            if not (row >= 0).any():
                continue
            found = touch(points, layout)
            of_group = row[:, points.chained.groups.row][:, :, None]
            cells = places.add(np.broadcast_to(of_group, found.columns.shape), found.columns)
            T = np.where(found.by_T, layout.T_column, -1)
            tickets.append((points, cells, places.add(row, np.broadcast_to(T, row.shape))))
        sums = []
        for number, total in enumerate(self.sums, start=len(self.g_lower) - len(self.sums)):
            columns = np.unique(np.concatenate([self._columns_of(*part) for part in total.parts]))
            sums.append((total, columns, places.add(np.full_like(columns, number), columns)))
        self.jacobian_pattern = places.finish()
        self._jacobian_sets = []
        for points, cells, T_cells in tickets:
            instants = len(points.s)
            place = lanes(points, places.place(cells).reshape(instants, -1))
            self._jacobian_sets.append(
                (points, place, lanes(points, places.place(T_cells).reshape(instants, -1)))
            )
        self._jacobian_sums = [(total, c, places.place(t)) for total, c, t in sums]

    def _columns_of(self, points: InstantSet, block: int) -> Ints:
        """Places in x that a summed block of a set depends on."""
        layout = self.phases[points.phase]
        found = touch(points, layout)
        rows, span = points.chained.groups.row, points.blocks[block].rows
        cells = found.columns[:, (rows >= span.start) & (rows < span.stop)]
        wanted = np.unique(cells[cells >= 0])
        return np.append(wanted, layout.T_column) if layout.T_column >= 0 else wanted

    def _lay_hessian(self, count: int) -> None:
        places = Places(count)
        tickets = []
        for points in self.sets:
            layout = self.phases[points.phase]
            (rows, columns), (rows_T, columns_T), bends_T = hessian_entries(points, layout)
            cells, with_T = places.add(rows, columns), places.add(rows_T, columns_T)
            both = np.array([layout.T_column if bends_T else -1])
            if len(points.chained.groups.row) or bends_T:
                ticket = (cells, with_T, places.add(both, both))
                tickets.append((points, layout, rows.shape, ticket))
        self.hessian_pattern = places.finish()
        self._hessian_sets = []
        for points, layout, shape, (cells, with_T, T) in tickets:
            place = places.place(cells).reshape(shape[0], shape[1], shape[2] * shape[3])
            place_T: Ints = _NO_PLACE
            if layout.T_column >= 0:
                place_T = places.place(with_T).reshape(layout.columns.shape)
            self._hessian_sets.append((points, place, place_T, int(places.place(T)[0])))

    def curves(self, x: Floats) -> tuple[Curve, ...]:
        curves = []
        for phase in self.phases:
            control = phase.control.copy()
            free = phase.columns >= 0
            control[free] = x[phase.columns[free]]
            T = float(x[phase.T_column]) if phase.T_column >= 0 else phase.T
            curves.append(Curve(phase.spline.degree, phase.spline.knots, control, T))
        return tuple(curves)

    # -- evaluation ---------------------------------------------------------------------------

    def move(self, x: Floats) -> None:
        x = np.ascontiguousarray(x, np.float64)
        for phase, take in self._moves:
            take.run(x)
            if phase.T_column >= 0:
                phase.T = T = x.item(phase.T_column)
                inverse = 1.0 / T
                phase.powers = (1.0, inverse, inverse * inverse, inverse * inverse * inverse)
        self._eager = self._differentiated  # if the last point was accepted, this one may be too
        self._evaluated = self._differentiated = False

    def _evaluate(self) -> None:
        if not self._evaluated:
            self._evaluated = True
            for p, pool in self._pools:
                phase = self.phases[p]
                pool.move(phase.control, phase.powers[: pool.orders], self._eager)
            for points in self.sets:
                phase = self.phases[points.phase]
                points.move(phase.T, phase.powers)
            for pair in self._pairs:
                pair.value()

    def _differentiate(self) -> None:
        if not self._differentiated:
            self._evaluate()
            self._differentiated = True
            for _, pool in self._pools:
                pool.derive()
            for pair in self._pairs:
                pair.derive()
            for points in self.sets:
                points.derive()

    def constraints(self, out: Floats) -> None:
        self._evaluate()
        for points, _, _ in self._jacobian_sets:
            points.put_values(out)
        for k, total in enumerate(self.sums, start=len(out) - len(self.sums)):
            out[k] = sum(points.total(block) for points, block in total.parts)

    def gradient(self, out: Floats) -> None:
        self._differentiate()
        self._gradient_of(self._cost_sets, -1, out)

    def _gradient_of(self, sets: Sequence[InstantSet], target: int, out: Floats) -> None:
        """Gradient of what the summed blocks of some sets add up to."""
        by_T = [0.0] * len(self.phases)
        for points in sets:
            p = points.phase
            if points.still:
                by_T[p] += points.still_slope(target)
            else:
                by_T[p] += points.gradient(target, self._grads[p][0])
        for p, (_, give) in enumerate(self._grads):
            give.run(by_T[p], out)

    def jacobian(self, out: Floats) -> None:
        self._differentiate()
        out.fill(0.0)
        for points, place, place_T in self._jacobian_sets:
            points.jacobian(place, place_T, out)
        for total, columns, places in self._jacobian_sums:
            whole = np.empty(len(self.x_lower))
            self._gradient_of([points for points, _ in total.parts], total.row, whole)
            out[places] = whole[columns]

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        self._differentiate()
        out.fill(0.0)
        for points, _, _, _ in self._hessian_sets:
            points.weigh(sigma, multipliers)
        if self._exact:
            for _, pool in self._pools:
                pool.curve()
        for points, place, place_T, T in self._hessian_sets:
            by_T = points.hessian(self._exact, place, place_T, out)
            if T >= 0:
                out[T] += by_T

    # -- names --------------------------------------------------------------------------------

    def x_name(self, i: int) -> str:
        for phase in self.phases:
            prefix = "" if len(self.phases) == 1 else f"{phase.name}: "
            if i == phase.T_column:
                return f"{prefix}duration"
            found = np.argwhere(phase.columns == i)
            if len(found):
                k, j = found[0]
                return f"{prefix}control point {k} of {self.model.joint_names[j]}"
        raise IndexError(i)


def _lay_out(problem: Problem) -> list[PhaseLayout]:
    refuse_wrong(problem)
    layouts: list[PhaseLayout] = []
    first = 0
    for k, phase in enumerate(problem.phases):
        name = phase.name or f"phase {k + 1}"
        layout = lay_out(phase, problem.transcription, passive_mask(problem), first, name)
        layouts.append(layout)
        first += int((layout.columns >= 0).sum()) + int(layout.T_column >= 0)
    return layouts
