"""Swing-ups of unit rods with known optima (data/swing_ups.json), as Problems."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import predyn
from predyn.problem import Cost, Hybrid, Phase, Problem, Spline, State
from predyn.terms import Effort, JointPosition, JointVelocity

KNOWN = json.loads((Path(__file__).parent / "data" / "swing_ups.json").read_text())["swing_ups"]
DURATION, PENALTY = 3.0, 1000.0
FREE = math.nan


def swing_up(
    name: str, transcription: Spline, start: float = -1.0, hard: bool = False, **changes: Any
) -> Problem:
    """Equation 83 of Sohl and Bobrow; hard: upright and at rest in the end as boundary values."""
    model = getattr(predyn.models, name)()
    legs = [0.0] * (model.n - 1)
    upright, rest = (math.pi / 2, 0.0) if hard else (FREE, FREE)
    first = (model.joint_names[0],)
    costs = [Cost(Effort(joints=model.joint_names[1:]), 0.5)]
    if not hard:
        top = JointPosition(joints=first, target=math.pi / 2)
        costs.append(Cost(top, PENALTY, at="end", loss="square", name="upright"))
        still = JointVelocity(joints=first)
        costs.append(Cost(still, PENALTY, at="end", loss="square", name="at rest"))
    phase = Phase(
        DURATION,
        State(q=[start, *legs], v=np.zeros(model.n)),
        State(q=[upright, *legs], v=[rest, *legs]),
    )
    return Problem(
        model,
        (phase,),
        costs=tuple(costs),
        transcription=transcription,
        passive=first,
        name=name,
        **changes,
    )


def fine_guess(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The best known motion, as a guess."""
    fine = KNOWN[name]["fine"]
    return np.array(fine["t"]) / DURATION, np.array(fine["q"]).T


def known_point(name: str, program: Any) -> np.ndarray:
    """Decision variables of single shooting at the known optimum of 20 segments."""
    (phase,) = program.phases
    control = np.zeros_like(phase.control)
    control[2:-2, 1:] = np.array(KNOWN[name]["control"]).T
    x = np.zeros(program.n)
    free = phase.columns >= 0
    x[phase.columns[free]] = control[free]
    return x


def hybrid(segments: int, steps: int = 10, **options: Any) -> Hybrid:
    return Hybrid(segments=segments, steps=steps, limit_points=1, **options)
