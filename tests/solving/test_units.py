"""The answer does not depend on units: one dimensionless task with other torques and durations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import predyn
from predyn import Constraint, Cost, Duration, Hybrid, ModelBuilder, Phase, Problem, Spline, State
from predyn.model import Limits, Model
from predyn.solution import Solution
from predyn.terms import (
    Effort,
    FrameAxis,
    FramePosition,
    FrameVelocity,
    MechanicalEnergy,
    Smoothness,
    TotalTime,
)

START, END = State(q=(0.1, 0.4), v=(0.0, 0.0)), State(q=(1.2, -0.6), v=(0.0, 0.0))
KINDS = (
    *("effort", "time", "phases", "free of limits", "passive", "hybrid", "energy", "jerk"),
    *("work", "friction", "reach"),
)
# N m for the first motor, whose limit is 20 times the unit, and s
UNITS = [(5e-8, 1.0), (1e-3, 1.0), (5e7, 1.0), (1.0, 1.4e-3), (1.0, 1.4e4), (3e4, 70.0)]


def arm(F: float, t: float, friction: float = 0.0) -> Model:
    """Two links; F and t are the units of torque and time, lengths stay."""
    builder = ModelBuilder("arm", gravity=(0.0, 0.0, -9.81 / t**2))
    unit = F * t**2
    for name, parent, m, length, stiffness in (
        ("upper", "world", 1.5, 0.4, 0.0),
        ("fore", "upper", 1.0, 0.3, 2.0),
    ):
        builder.add_link(
            name,
            parent,
            f"{name} joint",
            axis=(0.0, 1.0, 0.0),
            origin=(0.0 if parent == "world" else 0.4, 0.0, 0.0),
            mass=m * unit,
            com=(length / 2, 0.0, 0.0),
            inertia=(m * unit * length**2 / 12,) * 3,
            damping=0.1 * F * t,
            stiffness=stiffness * F,
            rest=0.2,
            coulomb=friction * F,
            coulomb_speed=0.02 / t,
        )
    builder.add_frame("tip", "fore", (0.3, 0.0, 0.0))
    return builder.build()


def task(kind: str, F: float, t: float) -> Problem:
    def sides(*sizes: float) -> np.ndarray:
        return np.outer(sizes, (-1.0, 1.0))

    limits = Limits(
        sides(3.0, 3.0), sides(4.0 / t, 5.0 / t), sides(np.inf, np.inf), sides(20.0 * F, 8.0 * F)
    )
    phases: tuple[Phase, ...] = (Phase(0.7 * t, START, END),)
    given: dict[str, Any] = {"costs": (Cost(Effort()),), "transcription": Spline(4, 12)}
    free = Duration(0.1 * t, 3.0 * t, t)
    if kind == "time":
        phases, given["costs"] = (Phase(free, START, END),), (Cost(TotalTime()),)
    elif kind == "phases":
        phases = (Phase(free, START, State(q=(0.5, 0.9))), Phase(free, State(), END))
        given["costs"] = (Cost(TotalTime()), Cost(Effort(), 1e-3 / F**2))
    elif kind == "free of limits":
        limits = Limits(*(sides(np.inf, np.inf) for _ in range(4)))
    elif kind in ("passive", "hybrid"):
        end = State(q=(1.2, np.nan), v=(0.0, np.nan))
        phases, given["passive"] = (Phase(0.7 * t, START, end),), ("fore joint",)
        given["transcription"] = Hybrid(4, 12, steps=10) if kind == "hybrid" else Spline(4, 25)
    elif kind == "energy":
        bound = Constraint(Effort(), upper=26.0 * F**2 * t, integral=True)
        given |= {"costs": (Cost(Smoothness()),), "constraints": (bound,)}
    elif kind == "jerk":
        given |= {"costs": (Cost(Smoothness()),), "jerk_limit": 500.0 / t**3}
    elif kind == "work":
        phases = (Phase(free, START, END),)
        given["costs"] = (Cost(TotalTime()), Cost(MechanicalEnergy(), 0.05 * t / F))
    elif kind == "reach":
        goal = Constraint(FramePosition("tip", (0.3, np.nan, 0.4)), at="end")
        stop = Constraint(FrameVelocity("tip", (0.0, np.nan, 0.0)), at="end")
        phases = (Phase(0.7 * t, START, constraints=(goal, stop)),)
    model = arm(F, t, 0.8 if kind == "friction" else 0.0)
    return Problem(model, phases, limits=limits, name=kind, **given)


def numbers(solution: Solution, t: float) -> np.ndarray:
    """Control points and durations, which have no unit of torque or time."""
    parts = [np.append(curve.control.ravel(), curve.duration / t) for curve in solution.curves]
    return np.concatenate(parts)


@cache
def reference(kind: str) -> Solution:
    return predyn.solve(task(kind, 1.0, 1.0)).check()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answer_in_any_units(kind: str) -> None:
    """The scaled programs agree to rounding, so that all iterates do."""
    known = reference(kind)
    for F, t in UNITS:
        found = predyn.solve(task(kind, F, t))
        assert (found.status, found.iterations) == (known.status, known.iterations), (F, t)
        assert numbers(found, t) == pytest.approx(numbers(known, 1.0), abs=1e-9), (F, t)
        assert found.max_violation <= 2e-8


@pytest.mark.parametrize("F", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("far", [0.0, 1e-9, 1e-6, 1e-3])
def test_standing_still_and_nearly_so(far: float, F: float) -> None:
    """Costs of zero at the guess, apart from rounding errors, have no size of their own."""
    still, q = np.zeros(2), np.array([0.3, 0.7])
    model = replace(arm(F, 1.0), gravity=np.zeros(3), stiffness=still)
    phase = Phase(0.7, State(q, still), State(q + [far, 0.0], still))
    for term in (Effort(), Smoothness(), MechanicalEnergy(), Effort(form="abs")):
        problem = Problem(model, (phase,), (Cost(term),), transcription=Spline(segments=8))
        found = predyn.solve(problem).check()
        assert "instead of" not in found.message
        if not isinstance(term, Smoothness):
            assert np.abs(found.tau).max() <= 1e3 * F * max(far, 1e-12)


def test_holding_a_load_takes_no_mechanical_energy() -> None:
    still = np.zeros(2)
    phase = Phase(0.7, State((0.3, 0.7), still), State((0.3, 0.7), still))
    problem = Problem(predyn.models.two_link(), (phase,), (Cost(MechanicalEnergy()),))
    found = predyn.solve(problem).check()
    assert found.unsmoothed["energy"] <= 1e-9
    assert found.iterations <= 20


def test_a_small_bound_is_met_to_its_own_size() -> None:
    """An angle of 5 degrees bounds 1 - cos, whose size is 0.004."""
    upright = FrameAxis("fore", "y", (0.0, 1.0, 0.0), form="angle", tolerance=np.radians(5.0))
    problem = task("effort", 1.0, 1.0)
    tilted = ModelBuilder("tilted", gravity=(0.0, 0.0, -9.81))
    for k, axis in enumerate(((0.0, 1.0, 0.0), (0.3, 1.0, 0.0), (1.0, 0.0, 0.0))):
        tilted.add_link(
            f"link{k}" if k < 2 else "fore",
            "world" if k == 0 else f"link{k - 1}",
            f"joint{k}",
            axis=axis,
            origin=(0.3, 0.0, 0.0),
            mass=1.0,
            com=(0.1, 0.0, 0.05),
            inertia=(0.01, 0.01, 0.01),
        )
    zero = np.zeros(3)
    phase = Phase(1.0, State(q=zero, v=zero), State(q=(1.0, np.nan, np.nan), v=zero))
    made = Problem(
        tilted.build(),
        (phase,),
        problem.costs,
        (Constraint(upright),),
        transcription=Spline(4, 12),
    )
    found = predyn.solve(made)
    assert found.status == "optimal"
    assert found.max_violation <= 2e-8
