"""Torques from noisy motions, beside CasADi: the same nonlinear least squares, given levels.

The peer minimises the same sum over the same spline, written anew (tests/oracles) in CasADi with
IPOPT, expanded to scalar operations (maps of a function of an interval are two to five times
slower), from the same noisy start: with its exact Hessian and with the Gauss-Newton one, J'J; the
faster counts. Its tolerance is loose, but leads to predyn's minimum within 1e-7.
Building is timed apart. Then whole estimates, with order, levels and bands, and how they grow with
the number of samples.
"""

from __future__ import annotations

import statistics
import time
import warnings
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from timing import medians

import predyn
from oracles.casadi_estimate import Ipopt, Oracle, Task
from predyn.dynamics import forward_dynamics, frame_kinematics
from predyn.errors import DataWarning
from predyn.estimate.driving import Driving
from predyn.estimate.observations import Observations, angle, marker
from predyn.estimate.smoother import Levels, Smoother
from predyn.estimate.spline_grid import Grid
from predyn.model import Model
from predyn.models import random_tree, trujillo_two_link

STEP = 0.01  # s between samples
NOISE = 1e-3  # m or rad
SAME, TOLERANCE = 1e-7, 1e-4  # of minima; of the gradient of IPOPT


def two_link_motion(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and angles (M, 2): from hanging, by slow torques that fade with the speed."""
    model, fine = trujillo_two_link(), 4
    h = STEP / fine
    q, v, out = np.array([-np.pi / 2, 0.0]), np.zeros(2), []
    for k in range(fine * samples):
        if k % fine == 0:
            out.append(q)
        at = (k + 0.5) * h
        tau = np.array([3.0 * np.sin(2.1 * at), 0.6 * np.sin(3.3 * at)])
        middle = q + h / 2 * v
        speed = v + h / 2 * forward_dynamics(model, q, v, tau - 0.2 * v)
        a = forward_dynamics(model, middle, speed, tau - 0.2 * speed)
        q, v = q + h * v + h * h / 2 * a, v + h * a
    return STEP * np.arange(samples), np.array(out)


def two_link(samples: int) -> tuple[Model, predyn.Measurements, np.ndarray]:
    """Markers at both ends, in the plane, with noise; and the clean angles."""
    model, rng = trujillo_two_link(), np.random.default_rng(0)
    t, q = two_link_motion(samples)
    markers = {}
    for name in ("end1", "end2"):
        places = frame_kinematics(model, name, q).p + NOISE * rng.standard_normal((samples, 3))
        places[:, 2] = np.nan
        markers[name] = places
    return model, predyn.Measurements(t, markers=markers), q


def tree(n: int, samples: int) -> tuple[Model, predyn.Measurements, np.ndarray]:
    """Angles of all joints of a random tree, with noise; and without."""
    model, rng = random_tree(n, 3), np.random.default_rng(0)
    t = STEP * np.arange(samples)
    q = np.zeros((samples, n))
    for j in range(n):
        knots = np.linspace(0.0, t[-1], 3 + round(3 * t[-1]))
        q[:, j] = CubicSpline(knots, 0.5 * rng.standard_normal(len(knots)))(t)
    seen = q + NOISE * rng.standard_normal(q.shape)
    angles = dict(zip(model.joint_names, seen.T, strict=True))
    return model, predyn.Measurements(t, angles=angles), q


def task_of(model: Model, data: predyn.Measurements) -> Task:
    """Order 1 with levels of about the size that evidence finds."""
    K = len(data.t) - 1
    noise = dict.fromkeys([*data.angles, *data.markers], NOISE)
    size = np.full(model.n, 1.0)
    return Task(model, 0.0, STEP, K, data.t, data.angles, data.markers, noise, np.eye(model.n), 1,
                0.1 * size, 10.0 * size)  # fmt: skip


def smoother_of(task: Task) -> tuple[Smoother, Levels]:
    model, grid = task.model, Grid(task.first, task.h, task.K, task.model.n)
    observed = [angle(name, model.joint_index(name), x) for name, x in task.angles.items()]
    observed += [marker(name, x) for name, x in task.markers.items()]
    smoother = Smoother(
        Observations(model, grid, task.t, observed),
        Driving(model, grid, {}, {}),
        task.combination,
        task.order,
        task.usual,
        np.zeros(0, np.int64),
    )
    return smoother, Levels(np.array(list(task.noise.values())), task.scale)


def least_squares(repeats: int) -> list[dict]:
    """Both in milliseconds; the ratio is CasADi's time over predyn's."""
    cases = {"two-link": two_link(201), "tree of 6 joints": tree(6, 200)}
    return [_row(name, *case, max(3, repeats // 5)) for name, case in cases.items()]


def _row(name: str, model: Model, data: predyn.Measurements, q: np.ndarray, repeats: int) -> dict:
    task = task_of(model, data)
    smoother, levels = smoother_of(task)
    noisy = q + NOISE * np.random.default_rng(1).standard_normal(q.shape)
    start = smoother.grid.through(noisy)
    c, reached = smoother.minimum(start, levels)
    if not reached:
        raise RuntimeError(f"{name}: no minimum")
    began = smoother.evaluations
    smoother.minimum(start, levels)
    ours = smoother.evaluations - began
    oracle = Oracle(task)
    kinds = {"exact": False, "Gauss-Newton": True}
    peers = {kind: _peer(oracle, gn, smoother, start, c) for kind, gn in kinds.items()}
    best = min(kinds, key=lambda kind: peers[kind].seconds)
    rivals = {
        "predyn": lambda: smoother.minimum(start.copy(), levels),  # nothing of it remembered
        "casadi": partial(peers[best].solver, start),
    }
    times = medians(rivals, repeats)
    return {
        "motion": name,
        "unknowns": smoother.grid.size,
        "predyn": 1e3 * times["predyn"],
        "casadi": 1e3 * times["casadi"],
        "ratio": times["casadi"] / times["predyn"],
        "casadi's hessian": best,
        "other over it": max(peer.seconds for peer in peers.values()) / peers[best].seconds,
        "iterations": ours,
        "casadi's iterations": peers[best].iterations,
        "minima differ by": peers[best].away,
        "casadi's build": 1e3 * peers[best].solver.build_seconds,
    }


class Peer(NamedTuple):
    solver: Ipopt
    iterations: int
    away: float
    seconds: float  # of one run


def _peer(
    oracle: Oracle, gauss_newton: bool, smoother: Smoother, start: np.ndarray, c: np.ndarray
) -> Peer:
    """One that finds the minimum c."""
    solver = oracle.ipopt(TOLERANCE, gauss_newton)
    began = time.perf_counter()
    found, _, iterations = solver(start)
    seconds = time.perf_counter() - began
    tau = smoother.driving.torques(c)
    torques = np.abs(smoother.driving.torques(found) - tau).max() / np.abs(tau).max()
    away = max(float(torques), float(np.abs(found - c).max() / np.abs(c).max()))
    if away > SAME:
        raise RuntimeError(f"CasADi's minimum is {away:.1e} away")
    return Peer(solver, iterations, away, seconds)


def estimates(repeats: int) -> list[dict]:
    """Seconds of whole estimates: order, levels, bands, L-curve, the usual filter beside them."""
    cases = {
        "two-link, paper's size": (two_link(201), max(3, repeats // 5), 0.3),
        "tree of 20 joints": (tree(20, 1000), 1, 10.0),
        "two-link": (two_link(2000), 3, None),
        "two-link, long": (two_link(20_000), 1, None),
    }
    rows = []
    for name, ((model, data, _), times, limit) in cases.items():
        seconds, found = _estimated(model, data, times)
        rows.append(
            {
                "motion": name,
                "samples": len(data.t),
                "joints": model.n,
                "seconds": seconds,
                "at most": limit,
                "status": found.status,
                "order": found.order,
                "iterations": found.iterations,
            }
        )
    rows[-1]["growth for 10 times the samples"] = rows[-1]["seconds"] / rows[-2]["seconds"]
    rows[0]["growth for 10 times the samples"] = None
    return rows


def _estimated(
    model: Model, data: predyn.Measurements, times: int
) -> tuple[float, predyn.Estimate]:
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        predyn.estimate_torques(*_short(model, data))  # compiles
        for _ in range(times):
            began = time.perf_counter()
            found = predyn.estimate_torques(model, data)
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), found


def _short(model: Model, data: predyn.Measurements) -> tuple[Model, predyn.Measurements]:
    """The first samples."""
    few = slice(0, 40)
    angles = {name: x[few] for name, x in data.angles.items()}
    markers = {name: x[few] for name, x in data.markers.items()}
    return model, replace(data, t=data.t[few], angles=angles, markers=markers)
