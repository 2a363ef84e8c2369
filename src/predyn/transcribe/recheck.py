"""Dense re-check: what the curves do between the points where constraints were imposed.

Values come from the curves through the public functions of dynamics, not from the arrays that the
solver saw. Between the re-check's own points (20 a segment) nothing is known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.samples import STATES, Samples, split_side
from predyn.samples.registry import implementation
from predyn.solution import Curve, Violation
from predyn.terms.joints import JointTorque
from predyn.terms.term import Residual
from predyn.transcribe.arrange import PASSIVE_TORQUE, Rows
from predyn.transcribe.layout import passive_mask
from predyn.transcribe.program import SMALL_BOUND, Program, row_scale

Floats = NDArray[np.float64]
PER_SEGMENT, PER_PIECE = 20, 3


def curve_samples(
    model: Model,
    curve: Curve,
    s: Floats,
    channels: tuple[str, ...],
    forces: tuple[ExternalForce, ...],
) -> Samples:
    """Channels (components, instants) at normalised times of one phase."""
    spline = BSpline(curve.degree, curve.knots)
    states = spline.evaluate(curve.control, s, curve.duration)
    q, v, a, _ = states
    found = {name: x.T for name, x in zip(STATES, states, strict=True)}
    found["t"] = s[None] * curve.duration
    for name in dict.fromkeys(split_side(channel)[1] for channel in channels):
        if name not in found:
            module, member = implementation(name)
            found[name] = module.values(model, member, (q, v, a), forces).T
    return Samples(found)


def dense_violations(program: Program, curves: tuple[Curve, ...]) -> list[Violation]:
    """The largest excess of each named quantity that is bounded throughout, worst first."""
    begin = np.cumsum([0.0, *(curve.duration for curve in curves)])
    forces = tuple(program.problem.forces)
    result = []
    for p, curve in enumerate(curves):
        spline = program.phases[p].spline
        pieces = BSpline(curve.degree, curve.knots)  # finer than the segments if integrated
        s = np.union1d(spline.limit_points(PER_SEGMENT), pieces.limit_points(PER_PIECE))
        throughout: list[tuple[str, Residual, Floats, Floats]] = [
            (rows.name, rows.block.residual, rows.lower, rows.upper)
            for rows in program.rows
            if isinstance(rows, Rows) and rows.points.phase == p and rows.throughout
        ]
        needed = [c for _, x, _, _ in throughout for c in x.channels]
        channels = tuple(dict.fromkeys(("tau", *needed) if program.problem.passive else needed))
        samples = curve_samples(program.model, curve, s, channels, forces)
        if program.problem.passive:
            throughout.append(_passive(program, p, samples["tau"]))
        for name, residual, lower, upper in throughout:
            value = residual_values(residual, samples, len(s))
            t = begin[p] + s * curve.duration
            result += violations(name, residual, value, lower, upper, t)
    return sorted(result, key=lambda x: -x.relative)


def _passive(program: Program, p: int, tau: Floats) -> tuple[str, Residual, Floats, Floats]:
    """That passive joints have no torque, measured by the largest of the motors."""
    residual = JointTorque(joints=program.problem.passive).bind(program.model)
    zero = np.zeros(len(residual.rows))
    motors = np.abs(tau[~passive_mask(program.problem)])
    residual.scale = np.maximum(motors.max(), SMALL_BOUND * residual.scale)
    name = PASSIVE_TORQUE
    return (
        (name if len(program.phases) == 1 else f"{program.phases[p].name}: {name}"),
        residual,
        zero,
        zero,
    )


def residual_values(residual: Residual, samples: Samples, instants: int) -> Floats:
    """(rows, instants)."""
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
