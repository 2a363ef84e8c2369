"""Planar chains of uniform rods."""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.errors import InputError
from predyn.model import Model
from predyn.model.builder import ModelBuilder

MOST = 1000  # joints of a ready-made model

# a uniform thin rod of 1 m and 1 kg along x
ROD: dict[str, Any] = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.0, 1 / 12, 1 / 12)}


def pendulum_chain(n: int) -> Model:
    """n uniform thin rods of 1 m and 1 kg, hinged one after the other in the x-y plane.

    Gravity (0, -9.81, 0), no friction, no limits; q1 is measured from x, the others relative to
    the previous rod. Links link1.., joints joint1.., frame "tip" at the end.
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= MOST:
        raise InputError(f"pendulum_chain: expected 1 to {MOST} links, got {n!r:.60}")
    builder = ModelBuilder(f"pendulum_chain_{n}", gravity=(0.0, -9.81, 0.0))
    for j in range(1, n + 1):
        builder.add_link(
            f"link{j}",
            f"link{j - 1}" if j > 1 else "world",
            f"joint{j}",
            origin=(1.0 if j > 1 else 0.0, 0.0, 0.0),
            **ROD,
        )
    return builder.add_frame("tip", f"link{n}", (1.0, 0.0, 0.0)).build()
