"""A person lifts a box from the ground: as high as possible, or onto a shelf with least effort.

Numbers marked "taste" were chosen; the others keep the program well posed (docs/lifting.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import Model
from predyn.models.humans.boxes import human_with_box
from predyn.movements.lifting import (
    BOX,
    lift_contacts,
    lift_distances,
    lift_guess,
    lift_heights,
    lift_limits,
    lift_postures,
    reaching_posture,
)
from predyn.nlp import SolverOptions
from predyn.problem import Constraint, Contact, Cost, Dmoc, Ground, Phase, Problem, State
from predyn.terms import ContactForceRate, Effort, FrameDistance, JointPosition, JointVelocity

Floats = NDArray[np.float64]
BASE = "global_"  # beginning of the names of joints without motors, besides those of the box
HEIGHT = 10.0  # cost of a metre less height
SPEED = 0.025  # s^2/rad^2, cost of squared joint speeds; without it there are many equal motions
TURNING = 0.25  # s^2/rad^2, the same of the box: without it, it swings below the handles
FORCE_RATE = 1e-3  # s, of squared rates of ground forces over the weight; determines shares
REACH = 0.45  # share of the time of the lift that reaching for the box takes in addition; taste
GRIPS = ("grip_r", "grip_l")
CORNERS = {  # of a box on the ground: pushed along, held along
    "box_front_r": ("xyz", "xyz"),
    "box_rear_r": ("yz", "yz"),
    "box_front_l": ("z", "z"),
    "box_rear_l": ("z", ""),
}
STEPS = 26
SEGMENTS, DEGREE = 16, 5  # of method spline; fewer segments leave forces at the base between points


def human_lift_box(
    box_mass: float = 10.0,
    duration: float = 2.65,
    shelf_height: float | None = None,
    reach: bool = False,
    *,
    box_size: Sequence[float] = (0.3, 0.4, 0.3),
    handle_height: float = 0.25,
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    age: str = "18-25",
    percentile: float | None = None,
    strength: float | Mapping[str, float] = 1.0,
    load_back: float = 0.0,
    detailed: bool = False,
    friction: float = 0.7,
    steps: int = STEPS,
) -> Problem:
    """A person who squats at rest lifts a box from the ground and holds it at rest.

    box_mass      kg
    duration      s, of the lift
    shelf_height  m: the box stands this high at the end, and the effort is least; None: as high as
                  possible
    reach         begin upright: in a phase of its own before, the hands reach for the box
    box_size, handle_height  the box, as in predyn.models.human_with_box
    height, mass, sex, age, percentile, strength, load_back, detailed  the person
    friction      of the soles on the ground
    steps         time steps of each phase

    The feet are flat and stay in place. The box turns by at most 0.35 rad about each axis.
    """
    _check(duration, reach, steps)
    model = human_with_box(
        box_mass,
        box_size,
        handle_height,
        height=height,
        mass=mass,
        sex=sex,
        age=age,
        percentile=percentile,
        strength=strength,
        load_back=load_back,
        detailed=detailed,
    )
    way = lift_postures(model, lift_heights(model, shelf_height))
    lift = _Lift(model, way, float(duration), shelf_height is not None, reach)
    return Problem(
        model,
        tuple(lift.phases(steps)),
        tuple(lift.costs()),
        constraints=tuple(lift.distances()),
        limits=lift_limits(model),
        guess=lift.guess(),
        transcription=Dmoc(steps=steps, segments=SEGMENTS, degree=DEGREE),
        solver=SolverOptions(tolerance=1e-6),
        name="human-lift-box",
        passive=[name for name in model.joint_names if name not in lift.driven],
        ground=Ground(friction=friction),
    )


def _check(duration: Any, reach: Any, steps: Any) -> None:
    number = isinstance(duration, int | float | np.number) and not isinstance(duration, bool)
    if not number or not 0.8 <= duration <= 10.0:
        raise InputError(f"duration: expected 0.8 to 10 s, got {duration!r:.40}")
    if not isinstance(reach, bool):
        raise InputError(f"reach: expected true or false, got {reach!r:.40}")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 4:
        raise InputError(f"steps: expected at least 4, got {steps!r:.40}")


class _Lift:
    def __init__(
        self, model: Model, way: Floats, duration: float, shelf: bool, reach: bool
    ) -> None:
        self.model, self.way, self.duration = model, way, duration
        self.shelf, self.reach = shelf, reach
        self.driven = [x for x in model.joint_names if not x.startswith((BASE, "box_"))]
        self.weight = model.weight
        self.upright = reaching_posture(model) if reach else None

    def phases(self, steps: int) -> Iterator[Phase]:
        feet, rest = lift_contacts(self.model), np.zeros(self.model.n)
        start = State(self.way[0], rest)
        if self.upright is not None:
            first = dict(zip(self.model.joint_names, self.upright.tolist(), strict=True))
            yield Phase(
                REACH * self.duration,
                State(self.upright, rest),
                name="reach",
                contacts=(*feet, *self._standing_box(first)),
                loops=(),
            )
            start = State()
        wanted = self.way[-1].copy()
        wanted[[name not in BOX[2:] for name in self.model.joint_names]] = np.nan
        end = State(wanted if self.shelf else None, rest)
        yield Phase(
            self.duration, start, end, list(self._height()), name="lift", contacts=feet, loops=GRIPS
        )

    def _standing_box(self, q: Mapping[str, float]) -> Iterator[Contact]:
        """The corners of the box, in place on the ground."""
        for name, (push, hold) in CORNERS.items():
            corner = self.model.frame(name).p
            place = (q["box_tx"] + corner[0], q["box_ty"] + corner[1], 0.0)
            yield Contact(name, push, hold, tuple(float(x) for x in place))

    def _height(self) -> Iterator[Cost]:
        if not self.shelf:
            up = JointPosition(["box_tz"])
            yield Cost(up, -HEIGHT, at="end", loss="linear", name="height of the box")

    def costs(self) -> Iterator[Cost]:
        yield Cost(Effort(self.driven, normalised=True), 0.5)
        yield Cost(JointVelocity(self.driven), SPEED, name="speed")
        yield Cost(JointVelocity(BOX[3:]), TURNING, name="turning of the box")
        yield Cost(ContactForceRate(per=self.weight), FORCE_RATE)

    def distances(self) -> Iterator[Constraint]:
        """The box stays out of the body."""
        for frame, least in lift_distances(self.model, self.way[0]).items():
            yield Constraint(FrameDistance("box", frame), lower=least)

    def guess(self) -> tuple[Floats, Floats]:
        s, q = lift_guess(self.way)
        if self.upright is None:
            return s, q
        before, reaching = lift_guess(np.array([self.upright, self.way[0]]))
        share = REACH / (1.0 + REACH)
        return (
            np.concatenate([share * before, share + (1.0 - share) * s[1:]]),
            np.concatenate([reaching, q[1:]]),
        )
