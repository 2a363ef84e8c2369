"""Parts of a Model from an OpenSim model: links with limits and springs, frames, markers."""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.errors import unknown_name
from predyn.load.osim_chain import Chains
from predyn.load.osim_coordinates import Coordinates
from predyn.load.osim_layout import Layout
from predyn.load.osim_notes import SPRING
from predyn.load.osim_xml import (
    is_on,
    read_number,
    read_numbers,
    read_objects,
    read_word,
)
from predyn.load.xml_file import Element
from predyn.model.builder import ModelBuilder
from predyn.model.parts import unpack_inertia

MOST_MARKERS = 5000


def add_links(
    builder: ModelBuilder,
    model: Element,
    chains: Chains,
    coordinates: Coordinates,
    notes: list[str],
) -> None:
    """Add coordinates without an axis of their own, all links, and what follows what."""
    options: dict[str, dict[str, Any]] = {
        name: {"position": coordinates.all[name].range} for name in coordinates.moved
    }
    for name, spring in _read_springs(model, coordinates, notes).items():
        options[name] |= spring
    for name, kinds in coordinates.moved.items():
        if name not in coordinates.joints:
            kind = "revolute" if "revolute" in kinds else "prismatic"
            builder.add_coordinate(name, kind, **options[name])
    for link in chains.links.values():
        mass, com, inertia = unpack_inertia(link.row)
        builder.add_link(
            link.name,
            link.parent,
            link.joint,
            link.kind,
            link.axis,
            origin=link.p,
            rotation=link.R,
            mass=mass,
            com=com,
            inertia=0.5 * (inertia + inertia.T),
            **options.get(link.joint, {}),
        )
    for joint, source, function in chains.couplings:
        builder.couple(joint, source, function)


def _read_springs(
    model: Element, coordinates: Coordinates, notes: list[str]
) -> dict[str, dict[str, float]]:
    """Stiffness, rest position and damping by coordinate; springs on one coordinate add up."""
    springs: dict[str, dict[str, float]] = {}
    for element in read_objects(model, "ForceSet"):
        if element.tag != SPRING or not is_on(element, "appliesForce"):
            continue
        name = read_word(element, "coordinate")
        if name not in coordinates.all:
            element.fail(str(unknown_name("coordinate", name, coordinates.all)))
        stiffness = read_number(element, "stiffness", 0.0)
        rest = read_number(element, "rest_length", 0.0)
        damping = read_number(element, "viscosity", 0.0)
        if coordinates.drive(name).source != name or name not in coordinates.moved:
            notes.append(f"not read: spring on {name!r}, which is not an independent coordinate")
            continue
        held = springs.setdefault(name, {"stiffness": 0.0, "rest": 0.0, "damping": 0.0})
        total = held["stiffness"] + stiffness
        moment = held["stiffness"] * held["rest"] + stiffness * rest
        if total == 0.0 and moment != 0.0:
            element.fail(
                f"its force and that of other springs on {name!r:.60} add up to a constant"
            )
        held["stiffness"], held["rest"] = total, moment / total if total else 0.0
        held["damping"] += damping
    return springs


def add_frames(
    builder: ModelBuilder,
    model: Element,
    layout: Layout,
    chains: Chains,
    notes: list[str],
) -> None:
    """Add bodies that are not the frame of a link, then markers; a marker may get a longer name."""
    taken = {"world", *chains.links, *layout.bodies}
    hosts: dict[str, list[str]] = {}
    for body in layout.bodies:
        host, (R, p) = chains.places[body]
        if host != body:
            builder.add_frame(body, host, p, R)
            hosts.setdefault(host, []).append(body)
    notes += [f"bodies that are frames on {host!r}: {', '.join(x)}" for host, x in hosts.items()]
    markers = [x for x in read_objects(model, "MarkerSet") if x.tag == "Marker"]
    if len(markers) > MOST_MARKERS:
        model.need("MarkerSet").fail(f"more than {MOST_MARKERS} markers")
    for marker in markers:
        name = own = marker.text("name")
        body, (R, p) = _find_place(marker, layout)
        number = 2
        while name in taken:
            name, number = f"{own}_{number}", number + 1
        if name != own:
            notes.append(f"marker {own!r} is called {name!r}: the name was taken")
        taken.add(name)
        host, (R_host, p_host) = chains.places[body]
        point = R @ np.array(read_numbers(marker, "location", 3, (0.0, 0.0, 0.0))) + p
        builder.add_frame(name, host, R_host @ point + p_host, R_host @ R)


def _find_place(marker: Element, layout: Layout) -> Any:
    """The body of a marker and the pose of its frame there."""
    tags = ("socket_parent_frame", "socket_parent_frame_connectee_name", "body")
    socket = next((x for x in map(marker.one, tags) if x is not None), None)
    if socket is None:
        marker.fail(f"expected <{tags[0]}>, or <{tags[2]}> in version 3")
    return layout.locate(socket, "")
