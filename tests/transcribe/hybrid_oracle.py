"""The CasADi formulation of a program with integrated joints, with rows in the order of ours."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from oracles.casadi_hybrid import casadi_hybrid
from predyn.problem import Problem
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program
from transcribe.program_values import Values, values


class HybridOracle:
    """Rows are matched by quantity and order in time; variables have the same order."""

    def __init__(self, problem: Problem, ours: Program) -> None:
        self.program = theirs = casadi_hybrid(problem)
        wanted, found = by_time(ours), defaultdict(list)
        for k, row in enumerate(theirs.rows):
            found[row.label].append(k)
        counts = [{x: len(rows) for x, rows in each.items()} for each in (wanted, found)]
        assert counts[0] == counts[1]
        self.order = np.empty(ours.m, int)
        for label, rows in wanted.items():
            self.order[rows] = found[label]
        for bound in ("x_lower", "x_upper"):
            assert np.array_equal(getattr(theirs, bound), getattr(ours, bound))
        for bound in ("g_lower", "g_upper"):
            assert np.array_equal(getattr(theirs, bound)[self.order], getattr(ours, bound))

    def values(self, x: np.ndarray, sigma: float, multipliers: np.ndarray) -> Values:
        functions = self.program.functions
        weights = np.empty(len(multipliers))
        weights[self.order] = multipliers
        lower = functions.hessian(x, sigma, weights).full()
        return Values(
            float(functions.f(x)),
            functions.gradient(x).full().ravel(),
            functions.g(x).full().ravel()[self.order],
            functions.jacobian(x).full()[self.order],
            lower + np.tril(lower, -1).T,
        )


def by_time(program: Program) -> dict[str, list[int]]:
    """Numbers of the constraints of each quantity, in order of time."""
    rows = defaultdict(list)
    for i in range(program.m):
        rows[program.g_quantity(i)].append((program.g_instant(i) or (0, 0.0), i))
    return {name: [i for _, i in sorted(instants)] for name, instants in rows.items()}


class HybridCase:
    """A program and its oracle, both at a few points."""

    def __init__(self, problem: Problem, points: int = 2) -> None:
        self.problem, self.program = problem, transcribe(problem)
        self.oracle = HybridOracle(problem, self.program)
        rng = np.random.default_rng(len(problem.name))
        self.points = []
        for _ in range(points):
            x = 0.4 * rng.standard_normal(self.program.n)
            for phase in self.program.phases:
                if phase.T_column >= 0:
                    x[phase.T_column] = rng.uniform(1.0, 1.6)
            sigma, multipliers = rng.uniform(0.5, 2.0), rng.standard_normal(self.program.m)
            self.points.append((x, sigma, multipliers / self.program.g_scale))
        self.pairs = [
            (values(self.program, *point), self.oracle.values(*point)) for point in self.points
        ]
        self.sizes = [
            np.max([np.abs(np.atleast_2d(x)).max(axis=1, initial=0.0) for x in several], axis=0)
            for several in zip(*(theirs for _, theirs in self.pairs), strict=True)
        ]

    def errors(self) -> dict[str, float]:
        """Largest difference of each kind of value, as a share of the largest in its row.

        For constraints their scale counts too: small torques are differences of larger ones.
        """
        scale = self.program.g_scale
        sizes = [*self.sizes[:2], np.ones(1), self.sizes[3] + scale, self.sizes[4]]
        worst = dict.fromkeys(Values._fields, 0.0)
        for ours, theirs in self.pairs:
            whole = scale + np.abs(theirs.g)
            ours, theirs = (x._replace(g=x.g / whole) for x in (ours, theirs))
            for name, mine, other, size in zip(Values._fields, ours, theirs, sizes, strict=True):
                apart = np.abs(np.atleast_2d(mine) - other)
                assert np.all(np.isfinite(apart))
                error = apart / np.where(size > 0.0, size, 1.0)[:, None]
                worst[name] = max(worst[name], float(error.max(initial=0.0)))
        return worst
