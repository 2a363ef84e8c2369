"""Contacts of a foot with the ground from the vertical force, by a threshold with hysteresis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from predyn.analysis.motions import Floats

RELEASE = 0.5  # of the threshold, below which a contact has ended
SHORTEST = 0.1  # s, of a contact
LIGHTEST = 0.1  # of body weight, of the largest force of a contact


class Contact(NamedTuple):
    """From heel strike to toe off, s; infinite where it began before or ended after the data."""

    start: float
    end: float


def force_contacts(t: Floats, vertical: Floats, threshold: float, weight: float) -> list[Contact]:
    """Contacts: from the force exceeding the threshold until it has fallen below half of that.

    Both ends are where the force crosses the threshold, by straight lines between the samples. A
    contact is left out if it is shorter than 0.1 s or its force stays below 10 % of body weight.
    """
    loaded = _with_hysteresis(vertical, threshold)
    edges = np.flatnonzero(np.diff(loaded.astype(np.int8)))
    starts = [int(k) + 1 for k in edges if loaded[k + 1]]
    ends = [int(k) for k in edges if loaded[k]]
    starts = [0, *starts] if loaded[0] else starts
    ends = [*ends, len(t) - 1] if loaded[-1] else ends
    contacts = []
    for first, last in zip(starts, ends, strict=True):
        cut = first == 0 or last == len(t) - 1  # may have lasted longer
        brief = t[last] - t[first] < SHORTEST and not cut
        if brief or vertical[first : last + 1].max() < LIGHTEST * weight:
            continue
        start = -np.inf if first == 0 else _crossing(t, vertical, first - 1, threshold)
        end = np.inf
        if last < len(t) - 1:
            above = first + int(np.flatnonzero(vertical[first : last + 1] > threshold)[-1])
            end = _crossing(t, vertical, above, threshold)
        contacts.append(Contact(start, end))
    return contacts


def _with_hysteresis(force: Floats, threshold: float) -> np.ndarray:
    """(K,) whether the last sample outside the range between both thresholds was above it."""
    decided = (force > threshold) | (force < RELEASE * threshold)
    last = np.maximum.accumulate(np.where(decided, np.arange(len(force)), -1))
    return np.where(last >= 0, force[np.maximum(last, 0)] > threshold, False)


def _crossing(t: Floats, force: Floats, k: int, level: float) -> float:
    """When a straight line from sample k to the next one has the level."""
    share = (level - force[k]) / (force[k + 1] - force[k])
    return float(t[k] + np.clip(share, 0.0, 1.0) * (t[k + 1] - t[k]))
