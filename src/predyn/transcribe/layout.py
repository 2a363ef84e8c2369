"""Layout of the vector of decision variables.

    x = [phase 1: T if free and not a parameter, then c_00 c_01 .. c_0n, c_10 .., then those of each
         signal | phase 2: .. | parameters]

c_kj is control point k of joint j. Control points that the boundary values determine are not in x.
A parameter is a constant signal with one control point, whose place in x all phases share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.bspline import BSpline
from predyn.curves.profile import Profile
from predyn.errors import InputError
from predyn.problem import (
    Dmoc,
    Duration,
    Parameter,
    Phase,
    Problem,
    Signal,
    Spline,
    State,
    duration_of,
    system_of,
)
from predyn.problem.offers import exists_in, phase_name
from predyn.samples.registry import TORQUES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ORDERS = ("q", "v", "a")
CONSTANT = BSpline.clamped(0, 1)
MOST_GIVEN = 4  # points of a given curve in a segment; finer ones are seen at instants only
NEAR_BREAK = 1e-6  # break points of two curves that are nearer count as one
End = Literal["start", "end"]


@dataclass(eq=False)
class CurveLayout:
    """A signal in one phase, or a parameter: its spline and its control points."""

    channel: str  # "signal:NAME" or "parameter:NAME"
    components: tuple[str, ...]
    spline: BSpline
    control: Floats  # (count, components), fixed values already filled in
    columns: Ints  # (count, components) place in x, -1 if fixed
    lower: Floats  # (components,)
    upper: Floats
    scale: Floats

    @property
    def is_parameter(self) -> bool:
        return self.channel.startswith("parameter:")

    @property
    def bounded_by_points(self) -> bool:
        """Whether bounds on the control points are equivalent to bounds on the curve."""
        return self.spline.degree <= 1


class Components(NamedTuple):
    """All unknown functions of a phase, joints first, and the layout of their control points."""

    splines: tuple[BSpline, ...]  # of the joints, then of each additional signal
    base: Ints  # (components,)
    stride: Ints
    signal: Ints  # index of the spline
    direct: dict[str, tuple[int, int, int]]  # channel: first component, count, order
    points: int  # control points that act on an instant, for the highest degree


@dataclass(eq=False)
class PhaseLayout:
    """One phase: its spline, its current control points, and their places in x."""

    name: str
    spline: BSpline
    control: Floats  # (count, n), fixed values already filled in
    columns: Ints  # (count, n) place in x, -1 if fixed
    T: float
    powers: tuple[float, float, float, float]  # of 1/T, from 0 to 3
    T_column: int  # -1 if fixed
    T_bounds: tuple[float, float]
    open_ends: list[tuple[End, str, Ints, Floats]]  # end, channel, joints, values left to impose
    curves: Sequence[CurveLayout] = field(default=(), kw_only=True)
    given_breaks: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)  # of forces
    numbers: Floats = field(default_factory=lambda: np.zeros(0), kw_only=True)  # all control points
    places: Ints = field(default_factory=lambda: np.zeros(0, np.int64), kw_only=True)
    least_points: int = field(default=0, kw_only=True)  # that act on an instant

    @cached_property
    def pieces(self) -> BSpline:
        """A step function with the break points of all curves; between them all are smooth."""
        breaks = self.spline.breaks
        for own in (*(curve.spline.breaks for curve in self.curves), self.given_breaks):
            away = np.abs(own[:, None] - breaks).min(axis=1) > NEAR_BREAK
            breaks = np.sort(np.concatenate([breaks, own[away]]))
        return BSpline.clamped(0, breaks=breaks)

    @cached_property
    def components(self) -> Components:
        """The joints and all signals and parameters; call this after adding those."""
        n = self.control.shape[1]
        points = 1 + max(x.degree for x in (self.spline, *(c.spline for c in self.curves)))
        points = max(points, self.least_points)
        base, stride, signal = [*range(n)], [n] * n, [0] * n
        direct = {name: (0, n, o) for o, name in enumerate(("q", "v", "a", "jerk"))}
        start = n * max(len(self.control), points)
        for k, curve in enumerate(self.curves, start=1):
            m = len(curve.components)
            kind, name = curve.channel.split(":", 1)
            direct[curve.channel] = (len(base), m, 0)
            if kind == "signal":
                direct[f"rate:{name}"] = (len(base), m, 1)
                if name == TORQUES:
                    direct[TORQUES] = direct[curve.channel]
            base += [start + i for i in range(m)]
            stride += [m] * m
            signal += [k] * m
            start += m * max(len(curve.control), points)
        splines = (self.spline, *(curve.spline for curve in self.curves))
        where = [np.array(x, np.int64) for x in (base, stride, signal)]
        return Components(splines, where[0], where[1], where[2], direct, points)

    def join(self) -> None:
        """Join all control points in one vector; the arrays of the signals become views of it.

        Signals of lower degree get at least as many places as the points that act on an instant.
        """
        points = self.components.points
        parts: list[PhaseLayout | CurveLayout] = [self, *self.curves]
        sizes = [x.control.shape[1] * max(len(x.control), points) for x in parts]
        self.numbers, self.places = np.zeros(sum(sizes)), np.full(sum(sizes), -1)
        first = 0
        for part, size in zip(parts, sizes, strict=True):
            used = slice(first, first + part.control.size)
            self.numbers[used] = part.control.ravel()
            self.places[used] = part.columns.ravel()
            part.control = self.numbers[used].reshape(part.control.shape)
            part.columns = self.places[used].reshape(part.columns.shape)
            first += size


def signal_layout(signal: Signal, spline: BSpline, first: int) -> CurveLayout:
    """Layout of a signal in a phase, from index `first` of x; components with equal bounds are
    not in x.
    """
    m = len(signal.components)
    segments = signal.segments
    breaks = spline.breaks if segments is None else np.arange(segments + 1) / segments
    if signal.knots is not None:
        breaks = np.asarray(signal.knots, float)
    own = BSpline.clamped(signal.degree, breaks=breaks)
    lower, upper, scale = (per_component(x, m) for x in (signal.lower, signal.upper, signal.scale))
    given = lower == upper
    control = np.zeros((own.n_control, m))
    control[:, given] = lower[given]
    columns = np.full(control.shape, -1)
    free = np.broadcast_to(~given, control.shape)
    columns[free] = first + np.arange(free.sum())
    name, components = f"signal:{signal.name}", tuple(signal.components)
    return CurveLayout(name, components, own, control, columns, lower, upper, scale)


def parameter_layout(parameter: Parameter, column: int) -> CurveLayout:
    """Layout of a parameter at index `column` of x (-1: fixed)."""
    low, high = float(parameter.min), float(parameter.max)
    return CurveLayout(
        f"parameter:{parameter.name}",
        (parameter.name,),
        CONSTANT,
        np.array([[float(parameter.guess)]]),
        np.array([[column]]),
        np.array([low]),
        np.array([high]),
        np.array([parameter_size(parameter)]),
    )


def parameter_size(parameter: Parameter) -> float:
    """Typical size of a parameter."""
    low, high = float(parameter.min), float(parameter.max)
    range_ = high - low if np.isfinite(high - low) else 0.0
    return max(abs(float(parameter.guess)), 1e-3 * range_) or 1.0


def per_component(value: ArrayLike, count: int) -> Floats:
    """(count,) from one number or one per component."""
    return np.broadcast_to(np.asarray(value, float), (count,)).copy()


def spline_of(options: Spline, segments: int | None) -> BSpline:
    """The spline defined by the options of a transcription."""
    count = options.segments if segments is None else segments
    if options.knots == "uniform":
        return BSpline.uniform(options.degree, count)
    if options.knots in ("clamped", "free"):  # free ones start from equal segments
        return BSpline.clamped(options.degree, count)
    return BSpline.clamped(options.degree, breaks=np.asarray(options.knots, float))


def end_values(state: State, n: int) -> list[Floats]:
    """q, v, a at an end, NaN where free."""
    return [end_value(x, n) for x in (state.q, state.v, state.a)]


def end_value(given: ArrayLike | Sequence[float | None] | None, n: int) -> Floats:
    """A value of all joints at an end, NaN where free."""
    value = np.empty(n)
    value[:] = np.nan if given is None else np.asarray(given, float)
    return value


def lay_out(
    phase: Phase,
    duration: float | Duration,
    options: Spline,
    passive: NDArray[np.bool_],
    first: int,
    name: str,
) -> PhaseLayout:
    """Fix the control points that the boundary values determine, number the others from `first` on.

    For a passive joint they determine at most two control points, as many as its equation of motion
    leaves free; other boundary values become constraints. The place of a duration that is a
    parameter is set later.
    """
    own_T = isinstance(duration, Duration) and not isinstance(phase.duration, str)
    n = len(passive)
    left = np.where(passive, 2, 6)
    spline = spline_of(options, phase.segments)
    count = spline.n_control
    control, fixed = np.zeros((count, n)), np.zeros((count, n), bool)
    if isinstance(duration, Duration):
        T, bounds = float(duration.guess), (duration.min, duration.max)
        timed = True
    else:
        T = float(duration)
        bounds, timed = (T, T), False
    open_ends: list[tuple[End, str, Ints, Floats]] = []
    both: tuple[tuple[End, State], ...] = (("start", phase.start), ("end", phase.end))
    for end, state in both:
        values = end_values(state, n)
        side = 0 if end == "start" else 1
        D = spline.basis(np.array([float(side)]), derivatives=2)[:, 0]
        points = np.arange(spline.degree + 1) + (0 if side == 0 else count - spline.degree - 1)
        if side:
            D, points = D[:, ::-1], points[::-1]  # from the end inwards
        ends = (
            spline.knots[: spline.degree + 1] if side == 0 else spline.knots[-spline.degree - 1 :]
        )
        clamped = bool(ends[0] == ends[-1])
        for order, value in enumerate(values):
            given = np.isfinite(value)
            sure = given & clamped & ((value == 0.0) | (not timed) | (order == 0))
            sure &= fixed[points[:order]].all(axis=0)
            sure &= ~fixed[points[order]] & (left > 0)
            left -= sure
            fixed[points[order], sure] = True
            known = (D[order, :order, None] * control[points[:order]]).sum(axis=0)
            wanted = np.where(given, value, 0.0) * T**order
            control[points[order], sure] = (wanted - known)[sure] / D[order, order]
            rest = np.flatnonzero(given & ~sure)
            if len(rest):
                open_ends.append((end, ORDERS[order], rest, value[rest]))
    free = ~fixed
    powers = (1.0, 1 / T, 1 / T**2, 1 / T**3)
    columns = np.full((count, n), -1)
    columns[free] = first + int(own_T) + np.arange(free.sum())
    return PhaseLayout(
        name, spline, control, columns, T, powers, first if own_T else -1, bounds, open_ends
    )


def lay_out_phases(problem: Problem, parameters: Sequence[Parameter]) -> list[PhaseLayout]:
    """Layouts of all phases, with their signals and the given parameters."""
    layouts: list[PhaseLayout] = []
    first, options = 0, problem.transcription
    for k, phase in enumerate(problem.phases):
        if isinstance(options, Dmoc):
            from predyn.transcribe.discrete.layout import lay_out_nodes

            layout = lay_out_nodes(problem, k, first)
        else:
            mask = np.isin(problem.model.joint_names, system_of(problem, k).passive)
            duration = duration_of(problem, phase)
            layout = lay_out(phase, duration, options, mask, first, phase_name(problem, k))
        first += int((layout.columns >= 0).sum()) + int(layout.T_column >= 0)
        curves = [*layout.curves]
        for signal in problem.signals:
            if exists_in(signal.phases, problem, k):
                curve = signal_layout(signal, layout.spline, first)
                first += int((curve.columns >= 0).sum())
                curves.append(curve)
        if layout.T_column < 0 and not isinstance(phase.duration, str) and not parameters:
            _refuse_fixed(layout, curves)
        layout.curves = curves
        layout.given_breaks = _force_breaks(problem, k, layout)
        layouts.append(layout)
    for layout, phase in zip(layouts, problem.phases, strict=True):
        for column, parameter in enumerate(parameters, start=first):
            if parameter.name == phase.duration:
                layout.T_column = column
            layout.curves = [*layout.curves, parameter_layout(parameter, column)]
        layout.join()
    return layouts


def _force_breaks(problem: Problem, k: int, layout: PhaseLayout) -> Floats:
    """Where given curves of forces have their points, if these are not many."""
    found = [np.zeros(0)]
    for force in system_of(problem, k).forces:
        for curve in (force.force, force.moment):
            if isinstance(curve, Profile):
                times = np.asarray(curve.times, float)
                s = times if curve.over == "phase" else times / layout.T
                inside = s[(s > 0.0) & (s < 1.0)]
                if len(inside) <= MOST_GIVEN * layout.spline.segments:
                    found.append(inside)
    return np.unique(np.concatenate(found))


def _refuse_fixed(layout: PhaseLayout, curves: Sequence[CurveLayout]) -> None:
    if (layout.columns < 0).all() and all((x.columns < 0).all() for x in curves):
        count, segments = layout.spline.n_control, layout.spline.segments
        raise InputError(
            f"{layout.name}: nothing is free: the boundary values fix all {count} control points "
            f"and the duration is given; use more segments (now {segments}) or free some values"
        )
