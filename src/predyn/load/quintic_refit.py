"""Smooth refits: splines of degree 5 in place of functions whose higher derivatives jump.

The refit has continuous fourth derivatives everywhere: it passes into the straight lines outside
the points of the original function within two knots. It minimises the squared errors of value and
slope on a dense grid (de Boor, A Practical Guide to Splines, 2001, chapter 14).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.interpolate import BSpline, PPoly
from scipy.sparse import diags_array, vstack
from scipy.sparse.linalg import spsolve

from predyn.model.couplings import PiecewisePolynomial
from predyn.model.parts import Array

DEGREE = 5
OUTSIDE = 3  # intervals on each side: two to pass into the line, one on it
SAMPLES = 12  # per interval of knots
POINTS = 60  # per interval at which errors are measured
PARTS = (1, 2, 4, 8)  # of each piece of the file
GOOD = 1e-4  # error relative to the range of values: no more knots are tried below
Follower = tuple[str, str, PiecewisePolynomial]


def refit_couplings(couplings: list[Follower]) -> tuple[list[Follower], list[str]]:
    """The couplings with smooth functions, and a note on the error of each one that changed."""
    fitted: list[Follower] = []
    notes = []
    for joint, source, function in couplings:
        if not len(function.breaks):
            fitted.append((joint, source, function))
            continue
        smooth, error, slope = refit(function)
        fitted.append((joint, source, smooth))
        notes.append(
            f"joint {joint!r} follows {source!r} by a refit of degree 5: its error is at most "
            f"{error:.2g}, that of its slope {slope:.2g} (rad or m)"
        )
    return fitted, notes


def refit(function: PiecewisePolynomial) -> tuple[PiecewisePolynomial, float, float]:
    """A function with continuous fourth derivatives, and its largest errors in value and slope."""
    size = np.ptp(function(function.breaks)) or 1.0
    for parts in PARTS:
        smooth = _fit(function, _place_knots(function.breaks, parts))
        x = _dense_grid(np.union1d(smooth.breaks, function.breaks))
        error = float(np.abs(smooth(x) - function(x)).max())
        if error <= GOOD * size:
            break
    return smooth, error, float(np.abs(smooth(x, 1) - function(x, 1)).max())


def _dense_grid(breaks: Array) -> Array:
    """Points in each interval, its start and the last number before its end among them."""
    share = np.linspace(0.0, 1.0, POINTS)
    x = breaks[:-1, None] + np.diff(breaks)[:, None] * share
    x[:, -1] = np.nextafter(breaks[1:], -np.inf)
    return x.ravel()


def _place_knots(breaks: Array, parts: int) -> Array:
    """Each piece divided into equal parts, and equal intervals beyond both ends."""
    inner = np.concatenate(
        [np.linspace(a, b, parts, endpoint=False) for a, b in pairwise(breaks)] + [breaks[-1:]]
    )
    steps = np.arange(1, OUTSIDE + DEGREE + 1)
    before = inner[0] - (inner[1] - inner[0]) * steps[::-1]
    after = inner[-1] + (inner[-1] - inner[-2]) * steps
    return np.concatenate((before, inner, after))


def _fit(function: PiecewisePolynomial, knots: Array) -> PiecewisePolynomial:
    """Least squares with the control points of the two outer lines held."""
    count = len(knots) - DEGREE - 1
    centres = np.array([knots[k + 1 : k + 1 + DEGREE].mean() for k in range(count)])
    held = np.zeros(count, dtype=bool)
    held[: DEGREE + 1] = held[-DEGREE - 1 :] = True
    control = np.zeros(count)
    ends = (slice(DEGREE + 1), function.breaks[0]), (slice(-DEGREE - 1, None), function.breaks[-1])
    for here, end in ends:  # on a line, its values at the centres are the control points
        control[here] = function(end) + function(end, 1) * (centres[here] - end)
    inside = knots[DEGREE:-DEGREE]
    share = (np.arange(SAMPLES) + 0.5) / SAMPLES
    width = np.diff(inside)
    x = (inside[:-1, None] + width[:, None] * share).ravel()
    scale = np.repeat(width, SAMPLES)
    values = BSpline.design_matrix(x, knots, DEGREE)
    steps = DEGREE / (knots[DEGREE + 1 : -1] - knots[1 : -DEGREE - 1])
    differences = diags_array([-steps, steps], offsets=[0, 1], shape=(count - 1, count))
    slopes = BSpline.design_matrix(x, knots[1:-1], DEGREE - 1) @ differences
    rows = vstack([values, diags_array(scale) @ slopes]).tocsc()
    wanted = np.concatenate((function(x), scale * function(x, 1))) - rows @ control
    free = rows[:, ~held]
    control[~held] = spsolve((free.T @ free).tocsc(), free.T @ wanted)
    pieces = PPoly.from_spline(BSpline(knots, control, DEGREE))
    first = DEGREE + 1  # the intervals beyond are on the lines
    return PiecewisePolynomial(knots[first:-first], pieces.c[::-1, first:-first].T)
