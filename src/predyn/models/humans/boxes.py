"""human_with_box: a person and a free box in one model, with both hands on its handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from predyn.errors import InputError
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.edits import number
from predyn.models.humans.body import BACK, Body, X, Y, Z
from predyn.models.humans.building import finish, load_of, read_detailed, strength_factors
from predyn.models.humans.notes import notes_of
from predyn.models.humans.people import person_of

MASSES = (0.1, 100.0)  # kg
SIZES = (0.05, 1.0)  # m
BASE = ("box_tx", "box_ty", "box_tz", "box_rotation_1", "box_rotation_2", "box_rotation_3")


class Box(NamedTuple):
    """A homogeneous cuboid: kg; depth, width and height; handles above its bottom (m)."""

    mass: float
    size: tuple[float, float, float]
    handle_height: float


def human_with_box(
    box_mass: float = 10.0,
    box_size: Sequence[float] = (0.3, 0.4, 0.3),
    handle_height: float = 0.25,
    *,
    height: float | None = None,
    mass: float | None = None,
    sex: str = "male",
    age: str = "18-25",
    percentile: float | None = None,
    strength: float | Mapping[str, float] = 1.0,
    lock: str | Sequence[str] = (),
    load_back: float = 0.0,
    detailed: bool = False,
    grips: bool = True,
) -> Model:
    """A person, as `human`, and a box that moves freely, 61 coordinates or 108.

    box_mass       kg, 0.1 to 100
    box_size       depth, width and height (m), 0.05 to 1 each, along x, y and z
    handle_height  m above the bottom of the box, in the middle of its right and left side
    height, mass, sex, age, percentile, strength, lock, load_back, detailed  the person
    grips          close loops "grip_r" and "grip_l" of kind "point": the hands hold the handles

    Coordinates of the box come last: its centre "box_tx", "box_ty", "box_tz" (m), then rotations
    about z, x and -y, "box_rotation_1" to "_3", without limits. Frames "handle_r" and "handle_l",
    and "lap_r" and "lap_l" in the middle of the thighs; contact points at the corners of its
    bottom, "box_front_r" and so on, in the patch "box". At q = 0 the hands are not at the handles:
    see `predyn.movements.lift_postures`.
    """
    box = read_box(box_mass, box_size, handle_height)
    if not isinstance(grips, bool):
        raise InputError(f"grips: expected true or false, got {grips!r:.40}")
    person = person_of(height, mass, sex, age, percentile)
    body = Body(person, strength_factors(strength), read_detailed(detailed))
    body.add_all()
    add_box(body.builder, box)
    for side in "rl":
        body.builder.add_frame(f"lap_{side}", f"thigh_{side}", (0.0, 0.0, -0.5 * body.sizes.thigh))
    if grips:
        for side in "rl":
            body.builder.close_loop(f"grip_{side}", "point", f"grip_{side}", f"handle_{side}")
    loads = {"in the hands": 0.0, "on the back": load_of(load_back, "load_back")}
    x, y, z = box.size
    note = f"box: {box.mass:g} kg, {x:g} m deep, {y:g} m wide, {z:g} m high"
    notes = [*notes_of(person, body.sizes, percentile, loads), note]
    body.builder.name = "human with box"
    return finish(body.builder, notes, loads, lock)


def read_box(mass: Any, size: Any, handle_height: Any) -> Box:
    """A checked box."""
    kg = _within(mass, "box_mass", MASSES, "kg")
    if isinstance(size, str) or not isinstance(size, Sequence | np.ndarray) or len(size) != 3:
        raise InputError(f"box_size: expected depth, width and height in m, got {size!r:.60}")
    x, y, z = (_within(value, "box_size", SIZES, "m") for value in size)
    return Box(kg, (x, y, z), _within(handle_height, "handle_height", (0.0, z), "m"))


def _within(value: Any, what: str, bounds: tuple[float, float], unit: str) -> float:
    result, (low, high) = number(value, what), bounds
    if not low <= result <= high:
        raise InputError(f"{what}: expected {low:g} to {high:g} {unit}, got {result:g}")
    return result


def add_box(builder: ModelBuilder, box: Box) -> None:
    """Add the box with its frames, contact points and shape."""
    x, y, z = box.size
    squares = np.square(box.size)
    inertia = box.mass / 12.0 * (squares.sum() - squares)
    parent = "world"
    for joint, axis in zip(BASE[:5], (X, Y, Z, Z, X), strict=True):
        kind = "prismatic" if joint.startswith("box_t") else "revolute"
        builder.add_link(joint, parent, joint, kind, axis)
        parent = joint
    builder.add_link("box", parent, BASE[5], axis=BACK, mass=box.mass, inertia=inertia)
    builder.add_shape("box", "box", box.size)
    for side, left in (("r", -1.0), ("l", 1.0)):
        beside = 0.5 * left * y
        builder.add_frame(f"handle_{side}", "box", (0.0, beside, box.handle_height - 0.5 * z))
        for end, forward in (("front", 0.5 * x), ("rear", -0.5 * x)):
            corner = (forward, beside, -0.5 * z)
            builder.add_contact(f"box_{end}_{side}", "box", corner, "box")
