"""A motion of any kind laid out in space at chosen times."""

from __future__ import annotations

import numpy as np

from predyn.errors import InputError
from predyn.estimate.result import Estimate
from predyn.simulation.trajectories import Trajectory
from predyn.solution import Solution
from predyn.view.estimate_scene import positions_at
from predyn.view.panels import Floats, Motion, refuse_batch
from predyn.view.stage import Stage, lay_out, set_stage


def name_of(motion: Motion) -> str:
    return motion.model.name if isinstance(motion, Trajectory) else motion.name


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
    """Cubic Hermite interpolation of the positions by their velocities."""
    t = trajectory.t
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    s = (times - t[k])[:, None] / h
    q, v = trajectory.q, trajectory.v
    return np.asarray(
        (1.0 + 2.0 * s) * (1.0 - s) ** 2 * q[k]
        + s * (1.0 - s) ** 2 * h * v[k]
        + s**2 * (3.0 - 2.0 * s) * q[k + 1]
        - s**2 * (1.0 - s) * h * v[k + 1]
    )
