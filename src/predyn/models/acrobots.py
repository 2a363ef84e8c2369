"""Underactuated pendulums of Sohl and Bobrow (2001), with unit rods.

The paper gives no link parameters; these are uniform thin rods of 1 m and 1 kg (1/12 kg m^2 about
the centre of mass), gravity (0, -9.81, 0), in the x-y plane, without friction or limits.
"""

from __future__ import annotations

from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.models.chains import ROD

GRAVITY = (0.0, -9.81, 0.0)


def acrobot() -> Model:
    """Two rods; q1 = -pi/2 hangs and pi/2 stands upright, q2 = 0 is in line.

    Only joint2 is meant to be driven: which joints are active is part of a task, not of the model.
    """
    return (
        ModelBuilder("acrobot", GRAVITY)
        .add_link("link1", "world", "joint1", **ROD)
        .add_link("link2", "link1", "joint2", origin=(1.0, 0.0, 0.0), **ROD)
        .add_frame("tip", "link2", (1.0, 0.0, 0.0))
        .build()
    )


def branched_acrobot() -> Model:
    """A rod with two rods hinged at its end; q1 = -pi/2 hangs, q2 = q3 = 0 are in line with it.

    Frames "tip2" and "tip3" are at the ends of link2 and link3.
    """
    return (
        ModelBuilder("branched_acrobot", GRAVITY)
        .add_link("link1", "world", "joint1", **ROD)
        .add_link("link2", "link1", "joint2", origin=(1.0, 0.0, 0.0), **ROD)
        .add_link("link3", "link1", "joint3", origin=(1.0, 0.0, 0.0), **ROD)
        .add_frame("tip2", "link2", (1.0, 0.0, 0.0))
        .add_frame("tip3", "link3", (1.0, 0.0, 0.0))
        .build()
    )
