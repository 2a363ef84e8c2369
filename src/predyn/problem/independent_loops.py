"""Which equations of closed loops a problem imposes: independent ones in each phase.

An equation that follows from those of another loop is needed once that loop is open, so the choice
differs between phases. Loops that are closed in the phase before come first: where phases meet,
their equations hold already.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.loop_closing import close_loops
from predyn.dynamics.loop_rank import independent_equations
from predyn.errors import NotConverged
from predyn.model import Model
from predyn.model.loops import EQUATIONS, POSITION, Loop, named_loops
from predyn.problem.problem import Problem

POSES = 8  # at which the equations are compared
NEAR = 0.05  # rad or m, of these poses from those given

Floats = NDArray[np.float64]


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
    q, before = given_poses(problem), tuple[Loop, ...]()
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
    names = independent_equations(alone, _closed(alone, q)).names
    return {
        loop.name: tuple(x for x in EQUATIONS[loop.kind] if f"{loop.name} {x}" in names)
        for loop in loops
    }


def _closed(model: Model, q: Floats) -> Floats:
    """Poses with closed loops near some of (K, n): those that close, or all as they are.

    Some linkages have more independent equations in open poses than in closed ones.
    """
    with suppress(NotConverged):
        return close_loops(model, q)
    found = []
    for pose in q:
        with suppress(NotConverged):
            found.append(close_loops(model, pose))
    return np.array(found) if found else q


def given_poses(problem: Problem) -> Floats:
    """Poses near those that a problem gives, away from singular ones."""
    n, guess = problem.model.n, problem.guess
    found = []
    for phase in problem.phases:
        for state in (phase.start, phase.end):
            if state.q is not None:
                q = np.broadcast_to(np.asarray(state.q, float), (n,))
                found.append(np.where(np.isfinite(q), q, 0.0))
    if isinstance(guess, tuple | list) and len(guess) == 2:
        found += [*np.asarray(guess[1], float).reshape(-1, n)]
    elif hasattr(guess, "q"):
        found += [*np.asarray(guess.q, float).reshape(-1, n)]
    given = np.array(found or [np.zeros(n)])
    chosen = given[np.linspace(0, len(given) - 1, POSES).round().astype(int)]
    away = np.random.default_rng(0).uniform(-NEAR, NEAR, chosen.shape)
    return np.asarray(chosen + away)
