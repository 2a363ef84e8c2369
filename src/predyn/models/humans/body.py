"""The segments and joints of a person, added to a builder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from predyn.model.builder import ModelBuilder
from predyn.model.parts import pack_inertia, unpack_inertia
from predyn.models.humans import dimensions as at
from predyn.models.humans import hands
from predyn.models.humans.dimensions import Dimensions, dimensions_of
from predyn.models.humans.frames import add_frames
from predyn.models.humans.hands import cylinder
from predyn.models.humans.measures import measure
from predyn.models.humans.passive import FOREFOOT, damping_of, ligaments_of
from predyn.models.humans.passive import REFERENCE as PASSIVE_REFERENCE
from predyn.models.humans.people import Person
from predyn.models.humans.ranges import kind_of, position_range
from predyn.models.humans.segments import SEGMENTS, length_of, mass_of
from predyn.models.humans.shapes import add_shapes
from predyn.models.humans.strengths import effort_range

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BACK = (-1.0 * np.array(Y)).tolist()  # turning about it lifts what points forward

# parts of the foot of a man of 1.75 m and 75 kg: kg, m, kg m^2; no source for the split
REAR = (0.8, (0.033, 0.0, -0.035), (0.0012, 0.0028, 0.0028))
FORE = (0.2275, (0.03, 0.0, -0.005), (0.0002, 0.0002, 0.0003))
NECK_SHARE, NECK_RADIUS = 0.1, 0.057  # of the mass of the head, m at 1.75 m; no source
HALVED = 0.7  # inertia of half a trunk segment: factor on the segment's radii of gyration squared
TRUNK_SEGMENT = at.UPPER_TRUNK - at.MIDDLE_TRUNK  # m, height of middle and upper trunk at 1.75 m


class Body:
    """Adds the parts of a person to a builder."""

    def __init__(self, person: Person, factors: Mapping[str, float], detailed: bool) -> None:
        self.person, self.factors, self.detailed = person, factors, detailed
        self.parts = 3 if detailed else 2  # of each of the two segments of the trunk that bend
        self.sizes: Dimensions = dimensions_of(person, self.parts)
        self.builder = ModelBuilder("human")
        breadth = measure("hand_breadth", person.sex, person.height, person.mass)
        self.digits = list(hands.parts_of(self.sizes, breadth)) if detailed else []

    def add_all(self) -> None:
        """Add all segments in the order of the coordinates, then frames and shapes."""
        self.add_base()
        for side in "rl":
            self.add_leg(side)
        self.add_spine()
        for side in "rl":
            self.add_arm(side)
        self.add_neck()
        add_frames(self.builder, self.sizes)
        add_shapes(self.builder, self.person, self.sizes, self.digits)

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
            position=position_range(kind, len(self.sizes.spine)),
            effort=effort_range(
                kind, person.sex, person.age, person.height, person.mass, self.factors
            ),
            stiffness=spring,
            damping=damping_of(kind),
            ligaments=ligaments_of(kind, person.height, person.mass),
            **entries,
        )
        return link or joint

    def segment(self, name: str, centre: float) -> dict[str, Any]:
        """Mass, centre of mass (m above the joint) and inertia of a segment."""
        sex, row = self.person.sex, SEGMENTS[self.person.sex][name]
        mass = mass_of(name, sex, self.person.mass)
        length = length_of(name, sex, self.person.height)
        radii = np.array([row.sagittal, row.transverse, row.long])
        return {"mass": mass, "com": (0.0, 0.0, centre), "inertia": mass * (length * radii) ** 2}

    def trunk_part(self, name: str) -> dict[str, Any]:
        """One of the equal parts of a trunk segment.

        Three parts have less inertia of their own than two, so that a straight trunk has the same.
        """
        whole, height = self.segment(name, 0.0), self.sizes.trunk * TRUNK_SEGMENT
        spread = [(1.0 - 1.0 / parts**2) / 12.0 for parts in (2, self.parts)]  # of the centres
        across = whole["mass"] * height**2 * (spread[0] - spread[1])
        inertia = HALVED * whole["inertia"] + across * np.array([1.0, 1.0, 0.0])
        return {
            "mass": whole["mass"] / self.parts,
            "com": (0.0, 0.0, 0.5 * height / self.parts),
            "inertia": inertia / self.parts,
        }

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
        for k, height in enumerate(self.sizes.spine, 1):
            joint, origin = f"spine{k}", (0.0, 0.0, self.sizes.trunk * (height - below))
            part = self.trunk_part("middle_trunk" if height < at.UPPER_TRUNK else "upper_trunk")
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
            size.trunk * (at.CLAVICLE - size.spine[-1]),
        )
        outer = (
            0.0,
            left * size.shoulders * (at.SHOULDER_SIDE - at.CLAVICLE_SIDE),
            size.trunk * (at.SHOULDER - at.CLAVICLE),
        )
        up = tuple(-c for c in x)
        link = self.joint(f"clavicle_elevation_{side}", self.sizes.top, up, origin=inner)
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
        if self.detailed:
            # de Leva's palms face forward, these inward; only fingers make the hand flat
            hand["inertia"] = hand["inertia"][[1, 0, 2]]
            hand = self.add_digits(side, hand)
        self.joint(f"wrist_deviation_{side}", link, Y, f"hand_{side}", **hand)
        tip, length = f"hand_{side}", size.fingertip
        if self.detailed:
            tip = f"middle_distal_{side}"
            length = self.digits[hands.DIGITS.index("middle") * 3 + 2].length
        self.builder.add_frame(f"fingertip_{side}", tip, _below(length))

    def add_digits(self, side: str, hand: Mapping[str, Any]) -> dict[str, Any]:
        """Add fingers and thumb, and return what they leave of the hand."""
        x, _, _ = _mirrored(side)
        masses = hands.masses_of(self.digits, hand["mass"])
        for k, digit in enumerate(hands.DIGITS):
            parts, entries = self.digits[3 * k : 3 * k + 3], masses[3 * k : 3 * k + 3]
            first, *others = (f"{joint}_{side}" for joint in hands.joints_of(digit))
            links = [f"{digit}_{part.name}_{side}" for part in parts]
            # fingers spread away from the middle one; the thumb leaves the plane of the palm
            spread = x if digit == "thumb" else Y if digit in ("ring", "little") else BACK
            bend = Y if digit == "thumb" else x
            placed: dict[str, Any] = {"origin": parts[0].base, "rotation": parts[0].R}
            link = self.joint(first, f"hand_{side}", spread, **placed)
            for j, (joint, name) in enumerate(zip(others, links, strict=True)):
                origin = _below(parts[j - 1].length) if j else (0.0, 0.0, 0.0)
                link = self.joint(joint, link, bend, name, origin=origin, **entries[j])
        return hands.palm_of(hand, self.digits, masses)

    def add_neck(self) -> None:
        scale = self.sizes.trunk
        base = (0.0, 0.0, scale * (at.NECK - self.sizes.spine[-1]))
        link = self.joint("lower_neck_flexion", self.sizes.top, Y, origin=base)
        link = self.joint("lower_neck_bending", link, X)
        skull = (0.0, 0.0, scale * (at.SKULL - at.NECK))
        head = self.segment("head", scale * at.HEAD_CENTRE)
        neck: dict[str, Any] = {}
        if self.detailed:
            head, neck = self.split_head(head, skull)
        link = self.joint("lower_neck_rotation", link, Z, "neck", **neck)
        link = self.joint("upper_neck_flexion", link, Y, origin=skull)
        if self.detailed:
            link = self.joint("upper_neck_bending", link, X)
        self.joint("upper_neck_rotation", link, Z, "head", **head)

    def split_head(
        self, head: dict[str, Any], skull: tuple[float, float, float]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The head without its neck, and the neck: two ball joints need an inertia in between."""
        length, radius = skull[2], NECK_RADIUS * self.sizes.trunk
        neck = cylinder(NECK_SHARE * head["mass"], length, radius, 0.5 * length)
        below = np.array(neck["com"]) - skull
        rest = pack_inertia(head["mass"], head["com"], np.diag(head["inertia"]))
        rest = rest - pack_inertia(neck["mass"], below, np.diag(neck["inertia"]))
        mass, com, inertia = unpack_inertia(rest)
        return {"mass": mass, "com": com, "inertia": inertia}, neck


def _below(length: float) -> tuple[float, float, float]:
    return 0.0, 0.0, -length


def _mirrored(side: str) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Axes about which equal angles of both sides are mirrored, and the sign of y of the side."""
    sign = 1.0 if side == "r" else -1.0
    return (sign, 0.0, 0.0), (0.0, 0.0, sign), -sign
