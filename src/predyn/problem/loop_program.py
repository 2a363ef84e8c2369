"""Closed loops written out as signals, forces and constraints, which any program understands.

The forces that hold a loop are signals: a force in world axes at both frames, with opposite signs,
and for welds a moment in the axes of the frames. The moment of a hinge and the force of a distance
have given directions; these are equations of their own, with multipliers as further signals.

Only independent equations are imposed, and only their forces are unknown. At an end where a loop is
not given at rest and does not go on in the neighbouring phase, the rates of its equations are zero
too: the impulse of its forces there would otherwise be undetermined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.loop_rank import independent_equations
from predyn.kernels.forces import ExternalForce
from predyn.model.loops import EQUATIONS, POSITION, Loop, named_loops
from predyn.problem.loop_guess import carrying_forces
from predyn.problem.offers import phase_name
from predyn.problem.problem import At, Constraint, Dmoc, Points, Problem, State
from predyn.problem.system import System
from predyn.problem.unknowns import Signal
from predyn.terms.loops import LoopClosure, LoopForce, LoopRate

AXES = "xyz"
POSES = 8  # at which the equations are compared
NEAR = 0.05  # rad or m, of these poses from those given
ARM = 0.5  # m, from the weight to the size of moments


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


def with_loops_written_out(problem: Problem) -> Problem:
    """The problem with its loops as signals, forces and constraints."""
    if not any(loops_of(problem, p) for p in range(len(problem.phases))):
        return problem
    return _Writer(problem).result()


def independent_loops(problem: Problem) -> list[Kept]:
    """The independent equations of the loops of a problem, near its guess."""
    phases = range(len(problem.phases))
    closed = {loop.name: loop for p in phases for loop in loops_of(problem, p)}
    where = {
        name: tuple(p for p in phases if name in [x.name for x in loops_of(problem, p)])
        for name in closed
    }
    kept: dict[str, list[str]] = {name: [] for name in closed}
    q = _poses(problem)
    for together in dict.fromkeys(tuple(x.name for x in loops_of(problem, p)) for p in phases):
        new = [name for name in together if not kept[name]]
        if new:
            for name in independent_equations(problem.model, q, loops=together).names:
                loop = next(x for x in together if name in closed[x].equations)
                if loop in new:
                    kept[loop].append(name.removeprefix(f"{loop} "))
    return [Kept(closed[name], tuple(kept[name]), where[name]) for name in closed]


def _poses(problem: Problem) -> NDArray[np.float64]:
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


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, problem.model
        self.kept = independent_loops(problem)
        weight = float(self.model.inertia[:, 0].sum() * np.linalg.norm(self.model.gravity))
        self.size = weight or 1.0
        self.discrete = isinstance(problem.transcription, Dmoc)
        poses = _poses(problem)
        self.guesses = [self._carrying(p, poses) for p in range(len(problem.phases))]

    def _carrying(self, p: int, poses: NDArray[np.float64]) -> dict[str, float]:
        """Guessed forces of the equations that are closed in phase p."""
        equations = {
            f"{kept.loop.name} {x}": 1.0 if x in (*POSITION, "distance") else ARM
            for kept in self.kept
            if p in kept.phases
            for x in kept.equations
        }
        return carrying_forces(self.problem, p, poses, equations)

    def result(self) -> Problem:
        problem, phases, systems = self.problem, [], dict(self.problem.systems)
        for p, phase in enumerate(problem.phases):
            own = [kept for kept in self.kept if p in kept.phases]
            system = System() if phase.system is None else problem.systems[phase.system]
            forces = problem.forces if system.forces is None else system.forces
            more = [force for kept in own for force in self._forces(kept)]
            rows = [row for kept in own for row in self._rows(kept, p)]
            name = phase_name(problem, p)
            key = f"{name}: loops"
            if own:
                systems[key] = replace(system, forces=(*forces, *more))
            phases.append(
                replace(
                    phase,
                    name=name,
                    system=key if own else phase.system,
                    constraints=(*phase.constraints, *rows),
                    loops=(),
                )
            )
        used = {phase.system for phase in phases}
        given = {phase.system for phase in problem.phases}
        signals = [signal for kept in self.kept for signal in self._signals(kept)]
        return replace(
            problem,
            phases=tuple(phases),
            systems={k: x for k, x in systems.items() if k in used or k not in given},
            signals=(*problem.signals, *signals),
        )

    # -- forces -------------------------------------------------------------------------------

    def _signals(self, kept: Kept) -> Iterator[Signal]:
        name, loop = kept.loop.name, kept.loop
        degree = 1 if self.discrete else max(self.problem.transcription.degree - 2, 1)
        where = tuple(phase_name(self.problem, p) for p in kept.phases)

        def signal(
            name: str,
            components: tuple[str, ...],
            free: list[bool],
            moment: bool,
            equations: Sequence[str] = (),
        ) -> Signal:
            open_ = np.where(free, np.inf, 0.0)
            size, unit = (ARM * self.size, "N m") if moment else (self.size, "N")
            guess = {
                where[k]: [self.guesses[p].get(f"{loop.name} {x}", 0.0) for x in equations]
                for k, p in enumerate(kept.phases)
            }
            return Signal(name, components, -open_, open_, guess=guess if equations else 0.0,
                          scale=size, unit=unit, degree=degree, phases=where,
                          continuity=0)  # fmt: skip

        if loop.kind == "distance":
            yield signal(name, tuple(AXES), [True] * 3, False)
            yield signal(tension(loop), ("tension",), [True], False)
            return
        if kept.held:
            yield signal(name, tuple(AXES), [x in kept.held for x in POSITION], False, POSITION)
        if loop.kind == "weld" and kept.turned:
            turns = EQUATIONS["weld"][3:]
            yield signal(moment(loop), tuple(AXES), [x in kept.turned for x in turns], True, turns)
        if loop.kind == "hinge" and kept.turned:
            yield signal(moment(loop), tuple(AXES), [True] * 3, True)
            yield signal(tilt(loop), kept.turned, [True] * len(kept.turned), True)

    def _forces(self, kept: Kept) -> Iterator[ExternalForce]:
        loop = kept.loop
        for frame, sign in ((loop.frame_a, ""), (loop.frame_b, "-")):
            if self.model.frame(frame).link < 0:
                continue
            if kept.held or loop.kind == "distance":
                yield ExternalForce(frame, force=f"{sign}{loop.name}")
            if kept.turned:
                axes = "link" if loop.kind == "weld" else "world"
                yield ExternalForce(frame, moment=f"{sign}{moment(loop)}", frame=axes)

    # -- equations ----------------------------------------------------------------------------

    def _rows(self, kept: Kept, p: int) -> Iterator[Constraint]:
        loop, phases = kept.loop, self.problem.phases
        if not kept.equations:
            return
        before, after = p - 1 in kept.phases, p + 1 in kept.phases
        first = carried_orders(self.problem) if before else 0
        if p == 0:
            first = known_orders(self.problem, phases[0].start)
        last = known_orders(self.problem, phases[-1].end) if p == len(phases) - 1 else 0
        points = Points("motion", first, last)
        closure = LoopClosure(loop.name, kept.equations)
        yield Constraint(closure, 0.0, 0.0, name="loop", imposed_at=points)
        if self.discrete:
            ends: tuple[tuple[At, bool, bool, State], ...] = (
                ("start", before, p == 0, phases[p].start),
                ("end", after, p == len(phases) - 1, phases[p].end),
            )
            for end, goes_on, outer, state in ends:
                if not goes_on and not (outer and _given(state.v, self.model.n)):
                    rate = LoopRate(loop.name, kept.equations)
                    yield Constraint(rate, 0.0, 0.0, at=end, name="loop rate")
        throughout = Points("motion")
        if loop.kind == "distance":
            force = LoopForce(loop.name, loop.name, tension(loop), kept.equations)
            yield Constraint(force, 0.0, 0.0, name="loop force", imposed_at=throughout)
        elif loop.kind == "hinge" and kept.turned:
            force = LoopForce(loop.name, moment(loop), tilt(loop), kept.turned)
            yield Constraint(force, 0.0, 0.0, name="loop moment", imposed_at=throughout)


def moment(loop: Loop) -> str:
    """The signal of a loop's moment."""
    return f"{loop.name} moment"


def tilt(loop: Loop) -> str:
    return f"{loop.name} tilt"


def tension(loop: Loop) -> str:
    return f"{loop.name} tension"


def carried_orders(problem: Problem) -> int:
    """How many points of an equality the continuity between two phases carries."""
    return 1 if isinstance(problem.transcription, Dmoc) else problem.continuity + 1


def known_orders(problem: Problem, state: State) -> int:
    """How many of q, v and a an end gives for all joints.

    For a discrete motion: of how many nodes beside it the end gives the positions. Given
    accelerations are a relation between two of them.
    """
    n = problem.model.n
    if isinstance(problem.transcription, Dmoc):
        return int(_given(state.q, n)) + int(_given(state.a, n))
    return sum(_given(x, n) for x in (state.q, state.v, state.a))


def _given(value: object, n: int) -> bool:
    """Whether the values of all joints are given."""
    if value is None:
        return False
    return bool(np.isfinite(np.broadcast_to(np.asarray(value, float), (n,))).all())
