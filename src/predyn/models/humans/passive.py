"""Passive torques: joints that resist near the ends of their ranges, and spring and damping.

Exponentials of the joint-limit torques of PredSim (D'Hondt et al. 2024), which go back to Anderson
(1999) and Anderson and Pandy (2001); the signs of the knee are turned, since flexion is positive
here. Spring of the forefoot and damping are engineering defaults, chosen for walking.
"""

from __future__ import annotations

Ligament = tuple[float, float, float]  # moment (N m) at the angle (rad), rate (1/rad)

REFERENCE = 75.0 * 1.75  # kg m: mass times height to which the moments belong
FOREFOOT = 20.0  # N m/rad
DAMPING = 0.1  # N m s/rad
FINGER_DAMPING = 0.01  # N m s/rad

# kind: (moment, rate, angle) of the lower and of the upper end; each resists as
# moment exp(rate (angle - q)) and -moment exp(rate (q - angle))
LIGAMENTS: dict[str, tuple[Ligament, Ligament]] = {
    "hip_flexion": ((1.51, 21.88, -0.6981), (2.44, 5.05, 1.81)),
    "hip_adduction": ((0.03, 14.94, -0.5), (0.03, 14.94, 0.5)),
    "hip_rotation": ((0.03, 14.94, -0.92), (0.03, 14.94, 0.92)),
    "knee_flexion": ((6.09, 33.94, -0.13), (11.03, 11.33, 2.4)),
    "ankle_dorsiflexion": ((0.18, 12.12, -0.74), (2.03, 38.11, 0.52)),
    "ankle_inversion": ((60.21, 16.32, -0.65), (60.21, 16.32, 0.65)),
}


def damping_of(kind: str) -> float:
    """Damping (N m s/rad) of a joint of this kind."""
    return FINGER_DAMPING if kind.startswith(("finger", "thumb")) else DAMPING


def ligaments_of(kind: str, height: float, mass: float) -> tuple[Ligament, Ligament] | None:
    """Both ends of a joint of this kind, with moments in proportion to mass times height."""
    if kind not in LIGAMENTS:
        return None
    scale = mass * height / REFERENCE
    (a, rate_a, angle_a), (b, rate_b, angle_b) = LIGAMENTS[kind]
    return (scale * a, rate_a, angle_a), (scale * b, rate_b, angle_b)
