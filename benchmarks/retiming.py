"""Timing along paths beside TOPP-RA and IPOPT on the same grids.

TOPP-RA (`pip install toppra`) is not a dependency: without it its columns are empty. It gets
Pinocchio's inverse dynamics and its scheme "interpolation", which limits both ends of an interval,
as `predyn.retime` does; it is timed without making a trajectory of its result. predyn's time
includes the path, the coefficients and the check between the nodes.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
from scipy.interpolate import BSpline
from timing import medians

import predyn
from oracles.casadi_path_timing import Statement, solve_statement
from oracles.pinocchio_oracle import pinocchio_model
from predyn.planning.path_rows import grid_of, speed_bounds

ARMS = (2, 3, 6, 7)  # joints
PATHS = 8  # for each arm, in the comparison of durations
GRID, FINE = 200, 2000


def random_task(n: int, seed: int) -> tuple[predyn.Model, np.ndarray]:
    """A random chain and 6 points; efforts 2 to 4 times what holds it still."""
    rng = np.random.default_rng([seed, n])
    points = rng.uniform(-1.5, 1.5, (6, n))
    model = predyn.models.random_tree(n, 100 * n + seed, 1.0, ("revolute",))
    hold = np.abs(predyn.inverse_dynamics(model, rng.uniform(-2.0, 2.0, (400, n)), 0 * points[0],
                                          0 * points[0])).max(axis=0)  # fmt: skip
    limits = {"effort": hold * rng.uniform(2.0, 4.0, n), "velocity": rng.uniform(1.0, 4.0, n)}
    return model.with_limits(**limits), points


def _their_path(spline: BSpline):
    """A spline as TOPP-RA's geometric path."""
    import toppra

    class Path(toppra.interpolator.AbstractGeometricPath):
        def __call__(self, u, order=0):
            return curves[order](u)

        dof = property(lambda self: spline.c.shape[1])
        path_interval = property(lambda self: np.array([0.0, 1.0]))
        waypoints = property(lambda self: None)

    curves = [spline, spline.derivative(1), spline.derivative(2)]
    return Path()


def toppra_duration(model: predyn.Model, peer: pin.Model, path, u: np.ndarray) -> float:
    """Least time on the grid u by TOPP-RA, with the same model in Pinocchio; NaN if it fails."""
    import toppra
    import toppra.algorithm
    import toppra.constraint as limits

    data = peer.createData()
    scheme = limits.DiscretizationType.Interpolation
    rows = [
        limits.JointVelocityConstraint(np.array(model.limits.velocity)),
        limits.JointTorqueConstraint(
            lambda q, v, a: pin.rnea(peer, data, q, v, a), np.array(model.limits.effort),
            np.zeros(model.n), discretization_scheme=scheme,
        ),
    ]  # fmt: skip
    solver = toppra.algorithm.TOPPRA(rows, path, gridpoints=u, solver_wrapper="seidel")
    speed = solver.compute_parameterization(0.0, 0.0)[1]
    if speed is None:
        return float("nan")
    return float(np.sum(2.0 * np.diff(u) / (speed[:-1] + speed[1:])))


def _ipopt(model: predyn.Model, ours: predyn.Retiming, spline: BSpline) -> float:
    upper = speed_bounds(model, grid_of(model, model, ours.path, ours.u))
    none = np.zeros(model.n)
    dynamics = partial(predyn.inverse_dynamics, model)
    given = Statement(spline, ours.u, dynamics, none, none, model.limits.effort,
                      model.limits.acceleration, upper, 0.0, 0.0, 0.0)  # fmt: skip
    return solve_statement(given, np.maximum(0.5 * ours.b, 1e-9 * ours.b.max())).duration


def durations(repeats: int) -> list[dict]:
    """Relative differences of durations on the same grids over the paths of an arm: IPOPT at 200
    intervals, TOPP-RA at 2000; and what predyn's motion exceeds its limits by between 200 nodes."""
    rows, paths = [], min(PATHS, repeats)
    for n in ARMS:
        toppra_off, ipopt_off, excess = [], [], []
        for seed in range(paths):
            model, points = random_task(n, seed)
            fine = predyn.retime(model, points, intervals=FINE, max_excess=None).check()
            coarse = predyn.retime(model, points, intervals=GRID, max_excess=None).check()
            excess.append(coarse.max_excess)
            spline = BSpline(fine.path.spline.knots, fine.path.control, 3)
            ipopt_off.append(abs(_ipopt(model, coarse, spline) / coarse.duration - 1.0))
            if _has_toppra():
                peer = pinocchio_model(model)
                theirs = toppra_duration(model, peer, _their_path(spline), fine.u)
                toppra_off.append(theirs / fine.duration - 1.0)
        rows.append({"joints": n, "IPOPT": max(ipopt_off), "excess at 200": max(excess),
                     "TOPP-RA least": min(toppra_off, default=np.nan),
                     "TOPP-RA most": max(toppra_off, default=np.nan)})  # fmt: skip
    return rows


def speed(repeats: int) -> list[dict]:
    """Milliseconds for 200 intervals, least time, without refinement."""
    rows = []
    for n in ARMS:
        model, points = random_task(n, 0)
        ours = partial(predyn.retime, model, points, intervals=GRID, max_excess=None)
        found = ours()
        spline = BSpline(found.path.spline.knots, found.path.control, 3)
        rivals = {"predyn": ours, "predyn, energy": partial(ours, energy=1.0),
                  "IPOPT": partial(_ipopt, model, found, spline)}  # fmt: skip
        if _has_toppra():
            peer, path = pinocchio_model(model), _their_path(spline)
            rivals["TOPP-RA"] = partial(toppra_duration, model, peer, path, found.u)
        times = {key: 1e3 * x for key, x in medians(rivals, repeats).items()}
        rows.append({"joints": n, **times, "iterations": found.iterations})
    return rows


def _has_toppra() -> bool:
    try:
        import logging

        import toppra  # noqa: F401

        logging.getLogger("toppra").setLevel(logging.ERROR)
    except ImportError:
        return False
    return True
