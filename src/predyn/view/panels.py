"""Channels of a motion by name, as panels of curves with one unit: what plots draw.

Channels with several units (joints that turn and joints that slide, moments and forces) become
several panels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.estimate.result import Estimate
from predyn.model import PRISMATIC, Model
from predyn.model.couplings import independent
from predyn.samples import FRAME_PARTS
from predyn.samples.registry import units
from predyn.simulation.trajectories import Trajectory
from predyn.solution import ChannelInfo, Solution
from predyn.solution.channel_names import channel_info
from predyn.solution.evaluation import channel_at, has_motor, phase_starts

Floats = NDArray[np.float64]
Motion = Solution | Estimate | Trajectory

SMOOTH = 401  # instants that make a curve look smooth
SAME = 1e-6  # of the duration: instants this near are one
JOINTS = {  # channels by joint: what hinges and slides call it, and its limit
    "q": ("Joint angle", "Joint position", "position"),
    "v": ("Angular velocity", "Velocity", "velocity"),
    "a": ("Angular acceleration", "Acceleration", "acceleration"),
    "jerk": ("Angular jerk", "Jerk", "jerk"),
    "tau": ("Joint torque", "Joint force", "effort"),
    "momentum": ("Generalized angular momentum", "Generalized momentum", ""),
}
PARTS = {
    "R": "rotation matrix", "p": "position", "w": "angular velocity", "v": "velocity",
    "alpha": "angular acceleration", "a": "acceleration",
}  # fmt: skip
OF_ESTIMATES = ("q", "v", "a", "tau")
OF_TRAJECTORIES = (*OF_ESTIMATES, "energy")


class Panel(NamedTuple):
    """Curves with one unit over time."""

    title: str
    unit: str
    t: Floats  # (K,)
    values: Floats  # (K, m)
    names: tuple[str, ...]  # (m,) of the curves
    limits: Floats | None = None  # (phases, m, 2)
    band: tuple[Floats, Floats] | None = None  # lower and upper end, (K, m) each


def panels_of(motion: Motion, name: str, joints: Sequence[str] | None) -> list[Panel]:
    """A channel of a motion, split by unit; joints: names of those wanted."""
    wanted = _wanted(motion.model, joints)
    if isinstance(motion, Solution):
        return _of_solution(motion, name, wanted)
    if isinstance(motion, Estimate):
        return _of_estimate(motion, name, wanted)
    return _of_trajectory(motion, name, wanted)


def default_names(motion: Motion) -> tuple[str, ...]:
    """Positions, and efforts if there are motors."""
    n = motion.model.n
    if isinstance(motion, Estimate):
        driven = len(motion.unactuated) < n
    else:
        driven = not isinstance(motion, Solution) or bool(has_motor(motion, motion.phase).any())
    return ("q", "tau") if driven else ("q",)


def in_degrees(panel: Panel) -> Panel:
    """The same with degrees in place of radians."""
    if not panel.unit.startswith("rad"):
        return panel
    limits, band = panel.limits, panel.band
    return panel._replace(
        unit="°" + panel.unit.removeprefix("rad"),
        values=np.rad2deg(panel.values),
        limits=None if limits is None else np.rad2deg(limits),
        band=None if band is None else (np.rad2deg(band[0]), np.rad2deg(band[1])),
    )


def phases_of(motion: Motion) -> list[tuple[str, float, float]]:
    """Name, start and end (s) of each phase of a solution."""
    if not isinstance(motion, Solution):
        return []
    starts = phase_starts(motion).tolist()
    return list(zip(motion.phase_names, starts, [*starts[1:], motion.duration], strict=True))


def refuse_batch(motion: Motion, what: str) -> None:
    """Only one motion can be drawn."""
    if motion.q.ndim != 2:
        raise InputError(
            f"{what}: expected one motion, got a batch of shape {motion.q.shape[:-2]}; simulate "
            "one of them alone, or draw its arrays yourself"
        )


def _wanted(model: Model, joints: Sequence[str] | None) -> list[int]:
    if joints is None:
        return list(range(model.n))
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise InputError(f"joints: expected a list of names, got {joints!r:.60}")
    joints = list(joints)
    if not joints:
        raise InputError("joints: expected at least one name, got none")
    return [model.joint_index(name) for name in joints]


def _of_solution(solution: Solution, name: str, joints: list[int]) -> list[Panel]:
    if not solution.finite:
        raise InputError(f"{solution.name!r}: its last iterate is not finite: nothing to plot")
    name, part = _frame_part(solution.model, name)
    info = channel_info(solution, name)
    t, phase = instants(solution)
    values = channel_at(solution, name, t, phase)
    if name in JOINTS:
        return _by_joint(solution, name, t, phase, values, joints)
    if name == "reactions":
        return _reactions(solution.model, t, values, joints)
    if name.startswith("frame:"):
        return [_frame(info, name, part, t, values)]
    if info.components == solution.model.joint_names:
        info = ChannelInfo(*(tuple(x[j] for j in joints) for x in info))
        values = values[:, joints]
    return _by_unit(info, _title(name), t, values)


def _frame_part(model: Model, name: str) -> tuple[str, str]:
    """Channel and part of "frame:NAME" (position) or "frame:NAME.PART"."""
    if isinstance(name, str) and name.startswith("frame:"):
        frame, dot, part = name.rpartition(".")
        known = name.removeprefix("frame:") in model.frame_names
        if dot and not known and frame.removeprefix("frame:") in model.frame_names:
            if part not in FRAME_PARTS:
                raise unknown_name(f"part of {frame!r}", part, FRAME_PARTS)
            return frame, part
    return name, "p"


def _title(name: str) -> str:
    kind, colon, member = name.partition(":")
    if colon:
        return f"{kind.capitalize()} {member}" if kind != "rate" else f"Rate of {member}"
    words = ["centre of mass" if word == "com" else word for word in name.split("_")]
    return " ".join(words).capitalize()


def instants(solution: Solution) -> tuple[Floats, NDArray[np.int64]]:
    """Times and phases: the samples of the solution, and instants between them."""
    starts, times, phases = phase_starts(solution), [], []
    for k, (start, curve) in enumerate(zip(starts, solution.curves, strict=True)):
        count = max(2, round(SMOOTH * curve.duration / solution.duration))
        between = np.linspace(start, start + curve.duration, count)
        own = solution.t[solution.phase == k]
        far = np.abs(between[:, None] - own).min(axis=1, initial=np.inf) > SAME * solution.duration
        times.append(np.sort(np.concatenate([own, between[far]])))
        phases.append(np.full(len(times[-1]), k))
    return np.concatenate(times), np.concatenate(phases)


def _by_joint(
    solution: Solution, name: str, t: Floats, phase: NDArray[np.int64], values: Floats,
    joints: list[int],
) -> list[Panel]:  # fmt: skip
    model = solution.model
    if name == "tau":  # that of a joint without a motor is an error, not a torque
        motors = has_motor(solution, phase)
        values = np.where(motors, values, np.nan)
        joints = _driven(model, joints, np.any(motors, axis=0))
    limits = _limits(solution, JOINTS[name][2])
    return _split(model, name, joints, t, values, limits=limits)


def _driven(model: Model, joints: list[int], driven: NDArray[np.bool_]) -> list[int]:
    """Those of the joints that have a motor; all of a model are wanted if none is named."""
    passive = [model.joint_names[j] for j in joints if not driven[j]]
    if passive and (len(joints) < model.n or not driven.any()):
        raise InputError(f"joints: {passive[0]!r} has no motor, so there is no torque to plot")
    return [j for j in joints if driven[j]]


def _limits(solution: Solution, name: str) -> Floats | None:
    """(phases, n, 2), or None if there are none."""
    n = solution.model.n
    each = []
    for system in (solution.system(k) for k in range(len(solution.curves))):
        if name == "jerk":
            most = system.jerk_limit
            pair = None if most is None else np.multiply.outer(np.broadcast_to(most, n), (-1, 1))
        else:
            pair = getattr(system.limits, name, None)
        each.append(np.full((n, 2), np.inf) * (-1, 1) if pair is None else np.asarray(pair))
    limits = np.stack(each)
    return limits if np.isfinite(limits).any() else None


def _split(
    model: Model, name: str, joints: list[int], t: Floats, values: Floats, *,
    limits: Floats | None = None, band: tuple[Floats, Floats] | None = None,
) -> list[Panel]:  # fmt: skip
    """The joints that turn, and those that slide."""
    found, by_joint = [], units(model, name)
    for title, sliding in zip(JOINTS[name][:2], (False, True), strict=True):
        of = [j for j in joints if (model.kind[j] == PRISMATIC) == sliding]
        if of:
            names = tuple(model.joint_names[j] for j in of)
            bounds = None if limits is None else limits[:, of]
            ends = None if band is None else (band[0][:, of], band[1][:, of])
            found.append(Panel(title, by_joint[of[0]], t, values[:, of], names, bounds, ends))
    return found


def _reactions(model: Model, t: Floats, values: Floats, joints: list[int]) -> list[Panel]:
    """Sizes of the moment and of the force in each joint."""
    at = independent(model)[joints]
    wrench = values.reshape(len(t), -1, 2, 3)[:, at]
    size = np.linalg.norm(wrench, axis=3)
    names = tuple(model.joint_names[j] for j in joints)
    return [
        Panel("Reaction force", "N", t, size[:, :, 1], names),
        Panel("Reaction moment", "N m", t, size[:, :, 0], names),
    ]


def _frame(info: ChannelInfo, name: str, part: str, t: Floats, values: Floats) -> Panel:
    where = FRAME_PARTS[part]
    names = info.components[where] if part == "R" else tuple("xyz")
    title = f"{name.removeprefix('frame:')}: {PARTS[part]}"
    return Panel(title, info.units[where][0], t, values[:, where], names)


def _by_unit(info: ChannelInfo, title: str, t: Floats, values: Floats) -> list[Panel]:
    """Any other channel."""
    found = []
    for unit in dict.fromkeys(info.units):
        of = [k for k, x in enumerate(info.units) if x == unit]
        names = tuple(info.components[k] for k in of)
        found.append(Panel(title, unit, t, values[:, of], names))
    return found


def _of_estimate(estimate: Estimate, name: str, joints: list[int]) -> list[Panel]:
    if not isinstance(name, str) or name not in OF_ESTIMATES:
        raise unknown_name("quantity of an estimate", name, OF_ESTIMATES)
    values, band = getattr(estimate, name), getattr(estimate, f"{name}_band", None)
    if name in ("q", "v"):
        return _split(estimate.model, name, joints, estimate.t, values, band=band)
    if name == "tau":
        driven = ~np.isin(estimate.model.joint_names, estimate.unactuated)
        joints = _driven(estimate.model, joints, driven)
    t = np.repeat(estimate.t, 2)[1:-1]  # held over each interval
    ends = None if band is None else (np.repeat(band[0], 2, axis=0), np.repeat(band[1], 2, axis=0))
    return _split(estimate.model, name, joints, t, np.repeat(values, 2, axis=0), band=ends)


def _of_trajectory(trajectory: Trajectory, name: str, joints: list[int]) -> list[Panel]:
    refuse_batch(trajectory, "plot")
    if not isinstance(name, str) or name not in OF_TRAJECTORIES:
        raise unknown_name("quantity of a trajectory", name, OF_TRAJECTORIES)
    if name == "energy":
        return [Panel("Energy", "J", trajectory.t, trajectory.energy[:, None], ("energy",))]
    return _split(trajectory.model, name, joints, trajectory.t, getattr(trajectory, name))
