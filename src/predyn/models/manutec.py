"""The Manutec r3 industrial robot, three joints, wrist braked (DFVLR model 2)."""

from __future__ import annotations

import numpy as np

from predyn.model import Model
from predyn.model.builder import ModelBuilder


def manutec_r3(payload: float = 0.0) -> Model:
    """Manutec r3 with a point mass `payload` (kg, 0 to 15 in the sources) at frame "load".

    joint1 turns about the vertical z, joint2 and joint3 about x of their links; all angles are
    relative and zero with the arm straight up. Gravity (0, 0, -9.81). The base height and the
    offset of joint 2 do not enter the dynamics and are zero. The geared rotors are the constant
    rotor matrix: 14.3325, 57.33 and 4.68 kg m^2 on the diagonal, and 0.078 between joints 2 and 3
    (rotor 3 rides on arm 2). Efforts are those of 7.5 V: 945, 1890 and 540 N m. Of arm1 only
    Izz = 1.16 kg m^2 about the axis matters; Ixx = Iyy = 0.58 make it a valid body (a disc).

    Sources of the numbers: Otter, Tuerk 1988 (DFVLR model 2, corrected); Franke, Otter 1993 (DLR
    TR R101-93); von Stryk, Schlemmer 1994. Arm-3 inertia 5.41, 5.60, 0.39, 0.33 as in the model's
    equations; larger values found elsewhere are the first guess of an identification demo.
    """
    arm2 = np.array([[2.58, 0.0, -0.46], [0.0, 2.73, 0.0], [-0.46, 0.0, 0.64]])
    arm3 = np.array([[5.41, 0.0, 0.33], [0.0, 5.60, 0.0], [0.33, 0.0, 0.39]])
    x = (1.0, 0.0, 0.0)
    builder = (
        ModelBuilder("manutec_r3")
        .add_link("arm1", "world", "joint1", inertia=(0.58, 0.58, 1.16),
                  position=2.97, velocity=3.0, effort=945.0)
        .add_link("arm2", "arm1", "joint2", axis=x, mass=56.5, com=(0.172, 0.0, 0.205),
                  inertia=arm2, position=2.01, velocity=1.5, effort=1890.0)
        .add_link("arm3", "arm2", "joint3", axis=x, origin=(0.0, 0.0, 0.5), mass=60.3,
                  com=(0.028, 0.0, 0.202), inertia=arm3,
                  position=2.86, velocity=5.2, effort=540.0)
        .add_frame("load", "arm3", (0.0, 0.0, 0.98))
        .set_rotor([[14.3325, 0.0, 0.0], [0.0, 57.33, 0.078], [0.0, 0.078, 4.68]])
    )  # fmt: skip
    model = builder.build()
    return model.attach_payload("load", payload) if payload != 0.0 else model
