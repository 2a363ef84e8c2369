"""Detect contradictory or redundant equations near the guess, before the solve.

The equalities of a program, linearized near the guess, are dependent if some combination of them
has zero slope. Such combinations y, with J^T y = 0, grow fastest under (J J^T + d)^-1, which is
banded like the program: a few solves with random right-hand sides find them. Every variable is
moved by up to 1 % of its scale, because the guess itself may be a singular configuration of a valid
problem, such as a stretched arm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, listed, warn_of_problem
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHIFT = 1e-13  # d, relative to rows of length 1
ZERO = 1e-10  # slopes of unit combinations below this count as zero; rounding is 1e-15
NONE = 1e-9  # dimensionless slopes below this count as zero
NEAR = 0.01  # largest perturbation of a variable, relative to its scale
LARGEST = 1e12  # largest slope of a meaningful equation
MOST = 8  # maximum number of combinations searched for
DENSE = 200  # maximum number of equations for dense matrices
NAMED = 6  # maximum number of quantities named in a message


def check_rank(program: Program, x: Floats, warn: bool = True) -> None:
    """Raise an InputError for more equations than unknowns, and warn of equations that depend on
    each other near a guess x, or that use up a spline; the program is left at x.
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
    if not warn:
        return
    for message in used_up_splines(program):
        warn_of_problem(program.problem.name, message)
    dependent = equal[dependent_rows(J)]
    if len(dependent):
        names = list(dict.fromkeys(program.g_quantity(int(i)) for i in dependent))
        warn_of_problem(
            program.problem.name,
            f"some of its {counts} depend on each other at the guess, or contradict: "
            f"{listed(names, NAMED)}; leave out what follows from the rest",
        )


def used_up_splines(program: Program) -> list[str]:
    """Phases whose equations, imposed at instants, take all free control points of the curves.

    The equations alone then determine the motion, and between the instants they do not hold.
    """
    equal = program.g_lower == program.g_upper
    taken: list[dict[str, int]] = [{} for _ in program.phases]
    for rows, (name, block) in zip(program.rows, program.g_blocks(), strict=False):
        count = int(equal[block].sum())
        if rows.pointwise and count:
            blocks = taken[rows.parts[0].points.phase]
            blocks[name] = blocks.get(name, 0) + count
    messages = []
    for blocks, phase in zip(taken, program.phases, strict=True):
        curves = [phase.columns, *(c.columns for c in phase.curves if len(c.columns) > 1)]
        free = sum(int((columns >= 0).sum()) for columns in curves)
        count = sum(blocks.values())
        if count and count >= free:
            where = "" if len(program.phases) == 1 else f" of {phase.name!r}"
            equations = listed([f"{n} of {name}" for name, n in blocks.items()], NAMED)
            messages.append(
                f"{count} equations at instants ({equations}) use up all {free} free control points"
                f"{where}: they determine the motion alone, and hold at these instants only; give "
                "bounds with a tolerance instead, or leave out equations or boundary values"
            )
    return messages


class Slopes(NamedTuple):
    """A sparse matrix with rows of length 1."""

    rows: Ints
    columns: Ints
    values: Floats
    shape: tuple[int, int]


def _equations(program: Program, free: Ints) -> tuple[Ints, Slopes]:
    """Indices of the equations on which free variables act, and their dimensionless slopes in
    these, scaled to length 1.

    Other equations hold anyway, or the solver reports that they are infeasible.
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
    if not (lengths[equal] < LARGEST).all():  # the solver reports what is wrong with the guess
        equal = equal[:0]
    equal = equal[lengths[equal] > NONE]
    row = np.full(program.m, -1)
    row[equal] = np.arange(len(equal))
    on = (row[rows] >= 0) & (column[columns] >= 0)
    values = slopes[on] / lengths[rows[on]]
    shape = (len(equal), len(free))
    return equal, Slopes(row[rows[on]], column[columns[on]], values, shape)


def dependent_rows(slopes: Slopes) -> Ints:
    """Rows that take part in combinations with zero slope, those with the largest share first."""
    count = slopes.shape[0]
    if not count:
        return np.zeros(0, np.int64)
    J, solve = _normal_equations(slopes)
    y = np.random.default_rng(0).standard_normal((count, min(MOST, count)))
    for _ in range(2):
        y = np.linalg.qr(solve(y))[0]
    # combinations of least slope within their span
    _, sizes, turn = np.linalg.svd(J.T @ y, full_matrices=False)
    none = (y @ turn.T)[:, sizes < ZERO]
    if not none.shape[1]:
        return np.zeros(0, np.int64)
    share = np.abs(none).max(axis=1)
    order = np.argsort(-share, kind="stable")
    found: Ints = order[share[order] > 0.1 * share.max()]
    return found


def _normal_equations(slopes: Slopes) -> tuple[Any, Callable[[Floats], Floats]]:
    """J, and a solver of (J J^T + d) y = b; SciPy is imported for large programs only."""
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
    """The number of equations in each named block, as text."""
    parts = []
    for name, block in program.g_blocks():
        count = int(((equal >= block.start) & (equal < block.stop)).sum())
        if count:
            parts.append(f"{count} of {name}")
    return listed(parts, NAMED)
