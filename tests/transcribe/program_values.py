"""Values of a program as plain matrices, and those of the CasADi formulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from oracles.casadi_program import casadi_program
from predyn.problem import Constraint, Problem, row_bounds
from predyn.transcribe.spline import SplineProgram


class Values(NamedTuple):
    """Everything at one point; the Hessian is that of sigma f + multipliers . g, symmetric."""

    f: float
    gradient: np.ndarray
    g: np.ndarray
    jacobian: np.ndarray
    hessian: np.ndarray


def values(program: SplineProgram, x: np.ndarray, sigma: float, multipliers: np.ndarray) -> Values:
    """Values of our program; outputs are filled with NaN first to detect missing entries."""
    gradient, g = np.full(program.n, np.nan), np.full(program.m, np.nan)
    rows, columns = program.jacobian_pattern
    lower, left = program.hessian_pattern
    jacobian, hessian = np.full(len(rows), np.nan), np.full(len(lower), np.nan)
    program.move(x)
    f = program.objective()
    program.gradient(gradient)
    program.constraints(g)
    program.jacobian(jacobian)
    program.hessian(sigma, multipliers, hessian)
    H = dense(hessian, lower, left, (program.n, program.n))
    J = dense(jacobian, rows, columns, (program.m, program.n))
    return Values(f, gradient, g, J, H + np.tril(H, -1).T)


def dense(data: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple) -> np.ndarray:
    return csr_array((data, (rows, columns)), shape=shape).toarray()


def declared(pattern: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """A pattern as a matrix of flags; each entry must occur once."""
    count = dense(np.ones(len(pattern[0])), *pattern, shape)
    assert count.max(initial=0.0) <= 1.0
    return count > 0.0


class Oracle:
    """The CasADi program of a problem, with variables and rows in the order of ours."""

    def __init__(self, problem: Problem, ours: SplineProgram) -> None:
        self.program = casadi_program(_with_bounds(problem))
        self.free = self.program.free
        assert len(self.free) == ours.n
        wanted = keys(ours.g_quantity(i) for i in range(ours.m))
        found = {key: k for k, key in enumerate(keys(row.label for row in self.program.rows))}
        assert sorted(wanted) == sorted(found)
        self.order = np.array([found[key] for key in wanted], int)
        for bound in ("lower", "upper"):
            theirs = getattr(self.program, f"g_{bound}")[self.order]
            assert np.array_equal(theirs, getattr(ours, f"g_{bound}"))
            theirs = getattr(self.program, f"x_{bound}")[self.free]
            assert np.array_equal(theirs, getattr(ours, f"x_{bound}"))

    def full(self, x: np.ndarray) -> np.ndarray:
        """With the fixed control points."""
        result = self.program.x_lower.copy()
        result[self.free] = x
        return result

    def values(self, x: np.ndarray, sigma: float, multipliers: np.ndarray) -> Values:
        functions, at = self.program.functions, self.full(x)
        theirs = np.empty(len(multipliers))
        theirs[self.order] = multipliers
        lower = functions.hessian(at, sigma, theirs).full()[np.ix_(self.free, self.free)]
        return Values(
            float(functions.f(at)),
            functions.gradient(at).full().ravel()[self.free],
            functions.g(at).full().ravel()[self.order],
            functions.jacobian(at).full()[np.ix_(self.order, self.free)],
            lower + np.tril(lower, -1).T,
        )


def keys(names: Iterable[str]) -> list[tuple[str, int]]:
    """Each name with the count of its occurrences so far: instants go in order of time."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        result.append((name, seen[name]))
        seen[name] += 1
    return result


def _with_bounds(problem: Problem) -> Problem:
    """The problem with the default bounds of terms made explicit."""

    def given(constraint: Constraint) -> Constraint:
        lower, upper = row_bounds(
            constraint.lower, constraint.upper, constraint.term.bind(problem.model)
        )
        return replace(constraint, lower=lower, upper=upper)

    return replace(problem, constraints=tuple(given(c) for c in problem.constraints))
