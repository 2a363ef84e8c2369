"""Where the joints and points of a person are: lengths and positions from height, mass and sex.

Legs and arms follow de Leva's lengths in proportion to height. The other positions are those of a
man of 1.75 m and 75 kg (spine, shoulders and feet: engineering choices within published measures),
scaled by regressions of ANSUR II, or, along the trunk, so that the body has its height exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from predyn.models.humans.measures import measure
from predyn.models.humans.people import Person
from predyn.models.humans.segments import FINGERTIP, SEGMENTS, STATURE, length_of

HIP = 0.0461  # of the height: mid-hip to hip joint (Dumas et al. 2007)
EYE = 0.936  # of the height: eyes above the ground (Winter 2009, after Drillis and Contini 1966)

# a man of 1.75 m and 75 kg, m
ANKLE = 0.070  # above the ground
HEEL, BALL, TOE = -0.035, 0.120, 0.190  # ahead of the ankle: where the foot touches; joint at BALL
SIDE = 0.030  # from the middle of the foot to either ball
BALL_HEIGHT = 0.020  # above the ground
MIDDLE_TRUNK, UPPER_TRUNK, TRUNK_TOP = 0.10, 0.30, 0.50  # above mid-hip: ends of segments, ...
CLAVICLE, SHOULDER, NECK, SKULL = 0.50, 0.52, 0.56, 0.62  # ... joints of the trunk
HEAD_CENTRE = 0.08  # above its joint
CLAVICLE_SIDE, SHOULDER_SIDE = 0.02, 0.19  # from the middle


class FootScale(NamedTuple):
    """Factors on the foot of a man of 1.75 m and 75 kg: along, across and upwards."""

    long: float
    wide: float
    high: float


@dataclass(frozen=True)
class Dimensions:
    """Lengths of a person, m; factors on the dimensions of the man above."""

    hip_side: float
    thigh: float
    shank: float
    upper_arm: float
    forearm: float
    hand: float  # wrist to knuckle
    fingertip: float  # wrist to the tip of the third finger
    foot: FootScale
    trunk: float  # factor
    shoulders: float  # factor
    hip_height: float  # standing upright
    vertex: float  # above mid-hip
    eyes: float  # above mid-hip
    thigh_centre: float  # below the hip joint
    pelvis_centre: float  # above mid-hip
    spine: tuple[float, ...]  # above mid-hip, at 1.75 m: joints of the spine

    @property
    def top(self) -> str:
        """The link of the uppermost joint of the spine."""
        return f"spine{len(self.spine)}"


def dimensions_of(person: Person, parts: int = 2) -> Dimensions:
    """Lengths and positions of a person whose middle and upper trunk have `parts` joints each."""
    sex, height = person.sex, person.height
    foot = FootScale(
        *(_relative(person, name) for name in ("foot_length", "foot_breadth", "malleolus_height"))
    )
    thigh = length_of("thigh", "male", height)
    shank = length_of("shank", sex, height)
    hip_height = thigh + shank + foot.high * ANKLE
    # De Leva's hip joint of women is so low that thighs would have 0.212 of the height. Men and
    # women of ANSUR II have equal proportions, so it is moved up; the masses stay where they are.
    raised = thigh - length_of("thigh", sex, height)
    thigh_com, pelvis_com = SEGMENTS[sex]["thigh"].com, SEGMENTS[sex]["lower_trunk"].com
    vertex = height - hip_height
    return Dimensions(
        hip_side=HIP * height,
        thigh=thigh,
        shank=shank,
        upper_arm=length_of("upper_arm", sex, height),
        forearm=length_of("forearm", sex, height),
        hand=length_of("hand", sex, height),
        fingertip=FINGERTIP[sex] / STATURE[sex] * height,
        foot=foot,
        trunk=vertex / _reference_vertex(),
        shoulders=_relative(person, "biacromial_breadth"),
        hip_height=hip_height,
        vertex=vertex,
        eyes=EYE * height - hip_height,
        thigh_centre=thigh_com * length_of("thigh", sex, height) + raised,
        pelvis_centre=(1.0 - pelvis_com) * length_of("lower_trunk", sex, height) - raised,
        spine=tuple(
            low + k * (high - low) / parts
            for low, high in ((MIDDLE_TRUNK, UPPER_TRUNK), (UPPER_TRUNK, TRUNK_TOP))
            for k in range(parts)
        ),
    )


def _relative(person: Person, name: str) -> float:
    """A measure relative to that of the man to whom the constants above belong."""
    man = Person()
    return measure(name, person.sex, person.height, person.mass) / measure(
        name, man.sex, man.height, man.mass
    )


def _reference_vertex() -> float:
    man = Person()
    legs = length_of("thigh", man.sex, man.height) + length_of("shank", man.sex, man.height)
    return man.height - legs - ANKLE
