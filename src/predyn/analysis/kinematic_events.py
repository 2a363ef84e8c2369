"""Heel strikes and toe offs from the motion of the feet relative to the pelvis.

At heel strike the heel is farthest in front of the pelvis, at toe off the toe farthest behind it
(Zeni, Richards, Higginson 2008, Gait & Posture 27:710-714). Works on treadmills and over ground.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import find_peaks

from predyn.analysis.motions import Floats

PROMINENCE = 0.4  # of the range of the motion, of an extremum that counts
SHORTEST = 0.3  # m, range of the motion of a foot relative to the pelvis in walking
APART = 0.4  # s between two events of the same kind


def farthest(t: Floats, along: Floats) -> Floats:
    """Times at which a point is farthest along, one in each cycle; to second order in the step."""
    span = float(np.ptp(along))
    if not span > SHORTEST:
        return np.zeros(0)
    step = float(np.median(np.diff(t)))
    peaks, _ = find_peaks(along, prominence=PROMINENCE * span, distance=max(1, round(APART / step)))
    times = []
    for k in peaks:
        slope, bend = np.polyfit(t[k - 1 : k + 2] - t[k], along[k - 1 : k + 2], 2)[1::-1]
        times.append(t[k] - 0.5 * slope / bend if bend < 0.0 else t[k])
    return np.array(times)


def strikes_and_offs(t: Floats, heel: Floats, toe: Floats) -> tuple[Floats, Floats]:
    """Times of heel strike and toe off, from how far heel and toe are in front of the pelvis."""
    return farthest(t, heel), farthest(t, -toe)
