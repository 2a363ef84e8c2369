"""Costs and integrals along the curves, more accurate than those of the program.

Those with a kink, such as the integral of |tau v|, are integrated without the rounding of it: each
piece is divided where the residual changes its sign, so that the integrand is smooth between the
points of division, and Gauss quadrature is accurate there. Others are integrated with more points
than the program has, and listed where that makes a difference: dry friction is steep.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline, gauss_legendre
from predyn.kernels.kernel_cache import keeper
from predyn.terms.term import Residual
from predyn.transcribe.instants import Block, InstantSet
from predyn.transcribe.motion import Motion
from predyn.transcribe.program import Program
from predyn.transcribe.recheck import residual_values
from predyn.transcribe.rows import Part

Floats = NDArray[np.float64]
PER_PIECE = 4  # intervals of a spline's piece in which a change of sign is looked for
GAUSS, IN_STEPS = 5, 3  # points in each interval, and in each step of an integrated motion
NOTABLE = 1e-3  # relative difference of an integral that is listed
STEPS = 8  # of regula falsi; an error e of a zero changes the integral by the order of e^2

kept = keeper(__file__)


def unsmoothed(program: Program, motion: Motion, g: Floats) -> dict[str, float]:
    """Rounded costs (weights included) and integral constraints by name, without rounding; other
    costs where the quadrature of the program is inaccurate.

    The program must be at the point of the motion; g: its constraints there.
    """
    values: dict[str, float] = {}
    for name, part in program.costs:
        if _is_rounded(part.block):
            values[name] = values.get(name, 0.0) + _exact(motion, part)
    values |= _inaccurate(program, motion)
    for rows, (name, place) in zip(program.rows, program.g_blocks(), strict=False):
        rounded = [part for part in rows.parts if _is_rounded(part.block)]
        if rounded and not rows.pointwise:
            change = sum(_exact(motion, part) - part.points.total(part.block) for part in rounded)
            values[name] = float(g[place][0] + change)
    return values


def costs_along(program: Program, motion: Motion) -> dict[str, float] | None:
    """Integrals of all costs (weights included) along a motion whose splines may be others than
    those of the program; None if a cost is not an integral over time.
    """
    values: dict[str, float] = {}
    for name, part in program.costs:
        if not part.points.timed or type(part.points) is not InstantSet:
            return None
        value = _exact(motion, part) if _is_rounded(part.block) else _smooth(motion, part)
        values[name] = values.get(name, 0.0) + value
    return values


def _inaccurate(program: Program, motion: Motion) -> dict[str, float]:
    """Costs without a kink whose integral differs notably with more points."""
    unresolved = program.problem.solver.tolerance * program.f_scale
    exact: dict[str, float] = {}
    given: dict[str, float] = {}
    gauss = program.problem.transcription.gauss_points
    for name, part in program.costs:
        integrated = part.points.timed and bool(part.block.residual.entries)
        if integrated and not _is_rounded(part.block) and not _resolved(part, gauss):
            exact[name] = exact.get(name, 0.0) + _smooth(motion, part)
            given[name] = given.get(name, 0.0) + part.points.total(part.block)
    return {
        name: value
        for name, value in exact.items()
        if abs(value - given[name]) > max(NOTABLE * abs(value), unresolved)
    }


def _resolved(part: Part, gauss: int) -> bool:
    """Whether the integrand is so smooth that its values at the Gauss points tell its integral.

    The last of its Legendre coefficients in each piece, relative to the largest value, is of the
    order x^(gauss - 1) where the error of the integral is of the order x^(2 gauss).
    """
    values = part.points.values.of(part.block)  # (instants, rows)
    if gauss < 2 or len(values) % gauss or type(part.points) is not InstantSet:
        return False
    assert part.block.loss is not None
    squared, found = part.block.loss.loss != "linear", np.empty(2)
    _estimate(values, part.points.weights, _last_coefficient(gauss), squared, found)
    error, integral = found.tolist()
    return bool(error <= NOTABLE * abs(integral))


@kept
def _estimate(values: Floats, weights: Floats, last: Floats, squared: bool, out: Floats) -> None:
    """Error and value of the integral of values (instants, rows), or of their squares."""
    error, integral, gauss = 0.0, 0.0, len(last)
    for piece in range(len(values) // gauss):
        for row in range(values.shape[1]):
            largest, total, coefficient, width = 0.0, 0.0, 0.0, 0.0
            for k in range(gauss):
                f = values[piece * gauss + k, row]
                f = f * f if squared else f
                largest = max(largest, abs(f))
                total += f
                coefficient += last[k] * f
                width += weights[piece * gauss + k]
            if largest > 0.0:
                error += width * largest * (coefficient / largest) ** 2
            integral += width * total / gauss
    out[0], out[1] = error, integral


@cache
def _last_coefficient(gauss: int) -> Floats:
    """Weights of the values at the Gauss points in the last of their Legendre coefficients."""
    x, w = gauss_legendre(gauss)
    last: Floats = np.polynomial.legendre.legval(x, [0.0] * (gauss - 1) + [1.0]) * w
    return last * (gauss - 0.5)


def _smooth(motion: Motion, part: Part) -> float:
    """The integral of a block's linear or square loss, times its weight."""
    p, residual, loss = part.points.phase, part.block.residual, part.block.loss
    assert loss is not None
    integrated = type(part.points) is not InstantSet  # in short steps, each a piece of the curve
    divided = _divided(motion, p, 1 if integrated else PER_PIECE)
    s, weights = _gauss(divided, IN_STEPS if integrated else GAUSS)
    r = _values(motion, p, residual, s)
    r = r if loss.loss == "linear" else r * r
    return float(part.block.weight * motion.curves[p].duration * (r @ weights).sum())


