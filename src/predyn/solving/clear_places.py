"""Which pairs are kept apart at which instants: those that are near, and where a proof failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.collision.certificate import Certificate
from predyn.collision.checker import Checker
from predyn.curves.bspline import BSpline
from predyn.solution import Curve
from predyn.solving.clearance_rows import Places

Floats = NDArray[np.float64]
FEW, MANY = 3, 5  # instants per segment
DENSE = 15  # instants per segment among which minima of distances are found
ALIKE, MOST = 2, 5  # pairs at an instant, the nearest: of the same two bodies, and of all
NEAR = 0.01  # m beyond the margin; nearer pairs get rows after a proof failed
ROUNDING = 1e-9  # of the times of a certificate


def near_places(
    checkers: Sequence[Checker],
    curves: Sequence[Curve],
    near: float,
    least: float,
    instants: int = FEW,
) -> Places:
    """Pairs nearer than `near`, to be at least `least` apart, at a few instants of each segment.

    checkers, curves  one of each phase
    """
    found = Places.none()
    for p, s in _instants(curves, instants):
        kinds = _kinds(checkers[p])
        distance = _distances(checkers[p], curves[p], s)
        at: list[int] = []
        pairs: list[int] = []
        for k in np.flatnonzero((distance < near).any(axis=1)):
            chosen = _nearest(distance[k], near, kinds)
            pairs += chosen
            at += [int(k)] * len(chosen)
        found = found.with_more(_places(p, s[at], np.array(pairs, np.int64), least))
    return found


def _nearest(distance: Floats, near: float, kinds: list[tuple[str, str]]) -> list[int]:
    """The nearest pairs at an instant: many capsules of one link may be near one obstacle."""
    chosen: list[int] = []
    alike: Counter[tuple[str, str]] = Counter()
    for pair in np.argsort(distance, kind="stable").tolist():
        if distance[pair] >= near or len(chosen) == MOST:
            break
        if alike[kinds[pair]] < ALIKE:
            alike[kinds[pair]] += 1
            chosen.append(pair)
    return chosen


def _kinds(checker: Checker) -> list[tuple[str, str]]:
    """Of each pair, the bodies that its capsules belong to."""
    owner = {body.name: body.owner for body in checker.bodies}
    return [(owner[one], owner.get(other, other)) for one, other in checker.pairs]


def failed_places(
    checkers: Sequence[Checker],
    curves: Sequence[Curve],
    certificate: Certificate,
    margin: float,
    spare: float,
) -> Places:
    """Near pairs where their distance is least, and the pair that was not proved where it was not.

    Rows between these instants follow in later rounds if a proof fails there.
    """
    found = near_places(checkers, curves, margin + NEAR, margin + spare)
    for p, s in _instants(curves, DENSE):
        distance = _distances(checkers[p], curves[p], s)
        before, at, after = distance[:-2], distance[1:-1], distance[2:]
        k, pair = np.nonzero((at <= before) & (at <= after) & (at < margin + NEAR))
        found = found.with_more(_places(p, s[k + 1], pair, margin + spare))
    if certificate.pair is not None:
        begin = 0.0
        for p, (checker, curve) in enumerate(zip(checkers, curves, strict=True)):
            share = (certificate.time - begin) / curve.duration
            begin += curve.duration
            # at the instant between two phases, the pair may be one of either
            if -ROUNDING <= share <= 1.0 + ROUNDING and certificate.pair in checker.pairs:
                number = np.array([checker.pairs.index(certificate.pair)])
                there = np.array([min(max(share, 0.0), 1.0)])
                found = found.with_more(_places(p, there, number, margin + spare))
    return found


def most_distances(
    checkers: Sequence[Checker], curves: Sequence[Curve], margin: float
) -> list[Floats]:
    """Of each phase (3, pairs): what rows may ask for near its start, near its end and anywhere.

    A goal, or two bodies that no joint separates, may leave hardly more than the margin; rows that
    ask for more cannot be met. What the given motion has beyond the margin, at its ends and at
    most, is halved. Where it is not clear, it is no measure.
    """
    found = []
    for p, s in _instants(curves, FEW):
        distance = _distances(checkers[p], curves[p], s)
        most = np.stack([distance[0], distance[-1], distance.max(axis=0)])
        found.append(np.where(most > margin, margin + 0.5 * (most - margin), np.inf))
    return found


def least_distance(checkers: Sequence[Checker], curves: Sequence[Curve]) -> float:
    """m, over all pairs at samples of the motion."""
    samples = [_distances(checkers[p], curves[p], s) for p, s in _instants(curves, DENSE)]
    return min(float(d.min(initial=np.inf)) for d in samples)


def _instants(curves: Sequence[Curve], per_segment: int) -> Iterator[tuple[int, Floats]]:
    for p, curve in enumerate(curves):
        breaks = BSpline(curve.degree, curve.knots).breaks
        share = np.arange(per_segment) / per_segment
        yield p, np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * share).ravel(), 1.0)


def _distances(checker: Checker, curve: Curve, s: Floats) -> Floats:
    (q,) = BSpline(curve.degree, curve.knots).evaluate(curve.control, s, 1.0, 0)
    return checker.distances(q)


def _places(p: int, s: Floats, pair: NDArray[np.int64], least: float) -> Places:
    return Places(np.full(len(s), p), s, pair, np.full(len(s), least))
