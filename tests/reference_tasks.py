"""Tasks with known optima, as Problems, and a six-axis arm to measure speed on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

import predyn
from predyn.dynamics import ExternalForce
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.terms import Effort, JointTorque, TotalTime

REFERENCE = json.loads((Path(__file__).parent / "data" / "reference_optima.json").read_text())
FREE = Duration(0.05, 3.0, 1.0)
MIXED = (Cost(TotalTime(), 0.99), Cost(Effort(), 0.01))
VOLT = (126.0, 252.0, 72.0)  # N m per volt of the Manutec's drives


def reference_task(name: str, limit_points: int = 3) -> Problem:
    """Cubic splines of 20 segments."""
    model, start, end, duration, costs = _task(name)
    at_rest = [0.0] * model.n
    forces = (ExternalForce("tip", (0.0, -10.0, 0.0)),) if name == "two-link-lifting" else ()
    return Problem(
        model,
        (Phase(duration, State(start, at_rest), State(end, at_rest)),),
        costs=costs,
        forces=forces,
        transcription=Spline(limit_points=limit_points),
        name=name,
    )


def _task(name: str) -> tuple:
    quarter = math.pi / 4
    models = predyn.models
    across = (0.1, 0.6), (quarter, -quarter), FREE, MIXED
    over = (0.0, -1.5, 0.0), (1.0, -1.95, 1.0)
    tasks = {
        "two-link-time-optimal": lambda: (
            models.two_link((0.0, 0.0, 0.0)), (0.0, -2.0), (1.0, -1.0), FREE, (Cost(TotalTime()),)
        ),
        "two-link-lifting": lambda: (
            models.two_link(), (1.32, -2.37), (2.8, -2.37), FREE, MIXED
        ),
        "prismatic-revolute": lambda: (models.prismatic_revolute(), *across),
        "prismatic-revolute, theta2 = q2": lambda: (models.prismatic_revolute(0.0), *across),
        "arm-2r-min-effort": lambda: (
            rods(), (0.0, 0.0), (math.pi / 2, 0.0), 2.0, (Cost(Effort(), 0.5),)
        ),
        "manutec-min-time": lambda: (models.manutec_r3(), *over, FREE, (Cost(TotalTime()),)),
        "manutec-min-energy": lambda: (
            models.manutec_r3(), *over, 0.53, (Cost(Effort(per=VOLT)),)
        ),
    }  # fmt: skip
    return tasks[name]()


def rods() -> predyn.Model:
    """Two uniform rods of 1 m and 1 kg in the vertical x-y plane."""
    rod = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.0, 1 / 12, 1 / 12)}
    builder = predyn.ModelBuilder("rods", gravity=(0.0, -9.81, 0.0))
    return builder.add_link("l1", **rod).add_link("l2", "l1", origin=(1, 0, 0), **rod).build()


def six_axis(segments: int = 17, torque_points: int = 60, speed: bool = True) -> Problem:
    """From rest to rest with an arm like a UR5 in size and mass, for time and effort.

    17 segments make 20 control points per joint. Torques are limited at equally spaced instants,
    the ends among them. speed: whether the joints' speeds are limited too, at 3 points a segment.
    """
    half = math.pi / 2
    rows = (  # d, a, alpha, mass, com, inertia, effort
        (0.089, 0.0, half, 3.7, (0.0, -0.026, 0.002), (0.010, 0.0067, 0.010), 150.0),
        (0.0, -0.425, 0.0, 8.4, (0.2125, 0.0, 0.11), (0.015, 0.13, 0.13), 150.0),
        (0.0, -0.392, 0.0, 2.3, (0.15, 0.0, 0.027), (0.004, 0.03, 0.03), 150.0),
        (0.109, 0.0, half, 1.2, (0.0, -0.002, 0.016), (0.0026, 0.0026, 0.002), 28.0),
        (0.095, 0.0, -half, 1.2, (0.0, 0.002, 0.016), (0.0026, 0.0026, 0.002), 28.0),
        (0.082, 0.0, 0.0, 0.19, (0.0, 0.0, -0.001), (1e-4, 1e-4, 1.3e-4), 28.0),
    )
    names = ("d", "a", "alpha", "mass", "com", "inertia", "effort")
    limit = {"velocity": 3.15} if speed else {}
    table = [predyn.DHRow(**dict(zip(names, row, strict=True)), **limit) for row in rows]
    phase = Phase(
        Duration(0.1, 5.0, 1.0),
        State((0.0, -1.2, 1.4, -1.6, -1.57, 0.0), [0.0] * 6),
        State((1.6, -0.6, 0.9, -1.2, -1.2, 0.8), [0.0] * 6),
    )
    model = predyn.load_dh(table, name="six_axis")
    lower, upper = model.limits.effort.T
    everywhere = tuple(np.linspace(0.0, 1.0, torque_points))
    return Problem(
        model,
        (phase,),
        costs=(Cost(TotalTime(), 1.0), Cost(Effort(), 1e-4)),
        constraints=(Constraint(JointTorque(), lower, upper, at=everywhere, name="effort"),),
        limits=model.limits._replace(effort=np.full((6, 2), (-np.inf, np.inf))),
        transcription=Spline(segments=segments, limit_points=3),
        name="six-axis",
    )
