"""Known torques are recovered from angles, markers or both, with noise and a tenth missing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from predyn.dynamics import frame_kinematics, inverse_dynamics
from predyn.errors import DataWarning
from predyn.estimate import estimating, trials
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.evidence import Trial
from predyn.estimate.result import Estimate, Filtered
from predyn.estimate.trials import Search
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree, trujillo_two_link
from predyn.recordings.measurements import MeasuredForce, Measurements
from predyn.simulation import simulate
from recorded_motions import (
    Sway,
    coverage,
    filter_error,
    leg,
    marked,
    recorded,
    rms,
    sway,
)

NOISE = 1e-3  # rad and m
MISSING = 0.1

# joints, seed: chains and branched trees of revolute, prismatic and screw joints
TREES = [(2, 4), (3, 46), (5, 13), (8, 0), (12, 4), (20, 0)]


def frames(model: Model) -> tuple[str, ...]:
    return tuple(frame.name for frame in model.frames)


def assert_recovered(estimate: Estimate, truth: np.ndarray, error: float) -> None:
    """Torques within their bands, near the truth, nearer than those of the filter."""
    assert estimate.success
    assert coverage(estimate, truth) >= 0.88
    off = rms(estimate.tau - truth)
    assert off < error * rms(truth)
    assert off < 0.6 * rms(filter_error(estimate, truth))


def seen(model: Model, by: str, t: np.ndarray, q: np.ndarray, seed: int) -> Measurements:
    joints, markers = model.joint_names, frames(model)
    if by == "angles":
        markers = ()
    elif by == "markers":
        joints = ()
    else:
        joints = joints[::2]
        markers = tuple(x.name for x in model.frames if x.link % 2)
    return recorded(
        model, t, q, joints=joints, markers=markers, noise=NOISE, missing=MISSING, seed=seed
    )


@pytest.mark.parametrize("by", ["angles", "markers", "mixed"])
@pytest.mark.parametrize(("n", "seed"), TREES, ids=lambda x: str(x))
def test_random_trees(n: int, seed: int, by: str) -> None:
    model, motion = marked(random_tree(n, seed), seed, each=3 if n < 12 else 2), sway(n, seed)
    t = np.linspace(0.0, 1.0, 101) if n > 10 else np.linspace(0.0, 1.5, 151)
    estimate = estimate_torques(model, seen(model, by, t, motion.at(t)[0], seed))
    truth = motion.torques(model, estimate.t_tau)
    assert_recovered(estimate, truth, 0.08)
    q, v, _ = motion.at(estimate.t)
    assert np.mean(np.abs(estimate.q - q) <= 1.96 * estimate.q_sd) > 0.88
    assert np.mean(np.abs(estimate.v - v) <= 1.96 * estimate.v_sd) > 0.88
    # some 135 to 405 numbers a channel, a few of them used up: 6 % each
    assert all(0.75 * NOISE < channel.sd < 1.25 * NOISE for channel in estimate.channels)


# ---- torques drawn from what the method takes as likely: bands that are neither wide nor narrow


def springy() -> Model:
    """Two links that springs and friction keep from tumbling."""
    builder = ModelBuilder("springy", (0.0, -9.81, 0.0))
    for k, before in ((1, "world"), (2, "link1")):
        builder.add_link(
            f"link{k}", before, f"joint{k}", origin=(0.0, -0.5 * (k - 1), 0.0), mass=1.0,
            com=(0.0, -0.25, 0.0), inertia=(0.02, 0.0, 0.02), stiffness=6.0, damping=0.3,
        )  # fmt: skip
    return builder.build()


WALK = np.array([0.12, 0.05])  # N m, change of torque in 10 ms


def walk(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions (count + 1, 2) and held torques (count, 2) whose changes are normal."""
    model, h = springy(), 0.01
    tau = np.cumsum(WALK * np.random.default_rng(seed).standard_normal((count, 2)), axis=0)
    q, v = np.zeros((count + 1, 2)), np.zeros(2)
    for k in range(count):
        step = simulate(model, q[k], v, tau[k], [0.0, h], method="rk4", step=h / 2)
        q[k + 1], v = step.q[-1], step.v[-1]
    return q, tau


