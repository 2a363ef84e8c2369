"""The paper's example: data against independent data, errors over twenty seeds."""

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.errors import InputError
from predyn.published import trujillo_example as paper

# Mean over seeds 0 .. 19 by an independent implementation: (rectangular, smooth).
INDEPENDENT = {"hanging": (0.0877, 0.0233), "upright": (0.1186, 0.0337)}


def shared(name):
    folder = os.environ.get("PREDYN_SHARED")
    if not folder:
        pytest.skip("PREDYN_SHARED is not set")
    path = Path(folder) / "data" / "estimation" / f"{name}.csv"
    rows = np.genfromtxt(path, delimiter=",", names=True)
    columns = [np.stack([rows[x] for x in names], axis=1) for names in (
        ("x1", "y1", "x2", "y2"), ("theta1", "theta2"), ("omega1", "omega2"), ("T1", "T2")
    )]  # fmt: skip
    return columns[0], columns[1], columns[2], columns[3][:-1]


def test_the_rigid_model_is_that_of_the_paper():
    model, q = predyn.models.trujillo_two_link(), np.array([0.4, -1.1])
    coupling = 0.2 * 0.7 * 0.5 * np.cos(q[1])
    m22 = 0.017 + 0.2 * 0.5**2
    m11 = 0.04 + 1.0 * 0.35**2 + 0.2 * 0.7**2 + m22 + 2 * coupling
    expected = [[m11, m22 + coupling], [m22 + coupling, m22]]
    assert np.abs(predyn.mass_matrix(model, q) - expected).max() < 1e-15
    held = predyn.inverse_dynamics(model, q, np.zeros(2), np.zeros(2))
    a, b = np.cos(q[0]), np.cos(q.sum())
    outer = 9.806 * 0.2 * 0.5 * b
    inner = 9.806 * (1.0 * 0.35 + 0.2 * 0.7) * a
    assert np.abs(held - [inner + outer, outer]).max() < 1e-14
    assert model.frame_names[-2:] == paper.ENDS


@pytest.mark.parametrize("start", paper.STARTS)
@pytest.mark.parametrize("kind", ["rectangular", "smooth"])
def test_the_motion_equals_the_independent_one(start, kind):
    positions, angles, rates, torques = shared(f"{kind}_{start}")
    made = paper.rigid_motion(start, None if kind == "rectangular" else torques)
    digits = 1e-10  # as many as the file has, times the growth of differences
    assert np.abs(made.torques - torques).max() < digits
    assert np.abs(made.positions - positions).max() < digits
    assert np.abs(made.angles - angles).max() < digits
    assert np.abs(made.rates - rates).max() < 10 * digits


def mean_error(start, positions, torques):
    errors = []
    for seed in range(20):
        found = paper.estimate_torques_of_links(start, paper.noisy(positions, seed))
        assert found.converged
        errors.append(paper.rmse(found.u, torques))
    return np.mean(errors)


@pytest.mark.parametrize(("start", "most"), [("hanging", 0.095), ("upright", 0.130)])
def test_errors_on_rectangular_torques(start, most):
    made = paper.rigid_motion(start)
    error = mean_error(start, made.positions, made.torques)
    assert error < most
    assert abs(error - INDEPENDENT[start][0]) < 5e-4


@pytest.mark.parametrize("start", paper.STARTS)
def test_errors_on_smooth_torques(start):
    positions, _, _, torques = shared(f"smooth_{start}")
    error = mean_error(start, positions, torques)
    assert abs(error - INDEPENDENT[start][1]) < 5e-4


def test_natural_links_move_like_the_rigid_model():
    hanging = paper.compare("hanging")
    assert np.abs(hanging.links.z - hanging.rigid.positions).max() < 0.03
    assert np.abs(hanging.link_rates - hanging.rigid.rates).max() < 0.3
    assert np.ptp(hanging.rigid.rates) > 5.0
    stiffer = paper.compare("hanging", 1e5)
    assert np.abs(stiffer.links.z - stiffer.rigid.positions).max() < 0.02


def test_the_inverse_problem_of_the_paper():
    hanging = paper.reproduce("hanging")
    assert hanging.estimate.converged
    assert hanging.measured.shape == (201, 4)
    assert hanging.rmse < 0.1
    curve = hanging.lcurve
    assert (np.diff(curve.misfit) > 0).all()
    assert (np.diff(curve.size) < 0).all()
    assert 1e-6 < curve.weights[curve.corner] < 1e-3
    noise = curve.misfit[curve.corner] / (200 * 4)
    assert 0.5 * paper.NOISE**2 < noise < 2 * paper.NOISE**2


SOON = [("hanging", 2), ("upright", 0), ("upright", 1)]
ALL = [
    pytest.param(start, seed, marks=() if (start, seed) in SOON else pytest.mark.verify)
    for start in paper.STARTS
    for seed in range(10)
]


@pytest.mark.parametrize(("start", "seed"), ALL)
def test_the_lcurve_falls_and_its_corner_is_not_at_its_ends(start, seed):
    positions = paper.rigid_motion(start).positions
    curve = paper.links_lcurve(start, paper.noisy(positions, seed))
    assert (np.diff(curve.size) < 0).all()
    assert (np.diff(curve.misfit) > 0).all()
    assert 1e-6 < curve.weights[curve.corner] < 1e-3
    sums = curve.misfit + curve.weights[:, None] * curve.size
    assert (np.diag(sums) <= (1 + 1e-7) * sums.min(axis=1)).all()


def test_points_that_are_not_minima_do_not_affect_the_corner(monkeypatch):
    measured = paper.noisy(paper.rigid_motion("hanging").positions, 0)
    weights = np.logspace(-8, 0, 17)
    right = {b: paper.estimate_torques_of_links("hanging", measured, weight=b) for b in weights}
    estimates = dict(right)
    monkeypatch.setattr(
        paper, "estimate_torques_of_links", lambda *args, weight, **options: estimates[weight]
    )
    best = paper.links_lcurve("hanging", measured, weights).corner
    assert 1e-6 < weights[best] < 1e-3
    for wrong in (
        {"misfit": 395.0, "size": 959.0}, {"misfit": 395.0}, {"size": 4e3}, {"converged": False},
    ):  # fmt: skip
        at_corner, at_end = weights[best], weights[-1]
        estimates = {**right, at_corner: dataclasses.replace(right[at_corner], **wrong)}
        beside = paper.links_lcurve("hanging", measured, weights).corner
        assert abs(beside - best) == 1
        estimates = {**right, at_end: dataclasses.replace(right[at_end], **wrong)}
        assert abs(paper.links_lcurve("hanging", measured, weights).corner - best) <= 1


def test_invalid_arguments_are_refused():
    with pytest.raises(InputError, match="'hanging'"):
        paper.rigid_motion("sideways")
    with pytest.raises(InputError, match="torques"):
        paper.rigid_motion("hanging", np.zeros((3, 1)))
