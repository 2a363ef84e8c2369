"""Walking: one step of a person, against people, its own limits, and independent dynamics."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import predyn
from predyn.errors import InputError
from predyn.movements import human_walk
from predyn.movements.walking import PHASES

FOLDER = Path(os.environ.get("PREDYN_SHARED", "")) / "data" / "gait"
PEOPLE = FOLDER / "fukuchi2018_overground_71pctBHps_n32.csv"
FOOT = ("heel", "ball_medial", "ball_lateral", "toe")
# Fukuchi, Fukuchi and Duarte (2018): column, and the largest distance to the mean of 32 adults
CURVES = {
    "thigh": ("thigh_flexion_abs_deg", 5.0),
    "knee": ("knee_flexion_deg", 6.0),
    "ankle": ("ankle_dorsiflexion_deg", 5.0),
    "up": ("grf_vertical_BW", 0.05),
    "forward": ("grf_foreaft_BW", 0.024),
    "hip moment": ("hip_ext_moment_Nm_kg", 0.20),
    "knee moment": ("knee_ext_moment_Nm_kg", 0.14),
    "ankle moment": ("ankle_pf_moment_Nm_kg", 0.10),
}


@cache
def walk() -> predyn.Solution:
    return predyn.solve("human-walk", verbose=False)


@cache
def cycle() -> dict[str, np.ndarray]:
    """Curves from heel strike to heel strike: the left leg, then what the right leg did before."""
    solution, mass = walk(), 75.0
    strike = sum(curve.duration for curve in solution.curves[:2])
    t = strike + np.linspace(0.0, 2.0, 101) * solution.duration
    side = np.where((t >= solution.duration) & (t < 2.0 * solution.duration), "r", "l")
    state = solution.at(t % solution.duration)
    found = {name: np.empty(101) for name in CURVES}
    model = solution.model
    tilt = model.joint_index("global_rotation_3")
    for k, leg in enumerate(side):
        hip, knee, ankle = (
            model.joint_index(f"{name}_{leg}")
            for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")
        )
        q, tau = np.degrees(state.q[k]), -state.tau[k] / mass
        found["thigh"][k] = q[hip] + q[tilt]
        found["knee"][k], found["ankle"][k] = q[knee], q[ankle]
        found["hip moment"][k], found["knee moment"][k] = tau[hip], tau[knee]
        found["ankle moment"][k] = tau[ankle]
        force = foot_force(solution, leg, t[k] % solution.duration) / (mass * 9.81)
        found["forward"][k], found["up"][k] = force[0], force[2]
    return found


def foot_force(solution: predyn.Solution, side: str, t: float) -> np.ndarray:
    parts = [solution.channel(f"signal:{name}_{side}", [t])[0] for name in FOOT]
    return np.nansum(parts, axis=0)


def test_a_person_walks() -> None:
    solution = walk().check()
    assert solution.success
    assert solution.phase_names == tuple(PHASES)
    assert solution.duration == pytest.approx(0.5725, rel=0.01)


def test_the_ground_carries_the_body() -> None:
    """Base residual between points below 10 N, and the mean force is the weight."""
    solution = walk()
    base = [x for x in solution.dense_violations if "passive torque global_t" in x.name]
    assert max(abs(x.value) for x in base) < 10.0
    up = cycle()["up"][:-1]
    assert 2.0 * up.mean() == pytest.approx(1.0, abs=0.01)


def test_feet_stay_in_their_places() -> None:
    solution = walk()
    t0 = 0.0
    for name, curve in zip(PHASES, solution.curves, strict=True):
        t = t0 + np.linspace(1e-9, 1.0 - 1e-9, 201) * curve.duration
        standing = ["ball_medial_r"] + ["heel_r"] * (name == "flat")
        standing += ["heel_l"] * (name in ("heel", "both"))
        for point in standing:
            p = solution.channel(f"frame:{point}", t)[:, 9:12]
            assert np.ptp(p, axis=0).max() < 1e-3, (name, point)
        t0 += curve.duration


def test_torques_stay_within_strength() -> None:
    solution = walk()
    t = np.linspace(0.0, solution.duration, 1001)
    tau, limits = solution.at(t).tau[:, 6:], solution.model.limits.effort[6:]
    excess = np.maximum(limits[:, 0] - tau, tau - limits[:, 1])
    assert (excess <= 0.01 * np.abs(limits).max(axis=1)).all()


def test_two_peaks_of_the_vertical_force() -> None:
    up = cycle()["up"]
    early, valley, late = up[3:32].max(), up[15:48].min(), up[32:60].max()
    assert 0.65 < valley < 0.85
    assert min(early, late) > valley + 0.1


@pytest.mark.skipif(not PEOPLE.is_file(), reason="PREDYN_SHARED names no folder with gait data")
@pytest.mark.parametrize("name", CURVES)
def test_it_resembles_the_mean_of_adults(name: str) -> None:
    column, largest = CURVES[name]
    with PEOPLE.open() as file:
        mean = np.array([float(row[f"{column}_mean"]) for row in csv.DictReader(file)])
    assert np.sqrt(np.mean((cycle()[name] - mean) ** 2)) < largest


def test_the_cycle_is_closed() -> None:
    solution = walk()
    ends = solution.at([0.0, solution.duration])
    names = solution.model.joint_names
    knee = [names.index(f"knee_flexion_{side}") for side in "rl"]
    assert ends.q[1, knee] == pytest.approx(ends.q[0, knee[::-1]], abs=1e-7)
    x = names.index("global_tx")
    assert ends.q[1, x] - ends.q[0, x] == pytest.approx(1.2425 * solution.duration, rel=1e-6)


def test_no_pose_comes_near_gimbal_lock() -> None:
    solution = walk()
    locks = (
        ("global_rotation_2", 90.0),
        ("global_rotation_2", -90.0),
        ("shoulder_adduction_r", -90.0),
    )
    for name, lock in locks:
        q = np.degrees(solution.q[:, solution.model.joint_index(name)])
        assert np.abs(q - lock).min() > 45.0


def test_longer_steps_at_higher_speed() -> None:
    slow, fast = (human_walk(speed) for speed in (1.0, 1.5))
    assert slow.cycle is not None
    assert fast.cycle is not None
    assert fast.cycle.advance[0] > slow.cycle.advance[0]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 5.0}, "speed: expected .* for a person of 1.75 m who walks, got 5"),
        ({"speed": "fast"}, "speed: expected a number above 0 in m/s"),
        ({"step_length": 1.2}, "step_length: expected at most 0.93 m .* the legs are too short"),
        ({"slope": 0.5}, "slope: expected a rise from -0.2 to 0.2"),
        ({"height": 3.0}, "height of a person: expected 1.4 to 2 m, got 3"),
        ({"mass": 200.0}, "mass of a person: expected 35 to 145 kg, got 200"),
        ({"load_back": -1.0}, "load_back of a person: expected 0 to 200 kg"),
    ],
)
def test_options_that_no_person_has(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        human_walk(**options)


def random_walk(seed: int, **options: object) -> predyn.Problem:
    """A person and a task by seed: 1.50 to 1.95 m, BMI 17 to 35, with loads and slopes."""
    rng = np.random.default_rng(seed)
    height, bmi = rng.uniform(1.50, 1.95), rng.uniform(17.0, 35.0)
    sex = ("male", "female")[int(rng.integers(2))]
    speed, slope, load = rng.uniform(0.8, 1.6), rng.uniform(-0.05, 0.05), rng.uniform(0.0, 20.0)
    problem = human_walk(
        float(speed),
        slope=float(slope),
        load_back=float(load),
        height=float(height),
        mass=float(bmi * height**2),
        sex=sex,
        segments=4,
        **options,  # type: ignore[arg-type]
    )
    finer = replace(problem.transcription, refine=True, refine_tolerance=0.05, max_refinements=2)
    return replace(problem, transcription=finer)


def converged(problem: predyn.Problem) -> predyn.Solution:
    """A solution on coarse segments, between whose points more than 5 % may be missing."""
    solution = predyn.solve(problem, verbose=False)
    assert solution.status in ("optimal", "exceeds_limits"), solution.message
    return solution


@pytest.mark.verify
def test_sixty_people_walk() -> None:
    failed = {}
    for seed in range(60):
        solution = predyn.solve(random_walk(seed), verbose=False)
        if not solution.success:
            failed[seed] = f"{solution.status}: {solution.message}"
    assert len(failed) <= 3, failed


@pytest.mark.verify
def test_forces_grow_with_speed() -> None:
    """Both peaks of the vertical force, in early and in late stance."""
    peaks = []
    for speed in (0.9, 1.2, 1.5):
        solution = converged(human_walk(speed, segments=4))
        strike = sum(curve.duration for curve in solution.curves[:2])
        t = strike + np.linspace(0.03, 0.64, 123) * 2.0 * solution.duration
        side = np.where(t < solution.duration, "l", "r")
        pairs = zip(side, t % solution.duration, strict=True)
        up = np.array([foot_force(solution, leg, x)[2] for leg, x in pairs])
        peaks.append((up[:60].max(), up[60:].max()))
    assert (np.diff(peaks, axis=0) > 0.0).all()


@pytest.mark.verify
def test_free_steps_grow_with_speed_and_height() -> None:
    def step(**options: float) -> float:
        problem = human_walk(segments=4, free_step=True, **options)  # type: ignore[arg-type]
        found = converged(problem).parameters["step"]
        (bounds,) = (x for x in problem.parameters if x.name == "step")
        assert bounds.min * 1.01 < found < bounds.max * 0.99
        return found

    by_speed = [step(speed=x) for x in (0.9, 1.2, 1.5)]
    by_height = [step(speed=1.24, height=x, mass=22.5 * x**2) for x in (1.55, 1.7, 1.85)]
    assert (np.diff(by_speed) > 0.0).all()
    assert (np.diff(by_height) > 0.0).all()


@pytest.mark.verify
def test_free_durations_cost_less() -> None:
    fixed, free = (converged(human_walk(segments=4, free_durations=x)) for x in (False, True))
    assert free.objective < fixed.objective
    assert free.duration == pytest.approx(fixed.duration, rel=1e-6)
