"""Inverse kinematics: poses are reached, within limits, near the guess and repeatable."""

import numpy as np
import pinocchio as pin
import pytest

from predyn import models, tasks
from predyn.dynamics import frame_kinematics
from predyn.dynamics.pose_search import (
    PoseResult,
    inverse_kinematics,
    rotation_vector,
    rotation_vector_partial,
)
from predyn.errors import InputError
from predyn.load.urdf import load_urdf
from predyn.model import Model
from predyn.samples import Samples
from predyn.terms import FrameOrientation

POINT = (0.1, 0.2, 0.3)
ARM = models.two_link()
REACH = 0.8
EPS = np.finfo(float).eps


def rotation(vector: np.ndarray) -> np.ndarray:
    """exp of the cross-product matrix of a vector, by Rodrigues."""
    angle = np.linalg.norm(vector)
    x, y, z = vector / angle if angle else vector
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def positions(model: Model, rng: np.random.Generator) -> np.ndarray:
    low, high = model.limits.position.T
    return rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi))


def check(model: Model, frame: str, result: PoseResult, position, orientation, point) -> None:
    """The reported errors are those of the pose, and the pose is within the limits."""
    pose = frame_kinematics(model, frame, result.q, point=point)
    low, high = model.limits.position.T
    assert np.all((result.q >= low) & (result.q <= high))
    distance = 0.0 if position is None else np.linalg.norm(pose.p - position)
    angle = 0.0
    if orientation is not None:
        angle = 2 * np.arcsin(min(1.0, np.linalg.norm(pose.R - orientation) / np.sqrt(8)))
    # a rotation matrix given to rounding is made orthonormal first
    assert result.position_error == pytest.approx(distance, rel=0, abs=1e-14)
    assert result.angle_error == pytest.approx(angle, rel=1e-9, abs=50 * EPS)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("joints", [6, 7, 10])
@pytest.mark.parametrize("what", ["position", "orientation", "pose"])
def test_poses_of_random_trees_are_reached(joints: int, seed: int, what: str) -> None:
    model = models.random_tree(joints, seed, depth_like=1.0)
    frame = model.link_names[-1]
    wanted = frame_kinematics(
        model, frame, positions(model, np.random.default_rng(seed)), point=POINT
    )
    position = None if what == "orientation" else wanted.p
    orientation = None if what == "position" else wanted.R
    result = inverse_kinematics(model, frame, position, orientation, point=POINT, starts=20)
    assert result.converged
    assert max(result.position_error, result.angle_error) <= 1e-8
    check(model, frame, result, position, orientation, POINT)


def test_links_off_the_path_stay_at_the_guess() -> None:
    model = models.random_tree(12, 3, depth_like=0.5)
    guess = positions(model, np.random.default_rng(0))
    frame, on_path, k = "l11", [], 11
    while k >= 0:
        on_path.append(k)
        k = model.parent[k]
    beside = np.setdiff1d(np.arange(12), on_path)
    assert len(beside) > 2
    wanted = frame_kinematics(model, frame, guess + 0.3).p
    result = inverse_kinematics(model, frame, wanted, guess=guess)
    assert result.converged
    np.testing.assert_array_equal(result.q[beside], guess[beside])


def test_poses_of_manutec_are_reached_within_its_limits() -> None:
    model, rng = models.manutec_r3(), np.random.default_rng(1)
    for _ in range(20):
        wanted = frame_kinematics(model, "load", positions(model, rng), point=POINT)
        result = inverse_kinematics(model, "load", wanted.p, point=POINT)
        assert result.converged
        check(model, "load", result, wanted.p, None, POINT)
        result = inverse_kinematics(model, "load", wanted.p, wanted.R, point=POINT)
        assert result.converged
        check(model, "load", result, wanted.p, wanted.R, POINT)


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
def test_planar_arm_reaches_its_disc(angle: float, share: float) -> None:
    """At full stretch the Jacobian is singular; on the x axis it is at the first guess too."""
    position = share * REACH * np.array([np.cos(angle), np.sin(angle), 0.0])
    result = inverse_kinematics(ARM, "tip", position)
    assert result.converged
    cosine = np.clip(2 * share**2 - 1, -1, 1)  # of q2, by the law of cosines for equal links
    # near full stretch the distance changes with the square of q2
    slack = 1e-7 if share < 1.0 else 4 * np.sqrt(2e-8 / REACH)
    assert abs(result.q[1]) == pytest.approx(np.arccos(cosine), rel=0, abs=slack)


@pytest.mark.parametrize(
    ("position", "distance"),
    [((0.9, 0.0, 0.0), 0.1), ((0.0, -1.8, 0.0), 1.0), ((0.3, 0.4, 0.2), 0.2)],
)
def test_a_position_out_of_reach_does_not_converge(
    position: tuple[float, ...], distance: float
) -> None:
    result = inverse_kinematics(ARM, "tip", position)
    assert not result.converged
    # the least distance is flat: it is known to the square of the error in q
    assert result.position_error == pytest.approx(distance, rel=0, abs=1e-8)
    check(ARM, "tip", result, position, None, (0, 0, 0))


