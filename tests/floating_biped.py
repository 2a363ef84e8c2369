"""A small biped on a floating base, for tests of ground forces."""

from __future__ import annotations

import numpy as np

from predyn.model import Model
from predyn.model.builder import ModelBuilder

X, Y, Z = np.eye(3)
BASE = (("tx", "prismatic", X), ("ty", "prismatic", Y), ("tz", "prismatic", Z),
        ("yaw", "revolute", Z), ("roll", "revolute", X), ("pitch", "revolute", -Y))  # fmt: skip


def floating_biped(height: float = 0.0) -> Model:
    """One foot is about 0.4 m behind the pelvis and the other as far ahead of it, 0.9 m below."""
    builder = ModelBuilder("biped", gravity=(0.0, 0.0, -9.81))
    parent = "world"
    for name, kind, axis in BASE:
        last = name == "pitch"
        body = {"mass": 30.0, "com": (0.02, 0.01, 0.2), "inertia": (2.0, 1.8, 0.9)} if last else {}
        origin = (0.1, -0.2, height) if parent == "world" else (0.0, 0.0, 0.0)
        builder.add_link(name, parent, name, kind, axis=axis, origin=origin, **body)
        parent = name
    for side, x, y in (("rear", -0.4, -0.1), ("front", 0.4, 0.1)):
        thigh = {"mass": 7.0, "com": (0.0, 0.0, -0.2), "inertia": (0.1, 0.1, 0.02)}
        shank = {"mass": 3.0, "com": (0.01, 0.0, -0.2), "inertia": (0.04, 0.04, 0.01)}
        foot = {"mass": 1.0, "com": (0.05, 0.0, -0.02), "inertia": (0.002, 0.004, 0.004)}
        builder.add_link(
            f"hip_{side}", "pitch", f"hip_{side}", axis=(0.2, 1.0, 0.1), origin=(x, y, 0.0), **thigh
        )
        shank |= {"stiffness": 3.0, "damping": 0.4}
        builder.add_link(
            f"knee_{side}", f"hip_{side}", f"knee_{side}", axis=Y, origin=(0, 0, -0.45), **shank
        )
        builder.add_link(
            f"ankle_{side}",
            f"knee_{side}",
            f"ankle_{side}",
            axis=X - Y,
            origin=(0, 0, -0.45),
            **foot,
        )
    builder.add_link("arm", "pitch", "arm", axis=(1.0, 0.3, -0.2), origin=(0.0, 0.2, 0.4), mass=4.0,
                     com=(0.0, 0.1, -0.3), inertia=(0.1, 0.1, 0.01))  # fmt: skip
    builder.add_frame("rear_sole", "ankle_rear", (0.1, 0.01, -0.08))
    return builder.build()
