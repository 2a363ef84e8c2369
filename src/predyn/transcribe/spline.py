"""Transcription with B-splines for all joints: a sparse program with exact derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.system import PhaseSystem
from predyn.errors import InputError
from predyn.kernels.batch import Direct
from predyn.problem import Problem
from predyn.problem.offers import name_in
from predyn.problem.quantities import at_guesses
from predyn.solution import Curve
from predyn.transcribe import kernels
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.exchange import Exchange, Unlike
from predyn.transcribe.instants import InstantSet
from predyn.transcribe.layout import lay_out_phases
from predyn.transcribe.lifting import Lift, find_lifts
from predyn.transcribe.pattern import Places, alive, hessian_entries, lanes, touch
from predyn.transcribe.program import Program, require_problem, require_valid
from predyn.transcribe.retarget import (
    new_numbers,
    write_blocks,
    write_layouts,
    write_models,
    write_rows,
)
from predyn.transcribe.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_NO_PLACE = np.zeros(0, np.int64)


class SplineProgram(Program):
    """Program with splines for all joints; tau = 0 is imposed at points for passive joints."""

    def __init__(self, problem: Problem, total: tuple[float, float] | None = None) -> None:
        """total: bounds on the sum of all durations, if the phases are pieces of a single one."""
        require_valid(problem)
        self._build(problem, total)

    def _build(self, problem: Problem, total: tuple[float, float] | None = None) -> None:
        problem = at_guesses(problem)
        self.problem, self.model = problem, problem.model
        self.lifts: list[Lift] = find_lifts(problem)
        lifted = [parameter for lift in self.lifts for parameter in lift.parameters]
        self.phases = lay_out_phases(problem, (*problem.parameters, *lifted))
        self._exact = problem.solver.hessian != "gauss_newton"
        count = 1 + max(max(int(p.places.max()), p.T_column) for p in self.phases)
        self._take(self.arrange(total))
        self._check_parameters()
        self._pools = [(p, pool) for p, pool in self._pools if not pool.idle]
        self._variable_bounds(count)
        self._lay_jacobian(count)
        self._lay_hessian(count)
        self._moves = [(p, Direct(kernels.take, p.places, p.numbers)) for p in self.phases]
        self._grads = [
            (grad, Direct(kernels.give, grad, p.places, p.T_column))
            for p, grad in ((p, np.zeros_like(p.numbers)) for p in self.phases)
        ]
        self._check_fixed_rows()

    def retarget(self, problem: Problem) -> None:
        """Exchange the numbers: another problem whose program has the same pattern.

        Fast if only numbers differ and there are no signals or parameters; otherwise the program is
        built anew. Raises an InputError, and changes nothing, if the pattern differs.
        """
        before, changed = self.problem, None
        try:
            changed = self._exchange(problem)
        except Unlike:
            require_valid(problem)
            try:
                self._rewrite(problem)
            except Unlike:
                super().retarget(problem)
                return
        self.problem, self.model = problem, problem.model
        self._evaluated = self._differentiated = False  # with the numbers before
        self._gather_bounds(changed)
        try:
            self._check_fixed_rows(changed)
        except InputError:
            self.retarget(before)
            raise

    def _exchange(self, problem: Problem) -> list[Rows]:
        """Write what differs, if only single entries or the inertia of the model do.

        Returns the rows that have other numbers.
        """
        require_problem(problem)
        exchange = Exchange(self._arrangement, problem)
        write_models(self._pools, self._arrangement, exchange.after)
        exchange.write()
        self._arrangement = exchange.after
        return exchange.rows

    def _rewrite(self, problem: Problem) -> None:
        """Write all numbers."""
        layouts, arrangement = new_numbers(self.problem, self.phases, self.sets, problem)
        write_models(self._pools, self._arrangement, arrangement)
        write_layouts(self.phases, layouts)
        write_rows(self.rows, arrangement.rows)
        write_blocks(self.sets, arrangement.sets)
        self._arrangement.take_over(arrangement)
        self._variable_bounds(self.n)

    # -- construction -------------------------------------------------------------------------

    def arrange(self, total: tuple[float, float] | None) -> Arrangement:
        return Arrangement(self.problem, self.phases, self.lifts, total)

    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        points, block = rows.parts[0].points, rows.parts[0].block
        return alive(points, self.phases[points.phase], block.rows)

    def _lay_jacobian(self, count: int) -> None:
        places = Places(count)
        tickets: list[tuple[InstantSet, slice, slice]] = []
        for points in self.sets:
            layout = self.phases[points.phase]
            row = points.row_of.transpose(0, 2, 1).reshape(-1, points.row_of.shape[1])
            row = row[: len(points.s)]  # (instants, rows)
            if not (row >= 0).any():
                continue
            found = touch(points, layout)
            of_group = row[:, points.chained.groups.row][:, :, None]
            cells = places.add(np.broadcast_to(of_group, found.columns.shape), found.columns)
            T = np.where(found.by_T, layout.T_column, -1)
            tickets.append((points, cells, places.add(row, np.broadcast_to(T, row.shape))))
        self.jacobian_pattern = places.finish()
        self._jacobian_sets = []
        for points, cells, T_cells in tickets:
            instants = len(points.s)
            place = lanes(points, places.place(cells).reshape(instants, -1))
            self._jacobian_sets.append(
                (points, place, lanes(points, places.place(T_cells).reshape(instants, -1)))
            )

    def _lay_hessian(self, count: int) -> None:
        places = Places(count)
        tickets = []
        for points in self.sets:
            layout = self.phases[points.phase]
            (rows, columns), with_T, T = hessian_entries(points, layout)
            ticket = (places.add(rows, columns), places.add(*with_T), places.add(T, T))
            if len(points.chained.groups.row) or T[0] >= 0:
                tickets.append((points, layout, rows.shape, ticket))
        self.hessian_pattern = places.finish()
        self._hessian_sets = []
        for points, layout, shape, (cells, mixed, TT) in tickets:
            place = places.place(cells).reshape(shape[0], shape[1], shape[2] * shape[3])
            place_T: Ints = places.place(mixed) if layout.T_column >= 0 else _NO_PLACE
            self._hessian_sets.append((points, place, place_T, int(places.place(TT)[0])))

    def systems_of(self, problem: Problem) -> tuple[PhaseSystem, ...]:
        if problem is self._arrangement.problem:
            return tuple(self._arrangement.systems)
        return super().systems_of(problem)

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
        self._eager = (
            self._differentiated
        )  # if the last point was accepted, this one probably is too
        self._evaluated = self._differentiated = False

    def _evaluate(self) -> None:
        if not self._evaluated:
            self._evaluated = True
            for p, pool in self._pools:
                phase = self.phases[p]
                pool.move(phase.numbers, phase.powers[: pool.orders], self._eager)
            for points in self.sets:
                phase = self.phases[points.phase]
                points.move(phase.T, phase.powers)

    def _differentiate(self) -> None:
        if not self._differentiated:
            self._evaluate()
            self._differentiated = True
            for _, pool in self._pools:
                pool.derive()
            for points in self.sets:
                points.derive()

    def constraints(self, out: Floats) -> None:
        self._evaluate()
        out.fill(0.0)
        for points, _, _ in self._jacobian_sets:
            points.put_rows(out)

    def gradient(self, out: Floats) -> None:
        self._differentiate()
        out.fill(0.0)
        by_T = [0.0] * len(self.phases)
        for points in self._cost_sets:
            p = points.phase
            if points.still:
                by_T[p] += points.still_slope()
            else:
                by_T[p] += points.gradient(self._grads[p][0])
        for p, (_, give) in enumerate(self._grads):
            give.run(by_T[p], out)

    def jacobian(self, out: Floats) -> None:
        self._differentiate()
        out.fill(0.0)
        for points, place, place_T in self._jacobian_sets:
            points.jacobian(place, place_T, out)

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        self._differentiate()
        out.fill(0.0)
        for points, _, _, _ in self._hessian_sets:
            points.weigh(sigma, multipliers)
        if self._exact:
            for _, pool in self._pools:
                pool.curve()
        for points, place, place_T, TT in self._hessian_sets:
            by_T = points.hessian(self._exact, place, place_T, TT, out)
            if TT >= 0:
                out[TT] += by_T

    # -- names --------------------------------------------------------------------------------

    def x_name(self, i: int) -> str:
        for p, phase in enumerate(self.phases):
            prefix = name_in(self.problem, p, "")
            if i == phase.T_column:
                return self.duration_name(phase)
            found = np.argwhere(phase.columns == i)
            if len(found):
                k, j = found[0]
                return f"{prefix}control point {k} of {self.model.joint_names[j]}"
            for curve in phase.curves:
                found = np.argwhere(curve.columns == i)
                if len(found):
                    kind, name = curve.channel.split(":", 1)
                    k, j = found[0]
                    if kind == "parameter":
                        return f"parameter {name}"
                    return f"{prefix}control point {k} of {name} {curve.components[j]}"
        raise IndexError(i)
