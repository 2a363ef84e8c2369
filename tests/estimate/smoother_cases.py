"""Recordings of random motions of random trees, in the forms of the estimator and its oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

from oracles.casadi_estimate import Task
from predyn.dynamics import frame_kinematics, inverse_dynamics, mass_matrix
from predyn.estimate.driving import Driving
from predyn.estimate.observations import Observations, angle, marker
from predyn.estimate.regularisation import combination, inertias
from predyn.estimate.result import ACCELERATIONS
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Grid
from predyn.model import PRISMATIC, REVOLUTE, SCREW, Frame, Model
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree
from predyn.recordings.measurements import MeasuredForce

H = 0.04


def marked_tree(n: int, seed: int) -> Model:
    """A random tree of all kinds of joints, with damping; a marker on each link."""
    rng = np.random.default_rng([seed, 2])
    frames = tuple(Frame(f"m{j}", j, np.eye(3), rng.standard_normal(3)) for j in range(n))
    kind = rng.choice([REVOLUTE, REVOLUTE, PRISMATIC, SCREW], n)
    pitch = np.where(kind == SCREW, rng.uniform(0.1, 0.5, n), 0.0)
    damping = rng.uniform(0.0, 0.5, n)
    return replace(random_tree(n, seed), frames=frames, kind=kind, pitch=pitch, damping=damping)


def slides() -> Model:
    """Four damped slides, exactly linear: two along one axis, one back along it, one aside."""
    builder = ModelBuilder("slides")
    axes = {"a": (0.0, 0.0, 1.0), "b": (0.0, 0.0, 1.0), "c": (0.0, 0.0, -1.0), "d": (1.0, 0.2, 0.3)}
    before = "world"
    for k, (name, axis) in enumerate(axes.items()):
        builder.add_link(f"link_{name}", before, name, "prismatic", axis=axis, mass=1.0 + 0.3 * k,
                         com=(0.0, 0.0, 0.1), inertia=(0.1, 0.1, 0.1), damping=2.0 * k,
                         stiffness=3.0)  # fmt: skip
        before = f"link_{name}"
    return builder.build()


def motion(
    model: Model, seed: int, seconds: float, unactuated: tuple[int, ...] = ()
) -> CubicSpline:
    """Swaying joints; those without torque follow from the dynamics."""
    rng = np.random.default_rng([seed, 3])
    rate, phase = 2 * np.pi * rng.uniform(0.4, 1.0, model.n), rng.uniform(0.0, 6.0, model.n)
    middle, free = rng.uniform(-1.0, 1.0, model.n), list(unactuated)

    def a(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found = -0.6 * rate**2 * np.sin(rate * t + phase)
        if free:
            found[free] = 0.0
            M = mass_matrix(model, q)[np.ix_(free, free)]
            found[free] = -np.linalg.solve(M, inverse_dynamics(model, q, v, found)[free])
        return found

    t = np.linspace(-0.1, seconds + 0.1, 2 + round(seconds / 0.004))
    h = t[1] - t[0]
    q, v = middle + 0.6 * np.sin(rate * t[0] + phase), 0.6 * rate * np.cos(rate * t[0] + phase)
    out = [q]
    for now in t[:-1]:
        half = a(now, q, v)
        between = a(now + h / 2, q + h / 2 * v + h * h / 8 * half, v + h / 2 * half)
        q, v = q + h * v + h * h / 2 * between, v + h * between
        out.append(q)
    return CubicSpline(t, np.array(out))


def pushing(t: np.ndarray, seed: int) -> MeasuredForce:
    """A force, its point and a moment, recorded over only part of the time."""
    rng = np.random.default_rng([seed, 5])
    own = np.linspace(t[0] - 0.01, t[0] + 0.8 * (t[-1] - t[0]), 17)
    waves = [np.sin(own[:, None] * rng.uniform(1, 9, 3) + rng.uniform(0, 6, 3)) for _ in range(3)]
    return MeasuredForce(own, 8.0 * waves[0], waves[1], 2.0 * waves[2])


def task(
    model: Model,
    seed: int,
    *,
    angles: tuple[int, ...] = (),
    markers: tuple[str, ...] = (),
    order: int = 1,
    of: str = "joints",
    K: int = 16,
    samples: int | None = None,
    missing: float = 0.0,
    unactuated: tuple[int, ...] = (),
    pushed: str | None = None,
    noise: float = 0.01,
) -> Task:
    """Noisy samples at the grid's nodes, or `samples` at other times; missing: share dropped."""
    rng = np.random.default_rng([seed, 4])
    first = 0.3
    t = first + H * np.arange(K + 1)
    if samples is not None:
        t = np.sort(first + K * H * rng.random(samples))
    moving = motion(model, seed, K * H, unactuated)
    q = moving(t - first)
    seen_angles, seen_markers, levels = {}, {}, {}
    for j in angles:
        values = q[:, j] + noise * rng.standard_normal(len(t))
        values[rng.random(len(t)) < missing] = np.nan
        seen_angles[model.joint_names[j]] = values
        levels[model.joint_names[j]] = noise * (1.0 + 0.2 * j)
    for k, name in enumerate(markers):
        places = frame_kinematics(model, name, q).p
        places = places + noise * rng.standard_normal(places.shape)
        places[rng.random(places.shape) < missing] = np.nan
        seen_markers[name] = places
        levels[name] = noise * (0.8 + 0.3 * k)
    active = np.ones(model.n, bool)
    active[list(unactuated)] = False
    of_motion = of == ACCELERATIONS
    nodes = H * np.arange(K + 1)
    states = [moving(nodes, k) for k in range(3)]
    usual = np.sqrt(np.mean(inverse_dynamics(model, *states) ** 2, axis=0))
    usual = np.maximum(usual, 1e-2 * usual.max())
    sizes = np.sqrt(np.mean(states[2] ** 2, axis=0)) if of_motion else usual
    A = combination(model, active, of)
    if of_motion:
        grid = Grid(first, H, K, model.n)
        _, U = Driving(model, grid, {}, {}).slopes(grid.through(states[0]))
        A = inertias(active, U, H)[0]
    rate = min(1.0, 6 * np.pi * H)
    scale = 0.3 * (np.abs(A) @ sizes) * rate**order * rng.uniform(0.7, 1.4, len(A))
    forces = {"plate": pushing(t, seed)} if pushed else {}
    links = {"plate": pushed} if pushed else {}
    return Task(model, first, H, K, t, seen_angles, seen_markers, levels, A, order, scale,
                usual, unactuated, forces, links, sizes if of_motion else None)  # fmt: skip


def grid_of(task: Task) -> Grid:
    return Grid(task.first, task.h, task.K, task.model.n)


def smoother_of(task: Task) -> Smoother:
    grid, model = grid_of(task), task.model
    observed = [angle(name, model.joint_index(name), x) for name, x in task.angles.items()]
    observed += [marker(name, x) for name, x in task.markers.items()]
    return Smoother(
        Observations(model, grid, task.t, observed),
        Driving(model, grid, task.forces, task.links),
        task.combination,
        task.order,
        task.usual,
        np.array(task.unactuated, np.int64),
        task.accelerations,
    )


def levels_of(task: Task) -> Levels:
    return Levels(np.array(list(task.noise.values())), task.scale)


def guess_of(task: Task, seed: int, off: float = 0.05) -> np.ndarray:
    """Coefficients of a motion near the true one."""
    nodes = motion(task.model, seed, task.K * task.h, task.unactuated)(
        task.h * np.arange(task.K + 1)
    )
    c = grid_of(task).through(nodes)
    return c + off * np.random.default_rng([seed, 6]).standard_normal(len(c))
