"""Poses follow measurements: on the right branch, over several turns, through gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics import frame_kinematics
from predyn.estimate.tracking import track_poses
from predyn.model import PRISMATIC, REVOLUTE, Frame, Model
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree

NOISE = 1e-3


def marked_tree(n: int, seed: int, each: int = 1) -> Model:
    """A random tree with a number of markers on each link, about 1.6 m from its origin."""
    rng = np.random.default_rng([seed, 2])
    frames = tuple(
        Frame(f"m{j}_{k}", j, np.eye(3), rng.standard_normal(3))
        for j in range(n)
        for k in range(each)
    )
    return replace(random_tree(n, seed), frames=frames)


def motion(model: Model, samples: int, seed: int, turns: float = 2.0) -> tuple:
    """Times (s) and a motion whose joints sway and turn by up to so many turns."""
    rng = np.random.default_rng([seed, 3])
    t = np.linspace(0.0, 1.0, samples)[:, None]
    n = model.n
    sway = 0.5 * np.sin(2 * np.pi * rng.uniform(0.5, 2.0, n) * t + rng.uniform(0.0, 6.0, n))
    turn = np.where(model.kind == PRISMATIC, 0.0, 2 * np.pi * turns * rng.uniform(-1.0, 1.0, n))
    return t[:, 0], rng.uniform(-1.0, 1.0, n) + sway + turn * t


def seen(model: Model, q: np.ndarray, noise: float, missing: float, seed: int) -> list:
    rng = np.random.default_rng([seed, 4])
    markers = []
    for frame in model.frames:
        places = frame_kinematics(model, frame.name, q).p
        places = places + noise * rng.standard_normal(places.shape)
        places[rng.random(len(q)) < missing] = np.nan
        markers.append((frame.name, places))
    return markers


def whole_turns(model: Model, error: np.ndarray) -> np.ndarray:
    """The error without the full turns that markers cannot tell, the same at all samples."""
    turns = np.round(np.median(error, axis=0) / (2 * np.pi))
    return error - np.where(model.kind == REVOLUTE, 2 * np.pi * turns, 0.0)


def residuals(model: Model, q: np.ndarray, markers: list) -> np.ndarray:
    found = [frame_kinematics(model, name, q).p - places for name, places in markers]
    return np.array(found)


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (5, 2), (5, 3), (10, 4), (20, 5)])
def test_markers_alone_recover_motions_over_several_turns(n: int, seed: int) -> None:
    model = marked_tree(n, seed)
    t, q = motion(model, 300, seed)
    found = track_poses(model, t, {}, seen(model, q, 0.0, 0.0, seed)).q
    # a descent ends when a step gains less than 1e-12 in squared residuals, and takes that step:
    # it moves points by 1e-6 at most and leaves a second-order error, here over levers of 0.01
    assert abs(whole_turns(model, found - q)).max() < 1e-6


@pytest.mark.parametrize(("n", "seed"), [(2, 6), (6, 7), (20, 8)])
def test_gaps_and_noise_leave_the_motion_on_its_branch(n: int, seed: int) -> None:
    model = marked_tree(n, seed)
    t, q = motion(model, 400, seed)
    markers = seen(model, q, NOISE, 0.1, seed)
    found = track_poses(model, t, {}, markers).q
    error = abs(whole_turns(model, found - q))
    assert np.median(error) < 2 * NOISE
    assert error.max() < 0.5  # rad: no other branch, no other turn
    assert np.nanmax(abs(residuals(model, found, markers))) < 6 * NOISE


def test_angles_and_markers_together_determine_the_turns() -> None:
    seed = 9
    model = marked_tree(8, seed)
    t, q = motion(model, 300, seed, turns=4.0)
    rng = np.random.default_rng(seed)
    angles = {}
    for j in (0, 3, 5):
        angles[j] = q[:, j] + NOISE * rng.standard_normal(len(t))
        angles[j][rng.random(len(t)) < 0.1] = np.nan
    found = track_poses(model, t, angles, seen(model, q, NOISE, 0.1, seed)).q
    for j in angles:
        assert abs(found[:, j] - q[:, j]).max() < 0.1
    assert np.median(abs(whole_turns(model, found - q))) < 2 * NOISE


def test_angles_alone_are_joined_across_gaps_and_the_rest_keeps_the_guess() -> None:
    model = random_tree(3, 0)
    t = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    values = np.array([np.nan, 1.0, np.nan, 4.0, np.nan])
    found = track_poses(
        model, t, {1: values, 2: np.full(5, np.nan)}, [], np.array([0.1, 0.2, 0.3])
    ).q
    np.testing.assert_allclose(found[:, 1], [1.0, 1.0, 2.0, 4.0, 4.0], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(found[:, [0, 2]], np.tile([0.1, 0.3], (5, 1)))


def test_samples_without_measurements_lie_between_their_neighbours() -> None:
    model = marked_tree(3, 1)
    t, q = motion(model, 60, 1, turns=0.5)
    markers = seen(model, q, 0.0, 0.0, 1)
    for _, places in markers:
        places[:3] = places[20:30] = np.nan
    found = track_poses(model, t, {}, markers).q
    np.testing.assert_allclose(found[:3], np.tile(found[3], (3, 1)), rtol=0, atol=1e-12)
    between = (t[20:30] - t[19])[:, None] / (t[30] - t[19])
    expected = found[19] + between * (found[30] - found[19])
    np.testing.assert_allclose(found[20:30], expected, rtol=0, atol=1e-12)


def test_unmeasured_joints_keep_the_guess() -> None:
    model = marked_tree(6, 2)
    t, q = motion(model, 50, 2)
    last = [j for j in range(model.n) if j not in model.parent]
    markers = [pair for pair, frame in zip(seen(model, q, 0.0, 0.0, 2), model.frames, strict=True)
               if frame.link not in last]  # fmt: skip
    guess = np.linspace(-0.5, 0.5, model.n)
    found = track_poses(model, t, {}, markers, guess).q
    np.testing.assert_allclose(found[:, last], np.tile(guess[last], (50, 1)), rtol=0, atol=1e-12)
    assert np.nanmax(abs(residuals(model, found, markers))) < 1e-6


def planar_arm(limits: tuple[float, float] | None = None) -> Model:
    builder = ModelBuilder("arm")
    thin = np.diag([0.01, 0.01, 0.01])
    z = (0.0, 0.0, 1.0)
    builder.add_link("upper", "world", "shoulder", "revolute", axis=z, mass=1.0, inertia=thin)
    builder.add_link("fore", "upper", "elbow", "revolute", axis=z, origin=(1.0, 0.0, 0.0), mass=1.0,
                     inertia=thin, position=limits)  # fmt: skip
    builder.add_frame("at_elbow", "upper", point=(1.0, 0.0, 0.0))
    builder.add_frame("hand", "fore", point=(1.0, 0.0, 0.0))
    return builder.build()


def reaching() -> tuple[np.ndarray, np.ndarray]:
    t = np.linspace(0.0, 1.0, 200)
    return t, np.stack((0.5 + 0.8 * np.sin(6 * t), -1.0 - 0.5 * np.cos(9 * t)), axis=1)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_guess_decides_between_two_branches(side: float) -> None:
    model = planar_arm()
    t, q = reaching()
    hand = frame_kinematics(model, "hand", q).p
    found = track_poses(model, t, {}, [("hand", hand)], np.array([0.0, side])).q
    np.testing.assert_allclose(found[:, 1], -side * q[:, 1], rtol=0, atol=1e-6)


def test_the_branch_within_the_limits_is_chosen() -> None:
    model = planar_arm((0.0, 2.5))
    t, q = reaching()
    found = track_poses(model, t, {}, [("hand", frame_kinematics(model, "hand", q).p)]).q
    np.testing.assert_allclose(found[:, 1], -q[:, 1], rtol=0, atol=1e-6)


def test_later_samples_decide_between_branches_too() -> None:
    model = planar_arm()
    t, q = reaching()
    hand = frame_kinematics(model, "hand", q).p
    elbow = frame_kinematics(model, "at_elbow", q).p
    hand[120:125] = np.nan
    elbow[:120] = elbow[125:] = np.nan
    found = track_poses(model, t, {}, [("hand", hand), ("at_elbow", elbow)], np.array([0.0, 1.0])).q
    np.testing.assert_allclose(found[:120], q[:120], rtol=0, atol=1e-6)


def test_two_of_three_components_are_enough_for_a_planar_arm() -> None:
    model = planar_arm()
    t, q = reaching()
    q = q + 12.0 * t[:, None]  # two turns of the shoulder, and two of the elbow
    markers = []
    for name in ("at_elbow", "hand"):
        places = frame_kinematics(model, name, q).p
        places[:, 2] = np.nan
        markers.append((name, places))
    found = track_poses(model, t, {}, markers).q
    assert abs(whole_turns(model, found - q)).max() < 1e-6


@pytest.mark.parametrize("seed", [0, 5, 13])  # the last two only by a search anew
def test_a_motion_is_resumed_after_a_long_gap(seed: int) -> None:
    model = marked_tree(10, seed)
    t, q = motion(model, 400, seed, turns=3.0)
    markers = seen(model, q, NOISE, 0.0, seed)
    for _, places in markers:
        places[200:230] = np.nan  # up to a quarter of a turn in each of ten joints
    found = track_poses(model, t, {}, markers).q
    assert np.nanmax(abs(residuals(model, found, markers))) < 6 * NOISE


def arm() -> Model:
    """Two hinges in a plane, a marker at the elbow and one at the hand."""
    builder = ModelBuilder("arm", (0.0, -9.81, 0.0))
    builder.add_link("upper", "world", "shoulder", mass=1.0, com=(0.0, -0.2, 0.0))
    builder.add_link("lower", "upper", "elbow", origin=(0.0, -0.4, 0.0), mass=1.0,
                     com=(0.0, -0.2, 0.0))  # fmt: skip
    builder.add_frame("elbow_point", "upper", (0.0, -0.4, 0.0))
    return builder.add_frame("hand", "lower", (0.0, -0.3, 0.0)).build()


def test_markers_that_allow_two_motions_give_a_warning() -> None:
    """The hand alone does not determine the side to which the elbow bends."""
    model = arm()
    t = np.linspace(0.0, 1.0, 60)
    q = np.stack((0.4 * np.sin(3.0 * t), 0.9 + 0.3 * np.sin(4.0 * t)), axis=1)
    both = seen(model, q, NOISE, 0.0, 0)
    (hand,) = [marker for marker in both if marker[0] == "hand"]
    (text,) = track_poses(model, t, {}, [hand]).warnings
    assert text.startswith("the markers allow 2 motions or more")
    assert "give a guess" in text
    tracked = track_poses(model, t, {}, [hand], np.array([0.0, 1.0]))
    assert tracked.warnings == []
    assert abs(tracked.q - q).max() < 0.03  # 10 deviations of 1 mm over 0.3 m
    assert track_poses(model, t, {}, both).warnings == []
    assert track_poses(model, t, {0: q[:, 0], 1: q[:, 1]}, []).warnings == []


@pytest.mark.parametrize("seed", range(6))
def test_enough_markers_allow_one_motion(seed: int) -> None:
    model = marked_tree(4, seed, each=3)
    t, q = motion(model, 60, seed)
    assert track_poses(model, t, {}, seen(model, q, NOISE, 0.1, seed)).warnings == []


def test_a_pose_with_two_possible_motions_gives_a_warning() -> None:
    """Only a hand marker: one that passes through the stretched arm, and one that does not."""
    model = arm()
    t = np.linspace(0.0, 1.0, 60)
    for middle, mirrored in ((0.0, True), (1.0, False)):
        q = np.stack((0.4 * np.sin(3.0 * t), middle + 0.6 * np.sin(4.0 * t)), axis=1)
        hand = [x for x in seen(model, q, 1e-5, 0.0, 0) if x[0] == "hand"]
        tracked = track_poses(model, t, {}, hand, np.array([0.0, 0.1 + middle])).warnings
        assert [("mirror image" in text) for text in tracked] == [True] * mirrored
