"""ModelBuilder: assemble a mechanism link by link, in any order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError, ModelError, unknown_name
from predyn.model.contacts import ContactPoint
from predyn.model.coupled import couple
from predyn.model.couplings import Coupling, PiecewisePolynomial
from predyn.model.edits import number
from predyn.model.ligaments import SHAPE
from predyn.model.loops import KINDS as LOOP_KINDS
from predyn.model.loops import Loop
from predyn.model.model import KINDS, DHTable, Frame, Limits, Model, Shape
from predyn.model.parts import (
    Array,
    Triangles,
    dimensions,
    frozen,
    inertia_matrix,
    pack_inertia,
    text,
)

Bound = float | Sequence[float] | None
FRICTION_SHARE, FRICTION_SPEED = 0.02, 0.05  # of the velocity limit; rad/s or m/s without one


class ModelBuilder:
    """Collects links and frames by name; `build` numbers them depth first and checks the model.

    Siblings keep the order in which they were added; a parent may be added after its child.
    """

    def __init__(self, name: str = "model", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = frozen(gravity, "gravity", (3,))
        if not np.isfinite(self.gravity).all():
            raise InputError(f"gravity: expected finite numbers, got {self.gravity.tolist()}")
        self._links: dict[str, dict[str, Any]] = {}
        self._frames: list[tuple[str, str, Array, Array]] = []
        self._shapes: list[tuple[str, dict[str, Any]]] = []
        self._rotor: tuple[Array, tuple[str, ...]] | None = None
        self._couplings: list[Coupling] = []
        self._contacts: list[ContactPoint] = []
        self._loops: list[Loop] = []
        self._gears: list[str] = []

    def add_link(
        self,
        name: str,
        parent: str = "world",
        joint: str | None = None,
        kind: str = "revolute",
        axis: ArrayLike = (0.0, 0.0, 1.0),
        pitch: float = 0.0,
        origin: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        position: Bound = None,
        velocity: Bound = None,
        acceleration: Bound = None,
        effort: Bound = None,
        stiffness: float = 0.0,
        rest: float = 0.0,
        damping: float = 0.0,
        coulomb: float = 0.0,
        coulomb_speed: float | None = None,
        armature: float = 0.0,
        ligaments: ArrayLike | None = None,
    ) -> ModelBuilder:
        """Add a link and the joint that moves it; the joint is named name + "_joint" by default.

        origin (m) and rotation (3, 3) place the joint in the parent's link frame; axis, com and
        inertia are in link axes, which are the placed axes at q = 0. The axis need not be a unit
        vector. pitch (m/rad) is for a screw joint. inertia is about the centre of mass: (3, 3),
        three numbers for a diagonal, one number for zz alone (planar models). A limit is one
        number (plus and minus), (lower, upper), or None. Dry friction is coulomb tanh(v /
        coulomb_speed); None is 2 % of the velocity limit, or 0.05 rad/s or m/s without one.
        ligaments: (moment, rate, angle) of the lower and of the upper one, as in `Model`; a moment
        of 0 is none.
        """
        if not isinstance(name, str) or not name.strip() or name == "world":
            raise InputError(f"link name {name!r}: expected a nonempty string, not 'world'")
        if name in self._links:
            raise ModelError(f"link {name!r} was added twice: link names must differ")
        joint = name + "_joint" if joint is None else text(joint, f"joint of link {name!r}")
        text(parent, f"parent of link {name!r}")
        what = f"link {name!r}, joint {joint!r}"
        if kind not in KINDS:
            raise unknown_name(f"kind of joint {joint!r}", kind, KINDS)
        com = frozen(com, f"{what}: com", (3,))
        mass = number(mass, f"{what}: mass")
        self._links[name] = {
            "joint": joint,
            "parent": parent,
            "kind": KINDS.index(kind),
            "axis": unit(axis, f"{what}: axis"),
            "pitch": number(pitch, f"{what}: pitch"),
            "p": frozen(origin, f"{what}: origin", (3,)),
            "R": _read_rotation(rotation, what),
            "inertia": pack_inertia(mass, com, inertia_matrix(inertia, f"{what}: inertia")),
            "position": bounds(position, f"{what}: position limits"),
            "velocity": bounds(velocity, f"{what}: velocity limits"),
            "acceleration": bounds(acceleration, f"{what}: acceleration limits"),
            "effort": bounds(effort, f"{what}: effort limits"),
            "stiffness": number(stiffness, f"{what}: stiffness"),
            "rest": number(rest, f"{what}: rest"),
            "damping": number(damping, f"{what}: damping"),
            "coulomb": number(coulomb, f"{what}: coulomb"),
            "coulomb_speed": friction_speed(coulomb_speed, velocity, what),
            "armature": number(armature, f"{what}: armature"),
            "ligaments": frozen(
                np.zeros(SHAPE) if ligaments is None else ligaments, f"{what}: ligaments", SHAPE
            ),
        }
        return self

    def add_frame(
        self,
        name: str,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> ModelBuilder:
        """Add a named frame at `point` (m) of a link (or "world"), rotated by `rotation` (3, 3)."""
        what = f"frame {text(name, 'frame name')!r}"
        text(link, f"link of {what}")
        self._frames.append((name, link, _read_rotation(rotation, what), frozen(point, what, (3,))))
        return self

    def add_contact(
        self,
        name: str,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        patch: str | None = None,
    ) -> ModelBuilder:
        """Add a contact point at `point` (m) of a link, and a frame with its name.

        Points of one patch, such as those of a sole, share friction; without a patch, the point is
        one of its own.
        """
        self._contacts.append(ContactPoint(name, name if patch is None else patch))
        return self.add_frame(name, link, point)

    def add_shape(
        self,
        kind: str,
        link: str,
        size: Sequence[float],
        point: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        mesh: str | None = None,
        role: str = "visual",
        file: str | os.PathLike[str] | None = None,
        triangles: Triangles | None = None,
    ) -> ModelBuilder:
        """Add a shape to a link (or "world"); for kinds, sizes, files and triangles see `Shape`."""
        text(link, f"link of shape {kind!r}")
        R, p = _read_rotation(rotation, f"shape {kind!r}"), frozen(point, f"shape {kind!r}", (3,))
        values: dict[str, Any] = {"kind": kind, "R": R, "p": p, "size": size, "mesh": mesh}
        values["role"] = role
        values["file"] = None if file is None else os.fspath(file)
        values["triangles"] = triangles
        self._shapes.append((link, values))
        return self

    def set_rotor(self, matrix: ArrayLike, joints: Sequence[str] | None = None) -> ModelBuilder:
        """Set the rotor-inertia matrix (k, k); rows follow `joints`, or the order of addition."""
        names = tuple(link["joint"] for link in self._links.values()) if joints is None else joints
        if len(set(names)) != len(names):
            raise InputError(f"rotor: joints {list(names)} name a joint twice")
        self._rotor = (frozen(matrix, "rotor", (len(names), len(names))), tuple(names))
        return self

    def couple(
        self, joint: str, source: str, function: PiecewisePolynomial | tuple[float, float]
    ) -> ModelBuilder:
        """Let a joint follow another one: its position is function(position of `source`).

        function: a PiecewisePolynomial, or (multiplier, offset), as for a gear. The source is an
        independent joint anywhere in the tree. Several joints may follow one source.
        """
        self._couplings.append(Coupling(joint, source, function))  # type: ignore[arg-type]
        return self

    def close_loop(
        self,
        name: str,
        kind: str,
        frame_a: str,
        frame_b: str,
        *,
        distance: float | None = None,
        ratio: float | None = None,
        offset: float | None = None,
    ) -> ModelBuilder:
        """Close a loop between two frames, links or "world", or couple two joints by a gear.

        kind "point": the origins coincide; "hinge": and so do the z axes; "weld": the frames
        coincide; "distance": the origins are `distance` (m) apart. These add equations to the
        model. kind "gear": frame_a and frame_b name joints, and q_a = ratio q_b + offset (default
        0), for which joint a follows joint b, as by `couple`.
        """
        what = f"loop {text(name, 'loop name')!r:.60}"
        if name in self._gears or name in (loop.name for loop in self._loops):
            raise ModelError(f"{what} was added twice: loop names must differ")
        if kind == "gear":
            if distance is not None:
                raise InputError(f"{what}: a gear has a ratio, got distance {distance!r:.40}")
            if ratio is None:
                raise InputError(f"{what}: expected the ratio of the gear, got none")
            multiplier = number(ratio, f"{what}: ratio")
            if multiplier == 0.0:
                raise InputError(f"{what}: ratio: expected a number other than 0, got 0")
            shift = number(0.0 if offset is None else offset, f"{what}: offset")
            self._gears.append(name)
            return self.couple(frame_a, frame_b, (multiplier, shift))
        if not isinstance(kind, str) or kind not in LOOP_KINDS:
            raise unknown_name(f"kind of {what}", kind, (*LOOP_KINDS, "gear"))
        for option, value in (("ratio", ratio), ("offset", offset)):
            if value is not None:
                raise InputError(
                    f"{what}: {option} {value!r:.40} given, but only a gear has one; it is of kind "
                    f"{kind!r}"
                )
        self._loops.append(Loop(name, kind, frame_a, frame_b, distance))
        return self

    def add_coordinate(
        self, name: str, kind: str = "revolute", parent: str = "world", **joint: Any
    ) -> ModelBuilder:
        """Add a coordinate that moves nothing by itself, for joints that follow it.

        Needed only if none of these joints has the coordinate itself as its position. It is a joint
        with a massless link, named name + "_coordinate"; `parent` only decides its place in the
        order. joint: limits, springs, ligaments and friction of the coordinate, as for add_link.
        """
        return self.add_link(f"{name}_coordinate", parent, name, kind, **joint)

    def build(self, dh: DHTable | None = None, notes: Iterable[str] = ()) -> Model:
        """The Model, numbered depth first and checked. `dh` rows are in that order."""
        order = self.order()
        links = [self._links[name] for name in order]
        index = {"world": -1, **{name: j for j, name in enumerate(order)}}
        joints = [link["joint"] for link in links]

        def stack(field: str, *shape: int) -> Any:
            return np.array([link[field] for link in links]).reshape(len(links), *shape)

        def link_of(what: str, link: str) -> int:
            if link not in index:
                raise unknown_name(f"link of {what}", link, index)
            return index[link]

        rotor = np.zeros((len(links), len(links)))
        if self._rotor is not None:
            matrix, names = self._rotor
            for name in names:
                if name not in joints:
                    raise unknown_name("joint of the rotor matrix", name, joints)
            places = [joints.index(name) for name in names]
            rotor[np.ix_(places, places)] = matrix
        entries: dict[str, Any] = {
            "name": self.name,
            "link_names": tuple(order),
            "joint_names": tuple(joints),
            "parent": np.array([index[link["parent"]] for link in links], dtype=np.int64),
            "kind": stack("kind").astype(np.int64),
            "pitch": stack("pitch"),
            "axis": stack("axis", 3),
            "R": stack("R", 3, 3),
            "p": stack("p", 3),
            "inertia": stack("inertia", 10),
            "gravity": self.gravity,
            "limits": Limits(*(stack(field, 2) for field in Limits._fields)),
            "stiffness": stack("stiffness"),
            "rest": stack("rest"),
            "damping": stack("damping"),
            "coulomb": stack("coulomb"),
            "coulomb_speed": stack("coulomb_speed"),
            "armature": stack("armature"),
            "rotor": rotor,
            "ligaments": stack("ligaments", *SHAPE),
            "frames": tuple(
                Frame(name, link_of(f"frame {name!r}", link), R, p)
                for name, link, R, p in self._frames
            ),
            "shapes": tuple(
                Shape(link=link_of("a shape", link), **values) for link, values in self._shapes
            ),
            "contact_points": tuple(self._contacts),
            "loops": tuple(self._loops),
            "dh": dh,
            "notes": tuple(notes),
        }
        if not self._couplings:
            return Model(**entries)
        if dh is not None:
            raise InputError(f"model {self.name!r}: a DH table has no coupled joints")
        return couple(Model, entries, tuple(self._couplings))

    def order(self) -> list[str]:
        """Link names in the depth-first order of `build`."""
        children: dict[str, list[str]] = {"world": [], **{name: [] for name in self._links}}
        for name, link in self._links.items():
            if link["parent"] not in children:
                raise unknown_name(f"parent of link {name!r}", link["parent"], children)
            children[link["parent"]].append(name)
        order: list[str] = []
        waiting = children["world"][::-1]
        while waiting:
            name = waiting.pop()
            order.append(name)
            waiting += children[name][::-1]
        if len(order) < len(self._links):
            unplaced = self._links.keys() - set(order)
            raise ModelError(f"model {self.name!r}: cycle of links {self._find_cycle(unplaced)}")
        return order

    def _find_cycle(self, unplaced: set[str]) -> str:
        """The chain of parents from any link that never reaches the world, until one repeats."""
        path = [min(unplaced)]
        while path[-1] not in path[:-1]:
            path.append(self._links[path[-1]]["parent"])
        loop = path[path.index(path[-1]) :]
        return " -> ".join(loop) + " (each the child of the next): one must be attached to 'world'"


def unit(axis: ArrayLike, what: str) -> Array:
    """`axis` (3,) scaled to length one; a zero axis is a ModelError."""
    vector = np.array(frozen(axis, what, (3,)))
    largest = np.abs(vector).max()
    if not np.isfinite(largest):
        raise InputError(f"{what}: expected finite numbers, got {vector.tolist()}")
    if largest == 0.0:
        raise ModelError(f"{what} is zero: give a direction such as (0, 0, 1)")
    vector /= largest
    return np.asarray(vector / np.linalg.norm(vector))


def bounds(value: Bound, what: str) -> tuple[float, float]:
    """(lower, upper) from None, one number (plus and minus) or a pair."""
    if value is None:
        return (-np.inf, np.inf)
    if dimensions(value, what) == 0:
        size = float(frozen(value, what, ()))
        return (-size, size)
    low, high = frozen(value, what, (2,))
    return (float(low), float(high))


def friction_speed(given: float | None, velocity: Bound, what: str) -> float:
    """The speed over which dry friction changes its sign, by default from the velocity limit."""
    if given is not None:
        return number(given, f"{what}: coulomb_speed")
    limit = float(np.abs(bounds(velocity, f"{what}: velocity limits")).max())
    return FRICTION_SHARE * limit if 0.0 < limit < np.inf else FRICTION_SPEED


def _read_rotation(value: ArrayLike | None, what: str) -> Array:
    return np.eye(3) if value is None else frozen(value, f"{what}: rotation", (3, 3))
