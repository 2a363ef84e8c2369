"""What load_osim does not read: muscles, contacts, constraints, controllers, pictures."""

from __future__ import annotations

from collections import Counter

from predyn.load.osim_coordinates import COUPLER, Coordinates
from predyn.load.osim_layout import Layout
from predyn.load.osim_xml import is_on, read_objects
from predyn.load.xml_file import Element

SPRING = "SpringGeneralizedForce"
SETS = (
    ("ForceSet", "forces"),
    ("ContactGeometrySet", "contact geometry"),
    ("ControllerSet", "controllers"),
    ("ProbeSet", "probes"),
)
MOST_NAMES = 4


def note_unread(model: Element, layout: Layout, coordinates: Coordinates) -> list[str]:
    """A note for each kind of component that is ignored."""
    notes = []
    for tag, what in SETS:
        found = [x for x in read_objects(model, tag) if x.tag != SPRING]
        notes += [f"not read: {what}: {text}" for text in _count(found)]
    for constraint in read_objects(model, "ConstraintSet"):
        if constraint.tag == COUPLER:
            if not is_on(constraint, "isEnforced"):
                notes.append(f"coupler {_name(constraint)} is not enforced: ignored")
        elif is_on(constraint, "isEnforced"):
            notes.append(
                f"not read: constraint {_name(constraint)} ({constraint.tag:.60}): the model moves "
                "as if it were not there"
            )
    frames = [*layout.bodies.values(), *model.all("Ground"), *layout.frames.values()]
    wraps = [x for frame in frames for x in read_objects(frame, "WrapObjectSet")]
    notes += [f"not read: wrap objects: {text}" for text in _count(wraps)]
    pictures = sum(_count_pictures(frame) for frame in frames)
    if pictures:
        notes.append(f"not read: {pictures} pictures of bodies")
    if driven := [x.name for x in coordinates.all.values() if x.prescribed]:
        notes.append(f"prescribed motion not read, the coordinates are free: {', '.join(driven)}")
    return notes


def _count(elements: list[Element]) -> list[str]:
    kinds = Counter(element.tag for element in elements)
    texts = []
    for kind, count in kinds.items():
        names = [_name(element) for element in elements if element.tag == kind]
        more = ", ..." if count > MOST_NAMES else ""
        texts.append(f"{count} {kind:.60} ({', '.join(names[:MOST_NAMES])}{more})")
    return texts


def _count_pictures(frame: Element) -> int:
    """Geometry of version 4, or the files and objects of <VisibleObject> in version 3."""
    if (attached := frame.one("attached_geometry")) is not None:
        return len(attached.children)
    visible = frame.one("VisibleObject")
    return 0 if visible is None else len(read_objects(visible, "GeometrySet"))


def _name(element: Element) -> str:
    return repr(element.attributes.get("name", ""))[:60]
