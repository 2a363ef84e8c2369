"""Simulation by the variational midpoint rule (dynamics/variational.py): controls and outputs.

Torques that are known in advance act at the middle of each step, and all steps run in compiled
code. Those of a function depend on the state in the middle of the step, which they determine: the
step is repeated until they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from predyn.dynamics.rk4 import Marched, Plan, empty_march
from predyn.dynamics.variational import NOT_CONVERGED, Pieces, State, Variational
from predyn.errors import InputError, ModelError
from predyn.kernels.arguments import finite
from predyn.kernels.forces import ExternalForce
from predyn.model import Model
from predyn.simulation.base_coordinates import BaseCoordinates
from predyn.simulation.controls import Control, Samples
from predyn.simulation.stepping import Trouble

Floats = NDArray[np.float64]
BLOCK = 2**16  # steps in one call
MOST_TRIES = 60  # of a step whose torques depend on its result
AGREED = 1e-12  # share of the torques by which two tries may differ
ROUNDED = 1e-9  # the same, if they no longer approach each other
SINGULAR = 1e-6  # share of the velocities that a singular mass matrix loses


class VariationalSteps:
    """Steps of a flat batch of trajectories under a control."""

    def __init__(
        self, model: Model, control: Control, plan: Plan, forces: Sequence[ExternalForce]
    ) -> None:
        if model.couplings:
            raise InputError(
                f"method: 'variational' does not support joints that follow others, such as "
                f"{model.couplings[0].joint!r:.60} of model {model.name!r:.60}; use 'adaptive' or "
                "'rk4'"
            )
        self._model, self._control, self._plan = model, control, plan
        self._rule = Variational(model, forces)
        if self._rule.free and _drives_base(control, plan):
            self._rule = Variational(model, forces, hinges=True)
        self._base = BaseCoordinates(model) if self._rule.free else None

    def start(self, q: Floats, v: Floats) -> State:
        """The trajectories at positions and velocities (B, n); an error if they cannot move."""
        t = float(self._plan.t[0])
        finite("control(t, q, v)", np.broadcast_to(self._control.at(t, q, v), q.shape))
        e, angles = np.zeros((len(q), 4)), np.zeros((len(q), 3))
        if self._base is not None:
            q, v, e, angles = self._base.free(q, v)
        state = self._rule.start(q, v, e, angles, t)
        lost = np.abs(state.node_v - v).max(initial=0.0)
        if not lost <= SINGULAR * max(1.0, np.abs(v).max(initial=0.0)):
            raise ModelError(
                f"model {self._model.name!r:.60}: the mass matrix is singular at q0 (links "
                "without mass at the ends, or axes in line)"
            )
        return state

    def joints(self, state: State) -> tuple[Floats, Floats]:
        """Positions and velocities (B, n) of the joints at the latest node."""
        q = state.q
        if self._base is not None:
            q = np.concatenate((q[:, :3], state.angles, q[:, 6:]), axis=1)
        return self._to_joints(q, state.node_v)

    def march(self, q: Floats, v: Floats) -> Marched:
        """All steps of the plan from positions and velocities (B, n)."""
        state, plan = self.start(q, v), self._plan
        out = empty_march(len(q), len(plan.t), q.shape[1])
        out.q[:, 0], out.v[:, 0] = q, v
        if self._is_open_loop():
            for pieces, nodes in _blocks(plan):
                ends = self._rule.march(state, pieces, self._torques(pieces))
                wanted = nodes >= 0
                found = self._to_joints(*(x[:, wanted] for x in ends))
                out.q[:, nodes[wanted]], out.v[:, nodes[wanted]] = found
        else:
            for k, (t, count) in enumerate(zip(plan.t, plan.steps, strict=False)):
                h = (plan.t[k + 1] - t) / count
                for s in range(count):
                    state = self.take_step(state, t + s * h, h)
                alive = np.isnan(state.stop[:, 1])
                ends = self.joints(state)
                out.q[alive, k + 1], out.v[alive, k + 1] = (x[alive] for x in ends)
        out.stop[:], out.last_t[:] = state.stop, self.times(state)
        out.last_q[:], out.last_v[:] = self.joints(state)
        return out

    def times(self, state: State) -> Floats:
        """Times (B,) of the latest nodes, without rounding errors at times of the plan."""
        t = self._plan.t
        near = t[np.searchsorted(0.5 * (t[1:] + t[:-1]), state.t)]
        shortest = (np.diff(t) / self._plan.steps).min()
        return np.where(np.abs(near - state.t) < 1e-6 * shortest, near, state.t)

    def take_step(self, state: State, t: float, h: float) -> State:
        """The state after one step from t; trajectories that have stopped stay."""
        piece = Pieces(np.array([t]), np.array([h]), np.ones(1, np.int64), np.zeros(1, np.int64))
        if self._is_open_loop():
            after = state.copy()
            self._rule.march(after, piece, self._torques(piece))
            return after
        wanted, last = self._torques_of_function(t + 0.5 * h, *self.joints(state)), np.inf
        for _ in range(MOST_TRIES):
            state, tau = _stop_unknown(state, wanted, t + 0.5 * h), np.nan_to_num(wanted)
            after = state.copy()
            self._rule.march(after, piece, tau[:, None])
            alive = np.isnan(after.stop[:, 1])
            if not alive.any():
                return after
            own = after._replace(q=0.5 * (state.q + after.q), node_v=after.v)
            middle = self.joints(own._replace(angles=0.5 * (state.angles + after.angles)))
            wanted = self._torques_of_function(t + 0.5 * h, *middle)
            if not np.isfinite(wanted[alive]).all():
                continue
            change = np.abs(wanted - tau)[alive].max()
            size = max(np.abs(wanted)[alive].max(), np.finfo(float).tiny)
            if change <= AGREED * size or (change <= ROUNDED * size and change >= 0.5 * last):
                return after
            wanted, last = np.where(alive[:, None], wanted, tau), change
        failed = state.copy()
        failed.stop[np.isnan(state.stop[:, 1])] = t + h, NOT_CONVERGED, h
        return failed

    def _is_open_loop(self) -> bool:
        return self._control.open_loop(self._plan.t[:1]) is not None

    def _torques(self, pieces: Pieces) -> Floats:
        """Torques (1 or B, 1 or steps, n) at the middle of each step."""
        if isinstance(self._control, Samples) and len(self._control.knots) == 1:
            return self._control.torques
        known = self._control.open_loop(_middles(pieces))
        assert known is not None
        return finite("control", known)

    def _torques_of_function(self, t: float, q: Floats, v: Floats) -> Floats:
        tau: Floats = np.broadcast_to(self._control.at(t, q, v), q.shape)
        if self._base is not None and tau[:, :6].any():
            j = int(np.argmax(tau[:, :6].any(axis=0)))
            raise InputError(
                f"control(t, q, v): expected 0 at the six joints of the free base, got "
                f"{tau[np.argmax(tau[:, j] != 0.0), j]:g} at {self._model.joint_names[j]!r:.60}: "
                "method 'variational' does not have its hinges as coordinates; use forces=, "
                "torques that are no function of the state, or another method"
            )
        return np.array(tau, order="C")

    def _to_joints(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        if self._base is None:
            return q, v
        known = np.isfinite(q).all(axis=-1) & np.isfinite(v).all(axis=-1)
        out = np.full(q.shape, np.nan), np.full(q.shape, np.nan)
        out[0][known], out[1][known] = self._base.joints(q[known], v[known])
        return out


class VariationalStepper:
    """A Stepper (stepping.py) of one trajectory; between nodes, a shorter step gives the state."""

    def __init__(self, steps: VariationalSteps, plan: Plan, q: Floats, v: Floats) -> None:
        self._steps, self._state = steps, steps.start(q[None], v[None])
        self._old, self._grid = self._state, _steps_of(plan)
        self.t_old = self.t = float(plan.t[0])
        self.y = self._y_old = np.concatenate((q, v))

    def advance(self) -> Trouble | None:
        start, h, end = next(self._grid)
        after = self._steps.take_step(self._state, start, h)
        if not np.isnan(after.stop[0, 1]):
            return Trouble(float(after.stop[0, 0]), int(after.stop[0, 1]), float(after.stop[0, 2]))
        self._old, self._state, self._y_old = self._state, after, self.y
        self.t_old, self.t, self.y = self.t, end, self._state_of(after)
        return None

    def between(self, t: float) -> Floats:
        if t in (self.t_old, self.t):
            return self.y if t == self.t else self._y_old
        after = self._steps.take_step(self._old, self.t_old, t - self.t_old)
        return self._state_of(after)

    def _state_of(self, state: State) -> Floats:
        y: Floats = np.concatenate(self._steps.joints(state), axis=1)[0]
        return y


def _stop_unknown(state: State, tau: Floats, t: float) -> State:
    """The same, without the trajectories whose torques (B, n) are not finite."""
    after, alive = state.copy(), np.isnan(state.stop[:, 1])
    for row in np.flatnonzero(alive & ~np.isfinite(tau).all(axis=1)):
        j = int(np.argmin(np.isfinite(tau[row])))
        after.stop[row] = t, tau.shape[1] + j, np.nan
    return after


def _drives_base(control: Control, plan: Plan) -> bool:
    """Whether torques that are known in advance act on the six joints of the base."""
    if isinstance(control, Samples):
        return bool(control.torques[..., :6].any())
    for pieces, _ in _blocks(plan):
        known = control.open_loop(_middles(pieces))
        if known is None or known[..., :6].any():
            return known is not None
    return False


def _steps_of(plan: Plan) -> Iterator[tuple[float, float, float]]:
    """Start, length and end of each step."""
    for k, count in enumerate(plan.steps):
        h = (plan.t[k + 1] - plan.t[k]) / count
        for s in range(count):
            end = plan.t[k + 1] if s == count - 1 else plan.t[k] + (s + 1) * h
            yield float(plan.t[k] + s * h), float(h), float(end)


def _blocks(plan: Plan) -> Iterator[tuple[Pieces, NDArray[np.int64]]]:
    """The steps in pieces of at most BLOCK, several pieces at a time.

    Also the number of the output time at the end of each piece, -1 if there is none.
    """
    widths = np.diff(plan.t) / plan.steps
    parts = -(-plan.steps // BLOCK)
    k = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(k)) - np.repeat(np.cumsum(parts) - parts, parts)
    steps = np.minimum(plan.steps[k] - part * BLOCK, BLOCK)
    starts, ends = plan.t[k] + part * BLOCK * widths[k], np.where(part == parts[k] - 1, k + 1, -1)
    sums, first = np.cumsum(steps), 0
    while first < len(k):
        done = sums[first - 1] if first else 0
        last = max(int(np.searchsorted(sums, done + BLOCK, side="right")), first + 1)
        at = slice(first, last)
        yield Pieces(starts[at], widths[k[at]], steps[at], np.zeros(1, np.int64)), ends[at]
        first = last


def _middles(pieces: Pieces) -> Floats:
    """Times in the middle of all steps."""
    within = np.arange(int(pieces.steps.sum())) - np.repeat(
        np.cumsum(pieces.steps) - pieces.steps, pieces.steps
    )
    h = np.repeat(pieces.h, pieces.steps)
    return np.asarray(np.repeat(pieces.t, pieces.steps) + (within + 0.5) * h)
