"""Standing up from a seat: forces, postures, limits and options."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import predyn
from predyn.dynamics import frame_kinematics
from predyn.errors import InputError
from predyn.movements import human_sit_to_stand

FEET = ("heel_r", "toe_r", "heel_l", "toe_l")
WEIGHT = 75.0 * 9.81  # N


@cache
def rise() -> predyn.Solution:
    return predyn.solve("human-sit-to-stand", verbose=False).check()


def times() -> np.ndarray:
    return np.linspace(0.0, rise().duration, 401)


def angle(name: str) -> np.ndarray:
    """Degrees at `times`."""
    return np.degrees(rise().at(times()).q[:, rise().model.joint_index(name)])


def path(point: str) -> np.ndarray:
    """Positions (m) of a point at `times`."""
    q = rise().at(times()).q
    return np.asarray(frame_kinematics(rise().model, point, q, 0.0 * q, 0.0 * q).p)


def force(names: tuple[str, ...], phase: int, fractions: np.ndarray) -> np.ndarray:
    """Sum of forces (N) on points or patches within a phase."""
    before = sum(curve.duration for curve in rise().curves[:phase])
    t = before + fractions * rise().curves[phase].duration
    return sum(np.asarray(rise().channel(f"signal:{name}", t)) for name in names)


def test_forces_carry_the_body_from_rest_to_rest() -> None:
    """Impulses: the weight over the whole duration upwards, and nothing forwards."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s, w = 0.5 * (nodes + 1.0), 0.5 * weights
    impulse = np.zeros(3)
    for p, curve in enumerate(rise().curves):
        on = (*FEET, "sole_r", "sole_l", *(("seat_r", "seat_l") if p == 0 else ()))
        impulse += curve.duration * (w @ force(on, p, s))
    assert impulse[2] == pytest.approx(WEIGHT * rise().duration, rel=1e-3)
    assert abs(impulse[0]) < 1e-3 * WEIGHT * rise().duration


def test_the_seat_carries_until_seat_off_and_never_pulls() -> None:
    s = np.append(np.linspace(0.0, 0.99, 100), 1.0 - 1e-9)  # at 1 the next phase begins
    seat = force(("seat_r", "seat_l"), 0, s)[:, 2]
    assert seat[0] > 0.6 * WEIGHT
    assert abs(seat[-1]) < 1e-6 * WEIGHT
    assert seat.min() > -1e-3 * WEIGHT
    assert 1.1 < force(FEET, 1, s)[:, 2].max() / WEIGHT < 1.45


def test_the_person_leans_forward_leaves_the_seat_and_ends_upright() -> None:
    lean, t = -angle("global_rotation_3"), times()
    assert 30.0 < lean.max() < 50.0
    assert 0.3 < t[lean.argmax()] / t[-1] < 0.7
    assert angle("hip_flexion_r").max() > 105.0
    assert np.abs([angle(x)[-1] for x in ("hip_flexion_r", "knee_flexion_r")]).max() < 1e-9
    head = path("head_top")[:, 2]
    assert head[-1] == pytest.approx(1.75, abs=0.01)
    seat = path("seat_r")[:, 2]
    assert seat.min() > seat[0] - 1e-6


def test_both_sides_move_alike_and_feet_do_not_slip() -> None:
    for name in rise().model.joint_names:
        if name.endswith("_r"):
            assert np.abs(angle(name) - angle(f"{name[:-1]}l")).max() < 1e-6
    for point in FEET:
        assert np.abs(path(point) - path(point)[0]).max() < 2e-4  # m


def test_torques_are_within_strength_and_the_base_is_free_between_points() -> None:
    model, tau = rise().model, rise().at(times()).tau
    lower, upper = model.limits.effort[3:].T
    assert (tau[:, 3:] > lower).all()
    assert (tau[:, 3:] < upper).all()
    assert np.abs(tau[:, :2]).max() < 0.01 * WEIGHT
    knee = -tau[:, model.joint_index("knee_flexion_r")].min() / 75.0
    assert 0.8 < knee < 1.4  # N m/kg


@pytest.mark.parametrize(
    "options",
    [
        {"height": 1.55, "mass": 55.0, "sex": "female"},
        {"height": 1.90, "mass": 88.0, "sex": "male", "seat_height": 0.45},
        {"percentile": 95, "age": ">65", "duration": 3.0},
    ],
    ids=str,
)
def test_other_people_stand_up_from_their_own_simple_guess(options: dict) -> None:
    found = predyn.solve(human_sit_to_stand(segments=6, **options), verbose=False).check()
    assert found.iterations < 60


def test_another_start_ends_in_the_same_motion() -> None:
    problem = human_sit_to_stand(segments=4)
    s, q = problem.guess
    fine = np.linspace(0.0, 1.0, 21)
    curve = np.array([np.interp(fine, s, column) for column in q.T]).T
    bumps = np.sin(np.pi * np.outer(fine, (1, 2, 3)))
    curve += bumps @ np.random.default_rng(3).normal(0.0, 0.1, (3, problem.model.n))
    lower, upper = problem.model.limits.position.T
    curve = np.clip(curve, lower, upper)
    starts = (problem, replace(problem, guess=(fine, curve)))
    first, second = (predyn.solve(x, verbose=False).objective for x in starts)
    assert second == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seat_height": 0.1}, r"seat_height: expected 0\.\d\d to 0\.\d\d m .* got 0\.1"),
        ({"seat_height": "low"}, "seat_height: expected a number, got 'low'"),
        ({"duration": 0.1}, r"duration: expected 0\.6 to 10 s, got 0\.1"),
        ({"duration": np.nan}, "duration: expected a number, got nan"),
        ({"height": 1.0}, "height"),
    ],
)
def test_impossible_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        human_sit_to_stand(**options)


@pytest.mark.verify
def test_seeded_people_stand_up() -> None:
    rng, failed = np.random.default_rng(7), []
    for k in range(20):
        height = rng.uniform(1.50, 1.95)
        options = {
            "height": height,
            "mass": rng.uniform(17.0, 35.0) * height**2,
            "sex": ("male", "female")[k % 2],
            "age": ("18-25", "55-65", ">65")[k % 3],
            "duration": rng.uniform(1.0, 3.5),
            "load_back": rng.uniform(0.0, 20.0) * (k % 4 == 0),
            "load_hands": rng.uniform(0.0, 15.0) * (k % 4 == 1),
        }
        usual = human_sit_to_stand(**options).phases[0].contacts[0].place[2]
        seat = usual + rng.uniform(-0.07, 0.12)
        found = predyn.solve(human_sit_to_stand(seat_height=seat, **options), verbose=False)
        if not found.success:
            failed.append((options, seat, found.message))
    assert not failed
