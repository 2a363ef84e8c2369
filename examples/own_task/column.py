"""The distance of the gripper from an upright column, for task.toml."""

import numpy as np
from numpy.typing import NDArray

X, Y = 0.25, 0.0  # m


def distance(samples) -> NDArray:
    """(K,) in m. sqrt of a sum of squares, not hypot: derivatives come by complex steps."""
    x, y, _ = samples.frame("frame:gripper", "p")
    return np.sqrt((x - X) ** 2 + (y - Y) ** 2)
