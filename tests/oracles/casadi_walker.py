"""A step of a planar walker as a program in CasADi, written from its statement in docs/optima.md.

Own geometry, Lagrangian dynamics, bases (SciPy) and instants; nothing of predyn is used. Row names
are those that predyn's program has, so that rows can be matched.

Coordinates: x, z of the hip, trunk, then hip, knee, ankle of the right and the left leg. A segment
at the angle f points to (sin f, -cos f).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

NAMES = (
    "x",
    "z",
    "trunk",
    *(f"{a}_{b}" for a in ("right", "left") for b in ("hip", "knee", "ankle")),
)
JOINTS, BASE = range(3, 9), range(3)
MIRRORED = (0, 1, 2, 6, 7, 8, 3, 4, 5)
GRAVITY, MASS = 9.81, 75.0
WEIGHT = MASS * GRAVITY
FRICTION = 0.8
LARGEST = (200.0, 200.0, 150.0) * 2  # N m
RANGES = np.radians([(-30, 120), (-135, 0), (-50, 30)] * 2)
SHARES = (0.40, 0.36, 0.24)
PHASES = ("flat", "toe", "double")
FORCES = {  # unknown forces of each phase: the name, the axis (0 x, 2 z), where it acts
    "flat": (
        *(("right_heel", 2, "right_heel"), ("right_sole", 0, "right_heel")),
        ("right_toe", 2, "right_toe"),
    ),
    "toe": (("right_toe", 2, "right_toe"), ("right_sole", 0, "right_toe")),
    "double": (
        *(("right_toe", 2, "right_toe"), ("right_sole", 0, "right_toe")),
        *(("left_heel", 2, "left_heel"), ("left_sole", 0, "left_heel")),
    ),
}  # fmt: skip
MOTION, FORCE = 5, 3  # degrees
CLEARANCE = {"flat": (0.25, 0.5, 0.75, 1.0), "toe": (0.25, 0.5), "double": ()}


@dataclass(frozen=True)
class Statement:
    """What may differ from the reference."""

    segments: int = 4
    slope: float = 0.0
    cone: bool = False
    free_step: bool = False
    free_place: bool = False
    free_durations: bool = False
    step: float = 0.6
    duration: float = 0.5


@dataclass
class Walker:
    """The program: decision variables in the order of `keys`; rows by name, in order of time."""

    keys: list[tuple] = field(default_factory=list)
    x: Any = None
    f: Any = 0.0
    costs: dict[str, Any] = field(default_factory=dict)
    rows: list[tuple[str, Any, float, float]] = field(default_factory=list)


def knots(degree: int, segments: int) -> np.ndarray:
    return np.concatenate((np.zeros(degree), np.linspace(0, 1, segments + 1), np.ones(degree)))


def greville(degree: int, segments: int) -> np.ndarray:
    at = knots(degree, segments)
    return np.array([at[i + 1 : i + degree + 1].mean() for i in range(segments + degree)])


@cache
def basis(degree: int, segments: int, s: float, order: int) -> np.ndarray:
    count = segments + degree
    return np.array(
        [BSpline(knots(degree, segments), e, degree)(s, nu=order) for e in np.eye(count)]
    )


def turned(angle: Any, x: float, z: float) -> Any:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * x - s * z, s * x + c * z)


def geometry(q: Any) -> tuple[list[tuple[float, float, Any, Any]], dict[str, Any]]:
    """Bodies (mass, moment of inertia, centre, angle), and the contact points."""
    hip, trunk = q[:2], q[2]
    bodies, points = [(45.21, 2.3474, hip + turned(trunk, 0, 0.3322), trunk)], {}
    for side, k in (("right", 3), ("left", 6)):
        thigh = trunk + q[k]
        shank = thigh + q[k + 1]
        foot = shank + q[k + 2]
        knee = hip + turned(thigh, 0, -0.4244)
        ankle = knee + turned(shank, 0, -0.4426)
        bodies.append((10.62, 0.2070, hip + turned(thigh, 0, -0.1738), thigh))
        bodies.append((3.2475, 0.0385, knee + turned(shank, 0, -0.1945), shank))
        bodies.append((1.0275, 0.0042, ankle + turned(foot, 0.0545, -0.0350), foot))
        points[f"{side}_heel"] = ankle + turned(foot, -0.06, -0.07)
        points[f"{side}_toe"] = ankle + turned(foot, 0.15, -0.07)
    return bodies, points


def torques(slope: float) -> tuple[ca.Function, list[str]]:
    """Generalized forces by Lagrange's equations, without ground forces; positions of the points,
    and their Jacobians, one after the other."""
    q, v, a = (ca.SX.sym(name, 9) for name in "qva")
    bodies, points = geometry(q)
    kinetic, potential = 0, 0
    down = -ca.DM((slope, 1.0)) / np.hypot(1.0, slope)  # the ground rises along x
    for mass, inertia, centre, angle in bodies:
        speed, turn = ca.jtimes(centre, q, v), ca.jtimes(angle, q, v)
        kinetic += mass * ca.sumsqr(speed) / 2 + inertia * turn**2 / 2
        potential -= mass * GRAVITY * ca.dot(down, centre)
    momentum = ca.gradient(kinetic, v)
    tau = (
        ca.jtimes(momentum, q, v) + ca.jtimes(momentum, v, a) - ca.gradient(kinetic - potential, q)
    )
    jacobians = [ca.jacobian(p, q) for p in points.values()]
    outputs = [tau, *points.values(), *jacobians]
    return ca.Function("walker", [q, v, a], outputs, {"cse": True}), list(points)


class Writer:
    """Collects the program of a statement."""

    def __init__(self, statement: Statement) -> None:
        self.s, self.out, self.N = statement, Walker(), statement.segments
        self.dynamics, self.points = torques(statement.slope)
        keys, N = self.out.keys, self.N
        for p, phase in enumerate(PHASES):
            keys += [("q", p, k, j) for k in range(N + MOTION) for j in range(9)]
            for name, axis, _ in FORCES[phase]:
                keys += [(name, p, k, axis) for k in range(N + FORCE)]
            if statement.free_durations:
                keys.append(("T", p))
        keys += [("step",)] if statement.free_step else []
        keys += [("place",)] if statement.free_place else []
        self.out.x = ca.SX.sym("x", len(keys))
        self.at = {key: self.out.x[k] for k, key in enumerate(keys)}
        self.step = self.at[("step",)] if statement.free_step else statement.step
        self.heel = self.at[("place",)] if statement.free_place else -0.21

    def T(self, p: int) -> Any:
        free = self.s.free_durations
        return self.at[("T", p)] if free else SHARES[p] * self.s.duration

    def q(self, p: int, s: float, order: int = 0) -> Any:
        weights = basis(MOTION, self.N, s, order)
        entries = [
            sum(w * self.at[("q", p, k, j)] for k, w in enumerate(weights) if w) for j in range(9)
        ]
        return ca.vertcat(*entries) / self.T(p) ** order

    def force(self, p: int, name: str, axis: int, s: float, order: int = 0) -> Any:
        """N."""
        weights = basis(FORCE, self.N, s, order)
        total = sum(w * self.at[(name, p, k, axis)] for k, w in enumerate(weights) if w)
        return total / self.T(p) ** order

    def tau(self, p: int, s: float) -> Any:
        found = self.dynamics(*(self.q(p, s, order) for order in range(3)))
        jacobians = dict(zip(self.points, found[5:], strict=True))
        tau = found[0]
        for name, axis, point in FORCES[PHASES[p]]:
            tau -= jacobians[point][axis // 2, :].T * self.force(p, name, axis, s)
        return tau

    def point(self, p: int, name: str, s: float) -> Any:
        zero = ca.SX.zeros(9)
        return self.dynamics(self.q(p, s), zero, zero)[1 + self.points.index(name)]

    def add(self, name: str, value: Any, low: float, high: float) -> None:
        self.out.rows.append((name, value, low, high))

    # -- the parts ----------------------------------------------------------------------------

    def result(self) -> Walker:
        for p in range(3):
            self.costs(p)
            self.limits(p)
            self.contacts(p)
            self.friction(p)
        self.meetings()
        self.cycle()
        return self.out

    def costs(self, p: int) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(5)
        sums: dict[str, Any] = {"effort": 0, "smoothness": 0, "contact_force_rate": 0}
        for k in range(self.N):
            for node, weight in zip(nodes, weights, strict=True):
                s, dt = (k + (node + 1) / 2) / self.N, weight / 2 / self.N * self.T(p)
                tau, jerk = self.tau(p, s), self.q(p, s, 3)
                sums["effort"] += dt * sum(
                    (tau[j] / most) ** 2 for j, most in zip(JOINTS, LARGEST, strict=True)
                )
                sums["smoothness"] += 1e-8 * dt * sum(jerk[j] ** 2 for j in JOINTS)
                sums["contact_force_rate"] += (
                    1e-3
                    * dt
                    * sum(
                        (self.force(p, name, axis, s, 1) / WEIGHT) ** 2
                        for name, axis, _ in FORCES[PHASES[p]]
                    )
                )
        for name, value in sums.items():
            self.out.costs[name] = self.out.costs.get(name, 0) + value
            self.out.f += value

    def lim(self, skip_first: bool = False, skip_last: bool = False) -> np.ndarray:
        s = np.arange(3 * self.N + 1) / (3 * self.N)
        return s[int(skip_first) : len(s) - int(skip_last)]

    def limits(self, p: int) -> None:
        phase = PHASES[p]
        for s in self.lim():
            q, tau = self.q(p, s), self.tau(p, s)
            for j, (low, high), most in zip(JOINTS, RANGES, LARGEST, strict=True):
                self.add(f"{phase}: position {NAMES[j]}", q[j], low, high)
                self.add(f"{phase}: effort {NAMES[j]}", tau[j], -most, most)
        for s in greville(FORCE, self.N):  # all of them: base accelerations are not continued
            tau = self.tau(p, s)
            for j in BASE:
                self.add(f"{phase}: passive torque {NAMES[j]}", tau[j], 0.0, 0.0)

    def contacts(self, p: int) -> None:
        phase, at = PHASES[p], greville(MOTION, self.N)
        held = {
            "flat": {"right_heel": (self.heel, at[3:])},
            "toe": {"right_toe": (0.0, at[3:])},
            "double": {"right_toe": (0.0, at[3:]), "left_heel": (self.heel + self.step, at)},
        }[phase]
        for name, (x, instants) in held.items():
            for s in instants:
                place = self.point(p, name, s)
                self.add(f"{phase}: place {name} x", place[0] - x, 0.0, 0.0)
                self.add(f"{phase}: place {name} z", place[1], 0.0, 0.0)
        if phase == "flat":
            for s in at:
                q = self.q(p, s)
                self.add("flat: foot foot", q[2] + q[3] + q[4] + q[5], 0.0, 0.0)
        above = {
            "flat": {"left_heel": self.lim(), "left_toe": self.lim(skip_first=True)},
            "toe": {
                "right_heel": self.lim(skip_first=True),
                "left_heel": self.lim(skip_last=True),
                "left_toe": self.lim(),
            },
            "double": {"right_heel": self.lim(), "left_toe": self.lim(skip_last=True)},
        }[phase]
        for name, instants in above.items():
            for s in instants:
                self.add(f"{phase}: below ground {name} z", self.point(p, name, s)[1], 0, np.inf)
        for s in CLEARANCE[phase]:
            self.add(
                f"{phase}: clearance left_toe z", self.point(p, "left_toe", s)[1], 0.02, np.inf
            )

    def friction(self, p: int) -> None:
        phase = PHASES[p]
        ends = {  # where a vertical force, or the force of a whole foot, is zero: start, end
            ("flat", "right_heel"): (False, True),
            ("flat", "right_toe"): (True, False),
            ("double", "right_toe"): (False, True),
            ("double", "left_heel"): (True, False),
            ("double", "right_sole"): (False, True),
            ("double", "left_sole"): (True, False),
        }
        soles: dict[str, list[str]] = {}
        for name, axis, _ in FORCES[phase]:
            if axis == 2:
                soles.setdefault(f"{name.split('_')[0]}_sole", []).append(name)
                for s in self.lim(*ends.get((phase, name), (False, False))):
                    up = self.force(p, name, 2, s) / WEIGHT
                    self.add(f"{phase}: lifts off {name} z", up, 0.0, np.inf)
            begins, stops = ends.get((phase, name), (False, False))
            for zero, at, word in ((begins, 0.0, "begins"), (stops, 1.0, "ends")):
                if zero:
                    value = self.force(p, name, axis, at)
                    self.add(f"{phase}: force {word} {name} {'xyz'[axis]}", value, 0.0, 0.0)
        for sole, names in soles.items():
            for s in self.lim(*ends.get((phase, sole), (False, False))):
                up = sum(self.force(p, name, 2, s) for name in names)
                along = self.force(p, sole, 0, s)
                if self.s.cone:
                    value = ((FRICTION * up) ** 2 - along**2) / WEIGHT
                    self.add(f"{phase}: slips {sole}", value, 0.0, np.inf)
                    continue
                for sign, word in ((1.0, "+"), (-1.0, "-")):
                    self.add(
                        f"{phase}: slips {sole} {word}x", FRICTION * up - sign * along, 0.0, np.inf
                    )

    def meetings(self) -> None:
        for p in (0, 1):
            where = f"continuity {PHASES[p]} to {PHASES[p + 1]}"
            for order, letter in enumerate("qva"):
                jump = self.q(p + 1, 0.0, order) - self.q(p, 1.0, order)
                for j in range(9) if order < 2 else JOINTS:
                    self.add(f"{where} {NAMES[j]} {letter}", jump[j], 0.0, 0.0)
            for name, axis in (("right_sole", 0), ("right_toe", 2)):
                jump = self.force(p + 1, name, axis, 0.0) - self.force(p, name, axis, 1.0)
                self.add(f"{where} signal {name} {'xyz'[axis]}", jump, 0.0, 0.0)

    def cycle(self) -> None:
        for order, letter in enumerate("qva"):
            start, end = self.q(0, 0.0, order), self.q(2, 1.0, order)
            for j in range(9) if order < 2 else JOINTS:
                gain = self.step if (j, order) == (0, 0) else 0.0
                value = end[j] - start[MIRRORED[j]] - gain
                self.add(f"cycle {NAMES[j]} {letter}", value, 0.0, 0.0)
        for name, image, axis in (("left_heel", "right_heel", 2), ("left_sole", "right_sole", 0)):
            value = self.force(2, name, axis, 1.0) - self.force(0, image, axis, 0.0)
            self.add(f"cycle force {name} {'xyz'[axis]}", value, 0.0, 0.0)


def casadi_walker(statement: Statement) -> Walker:
    return Writer(statement).result()
