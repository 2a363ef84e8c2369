"""Joints of OpenSim models as three translations followed by three rotations.

A joint frame of the child moves in the joint frame of the parent: first along the translation axes,
which are fixed in the parent, then about the rotation axes, each in the frame turned by those
before it. Coordinates drive the axes through functions of one coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predyn.errors import unknown_name
from predyn.load.osim_functions import find_function, read_function
from predyn.load.osim_layout import Connection
from predyn.load.osim_xml import (
    read_flag,
    read_number,
    read_numbers,
    read_objects,
    read_range,
    read_word,
)
from predyn.load.xml_file import Element
from predyn.model.couplings import PiecewisePolynomial
from predyn.model.parts import Array

# axes in the order of motion: letter t or r, axis, number of the coordinate
SIMPLE: dict[str, tuple[tuple[str, int], ...]] = {
    "WeldJoint": (),
    "PinJoint": (("rz", 0),),
    "SliderJoint": (("tx", 0),),
    "UniversalJoint": (("rx", 0), ("ry", 1)),
    "PlanarJoint": (("tx", 1), ("ty", 2), ("rz", 0)),
    "GimbalJoint": (("rx", 0), ("ry", 1), ("rz", 2)),
    "BallJoint": (("rx", 0), ("ry", 1), ("rz", 2)),
    "FreeJoint": (("tx", 3), ("ty", 4), ("tz", 5), ("rx", 0), ("ry", 1), ("rz", 2)),
}
JOINTS = (*SIMPLE, "CustomJoint")
CUSTOM = ("translation1", "translation2", "translation3", "rotation1", "rotation2", "rotation3")
MOST_COORDINATES = 6
DEFAULT_RANGE = (-10.0, 10.0)


@dataclass(eq=False)
class Coordinate:
    """A generalised coordinate as the file describes it."""

    name: str
    element: Element
    default: float
    range: tuple[float, float]
    clamped: bool
    locked: bool
    prescribed: bool


@dataclass(eq=False)
class Axis:
    """One axis of a joint; the coordinate is None if the function is constant."""

    name: str  # unique within the joint
    kind: str  # revolute or prismatic
    direction: Array
    coordinate: str | None
    function: PiecewisePolynomial


def read_joint(joint: Connection) -> tuple[list[Coordinate], list[Axis]]:
    """The coordinates of a joint and its axes, in the order in which they move the child."""
    element = joint.element
    if element.tag not in JOINTS:
        element.fail(
            f"joints of type {element.tag!r:.60} are not supported; supported are "
            f"{', '.join(JOINTS)}"
        )
    coordinates = _read_coordinates(element)
    if element.tag == "CustomJoint":
        return coordinates, _read_transform(element, coordinates)
    axes = SIMPLE[element.tag]
    for k in range(len(coordinates), len(axes)):  # OpenSim's own names
        coordinates.append(_named(f"{joint.name}_coord_{k}", element))
    if len(coordinates) > len(axes):
        coordinates[len(axes)].element.fail(
            f"a {element.tag} has {len(axes)} coordinates, got {len(coordinates)}"
        )
    return coordinates, [
        Axis(
            name,
            "revolute" if name[0] == "r" else "prismatic",
            np.eye(3)["xyz".index(name[1])],
            coordinates[number].name,
            PiecewisePolynomial.linear(1.0),
        )
        for name, number in axes
    ]


def _read_coordinates(joint: Element) -> list[Coordinate]:
    holder = joint.one("coordinates")
    found = read_objects(joint, "CoordinateSet") if holder is None else holder.children
    if len(found) > MOST_COORDINATES:
        joint.fail(f"{len(found)} coordinates; expected at most {MOST_COORDINATES}")
    return [_read_coordinate(element) for element in found]


def _named(name: str, joint: Element) -> Coordinate:
    return Coordinate(name, joint, 0.0, DEFAULT_RANGE, False, False, False)


def _read_coordinate(element: Element) -> Coordinate:
    if element.tag != "Coordinate":
        element.fail("expected <Coordinate> here")
    function = element.one("prescribed_function")
    driven = read_flag(element, "prescribed", False) and function is not None
    coordinate = Coordinate(
        element.text("name"),
        element,
        read_number(element, "default_value", 0.0),
        read_range(element, DEFAULT_RANGE),
        read_flag(element, "clamped", False),
        read_flag(element, "locked", False),
        driven and bool(function and function.children),
    )
    return coordinate


def _read_transform(joint: Element, coordinates: list[Coordinate]) -> list[Axis]:
    """The axes of a CustomJoint; those that are missing do not move."""
    names = [coordinate.name for coordinate in coordinates]
    given: dict[str, Element] = {}
    if (old := joint.one("TransformAxisSet")) is not None:
        old.fail("OpenSim 1 wrote this file: open it with OpenSim 3 or 4 and save it")
    for element in joint.need("SpatialTransform").all("TransformAxis"):
        name = element.text("name")
        if name not in CUSTOM:
            element.fail(str(unknown_name("name of a TransformAxis", name, CUSTOM)))
        if name in given:
            element.fail(f"given twice, first in line {given[name].line}")
        given[name] = element
    axes = [_read_axis(given[name], name, names) for name in CUSTOM if name in given]
    return [axis for axis in axes if axis.coordinate is not None or axis.function(0.0) != 0.0]


def _read_axis(element: Element, name: str, coordinates: list[str]) -> Axis:
    words = read_word(element, "coordinates", "").split()
    for word in words:
        if word not in coordinates:
            element.need("coordinates").fail(
                str(unknown_name("coordinate of the joint", word, coordinates))
            )
    held = find_function(element)
    if held is not None:
        function = read_function(held)
    else:  # as OpenSim: an empty <function/> is the coordinate itself, a missing one is 0
        itself = bool(words) and element.one("function") is not None
        function = PiecewisePolynomial.linear(1.0 if itself else 0.0)
    moves = function.line is None or function.line[0] != 0.0
    if moves and len(words) != 1:
        element.fail(f"a {'' if held is None else held.tag} needs one coordinate, got {len(words)}")
    direction = np.array(read_numbers(element, "axis", 3))
    size = np.linalg.norm(direction)
    if not size > 0.0:
        element.need("axis").fail("the axis is zero: expected a direction such as '0 0 1'")
    return Axis(
        name,
        "revolute" if name.startswith("rotation") else "prismatic",
        direction / size,
        words[0] if moves else None,
        function,
    )
