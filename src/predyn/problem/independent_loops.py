"""Which equations of closed loops a problem imposes: independent ones, by their rank.

Equations of some linkages, such as a beam on three parallel bars, depend on each other wherever the
loops are closed and nowhere else: the rank is that of closed poses near the given ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.loop_closing import newton_steps
from predyn.dynamics.loop_rank import independent_equations
from predyn.model import Model
from predyn.model.loops import POSITION, Loop, named_loops
from predyn.problem.check_phases import numbers

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

Floats = NDArray[np.float64]
POSES = 8  # at which the equations are compared
NEAR = 0.05  # rad or m, of these poses from those given
MOST_STEPS, CLOSED, FAR = 30, 1e-9, 0.5  # of closing them: steps, gap (m or rad), way (m or rad)


class Kept(NamedTuple):
    """The independent equations of a loop."""

    loop: Loop
    equations: tuple[str, ...]
    phases: tuple[int, ...]  # in which it is closed

    @property
    def held(self) -> tuple[str, ...]:
        """Axes of the world along which a force acts."""
        return tuple(x for x in self.equations if x in POSITION)

    @property
    def turned(self) -> tuple[str, ...]:
        """Equations of rotations."""
        return tuple(x for x in self.equations if x not in (*POSITION, "distance"))


def loops_of(problem: Problem, p: int) -> tuple[Loop, ...]:
    """The loops that are closed in phase p."""
    return named_loops(problem.model, problem.phases[p].loops)


def independent_loops(problem: Problem) -> list[Kept]:
    """The independent equations of the loops of a problem, near its guess."""
    phases = range(len(problem.phases))
    closed = {loop.name: loop for p in phases for loop in loops_of(problem, p)}
    where = {
        name: tuple(p for p in phases if name in [x.name for x in loops_of(problem, p)])
        for name in closed
    }
    kept: dict[str, list[str]] = {name: [] for name in closed}
    q = poses_near(problem)
    for together in dict.fromkeys(tuple(x.name for x in loops_of(problem, p)) for p in phases):
        new = [name for name in together if not kept[name]]
        if new:
            near = _closed(problem.model, [closed[name] for name in together], q)
            for name in independent_equations(problem.model, near, loops=together).names:
                loop = next(x for x in together if name in closed[x].equations)
                if loop in new:
                    kept[loop].append(name.removeprefix(f"{loop} "))
    return [Kept(closed[name], tuple(kept[name]), where[name]) for name in closed]


def poses_near(problem: Problem) -> Floats:
    """Poses near those that a problem gives, away from singular ones."""
    n, guess = problem.model.n, problem.guess
    found = []
    for phase in problem.phases:
        for state in (phase.start, phase.end):
            if state.q is not None:
                q = np.broadcast_to(np.asarray(state.q, float), (n,))
                found.append(np.where(np.isfinite(q), q, 0.0))
    curve = guess[1] if isinstance(guess, tuple | list) and len(guess) == 2 else None
    guessed = numbers(getattr(guess, "q", curve))
    if guessed is not None and guessed.ndim == 2 and guessed.shape[1] == n:
        found += [*guessed[np.isfinite(guessed).all(axis=1)]]
    given = np.array(found or [np.zeros(n)])
    chosen = given[np.linspace(0, len(given) - 1, POSES).round().astype(int)]
    away = np.random.default_rng(0).uniform(-NEAR, NEAR, chosen.shape)
    return np.asarray(chosen + away)


def _closed(model: Model, loops: Sequence[Loop], q: Floats) -> Floats:
    """Closed poses near q (K, n); q itself if none is found."""
    found, left, _ = newton_steps(model, loops, q, MOST_STEPS)
    near = (left <= CLOSED) & (np.abs(found - q).max(axis=1) <= FAR)
    return found[near] if near.any() else q
