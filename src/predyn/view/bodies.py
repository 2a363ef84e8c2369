"""Bodies of links: shapes of the model where it has them, else limbs as thick as their mass needs.

Links without mass and the slides of a floating base are not drawn: they stand for no body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.analysis.sides import find_pairs
from predyn.load.bodies import bodies_of
from predyn.model import PRISMATIC, Model, Shape
from predyn.model.parts import unpack_inertia
from predyn.view.solids import Floats, Solid, axes_along, equal_box, hull, limb

DENSITY = 1500.0  # kg/m^3, between that of people (1000) and of aluminium (2700)
LEAST_DENSITY = 250.0  # a hull with less is larger than its body
SLENDER, STOUT = 0.05, 0.25  # radius of a limb over its length
THIN, THICK = 0.008, 0.1  # and over the size of the scene
LARGEST = 0.15  # edge of a body without length over the size of the scene
BASE = 0.3  # distance of a joint from its base over the size of the base
NEAR = 1e-9  # m: points this near are one


class Bar(NamedTuple):
    """A straight piece of a link's skeleton, in link axes (link -1: world axes)."""

    link: int
    start: Floats
    end: Floats
    radius: float
    kind: str = "limb"  # "rail" of a slide: where its joint passes; "rod": bridges a massless link


class End(NamedTuple):
    """A point whose path is drawn: a frame on the last link of a branch, or its centre of mass."""

    name: str
    link: int
    point: Floats


def massless_links(model: Model) -> set[int]:
    """Links without inertia and without shapes."""
    shaped = {shape.link for shape in bodies_of(model).shapes}
    return {j for j in range(model.n) if not model.inertia[j].any() and j not in shaped}


def bare_links(model: Model) -> set[int]:
    """Links that only stand for a coordinate: they carry nothing at all."""
    used = {*model.parent.tolist(), *(frame.link for frame in model.frames)}
    used |= {shape.link for shape in model.shapes}
    return {
        j
        for j in range(model.n)
        if j not in used and not model.inertia[j].any() and model.armature[j] == 0.0
    }


def floating_chain(model: Model) -> set[int]:
    """Joints of floating bases: those up to the first body, if two or more of them are slides."""
    massless, chain = massless_links(model), set()
    for j in range(model.n):
        above = _ancestors(model, j)
        if j in massless or not above or not massless.issuperset(above):
            continue
        joints = [*above, j]
        if sum(model.kind[k] == PRISMATIC for k in joints) >= 2:
            chain.update(joints)
    return chain


def _ancestors(model: Model, j: int) -> list[int]:
    above = []
    while (j := int(model.parent[j])) >= 0:
        above.append(j)
    return above


def ends_of(model: Model) -> list[End]:
    """One end for every link without children: its farthest frame, else its centre of mass."""
    ends = []
    for j in sorted(set(range(model.n)) - set(model.parent.tolist()) - bare_links(model)):
        mass, moment = model.inertia[j, 0], model.inertia[j, 1:4]
        best = End(model.link_names[j], j, moment / mass if mass > 0.0 else np.zeros(3))
        reach = 0.0
        for frame in model.frames:
            distance = float(np.linalg.norm(frame.p))
            if frame.link == j and distance >= reach and distance > 0.0:
                best, reach = End(frame.name, j, frame.p), distance
        ends.append(best)
    return ends


def skeleton(model: Model, q: Floats, ends: list[End], size: float) -> list[Bar]:
    """Bars from each joint to the next ones and to the ends, and rails of slides.

    size: m, of the scene: no bar is thinner or thicker than can be seen well there.
    """
    massless, floating, bars = massless_links(model), floating_chain(model), []
    for j in range(model.n):
        points = _attachments(model, j, ends)
        lengths = [float(np.linalg.norm(point)) for point in points]
        for point, length in zip(points, lengths, strict=True):
            if j not in massless:
                r = _radius(model.inertia[j, 0], length, sum(lengths), size)
                bars.append(Bar(j, np.zeros(3), point, r))
            elif j not in floating:
                bars.append(Bar(j, np.zeros(3), point, THIN * size, "rod"))
        low, high = min(0.0, q[:, j].min()), max(0.0, q[:, j].max())
        if model.kind[j] == PRISMATIC and j not in floating and high > low:
            start, axis = model.p[j], model.R[j] @ model.axis[j]
            rail = start + low * axis, start + high * axis
            bars.append(Bar(int(model.parent[j]), *rail, 1.2 * THIN * size, "rail"))
    return bars


