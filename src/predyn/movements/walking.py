"""Walking: one step of a person on the ground, repeated with left and right exchanged.

The right foot is on the ground in all four phases: flat, on its forefoot, on its forefoot with the
left heel down, and on its forefoot with the left foot flat. Weights marked "taste" were chosen so
that the motion resembles the mean of 32 adults (Fukuchi, Fukuchi and Duarte 2018); the others are
physiological or keep the program well posed (docs/walking.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.errors import InputError
from predyn.model import Limits, Model
from predyn.models.humans.building import human
from predyn.models.humans.mirroring import mirror_map
from predyn.models.humans.people import Person, person_of
from predyn.nlp import SolverOptions
from predyn.problem import (
    Constraint,
    Contact,
    Cost,
    Cycle,
    Ground,
    Parameter,
    Phase,
    Problem,
    Spline,
)
from predyn.terms import (
    ContactForceRate,
    Effort,
    FramePosition,
    JointPosition,
    ParameterValue,
    Smoothness,
    Term,
    WeightedSum,
)

Floats = NDArray[np.float64]
LOCKED = ("neck", "clavicles", "wrists", "upper spine")
BASE = 6  # coordinates
TOLERANCE = 1e-6  # a smaller one does not change figures that are shown
REFERENCE = 75.0, 1.75  # kg, m: the person whose numbers are below
SPEED = 0.71  # heights per second
STEP_LENGTH, STEP_DURATION = 0.71, 0.5725  # m, s, of the reference
PHASES = {"flat": 0.52, "forefoot": 0.27, "heel": 0.15, "both": 0.06}  # share of the step
SLACK = (
    0.2  # of free durations, relative to the shares above; with 0.4 the solver does not converge
)
LONGEST = 0.53  # step over height
WIDTH = 0.10  # m between the heels

EFFORT_PER = {"hip_flexion": 100.0, "knee_flexion": 65.0, "ankle_dorsiflexion": 180.0}  # taste, N m
JERK = 8e-10  # keeps motions smooth between points
FORCE_RATE, FOOT_RATE = 3e-3, 8e-3  # of each force, and of the sum on a foot; taste
CLEARANCE = 0.03  # m, of the swinging toe and ball; taste
POSTURE: dict[str, tuple[float, float]] = {  # 1/rad^2 and degrees, by the beginning of the name
    "global_rotation_1": (0.5, 0.0),
    "global_rotation_2": (2.0, 0.0),
    "global_rotation_3": (3.0, 0.0),
    "spine": (4.0, 0.0),
    "hip_adduction": (0.5, 0.0),
    "hip_rotation": (0.5, 0.0),
    "ankle_inversion": (0.5, 0.0),
    "ankle_dorsiflexion": (1.0, 1.0),
    "shoulder_adduction": (0.5, 0.0),
    "shoulder_rotation": (0.2, 0.0),
    "shoulder_flexion": (0.3, 0.0),
    "elbow_flexion": (0.2, 20.0),
    "forearm_pronation": (0.2, 0.0),
    "lower_neck": (2.0, 0.0),
    "upper_neck": (2.0, 0.0),
    "clavicle": (2.0, 0.0),
    "wrist": (0.5, 0.0),
}  # taste
RANGES = {  # degrees; narrower than those of the joints, taste
    "ankle_dorsiflexion": (-50.0, 12.5),
    "knee_flexion": (0.0, 135.0),
    "forefoot_extension": (-30.0, 60.0),
}
KNEE_AT_TOE_OFF = 25.0  # degrees at least; taste


@dataclass(frozen=True)
class Step:
    """Length (m) and duration (s) of a step, and the person's size relative to the reference."""

    length: float
    duration: float
    size: float


