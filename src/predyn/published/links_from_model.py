"""Natural links of a planar Model: each link is a bar from its joint to its first other point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics import coupled
from predyn.errors import InputError, unknown_name
from predyn.model import KINDS, REVOLUTE, Model
from predyn.model.mass_check import link_poses
from predyn.published.natural_links import Carried, Link, NaturalLinks, Torque

Floats = NDArray[np.float64]
PARALLEL = 1e-9  # sine of the angle between axes
APART = 1e-6  # m, between two points of a link
WHERE = ("link", "joint")


class PlanarLinks(NamedTuple):
    """Natural links of a model, and the plane in which they move."""

    links: NaturalLinks
    plane: Floats  # (2, 3) world axes of x and y in the plane

    def measured(self, points: ArrayLike) -> Floats:
        """x1, y1, x2, .. (..., 2m) in the plane, of world points (..., m, 3)."""
        p = np.asarray(points, float) @ self.plane.T
        return p.reshape(*p.shape[:-2], -1)

    def state(self, model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Floats, Floats]:
        """Coordinates z and velocities (n,) of the links at joint angles q and rates v."""
        places = _find_places(model, np.asarray(q, float), self.plane)
        spin = _find_directions(model, self.plane) * np.asarray(v, float)
        z = self.links.placed({x: p for x, (p, _) in places.items() if x in self.links.free})
        rates = []
        for node in self.links.free:
            point, link = places[node]
            rate = np.zeros(2)
            while link >= 0:
                x, y = point - places[model.joint_names[link]][0]
                rate += spin[link] * np.array([-y, x])
                link = int(model.parent[link])
            rates.append(rate)
        return z, np.concatenate(rates)


def natural_links_of(
    model: Model,
    *,
    stiffness: float = 1e4,
    damping: float = 0.0,
    torques: str = "joint",
    ends: Mapping[str, str] | None = None,
) -> PlanarLinks:
    """Natural links of a planar tree: revolute joints with parallel axes.

    stiffness, damping   of the axial springs and dampers, N/m and N s/m
    torques   "joint": those of the model's joints; "link": on the links, positive about the axis of
              the first joint. For a chain T_i = tau_i - tau_{i+1}
    ends      {link: child joint or frame} where its bar ends; default: its first child joint, else
              its first frame, that is not at its own joint

    Nodes are named like the joints and frames of the model; those of root joints are pinned. All
    other points of a link are carried by it. Inertia and centre of mass are kept.
    """
    if torques not in WHERE:
        raise unknown_name("torques", torques, WHERE)
    coupled.refuse(model, "links in natural coordinates", "use the model's own dynamics")
    plane = _find_plane(model)
    sign = _find_directions(model, plane)
    places = _find_places(model, np.zeros(model.n), plane)
    R, p = link_poses(model, np.zeros(model.n))
    bars, carried, pinned = [], {}, {}
    for i, name in enumerate(model.link_names):
        joint = model.joint_names[i]
        start = places[joint][0]
        if model.parent[i] < 0:
            pinned[joint] = start
        points = {
            node: point for node, (point, link) in places.items() if link == i and node != joint
        }
        points |= {
            model.joint_names[j]: places[model.joint_names[j]][0]
            for j in range(model.n)
            if model.parent[j] == i
        }
        end = _find_end(model, i, points, start, (ends or {}).get(name))
        d = points[end] - start
        length = float(np.hypot(*d))
        along = np.array([d, [-d[1], d[0]]]) / length
        for node, point in points.items():
            if node != end:
                carried[node] = Carried(name, *(along @ (point - start)))
        mass, moment = model.inertia[i, 0], model.inertia[i, 1:4]
        com = plane @ (R[i] @ (moment / mass if mass > 0 else moment) + p[i]) - start
        axis = model.axis[i]
        xx, xy, yy, xz, yz, zz = model.inertia[i, 4:]
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = max(float(axis @ about @ axis) - mass * float(com @ com), 0.0)
        bars.append(
            Link(
                name, joint, end, length, float(mass), inertia, float(along[0] @ com),
                stiffness, damping, float(along[1] @ com),
            )
        )  # fmt: skip
    unknown = set(ends or {}) - set(model.link_names)
    if unknown:
        raise unknown_name("link in ends", min(unknown), model.link_names)
    links = NaturalLinks(
        bars,
        pinned=pinned,
        carried=carried,
        gravity=plane @ model.gravity,
        torques=_make_torques(model, sign, torques),
    )
    return PlanarLinks(links, plane)


def _make_torques(model: Model, sign: Floats, where: str) -> list[Torque]:
    if where == "link":
        return [Torque(name, name) for name in model.link_names]
    found = []
    for i, joint in enumerate(model.joint_names):
        parent = None if model.parent[i] < 0 else model.link_names[model.parent[i]]
        found.append(Torque(joint, model.link_names[i], parent, float(sign[i])))
    return found


def _find_end(
    model: Model, i: int, points: dict[str, Floats], start: Floats, asked: str | None
) -> str:
    name = model.link_names[i]
    if asked is not None and asked not in points:
        raise unknown_name(f"end of link {name!r}", asked, points)
    children = [x for x in model.joint_names if x in points]
    for node in [asked] if asked is not None else [*children, *points]:
        if np.hypot(*(points[node] - start)) > APART:
            return node
    raise InputError(
        f"link {name!r} has no point in the plane other than its joint: add a frame to it where "
        "its bar should end"
    )


def _find_plane(model: Model) -> Floats:
    """World axes of the plane; its normal is the axis of the first joint."""
    problems = []
    R, _ = link_poses(model, np.zeros(model.n))
    axes = np.einsum("nij,nj->ni", R, model.axis)
    for i, joint in enumerate(model.joint_names):
        if model.kind[i] != REVOLUTE:
            problems.append(f"joint {joint!r} is {KINDS[model.kind[i]]}, not revolute")
        elif np.linalg.norm(np.cross(axes[i], axes[0])) > PARALLEL:
            problems.append(f"the axis of joint {joint!r} is not parallel to the first")
    for field in ("stiffness", "damping", "coulomb", "armature"):
        given = [
            x for x, value in zip(model.joint_names, getattr(model, field), strict=True) if value
        ]
        if given:
            problems.append(f"joints {given} have {field}, which natural links do not support")
    if model.ligaments[:, :, 0].any():
        problems.append("it has ligaments, which natural links do not support")
    if model.rotor.any():
        problems.append("it has rotors, which natural links do not support")
    if problems:
        raise InputError(f"model {model.name!r} is not a planar linkage: " + "; ".join(problems))
    normal = axes[0]
    guide = np.eye(3)[0 if abs(normal[0]) < 0.9 else 1]
    x = guide - (guide @ normal) * normal
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(normal, x)])


def _find_directions(model: Model, plane: Floats) -> Floats:
    """1 for joints that rotate counterclockwise in the plane, -1 for the others."""
    R, _ = link_poses(model, np.zeros(model.n))
    normal = np.cross(*plane)
    return np.asarray(np.sign(np.einsum("nij,nj->ni", R, model.axis) @ normal))


def _find_places(model: Model, q: Floats, plane: Floats) -> dict[str, tuple[Floats, int]]:
    """Positions of joints and frames in the plane, and the link that each is on or moves."""
    R, p = link_poses(model, q)
    places = {joint: (plane @ p[i], i) for i, joint in enumerate(model.joint_names)}
    for frame in model.frames:
        if frame.name in places:
            raise InputError(
                f"frame {frame.name!r} has the name of a joint: node names must differ"
            )
        if frame.link >= 0:
            places[frame.name] = (plane @ (R[frame.link] @ frame.p + p[frame.link]), frame.link)
    return places
