"""URDF files: a tree of links and joints becomes a Model; notes list whatever is lost."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import FileError, InputError, ModelError, unknown_name
from predyn.load.mesh_files import MeshFinder, Packages
from predyn.load.urdf_elements import (
    NO_POSE,
    read_inertia,
    read_mimics,
    read_options,
    read_pose,
    read_shapes,
)
from predyn.load.xml_file import Element, read_xml
from predyn.model import Model
from predyn.model.builder import ModelBuilder, friction_speed
from predyn.model.edits import number
from predyn.model.parts import Array, move_inertia, unpack_inertia, weld

MOST_JOINTS = 500
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating")
READ = {
    "robot": {"link", "joint"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
    "visual": {"origin", "geometry"},
    "collision": {"origin", "geometry"},
}
SIX = (("tx", 0), ("ty", 1), ("tz", 2), ("rz", 2), ("ry", 1), ("rx", 0))


@dataclass(eq=False)
class Body:
    """A link and its parent joint; kind None is a fixed joint."""

    name: str
    parent: int
    joint: str
    kind: str | None
    pose: tuple[Array, Array] = NO_POSE
    row: Array = field(default_factory=lambda: np.zeros(10))
    shapes: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def load_urdf(
    path: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    coulomb_speed: float | None = None,
    packages: Packages = None,
) -> Model:
    """Read a URDF file; `model.notes` lists what was changed, assumed or ignored.

    Joints: revolute, continuous, prismatic. A link on a fixed joint is merged into its parent, and
    its name becomes a frame; a floating joint becomes six (tx, ty, tz, rz, ry, rx) with massless
    links between them. A joint that mimics
    another one is coupled to it (model.couplings), through chains of such joints. Planar joints are
    refused. Damping is read; friction becomes the
    Coulomb force friction tanh(v / coulomb_speed), where None is 2 % of the velocity limit, or 0.05
    rad/s or m/s without one. With `floating_base` the root link gets six joints named after it;
    otherwise it is the world: its name becomes a frame, and its inertia is ignored.
    Meshes are looked for in the folder of the file and in `packages`: a folder, a list of folders,
    or a dictionary from names of packages to folders. They are not opened; one that is not found is
    noted and not drawn. Raises a FileError for any error in the file; a file that is accepted may
    still not describe the intended robot.
    """
    if coulomb_speed is not None and not number(coulomb_speed, "coulomb_speed") > 0.0:
        raise InputError(f"coulomb_speed: expected a speed above 0 or None, got {coulomb_speed!r}")
    robot = read_xml(path, "robot")
    meshes = MeshFinder(robot.path, packages)
    notes: list[str] = []
    _note_ignored(robot, notes)
    links = _index_by_name(robot, "link")
    joints = _index_by_name(robot, "joint")
    children, root = _find_tree(robot, links, joints)
    moves = {"fixed": 0, "floating": 6}
    if sum(moves.get(x.attributes.get("type", ""), 1) for x in joints.values()) > MOST_JOINTS:
        robot.fail(f"more than {MOST_JOINTS} moving joints")
    bodies = _list_bodies(links, children, root, floating_base, notes)
    name = robot.attributes.get("name", "").strip() or os.path.basename(robot.path)
    builder = ModelBuilder(name[:200], gravity)
    try:
        if not floating_base:
            _add_root(builder, links[root], meshes, notes)
        _smooth_friction(bodies, coulomb_speed, notes)
        _add_bodies(builder, bodies, meshes, notes)
        for name, source, line in read_mimics(joints):
            builder.couple(name, source, line)
        return builder.build(notes=notes + meshes.notes())
    except (ModelError, InputError) as error:
        raise FileError(f"{robot.path}: {error}") from None


def _index_by_name(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.text("name")
        if name in found:
            element.fail(
                f"the name is already used in line {found[name].line}: {tag} names must differ"
            )
        found[name] = element
    return found


def _find_tree(
    robot: Element, links: dict[str, Element], joints: dict[str, Element]
) -> tuple[dict[str, list[Element]], str]:
    """The child joints of each link, in the order of the file, and the only root link."""
    children: dict[str, list[Element]] = {name: [] for name in links}
    above: dict[str, Element] = {}
    for joint in joints.values():
        for end in (joint.need("parent"), joint.need("child")):
            if end.text("link") not in links:
                end.fail(str(unknown_name("link", end.text("link"), links)))
        child = joint.need("child").text("link")
        if child in above:
            before = above[child].text("name")
            joint.fail(
                f"link {child!r} is already the child of joint {before!r}: expected one parent"
            )
        above[child] = joint
        children[joint.need("parent").text("link")].append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        robot.fail(
            f"{len(roots)} root links, none the child of a joint: {', '.join(map(repr, roots[:6]))}"
            "; expected one: connect the others by joints"
        )
    reached, waiting = set(roots), list(roots)
    while waiting:
        below = [joint.need("child").text("link") for joint in children[waiting.pop()]]
        reached.update(below)
        waiting += below
    for name, link in links.items():
        if name not in reached:
            link.fail("it is part of a cycle of joints, or attached to one; expected a tree")
    if not roots:
        robot.fail("expected at least one <link>")
    return children, roots[0]


def _list_bodies(
    links: dict[str, Element],
    children: dict[str, list[Element]],
    root: str,
    floating_base: bool,
    notes: list[str],
) -> list[Body]:
    """Every link but a fixed root, depth first in the order of the file."""
    bodies: list[Body] = []

    def add(body: Body, link: Element) -> int:
        body.row, body.shapes = read_inertia(link), read_shapes(link, notes)
        bodies.append(body)
        return len(bodies) - 1

    at = -1
    if floating_base:
        if root == "world":
            links[root].fail(
                "the root is the world, which cannot float: remove it and its joint, or load the "
                "file without floating_base"
            )
        at = add(
            _add_floating(bodies, root, root, -1, NO_POSE, "the floating base", notes), links[root]
        )
    waiting = [(joint, at) for joint in reversed(children[root])]
    while waiting:
        joint, parent = waiting.pop()
        child = joint.need("child").text("link")
        at = add(_read_body(bodies, joint, child, parent, notes), links[child])
        waiting += [(below, at) for below in reversed(children[child])]
    return bodies


def _add_floating(
    bodies: list[Body],
    stem: str,
    link: str,
    parent: int,
    pose: tuple[Array, Array],
    what: str,
    notes: list[str],
) -> Body:
    """Append five massless links, return the sixth body: three slides, then rotations z, y, x."""
    notes.append(
        f"{what} became six joints {stem}_tx, _ty, _tz, _rz, _ry, _rx with massless links "
        "between them; singular if the rotation about y is a quarter turn"
    )
    for end, axis in SIX:
        body = Body(
            link if end == "rx" else f"{link}_{end}",
            parent,
            f"{stem}_{end}",
            "prismatic" if end[0] == "t" else "revolute",
            pose,
            options={"axis": np.eye(3)[axis]},
        )
        if end != "rx":
            bodies.append(body)
            parent, pose = len(bodies) - 1, NO_POSE
    return body


def _read_body(
    bodies: list[Body], joint: Element, child: str, parent: int, notes: list[str]
) -> Body:
    name, kind = joint.text("name"), joint.text("type")
    if kind == "planar":
        joint.fail("planar joints are not supported: use two prismatic joints and a revolute one")
    if kind not in TYPES:
        joint.fail(str(unknown_name("joint type", kind, TYPES)))
    pose, mimic = read_pose(joint), joint.one("mimic")
    if mimic is not None and kind == "fixed":
        notes.append(f"joint {name!r} is fixed: its <mimic> is ignored")
    if kind == "floating":
        if mimic is not None:
            mimic.fail(f"joint {name!r} is floating, but only a joint with one axis can mimic")
        return _add_floating(bodies, name, child, parent, pose, f"floating joint {name!r}", notes)
    if kind == "fixed":
        return Body(child, parent, name, None, pose)
    moves = "revolute" if kind == "continuous" else kind
    return Body(child, parent, name, moves, pose, options=read_options(joint, name, kind, notes))


def _add_root(builder: ModelBuilder, root: Element, meshes: MeshFinder, notes: list[str]) -> None:
    name = root.text("name")
    if name != "world":
        builder.add_frame(name, "world")
    if read_inertia(root).any():
        notes.append(f"root link {name!r} is fixed to the world: its inertia is ignored")
    for shape in read_shapes(root, notes):
        _add_shape(builder, shape, "world", NO_POSE, meshes)


def _add_shape(
    builder: ModelBuilder,
    shape: dict[str, Any],
    link: str,
    pose: tuple[Array, Array],
    meshes: MeshFinder,
) -> None:
    """Add a shape of a body that has this pose in the frame of `link`."""
    R, p = shape.pop("pose")
    file = None if shape["mesh"] is None else meshes.find(shape["mesh"])
    builder.add_shape(
        link=link, point=pose[0] @ p + pose[1], rotation=pose[0] @ R, file=file, **shape
    )


def _smooth_friction(bodies: list[Body], given: float | None, notes: list[str]) -> None:
    """Choose the speed over which the friction of each joint changes its sign."""
    for body in bodies:
        if body.options.get("coulomb"):
            what = f"joint {body.joint!r}"
            speed = friction_speed(given, body.options.get("velocity"), what)
            body.options["coulomb_speed"] = speed
            force = body.options["coulomb"]
            notes.append(f"{what}: friction became the smoothed Coulomb force {force} tanh(v / "
                         f"{speed:.6g})")  # fmt: skip


def _add_bodies(
    builder: ModelBuilder, bodies: list[Body], meshes: MeshFinder, notes: list[str]
) -> None:
    """Merge fixed bodies into the moving ones, and add everything to the builder."""
    if not bodies:
        return
    fixed = np.array([body.kind is None for body in bodies])
    R = np.array([body.pose[0] for body in bodies])
    p = np.array([body.pose[1] for body in bodies])
    host, host_R, host_p = weld(np.array([body.parent for body in bodies]), fixed, R, p)
    rows = np.array([body.row for body in bodies])
    for j, body in enumerate(bodies):
        if not fixed[j]:
            continue
        if host[j] >= 0:
            rows[host[j]] += move_inertia(body.row, host_R[j], host_p[j])
        elif body.row.any():
            notes.append(f"link {body.name!r} is fixed to the world: its inertia is ignored")
    for j, body in enumerate(bodies):
        holder = bodies[host[j]].name if host[j] >= 0 else "world"
        if fixed[j]:
            builder.add_frame(body.name, holder, host_p[j], host_R[j])
            notes.append(f"joint {body.joint!r} is fixed: link {body.name!r} is now a frame of "
                         f"{holder!r}")  # fmt: skip
        else:
            before = body.parent
            R_before, p_before = (host_R[before], host_p[before]) if before >= 0 else NO_POSE
            mass, com, inertia = unpack_inertia(rows[j])
            builder.add_link(
                body.name,
                bodies[host[before]].name if before >= 0 and host[before] >= 0 else "world",
                body.joint,
                body.kind or "revolute",
                origin=R_before @ body.pose[1] + p_before,
                rotation=R_before @ body.pose[0],
                mass=mass,
                com=com,
                inertia=0.5 * (inertia + inertia.T),
                **body.options,
            )
        for shape in body.shapes:
            _add_shape(builder, shape, holder, (host_R[j], host_p[j]), meshes)


def _note_ignored(robot: Element, notes: list[str]) -> None:
    """Add a note for each kind of element that is not read."""
    ignored: Counter[str] = Counter()
    first: dict[str, int] = {}
    parts = [part for item in robot.children if item.tag == "link" for part in item.children]
    for element in (robot, *robot.children, *parts):
        for child in element.children:
            if child.tag.startswith("xacro:"):
                child.fail("this is a xacro file: expand it to URDF first (xacro in > out.urdf)")
            if element.tag in READ and child.tag not in READ[element.tag]:
                where = f"<{child.tag:.40}> in <{element.tag}>"
                ignored[where] += 1
                first.setdefault(where, child.line)
    for where, count in ignored.most_common(20):
        notes.append(f"ignored {count} {where}, first in line {first[where]}")
    if len(ignored) > 20:
        notes.append(f"ignored {len(ignored) - 20} other kinds of element")
