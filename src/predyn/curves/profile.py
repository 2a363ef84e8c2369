"""A given curve over time, defined by points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Profile:
    """A smooth curve through values (K, m) at times (K,) that never overshoots.

    over  "time": times are seconds since the start of the phase; "phase": times are fractions of
          the phase, from 0 to 1, whatever its duration

    Between the points it is the monotone cubic (PCHIP); before the first and after the last point
    it is constant.
    """

    times: ArrayLike
    values: ArrayLike
    over: Literal["time", "phase"] = "time"

    def at(self, t: ArrayLike) -> Floats:
        """Values (..., m) at times t (...), in the unit of `times`."""
        points = np.asarray(self.times, float)
        return np.asarray(self._curve(np.clip(np.asarray(t, float), points[0], points[-1])))

    @cached_property
    def _curve(self):  # type: ignore[no-untyped-def]
        from scipy.interpolate import PchipInterpolator

        return PchipInterpolator(np.asarray(self.times, float), np.asarray(self.values, float))

    def check(self, what: str, size: int) -> None:
        """Raise an InputError if the profile is not valid or does not have `size` components."""
        try:
            t, y = np.asarray(self.times), np.asarray(self.values)
            numeric = t.dtype.kind in "fiu" and y.dtype.kind in "fiu"
        except ValueError:
            numeric = False
        if not numeric or t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
            raise InputError(f"{what}: times: expected at least 2 finite, increasing numbers")
        if (np.diff(t) <= 0.0).any():
            raise InputError(f"{what}: times: expected increasing numbers, got {t.tolist()!r:.60}")
        if y.shape != (len(t), size) or not np.isfinite(y).all():
            raise InputError(
                f"{what}: values: expected finite numbers of shape ({len(t)}, {size}), one row "
                f"for each time, got shape {y.shape}"
            )
        if self.over not in ("time", "phase"):
            raise InputError(f"{what}: over: expected 'time' or 'phase', got {self.over!r:.40}")
        if self.over == "phase" and (t[0] < 0.0 or t[-1] > 1.0):
            raise InputError(f"{what}: times: expected fractions of the phase from 0 to 1")
