"""Fewer triangles that look alike: points are welded in a fine grid, then edges are collapsed.

Edge collapse (Garland and Heckbert 1997, by fast_simplification) keeps the shape best, but halts or
goes astray at the many separate and folded pieces of real meshes. Welding the points that share a
cell of a grid (Rossignac and Borrel 1993) joins them first, and takes over where collapse halts.
"""

from __future__ import annotations

import threading

import numpy as np

from predyn.load.meshes import merged
from predyn.model.parts import Triangles

LOCK = threading.Lock()  # fast_simplification works in global variables
FINEST = 256  # cells along the longest side
ROOM = 4  # triangles that welding leaves to collapse, over the target
ASTRAY = 0.02  # of the longest side: more than this, and collapse has lost a piece
CARE = 4.0  # of collapse: 0 careful, 10 fast; chosen on 48 meshes of robots


def decimated(mesh: Triangles, most: int) -> Triangles:
    """At most `most` triangles, as float32 points and uint16 faces, in the same bounding box."""
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    extent = float((high - low).max()) or 1.0
    unit = Triangles((mesh.points - low) / extent, mesh.faces)  # the thresholds are absolute
    small = _collapse(_weld_to(unit, ROOM * most), most)
    astray = np.inf if len(small.faces) > most else _moved(unit, small)
    if astray > ASTRAY:
        welded = _weld_to(unit, most)
        small = welded if _moved(unit, welded) <= astray else small
    if len(small.faces) == 0:  # welded to a point
        small = Triangles(unit.points, unit.faces[:most])
    points = np.clip(small.points * extent + low, low, high)  # collapse may leave the box
    points, faces = merged(np.asarray(points, np.float32), small.faces)
    faces = np.asarray(faces, np.uint16)
    points.flags.writeable = faces.flags.writeable = False
    return Triangles(points, faces)


def _collapse(mesh: Triangles, most: int) -> Triangles:
    if len(mesh.faces) <= most:
        return mesh
    import fast_simplification

    faces = mesh.faces.astype(np.int32)
    with LOCK:
        small = fast_simplification.simplify(mesh.points, faces, target_count=most, agg=CARE)
    return Triangles(*small)


def _moved(before: Triangles, after: Triangles) -> float:
    """How far the sides of the bounding box have moved."""
    if len(after.faces) == 0:
        return np.inf
    old, new = before.points[before.faces], after.points[after.faces]
    low, high = new.min((0, 1)) - old.min((0, 1)), new.max((0, 1)) - old.max((0, 1))
    return float(np.abs([low, high]).max())


def _weld_to(mesh: Triangles, most: int) -> Triangles:
    """Welded in coarser and coarser grids, one after another, until there are few enough."""
    cells = FINEST
    while len(mesh.faces) > most:
        mesh = _weld(mesh, cells)
        cells = cells * 7 // 8
    return mesh


def _weld(mesh: Triangles, cells: int) -> Triangles:
    """Points of one cell become their mean, and triangles with the same corners one."""
    numbers = np.clip((mesh.points * cells).astype(np.int64), 0, cells - 1)
    _, label = np.unique(numbers @ (cells**2, cells, 1), return_inverse=True)
    count = np.bincount(label)
    means = [np.bincount(label, x) / count for x in mesh.points.T]
    points, faces = merged(np.stack(means, axis=1), label[mesh.faces])
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T)
    repeats = (np.diff(corners[order], axis=0) == 0).all(axis=1)
    return Triangles(points, np.delete(faces, order[1:][repeats], axis=0))
