"""The active set of a solution, and its optimality (KKT) system

    [ W   A^T ] [ dx ]   [ r ]
    [ A    0  ] [ dy ] = [ b ]

W is the Hessian of the Lagrangian and A contains the slopes of the active rows and bounds. It is
solved by the null-space method (Nocedal and Wright 2006, section 16.2), which also reveals rows
that depend on each other, directions in which nothing changes to second order, and directions of
negative curvature. Matrices are dense: a program of 1000 unknowns takes about a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import NotConverged
from predyn.nlp import Multipliers, SolverOptions
from predyn.solvers.ipopt import solve_nlp
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Slacks and multipliers of an interior point have a constant product. An error of the objective
# that is this much smaller than usual separates them well, down to 1e-7 of their scales.
TIGHT = SolverOptions(tolerance=1e-12, max_iterations=50, mu_init=1e-9)
SHARP = 1e-2  # scale of the objective in the last solve, relative to its size
CLEAR = 1e3  # ratio of slack and multiplier that leaves no doubt which one is zero
SMALL = 1e-3  # scaled slacks and multipliers above this are not zero
DEPENDENT = 1e-9  # pivots of rows of length 1 below this count as zero
FLAT = 1e-10  # curvatures below this, relative to the largest entry of W, count as zero
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


class NullSpace:
    """Factors of the KKT matrix, for W (n, n) and active slopes A (k, n), both scaled."""

    def __init__(self, W: Floats, A: Floats) -> None:
        from scipy.linalg import qr

        self._W, n = W, len(W)
        Q, R, order = qr(A.T, pivoting=True)  # A[order].T = Q R
        pivots = np.abs(np.diag(R))
        rank = int(np.sum(pivots > DEPENDENT * pivots.max(initial=0.0)))
        self.independent: Ints = order[:rank]
        self._Y, self._Z, self._R = Q[:, :rank], Q[:, rank:n], R[:rank, :rank]
        Z = self._Z
        shares = np.linalg.solve(self._R, R[:rank, rank:]) if rank else np.zeros((0, len(A)))
        related = np.abs(shares).max(axis=1, initial=0.0) > DEPENDENT
        self.related = np.ones(len(A), bool)  # whether a row takes part in a dependency
        self.related[self.independent] = related
        curvature, V = np.linalg.eigh(Z.T @ W @ Z)
        least = FLAT * float(np.abs(W).max(initial=0.0))
        self.least_curvature = float(curvature.min(initial=np.inf)) / (least / FLAT or 1.0)
        flat = np.abs(curvature) <= least
        self._curved, self._curvature = (Z @ V)[:, ~flat], curvature[~flat]
        self.flat = (Z @ V)[:, flat]  # directions in which the optimum is not determined

    def spans(self, slopes: Floats) -> Flags:
        """Whether slopes (k, n) of length 1 are combinations of those in A."""
        return np.asarray(np.linalg.norm(slopes @ self._Z, axis=1) <= DEPENDENT)

    def solve(self, r: Floats, b: Floats) -> tuple[Floats, Floats]:
        """dx (n, ...) without its part along flat directions, and dy of the independent rows."""
        W, Y, R = self._W, self._Y, self._R
        dx = Y @ np.linalg.solve(R.T, b[self.independent])
        reduced = self._curved.T @ (r - W @ dx)
        dx = dx + self._curved @ (reduced.T / self._curvature).T
        return dx, np.linalg.solve(R, Y.T @ (r - W @ dx))


class ActiveSet:
    """The optimum of a program, its active rows and bounds, and its factored KKT system.

    x, y     variables; multipliers of rows and variables (positive at an upper bound)
    rows     indices of the active rows and bounds, equations included
    at       their bounds
    weak     indices of those for which slack and multiplier are both small
    moved    distance of x from the given point, relative to the scales of the variables
    """

    def __init__(self, program: Program, x: Floats, multipliers: Multipliers | None) -> None:
        self.program = program
        given = x
        x, y = _solve_tightly(program, x, multipliers)
        self.scale = np.concatenate([program.g_scale, program.x_scale])
        point = evaluate(program, x)
        self.size = _size(program, point)
        self._choose(point, y)
        self.x, self.y = x, np.where(self.is_active, y, 0.0)
        for _ in range(STEPS):
            self._factor(point)
            step = self._newton(point)
            point = evaluate(program, self.x)
        self.step = step
        self.point = point
        self._factor(point)
        self._add_implied(point)
        self.moved = _largest((self.x - given) / program.x_scale)
        self._confirm()

    def _choose(self, point: Point, y: Floats) -> None:
        """A bound is active if its scaled multiplier exceeds its scaled slack."""
        above, below = (point.upper - point.c) / self.scale, (point.c - point.lower) / self.scale
        force = y * self.scale / self.size
        self.equal = point.lower == point.upper
        self.at_upper = ~self.equal & (force > above)
        self.at_lower = ~self.equal & (-force > below)
        self.is_active = self.equal | self.at_upper | self.at_lower
        self.rows: Ints = np.flatnonzero(self.is_active)
        slack, force = np.minimum(above, below), np.abs(force)
        unclear = (slack < CLEAR * force) & (force < CLEAR * slack)
        self.weak: Ints = np.flatnonzero(~self.equal & unclear & (np.maximum(slack, force) < SMALL))

    def _add_implied(self, point: Point) -> None:
        """Count bounds that are met because others are as active: they depend on those."""
        above, below = (point.upper - point.c) / self.scale, (point.c - point.lower) / self.scale
        touching = np.flatnonzero(~self.is_active & (np.minimum(above, below) < TOUCHING))
        slopes = point.C[touching] * self.program.x_scale
        slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)
        follows = self.null_space.spans(slopes)
        self.weak = np.union1d(self.weak[self.is_active[self.weak]], touching[~follows])
        implied = touching[follows]
        if len(implied):
            self.at_upper[implied] = above[implied] < below[implied]
            self.at_lower[implied] = ~self.at_upper[implied]
            self.is_active[implied] = True
            self.rows = np.flatnonzero(self.is_active)
            self._factor(point)
        # multipliers of rows that depend on each other are not unique: nothing follows from them
        self.weak = np.setdiff1d(self.weak, self.rows[self.null_space.related])

    def bounds(self, point: Point) -> Floats:
        """The bound at which each active row or variable is."""
        return np.where(self.at_lower, point.lower, point.upper)[self.rows]

    def _factor(self, point: Point) -> None:
        program, scale = self.program, self.program.x_scale
        rows, columns = program.hessian_pattern
        values = np.empty(len(rows))
        program.hessian(1.0, self.y[: program.m], values)
        W = np.zeros((program.n, program.n))
        W[rows, columns] = W[columns, rows] = values
        A = point.C[self.rows] * scale
        self._length = np.linalg.norm(A, axis=1)
        self.null_space = NullSpace(
            W * scale * scale[:, None] / self.size, A / self._length[:, None]
        )

    def solve(self, r: Floats, b: Floats) -> tuple[Floats, Floats]:
        """dx (n, P) and dy (m + n, P) for right-hand sides r (n, P) and b (active, P)."""
        scale, independent = self.program.x_scale[:, None], self.null_space.independent
        dx, dy = self.null_space.solve(r * scale / self.size, b / self._length[:, None])
        every = np.zeros((len(self.y), r.shape[1]))
        every[self.rows[independent]] = dy * self.size / self._length[independent, None]
        return dx * scale, every

    def _newton(self, point: Point) -> float:
        r = -(point.gradient + point.C.T @ self.y)
        b = self.bounds(point) - point.c[self.rows]
        dx, dy = self.solve(r[:, None], b[:, None])
        self.x = self.x + dx[:, 0]
        self.y = self.y + dy[:, 0]
        return _largest(dx[:, 0] / self.program.x_scale)

    def slack(self) -> Floats:
        """Scaled distance of rows and variables from their bounds."""
        point = self.point
        gap = np.minimum(point.c - point.lower, point.upper - point.c)
        return np.asarray(gap / self.scale)

    def _confirm(self) -> None:
        """Raise NotConverged unless this is a minimum with this active set."""
        name = self.program.problem.name
        force = self.y * self.scale / self.size
        sure = np.zeros(len(force), bool)
        sure[self.rows[~self.null_space.related]] = True
        wrong = sure & ((self.at_upper & (force < 0.0)) | (self.at_lower & (force > 0.0)))
        wrong |= ~self.is_active & (self.slack() < -TOUCHING)
        if wrong.any() or not self.step < SETTLED:
            doubtful = self.listed(np.flatnonzero(wrong) if wrong.any() else self.weak)
            raise NotConverged(
                f"{name!r}: it cannot be decided which limits are active"
                f"{f' ({doubtful})' if doubtful else ''}; solve again with a smaller tolerance, or "
                "change the task so that these are clearly active or not"
            )
        if self.null_space.least_curvature < -FLAT:
            raise NotConverged(
                f"{name!r}: the solution is no minimum: the objective decreases to second order "
                "along some direction; solve again from another guess"
            )

    def names(self, rows: Ints) -> tuple[str, ...]:
        """The names of rows, and of variables that are at their bounds."""
        m = self.program.m
        return tuple(
            self.program.g_name(int(i)) if i < m else self.program.x_name(int(i - m)) for i in rows
        )

    def listed(self, rows: Ints) -> str:
        """Some of these names in a message."""
        more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
        return ", ".join(self.names(rows[:NAMED])) + more


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
