"""The L-curve: how well the data are met against how large the torques are, and its corner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class LCurve(NamedTuple):
    """Misfit and size of the torques for a series of weights; `corner` is an index or -1."""

    weights: Floats  # what multiplies the size in the sum that is minimised
    misfit: Floats
    size: Floats
    corner: int
