"""Closed loops written out as signals, forces and constraints, which any program understands.

The forces that hold a loop are signals: a force in world axes at both frames, with opposite signs,
and for welds a moment in the axes of the frames. The moment of a hinge and the force of a distance
have given directions; these are equations of their own, with multipliers as further signals.

Only independent equations are imposed, and only their forces are unknown. At an end where
velocities are not given and a loop does not go on in the neighbouring phase, the rates of its
equations are zero too: the impulse of its forces there would otherwise be undetermined. Where a
loop with rotations begins, inequalities exclude the false roots of its equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.forces import ExternalForce
from predyn.model.loops import EQUATIONS, POSITION, Loop
from predyn.problem.independent_loops import Kept, given_poses, independent_loops, loops_of
from predyn.problem.loop_guess import carrying_forces
from predyn.problem.offers import phase_name
from predyn.problem.problem import Constraint, Dmoc, Points, Problem, State
from predyn.problem.system import System
from predyn.problem.unknowns import Signal
from predyn.terms.loops import LoopClosure, LoopForce, LoopRate, LoopSide

AXES = "xyz"
ARM = 0.5  # m, from the weight to the size of moments

End = Literal["start", "end"]


def with_loops_written_out(problem: Problem) -> Problem:
    """The problem with its loops as signals, forces and constraints."""
    if not any(loops_of(problem, p) for p in range(len(problem.phases))):
        return problem
    return _Writer(problem).result()


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, problem.model
        self.kept = independent_loops(problem)
        weight = float(self.model.inertia[:, 0].sum() * np.linalg.norm(self.model.gravity))
        self.size = weight or 1.0
        self.discrete = isinstance(problem.transcription, Dmoc)
        poses = given_poses(problem)
        self.guesses = [self._carrying(p, poses) for p in range(len(problem.phases))]

    def _carrying(self, p: int, poses: NDArray[np.float64]) -> dict[str, float]:
        """Guessed forces of the equations that are closed in phase p."""
        equations = {
            f"{kept.loop.name} {x}": 1.0 if x in (*POSITION, "distance") else ARM
            for kept in self.kept
            if p in kept.imposed
            for x in kept.equations
        }
        return carrying_forces(self.problem, p, poses, equations)

    def result(self) -> Problem:
        problem, phases, systems = self.problem, [], dict(self.problem.systems)
        for p, phase in enumerate(problem.phases):
            own = [kept for kept in self.kept if p in kept.imposed]
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
        if not kept.equations:
            return
        degree = 1 if self.discrete else max(self.problem.transcription.degree - 2, 1)
        where = tuple(phase_name(self.problem, p) for p in kept.imposed)

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
                for k, p in enumerate(kept.imposed)
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
            if kept.held or "distance" in kept.equations:
                yield ExternalForce(frame, force=f"{sign}{loop.name}")
            if kept.turned:
                axes = "link" if loop.kind == "weld" else "world"
                yield ExternalForce(frame, moment=f"{sign}{moment(loop)}", frame=axes)

    # -- equations ----------------------------------------------------------------------------

    def _rows(self, kept: Kept, p: int) -> Iterator[Constraint]:
        loop = kept.loop
        if kept.imposed[p]:
            yield from self._closure(kept, p)
        throughout = Points("motion")
        if "distance" in kept.equations:
            force = LoopForce(loop.name, loop.name, tension(loop), kept.equations)
            yield Constraint(force, 0.0, 0.0, name="loop force", imposed_at=throughout)
        elif loop.kind == "hinge" and kept.turned:
            force = LoopForce(loop.name, moment(loop), tilt(loop), kept.turned)
            yield Constraint(force, 0.0, 0.0, name="loop moment", imposed_at=throughout)

    def _closure(self, kept: Kept, p: int) -> Iterator[Constraint]:
        loop, equations, phases = kept.loop, kept.imposed[p], self.problem.phases
        before, after = p - 1 in kept.imposed, p + 1 in kept.imposed
        first, last = carried_orders(self.problem) if before else 0, 0
        alone = list[End]()  # ends whose neighbouring node alone is left out
        if p == 0:
            first = self._left_out("start", phases[0].start, alone)
        if p == len(phases) - 1:
            last = self._left_out("end", phases[-1].end, alone)
        closure = LoopClosure(loop.name, equations)
        points = Points("motion", first, last)
        yield Constraint(closure, 0.0, 0.0, name="loop", imposed_at=points)
        for end in alone:
            yield Constraint(closure, 0.0, 0.0, at=end, name="loop")
        if kept.turned and not before and not _given(phases[p].start.q, self.model.n):
            yield Constraint(LoopSide(loop.name), 0.0, at="start", name="loop side")
        if self.discrete:
            ends: tuple[tuple[End, bool], ...] = (("start", before), ("end", after))
            for end, goes_on in ends:
                if not goes_on and not self._gives_velocities(p, end):
                    rate = LoopRate(loop.name, equations)
                    yield Constraint(rate, 0.0, 0.0, at=end, name="loop rate")

    def _left_out(self, end: End, state: State, alone: list[End]) -> int:
        """How many points beside an end of the motion have no equations."""
        known = known_orders(self.problem, state)
        if self.discrete and known and not _given(state.q, self.model.n):
            alone.append(end)  # accelerations are given, and not the positions
            return known + 1
        return known

    def _gives_velocities(self, p: int, end: End) -> bool:
        """Whether all velocities at an end are given; where phases meet, by either, as zero."""
        phases, n = self.problem.phases, self.model.n
        own, other = (phases[p].start, p - 1) if end == "start" else (phases[p].end, p + 1)
        if not 0 <= other < len(phases):
            return _given(own.v, n)
        near = phases[other].end if end == "start" else phases[other].start
        return any(_given(x.v, n) and not np.asarray(x.v, float).any() for x in (own, near))


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
