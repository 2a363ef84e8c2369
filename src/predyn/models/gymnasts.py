"""A gymnast on the high bar: five bodies in the plane, branched at the trunk.

Body data are from de Leva (1996), "Adjustments to Zatsiorsky-Seluyanov's segment inertia
parameters", for men: 1.741 m, 73.0 kg. Strength is that of one elite male gymnast as recorded in
the torque muscles of Millard (2016, RBDL), isometric and per limb, here doubled for both limbs;
neck strength is from Vasavada, Li and Delp (2001). Ranges of motion are those of the AAOS, except
hip extension (20 degrees) and knee hyperextension (5), which are clinical values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from predyn.model import Model
from predyn.model.builder import ModelBuilder

MASS = 73.0  # kg


class Segment(NamedTuple):
    """A row of de Leva's table 4: fractions of the body's mass and of the segment's length."""

    share: float  # of the body's mass, one limb
    length: float  # m
    com: float  # from the end named first
    long: float  # radii of gyration about the long, ...
    sagittal: float  # ... the front-to-back, ...
    transverse: float  # ... and the side-to-side axis


UPPER_ARM = Segment(0.0271, 0.2817, 0.5772, 0.158, 0.285, 0.269)  # shoulder to elbow
FOREARM = Segment(0.0162, 0.2689, 0.4574, 0.121, 0.276, 0.265)  # elbow to wrist
HAND = Segment(0.0061, 0.0862, 0.7900, 0.401, 0.628, 0.513)  # wrist to knuckles
TRUNK = Segment(0.4346, 0.5155, 0.4310, 0.197, 0.384, 0.358)  # between the shoulders to the hips
HEAD = Segment(0.0694, 0.2429, 0.5002, 0.261, 0.303, 0.315)  # vertex to the seventh vertebra
THIGH = Segment(0.1416, 0.4222, 0.4095, 0.149, 0.329, 0.329)  # hip to knee
SHANK = Segment(0.0433, 0.4340, 0.4459, 0.103, 0.255, 0.249)  # knee to ankle
FOOT = Segment(0.0137, 0.2581, 0.4415, 0.124, 0.257, 0.245)  # heel to toes
NECK = 0.6033 - TRUNK.length  # m, from between the shoulders to the seventh vertebra

ARM_LENGTH = HAND.length + FOREARM.length + UPPER_ARM.length
LEG_LENGTH = SHANK.length + FOOT.length  # feet pointed, the heel at the ankle


def gymnast() -> Model:
    """Arms, trunk, head, thighs and shanks with feet; left and right move together.

    Joints "grip" (the hands on the bar, meant to be passive), "shoulder", "neck", "hip", "knee";
    gravity (0, -9.81, 0), motion in the x-y plane, the bar at the origin. grip = -pi/2 hangs and
    pi/2 is a handstand, 0 elsewhere is a straight body with the arms overhead. Hanging, the gymnast
    faces +x: shoulder > 0 closes the angle between arms and chest, hip > 0 bends the hips, knee < 0
    bends the knees, neck < 0 brings the chin to the chest. Frames "vertex" and "toes". No friction;
    torques do not fall with speed, speeds are limited instead.
    """
    arms = _combine_segments(
        (HAND, 2, 0.0, -1),
        (FOREARM, 2, HAND.length, -1),
        (UPPER_ARM, 2, HAND.length + FOREARM.length, -1),
    )
    return (
        ModelBuilder("gymnast", (0.0, -9.81, 0.0))
        .add_link("arms", "world", "grip", **arms)
        .add_link(
            "trunk",
            "arms",
            "shoulder",
            origin=(ARM_LENGTH, 0.0, 0.0),
            position=_degrees(0.0, 240.0),
            velocity=16.2,
            effort=(-182.0, 255.0),
            **_combine_segments((TRUNK, 1, 0.0, 1)),
        )
        .add_link(
            "head",
            "trunk",
            "neck",
            origin=(-NECK, 0.0, 0.0),
            position=_degrees(-45.0, 45.0),
            effort=(-30.0, 52.0),
            **_combine_segments((HEAD, 1, -HEAD.length, 1)),
        )
        .add_link(
            "thighs",
            "trunk",
            "hip",
            origin=(TRUNK.length, 0.0, 0.0),
            position=_degrees(-20.0, 120.0),
            velocity=9.0,
            effort=(-351.0, 315.0),
            **_combine_segments((THIGH, 2, 0.0, 1)),
        )
        .add_link(
            "shanks",
            "thighs",
            "knee",
            origin=(THIGH.length, 0.0, 0.0),
            position=_degrees(-135.0, 5.0),
            velocity=16.6,
            effort=(-198.0, 571.0),
            **_combine_segments((SHANK, 2, 0.0, 1), (FOOT, 2, SHANK.length, 1)),
        )
        .add_frame("vertex", "head", (-HEAD.length, 0.0, 0.0))
        .add_frame("toes", "shanks", (LEG_LENGTH, 0.0, 0.0))
        .build()
    )


def _combine_segments(*parts: tuple[Segment, int, float, int]) -> dict[str, Any]:
    """Mass, centre and inertia of segments along x: for each, its number, where it begins (m), and
    whether the end named first is where it begins (1) or where it ends (-1).
    """
    masses = np.array([count * segment.share * MASS for segment, count, _, _ in parts])
    centres = np.array(
        [start + (s.com if way > 0 else 1.0 - s.com) * s.length for s, _, start, way in parts]
    )
    mass = float(masses.sum())
    centre = float(masses @ centres) / mass
    own = np.array([[s.long, s.sagittal, s.transverse] for s, *_ in parts])
    radii = np.array([s.length for s, *_ in parts])[:, None] * own
    away = (centres - centre)[:, None] * (0.0, 1.0, 1.0)
    inertia = masses @ (radii**2 + away**2)
    return {"mass": mass, "com": (centre, 0.0, 0.0), "inertia": tuple(inertia.tolist())}


def _degrees(lower: float, upper: float) -> tuple[float, float]:
    return math.radians(lower), math.radians(upper)
