"""Lifting a box: postures of a person whose hands hold its handles, and what a lift is made of.

Postures between the floor and overhead are the initial guess of a lift: feet flat and in place,
grips closed, the centre of mass over the feet. Numbers marked "taste" were chosen so that postures
look like those of people (docs/lifting.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.momentum import center_of_mass
from predyn.errors import InputError
from predyn.model import Limits, Model
from predyn.movements.postures import Balance, Held, find_posture
from predyn.problem import Contact

Floats = NDArray[np.float64]
SIDES = (("r", -1.0), ("l", 1.0))
BOX = ("box_tx", "box_ty", "box_tz", "box_rotation_1", "box_rotation_2", "box_rotation_3")
# which coordinates of the points of a flat foot are held: each of its seven freedoms once
SOLE = {"heel": "xyz", "ball_medial": "yz", "ball_lateral": "z", "toe": "z"}
PUSHES = {"heel": "xyz", "ball_medial": "xyz", "ball_lateral": "xz", "toe": "z"}
HIP_HEIGHT = 0.937  # m, of the person to whom lengths below belong
STANCE = 0.26  # m between the heels; taste
TILT = 0.35  # rad, by which the box may turn: without it, it is turned over for more height
FREE, CLOSE = 0.02, 0.17  # m from the toes to a box on the ground, from the heels to one above
NEAR = 0.40, 0.85  # m, heights of the handles between which the box comes close
BALANCE = 0.45, 50.0  # share of the foot's length ahead of the heel; weight, 1/m; taste
MOST_SPREAD = 3.0  # rad or m: joints may leave the preferred posture in proportion to their range
UPRIGHT = 1.0  # rad, the same of the pelvis; taste
HEAD_UP = -0.25  # rad, most flexion of the upper neck: at 0 both rotations of the neck are the same
# m: spheres in the body that a sphere in the box must not meet, of the person of HIP_HEIGHT; taste
BODY = {"pelvis": 0.12, "chest": 0.13, "eyes": 0.10, "lap": 0.11, "knee": 0.08}
MARGIN = 0.01  # m of the soles that carry nothing in a posture
# preferred postures in degrees by the beginnings of names, and heights of the handles; taste
NECK = "upper_neck_flexion"
HEAD = {"lower_neck_flexion": -5.0, NECK: -18.0}
SQUAT = HEAD | {"global_rotation_3": -35.0, "hip_flexion": 110.0, "knee_flexion": 105.0,
         "ankle_dorsiflexion": 18.0, "shoulder_flexion": 65.0, "elbow_flexion": 10.0}  # fmt: skip
STAND = HEAD | {"hip_flexion": 5.0, "knee_flexion": 10.0, "ankle_dorsiflexion": 5.0,
         "shoulder_flexion": 25.0, "elbow_flexion": 80.0}  # fmt: skip
OVERHEAD = HEAD | {"hip_flexion": 3.0, "knee_flexion": 6.0, "ankle_dorsiflexion": 3.0,
            "shoulder_flexion": 150.0, "elbow_flexion": 35.0}  # fmt: skip
BACK_BENT = 30.0  # degrees of all joints of the spine together, squatting
SHARES = 0.0, 0.17, 0.40, 0.63, 0.87, 1.0  # of the way upwards, of the postures of a lift
HEIGHTS = 0.25, 0.85, 1.20, 1.75  # m: squatting, standing from .. to, overhead


@dataclass(frozen=True)
class Place:
    """Where a person lifts: feet, box and reach, all in m."""

    size: float  # relative to the person to whom the numbers above belong
    feet: Mapping[str, Floats]  # contact points of the soles
    heel: float
    toe: float
    depth: float  # of the box
    lowest: float  # centre of the box on the ground
    handles: float  # above the centre of the box


def place_of(model: Model) -> Place:
    """The place of a person with a box: heels at x = 0, feet parallel and flat at z = 0."""
    missing = [name for name in BOX if name not in model.joint_names]
    if missing:
        raise InputError(
            f"a lift needs predyn.models.human_with_box, but model {model.name!r} has no joint "
            f"{missing[0]!r}"
        )
    rest = np.zeros(model.n)
    hip = -float(frame_kinematics(model, "heel_r", rest).p[2])
    feet = {}
    for side, left in SIDES:
        heel = frame_kinematics(model, f"heel_{side}", rest).p
        beside = np.array([0.0, 0.5 * left * STANCE * hip / HIP_HEIGHT, 0.0])
        for point in SOLE:
            name = f"{point}_{side}"
            feet[name] = frame_kinematics(model, name, rest).p - heel + beside
    front, rear = (model.frame(f"box_{end}_r").p for end in ("front", "rear"))
    return Place(
        size=hip / HIP_HEIGHT,
        feet=feet,
        heel=0.0,
        toe=float(feet["toe_r"][0]),
        depth=float(front[0] - rear[0]),
        lowest=-float(front[2]),
        handles=float(model.frame("handle_r").p[2]),
    )


def lift_heights(model: Model, shelf_height: float | None = None) -> Floats:
    """Heights (m) of the centre of the box for the postures of a lift from the ground.

    shelf_height: m, where the box stands at the end; default: handles somewhat above the shoulders,
    from where they can still rise.
    """
    place = place_of(model)
    top = HEIGHTS[-1] * place.size - place.handles
    if shelf_height is not None:
        height = _number(shelf_height, "shelf_height")
        if height <= 0.0:
            raise InputError(f"shelf_height: expected a number above 0 in m, got {height:g}")
        top = height + place.lowest
    return place.lowest + (top - place.lowest) * np.array(SHARES)


def lift_postures(model: Model, heights: Sequence[float] | Floats) -> Floats:
    """Postures (K, n) of a person with a box whose centre is at these heights (m), in their order.

    The box is level and in front of the person, nearer to the body the higher it is. Soles are flat
    and in place, grips closed to 1e-10 m, joints within their limits, and the centre of mass of
    person and box is over the feet. A box that the hands cannot hold like this is an InputError.
    """
    place, found = place_of(model), list[Floats]()
    for height in heights:
        z = _number(height, "height of the box")
        if z < place.lowest:
            raise InputError(
                f"height of the box: expected at least {place.lowest:g} m, where it stands on the "
                f"ground, got {z:g}"
            )
        level = (z + place.handles) / place.size
        given = dict.fromkeys(BOX, 0.0) | {"box_tx": _forward(place, level), "box_tz": z}
        wish = _preferred(model, level)
        q = _standing(model, place, wish, given, found[-1] if found else wish)
        if q is None:
            raise InputError(
                f"height of the box: no posture found with its centre at {z:g} m in which the "
                "hands hold the handles and the feet stay in place; it may be out of reach"
            )
        found.append(q)
    return np.array(found).reshape(-1, model.n)


def reaching_posture(model: Model) -> Floats:
    """A person (n,) who stands upright with hanging arms behind the box on the ground."""
    place = place_of(model)
    given = dict.fromkeys(BOX, 0.0)
    given |= {"box_tx": _forward(place, 0.0), "box_tz": place.lowest}
    wish = _posture(model, HEAD | {"elbow_flexion": 10.0})
    q = _standing(replace(model, loops=()), place, wish, given, wish)
    assert q is not None  # upright, every person balances
    return q


def lift_guess(postures: Floats, count: int = 51) -> tuple[Floats, Floats]:
    """Fractions of the duration (count,) and positions (count, n) of a motion from rest to rest.

    It runs through the postures, which are equidistant along the path, with quintic timing.
    """
    s = np.linspace(0.0, 1.0, count)
    along = s**3 * (10.0 + s * (6.0 * s - 15.0))
    knots = np.linspace(0.0, 1.0, len(postures))
    return s, np.stack([np.interp(along, knots, column) for column in postures.T], axis=1)


def lift_limits(model: Model) -> Limits:
    """The limits of the model, with a raised head and a box that turns by at most TILT."""
    position = np.array(model.limits.position)
    if NECK in model.joint_names:  # it may be locked
        position[model.joint_index(NECK), 1] = HEAD_UP
    for name in BOX[3:]:
        position[model.joint_index(name)] = -TILT, TILT
    return model.limits._replace(position=position)


def lift_distances(model: Model, start: Floats) -> dict[str, float]:
    """Least distances (m) of the centre of the box from frames of the body; less where the given
    posture at the start is nearer.
    """
    place, box = place_of(model), frame_kinematics(model, "box", start).p
    inside = 0.5 * min(place.depth, 2.0 * place.lowest)
    chest = model.link_names[model.frame("rucksack").link]
    frames = {"pelvis": "pelvis", chest: "chest", "eyes": "eyes"}
    frames |= {f"{part}_{side}": part for part in ("lap", "knee") for side, _ in SIDES}
    found = {}
    for name, part in frames.items():
        far = float(np.linalg.norm(frame_kinematics(model, name, start).p - box))
        found[name] = min(inside + place.size * BODY[part], far)
    return found


def lift_contacts(model: Model) -> list[Contact]:
    """Both feet flat on the ground and in place."""
    places = place_of(model).feet
    return [
        Contact(f"{point}_{side}", PUSHES[point], hold, tuple(places[f"{point}_{side}"].tolist()))
        for side, _ in SIDES
        for point, hold in SOLE.items()
    ]


def _number(value: Any, what: str) -> float:
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not good or not math.isfinite(value):
        raise InputError(f"{what}: expected a number, got {value!r:.40}")
    return float(value)


def _forward(place: Place, level: float) -> float:
    """Where the centre of the box is ahead of the heels, with handles at this relative height."""
    ends = place.toe + place.size * FREE, place.size * CLOSE
    return 0.5 * place.depth + float(np.interp(level, NEAR, ends))


def _posture(model: Model, degrees: Mapping[str, float]) -> Floats:
    angles = (
        next((x for start, x in degrees.items() if name.startswith(start)), 0.0)
        for name in model.joint_names
    )
    return np.radians(list(angles))


def _preferred(model: Model, level: float) -> Floats:
    """The posture for handles at this height relative to the size of the person."""
    spine = [name for name in model.joint_names if name.startswith("spine") and "flexion" in name]
    bent = dict.fromkeys(spine, BACK_BENT / max(len(spine), 1))
    knots = np.array([_posture(model, x) for x in (SQUAT | bent, STAND, STAND, OVERHEAD)])
    q = np.array([np.interp(level, HEIGHTS, column) for column in knots.T])
    lower, upper = model.limits.position.T
    return np.asarray(np.clip(q, lower, upper))


def _standing(
    model: Model, place: Place, wish: Floats, given: Mapping[str, float], start: Floats
) -> Floats | None:
    """The posture on flat feet, or None if there is none or the feet do not carry it."""
    held = []
    for name, point in place.feet.items():
        axes = SOLE[name[:-2]]
        held.append(Held(name, [point[k] if x in axes else None for k, x in enumerate("xyz")]))
    share, weight = BALANCE
    ahead = place.heel + share * (place.toe - place.heel)
    lower, upper = model.limits.position.T
    spread = np.minimum(upper - lower, MOST_SPREAD)
    spread[[name.startswith("global_rotation") for name in model.joint_names]] = UPRIGHT
    first = start.copy()
    if start is wish:  # the hips over the feet, as high as the preferred posture has them
        heel = frame_kinematics(model, "heel_r", wish).p
        first[model.joint_index("global_tx")] -= float(heel[0])
        first[model.joint_index("global_tz")] -= float(heel[2])
    found = find_posture(
        model,
        wish,
        held,
        given,
        balance=Balance(ahead, 0.0, weight),
        spread=spread,
        start=first,
    )
    x = float(center_of_mass(model, found.q)[0])
    over = place.heel + MARGIN <= x <= place.toe - MARGIN
    return found.q if found.holds and over else None
