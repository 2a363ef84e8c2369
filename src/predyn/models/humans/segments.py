"""Segments of the body: shares of mass, lengths, centres and radii of gyration by sex.

De Leva (1996), "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomech. 29,
table 4: means of 100 men (1.741 m, 73.0 kg) and 15 women (1.735 m, 61.9 kg).
"""

from __future__ import annotations

from typing import NamedTuple

STATURE = {"male": 1.741, "female": 1.735}  # m, mean of the persons measured


class Segment(NamedTuple):
    """One segment: fractions of the body's mass and of the segment's length."""

    share: float  # of the body's mass, one side
    length: float  # m, at STATURE
    com: float  # from the end named first
    sagittal: float  # radii of gyration about the front-to-back, ...
    transverse: float  # ... the side-to-side ...
    long: float  # ... and the long axis


# head: vertex to the seventh neck vertebra; upper, middle and lower trunk: suprasternale, xiphion,
# omphalion, mid-hip; hand: wrist to knuckle; shank: knee to ankle joint; foot: heel to toe tip
SEGMENTS: dict[str, dict[str, Segment]] = {
    "male": {
        "head": Segment(0.0694, 0.2429, 0.5002, 0.303, 0.315, 0.261),
        "upper_trunk": Segment(0.1596, 0.1707, 0.2999, 0.716, 0.454, 0.659),
        "middle_trunk": Segment(0.1633, 0.2155, 0.4502, 0.482, 0.383, 0.468),
        "lower_trunk": Segment(0.1117, 0.1457, 0.6115, 0.615, 0.551, 0.587),
        "upper_arm": Segment(0.0271, 0.2817, 0.5772, 0.285, 0.269, 0.158),
        "forearm": Segment(0.0162, 0.2689, 0.4574, 0.276, 0.265, 0.121),
        "hand": Segment(0.0061, 0.0862, 0.7900, 0.628, 0.513, 0.401),
        "thigh": Segment(0.1416, 0.4222, 0.4095, 0.329, 0.329, 0.149),
        "shank": Segment(0.0433, 0.4403, 0.4395, 0.251, 0.246, 0.102),
        "foot": Segment(0.0137, 0.2581, 0.4415, 0.257, 0.245, 0.124),
    },
    "female": {
        "head": Segment(0.0668, 0.2437, 0.4841, 0.271, 0.295, 0.261),
        "upper_trunk": Segment(0.1545, 0.1425, 0.2077, 0.746, 0.502, 0.718),
        "middle_trunk": Segment(0.1465, 0.2053, 0.4512, 0.433, 0.354, 0.415),
        "lower_trunk": Segment(0.1247, 0.1815, 0.4920, 0.433, 0.402, 0.444),
        "upper_arm": Segment(0.0255, 0.2751, 0.5754, 0.278, 0.260, 0.148),
        "forearm": Segment(0.0138, 0.2643, 0.4559, 0.261, 0.257, 0.094),
        "hand": Segment(0.0056, 0.0780, 0.7474, 0.531, 0.454, 0.335),
        "thigh": Segment(0.1478, 0.3685, 0.3612, 0.369, 0.364, 0.162),
        "shank": Segment(0.0481, 0.4386, 0.4352, 0.267, 0.263, 0.092),
        "foot": Segment(0.0129, 0.2283, 0.4014, 0.299, 0.279, 0.139),
    },
}
FINGERTIP = {"male": 0.1879, "female": 0.1701}  # m, wrist to the tip of the third finger
PAIRED = ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")


def length_of(segment: str, sex: str, height: float) -> float:
    """Length (m) of a segment of a person of this height (m)."""
    return SEGMENTS[sex][segment].length / STATURE[sex] * height


def mass_of(segment: str, sex: str, mass: float) -> float:
    """Mass (kg) of one segment; all segments of a body together have its mass exactly.

    The published shares add up to 0.9999 for women, so they are divided by their sum.
    """
    table = SEGMENTS[sex]
    total = sum(row.share * (2 if name in PAIRED else 1) for name, row in table.items())
    return table[segment].share / total * mass
