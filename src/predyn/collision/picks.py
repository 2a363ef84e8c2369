"""Small choices that the distance functions share, for lanes as for plain numbers."""

from __future__ import annotations

from predyn.kernels.lane_choices import choose, greatest, least
from predyn.kernels.lanes import jit


@jit
def clamp(x, low, high):
    """x, but not below `low` or above `high`; `low` if x is NaN."""
    return least(greatest(x, low), high)


@jit
def pick3(x, y, below, otherwise):
    """The vector `below` where x < y, else `otherwise`."""
    return (
        choose(x, y, below[0], otherwise[0]),
        choose(x, y, below[1], otherwise[1]),
        choose(x, y, below[2], otherwise[2]),
    )


@jit
def farther(found, other):
    """The (separation, normal, t) with the larger separation; the first if they are equal."""
    x, y = found[0], other[0]
    return choose(x, y, y, x), pick3(x, y, other[1], found[1]), choose(x, y, other[2], found[2])


@jit
def lower_end(rise):
    """Parameter of the end of a segment that is lower, from its rise; 0.5 if neither is."""
    zero = 0.0 * rise
    return choose(rise, 0.0, zero + 1.0, choose(0.0, rise, zero, zero + 0.5))
