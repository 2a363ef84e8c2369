"""OpenSim model files: bodies, joints, coordinates and markers become a Model."""

from __future__ import annotations

import os

import numpy as np

from predyn.errors import FileError, InputError, ModelError, unknown_name
from predyn.load.osim_chain import Chains
from predyn.load.osim_coordinates import Coordinates
from predyn.load.osim_joints import Axis, Coordinate, read_joint
from predyn.load.osim_layout import Connection, read_inertia, read_layout
from predyn.load.osim_notes import note_unread
from predyn.load.osim_parts import add_frames, add_links
from predyn.load.osim_xml import read_document, read_numbers
from predyn.load.quintic_refit import refit_couplings
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.recordings.columns import read_axes
from predyn.recordings.measurements import AXES

MOST_JOINTS = 500
GRAVITY = (0.0, -9.80665, 0.0)
FUNCTIONS = ("file", "smooth")
LOCKED = ("hold", "free")


def load_osim(
    path: str | os.PathLike[str],
    *,
    axes: str = AXES,
    functions: str = "file",
    locked: str = "hold",
) -> Model:
    """Read an OpenSim model (.osim); `model.notes` lists what was changed, assumed or not read.

    Joints with several axes become chains of joints with massless links: translations first, then
    rotations. Coordinates keep their names. A coordinate that moves several axes is the position of
    one joint, which the other axes follow; so do coordinates with a coupler. Bodies on weld joints
    and markers become frames. Muscles, contacts, other constraints and controllers are not read.

    axes       axes of the file that become x, y, z of the model: "xyz" leaves y up, as OpenSim has
               it; "x-zy" turns the world so that z is up. Coordinates keep their values
    functions  "file" keeps the functions of the file, whose third derivatives jump; "smooth"
               replaces curved ones by splines of degree 5 with continuous fourth derivatives, which
               a program's second derivatives need, and notes the error
    locked     "hold" fixes locked coordinates at their default values, "free" releases them

    Speeds of a BallJoint or FreeJoint are derivatives of its angles, not components of an angular
    velocity, as they are in OpenSim; its torques differ accordingly. Raises a FileError for any
    error in the file.
    """
    order, signs = read_axes(axes)
    for name, value, valid in (("functions", functions, FUNCTIONS), ("locked", locked, LOCKED)):
        if value not in valid:
            raise unknown_name(name, value, valid)
    document = read_document(path)
    model = document.need("Model")
    layout, joints = read_layout(model)
    turned = np.eye(3)[order] * signs[:, None]
    read = [read_joint(joint) for joint in joints]
    coordinates = Coordinates(model, [x for own, _ in read for x in own], locked == "hold")
    chains = Chains(layout.bodies, (turned, np.zeros(3)))
    for joint, (_, moving) in zip(joints, read, strict=True):
        chains.add_joint(joint, coordinates.motions(joint, moving))
        if len(chains.links) > MOST_JOINTS:
            joint.element.fail(f"more than {MOST_JOINTS} moving axes")
    notes = _describe(joints, read, coordinates, axes)
    chains.add_inertias({name: read_inertia(x) for name, x in layout.bodies.items()}, notes)
    notes += note_unread(model, layout, coordinates)
    name = model.attributes.get("name", "").strip() or os.path.basename(document.path)
    gravity = turned @ read_numbers(model, "gravity", 3, GRAVITY)
    if functions == "smooth":
        chains.couplings, refits = refit_couplings(chains.couplings)
        notes += refits
    try:
        builder = ModelBuilder(name[:200], gravity)
        add_links(builder, model, chains, coordinates, notes)
        add_frames(builder, model, layout, chains, notes)
        return builder.build(notes=notes)
    except (ModelError, InputError) as error:
        raise FileError(f"{document.path}: {error}") from None


def _describe(
    joints: list[Connection],
    read: list[tuple[list[Coordinate], list[Axis]]],
    coordinates: Coordinates,
    axes: str,
) -> list[str]:
    """Notes on coordinates and joints."""
    notes = []
    if axes != AXES:
        notes.append(f"axes rotated: x, y, z of the model are {axes!r} of the file")
    every = coordinates.all.values()
    if coordinates.held:
        held = [f"{name} = {coordinates.all[name].default:.6g}" for name in coordinates.held]
        notes.append(f"locked, held at their default values: {', '.join(held)}")
    if free := [x.name for x in every if x.locked and x.name not in coordinates.held]:
        notes.append(f"locked in the file, free here: {', '.join(free)}")
    for name in coordinates.all:
        source, _ = coordinates.drive(name)
        if source is not None and source != name:
            notes.append(f"coordinate {name!r} depends on {source!r}")
        elif source is not None and name not in coordinates.moved:
            notes.append(f"coordinate {name!r} moves nothing: ignored")
    defaults = [f"{x.name} {x.default:.6g}" for x in every if x.default and not x.locked]
    if defaults:
        notes.append(f"default values, not used (rad or m): {', '.join(defaults)}; others are 0")
    if loose := [x.name for x in every if not x.clamped and x.name in coordinates.moved]:
        notes.append(f"ranges are limits here, but not enforced by the file: {', '.join(loose)}")
    if free := [x.name for x in joints if x.element.tag in ("BallJoint", "FreeJoint")]:
        notes.append(
            f"speeds and torques of joints {', '.join(free)} belong to the derivatives of their "
            "angles, in OpenSim to components of the angular velocity"
        )
    return notes