def human_walk(
    speed: float | None = None,
    step_length: float | None = None,
    slope: float = 0.0,
    load_back: float = 0.0,
    load_hands: float = 0.0,
    *,
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    age: str = "18-25",
    percentile: float | None = None,
    lock: Sequence[str] = LOCKED,
    free_step: bool = False,
    free_durations: bool = False,
    segments: int = 8,
) -> Problem:
    """A person walks: the problem of one step, from which a whole gait cycle follows.

    speed           m/s; default 71 % of the height per second
    step_length     m; default: grows with the square root of the speed, as that of people does
    slope           rise of the ground in m for each m forward, -0.2 to 0.2
    load_back, load_hands  kg carried
    height, mass, sex, age, percentile  the person, as in predyn.models.human
    lock            groups of joints that are held, as in predyn.models.human; () for 55 coordinates
    free_step       let the optimization choose the length of the step at the given speed; costs
                    are then averages over time, and so over distance
    free_durations  let it choose the durations of the phases, and with them when the foot is flat,
                    when the heel leaves the ground and when the toe does
    segments        of the splines in each phase: 4 for a first look, 8 for figures

    With both free, the average weighs the phases by their usual shares of the step.
    """
    person = person_of(height, mass, sex, age, percentile)
    step = _step(person, speed, step_length)
    _check_slope(slope)
    for what, flag in (("free_step", free_step), ("free_durations", free_durations)):
        if not isinstance(flag, bool):
            raise InputError(f"{what}: expected true or false, got {flag!r:.40}")
    held = [name for name in lock if str(name).startswith("global_")]
    if held:
        raise InputError(f"lock: a person who walks moves freely, but {held[0]!r} would be held")
    model = human(
        person.height,
        person.mass,
        sex,
        age=age,
        lock=lock,
        load_back=load_back,
        load_hands=load_hands,
    )
    return _Walk(model, person, step, free_step, free_durations).problem(float(slope), segments)


def _step(person: Person, speed: float | None, length: float | None) -> Step:
    size = person.height / REFERENCE[1]
    pace = _positive(SPEED * person.height if speed is None else speed, "speed", "m/s")
    if not 0.4 <= pace / person.height**0.5 <= 1.6:
        low, high = (x * person.height**0.5 for x in (0.4, 1.6))
        raise InputError(
            f"speed: expected {low:.2f} to {high:.2f} m/s for a person of {person.height:g} m who "
            f"walks, got {pace:g}"
        )
    legs = LONGEST * person.height
    if length is None:
        length = min(math.sqrt(pace * STEP_LENGTH * STEP_DURATION * size**1.5), legs)
    length = _positive(length, "step_length", "m")
    if length > legs:
        raise InputError(
            f"step_length: expected at most {legs:.2f} m for a person of {person.height:g} m, got "
            f"{length:g}: the legs are too short"
        )
    return Step(length, length / pace, size)


def _positive(value: Any, what: str, unit: str) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < value < np.inf:
        raise InputError(f"{what}: expected a number above 0 in {unit}, got {value!r:.40}")
    return float(value)


def _check_slope(slope: Any) -> None:
    number = isinstance(slope, int | float | np.number) and not isinstance(slope, bool)
    if not number or not -0.2 <= slope <= 0.2:
        raise InputError(
            f"slope: expected a rise from -0.2 to 0.2 m for each m forward, got {slope!r:.40}"
        )


