"""What was found: the motion and everything needed to judge, plot, store and continue it."""

from predyn.solution.solution import (
    MOST_LISTED,
    ROUNDING,
    SUCCESS,
    Curve,
    Floats,
    SignalCurves,
    Solution,
    Violation,
)

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
