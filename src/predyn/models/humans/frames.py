"""Named points of a person: joint centres, hands, eyes, top of the head, places of loads."""

from __future__ import annotations

from predyn.model.builder import ModelBuilder
from predyn.models.humans import dimensions as at
from predyn.models.humans.dimensions import Dimensions

EYE_SIDE = 0.032  # m, half the distance of the pupils
EYE_FORWARD = 0.085  # m ahead of the neck joints, at 1.75 m
RUCKSACK = (-0.20, 0.0, 0.40)  # m behind and above mid-hip, at 1.75 m; no source


def add_frames(builder: ModelBuilder, size: Dimensions) -> None:
    """Add the frames that docs/human.md lists."""
    for side, left in (("r", -1.0), ("l", 1.0)):
        outer = left * size.shoulders * (at.SHOULDER_SIDE - at.CLAVICLE_SIDE)
        up = size.trunk * (at.SHOULDER - at.CLAVICLE)
        centres = (
            ("hip", "pelvis", (0.0, left * size.hip_side, 0.0)),
            ("knee", f"thigh_{side}", (0.0, 0.0, -size.thigh)),
            ("ankle", f"shank_{side}", (0.0, 0.0, -size.shank)),
            ("shoulder", f"clavicle_{side}", (0.0, outer, up)),
            ("elbow", f"upper_arm_{side}", (0.0, 0.0, -size.upper_arm)),
            ("wrist", f"forearm_{side}", (0.0, 0.0, -size.forearm)),
            ("grip", f"hand_{side}", (0.0, 0.0, -size.hand)),
        )
        for name, link, point in centres:
            builder.add_frame(f"{name}_{side}", link, point)
        add_contacts(builder, size, side, left)
    skull = size.trunk * at.SKULL
    for name, y in (("eyes", 0.0), ("eye_r", -EYE_SIDE), ("eye_l", EYE_SIDE)):
        builder.add_frame(name, "head", (size.trunk * EYE_FORWARD, y, size.eyes - skull))
    builder.add_frame("head_top", "head", (0.0, 0.0, size.vertex - skull))
    builder.add_frame("neck_base", size.top, (0.0, 0.0, size.trunk * (at.NECK - size.spine[-1])))
    x, y, z = RUCKSACK
    upper = f"spine{size.spine.index(at.UPPER_TRUNK) + 1}"
    builder.add_frame("rucksack", upper, (size.trunk * x, y, size.trunk * (z - at.UPPER_TRUNK)))
    builder.add_frame("l5s1", "pelvis", (0.0, 0.0, size.trunk * size.spine[0]))


def add_contacts(builder: ModelBuilder, size: Dimensions, side: str, left: float) -> None:
    """Points of a foot that touch the ground, in patches "heel" and "forefoot" + side."""
    foot = size.foot
    fore, patch = f"forefoot_{side}", f"forefoot_{side}"
    heel = (foot.long * at.HEEL, 0.0, -foot.high * at.ANKLE)
    builder.add_contact(f"heel_{side}", f"rearfoot_{side}", heel)
    down, across = -foot.high * at.BALL_HEIGHT, left * foot.wide * at.SIDE
    toe = (foot.long * (at.TOE - at.BALL), 0.0, down)
    builder.add_contact(f"ball_medial_{side}", fore, (0.0, -across, down), patch)
    builder.add_contact(f"ball_lateral_{side}", fore, (0.0, across, down), patch)
    builder.add_contact(f"toe_{side}", fore, toe, patch)
