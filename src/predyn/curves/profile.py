"""A given curve over time, defined by points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Profile:
    """A smooth curve through values (K, m) at times (K,) that never overshoots.

    over  "time": times are seconds since the start of the phase; "phase": times are fractions of
          the phase, from 0 to 1, whatever its duration

    Between the points it is the monotone cubic (PCHIP); before the first and after the last point
    it is constant. A prediction integrates over each piece of the curve, unless there are more than
    4 points per segment of the motion: such a curve, for example a recording, is only evaluated at
    the instants that the segments give.
    """

    times: ArrayLike
    values: ArrayLike
    over: Literal["time", "phase"] = "time"

    def at(self, t: ArrayLike) -> Floats:
        """Values (..., m) at times t (...), in the unit of `times`."""
        points = np.asarray(self.times, float)
        return np.asarray(self._curve(np.clip(np.asarray(t, float), points[0], points[-1])))

    @cached_property
    def _curve(self) -> PchipInterpolator:
        from scipy.interpolate import PchipInterpolator

        return PchipInterpolator(np.asarray(self.times, float), np.asarray(self.values, float))

    def check(self, what: str, size: int) -> None:
        """Raise an InputError if the profile is not valid or does not have `size` components."""
        t, y = (_numbers(x) for x in (self.times, self.values))
        if t is None or t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
            raise InputError(f"{what}: times: expected at least 2 finite, increasing numbers")
        if (np.diff(t) <= 0.0).any():
            raise InputError(f"{what}: times: expected increasing numbers, got {t.tolist()!r:.60}")
        if y is None or y.shape != (len(t), size) or not np.isfinite(y).all():
            got = "no numbers" if y is None else f"shape {y.shape}"
            if y is not None and y.shape == (len(t), size):
                got = "numbers that are not finite"
            raise InputError(
                f"{what}: values: expected finite numbers of shape ({len(t)}, {size}), one row "
                f"for each time, got {got}"
            )
        if self.over not in ("time", "phase"):
            raise InputError(f"{what}: over: expected 'time' or 'phase', got {self.over!r:.40}")
        if self.over == "phase" and (t[0] < 0.0 or t[-1] > 1.0):
            raise InputError(f"{what}: times: expected fractions of the phase from 0 to 1")


def _numbers(values: ArrayLike) -> Floats | None:
    """An array of real numbers, None if it is none."""
    try:
        array = np.asarray(values)
    except ValueError:
        return None
    return array.astype(float) if array.dtype.kind in "fiu" else None
