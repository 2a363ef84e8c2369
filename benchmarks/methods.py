"""Splines, shooting and discrete mechanics on the same problems: cost, size and time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import predyn
from predyn.config import read_task
from predyn.problem import Dmoc, Hybrid, Problem, Spline
from predyn.terms import Smoothness

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from discrete_cases import SWING, swing_up, turn_crank, two_link


class Row(NamedTuple):
    problem: str
    method: str
    status: str
    variables: int
    iterations: int
    objective: float
    seconds: float


def _problems() -> Iterator[tuple[str, Problem, list[Spline]]]:
    """Name, problem and the methods that it is solved with."""
    splines = [Spline(degree=5, segments=n) for n in (10, 20, 40)]
    discrete = [Dmoc(steps=n) for n in (20, 40, 80)] + [
        Dmoc(steps=n, order=4) for n in (10, 20, 40)
    ]
    yield "two links, effort", two_link(splines[0]), [*splines, *discrete]
    lifting = read_task("two-link-lifting").problem
    hybrid = [Hybrid(segments=n, steps=4) for n in (10, 20, 40)]
    yield "two-link-lifting", lifting, [*splines, *hybrid, *discrete]
    swing = swing_up(Dmoc(steps=240), (SWING[:, 0], SWING[:, 1:]))
    fine = [Dmoc(steps=n) for n in (120, 240)] + [Dmoc(steps=n, order=4) for n in (60, 120)]
    yield "acrobot", swing, [*(Hybrid(segments=n) for n in (40, 80)), *fine]
    yield "four-bar", turn_crank(discrete[0]), [*splines, *discrete]
    walker = read_task("planar-walker").problem
    kept = tuple(cost for cost in walker.costs if not isinstance(cost.term, Smoothness))
    few = [Dmoc(steps=n) for n in (8, 16, 32)] + [Dmoc(steps=n, order=4) for n in (4, 8, 16)]
    yield "planar walker", replace(walker, costs=kept), [*splines[:2], *few]


def rows() -> Iterator[Row]:
    for name, problem, methods in _problems():
        for method in methods:
            stated = replace(problem, transcription=method, solver=predyn.SolverOptions())
            predyn.solve(stated, verbose=False)  # compiles
            found = predyn.solve(stated, verbose=False)
            size = getattr(method, "steps", None) or method.segments
            order = f" order {method.order}" if isinstance(method, Dmoc) else ""
            label = f"{method.method}{order} {method.segments if not order else size}"
            yield Row(name, label, found.status, found.n_variables, found.iterations,
                      found.objective, found.solve_seconds)  # fmt: skip


def main() -> None:
    for row in rows():
        what = f"{row.problem:20} {row.method:18} {row.status:15} {row.variables:6d}"
        figures = f"{row.iterations:4d} {row.objective:14.8f} {1e3 * row.seconds:9.1f} ms"
        print(what, figures, flush=True)


if __name__ == "__main__":
    main()
