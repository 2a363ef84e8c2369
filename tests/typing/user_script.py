"""A user's script, fully typed: mypy --strict must accept it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import predyn
from predyn import Constraint, Cost, Duration, Phase, Problem, State, System
from predyn.terms import Effort, FramePose, FramePosition, TotalTime


def reach(model: predyn.Model, target: list[float]) -> predyn.Solution:
    limited = model.with_limits(velocity={"joint1": 3.0, "joint2": (-4.0, 5.0)}, effort=[50, 20])
    pose = predyn.inverse_kinematics(limited, "tip", [target[0], target[1], None], orientation=None)
    there = predyn.inverse_kinematics(limited, "tip", orientation=[0.0, 0.0, 0.3])
    phases = [
        Phase(Duration(0.2, 3.0, 1.0), State(q=[1.3, None], v=[0, 0]), State(v=(0.0, 0.0))),
        Phase(0.5, end=State(q=there.q), system="loaded", costs=[Cost(Effort(joints=["joint1"]))]),
    ]
    problem = Problem(
        limited,
        phases,
        costs=[Cost(TotalTime()), Cost(Effort(), weight=0.01)],
        constraints=[Constraint(FramePosition("tip", [None, 0.1, None]), lower=[0.0], at=[0.5])],
        forces=[predyn.ExternalForce("tip", [0, -10, 0])],
        passive=[],
        signals=[predyn.Signal("press", ["x", "y"], lower=[0, 0], phases=["phase 2"])],
        parameters=[predyn.Parameter("k", 0.1, 2, 1.0, quantity=["mass of link1"])],
        systems={"loaded": System(payloads=[predyn.Payload("tip", 1.0, [0, 0, 0.1])])},
        guess=([0.0, 1.0], [[0.1, 0.2], [0.3, 0.4]]),
        transcription=predyn.Spline(knots=[0.0, 0.5, 1.0]),
    )
    problems: list[str] = problem.validate()
    print(problems, pose.converged, FramePose("tip", [1, 0, 0], [0, 0, 1.0]))
    return predyn.solve(problem, starts=2, verbose=False)


def tabulate(solution: predyn.Solution) -> NDArray[np.float64]:
    tip: NDArray[np.float64] = solution.channel("frame:tip", [0.0, 0.1])
    for name, (components, units) in solution.channels.items():
        print(name, ", ".join(components), ", ".join(units))
    fastest: NDArray[np.float64] = solution.limits.velocity[:, 1]
    sample = solution.at(0.1)
    tau: NDArray[np.float64] = predyn.inverse_dynamics(solution.model, [0, 0], [0, 0], [0, 0])
    M = predyn.mass_matrix(solution.model, sample.q)
    print(solution.to_pandas("q", "tau"), solution.to_xarray(t=[0.0]), fastest, tau, M.shape)
    run = predyn.simulate(solution.model, [0, 0], [0, 0], None, np.linspace(0, 1, 5))
    print(run.to_pandas(), predyn.replay(solution).status, predyn.dynamics.center_of_mass)
    return tip


def mistakes(solution: predyn.Solution) -> None:
    """Every line with a mark is one that a type checker must report."""
    solution.channel(3)  # mistake
    solution.limits["velocity"]  # mistake
    print(solution.torques)  # mistake
    Phase(0.5, start=[0.0, 0.0])  # mistake
    Problem(solution.model, phases=Phase(0.5))  # mistake
    Cost(Effort)  # mistake
    predyn.solve(solution.model)  # mistake
    predyn.solve("two-link-lifting", verbos=True)  # mistake
    predyn.inverse_dynamics("two_link", [0], [0], [0])  # mistake
    Constraint(TotalTime(), at="middle")  # mistake
    print(predyn.Solver)  # mistake
