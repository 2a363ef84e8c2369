"""The task human-walk-published: its rows by kind, and a motion that was found for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.transcribe.methods import transcribe
from predyn.transcribe.program import Program

KINDS = (
    "position",  # (1) joint angle limits: those of the model
    "(2) torque limits",
    "(3) ground contact",
    "(3) ground penetration",
    "(4) dynamic balance",
    "(5) arm-leg coupling",
    "(6) self-avoidance",
    "(7) symmetry",
    "(8) ground clearance",
    "(9) initial foot position",
    "(9) final foot position",
)
FOUND = np.load(Path(__file__).parent / "data" / "published_gait.npy")  # (phases, 4, n)


def names_of(program: Program) -> list[str]:
    return [program.g_name(i) for i in range(program.m)]


@pytest.fixture(scope="module")
def program() -> Program:
    problem = predyn.load_task("human-walk-published")
    finer = replace(problem.transcription, limit_points=6)
    return transcribe(replace(problem, transcription=finer))


def test_size_and_kinds(program: Program) -> None:
    """36 of 55 joints; 216 numbers after continuity, six per joint."""
    assert program.model.n == 36
    names = names_of(program)
    assert program.n - sum(name.startswith("continuity") for name in names) == 36 * 6
    for kind in KINDS:
        assert any(kind in name for name in names), kind


def test_a_known_motion_meets_every_kind_of_constraint(program: Program) -> None:
    x = np.zeros(program.n)
    for phase, control in zip(program.phases, FOUND, strict=True):
        x[phase.columns] = control
    program.move(x)
    g = np.empty(program.m)
    program.constraints(g)
    excess = np.maximum(program.g_lower - g, g - program.g_upper)
    assert excess.max() < 1e-6
    assert program.objective() == pytest.approx(0.22686494, rel=1e-6)


def test_a_feasible_guess_is_found_without_costs() -> None:
    """A small problem: the guess meets its constraints, which the start at q = 0 does not."""
    problem = predyn.load_task("two-link-lifting")
    goal = predyn.Constraint(predyn.terms.FramePosition("tip", (None, 0.3, None)), at=[0.5])
    asked = replace(problem, constraints=[goal], guess="feasible")
    reports: list[int] = []
    found = predyn.solve(asked, report=lambda x: reports.append(x.iteration) or True)
    assert found.success
    assert reports.count(0) == 2  # two solves


@pytest.mark.verify
def test_both_solves_converge() -> None:
    solution = predyn.solve("human-walk-published").check()
    assert solution.status == "optimal"
    assert solution.objective < 0.26
    assert solution.max_violation < 1e-3
