"""Time stepping: fixed RK4 steps or SciPy's adaptive DOP853, with events that stop a simulation.

A state y holds q, v and any other integrated quantities, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.evaluations import Accelerations
from predyn.dynamics.rk4 import LARGEST, Marched, Plan, empty_march
from predyn.dynamics.variational import NOT_CONVERGED, OPEN_LOOPS
from predyn.errors import InputError
from predyn.model import PRISMATIC, Model
from predyn.simulation.closed_loops import Projection
from predyn.simulation.controls import read_only

Floats = NDArray[np.float64]
Event = Callable[[float, Floats, Floats], float]
Slope = Callable[[float, Floats], Floats]  # dy/dt at (t, y)
EPS = float(np.finfo(float).eps)
STEP_LIMIT = -1  # as Trouble.place; also OPEN_LOOPS and NOT_CONVERGED


class Trouble(NamedTuple):
    """Why a simulation cannot continue: time, joint and value; the step limit; open loops; or a
    step, the value, whose equations have no solution.

    place: the joint, plus n for its velocity, plus 2 n for its acceleration.
    """

    t: float
    place: int
    value: float

    def text(self, model: Model) -> str:
        if self.place == STEP_LIMIT:
            return (
                f"the limit of {self.value:.0f} steps was reached at t = {self.t:.9g} s: the time "
                "is long, or stiffness (strong damping or springs, steep friction) requires short "
                "steps; raise max_steps, loosen rtol and atol, or use rk4"
            )
        if self.place == OPEN_LOOPS:
            return (
                f"at t = {self.t:.9g} s the loops could not be closed after a step (an equation is "
                f"left with {self.value:.3g} m or rad): the pose is singular, or the step too long"
            )
        if self.place == NOT_CONVERGED:
            return (
                f"no solution of the discrete equations of motion was found for the step of "
                f"{self.value:.6g} s to t = {self.t:.9g} s: choose a shorter step"
            )
        order, j = divmod(self.place, model.n)
        unit = ("m" if model.kind[j] == PRISMATIC else "rad") + ("", "/s", "/s^2")[order]
        what = ("position", "velocity", "acceleration")[order]
        ahead = ", and no step was small enough to continue" if order == 2 else ""
        return (
            f"at t = {self.t:.9g} s the {what} of joint {model.joint_names[j]!r} was "
            f"{self.value:.6g} {unit}{ahead}"
        )


class Run(NamedTuple):
    """One trajectory up to the point where it stopped, which is its last row."""

    t: Floats  # (K,)
    y: Floats  # (K, m)
    event: int | None
    trouble: Trouble | None


class Stepper(Protocol):
    """Advances step by step: the latest step led from t_old to t, where the state is y.

    `advance` returns why it cannot continue, or None; if it cannot, t and y stay.
    """

    t_old: float
    t: float
    y: Floats

    def advance(self) -> Trouble | None: ...

    def between(self, t: float) -> Floats: ...


def find_excess(t: float, y: Floats, n: int) -> Trouble | None:
    """The first position or velocity that is NaN or beyond the largest value allowed."""
    outside = ~(np.abs(y[: 2 * n]) < LARGEST)
    if not outside.any():
        return None
    k = int(np.argmax(outside))
    return Trouble(t, k, float(y[k]))


class Adaptive:
    """DOP853 of SciPy (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, II.5).

    It restarts at each break, where the slope is not smooth. slopes: (start, end) -> dy/dt.
    """

    def __init__(
        self,
        slopes: Callable[[float, float], Slope],
        span: tuple[float, float],
        y: Floats,
        n: int,
        breaks: Floats,
        rtol: float,
        atol: float,
        longest: float,
        most: int,
        project: Projection | None = None,
    ) -> None:
        first, last = span
        inside = breaks[(breaks > first) & (breaks < last)]
        apart = 16 * EPS * max(abs(first), abs(last))
        self._ends = [x for x in inside if x - first > apart and last - x > apart] + [last]
        self._slopes, self._n, self._project = slopes, n, project
        self._left, self._most = most, most
        self._options = {"rtol": rtol, "atol": atol, "max_step": longest}
        self._solver: Any = None
        self._dense: Any = None
        self.t_old, self.t, self.y = first, first, y

    def advance(self) -> Trouble | None:
        if self._left == 0:
            return Trouble(self.t, STEP_LIMIT, float(self._most))
        self._left -= 1
        with np.errstate(all="ignore"):
            if self._solver is None or self._solver.t == self._solver.t_bound:
                trouble = self._start_piece()
                if trouble is not None:
                    return trouble
            self._solver.step()
        if self._solver.status == "failed":
            with np.errstate(all="ignore"):
                rates = np.abs(self._solver.fun(self.t, self.y)[self._n : 2 * self._n])
            worst = int(np.argmax(np.where(np.isfinite(rates), rates, np.inf)))
            return Trouble(self.t, 2 * self._n + worst, float(rates[worst]))
        trouble = find_excess(self._solver.t, self._solver.y, self._n)
        if trouble is None and self._project is not None:
            y, left = _projected(self._project, self._solver.y, self._n)
            if left > 0.0:
                return Trouble(self._solver.t, OPEN_LOOPS, left)
            self._solver.y = y
            self._solver.f = self._solver.fun(self._solver.t, y)  # of the next step's first stage
        if trouble is None:
            self.t_old, self.t, self.y = self._solver.t_old, self._solver.t, self._solver.y
            self._dense = None
        return trouble

    def _start_piece(self) -> Trouble | None:
        from scipy.integrate import DOP853

        end = self._ends.pop(0)
        slope, first = self._slopes(self.t, end), None
        if self._solver is not None:
            first = min(float(self._solver.h_abs), end - self.t)
        else:  # SciPy would search for a first step forever
            wrong = ~np.isfinite(slope(self.t, self.y)[: 2 * self._n])
            if wrong.any():
                return Trouble(self.t, int(np.argmax(wrong)), math.nan)
        self._solver = DOP853(slope, self.t, self.y, end, first_step=first, **self._options)
        return None

    def between(self, t: float) -> Floats:
        if t == self.t:
            return self.y
        if self._dense is None:
            self._dense = self._solver.dense_output()
        y = np.asarray(self._dense(t))
        return y if self._project is None else _projected(self._project, y, self._n)[0]


def _projected(project: Projection, y: Floats, n: int) -> tuple[Floats, float]:
    """A state y with closed loops, and the largest value of an equation that is left."""
    q, v, left = project(y[None, :n], y[None, n : 2 * n])
    return np.concatenate((q[0], v[0], y[2 * n :])), float(left[0])


class Fixed:
    """RK4 steps of one trajectory; a state within a step is that of a shorter step."""

    def __init__(self, step: RK4, plan: Plan, y: Floats) -> None:
        self._step, self._n = step, len(y) // 2
        h = np.repeat(np.diff(plan.t) / plan.steps, plan.steps)
        within = np.concatenate([np.arange(m) for m in plan.steps])
        self._starts = np.repeat(plan.t[:-1], plan.steps) + within * h
        self._ends = np.append(self._starts[1:], plan.t[-1])
        self._h, self._k = h, -1
        self._y_old = y
        self.t_old, self.t, self.y = float(plan.t[0]), float(plan.t[0]), y

    def advance(self) -> Trouble | None:
        self._k += 1
        self._y_old, self.t_old = self.y, float(self._starts[self._k])
        y, troubles = self._take_step(float(self._h[self._k]))
        if troubles:
            return troubles[0]
        self.t, self.y = float(self._ends[self._k]), y
        return None

    def between(self, t: float) -> Floats:
        return self.y if t == self.t else self._take_step(t - self.t_old)[0]

    def _take_step(self, h: float) -> tuple[Floats, dict[int, Trouble]]:
        q, v = self._y_old[None, : self._n], self._y_old[None, self._n :]
        q, v, troubles = self._step(self.t_old, h, q, v)
        return np.concatenate((q[0], v[0])), troubles


class RK4:
    """One step of the classical Runge-Kutta method for a flat batch (B, n)."""

    def __init__(
        self,
        accelerations: Accelerations,
        torques: Callable[..., Floats],
        project: Projection | None = None,
    ) -> None:
        self._accelerations, self._torques, self._project = accelerations, torques, project

    def __call__(
        self, t: float, h: float, q: Floats, v: Floats
    ) -> tuple[Floats, Floats, dict[int, Trouble]]:
        """The state after the step; rows that left the bounds are set to rest at zero."""
        troubles: dict[int, Trouble] = {}
        qs, vs = q, v
        a = sum_v = sum_a = np.zeros_like(v)
        with np.errstate(all="ignore"):
            for part, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
                if part:
                    qs, vs = q + (part * h) * vs, v + (part * h) * a
                    self._retire(t + part * h, qs, vs, troubles)
                tau = np.broadcast_to(self._torques(t + part * h, qs, vs), q.shape)
                a = self._accelerations(qs, vs, np.array(tau, order="C"))
                sum_v, sum_a = sum_v + weight * vs, sum_a + weight * a
            q, v = q + (h / 6.0) * sum_v, v + (h / 6.0) * sum_a
            self._retire(t + h, q, v, troubles)
        if self._project is not None:
            q, v, left = self._project(q, v)
            for k in np.flatnonzero(left).tolist():
                troubles.setdefault(k, Trouble(t + h, OPEN_LOOPS, float(left[k])))
        for row in troubles:
            q[row] = v[row] = 0.0
        return q, v, troubles

    @staticmethod
    def _retire(t: float, q: Floats, v: Floats, troubles: dict[int, Trouble]) -> None:
        inside = (np.abs(q) < LARGEST).all(axis=1) & (np.abs(v) < LARGEST).all(axis=1)
        for row in np.flatnonzero(~inside):
            trouble = find_excess(t, np.concatenate((q[row], v[row])), q.shape[1])
            assert trouble is not None
            troubles.setdefault(int(row), trouble)
            q[row] = v[row] = 0.0


def march_in_numpy(step: RK4, q: Floats, v: Floats, plan: Plan) -> Marched:
    """predyn.dynamics.rk4.march in NumPy, for controls and models without a compiled path."""
    B, n = q.shape
    K = len(plan.t)
    out = empty_march(B, K, n)
    out.last_t[:] = plan.t[-1]
    alive = np.ones(B, bool)
    out.q[:, 0], out.v[:, 0] = q, v
    for k in range(K - 1):
        h = (plan.t[k + 1] - plan.t[k]) / plan.steps[k]
        for s in range(plan.steps[k]):
            if not alive.any():
                return out
            start = plan.t[k] + s * h
            q_old, v_old = q, v
            q, v, troubles = step(start, h, q, v)
            for row, trouble in troubles.items():
                if alive[row]:
                    alive[row], out.stop[row], out.last_t[row] = False, tuple(trouble), start
                    out.last_q[row], out.last_v[row] = q_old[row], v_old[row]
        out.q[alive, k + 1], out.v[alive, k + 1] = q[alive], v[alive]
    out.last_q[alive], out.last_v[alive] = q[alive], v[alive]
    return out


def run(stepper: Stepper, t: Floats, n: int, events: Sequence[Event] = ()) -> Run:
    """Step to the last of the times t, or to the first change of sign of an event."""
    rows, k = [stepper.y], 1
    signs = [_find_sign(e, j, stepper.t, stepper.y, n) for j, e in enumerate(events)]
    while k < len(t):
        trouble = stepper.advance()
        if trouble is not None:
            return _stop_run(t[:k], rows, stepper.t, stepper, None, trouble)
        crossed = None
        now = [_find_sign(e, j, stepper.t, stepper.y, n) for j, e in enumerate(events)]
        for j, (before, after) in enumerate(zip(signs, now, strict=True)):
            if before * after < 0.0 or (before and not after):
                at = _find_crossing(events[j], j, stepper, n, before)
                if crossed is None or at < crossed[0]:
                    crossed = (at, j)
        signs = [after or before for before, after in zip(signs, now, strict=True)]
        end = stepper.t if crossed is None else crossed[0]
        while k < len(t) and t[k] <= end:
            rows.append(stepper.between(t[k]))
            k += 1
        if crossed is not None:
            return _stop_run(t[:k], rows, crossed[0], stepper, crossed[1], None)
    return Run(t, np.array(rows), None, None)


def _stop_run(
    t: Floats, rows: list[Floats], at: float, stepper: Stepper, event: int | None,
    trouble: Trouble | None,
) -> Run:  # fmt: skip
    """The trajectory up to `at`, which becomes the last row."""
    if at > t[-1]:
        t = np.append(t, at)
        rows.append(stepper.between(at))
    return Run(t, np.array(rows), event, trouble)


def _find_sign(event: Event, j: int, t: float, y: Floats, n: int) -> float:
    return float(np.sign(_evaluate_event(event, j, t, y, n)))


def _evaluate_event(event: Event, j: int, t: float, y: Floats, n: int) -> float:
    value = np.asarray(event(float(t), read_only(y[:n], (n,)), read_only(y[n : 2 * n], (n,))))
    if value.shape != () or value.dtype.kind not in "fiu" or not np.isfinite(value):
        raise InputError(
            f"events[{j}]: expected one finite number from event(t, q, v), got {value!r:.60} at "
            f"t = {t:g}"
        )
    return float(value)


def _find_crossing(event: Event, j: int, stepper: Stepper, n: int, before: float) -> float:
    """The time in the latest step at which the event changes sign."""
    from scipy.optimize import brentq

    def signed(t: float) -> float:
        return before * _evaluate_event(event, j, t, stepper.between(t), n)

    if signed(stepper.t) == 0.0 or signed(stepper.t_old) <= 0.0:
        return stepper.t if signed(stepper.t) == 0.0 else stepper.t_old
    return float(brentq(signed, stepper.t_old, stepper.t, xtol=4 * EPS, rtol=4 * EPS))
