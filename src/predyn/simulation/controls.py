"""Controls of a simulation: every form that a user may give becomes torques over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.bspline import BSpline
from predyn.errors import InputError
from predyn.kernels.arguments import finite, real
from predyn.model import Model
from predyn.samples.registry import TORQUES
from predyn.simulation.predicted_phases import Pieces, PredictedPhase, distinct
from predyn.solution import ROUNDING, Curve, Solution
from predyn.solution.evaluation import phase_starts

Floats = NDArray[np.float64]
Torques = Callable[[float, Floats, Floats], Floats]  # (t, q, v) -> tau


class Control(ABC):
    """Torques over time for a flat batch of B trajectories: (B, n), or (1, n) for all of them."""

    lead: tuple[int, ...] = ()  # leading shape as given
    breaks: Floats = np.zeros(0)  # times at which the torques are not smooth

    def flat(self, lead: tuple[int, ...]) -> Control:
        """The same control for a flat batch of trajectories of this leading shape."""
        return self

    def of(self, row: int) -> Control:
        """The control of one trajectory of a flat batch."""
        return self

    def on(self, start: float, end: float) -> Torques:
        """The torques within an interval without breaks inside, smooth up to its ends."""
        return self.at

    @abstractmethod
    def at(self, t: float, q: Floats, v: Floats) -> Floats:
        """The torques at any time; at a jump, those from the right."""

    def open_loop(self, t: Floats) -> Floats | None:
        """Torques (B or 1, K, n) at times (K,), or None if they depend on the state."""
        return None


class Samples(Control):
    """Torques (..., S, n) at times (S,), linear in between; a single sample is held throughout."""

    def __init__(self, knots: Floats, torques: Floats) -> None:
        self.knots, self.torques = knots, torques
        self.lead = torques.shape[:-2]
        self.breaks = knots[1:-1]

    def flat(self, lead: tuple[int, ...]) -> Control:
        table = self.torques.shape[-2:]
        if self.lead:
            return Samples(
                self.knots, np.broadcast_to(self.torques, (*lead, *table)).reshape(-1, *table)
            )
        return Samples(self.knots, self.torques.reshape(1, *table))

    def of(self, row: int) -> Control:
        return Samples(self.knots, self.torques[min(row, len(self.torques) - 1)][None])

    def at(self, t: float, q: Floats, v: Floats) -> Floats:
        return self.open_loop(np.array([t]))[:, 0]

    def open_loop(self, t: Floats) -> Floats:
        if len(self.knots) == 1:
            return np.repeat(self.torques, len(t), axis=1)
        k = np.clip(np.searchsorted(self.knots, t, side="right") - 1, 0, len(self.knots) - 2)
        width = self.knots[k + 1] - self.knots[k]
        share = np.clip((t - self.knots[k]) / width, 0.0, 1.0)[:, None]
        return np.asarray((1.0 - share) * self.torques[:, k] + share * self.torques[:, k + 1])


class Feedback(Control):
    """A user's function control(t, q, v): q, v (..., n) in, torques (n,) or (..., n) out."""

    def __init__(self, model: Model, function: Torques, lead: tuple[int, ...] = ()) -> None:
        self._model, self._function, self._shape = model, function, (*lead, model.n)

    def flat(self, lead: tuple[int, ...]) -> Control:
        return Feedback(self._model, self._function, lead)

    def of(self, row: int) -> Control:
        return Feedback(self._model, self._function)

    def at(self, t: float, q: Floats, v: Floats) -> Floats:
        n = self._model.n
        given = self._function(float(t), read_only(q, self._shape), read_only(v, self._shape))
        tau = real(self._model, "control(t, q, v)", given, (n,))
        if tau.shape not in ((n,), self._shape):
            expected = " or ".join(sorted({f"({n},)", str(self._shape)}))
            raise InputError(f"control(t, q, v): expected shape {expected}, got {tau.shape}")
        return tau.reshape(-1, n)


def read_only(x: Floats, shape: tuple[int, ...]) -> Floats:
    """A read-only view for a user's function, which must not change the numbers."""
    view = x.reshape(shape).view()
    view.flags.writeable = False
    return view


class TorqueCurve(Control):
    """A spline in time whose control points are torques."""

    def __init__(self, curve: Curve) -> None:
        self._pieces = Pieces((curve,))
        self.breaks = self._pieces.starts[1:]

    def on(self, start: float, end: float) -> Torques:
        piece = self._pieces.piece(0.5 * (start + end))
        return lambda t, q, v: self._pieces.at(t, piece)[:1]

    def at(self, t: float, q: Floats, v: Floats) -> Floats:
        torques: Floats = self.open_loop(np.array([t]))[0]
        return torques

    def open_loop(self, t: Floats) -> Floats:
        return np.stack([self._pieces.at(x, self._pieces.piece(x))[0] for x in t])[None]


