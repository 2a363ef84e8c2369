"""What was measured of a motion: joint angles, markers, forces, over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredForce:
    """A force that the surroundings exert on a link, as a force plate reports it; world axes."""

    t: Floats  # (P,) s
    force: Floats  # (P, 3) N
    point: Floats  # (P, 3) m, centre of pressure
    moment: Floats  # (P, 3) N m about that point


@dataclass(frozen=True, eq=False)
class Measurements:
    """A recording: times, joint angles, markers and forces; NaN = missing."""

    t: Floats
    angles: Mapping[str, Floats] = field(default_factory=dict)
    markers: Mapping[str, Floats] = field(default_factory=dict)
    forces: Mapping[str, MeasuredForce] = field(default_factory=dict)
    source: str = ""
    notes: tuple[str, ...] = ()
