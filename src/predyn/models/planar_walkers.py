"""A person in the plane: trunk, two thighs, two shanks and two feet, on a floating base."""

from __future__ import annotations

import numpy as np

from predyn.model import Model
from predyn.model.builder import ModelBuilder

FORWARD, UP, TURN = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
ANKLE_TO_HEEL, ANKLE_TO_TOE = (-0.06, 0.0, -0.07), (0.15, 0.0, -0.07)
PLANAR_SHARE = 0.1  # of the moment of inertia, about axes that a planar motion does not turn about


def planar_walker() -> Model:
    """A man of 75 kg who walks in the x-z plane: 9 coordinates, z up.

    Coordinates: x and z of the hip (m), the angle of the trunk to the vertical, and hip, knee and
    ankle of the right and of the left leg (rad). Angles turn about -y, from z to x backwards: hip
    flexion and dorsiflexion are positive, knee flexion is negative. The base has no motor; contact
    points are the heel and the toe of each foot. Segment masses, lengths and inertias are those of
    de Leva (1996) for 1.75 m, with arms and head in the trunk.
    """
    builder = ModelBuilder("planar_walker", gravity=(0.0, 0.0, -9.81))
    builder.add_link("base_x", joint="x", kind="prismatic", axis=FORWARD)
    builder.add_link("base_z", "base_x", joint="z", kind="prismatic", axis=UP)
    builder.add_link(
        *("trunk", "base_z", "trunk"),
        axis=TURN,
        mass=45.21,
        com=(0.0, 0.0, 0.3322),
        inertia=_about_y(2.3474),
    )
    for side in ("right", "left"):
        _add_leg(builder, side)
    return builder.build()


def _add_leg(builder: ModelBuilder, side: str) -> None:
    thigh, shank, foot = (f"{side}_{part}" for part in ("thigh", "shank", "foot"))
    builder.add_link(
        *(thigh, "trunk", f"{side}_hip"),
        axis=TURN,
        mass=10.62,
        com=(0.0, 0.0, -0.1738),
        inertia=_about_y(0.2070),
        position=np.radians((-30.0, 120.0)).tolist(),
        effort=200.0,
    )
    builder.add_link(
        *(shank, thigh, f"{side}_knee"),
        axis=TURN,
        origin=(0.0, 0.0, -0.4244),
        mass=3.2475,
        com=(0.0, 0.0, -0.1945),
        inertia=_about_y(0.0385),
        position=np.radians((-135.0, 0.0)).tolist(),
        effort=200.0,
    )
    builder.add_link(
        *(foot, shank, f"{side}_ankle"),
        axis=TURN,
        origin=(0.0, 0.0, -0.4426),
        mass=1.0275,
        com=(0.0545, 0.0, -0.0350),
        inertia=_about_y(0.0042),
        position=np.radians((-50.0, 30.0)).tolist(),
        effort=150.0,
    )
    for point, place in (("heel", ANKLE_TO_HEEL), ("toe", ANKLE_TO_TOE)):
        builder.add_contact(f"{side}_{point}", foot, place, patch=f"{side}_sole")


def _about_y(moment: float) -> tuple[float, float, float]:
    """Principal moments of a segment; only that about y matters."""
    return moment, moment, PLANAR_SHARE * moment
