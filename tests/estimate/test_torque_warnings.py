"""Each warning about an estimate is issued when it applies, and none if the data are good."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics import mass_matrix
from predyn.errors import DataWarning
from predyn.estimate.channel_warnings import correlation
from predyn.estimate.covariance_search import DIGITS
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.result import IMPLAUSIBLE, Estimate
from predyn.model import REVOLUTE, Model
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree, trujillo_two_link
from predyn.recordings.measurements import MeasuredForce, Measurements
from predyn.simulation import simulate
from recorded_motions import leg, marked, recorded, rms, sway

NOISE = 1e-3
T = np.linspace(0.0, 1.0, 101)
TREE, MOTION = random_tree(3, 46), sway(3, 46)
Q = MOTION.at(T)[0]
GOOD = recorded(TREE, T, Q, noise=NOISE)


def estimated(model: Model, data: Measurements, **options: object) -> Estimate:
    """The estimate, its warnings collected and not raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = estimate_torques(model, data, **options)
    assert all(found.category is DataWarning for found in caught)
    assert [str(found.message) for found in caught] == list(estimate.warnings)
    return estimate


def angles(change: Callable[[np.ndarray], np.ndarray], joint: str) -> Measurements:
    """The good recording with one channel changed."""
    return Measurements(T, {**GOOD.angles, joint: change(GOOD.angles[joint].copy())})


def few(values: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(values)) % 50 == 0, values, np.nan)


def spinning_wheel() -> Estimate:
    """An arm that is measured, and a balanced wheel at its end that is not."""
    builder = ModelBuilder("wheel", (0.0, -9.81, 0.0))
    builder.add_link("arm", "world", "shoulder", mass=1.0, com=(0.0, -0.3, 0.0),
                     inertia=(0.02, 0.0, 0.02))  # fmt: skip
    builder.add_link("wheel", "arm", "hub", axis=(0.0, 1.0, 0.0), origin=(0.0, -0.6, 0.0), mass=0.5,
                     inertia=(0.002, 0.004, 0.002))  # fmt: skip
    model = builder.build()
    swing = recorded(model, T, np.stack((0.5 * np.sin(6.0 * T), 0.0 * T), 1), noise=NOISE)
    return estimated(model, Measurements(T, {"shoulder": swing.angles["shoulder"]}))


def unseen_pendulum() -> Estimate:
    """An arm that is measured and driven, and a pendulum at its end that is neither."""
    model = trujillo_two_link()
    moved = simulate(model, [-1.6, 0.3], [0.0, 0.0], lambda t, *_: np.array([np.sin(4 * t), 0]), T)
    first = recorded(model, T, moved.q, noise=NOISE).angles["joint1"]
    return estimated(model, Measurements(T, {"joint1": first}), unactuated=("joint2",))


def misplaced_marker() -> Estimate:
    """A marker 3 cm from where the model has it, and angles that are right."""
    model = leg()
    q = np.stack((0.4 * np.sin(6.0 * T), 0.5 * np.sin(5.0 * T) - 0.6, 0.2 * np.sin(7.0 * T)), 1)
    data = recorded(model, T, q, markers=("shank_front",), noise=NOISE)
    moved = data.markers["shank_front"] + np.array([0.03, 0.0, 0.0])
    return estimated(model, replace(data, markers={"shank_front": moved}))


def uneven() -> Estimate:
    """Clean markers of a fast motion at irregular times, on a grid too coarse for it."""
    model = marked(random_tree(4, 8), 8)
    t = np.sort(np.random.default_rng(2).uniform(0.0, 2.0, 120))
    q = sway(4, 8, fastest=3.0).at(t)[0]
    data = recorded(
        model, t, q, joints=(), markers=tuple(frame.name for frame in model.frames), noise=0.0
    )
    return estimated(model, data, step=0.033)


def burst() -> Estimate:
    """An arm that hardly moves for 20 s, turned by 0.2 rad and stopped once."""
    builder = ModelBuilder("arm", (0.0, 0.0, 0.0))
    builder.add_link("arm", "world", "shoulder", mass=1.0, com=(0.0, -0.3, 0.0),
                     inertia=(0.02, 0.0, 0.02))  # fmt: skip
    model = builder.build()
    t = np.linspace(0.0, 20.0, 2001)
    torque = np.where((t > 1.0) & (t < 1.1), 8.0, 0.0) - np.where((t > 1.3) & (t < 1.4), 8.0, 0.0)
    speed = np.cumsum(torque) * 0.01 / 0.11
    q = np.cumsum(speed)[:, None] * 0.01 + 0.01 * np.sin(3.0 * t)[:, None]
    return estimated(model, recorded(model, t, q, noise=1e-4), order=1, independent="joints")


