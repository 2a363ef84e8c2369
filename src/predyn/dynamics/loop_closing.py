"""Poses with closed loops, and velocities that keep them closed, by projection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.closed_states import equation_names, sample_of
from predyn.dynamics.loop_kinematics import describe_gap, evaluate_loops, gaps_of
from predyn.dynamics.loop_rank import solve_least_norm
from predyn.errors import InputError, NotConverged, listed
from predyn.kernels.arguments import finite, gather, joints
from predyn.kernels.tree import Floats
from predyn.model import REVOLUTE, Model
from predyn.model.loops import Loop, named_loops

Mask = NDArray[np.bool_]
CLOSED = 1e-12  # m and 1, largest value of an equation of closed loops
MOST_STEPS = 100
MOST_APPROACHES, LEAST_APPROACH = 20, 1e-3  # steps towards the start, least share of the way
TRIES = (0.0, 0.03, 0.3, 1.0)  # rad or m, random changes of the start where one did not lead there
FALSE_ROOT = 1.0  # rad; equations that hold at a larger angle do so half a turn from closed
LEAST_DAMPING, MOST_DAMPING = 1e-16, 1e8  # shares of the largest square of a singular value


def close_loops(
    model: Model,
    q: ArrayLike,
    *,
    hold: str | Sequence[str] = (),
    loops: str | Sequence[str] | None = None,
) -> Floats:
    """A pose with closed loops near q (..., n), within the position limits.

    hold   names of joints that keep their positions
    loops  names of the loops to close; default: all

    Damped Gauss-Newton steps, each the smallest change (rad and m alike) that closes the loops to
    first order, then steps along the loops towards q. The result is about the nearest such pose,
    but other ways of assembly may be nearer. All equations hold to 1e-12. A joint that starts
    outside its limits is not moved further outside. Loops that stay open raise a NotConverged error
    with the loop and its gap; they may still close from another start. So do false roots of the
    equations, at which frames are half a turn apart.
    """
    n = joints(model)
    closed = named_loops(model, loops)
    flat, lead = gather(model, (("q", q, n),), None)
    start = finite("q", flat[0])
    free = np.ones(model.n, bool)
    free[_held(model, hold)] = False
    low, high = model.limits.position.T
    bounds = np.minimum(low, start), np.maximum(high, start)
    found, random = start.copy(), np.random.default_rng(0)
    left = np.arange(len(start)) if closed else np.zeros(0, np.int64)
    for size in TRIES:
        if not len(left):
            break
        kick = size * random.uniform(-1.0, 1.0, (len(left), model.n)) * free
        at = [x[left] for x in bounds]
        trial, reached = _descend(model, closed, np.clip(start[left] + kick, *at), free, *at)
        reached &= ~_false_roots(model, closed, trial)
        _approach(model, closed, start[left], trial, reached, free, *at)
        if size == 0.0:
            found[left] = trial
        found[left[reached]] = trial[reached]
        left = left[~reached]
    if len(left):
        place = "" if not lead else f" at sample {sample_of(int(left[0]), lead)}"
        raise NotConverged(_describe_failure(model, closed, found[left[:1]], hold) + place)
    return found.reshape(*lead, model.n)


def project_velocities(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    hold: str | Sequence[str] = (),
    loops: str | Sequence[str] | None = None,
) -> Floats:
    """The velocities (..., n) nearest to v (rad/s and m/s alike) that keep loops closed, Phi v = 0.

    hold: names of joints that keep their velocities; if the loops cannot follow, that is an error.
    The loops need not be closed at q, but velocities then only keep their gaps.
    """
    n = joints(model)
    closed = named_loops(model, loops)
    flat, lead = gather(model, (("q", q, n), ("v", v, n)), None)
    at, given = (finite(name, x) for name, x in zip(("q", "v"), flat, strict=True))
    values, jacobian, _ = evaluate_loops(model, closed, at)
    free = np.ones(model.n, bool)
    free[_held(model, hold)] = False
    rates = np.einsum("bij,bj->bi", jacobian, given)
    result = given - solve_least_norm(jacobian * free, rates, values)
    rest = np.abs(np.einsum("bij,bj->bi", jacobian, result))
    size = np.einsum("bij,bj->bi", np.abs(jacobian), np.abs(given))
    bad = np.argwhere(rest > 1e-9 * np.maximum(size, 1.0))
    if len(bad):
        sample, k = bad[0]
        name = equation_names(closed)[k]
        raise InputError(
            f"project_velocities: with {_listed_hold(hold)} the loops cannot follow: equation "
            f"{name!r:.80} changes by {rest[sample, k]:.3g} per second at sample "
            f"{sample_of(sample, lead)}; hold fewer joints, or leave the singular pose"
        )
    return np.asarray(result.reshape(*lead, model.n))


def newton_steps(
    model: Model, loops: Sequence[Loop], q: Floats, most: int, rank: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Flat poses (B, n) after full steps towards closed loops, whose equations have a rank.

    With the largest value of an equation (B,) and the Jacobian (B, m, n) there.
    """
    for step in range(most + 1):
        values, jacobian, _ = evaluate_loops(model, loops, q)
        left = np.abs(values).max(axis=-1, initial=0.0)
        if step == most or not (left > closing_tolerance(model, q)).any():
            break
        q = q - solve_least_norm(jacobian, values, rank=rank)
    return q, left, jacobian


def closing_tolerance(model: Model, q: Floats) -> Floats:
    """Largest value of an equation of closed loops at poses (B, n): 1e-12, more beyond 100 m."""
    tree = model.expanded
    reach = np.abs(tree.p).sum() + sum(float(np.abs(frame.p).max()) for frame in model.frames)
    slides = np.abs(q[:, model.kind != REVOLUTE]).sum(axis=-1)
    return CLOSED * np.maximum(1.0, 0.01 * (reach + slides))


