"""Planar linkages in natural coordinates: the x, y of the links' ends (Trujillo 2006, section 2).

A link has mass m, inertia I about its centre of mass, and a stiff axial spring k (and optionally a
damper c) in place of a rigid length L0. With d = z_b - z_a from its end a to its end b, L = |d|:

    (M + I) z'' + f(z, v) + g = D(z) u                                                     (2)

    f on b    k (1 - L0/L) d + c (d . d') d / L^2              (6), damper, and minus that on a
    g         minus the weight, shared by the ends as b = L_b/L0 and a = L_a/L0             (8)
    D on b    (-dy, dx) / L^2                                  (9), and minus that on a

The mass matrix is constant and is assembled from links as in finite elements, for any open or
closed linkage. Printed errors are corrected: (6) divides by L, (8) by L0, (9) by L^2.

Extensions of the paper: a centre of mass off the line between the ends, and nodes anywhere on a
link, affine in its ends, for links with more than two points. Hence every node is affine in the
coordinates z, and so is d = arms z + offset for each link.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError, ModelError, unknown_name
from predyn.published.link_kernels import System, evaluate

Floats = NDArray[np.float64]
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])  # by 90 degrees
SINGULAR = 1e-12  # of the largest eigenvalue of a mass matrix


class Link(NamedTuple):
    """A link between nodes a and b; the centre of mass is `along` the line a-b and `aside` to its
    left."""

    name: str
    a: str
    b: str
    length: float  # m, L0
    mass: float  # kg
    inertia: float  # kg m^2, about the centre of mass
    along: float  # m, L_a
    stiffness: float = 1e4  # N/m
    damping: float = 0.0  # N s/m
    aside: float = 0.0  # m


class Carried(NamedTuple):
    """Position of a node on a link: metres from its end a toward b, and to the left of that."""

    link: str
    along: float
    aside: float = 0.0


class Torque(NamedTuple):
    """An unknown torque on a link; `against` gets the opposite one (None: the ground).

    Positive counterclockwise, or clockwise with turn = -1. Between two links it acts like the motor
    of a joint.
    """

    name: str
    link: str
    against: str | None = None
    turn: float = 1.0


class NaturalLinks:
    """A planar linkage of links, pinned nodes, carried nodes and torques.

    Coordinates z (n,) are x, y of the nodes in `free`, in that order; velocities v their rates.
    """

    def __init__(
        self,
        links: Iterable[Link],
        *,
        pinned: Mapping[str, ArrayLike],
        torques: Iterable[Torque],
        carried: Mapping[str, Carried] | None = None,
        gravity: ArrayLike = (0.0, -9.806),
    ) -> None:
        self.links = tuple(links)
        self.torques = tuple(torques)
        self.pinned = {name: _point(f"pinned node {name!r}", p) for name, p in pinned.items()}
        self.carried = dict(carried or {})
        self.gravity = _point("gravity", gravity)
        self._check()
        ends = [node for link in self.links for node in (link.a, link.b)]
        self.free = tuple(
            dict.fromkeys(x for x in ends if x not in self.pinned and x not in self.carried)
        )
        self.n = 2 * len(self.free)
        self._maps: dict[str, tuple[Floats, Floats]] = {}
        for node in (*self.pinned, *self.free, *self.carried):
            self._map(node, ())
        self.nodes = tuple(self._maps)
        self.system = self._assemble()

    @property
    def torque_names(self) -> tuple[str, ...]:
        return tuple(torque.name for torque in self.torques)

    def measuring(self, nodes: Iterable[str]) -> tuple[Floats, Floats]:
        """Q (2 len(nodes), n) and q0 such that x1, y1, x2, .. of the nodes are Q z + q0."""
        names = tuple(nodes)
        for name in names:
            if name not in self._maps:
                raise unknown_name("node", name, self.nodes)
        if not names:
            raise InputError(f"no nodes are measured: name some of {', '.join(self.nodes)}")
        maps = [self._maps[name] for name in names]
        return np.vstack([Q for Q, _ in maps]), np.concatenate([q0 for _, q0 in maps])

    def positions(self, z: ArrayLike, nodes: Iterable[str]) -> Floats:
        """x1, y1, x2, .. of nodes at coordinates z (..., n): (..., 2 len(nodes))."""
        Q, q0 = self.measuring(nodes)
        return self._check_coordinates("z", z) @ Q.T + q0

    def placed(self, nodes: Mapping[str, ArrayLike]) -> Floats:
        """Coordinates z (n,) from the points of all free nodes."""
        missing = [name for name in self.free if name not in nodes]
        if missing:
            raise InputError(f"nodes: expected a point for each of {self.free}, missing {missing}")
        return np.concatenate([_point(f"node {x!r}", nodes[x]) for x in self.free])

    def forces(self, z: ArrayLike, v: ArrayLike | None = None) -> Floats:
        """f(z, v) of springs and dampers (n,)."""
        return np.asarray(self._evaluate(z, v).force - self.system.weight)

    def jacobian(self, z: ArrayLike, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
        """Partials of f in z, the paper's J, and in v (n, n)."""
        at = self._evaluate(z, v)
        return at.by_z, at.by_v

    def torque_matrix(self, z: ArrayLike) -> Floats:
        """D(z) (n, torques): coordinate forces of unit torques."""
        return self._evaluate(z, None).D

    def energy(self, z: ArrayLike, v: ArrayLike) -> Floats:
        """Kinetic energy, gravity's potential and the springs' energy at states (..., n)."""
        z, v = self._check_coordinates("z", z), self._check_coordinates("v", v)
        s = self.system
        d = np.einsum("lij,...j->...li", s.arms, z) + s.offset
        stretch = np.sqrt((d**2).sum(axis=-1)) - s.length
        kinetic = 0.5 * np.einsum("...i,ij,...j->...", v, s.mass, v)
        return np.asarray(kinetic + z @ s.weight + 0.5 * (s.stiffness * stretch**2).sum(axis=-1))

    # -- assembly ---------------------------------------------------------------------------------

    def _check(self) -> None:
        problems = []
        names = [link.name for link in self.links]
        torques = [torque.name for torque in self.torques]
        for what, given in (("link", names), ("torque", torques)):
            problems += [f"{what} {x!r} is named twice" for x in set(given) if given.count(x) > 1]
            if not given:
                raise ModelError(f"natural links: expected at least one {what}")
        both = self.pinned.keys() & self.carried.keys()
        problems += [f"node {x!r} is both pinned and carried" for x in sorted(both)]
        for link in self.links:
            what = f"link {link.name!r}"
            if link.a == link.b:
                problems.append(f"{what} has node {link.a!r} at both ends")
            for field, least in (("length", None), ("stiffness", None), ("mass", 0.0),
                                 ("inertia", 0.0), ("damping", 0.0)):  # fmt: skip
                x = getattr(link, field)
                if not math.isfinite(x) or (x <= 0 if least is None else x < least):
                    sign = "positive" if least is None else "nonnegative"
                    problems.append(f"{what}: expected a {sign} {field}, got {x}")
            if not (math.isfinite(link.along) and math.isfinite(link.aside)):
                problems.append(f"{what}: its centre of mass is not finite")
        known = set(names)
        touched = {link.name: {link.a, link.b} for link in self.links}
        for node, place in self.carried.items():
            if place.link not in known:
                raise unknown_name(f"link that carries node {node!r}", place.link, names)
            touched[place.link].add(node)
        for torque in self.torques:
            for name in (torque.link, torque.against):
                if name is not None and name not in known:
                    raise unknown_name(f"link of torque {torque.name!r}", name, names)
            if torque.against is not None and not touched[torque.link] & touched[torque.against]:
                problems.append(
                    f"torque {torque.name!r}: links {torque.link!r} and {torque.against!r} "
                    "share no node"
                )
        if problems:
            raise ModelError("natural links: " + "; ".join(problems))

    def _map(self, node: str, asked: tuple[str, ...]) -> tuple[Floats, Floats]:
        """A node's position as an affine map of z."""
        if node in self._maps:
            return self._maps[node]
        if node in asked:
            raise ModelError(
                f"natural links: node {node!r} is carried by a link that depends on it"
            )
        if node in self.pinned:
            found = np.zeros((2, self.n)), self.pinned[node]
        elif node in self.carried:
            place = self.carried[node]
            link = next(x for x in self.links if x.name == place.link)
            (A, a0), (B, b0) = (self._map(end, (*asked, node)) for end in (link.a, link.b))
            W = (place.along * np.eye(2) + place.aside * TURN) / link.length
            found = A + W @ (B - A), a0 + W @ (b0 - a0)
        else:
            found = np.zeros((2, self.n)), np.zeros(2)
            i = 2 * self.free.index(node)
            found[0][:, i : i + 2] = np.eye(2)
        self._maps[node] = found
        return found

    def _assemble(self) -> System:
        n, count = self.n, len(self.links)
        mass, weight = np.zeros((n, n)), np.zeros(n)
        arms, offset = np.zeros((count, 2, n)), np.zeros((count, 2))
        for i, link in enumerate(self.links):
            (A, a0), (B, b0) = self._maps[link.a], self._maps[link.b]
            arms[i], offset[i] = B - A, b0 - a0
            W = (link.along * np.eye(2) + link.aside * TURN) / link.length
            center = A + W @ (B - A)
            mass += link.mass * center.T @ center  # (4)
            mass += link.inertia / link.length**2 * arms[i].T @ arms[i]  # (5)
            weight -= link.mass * self.gravity @ center  # (8)
        routes = np.zeros((count, len(self.torques)))
        places = {link.name: i for i, link in enumerate(self.links)}
        for j, torque in enumerate(self.torques):
            routes[places[torque.link], j] += torque.turn
            if torque.against is not None:
                routes[places[torque.against], j] -= torque.turn
        self._check_mass(mass)
        length, stiffness, damping = (
            np.array([getattr(link, field) for link in self.links], float)
            for field in ("length", "stiffness", "damping")
        )
        return System(arms, offset, length, stiffness, damping, routes, mass, weight)

    def _check_mass(self, mass: Floats) -> None:
        if not self.n:
            raise ModelError("natural links: every node is pinned or carried, so no node can move")
        values, vectors = np.linalg.eigh(mass)
        if values[0] <= SINGULAR * values[-1]:
            node = self.free[int(np.abs(vectors[:, 0]).argmax()) // 2]
            raise ModelError(
                f"natural links: node {node!r} moves without mass; give a link there mass or "
                "inertia"
            )

    def _check_coordinates(self, name: str, x: ArrayLike) -> Floats:
        array = np.asarray(x, float)
        if array.shape[-1:] != (self.n,):
            raise InputError(f"{name}: expected (..., {self.n}), got shape {array.shape}")
        return array

    def _evaluate(self, z: ArrayLike, v: ArrayLike | None) -> Evaluated:
        n, u = self.n, np.zeros(len(self.torques))
        z = self._check_coordinates("z", z)
        v = np.zeros(n) if v is None else self._check_coordinates("v", v)
        at = Evaluated(np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, len(u))))
        evaluate(self.system, np.ascontiguousarray(z), np.ascontiguousarray(v), u, *at)
        return at


class Evaluated(NamedTuple):
    """f + g, its partials in z and v, and D."""

    force: Floats
    by_z: Floats
    by_v: Floats
    D: Floats


def _point(what: str, value: ArrayLike) -> Floats:
    array = np.array(value, float)
    if array.shape != (2,) or not np.isfinite(array).all():
        raise InputError(f"{what}: expected two finite numbers, got {value!r}")
    array.setflags(write=False)
    return array
