"""What a solution consists of: curves, samples, violations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SUCCESS = ("optimal", "acceptable")
EXCEEDS = "exceeds_limits"  # converged, but far outside its limits between the points
CONVERGED = (*SUCCESS, EXCEEDS)
NOT_CERTIFIED = "not_certified"  # among obstacles: not proved to keep clear, whatever else it is
FAILURE = (
    NOT_CERTIFIED, "infeasible", "iteration_limit", "time_limit", "interrupted", "diverged",
    "evaluation_error",
)  # fmt: skip
STATUSES = (*CONVERGED, *FAILURE)
MOST_EXCESS = 0.05  # relative excess between the points above which a motion is not a success
MOST_LISTED = 10
ROUNDING = 8 * float(np.finfo(float).eps)  # of the duration, in a time that was computed
UNUSABLE = 1e15  # from here on angles lose their fractions, and pictures their precision


class Sample(NamedTuple):
    """The motion and its forces at one instant, or at many: t (...), others (..., n)."""

    t: Floats
    q: Floats
    v: Floats
    a: Floats
    jerk: Floats
    tau: Floats
    reactions: Floats  # (..., links, 6)


class Violation(NamedTuple):
    """How far a named quantity is outside its bounds, in its own unit."""

    name: str
    excess: float  # not negative
    relative: (
        float  # excess over the size of the violated bound (over the row's scale if that is 0)
    )
    value: float
    lower: float
    upper: float
    time: float  # s from the start of the motion, NaN if it belongs to no instant


class Curve(NamedTuple):
    """Joint positions of one phase, or a signal in it: a B-spline in normalised time."""

    degree: int
    knots: Floats
    control: Floats  # (control points, n)
    duration: float  # s


class SignalCurves(NamedTuple):
    """A signal besides the motion of the joints: one curve for each phase, None without it."""

    components: tuple[str, ...]
    unit: str
    curves: tuple[Curve | None, ...]
