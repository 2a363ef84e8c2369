"""The two-link manipulators of Xiang, Arora, Abdel-Malek (2008) and Barman (2020)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from predyn.load.dh import DHRow, load_dh
from predyn.model import Model

LENGTH, MASS, INERTIA, EFFORT = 0.4, 0.5, 0.1, 10.0  # m, kg, kg m^2, N m or N


def two_link(gravity: ArrayLike = (0.0, -9.8062, 0.0)) -> Model:
    """Two revolute joints in the vertical x-y plane; frame "tip" at the end of link2.

    Xiang, Arora, Abdel-Malek 2008, Tables 1 and 2: both links 0.4 m, 0.5 kg, centre of mass in the
    middle, 0.1 kg m^2 about it (Izz), effort within 10 N m. q1 is measured from x, q2 relative.
    Example 1 of the paper has gravity (0, 0, 0), example 2 the default here. The paper gives no
    inertia out of the plane; here Iyy = Izz and Ixx = 0, a thin rod, so that the body is valid.
    This does not affect motion in the plane.
    """
    rod = DHRow(
        a=LENGTH,
        mass=MASS,
        com=(-LENGTH / 2, 0.0, 0.0),
        inertia=(0.0, INERTIA, INERTIA),
        effort=EFFORT,
    )
    return load_dh([rod, rod], gravity=gravity, name="two_link")


def prismatic_revolute(offset: float = math.pi / 2) -> Model:
    """A slide along world z that carries a revolute link, in the horizontal y-z plane.

    Barman 2020, Tables 4.3 and 4.4: 0.4 m, 0.5 kg, 0.1 kg m^2 about the centre of mass for each
    link, effort within 10 N and 10 N m. Gravity is zero, as the axes of the table lie in the plane
    that the text calls horizontal. The table's entry pi/2 for theta of row 2 is read as
    theta2 = q2 + pi/2; offset=0.0 gives the other reading, theta2 = q2. Likewise d1 = q1 + 0.4 m.
    Inertias out of the plane are those of thin rods and do not affect the motion.
    """
    slide = DHRow(
        theta=math.pi / 2,
        d=LENGTH,
        alpha=math.pi / 2,
        kind="prismatic",
        mass=MASS,
        com=(0.0, -LENGTH / 2, 0.0),
        inertia=(INERTIA, 0.0, INERTIA),
        effort=EFFORT,
    )
    rod = DHRow(
        theta=offset,
        a=LENGTH,
        mass=MASS,
        com=(-LENGTH / 2, 0.0, 0.0),
        inertia=(0.0, INERTIA, INERTIA),
        effort=EFFORT,
    )
    return load_dh([slide, rod], gravity=np.zeros(3), name="prismatic_revolute")
