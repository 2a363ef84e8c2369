"""A smooth curve along a polyline: a cubic B-spline whose control points lie on it, proved.

The curve is on an edge wherever four successive control points are, and leaves it near corners
only, by less than the spacing. Where a piece is not proved, the spacing is halved on the edges
that it belongs to; in the limit the curve is the polyline, which is proved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certify_kernel import CERTIFIED
from predyn.collision.checker import Checker
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.solution import Curve

Floats = NDArray[np.float64]
DEGREE, FEWEST = 3, 2  # parts of an edge
ROUNDS = 12  # of halving: up to 4096 times as many control points on an edge
DEPTH = 20  # halvings of a piece


def spline_along(checker: Checker, path: Floats, margin: float) -> Curve | None:
    """The curve along a path (K, n), its parameter from 0 to 1; None if none was proved."""
    counts = np.full(len(path) - 1, FEWEST)
    if len(path) == 2:
        counts[:] = DEGREE
    for _ in range(ROUNDS):
        control, edge = _points_on(path, counts)
        spline = BSpline.clamped(DEGREE, len(control) - DEGREE)
        _, spans = bezier_spans(spline, control)
        failed = np.flatnonzero(~_are_proved(checker, spans, margin))
        if not len(failed):
            return Curve(DEGREE, spline.knots, control, 1.0)
        # piece k depends on the control points k to k + 3
        touched = np.unique(edge[np.minimum(failed[:, None] + np.arange(DEGREE), len(edge) - 1)])
        counts[touched] *= 2
    return None


def _points_on(path: Floats, counts: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Control points, and for each interval between them the edge it is on."""
    edge = np.repeat(np.arange(len(counts)), counts)
    share = np.concatenate([np.arange(count) / count for count in counts])[:, None]
    inner = path[edge] + share * (path[edge + 1] - path[edge])
    return np.concatenate([inner, path[-1:]]), edge


def _are_proved(checker: Checker, spans: Floats, margin: float) -> NDArray[np.bool_]:
    full, times = np.ascontiguousarray(checker.expand(spans)), np.array([[0.0, 1.0]])
    verdicts = [checker.check_spans(span[None], times, margin, DEPTH)[0] for span in full]
    return np.asarray(np.array(verdicts) == CERTIFIED)
