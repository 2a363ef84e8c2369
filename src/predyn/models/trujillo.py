"""The two-link mechanism of Trujillo (2006), whose torques are estimated from its motion."""

from __future__ import annotations

from predyn.model import Model
from predyn.model.builder import ModelBuilder

MASS, INERTIA, LENGTH = (1.0, 0.2), (0.04, 0.017), (0.7, 1.0)  # kg, kg m^2, m
GRAVITY = 9.806  # m/s^2


def trujillo_two_link() -> Model:
    """Two revolute joints in the vertical x-y plane; frames "end1", "end2" at the links' ends.

    Trujillo 2006, section 4: centres of mass in the middle of the links, inertias Izz about them.
    q1 is measured from x (-pi/2 hangs, pi/2 stands upright), q2 relative to link1. The paper gives
    no inertia out of the plane; here Iyy = Izz and Ixx = 0, a thin rod, so that the body is valid.
    This does not affect motion in the plane.
    """
    builder = ModelBuilder("trujillo_two_link", (0.0, -GRAVITY, 0.0))
    before, along = "world", 0.0
    for i, (m, inertia, L) in enumerate(zip(MASS, INERTIA, LENGTH, strict=True), start=1):
        builder.add_link(
            f"link{i}",
            before,
            f"joint{i}",
            origin=(along, 0.0, 0.0),
            mass=m,
            com=(L / 2, 0.0, 0.0),
            inertia=(0.0, inertia, inertia),
        ).add_frame(f"end{i}", f"link{i}", (L, 0.0, 0.0))
        before, along = f"link{i}", L
    return builder.build()
