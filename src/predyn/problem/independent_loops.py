"""Which equations of closed loops a problem imposes: independent ones in each phase, by their rank.

An equation that follows from those of another loop is needed once that loop is open, so the choice
differs between phases. Loops that are closed in the phase before come first: where phases meet,
their equations hold already.

Equations of some linkages, such as a beam on three parallel bars, depend on each other wherever the
loops are closed and nowhere else: the rank is that of closed poses near the given ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.loop_closing import newton_steps
from predyn.dynamics.loop_rank import independent_equations
from predyn.model import Model
from predyn.model.loops import EQUATIONS, POSITION, Loop, named_loops
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
    imposed: dict[int, tuple[str, ...]]  # in each phase in which it is closed

    @property
    def equations(self) -> tuple[str, ...]:
        """Those of any phase."""
        every = {x for equations in self.imposed.values() for x in equations}
        return tuple(x for x in EQUATIONS[self.loop.kind] if x in every)

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
    q, before = poses_near(problem), tuple[Loop, ...]()
    chosen: dict[tuple[Loop, ...], dict[str, tuple[str, ...]]] = {}
    kept: dict[str, Kept] = {}
    for p in range(len(problem.phases)):
        closed = loops_of(problem, p)
        order = tuple(sorted(closed, key=lambda loop: loop not in before))
        if order not in chosen:
            chosen[order] = _choose(problem.model, order, q)
        for loop in closed:
            kept.setdefault(loop.name, Kept(loop, {})).imposed[p] = chosen[order][loop.name]
        before = closed
    return list(kept.values())


def _choose(model: Model, loops: tuple[Loop, ...], q: Floats) -> dict[str, tuple[str, ...]]:
    """Independent equations of each of the loops, those of earlier loops first."""
    alone = replace(model, loops=loops)
    names = independent_equations(alone, _closed(alone, loops, q)).names
    return {
        loop.name: tuple(x for x in EQUATIONS[loop.kind] if f"{loop.name} {x}" in names)
        for loop in loops
    }


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
