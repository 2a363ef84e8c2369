"""Whole simulations in lanes: classical Runge-Kutta steps on the articulated-body recursion.

One trajectory per lane, all its steps in compiled code; torques are constant or interpolated
linearly between samples. A trajectory that leaves the bounds is removed from its lane, so that it
does not affect the others: each result is the same as if it ran alone, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import config

from predyn.dynamics.aba import ABA, aba
from predyn.kernels.batch import aligned, run_on_threads, split_samples
from predyn.kernels.forces import ExternalForce, Loads, pack_forces
from predyn.kernels.kernel_cache import KernelCache
from predyn.kernels.lanes import WIDTH, align_stack, entry, jit, load, store
from predyn.kernels.transpose import to_lanes
from predyn.kernels.tree import Floats, Ints, Tree, has_coupled_rotors, tree_of
from predyn.model import Model

LARGEST = 1e6  # rad, m, rad/s, m/s; up to here sin and cos of lanes take the fast path

_LONG = 10**7  # trajectories x joints x steps: seconds

# Rows of the state: position and velocity at the start of the step, sums over its stages
_Q, _V, _SUM_V, _SUM_A = 0, 1, 2, 3


class Plan(NamedTuple):
    """The times of a simulation's steps and of its torque samples."""

    t: Floats  # (K,) output times
    steps: Ints  # (K - 1,) equal steps from one to the next
    knots: Floats  # (S,) times of the torque samples; one if the torque is constant
    ended: Ints  # (1,) nonzero once the results are no longer needed


class Marched(NamedTuple):
    """The results of B trajectories."""

    q: Floats  # (B, K, n), NaN after a stop
    v: Floats
    stop: Floats  # (B, 3): time, joint (plus n for its velocity) and value that left the bounds
    last_t: Floats  # (B,) of the last state within them
    last_q: Floats  # (B, n)
    last_v: Floats


@jit
def _is_within(x):
    inside = True
    for i in range(x.shape[1]):
        for b in range(WIDTH):
            inside &= abs(x[0, i, b]) < LARGEST
    return inside


@jit
def _retire(q, v, state, t, start, first, count, stop, last_t, last_q, last_v):
    """Record the lanes that left the bounds, and where; set them to rest at zero.

    Returns the number of trajectories that ended.
    """
    n, ended = q.shape[1], 0
    for b in range(WIDTH):
        joint, value = -1, 0.0
        for i in range(2 * n - 1, -1, -1):
            x = q[0, i, b] if i < n else v[0, i - n, b]
            if not abs(x) < LARGEST:
                joint, value = i, x
        if joint < 0:
            continue
        if b < count and np.isnan(stop[first + b, 1]):
            ended += 1
            stop[first + b, 0], stop[first + b, 1], stop[first + b, 2] = t, joint, value
            last_t[first + b] = start
            for i in range(n):
                last_q[first + b, i] = state[_Q, i, b]
                last_v[first + b, i] = state[_V, i, b]
        for i in range(n):
            q[0, i, b] = v[0, i, b] = 0.0
            for row in range(4):
                state[row, i, b] = 0.0
    return ended


@jit
def _interpolate(knots, samples, t, k, tau):
    """Torques at t, from knot k on; returns the knot before t."""
    while k < knots.shape[0] - 2 and knots[k + 1] <= t:
        k += 1
    share = min(max((t - knots[k]) / (knots[k + 1] - knots[k]), 0.0), 1.0)
    for i in range(tau.shape[1]):
        between = (1.0 - share) * load(samples, k, i) + share * load(samples, k + 1, i)
        store(tau, 0, i, between)
    return k


@jit
def _write(state, first, count, k, stop, q_out, v_out):
    for b in range(count):
        alive = np.isnan(stop[first + b, 1])
        for i in range(state.shape[1]):
            q_out[first + b, k, i] = state[_Q, i, b] if alive else np.nan
            v_out[first + b, k, i] = state[_V, i, b] if alive else np.nan