def _descend(
    model: Model, loops: Sequence[Loop], q: Floats, free: Mask, low: Floats, high: Floats
) -> tuple[Floats, Mask]:
    """Levenberg-Marquardt steps of a flat batch (B, n) within bounds, and where loops closed.

    A joint at a bound that the descent would cross is held for the step. The damping follows the
    ratio of the gain to the one predicted by the linear model (Nielsen 1999).
    """
    q, tolerance = q.copy(), closing_tolerance(model, q)
    values, jacobian, _ = evaluate_loops(model, loops, q)
    damping, growth = np.full(len(q), 1e-6), np.full(len(q), 2.0)
    for _ in range(MOST_STEPS):
        active = np.flatnonzero(
            (np.abs(values).max(axis=-1) > tolerance) & (damping <= MOST_DAMPING)
        )
        if not len(active):
            break
        phi, rows, at = values[active], jacobian[active], q[active]
        gradient = np.einsum("bij,bi->bj", rows, phi)
        stuck = ((at <= low[active]) & (gradient > 0)) | ((at >= high[active]) & (gradient < 0))
        U, sizes, Vt = np.linalg.svd(rows * (free & ~stuck)[:, None, :], full_matrices=False)
        squares = sizes**2
        largest = np.maximum(squares[:, :1], np.finfo(float).tiny)
        # damping that vanishes with the gap keeps the convergence quadratic
        share = damping[active, None] * np.minimum(1.0, (phi**2).sum(axis=-1, keepdims=True))
        bent = squares + np.maximum(share, LEAST_DAMPING) * largest
        along = np.einsum("bik,bi->bk", U, phi) * sizes / bent
        trial = np.clip(at - np.einsum("bkj,bk->bj", Vt, along), low[active], high[active])
        new_phi, new_rows, _ = evaluate_loops(model, loops, trial)
        cost = (phi**2).sum(axis=-1)
        gain = cost - (new_phi**2).sum(axis=-1)
        linear = phi + np.einsum("bij,bj->bi", rows, trial - at)
        promised = cost - (linear**2).sum(axis=-1)
        good = (promised > 0.0) & (gain > 1e-4 * promised)
        ratio = np.divide(gain, promised, out=np.zeros_like(gain), where=good)
        change = np.maximum(0.1, 1.0 - (2.0 * ratio - 1.0) ** 3)
        damping[active] *= np.where(good, change, growth[active])
        growth[active] = np.where(good, 2.0, 2.0 * growth[active])
        kept = active[good]
        q[kept], values[kept], jacobian[kept] = trial[good], new_phi[good], new_rows[good]
    return q, np.abs(values).max(axis=-1) <= tolerance


def _approach(
    model: Model,
    loops: Sequence[Loop],
    start: Floats,
    q: Floats,
    reached: Mask,
    free: Mask,
    low: Floats,
    high: Floats,
) -> None:
    """Move closed poses (B, n) along their loops towards the start, in place."""
    active = np.flatnonzero(reached)
    for _ in range(MOST_APPROACHES):
        if not len(active):
            return
        at, away = q[active], start[active] - q[active]
        jacobian = evaluate_loops(model, loops, at)[1] * free
        rates = np.einsum("bij,bj->bi", jacobian, away)
        along = (away - solve_least_norm(jacobian, rates)) * free
        trial = np.clip(at + along, low[active], high[active])
        trial, closed = _descend(model, loops, trial, free, low[active], high[active])
        closed &= ~_false_roots(model, loops, trial)
        before, after = (np.linalg.norm(x - start[active], axis=-1) for x in (at, trial))
        nearer = closed & (after < (1.0 - LEAST_APPROACH) * before)
        active = active[nearer]
        q[active] = trial[nearer]


def _false_roots(model: Model, loops: Sequence[Loop], q: Floats) -> Mask:
    """Where frames are half a turn apart although the equations hold."""
    angles = [gap.angle > FALSE_ROOT for gap in gaps_of(model, loops, q)]
    return np.logical_or.reduce(angles, axis=0, initial=False)


def _held(model: Model, hold: str | Sequence[str]) -> list[int]:
    if not isinstance(hold, str | Sequence | np.ndarray):
        raise InputError(f"hold: expected names of joints, got {hold!r:.60}")
    names = (hold,) if isinstance(hold, str) else tuple(hold)
    return [model.joint_index(name) for name in names]


def _listed_hold(hold: str | Sequence[str]) -> str:
    names = (hold,) if isinstance(hold, str) else tuple(hold)
    return f"{listed(names, 6)} held" if names else "no joint held"


def _describe_failure(
    model: Model, loops: Sequence[Loop], q: Floats, hold: str | Sequence[str]
) -> str:
    """The loop with the largest gap at one pose (1, n), and what may be the reason."""
    gaps = gaps_of(model, loops, q)
    worst = int(np.argmax([gap.largest[0] for gap in gaps]))
    low, high = model.limits.position.T
    at = [model.joint_names[j] for j in np.flatnonzero(((q <= low) | (q >= high))[0])]
    reasons = [_listed_hold(hold)] if len(hold) else []
    reasons += [f"{listed(at, 6)} at a position limit"] if at else []
    advice = f" with {' and '.join(reasons)}" if reasons else ""
    if gaps[worst].angle[0] > FALSE_ROOT and gaps[worst].distance[0] <= 1e-9:
        advice += "; its equations hold for frames that are turned over (a false root)"
    return (
        f"close_loops: {describe_gap(loops[worst], gaps[worst], 0)}{advice}; start from a pose "
        "nearer to closed loops, or check the lengths of the links"
    )
