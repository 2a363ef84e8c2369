"""Problems of discrete mechanics with known optima, and the mechanisms in them."""

from __future__ import annotations

from functools import cache

import numpy as np

import predyn
from predyn import Cost, Dmoc, Duration, Model, ModelBuilder, Phase, Problem, SolverOptions, State
from predyn.problem import Spline
from predyn.terms import JointTorque, TotalTime

GRAVITY = (0.0, -9.81, 0.0)
TIGHT = SolverOptions(tolerance=1e-11)
SWING = np.array([
    [0.0, -1.0, 0.0], [0.083, -0.8, -1.1], [0.167, -1.2, -1.5], [0.25, -2.2, 0.6],
    [0.333, -2.8, 2.8], [0.417, -2.5, 4.4], [0.5, -2.8, 7.5], [0.583, -1.6, 8.1],
    [0.667, 0.1, 4.7], [0.75, 0.7, 2.8], [0.833, 1.1, 1.4], [0.917, 1.4, 0.5], [1.0, 1.5, 0.0],
])  # fmt: skip


def rod(length: float) -> dict:
    """A uniform rod along x whose mass in kg is its length in m."""
    moment = length**3 / 12.0
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (0.0, moment, moment)}


def rest(*q: float | None) -> State:
    return State(q, np.zeros(len(q)))


def rise(count: int = 81) -> tuple[np.ndarray, np.ndarray]:
    """Normalised times, and a smooth rise from 0 to 1 at rest at both ends."""
    s = np.linspace(0.0, 1.0, count)
    return s, s**3 * (10.0 - 15.0 * s + 6.0 * s**2)


@cache
def arm(damping: float = 0.0, stiffness: float = 0.0) -> Model:
    builder = ModelBuilder("arm", GRAVITY)
    builder.add_link("upper", "world", "j1", damping=damping, **rod(1.0))
    builder.add_link("lower", "upper", "j2", origin=(1, 0, 0), damping=damping,
                     stiffness=stiffness, rest=0.4, **rod(1.0))  # fmt: skip
    return builder.build()


def two_link(method: Spline) -> Problem:
    phase = Phase(2.0, rest(0.0, 0.0), rest(np.pi / 2, 0.0))
    return Problem(arm(), (phase,), (Cost(JointTorque(), 0.5),), transcription=method,
                   guess="linear", solver=TIGHT)  # fmt: skip


def swing_up(method: Spline, guess: object) -> Problem:
    phase = Phase(3.0, rest(-1.0, 0.0), rest(np.pi / 2, 0.0))
    cost = Cost(JointTorque(joints=("j2",)), 0.5)
    return Problem(arm(), (phase,), (cost,), passive=("j1",), transcription=method, guess=guess,
                   solver=TIGHT)  # fmt: skip


def free_time(method: Spline) -> Problem:
    phase = Phase(Duration(0.5, 2.0, 1.2), rest(0.0, 0.0), rest(np.pi / 2, 0.0))
    costs = (Cost(JointTorque(), 0.5), Cost(TotalTime(), 60.0))
    return Problem(arm(0.3, 4.0), (phase,), costs, transcription=method, guess="linear",
                   solver=TIGHT)  # fmt: skip


@cache
def four_bar(kind: str = "point") -> Model:
    builder = ModelBuilder("four-bar", GRAVITY)
    builder.add_link("crank", "world", "j1", **rod(0.3))
    builder.add_link("coupler", "crank", "j2", origin=(0.3, 0, 0), **rod(0.9))
    builder.add_link("rocker", "world", "j3", origin=(0.8, 0, 0), **rod(0.7))
    builder.add_frame("coupler_tip", "coupler", (0.9, 0, 0))
    builder.add_frame("rocker_tip", "rocker", (0.7, 0, 0))
    return builder.close_loop("pin", kind, "coupler_tip", "rocker_tip").build()