CASES: dict[str, tuple[Callable[[], Estimate], str]] = {
    "held still": (
        lambda: estimated(TREE, recorded(TREE, T, np.full((101, 3), 0.3), noise=NOISE)),
        r"(torque|acceleration) of j\d.*: (estimated as .* throughout|the measurements do not)",
    ),
    "tiny weight": (
        lambda: estimated(TREE, GOOD, weight=1e-5),
        r"torque of j0, j1, j2: the measurements do not determine how.*the weight is too small",
    ),
    "hardly measured": (
        lambda: estimated(TREE, angles(few, "j1"), order=2, independent="joints"),
        r"torque of .*j1",
    ),
    "huge weight": (
        lambda: estimated(TREE, GOOD, weight=1e6),
        "torque of j0, j1, j2: almost every interval follows the data",
    ),
    "too noisy": (
        lambda: estimated(TREE, GOOD, order=0),
        "torque of j0, j1, j2: its 95 % band is wider than the torque itself",
    ),
    "not measured": (spinning_wheel, "hub"),
    "neither measured nor driven": (
        unseen_pendulum,
        "the position of joint2 is neither measured nor driven by a motor",
    ),
    "no noise": (
        lambda: estimated(TREE, recorded(TREE, T, Q, noise=0.0)),
        "noise of j0, j1, j2: estimated as zero",
    ),
    "step that the motion does not fit": (
        lambda: estimated(TREE, recorded(TREE, T, Q, noise=0.0), step=0.2),
        r"residuals of j0 \(\d+ times\).* exceed the noise between neighbouring samples",
    ),
    "step a little too long for irregular samples": (
        uneven,
        r"residuals of m\d_\d\.\w, .* are systematic, not noise: the model or the step size does",
    ),
    "one short event": (
        burst,
        r"torque of shoulder \(at (0\.9|1\.\d)\d* s\): changes far more there than elsewhere",
    ),
    "long step": (
        lambda: estimated(TREE, GOOD, step=0.2),
        r"torque of .*: the grid error \(rms .*\) exceeds the uncertainty from the data; use a",
    ),
    "noise given too large": (
        lambda: estimated(TREE, GOOD, noise={"j2": 1e-2}),
        r"j2: residuals are 0\.\d+ times the given noise",
    ),
    "noise given too small": (
        lambda: estimated(TREE, GOOD, noise={"j2": 1e-4}, weight=1.0),
        r"j2: residuals are [\d.]+ times the given noise",
    ),
    "marker in the wrong place": (
        misplaced_marker,
        r"markers shank_front \(0\.0\d+ m\) are that far from where the model can place them",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_warning_is_given(case: str) -> None:
    run, expected = CASES[case]
    messages = run().warnings
    assert any(re.search(expected, text) for text in messages), messages


def test_good_data_give_no_warning() -> None:
    assert estimated(TREE, GOOD).warnings == ()
    assert estimated(TREE, GOOD, noise=NOISE).warnings == ()
    assert estimated(TREE, GOOD, total_variation=True).warnings == ()


def test_warnings_name_only_what_they_are_about() -> None:
    found = estimated(TREE, GOOD, noise={"j2": 1e-2})
    about = [text for text in found.warnings if "times the given noise" in text]
    assert len(about) == 1
    assert about[0].startswith("j2:")


def test_noise_far_too_large_does_not_make_bands_too_narrow() -> None:
    """The residuals are then far below the noise, and the bands are wide."""
    messages = estimated(TREE, GOOD, noise=0.2).warnings
    assert any("times the given noise, which is too large" in text for text in messages)
    assert not any("too narrow" in text for text in messages if "residuals" in text)


def test_absurd_torques_are_not_a_valid_estimate() -> None:
    """A jump between two nodes, followed as if the sample were free of noise."""
    builder = ModelBuilder("arm", (0.0, 0.0, 0.0))
    builder.add_link("arm", "world", "shoulder", mass=1.0, com=(0.0, -0.3, 0.0),
                     inertia=(0.02, 0.0, 0.02))  # fmt: skip
    t = np.insert(T, 51, 0.505)
    q = 0.01 * np.sin(t)
    q[51] += 1.0
    data = Measurements(t, {"shoulder": q})
    found = estimated(builder.build(), data, weight=1e9, noise=1e-9, step=0.01)
    assert found.status == IMPLAUSIBLE
    assert re.match(
        r"torques reach 8\.8e\+03 N m, but a low-pass filter gives 0\.00\d+; check for single",
        found.message,
    )


def test_turns_are_unwrapped_with_a_warning() -> None:
    joint = TREE.joint_names[int(np.flatnonzero(TREE.kind == REVOLUTE)[0])]
    turning = Q.copy()
    turning[:, TREE.joint_index(joint)] = 4.0 * T - 2.0
    whole = recorded(TREE, T, turning, noise=NOISE)
    wrapped = {**whole.angles, joint: np.mod(whole.angles[joint] + 1.0, 2 * np.pi) - 1.0}
    found, straight = estimated(TREE, Measurements(T, wrapped)), estimated(TREE, whole)
    assert found.warnings[0].startswith(f"joint {joint}: 1 jumps by a full turn")
    assert straight.warnings == found.warnings[1:]
    # what the search finds is rounded, and torques move by as much of their uncertainty
    assert rms(found.tau - straight.tau) < 10.0**-DIGITS * rms(straight.tau_sd)


# ---- the error of the grid


def swinging(step: float) -> Estimate:
    """A fast double pendulum with almost no noise, on a grid of this step."""
    model = trujillo_two_link()
    t = np.linspace(0.0, 1.0, 401)
    motion = simulate(model, [0.5, 1.0], [0.0, 3.0], np.array([1.0, -0.2]), t)
    data = recorded(model, t, motion.q, noise=1e-6)
    return estimated(model, data, step=step, order=1, independent="joints", weight=0.1, noise=1e-6)


def test_error_of_the_grid_against_a_fine_simulation() -> None:
    """The torque is held over each interval; the missing speed at its end is the error."""
    estimate = swinging(0.02)
    model, h = estimate.model, 0.02
    ends = np.array(
        [
            simulate(model, q, v, tau, [0.0, h]).v[-1]
            for q, v, tau in zip(estimate.q[:-1], estimate.v[:-1], estimate.tau, strict=True)
        ]
    )
    middle = estimate.q[:-1] + 0.5 * h * estimate.v[:-1] + h * h / 8 * estimate.a
    missing = np.einsum("kij,kj->ki", mass_matrix(model, middle), estimate.v[1:] - ends) / h
    # one step of RK4 against many: fourth order in h, the error itself is of second order
    assert estimate.grid_error == pytest.approx(missing, abs=4e-2 * np.abs(missing).max())


def test_error_of_the_grid_falls_with_the_square_of_the_step() -> None:
    coarse, fine = rms(swinging(0.02).grid_error), rms(swinging(0.01).grid_error)
    assert coarse / fine == pytest.approx(4.0, rel=0.2)


def test_error_of_the_grid_includes_the_forces() -> None:
    model = leg()
    t = np.linspace(0.0, 1.0, 101)
    q = np.stack((0.1 * np.sin(6 * t), -0.5 + 0.1 * np.sin(5 * t), 0.1 * np.cos(4 * t)), axis=1)
    weight = np.tile([0.0, 500.0, 0.0], (101, 1))
    force = MeasuredForce(t, weight, np.tile([0.1, -0.9, 0.0], (101, 1)), np.zeros((101, 3)))
    data = replace(recorded(model, t, q, noise=1e-4), forces={"plate": force})
    found = estimated(model, data, forces={"plate": "foot"})
    # holding the force of 500 N over 10 ms while the foot moves by 1 mm: some 0.5 N m
    assert rms(found.grid_error) < 0.5


def test_correlation_of_neighbours() -> None:
    noise = np.random.default_rng(0).standard_normal(4001)
    assert abs(correlation(noise)) < 0.06  # 4 deviations of 1 / sqrt(4001)
    assert correlation(noise[1:] + noise[:-1]) == pytest.approx(0.5, abs=0.06)
    assert correlation(np.zeros(5)) == 0.0
