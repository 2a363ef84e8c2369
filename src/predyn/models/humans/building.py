"""human: an adult as a model with 55 or 102 coordinates, from height, mass, sex and age group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.edits import number
from predyn.models.humans.body import Body
from predyn.models.humans.locking import joints_to_lock
from predyn.models.humans.notes import notes_of
from predyn.models.humans.people import person_of
from predyn.models.humans.strengths import GROUPS

LOADED = ("grip_r", "grip_l"), ("rucksack",)  # frames that carry load_hands and load_back
LARGEST_LOAD = 200.0  # kg


def human(
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    *,
    age: str = "18-25",
    percentile: float | None = None,
    strength: float | Mapping[str, float] = 1.0,
    lock: str | Sequence[str] = (),
    load_hands: float = 0.0,
    load_back: float = 0.0,
    detailed: bool = False,
) -> Model:
    """An adult with 55 coordinates, or 102; x forward, y left, z up, gravity (0, 0, -9.81).

    height: m, 1.40 to 2.00 (default 1.75). mass: kg, 35 to 145 (default 75); the body mass index
    must be from 15 to 40 kg/m^2. sex: "male" or "female". percentile: 1 to 99, gives the height and
    the mass that are not given, among soldiers of ANSUR II. age: "18-25", "55-65" or ">65", changes
    only strength. strength: a factor on all effort limits, or by group {"arms": 0.7}; groups
    "legs", "trunk", "arms", "neck". lock: groups "neck", "clavicles", "wrists", "upper spine" or
    joint names, fixed at 0. load_hands: kg, half of it a point mass in each hand; load_back: kg, a
    point mass at frame "rucksack". detailed: 102 coordinates, with six joints of three axes in the
    spine instead of four, an upper neck that bends to the sides, and fingers; lock then has a
    further group "fingers".

    Coordinates: mid-hip "global_tx", "global_ty", "global_tz" (m), then rotations of the pelvis
    about z, x and -y ("global_rotation_1" to "_3", turning left, leaning right, tilting back);
    right leg, left leg, spine, right arm, left arm, neck. At 0 the person stands upright with
    hanging arms, thumbs forward; the soles are at z = 0 if global_tz is the height of the hips,
    which the notes state. Equal values on both sides are a symmetric posture. Positive: flexion of
    hips, knees, shoulders, elbows, wrists, spine and neck; adduction, internal rotation,
    dorsiflexion, inversion, extension of the forefoot, elevation and protraction, pronation, ulnar
    deviation; bending to the right and rotation to the left.

    Gimbal lock, where the mass matrix is singular: global_rotation_2 = ±90° (lying on a side),
    shoulder_adduction = -90° (arm straight out to the side); for hip and spine it is outside their
    ranges. The six base joints have no limits. Effort limits do not depend on angle or speed.
    """
    person = person_of(height, mass, sex, age, percentile)
    body = Body(person, strength_factors(strength), read_detailed(detailed))
    body.add_all()
    loads = {
        "in the hands": load_of(load_hands, "load_hands"),
        "on the back": load_of(load_back, "load_back"),
    }
    notes = notes_of(person, body.sizes, percentile, loads)
    return finish(body.builder, notes, loads, lock)


def finish(
    builder: ModelBuilder, notes: Sequence[str], loads: Mapping[str, float], lock: Any
) -> Model:
    """The model with its loads, in which the groups and joints of `lock` are held at 0."""
    model = builder.build(notes=notes)
    for load, frames in zip(loads.values(), LOADED, strict=True):
        for frame in frames if load > 0.0 else ():
            model = model.attach_payload(frame, load / len(frames))
    locked = joints_to_lock(lock, model.joint_names)
    if locked:  # one note, not one for each joint
        model = model.lock(dict.fromkeys(locked, 0.0))
        model = replace(model, notes=(*notes, f"locked at 0: {', '.join(locked)}"))
    return model


def read_detailed(value: Any) -> bool:
    """Whether the person has 102 coordinates."""
    if not isinstance(value, bool):
        raise InputError(f"detailed: expected true or false, got {value!r:.40}")
    return value


def load_of(value: Any, what: str) -> float:
    """A load (kg) that a person may carry."""
    load = number(value, f"{what} of a person")
    if not 0.0 <= load <= LARGEST_LOAD:
        raise InputError(f"{what} of a person: expected 0 to {LARGEST_LOAD:g} kg, got {load:g}")
    return load


def strength_factors(strength: Any) -> dict[str, float]:
    """The factor of each group of joints, from one number or a mapping."""
    given = strength if isinstance(strength, Mapping) else dict.fromkeys(GROUPS, strength)
    factors = dict.fromkeys(GROUPS, 1.0)
    for group, value in given.items():
        if group not in GROUPS:
            raise unknown_name("group of joints in strength", group, GROUPS)
        factors[group] = number(value, f"strength of {group}")
        if not 0.0 < factors[group] <= 10.0:
            raise InputError(
                f"strength of {group}: expected a factor above 0 and up to 10, got {value!r:.60}"
            )
    return factors
