"""Floating bases: which chains float, what is assumed of them, and what is reported."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from fake_estimate import fake_estimate
from predyn.dynamics import inverse_dynamics
from predyn.errors import InputError
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.result import Estimate, RootResidual
from predyn.estimate.result_file import load_estimate
from predyn.estimate.root_residual import SHARE
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.floating_base import MOMENT_ARM, floating_base
from predyn.models import trujillo_two_link
from predyn.recordings.measurements import MeasuredForce, Measurements
from predyn.simulation import simulate
from recorded_motions import leg, recorded, rms

# a base that may have any force has none in flight, so that the data do not determine its size
pytestmark = pytest.mark.filterwarnings("ignore:.*:predyn.errors.DataWarning")

BASE = ("x", "y", "turn")
T = np.linspace(0.0, 0.8, 161)


def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    goal = np.array([0.4, -0.7, 0.1]) + 0.3 * np.sin(9.0 * t + np.arange(3))
    springs = np.array([120.0, 60.0, 15.0]) * (goal - q[3:]) - np.array([8.0, 4.0, 1.0]) * v[3:]
    return np.concatenate((np.zeros(3), springs))


@cache
def flight() -> tuple[Measurements, np.ndarray]:
    """A leg that flies; angles with noise, and the torques in the middles of the intervals."""
    found = simulate(
        leg(floating=True), [0, 1, 0, 0.4, -0.3, 0.3], [1.0, 2.0, 0, 0, 0, 0], control, T
    )
    data = recorded(leg(floating=True), T[::2], found.q[::2], noise=1e-3)
    truth = np.array([control(*x) for x in zip(T, found.q, found.v, strict=True)])[1::2]
    return data, truth


@cache
def estimates() -> dict[str, Estimate]:
    data, _ = flight()
    model = leg(floating=True)
    return {
        "small": estimate_torques(model, data, unactuated=BASE),
        "zero": estimate_torques(model, data, unactuated=BASE, base_residual=0),
        "any": estimate_torques(model, data, base_residual=np.inf),
    }


def spatial(masses: tuple[float, ...]) -> Model:
    builder, before = ModelBuilder("body"), "world"
    for k, mass in enumerate(masses):
        kind = "prismatic" if k < 3 else "revolute"
        builder.add_link(f"l{k}", before, f"j{k}", kind, axis=np.eye(3)[k % 3], mass=mass,
                         inertia=(mass, mass, mass))  # fmt: skip
        before = f"l{k}"
    return builder.build()


def test_chains_that_float() -> None:
    assert np.array_equal(floating_base(leg(floating=True)), [0, 1, 2])
    assert np.array_equal(floating_base(spatial((0, 0, 0, 0, 0, 3, 1))), np.arange(6))
    assert floating_base(leg()) is None
    assert floating_base(trujillo_two_link()) is None
    assert floating_base(spatial((0, 0, 1, 0, 0, 3, 1))) is None  # mass between
    assert floating_base(spatial((0, 0, 0, 0, 2))) is None  # two hinges only


def test_the_residual_is_the_force_that_the_motion_needs() -> None:
    estimate, model = estimates()["small"], leg(floating=True)
    root = estimate.root_residual
    assert root is not None
    h, v = estimate.t[1] - estimate.t[0], estimate.v
    q = estimate.q[:-1] + 0.5 * v[:-1] * h + estimate.a * h**2 / 8
    tau = inverse_dynamics(model, q, 0.5 * (v[1:] + v[:-1]), estimate.a)[:, :3]
    force, moment = np.hypot(tau[:, 0], tau[:, 1]), np.abs(tau[:, 2])
    weight = 9.81 * float(model.inertia[:, 0].sum())
    assert root.joints == BASE
    assert root.assumed == SHARE
    assert root.weight == pytest.approx(weight)
    assert root.force_rms == pytest.approx(rms(force), rel=1e-6)
    assert root.force_peak == pytest.approx(force.max(), rel=1e-6)
    assert root.moment_rms == pytest.approx(rms(moment), rel=1e-6)
    assert root.moment_peak == pytest.approx(moment.max(), rel=1e-6)
    assert root.force_rms_percent == pytest.approx(100 * root.force_rms / weight)
    assert root.force_rms < SHARE * weight
    assert root.moment_rms < MOMENT_ARM * SHARE * weight
    assert not root.note
    assert not estimate.warnings


def test_zero_and_free_bases() -> None:
    _, truth = flight()
    found = estimates()
    assert np.all(found["zero"].tau[:, :3] == 0.0)
    assert found["zero"].root_residual == RootResidual(
        BASE, found["small"].root_residual.weight, 0.0, 0.0, 0.0, 0.0, 0.0, ""
    )
    free = found["any"].root_residual
    assert free.assumed == np.inf
    assert free.force_rms > 1.5 * found["small"].root_residual.force_rms
    error = {name: rms((x.tau - truth)[:, 3:]) for name, x in found.items()}
    assert error["zero"] < error["small"] < error["any"]  # with an exact model


def test_a_wrong_model_has_its_errors_at_the_base() -> None:
    """Force plates that carry 3 % too much: with the base at zero, joints take it."""
    data, truth = flight()
    push = np.zeros((len(data.t), 3))
    push[:, 1] = 0.03 * 9.81 * 73.0
    q = np.stack([data.angles[name] for name in BASE], axis=1)
    point = np.column_stack((q[:, 0] + 0.3, q[:, 1] - 0.9, np.zeros(len(q))))
    pushed = replace(data, forces={"p": MeasuredForce(data.t, push, point, np.zeros_like(push))})
    model, error = leg(floating=True), {}
    for share in (None, 0.0):
        found = estimate_torques(
            model, pushed, forces={"p": "trunk"}, base_residual=share, noise=1e-3
        )
        error[share] = rms((found.tau - truth)[:, 3:])
    assert error[None] < 0.7 * error[0.0]


def test_missing_forces_are_named() -> None:
    """A body that stands without any known force: its weight is left."""
    model, t = leg(floating=True), np.linspace(0.0, 1.0, 51)
    q = np.tile([0.0, 1.0, 0.0, 0.4, -0.3, 0.3], (51, 1))
    q += 0.05 * np.sin(5.0 * t)[:, None]
    estimate = estimate_torques(model, recorded(model, t, q), unactuated=BASE)
    root = estimate.root_residual
    assert root.assumed == np.inf
    assert "of the weight unexplained" in root.note
    assert root.force_rms_percent == pytest.approx(100.0, rel=0.1)
    assert any("is not held small" in text for text in estimate.warnings)
    unknown = estimate_torques(model, recorded(model, t, q))
    assert "no external forces" in unknown.root_residual.note
    assert not any("is not held small" in text for text in unknown.warnings)


@pytest.mark.parametrize("given", [-0.1, 1e-300, float("nan"), "4 %", True])
def test_invalid_shares(given: object) -> None:
    with pytest.raises(InputError, match="base_residual: expected a share of the body weight"):
        estimate_torques(leg(floating=True), flight()[0], base_residual=given)


def test_a_model_without_floating_base() -> None:
    data = recorded(leg(), T, np.zeros((len(T), 3)))
    with pytest.raises(InputError, match="base_residual: the model has no floating base"):
        estimate_torques(leg(), data, base_residual=0.04)


def test_files_keep_it(tmp_path) -> None:
    root = RootResidual(("joint1",), 700.0, np.inf, 30.0, 60.0, 5.0, 12.0, "no forces")
    estimate = replace(fake_estimate(), root_residual=root)
    estimate.save(tmp_path / "a.h5")
    assert load_estimate(tmp_path / "a.h5").root_residual == root
    assert estimate.summary()["root_residual"]["assumed"] is None
    assert estimate.summary()["root_residual"]["force_peak_percent"] == pytest.approx(60 / 7)
