"""Squared path speeds from which the end of the path can be reached, and a feasible profile.

Unknowns are b_k = (ds/dt)^2 at the nodes of a grid. The rows of interval k touch b_k and b_{k+1}
only, so the set of b_k from which the rest of the path can be completed is an interval, and one
backward pass finds them all: the polygon of feasible pairs (b_k, b_{k+1}) with b_{k+1} in its set,
projected on b_k (Pham and Pham, A new approach to time-optimal path parameterization based on
reachability analysis, IEEE Transactions on Robotics 34, 2018). A forward pass then takes a
high b_{k+1} among those that each b_k allows.

Rows (N, M, 5) hold A, B, R, S and u of  A b_k + B b_{k+1} - R sqrt(b_k) - S sqrt(b_{k+1}) <= u
with R and S at least 0. They are scaled such that the distance from one limit to the other is 2.
Both passes leave the roots out: what they allow is a subset of what the rows allow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.kernels.kernel_cache import keeper
from predyn.kernels.lanes import shared

Floats = NDArray[np.float64]

kept = keeper(__file__)
CORNERS = 64  # of a polygon; each cut adds at most one
HIGH = 0.9  # place of a start between the lowest and the highest possible b


@shared
def cut_polygon(corners, count, spare, A, B, u):
    """The part of a convex polygon (count, 2) with A x + B y <= u; returns its number of corners.

    The result replaces `corners`; `spare` has the same shape.
    """
    outside = False
    for i in range(count):
        if A * corners[i, 0] + B * corners[i, 1] > u:
            outside = True
    if not outside:
        return count
    left = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        here = u - (A * corners[i, 0] + B * corners[i, 1])
        there = u - (A * corners[j, 0] + B * corners[j, 1])
        if here >= 0.0:
            spare[left, 0], spare[left, 1] = corners[i, 0], corners[i, 1]
            left += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            share = here / (here - there)
            spare[left, 0] = corners[i, 0] + share * (corners[j, 0] - corners[i, 0])
            spare[left, 1] = corners[i, 1] + share * (corners[j, 1] - corners[i, 1])
            left += 1
    for i in range(left):
        corners[i, 0], corners[i, 1] = spare[i, 0], spare[i, 1]
    return left


@kept
def backward_pass(rows, upper, margin, last, reach, corners, spare):
    """reach (N + 1, 2): lowest and highest b of each node; margin tightens the rows.

    Returns -1, or number k * M + r of the row that leaves nothing in interval k.
    """
    N, M = rows.shape[0], rows.shape[1]
    reach[N, 0] = reach[N, 1] = last
    for k in range(N - 1, -1, -1):
        low, high, top = reach[k + 1, 0], reach[k + 1, 1], upper[k] * (1.0 - margin)
        corners[0, 0], corners[0, 1] = 0.0, low
        corners[1, 0], corners[1, 1] = top, low
        corners[2, 0], corners[2, 1] = top, high
        corners[3, 0], corners[3, 1] = 0.0, high
        count = 4
        for r in range(M):
            A, B, u = rows[k, r, 0], rows[k, r, 1], rows[k, r, 4] - margin
            count = cut_polygon(corners, count, spare, A, B, u)
            if count == 0:
                return k * M + r
        low, high = corners[0, 0], corners[0, 0]
        for i in range(1, count):
            low, high = min(low, corners[i, 0]), max(high, corners[i, 0])
        reach[k, 0], reach[k, 1] = low, high
    return -1


@kept
def forward_pass(rows, margin, reach, b):
    """b (N + 1,) from b[0] on, high within the sets; False if one is not above 0.

    The last b is given. From the highest b of a set often only one b is possible next, so that the
    profile keeps away from them.
    """
    N, M = rows.shape[0], rows.shape[1]
    for k in range(N - 1):
        low, high = reach[k + 1, 0], reach[k + 1, 1]
        for r in range(M):
            B = rows[k, r, 1]
            rest = rows[k, r, 4] - margin - rows[k, r, 0] * b[k]
            if B > 0.0:
                high = min(high, rest / B)
            elif B < 0.0:
                low = max(low, rest / B)
        inner = reach[k + 1, 0] + HIGH * (reach[k + 1, 1] - reach[k + 1, 0])
        b[k + 1] = min(low + HIGH * max(high - low, 0.0), max(inner, 0.5 * (low + high)))
        if not b[k + 1] > 0.0:
            return False
    return True


class Reach(NamedTuple):
    """Sets (N + 1, 2) of squared speeds; blocked: interval and row that leave nothing, or None."""

    sets: Floats
    blocked: tuple[int, int] | None


def reachable(rows: Floats, upper: Floats, last: float, margin: float = 0.0) -> Reach:
    """The squared speeds from which the end can be reached with b = last there."""
    sets = np.empty((len(rows) + 1, 2))
    corners, spare = np.empty((2, rows.shape[1] + CORNERS, 2))
    found = int(backward_pass(rows, upper, margin, last, sets, corners, spare))
    return Reach(sets, None if found < 0 else divmod(found, rows.shape[1]))


def inner_profile(
    rows: Floats, upper: Floats, first: float, last: float, margins: tuple[float, ...]
) -> Floats | None:
    """Squared speeds that satisfy all rows by the first margin for which there are any."""
    for margin in margins:
        reach = reachable(rows, upper, last, margin)
        if reach.blocked is not None or not reach.sets[0, 0] <= first <= reach.sets[0, 1]:
            continue
        b = np.empty(len(upper))
        b[0], b[-1] = first, last
        if forward_pass(rows, margin, reach.sets, b):
            return b
    return None