class _Walk:
    def __init__(
        self, model: Model, person: Person, step: Step, free_step: bool, free_durations: bool
    ) -> None:
        self.model, self.person, self.step = model, person, step
        self.free_step, self.free_durations = free_step, free_durations
        self.weight = model.weight
        self.driven = model.joint_names[BASE:]

    def problem(self, slope: float, segments: int) -> Problem:
        return Problem(
            self.model,
            tuple(self._phases()),
            () if self.free_step else tuple(self._costs()),
            tuple(self._pace()),
            parameters=tuple(self._parameters()),
            limits=self._limits(),
            guess=self._guess(),
            transcription=Spline(degree=5, segments=segments, limit_points=2),
            solver=SolverOptions(tolerance=TOLERANCE),
            name="human-walk",
            ground=Ground(slope=slope),
            cycle=self._cycle(),
        )

    def _phases(self) -> Iterator[Phase]:
        """The places of the right foot are given; those of the left follow from the cycle."""
        flat = self._flat_foot()
        side = -0.5 * WIDTH * self.step.size
        heel = flat["heel_r"]
        places = {name: (x - heel[0], side + y - heel[1], 0.0) for name, (x, y, _) in flat.items()}
        standing = [
            Contact("heel_r", place=places["heel_r"]),
            Contact("ball_medial_r", hold="yz", place=places["ball_medial_r"]),
            Contact("ball_lateral_r", push="xz", hold="z", place=places["ball_lateral_r"]),
            Contact("toe_r", push="z", hold="z"),
        ]
        fore = [
            Contact("ball_medial_r"),
            Contact("ball_lateral_r", push="xz", hold="xz"),
            Contact("toe_r", push="z", hold="z"),
        ]
        landed = [Contact("heel_l")]
        both = [
            Contact("heel_l"),
            Contact("ball_medial_l", hold="yz"),
            Contact("ball_lateral_l", push="xz", hold="z"),
            Contact("toe_l", push="z", hold="z"),
        ]
        contacts = {
            "flat": standing,
            "forefoot": fore,
            "heel": fore + landed,
            "both": fore + both,
        }
        clear = {"flat": (0.25, 0.5, 0.75, 1.0), "forefoot": (0.25, 0.5)}
        for name, share in PHASES.items():
            rows = [self._clearance(point, clear[name]) for point in ("toe_l", "ball_medial_l")
                    if name in clear]  # fmt: skip
            if name == "both":
                bent = JointPosition(("knee_flexion_r",))
                low = math.radians(KNEE_AT_TOE_OFF)
                rows.append(Constraint(bent, low, np.inf, at="end", name="knee at toe-off"))
            yield Phase(
                self._duration(name, share),
                name=name,
                contacts=contacts[name],
                constraints=rows,
                costs=tuple(self._averages(name, share)),
            )

    def _duration(self, name: str, share: float) -> float | str:
        free = self.free_step or self.free_durations
        return f"duration {name}" if free else share * self.step.duration

    def _parameters(self) -> Iterator[Parameter]:
        if self.free_step:
            longest = LONGEST * self.person.height
            yield Parameter("step", 0.3 * self.step.length, longest, self.step.length, "m")
        if self.free_step or self.free_durations:
            for name, share in PHASES.items():
                usual = share * self.step.duration
                bounds = (0.25 * usual, 3.0 * usual)
                if not self.free_step:
                    bounds = ((1.0 - SLACK) * usual, (1.0 + SLACK) * usual)
                yield Parameter(f"duration {name}", *bounds, usual, "s")

    def _pace(self) -> Iterator[Constraint]:
        """The speed, and the shares of the phases where these are not free."""
        if not (self.free_step or self.free_durations):
            return
        speed = self.step.length / self.step.duration
        parts: list[tuple[float, Term]] = [
            (speed, ParameterValue(f"duration {name}")) for name in PHASES
        ]
        length = 0.0 if self.free_step else self.step.length
        if self.free_step:
            parts.append((-1.0, ParameterValue("step")))
        yield Constraint(WeightedSum(parts, "pace", "m"), length, length, name="speed")
        if self.free_step and self.free_durations:
            yield from self._shares()
        if not self.free_durations:
            (first, share), *others = PHASES.items()
            for name, other in others:
                ratio: list[tuple[float, Term]] = [
                    (1.0, ParameterValue(f"duration {name}")),
                    (-other / share, ParameterValue(f"duration {first}")),
                ]
                yield Constraint(WeightedSum(ratio, name, "s"), 0.0, 0.0, name="share")

    def _shares(self) -> Iterator[Constraint]:
        """Each phase takes its share of a free step, give or take SLACK."""
        for name, share in PHASES.items():
            for side in (-1.0, 1.0):
                bound = share * (1.0 + side * SLACK)
                parts: list[tuple[float, Term]] = [
                    (side * (float(other == name) - bound), ParameterValue(f"duration {other}"))
                    for other in PHASES
                ]
                term = WeightedSum(parts, name, "s")
                yield Constraint(term, -np.inf, 0.0, name=f"share {name}")

    def _averages(self, name: str, share: float) -> Iterator[Cost]:
        """The costs of a phase of a free step: averages over time with the weight of the phase."""
        for cost in self._costs() if self.free_step else ():
            feet = getattr(cost.term, "points", None)
            if feet is None or "heel_r" in feet or name in ("heel", "both"):
                weight = share * self.step.duration * cost.weight
                yield replace(cost, weight=weight, average=True)

    def _clearance(self, point: str, fractions: tuple[float, ...]) -> Constraint:
        height = CLEARANCE * self.step.size
        term = FramePosition(point, (None, None, height))
        return Constraint(term, 0.0, np.inf, at=fractions, name="clearance")

    def _flat_foot(self) -> dict[str, Floats]:
        """Where the contact points of the right foot are in a standing person."""
        names = [x.name for x in self.model.contact_points if x.name.endswith("_r")]
        q = np.zeros(self.model.n)
        zero = np.zeros(self.model.n)
        return {name: frame_kinematics(self.model, name, q, zero, zero).p for name in names}

    def _costs(self) -> Iterator[Cost]:
        limits = np.abs(self.model.limits.effort[BASE:]).max(axis=1)
        scale = self.person.mass * self.person.height / (REFERENCE[0] * REFERENCE[1])
        per = [
            next((scale * s for kind, s in EFFORT_PER.items() if name.startswith(kind)), limit)
            for name, limit in zip(self.driven, limits, strict=True)
        ]
        yield Cost(Effort(self.driven, per=per))
        # in proportion to effort in slow steps too: jerk^2 falls with the sixth power of time
        slowness = max(1.0, self.step.duration / STEP_DURATION)
        yield Cost(Smoothness("jerk", self.driven), JERK * slowness**6)
        # likewise, so that both peaks of the vertical force grow with speed
        quickness = (self.step.duration / STEP_DURATION) ** 2
        yield Cost(ContactForceRate(per=self.weight), FORCE_RATE * quickness)
        for side in "rl":
            foot = (f"heel_{side}", f"forefoot_{side}")
            term = ContactForceRate(foot, per=self.weight, total=True)
            yield Cost(term, FOOT_RATE * quickness, name=f"foot_{side} rate")
        for kind, (weight, degrees) in POSTURE.items():
            joints = tuple(x for x in self.model.joint_names if x.startswith(kind))
            if joints:
                posture: Term = JointPosition(joints, math.radians(degrees))
                yield Cost(posture, weight, name=f"posture {kind}")

    def _limits(self) -> Limits:
        limits = self.model.limits
        position = limits.position.copy()
        for j, name in enumerate(self.model.joint_names):
            for kind, degrees in RANGES.items():
                if name.startswith(kind):
                    position[j] = np.radians(degrees)
        return limits._replace(position=position)

    def _cycle(self) -> Cycle:
        names = self.model.joint_names
        images, signs = mirror_map(names)
        swap = {a: names[k] for a, k in zip(names, images, strict=True) if a.endswith("_r")}
        points = [x.name for x in self.model.contact_points]
        for name in dict.fromkeys((*points, *self.model.patches)):
            if name.endswith("_r"):
                swap[name] = f"{name[:-1]}l"
        turned = {name: -1.0 for name, sign in zip(names, signs, strict=True) if sign < 0.0}
        forward = "step" if self.free_step else self.step.length
        return Cycle((forward, 0.0, 0.0), swap, turned, "y")

    def _guess(self) -> tuple[Floats, Floats]:
        s = np.array([0.0, 1.0])
        q = np.zeros((2, self.model.n))
        straight: dict[str, ArrayLike] = {
            "global_tx": (-0.5 * self.step.length, 0.5 * self.step.length),
            "global_tz": (0.9 * self.step.size, 0.9 * self.step.size),
            "hip_flexion_r": np.radians((30.0, -10.0)),
            "hip_flexion_l": np.radians((-10.0, 30.0)),
            "knee_flexion_r": np.radians((20.0, 20.0)),
            "knee_flexion_l": np.radians((20.0, 20.0)),
        }
        for name, values in straight.items():
            q[:, self.model.joint_index(name)] = np.asarray(values)
        return s, q
