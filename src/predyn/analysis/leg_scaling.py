"""Which links of a model the joint centres of a static trial measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from predyn.analysis.sides import LEFT, SIDES, checked_pairs, find_pairs
from predyn.errors import InputError
from predyn.model import Model


def leg_lengths(
    model: Model, pairs: Mapping[str, Sequence[str]] | None = None
) -> dict[str, tuple[str, ...]]:
    """`lengths` for place_markers: pelvis, thighs and shanks between joint centres.

    Joints of hips, knees and ankles are found by name, or given as pairs {"hip": (left joint,
    right joint), "knee": ..., "ankle": ...}. The pelvis is left out if the hips are on different
    links.
    """
    names = model.joint_names
    found = checked_pairs(pairs, names, "joint") if pairs is not None else find_pairs(names)
    first = {}
    for word in ("hip", "knee", "ankle"):
        chosen = [pair for pair in found if word in pair.name.lower()]
        if not chosen:
            raise InputError(
                f"leg_lengths: found no left and right {word} joint by name; give pairs as "
                '{"hip": (left joint, right joint), "knee": ..., "ankle": ...}'
            )
        # of several axes the one next to the pelvis
        first[word] = min(chosen, key=lambda pair: names.index(pair.left))
    lengths: dict[str, tuple[str, ...]] = {}
    hips = [first["hip"].left, first["hip"].right]
    carriers = {_carrier(model, x) for x in hips}
    if len(carriers) == 1 and min(carriers) >= 0:
        lengths[model.link_names[min(carriers)]] = ("LHJC", "RHJC", *hips)
    for side in SIDES:
        letter = "L" if side == LEFT else "R"
        knee, ankle = (getattr(first[word], side) for word in ("knee", "ankle"))
        for joint, ends in ((knee, ("HJC", "KJC")), (ankle, ("KJC", "AJC"))):
            link = model.link_names[_carrier(model, joint)]
            lengths[link] = (letter + ends[0], letter + ends[1], joint)
    return lengths


def _carrier(model: Model, joint: str) -> int:
    """The link that carries a joint, -1: the world."""
    joints = model.expanded.joint_names
    link = int(model.parent[joints.index(joint)])
    slid = [coupling.joint for coupling in model.couplings]
    if link >= 0 and joints[link] in slid:
        raise InputError(
            f"leg_lengths: joint {joint!r} slides as it turns (joint {joints[link]!r} follows it), "
            "so the length of the segment above it is not one number and cannot be scaled"
        )
    return link