class Predicted(Control):
    """The torques of a solution: those that its curves require, or their own signal; zero at its
    passive joints.
    """

    def __init__(self, solution: Solution) -> None:
        self.pieces = Pieces(solution.curves)
        given = solution.signal_curves.get(TORQUES)
        own = [x for x in given.curves if x is not None] if given else []
        self._torques = Pieces(tuple(own)) if own else None
        starts = phase_starts(solution).tolist()
        self.phases = [PredictedPhase(solution, k, start) for k, start in enumerate(starts)]
        self._starts = np.array(starts)
        breaks = [self.pieces.starts[1:], *(phase.breaks for phase in self.phases)]
        breaks += [self._torques.starts[1:]] if self._torques else []
        self.breaks = distinct(np.concatenate(breaks), solution.duration)

    def on(self, start: float, end: float) -> Torques:
        middle = 0.5 * (start + end)
        piece, phase = self.pieces.piece(middle), self.phases[self._phase(middle)]
        if self._torques is not None:
            steps, step = self._torques, self._torques.piece(middle)
            return lambda t, q, v: np.where(phase.driven, steps.at(t, step)[:1], 0.0)
        forces = phase.forces_near(middle)

        def torques(t: float, q: Floats, v: Floats) -> Floats:
            state = self.pieces.at(t, piece)
            return phase.torques((state[:1], state[1:2], state[2:]), forces(t))

        return torques

    def at(self, t: float, q: Floats, v: Floats) -> Floats:
        torques: Floats = self.open_loop(np.array([t]))[0]
        return torques

    def open_loop(self, t: Floats) -> Floats:
        states = np.stack([self.pieces.at(x, self.pieces.piece(x)) for x in t], axis=1)
        out, phases = np.empty(states.shape[1:]), np.array([self._phase(x) for x in t])
        for k in np.unique(phases):
            rows, phase = phases == k, self.phases[k]
            if self._torques is not None:
                steps = self._torques
                own = np.stack([steps.at(x, steps.piece(x))[0] for x in t[rows]])
                out[rows] = np.where(phase.driven, own, 0.0)
                continue
            forces = phase.forces_at(t[rows])
            out[rows] = phase.torques(tuple(np.ascontiguousarray(states[:, rows])), forces)
        return out[None]

    def _phase(self, t: float) -> int:
        """The phase at time t, from the right."""
        return max(int(np.searchsorted(self._starts, t, side="right")) - 1, 0)


def read_control(model: Model, control: Any, t: Floats) -> Control:
    """Read a control in any of its forms, and check that it covers the times t."""
    if control is None:
        return Samples(np.zeros(1), np.zeros((1, model.n)))
    if isinstance(control, Solution):
        if control.model.n != model.n:
            raise InputError(
                f"control: the solution {control.name!r} has {control.model.n} joints, but model "
                f"{model.name!r} has {model.n}"
            )
        _check_cover(f"the solution {control.name!r}", 0.0, control.duration, t)
        return Predicted(control)
    if isinstance(control, Curve):
        expected = (BSpline(control.degree, control.knots).n_control, model.n)
        if np.shape(control.control) != expected:
            raise InputError(
                f"control: expected control points (torques) of shape {expected}, got "
                f"{np.shape(control.control)}"
            )
        _check_cover("the curve", 0.0, control.duration, t)
        return TorqueCurve(control)
    if isinstance(control, tuple) and len(control) == 2 and np.ndim(control[0]) == 1:
        return _read_samples(model, *control, t)
    if callable(control):
        return Feedback(model, control)
    constant = finite("control", real(model, "control", control, (model.n,)))
    return Samples(np.zeros(1), constant[..., None, :])


def _read_samples(model: Model, knots: ArrayLike, torques: ArrayLike, t: Floats) -> Samples:
    times = check_times("control times", knots)
    values = finite("control", real(model, "control", torques, (len(times), model.n)))
    _check_cover("the range of its samples", times[0], times[-1], t)
    return Samples(times, values)


def check_times(name: str, values: ArrayLike) -> Floats:
    """At least two times that increase."""
    try:
        times = np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: expected seconds, got {values!r:.60}") from None
    if times.dtype.kind not in "fiu" or times.ndim != 1 or len(times) < 2:
        raise InputError(
            f"{name}: expected two or more increasing times (K,) in seconds, got an array of "
            f"{times.dtype} {times.shape}"
        )
    times = finite(name, times.astype(np.float64))
    falls = np.flatnonzero(np.diff(times) <= 0.0)
    if len(falls):
        k = int(falls[0])
        raise InputError(
            f"{name}: expected increasing times, got {times[k]!r} s and then {times[k + 1]!r} s at "
            f"index {k + 1}; sort them and remove duplicates"
        )
    return times


def _check_cover(what: str, first: float, last: float, t: Floats) -> None:
    slack = ROUNDING * max(abs(first), abs(last))
    if t[0] < first - slack or t[-1] > last + slack:
        raise InputError(
            f"control: {what} covers {first:g} to {last:g} s, but t goes from {t[0]:g} to "
            f"{t[-1]:g} s; shorten t, or give torques for its whole range"
        )
