"""Closed loops written out as signals, forces and constraints, which any program understands.

The forces that hold a loop are signals: a force in world axes at both frames, with opposite signs,
and for welds a moment in the axes of the frames. The moment of a hinge and the force of a distance
have given directions; these are equations of their own, with multipliers as further signals.

Only independent equations are imposed, and only their forces are unknown. At an end of a phase of a
discrete motion that is not given at rest, the rates of its equations are zero too: the impulse of
its forces there would otherwise be undetermined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.forces import ExternalForce
from predyn.model.loops import EQUATIONS, POSITION, Loop
from predyn.problem.independent_loops import Kept, independent_loops, loops_of, poses_near
from predyn.problem.loop_guess import carrying_forces
from predyn.problem.offers import phase_name
from predyn.problem.problem import At, Constraint, Dmoc, Points, Problem, State
from predyn.problem.system import System
from predyn.problem.unknowns import Signal
from predyn.terms.loops import LoopClosure, LoopForce, LoopRate

AXES = "xyz"
ARM = 0.5  # m, from the weight to the size of moments


def with_loops_written_out(problem: Problem) -> Problem:
    """The problem with its loops as signals, forces and constraints."""
    if not any(loops_of(problem, p) for p in range(len(problem.phases))):
        return problem
    return _Writer(problem).result()


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, problem.model
        self.kept = independent_loops(problem)
        self.size = self.model.weight or 1.0
        self.discrete = isinstance(problem.transcription, Dmoc)
        poses = poses_near(problem)
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
                          continuity=self._continuity(kept))  # fmt: skip

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

    def _continuity(self, kept: Kept) -> int:
        """Forces of a loop jump with the load if accelerations may, and in discrete motions."""
        phases, jumps = self.problem.phases, self.problem.continuity < 2
        changes = [
            phases[p].system != phases[p + 1].system for p in kept.phases if p + 1 in kept.phases
        ]
        return -1 if self.discrete or (jumps and any(changes)) else 0

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
        first, last = carried_orders(self.problem) if before else 0, 0
        closure = LoopClosure(loop.name, kept.equations)
        rate = LoopRate(loop.name, kept.equations)
        ends: tuple[tuple[At, bool, State | None], ...] = (
            ("start", before, phases[0].start if p == 0 else None),
            ("end", after, phases[-1].end if p == len(phases) - 1 else None),
        )
        for end, goes_on, state in ends:
            skipped, own_closure, own_rate = self._at_end(state)
            if own_closure:
                yield Constraint(closure, 0.0, 0.0, at=end, name="loop")
            carried = end == "start" and self.problem.continuity > 0
            if own_rate and not (goes_on and carried):
                yield Constraint(rate, 0.0, 0.0, at=end, name="loop rate")
            if state is not None:
                first, last = (skipped, last) if end == "start" else (first, skipped)
        points = Points("motion", first, last)
        yield Constraint(closure, 0.0, 0.0, name="loop", imposed_at=points)
        throughout = Points("motion")
        if loop.kind == "distance":
            force = LoopForce(loop.name, loop.name, tension(loop), kept.equations)
            yield Constraint(force, 0.0, 0.0, name="loop force", imposed_at=throughout)
        elif loop.kind == "hinge" and kept.turned:
            force = LoopForce(loop.name, moment(loop), tilt(loop), kept.turned)
            yield Constraint(force, 0.0, 0.0, name="loop moment", imposed_at=throughout)

    def _at_end(self, state: State | None) -> tuple[int, bool, bool]:
        """Points to leave out at an end of a phase, and whether it needs the equations of the loop
        and their rates on its own: None is an end between phases.

        At an end that gives derivatives but not all positions, the equations hold at the end itself
        rather than beside it; velocities that may not keep the loop closed need its rates.
        """
        if state is None:
            return 0, False, self.discrete
        n, known = self.model.n, known_orders(self.problem, state)
        own_rate = not _keeps_closed(state, n) and (self.discrete or state.v is not None)
        partly = own_rate and not self.discrete and not _given(state.v, n)
        own_closure = (known > 0 or partly) and not _given(state.q, n)
        return known + own_closure + partly, own_closure, own_rate


def _keeps_closed(state: State, n: int) -> bool:
    """Whether given velocities are known to keep loops closed (check_loops.py)."""
    if not _given(state.v, n):
        return False
    return _given(state.q, n) or not np.any(np.asarray(state.v, float))


def force_names(loop: Loop) -> tuple[str, ...]:
    """All signals that the forces of a loop may need."""
    if loop.kind == "distance":
        return loop.name, tension(loop)
    turned = {"weld": (moment(loop),), "hinge": (moment(loop), tilt(loop))}
    return loop.name, *turned.get(loop.kind, ())


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
