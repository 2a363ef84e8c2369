"""Where the numbers of a motion stand in the vector of decision variables.

    x = [phase 1: T if free, then c_00 c_01 .. c_0n, c_10 .. | phase 2: ..]

c_kj is control point k of joint j. Control points that the boundary values determine are not in x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.problem import Duration, Phase, Problem, Spline, State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ORDERS = ("q", "v", "a")
End = Literal["start", "end"]


@dataclass(eq=False)
class PhaseLayout:
    """One phase: its spline, the current numbers, and their places in x."""

    name: str
    spline: BSpline
    control: Floats  # (count, n), what is fixed already in place
    columns: Ints  # (count, n) place in x, -1 if fixed
    T: float
    powers: tuple[float, float, float, float]  # of 1/T, from 0 to 3
    T_column: int  # -1 if fixed
    T_bounds: tuple[float, float]
    open_ends: list[tuple[End, str, Ints, Floats]]  # end, channel, joints, values: still to impose


def spline_of(options: Spline, segments: int | None) -> BSpline:
    """The spline that a transcription asks for."""
    count = options.segments if segments is None else segments
    if options.knots == "uniform":
        return BSpline.uniform(options.degree, count)
    if options.knots in ("clamped", "free"):  # free ones start from equal segments
        return BSpline.clamped(options.degree, count)
    return BSpline.clamped(options.degree, breaks=np.asarray(options.knots, float))


def end_values(state: State, n: int) -> list[Floats]:
    """q, v, a at an end, NaN where free."""
    given = (state.q, state.v, state.a)
    return [
        np.full(n, np.nan) if x is None else np.broadcast_to(np.asarray(x, float), (n,)).copy()
        for x in given
    ]


def passive_mask(problem: Problem) -> NDArray[np.bool_]:
    """Which joints have no motor."""
    return np.isin(problem.model.joint_names, problem.passive)


def lay_out(
    phase: Phase, options: Spline, passive: NDArray[np.bool_], first: int, name: str
) -> PhaseLayout:
    """Fix what the boundary values determine, number the rest from `first` on.

    Of a passive joint they determine two numbers at most, as many as its equation of motion leaves
    free; the others become constraints.
    """
    n = len(passive)
    left = np.where(passive, 2, 6)
    spline = spline_of(options, phase.segments)
    count = spline.n_control
    control = np.full((count, n), np.nan)
    if isinstance(phase.duration, Duration):
        T, bounds = float(phase.duration.guess), (phase.duration.min, phase.duration.max)
        timed = True
    else:
        T = float(phase.duration)
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
            sure &= np.isfinite(control[points[:order]]).all(axis=0)
            sure &= np.isnan(control[points[order]]) & (left > 0)
            left -= sure
            known = np.einsum("k,kj->j", D[order, :order], control[points[:order]])
            wanted = np.where(given, value, 0.0) * T**order
            control[points[order], sure] = ((wanted - known) / D[order, order])[sure]
            rest = np.flatnonzero(given & ~sure)
            if len(rest):
                open_ends.append((end, ORDERS[order], rest, value[rest]))
    free = np.isnan(control)
    if not free.any() and not timed:
        raise InputError(
            f"{name}: nothing is free: the boundary values fix all {count} control points and the "
            f"duration is given; use more segments (now {spline.segments}) or free some values"
        )
    powers = (1.0, 1 / T, 1 / T**2, 1 / T**3)
    columns = np.full((count, n), -1)
    columns[free] = first + (1 if timed else 0) + np.arange(free.sum())
    control[free] = 0.0
    return PhaseLayout(
        name, spline, control, columns, T, powers, first if timed else -1, bounds, open_ends
    )
