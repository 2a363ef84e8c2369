"""Stances: a contact point that touches over several phases stands in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError
from predyn.problem.contacts import Contact, Coordinate
from predyn.problem.offers import phase_name
from predyn.problem.unknowns import Parameter
from predyn.terms.contact import Place

if TYPE_CHECKING:
    from predyn.problem.problem import Problem

AXES = "xyz"
FAR = 1e3  # m, bound of an unknown place


class Node(NamedTuple):
    """A contact point, or a patch, in a phase."""

    phase: int
    name: str


class Neighbours:
    """Which contacts a phase shares with the phases before and after it."""

    def __init__(self, problem: Problem) -> None:
        self._cycle, self._last = problem.cycle, len(problem.phases) - 1
        self.contacts = [{c.point: c for c in phase.contacts} for phase in problem.phases]

    def before(self, node: Node) -> Node | None:
        """The same point or patch in the phase before; over the end, its image."""
        if node.phase > 0:
            return Node(node.phase - 1, node.name)
        return None if self._cycle is None else Node(self._last, self._cycle.image(node.name))

    def after(self, node: Node) -> Node | None:
        """The same point or patch in the phase after; over the end, its image."""
        if node.phase < self._last:
            return Node(node.phase + 1, node.name)
        return None if self._cycle is None else Node(0, self._cycle.image(node.name))

    def touches(self, node: Node | None) -> bool:
        return node is not None and node.name in self.contacts[node.phase]


class Stances:
    """The place of each contact in each phase, and parameters for places that are unknown."""

    def __init__(self, problem: Problem, neighbours: Neighbours) -> None:
        self._problem, self._neighbours = problem, neighbours
        self.parameters: list[Parameter] = []
        self._places: dict[tuple[Node, str], Place] = {}
        for node, contact in self._nodes():
            for axis in contact.hold:
                if (node, axis) not in self._places:
                    self._settle(node, axis)

    def place(self, node: Node, axis: str) -> Place:
        return self._places[node, axis]

    def _nodes(self) -> Iterator[tuple[Node, Contact]]:
        for p, contacts in enumerate(self._neighbours.contacts):
            for point, contact in contacts.items():
                yield Node(p, point), contact

    def _settle(self, start: Node, axis: str) -> None:
        """Find the place of all contacts that belong to the stance of one."""
        chain = self._chain(start)
        given = [k for k, node in enumerate(chain) if self._given(node, axis) is not None]
        reached = list(self._reached(chain, axis))
        if given:
            first, place = given[0], _place_of(self._given(chain[given[0]], axis))
        elif axis == "z":
            first, place = self._on_ground(chain)
        elif reached:
            first, place = reached[0][0], Place(reached[0][1])
        else:
            name = f"place of {start.name} {axis}"
            if name in [x.name for x in self.parameters]:  # it stood elsewhere before
                name += f" in {phase_name(self._problem, start.phase)}"
            first, place = chain.index(start), Place(0.0, {name: 1.0})
            self.parameters.append(Parameter(name, -FAR, FAR, 0.0, "m"))
        places = {first: place}
        for k in range(first + 1, len(chain)):
            over = chain[k].phase == 0  # the end of the motion lies between
            places[k] = self._next_cycle(places[k - 1], axis) if over else places[k - 1]
        for k in range(first - 1, -1, -1):
            over = chain[k + 1].phase == 0
            places[k] = self._last_cycle(places[k + 1], axis) if over else places[k + 1]
        for k in given[1:]:
            self._compare(chain[k], axis, places[k], chain[first])
        self._places |= {(chain[k], axis): place for k, place in places.items()}

    def _on_ground(self, chain: list[Node]) -> tuple[int, Place]:
        """A contact of a stance, and the height of the ground under it."""
        ground = self._problem.ground
        if not ground.steps:
            return 0, Place(float(ground.height))
        for k, node in enumerate(chain):
            x = self._given(node, "x")
            if x is not None and not isinstance(x, str):
                return k, Place(ground.height_at(float(x)))
        for k, along in self._reached(chain, "x"):
            return k, Place(ground.height_at(along))
        raise InputError(
            f"contact {chain[0].name!r}: the ground has steps, and the place of the contact along "
            "x is not given; give its place along z"
        )

    def _chain(self, start: Node) -> list[Node]:
        """All contacts of one stance, in the order of time."""
        chain = [start]
        for step, at in ((self._neighbours.before, 0), (self._neighbours.after, -1)):
            node = step(chain[at])
            while self._neighbours.touches(node) and node not in chain:
                assert node is not None
                chain.insert(0 if at == 0 else len(chain), node)
                node = step(node)
        return chain

    def _given(self, node: Node, axis: str) -> Coordinate:
        place = self._neighbours.contacts[node.phase][node.name].place
        return None if place is None else place[AXES.index(axis)]

    def _reached(self, chain: list[Node], axis: str) -> Iterator[tuple[int, float]]:
        """Where the point is in given postures at ends: number in the chain, coordinate (m)."""
        phases, model = self._problem.phases, self._problem.model
        ends = ((0, 0, phases[0].start), (-1, len(phases) - 1, phases[-1].end))
        for k, p, state in ends if self._problem.cycle is None else ():
            if chain[k].phase != p or state.q is None:
                continue
            q = np.broadcast_to(np.asarray(state.q, float), (model.n,))
            if np.isfinite(q).all():
                point = frame_kinematics(model, chain[k].name, q).p
                yield k % len(chain), float(point[AXES.index(axis)])

    def _last_cycle(self, place: Place, axis: str) -> Place:
        """A place at the start of the motion, as its end sees it: mirrored and moved on."""
        sign, step = self._step(axis)
        return _sum(place, sign, step, 1.0)

    def _next_cycle(self, place: Place, axis: str) -> Place:
        """A place at the end of the motion, as its start sees it."""
        sign, step = self._step(axis)
        return _sum(place, sign, step, -sign)

    def _step(self, axis: str) -> tuple[float, Place]:
        cycle = self._problem.cycle
        assert cycle is not None
        return -1.0 if axis == cycle.mirror else 1.0, _place_of(cycle.advance[AXES.index(axis)])

    def _compare(self, node: Node, axis: str, implied: Place, first: Node) -> None:
        """Raise an InputError if a place contradicts that of an earlier phase of its stance."""
        own = _place_of(self._given(node, axis))
        same = own.parameters == implied.parameters and abs(own.number - implied.number) <= 1e-9
        if not same:
            names = [phase_name(self._problem, x.phase) for x in (first, node)]
            raise InputError(
                f"contact {node.name!r} in phase {names[1]!r}: its place along {axis} is "
                f"{self._given(node, axis)!r}, but it has not left the ground since phase "
                f"{names[0]!r}, which implies {_words(implied)}; give the place once, or add a "
                "phase without this contact"
            )


def _place_of(value: Coordinate) -> Place:
    return Place(0.0, {value: 1.0}) if isinstance(value, str) else Place(float(value or 0.0))


def _sum(a: Place, u: float, b: Place, w: float) -> Place:
    """u a + w b."""
    factors = {name: u * factor for name, factor in a.parameters.items()}
    for name, factor in b.parameters.items():
        factors[name] = factors.get(name, 0.0) + w * factor
    return Place(u * a.number + w * b.number, {k: f for k, f in factors.items() if f})


def _words(place: Place) -> str:
    parts = (f"{factor:+g} {name}" for name, factor in place.parameters.items())
    return " ".join((f"{place.number:g} m", *parts))
