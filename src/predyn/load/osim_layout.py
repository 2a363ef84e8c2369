"""Bodies and joints of an OpenSim model file, in the layouts of versions 3 and 4.

Version 3: each <Body> contains its <Joint>, with locations in both bodies. Version 4: a <JointSet>
whose joints connect frames by name; a <PhysicalOffsetFrame> is a pose in another frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from predyn.errors import unknown_name
from predyn.load.osim_xml import read_number, read_numbers, read_objects, read_pose, read_word
from predyn.load.xml_file import Element
from predyn.model.parts import Array, pack_inertia

Pose = tuple[Array, Array]
GROUND = "ground"
MOST_BODIES = 2000
MOST_FRAMES = 64  # from an offset frame to its body
NO_POSE: Pose = (np.eye(3), np.zeros(3))


@dataclass(eq=False)
class Connection:
    """A joint between two bodies: the pose of its parent and child frame in each of them."""

    name: str
    element: Element
    parent: str
    parent_pose: Pose
    child: str
    child_pose: Pose


@dataclass(eq=False)
class Layout:
    """The bodies by name with their inertia (10,), and the joints from ground outwards."""

    bodies: dict[str, Element]
    frames: dict[tuple[str, str], Element] = field(default_factory=dict)  # owner, name
    owners: dict[str, list[str]] = field(default_factory=dict)  # of the frames with a name

    def locate(self, socket: Element, owner: str) -> tuple[str, Pose]:
        """The body (or ground) of the frame that a socket names, and the frame's pose in it."""
        pose = NO_POSE
        for _ in range(MOST_FRAMES):
            found = self._find(socket, owner)
            if isinstance(found, str):
                return found, pose
            owner, frame = found
            outer = read_pose(frame, "translation", "orientation")
            pose = (outer[0] @ pose[0], outer[0] @ pose[1] + outer[1])
            socket = _socket(frame, "socket_parent")
        socket.fail(f"more than {MOST_FRAMES} frames between this one and its body; is it a cycle?")

    def _find(self, socket: Element, owner: str) -> str | tuple[str, Element]:
        """The name of a body, or the owner and the element of an offset frame."""
        steps = [part for part in socket.content.strip().split("/") if part not in ("", ".", "..")]
        name = steps[-1] if steps else owner
        above = steps[-2] if len(steps) > 1 else owner
        for key in ((above, name), (owner, name)):
            if key in self.frames:
                return key[0], self.frames[key]
        if name in self.bodies or name == GROUND:
            return name
        owners = self.owners.get(name, [])
        if len(owners) == 1:
            return owners[0], self.frames[owners[0], name]
        if owners:
            socket.fail(f"{len(owners)} frames are called {name!r:.60}: give the whole path")
        known = [GROUND, *self.bodies, *self.owners]
        socket.fail(str(unknown_name("frame or body", name, known)))


def read_layout(model: Element) -> tuple[Layout, list[Connection]]:
    """All bodies, and the joints in an order in which each parent comes first."""
    bodies: dict[str, Element] = {}
    for body in read_objects(model, "BodySet"):
        if body.tag != "Body":
            body.fail("expected <Body> in <BodySet>")
        name = body.text("name")
        if name in bodies:
            body.fail(f"the name is already used in line {bodies[name].line}: names must differ")
        if name != GROUND:  # version 3 lists it among the bodies
            bodies[name] = body
        elif body.one("Joint") is not None and body.need("Joint").children:
            body.fail("ground cannot have a joint: it does not move")
    if len(bodies) > MOST_BODIES:
        model.need("BodySet").fail(f"more than {MOST_BODIES} bodies")
    layout = Layout(bodies)
    old = [body for body in bodies.values() if body.one("Joint") is not None]
    joints = read_objects(model, "JointSet")
    if len(joints) > MOST_BODIES:
        model.need("JointSet").fail(f"more than {MOST_BODIES} joints")
    if old and joints:
        old[0].fail("expected joints either in bodies (version 3) or in a <JointSet> (version 4)")
    if old:
        found = [_read_inside(body, layout) for body in bodies.values()]
    else:
        _collect_frames(model, joints, layout)
        found = [_read_sockets(joint, layout) for joint in joints]
    return layout, _order(model, layout, found)


