"""What `predyn simulate` computes, prints and writes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from predyn.curves.profile import Profile
from predyn.errors import InputError, unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.model import PRISMATIC, Model
from predyn.problem import Duration, Problem, duration_of, system_of
from predyn.simulation import positive, simulate
from predyn.simulation.replaying import Replay
from predyn.simulation.simulation import stands
from predyn.simulation.trajectories import DIVERGED, LIMITED, Trajectory
from predyn.solution import Floats

Motion = TypeVar("Motion", Trajectory, Replay)

CSV = "simulation.csv"
RATE = 100.0  # Hz
MOST_ROWS = 10_000_000


def simulate_task(
    problem: Problem, torques: Sequence[str], seconds: float | None, rate: float | None
) -> tuple[Trajectory, list[str]]:
    """Simulate the mechanism of a task from its initial state, with constant torques "JOINT=VALUE".

    Returns the trajectory and notes on what the task does not define.
    """
    system, first = system_of(problem, 0), problem.phases[0].start
    model, notes, start = system.model, [], []
    _refuse_varying(system.forces)
    if any(phase.system != problem.phases[0].system for phase in problem.phases):
        notes.append("the system of the first phase is simulated; later phases have others")
    for name, given in (("position", first.q), ("velocity", first.v)):
        values = np.full(model.n, np.nan) if given is None else np.array(given, np.float64)
        free = np.isnan(values)
        if free.any():
            which = ", ".join(np.array(model.joint_names)[free].tolist())
            notes.append(f"the task leaves the initial {name} of {which} free: 0 is used")
        start.append(np.where(free, 0.0, values))
    if seconds is None:
        durations = [duration_of(problem, phase) for phase in problem.phases]
        seconds = sum(d.guess if isinstance(d, Duration) else d for d in durations)
    length = positive("--seconds", seconds)
    per_second = RATE if rate is None else positive("--rate", rate)
    if length * per_second > MOST_ROWS:
        raise InputError(f"--rate: {per_second:g} Hz gives more than {MOST_ROWS} rows; lower it")
    t = np.linspace(0.0, length, math.ceil(length * per_second * (1.0 - 1e-12)) + 1)
    held = _torques(model, torques)
    unmoved = ", ".join(name for name in system.passive if held[model.joint_index(name)])
    if unmoved:
        notes.append(f"{unmoved}: no motor in this task; the torque is applied anyway")
    q0, v0 = start
    if stands(model) and not system.forces:
        raise InputError(
            f"{problem.name}: model {model.name!r} stands on contact points, but no ground holds "
            "it in the simulation of a task: it would fall; solve the task first, and simulate "
            "its solution, which has the forces of the ground"
        )
    return simulate(model, q0, v0, held, t, forces=system.forces), notes


def _refuse_varying(forces: Sequence[ExternalForce]) -> None:
    """Forces that only a solve can give numbers to."""
    for force in forces:
        for value in (force.force, force.moment):
            if isinstance(value, str | Profile):
                kind = f"signal {value!r}" if isinstance(value, str) else "a curve"
                raise InputError(
                    f"the force on {force.link!r} is {kind}, and a task is simulated with constant "
                    "forces only; solve the task and simulate its solution, or use "
                    "predyn.simulate in Python"
                )


def _torques(model: Model, texts: Sequence[str]) -> Floats:
    held = np.zeros(model.n)
    for text in texts:
        name, _, value = text.partition("=")
        if name not in model.joint_names:
            raise unknown_name("joint in --torque", name, model.joint_names)
        try:
            held[model.joint_names.index(name)] = float(value)
        except ValueError:
            raise InputError(f"--torque: expected JOINT=NUMBER, got {text!r:.60}") from None
    return held


def with_cli_advice(motion: Motion) -> Motion:
    """The motion with advice for the command line, which has no integrator options."""
    what, _, _ = motion.message.partition("; ")
    advice = {
        DIVERGED: "check the model and the torques",
        LIMITED: "predyn.simulate and predyn.replay in Python accept other tolerances and methods",
    }
    if motion.status not in advice:
        return motion
    return replace(motion, message=f"{what}; {advice[motion.status]}")


def trajectory_text(name: str, trajectory: Trajectory) -> str:
    """A table of where each joint starts and ends, and of the energy."""
    model = trajectory.model
    ended = trajectory.status + (f": {trajectory.message}" if trajectory.message else "")
    lines = [f"{name}, simulated from its initial state: {ended}"]
    row = "{:<16.60}  {:>14}  {:>14}  {:>16}  {:>16}"
    lines.append(row.format("joint", "initial q", "final q", "final v", "torque"))
    for j, joint in enumerate(model.joint_names):
        unit, effort = ("m", "N") if model.kind[j] == PRISMATIC else ("rad", "N m")
        lines.append(
            row.format(
                joint,
                f"{trajectory.q[0, j]:.4g} {unit}",
                f"{trajectory.q[-1, j]:.4g} {unit}",
                f"{trajectory.v[-1, j]:.4g} {unit}/s",
                f"{trajectory.tau[-1, j]:.4g} {effort}",
            )
        )
    energy, t = trajectory.energy, trajectory.t
    lines.append(f"energy {energy[0]:.6g} J at {t[0]:.4g} s, {energy[-1]:.6g} J at {t[-1]:.4g} s")
    if trajectory.forces:
        lines.append("the task's external forces act; their work is part of this change")
    return "\n".join(lines)


def motion_csv(motion: Trajectory | Replay) -> str:
    """One header line with units, then t and q, v, tau of every joint; of a replay dq, dv too."""
    model = motion.model
    units = ["m" if kind == PRISMATIC else "rad" for kind in model.kind]
    efforts = ["N" if kind == PRISMATIC else "N m" for kind in model.kind]
    columns = [
        ("q", motion.q, units),
        ("v", motion.v, [f"{unit}/s" for unit in units]),
        ("tau", motion.tau, efforts),
    ]
    if isinstance(motion, Replay):
        columns += [
            ("dq", motion.dq, units),
            ("dv", motion.dv, [f"{unit}/s" for unit in units]),
        ]
    header = [
        f"{name}.{joint} [{unit}]"
        for name, _, of in columns
        for joint, unit in zip(model.joint_names, of, strict=True)
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["t [s]", *header])
    numbers = np.hstack((motion.t[:, None], *(values for _, values, _ in columns)))
    writer.writerows(numbers.tolist())
    return buffer.getvalue()