@entry
def _march(tree, loads, plan, ins, outs, space, work):
    align_stack()
    q0, v0, torques, wrenches = ins
    q_out, v_out, stop, last_t, last_q, last_v = outs
    q, v, tau, values, a, state, samples = space
    n, K, S = q0.shape[1], plan.t.shape[0], plan.knots.shape[0]
    for first in range(0, q0.shape[0], WIDTH):
        count = min(WIDTH, q0.shape[0] - first)
        to_lanes(q0, first, count, q)
        to_lanes(v0, first, count, v)
        to_lanes(wrenches, first, count, values)
        for k in range(S):
            for i in range(n):
                for b in range(WIDTH):
                    row = min(first + min(b, count - 1), torques.shape[0] - 1)
                    samples[k, i, b] = torques[row, k, i]
        for i in range(n):
            store(state, _Q, i, load(q, 0, i))
            store(state, _V, i, load(v, 0, i))
            store(tau, 0, i, load(samples, 0, i))
        _write(state, first, count, 0, stop, q_out, v_out)
        knot, running = 0, count
        for k in range(K - 1):
            h = (plan.t[k + 1] - plan.t[k]) / plan.steps[k]
            for s in range(plan.steps[k]):
                if running == 0 or plan.ended[0] != 0:
                    break
                start = plan.t[k] + s * h
                for i in range(n):
                    store(q, 0, i, load(state, _Q, i))
                    store(v, 0, i, load(state, _V, i))
                    store(state, _SUM_V, i, 0.0)
                    store(state, _SUM_A, i, 0.0)
                for stage in range(4):
                    part = 0.0 if stage == 0 else h if stage == 3 else 0.5 * h
                    if stage > 0:
                        for i in range(n):
                            store(q, 0, i, load(state, _Q, i) + part * load(v, 0, i))
                            store(v, 0, i, load(state, _V, i) + part * load(a, 0, i))
                        if not (_is_within(q) and _is_within(v)):
                            running -= _retire(
                                q, v, state, start + part, start, first, count,
                                stop, last_t, last_q, last_v,
                            )  # fmt: skip
                    if S > 1:
                        knot = _interpolate(plan.knots, samples, start + part, knot, tau)
                    aba(tree, loads, 0, (q, v, tau, values), (a,), work)
                    weight = 2.0 if stage == 1 or stage == 2 else 1.0
                    for i in range(n):
                        store(state, _SUM_V, i, load(state, _SUM_V, i) + weight * load(v, 0, i))
                        store(state, _SUM_A, i, load(state, _SUM_A, i) + weight * load(a, 0, i))
                for i in range(n):
                    store(q, 0, i, load(state, _Q, i) + (h / 6.0) * load(state, _SUM_V, i))
                    store(v, 0, i, load(state, _V, i) + (h / 6.0) * load(state, _SUM_A, i))
                if not (_is_within(q) and _is_within(v)):
                    running -= _retire(
                        q, v, state, start + h, start, first, count, stop, last_t, last_q, last_v
                    )
                for i in range(n):
                    store(state, _Q, i, load(q, 0, i))
                    store(state, _V, i, load(v, 0, i))
            _write(state, first, count, k + 1, stop, q_out, v_out)
        for b in range(count):
            if np.isnan(stop[first + b, 1]):
                last_t[first + b] = plan.t[K - 1]
                for i in range(n):
                    last_q[first + b, i] = state[_Q, i, b]
                    last_v[first + b, i] = state[_V, i, b]


if not config.DISABLE_JIT:
    _march._cache = KernelCache(f"{__name__}.march")


def can_march(model: Model) -> bool:
    """Whether the model can be simulated in lanes: no coupled joints, rotors or loops, and jit."""
    plain = not model.couplings and not model.loops and not has_coupled_rotors(model)
    return plain and not config.DISABLE_JIT


def empty_march(B: int, K: int, n: int) -> Marched:
    """Arrays for the results of B trajectories at K times."""
    return Marched(
        np.full((B, K, n), np.nan),
        np.full((B, K, n), np.nan),
        np.full((B, 3), np.nan),
        np.empty(B),
        np.empty((B, n)),
        np.empty((B, n)),
    )


def march(
    model: Model,
    q: Floats,
    v: Floats,
    torques: Floats,
    plan: Plan,
    forces: Sequence[ExternalForce],
) -> Marched:
    """Simulate from states (B, n) within the bounds, under torques (1 or B, S, n) at plan.knots.

    Forces have leading shapes that broadcast with (B,).
    """
    tree = tree_of(model)
    loads, wrenches = pack_forces(model, tree, forces)
    B, n, K = len(q), model.n, len(plan.t)
    values = np.empty((B, 3 * len(wrenches)))
    for k, wrench in enumerate(wrenches):
        values[:, 3 * k : 3 * k + 3] = wrench
    out = empty_march(B, K, n)
    ins = tuple(np.array(x, order="C") for x in (q, v, torques, values))
    work = B * n * int(plan.steps.sum())
    jobs = []
    for rows in split_samples(B, work):
        part = tuple(x[rows] if len(x) == B else x for x in ins)
        jobs.append(partial(_march_part, tree, loads, plan, part, tuple(x[rows] for x in out)))
    try:
        run_on_threads(jobs, apart=work > _LONG)
    except BaseException:
        plan.ended[0] = 1
        raise
    return out


def _march_part(tree: Tree, loads: Loads, plan: Plan, ins: tuple, outs: tuple) -> None:
    n, loaded = ins[0].shape[1], ins[3].shape[1]
    space = (
        *(aligned(1, size, WIDTH) for size in (n, n, n, loaded, n)),
        aligned(4, n, WIDTH),
        aligned(len(plan.knots), n, WIDTH),
    )
    _march(tree, loads, plan, ins, outs, space, aligned(*ABA.work(tree), WIDTH))
