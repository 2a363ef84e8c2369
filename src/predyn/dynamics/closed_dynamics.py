"""Dynamics of mechanisms with closed loops: the tree with forces that keep its loops closed.

    M a + h = tau + Phi^T lambda,      Phi a = -bias

h is what inverse dynamics needs at a = 0, with external forces. Phi = U S V^T, without the singular
values that count as zero, leaves independent equations V^T a = -S^-1 U^T bias. With M = L L^T and
A = L^-1 V, their multipliers solve

    A^T A mu = -S^-1 U^T bias - A^T L^-1 (tau - h),      L^T a = L^-1 (tau - h) + A mu,

and lambda = U S^-1 mu are the multipliers of least norm with the same forces.
Reference: Udwadia, Kalaba: A new perspective on constrained motion, Proc. R. Soc. A 439 (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.crba import mass_matrix
from predyn.dynamics.loop_kinematics import describe_gap, evaluate_loops, gaps_of
from predyn.dynamics.loop_rank import ROUNDING, is_nonzero, solve_least_norm
from predyn.dynamics.rnea import inverse_dynamics
from predyn.errors import InputError, ModelError
from predyn.kernels.arguments import Input, finite, gather, joints
from predyn.kernels.forces import ExternalForce
from predyn.kernels.tree import Floats
from predyn.model import PRISMATIC, Model
from predyn.model.loops import Loop, named_loops

Mask = NDArray[np.bool_]
SINGULAR = 1e-6  # largest error of Phi a = -bias, as a share of its terms
UNBALANCED = 1e-7  # largest torque left at a passive joint, as a share of the torques


class ClosedMotion(NamedTuple):
    """Accelerations of a mechanism with loops, and the forces of its loops."""

    a: Floats  # (..., n)
    multipliers: Floats  # (..., m), one for each equation of loop_equations


class ClosedTorques(NamedTuple):
    """Torques of a mechanism with loops, and the forces of its loops."""

    tau: Floats  # (..., n), zero at joints that are not actuated
    multipliers: Floats  # (..., m), one for each equation of loop_equations


def closed_forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    forces: Sequence[ExternalForce] = (),
    loops: str | Sequence[str] | None = None,
    tolerance: float = 1e-6,
) -> ClosedMotion:
    """Joint accelerations (..., n) that torques cause in the closed mechanism, and multipliers.

    loops      names of the closed loops; default: all of the model
    tolerance  largest gap (m, rad) and rate (m/s, rad/s) of a loop; close_loops and
               project_velocities make them vanish

    A multiplier is the force of its equation: x, y, z of a loop are the force (N) on frame a, in
    world axes, and its opposite acts on frame b. If equations depend on each other, the
    accelerations are unique, and the multipliers are the smallest ones. At a singular pose, no
    acceleration may keep the loops closed, which is an error; if one does, it is the one nearest to
    that of the open tree.
    """
    n = joints(model)
    closed = named_loops(model, loops)
    drift = inverse_dynamics(model, q, v, np.zeros(n), forces=forces)
    states = (("q", q, n), ("v", v, n), ("tau", tau, n), ("forces", drift, n))
    (q, v, tau, drift), lead = _flatten(model, states)
    rows = check_closed(model, closed, q, v, tolerance, lead)
    a, multipliers = closed_accelerations(model, q, tau - drift, *rows)
    rates = np.einsum("bij,bj->bi", rows[1], a) + rows[2]
    size = np.einsum("bij,bj->bi", np.abs(rows[1]), np.abs(a)) + np.abs(rows[2])
    wrong = np.argwhere(~(np.abs(rates) <= SINGULAR * np.maximum(size, 1.0)))
    if len(wrong):
        sample, k = wrong[0]
        raise ModelError(
            f"closed_forward_dynamics: no acceleration keeps the loops closed at sample "
            f"{_index(sample, lead)}: equation {_names(closed)[k]!r:.80} is violated by "
            f"{abs(rates[sample, k]):.3g} (m/s^2 or rad/s^2); the pose is singular"
        )
    return ClosedMotion(a.reshape(*lead, -1), multipliers.reshape(*lead, -1))


def closed_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    actuated: Sequence[str] | ArrayLike | None = None,
    forces: Sequence[ExternalForce] = (),
    loops: str | Sequence[str] | None = None,
    tolerance: float = 1e-6,
) -> ClosedTorques:
    """Torques of the actuated joints that produce a motion with closed loops, and multipliers.

    actuated   names of joints, or n booleans; default: all joints
    loops      names of the closed loops; default: all of the model
    tolerance  largest gap (m, rad), rate (m/s, rad/s) and acceleration (m/s^2, rad/s^2) of a loop

    Joints that are not actuated are balanced by the loops alone; if that is impossible, an error
    names the joint and what it lacks. If several torques produce the motion, the result is the one
    of least norm (N m and N alike), and of multipliers with equal torques, the smallest ones. With
    as many actuated joints as degrees of freedom, away from singular poses, the torques are unique.
    """
    n = joints(model)
    closed, motor = named_loops(model, loops), _read_actuated(model, actuated)
    needed = inverse_dynamics(model, q, v, a, forces=forces)
    states = (("q", q, n), ("v", v, n), ("a", a, n), ("forces", needed, n))
    (q, v, a, needed), lead = _flatten(model, states)
    rows = check_closed(model, closed, q, v, tolerance, lead)
    _check_rates(closed, rows[1], rows[2], a, "a", tolerance, lead)
    by_force = np.swapaxes(rows[1], -1, -2)  # (B, n, m)
    on_passive, on_active = by_force[:, ~motor], by_force[:, motor]
    multipliers = solve_least_norm(on_passive, needed[:, ~motor], rows[0])
    # what the passive joints leave open serves to make the torques small
    _, sizes, Vt = np.linalg.svd(on_passive, full_matrices=True)
    bound = np.zeros(Vt.shape[:-1], bool)
    bound[:, : sizes.shape[-1]] = is_nonzero(sizes, rows[0])
    open_ways = np.swapaxes(Vt, -1, -2) * ~bound[:, None, :]
    left = needed[:, motor] - np.einsum("bij,bj->bi", on_active, multipliers)
    # products that vanish are left with rounding errors, which are none of their own scale
    ways = on_active @ open_ways
    largest = np.abs(by_force).max(axis=(1, 2), keepdims=True, initial=0.0)
    ways = np.where(np.abs(ways) <= ROUNDING * largest, 0.0, ways)
    chosen = solve_least_norm(ways, left, rows[0])
    multipliers = multipliers + np.einsum("bij,bj->bi", open_ways, chosen)
    tau = needed - np.einsum("bij,bj->bi", by_force, multipliers)
    _check_balance(model, motor, tau, needed, lead)
    tau[:, ~motor] = 0.0
    return ClosedTorques(tau.reshape(*lead, -1), multipliers.reshape(*lead, -1))


def accelerations_of(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    forces: Sequence[ExternalForce],
    rank: int | None = None,
) -> Floats:
    """Accelerations (..., n) of closed_forward_dynamics, without its checks.

    rank: number of independent equations, if it is known.
    """
    n = joints(model)
    drift = inverse_dynamics(model, q, v, np.zeros(n), forces=forces)
    states = (("q", q, n), ("v", v, n), ("tau", tau, n), ("forces", drift, n))
    (q, v, tau, drift), lead = _flatten(model, states)
    rows = evaluate_loops(model, model.loops, q, v)
    a, _ = closed_accelerations(model, q, tau - drift, *rows, rank)
    return np.asarray(a.reshape(*lead, model.n))


def closed_accelerations(
    model: Model,
    q: Floats,
    left: Floats,
    values: Floats,
    jacobian: Floats,
    bias: Floats,
    rank: int | None = None,
) -> tuple[Floats, Floats]:
    """Accelerations (B, n) and multipliers (B, m) at flat poses (B, n) with equations of loops.

    left: torques minus those that the open tree needs at a = 0.
    """
    try:
        L = np.linalg.cholesky(mass_matrix(model, q))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"model {model.name!r:.60}: the mass matrix is singular at a state (axes in line, as "
            "of a ball joint at the end of its middle axis)"
        ) from None
    U, sizes, Vt = np.linalg.svd(jacobian, full_matrices=False)
    counted = is_nonzero(sizes, values, rank)
    rows = Vt * counted[..., None]  # independent equations: orthonormal rows, others zero
    goal = np.einsum("bik,bi->bk", U, -bias)
    goal = np.divide(goal, sizes, out=np.zeros_like(goal), where=counted)
    both = np.concatenate((np.swapaxes(rows, -1, -2), left[..., None]), axis=-1)
    halves = np.linalg.solve(L, both)
    A, y = halves[..., :-1], halves[..., -1]
    square = np.swapaxes(A, -1, -2) @ A + np.eye(A.shape[-1]) * ~counted[:, None, :]
    miss = goal - np.einsum("bji,bj->bi", A, y)
    push = np.linalg.solve(square, miss[..., None])[..., 0]
    y = y + np.einsum("bji,bi->bj", A, push)
    a = np.linalg.solve(np.swapaxes(L, -1, -2), y[..., None])[..., 0]
    pull = np.divide(push, sizes, out=np.zeros_like(push), where=counted)
    return a, np.einsum("bik,bk->bi", U, pull)


def check_closed(
    model: Model,
    loops: Sequence[Loop],
    q: Floats,
    v: Floats,
    tolerance: float,
    lead: tuple[int, ...],
    names: tuple[str, str] = ("q", "v"),
) -> tuple[Floats, Floats, Floats]:
    """Values, Jacobian and bias of the loops at flat states; an InputError if they are open."""
    for loop, gap in zip(loops, gaps_of(model, loops, q), strict=True):
        wide = np.flatnonzero(~(gap.largest <= tolerance))
        if len(wide):
            raise InputError(
                f"{names[0]}: {describe_gap(loop, gap, int(wide[0]))} at sample "
                f"{_index(wide[0], lead)}, more than {tolerance:g}; close it with "
                f"predyn.close_loops(model, {names[0]})"
            )
    rows = evaluate_loops(model, loops, q, v)
    _check_rates(loops, rows[1], np.zeros_like(rows[2]), v, names[1], tolerance, lead)
    return rows


def _check_rates(
    loops: Sequence[Loop],
    jacobian: Floats,
    bias: Floats,
    x: Floats,
    name: str,
    tolerance: float,
    lead: tuple[int, ...],
) -> None:
    """Refuse velocities or accelerations x (B, n) that open the loops."""
    rates = np.einsum("bij,bj->bi", jacobian, x) + bias
    size = np.einsum("bij,bj->bi", np.abs(jacobian), np.abs(x)) + np.abs(bias)
    wrong = np.argwhere(~(np.abs(rates) <= tolerance * np.maximum(size, 1.0)))
    if len(wrong):
        sample, k = wrong[0]
        remedy = (
            "those of closed_forward_dynamics keep loops closed"
            if name == "a"
            else f"use predyn.dynamics.project_velocities(model, q, {name})"
        )
        order = "s^2" if name == "a" else "s"
        raise InputError(
            f"{name}: opens the loops: equation {_names(loops)[k]!r:.80} changes by "
            f"{abs(rates[sample, k]):.3g} (m/{order} or rad/{order}) at sample "
            f"{_index(sample, lead)}; {remedy}"
        )


def _check_balance(
    model: Model, motor: Mask, tau: Floats, needed: Floats, lead: tuple[int, ...]
) -> None:
    rest = np.where(motor, 0.0, np.abs(tau))
    allowed = UNBALANCED * np.maximum(np.abs(needed).max(axis=-1, keepdims=True), 1.0)
    if (rest > allowed).any():
        sample = int(np.argmax((rest > allowed).any(axis=-1)))
        j = int(np.argmax(rest[sample]))
        unit = "N" if model.kind[j] == PRISMATIC else "N m"
        raise InputError(
            f"closed_inverse_dynamics: joint {model.joint_names[j]!r:.60} has no motor, and the "
            f"loops leave {rest[sample, j]:.6g} {unit} there unbalanced at sample "
            f"{_index(sample, lead)}; actuate more joints, or leave the singular pose"
        )


def _flatten(model: Model, states: Sequence[Input]) -> tuple[list[Floats], tuple[int, ...]]:
    """States as finite (B, n) arrays, and their common leading shape."""
    flat, lead = gather(model, states, None)
    return [finite(name, x) for (name, _, _), x in zip(states, flat, strict=True)], lead


def _read_actuated(model: Model, actuated: Sequence[str] | ArrayLike | None) -> Mask:
    if actuated is None:
        return np.ones(model.n, bool)
    given = [actuated] if isinstance(actuated, str) else actuated
    array = np.asarray(given)
    if array.dtype == np.bool_ and array.shape == (model.n,):
        return array
    if array.dtype.kind != "U" and array.size:
        raise InputError(
            f"actuated: expected names of joints or {model.n} booleans, got {actuated!r:.60}"
        )
    mask = np.zeros(model.n, bool)
    mask[[model.joint_index(name) for name in array.tolist()]] = True
    return mask


def _names(loops: Sequence[Loop]) -> list[str]:
    return [name for loop in loops for name in loop.equations]


def _index(sample: int, lead: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(sample, lead)) if lead else ()
