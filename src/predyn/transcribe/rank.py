"""Equations that cannot all be met, or that say the same: found at the guess, before the solve.

The equalities of a program, linearized near the guess, are dependent if some combination of them
has no slope at all. Such combinations y, with J^T y = 0, grow fastest under (J J^T + d)^-1, which
is banded as the program is: a few solves with random right-hand sides find them. Near, not at: a
guess may be a singular configuration, such as a stretched arm, without anything being wrong. Every
variable is moved by up to 1 % of its scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, ProblemWarning
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHIFT = 1e-13  # d, relative to rows of length 1
ZERO = 1e-10  # a combination of length 1 with less slope than this has none; rounding is 1e-15
NONE = 1e-9  # a dimensionless slope below this is none
NEAR = 0.01  # of the scale of each variable
LARGEST = 1e12  # slope that an equation with a meaning has
MOST = 8  # combinations looked for
DENSE = 200  # equations up to which matrices are dense
NAMED = 6  # quantities named in a message


def check_rank(program: Program, x: Floats) -> None:
    """An InputError for more equations than unknowns, a warning for equations that depend on
    each other at a guess x; the program is left there.
    """
    away = NEAR * program.x_scale * np.random.default_rng(0).uniform(-1.0, 1.0, len(x))
    free = np.flatnonzero(program.x_lower < program.x_upper)
    if not (program.g_lower == program.g_upper).any():
        return
    program.move(np.clip(x + away, program.x_lower, program.x_upper))
    equal, J = _equations(program, free)
    program.move(x)
    counts = f"{len(equal)} equations on {len(free)} unknowns"
    if len(equal) > len(free):
        raise InputError(
            f"problem {program.problem.name!r}: {counts}: {_blocks(program, equal)}; leave some "
            "out or use inequalities"
        )
    dependent = equal[dependent_rows(J)]
    if len(dependent):
        names = dict.fromkeys(program.g_quantity(int(i)) for i in dependent)
        warnings.warn(
            f"problem {program.problem.name!r}: some of its {counts} depend on each other at the "
            f"guess, or contradict: {_listed(tuple(names))}; leave out what follows from the rest",
            ProblemWarning,
            stacklevel=5,  # the caller of predyn.solve
        )


class Slopes(NamedTuple):
    """A sparse matrix with rows of length 1."""

    rows: Ints
    columns: Ints
    values: Floats
    shape: tuple[int, int]


def _equations(program: Program, free: Ints) -> tuple[Ints, Slopes]:
    """Numbers of the equations on which something free acts, and their slopes in free variables,
    of dimension 1, scaled to length 1.

    The others hold by themselves, or the solver says that they cannot.
    """
    equal = np.flatnonzero(program.g_lower == program.g_upper)
    rows, columns = program.jacobian_pattern
    slopes = np.empty(len(rows))
    program.jacobian(slopes)
    slopes *= program.x_scale[columns] / program.g_scale[rows]
    column = np.full(program.n, -1)
    column[free] = np.arange(len(free))
    lengths = np.sqrt(np.bincount(rows, np.where(column[columns] >= 0, slopes, 0.0) ** 2,
                                  program.m))  # fmt: skip
    if not (lengths[equal] < LARGEST).all():  # the solver says what is wrong with the guess
        equal = equal[:0]
    equal = equal[lengths[equal] > NONE]
    row = np.full(program.m, -1)
    row[equal] = np.arange(len(equal))
    on = (row[rows] >= 0) & (column[columns] >= 0)
    values = slopes[on] / lengths[rows[on]]
    shape = (len(equal), len(free))
    return equal, Slopes(row[rows[on]], column[columns[on]], values, shape)


def dependent_rows(slopes: Slopes) -> Ints:
    """Rows that take part in combinations without slope, those with the largest share first."""
    count = slopes.shape[0]
    if not count:
        return np.zeros(0, np.int64)
    J, solve = _normal_equations(slopes)
    y = np.random.default_rng(0).standard_normal((count, min(MOST, count)))
    for _ in range(2):
        y = np.linalg.qr(solve(y))[0]
    # within their span, the combinations of least slope
    _, sizes, turn = np.linalg.svd(J.T @ y, full_matrices=False)
    none = (y @ turn.T)[:, sizes < ZERO]
    if not none.shape[1]:
        return np.zeros(0, np.int64)
    share = np.abs(none).max(axis=1)
    order = np.argsort(-share, kind="stable")
    found: Ints = order[share[order] > 0.1 * share.max()]
    return found


def _normal_equations(slopes: Slopes) -> tuple[Any, Callable[[Floats], Floats]]:
    """J, and the solution of (J J^T + d) y = b; SciPy is loaded for large programs only."""
    count, entries = slopes.shape[0], (slopes.rows, slopes.columns)
    if count <= DENSE:
        dense = np.zeros(slopes.shape)
        dense[entries] = slopes.values
        inverse = np.linalg.inv(dense @ dense.T + SHIFT * np.eye(count))
        return dense, lambda b: inverse @ b
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    J = csr_array((slopes.values, entries), slopes.shape)
    return J, splu((J @ J.T + SHIFT * eye_array(count)).tocsc(), diag_pivot_thresh=0.0).solve


def _blocks(program: Program, equal: Ints) -> str:
    """How many equations each named block has."""
    parts = []
    for name, block in program.g_blocks():
        count = int(((equal >= block.start) & (equal < block.stop)).sum())
        if count:
            parts.append(f"{count} of {name}")
    return _listed(parts)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
