"""Functions in OpenSim models as piecewise polynomials, exactly as OpenSim evaluates them.

SimmSpline is the cubic spline of Forsythe, Malcolm and Moler (Computer Methods for Mathematical
Computations, 1977, chapter 4): the third derivative of the first piece is that of the cubic through
the first four points, and that of the last piece likewise. With three points it is the parabola
through them. All functions of points continue as straight lines outside their points.
"""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.linalg import solve_banded

from predyn.errors import InputError
from predyn.load.osim_xml import read_number, read_numbers
from predyn.load.xml_file import Element
from predyn.model.couplings import MOST_TERMS, PiecewisePolynomial
from predyn.model.parts import Array

SPLINES = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")  # the others are older names
FUNCTIONS = ("Constant", "LinearFunction", *SPLINES, "PiecewiseLinearFunction",
             "PolynomialFunction", "MultiplierFunction")  # fmt: skip
MOST_POINTS = 2000
MOST_NESTED = 8
STRAIGHT = 8 * np.finfo(float).eps


def find_function(element: Element, tag: str = "function") -> Element | None:
    """The function in an element: <SimmSpline name="function">, or <function><SimmSpline>.."""
    holder = element.one(tag)
    inside = element.children if holder is None else holder.children
    known = [child for child in inside if child.tag in FUNCTIONS]
    other = [
        child
        for child in inside
        if child.tag not in FUNCTIONS
        and (holder is not None or child.tag.endswith(("Function", "Spline")))
    ]
    if other:
        other[0].fail(f"this function is not supported; supported are {', '.join(FUNCTIONS)}")
    if len(known) > 1:
        known[1].fail(f"expected one function in <{element.tag}>, got {len(known)}")
    return known[0] if known else None


def read_function(element: Element, depth: int = 0) -> PiecewisePolynomial:
    """The function that an element of one of the FUNCTIONS defines."""
    kind = element.tag
    try:
        if kind == "Constant":
            return PiecewisePolynomial.polynomial([read_number(element, "value", 0.0)])
        if kind == "LinearFunction":
            slope, offset = read_numbers(element, "coefficients", 2, (1.0, 0.0))
            return PiecewisePolynomial.linear(slope, offset)
        if kind == "PolynomialFunction":
            return PiecewisePolynomial.polynomial(_read_powers(element))
        if kind == "MultiplierFunction":
            inner = find_function(element)
            if inner is None or depth >= MOST_NESTED:
                element.fail("expected a <function> inside, not nested more than "
                             f"{MOST_NESTED} deep")  # fmt: skip
            return affine(read_function(inner, depth + 1), read_number(element, "scale", 1.0), 0.0)
        x, y = _read_points(element)
        return spline(x, y) if kind in SPLINES else polyline(x, y)
    except InputError as error:
        element.fail(str(error))


def _read_powers(element: Element) -> Array:
    """Coefficients of ascending powers; the file has descending ones."""
    powers = read_numbers(element, "coefficients", None, (1.0,))
    if len(powers) > MOST_TERMS:
        element.fail(f"expected at most {MOST_TERMS} coefficients, got {len(powers)}")
    return np.array(powers[::-1])


def _read_points(element: Element) -> tuple[Array, Array]:
    x = np.array(read_numbers(element, "x", None))
    y = np.array(read_numbers(element, "y", None))
    if len(x) != len(y) or not 2 <= len(x) <= MOST_POINTS:
        element.fail(
            f"expected as many x as y values, from 2 to {MOST_POINTS}, got {len(x)} and {len(y)}"
        )
    if (wrong := np.flatnonzero(np.diff(x) <= 0.0)).size:
        k = int(wrong[0])
        element.fail(f"x must increase, got {x[k]:.9g} and then {x[k + 1]:.9g}")
    return x, y


def polyline(x: Array, y: Array) -> PiecewisePolynomial:
    """Straight lines between points."""
    return simplified(PiecewisePolynomial(x, np.column_stack((y[:-1], np.diff(y) / np.diff(x)))))


