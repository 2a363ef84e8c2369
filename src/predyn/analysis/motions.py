"""A motion with its forces, whatever it comes from: an estimate, a solution, or arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline

from predyn.errors import InputError
from predyn.estimate.result import Estimate
from predyn.model import PRISMATIC, Model
from predyn.model.couplings import joint_positions, sources
from predyn.solution import Solution
from predyn.solution.evaluation import has_motor
from predyn.solution.external_loads import loaded_frames
from predyn.solution.ground import Sole, feet_of, ground_loads, touches_ground

Floats = NDArray[np.float64]

RATE, FEWEST = 200.0, 201  # samples of a solution: per second, and at least in all


class GroundForce(NamedTuple):
    """The force of the ground on a link or frame of the model, world axes."""

    link: str
    t: Floats  # (P,) s
    force: Floats  # (P, 3) N
    pressure: Floats | None = None  # (P, 3) m, centre of pressure, NaN where nothing touches


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint positions, speeds and net joint loads over time."""

    name: str
    model: Model
    t: Floats  # (K,) s
    q: Floats  # (K, n) rad, m
    v: Floats  # (K, n)
    moments: Floats  # (K, n) N m, N: motor, spring and friction together
    reactions: Floats  # (K, links, 3) N, on each link through its joint, link axes
    forces: tuple[GroundForce, ...] = ()
    motors: Floats | None = None  # (K, n) of the motors alone; None: not known
    normal: Floats | None = None  # (3,) of the ground; None: it is horizontal

    def position_at(self, joint: int, times: Floats) -> Floats:
        """A joint's position between the samples, cubic by positions and speeds."""
        curve = CubicHermiteSpline(self.t, self.q[:, joint], self.v[:, joint])
        return np.asarray(curve(times))


def interpolated(t: Floats, values: Floats, times: Floats) -> Floats:
    """Values (K, ...) given at t (K,) at times (M,): (M, ...), by straight lines."""
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    share = np.clip((times - t[k]) / (t[k + 1] - t[k]), 0.0, 1.0)
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray((1.0 - share) * values[k] + share * values[k + 1])


def loaded_links(result: Estimate | Solution | Motion) -> list[str]:
    """Names of the links and frames on which forces act."""
    if isinstance(result, Estimate):
        return list(dict.fromkeys(result.force_links.values()))
    if isinstance(result, Solution):
        return [*_other_loads(result), *(sole.name for sole in _feet(result))]
    return list(dict.fromkeys(force.link for force in result.forces))


def motion_of(result: Estimate | Solution | Motion) -> Motion:
    """The motion of an estimate, in the middles of its intervals, or of a solution."""
    if isinstance(result, Motion):
        return result
    if isinstance(result, Estimate):
        return _motion_of_estimate(result)
    if isinstance(result, Solution):
        return _motion_of_solution(result)
    raise not_a_motion(result)


def not_a_motion(given: object) -> InputError:
    return InputError(
        f"expected an Estimate, a Solution or a predyn.analysis.Motion, got {type(given).__name__}"
    )


def _motion_of_estimate(estimate: Estimate) -> Motion:
    wrenches = estimate.joint_reactions()
    q, v = estimate.middle_states()
    forces = tuple(
        GroundForce(link, measured.t, measured.force)
        for link, measured in (
            (link, estimate.measurements.forces[name])
            for name, link in estimate.force_links.items()
        )
    )
    moments = joint_moments(estimate.model, q, wrenches)
    loads = (moments, wrenches[:, :, 3:], forces)
    return Motion(estimate.name, estimate.model, estimate.t_tau, q, v, *loads)


def _motion_of_solution(solution: Solution) -> Motion:
    t = _instants(solution)
    sample, model = solution.at(t), solution.model
    forces = [
        GroundForce(name, t, solution.channel(f"force:{name}", t)[:, 3:])
        for name in _other_loads(solution)
    ]
    if feet := _feet(solution):
        forces += [
            GroundForce(load.sole.name, t, load.force, load.pressure)
            for load in ground_loads(solution, t, feet)
        ]
    moments = joint_moments(model, sample.q, sample.reactions)
    motors = np.where(has_motor(solution, solution.phase_at(t)), sample.tau, 0.0)
    loads = (moments, sample.reactions[:, :, 3:], tuple(forces), motors)
    normal = None if solution.ground is None else np.array([0.0, 0.0, 1.0])
    return Motion(solution.name, model, t, sample.q, sample.v, *loads, normal)


def _instants(solution: Solution) -> Floats:
    """At equal steps within each phase, so that repetitions of a phase are sampled alike."""
    rate = max(RATE, (FEWEST - 1) / solution.duration)
    parts, start = [np.zeros(1)], 0.0
    for curve in solution.curves:
        count = int(np.ceil(rate * curve.duration))
        parts.append(start + curve.duration * np.arange(1, count + 1) / count)
        start += curve.duration
    t = np.concatenate(parts)
    t[-1] = solution.duration
    return t


def _feet(solution: Solution) -> list[Sole]:
    """Feet on which the ground acts."""
    return feet_of(solution.model) if touches_ground(solution) else []


def _other_loads(solution: Solution) -> list[str]:
    """Links and frames on which anything but the ground acts."""
    points = {point for sole in _feet(solution) for point in sole.points}
    return [name for name in loaded_frames(solution) if name not in points]


def joint_moments(model: Model, q: Floats, wrenches: Floats) -> Floats:
    """(K, n) components of wrenches (K, links, 6) along the joints: moments, of slides forces.

    Joints that follow another one add what they pass on to it, times its slope.
    """
    tree = model.expanded
    along = np.einsum("knsx,nx->kns", wrenches.reshape(*wrenches.shape[:2], 2, 3), model.axis)
    slides = tree.kind == PRISMATIC
    turning = np.where(slides, 0.0, along[:, :, 0])
    every = turning + np.where(slides, 1.0, model.pitch) * along[:, :, 1]
    slopes = joint_positions(model, q, order=1)
    return np.asarray((every * slopes) @ np.eye(model.n)[sources(model)])
