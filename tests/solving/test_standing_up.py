"""Standing up: a robot with four legs, and the squat-to-stand of OpenSim Moco."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import predyn
from oracles.casadi_ipopt import Solver
from oracles.casadi_program import casadi_program
from predyn.dynamics import frame_kinematics
from predyn.transcribe.methods import transcribe

FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
SCRIPT = Path(__file__).parents[2] / "examples" / "squat_to_stand.py"
SQUAT = Path(os.environ.get("PREDYN_SHARED", ".")) / "data/muscles/squatToStand_3dof9musc.osim"
MOCO = 0.229299, 67  # objective and iterations: opensim 4.6, exampleSquatToStand, part 1


@cache
def robot() -> predyn.Solution:
    return predyn.solve("quadruped-stand-up", verbose=False).check()


@cache
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("squat_to_stand", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_robot_stands_on_feet_that_do_not_move() -> None:
    t = np.linspace(0.0, 1.0, 201)
    state = robot().at(t)
    for foot in FEET:
        place = frame_kinematics(robot().model, foot, state.q, 0.0 * state.q, 0.0 * state.q).p
        assert np.abs(place - place[0]).max() < 2e-4  # m
        fx, fy, fz = np.asarray(robot().channel(f"signal:{foot}", t)).T
        assert (np.hypot(fx, fy) <= 0.6 * fz + 0.1).all()
    assert not robot().parameters  # the places follow from the start
    assert np.abs(state.tau[:, :3]).max() < 0.005 * 12.0 * 9.81
    assert state.q[0, 2] < 0.13 < 0.30 < state.q[-1, 2]
    left, right = (
        [j for j, name in enumerate(robot().model.joint_names) if f"{side}_" in name]
        for side in ("left", "right")
    )
    signs = [-1.0 if "abduction" in robot().model.joint_names[j] else 1.0 for j in left]
    assert np.abs(state.q[:, left] - signs * state.q[:, right]).max() < 1e-6


@pytest.mark.parametrize("name", ["quadruped-stand-up", "human-sit-to-stand"])
def test_equations_of_standing_up_have_full_rank(name: str) -> None:
    """Contacts from the start to the end of a motion with given states, without a cycle."""
    program = transcribe(predyn.load_task(name))
    x = (robot() if name.startswith("quad") else predyn.solve(name, verbose=False)).x
    rows, columns = program.jacobian_pattern
    values, jacobian = np.empty(len(rows)), np.zeros((program.m, program.n))
    program.move(np.ascontiguousarray(x))
    program.jacobian(values)
    jacobian[rows, columns] = values * program.x_scale[columns] / program.g_scale[rows]
    equal = jacobian[program.g_lower == program.g_upper]
    assert len(equal) < program.n
    assert np.linalg.svd(equal, compute_uv=False)[-1] > 1e-4


def test_a_squat_against_casadi() -> None:
    problem = example().squat_to_stand(example().three_segments())
    ours = predyn.solve(problem, verbose=False).check()
    program = casadi_program(problem)
    theirs = Solver(program)(program.guess)
    assert ours.objective == pytest.approx(theirs.f, rel=1e-6)


@pytest.mark.skipif(not SQUAT.is_file(), reason="PREDYN_SHARED names no folder with Moco's model")
def test_moco_squat_to_stand_has_the_same_objective_in_no_more_iterations() -> None:
    problem = example().squat_to_stand(predyn.load_osim(SQUAT, functions="smooth"))
    found = predyn.solve(problem, verbose=False).check()
    objective, iterations = MOCO
    assert found.objective == pytest.approx(objective, rel=5e-3)
    assert found.iterations <= iterations
