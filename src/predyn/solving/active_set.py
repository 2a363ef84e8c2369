"""The active set of a solution: which limits and bounds hold with equality at the exact optimum.

An interior-point solver ends where slack times multiplier is a small constant. The last solve is
repeated as tightly as rounding permits, until one of the two is clearly zero, and Newton steps with
the active rows as equations lead to the optimum itself. Where even this does not decide, the
product of slack and multiplier stays constant instead, as on the path of the solver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import NotConverged, listed
from predyn.nlp import Multipliers, SolverOptions
from predyn.solvers.ipopt import solve_nlp
from predyn.solving.null_space import NullSpace
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TIGHT = SolverOptions(tolerance=1e-12, max_iterations=50, mu_init=1e-9)
SHARP = 1e-2  # scale of the objective in the last solve, relative to its size
CLEAR = (1.0, 1e3, 1e6, 1e9)  # ratios of slack and multiplier that decide, tried in turn
DOUBTFUL = 1e3  # smaller ratios are reported
FLAT = 1e-10  # curvatures below this, relative to the largest, count as zero
SMALL = 1e-3  # scaled slacks and multipliers above this are not zero
STEPS = 4  # Newton steps, which converge quadratically
TOUCHING = 1e-9  # scaled slacks below this are zero after the Newton steps
SETTLED = 1e-6  # largest scaled Newton step if the active set is right
NAMED = 6  # maximum number of names in a message


class Point(NamedTuple):
    """A program at a point. Rows and variables together are the bounded quantities c."""

    f: float
    gradient: Floats  # (n,)
    c: Floats  # (m + n,) rows, then variables
    C: Floats  # (m + n, n) their slopes
    lower: Floats  # (m + n,)
    upper: Floats


def evaluate(program: Program, x: Floats) -> Point:
    gradient, g = np.empty(program.n), np.empty(program.m)
    slopes = np.empty(len(program.jacobian_pattern[0]))
    program.move(x)
    program.gradient(gradient)
    program.constraints(g)
    program.jacobian(slopes)
    C = np.zeros((program.m + program.n, program.n))
    C[program.jacobian_pattern] = slopes
    C[program.m :] = np.eye(program.n)
    bounds = (
        np.concatenate([program.g_lower, program.x_lower]),
        np.concatenate([program.g_upper, program.x_upper]),
    )
    return Point(program.objective(), gradient, np.concatenate([g, x]), C, *bounds)


def find_optimum(program: Program, x: Floats, multipliers: Multipliers | None) -> ActiveSet:
    """The optimum near x. Raises NotConverged if it is no minimum, or the active set unclear."""
    near, y = _solve_tightly(program, x, multipliers)
    for clear in CLEAR:
        optimum = ActiveSet(program, near, y, clear)
        if not len(optimum.wrong) and optimum.step < SETTLED:
            break
    else:
        doubtful = optimum.listed(optimum.wrong if len(optimum.wrong) else optimum.soft)
        raise NotConverged(
            f"{program.problem.name!r}: it cannot be decided which limits are active"
            f"{f' ({doubtful})' if doubtful else ''}; solve again with a smaller tolerance, or "
            "change the task so that these are clearly active or not"
        )
    if optimum.null_space.is_indefinite:
        raise NotConverged(
            f"{program.problem.name!r}: the solution is no minimum: the objective decreases to "
            "second order along some direction; solve again from another guess"
        )
    return optimum


class ActiveSet:
    """The optimum of a program, its active rows and bounds, and its factored KKT system.

    x, y      variables; multipliers of rows and variables (positive at an upper bound)
    rows      indices of the active rows and bounds, equations included
    soft      indices of those that are neither active nor inactive
    weak      indices of those that may be either
    at_lower  which of all are at their lower bound; `at_upper`: at their upper
    wrong     indices of those that cannot be as assumed
    step      the last Newton step, relative to the scales of the variables
    """

    def __init__(self, program: Program, x: Floats, y: Floats, clear: float) -> None:
        self.program, self.x = program, x
        self.scale = np.concatenate([program.g_scale, program.x_scale])
        self.point = evaluate(program, x)
        self.size = _size(program, self.point)
        self._choose(y, clear)
        for _ in range(STEPS):
            self._factor()
            self.step = self._newton()
        self._factor()
        self._add_implied()
        self.wrong = self._find_wrong()

    # -- which rows -----------------------------------------------------------------------------

    def _choose(self, y: Floats, clear: float) -> None:
        """A bound is active if its scaled multiplier is larger than its scaled slack."""
        above, below = self._slacks()
        force = y * self.scale / self.size
        slack, force = np.where(force > 0.0, above, below), np.abs(force)
        self.equal = self.point.lower == self.point.upper
        unequal = ~self.equal & (slack < np.inf)
        hard = unequal & (force > clear * slack)
        between = unequal & ~hard & (clear * force >= slack) & (np.maximum(slack, force) < SMALL)
        self.soft: Ints = np.flatnonzero(between & (clear > 1.0))
        self.at_upper = (hard | between) & (y > 0.0)
        self.at_lower = (hard | between) & (y < 0.0)
        self.is_active = self.equal | hard
        self.rows: Ints = np.flatnonzero(self.is_active)
        close = (slack < DOUBTFUL * force) & (force < DOUBTFUL * slack)
        self.weak: Ints = np.flatnonzero(unequal & close & (np.maximum(slack, force) < SMALL))
        self.y = np.where(self.is_active, y, 0.0)
        self.y[self.soft] = y[self.soft]
        self._product = np.abs(y * self.scale)[self.soft] * slack[self.soft]

    def _add_implied(self) -> None:
        """Count bounds that are met because others are as active: they depend on those."""
        above, below = self._slacks()
        idle = ~self.is_active
        idle[self.soft] = False
        touching = np.flatnonzero(idle & (np.minimum(above, below) < TOUCHING))
        slopes = self.point.C[touching] * self.program.x_scale
        slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
        follows = self.null_space.spans(slopes)
        self.weak = np.union1d(self.weak, touching[~follows])
        implied = touching[follows]
        if len(implied):
            self.at_upper[implied] = above[implied] < below[implied]
            self.at_lower[implied] = ~self.at_upper[implied]
            self.is_active[implied] = True
            self.rows = np.flatnonzero(self.is_active)
            self._factor()
        # multipliers of rows that depend on each other are not unique: nothing follows from them
        self.weak = np.setdiff1d(self.weak, self.rows[self.null_space.related])

    def _find_wrong(self) -> Ints:
        outside = ~self.is_active & (np.minimum(*self._slacks()) < -TOUCHING)
        pulled = (self.at_upper & (self.y < 0.0)) | (self.at_lower & (self.y > 0.0))
        unique = np.zeros(len(self.y), bool)  # rows may also depend on soft ones
        unique[self.rows[~self.null_space.related]] = not len(self.soft)
        return np.flatnonzero((unique & pulled) | outside)

    def _slacks(self) -> tuple[Floats, Floats]:
        """Scaled distances from the upper and the lower bounds."""
        point = self.point
        return (point.upper - point.c) / self.scale, (point.c - point.lower) / self.scale

    # -- the KKT system -------------------------------------------------------------------------

    def _factor(self) -> None:
        program, scale, C = self.program, self.program.x_scale, self.point.C
        rows, columns = program.hessian_pattern
        values = np.empty(len(rows))
        program.hessian(1.0, self.y[: program.m], values)
        W = np.zeros((program.n, program.n))
        W[rows, columns] = W[columns, rows] = values
        largest = _largest(W * scale * scale[:, None]) / self.size
        W += (C[self.soft].T * self._stiffness()) @ C[self.soft]
        A = C[self.rows] * scale
        self._length = np.linalg.norm(A, axis=1)
        self.null_space = NullSpace(
            W * scale * scale[:, None] / self.size, A / self._length[:, None], FLAT * largest
        )

    def _stiffness(self) -> Floats:
        """d multiplier / d row of the soft rows, whose slack times multiplier is constant."""
        return np.asarray(self.y[self.soft] ** 2 / self._product)

    def solve(self, gradient: Floats, gap: Floats) -> tuple[Floats, Floats]:
        """Changes dx (n, P) and dy (m + n, P) that undo those of the gradient of the Lagrangian
        (n, P) and of rows and variables relative to their bounds (m + n, P).
        """
        C, scale = self.point.C[self.soft], self.program.x_scale[:, None]
        stiffness, independent = self._stiffness()[:, None], self.null_space.independent
        r = -gradient - C.T @ (stiffness * gap[self.soft])
        b = -gap[self.rows] / self._length[:, None]
        dx, dy = self.null_space.solve(r * scale / self.size, b)
        dx = dx * scale
        every = np.zeros((len(self.y), r.shape[1]))
        every[self.rows[independent]] = dy * self.size / self._length[independent, None]
        every[self.soft] = stiffness * (C @ dx + gap[self.soft])
        return dx, every

    def _newton(self) -> float:
        point = self.point
        gap = np.where(self.at_lower, point.c - point.lower, point.c - point.upper)
        gap[~self.is_active] = 0.0  # the soft rows are where they should be
        gradient = point.gradient + point.C.T @ self.y
        dx, dy = self.solve(gradient[:, None], gap[:, None])
        self.x = self.x + dx[:, 0]
        self.y = self.y + dy[:, 0]
        self.point = evaluate(self.program, self.x)
        return _largest(dx[:, 0] / self.program.x_scale)

    # -- names ----------------------------------------------------------------------------------

    def names(self, rows: Ints) -> tuple[str, ...]:
        """The names of rows, and of variables that are at their bounds."""
        m = self.program.m
        return tuple(
            self.program.g_name(int(i)) if i < m else self.program.x_name(int(i - m)) for i in rows
        )

    def listed(self, rows: Ints) -> str:
        """Some of these names in a message."""
        return listed(self.names(rows), NAMED)


def _solve_tightly(
    program: Program, x: Floats, multipliers: Multipliers | None
) -> tuple[Floats, Floats]:
    """The optimum near x and its multipliers, as exactly as rounding permits."""
    program.f_scale = SHARP * _size(program, evaluate(program, x))
    if multipliers is None:
        multipliers = Multipliers(np.zeros(program.m), *np.zeros((2, program.n)))
    result = solve_nlp(program, x, TIGHT, multipliers)
    found = result.multipliers
    return result.x, np.concatenate([found.g, found.x_upper - found.x_lower])


def _size(program: Program, point: Point) -> float:
    """The size of the objective and of its changes over the scales of the variables."""
    size = max(abs(point.f), _largest(point.gradient * program.x_scale))
    return size if 0.0 < size < np.inf else 1.0


def _largest(values: Floats) -> float:
    return float(np.abs(values).max(initial=0.0))