@pytest.mark.parametrize("told", [False, True], ids=["nothing told", "levels told"])
def test_bands_hold_95_percent_of_random_torques(told: bool) -> None:
    model, count = springy(), 300
    t = 0.01 * np.arange(count + 1)
    given = {"order": 1, "independent": "joints", "noise": NOISE} if told else {}
    if told:
        given["weight"] = dict(zip(model.joint_names, WALK.tolist(), strict=True))
    found = []
    for seed in range(6):
        q, tau = walk(seed, count)
        estimate = estimate_torques(model, recorded(model, t, q, noise=NOISE, seed=seed), **given)
        assert estimate.order == 1
        if not told:
            assert estimate.weights == pytest.approx(WALK, rel=0.35)
        found.append(coverage(estimate, tau))
    # errors last some 10 intervals: 6 x 600 torques count as some 360, a deviation of 1.2 %
    assert np.mean(found) == pytest.approx(0.95, abs=0.035)


# ---- sampling, options


def test_irregular_times_and_other_steps() -> None:
    model, motion = random_tree(4, 7), sway(4, 7)
    t = np.sort(np.random.default_rng(5).uniform(0.0, 2.0, 220))
    data = recorded(model, t, motion.at(t)[0], noise=NOISE, missing=MISSING)
    counts = []
    for step in (None, 0.005, 0.01, 0.03):
        estimate = estimate_torques(model, data, step=step)
        counts.append(len(estimate.t_tau))
        assert estimate.t[[0, -1]] == pytest.approx(t[[0, -1]])
        assert_recovered(estimate, motion.torques(model, estimate.t_tau), 0.05)
    assert counts[1:] == [round((t[-1] - t[0]) / step) for step in (0.005, 0.01, 0.03)]


