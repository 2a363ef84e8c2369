"""A text description of the transcription method."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from predyn.solution import Solution
from predyn.solution.evaluation import passive_joints

SHOOTING = {
    "multiple": "separately in each segment, and the segments are joined (multiple shooting)",
    "single": "from start to end (single shooting)",
}


def method_words(solution: Solution) -> str:
    """What the curves are, from what the solution recorded of it; empty if it recorded nothing."""
    kind, options = _recorded(solution.provenance.get("transcription", ""))
    degree, steps = options.get("degree"), options.get("steps")
    if not isinstance(degree, int):
        return ""
    passive = ", ".join(passive_joints(solution))
    how = SHOOTING.get(options.get("shooting", ""))
    if kind == "Hybrid" and passive and how and isinstance(steps, int) and steps > 0:
        curves = _splines(solution, degree, steps)
        return (
            f"Method hybrid: the driven joints follow {curves}; those without a motor ({passive}) "
            f"are integrated by the fourth-order Runge-Kutta method, {steps} steps per segment, "
            f"{how}."
        )
    if kind == "Dmoc":
        order = options.get("order", 2)
        counts = ", ".join(str(len(np.unique(c.knots)) - 1) for c in solution.curves)
        return (
            f"Method dmoc: discrete mechanics of order {order}; positions are unknowns at nodes "
            f"({counts} intervals). Between the nodes, curves are cubic splines through them, "
            "which no equation of motion determines."
        )
    if kind != "Spline":
        return ""
    curves = _splines(solution, degree, 1)
    if passive:
        return (
            f"Method spline: all joints follow {curves}; the torque of those without a motor "
            f"({passive}) is zero at chosen points (collocation)."
        )
    return f"Method spline: all joints follow {curves}."


def _splines(solution: Solution, degree: int, pieces: int) -> str:
    """The splines in words; each segment is so many polynomial pieces of the curves."""
    counts = [(len(np.unique(np.clip(c.knots, 0.0, 1.0))) - 1) // pieces for c in solution.curves]
    return f"B-splines of degree {degree} with {', '.join(map(str, counts))} segments"


def _recorded(text: str) -> tuple[str, dict[str, Any]]:
    """Name and options of a recorded Spline(...) or Hybrid(...)."""
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            options = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
            return call.func.id, options
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    return "", {}
