"""Stages of a solve among obstacles: a path is planned, timed, and improved."""

from __future__ import annotations

from dataclasses import dataclass

from predyn.solution.parts import Curve

STAGES = ("plan", "time", "improve")


@dataclass(frozen=True, eq=False)
class Stage:
    """What one stage found; numbers that it does not have are NaN.

    name       "plan", "time" or "improve"
    seconds    of computation
    duration   s, of the motion
    energy     in the unit of the objective's energy term, without its weight
    objective  of the whole problem
    clearance  m, the smallest distance that its certificate found
    motion     curves by phase, to compare; the parameter of a planned path is not a time
    """

    name: str
    status: str
    seconds: float
    duration: float = float("nan")
    energy: float = float("nan")
    objective: float = float("nan")
    clearance: float = float("nan")
    message: str = ""
    motion: tuple[Curve, ...] | None = None
