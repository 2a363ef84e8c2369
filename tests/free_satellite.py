"""A satellite: an arm of three joints on a free base, as a model with a floating base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predyn import Model, ModelBuilder

BASE: dict = {"mass": 8.0, "com": (0.05, 0.0, 0.02), "inertia": (0.5, 0.7, 0.9)}
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ARM: list[dict] = [
    {"axis": Z, "origin": (0.4, 0.0, 0.1), "mass": 1.5, "com": (0.2, 0.0, 0.03),
     "inertia": (0.004, 0.03, 0.03)},
    {"axis": Y, "origin": (0.4, 0.0, 0.0), "mass": 1.2, "com": (0.2, 0.02, 0.0),
     "inertia": (0.003, 0.025, 0.025)},
    {"axis": X, "origin": (0.35, 0.0, 0.0), "mass": 0.8, "com": (0.1, 0.1, 0.0),
     "inertia": (0.006, 0.004, 0.008)},
]  # fmt: skip
START = np.array([0, 0, 0, 0, 0, 0, 0.3, 0.5, -0.4])
RATES = np.array([0.1, 0, 0, 0.7, -0.6, 0.9, 0.5, -0.8, 1.1])


def satellite(
    gravity: Sequence[float] = (0.0, 0.0, 0.0),
    hinges: Sequence[tuple[float, float, float]] = (Z, Y, X),
    offset: Sequence[float] = (0.0, 0.0, 0.0),
    **joint: float,
) -> Model:
    """hinges: axes of the base's hinges; offset: of each from the one before; joint: of the arm."""
    builder = ModelBuilder("satellite", gravity)
    at = "world"
    for k, axis in enumerate((X, Y, Z, *hinges)):
        kind, place = ("prismatic", (0.0, 0.0, 0.0)) if k < 3 else ("revolute", offset)
        link = {} if k < 5 else BASE
        builder.add_link(f"base{k}", at, f"base{k}", kind, axis=axis, origin=place, **link)
        at = f"base{k}"
    for k, link in enumerate(ARM):
        builder.add_link(f"arm{k}", at, f"joint{k}", **link, **joint)
        at = f"arm{k}"
    return builder.build()