def test_roll_pitch_yaw_are_those_of_terms() -> None:
    """Pinocchio's convention too; a list is as good as an array."""
    model, angles = load_urdf(tasks.FOLDER / "arm6.urdf"), [0.3, -0.5, 1.1]
    frame = model.link_names[-1]
    by_angles = inverse_kinematics(model, frame, orientation=angles, starts=20)
    assert by_angles.converged
    R = frame_kinematics(model, frame, by_angles.q).R
    np.testing.assert_allclose(R, pin.rpy.rpyToMatrix(*angles), atol=1e-7)
    term = FrameOrientation(frame, angles).bind(model)
    found = np.zeros((4, 1))
    term.value(Samples({f"frame:{frame}": np.append(R.ravel(), np.zeros(15))[:, None]}), found)
    assert np.abs(found).max() < 1e-7


def test_an_orientation_out_of_reach_does_not_converge() -> None:
    tilt = rotation(np.array([0.3, 0.0, 0.0]))
    result = inverse_kinematics(ARM, "tip", orientation=tilt)
    assert not result.converged
    assert result.angle_error == pytest.approx(0.3, rel=0, abs=1e-8)
    assert result.position_error == 0.0


def test_limits_bind() -> None:
    """The elbow can bend only one way, and no more than a right angle."""
    for low, high, sign in ((0.0, np.pi / 2, 1), (-np.pi / 2, 0.0, -1)):
        model = ARM.with_limits(position=[(-np.pi, np.pi), (low, high)])
        result = inverse_kinematics(model, "tip", (0.0, 0.6, 0.0), guess=(0.0, -2.0 * sign))
        assert result.converged
        assert sign * result.q[1] > 0.5
        near = inverse_kinematics(model, "tip", (0.1, 0.0, 0.0))
        assert not near.converged
        assert near.q[1] == sign * np.pi / 2
        assert near.position_error == pytest.approx(0.4 * np.sqrt(2) - 0.1, rel=0, abs=1e-8)


def test_result_is_near_the_guess() -> None:
    guess = np.array([0.4, -1.1]) + [2 * np.pi, 0.0]
    wanted = frame_kinematics(ARM, "tip", guess + [0.05, -0.02]).p
    result = inverse_kinematics(ARM, "tip", wanted, guess=guess)
    np.testing.assert_allclose(result.q, guess + [0.05, -0.02], rtol=0, atol=1e-6)


def test_rest_weight_keeps_open_directions_near_the_guess() -> None:
    """Eight joints in a plane for two coordinates: most directions are open."""
    model, rng = models.pendulum_chain(8), np.random.default_rng(1)
    frame, held, loose = model.link_names[-1], 0.0, 0.0
    for _ in range(10):
        guess = rng.uniform(-1.0, 1.0, 8)
        wanted = frame_kinematics(model, frame, guess + rng.uniform(-0.7, 0.7, 8)).p
        near = inverse_kinematics(model, frame, wanted, guess=guess)
        any_ = inverse_kinematics(model, frame, wanted, guess=guess, rest_weight=0.0)
        assert near.converged
        assert any_.converged
        held += np.linalg.norm(near.q - guess)
        loose += np.linalg.norm(any_.q - guess)
    assert held < 0.9 * loose


def test_equal_input_gives_equal_output() -> None:
    model = models.random_tree(6, 2, depth_like=1.0)
    wanted = frame_kinematics(model, "l5", positions(model, np.random.default_rng(7)))
    first, again = (inverse_kinematics(model, "l5", wanted.p, wanted.R, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
    assert first[1:] == again[1:]


def test_more_starts_find_poses_that_one_misses() -> None:
    model, rng = models.random_tree(6, 2, depth_like=1.0), np.random.default_rng(0)
    goals = [frame_kinematics(model, "l5", positions(model, rng)) for _ in range(12)]
    one, many = (
        [inverse_kinematics(model, "l5", x.p, x.R, starts=starts).converged for x in goals]
        for starts in (1, 20)
    )
    assert all(many)
    assert not all(one)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-4, 0.5, 2.0, np.pi - 1e-9, np.pi])
def test_rotation_vector_undoes_a_rotation(angle: float) -> None:
    rng = np.random.default_rng(11)
    for axis in (*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))):
        axis = axis / np.linalg.norm(axis)
        found = rotation_vector(rotation(angle * axis))
        if angle == np.pi:  # both signs are right
            found = found * np.sign(found @ axis)
        np.testing.assert_allclose(found, angle * axis, rtol=0, atol=30 * EPS)


