"""What was found: the motion and everything needed to judge, plot, store and continue it."""

from predyn.solution.channel_names import ChannelInfo
from predyn.solution.parts import (
    CONVERGED,
    EXCEEDS,
    MOST_EXCESS,
    MOST_LISTED,
    NOT_CERTIFIED,
    ROUNDING,
    SUCCESS,
    Curve,
    Floats,
    SignalCurves,
    Violation,
)
from predyn.solution.solution import Solution
from predyn.solution.stages import Stage

__all__ = [
    "CONVERGED",
    "EXCEEDS",
    "MOST_EXCESS",
    "MOST_LISTED",
    "NOT_CERTIFIED",
    "ROUNDING",
    "SUCCESS",
    "ChannelInfo",
    "Curve",
    "Floats",
    "SignalCurves",
    "Solution",
    "Stage",
    "Violation",
]
