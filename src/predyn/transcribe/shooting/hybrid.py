"""Active joints as B-splines, passive joints integrated: multiple shooting.

The states of the passive joints where segments meet are unknowns, and constraints join the end of
each segment's integration to the start of the next. All segments are integrated at once, in lanes.
Costs are integrated by RK4 too: they are evaluated at its stages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.problem import Problem
from predyn.problem.offers import name_in
from predyn.problem.quantities import at_guesses
from predyn.solution import Curve
from predyn.transcribe.pattern import Places, paced
from predyn.transcribe.program import Floats, Ints, Program, require_valid
from predyn.transcribe.rows import Rows
from predyn.transcribe.shooting import segments
from predyn.transcribe.shooting.hermite import hermite_curve
from predyn.transcribe.shooting.layout import ShootingLayout, lay_out_shooting
from predyn.transcribe.shooting.stage_arrange import StageArrangement
from predyn.transcribe.shooting.stage_pool import StagePool
from predyn.transcribe.shooting.stage_sets import StageSet

LARGEST = 1e12  # rad, m and their rates; larger values lead to overflow
GAP = "passive motion"  # name of the constraints that join segments


class HybridProgram(Program):
    """The program of a problem by multiple shooting."""

    phases: Sequence[ShootingLayout]

    def __init__(self, problem: Problem) -> None:
        require_valid(problem)
        problem = at_guesses(problem)
        self.problem, self.model = problem, problem.model
        self.phases = lay_out_shooting(problem)
        self._exact = problem.solver.hessian != "gauss_newton"
        self.segment_columns = [phase.segment_columns for phase in self.phases]
        self._take(StageArrangement(problem, self.phases))
        self._check_parameters()
        self._number_gaps()
        count = 1 + max(
            max(int(p.places.max()), int(p.node_columns.max(initial=-1)), p.T_column)
            for p in self.phases
        )
        self._variable_bounds(count)
        for phase in self.phases:
            free = phase.node_columns >= 0
            scale = np.broadcast_to(_state_scale(phase), free.shape)
            self.x_scale[phase.node_columns[free]] = scale[free]
        self._lay_jacobian(count)
        self._lay_hessian(count)
        self._sums = [aligned(*x.shape) for x in self.segment_columns]
        self._check_fixed_rows()

    # -- construction -------------------------------------------------------------------------

    def stage_pools(self) -> list[StagePool]:
        """The stage pool of each phase."""
        return [pool for _, pool in self._pools if isinstance(pool, StagePool)]

    def _acting(self) -> set[tuple[int, int]]:
        pools = enumerate(self.stage_pools())
        return super()._acting() | {(p, int(c)) for p, pool in pools for c in pool.pulls.joint}

    def _places(self, points: StageSet) -> Ints:
        """(chunks, rows, P, WIDTH): indices of the variables that act on a row, -1 for none."""
        columns = self.segment_columns[points.phase][points.groups_of]
        return np.where(points.touched(), columns[:, None], -1)

    def _alive(self, rows: Rows) -> NDArray[np.bool_]:
        points, block = rows.parts[0].points, rows.parts[0].block
        layout = self.phases[points.phase]
        assert isinstance(points, StageSet)
        places = self._places(points)
        some: NDArray[np.bool_] = np.any((places >= 0) & (places != layout.T_column), axis=2)
        on = some.transpose(0, 2, 1).reshape(len(points.s), -1)
        if layout.T_column >= 0:
            on |= points.chained.timed | paced(points, layout)
        return on[:, block.rows] & points.chosen[:, None]

    def _number_gaps(self) -> None:
        """Number the constraints that join segments, after all others."""
        self.first_gap = first = len(self.g_lower)
        self.gaps: list[Ints] = []  # (segments, 2 passive) of each phase
        for p, phase in enumerate(self.phases):
            shape = (phase.spline.segments, 2 * len(phase.passive))
            self.gaps.append(first + np.arange(np.prod(shape)).reshape(shape))
            name = name_in(self.problem, p, GAP)
            size = int(np.prod(shape))
            if size:
                self._names.append((first, name, None, np.arange(size)))
            first += size
        self._gap_lanes = [
            _in_groups(gap, phase.rows.groups)  # (groups, 2 passive, WIDTH)
            for gap, phase in zip(self.gaps, self.phases, strict=True)
        ]
        more = first - self.first_gap
        self.g_lower = np.concatenate([self.g_lower, np.zeros(more)])
        self.g_upper = np.concatenate([self.g_upper, np.zeros(more)])
        scales = [
            np.broadcast_to(_state_scale(p), x.shape).ravel()
            for p, x in zip(self.phases, self.gaps, strict=True)
        ]
        self.g_scale = np.concatenate([self.g_scale, *scales])

    def _lay_jacobian(self, count: int) -> None:
        places = Places(count)
        tickets, gaps = [], []
        for points in self.sets:
            assert isinstance(points, StageSet)
            if (points.row_of >= 0).any():
                columns = self._places(points)
                row = np.broadcast_to(points.row_of[:, :, None], columns.shape)
                tickets.append((points, columns.shape, places.add(row, columns)))
        for k, phase in enumerate(self.phases):
            gap, rows, columns = self.gaps[k], self._gap_lanes[k], self.segment_columns[k]
            shape = (*rows.shape[:2], columns.shape[1], WIDTH)
            here = np.broadcast_to(columns[:-1, None], shape)
            own = places.add(np.broadcast_to(rows[:, :, None], shape), here)
            gaps.append((own, places.add(gap, phase.node_columns[1:]), shape))
        self.jacobian_pattern = places.finish()
        self._jacobian_sets = [
            (points, places.place(ticket).reshape(shape[0], -1, WIDTH))
            for points, shape, ticket in tickets
        ]
        self._jacobian_gaps = [
            (places.place(own).reshape(shape[0], -1, WIDTH), _drop_negative(places.place(next_)))
            for own, next_, shape in gaps
        ]

    def _lay_hessian(self, count: int) -> None:
        places = Places(count)
        tickets = []
        for p, columns in enumerate(self.segment_columns):
            touched = np.zeros(columns.shape[:2], bool)  # (groups + 1, P)
            for points in self.sets:
                if isinstance(points, StageSet) and points.phase == p and not points.still:
                    chosen = points.chosen.reshape(points.chunks, 1, WIDTH)
                    acts: NDArray[np.bool_] = points.touched() & chosen[:, :, None]
                    np.logical_or.at(touched, points.groups_of, np.any(acts, axis=(1, 3)))
            if len(self.phases[p].passive) and self._exact:
                touched[:-1] = True
            if self.phases[p].T_column >= 0:
                touched[:, -1] = True
            w, y = np.tril_indices(columns.shape[1])
            left, right = columns[:, w], columns[:, y]
            nonzero = (touched[:, w] & touched[:, y])[..., None] & (left >= 0) & (right >= 0)
            rows = np.where(nonzero, np.maximum(left, right), -1)
            ticket = places.add(rows, np.where(nonzero, np.minimum(left, right), -1))
            twice = (left == right) & (w != y)[:, None]
            tickets.append((rows.shape, ticket, twice if self.phases[p].curves else None))
        self.hessian_pattern = places.finish()
        self._hessian_places, self._bends = [], []
        self._hessian_twins: list[Ints | None] = []  # both triangles count: one variable, two w
        for shape, ticket, both in tickets:
            place = places.place(ticket).reshape(shape)
            self._hessian_places.append(place)
            self._hessian_twins.append(None if both is None else np.where(both, place, -1))
            self._bends.append(aligned(*shape))

    def curves(self, x: Floats) -> tuple[Curve, ...]:
        before = self.x
        self.move(x)
        self._evaluate()
        curves = []
        for phase, pool in zip(self.phases, self.stage_pools(), strict=True):
            rows = phase.rows
            s, q, v, a = (
                _begins(values, rows.groups, phase.spline.segments)
                for values in (rows.s[:, None], *(x[:, : self.model.n] for x in pool.z[:3]))
            )
            _stop_at_overflow(q, v, a)
            curves.append(hermite_curve(s[:, 0], q, v, a, phase.T))
        self.move(before)
        return tuple(curves)

    # -- evaluation ---------------------------------------------------------------------------

    def move(self, x: Floats) -> None:
        self.x = x = np.array(x, np.float64)
        for phase, pool in zip(self.phases, self.stage_pools(), strict=True):
            free = phase.columns >= 0
            phase.control[free] = x[phase.columns[free]]
            for curve in phase.curves:
                curve.control[:] = x[curve.columns]
            if phase.T_column >= 0:
                phase.T = T = float(x[phase.T_column])
                phase.powers = (1.0, 1 / T, 1 / T**2, 1 / T**3)
            free = phase.node_columns >= 0
            phase.nodes[free] = x[phase.node_columns[free]]
            pool.nodes[:] = phase.lanes()
        self._evaluated = self._differentiated = False

    def _shoot(self, phase: ShootingLayout, pool: StagePool) -> None:
        pool.shoot(phase.T)

    def _evaluate(self) -> None:
        if self._evaluated:
            return
        self._evaluated = True
        for phase, pool in zip(self.phases, self.stage_pools(), strict=True):
            pool.follow(phase.numbers, phase.powers[: pool.orders])
            self._shoot(phase, pool)
            pool.evaluate_channels()
        for points in self.sets:
            phase = self.phases[points.phase]
            points.move(phase.T, phase.powers)

    def _differentiate(self) -> None:
        self._evaluate()
        if self._differentiated:
            return
        self._differentiated = True
        for phase, pool in zip(self.phases, self.stage_pools(), strict=True):
            pool.differentiate(phase.powers[: pool.orders])
        for points in self.sets:
            points.derive()

    def constraints(self, out: Floats) -> None:
        self._evaluate()
        out[:] = 0.0
        for points, _ in self._jacobian_sets:
            points.put_rows(out)
        for phase, gap, pool in zip(self.phases, self.gaps, self.stage_pools(), strict=True):
            out[gap] = by_segment(pool.ends, len(gap)) - phase.nodes[1:]

    def gradient(self, out: Floats) -> None:
        self._differentiate()
        out[:] = 0.0
        for points in self._cost_sets:
            assert isinstance(points, StageSet)
            T = self.phases[points.phase].T_column
            if points.still:
                by_T = points.still_slope()
            else:
                local = self._sums[points.phase]
                local[:] = 0.0
                by_T = points.local_gradient(local)
                segments.put(local, self.segment_columns[points.phase], out)
            if T >= 0:
                out[T] += by_T

    def jacobian(self, out: Floats) -> None:
        self._differentiate()
        out[:] = 0.0
        for points, place in self._jacobian_sets:
            points.local_jacobian(place, out)
        for pool, (own, next_) in zip(self.stage_pools(), self._jacobian_gaps, strict=True):
            segments.put(pool.end_slopes, own, out)
            out[next_] = -1.0

    def hessian(self, sigma: float, multipliers: Floats, out: Floats) -> None:
        self._differentiate()
        out[:] = 0.0
        for pool in self.stage_pools():
            pool.slope[:] = 0.0
            for channel in pool.derived.values():
                channel.weights[:] = 0.0
        active = [x for x in self.sets if isinstance(x, StageSet) and not x.still]
        for points in sorted(
            active, key=lambda x: not x.whole
        ):  # whole sets overwrite, so they come first
            points.weigh(sigma, multipliers)
            if self._exact:
                points.give_back()
        if self._exact:
            for phase, rows, pool in zip(
                self.phases, self._gap_lanes, self.stage_pools(), strict=True
            ):
                ends = np.where(rows >= 0, multipliers[np.maximum(rows, 0)], 0.0)
                pool.curve_all(phase.powers[: pool.orders], ends)
        for bends in self._bends:
            bends[:] = 0.0
        for points in active:
            points.bend(self._exact, self._bends[points.phase])
        for p, pool in enumerate(self.stage_pools()):
            if self._exact and pool.timed:
                phase = self.phases[p]
                pool.stretch(phase.powers[: pool.orders], self._bends[p])
            segments.put(self._bends[p], self._hessian_places[p], out)
            twins = self._hessian_twins[p]
            if twins is not None:
                segments.put(self._bends[p], twins, out)

    # -- names --------------------------------------------------------------------------------

    def x_name(self, i: int) -> str:
        for p, phase in enumerate(self.phases):
            prefix = name_in(self.problem, p, "")
            names = self.model.joint_names
            if i == phase.T_column:
                return self.duration_name(phase)
            found = np.argwhere(phase.columns == i)
            if len(found):
                k, j = found[0]
                return f"{prefix}control point {k} of {names[j]}"
            found = np.argwhere(phase.node_columns == i)
            if len(found):
                k, m = found[0]
                what = "position" if m < len(phase.passive) else "velocity"
                joint = names[phase.passive[m % len(phase.passive)]]
                return f"{prefix}{what} of {joint} at {100 * phase.spline.breaks[k]:.4g} %"
        for name, column in self.parameter_columns().items():
            if i == column:
                return f"parameter {name}"
        raise IndexError(i)

    def _gap(self, i: int) -> tuple[int, int, int] | None:
        """Phase, segment and state of a constraint that joins segments."""
        for p, gap in enumerate(self.gaps):
            if gap.size and gap[0, 0] <= i <= gap[-1, -1]:
                k, m = np.argwhere(gap == i)[0]
                return p, int(k), int(m)
        return None

    def g_quantity(self, i: int) -> str:
        found = self._gap(i)
        if found is None:
            return super().g_quantity(i)
        p, _, m = found
        passive = self.phases[p].passive
        what = "position" if m < len(passive) else "velocity"
        joint = self.model.joint_names[passive[m % len(passive)]]
        return name_in(self.problem, p, f"{GAP} {joint} {what}")

    def g_instant(self, i: int) -> tuple[int, float] | None:
        found = self._gap(i)
        if found is None:
            return super().g_instant(i)
        return found[0], float(self.phases[found[0]].spline.breaks[found[1] + 1])


def _state_scale(phase: ShootingLayout) -> Floats:
    """Typical sizes of the states of passive joints: 1 rad or m; half a turn in the duration."""
    return np.repeat([1.0, np.pi / phase.T], len(phase.passive))


def _in_groups(values: Ints, groups: int) -> Ints:
    """Rearrange (segments, m) to (groups, m, WIDTH), padded with -1."""
    padded = np.full((groups * WIDTH, values.shape[1]), -1)
    padded[: len(values)] = values
    return padded.reshape(groups, WIDTH, -1).transpose(0, 2, 1)


def by_segment(lanes: NDArray, count: int) -> NDArray:
    """Rearrange (groups, m, WIDTH) to (segments, m)."""
    groups, m, _ = lanes.shape
    return lanes.transpose(0, 2, 1).reshape(groups * WIDTH, m)[:count]


def _begins(rows: Floats, groups: int, count: int) -> Floats:
    """Extract (steps + 1, m) from (rows, m, WIDTH): the starts of all steps, and the end."""
    first = rows[:-1:4].reshape(groups, -1, *rows.shape[1:]).transpose(0, 3, 1, 2)
    steps = first.reshape(-1, *first.shape[2:])[:count].reshape(-1, rows.shape[1])
    return np.concatenate([steps, rows[-1:, :, 0]])


def _stop_at_overflow(q: Floats, v: Floats, a: Floats) -> None:
    """Where the integration has overflowed, hold the motion at rest at its last valid position."""
    lost = ~np.all(np.abs(np.concatenate([q, v, a], axis=1)) < LARGEST, axis=1)
    if lost.any():
        first = int(np.argmax(lost))
        q[first:] = q[first - 1] if first else 0.0
        v[first:] = a[first:] = 0.0


def _drop_negative(places: Ints) -> Ints:
    return places[places >= 0]
