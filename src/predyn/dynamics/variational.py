"""Whole simulations by the variational midpoint rule, in compiled code: one trajectory at a time.

variational_step.py has the equations of a step. A trajectory carries positions and momenta from
node to node, so the step may change without a loss; velocities are computed at output times alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import config

from predyn.dynamics.free_rotation import (
    NO_BASE,
    free_base,
    freed_tree,
    track_hinges,
)
from predyn.dynamics.loop_rows import pack_loops
from predyn.dynamics.rk4 import LARGEST
from predyn.dynamics.variational_equations import evaluate, momentum_at_end, room_for
from predyn.dynamics.variational_step import choose_independent, newton, node_velocity
from predyn.kernels.batch import run_on_threads, split_samples
from predyn.kernels.forces import ExternalForce, pack_forces
from predyn.kernels.kernel_cache import KernelCache
from predyn.kernels.lanes import entry, jit
from predyn.kernels.tree import Floats, Ints, placed_tree_of, tree_of
from predyn.model import Model
from predyn.model.loops import EQUATIONS

OPEN_LOOPS, NOT_CONVERGED = -2, -3  # places of a stop that are no joint
_PARTS = 8  # of a step whose equations Newton's method does not solve at once
_LONG = 10**5  # trajectories x joints x steps: a second
_OPEN = 1e-12  # m and 1, and as many times the rounding of the largest position
_ROUNDING = 64.0 * float(np.finfo(float).eps)


class Pieces(NamedTuple):
    """Equal steps, one piece after the other."""

    t: Floats  # (P,) s, start of each piece
    h: Floats  # (P,) s, its step
    steps: Ints  # (P,)
    ended: Ints  # (1,) nonzero once the results are no longer needed


class State(NamedTuple):
    """B trajectories at a node; q of a free base: its position, and 0 in place of hinges."""

    q: Floats  # (B, n)
    e: Floats  # (B, 4) orientation of a free base
    p: Floats  # (B, n) momenta
    v: Floats  # (B, n) in the middle of the latest step
    gain: Floats  # (B, n) by which v differed from that of the step before
    angles: Floats  # (B, 3) hinges of a free base
    rank: Ints  # (B,) largest number of independent equations of loops so far
    t: Floats  # (B,)
    node_v: Floats  # (B, n) velocities at the node, with the angular velocity of a free base
    stop: Floats  # (B, 3) time, joint (plus n for its velocity) or other place, value; NaN: none

    def copy(self) -> State:
        arrays: tuple[Any, ...] = self
        return State(*(x.copy() for x in arrays))

    def rows(self, rows: slice) -> State:
        """Some of the trajectories: changes of them are changes of this state."""
        arrays: tuple[Any, ...] = self
        return State(*(x[rows] for x in arrays))


@jit
def _stop(stop, row, t, place, value):
    stop[row, 0], stop[row, 1], stop[row, 2] = t, place, value


@jit
def _take_step(tree, loads, loops, base, t, h, row, tau, values, state, room):
    """One step of a trajectory from its node at t; state.stop says why if there is none."""
    n, free = state.q.shape[1], base.free[0] == 1
    q, e, p = state.q[row : row + 1], state.e[row], state.p[row]
    count = choose_independent(tree, loops, free, q, e, state.rank[row], room)
    state.rank[row] = max(state.rank[row], count)
    found, attempt = False, 0
    while attempt < 3 and not found:
        # from an extrapolated velocity; from the latest one; along solutions of shorter steps
        for i in range(n):
            room.v[0, i] = state.v[row, i] + (state.gain[row, i] if attempt == 0 else 0.0)
        part = 1 if attempt == 2 else _PARTS
        found = True
        while part <= _PARTS and found:
            share = h * (part / _PARTS)
            found = newton(tree, loads, loops, free, share, count, q, e, p, tau, values, room)
            part += 1
        attempt += 1
    if not found:
        _stop(state.stop, row, t + h, NOT_CONVERGED, h)
        return
    largest = 1.0
    for i in range(n):
        largest = max(largest, abs(room.next_q[0, i]))
    for r in range(room.phi.shape[0]):
        if not abs(room.phi[r]) <= _OPEN + _ROUNDING * largest:
            _stop(state.stop, row, t + h, OPEN_LOOPS, abs(room.phi[r]))
    for i in range(2 * n - 1, -1, -1):
        x = room.next_q[0, i] if i < n else room.v[0, i - n]
        if not abs(x) < LARGEST:
            _stop(state.stop, row, t + h, i, x)
    if not np.isnan(state.stop[row, 1]):
        return
    momentum_at_end(n, free, h, 1.0, room, p)
    for i in range(n):
        q[0, i] = room.next_q[0, i]
        state.gain[row, i] = room.v[0, i] - state.v[row, i]
        state.v[row, i] = room.v[0, i]
    if free:
        for i in range(4):
            e[i] = room.e[i]
        track_hinges(base, e, state.angles[row])
    state.t[row] = t + h


@entry
def _march(tree, loads, loops, base, pieces, ins, state, outs, room):
    torques, wrenches, velocities = ins
    q_out, v_out = outs
    n, free = state.q.shape[1], base.free[0] == 1
    for row in range(state.q.shape[0]):
        q, e, p, values = (
            state.q[row : row + 1],
            state.e[row],
            state.p[row],
            wrenches[row : row + 1],
        )
        force = torques[min(row, torques.shape[0] - 1)]
        if velocities.shape[0] > 0:  # a start: velocities give the momenta
            for i in range(n):
                room.v[0, i] = velocities[row, i]
            evaluate(tree, loads, free, 0.0, q, e, force[0], values, room)
            for i in range(n):
                p[i] = room.fp[0, n + i]
        done = 0
        for k in range(pieces.t.shape[0]):
            if not np.isnan(state.stop[row, 1]):
                break
            h = pieces.h[k]
            for s in range(pieces.steps[k]):
                if pieces.ended[0] != 0 or not np.isnan(state.stop[row, 1]):
                    break
                t = pieces.t[k] + s * h
                tau = force[min(done, force.shape[0] - 1)]
                _take_step(tree, loads, loops, base, t, h, row, tau, values, state, room)
                done += 1
            count = choose_independent(tree, loops, free, q, e, state.rank[row], room)
            known = node_velocity(tree, loads, free, count, q, e, p, force[0], values, room)
            for i in range(n):
                state.node_v[row, i] = room.v[0, i] if known else np.nan
            if not known and np.isnan(state.stop[row, 1]):
                _stop(state.stop, row, state.t[row], NOT_CONVERGED, h)
            if not np.isnan(state.stop[row, 1]):
                break
            for i in range(n):
                q_out[row, k, i], v_out[row, k, i] = q[0, i], state.node_v[row, i]
                if not abs(v_out[row, k, i]) < LARGEST and np.isnan(state.stop[row, 1]):
                    _stop(state.stop, row, state.t[row], n + i, v_out[row, k, i])
            if free:
                for i in range(3):
                    q_out[row, k, 3 + i] = state.angles[row, i]


if not config.DISABLE_JIT:
    _march._cache = KernelCache(f"{__name__}.march")


class Variational:
    """The variational midpoint rule for a model, its forces (1 or B of them) and its loops."""

    def __init__(self, model: Model, forces: Sequence[ExternalForce], *, hinges: bool = False):
        """hinges: keep the hinges of a floating base, as torques there require."""
        held = [model.frame(force.link).link for force in forces]
        self.base = NO_BASE if hinges else free_base(model, held)
        self.free = bool(self.base.free[0])
        self._model = model
        self._tree = freed_tree(model) if self.free else tree_of(model)
        moved = np.zeros(3) if self.free else placed_tree_of(model).p[0] - self._tree.p[0]
        self._loops = pack_loops(model, self._tree, moved)
        self._loads, self._wrenches = pack_forces(model, self._tree, forces)
        self._equations = sum(len(EQUATIONS[loop.kind]) for loop in model.loops)

    def start(self, q: Floats, v: Floats, e: Floats, angles: Floats, t: float) -> State:
        """The state at positions and velocities (B, n), in the coordinates of State.

        Its node_v are the velocities that its momenta mean: other ones than v if the mass matrix is
        singular.
        """
        B = len(q)
        state = State(
            q.copy(), e.copy(), np.zeros_like(q), v.copy(), np.zeros_like(q), angles.copy(),
            np.zeros(B, np.int64), np.full(B, t), v.copy(), np.full((B, 3), np.nan),
        )  # fmt: skip
        here = Pieces(np.array([t]), np.zeros(1), np.zeros(1, np.int64), np.zeros(1, np.int64))
        self._run(state, here, np.zeros((1, 1, self._model.n)), v)
        return state

    def march(self, state: State, pieces: Pieces, torques: Floats) -> tuple[Floats, Floats]:
        """Advance the trajectories that have not stopped, in place.

        torques (1 or B, 1 or steps, n) are those of each step. Returns positions and velocities
        (B, P, n) at the end of each piece, NaN after a stop: of a free base, its position with the
        angles of hinges, its velocity with its angular velocity in base axes.
        """
        return self._run(state, pieces, torques, np.zeros((0, self._model.n)))

    def _run(
        self, state: State, pieces: Pieces, torques: Floats, velocities: Floats
    ) -> tuple[Floats, Floats]:
        B, n = state.q.shape
        values = np.empty((B, 3 * len(self._wrenches)))
        for k, wrench in enumerate(self._wrenches):
            values[:, 3 * k : 3 * k + 3] = wrench
        outs = np.full((B, len(pieces.t), n), np.nan), np.full((B, len(pieces.t), n), np.nan)
        work = B * n * int(pieces.steps.sum())
        jobs = []
        for rows in split_samples(B, work):
            ins = tuple(
                np.array(x[rows] if len(x) == B else x, order="C")
                for x in (torques, values, velocities)
            )
            part = state.rows(rows)
            jobs.append(partial(self._run_part, pieces, ins, part, tuple(x[rows] for x in outs)))
        try:
            run_on_threads(jobs, apart=work > _LONG)
        except BaseException:
            pieces.ended[0] = 1
            raise
        return outs

    def _run_part(self, pieces: Pieces, ins: tuple, state: State, outs: tuple) -> None:
        tree = self._tree._replace(R=self._tree.R.copy()) if self.free else self._tree
        room = room_for(tree, self._equations)
        _march(tree, self._loads, self._loops, self.base, pieces, ins, state, outs, room)