def _attachments(model: Model, j: int, ends: list[End]) -> list[Floats]:
    """Where a link goes from its joint: to the next joints, to its end, at least past its mass."""
    points = [model.p[k] for k in np.flatnonzero(model.parent == j)]
    frames = {frame.name for frame in model.frames}
    points += [end.point for end in ends if end.link == j and end.name in frames]
    mass, com, _ = unpack_inertia(model.inertia[j])
    reach = max((float(np.linalg.norm(point)) for point in points), default=0.0)
    if mass > 0.0 and reach < float(np.linalg.norm(com)):
        points.append(2.0 * com)  # as of a uniform rod
    found: list[Floats] = []
    for point in points:
        if all(np.linalg.norm(point - other) > NEAR for other in (np.zeros(3), *found)):
            found.append(np.asarray(point))
    return found


def _radius(mass: float, length: float, total: float, size: float) -> float:
    """Of a round bar with its share of the mass, within what looks like a limb."""
    r = float(np.sqrt(mass / (np.pi * DENSITY * total)))
    return float(np.clip(np.clip(r, SLENDER * length, STOUT * length), THIN * size, THICK * size))


def link_solids(model: Model, bars: list[Bar], size: float) -> list[Solid]:
    """Shapes where a link has them, else limbs with hubs at their joints."""
    shapes = bodies_of(model).shapes
    shaped = {shape.link for shape in shapes}
    solids = [_of_shape(model, shape) for shape in shapes]
    solids += [
        limb(bar.link, bar.start, bar.end, (bar.radius, bar.radius), "base")
        for bar in bars
        if bar.kind == "rail"
    ]
    for j in range(model.n):
        own = [bar for bar in bars if bar.link == j and bar.kind != "rail"]
        if j in shaped:
            solids += _tool_rods(model, j, [s for s in solids if s.link == j], own, size)
        elif own:
            solids += _limbs(model.inertia[j, 0], own)
        elif model.inertia[j, 0] > 0.0 and model.kind[j] != PRISMATIC:
            solids.append(_lump(model, j, size))
    return solids + _hubs(model, bars, shaped, size)


def _of_shape(model: Model, shape: Shape) -> Solid:
    """What is fixed to the world is a base if a first joint is near it, else an obstacle."""
    triangles, size = shape.triangles, shape.size
    if triangles is not None:  # of a mesh, whose size is the scale
        if size != (1.0, 1.0, 1.0):
            triangles = triangles._replace(points=triangles.points * np.array(size))
        size = ()
    solid = Solid(shape.link, shape.kind, size, shape.R, shape.p, "body", triangles)
    if shape.link >= 0:
        return solid
    points, radius = solid.outline
    low, high = points.min(axis=0) - radius, points.max(axis=0) + radius
    margin = BASE * (high - low).max()
    roots = model.p[[j for j in np.flatnonzero(model.parent < 0) if j not in floating_chain(model)]]
    near = ((roots > low - margin) & (roots < high + margin)).all(axis=1).any()
    return solid._replace(role="base" if near else "obstacle")


def _limbs(mass: float, bars: list[Bar]) -> list[Solid]:
    """One rounded body through all points if its mass can fill it, else a limb to each."""
    points = np.array([bars[0].start, *(bar.end for bar in bars)])
    radius = max(bar.radius for bar in bars)
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if len(bars) > 1 and spread[1] > radius and bars[0].kind == "limb":
        body, volume = hull(bars[0].link, points, 0.8 * radius)
        if volume * LEAST_DENSITY <= mass:
            return [body]
    return [
        limb(bar.link, bar.start, bar.end, (bar.radius, bar.radius), "hub")
        if bar.kind == "rod"
        else limb(bar.link, bar.start, bar.end, (1.12 * bar.radius, 0.82 * bar.radius))
        for bar in bars
    ]


def _lump(model: Model, j: int, size: float) -> Solid:
    """A body around its joint: the box with its inertia, as far as the scene has space for it."""
    mass, com, inertia = unpack_inertia(model.inertia[j])
    edges, axes = equal_box(mass, inertia)
    ball = (mass / DENSITY) ** (1.0 / 3.0)
    edges = np.clip(edges, 0.3 * min(ball, LARGEST * size), LARGEST * size)
    return Solid(j, "box", tuple(edges.tolist()), axes, com, "body")


