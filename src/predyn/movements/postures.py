"""Postures: joint positions that hold points in place, close loops, balance, and look natural.

A posture minimises the squared distance from a preferred one, and optionally that of the centre of
mass from a point, among those within the limits whose held points are in place and whose loops are
closed. Each step solves the problem with linear constraints and the curvature of the costs alone
(Gauss-Newton), shortened until the L1 merit function falls. Jacobians are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.dynamics.kinematics import frame_kinematics, frame_kinematics_derivatives
from predyn.dynamics.loop_kinematics import loop_equations
from predyn.dynamics.momentum import center_of_mass, spatial_momentum_derivatives
from predyn.errors import InputError
from predyn.kernels.arguments import finite, real
from predyn.model import Model

Floats = NDArray[np.float64]
TOLERANCE = 1e-11  # of the equations of held points (m) and loops
SETTLED = 1e-5  # rad or m, largest change of a coordinate by the last step
MOST_STEPS, MOST_CHANGES, MOST_HALVINGS, MOST_CLOSINGS = 60, 25, 20, 10
REGULAR = 1e-13  # share of the trace of the equations that is added to their diagonal
LEAST_GAIN, ROUNDING = 1e-4, 1e-12  # shares of the promised gain and of the merit function
LONGEST = 0.5  # rad or m that a coordinate changes in one step


class Held(NamedTuple):
    """A point of a frame at a place in the world; None leaves a coordinate of it free."""

    frame: str
    place: Sequence[float | None]
    point: Sequence[float] = (0.0, 0.0, 0.0)  # in the frame


class Balance(NamedTuple):
    """Where the centre of mass should be: x and y of a point (m), and the weight (1/m)."""

    x: float
    y: float
    weight: float


class Posture(NamedTuple):
    """A posture and how well it holds."""

    q: Floats
    gap: float  # largest value of an equation of a held point (m) or a loop

    @property
    def holds(self) -> bool:
        """Whether points are in place and loops closed."""
        return self.gap <= TOLERANCE


class _Rows:
    """The equations of held points and loops, with their Jacobian."""

    def __init__(self, model: Model, held: Sequence[Held]) -> None:
        self.model, self.held = model, held
        self.axes = [[k for k, x in enumerate(point.place) if x is not None] for point in held]

    def values(self, q: Floats) -> Floats:
        parts = [loop_equations(self.model, q).values]
        for (frame, place, point), axes in zip(self.held, self.axes, strict=True):
            p = frame_kinematics(self.model, frame, q, point=point).p
            parts.append(p[axes] - np.array([place[k] for k in axes], dtype=float))
        return np.concatenate(parts)

    def jacobian(self, q: Floats) -> Floats:
        parts = [loop_equations(self.model, q).jacobian]
        for (frame, _, point), axes in zip(self.held, self.axes, strict=True):
            partials = frame_kinematics_derivatives(self.model, frame, q, point=point)
            parts.append(partials.jacobian[3:][axes])
        return np.concatenate(parts)


class _Cost:
    """Half the squared distance from the preferred posture and from balance."""

    def __init__(
        self, model: Model, preferred: Floats, spread: Floats, balance: Balance | None
    ) -> None:
        self.model, self.preferred, self.stiffness = model, preferred, 1.0 / spread**2
        self.balance = balance

    def value(self, q: Floats) -> float:
        apart = q - self.preferred
        total = 0.5 * float(apart @ (self.stiffness * apart))
        if self.balance is not None:
            total += 0.5 * float(np.sum(self._unbalance(q) ** 2))
        return total

    def unbalance(self, q: Floats) -> tuple[Floats, Floats]:
        """Weighted distance (2,) of the centre of mass from its place, and its Jacobian (2, n)."""
        if self.balance is None:
            return np.zeros(0), np.zeros((0, self.model.n))
        partials = spatial_momentum_derivatives(self.model, q)
        return self._unbalance(q), self.balance.weight * partials.com_q[:2]

    def _unbalance(self, q: Floats) -> Floats:
        assert self.balance is not None
        x, y, weight = self.balance
        return np.asarray(weight * (center_of_mass(self.model, q)[:2] - np.array([x, y])))


def find_posture(
    model: Model,
    preferred: ArrayLike,
    held: Sequence[Held] = (),
    given: Mapping[str, float] | None = None,
    *,
    balance: Balance | None = None,
    spread: ArrayLike | None = None,
    start: ArrayLike | None = None,
) -> Posture:
    """The posture near `preferred` (n,) in which points are held and the model's loops closed.

    held     points with their places; equations that depend on each other are allowed
    given    values of joints that do not move
    balance  where the centre of mass should be
    spread   (n,) rad or m by which a joint may leave the preferred posture at the cost of 1/2;
             default 1
    start    (n,) first trial, moved into the limits; default: preferred

    Positions are within the limits of the model. If the points are out of reach, the result does
    not hold. It is the least only to about 1e-4 rad, since the curvature of the constraints is
    neglected, and may be a local one.
    """
    low, high = (np.array(x) for x in model.limits.position.T)
    for joint, value in (given or {}).items():
        low[model.joint_index(joint)] = high[model.joint_index(joint)] = value
    wish = _pose(model, "preferred", preferred)
    width = np.ones(model.n) if spread is None else _pose(model, "spread", spread)
    if not (width > 0.0).all():
        raise InputError(f"spread: expected numbers above 0, got {width.min():g}")
    rows, cost = _Rows(model, held), _Cost(model, wish, width, balance)
    q = np.clip(wish if start is None else _pose(model, "start", start), low, high)
    gaps = rows.values(q)
    for _ in range(MOST_STEPS):
        before = q
        q, gaps = _descend(rows, cost, q, gaps, (low, high))
        if np.abs(q - before).max() < SETTLED:
            break
    for _ in range(MOST_CLOSINGS):  # the nearest posture that holds, since steps converge slowly
        if np.abs(gaps).max(initial=0.0) <= 0.1 * TOLERANCE:
            break
        J = rows.jacobian(q)
        system = _Linear(cost.stiffness, np.zeros(model.n), J, gaps, J[:0], gaps[:0])
        q = np.clip(q + system.bounded_step(low - q, high - q)[0], low, high)
        gaps = rows.values(q)
    return Posture(q, float(np.abs(gaps).max(initial=0.0)))


def _pose(model: Model, name: str, value: ArrayLike) -> Floats:
    q = finite(name, real(model, name, value, (model.n,)))
    if q.ndim != 1:
        raise InputError(f"{name}: expected one posture ({model.n},), got {q.shape}")
    return np.array(q)


def _descend(
    rows: _Rows, cost: _Cost, q: Floats, gaps: Floats, limits: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """One step, as long as the merit function allows: the posture and its gaps."""
    low, high = limits
    pull = cost.stiffness * (q - cost.preferred)
    soft, jacobian = cost.unbalance(q)
    system = _Linear(cost.stiffness, pull, rows.jacobian(q), gaps, jacobian, soft)
    direction, forces = system.bounded_step(low - q, high - q)
    direction *= min(1.0, LONGEST / max(np.abs(direction).max(), TOLERANCE))
    weight = 2.0 * np.abs(forces).max(initial=1.0)
    open_by = weight * np.abs(gaps).sum()
    merit = cost.value(q) + open_by
    promised = open_by - float((pull + jacobian.T @ soft) @ direction)
    size = 1.0
    for _ in range(MOST_HALVINGS):
        trial = np.clip(q + size * direction, low, high)
        found = rows.values(trial)
        gain = merit - cost.value(trial) - weight * np.abs(found).sum()
        if gain >= LEAST_GAIN * size * promised - ROUNDING * merit:
            break
        size *= 0.5
    return trial, found


class _Linear(NamedTuple):
    """The least of g d + 1/2 d D d + 1/2 |E d + e|^2 with J d = -c; D is diagonal.

    The normal equations of J and E together are small: as many as there are rows.
    """

    D: Floats
    g: Floats
    J: Floats
    c: Floats
    E: Floats
    e: Floats

    def bounded_step(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The step with low <= d <= high, and the multipliers of J.

        Bounds that a step crosses become active, those that would pull are released one by one. If
        this does not settle, the step is only clipped.
        """
        active = low >= high
        d, m = np.zeros(len(self.g)), len(self.c)
        forces = np.zeros(m)
        A = np.concatenate([self.J, self.E])
        for _ in range(MOST_CHANGES):
            d = np.where(active, np.clip(d, low, high), 0.0)
            soft = np.where(active, 0.0, 1.0 / self.D)  # compliance of the joints that move
            S = (A * soft) @ A.T
            S[range(m, len(S)), range(m, len(S))] += 1.0
            right = np.concatenate([self.c, self.e]) + A @ (d - soft * self.g)
            # rows may depend on each other: regularised, then one step of iterative refinement
            regular = S + REGULAR * float(S.trace()) * np.eye(len(S))
            push = np.linalg.solve(regular, right)
            push += np.linalg.solve(regular, right - S @ push)
            forces = push[:m]
            d = np.where(active, d, -soft * (self.g + A.T @ push))
            crossed = (d < low) | (d > high)
            if crossed.any():
                active |= crossed
                continue
            slope = self.D * d + self.g + A.T @ push  # of the cost at active bounds
            inside = active & (low < high)
            pulling = inside & (((d <= low) & (slope < 0.0)) | ((d >= high) & (slope > 0.0)))
            if not pulling.any():
                break
            active[np.argmax(np.where(pulling, np.abs(slope), 0.0))] = False
        return np.clip(d, low, high), forces
