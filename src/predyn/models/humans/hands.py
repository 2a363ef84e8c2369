"""Hands with fingers: five digits with four joints each, taken out of the mass of the hand.

Lengths of phalanges and metacarpals in proportion to the hand: Buchholz, Armstrong, Goldstein
(1992), "Anthropometric data for describing the kinematics of the human hand", Ergonomics 35, scaled
so that the third knuckle and fingertip are where de Leva has them. Radii, the place and direction
of the thumb, the spacing of the knuckles and the share of the digits in the mass of the hand have
no source. With straight fingers the hand has the mass, centre
and inertia of the hand without fingers exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from predyn.model.parts import Array, pack_inertia, unpack_inertia
from predyn.models.humans.dimensions import Dimensions

FINGERS = ("index", "middle", "ring", "little")
DIGITS = ("thumb", *FINGERS)
# of the length of the hand: base of the digit from the wrist, then its three segments
LENGTHS: dict[str, tuple[float, float, float, float]] = {
    "thumb": (0.118, 0.251, 0.196, 0.158),
    "index": (0.463, 0.245, 0.143, 0.097),
    "middle": (0.446, 0.266, 0.170, 0.108),
    "ring": (0.421, 0.244, 0.165, 0.107),
    "little": (0.414, 0.204, 0.117, 0.093),
}
SEGMENTS = {"thumb": ("metacarpal", "proximal", "distal")}
PHALANGES = ("proximal", "middle", "distal")
JOINTS = {"thumb": ("abduction", "flexion", "mcp_flexion", "ip_flexion")}
FINGER_JOINTS = ("abduction", "mcp_flexion", "pip_flexion", "dip_flexion")
# ahead of the middle finger, which is on the axis of the hand, in breadths of the hand
PLACES = {"thumb": 0.30, "index": 0.22, "middle": 0.0, "ring": -0.22, "little": -0.42}
RADII = {"thumb": (0.125, 0.11, 0.10)}  # of the breadth of the hand
FINGER_RADII = (0.10, 0.09, 0.08)
THUMB_ANGLE = math.radians(40.0)  # between the straight thumb and the fingers
SHARE = 0.20  # of the mass of the hand that the digits have


class Part(NamedTuple):
    """A segment of a digit: along -z of its link from the link's joint."""

    digit: str
    name: str
    length: float  # m
    radius: float  # m
    base: Array  # position of its joint in the hand, m
    R: Array  # its axes in the hand, with straight fingers


def parts_of(size: Dimensions, breadth: float) -> Iterator[Part]:
    """Segments of the digits of a hand of this breadth (m), from the thumb on, base to tip."""
    knuckle = LENGTHS["middle"][0]
    finger = sum(LENGTHS["middle"][1:])
    for digit in DIGITS:
        base, *lengths = LENGTHS[digit]
        R = _about_back(THUMB_ANGLE if digit == "thumb" else 0.0)
        point = np.array([PLACES[digit] * breadth, 0.0, -size.hand * base / knuckle])
        names, radii = SEGMENTS.get(digit, PHALANGES), RADII.get(digit, FINGER_RADII)
        for name, share, radius in zip(names, lengths, radii, strict=True):
            length = share * (size.fingertip - size.hand) / finger
            yield Part(digit, name, length, radius * breadth, point, R)
            point = point + R @ np.array([0.0, 0.0, -length])


def joints_of(digit: str) -> tuple[str, ...]:
    """Names of the joints of a digit without its side: two at its base, then one by one."""
    return tuple(f"{digit}_{joint}" for joint in JOINTS.get(digit, FINGER_JOINTS))


def masses_of(parts: list[Part], hand: float) -> list[dict[str, Any]]:
    """Mass, centre and inertia of each part as a solid cylinder, for a hand of this mass (kg)."""
    volumes = [part.radius**2 * part.length for part in parts]
    entries = []
    for part, volume in zip(parts, volumes, strict=True):
        mass = SHARE * hand * volume / sum(volumes)
        entries.append(cylinder(mass, part.length, part.radius, -0.5 * part.length))
    return entries


def cylinder(mass: float, length: float, radius: float, centre: float) -> dict[str, Any]:
    """Mass, centre of mass (m above the joint) and inertia of a solid cylinder along z."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    inertia = np.array([across, across, 0.5 * mass * radius**2])
    return {"mass": mass, "com": (0.0, 0.0, centre), "inertia": inertia}


def palm_of(
    hand: Mapping[str, Any], parts: list[Part], masses: list[dict[str, Any]]
) -> dict[str, Any]:
    """What is left of the hand without its digits: mass, centre and inertia."""
    rest = pack_inertia(hand["mass"], np.array(hand["com"]), np.diag(hand["inertia"]))
    for part, entry in zip(parts, masses, strict=True):
        centre = part.base + part.R @ np.array(entry["com"])
        inertia = part.R @ np.diag(entry["inertia"]) @ part.R.T
        rest = rest - pack_inertia(entry["mass"], centre, inertia)
    mass, com, inertia = unpack_inertia(rest)
    return {"mass": mass, "com": com, "inertia": inertia}


def _about_back(angle: float) -> Array:
    """Rotation about -y, which lifts what points down towards the front."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
