"""A person with 102 coordinates lifts a box by discrete mechanics: optimum, equations, cones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import lifting_person as reference
import predyn
from predyn.dynamics import (
    frame_kinematics_derivatives,
    inverse_dynamics,
    inverse_dynamics_derivatives,
)
from predyn.samples.registry import TORQUES

SIZES = (26, pytest.param(53, marks=pytest.mark.verify))


@cache
def lift(steps: int) -> predyn.Solution:
    return predyn.solve(reference.lift(steps, tolerance=1e-7), verbose=False).check()


def numbers(steps: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Positions at nodes, torques in the steps, and the forces of the loops at nodes."""
    found = lift(steps)
    curves = {name: x.curves[0].control for name, x in found.signal_curves.items()}
    return found.q, curves.pop(TORQUES), curves


def generalized(model: predyn.Model, q: np.ndarray, forces: dict[str, np.ndarray]) -> np.ndarray:
    """J^T of all forces of loops, from the Jacobians of their frames."""
    total = np.zeros_like(q)
    for loop in model.loops:
        force, moment = forces[loop.name], forces.get(f"{loop.name} moment")
        for frame, sign in ((loop.frame_a, 1.0), (loop.frame_b, -1.0)):
            if model.frame(frame).link < 0:
                continue
            J = frame_kinematics_derivatives(model, frame, q).jacobian
            total += sign * np.einsum("kij,ki->kj", J[:, 3:], force)
            if moment is not None:  # soles are flat and parallel to the axes of the world
                total += sign * np.einsum("kij,ki->kj", J[:, :3], moment)
    return total


@pytest.mark.parametrize("steps", SIZES)
def test_the_box_is_lifted_as_high_as_is_known(steps):
    found = lift(steps)
    assert found.objective < reference.OPTIMA[steps] + 1e-3
    start, end = found.q[0], found.q[-1]
    box = found.model.joint_index("box_2")
    assert start[box] == pytest.approx(0.15)
    assert end[box] == pytest.approx(2.1655, abs=1e-3)


@pytest.mark.parametrize("steps", SIZES)
def test_discrete_equations_of_motion_hold(steps):
    """D1 + D2 + impulses = 0 at every node, with the Lagrangian by the recursion of Newton and
    Euler: momenta p are torques at accelerations v, and dT/dq is half of v.d tau/dv.
    """
    (q, tau, forces), model = numbers(steps), lift(steps).model
    light, h = replace(model, gravity=np.zeros(3)), reference.DURATION / steps
    middle, v = 0.5 * (q[1:] + q[:-1]), np.diff(q, axis=0) / h
    rest = np.zeros_like(v)
    momentum = inverse_dynamics(light, middle, rest, v)
    _, _, slope, _ = inverse_dynamics_derivatives(light, middle, v, rest)
    push = 0.5 * np.einsum("kij,ki->kj", slope, v) - inverse_dynamics(model, middle, rest, rest)
    residual = np.zeros_like(q)
    residual[:-1] += 0.5 * h * (push + tau) - momentum
    residual[1:] += 0.5 * h * (push + tau) + momentum
    share = np.full((steps + 1, 1), h)
    share[[0, -1]] *= 0.5
    residual += share * generalized(model, q, forces)
    assert np.abs(residual).max() < 1e-7


@pytest.mark.parametrize("steps", SIZES)
def test_soles_push_and_neither_slip_nor_tip(steps):
    _, tau, forces = numbers(steps)
    limits = lift(steps).model.limits.effort[:, 1]
    assert (np.abs(tau) <= limits + 1e-6).all()
    for sole in reference.FEET:
        (x, y, z), (about_x, about_y, about_z) = forces[sole].T, forces[f"{sole} moment"].T
        along, across = reference.HALF_SOLE
        bounds = (reference.FRICTION, reference.FRICTION, across, along, reference.YAW)
        assert z.min() > -1e-5
        for value, ratio in zip((x, y, about_x, about_y, about_z), bounds, strict=True):
            assert (np.abs(value) <= ratio * z + 1e-4).all()