def test_a_long_gap_is_bridged_and_widens_the_band_there() -> None:
    model, motion = random_tree(3, 46), sway(3, 46, fastest=1.0)
    t = np.linspace(0.0, 2.0, 201)
    data = recorded(model, t, motion.at(t)[0], noise=NOISE)
    angles = {name: values.copy() for name, values in data.angles.items()}
    for values in angles.values():
        values[90:115] = np.nan
    with pytest.warns(DataWarning, match=r"no data from 0.89 to 1.15 s"):
        estimate = estimate_torques(model, Measurements(t, angles))
    truth = motion.torques(model, estimate.t_tau)
    assert coverage(estimate, truth) > 0.88
    whole = estimate_torques(model, data)
    inside = slice(96, 108)
    assert np.all(estimate.tau_sd[inside].max(axis=0) > 1.5 * whole.tau_sd[inside].max(axis=0))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_each_order_separately(order: int) -> None:
    model, motion = random_tree(2, 4), sway(2, 4)
    t = np.linspace(0.0, 1.5, 301)
    data = recorded(model, t, motion.at(t)[0], noise=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        # torques that may differ freely from one interval to the next need longer ones
        estimate = estimate_torques(model, data, order=order, step=(0.04, None, None)[order])
    truth = motion.torques(model, estimate.t_tau)
    assert estimate.order == order
    assert [trial.order for trial in estimate.orders] == [order] * len(estimate.orders)
    assert estimate.success
    assert coverage(estimate, truth) > 0.88
    assert rms(estimate.tau - truth) < (0.03, 0.03, 0.01)[order] * rms(truth)


def test_the_order_with_the_most_evidence_is_the_best() -> None:
    model, motion = random_tree(2, 4), sway(2, 4)
    t = np.linspace(0.0, 1.5, 151)
    data = recorded(model, t, motion.at(t)[0], noise=NOISE)
    free = estimate_torques(model, data)
    best = max(free.orders, key=lambda trial: trial.log_evidence)
    assert best.chosen
    assert best.order == free.order == 2
    truth = motion.torques(model, free.t_tau)
    rougher = estimate_torques(model, data, order=1)
    assert rms(free.tau - truth) < rms(rougher.tau - truth)


def test_given_noise_and_weights_are_kept() -> None:
    model, motion = random_tree(3, 46), sway(3, 46)
    t = np.linspace(0.0, 1.5, 151)
    data = recorded(model, t, motion.at(t)[0], noise=NOISE)
    free = estimate_torques(model, data, independent="joints")
    weights = dict(zip(model.joint_names, (0.8 * free.weights).tolist(), strict=True))
    noise = {"j0": 1.1e-3, "j2": 0.9e-3}
    told = estimate_torques(model, data, order=free.order, weight=weights, noise=noise)
    assert told.weights == pytest.approx(0.8 * free.weights)
    by_name = {channel.name: channel for channel in told.channels}
    assert by_name["j0"].sd == 1.1e-3
    assert by_name["j2"].sd == 0.9e-3
    assert [by_name[name].estimated for name in model.joint_names] == [False, True, False]
    assert_recovered(told, motion.torques(model, told.t_tau), 0.06)


def test_given_weights_are_kept_and_the_rest_estimated() -> None:
    model, motion = random_tree(3, 46), sway(3, 46)
    t = np.linspace(0.0, 1.5, 151)
    data = recorded(model, t, motion.at(t)[0], noise=NOISE)
    free = estimate_torques(model, data, order=2, independent="joints")
    one = estimate_torques(model, data, order=2, weight={"j1": 2.0 * free.weights[1]})
    assert one.weights[1] == pytest.approx(2.0 * free.weights[1])
    assert one.weights[[0, 2]] == pytest.approx(free.weights[[0, 2]], rel=0.3)


def test_channels_get_their_own_noise() -> None:
    model, motion = marked(random_tree(3, 46), 46), sway(3, 46)
    t = np.linspace(0.0, 2.0, 401)
    q = motion.at(t)[0]
    coarse = recorded(model, t, q, joints=("j0", "j1"), noise=5e-3, seed=1)
    fine = recorded(model, t, q, joints=("j2",), markers=frames(model)[-2:], noise=5e-4, seed=2)
    estimate = estimate_torques(
        model, Measurements(t, {**coarse.angles, **fine.angles}, fine.markers)
    )
    for channel in estimate.channels:
        # 401 numbers or more a channel: 3.6 %
        expected = 5e-3 if channel.name in ("j0", "j1") else 5e-4
        assert channel.sd == pytest.approx(expected, rel=0.15)


def test_the_same_recording_gives_the_same_bits() -> None:
    model, motion = marked(random_tree(3, 46), 46), sway(3, 46)
    t = np.linspace(0.0, 1.0, 101)
    data = seen(model, "mixed", t, motion.at(t)[0], 0)
    for switching in (False, True):
        one, two = (estimate_torques(model, data, total_variation=switching) for _ in range(2))
        for name in ("t", "q", "v", "a", "tau", "tau_sd", "q_sd", "v_sd", "weights", "grid_error"):
            assert np.array_equal(getattr(one, name), getattr(two, name)), name


# ---- joints without torque


BASE = ("x", "y", "turn")


def leg_control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Springs to swinging anchor points; none at the base."""
    swing = np.sin(2 * np.pi * np.array([1.5, 1.5, 2.0]) * t + np.array([0.0, 1.0, 2.0]))
    goal = np.array([0.4, -0.7, 0.1]) + np.array([0.4, 0.5, 0.3]) * swing
    leg = np.array([120.0, 60.0, 15.0]) * (goal - q[3:]) - np.array([8.0, 4.0, 1.0]) * v[3:]
    return np.concatenate((np.zeros(3), leg))


@pytest.mark.parametrize("by", ["angles", "markers", "both"])
def test_a_flying_leg_has_no_torque_at_its_base(by: str) -> None:
    model = leg(floating=True)
    t = np.linspace(0.0, 1.0, 201)  # samples, and the middles between them
    flight = simulate(
        model, [0.0, 1.0, 0.0, 0.4, -0.3, 0.3], [1.0, 2.0, 0, 0, 0, 0], leg_control, t
    )
    truth = np.array([leg_control(*now) for now in zip(t, flight.q, flight.v, strict=True)])[1::2]
    joints = {"angles": None, "markers": (), "both": ("x", "turn", "knee")}[by]
    data = recorded(
        model, t[::2], flight.q[::2], joints=joints, noise=NOISE, missing=MISSING,
        markers=() if by == "angles" else frames(model),
    )  # fmt: skip
    estimate = estimate_torques(model, data, unactuated=BASE, base_residual=0.0)
    assert estimate.unactuated == BASE
    assert np.all(estimate.tau[:, :3] == 0.0)
    assert np.all(estimate.tau_sd[:, :3] == 0.0)
    assert np.all(estimate.weights[:3] == 0.0)
    # zero as the motion has it, not only as it is written: 1e-9 of the usual torques, 1e3 N m
    v, a = estimate.v, estimate.a
    middle = 0.5 * (v[1:] + v[:-1])
    q = estimate.q[:-1] + 0.5 * v[:-1] * (t[2] - t[0]) + a * (t[2] - t[0]) ** 2 / 8
    assert np.abs(inverse_dynamics(model, q, middle, a)[:, :3]).max() < 1e-6
    assert_recovered(estimate, truth, 0.06)
    assert rms(filter_error(estimate, truth)[:, 3:]) > 3 * rms((estimate.tau - truth)[:, 3:])


# ---- known forces


STEPPING = Sway(
    np.array([0.1, -0.3, 0.1]),
    np.array([[0.3, 0.25, 0.2]]),
    2 * np.pi * np.array([[0.9, 1.1, 0.8]]),
    np.array([[0.0, 1.0, 2.0]]),
)


def plate(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Force, centre of pressure that rolls from heel to toe, free moment."""
    on = np.sin(np.pi * np.clip((t - 0.2) / 0.6, 0.0, 1.0)) ** 2
    zero = np.zeros_like(t)
    force = np.stack((100.0 * on * np.sin(5.0 * t), 700.0 * on, 30.0 * on), axis=1)
    return force, np.stack((0.3 * t - 0.05, zero, zero + 0.1), 1), np.stack((zero, zero, 8 * on), 1)


def torques_on_the_ground(t: np.ndarray) -> np.ndarray:
    """Each hinge along z carries the moment of the force about itself."""
    model = leg()
    q, v, a = STEPPING.at(t)
    tau = inverse_dynamics(model, q, v, a)
    force, point, moment = plate(t)
    for j, link in enumerate(model.link_names):
        x, y, _ = (point - frame_kinematics(model, link, q).p).T
        tau[:, j] -= x * force[:, 1] - y * force[:, 0] + moment[:, 2]
    return tau


def test_a_force_plate_corrects_the_torques() -> None:
    model = leg()
    t, own = np.linspace(0.0, 1.2, 121), np.linspace(-0.1, 1.3, 1401)
    q = STEPPING.at(t)[0]
    recording = replace(
        recorded(model, t, q, noise=NOISE, missing=MISSING, seed=1),
        forces={"plate": MeasuredForce(own, *plate(own))},
    )
    estimate = estimate_torques(model, recording, forces={"plate": "foot"})
    truth = torques_on_the_ground(estimate.t_tau)
    assert estimate.success
    assert estimate.force_links == {"plate": "foot"}
    assert coverage(estimate, truth) > 0.88
    assert rms(estimate.tau - truth) < 0.02 * rms(truth)
    with pytest.warns(DataWarning, match="force plate: recorded but not used"):
        without = estimate_torques(model, recording)
    assert rms(without.tau - truth) > 0.5 * rms(truth)
    on = np.abs(estimate.t_tau - 0.5) < 0.2
    low, high = without.tau_band
    assert not np.any((low <= truth) & (truth <= high), axis=1)[on].any()
    wrong = estimate_torques(model, recording, forces={"plate": "shank"})
    assert rms((wrong.tau - truth)[:, 2]) > 0.5 * rms(truth[:, 2])


def test_a_force_may_be_given_about_any_point() -> None:
    model = leg()
    t = np.linspace(0.0, 1.2, 121)
    plain = recorded(model, t, STEPPING.at(t)[0], noise=NOISE)
    force, point, moment = plate(t)
    moved = MeasuredForce(t, force, np.zeros_like(point), moment + np.cross(point, force))
    fine = np.linspace(0.0, 1.2, 12_001)  # products of straight lines are not straight
    force, point, moment = plate(fine)
    one = MeasuredForce(fine, force, point, moment)
    other = MeasuredForce(fine, force, np.zeros_like(point), moment + np.cross(point, force))
    found = [
        estimate_torques(model, replace(plain, forces={"plate": f}), forces={"plate": "foot"}).tau
        for f in (one, other, moved)
    ]
    # interpolation: (0.1 ms / 8)^2 of curvatures of 700 N (5/s)^2; levels settle to 2e-3 of a band
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert found[0] == pytest.approx(found[2], abs=1.0)


@pytest.mark.filterwarnings("ignore::predyn.errors.DataWarning")  # constant torques are told
@pytest.mark.parametrize(("seconds", "rate"), [(4.0, 120), (4.0, 250), (2.0, 500)])
def test_a_constant_torque_next_to_a_varying_one(seconds: float, rate: int) -> None:
    """The size of its changes is zero; an estimate made of rounding errors must not be returned."""
    model = trujillo_two_link()
    t = np.linspace(0.0, seconds, round(seconds * rate) + 1)

    def torques(t: np.ndarray) -> np.ndarray:
        return np.stack((1.2 * np.sin(4.0 * t), 0.3 + 0.0 * t), axis=-1)

    motion = simulate(model, [0.0, 0.0], [0.0, 0.0], lambda t, q, v: torques(np.asarray(t)), t)
    for seed in range(2):
        data = recorded(model, t, motion.q, joints=(), markers=("end1", "end2"), seed=seed)
        estimate = estimate_torques(model, data)
        truth = torques(estimate.t_tau)
        assert estimate.success
        assert coverage(estimate, truth) > 0.88
        assert rms(estimate.tau - truth) < 0.08 * rms(truth)


def pushed(monkeypatch: pytest.MonkeyPatch) -> tuple[Model, Measurements, np.ndarray]:
    """A steady swing, its torques, and a filter that leaves a thousandth of them."""
    plain = estimating.filtered

    def dull(*args: Any) -> Filtered:
        return (found := plain(*args))._replace(tau=1e-3 * found.tau)

    monkeypatch.setattr(estimating, "filtered", dull)
    model, motion, t = trujillo_two_link(), sway(2, 3), np.linspace(0.0, 0.5, 51)
    data = recorded(model, t, motion.at(t)[0], noise=NOISE)
    q, v, a = motion.at(0.5 * (t[1:] + t[:-1]))
    return model, data, inverse_dynamics(model, q, v, a)


def test_a_filter_that_leaves_no_torque_does_not_hold_the_first_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, data, truth = pushed(monkeypatch)
    off = []
    for enough in (np.inf, trials.OUTGROWN):
        monkeypatch.setattr(trials, "OUTGROWN", enough)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = estimate_torques(model, data, order=1, independent="joints")
        off.append(np.abs((found.tau - truth) / found.tau_sd)[0].max())
    assert off[0] > 10.0  # what it is about
    assert off[1] < 4.0


def test_ctrl_c_is_not_forgotten_when_sizes_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may end a trial that is not the best; then no trial is repeated."""
    calls, tried = [], Search._trials

    def cut(search: Search, *args: Any) -> list[Trial]:
        calls.append(search)
        done = tried(search, *args)
        worst = min(done, key=lambda trial: trial.log_evidence)
        worst.interrupted = len(calls) == 1
        return done

    model, data, _ = pushed(monkeypatch)
    monkeypatch.setattr(Search, "_trials", cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert estimate_torques(model, data).status == "interrupted"
        assert len(calls) == 1
        assert estimate_torques(model, data).status == "converged"
    assert len(calls) == 3  # the second time sizes were outgrown


def test_a_joint_without_a_motor_whose_motion_decays() -> None:
    """Damped by 60/s over 3 s: predictions from its past would grow by e^360."""
    builder = ModelBuilder("slides", (0.0, 0.0, 0.0))
    for name, damping in (("driven", 0.0), ("free", 60.0)):
        builder.add_link(f"link_{name}", "world", name, "prismatic", mass=1.0, damping=damping,
                         inertia=(0.1, 0.1, 0.1))  # fmt: skip
    model, t = builder.build(), np.linspace(0.0, 3.0, 301)
    q = np.stack((0.3 * np.sin(3.0 * t), 0.5 - 0.1 * np.exp(-60.0 * t)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = estimate_torques(model, recorded(model, t, q, noise=NOISE), unactuated=("free",))
    assert found.success
    truth = np.stack((-2.7 * np.sin(3.0 * found.t_tau), 0.0 * found.t_tau), axis=1)
    assert coverage(found, truth) >= 0.88
    assert np.all(found.tau[:, 1] == 0.0)


@pytest.mark.parametrize("samples", [8, 14, 30])
def test_switching_torques_from_few_samples(samples: int) -> None:
    """Scales then differ by so much that normal equations are singular to rounding."""
    model = trujillo_two_link()
    for seed in range(6):
        t = np.arange(samples) * 0.02
        q = np.stack((np.sin(3.0 * t), 0.4 * np.cos(5.0 * t)), axis=1)
        q += 5e-3 * np.random.default_rng(seed).standard_normal(q.shape)
        data = Measurements(t, dict(zip(model.joint_names, q.T, strict=True)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = estimate_torques(model, data, total_variation=True)
        assert found.status in ("converged", "iteration_limit")
        assert np.isfinite(found.tau).all()


@pytest.mark.parametrize("times", [1, 3])
def test_a_marker_seen_once_or_three_times_is_not_exact(times: int) -> None:
    """Angles with 5 mrad of noise; one marker with 2 cm, nearly always hidden."""
    model, t = trujillo_two_link(), np.linspace(0.0, 1.0, 101)
    moved = simulate(model, [-1.6, 0.3], [0.0, 0.0], lambda t, *_: np.sin([5 * t, 3 * t]), t)
    off = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = moved.q + 5e-3 * rng.standard_normal(moved.q.shape)
        angles = dict(zip(model.joint_names, q.T, strict=True))
        place = frame_kinematics(model, "end2", moved.q).p + 2e-2 * rng.standard_normal((101, 3))
        place[np.setdiff1d(np.arange(101), 50 + np.arange(times))] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = estimate_torques(model, Measurements(t, angles, {"end2": place}))
            plain = estimate_torques(model, Measurements(t, angles))
        truth = np.sin([5 * found.t_tau, 3 * found.t_tau]).T
        off.append(rms(found.tau - truth) / rms(plain.tau - truth))
    assert max(off) < 2.0
