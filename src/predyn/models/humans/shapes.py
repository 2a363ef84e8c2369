"""Bodies of a person for pictures: surfaces as wide as the body, from ANSUR II where it has them.

Widths that the survey does not give (knees, elbows, neck, hands) are drawn by eye, in proportion to
height. The dynamics does not use them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from predyn.model.builder import ModelBuilder
from predyn.model.parts import Array, Triangles
from predyn.models.humans import dimensions as at
from predyn.models.humans.dimensions import Dimensions, dimensions_of
from predyn.models.humans.hands import Part
from predyn.models.humans.measures import FITS, measure
from predyn.models.humans.people import Person
from predyn.models.humans.surfaces import Z_TO_X, Z_TO_Y, Section, surface

Drawn = tuple[str, Triangles, Array]  # link, surface, its axes in the link


def add_shapes(
    builder: ModelBuilder, person: Person, size: Dimensions, digits: Sequence[Part] = ()
) -> None:
    """Add the shapes of all links of a person; digits: the segments of fingers, if it has any."""
    drawn = [*(_fine_trunk if digits else _trunk)(person, size), *_head(person, size)]
    for side, left in (("r", -1.0), ("l", 1.0)):
        drawn += [*_leg(person, size, side), *_arm(person, size, side, left, bool(digits))]
        for part in digits:
            middle = (0.0, 0.0, -0.5 * part.length)
            link = f"{part.digit}_{part.name}_{side}"
            builder.add_shape("capsule", link, (part.radius, part.length), middle)
    for link, triangles, R in drawn:
        builder.add_shape("mesh", link, (1.0, 1.0, 1.0), rotation=R, triangles=triangles)


def _measures(person: Person) -> dict[str, float]:
    return {
        name: measure(name, person.sex, person.height, person.mass) for name in FITS[person.sex]
    }


def _trunk(person: Person, size: Dimensions) -> Iterator[Drawn]:
    m, u = _measures(person), size.trunk
    hips = m["hip_breadth"] / 2.0, m["buttock_depth"] / 2.0
    waist = m["waist_breadth"] / 2.0, m["waist_depth"] / 2.0
    chest = m["chest_breadth"] / 2.0, m["chest_depth"] / 2.0
    between = 0.5 * (waist[0] + chest[0]), 0.5 * (waist[1] + chest[1])

    def section(height: float, half: tuple[float, float], by: float, x: float = 0.0) -> Section:
        return Section(u * (height - by), half[1], half[0], u * x)

    def scaled(half: tuple[float, float], wide: float, deep: float) -> tuple[float, float]:
        return wide * half[0], deep * half[1]

    # each part begins a little inside the one below, so that surfaces never coincide
    pelvis = [
        section(-0.075, scaled(hips, 0.62, 0.62), 0.0),
        section(-0.035, scaled(hips, 0.97, 0.92), 0.0, -0.005),
        section(0.02, hips, 0.0, -0.01),
        section(0.08, scaled(hips, 0.97, 0.93), 0.0),
        section(0.12, scaled(waist, 1.02, 1.0), 0.0, 0.01),
        section(0.14, scaled(waist, 0.92, 0.92), 0.0, 0.01),
    ]
    yield "pelvis", surface(pelvis, 2.3), np.eye(3)
    one = [
        section(0.09, scaled(waist, 0.85, 0.85), size.spine[0], 0.01),
        section(0.15, waist, size.spine[0], 0.01),
        section(0.20, between, size.spine[0], 0.008),
        section(0.23, scaled(between, 0.93, 0.93), size.spine[0], 0.008),
    ]
    yield "spine1", surface(one, 2.3), np.eye(3)
    two = [
        section(0.18, scaled(between, 0.86, 0.86), size.spine[1], 0.008),
        section(0.24, scaled(between, 1.01, 1.0), size.spine[1], 0.006),
        section(0.30, chest, size.spine[1]),
        section(0.33, scaled(chest, 0.93, 0.93), size.spine[1]),
    ]
    yield "spine2", surface(two, 2.3), np.eye(3)
    three = [
        section(0.28, scaled(chest, 0.86, 0.86), size.spine[2]),
        section(0.34, scaled(chest, 1.02, 1.0), size.spine[2]),
        section(0.40, scaled(chest, 1.06, 0.99), size.spine[2]),
        section(0.43, scaled(chest, 0.98, 0.90), size.spine[2]),
    ]
    yield "spine3", surface(three, 2.3), np.eye(3)
    four = [
        section(0.38, scaled(chest, 0.92, 0.86), size.spine[3]),
        section(0.44, scaled(chest, 1.12, 0.94), size.spine[3]),
        section(0.49, scaled(chest, 1.16, 0.78), size.spine[3]),
        section(0.535, scaled(chest, 0.98, 0.60), size.spine[3]),
        section(0.565, scaled(chest, 0.58, 0.50), size.spine[3]),
        section(0.585, scaled(chest, 0.42, 0.42), size.spine[3]),
    ]
    yield "spine4", surface(four, 2.2), np.eye(3)


def _fine_trunk(person: Person, size: Dimensions) -> Iterator[Drawn]:
    """The trunk with more joints: the pelvis as it is, the rest cut out of the outline above it."""
    coarse = dimensions_of(person).spine
    pelvis, *others = _trunk(person, replace(size, spine=coarse))
    yield pelvis
    m, u, spine = _measures(person), size.trunk, size.spine
    waist, chest = (
        np.array([m[f"{x}_depth"], m[f"{x}_breadth"]]) / 2.0 for x in ("waist", "chest")
    )
    heights = (0.10, 0.15, 0.20, 0.30, 0.40, 0.44, 0.47)
    outline = np.array([
        *(waist, waist, 0.5 * (waist + chest), chest),
        *(chest * (0.99, 1.06), chest * (0.94, 1.12), chest * (0.86, 1.14)),
    ])  # fmt: skip

    def section(height: float, by: float, scale: float = 1.0) -> Section:
        deep, wide = (scale * np.interp(height, heights, column) for column in outline.T)
        return Section(u * (height - by), deep, wide, u * np.interp(height, (0.15, 0.3), (0.01, 0)))

    for k, (low, high) in enumerate(itertools.pairwise(spine), 1):
        rows = [
            section(low - 0.015, low, 0.86),
            section(low + 0.3 * (high - low), low),
            section(high, low),
            section(high + 0.02, low, 0.93),
        ]
        yield f"spine{k}", surface(rows, 2.3), np.eye(3)
    _, top, R = others[-1]
    raised = np.array([0.0, 0.0, u * (spine[-1] - coarse[-1])])
    points = (top.points - raised).astype(np.float32)
    yield size.top, Triangles(points, top.faces), R


def _head(person: Person, size: Dimensions) -> Iterator[Drawn]:
    m, u = _measures(person), size.trunk
    thick = 0.9 if person.sex == "female" else 1.0
    neck = [
        Section(u * -0.04, 0.066 * u * thick, 0.072 * u * thick),
        Section(u * 0.02, 0.057 * u * thick, 0.057 * u * thick, 0.005 * u),
        Section(u * 0.09, 0.055 * u * thick, 0.053 * u * thick, 0.012 * u),
    ]
    yield "neck", surface(neck), np.eye(3)
    long, wide = m["head_length"] / 2.0, m["head_breadth"] / 2.0
    top = size.vertex - u * at.SKULL
    chin = top - 0.13 * person.height
    tall = top - chin
    rows = ((0.03, 0.34, 0.42, 0.42), (0.15, 0.60, 0.66, 0.26), (0.35, 0.86, 0.88, 0.10),
            (0.58, 1.0, 1.0, 0.0), (0.78, 0.93, 0.94, -0.02),
            (0.92, 0.66, 0.67, -0.03))  # fmt: skip
    x0 = 0.012 * u
    head = [Section(chin + z * tall, a * long, b * wide, x0 + c * long) for z, a, b, c in rows]
    yield "head", surface(head, 2.0, 0.3), np.eye(3)


def _leg(person: Person, size: Dimensions, side: str) -> Iterator[Drawn]:
    m, u = _measures(person), person.height / 1.75
    thigh = m["thigh_circumference"] / (2.0 * math.pi)
    calf = m["calf_circumference"] / (2.0 * math.pi)
    ankle, knee = m["ankle_breadth"] / 2.0, 0.5 * calf + 0.028 * u
    length = size.thigh
    rows = [
        Section(-1.04 * length, 0.92 * knee, 0.92 * knee),
        Section(-0.9 * length, knee, knee),
        Section(-0.5 * length, 0.84 * thigh, 0.80 * thigh),
        Section(-0.16 * length, thigh, 0.93 * thigh),
        Section(0.03 * length, 0.86 * thigh, 0.75 * thigh),
    ]
    yield f"thigh_{side}", surface(rows), np.eye(3)
    length = size.shank
    rows = [
        Section(-1.02 * length, 0.92 * ankle, 0.82 * ankle),
        Section(-0.85 * length, 0.98 * ankle, 0.88 * ankle),
        Section(-0.55 * length, 0.82 * calf, 0.80 * calf, -0.006 * u),
        Section(-0.28 * length, 1.02 * calf, 0.98 * calf, -0.014 * u),
        Section(-0.08 * length, 0.95 * knee, 0.93 * knee),
        Section(0.03 * length, 0.88 * knee, 0.88 * knee),
    ]
    yield f"shank_{side}", surface(rows), np.eye(3)
    yield from _foot(person, size, side)


def _foot(person: Person, size: Dimensions, side: str) -> Iterator[Drawn]:
    m, foot = _measures(person), size.foot
    half, inner = m["foot_breadth"] / 2.0, 1.0 if side == "r" else -1.0

    def section(x: float, top: float, wide: float, joint: float, level: float) -> Section:
        """At x ahead of the ankle, up to `top` above the ground; `level` is that of the joint."""
        tall = 0.5 * foot.high * top
        y = 0.1 * half * inner * (1.0 if x > 0.05 else 0.0)
        return Section(foot.long * (x - joint), tall, wide * half, foot.high * level - tall, y)

    ankle, ball = at.ANKLE, at.BALL_HEIGHT
    rear = [
        section(-0.052, 0.050, 0.50, 0.0, ankle),
        section(-0.035, 0.078, 0.62, 0.0, ankle),
        section(0.0, 0.098, 0.66, 0.0, ankle),
        section(0.035, 0.088, 0.72, 0.0, ankle),
        section(0.08, 0.060, 0.88, 0.0, ankle),
        section(0.128, 0.040, 0.98, 0.0, ankle),
    ]
    yield f"rearfoot_{side}", surface(rear, 2.6, 0.3), Z_TO_X
    fore = [
        section(0.112, 0.041, 0.98, at.BALL, ball),
        section(0.145, 0.033, 0.98, at.BALL, ball),
        section(0.185, 0.026, 0.80, at.BALL, ball),
        section(0.200, 0.020, 0.62, at.BALL, ball),
    ]
    yield f"forefoot_{side}", surface(fore, 2.6, 0.3), Z_TO_X


def _arm(
    person: Person, size: Dimensions, side: str, left: float, open_hand: bool
) -> Iterator[Drawn]:
    m, u = _measures(person), person.height / 1.75
    stout = u * math.sqrt(person.bmi / 24.5) * (0.88 if person.sex == "female" else 1.0)
    outer = size.shoulders * (at.SHOULDER_SIDE - at.CLAVICLE_SIDE)
    up = size.trunk * (at.SHOULDER - at.CLAVICLE)
    rows = sorted(
        (
            Section(left * 0.15 * outer, 0.032 * u, 0.05 * u, 0.9 * up),
            Section(left * 0.60 * outer, 0.038 * u, 0.052 * u, 0.6 * up),
            Section(left * 0.95 * outer, 0.040 * stout, 0.046 * stout, 0.6 * up),
        )
    )
    yield f"clavicle_{side}", surface(rows), Z_TO_Y
    length, inward = size.upper_arm, -left * 0.006 * u
    rows = [
        Section(-1.03 * length, 0.034 * stout, 0.034 * stout),
        Section(-0.88 * length, 0.041 * stout, 0.040 * stout),
        Section(-0.45 * length, 0.051 * stout, 0.047 * stout, 0.0, inward),
        Section(-0.12 * length, 0.058 * stout, 0.055 * stout, 0.0, inward),
        Section(0.04 * length, 0.050 * stout, 0.044 * stout, 0.0, inward),
        Section(0.10 * length, 0.034 * stout, 0.028 * stout, 0.0, 2.0 * inward),
    ]
    yield f"upper_arm_{side}", surface(rows), np.eye(3)
    length = size.forearm
    rows = [
        Section(-1.02 * length, 0.029 * stout, 0.022 * stout),
        Section(-0.8 * length, 0.030 * stout, 0.026 * stout),
        Section(-0.25 * length, 0.043 * stout, 0.041 * stout),
        Section(0.0, 0.040 * stout, 0.039 * stout),
        Section(0.05 * length, 0.033 * stout, 0.032 * stout),
    ]
    yield f"forearm_{side}", surface(rows), np.eye(3)
    length, half = size.fingertip, m["hand_breadth"] / 2.0
    rows = [
        Section(-0.97 * length, 0.55 * half, 0.009 * u, 0.0, -left * 0.016 * u),
        Section(-0.75 * length, 0.86 * half, 0.012 * u, 0.0, -left * 0.010 * u),
        Section(-0.45 * length, half, 0.015 * u),
        Section(-0.2 * length, 0.85 * half, 0.018 * u),
        Section(0.03 * length, 0.62 * half, 0.020 * u),
    ]
    if open_hand:  # the palm alone
        rows = [Section(-0.47 * length, 0.95 * half, 0.013 * u), *rows[3:]]
    yield f"hand_{side}", surface(rows, 2.4), np.eye(3)
