"""A motion of any kind laid out in space at chosen times."""

from __future__ import annotations

import numpy as np

from predyn.errors import InputError
from predyn.estimate.result import Estimate
from predyn.model import Model
from predyn.problem import Problem
from predyn.simulation.trajectories import Trajectory
from predyn.solution import Solution
from predyn.view.estimate_scene import positions_at
from predyn.view.panels import Floats, Motion, refuse_batch
from predyn.view.stage import Stage, lay_out, set_stage


def name_of(thing: Motion | Model | Problem) -> str:
    """Trajectories have no name of their own."""
    return thing.model.name if isinstance(thing, Trajectory) else thing.name


def span_of(motion: Motion) -> tuple[float, float]:
    """Start and end of the motion, s; an InputError if there is nothing to draw."""
    refuse_batch(motion, "animation")
    times = np.array([0.0, motion.duration]) if isinstance(motion, Solution) else motion.t
    finite = motion.finite if isinstance(motion, Solution) else np.isfinite(motion.q).all()
    if not finite or not times[-1] > times[0]:
        raise InputError(
            f"{name_of(motion)!r}: there is no motion to draw: it needs finite positions and a "
            "duration"
        )
    return float(times[0]), float(times[-1])


def stage_at(motion: Motion, times: Floats) -> Stage:
    """The mechanism at equal time steps within the motion."""
    if isinstance(motion, Solution):
        return set_stage(motion, times)
    q = positions_at(motion, times) if isinstance(motion, Estimate) else _between(motion, times)
    return lay_out(motion.model, times, q)


def _between(trajectory: Trajectory, times: Floats) -> Floats:
    """Positions of a trajectory between its instants, by its velocities."""
    from scipy.interpolate import CubicHermiteSpline

    return np.asarray(CubicHermiteSpline(trajectory.t, trajectory.q, trajectory.v)(times))
