"""Layout of the vector of decision variables for motions with integrated joints.

    x = [phase 1: T if free, control points of the active joints, states of the passive joints where
         segments begin and at the end | phase 2: .. | parameters]

Values that the boundary values determine are not in x. A parameter acts like an active joint all of
whose control points are equal: they have the same place in x.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.kernels.lanes import WIDTH
from predyn.problem import Hybrid, Parameter, Problem, State, duration_of, system_of
from predyn.problem.offers import phase_name
from predyn.transcribe.layout import (
    ORDERS,
    CurveLayout,
    End,
    PhaseLayout,
    end_values,
    lay_out,
    parameter_layout,
)
from predyn.transcribe.shooting.stage_pool import StageRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class ShootingLayout(PhaseLayout):
    """One phase; `control` and `columns` of passive joints are unused (0 and -1)."""

    rows: StageRows
    passive: Ints  # joints
    active: Ints
    nodes: Floats  # (segments + 1, 2 passive): positions, then velocities
    node_columns: Ints  # place in x, -1 if fixed

    @property
    def count(self) -> int:
        """Number of variables of the phase in x."""
        free = int((self.columns >= 0).sum() + (self.node_columns >= 0).sum())
        return free + int(self.T_column >= 0)

    @property
    def segment_columns(self) -> Ints:
        """(groups + 1, P, WIDTH): indices in x of the numbers w of each segment and of the end."""
        rows = self.rows
        ends = np.cumsum(np.bincount(rows.group)) - 1
        segment, used = rows.segment[ends], rows.used[ends]  # (groups + 1, WIDTH)
        node = np.where(
            np.arange(len(segment))[:, None] < rows.groups, segment, len(self.nodes) - 1
        )
        points = segment[:, None] + np.arange(self.spline.degree + 1)[:, None]
        columns = [self.columns[:, self.active], *(curve.columns for curve in self.curves)]
        control = np.concatenate(columns, axis=1)[points].transpose(0, 1, 3, 2)
        parts = [
            self.node_columns[node].transpose(0, 2, 1),
            control.reshape(len(segment), -1, WIDTH),
        ]
        if self.T_column >= 0:
            parts.append(np.full((len(segment), 1, WIDTH), self.T_column))
        return np.where(used[:, None], np.concatenate(parts, axis=1), -1)

    def lanes(self) -> Floats:
        """(groups + 1, 2 passive, WIDTH): the states where segments begin, and at the end."""
        rows = self.rows
        last = len(self.nodes) - 1
        index = np.minimum(np.arange((rows.groups + 1) * WIDTH), last - 1).reshape(-1, WIDTH)
        index[-1] = last
        return self.nodes[index].transpose(0, 2, 1)


def lay_out_shooting(problem: Problem) -> list[ShootingLayout]:
    """Layouts of all phases; boundary values that single shooting cannot fix become constraints."""
    layouts: list[ShootingLayout] = []
    first = 0
    for k in range(len(problem.phases)):
        layout = _phase(problem, k, first, phase_name(problem, k))
        layouts.append(layout)
        first += layout.count
    durations = [phase.duration for phase in problem.phases]
    for column, parameter in enumerate(problem.parameters, start=first):
        for layout, duration in zip(layouts, durations, strict=True):
            if duration == parameter.name:
                layout.T_column = column
            if parameter.name not in durations:
                layout.curves = [*layout.curves, _repeated(parameter, layout.spline, column)]
    for layout in layouts:
        layout.join()
    return layouts


def _repeated(parameter: Parameter, spline: BSpline, column: int) -> CurveLayout:
    """A parameter as a curve on the spline of the joints."""
    curve, shape = parameter_layout(parameter, column), (spline.n_control, 1)
    return replace(
        curve,
        spline=spline,
        control=np.full(shape, curve.control[0, 0]),
        columns=np.full(shape, column),
    )


def _phase(problem: Problem, k: int, first: int, name: str) -> ShootingLayout:
    method, phase = problem.transcription, problem.phases[k]
    assert isinstance(method, Hybrid)
    mask = np.isin(problem.model.joint_names, system_of(problem, k).passive)
    passive, active = np.flatnonzero(mask), np.flatnonzero(~mask)
    given = {"start": end_values(phase.start, len(mask)), "end": end_values(phase.end, len(mask))}
    driven = {
        end: State(*(np.where(mask, np.nan, value) for value in values))
        for end, values in given.items()
    }
    phase = replace(phase, start=driven["start"], end=driven["end"])
    base = lay_out(
        phase, duration_of(problem, phase), method, np.zeros(len(mask), bool), first, name
    )
    columns, control = base.columns.copy(), base.control.copy()
    columns[:, mask], control[:, mask] = -1, 0.0
    free = columns >= 0
    place = first + int(base.T_column >= 0)
    columns[free] = place + np.arange(free.sum())
    place += int(free.sum())
    assert method.steps is not None
    rows = StageRows(base.spline, int(method.steps))
    nodes = np.full((base.spline.segments + 1, 2 * len(passive)), np.nan)
    open_ends = list(base.open_ends)
    both: tuple[End, End] = ("start", "end")
    for end, node in zip(both, (0, -1), strict=True):
        for order, value in enumerate(given[end]):
            wanted = value[passive]
            known = np.isfinite(wanted)
            if order < 2 and (end == "start" or method.shooting == "multiple"):
                nodes[node, order * len(passive) : (order + 1) * len(passive)] = wanted
            elif known.any():
                open_ends.append((end, ORDERS[order], passive[known], wanted[known]))
    unknown = np.isnan(nodes)
    node_columns = np.full(nodes.shape, -1)
    node_columns[unknown] = place + np.arange(unknown.sum())
    nodes[unknown] = 0.0
    kept = {f.name: getattr(base, f.name) for f in fields(PhaseLayout)}
    kept |= {"columns": columns, "control": control, "open_ends": open_ends}
    return ShootingLayout(
        **kept, rows=rows, passive=passive, active=active, nodes=nodes, node_columns=node_columns
    )
