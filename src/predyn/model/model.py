"""Model: a tree of rigid links as frozen arrays and names, independent of tasks and algorithms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.display import Shown
from predyn.errors import InputError, ModelError, unknown_name
from predyn.model import checks, edits
from predyn.model.capsules import Capsule
from predyn.model.contacts import ContactPoint, patches_of
from predyn.model.coupled import couple, entries_of, renewed_tree
from predyn.model.couplings import Coupling
from predyn.model.ligaments import frozen_ligaments, no_ligaments
from predyn.model.loops import Loop
from predyn.model.parts import (
    KINDS,
    PRISMATIC,
    REVOLUTE,
    SCREW,
    Array,
    DHTable,
    Frame,
    IntArray,
    Limits,
    Shape,
    frozen,
    frozen_ints,
    rebuilt,
    text,
)

__all__ = [
    "KINDS",
    "PRISMATIC",
    "REVOLUTE",
    "SCREW",
    "DHTable",
    "Frame",
    "Limits",
    "Model",
    "Shape",
]

NO_TURN, NO_SHIFT = frozen(np.eye(3), "R", (3, 3)), frozen(np.zeros(3), "p", (3,))


@dataclass(frozen=True, eq=False, repr=False)
class Model(Shown):
    """A mechanism: n joints with one degree of freedom each, and the n links that they move.

    Joint j moves link j relative to link parent[j] (-1: the world). Numbering is depth first, so
    the subtree of j is j, j+1, ... The link frame is at its joint: at q_j = 0 it has the pose
    (R[j], p[j]) in the parent's link frame; axis[j] (unit) has the same components in both.
    Revolute: rotate by q; prismatic: slide by q; screw: rotate by q and slide by pitch * q (m/rad).
    SI units and radians. inertia[j] is m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the link
    frame's origin in link axes. Joint forces: tau gains stiffness (q - rest) + damping v
    + coulomb tanh(v / coulomb_speed) + armature a + (rotor @ a)_j and, with ligaments[j] =
    [[moment_l, rate_l, angle_l], [moment_u, rate_u, angle_u]] (no ligament if the moment is 0),
    - moment_l exp(-rate_l (q - angle_l)) + moment_u exp(rate_u (q - angle_u)), where exp continues
    as a parabola beyond the exponent 40.

    Everything is checked at construction (ModelError lists all problems; an inertia that only
    breaks the triangle inequality gives a ModelWarning). The mass matrix is tested at a few random
    configurations: it may still be singular at special ones (gimbal lock of massless links).
    Arrays are read-only copies; edits return new models.

    If joints follow others (`couplings`), n is the number of independent joints. Names, kinds,
    limits, springs, ligaments, friction and rotors are then those of the independent joints, and q,
    v, a and tau have one number for each of them; arrays per link still have a row for each link.
    `expanded` is the same mechanism with every joint independent.

    `loops` are equations between frames of the tree; n and all arrays are those of the tree.
    """

    name: str
    link_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    parent: IntArray
    kind: IntArray
    pitch: Array
    axis: Array
    R: Array
    p: Array
    inertia: Array
    gravity: Array
    limits: Limits
    stiffness: Array
    rest: Array
    damping: Array
    coulomb: Array
    coulomb_speed: Array
    armature: Array
    rotor: Array
    frames: tuple[Frame, ...] = ()
    shapes: tuple[Shape, ...] = ()
    contact_points: tuple[ContactPoint, ...] = ()
    loops: tuple[Loop, ...] = ()
    dh: DHTable | None = None
    notes: tuple[str, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    tree: Model | None = None
    ligaments: Array = dataclasses.field(default_factory=no_ligaments)  # becomes zeros (n, 2, 3)

    def __post_init__(self) -> None:
        links = np.size(self.parent)
        n = links - len(self.couplings)
        shapes: dict[str, tuple[int, ...]] = {
            "axis": (links, 3), "R": (links, 3, 3), "p": (links, 3), "inertia": (links, 10),
            "gravity": (3,), "pitch": (links,), "rotor": (n, n),
        }  # fmt: skip
        for field in ("stiffness", "rest", "damping", "coulomb", "coulomb_speed", "armature"):
            shapes[field] = (n,)
        problems = []
        for field in ("parent", "kind", *shapes):
            value = getattr(self, field)
            try:
                if field in shapes:
                    value = frozen(value, field, shapes[field])
                else:
                    value = frozen_ints(value, field, (links if field == "parent" else n,))
            except InputError as error:
                problems.append(str(error))
            else:
                object.__setattr__(self, field, value)
        try:
            object.__setattr__(self, "ligaments", frozen_ligaments(self.ligaments, n))
        except InputError as error:
            problems.append(str(error))
        try:
            pairs = [
                frozen(value, f"limits.{field}", (n, 2))
                for field, value in zip(Limits._fields, self.limits, strict=True)
            ]
            object.__setattr__(self, "limits", Limits(*pairs))
        except (InputError, TypeError, ValueError) as error:
            problems.append(f"limits: {error}")
        for field in ("link_names", "joint_names", "frames", "shapes", "contact_points",
                      "loops", "notes", "couplings"):  # fmt: skip
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if problems:
            raise ModelError(checks.report(self.name, problems))
        if self.couplings:
            object.__setattr__(self, "tree", renewed_tree(self))
        checks.check(self)

    def __reduce__(self) -> tuple[Any, tuple]:
        if self.couplings:
            return couple, (type(self), entries_of(self), self.couplings)
        return rebuilt(self)

    def __repr__(self) -> str:
        names = ", ".join(self.joint_names[:4]) + (", ..." if self.n > 4 else "")
        loops = f", loops: {', '.join(loop.name for loop in self.loops)}" if self.loops else ""
        return f"Model({self.name!r}, n={self.n}, joints: {names}{loops})"

    @property
    def n(self) -> int:
        """Number of coordinates: the joints that follow no other joint."""
        return len(self.parent) - len(self.couplings)

    @property
    def expanded(self) -> Model:
        """The same mechanism with every joint independent; the model itself without couplings."""
        return self if self.tree is None else self.tree

    @property
    def mass(self) -> float:
        """Total mass, kg."""
        return float(self.inertia[:, 0].sum())

    @property
    def weight(self) -> float:
        """Weight of the total mass, N."""
        return self.mass * float(np.linalg.norm(self.gravity))

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Every name that `frame` accepts: the world, the links, the named frames."""
        return ("world", *self.link_names, *(frame.name for frame in self.frames))

    @property
    def patches(self) -> dict[str, tuple[str, ...]]:
        """Names of the contact points of each patch."""
        return patches_of(self.contact_points)

    def frame(self, name: str) -> Frame:
        """The frame or the link frame with this name, or "world"."""
        text(name, "frame or link")
        if name == "world":
            return Frame("world", -1, NO_TURN, NO_SHIFT)
        for frame in self.frames:
            if frame.name == name:
                return frame
        if name in self.link_names:
            return Frame(name, self.link_names.index(name), NO_TURN, NO_SHIFT)
        raise unknown_name("frame or link", name, self.frame_names)

    def link_index(self, name: str) -> int:
        """Number of the link with this name."""
        if text(name, "link") not in self.link_names:
            raise unknown_name("link", name, self.link_names)
        return self.link_names.index(name)

    def joint_index(self, name: str) -> int:
        """Number of the joint with this name, among those that follow no other joint."""
        if text(name, "joint") not in self.joint_names:
            for coupling in self.couplings:
                if coupling.joint == name:
                    raise InputError(
                        f"joint {name!r} follows joint {coupling.source!r} and has no coordinate "
                        f"of its own; use {coupling.source!r}"
                    )
            raise unknown_name("joint", name, self.joint_names)
        return self.joint_names.index(name)

    def attach_payload(
        self,
        link: str,
        mass: float,
        point: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Model:
        """Add a rigid body to a link; `link` may also be the name of a frame.

        `point` (m) is its centre of mass and `inertia` (3, 3) is about that point, in the axes of
        the named link or frame; without inertia it is a point mass.
        """
        return edits.attach_payload(self, link, mass, point, inertia)

    def lock(self, values: Mapping[str, float]) -> Model:
        """Fix joints at values (rad or m): {"joint": value, ...}.

        The locked link's inertia, frames, shapes and children pass to its parent link, where its
        name becomes a frame. The inertia of links locked to the world is dropped, and so are loops
        whose frames can no longer move relative to each other, which must be closed.
        """
        return edits.lock(self, values)

    def with_mass(self, link: str, mass: float) -> Model:
        """Set a link's mass (kg); its inertia scales with it, its centre of mass stays."""
        return edits.with_mass(self, link, mass)

    def with_inertia(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Model:
        """Set a link's mass, centre of mass (m) and inertia about it (3, 3), all in link axes."""
        return edits.with_inertia(self, link, mass, com, inertia)

    def with_length(self, link: str, length: float, to: str | None = None) -> Model:
        """Set the distance (m) from a link's origin to its only child joint, or to `to`.

        `to` names a child joint or a frame on the link. Child joints and frames at that point move
        with it along the same direction; the inertia and the shapes stay.
        """
        return edits.with_length(self, link, length, to)

    def with_contact(
        self, name: str, link: str, point: ArrayLike = (0.0, 0.0, 0.0), patch: str | None = None
    ) -> Model:
        """Add a contact point at `point` (m) of a link or frame, and a frame with its name.

        Points of one patch, such as those of a sole, share friction; without a patch, the point is
        one of its own.
        """
        return edits.with_contact(self, name, link, point, patch)

    def with_capsules(self, capsules: Iterable[Capsule]) -> Model:
        """Replace all collision shapes by capsules, each on a link, on a frame or on "world".

        `predyn.collision.fit_capsules` finds capsules that contain the collision meshes.
        """
        return edits.with_capsules(self, capsules)

    def with_frame(self, name: str, link: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Model:
        """Add a frame at `point` (m) of a link, another frame or "world", with the same axes."""
        return edits.with_frame(self, name, link, point)

    def with_loop(
        self, name: str, kind: str, frame_a: str, frame_b: str, *, distance: float | None = None
    ) -> Model:
        """Close a loop ("point", "hinge", "weld" or "distance") between two frames; see `Loop`."""
        return edits.with_loop(self, Loop(name, kind, frame_a, frame_b, distance))

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """Set the gravity vector (3,) in m/s^2, world axes."""
        return edits.with_gravity(self, gravity)

    def with_limits(
        self,
        position: ArrayLike | Mapping[str, ArrayLike] | None = None,
        velocity: ArrayLike | Mapping[str, ArrayLike] | None = None,
        acceleration: ArrayLike | Mapping[str, ArrayLike] | None = None,
        effort: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> Model:
        """Replace limits: a number or (n,) means plus and minus; (n, 2) means lower, upper.

        By joint name, {"elbow": 2.0, "wrist": (-1.0, 3.0)}, other joints keep theirs.
        """
        return edits.with_limits(self, position, velocity, acceleration, effort)

    def with_placement(
        self, joint: str, R: ArrayLike | None = None, p: ArrayLike | None = None
    ) -> Model:
        """Set a joint's placement (R, p) in the parent's link frame; None keeps that part."""
        return edits.with_placement(self, joint, R, p)
