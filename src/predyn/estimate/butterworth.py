"""The usual way, for comparison: low-pass filter, differentiate twice, inverse dynamics.

The filter is a Butterworth of order 2 run forwards and backwards, so that nothing is delayed.
Unless told, its cut-off comes from the residuals (Winter, Biomechanics and Motor Control of Human
Movement): what the filter takes off falls with the cut-off along a straight line once only noise is
left; that line, followed back to zero, says how much of it is noise, and the cut-off is where the
filter takes off just that.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, filtfilt

from predyn.dynamics.rnea import inverse_dynamics
from predyn.estimate.driving import acting, push
from predyn.estimate.result import Filtered
from predyn.estimate.spline_grid import Floats
from predyn.measurements import Measurements
from predyn.model import Model

TWICE = 0.802  # (sqrt(2) - 1)^(1/4): two passes have their half-power point lower by this
TRIED = 40


def butterworth(t: Floats, values: Floats, cutoff: float) -> Floats:
    """Values (K, n) at equal steps in t, without what is faster than `cutoff` (Hz)."""
    nyquist = 0.5 * (len(t) - 1) / (t[-1] - t[0])
    b, a = butter(2, min(cutoff / TWICE / nyquist, 0.99))
    return np.asarray(
        filtfilt(b, a, values, axis=0, padlen=min(len(t) - 1, 3 * max(len(a), len(b))))
    )


def residual_cutoff(t: Floats, values: Floats) -> float:
    """The cut-off (Hz) by residual analysis, the middle one of the columns."""
    nyquist = 0.5 * (len(t) - 1) / (t[-1] - t[0])
    tried = np.linspace(nyquist / TRIED, 0.75 * nyquist, TRIED)
    left = np.array([np.std(values - butterworth(t, values, f), axis=0) for f in tried])
    high = tried > 0.5 * tried[-1]
    found = []
    for column in left.T:
        slope, noise = np.polyfit(tried[high], column[high], 1)
        below = np.flatnonzero(column <= noise) if slope < 0.0 else np.zeros(0, int)
        if len(below):
            found.append(tried[below[0]])
    return float(np.median(found)) if found else float(tried[len(tried) // 2])


def filtered(
    model: Model,
    t: Floats,
    q: Floats,
    measurements: Measurements,
    links: dict[str, str],
    cutoff: float | None,
) -> Filtered:
    """Torques at nodes t (K + 1,) by the usual way from raw joint positions q (K + 1, n)."""
    chosen = residual_cutoff(t, q) if cutoff is None else cutoff
    smooth = butterworth(t, q, chosen)
    step = float(t[1] - t[0])
    v = np.gradient(smooth, step, axis=0, edge_order=2)
    a = np.gradient(v, step, axis=0, edge_order=2)
    pushes = [push(t, link, measurements.forces[name]) for name, link in links.items()]
    tau = inverse_dynamics(model, smooth, v, a, forces=acting(model, pushes, smooth))
    return Filtered(chosen, t, smooth, v, a, tau)
