"""A predicted lift, solved once in each process."""

from functools import cache

import predyn
from predyn.movements import human_lift_box
from predyn.solution import Solution


@cache
def predicted_lift() -> Solution:
    """A box is lifted onto a shelf of 0.8 m."""
    problem = human_lift_box(shelf_height=0.8, steps=12, duration=2.0)
    return predyn.solve(problem, verbose=False).check()
