"""Equations that cannot all be met, or that say the same: found at the guess, before the solve.

The equalities of a program, linearized near the guess, are dependent if some combination of them
has no slope at all. Such combinations y, with J^T y = 0, grow fastest under (J J^T + d)^-1, which
is banded as the program is: a few solves with random right-hand sides find them. Near, not at: a
guess may be a singular configuration, such as a stretched arm, without anything being wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, ProblemWarning
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHIFT = 1e-13  # d, relative to rows of length 1
ZERO = 1e-6  # a combination of length 1 with less slope than this has none
NEAR = 0.01  # of the scale of each variable
LARGEST = 1e12  # slope that an equation with a meaning has
MOST = 8  # combinations looked for
DENSE = 200  # equations up to which matrices are dense
NAMED = 6  # quantities named in a message


def check_rank(program: Program, x: Floats) -> None:
    """An InputError for more equations than unknowns, a warning for equations that depend on
    each other at a guess x; the program is left there.
    """
    equal = np.flatnonzero(program.g_lower == program.g_upper)
    free = np.flatnonzero(program.x_lower < program.x_upper)
    if not len(equal):
        return
    counts = f"{len(equal)} equations on {len(free)} unknowns"
    if len(equal) > len(free):
        raise InputError(
            f"problem {program.problem.name!r}: {counts}: {_blocks(program, equal)}; leave some "
            "out or use inequalities"
        )
    away = NEAR * program.x_scale * np.random.default_rng(0).uniform(-1.0, 1.0, len(x))
    program.move(np.clip(x + away, program.x_lower, program.x_upper))
    dependent = dependent_rows(program, equal, free)
    program.move(x)
    if len(dependent):
        names = dict.fromkeys(program.g_quantity(int(i)) for i in dependent)
        warnings.warn(
            f"problem {program.problem.name!r}: some of its {counts} depend on each other at the "
            f"guess, or contradict: {_listed(tuple(names))}; leave out what follows from the rest",
            ProblemWarning,
            stacklevel=4,
        )


def dependent_rows(program: Program, equal: Ints, free: Ints) -> Ints:
    """Numbers of the equations that take part in combinations without slope, the first of which
    has the largest share.
    """
    rows, columns = program.jacobian_pattern
    slopes = np.empty(len(rows))
    program.jacobian(slopes)
    row, column = np.full(program.m, -1), np.full(program.n, -1)
    row[equal], column[free] = np.arange(len(equal)), np.arange(len(free))
    on = (row[rows] >= 0) & (column[columns] >= 0)
    entries = (row[rows[on]], column[columns[on]])
    slopes = slopes[on] * program.x_scale[columns[on]]
    lengths = np.sqrt(np.bincount(entries[0], slopes**2, len(equal)))
    if not (lengths < LARGEST).all():  # the solver says what is wrong with the guess
        return np.zeros(0, np.int64)
    acting = lengths > 0.0  # the others hold by themselves, or the solver says that they cannot
    equal, count = equal[acting], int(acting.sum())
    on = acting[entries[0]]
    slopes = (slopes / np.where(acting, lengths, 1.0)[entries[0]])[on]
    number = np.cumsum(acting) - 1
    inside = (number[entries[0][on]], entries[1][on])
    J, solve = _normal_equations(slopes, inside, (count, len(free)))
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
    found: Ints = equal[order[share[order] > 0.1 * share.max()]]
    return found


def _normal_equations(
    slopes: Floats, entries: tuple[Ints, Ints], shape: tuple[int, int]
) -> tuple[Any, Callable[[Floats], Floats]]:
    """J, and the solution of (J J^T + d) y = b; SciPy is loaded for large programs only."""
    if shape[0] <= DENSE:
        dense = np.zeros(shape)
        dense[entries] = slopes
        inverse = np.linalg.inv(dense @ dense.T + SHIFT * np.eye(shape[0]))
        return dense, lambda b: inverse @ b
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    J = csr_array((slopes, entries), shape)
    return J, splu((J @ J.T + SHIFT * eye_array(shape[0])).tocsc(), diag_pivot_thresh=0.0).solve


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
