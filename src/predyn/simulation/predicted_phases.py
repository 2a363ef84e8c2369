"""The phases of a solution as a simulation meets them: curves, motors, and forces over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.curves.profile import Profile
from predyn.dynamics.evaluations import Evaluation
from predyn.dynamics.rnea import RNEA
from predyn.kernels.forces import ExternalForce, forces_at, signal_of
from predyn.model import Model
from predyn.solution import Curve, Solution
from predyn.solution.evaluation import Part, forces_in, has_motor

Floats = NDArray[np.float64]
Forces = Callable[[float], Sequence[ExternalForce]]  # at a time
SAME = 1e-13  # breaks that are nearer than this share of the motion are one


class Pieces:
    """Curves with their derivatives in time, as polynomials between their break points."""

    def __init__(self, curves: tuple[Curve, ...], begin: float = 0.0) -> None:
        starts, series = [], []
        for curve in curves:
            spline = BSpline(curve.degree, curve.knots)
            parts = spline.evaluate(
                curve.control, spline.breaks[:-1], curve.duration, derivatives=curve.degree
            )
            factorial = np.cumprod([1.0, *range(1, curve.degree + 1)])
            terms = np.stack(parts, axis=1) / factorial[:, None]  # (segments, degree + 1, n)
            starts.append(begin + curve.duration * spline.breaks[:-1])
            series += [_with_derivatives(part) for part in terms]
            begin += curve.duration
        self.starts, self.end = np.concatenate(starts), begin
        self._series = series

    def at(self, t: float, piece: int) -> Floats:
        """(3, n): the curve and two derivatives, continued from one piece."""
        series = self._series[piece]
        x = np.power(t - self.starts[piece], np.arange(series.shape[1]))
        return np.asarray(x @ series)

    def piece(self, t: float) -> int:
        """The piece at time t, from the right."""
        return max(int(np.searchsorted(self.starts, t, side="right")) - 1, 0)


def _with_derivatives(series: Floats) -> Floats:
    """Coefficients (3, degree + 1, n) of a polynomial and its first two derivatives."""
    out = np.zeros((3, *series.shape))
    out[0] = series
    for d in (1, 2):
        out[d, :-1] = out[d - 1, 1:] * np.arange(1.0, len(series))[:, None]
    return out


class PredictedPhase:
    """One phase: what moves in it, which joints have a motor, and what acts on it."""

    model: Model  # with the loops that are closed

    def __init__(self, solution: Solution, k: int, start: float) -> None:
        system = solution.system(k)
        self.forces = system.forces
        self.driven = has_motor(solution, k)
        self._solution, self._k, self._start = solution, k, start
        self._duration = solution.curves[k].duration
        values = [x for force in self.forces for x in (force.force, force.moment)]
        names = {signal_of(x)[0] for x in values if isinstance(x, str)}
        # loops without a force are open in this phase
        loops = [x for x in system.model.loops if names & {x.name, f"{x.name} moment"}]
        self.model = replace(system.model, loops=tuple(loops))
        profiles = [x for x in values if isinstance(x, Profile)]
        # an InputError if a signal is not there
        self.first_forces = self.forces_at(np.array([start]))
        curves = {name: solution.signal_curves[name].curves[k] for name in sorted(names)}
        self._signals = {name: Pieces((curve,), start) for name, curve in curves.items() if curve}
        self.constant = not names and not profiles
        self._inverse = Evaluation(RNEA, self.model, self.first_forces)
        breaks = [pieces.starts[1:] for pieces in self._signals.values()]
        breaks += [start + self._seconds(profile) for profile in profiles]
        self.breaks: Floats = np.concatenate([np.zeros(0), *breaks])  # of the forces

    def _seconds(self, profile: Profile) -> Floats:
        """When the profile passes from one polynomial to the next, since the phase began."""
        times = np.asarray(profile.times, float)
        seconds = times * self._duration if profile.over == "phase" else times
        return np.asarray(seconds[(seconds > 0.0) & (seconds < self._duration)])

    def forces_at(self, t: Floats) -> list[ExternalForce]:
        """The forces at times (K,); from the right where they jump."""
        s = np.clip((t - self._start) / self._duration, 0.0, 1.0)
        return forces_in(self._solution, Part(self._k, np.ones(len(t), bool), s))

    def forces_near(self, middle: float) -> Forces:
        """The forces over time, smooth around `middle` up to the next breaks."""
        if self.constant:
            return lambda t: self.forces
        parts = {name: (pieces, pieces.piece(middle)) for name, pieces in self._signals.items()}

        def forces(t: float) -> Sequence[ExternalForce]:
            def signal(name: str) -> Floats:
                pieces, piece = parts[name]
                return pieces.at(t, piece)[:1]

            s = np.array([(t - self._start) / self._duration])
            return forces_at(self.forces, s, self._duration, signal)

        return forces

    def torques(self, states: tuple[Floats, ...], forces: Sequence[ExternalForce]) -> Floats:
        """What the motors do (B, n) for q, v, a (B, n) under forces of this phase."""
        if not self.constant:
            self._inverse.load(forces)
        return np.where(self.driven, self._inverse(*states), 0.0)


def distinct(breaks: Floats, duration: float) -> Floats:
    """Sorted, and one of those that differ by rounding."""
    found = np.unique(breaks)
    return found[np.diff(found, prepend=-np.inf) > SAME * duration]
