"""The Manutec r3 against the equations of its original model.

Thirty cases (payload, position, velocity, torque, acceleration) that the routine R3M2SI of Otter
and Tuerk (DFVLR model 2, 1988) gives, evaluated through its translation in PSOPT. The robot has
rotors that couple joints 2 and 3, so these cases run through the factored mass matrix.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from predyn import dynamics, models
from predyn.kernels.tree import has_coupled_rotors
from predyn.model import Model

CASES = json.loads((Path(__file__).parent / "data" / "manutec_r3_testvectors.json").read_text())
LOADS = sorted({case["load"] for case in CASES["cases"]})
EPS = np.finfo(float).eps
TOLERANCE = 1e-12  # of the largest entry; 36 * 3 eps cond(M) is 2e-13, cond(M) below 10


def cases(load: float) -> tuple[Model, NDArray, NDArray, NDArray, NDArray]:
    """The model and q, v, tau, a (cases, 3) with this payload."""
    rows = [case for case in CASES["cases"] if case["load"] == load]
    q, v, tau, a = (np.array([row[key] for row in rows]) for key in ("q", "qd", "tau", "qdd"))
    return models.manutec_r3(load), q, v, tau, a


def compare(got: NDArray, reference: NDArray) -> None:
    """Sample by sample, against the largest entry of each."""
    scale, error = np.abs(reference).max(axis=1), np.abs(got - reference).max(axis=1)
    assert (error <= TOLERANCE * scale).all(), float((error / scale).max())


def test_there_are_thirty_cases_with_and_without_payload() -> None:
    assert len(CASES["cases"]) == 30
    assert min(LOADS) == 0.0
    assert max(LOADS) == 15.0


@pytest.mark.parametrize("load", LOADS)
def test_accelerations(load: float) -> None:
    model, q, v, tau, a = cases(load)
    assert has_coupled_rotors(model)
    compare(dynamics.forward_dynamics(model, q, v, tau), a)
    compare(dynamics.forward_dynamics_derivatives(model, q, v, tau)[0], a)


@pytest.mark.parametrize("load", LOADS)
def test_torques(load: float) -> None:
    model, q, v, tau, a = cases(load)
    compare(dynamics.inverse_dynamics(model, q, v, a), tau)
    compare(dynamics.inverse_dynamics_derivatives(model, q, v, a)[0], tau)
    back = dynamics.forward_dynamics(model, q, v, dynamics.inverse_dynamics(model, q, v, a))
    compare(back, a)


def difference(model: Model, state: list[NDArray], which: int, k: int, h: float) -> NDArray:
    """Five-point difference of the accelerations in entry k of q, v or tau."""
    result = np.zeros_like(state[0])
    for step, weight in {-2: 1.0, -1: -8.0, 1: 8.0, 2: -1.0}.items():
        moved = [x.copy() for x in state]
        moved[which][:, k] += step * h
        result += weight / (12 * h) * dynamics.forward_dynamics(model, *moved)
    return result


@pytest.mark.parametrize("load", LOADS)
def test_partials_of_accelerations(load: float) -> None:
    """By differences of step h: they err by O(h^4), 1/15 of the change when the step is doubled.

    Rounding adds 1.5/h times the error of a: 36 roundings a joint, times the condition of M, of
    the largest terms of a.
    """
    model, q, v, tau, _ = cases(load)
    h, state = 1e-3, [q, v, tau]
    _, *partials = dynamics.forward_dynamics_derivatives(model, *state)
    rest = dynamics.inverse_dynamics(model, q, v, np.zeros(3))
    M = dynamics.mass_matrix(model, q)
    terms = np.abs(np.linalg.solve(M, np.stack([tau, rest], axis=-1))).max()
    rounding = 1.5 / h * 36 * 3 * EPS * np.linalg.cond(M).max() * terms
    for which, partial in enumerate(partials):
        for k in range(3):
            reference = difference(model, state, which, k, h)
            change = np.abs(difference(model, state, which, k, 2 * h) - reference).max()
            assert np.abs(partial[..., k] - reference).max() <= change + rounding
            assert change + rounding <= 1e-5 * np.abs(partial).max()
