"""Poses of obstacles on given paths, in kernels and in batches."""

from __future__ import annotations

import numpy as np

from predyn.collision.view import Floats, Keys, View
from predyn.kernels.lanes import jit
from predyn.kernels.spatial import add, apply, cross, dot, scale
from predyn.model.parts import turn


@jit
def _segment(keys, slot, t):
    """(key before t, fraction of the way to the next)."""
    first, last = keys.first[slot], keys.first[slot + 1] - 1
    if t <= keys.time[first]:
        return first, 0.0
    if t >= keys.time[last]:
        return last - 1, 1.0
    low, high = first, last
    while high - low > 1:
        middle = (low + high) // 2
        if keys.time[middle] <= t:
            low = middle
        else:
            high = middle
    return low, (t - keys.time[low]) / (keys.time[high] - keys.time[low])


@jit
def travel(keys, slot, t):
    """Bound on the way of any point of the obstacle from its first key to time t, m."""
    k, x = _segment(keys, slot, t)
    return keys.travel[k] + x * (keys.travel[k + 1] - keys.travel[k])


@jit
def _turned(axis, angle, v):
    """Rodrigues' formula."""
    s, c = np.sin(angle), np.cos(angle)
    return add(add(scale(c, v), scale(s, cross(axis, v))), scale((1.0 - c) * dot(axis, v), axis))


@jit
def key_pose(keys, slot, t):
    """Axes and origin of a moving obstacle at time t."""
    k, x = _segment(keys, slot, t)
    R = (
        (keys.R[k, 0, 0], keys.R[k, 1, 0], keys.R[k, 2, 0]),
        (keys.R[k, 0, 1], keys.R[k, 1, 1], keys.R[k, 2, 1]),
        (keys.R[k, 0, 2], keys.R[k, 1, 2], keys.R[k, 2, 2]),
    )
    p = (
        keys.p[k, 0] + x * (keys.p[k + 1, 0] - keys.p[k, 0]),
        keys.p[k, 1] + x * (keys.p[k + 1, 1] - keys.p[k, 1]),
        keys.p[k, 2] + x * (keys.p[k + 1, 2] - keys.p[k, 2]),
    )
    axis, angle = (keys.axis[k, 0], keys.axis[k, 1], keys.axis[k, 2]), x * keys.angle[k]
    X = apply(R, _turned(axis, angle, (1.0, 0.0, 0.0)))
    Y = apply(R, _turned(axis, angle, (0.0, 1.0, 0.0)))
    Z = apply(R, _turned(axis, angle, (0.0, 0.0, 1.0)))
    return (X, Y, Z), p


def poses_at(view: View, t: Floats) -> Floats:
    """(..., 12 M): axes X, Y, Z and origin of each moving obstacle at times t (...)."""
    keys: Keys = view.keys
    columns = []
    for slot in range(len(keys.first) - 1):
        span = slice(keys.first[slot], keys.first[slot + 1])
        times = keys.time[span]
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        x = np.clip((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0)
        p = keys.p[span][k] + x[..., None] * (keys.p[span][k + 1] - keys.p[span][k])
        turns = turn(keys.axis[span][k.ravel()], (x * keys.angle[span][k]).ravel())
        R = keys.R[span][k] @ turns.reshape(*k.shape, 3, 3)
        axes = np.swapaxes(R, -1, -2).reshape(*k.shape, 9)
        columns.append(np.concatenate([axes, p], axis=-1))
    return np.concatenate([np.zeros((*np.shape(t), 0)), *columns], axis=-1)


def twists_at(view: View, t: Floats) -> Floats:
    """(..., 6 M): angular velocity (rad/s) and velocity of the origin (m/s) of each moving obstacle
    at times t (...), in the world; at a key, those of the way ahead."""
    keys: Keys = view.keys
    columns = []
    for slot in range(len(keys.first) - 1):
        span = slice(keys.first[slot], keys.first[slot + 1])
        times = keys.time[span]
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        moves = ((t >= times[0]) & (t < times[-1]))[..., None]
        step = (times[k + 1] - times[k])[..., None]
        axis = np.einsum("...ij,...j->...i", keys.R[span][k], keys.axis[span][k])
        spin = axis * (keys.angle[span][k][..., None] / step)
        speed = (keys.p[span][k + 1] - keys.p[span][k]) / step
        columns += [np.where(moves, x, 0.0) for x in (spin, speed)]
    return np.concatenate([np.zeros((*np.shape(t), 0)), *columns], axis=-1)