@pytest.mark.parametrize("angle", [1e-5, 9e-4, 1.1e-3, 0.4, 2.0, 3.1])
def test_rotation_vector_partial_equals_differences(angle: float) -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    h = 1e-5
    columns = [
        rotation_vector(rotation(h * d) @ rotation(angle * axis))
        - rotation_vector(rotation(-h * d) @ rotation(angle * axis))
        for d in np.eye(3)
    ]
    # the second derivative of `rotation_vector_partial` is of order 1 / (pi - angle) or less
    bound = 100 * h**2 + 30 * EPS / h
    np.testing.assert_allclose(
        rotation_vector_partial(angle * axis), np.transpose(columns) / (2 * h), atol=bound
    )


BAD = {
    "no goal": {"position": None},
    "position shape": {"position": (0.1, 0.2)},
    "position nan": {"position": (0.1, np.nan, 0.0)},
    "position text": {"position": "here"},
    "orientation shape": {"orientation": np.eye(2)},
    "orientation stack": {"orientation": np.eye(3)[None]},
    "orientation scaled": {"orientation": 1.1 * np.eye(3)},
    "orientation mirrored": {"orientation": np.diag([1.0, 1.0, -1.0])},
    "orientation nan": {"orientation": np.full((3, 3), np.nan)},
    "guess shape": {"guess": (0.1, 0.2, 0.3)},
    "guess stack": {"guess": np.zeros((4, 2))},
    "guess nan": {"guess": (0.1, np.nan)},
    "point": {"point": (0.0, 0.0)},
    "tolerance": {"tolerance": 0.0},
    "tolerance text": {"tolerance": "small"},
    "starts": {"starts": 0},
    "seed": {"seed": -1},
    "rest_weight": {"rest_weight": -1.0},
    "frame": {"frame": "tipp"},
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_named(case: str) -> None:
    arguments = {"frame": "tip", "position": (0.3, 0.4, 0.0), **BAD[case]}
    name = {"no": "inverse_kinematics", "frame": "unknown frame"}.get(
        case.split()[0], case.split()[0]
    )
    with pytest.raises(InputError, match=f"^{name}"):
        inverse_kinematics(ARM, **arguments)


def test_an_argument_that_is_not_a_model() -> None:
    with pytest.raises(InputError, match=r"expected a predyn\.Model"):
        inverse_kinematics("arm", "tip", (0, 0, 0))


def test_free_coordinates_stay_near_the_guess() -> None:
    """Only the height of a planar arm is given; then only its two coordinates in the plane."""
    result = inverse_kinematics(ARM, "tip", (None, 0.5, None), guess=(0.4, 0.6))
    assert result.converged
    q1, q2 = result.q
    assert 0.4 * (np.sin(q1) + np.sin(q1 + q2)) == pytest.approx(0.5, abs=1e-8)
    assert np.abs(result.q - (0.4, 0.6)).max() < 0.1  # the guess is 0.007 m too low
    same = inverse_kinematics(ARM, "tip", [0.3, 0.4, None], guess=(0.4, 0.6))
    full = inverse_kinematics(ARM, "tip", (0.3, 0.4, 0.0), guess=(0.4, 0.6))
    assert same.q == pytest.approx(full.q, abs=1e-7)
    with pytest.raises(InputError, match=r"position: leaves all coordinates free"):
        inverse_kinematics(ARM, "tip", (None, None, None))
    with pytest.raises(InputError, match=r"position: expected 3 numbers"):
        inverse_kinematics(ARM, "tip", (None, "x", 0.0))


@pytest.mark.parametrize("seed", range(5))
def test_poses_of_two_frames_are_reached_together(seed: int) -> None:
    """Tool and elbow of a redundant arm, where a posture is known to reach both."""
    model = models.seven_axis_arm()
    random = np.random.default_rng(seed)
    low, high = model.limits.position.T
    wanted = low + (high - low) * random.uniform(0.2, 0.8, model.n)
    tool, elbow = model.link_names[-1], model.link_names[3]
    pose, place = (frame_kinematics(model, x, wanted) for x in (tool, elbow))
    other = {"frame": elbow, "position": place.p}
    result = inverse_kinematics(model, tool, pose.p, pose.R, also=[other], starts=50)
    assert result.converged
    assert result.position_error <= 1e-8 >= result.angle_error
    found = [frame_kinematics(model, x, result.q).p for x in (tool, elbow)]
    np.testing.assert_allclose(found, [pose.p, place.p], atol=1e-8)


def test_errors_of_two_poses_are_the_largest() -> None:
    far = {"frame": "link1", "position": (100.0, 0.0, 0.0)}
    result = inverse_kinematics(ARM, "tip", (0.3, 0.3, 0.0), also=[far])
    assert not result.converged
    assert result.position_error > 90.0


def test_further_poses_are_checked_like_the_first() -> None:
    with pytest.raises(InputError, match="expected a position, an orientation or both"):
        inverse_kinematics(ARM, "tip", (0.3, 0.3, 0.0), also=[{"frame": "link1"}])
