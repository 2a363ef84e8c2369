"""Ranges of motion of the joints, in degrees by the name of the joint without its side.

AAOS and Merck tables for limbs, the sternoclavicular joint from McGraw-Hill's AccessPhysiotherapy;
hip extension and knee hyperextension are clinical values. The spine joints share the AAOS range of
the thoracolumbar spine equally, and the two neck joints that of the neck. Fingers and thumb: AAOS;
fingers spread by 20 degrees to either side. Signs are those of the model: for the shoulder,
internal rotation is positive.
"""

from __future__ import annotations

import math

from predyn.models.humans.hands import FINGERS

RANGES: dict[str, tuple[float, float]] = {
    "hip_flexion": (-20.0, 120.0),
    "hip_adduction": (-45.0, 30.0),
    "hip_rotation": (-45.0, 45.0),
    "knee_flexion": (-5.0, 135.0),
    "ankle_dorsiflexion": (-50.0, 20.0),
    "ankle_inversion": (-25.0, 35.0),
    "forefoot_extension": (-30.0, 70.0),
    "spine_bending": (-9.0, 9.0),
    "spine_flexion": (-6.0, 20.0),
    "spine_rotation": (-11.0, 11.0),
    "clavicle_elevation": (-5.0, 45.0),
    "clavicle_protraction": (-15.0, 15.0),
    "shoulder_flexion": (-60.0, 180.0),
    "shoulder_adduction": (-180.0, 50.0),
    "shoulder_rotation": (-90.0, 70.0),
    "elbow_flexion": (0.0, 150.0),
    "forearm_pronation": (-80.0, 80.0),
    "wrist_flexion": (-70.0, 80.0),
    "wrist_deviation": (-20.0, 30.0),
    "lower_neck_flexion": (-25.0, 25.0),
    "lower_neck_bending": (-22.0, 22.0),
    "lower_neck_rotation": (-30.0, 30.0),
    "upper_neck_flexion": (-20.0, 20.0),
    "upper_neck_bending": (-22.0, 22.0),
    "upper_neck_rotation": (-30.0, 30.0),
    "thumb_abduction": (0.0, 70.0),
    "thumb_flexion": (-20.0, 15.0),
    "thumb_mcp_flexion": (0.0, 50.0),
    "thumb_ip_flexion": (-20.0, 80.0),
    "finger_abduction": (-20.0, 20.0),
    "finger_mcp_flexion": (-45.0, 90.0),
    "finger_pip_flexion": (0.0, 100.0),
    "finger_dip_flexion": (0.0, 90.0),
}
SPINE_JOINTS = 4  # to which the ranges of the spine above belong; together they have the whole


def position_range(kind: str, spine_joints: int = SPINE_JOINTS) -> tuple[float, float]:
    """Lower and upper position (rad) of joints of this kind, in a spine of so many joints."""
    share = SPINE_JOINTS / spine_joints if kind.startswith("spine") else 1.0
    lower, upper = RANGES[kind]
    return math.radians(share * lower), math.radians(share * upper)


def kind_of(joint: str) -> str:
    """The name of a joint without its side or number: "knee_flexion_r" is a "knee_flexion".

    Those of the four fingers are one kind: "ring_pip_flexion_l" is a "finger_pip_flexion".
    """
    if joint.startswith("spine"):
        return "spine" + joint[len("spine1") :]
    kind = joint[:-2] if joint.endswith(("_r", "_l")) else joint
    start, _, rest = kind.partition("_")
    return f"finger_{rest}" if start in FINGERS else kind
