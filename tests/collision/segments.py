"""The distance functions on arrays of segments, in lanes and on plain numbers."""

from __future__ import annotations

import numpy as np

from predyn.collision.segment_box import segment_box
from predyn.collision.segment_cylinder import segment_cylinder
from predyn.collision.segment_planes import segment_half_space, segment_planes
from predyn.collision.segment_segment import segment_segment
from predyn.kernels.lanes import WIDTH, entry, store
from predyn.kernels.spatial import load3, store3


@entry
def boxes(a, u, size, planes, out):
    for i in range(a.shape[0]):
        h = load3(size, i, 0)
        d, n, t = segment_box(load3(a, i, 0), load3(u, i, 0), h)
        store(out, i, 0, d)
        store3(out, i, 1, n)
        store(out, i, 4, t)


@entry
def cylinders(a, u, size, planes, out):
    for i in range(a.shape[0]):
        h = load3(size, i, 0)
        d, n, t = segment_cylinder(load3(a, i, 0), load3(u, i, 0), h[0], h[2])
        store(out, i, 0, d)
        store3(out, i, 1, n)
        store(out, i, 4, t)


@entry
def capsules(a, u, size, planes, out):
    """About z, half length in column 2."""
    for i in range(a.shape[0]):
        h = load3(size, i, 0)
        zero = 0.0 * h[0]
        start, axis = (zero, zero, -h[2]), (zero, zero, 2.0 * h[2])
        d, n, t, _ = segment_segment(load3(a, i, 0), load3(u, i, 0), start, axis)
        store(out, i, 0, d)
        store3(out, i, 1, n)
        store(out, i, 4, t)


@entry
def half_spaces(a, u, size, planes, out):
    for i in range(a.shape[0]):
        d, n, t = segment_half_space(load3(a, i, 0), load3(u, i, 0))
        store(out, i, 0, d)
        store3(out, i, 1, n)
        store(out, i, 4, t)


@entry
def meshes(a, u, size, planes, out):
    for i in range(a.shape[0]):
        d, n, t = segment_planes(load3(a, i, 0), load3(u, i, 0), planes, 0, planes.shape[0])
        store(out, i, 0, d)
        store3(out, i, 1, n)
        store(out, i, 4, t)


def run(function, a, u, size, planes=None, lanes=True):
    """distance (B,), normal (B, 3), t (B,), of B segments with their obstacles' sizes (B, 3)."""
    planes = np.zeros((0, 4)) if planes is None else planes
    count = len(a)
    if lanes:
        rows = -(-count // WIDTH)
        fill = np.arange(rows * WIDTH) % count

        def packed(x):
            shaped = x[fill].reshape(rows, WIDTH, 3)
            return np.ascontiguousarray(shaped.transpose(0, 2, 1))

        out = np.empty((rows, 5, WIDTH))
        function(packed(a), packed(u), packed(size), planes, out)
        out = out.transpose(0, 2, 1).reshape(-1, 5)[:count]
    else:
        out = np.empty((count, 5))
        function(*(np.ascontiguousarray(x) for x in (a, u, size)), planes, out)
    return out[:, 0], out[:, 1:4], out[:, 4]
