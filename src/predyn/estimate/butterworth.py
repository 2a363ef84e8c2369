"""The usual way, for comparison: low-pass filter, differentiate twice, inverse dynamics.

By default the cut-off comes from the residuals (Winter, Biomechanics and Motor Control of Human
Movement): what the filter takes off falls with the cut-off along a straight line once only noise is
left; that line, followed back to zero, says how much of it is noise, and the cut-off is where the
filter takes off just that.
"""

from __future__ import annotations

import numpy as np

from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import InputError
from predyn.estimate.driving import acting, push
from predyn.estimate.result import Filtered
from predyn.estimate.spline_grid import Floats
from predyn.model import Model
from predyn.recordings.low_pass import butterworth as butterworth
from predyn.recordings.measurements import Measurements

SLOWEST, TRIED = 1.0, 40  # Hz
LOWEST, HIGHEST = 0.1, 0.49  # of a given cut-off: over the length, and times the rate of samples


def residual_cutoff(t: Floats, values: Floats) -> float:
    """The cut-off (Hz) by residual analysis, the middle one of the columns."""
    nyquist = 0.5 * (len(t) - 1) / (t[-1] - t[0])
    tried = np.geomspace(min(SLOWEST, 0.1 * nyquist), 0.75 * nyquist, TRIED)
    left = np.array([np.std(values - butterworth(t, values, f), axis=0) for f in tried])
    high = tried > 0.5 * tried[-1]
    cutoffs = []
    for column in left.T:
        slope, noise = np.polyfit(tried[high], column[high], 1)
        below = np.flatnonzero(column <= noise) if slope < 0.0 else np.zeros(0, int)
        if len(below):
            cutoffs.append(tried[below[0]])
    return float(np.median(cutoffs)) if cutoffs else float(tried[len(tried) // 2])


def filtered(
    model: Model,
    t: Floats,
    q: Floats,
    measurements: Measurements,
    links: dict[str, str],
    cutoff: float | None,
) -> Filtered:
    """Torques at nodes t (K + 1,) by the usual way from raw joint positions q (K + 1, n)."""
    length = float(t[-1] - t[0])
    low, high = LOWEST / length, HIGHEST * (len(t) - 1) / length
    if cutoff is not None and not low <= cutoff <= high:
        raise InputError(
            f"cutoff: expected from {low:.3g} to {high:.3g} Hz (0.1 / length of the recording to "
            f"0.49 / step of the grid), got {cutoff:.6g}"
        )
    chosen = residual_cutoff(t, q) if cutoff is None else cutoff
    smooth = butterworth(t, q, chosen)
    step = float(t[1] - t[0])
    v = np.gradient(smooth, step, axis=0, edge_order=2)
    a = np.gradient(v, step, axis=0, edge_order=2)
    pushes = [push(t, link, measurements.forces[name]) for name, link in links.items()]
    tau = inverse_dynamics(model, smooth, v, a, forces=acting(model, pushes, smooth))
    return Filtered(chosen, t, smooth, v, a, tau)
