"""Checks of a program before it is handed to C, where a wrong index crashes the process.

The program is scaled here and not by IPOPT, which would relax bounds and push the initial point
away from them by absolute amounts, so that the answer depended on units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.nlp import NLP, Floats, Indices, Multipliers


class Program(NamedTuple):
    """The constant data of a program and its start: own copies, contiguous, all checked.

    In scaled quantities: x / x_scale, g / g_scale, f / f_scale.
    """

    x: Floats
    x_lower: Floats
    x_upper: Floats
    g_lower: Floats
    g_upper: Floats
    x_scale: Floats
    g_scale: Floats
    f_scale: float
    jacobian_rows: Indices
    jacobian_columns: Indices
    hessian_rows: Indices
    hessian_columns: Indices
    start: Multipliers | None


def checked_program(
    nlp: NLP, x0: ArrayLike, start: Multipliers | None, use_hessian: bool, scaled: bool = True
) -> Program:
    """Raise InputError for anything that a solver cannot handle. Not scaled: all scales are 1."""
    n, m = nlp.n, nlp.m
    if n == 0:
        raise InputError("nothing is free: the program has no variables")
    x_lower, x_upper = _bounds("variable", nlp.x_lower, nlp.x_upper, n, nlp.x_name)
    g_lower, g_upper = _bounds("constraint", nlp.g_lower, nlp.g_upper, m, nlp.g_name)
    if np.all(x_lower == x_upper):
        raise InputError(
            f"nothing is free: all {n} variables have equal lower and upper bounds; "
            "free some of them (a duration, a boundary value, more control points)"
        )
    jacobian = _pattern("jacobian_pattern", nlp.jacobian_pattern, m, n)
    nothing = np.empty(0, dtype=np.int32)
    hessian = (nothing, nothing)
    if use_hessian:
        hessian = _pattern("hessian_pattern", nlp.hessian_pattern, n, n)
        above = np.flatnonzero(hessian[0] < hessian[1])
        if above.size:
            k = int(above[0])
            raise InputError(
                "hessian_pattern: expected the lower triangle (row >= column), got entry "
                f"{k} at row {hessian[0][k]}, column {hessian[1][k]}"
            )
    x = _finite("x0", x0, n, nlp.x_name)
    x_scale, g_scale = _positive("x_scale", nlp.x_scale, n), _positive("g_scale", nlp.g_scale, m)
    f_scale = float(_positive("f_scale", [nlp.f_scale], 1)[0])
    if not scaled:
        x_scale, g_scale, f_scale = np.ones(n), np.ones(m), 1.0
    if start is not None:
        start = _multipliers(nlp, start)
        start = Multipliers(
            *(start.g * g_scale / f_scale, start.x_lower * x_scale / f_scale),
            start.x_upper * x_scale / f_scale,
        )
    return Program(
        *(x / x_scale, x_lower / x_scale, x_upper / x_scale),
        *(g_lower / g_scale, g_upper / g_scale, x_scale, g_scale),
        f_scale,
        *jacobian,
        *hessian,
        start,
    )


def _array(what: str, values: ArrayLike, length: int) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected {length} numbers, got {values!r:.60}") from error
    if array.shape != (length,):
        raise InputError(f"{what}: expected shape ({length},), got {array.shape}")
    return array


def _finite(what: str, values: ArrayLike, length: int, name: Callable[[int], str]) -> Floats:
    array = _array(what, values, length)
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        i = int(wrong[0])
        raise InputError(f"{what}: {name(i)} is {array[i]}; expected finite numbers")
    return array


def _positive(what: str, values: ArrayLike, length: int) -> Floats:
    array = _array(what, values, length)
    wrong = np.flatnonzero(~((array > 0.0) & np.isfinite(array)))
    if wrong.size:
        i = int(wrong[0])
        raise InputError(f"{what}: expected positive, finite numbers, got {array[i]} at {i}")
    return array


def _bounds(
    what: str, lower: ArrayLike, upper: ArrayLike, length: int, name: Callable[[int], str]
) -> tuple[Floats, Floats]:
    below = _array(f"lower bounds of the {what}s", lower, length)
    above = _array(f"upper bounds of the {what}s", upper, length)
    wrong = np.flatnonzero(~(below <= above) | (below == np.inf) | (above == -np.inf))
    if wrong.size:
        i = int(wrong[0])
        more = f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""
        raise InputError(
            f"{what} {name(i)}: no number lies between the bounds {below[i]:.10g} and "
            f"{above[i]:.10g}{more}; expected lower <= upper"
        )
    return below, above


def _pattern(
    what: str, pattern: tuple[Indices, Indices], height: int, width: int
) -> tuple[Indices, Indices]:
    rows, columns = (np.asarray(part) for part in pattern)
    for part, values, size in (("rows", rows, height), ("columns", columns, width)):
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise InputError(
                f"{what} {part}: expected whole numbers in one dimension, "
                f"got {values.dtype} of shape {values.shape}"
            )
        wrong = np.flatnonzero((values < 0) | (values >= size))
        if wrong.size:
            k = int(wrong[0])
            raise InputError(f"{what} {part}: entry {k} is {values[k]}; expected 0 to {size - 1}")
    if rows.size != columns.size:
        raise InputError(f"{what}: got {rows.size} rows but {columns.size} columns")
    key = np.sort(rows.astype(np.int64) * width + columns)
    twice = np.flatnonzero(key[1:] == key[:-1])
    if twice.size:
        row, column = divmod(int(key[twice[0]]), width)
        raise InputError(f"{what}: row {row}, column {column} appears more than once")
    return np.array(rows, dtype=np.int32), np.array(columns, dtype=np.int32)


def _multipliers(nlp: NLP, start: Multipliers) -> Multipliers:
    return Multipliers(
        _finite("start.g", start.g, nlp.m, nlp.g_name),
        _finite("start.x_lower", start.x_lower, nlp.n, nlp.x_name),
        _finite("start.x_upper", start.x_upper, nlp.n, nlp.x_name),
    )
