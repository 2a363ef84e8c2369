"""Programs of discrete mechanics against CasADi: equations of motion, loops, free durations."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import predyn
from oracles.casadi_discrete import equations_of_motion
from predyn import Cost, Dmoc, Duration, Phase, Problem, State
from predyn.terms import JointTorque, JointVelocity
from predyn.transcribe.discrete.arrange import DYNAMICS
from predyn.transcribe.discrete.dmoc import DmocProgram
from predyn.transcribe.methods import transcribe
from random_trees import random_model, random_sites
from transcribe.program_values import values

FIRST, SECOND = 1e-10, 1e-8  # of the largest entry; products over T and the steps round more
KINDS = ("point", "hinge", "weld", "distance")


def branches(kind: str, seed: int = 0) -> predyn.Model:
    """Two branches of four joints in space whose ends form a loop; both move."""
    rng = np.random.default_rng(seed)
    b = predyn.ModelBuilder("branches", (1.0, -2.0, -9.81))
    b.add_link("base", "world", "base", axis=(0, 0, 1), mass=2.0, inertia=(0.1, 0.1, 0.2))
    for side, y in (("l", 0.3), ("r", -0.3)):
        up, origin = "base", (0.0, y, 0.1)
        for k in range(4):
            axis = rng.normal(size=3)
            b.add_link(f"{side}{k}", up, f"{side}{k}", axis=axis / np.linalg.norm(axis),
                       origin=origin, mass=1.0, com=(0.1, 0.02, 0.05), damping=0.1,
                       inertia=(0.02, 0.02, 0.01))  # fmt: skip
            up, origin = f"{side}{k}", (0.3, 0.05, 0.1)
        b.add_frame(f"end_{side}", up, (0.2, 0.0, 0.1))
    b.close_loop("loop", kind, "end_l", "end_r", distance=0.2 if kind == "distance" else None)
    return b.build()


def problem(model: predyn.Model, order: int, duration: float | Duration, forces=()) -> Problem:
    n = model.n
    rng = np.random.default_rng(n)
    start = State(rng.uniform(-0.4, 0.4, n), rng.uniform(-0.3, 0.3, n))
    if model.loops:
        start = State(None, np.zeros(n))
    phase = Phase(duration, start, State(None, rng.uniform(-0.3, 0.3, n) * (not model.loops)))
    return Problem(
        model,
        (phase,),
        costs=(Cost(JointTorque(), 0.1), Cost(JointVelocity(), 0.01)),
        forces=forces,
        passive=(model.joint_names[1],),
        transcription=Dmoc(steps=8 // order, order=order),
    )


def compare(program: DmocProgram, seed: int) -> None:
    """The rows of the nodes, their Jacobian and a weighted Hessian against CasADi."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, program.n)
    for phase in program.phases:
        if phase.T_column >= 0:
            x[phase.T_column] = 0.9
    where = [part for name, part in program.g_blocks() if DYNAMICS in name]
    for p, part in enumerate(where):
        weights = np.zeros(program.m)
        weights[part] = rng.normal(size=part.stop - part.start)
        ours = values(program, x, 0.0, weights)
        rows = equations_of_motion(program, p)
        s = ca.SX.sym("x", program.n)
        g = rows(s)
        H, _ = ca.hessian(ca.dot(weights[part], g), s)
        theirs = ca.Function("all", [s], [g, ca.jacobian(g, s), H])(x)
        g, J, H = (np.array(v) for v in theirs)
        for mine, other, bound in (
            (ours.g[part], g.ravel(), FIRST),
            (ours.jacobian[part], J, FIRST),
            (ours.hessian, H, SECOND),
        ):
            assert np.abs(mine - other).max() <= bound * np.abs(other).max()


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("free", [False, True])
def test_equations_of_motion_agree_with_casadi(order: int, free: bool) -> None:
    model = replace(random_model(4, 3), rotor=np.zeros((4, 4)))
    rng = np.random.default_rng(5)
    forces = [replace(f, force=rng.normal(size=3), moment=rng.normal(size=3))
              for f in random_sites(model, 3)]  # fmt: skip
    duration = Duration(0.5, 2.0, 1.0) if free else 0.8
    program = transcribe(problem(model, order, duration, forces))
    compare(program, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_loops_in_space_agree_with_casadi(kind: str) -> None:
    order = 4 if kind in ("hinge", "point") else 2
    program = transcribe(problem(branches(kind), order, Duration(0.5, 2.0, 1.0)))
    compare(program, 2)
    x = np.random.default_rng(3).uniform(-0.4, 0.4, program.n)
    x[program.phases[0].T_column] = 1.1
    report = program.check_derivatives(x)
    assert report.ok, report
