"""Standing up from a seat: a person who sits at rest leans forward, leaves the seat and rises.

The motion is the same on both sides, so only joints that act in the sagittal plane move. Numbers
marked "taste" were chosen so that the motion looks like that of people; the others are
physiological or keep the program well posed (docs/standing.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError
from predyn.model import Model
from predyn.model.contacts import ContactPoint
from predyn.models.humans.building import human
from predyn.models.humans.people import person_of
from predyn.problem import (
    Constraint,
    Contact,
    Cost,
    Phase,
    Points,
    Problem,
    Spline,
    State,
)
from predyn.terms import (
    ContactForceRate,
    Effort,
    FramePosition,
    JointPosition,
    JointSum,
    Smoothness,
)

Floats = NDArray[np.float64]
SIDES = ("r", "l")
LOCKED = (  # everything but flexion, which is symmetric
    *("neck", "clavicles", "wrists", "upper spine"),
    *("global_ty", "global_rotation_1", "global_rotation_2"),
    *(f"spine{k}_{kind}" for k in (1, 2) for kind in ("bending", "rotation")),
    *(
        f"{joint}_{side}"
        for side in SIDES
        for joint in (
            *("hip_adduction", "hip_rotation", "ankle_inversion", "forefoot_extension"),
            *("shoulder_adduction", "shoulder_rotation", "forearm_pronation"),
        )
    ),
)
PAIRED = ("hip_flexion", "knee_flexion", "ankle_dorsiflexion", "shoulder_flexion", "elbow_flexion")
BASE = 3  # coordinates: forward, up, tilt
REFERENCE = 1.75  # m, height of the person to whom lengths below belong
BUTTOCK = (-0.08, -0.04)  # m from the hip joint, across and along the thigh; no source
KNOWN = 3  # q, v and a are given at both ends, and continuous where phases meet
STEEPEST = 60.0, 112.0  # degrees of the thighs from the vertical, at the start

SEAT_OFF = 0.35  # of the duration; taste
SHANK = 14.0  # degrees by which the shanks lean forward at the start; taste
SITTING = {"shoulder_flexion": 10.0, "elbow_flexion": 60.0}  # degrees, hands in the lap; taste
STANDING = {"global_rotation_3": -3.0, "elbow_flexion": 10.0}  # degrees, slightly forward; taste
LEANING = -25.0, 8.0  # degrees at seat-off, of the pelvis and each spine joint; for the guess
MOST_BENT = 115.0  # degrees of the hips in the guess
TYPICAL = 2.0  # s, the duration to which the next weights belong; they grow with slower motions
JERK = 1e-5  # keeps motions smooth between points, and spreads them over the duration; taste
FORCE_RATE = 3e-3  # keeps forces continuous; taste
POSTURE = {"spine": 1.0, "shoulder_flexion": 0.05, "elbow_flexion": 0.05}  # 1/rad^2; taste


def human_sit_to_stand(
    seat_height: float | None = None,
    duration: float = 2.0,
    load_back: float = 0.0,
    load_hands: float = 0.0,
    *,
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    age: str = "18-25",
    percentile: float | None = None,
    strength: float | Mapping[str, float] = 1.0,
    segments: int = 8,
) -> Problem:
    """A person stands up from a seat, with both sides alike and without help of the hands.

    seat_height  m; default: thighs are horizontal
    duration     s, from rest to rest
    load_back, load_hands  kg carried
    height, mass, sex, age, percentile, strength  the person, as in predyn.models.human
    segments     of the splines in each phase: 4 for a first look, 8 for figures

    Two phases: "seated", while the seat carries the thighs at points "seat_r" and "seat_l" close to
    the hips, and "rising". The feet are flat and do not move.
    """
    person = person_of(height, mass, sex, age, percentile)
    if not 0.6 <= _number(duration, "duration") <= 10.0:
        raise InputError(f"duration: expected 0.6 to 10 s, got {duration!r:.40}")
    model = human(
        person.height,
        person.mass,
        sex,
        age=age,
        strength=strength,
        lock=LOCKED,
        load_back=load_back,
        load_hands=load_hands,
    )
    return _Rise(model, person.height / REFERENCE, seat_height, float(duration)).problem(segments)


def _number(value: Any, what: str) -> float:
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not good or not math.isfinite(value):
        raise InputError(f"{what}: expected a number, got {value!r:.40}")
    return float(value)


class _Rise:
    def __init__(
        self, model: Model, size: float, seat_height: float | None, duration: float
    ) -> None:
        self.duration = duration
        self.back, self.along = (size * x for x in BUTTOCK)
        soles = (ContactPoint(f"{p}_{s}", f"sole_{s}") for s in SIDES for p in ("heel", "toe"))
        model = replace(model, contact_points=tuple(soles))
        for side in SIDES:
            point = (self.back, 0.0, self.along)
            model = model.with_contact(f"seat_{side}", f"thigh_{side}", point)
        self.model = model
        self.driven = model.joint_names[BASE:]
        self.weight = model.weight
        self.seated = self._sitting(seat_height)
        self.standing = self._posture(STANDING)

    def problem(self, segments: int) -> Problem:
        return Problem(
            self.model,
            tuple(self._phases()),
            tuple(self._costs()),
            guess=self._guess(),
            transcription=Spline(degree=5, segments=segments),
            name="human-sit-to-stand",
        )

    # -- postures -----------------------------------------------------------------------------

    def _posture(self, degrees: Mapping[str, float]) -> Floats:
        """Joint positions by the beginnings of names; soles are flat, heels at x = 0."""
        q = np.zeros(self.model.n)
        for j, name in enumerate(self.model.joint_names):
            q[j] = next((math.radians(x) for k, x in degrees.items() if name.startswith(k)), 0.0)
        at = {name: j for j, name in enumerate(self.model.joint_names)}
        for side in SIDES:
            thigh = q[at["global_rotation_3"]] + q[at[f"hip_flexion_{side}"]]
            q[at[f"ankle_dorsiflexion_{side}"]] = q[at[f"knee_flexion_{side}"]] - thigh
        x, _, z = self._point("heel_r", q)
        q[at["global_tx"]] -= x
        q[at["global_tz"]] -= z
        return q

    def _point(self, frame: str, q: Floats) -> Floats:
        zero = np.zeros(self.model.n)
        return np.asarray(frame_kinematics(self.model, frame, q, zero, zero).p)

    def _sitting(self, seat_height: float | None) -> Floats:
        """Upright on the seat: its height gives the slope of the thighs."""
        upright = self._posture({})
        hip, knee, ankle = (self._point(f"{x}_r", upright)[2] for x in ("hip", "knee", "ankle"))
        lean = math.radians(SHANK)
        knee_height = ankle + (knee - ankle) * math.cos(lean)
        reach, depth = hip - knee + self.along, -self.back
        span, offset = math.hypot(reach, depth), math.atan2(depth, reach)

        def height(thigh: float) -> float:
            return float(knee_height + span * math.cos(thigh + offset))

        lowest, highest = (height(math.radians(x)) for x in reversed(STEEPEST))
        if seat_height is None:
            seat_height = height(0.5 * math.pi)
        if not lowest <= _number(seat_height, "seat_height") <= highest:
            raise InputError(
                f"seat_height: expected {lowest:.2f} to {highest:.2f} m for a person of this "
                f"height, got {seat_height!r:.40}"
            )
        thigh = math.acos((seat_height - knee_height) / span) - offset
        angle = math.degrees(thigh)
        return self._posture({"hip_flexion": angle, "knee_flexion": angle + SHANK, **SITTING})

    def _guess(self) -> tuple[Floats, Floats]:
        """Straight lines from sitting over leaning forward to standing."""
        names = self.model.joint_names
        degrees = dict(zip(names, np.degrees(self.seated).tolist(), strict=True))
        tilt, spine = LEANING
        tilt = max(tilt, min(degrees["hip_flexion_r"] - MOST_BENT, 0.0))
        for name in names:
            if name.startswith("hip_flexion"):
                degrees[name] -= tilt
            elif name.startswith("spine"):
                degrees[name] = spine
        leaning = self._posture({**degrees, "global_rotation_3": tilt})
        return np.array([0.0, SEAT_OFF, 1.0]), np.array([self.seated, leaning, self.standing])

    # -- phases -------------------------------------------------------------------------------

    def _phases(self) -> Iterator[Phase]:
        seat = float(self._point("seat_r", self.seated)[2])
        feet, seats = [], []
        for side in SIDES:  # places follow from the start, and the left side from the right one
            held, place = ("xz", (None, None, seat)) if side == "r" else ("", None)
            seats.append(Contact(f"seat_{side}", "xz", held, place))
            feet.append(Contact(f"heel_{side}", "xz", held, shared="x"))
            feet.append(Contact(f"toe_{side}", "z", held[1:]))
        rest = np.zeros(self.model.n)
        yield Phase(
            SEAT_OFF * self.duration,
            start=State(self.seated, rest, rest),
            name="seated",
            contacts=(*seats, *feet),
            costs=tuple(self._postures(SITTING)),
            constraints=tuple(self._alike(KNOWN, 0)),
        )
        above = FramePosition("seat_r", (None, None, seat))
        clear = Constraint(above, 0.0, np.inf, name="in the seat", imposed_at=Points("limits", 1))
        yield Phase(
            (1.0 - SEAT_OFF) * self.duration,
            end=State(self.standing, rest, rest),
            name="rising",
            contacts=feet,
            costs=tuple(self._postures(STANDING)),
            constraints=(*self._alike(KNOWN, KNOWN), clear),
        )

    def _alike(self, first: int, last: int) -> Iterator[Constraint]:
        """Joints of both sides have the same angles."""
        for joint in PAIRED:
            difference = JointSum({f"{joint}_r": 1.0, f"{joint}_l": -1.0})
            points = Points("motion", first, last)
            yield Constraint(difference, 0.0, 0.0, name=f"alike {joint}", imposed_at=points)

    def _costs(self) -> Iterator[Cost]:
        limits = np.abs(self.model.limits.effort[BASE:]).max(axis=1)
        slow = self.duration / TYPICAL
        yield Cost(Effort(self.driven, per=limits))
        yield Cost(Smoothness("jerk", self.driven), JERK * slow**6)
        yield Cost(ContactForceRate(per=self.weight), FORCE_RATE * slow**2)

    def _postures(self, degrees: Mapping[str, float]) -> Iterator[Cost]:
        """Distance of the trunk and the arms from a posture."""
        for kind, weight in POSTURE.items():
            joints = tuple(x for x in self.driven if x.startswith(kind))
            target = math.radians(degrees.get(kind, 0.0))
            yield Cost(JointPosition(joints, target), weight, name=f"posture {kind}")
