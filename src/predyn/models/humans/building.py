"""human: an adult as a model with 55 coordinates, from height, mass, sex and age group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.edits import number
from predyn.models.humans import dimensions as at
from predyn.models.humans.dimensions import Dimensions, dimensions_of
from predyn.models.humans.frames import add_frames
from predyn.models.humans.locking import joints_to_lock
from predyn.models.humans.notes import notes_of
from predyn.models.humans.passive import DAMPING, FOREFOOT, ligaments_of
from predyn.models.humans.passive import REFERENCE as PASSIVE_REFERENCE
from predyn.models.humans.people import Person, person_of
from predyn.models.humans.ranges import kind_of, position_range
from predyn.models.humans.segments import SEGMENTS, length_of, mass_of
from predyn.models.humans.shapes import add_shapes
from predyn.models.humans.strengths import GROUPS, effort_range

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BACK = (-1.0 * np.array(Y)).tolist()  # turning about it lifts what points forward

# parts of the foot of a man of 1.75 m and 75 kg: kg, m, kg m^2; no source for the split
REAR = (0.8, (0.033, 0.0, -0.035), (0.0012, 0.0028, 0.0028))
FORE = (0.2275, (0.03, 0.0, -0.005), (0.0002, 0.0002, 0.0003))
LOADED = ("grip_r", "grip_l"), ("rucksack",)  # frames that carry load_hands and load_back
LARGEST_LOAD = 200.0  # kg
HALVED = 0.7  # inertia of half a trunk segment: factor on the segment's radii of gyration squared


def human(
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    *,
    age: str = "18-25",
    percentile: float | None = None,
    strength: float | Mapping[str, float] = 1.0,
    lock: str | Sequence[str] = (),
    load_hands: float = 0.0,
    load_back: float = 0.0,
) -> Model:
    """An adult with 55 coordinates; x forward, y left, z up, gravity (0, 0, -9.81).

    height: m, 1.40 to 2.00 (default 1.75). mass: kg, 35 to 145 (default 75); the body mass index
    must be from 15 to 40 kg/m^2. sex: "male" or "female". percentile: 1 to 99, gives the height and
    the mass that are not given, among soldiers of ANSUR II. age: "18-25", "55-65" or ">65", changes
    only strength. strength: a factor on all effort limits, or by group {"arms": 0.7}; groups
    "legs", "trunk", "arms", "neck". lock: groups "neck", "clavicles", "wrists", "upper spine" or
    joint names, fixed at 0. load_hands: kg, half of it a point mass in each hand; load_back: kg, a
    point mass at frame "rucksack".

    Coordinates: mid-hip "global_tx", "global_ty", "global_tz" (m), then rotations of the pelvis
    about z, x and -y ("global_rotation_1" to "_3", turning left, leaning right, tilting back);
    right leg, left leg, spine, right arm, left arm, neck. At 0 the person stands upright with
    hanging arms, thumbs forward; the soles are at z = 0 if global_tz is the height of the hips,
    which the notes state. Equal values on both sides are a symmetric posture. Positive: flexion of
    hips, knees, shoulders, elbows, wrists, spine and neck; adduction, internal rotation,
    dorsiflexion, inversion, extension of the forefoot, elevation and protraction, pronation, ulnar
    deviation; bending to the right and rotation to the left.

    Gimbal lock, where the mass matrix is singular: global_rotation_2 = ±90° (lying on a side),
    shoulder_adduction = -90° (arm straight out to the side); for hip and spine it is outside their
    ranges. The six base joints have no limits. Effort limits do not depend on angle or speed.
    """
    person = person_of(height, mass, sex, age, percentile)
    body = _Body(person, strength_factors(strength))
    body.add_base()
    for side in "rl":
        body.add_leg(side)
    body.add_spine()
    for side in "rl":
        body.add_arm(side)
    body.add_neck()
    add_frames(body.builder, body.sizes)
    add_shapes(body.builder, person, body.sizes)
    loads = {
        "in the hands": load_of(load_hands, "load_hands"),
        "on the back": load_of(load_back, "load_back"),
    }
    notes = notes_of(person, body.sizes, percentile, loads)
    model = body.builder.build(notes=notes)
    for load, frames in zip(loads.values(), LOADED, strict=True):
        for frame in frames if load > 0.0 else ():
            model = model.attach_payload(frame, load / len(frames))
    locked = joints_to_lock(lock, model.joint_names)
    if locked:  # one note, not one for each joint
        model = model.lock(dict.fromkeys(locked, 0.0))
        model = replace(model, notes=(*notes, f"locked at 0: {', '.join(locked)}"))
    return model


def load_of(value: Any, what: str) -> float:
    """A load (kg) that a person may carry."""
    load = number(value, f"{what} of a person")
    if not 0.0 <= load <= LARGEST_LOAD:
        raise InputError(f"{what} of a person: expected 0 to {LARGEST_LOAD:g} kg, got {load:g}")
    return load


def strength_factors(strength: Any) -> dict[str, float]:
    """The factor of each group of joints, from one number or a mapping."""
    given = strength if isinstance(strength, Mapping) else dict.fromkeys(GROUPS, strength)
    factors = dict.fromkeys(GROUPS, 1.0)
    for group, value in given.items():
        if group not in GROUPS:
            raise unknown_name("group of joints in strength", group, GROUPS)
        factors[group] = number(value, f"strength of {group}")
        if not 0.0 < factors[group] <= 10.0:
            raise InputError(
                f"strength of {group}: expected a factor above 0 and up to 10, got {value!r:.60}"
            )
    return factors


class _Body:
    """Adds the parts of a person to a builder."""

    def __init__(self, person: Person, factors: Mapping[str, float]) -> None:
        self.person, self.factors = person, factors
        self.sizes: Dimensions = dimensions_of(person)
        self.builder = ModelBuilder("human")

    def joint(
        self, joint: str, parent: str, axis: Sequence[float], link: str = "", **entries: Any
    ) -> str:
        """Add a joint with its range and strength; the name of its link, by default the joint's."""
        person, kind = self.person, kind_of(joint)
        spring = 0.0
        if kind == "forefoot_extension":
            spring = FOREFOOT * person.mass * person.height / PASSIVE_REFERENCE
        self.builder.add_link(
            link or joint,
            parent,
            joint,
            axis=axis,
            position=position_range(kind),
            effort=effort_range(
                kind, person.sex, person.age, person.height, person.mass, self.factors
            ),
            stiffness=spring,
            damping=DAMPING,
            ligaments=ligaments_of(kind, person.height, person.mass),
            **entries,
        )
        return link or joint

    def segment(self, name: str, centre: float, parts: int = 1) -> dict[str, Any]:
        """Mass, centre of mass (m above the joint) and inertia of a segment, or of half of one."""
        sex, row = self.person.sex, SEGMENTS[self.person.sex][name]
        mass = mass_of(name, sex, self.person.mass) / parts
        length = length_of(name, sex, self.person.height)
        factor = mass * length**2 * (1.0 if parts == 1 else HALVED)
        radii = np.array([row.sagittal, row.transverse, row.long])
        return {"mass": mass, "com": (0.0, 0.0, centre), "inertia": factor * radii**2}

    def add_base(self) -> None:
        add, parent = self.builder.add_link, "world"
        for name, axis in (("global_tx", X), ("global_ty", Y), ("global_tz", Z)):
            add(name, parent, name, "prismatic", axis)
            parent = name
        for name, axis in (("global_rotation_1", Z), ("global_rotation_2", X)):
            add(name, parent, name, axis=axis)
            parent = name
        pelvis = self.segment("lower_trunk", self.sizes.pelvis_centre)
        add("pelvis", parent, "global_rotation_3", axis=BACK, **pelvis)

    def add_leg(self, side: str) -> None:
        x, z, left = _mirrored(side)
        size = self.sizes
        hip = (0.0, left * size.hip_side, 0.0)
        link = self.joint(f"hip_flexion_{side}", "pelvis", BACK, origin=hip)
        link = self.joint(f"hip_adduction_{side}", link, x)
        thigh = self.segment("thigh", -size.thigh_centre)
        link = self.joint(f"hip_rotation_{side}", link, z, f"thigh_{side}", **thigh)
        shank = self.segment("shank", -SEGMENTS[self.person.sex]["shank"].com * size.shank)
        link = self.joint(
            f"knee_flexion_{side}", link, Y, f"shank_{side}", origin=_below(size.thigh), **shank
        )
        link = self.joint(f"ankle_dorsiflexion_{side}", link, BACK, origin=_below(size.shank))
        rear, fore = self.foot_part(*REAR), self.foot_part(*FORE)
        link = self.joint(f"ankle_inversion_{side}", link, x, f"rearfoot_{side}", **rear)
        foot = size.foot
        ball = (foot.long * at.BALL, 0.0, foot.high * (at.BALL_HEIGHT - at.ANKLE))
        self.joint(
            f"forefoot_extension_{side}", link, BACK, f"forefoot_{side}", origin=ball, **fore
        )

    def foot_part(
        self, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> dict[str, Any]:
        """A part of the reference man's foot, scaled to the mass and the lengths of this foot."""
        foot = self.sizes.foot
        scaled = mass / (REAR[0] + FORE[0]) * mass_of("foot", self.person.sex, self.person.mass)
        return {
            "mass": scaled,
            "com": np.array(foot) * com,
            "inertia": scaled / mass * math.prod(foot) ** (2.0 / 3.0) * np.array(inertia),
        }

    def add_spine(self) -> None:
        parent, below = "pelvis", 0.0
        scale = self.sizes.trunk
        names = ("middle_trunk", "middle_trunk", "upper_trunk", "upper_trunk")
        for k, (height, name) in enumerate(zip(at.SPINE, names, strict=True), 1):
            joint, origin = f"spine{k}", (0.0, 0.0, scale * (height - below))
            part = self.segment(name, scale * at.TRUNK_CENTRE, parts=2)
            link = self.joint(f"{joint}_bending", parent, X, origin=origin)
            link = self.joint(f"{joint}_flexion", link, Y)
            parent = self.joint(f"{joint}_rotation", link, Z, joint, **part)
            below = height

    def add_arm(self, side: str) -> None:
        x, z, left = _mirrored(side)
        size = self.sizes
        com = {name: row.com for name, row in SEGMENTS[self.person.sex].items()}
        inner = (
            0.0,
            left * size.shoulders * at.CLAVICLE_SIDE,
            size.trunk * (at.CLAVICLE - at.SPINE[-1]),
        )
        outer = (
            0.0,
            left * size.shoulders * (at.SHOULDER_SIDE - at.CLAVICLE_SIDE),
            size.trunk * (at.SHOULDER - at.CLAVICLE),
        )
        up = tuple(-c for c in x)
        link = self.joint(f"clavicle_elevation_{side}", "spine4", up, origin=inner)
        link = self.joint(f"clavicle_protraction_{side}", link, z, f"clavicle_{side}")
        link = self.joint(f"shoulder_flexion_{side}", link, BACK, origin=outer)
        link = self.joint(f"shoulder_adduction_{side}", link, x)
        upper = self.segment("upper_arm", -com["upper_arm"] * size.upper_arm)
        link = self.joint(f"shoulder_rotation_{side}", link, z, f"upper_arm_{side}", **upper)
        link = self.joint(f"elbow_flexion_{side}", link, BACK, origin=_below(size.upper_arm))
        fore = self.segment("forearm", -com["forearm"] * size.forearm)
        link = self.joint(f"forearm_pronation_{side}", link, z, f"forearm_{side}", **fore)
        link = self.joint(f"wrist_flexion_{side}", link, x, origin=_below(size.forearm))
        hand = self.segment("hand", -com["hand"] * size.hand)
        self.joint(f"wrist_deviation_{side}", link, Y, f"hand_{side}", **hand)

    def add_neck(self) -> None:
        scale = self.sizes.trunk
        base = (0.0, 0.0, scale * (at.NECK - at.SPINE[-1]))
        link = self.joint("lower_neck_flexion", "spine4", Y, origin=base)
        link = self.joint("lower_neck_bending", link, X)
        link = self.joint("lower_neck_rotation", link, Z, "neck")
        skull = (0.0, 0.0, scale * (at.SKULL - at.NECK))
        link = self.joint("upper_neck_flexion", link, Y, origin=skull)
        head = self.segment("head", scale * at.HEAD_CENTRE)
        self.joint("upper_neck_rotation", link, Z, "head", **head)


def _below(length: float) -> tuple[float, float, float]:
    return 0.0, 0.0, -length


def _mirrored(side: str) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Axes about which equal angles of both sides are mirrored, and the sign of y of the side."""
    sign = 1.0 if side == "r" else -1.0
    return (sign, 0.0, 0.0), (0.0, 0.0, sign), -sign
