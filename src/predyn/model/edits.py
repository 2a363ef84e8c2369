"""Edits of a Model; each returns a new Model. Called by the methods of Model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError, unknown_name
from predyn.model.capsules import Capsule, capsule_shape
from predyn.model.contacts import ContactPoint
from predyn.model.coupled import couple, entries_of
from predyn.model.loops import Loop, open_loops
from predyn.model.parts import (
    Array,
    Frame,
    Limits,
    dimensions,
    frozen,
    inertia_matrix,
    joint_motion,
    move_inertia,
    pack_inertia,
    weld,
)

if TYPE_CHECKING:
    from predyn.model.model import Model


def number(value: Any, what: str) -> float:
    """`value` as a finite float, or an InputError that names it."""
    result = float(frozen(value, what, ()))
    if not np.isfinite(result):
        raise InputError(f"{what}: expected a finite number, got {result}")
    return result


def _replace_row(model: Model, link: int, row: Array) -> Model:
    inertia = model.inertia.copy()
    inertia[link] = row
    return replace(model, inertia=inertia)


def attach_payload(
    model: Model, link: str, mass: float, point: ArrayLike, inertia: ArrayLike | None
) -> Model:
    frame = model.frame(link)
    if frame.link < 0:
        raise InputError(f"payload on {link!r}: it is fixed to the world; name a moving link")
    row = pack_inertia(
        number(mass, "payload mass"),
        frozen(point, "payload point", (3,)),
        inertia_matrix(inertia, "payload inertia"),
    )
    if row[0] < 0.0:
        raise InputError(f"payload mass: expected at least 0, got {row[0]}")
    added = model.inertia[frame.link] + move_inertia(row, frame.R, frame.p)
    return _replace_row(model, frame.link, added)


def with_mass(model: Model, link: str, mass: float) -> Model:
    j, mass = model.link_index(link), number(mass, "mass")
    if not model.inertia[j, 0] > 0.0:
        raise InputError(
            f"link {link!r} is massless, so its inertia cannot be scaled; use with_inertia"
        )
    return _replace_row(model, j, model.inertia[j] * (mass / model.inertia[j, 0]))


def with_inertia(model: Model, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Model:
    row = pack_inertia(
        number(mass, "mass"), frozen(com, "com", (3,)), inertia_matrix(inertia, "inertia")
    )
    return _replace_row(model, model.link_index(link), row)


def with_gravity(model: Model, gravity: ArrayLike) -> Model:
    return replace(model, gravity=frozen(gravity, "gravity", (3,)))


def with_contact(model: Model, name: str, link: str, point: ArrayLike, patch: str | None) -> Model:
    placed = with_frame(model, name, link, point)
    contact = ContactPoint(name, patch or name)
    return replace(placed, contact_points=(*model.contact_points, contact))


def with_frame(model: Model, name: str, link: str, point: ArrayLike) -> Model:
    on = model.frame(link)
    p = on.p + on.R @ frozen(point, f"frame {name!r:.60}", (3,))
    return replace(model, frames=(*model.frames, Frame(name, on.link, on.R, p)))


def with_capsules(model: Model, capsules: Iterable[Capsule]) -> Model:
    shown = [shape for shape in model.shapes if shape.role != "collision"]
    given: Any = capsules
    if not isinstance(given, Iterable):
        raise InputError(f"capsules: expected a list of predyn.Capsule, got {given!r:.60}")
    added = [capsule_shape(model, k, capsule) for k, capsule in enumerate(capsules)]
    return replace(model, shapes=(*shown, *added))


def with_loop(model: Model, loop: Loop) -> Model:
    return replace(model, loops=(*model.loops, loop))


def limit_pairs(value: ArrayLike, what: str, n: int) -> Array:
    """(n, 2) lower, upper from a number or (n,) (both: plus and minus) or (n, 2)."""
    if isinstance(value, str) or (dimensions(value, what) == 1 and np.shape(value) != (n,)):
        raise InputError(
            f"{what}: expected a number or {n} (plus and minus), an array of shape ({n}, 2) "
            f"(lower, upper), or a dict by joint name, got {value!r:.60}"
        )
    shape = np.shape(value) if dimensions(value, what) < 2 else (n, 2)
    if shape in ((), (n,)):
        size = np.broadcast_to(frozen(value, what, shape), (n,))
        if (size < 0.0).any():
            raise InputError(
                f"{what}: got {size.min()} for plus and minus; for lower and upper give an array "
                f"of shape ({n}, 2)"
            )
        return np.stack([-size, size], axis=1)
    return frozen(value, what, (n, 2))


def with_limits(model: Model, *values: ArrayLike | Mapping[str, ArrayLike] | None) -> Model:
    pairs = list(model.limits)
    for k, (field, given) in enumerate(zip(Limits._fields, values, strict=True)):
        if isinstance(given, Mapping):
            pairs[k] = _limits_by_joint(model, given, pairs[k], f"{field} limits")
        elif given is not None:
            pairs[k] = limit_pairs(given, f"{field} limits", model.n)
    return replace(model, limits=Limits(*pairs))


def _limits_by_joint(model: Model, given: Mapping[str, ArrayLike], old: Array, what: str) -> Array:
    """The old limits (n, 2) with those of the named joints replaced: a number, or lower, upper."""
    pairs = old.copy()
    for joint, value in given.items():
        named = f"{what} of joint {joint!r}"
        j = model.joint_index(joint)
        if dimensions(value, named) == 0:
            pairs[j] = limit_pairs(value, named, 1)[0]
        else:
            pairs[j] = frozen(value, named, (2,))
    return pairs


def with_placement(model: Model, joint: str, R: ArrayLike | None, p: ArrayLike | None) -> Model:
    j = model.expanded.joint_index(joint)
    all_R, all_p = model.R.copy(), model.p.copy()
    if R is not None:
        all_R[j] = frozen(R, "R", (3, 3))
    if p is not None:
        all_p[j] = frozen(p, "p", (3,))
    return replace(model, R=all_R, p=all_p, dh=None)


def with_length(model: Model, link: str, length: float, to: str | None) -> Model:
    j, length = model.link_index(link), number(length, "length")
    if length <= 0.0:
        raise InputError(f"length of link {link!r}: expected more than 0, got {length}")
    joints = model.expanded.joint_names
    children = {joints[k]: model.p[k] for k in np.flatnonzero(model.parent == j)}
    frames = {frame.name: frame.p for frame in model.frames if frame.link == j}
    if to is not None:
        if to not in children and to not in frames:
            raise unknown_name(f"child joint or frame of link {link!r}", to, children | frames)
        end = children.get(to, frames.get(to))
    else:
        ends = list((children or frames).values())
        if not ends:
            raise InputError(
                f"length of link {link!r}: it has no child joint and no frame to measure to; "
                "add a frame at its end when building it"
            )
        if any(not _coincide(ends[0], other) for other in ends):
            raise InputError(
                f"length of link {link!r}: it has {len(ends)} ends; choose one with to=: "
                f"{sorted(children | frames)}"
            )
        end = ends[0]
    if end is None or not end.any():
        raise InputError(
            f"length of link {link!r}: its end is at its origin, so it has no direction"
        )
    moved = end * (length / float(np.linalg.norm(end)))
    p = model.p.copy()
    for k in np.flatnonzero(model.parent == j):
        if _coincide(p[k], end):
            p[k] = moved
    new_frames = tuple(
        replace(frame, p=moved) if frame.link == j and _coincide(frame.p, end) else frame
        for frame in model.frames
    )
    return replace(model, p=p, frames=new_frames, dh=None)


def _coincide(a: Array, b: Array) -> bool:
    return float(np.abs(a - b).max()) <= 1e-9 * max(1.0, float(np.abs(b).max()))


def lock(model: Model, values: Mapping[str, float]) -> Model:
    if not isinstance(values, Mapping):
        raise InputError(f"lock: expected {{joint: value, ...}}, got {values!r}")
    locked: dict[str, float] = {}
    for joint, value in values.items():
        j = model.joint_index(joint)
        q = number(value, f"value of joint {joint!r}")
        low, high = model.limits.position[j]
        if not low <= q <= high:
            raise InputError(
                f"lock joint {joint!r} at {q}: outside its limits ({low}, {high}); "
                "use a value inside, or change the limits with with_limits first"
            )
        locked[joint] = q
    notes = (*model.notes, *(f"joint {joint!r} locked at {q}" for joint, q in values.items()))
    followers = [x for x in model.couplings if x.source in locked]
    locked |= {x.joint: float(x.function(locked[x.source])) for x in followers}
    entries = _weld_joints(model.expanded, locked)
    loops, closed = open_loops(model, _frames_of(entries))
    entries |= {"loops": loops, "notes": (*notes, *closed)}
    left = tuple(x for x in model.couplings if x not in followers)
    if left:
        return couple(type(model), entries_of(model) | entries, left)
    return replace(model, **entries, couplings=(), tree=None)


def _frames_of(entries: Mapping[str, Any]) -> dict[str, Frame]:
    """The frames of a model with these entries by name, with those of its links and the world."""
    links = ("world", *entries["link_names"])
    found = {name: Frame(name, k - 1, np.eye(3), np.zeros(3)) for k, name in enumerate(links)}
    return found | {frame.name: frame for frame in entries["frames"]}


def _weld_joints(model: Model, values: Mapping[str, float]) -> dict[str, Any]:
    """What changes in a tree whose joints with these names are fixed."""
    fixed = np.zeros(model.n, dtype=bool)
    R, p = model.R.copy(), model.p.copy()
    for joint, q in values.items():
        j = model.joint_index(joint)
        turned, slid = joint_motion(model.kind[j], model.axis[j], model.pitch[j], q)
        fixed[j] = True
        p[j] = p[j] + R[j] @ slid
        R[j] = R[j] @ turned
    host, host_R, host_p = weld(model.parent, fixed, R, p)
    keep = np.flatnonzero(~fixed)
    number_of = np.append(np.cumsum(~fixed) - 1, -1)  # old link -> new link; -1 stays -1

    inertia = model.inertia.copy()
    parent = np.full(model.n, -1)
    for i, k in enumerate(model.parent):
        if fixed[i] and host[i] >= 0:
            inertia[host[i]] += move_inertia(model.inertia[i], host_R[i], host_p[i])
        elif not fixed[i] and k >= 0:
            parent[i] = number_of[host[k]]
            R[i], p[i] = host_R[k] @ R[i], host_R[k] @ p[i] + host_p[k]

    def move_item(item: Any) -> Any:
        k = item.link
        if k < 0:
            return item
        return replace(
            item,
            link=int(number_of[host[k]]),
            R=host_R[k] @ item.R,
            p=host_R[k] @ item.p + host_p[k],
        )

    stubs = [
        Frame(name, int(number_of[host[j]]), host_R[j], host_p[j])
        for j, name in enumerate(model.link_names)
        if fixed[j]
    ]
    per_joint = ("kind", "pitch", "axis", "stiffness", "rest", "damping", "coulomb",
                 "coulomb_speed", "armature", "ligaments")  # fmt: skip
    return {
        "link_names": tuple(model.link_names[j] for j in keep),
        "joint_names": tuple(model.joint_names[j] for j in keep),
        "parent": parent[keep],
        "R": R[keep],
        "p": p[keep],
        "inertia": inertia[keep],
        "limits": Limits(*(pairs[keep] for pairs in model.limits)),
        "rotor": model.rotor[np.ix_(keep, keep)],
        "frames": tuple(move_item(frame) for frame in model.frames) + tuple(stubs),
        "shapes": tuple(move_item(shape) for shape in model.shapes),
        "dh": None,
        **{field: getattr(model, field)[keep] for field in per_joint},
    }