def _is_rounded(block: Block) -> bool:
    return block.loss is not None and block.loss.loss == "abs"


def _exact(motion: Motion, part: Part) -> float:
    """The sum or integral of a block's loss, without rounding, times its weight."""
    points, residual, loss = part.points, part.block.residual, part.block.loss
    assert loss is not None
    p = points.phase
    if points.timed:
        s, weights = _quadrature(motion, p, residual)
        weights = weights * motion.curves[p].duration
    else:
        s, weights = points.s, points.weights[: len(points.s)]
    r = _values(motion, p, residual, s)
    straight, bent = (np.broadcast_to(x, len(r))[:, None] for x in (loss.straight, loss.bent))
    return float(part.block.weight * ((straight * r + bent * np.abs(r)) @ weights).sum())


def _values(motion: Motion, p: int, residual: Residual, s: Floats) -> Floats:
    return residual_values(residual, motion.samples(p, s, residual.channels), len(s))


def _quadrature(motion: Motion, p: int, residual: Residual) -> tuple[Floats, Floats]:
    """Normalised times and weights, accurate for |r| of all rows of a residual."""
    s = _divided(motion, p)
    r = _values(motion, p, residual, s)
    row, k = np.nonzero(r[:, :-1] * r[:, 1:] < 0.0)
    if len(row):
        s = np.union1d(s, _zeros(motion, p, residual, row, s[k], s[k + 1]))
    return _gauss(s)


def _gauss(s: Floats, count: int = GAUSS) -> tuple[Floats, Floats]:
    """Gauss points and weights between all pairs of neighbours."""
    x, w = gauss_legendre(count)
    low, width = s[:-1, None], np.diff(s)[:, None]
    return (low + width * (x + 1.0) / 2.0).ravel(), (width * w / 2.0).ravel()


def _divided(motion: Motion, p: int, per_piece: int = PER_PIECE) -> Floats:
    """The ends of all pieces of the curves, and points between them."""
    curves = [motion.curves[p], *(signal.curves[p] for signal in motion.signals.values())]
    breaks = [BSpline(curve.degree, curve.knots).breaks for curve in curves if curve is not None]
    ends = np.unique(np.concatenate(breaks))
    share = np.arange(per_piece) / per_piece
    return np.append((ends[:-1, None] + np.diff(ends)[:, None] * share).ravel(), 1.0)


def _zeros(
    motion: Motion, p: int, residual: Residual, row: NDArray[np.int64], low: Floats, high: Floats
) -> Floats:
    """Zeros of rows in intervals at whose ends they have different signs: the Illinois method."""
    every = np.arange(len(row))
    f_low, f_high = (_values(motion, p, residual, s)[row, every] for s in (low, high))
    for _ in range(STEPS):
        apart = f_high != f_low
        share = np.where(apart, f_low / np.where(apart, f_low - f_high, 1.0), 1.0)
        s = low + (high - low) * share  # between the two, as their signs differ
        f = _values(motion, p, residual, s)[row, every]
        crossed = f * f_high < 0.0
        low, f_low = np.where(crossed, high, low), np.where(crossed, f_high, 0.5 * f_low)
        high, f_high = s, f
    return high
