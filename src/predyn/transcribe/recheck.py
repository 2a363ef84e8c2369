"""Dense re-check of constraints between the points where they were imposed.

Values are computed from the curves by the public functions of dynamics, not taken from the arrays
of the solver. Violations between the points of the re-check (20 per segment) are not detected.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.samples import Samples
from predyn.solution import Violation
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual
from predyn.transcribe.arrange import PASSIVE_TORQUE
from predyn.transcribe.motion import Motion
from predyn.transcribe.program import Program
from predyn.transcribe.rows import SMALL_BOUND, row_scale

Floats = NDArray[np.float64]
PER_SEGMENT, PER_PIECE = 20, 3


def dense_violations(program: Program, motion: Motion) -> list[Violation]:
    """The largest excess of each named quantity that is bounded throughout, worst first."""
    begin = np.cumsum([0.0, *(curve.duration for curve in motion.curves)])
    result = []
    for p, curve in enumerate(motion.curves):
        layout, passive = program.phases[p], motion.systems[p].passive
        pieces = BSpline(curve.degree, curve.knots)  # finer than the segments if integrated
        s = np.union1d(layout.pieces.limit_points(PER_SEGMENT), pieces.limit_points(PER_PIECE))
        throughout: list[tuple[str, Residual, Floats, Floats]] = [
            (rows.name, rows.parts[0].block.residual, rows.lower, rows.upper)
            for rows in program.rows
            if rows.throughout and rows.parts[0].points.phase == p
        ]
        needed = [c for _, x, _, _ in throughout for c in x.channels]
        channels = tuple(dict.fromkeys(("tau", *needed) if passive else needed))
        samples = motion.samples(p, s, channels)
        if passive:
            throughout.append(_passive(program, p, passive, samples["tau"]))
        for name, residual, lower, upper in throughout:
            value = residual_values(residual, samples, len(s))
            t = begin[p] + s * curve.duration
            result += violations(name, residual, value, lower, upper, t)
    return sorted(result, key=lambda x: -x.relative)


def _passive(
    program: Program, p: int, passive: tuple[str, ...], tau: Floats
) -> tuple[str, Residual, Floats, Floats]:
    """Torques at passive joints, which should be zero, relative to the largest motor torque."""
    residual = JointTorque(joints=passive).bind(program.model)
    zero = np.zeros(len(residual.rows))
    motors = np.abs(tau[~np.isin(program.model.joint_names, passive)])
    residual.scale = np.maximum(motors.max(initial=0.0), SMALL_BOUND * residual.scale)
    name = PASSIVE_TORQUE
    return (
        (name if len(program.phases) == 1 else f"{program.phases[p].name}: {name}"),
        residual,
        zero,
        zero,
    )


def residual_values(residual: Residual, samples: Samples, instants: int) -> Floats:
    """Values (rows, instants) of a residual."""
    value = np.empty((len(residual.rows), instants))
    residual.value(samples, value)
    return value


def violations(
    name: str, residual: Residual, value: Floats, lower: Floats, upper: Floats, t: Floats
) -> list[Violation]:
    """The largest excess of each row over its instants."""
    low, high = lower[:, None], upper[:, None]
    excess = np.maximum(np.maximum(low - value, value - high), 0.0)
    at = excess.argmax(axis=1)
    scale = row_scale(lower, upper, residual.scale)
    result = []
    for r, row in enumerate(residual.rows):
        x, k = float(value[r, at[r]]), int(at[r])
        over = float(excess[r, k])
        bound = abs(lower[r] if x < lower[r] else upper[r])
        large = math.isfinite(bound) and bound > SMALL_BOUND * residual.scale[r]
        size = bound if large else float(scale[r])
        result.append(
            Violation(f"{name} {row}", over, over / size, x, float(lower[r]), float(upper[r]),
                      float(t[k]))
        )  # fmt: skip
    return result
