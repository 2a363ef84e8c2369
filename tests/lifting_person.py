"""A person of 75 kg with 102 coordinates and a box with 6: the model of the reference lift.

Its optima are known: with weight 10 on the final height of the box, 2.65 s and 26 or 53 steps, the
objective is -20.227527 and -20.234868. x is forward, y left, z up; every joint is a chain of
hinges (or slides) of which the last one carries the segment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import predyn
from predyn import Constraint, Cost, Model, ModelBuilder, State
from predyn.model import Frame
from predyn.movements import lift_guess
from predyn.movements.postures import Balance, Held, Posture, find_posture
from predyn.terms import Effort, JointPosition, JointVelocity, PatchWrench

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
WIDE = (-10.0, 10.0)
TILT = 0.35  # rad, by which the box may turn
BOX_SIZE = 0.3, 0.4, 0.3  # m
DURATION, WEIGHT, SPEED_WEIGHT = 2.65, 10.0, 0.05  # s; of the final height; of squared speeds
OPTIMA = {26: -20.227527, 53: -20.234868}  # objective by number of steps
FRICTION, HALF_SOLE, YAW = 0.7, (0.12, 0.045), 0.05  # m along and across; m, moment over force
FEET = {"sole_l": (0.0, 0.13, 0.0), "sole_r": (0.0, -0.13, 0.0)}  # places, without turning
# box forward and up (m), and the shares of the postures crouched, standing and reaching up
WAY = (
    (0.36, 0.15, (1.0, 0.0, 0.0)),
    (0.36, 0.40, (0.7, 0.3, 0.0)),
    (0.36, 0.75, (0.0, 1.0, 0.0)),
    (0.36, 1.10, (0.0, 1.0, 0.0)),
    (0.33, 1.45, (0.0, 0.5, 0.5)),
    (0.25, 1.65, (0.0, 0.0, 1.0)),
)
CROUCHED = {"pelvis_2": 0.5, "pelvis_4": 0.5, "pelvis_0": -0.25, "thigh_0": -1.9, "shank_0": 1.8,
            "foot_0": -0.4, "upper_arm_0": -1.0, "forearm_0": -0.3, "spine1_0": 0.15,
            "spine2_0": 0.15, "spine3_0": 0.15}  # fmt: skip
STANDING = {"pelvis_2": 0.96, "thigh_0": -0.15, "shank_0": 0.3, "foot_0": -0.15,
            "upper_arm_0": -0.7, "forearm_0": -1.2}  # fmt: skip
REACHING = {"pelvis_2": 0.98, "thigh_0": -0.1, "shank_0": 0.2, "foot_0": -0.1,
            "upper_arm_0": -2.5, "forearm_0": -0.6}  # fmt: skip


@dataclass(frozen=True)
class Segment:
    """Axes of its joint (capitals slide), their limits, one torque limit for all, and its body."""

    name: str
    parent: str
    origin: tuple[float, float, float]
    axes: str
    limits: tuple[tuple[float, float], ...]
    torque: float
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]


def trunk() -> list[Segment]:
    free = ("XYZzyx", (WIDE,) * 6, 0.0)
    rows = [
        Segment("pelvis", "world", (0, 0, 0), *free, 10.0, (0, 0, 0.02), (0.08, 0.06, 0.08))
    ]  # fmt: skip
    below, origin = "pelvis", (-0.03, 0.0, 0.1)
    bend = ((-0.12, 0.3), (-0.2, 0.2), (-0.2, 0.2))
    for k in range(1, 7):
        body = (4.5, (0.02, 0.0, 0.04), (0.045, 0.03, 0.05))
        rows.append(Segment(f"spine{k}", below, origin, "yxz", bend, 250.0, *body))
        below, origin = f"spine{k}", (0.0, 0.0, 0.08)
    half = ((-0.5, 0.5),) * 3
    body = (1.0, (0.0, 0.0, 0.03), (0.001, 0.001, 0.001))
    rows.append(Segment("neck", "spine6", (0, 0, 0.08), "yxz", half, 40.0, *body))
    body = (4.5, (0.0, 0.0, 0.12), (0.02, 0.02, 0.015))
    rows.append(Segment("head", "neck", (0, 0, 0.06), "yxz", half, 40.0, *body))
    return rows


def arm(side: str, y: float) -> list[Segment]:
    def outward(low: float, high: float) -> tuple[float, float]:
        return (low, high) if y > 0 else (-high, -low)

    rows = [
        Segment(f"clavicle_{side}", "spine6", (0, 0.03 * y, 0.06), "zx",
                ((-0.4, 0.4), outward(-0.1, 0.6)), 80.0,
                1.0, (0, 0.08 * y, 0), (0.003, 0.001, 0.003)),
        Segment(f"upper_arm_{side}", f"clavicle_{side}", (0, 0.15 * y, 0), "yxz",
                ((-3.0, 0.8), outward(-0.3, 2.4), (-1.4, 1.4)), 90.0,
                2.0, (0, 0, -0.13), (0.014, 0.014, 0.002)),
        Segment(f"forearm_{side}", f"upper_arm_{side}", (0, 0, -0.29), "yz",
                ((-2.5, 0.0), (-1.4, 1.4)), 70.0, 1.2, (0, 0, -0.11), (0.006, 0.006, 0.001)),
        Segment(f"hand_{side}", f"forearm_{side}", (0, 0, -0.25), "yx",
                ((-1.2, 1.2), (-0.6, 0.6)), 20.0, 0.4, (0, 0, -0.06), (0.0008, 0.0008, 0.0003)),
    ]  # fmt: skip
    phalanges = (  # joint from the one before, axes, ranges, kg, m, kg m^2
        ("a", None, "yx", ((-0.4, 0.4), (-0.2, 1.4)), 0.03, -0.02, (8e-6, 8e-6, 2e-6)),
        ("b", -0.04, "x", ((-0.1, 1.6),), 0.02, -0.015, (4e-6, 4e-6, 1e-6)),
        ("c", -0.03, "x", ((-0.1, 1.2),), 0.01, -0.01, (2e-6, 2e-6, 1e-6)),
    )
    for digit in range(5):
        forward, down = ((digit - 2) * 0.02, -0.09) if digit else (-0.03, -0.03)
        parent, place = f"hand_{side}", (forward, 0.0, down)
        for part, length, axes, limits, mass, com, inertia in phalanges:
            name = f"digit{digit}{part}_{side}"
            origin = place if length is None else (0.0, 0.0, length)
            body = (mass, (0.0, 0.0, com), inertia)
            rows.append(Segment(name, parent, origin, axes, limits, 3.0, *body))
            parent = name
    return rows


def leg(side: str, y: float) -> list[Segment]:
    return [
        Segment(f"thigh_{side}", "pelvis", (0, 0.09 * y, -0.06), "yxz",
                ((-2.3, 0.4), (-0.7, 0.7), (-0.7, 0.7)), 250.0,
                7.5, (0, 0, -0.18), (0.12, 0.12, 0.03)),
        Segment(f"shank_{side}", f"thigh_{side}", (0, 0, -0.42), "y", ((0.02, 2.6),), 250.0,
                3.5, (0, 0, -0.18), (0.05, 0.05, 0.006)),
        Segment(f"foot_{side}", f"shank_{side}", (0, 0, -0.42), "yx",
                ((-0.8, 0.8), (-0.4, 0.4)), 200.0, 1.0, (0.05, 0, -0.04), (0.001, 0.004, 0.004)),
        Segment(f"toe_{side}", f"foot_{side}", (0.14, 0, -0.06), "y", ((-0.9, 0.3),), 20.0,
                0.15, (0.03, 0, 0), (0.0001, 0.0002, 0.0002)),
    ]  # fmt: skip


def box(mass: float) -> Segment:
    x, y, z = BOX_SIZE
    inertia = tuple(mass / 12.0 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y))
    limits = ((WIDE,) * 3) + ((-TILT, TILT),) * 3
    return Segment("box", "world", (0, 0, 0), "XYZzyx", limits, 0.0, mass, (0, 0, 0), inertia)


@cache
def lifting_person(box_mass: float = 10.0) -> Model:
    """108 coordinates; those of the pelvis and of the box have effort limits 0."""
    builder = ModelBuilder("lifting person")
    sides = (("l", 1.0), ("r", -1.0))
    rows = [*trunk(), *arm(*sides[0]), *arm(*sides[1]), *leg(*sides[0]), *leg(*sides[1])]
    for row in (*rows, box(box_mass)):
        above, last = row.parent, len(row.axes) - 1
        for k, axis in enumerate(row.axes):
            body = {"mass": row.mass, "com": row.com, "inertia": row.inertia} if k == last else {}
            name = row.name if k == last else f"{row.name} {k}"
            builder.add_link(
                name,
                above,
                f"{row.name}_{k}",
                "prismatic" if axis.isupper() else "revolute",
                AXES[axis.lower()],
                origin=row.origin if k == 0 else (0.0, 0.0, 0.0),
                position=row.limits[k],
                effort=row.torque,
                **body,
            )
            above = name
    for side, y in sides:
        builder.add_frame(f"sole_{side}", f"foot_{side}", (0.06, 0.0, -0.08))
        builder.add_frame(f"grip_{side}", f"hand_{side}", (0.0, 0.0, -0.09))
        builder.add_frame(f"handle_{side}", "box", (0.0, 0.2 * y, 0.1))
        builder.close_loop(f"grip_{side}", "point", f"grip_{side}", f"handle_{side}")
    return builder.build()


@cache
def standing_person() -> Model:
    """The person with both soles welded to their places."""
    model = lifting_person()
    for name, place in FEET.items():
        frame = Frame(f"{name} place", -1, np.eye(3), np.array(place))
        model = replace(model, frames=(*model.frames, frame))
        model = model.with_loop(name, "weld", name, frame.name)
    return model


def lift(steps: int, **solver: float) -> predyn.Problem:
    """As high as possible, from rest in the first posture to rest."""
    model, way = standing_person(), np.array([x.q for x in poses()])
    motors = [x for x in model.joint_names if not x.startswith(("pelvis", "box"))]
    rest = np.zeros(model.n)
    size = [2.0 * x for x in HALF_SOLE]
    return predyn.Problem(
        model,
        [predyn.Phase(DURATION, State(way[0], rest), State(v=rest))],
        costs=[
            Cost(JointPosition(["box_2"]), -WEIGHT, at="end", loss="linear", name="height"),
            Cost(Effort(motors, normalised=True), 0.5),
            Cost(JointVelocity(motors), 0.5 * SPEED_WEIGHT),
        ],
        constraints=[
            Constraint(PatchWrench(x, size, math.sqrt(2.0) * FRICTION, YAW)) for x in FEET
        ],
        passive=[x for x in model.joint_names if x not in motors],
        guess=lift_guess(way),
        transcription=predyn.Dmoc(steps=steps),
        solver=predyn.SolverOptions(**solver),
    )


def preferred(degrees: dict[str, float]) -> np.ndarray:
    """A posture from joint names without their sides."""
    return np.array([
        next((x for key, x in degrees.items() if name in (key, _sided(key, name))), 0.0)
        for name in lifting_person().joint_names
    ])  # fmt: skip


def _sided(key: str, name: str) -> str:
    """ "thigh_0" is "thigh_l_0" for a name of the left side."""
    segment, k = key.rsplit("_", 1)
    return f"{segment}_{name.rsplit('_', 2)[-2]}_{k}" if name.count("_") > 1 else key


def feet() -> list[Held]:
    """Three points of each sole: all six freedoms of the foot once."""
    held = []
    for frame, (x, y, _) in FEET.items():
        held.append(Held(frame, (x, y, 0.0)))
        held.append(Held(frame, (None, y, 0.0), (1.0, 0.0, 0.0)))
        held.append(Held(frame, (None, None, 0.0), (0.0, 1.0, 0.0)))
    return held


@cache
def poses() -> tuple[Posture, ...]:
    """The six postures of the guess, equidistant along the path; the first is the start."""
    model = lifting_person()
    postures = [preferred(x) for x in (CROUCHED, STANDING, REACHING)]
    low, high = model.limits.position.T
    found: list[Posture] = []
    for x, z, shares in WAY:
        wish = sum(share * q for share, q in zip(shares, postures, strict=True))
        given = {f"box_{k}": value for k, value in enumerate((x, 0.0, z, 0.0, 0.0, 0.0))}
        found.append(
            find_posture(
                model,
                wish,
                feet(),
                given,
                balance=Balance(0.01, 0.0, 8.0),
                spread=np.minimum(high - low, 3.0) / 0.15,
                start=found[-1].q if found else postures[0],
            )
        )
    return tuple(found)