def spline(x: Array, y: Array) -> PiecewisePolynomial:
    """The cubic spline through points, with third derivatives at the ends from four points."""
    if len(x) == 2:
        return polyline(x, y)
    h = np.diff(x)
    slopes = np.diff(y) / h
    # unknowns: second derivative / 6 at each point; rows: continuous slopes, then the two ends
    band, right = np.zeros((3, len(x))), np.zeros(len(x))
    band[0, 2:], band[1, 1:-1], band[2, :-2] = h[1:], 2.0 * (h[:-1] + h[1:]), h[:-1]
    right[1:-1] = np.diff(slopes)
    band[1, 0], band[0, 1], band[2, -2], band[1, -1] = -1.0, 1.0, -1.0, 1.0
    if len(x) > 3:
        right[0], right[-1] = (
            width * _third_difference(x[at], y[at])
            for width, at in ((h[0], slice(0, 4)), (h[-1], slice(-4, None)))
        )
    bend = solve_banded((1, 1), band, right)
    first = slopes - h * (bend[1:] + 2.0 * bend[:-1])
    rows = np.column_stack((y[:-1], first, 3.0 * bend[:-1], np.diff(bend) / h))
    return simplified(PiecewisePolynomial(x, rows))


def _third_difference(x: Array, y: Array) -> float:
    """The leading coefficient of the cubic through four points, by divided differences."""
    for k in range(1, 4):
        y = np.diff(y) / (x[k:] - x[:-k])
    return float(y[0])


def simplified(function: PiecewisePolynomial) -> PiecewisePolynomial:
    """One line instead of pieces that lie on it to rounding error."""
    breaks, rows = function.breaks, function.coefficients
    if not len(breaks):
        return function
    values = function(breaks)
    slope = (values[-1] - values[0]) / (breaks[-1] - breaks[0])
    line = PiecewisePolynomial.linear(slope, values[0] - slope * breaks[0])
    size = np.abs(values).max() + np.abs(slope * breaks).max()
    bent = np.abs(rows[:, 1:] * np.diff(breaks)[:, None] ** np.arange(1, rows.shape[1]))
    bent[:, 0] = np.abs((rows[:, 1] - slope) * np.diff(breaks))
    off = np.abs(values - line(breaks)).max()
    return line if max(off, bent.max()) <= STRAIGHT * size else function


def affine(function: PiecewisePolynomial, scale: float, offset: float) -> PiecewisePolynomial:
    """scale * function + offset."""
    rows = scale * function.coefficients
    rows[:, 0] += offset
    return PiecewisePolynomial(function.breaks, rows)


def of_line(function: PiecewisePolynomial, slope: float, offset: float) -> PiecewisePolynomial:
    """x -> function(slope * x + offset)."""
    breaks, rows = function.breaks, function.coefficients
    if slope == 0.0:
        return PiecewisePolynomial.polynomial([float(function(offset))])
    powers = slope ** np.arange(rows.shape[1])
    if not len(breaks):
        return PiecewisePolynomial(breaks, about(rows, np.array([offset])) * powers)
    turned = (breaks - offset) / slope
    if slope > 0.0:
        return PiecewisePolynomial(turned, rows * powers)
    # the last piece becomes the first, with powers about its other end
    return PiecewisePolynomial(turned[::-1], (about(rows, np.diff(breaks)) * powers)[::-1])


def about(rows: Array, points: Array) -> Array:
    """Coefficients (m, terms) of the same polynomials in powers of x - points (m,)."""
    terms = rows.shape[1]
    moved = np.zeros_like(rows)
    for k in range(terms):
        for j in range(k, terms):
            moved[:, k] += comb(j, k) * rows[:, j] * points ** (j - k)
    return moved


def compose(outer: PiecewisePolynomial, inner: PiecewisePolynomial) -> PiecewisePolynomial | None:
    """x -> outer(inner(x)) if one of them is a straight line, else None."""
    if outer.line is not None:
        return affine(inner, *outer.line)
    return None if inner.line is None else of_line(outer, *inner.line)
