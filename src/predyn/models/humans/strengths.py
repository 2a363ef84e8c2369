"""Strength of the joints: largest torques by sex, age group, height and mass.

Hip flexion, knee and ankle: Anderson, Madigan, Nussbaum (2007), "Maximum voluntary joint torque as
a function of joint angle and angular velocity", J. Biomech. 40, table 3, coefficient C1: the
isometric peak divided by mass g height. Shoulder, elbow, forearm, wrist and spine flexion: torque
muscles of Millard (2016, RBDL), of one elite male gymnast. The other values are engineering
defaults without a source. Torques do not depend on angle or speed here.
"""

from __future__ import annotations

from collections.abc import Mapping

GRAVITY = 9.81  # m/s^2
AGES = ("18-25", "55-65", ">65")

# kind: by sex, the coefficients of the three age groups, for negative and positive torque
NORMALISED: dict[str, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "hip_flexion": {
        "male": ((0.161, 0.171, 0.144), (0.113, 0.107, 0.101)),
        "female": ((0.181, 0.140, 0.138), (0.127, 0.091, 0.081)),
    },
    "knee_flexion": {
        "male": ((0.163, 0.156, 0.137), (0.087, 0.081, 0.069)),
        "female": ((0.159, 0.128, 0.124), (0.080, 0.060, 0.060)),
    },
    "ankle_dorsiflexion": {
        "male": ((0.095, 0.114, 0.106), (0.033, 0.028, 0.029)),
        "female": ((0.104, 0.093, 0.125), (0.027, 0.024, 0.022)),
    },
}
REFERENCE = 75.0 * 1.75  # kg m: mass times height to which the torques below belong
TORQUES: dict[str, tuple[float, float]] = {  # N m, of a young man
    "hip_adduction": (-120.0, 130.0),  # no source
    "hip_rotation": (-60.0, 60.0),  # no source
    "ankle_inversion": (-25.0, 35.0),  # no source
    "forefoot_extension": (-20.0, 20.0),  # no source
    "spine_bending": (-150.0, 150.0),  # no source
    "spine_flexion": (-343.9, 211.7),  # extension: half of the gymnast's
    "spine_rotation": (-100.0, 100.0),  # no source
    "clavicle_elevation": (-60.0, 90.0),  # no source
    "clavicle_protraction": (-60.0, 60.0),  # no source
    "shoulder_flexion": (-127.4, 91.1),
    "shoulder_adduction": (-94.7, 128.5),  # horizontal abduction and adduction
    "shoulder_rotation": (-43.6, 50.5),
    "elbow_flexion": (-69.9, 101.4),
    "forearm_pronation": (-13.5, 13.0),
    "wrist_flexion": (-15.6, 39.2),
    "wrist_deviation": (-23.8, 31.4),
    "lower_neck_flexion": (-40.0, 40.0),  # this and below: no source
    "lower_neck_bending": (-25.0, 25.0),
    "lower_neck_rotation": (-15.0, 15.0),
    "upper_neck_flexion": (-25.0, 25.0),
    "upper_neck_bending": (-15.0, 15.0),
    "upper_neck_rotation": (-10.0, 10.0),
    "thumb_abduction": (-3.0, 3.0),
    "thumb_flexion": (-3.0, 5.0),
    "thumb_mcp_flexion": (-2.0, 4.0),
    "thumb_ip_flexion": (-1.0, 2.0),
    "finger_abduction": (-1.0, 1.0),
    "finger_mcp_flexion": (-2.0, 5.0),
    "finger_pip_flexion": (-1.0, 3.0),
    "finger_dip_flexion": (-0.5, 1.5),
}
GROUPS: dict[str, tuple[str, ...]] = {
    "legs": ("hip", "knee", "ankle", "forefoot"),
    "trunk": ("spine",),
    "arms": ("clavicle", "shoulder", "elbow", "forearm", "wrist", "thumb", "finger"),
    "neck": ("lower_neck", "upper_neck"),
}
# Laubach (1976), Aviat. Space Environ. Med. 47: women's arms, trunk and legs have 55.8, 63.8 and
# 71.9 % of the strength of men's. Divided by the ratio of mass times height of the two in ANSUR II.
WOMEN = {
    "arms": 0.558 / 0.7345,
    "trunk": 0.638 / 0.7345,
    "neck": 0.638 / 0.7345,
    "legs": 0.719 / 0.7345,
}


def effort_range(
    kind: str, sex: str, age: str, height: float, mass: float, factors: Mapping[str, float]
) -> tuple[float, float]:
    """Lowest and highest torque (N m) of joints of this kind; factors by group of GROUPS."""
    group = group_of(kind)
    factor = factors[group]
    if kind in NORMALISED:
        k = AGES.index(age)
        factor *= mass * GRAVITY * height
        negative, positive = NORMALISED[kind][sex]
        return -factor * negative[k], factor * positive[k]
    factor *= mass * height / REFERENCE * age_factor(sex, age)
    if sex == "female":
        factor *= WOMEN[group]
    lower, upper = TORQUES[kind]
    return factor * lower, factor * upper


def age_factor(sex: str, age: str) -> float:
    """Strength relative to the age 18-25: mean over the six torques of NORMALISED."""
    k = AGES.index(age)
    ratios = [row[k] / row[0] for table in NORMALISED.values() for row in table[sex]]
    return sum(ratios) / len(ratios)


def group_of(kind: str) -> str:
    """The group of GROUPS that has this kind of joint."""
    return next(name for name, starts in GROUPS.items() if kind.startswith(starts))
