"""The verification in a solution's file: reads it, checked against the motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from predyn.solution.evaluation import passive_joints
from predyn.solution.parts import CONVERGED
from predyn.solution.solution import Solution
from predyn.solution.verification import (
    FINISHED,
    MOST_POINTS,
    STATUSES,
    BaseResidual,
    PassiveTorques,
    ReplayNumbers,
    Verification,
)
from predyn.storage.tree_reader import TreeReader

DIFFERENCES = ("dq", "dv")
ENERGIES = ("energy", "work_torques", "work_friction", "work_forces", "energy_jumps")
CHANGES = ("jumps", "load_changes")


def verification_of(group: TreeReader, solution: Solution) -> Verification:
    """What no verification of this solution could have found is an error."""
    motor, last = group.count("motor"), solution.model.n - 1
    group.require(motor <= last, "motor", f"the number of a joint, from 0 to {last}")
    effort, reason = group.value("effort", float), group.value("no_replay", str)
    group.require(not effort < 0.0, "effort", "a non-negative number")
    if solution.status in CONVERGED:
        group.require(np.isfinite(effort), "effort", "a finite number, since it converged")
    passive = _passive_of(group.group("passive"), solution)
    replay = None
    if group.value("replay", (dict, type(None))) is not None:
        replay = _replay_of(group.group("replay"), solution)
    group.require(
        bool(reason) == (replay is None), "no_replay", "a reason if there is no replay, else none"
    )
    base = _base_of(group.group("base")) if group.tree.get("base") is not None else None
    return Verification(motor, effort, passive, replay, reason, base)


def _base_of(group: TreeReader) -> BaseResidual:
    names = ("force", "moment", "weight", "height", "others")
    values = [group.value(name, float) for name in names]
    for name in ("force", "moment", "weight", "others"):
        group.require(not group.tree[name] < 0.0, name, "a non-negative number")
    return BaseResidual(*values)


def _passive_of(group: TreeReader, solution: Solution) -> PassiveTorques:
    count, t = len(passive_joints(solution)), _times(group, solution)
    group.require(bool(len(t)) == bool(count), "t", "times if there are passive joints, else none")
    entries: dict[str, Any] = {"t": t, "tau": group.array("tau", (len(t), count))}
    entries |= {name: group.array(name, (count,)) for name in ("largest", "largest_t", "rms")}
    for name in ("largest", "rms"):
        group.require(~(entries[name] < 0.0), name, "non-negative numbers")
    _within(group, "largest_t", entries["largest_t"], solution)
    if solution.status in CONVERGED:
        for name in entries:
            group.require(np.isfinite(entries[name]), name, "finite numbers, since it converged")
    return PassiveTorques(**entries)


def _replay_of(group: TreeReader, solution: Solution) -> ReplayNumbers:
    n, t = solution.model.n, _times(group, solution)
    group.require(len(t) > 0, "t", "at least one time")
    status = group.choice("status", STATUSES)
    entries: dict[str, Any] = {name: group.array(name, (len(t), n)) for name in DIFFERENCES}
    entries |= {name: group.array(name, (len(t),)) for name in ENERGIES}
    entries |= {f"max_{name}": group.array(f"max_{name}", (n,)) for name in DIFFERENCES}
    entries["max_energy_error"] = group.value("max_energy_error", float)
    for name in DIFFERENCES:
        least = np.abs(entries[name]).max(axis=0)
        group.require(
            ~(entries[f"max_{name}"] < least), f"max_{name}", f"sizes no smaller than in {name}"
        )
    group.require(
        not entries["max_energy_error"] < 0.0, "max_energy_error", "a non-negative number"
    )
    if status == FINISHED:
        for name in entries:
            group.require(np.isfinite(entries[name]), name, "finite numbers, since it finished")
    for name in CHANGES:
        entries[name] = group.times(name)
        _within(group, name, entries[name], solution)
    if group.tree.get("restart") is not None:
        entries["restart"] = group.value("restart", float)
        group.require(entries["restart"] > 0.0, "restart", "a positive number of seconds")
    return ReplayNumbers(status=status, message=group.value("message", str), t=t, **entries)


def _times(group: TreeReader, solution: Solution) -> Any:
    t = group.times("t")
    group.require(len(t) <= MOST_POINTS, "t", f"at most {MOST_POINTS} times")
    _within(group, "t", t, solution)
    return t


def _within(group: TreeReader, name: str, t: Any, solution: Solution) -> None:
    end = solution.duration * (1.0 + 1e-9)  # rounding of sums
    group.require((t >= 0.0) & (t <= end), name, f"times from 0 to {solution.duration:.6g} s")
