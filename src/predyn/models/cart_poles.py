"""A pole that hangs on a cart, with the numbers of Kelly (2017)."""

from __future__ import annotations

from predyn.model import Model
from predyn.model.builder import ModelBuilder

CART, POLE, LENGTH = 1.0, 0.3, 0.5  # kg, kg, m
TRACK, FORCE = 2.0, 20.0  # m, N: plus and minus


def cart_pole() -> Model:
    """A cart that slides along x ("slide", m) and a pole that turns on it ("hinge", rad).

    Kelly 2017, "An introduction to trajectory optimization", SIAM Review 59(4), section 6: a cart
    of 1 kg, a point mass of 0.3 kg at the end of a massless pole of 0.5 m, the cart within 2 m and
    its force within 20 N; gravity (0, -9.81, 0), no friction. q2 is measured from x: -pi/2 hangs
    and pi/2 stands upright (the paper counts from hanging). Frame "tip" is at the point mass. Only
    the slide is meant to be driven: which joints are active is part of a task.
    """
    return (
        ModelBuilder("cart_pole", (0.0, -9.81, 0.0))
        .add_link(
            "cart",
            "world",
            "slide",
            kind="prismatic",
            axis=(1.0, 0.0, 0.0),
            mass=CART,
            position=TRACK,
            effort=FORCE,
        )
        .add_link("pole", "cart", "hinge", mass=POLE, com=(LENGTH, 0.0, 0.0))
        .add_frame("tip", "pole", (LENGTH, 0.0, 0.0))
        .build()
    )
