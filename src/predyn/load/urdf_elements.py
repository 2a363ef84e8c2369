"""Contents of URDF elements: poses, inertias, shapes, limits and friction."""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.errors import unknown_name
from predyn.load.xml_file import Element
from predyn.model.parts import LARGEST, Array, pack_inertia, turn

NO_POSE = (np.eye(3), np.zeros(3))


def read_options(joint: Element, name: str, kind: str, notes: list[str]) -> dict[str, Any]:
    """Axis, limits and friction of a moving joint."""
    options: dict[str, Any] = {"axis": (1.0, 0.0, 0.0)}
    if (axis := joint.one("axis")) is not None:
        options["axis"] = axis.numbers("xyz", 3)
        if not any(options["axis"]):
            axis.fail("the axis is zero: expected a direction such as '0 0 1'")
    if (dynamics := joint.one("dynamics")) is not None:
        for entry, option in (("damping", "damping"), ("friction", "coulomb")):
            options[option] = dynamics.number(entry, 0.0)
            if options[option] < 0.0:
                dynamics.fail(f"{entry} {options[option]} is negative")
    limit = joint.one("limit")
    if limit is None:
        if kind != "continuous":
            notes.append(f"joint {name!r}: no <limit>, which URDF requires; unlimited")
        return options
    for entry in ("velocity", "effort"):
        if entry not in limit.attributes:
            notes.append(f"joint {name!r}: no {entry} limit, which URDF requires; unlimited")
            continue
        size = limit.bound(entry)
        if size < 0.0:
            limit.fail(f"{entry} {size} is negative: expected the largest magnitude")
        options[entry] = size
        _note_no_limit(limit, name, entry, size, notes)
        if size == 0.0:
            notes.append(f"joint {name!r}: {entry} limit is 0: it cannot "
                         f"{'move' if entry == 'velocity' else 'be driven'}")  # fmt: skip
    given = [entry for entry in ("lower", "upper") if entry in limit.attributes]
    if kind == "continuous":
        if given:
            notes.append(f"joint {name!r}: continuous, so lower and upper are ignored")
    elif not given:
        notes.append(f"joint {name!r}: neither lower nor upper; unlimited in position")
    else:
        lower, upper = limit.bound("lower", 0.0), limit.bound("upper", 0.0)
        if len(given) == 1:
            notes.append(f"joint {name!r}: only {given[0]} given; the other is 0, as URDF says")
        if lower > upper:
            limit.fail(f"limits are reversed: lower {lower} > upper {upper}")
        if np.isinf(lower) and lower == upper:
            limit.fail(f"lower and upper are both beyond {LARGEST:g} on the same side: expected "
                       "a range that the joint can reach")  # fmt: skip
        options["position"] = (lower, upper)
        _note_no_limit(limit, name, "lower", lower, notes)
        _note_no_limit(limit, name, "upper", upper, notes)
    return options


def read_mimics(joints: dict[str, Element]) -> list[tuple[str, str, tuple[float, float]]]:
    """Each joint that mimics another: its name, the independent joint at the end of the chain of
    mimics, and (multiplier, offset) of that joint's position. Fixed joints do not mimic.
    """
    found = []
    for name, joint in joints.items():
        mimic = _mimic_of(joint)
        if mimic is None:
            continue
        multiplier, offset, at, seen = 1.0, 0.0, mimic, [name]
        while True:
            factor, shift = at.number("multiplier", 1.0), at.number("offset", 0.0)
            multiplier, offset = multiplier * factor, multiplier * shift + offset
            source = at.text("joint")
            if source not in joints:
                at.fail(str(unknown_name("joint to mimic", source, joints)))
            if source in seen:
                mimic.fail(f"joints mimic each other in a cycle: {' -> '.join([*seen, source])}")
            kind = joints[source].attributes.get("type", "")
            if kind in ("fixed", "floating"):
                at.fail(f"joint {source!r} is {kind}: expected a joint with one axis to mimic")
            seen.append(source)
            further = _mimic_of(joints[source])
            if further is None:
                break
            at = further
        found.append((name, source, (multiplier, offset)))
    return found


def _mimic_of(joint: Element) -> Element | None:
    return None if joint.attributes.get("type") == "fixed" else joint.one("mimic")


def _note_no_limit(limit: Element, name: str, entry: str, value: float, notes: list[str]) -> None:
    if np.isinf(value):
        given = limit.attributes[entry].strip()
        notes.append(f"joint {name!r}: {entry}={given!r:.40} is beyond {LARGEST:g}: no limit")


def read_pose(element: Element) -> tuple[Array, Array]:
    """The pose (R, p) in <origin>; rotations about the fixed x, then y, then z."""
    origin = element.one("origin")
    if origin is None:
        return NO_POSE
    roll, pitch, yaw = origin.numbers("rpy", 3, default=(0.0, 0.0, 0.0))
    x, y, z = np.eye(3)
    R = turn(z, yaw) @ turn(y, pitch) @ turn(x, roll)
    return R, np.array(origin.numbers("xyz", 3, default=(0.0, 0.0, 0.0)))


def read_inertia(link: Element) -> Array:
    """(10,) row about the link's origin in link axes."""
    inertial = link.one("inertial")
    if inertial is None:
        return np.zeros(10)
    mass = inertial.need("mass").number("value")
    if mass < 0.0:
        inertial.need("mass").fail(f"mass {mass} of link {link.text('name')!r} is negative")
    entries = inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (
        entries.number(entry) for entry in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    about_com = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R, p = read_pose(inertial)
    return pack_inertia(mass, p, R @ about_com @ R.T)


def read_shapes(link: Element, notes: list[str]) -> list[dict[str, Any]]:
    """Arguments of ModelBuilder.add_shape, and the pose, for each shape of a link."""
    shapes = []
    for item in link.children:
        if item.tag not in ("visual", "collision"):
            continue
        R, p = read_pose(item)
        geometry = item.one("geometry")
        found = [] if geometry is None else geometry.children
        if len(found) != 1 or found[0].tag not in ("box", "sphere", "cylinder", "capsule", "mesh"):
            notes.append(f"line {item.line}: <{item.tag}> without a known shape is ignored")
            continue
        shape, mesh = found[0], None
        if shape.tag == "mesh":
            mesh = shape.attributes.get("filename", "").strip()
            size = shape.numbers("scale", 3, default=(1.0, 1.0, 1.0))
            if not mesh:
                shape.fail("expected the attribute 'filename'")
        elif shape.tag == "box":
            size = shape.numbers("size", 3)
        else:
            entries = ("radius",) if shape.tag == "sphere" else ("radius", "length")
            size = tuple(shape.number(entry) for entry in entries)
        if mesh is None and min(size) < 0.0:
            shape.fail(f"size {size} is negative")
        shapes.append(
            {"kind": shape.tag, "size": size, "pose": (R, p), "mesh": mesh, "role": item.tag}
        )
    return shapes
