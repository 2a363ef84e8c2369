"""Contacts written out as signals, forces and constraints, which any program understands.

The rows follow a recipe that keeps the program at full rank (docs/contact.md):

- A new contact holds its place at all Greville abscissae of the motion. One that goes on leaves out
  the first three, which the continuity of q, v and a carries.
- Forces that begin or end with a contact are exactly zero there, and their cones leave that instant
  out, because the apex of a cone has no interior.
- In a cycle, accelerations are equal only for joints with motors; those of the base follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from predyn.errors import InputError
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.model.floating_base import floating_base, slides_of_base
from predyn.problem.accelerations import needs_accelerations
from predyn.problem.contacts import ImposedCycle, imposed
from predyn.problem.independent_loops import loops_of
from predyn.problem.loop_program import (
    carried_orders,
    known_orders,
    with_loops_written_out,
)
from predyn.problem.offers import offer_in, phase_name
from predyn.problem.problem import At, Constraint, Cost, Dmoc, Points, Problem
from predyn.problem.stances import AXES, Neighbours, Node, Stances
from predyn.problem.system import System
from predyn.problem.unknowns import Signal
from predyn.samples import Offer
from predyn.terms.contact import ContactForce, ContactPlace, FrictionCone, OnContacts
from predyn.terms.frames import FramePosition
from predyn.terms.pairs import PeriodicSignal, Symmetric
from predyn.terms.signals import SignalValue
from predyn.terms.steps import HeightAboveSteps
from predyn.terms.term import Term

_WRITTEN: WeakKeyDictionary[Problem, Problem] = WeakKeyDictionary()


def written_out(problem: Problem) -> Problem:
    """The problem with its loops, contacts and cycle as signals, forces and constraints."""
    cyclic = problem.cycle is not None and not isinstance(problem.cycle, ImposedCycle)
    touching = any(phase.contacts for phase in problem.phases)
    looped = any(loops_of(problem, p) for p in range(len(problem.phases)))
    if not cyclic and not touching and not looped:
        return problem
    if problem not in _WRITTEN:
        written = with_loops_written_out(problem)
        _WRITTEN[problem] = _Writer(written).result() if cyclic or touching else written
    return _WRITTEN[problem]


def without_motors(problem: Problem) -> tuple[str, ...]:
    """Passive joints of a problem with contacts; by default those of the floating base."""
    base = floating_base(problem.model)
    if problem.passive or base is None:
        return tuple(problem.passive)
    return tuple(problem.model.joint_names[j] for j in base)


class _Writer:
    def __init__(self, problem: Problem) -> None:
        self.model = _inclined(problem.model, problem.ground.slope)
        self.problem = replace(problem, model=self.model)
        self.touching = any(phase.contacts for phase in problem.phases)
        if self.touching:
            self.problem = replace(self.problem, passive=without_motors(problem))
        self.neighbours = Neighbours(self.problem)
        self.stances = Stances(self.problem, self.neighbours)
        self.patch = {point.name: point.patch for point in self.model.contact_points}
        self.weight = self.model.weight or 1.0
        self.discrete = isinstance(problem.transcription, Dmoc)
        # axes of the forces of each point, or of a patch for shared ones, in each phase
        self.axes: list[dict[str, str]] = []
        self.at: list[dict[str, str]] = []  # the point at which they act
        for contacts in self.neighbours.contacts:
            axes, at = {}, {}
            for name, contact in contacts.items():
                own = "".join(a for a in contact.push if a not in contact.shared)
                shared = contact.shared
                if self.patch[name] == name:  # the patch is this point
                    own, shared = contact.push, ""
                for owner, pushed in ((name, own), (self.patch[name], shared)):
                    if pushed:
                        axes[owner], at[owner] = pushed, name
            self.axes.append(axes)
            self.at.append(at)

    def result(self) -> Problem:
        problem, phases = self.problem, []
        replaced = {phase.system for phase in problem.phases}
        systems = {name: x for name, x in problem.systems.items() if name not in replaced}
        for p, phase in enumerate(problem.phases):
            name = phase_name(problem, p)
            system = System() if phase.system is None else problem.systems[phase.system]
            forces = problem.forces if system.forces is None else system.forces
            own = [ExternalForce(self.at[p][owner], force=owner) for owner in self.axes[p]]
            key = f"{name}: contacts"
            systems[key] = replace(system, forces=(*forces, *own))
            constraints = (*phase.constraints, *self._rows(p))
            phases.append(
                replace(phase, name=name, system=key, constraints=constraints, contacts=())
            )
        cyclic = () if problem.cycle is None else tuple(self._closure())
        written = replace(
            problem,
            phases=tuple(phases),
            systems=systems,
            signals=(*problem.signals, *self._signals()),
            parameters=(*problem.parameters, *self.stances.parameters),
            constraints=(*problem.constraints, *cyclic),
            cycle=imposed(problem.cycle),
        )
        return _in_phases(written)

    # -- unknowns -----------------------------------------------------------------------------

    def _signals(self) -> Iterator[Signal]:
        """The forces; zero along the axes without a push."""
        names = [phase_name(self.problem, p) for p in range(len(self.axes))]
        pushing = [max(sum("z" in axes for axes in each.values()), 1) for each in self.axes]
        for owner in dict.fromkeys(owner for axes in self.axes for owner in axes):
            where = [p for p, axes in enumerate(self.axes) if owner in axes]
            axes = self.axes[where[0]][owner]
            free = np.array([np.inf if axis in axes else 0.0 for axis in AXES])
            up = np.array([0.0, 0.0, self.weight if "z" in axes else 0.0])
            yield Signal(
                owner,
                tuple(AXES),
                -free,
                free,
                guess={names[p]: up / pushing[p] for p in where},
                scale=self.weight,
                unit="N",
                degree=1 if self.discrete else max(self.problem.transcription.degree - 2, 1),
                phases=tuple(names[p] for p in where),
                continuity=0,
            )

    # -- rows ---------------------------------------------------------------------------------

    def _rows(self, p: int) -> Iterator[Constraint]:
        for contact in self.neighbours.contacts[p].values():
            if contact.hold:
                yield from self._held(Node(p, contact.point), contact.hold)
        for owner, axes in self.axes[p].items():
            node = Node(p, owner)
            ends: tuple[tuple[At, bool], ...] = (
                ("start", self._begins(node)),
                ("end", self._ends(node)),
            )
            for end, zero in ends:
                if zero:
                    nothing = SignalValue(owner, tuple(axes))
                    name = "force begins" if end == "start" else "force ends"
                    yield Constraint(nothing, 0.0, 0.0, at=end, name=name)
            if "z" in axes:
                term = ContactForce((owner,), "z", self.weight)
                points = Points("limits", int(self._begins(node)), int(self._ends(node)))
                yield Constraint(term, 0.0, np.inf, name="lifts off", imposed_at=points)
        yield from self._cones(p)
        yield from self._heights(p)

    def _begins(self, node: Node) -> bool:
        """Whether a force starts with this phase."""
        before = self.neighbours.before(node)
        return before is not None and before.name not in self.axes[before.phase]

    def _ends(self, node: Node) -> bool:
        """Whether a force ends with this phase."""
        after = self.neighbours.after(node)
        return after is not None and after.name not in self.axes[after.phase]

    def _held(self, node: Node, hold: str) -> Iterator[Constraint]:
        """A point stays in its place.

        Rows that the phase before or a given posture carries are left out. An unknown place that
        neither has determined needs its row at that end.
        """
        phases, before = self.problem.phases, self.neighbours.before(node)
        held, implied, first, last = "", "", 0, 0
        if before is not None and self.neighbours.touches(before):
            first = carried_orders(self.problem)
            held = self.neighbours.contacts[before.phase][before.name].hold
            implied = self._held_on_chain(before)
        elif node.phase == 0 and self.problem.cycle is None:
            first, implied = known_orders(self.problem, phases[0].start), AXES
        if node.phase == len(phases) - 1 and self.problem.cycle is None:
            last = known_orders(self.problem, phases[-1].end)
        carried = "".join(axis for axis in hold if axis in held + implied)
        new = "".join(axis for axis in hold if axis not in carried)
        for axes, skip in ((carried, first), (new, 0)):
            if axes:
                points = Points("motion", skip, last)
                yield self._placed(node, axes, imposed_at=points)
        ends: tuple[tuple[At, int, str], ...] = (("start", first, held + new), ("end", last, ""))
        for end, left_out, known in ends:
            unknown = [x for x in hold if self.stances.place(node, x).parameters and x not in known]
            if left_out and unknown:
                yield self._placed(node, "".join(unknown), at=end)

    def _placed(self, node: Node, axes: str, **where: Any) -> Constraint:
        place = {axis: self.stances.place(node, axis) for axis in axes}
        return Constraint(ContactPlace(node.name, place), 0.0, 0.0, name="place", **where)

    def _held_on_chain(self, node: Node) -> str:
        """Axes along which other points of the same limb are held in the phase of a node."""
        links = self._chain_of(node.name)
        return "".join(
            contact.hold
            for contact in self.neighbours.contacts[node.phase].values()
            if self.model.frame(contact.point).link in links
            or self.model.frame(node.name).link in self._chain_of(contact.point)
        )

    def _chain_of(self, point: str) -> list[int]:
        """The link of a point and those between it and the base."""
        base = floating_base(self.model)
        link, found = self.model.frame(point).link, list[int]()
        while link >= 0 and (base is None or link > int(base[-1])):
            found.append(link)
            link = int(self.model.expanded.parent[link])
        return found

    def _cones(self, p: int) -> Iterator[Constraint]:
        ground, patches = self.problem.ground, self.model.patches
        for patch, points in patches.items():
            owners = [x for x in dict.fromkeys((patch, *points)) if x in self.axes[p]]
            if any(set(self.axes[p][x]) & set("xy") for x in owners):
                skip = [
                    all(test(Node(p, x)) for x in owners) for test in (self._begins, self._ends)
                ]
                term = FrictionCone((patch,), ground.friction, ground.cone)
                yield Constraint(term, name="slips", imposed_at=Points("limits", *map(int, skip)))

    def _heights(self, p: int) -> Iterator[Constraint]:
        """Points that do not touch stay above the ground."""
        for point in self.patch if self.touching else ():
            node = Node(p, point)
            if point not in self.neighbours.contacts[p]:
                skip = [
                    self.neighbours.touches(step(node))
                    for step in (self.neighbours.before, self.neighbours.after)
                ]
                term = self._above_ground(point)
                points = Points("limits", *map(int, skip))
                yield Constraint(term, 0.0, np.inf, name="below ground", imposed_at=points)

    def _above_ground(self, point: str) -> Term:
        ground = self.problem.ground
        if ground.steps:
            return HeightAboveSteps(point, ground.height, ground.steps, ground.ramp)
        return FramePosition(point, (None, None, ground.height))

    # -- cycle --------------------------------------------------------------------------------

    def _closure(self) -> Iterator[Constraint]:
        cycle, model = self.problem.cycle, self.model
        assert cycle is not None
        swap = {a: b for a, b in cycle.swap.items() if a in model.joint_names}
        offset = _advancing(model, cycle.advance)
        passive = set(self.problem.passive)
        driven = tuple(name for name in model.joint_names if name not in passive)
        fast = not self.discrete or needs_accelerations(self.problem)
        of_driven = (("a",) if fast else (), driven)
        for channels, joints in ((("q", "v"), None), of_driven):
            if channels and (joints is None or joints):
                gain = offset if "q" in channels else {}
                term = Symmetric(swap, cycle.signs, channels, joints, gain)
                yield Constraint(term, 0.0, 0.0, name="cycle")
        for owner, axes in self.axes[0].items():
            image = cycle.image(owner)
            if image in self.axes[-1]:
                signs = tuple(-1.0 if axis == cycle.mirror else 1.0 for axis in axes)
                force = PeriodicSignal(image, owner, tuple(axes), signs)
                yield Constraint(force, 0.0, 0.0, name="cycle force")


def _inclined(model: Model, slope: float) -> Model:
    """The model in the axes of a ground that rises along x."""
    if slope == 0.0:
        return model
    cos = 1.0 / np.hypot(1.0, slope)
    x, y, z = model.gravity
    return model.with_gravity((cos * (x + slope * z), y, cos * (z - slope * x)))


def _advancing(model: Model, advance: Sequence[float | str]) -> dict[str, float | str]:
    """By how much the slides of the floating base move on."""
    found: dict[str, float | str] = {}
    for j, direction in slides_of_base(model).items():
        axis = int(np.argmax(np.abs(direction)))
        gain = advance[axis]
        if gain != 0.0:
            found[model.joint_names[j]] = gain if isinstance(gain, str) else gain * direction[axis]
    return found


def _in_phases(problem: Problem) -> Problem:
    """Costs and constraints on contacts, only in the phases in which their points touch."""
    costs = [x for x in problem.costs if isinstance(x.term, OnContacts)]
    constraints = [x for x in problem.constraints if isinstance(x.term, OnContacts)]
    if not costs and not constraints:
        return problem
    phases, placed = [], list[Cost | Constraint]()
    for p, phase in enumerate(problem.phases):
        offer = offer_in(problem, p)
        own_costs = [x for x in costs if _touches(x.term, offer)]
        own_constraints = [x for x in constraints if _touches(x.term, offer)]
        placed += [*own_costs, *own_constraints]
        phases.append(
            replace(
                phase,
                costs=(*phase.costs, *own_costs),
                constraints=(*phase.constraints, *own_constraints),
            )
        )
    return replace(
        problem,
        phases=tuple(phases),
        # those that touch nowhere stay, and are reported
        costs=tuple(x for x in problem.costs if x not in placed),
        constraints=tuple(x for x in problem.constraints if x not in placed),
    )


def _touches(term: Term, offer: Offer) -> bool:
    try:
        return isinstance(term, OnContacts) and term.touches(offer)
    except InputError:  # reported when the term is bound
        return False
