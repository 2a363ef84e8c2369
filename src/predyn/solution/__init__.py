"""What was found: the motion and everything needed to judge, plot, store and continue it."""

from predyn.solution.parts import (
    MOST_LISTED,
    ROUNDING,
    SUCCESS,
    Curve,
    Floats,
    SignalCurves,
    Violation,
)
from predyn.solution.solution import Solution

__all__ = [
    "MOST_LISTED",
    "ROUNDING",
    "SUCCESS",
    "Curve",
    "Floats",
    "SignalCurves",
    "Solution",
    "Violation",
]
