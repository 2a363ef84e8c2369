"""Verification of a solution: torques at passive joints between the points, and the replay.

The numbers are stored with the solution, so that reports and summaries need no simulation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, PredynError
from predyn.model import PRISMATIC
from predyn.model.floating_base import floating_base
from predyn.simulation.replaying import Replay, replay
from predyn.solution import CONVERGED, Solution
from predyn.solution.evaluation import has_motor, passive_joints, torques_needed
from predyn.solution.ground import plane_of, touches_ground
from predyn.solution.verification import (
    MOST_POINTS,
    BaseResidual,
    PassiveTorques,
    ReplayNumbers,
    Verification,
)

Floats = NDArray[np.float64]

PER_PIECE = 8  # instants in each polynomial piece at which passive torques are evaluated
MOST_INSTANTS = 20_000
MOST_STEPS = 10_000  # of the replay in a phase: some seconds


def verify(solution: Solution) -> Solution:
    """The solution with its verification, which files, summaries and reports then contain.

    It evaluates the torques that the curves need at passive joints, and replays a motion that
    converged, see `predyn.replay`. A replay that fails is recorded with the reason, not raised.
    """
    if not isinstance(solution, Solution):
        raise InputError(f"solution: expected a predyn.Solution, got {type(solution).__name__}")
    if not solution.finite:
        raise InputError(
            f"solution: {solution.name!r} (status {solution.status!r}) contains values that are "
            "not finite: there is no motion to verify"
        )
    motor, effort, passive = _torques(solution)
    replayed, reason = _replayed(solution)
    base = _base(solution, passive)
    checks = Verification(motor, effort, passive, replayed, reason, base)
    return replace(solution, verification=checks)


def _base(solution: Solution, passive: PassiveTorques) -> BaseResidual | None:
    """The residual at the floating base of a motion on the ground."""
    model, joints = solution.model, floating_base(solution.model)
    if joints is None or not touches_ground(solution):
        return None
    largest = dict(zip(passive_joints(solution), passive.largest.tolist(), strict=True))
    base = [model.joint_names[j] for j in joints]
    slides = [x for x, j in zip(base, joints, strict=True) if model.kind[j] == PRISMATIC]
    above = solution.channel("com", solution.t)[:, 2] - plane_of(solution).lowest
    return BaseResidual(
        force=max((largest.get(x, 0.0) for x in slides), default=0.0),
        moment=max((largest.get(x, 0.0) for x in base if x not in slides), default=0.0),
        weight=model.weight,
        height=float(above.mean()),
        others=max((value for x, value in largest.items() if x not in base), default=0.0),
    )


def _torques(solution: Solution) -> tuple[int, float, PassiveTorques]:
    """The joint whose motor has the largest effort, that effort, and torques at passive joints."""
    joints = [solution.model.joint_index(name) for name in passive_joints(solution)]
    acting = np.where(has_motor(solution, solution.phase), solution.tau, 0.0)
    if not joints:
        none = np.zeros(0)
        passive = PassiveTorques(none, np.zeros((0, 0)), none, none, none)
        return *_largest_motor(acting), passive
    inside = (np.arange(PER_PIECE) + 0.5) / PER_PIECE
    times, start = [], 0.0
    for curve in solution.curves:
        breaks = np.unique(curve.knots[(curve.knots >= 0.0) & (curve.knots <= 1.0)])
        s = (breaks[:-1, None] + np.diff(breaks)[:, None] * inside).ravel()
        times.append(start + curve.duration * s)
        start += curve.duration
    t = np.concatenate(times)
    t = t[:: max(1, len(t) // MOST_INSTANTS)]
    tau, motors = torques_needed(solution, t), has_motor(solution, solution.phase_at(t))
    errors = np.where(motors, 0.0, tau)[:, joints]
    size, count = np.abs(errors), (~motors[:, joints]).sum(axis=0)
    passive = PassiveTorques(
        *_thinned(t, errors),
        largest=size.max(axis=0),
        largest_t=t[size.argmax(axis=0)],
        rms=np.sqrt(np.sum(size**2, axis=0) / np.maximum(count, 1)),
    )
    return *_largest_motor(np.concatenate((np.where(motors, tau, 0.0), acting))), passive


def _largest_motor(tau: Floats) -> tuple[int, float]:
    sizes = np.abs(tau).max(axis=0)
    return int(sizes.argmax()), float(sizes.max())


def _thinned(t: Floats, values: Floats) -> tuple[Floats, Floats]:
    """At most MOST_POINTS instants: of those in between, the value of the largest size."""
    size = -(-len(t) // MOST_POINTS)
    if size < 2:
        return t, values
    groups = [slice(k, k + size) for k in range(0, len(t), size)]
    largest = [
        values[g][np.abs(values[g]).argmax(axis=0), np.arange(values.shape[1])] for g in groups
    ]
    return np.array([t[g].mean() for g in groups]), np.array(largest)


def _replayed(solution: Solution) -> tuple[ReplayNumbers | None, str]:
    """The numbers of the replay, or None and the reason."""
    if solution.status not in CONVERGED:
        return None, "only converged motions are replayed"
    try:
        return _numbers(replay(solution, max_steps=MOST_STEPS)), ""
    except (PredynError, ArithmeticError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"


def _numbers(run: Replay) -> ReplayNumbers:
    few = np.unique(np.round(np.linspace(0, len(run.t) - 1, MOST_POINTS)).astype(np.int64))
    return ReplayNumbers(
        status=run.status,
        message=run.message,
        t=run.t[few],
        dq=run.dq[few],
        dv=run.dv[few],
        energy=run.energy[few],
        work_torques=run.work_torques[few],
        work_friction=run.work_friction[few],
        work_forces=run.work_forces[few],
        energy_jumps=run.energy_jumps[few],
        max_dq=np.abs(run.dq).max(axis=0),
        max_dv=np.abs(run.dv).max(axis=0),
        max_energy_error=run.max_energy_error,
        jumps=np.array(run.jumps, np.float64),
        load_changes=np.array(run.load_changes, np.float64),
        restart=run.restart,
    )