def _tool_rods(
    model: Model, j: int, drawn: list[Solid], bars: list[Bar], size: float
) -> list[Solid]:
    """A rod to each frame at the end of a link whose shapes do not reach it."""
    last, rods = j not in model.parent, []
    for bar in bars if last else []:
        away = bar.end / np.linalg.norm(bar.end)
        outlines = [solid.outline for solid in drawn]
        reach = max(float((points @ away).max()) + r for points, r in outlines)
        start = max(reach, 0.0) * away
        if np.linalg.norm(bar.end) > reach + THIN * size:
            radii = (0.8 * THIN * size, 0.8 * THIN * size)
            rods.append(limb(j, start - THIN * size * away, bar.end, radii, "tool"))
    return rods


def _hubs(model: Model, bars: list[Bar], shaped: set[int], size: float) -> list[Solid]:
    """Joints of links without shapes: drums along hinges, a ball where hinges meet, carriages."""
    massless, floating, hubs = massless_links(model), floating_chain(model), []
    thickest = {j: THIN * size for j in range(-1, model.n)}
    for bar in bars:
        if bar.kind == "limb":
            thickest[bar.link] = max(thickest[bar.link], bar.radius)
    for j in reversed(range(model.n)):  # what has no length is as thick as what it carries
        if not any(bar.link == j for bar in bars):
            thickest[j] = max(thickest[k] for k in (j, *np.flatnonzero(model.parent == j).tolist()))
    for j in range(model.n):
        parent = int(model.parent[j])
        alone = j in massless and model.kind[j] != PRISMATIC  # its hinge is in the next ball
        if j in shaped or j in floating or alone:
            continue
        r = 1.16 * max(thickest[j], min(thickest[parent], 1.3 * thickest[j]))
        extent: tuple[float, ...] = (r, 2.3 * r)
        kind, role = "cylinder", "hub"
        if model.kind[j] == PRISMATIC:
            r = max(r, 2.0 * THIN * size)
            kind, extent, role = "box", (2.6 * r, 2.6 * r, 4.5 * r), "body"
        elif parent in massless and np.linalg.norm(model.p[j]) < NEAR:
            kind, extent = "sphere", (1.06 * r,)
        hubs.append(Solid(j, kind, extent, axes_along(model.axis[j]), np.zeros(3), role))
    return hubs


def base_solids(model: Model, solids: list[Solid], up: Floats, level: float) -> list[Solid]:
    """What holds each root: a column on the floor (`level`, m along up), an axle or a plate."""
    floating, bases = floating_chain(model), []
    if any(solid.link < 0 and solid.role == "base" for solid in solids):
        return []
    hubs = {s.link: s for s in solids if s.role == "hub" or s.kind == "box"}
    for j in np.flatnonzero(model.parent < 0).tolist():
        first = _first_drawn(model, j, hubs)
        if j in floating or model.kind[j] == PRISMATIC or first is None:
            continue
        r, axis = hubs[first].size[0], model.R[j] @ model.axis[j]
        p, height = model.p[j], float(model.p[j] @ up) - level
        steep = abs(float(axis @ up)) > 0.7
        if not steep:
            axle = (0.62 * r, 3.4 * r)
            bases.append(Solid(-1, "cylinder", axle, axes_along(axis), p, "base"))
        if r < height < 40.0 * r:
            foot = p - 0.5 * height * up
            bases.append(Solid(-1, "cylinder", (0.8 * r, height), axes_along(up), foot, "base"))
            plate = p - (height - 0.15 * r) * up
            bases.append(Solid(-1, "cylinder", (2.0 * r, 0.3 * r), axes_along(up), plate, "base"))
        elif steep:
            foot = p - 1.4 * r * np.sign(axis @ up) * axis
            bases.append(Solid(-1, "cylinder", (1.5 * r, 0.6 * r), axes_along(axis), foot, "base"))
    return bases


def _first_drawn(model: Model, j: int, hubs: dict[int, Solid]) -> int | None:
    """The first joint at or after j that has a hub, along links without one."""
    while j not in hubs:
        following = np.flatnonzero(model.parent == j)
        if len(following) != 1:
            return None
        j = int(following[0])
    return j


def side_tones(model: Model) -> dict[int, int]:
    """Colours of links of a model that stands and has sides: as in gait charts, others neutral.

    Links of a pair have the number of a colour, those between them -1; empty without sides.
    """
    pairs = find_pairs(model.link_names) if model.contact_points else []
    if not pairs:
        return {}
    sides = {pair.right: 0 for pair in pairs} | {pair.left: 1 for pair in pairs}
    return {j: sides.get(name, -1) for j, name in enumerate(model.link_names)}