@cache
def five_bar() -> Model:
    builder = ModelBuilder("five-bar", GRAVITY)
    for side, x, names in (("a", 0.0, ("j1", "j2")), ("b", 0.4, ("j3", "j4"))):
        builder.add_link(f"{side}1", "world", names[0], origin=(x, 0, 0), **rod(0.4))
        builder.add_link(f"{side}2", f"{side}1", names[1], origin=(0.4, 0, 0), **rod(0.6))
        builder.add_frame(f"{side}_tip", f"{side}2", (0.6, 0, 0))
    return builder.close_loop("pin", "point", "a_tip", "b_tip").build()


def closed_path(model: Model, driven: dict[str, np.ndarray], first: list[float]) -> np.ndarray:
    """Postures (K, n) with closed loops at given positions (K,) of some joints."""
    index = [model.joint_names.index(name) for name in driven]
    q, found = np.array(first), []
    for values in zip(*driven.values(), strict=True):
        q = q.copy()
        q[index] = values
        q = predyn.close_loops(model, q, hold=tuple(driven))
        found.append(q)
    return np.array(found)


def turn_crank(method: Spline, kind: str = "point") -> Problem:
    model, (s, up) = four_bar(kind), rise()
    path = closed_path(model, {"j1": 0.5 + np.pi * up}, [0.5, 0.2, 1.6])
    phase = Phase(1.0, rest(*path[0]), rest(0.5 + np.pi, None, None))
    cost = Cost(JointTorque(joints=("j1",)), 0.5)
    return Problem(model, (phase,), (cost,), passive=("j2", "j3"), transcription=method,
                   guess=(s, path), solver=TIGHT)  # fmt: skip


def move_five_bar(method: Spline) -> Problem:
    model, (s, up) = five_bar(), rise()
    driven = {"j1": 2.2 - 0.8 * up, "j3": 0.9 - 0.5 * up}
    path = closed_path(model, driven, [2.2, -1.2, 0.9, 1.2])
    phase = Phase(0.6, rest(*path[0]), rest(1.4, None, 0.4, None))
    cost = Cost(JointTorque(joints=("j1", "j3")), 0.5)
    return Problem(model, (phase,), (cost,), passive=("j2", "j4"), transcription=method,
                   guess=(s, path), solver=TIGHT)  # fmt: skip


@cache
def satellite() -> Model:
    """A free body with an arm of three joints, without gravity."""
    builder = ModelBuilder("satellite", (0, 0, 0))
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    up = "world"
    for k, (kind, axis) in enumerate(
        [("prismatic", a) for a in "xyz"] + [("revolute", a) for a in "zyx"]
    ):
        body = {"mass": 8.0, "com": (0.05, 0, 0.02), "inertia": (0.5, 0.7, 0.9)} if k == 5 else {}
        builder.add_link(f"body{k}", up, f"b{k}", kind, axis=axes[axis], **body)
        up = f"body{k}"
    for name, axis, origin, mass, com, inertia in (
        ("k0", "z", (0.4, 0, 0.1), 1.5, (0.2, 0, 0.03), (0.004, 0.03, 0.03)),
        ("k1", "y", (0.4, 0, 0), 1.2, (0.2, 0.02, 0), (0.003, 0.025, 0.025)),
        ("k2", "x", (0.35, 0, 0), 0.8, (0.1, 0.1, 0), (0.006, 0.004, 0.008)),
    ):
        builder.add_link(f"arm_{name}", up, name, axis=axes[axis], origin=origin, mass=mass,
                         com=com, inertia=inertia)  # fmt: skip
        up = f"arm_{name}"
    return builder.build()


def reorient(method: Spline) -> Problem:
    model, (s, up) = satellite(), rise()
    start, end = np.array([0.3, 0.5, -0.4]), np.array([1.2, -0.8, 0.6])
    path = np.concatenate([np.zeros((81, 6)), start + up[:, None] * (end - start)], axis=1)
    phase = Phase(2.0, rest(*path[0]), rest(*[None] * 6, *end))
    cost = Cost(JointTorque(joints=("k0", "k1", "k2")), 0.5)
    return Problem(model, (phase,), (cost,), passive=model.joint_names[:6], transcription=method,
                   guess=(s, path), solver=TIGHT)  # fmt: skip


def steps(count: int, order: int = 2) -> Dmoc:
    return Dmoc(steps=count, order=order)
