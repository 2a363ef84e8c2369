"""Coordinates of an OpenSim model: which are independent, and what each of them moves.

The axis whose position is a coordinate itself, up to sign and offset, becomes the joint of that
coordinate. Other axes that the coordinate moves follow it. A coordinate that a coupler makes depend
on another one follows that one.
"""

from __future__ import annotations

from typing import NamedTuple

from predyn.errors import unknown_name
from predyn.load.osim_chain import Motion
from predyn.load.osim_functions import affine, compose, find_function, read_function
from predyn.load.osim_joints import Axis, Coordinate
from predyn.load.osim_layout import Connection
from predyn.load.osim_xml import is_on, read_number, read_objects, read_word
from predyn.load.xml_file import Element
from predyn.model.couplings import PiecewisePolynomial

COUPLER = "CoordinateCouplerConstraint"
ITSELF = PiecewisePolynomial.linear(1.0)


class Drive(NamedTuple):
    """The value of a coordinate as a function of an independent one, which is None if constant."""

    source: str | None
    function: PiecewisePolynomial


class Coordinates:
    """The coordinates of all joints by name, and what drives each of them."""

    def __init__(self, model: Element, coordinates: list[Coordinate], hold_locked: bool) -> None:
        self.all: dict[str, Coordinate] = {}
        for coordinate in coordinates:
            if coordinate.name in self.all:
                coordinate.element.fail(
                    f"the name {coordinate.name!r:.60} is already used in line "
                    f"{self.all[coordinate.name].element.line}: names of coordinates must differ"
                )
            self.all[coordinate.name] = coordinate
        self.held = [x.name for x in coordinates if x.locked and hold_locked]
        self._couplers = self._read_couplers(model)
        self._drives: dict[str, Drive] = {}
        self.joints: set[str] = set()  # coordinates that are joints of an axis
        self.moved: dict[str, set[str]] = {}  # kinds of the axes that each coordinate moves

    def _read_couplers(self, model: Element) -> dict[str, tuple[Element, str, PiecewisePolynomial]]:
        """Dependent coordinate -> constraint, independent coordinate, function."""
        couplers: dict[str, tuple[Element, str, PiecewisePolynomial]] = {}
        for element in read_objects(model, "ConstraintSet"):
            if element.tag != COUPLER or not is_on(element, "isEnforced"):
                continue
            names = read_word(element, "independent_coordinate_names").split()
            dependent = read_word(element, "dependent_coordinate_name")
            for name in (*names, dependent):
                if name not in self.all:
                    element.fail(str(unknown_name("coordinate", name, self.all)))
            if len(names) != 1:
                element.fail(f"expected one independent coordinate, got {len(names)}")
            if dependent in couplers:
                element.fail(
                    f"{dependent!r:.60} already depends on another coordinate, by the coupler in "
                    f"line {couplers[dependent][0].line}"
                )
            held = find_function(element, "coupled_coordinates_function")
            if held is None:
                element.fail("expected a function in <coupled_coordinates_function>")
            function = affine(read_function(held), read_number(element, "scale_factor", 1.0), 0.0)
            couplers[dependent] = element, names[0], function
        return couplers

    def drive(self, name: str) -> Drive:
        """What a coordinate depends on; couplers are followed to an independent coordinate."""
        chain: list[str] = []
        while name not in self._drives:
            if name in chain:
                self._couplers[name][0].fail(
                    f"coordinates depend on each other in a circle: {' -> '.join(chain[:6])}"
                )
            chain.append(name)
            if name in self.held:
                value = PiecewisePolynomial.polynomial([self.all[name].default])
                self._drives[name] = Drive(None, value)
            elif name not in self._couplers:
                self._drives[name] = Drive(name, ITSELF)
            else:
                name = self._couplers[name][1]
        for dependent in reversed(chain):
            if dependent not in self._drives:
                element, source, function = self._couplers[dependent]
                self._drives[dependent] = self._through(element, function, source)
        return self._drives[chain[0] if chain else name]

    def _through(self, element: Element, outer: PiecewisePolynomial, name: str) -> Drive:
        """outer(coordinate `name`) as a function of what that coordinate depends on."""
        source, inner = self._drives[name]
        function = compose(outer, inner)
        if function is None:
            element.fail(
                f"a curved function of coordinate {name!r:.60}, which is itself a curved function "
                f"of {source!r:.60}, is not supported; one of them must be a straight line"
            )
        return Drive(source, function)

    def motions(self, joint: Connection, axes: list[Axis]) -> list[Motion]:
        """What moves each axis of a joint."""
        own = self._choose_joints(axes)
        motions = []
        for k, axis in enumerate(axes):
            if axis.coordinate is None:
                motions.append(Motion(axis, offset=float(axis.function(0.0))))
                continue
            source, function = self.drive(axis.coordinate)
            if source is None:
                value = float(axis.function(float(function(0.0))))
                motions.append(Motion(axis, offset=value))
                continue
            self.moved.setdefault(source, set()).add(axis.kind)
            if own.get(axis.coordinate) == k:
                sign, offset = axis.function.line or (1.0, 0.0)
                self.joints.add(axis.coordinate)
                if source == axis.coordinate:
                    motions.append(Motion(axis, source, sign, offset))
                else:
                    name = axis.coordinate
                    motions.append(Motion(axis, name, sign, offset, source, function))
                continue
            _, through = self._through(joint.element, axis.function, axis.coordinate)
            motions.append(Motion(axis, self._joint_name(joint, axis), 1.0, 0.0, source, through))
        return motions

    def _choose_joints(self, axes: list[Axis]) -> dict[str, int]:
        """Coordinate -> number of the axis that it is the position of; rotations come first."""
        chosen: dict[str, int] = {}
        order = sorted(range(len(axes)), key=lambda k: axes[k].kind != "revolute")
        for k in order:
            line, name = axes[k].function.line, axes[k].coordinate
            if name is not None and line is not None and abs(line[0]) == 1.0:
                chosen.setdefault(name, k)
        return chosen

    def _joint_name(self, joint: Connection, axis: Axis) -> str:
        name = f"{joint.name}_{axis.name}"
        while name in self.all:
            name += "_"
        return name
