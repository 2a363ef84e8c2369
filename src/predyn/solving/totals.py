"""Iterations and seconds of all solves that led to a solution."""

from __future__ import annotations

from predyn.nlp import SolverOptions
from predyn.solution import Solution
from predyn.solution.later_samples import revised


class Totals:
    """Sums over solves, including those whose motion is not used."""

    def __init__(self, *solutions: Solution) -> None:
        self.iterations = 0
        self._timings: dict[str, float] = {}
        for solution in solutions:
            self.add(solution)

    def add(self, solution: Solution) -> None:
        self.iterations += solution.iterations
        for name, seconds in solution.timings.items():
            self._timings[name] = self._timings.get(name, 0.0) + seconds

    @property
    def seconds(self) -> float:
        return self._timings.get("solve", 0.0)

    def seconds_left(self, options: SolverOptions) -> float | None:
        """Of max_seconds; None if that is unlimited."""
        return None if options.max_seconds is None else options.max_seconds - self.seconds

    def of(self, solution: Solution) -> Solution:
        """The solution with the sums in place of its own numbers."""
        return revised(
            solution,
            iterations=self.iterations,
            timings=dict(self._timings),
            solve_seconds=self.seconds,
        )
