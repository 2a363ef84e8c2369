"""The capsules of a robot: those of its links and of the parts that it carries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from predyn.collision.capsule_fit import capsule_around
from predyn.collision.scene import Part, Scene
from predyn.collision.solids import covering_capsule
from predyn.errors import InputError
from predyn.model import Model
from predyn.model.parts import Array


class Body(NamedTuple):
    """One capsule: ends (3,) in the frame of a link (-1: the world)."""

    name: str  # of the link or part; with a number if it has several capsules
    owner: str  # name of the link or part
    link: int
    a: Array
    b: Array
    radius: float


def bodies_of(model: Model, scene: Scene) -> tuple[Body, ...]:
    """The capsules of all links and parts. Raises an InputError for meshes, which must be fitted
    first, and for a robot without any collision shape."""
    found: list[tuple[str, int, Array, Array, float]] = []
    for shape in model.shapes:
        if shape.role != "collision":
            continue
        owner = "world" if shape.link < 0 else model.link_names[shape.link]
        if shape.kind == "mesh":
            raise InputError(
                f"model {model.name!r:.60}: link {owner!r:.60} has a collision mesh; replace the "
                "meshes by capsules: model.with_capsules(predyn.collision.fit_capsules(model))"
            )
        half, radius = covering_capsule(shape.kind, shape.size)
        ends = [shape.R @ (sign * half) + shape.p for sign in (-1.0, 1.0)]
        found.append((owner, shape.link, ends[0], ends[1], radius))
    _refuse_names(model, scene, [item[0] for item in found])
    if not found:
        raise InputError(
            f"model {model.name!r:.60} has no collision shapes; add some with model.with_capsules, "
            "with capsules in the table [model] of a task, or load a URDF file that has them "
            "(shapes for pictures are not used)"
        )
    found += [_capsule_of_part(model, part) for part in scene.parts]
    owners = [item[0] for item in found]
    numbers: dict[str, int] = {}
    bodies = []
    for owner, link, a, b, radius in found:
        k = numbers[owner] = numbers.get(owner, -1) + 1
        name = owner if owners.count(owner) == 1 else f"{owner}[{k}]"
        bodies.append(Body(name, owner, link, a, b, radius))
    return tuple(bodies)


def links_without(model: Model, bodies: Sequence[Body]) -> tuple[str, ...]:
    """Links with mass that no body belongs to: nothing is known of where they are in the way."""
    known = {body.link for body in bodies}
    return tuple(
        name
        for k, name in enumerate(model.link_names)
        if k not in known and model.inertia[k, 0] > 0.0
    )


def _refuse_names(model: Model, scene: Scene, owners: list[str]) -> None:
    """Raise an InputError if a solid is named like the world, a link or a capsule of a link:
    `allowed` pairs and those of `Clearance` would mean both."""
    taken = dict.fromkeys(model.link_names, "a link") | {"world": "the world"}
    for owner in {*owners}:
        taken |= {f"{owner}[{k}]": "a capsule" for k in range(owners.count(owner))}
    for kind, solids in (("obstacle", scene.obstacles), ("part", scene.parts)):
        for solid in solids:
            if solid.name in taken:
                raise InputError(
                    f"scene: {kind} {solid.name!r:.60} is named like {taken[solid.name]} of model "
                    f"{model.name!r:.60}; choose another name"
                )


def _capsule_of_part(model: Model, part: Part) -> tuple[str, int, Array, Array, float]:
    frame = model.frame(part.link)
    if part.triangles is not None:
        a, b, radius = capsule_around(np.asarray(part.triangles.points, float))
    else:
        half, radius = covering_capsule(part.kind, part.size)
        a, b = -half, half
    R, p = np.asarray(part.rotation), np.asarray(part.position)
    ends = [frame.R @ (R @ x + p) + frame.p for x in (a, b)]
    return part.name, frame.link, ends[0], ends[1], radius
