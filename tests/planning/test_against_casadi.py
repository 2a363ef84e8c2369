"""The optimum on a grid beside CasADi and IPOPT, stated independently."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

import predyn
from oracles.casadi_path_timing import Optimum, Statement, solve_statement
from oracles.pinocchio_oracle import pinocchio_model
from planning.random_paths import Case, random_case
from predyn.planning.path_rows import grid_of, speed_bounds
from predyn.planning.path_torques import without_friction
from predyn.solution import CONVERGED

QUICK = range(8)


def solve_both(case: Case, intervals: int) -> tuple[predyn.Retiming, Optimum]:
    model = case.model
    ours = predyn.retime(model, case.path, **case.options, intervals=intervals, max_excess=None)
    smooth = without_friction(model)
    given = Statement(
        path=BSpline(ours.path.spline.knots, ours.path.control, 3),
        u=ours.u,
        torques=_pinocchio_torques(smooth),
        coulomb=model.coulomb,
        damping=model.damping,
        effort=model.limits.effort,
        acceleration=model.limits.acceleration,
        upper=speed_bounds(model, grid_of(model, smooth, ours.path, ours.u)),
        first=ours.b[0],
        last=ours.b[-1],
        weight=case.options["energy"],
    )
    guess = np.maximum(0.5 * ours.b, 1e-9 * ours.b.max())
    return ours, solve_statement(given, guess)


def _pinocchio_torques(model: predyn.Model):
    import pinocchio as pin

    peer = pinocchio_model(model)
    data = peer.createData()

    def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return np.array([pin.rnea(peer, data, *x) for x in zip(q, v, a, strict=True)])

    return torques


def compare(seed: int, intervals: int) -> None:
    """Equal objectives; IPOPT ends slightly above rest, which costs less than the tolerance."""
    ours, theirs = solve_both(random_case(seed), intervals)
    assert theirs.success
    assert ours.status in CONVERGED  # a coarse grid may exceed limits between its nodes
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.gap <= 1e-7 * ours.objective


@pytest.mark.parametrize("seed", QUICK)
def test_same_optimum(seed: int) -> None:
    compare(seed, 60)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(8, 108))
def test_same_optimum_on_many_paths(seed: int) -> None:
    compare(seed, 100)


def test_cases_have_friction_and_energy() -> None:
    """So that the quick comparisons cover what they are meant to cover."""
    cases = [random_case(seed) for seed in QUICK]
    assert any(case.model.damping.any() for case in cases)
    assert any(case.model.coulomb.any() and not case.model.damping.any() for case in cases)
    assert any(case.options["energy"] > 0.0 for case in cases)
    assert any(np.isfinite(case.model.limits.acceleration).all() for case in cases)