def _read_inside(body: Element, layout: Layout) -> Connection:
    """The joint of a body in version 3."""
    inside = body.need("Joint").children
    if len(inside) != 1:
        body.need("Joint").fail(f"expected one joint inside, got {len(inside)}")
    joint = inside[0]
    name = joint.attributes.get("name", "").strip() or f"{body.text('name')}_joint"
    if read_word(joint, "reverse", "false").lower() == "true":
        joint.need("reverse").fail(
            "joints whose coordinates move the parent in the child are not supported: exchange "
            "the bodies, or convert the model"
        )
    parent = read_word(joint, "parent_body")
    if parent not in layout.bodies and parent != GROUND:
        joint.need("parent_body").fail(str(unknown_name("body", parent, layout.bodies)))
    return Connection(
        name,
        joint,
        parent,
        read_pose(joint, "location_in_parent", "orientation_in_parent"),
        body.text("name"),
        read_pose(joint, "location", "orientation"),
    )


def _read_sockets(joint: Element, layout: Layout) -> Connection:
    """A joint in version 4."""
    if (old := joint.one("connectors")) is not None:
        old.fail("a development version of OpenSim 4 wrote this file: save it with a released one")
    parent = layout.locate(_socket(joint, "socket_parent_frame"), _key(joint))
    child = layout.locate(_socket(joint, "socket_child_frame"), _key(joint))
    name = joint.attributes.get("name", "").strip() or f"{child[0]}_joint"
    return Connection(name, joint, *parent, *child)


def _key(joint: Element) -> str:
    """What identifies the frames of a joint; names may be blank."""
    return joint.attributes.get("name", "").strip() or f"joint in line {joint.line}"


def _socket(element: Element, tag: str) -> Element:
    """The element that names the other end; versions before 4.0 added _connectee_name."""
    return element.one(f"{tag}_connectee_name") or element.need(tag)


def _collect_frames(model: Element, joints: list[Element], layout: Layout) -> None:
    owners: list[tuple[Element, str, tuple[str, ...]]]
    owners = [(joint, _key(joint), ("frames",)) for joint in joints]
    owners += [(body, name, ("components",)) for name, body in layout.bodies.items()]
    if (ground := model.one("Ground")) is not None:
        owners.append((ground, GROUND, ("components",)))
    owners.append((model, "", ("components", "ComponentSet", "FrameSet")))
    for element, owner, tags in owners:
        for tag in tags:
            held = element.one(tag)
            if held is None:
                continue
            objects = held.one("objects")
            for frame in (held if objects is None else objects).all("PhysicalOffsetFrame"):
                key = owner, frame.text("name")
                if key in layout.frames:
                    frame.fail(f"the name is already used in line {layout.frames[key].line}")
                layout.frames[key] = frame
                layout.owners.setdefault(key[1], []).append(owner)


def _order(model: Element, layout: Layout, found: list[Connection]) -> list[Connection]:
    """The joints from ground outwards; loops and bodies without a joint are errors."""
    above: dict[str, Connection] = {}
    names: dict[str, Connection] = {}
    for joint in found:
        if joint.name in names:
            joint.element.fail(f"the name is already used in line {names[joint.name].element.line}")
        names[joint.name] = joint
        if joint.child == GROUND:
            joint.element.fail("its child is ground, which cannot move: exchange the two frames")
        if joint.child in above:
            joint.element.fail(
                f"body {joint.child!r} is already the child of joint {above[joint.child].name!r}: "
                "a loop of bodies is not supported"
            )
        above[joint.child] = joint
    for name, body in layout.bodies.items():
        if name not in above:
            body.fail(
                "no joint has this body as its child; connect it, by a FreeJoint if it floats"
            )
    children: dict[str, list[Connection]] = {name: [] for name in (GROUND, *layout.bodies)}
    for joint in found:
        children[joint.parent].append(joint)
    order: list[Connection] = []
    waiting = children[GROUND][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1].child][::-1]
    if len(order) < len(found):
        reached = {joint.name for joint in order}
        lost = next(joint for joint in found if joint.name not in reached)
        lost.element.fail(
            f"body {lost.child!r} is not connected to ground: its joints form a cycle"
        )
    if not order:
        model.fail("expected at least one joint in <JointSet>, or in the bodies of version 3")
    return order


def read_inertia(body: Element) -> Array:
    """(10,) row about the origin of the body, in its axes."""
    mass = read_number(body, "mass", 0.0)
    if mass < 0.0:
        body.need("mass").fail(f"mass {mass} of body {body.text('name')!r} is negative")
    com = read_numbers(body, "mass_center", 3, (0.0, 0.0, 0.0))
    if body.one("inertia") is not None:
        xx, yy, zz, xy, xz, yz = read_numbers(body, "inertia", 6, (0.0,) * 6)
    else:
        xx, yy, zz, xy, xz, yz = (
            read_number(body, f"inertia_{entry}", 0.0)
            for entry in ("xx", "yy", "zz", "xy", "xz", "yz")
        )
    if mass == 0.0:  # the point has no meaning then
        com = (0.0, 0.0, 0.0)
    return pack_inertia(mass, com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
