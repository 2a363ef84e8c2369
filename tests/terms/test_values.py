"""Values of terms in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from predyn.model.parts import turn
from predyn.models import manutec_r3, prismatic_revolute, random_tree, two_link
from predyn.samples import Samples
from predyn.terms import (
    Continuity,
    Effort,
    FrameAxis,
    FrameOrientation,
    FramePose,
    FramePosition,
    FrameStep,
    FrameVelocity,
    JointPosition,
    JointReaction,
    JointTorque,
    MechanicalEnergy,
    Periodic,
    Smoothness,
    Symmetric,
    Term,
    TorqueSpeed,
    TotalTime,
    TrackJoints,
)

TREE, TWO = random_tree(5, 3), two_link()
RNG = np.random.default_rng(2)
EPS = np.finfo(float).eps


def value(
    term: Term, model: object = TREE, instants: int = 1, **channels: np.ndarray
) -> np.ndarray:
    residual = term.bind(model)  # type: ignore[arg-type]
    out = np.full((len(residual.rows), instants), np.nan)
    named = {name.replace("__", ".").replace("_", ":"): x for name, x in channels.items()}
    residual.value(Samples(named), out)
    return out


def frame(R: np.ndarray | None = None, **parts: np.ndarray) -> np.ndarray:
    """A frame's channel (24, 1)."""
    zero = np.zeros(3)
    rest = [parts.get(part, zero) for part in ("p", "w", "v", "alpha", "a")]
    return np.concatenate(((np.eye(3) if R is None else R).ravel(), *rest))[:, None]


def test_joint_rows() -> None:
    model = prismatic_revolute()
    residual = JointPosition(target=(0.5, 2.0)).bind(model)
    assert residual.rows == model.joint_names
    assert residual.units == ("m", "rad")
    assert JointTorque().bind(model).units == ("N", "N m")
    assert value(JointPosition(target=(0.5, 2.0)), model, q=np.ones((2, 1)))[:, 0].tolist() == [
        0.5,
        -1.0,
    ]


def test_scale_comes_from_limits() -> None:
    assert JointTorque().bind(TWO).scale.tolist() == [10.0, 10.0]
    free = TWO.with_limits(position=np.inf, effort=(np.inf, 3.0))
    assert JointPosition().bind(free).scale.tolist() == [np.pi, np.pi]
    assert JointTorque().bind(free).scale.tolist() == [1.0, 3.0]


def test_torque_speed() -> None:
    """At half the speed half the torque is left; against the motion, more than all of it."""
    term = TorqueSpeed(speed=4.0)
    got = value(term, TWO, tau=np.array([[5.0], [-10.0]]), v=np.array([[2.0], [4.0]]))
    assert got[:, 0].tolist() == [1.0, 0.0]
    residual = term.bind(TWO)
    assert residual.lower.tolist() == [-1.0, -1.0]
    assert residual.upper.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("form", ["square", "abs"])
def test_effort(form: str) -> None:
    """The cost is weight times the loss of tau over its limit, in either form."""
    term = Effort(normalised=True, weights=(1.0, 4.0, 9.0), form=form, width=1e-12)  # type: ignore[arg-type]
    model = manutec_r3()
    tau = np.array([[945.0], [-945.0], [270.0]])
    r = value(term, model, tau=tau)
    cost = (r * r if term.loss == "square" else np.sqrt(r * r + term.width**2)).sum()
    assert term.loss == form
    expected = 1.0 + 4.0 / 4.0 + 9.0 / 4.0 if form == "square" else 1.0 + 4.0 / 2.0 + 9.0 / 2.0
    assert abs(cost - expected) <= 1e-11


def test_time() -> None:
    assert value(TotalTime(), instants=3).tolist() == [[1.0, 1.0, 1.0]]
    assert TotalTime().loss == "linear"
    assert TotalTime().bind(TWO).channels == ()


def test_energy() -> None:
    tau, v = np.array([[2.0], [-3.0]]), np.array([[4.0], [5.0]])
    power = value(MechanicalEnergy(), TWO, tau=tau, v=v)
    assert power[:, 0].tolist() == [8.0, -15.0]
    assert MechanicalEnergy().loss == "abs"
    assert MechanicalEnergy(form="net").loss == MechanicalEnergy(form="positive").loss == "linear"
    got = value(MechanicalEnergy(form="positive", width=1e-9), TWO, tau=tau, v=v)[:, 0]
    assert np.abs(got - [8.0, 0.0]).max() <= 1e-9
    rest = value(MechanicalEnergy(form="positive", width=0.5), TWO, tau=tau, v=0.0 * v)
    assert not np.any(rest)


def test_frame_position_and_velocity() -> None:
    p, v, w = RNG.standard_normal((3, 3))
    channel = frame(p=p, v=v, w=w)
    got = value(FramePosition("l2", (0.5, None, 1.5)), frame_l2=channel)[:, 0]
    assert got.tolist() == [p[0] - 0.5, p[2] - 1.5]
    got = value(FrameVelocity("l2", (None, None, 1.0), (0.0, 2.0, None)), frame_l2=channel)[:, 0]
    assert got.tolist() == [v[2] - 1.0, w[0], w[1] - 2.0]
    residual = FrameVelocity("l2", (None, None, 1.0), (0.0, 2.0, None)).bind(TREE)
    assert residual.rows == ("l2 vz", "l2 wx", "l2 wy")
    assert residual.units == ("m/s", "rad/s", "rad/s")


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, 3.1])
def test_orientation(angle: float) -> None:
    """sin(angle) axis and 1 - cos(angle) of the rotation from the target."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    rpy = (0.4, -0.5, 1.2)
    target = turn((0, 0, 1), rpy[2]) @ turn((0, 1, 0), rpy[1]) @ turn((1, 0, 0), rpy[0])
    channel = frame(target @ turn(axis, angle), p=np.ones(3))
    expected = np.append(np.sin(angle) * axis, 1.0 - np.cos(angle))
    for goal in (rpy, target):
        got = value(FrameOrientation("l1", goal), frame_l1=channel)[:, 0]
        assert np.abs(got - expected).max() <= 20 * EPS
        assert abs(got @ got - (2.0 - 2.0 * np.cos(angle))) <= 40 * EPS
        only = value(FrameOrientation("l1", goal, "angle"), frame_l1=channel)
        assert np.abs(only[0, 0] - expected[3]) <= 20 * EPS
        both = value(FramePose("l1", (1.0, None, 3.0), goal), frame_l1=channel)[:, 0]
        assert np.abs(both - [0.0, -2.0, *expected]).max() <= 20 * EPS


def test_orientation_bounds() -> None:
    """A half turn has no sine either: the cosine row distinguishes it from the target."""
    residual = FrameOrientation("l1").bind(TREE)
    half = value(FrameOrientation("l1"), frame_l1=frame(np.diag([1.0, -1.0, -1.0])))[:, 0]
    assert half[:3].tolist() == [0.0, 0.0, 0.0]
    assert half[3] > residual.upper[3] == 1.0
    tolerance = FrameOrientation("l1", form="angle", tolerance=1e-6).bind(TREE)
    assert abs(tolerance.upper[0] - 0.5e-12) <= 1e-24
    assert FramePose("l1").bind(TREE).upper.tolist() == [0.0] * 6 + [1.0]
    assert FrameOrientation("l1", form="angle").bind(TREE).upper is None


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_axis(axis: str) -> None:
    R = turn(np.array([2.0, 1.0, -2.0]) / 3.0, 0.7)
    direction = np.array([1.0, 2.0, 3.0])
    cosine = R[:, "xyz".index(axis)] @ direction / np.linalg.norm(direction)
    got = value(FrameAxis("l1", axis, direction), frame_l1=frame(R))[:, 0]  # type: ignore[arg-type]
    assert abs(got[2] - (1.0 - cosine)) <= 10 * EPS
    assert abs(got[:2] @ got[:2] - (1.0 - cosine**2)) <= 10 * EPS


def test_tracking() -> None:
    times = np.linspace(0.0, 2.0, 5)
    term = TrackJoints(times, np.stack((times**3, -times), axis=1), ("j4", "j1"))
    q = RNG.standard_normal((5, 1))
    got = value(term, q=q, t=np.array([[0.7]]))[:, 0]
    assert np.abs(got - [q[4, 0] - 0.343, q[1, 0] + 0.7]).max() <= 100 * EPS


def test_reaction() -> None:
    wrenches = RNG.standard_normal((5, 6))
    flat = wrenches.reshape(30, 1)
    assert value(JointReaction("j3", "wrench"), reactions=flat)[:, 0].tolist() == list(wrenches[3])
    assert value(JointReaction("j3", "fz"), reactions=flat)[0, 0] == wrenches[3, 5]
    got = value(JointReaction("j3", form="magnitude", width=0.25), reactions=flat)[0, 0]
    assert abs(got - np.hypot(np.linalg.norm(wrenches[3, 3:]), 0.25)) <= 4 * EPS
    assert JointReaction("j3", "wrench").bind(TREE).units == ("N m",) * 3 + ("N",) * 3


def test_smoothness() -> None:
    got = value(Smoothness("acceleration", ("j2",), per=4.0), a=np.full((5, 1), 2.0))
    assert got.tolist() == [[0.5]]


def test_periodic() -> None:
    first, second = RNG.standard_normal((2, 5, 1))
    got = value(
        Periodic(("v", "q"), ("j3", "j0"), offset=(0.5, 0.25)),
        first__q=first, second__q=second, first__v=2 * first, second__v=2 * second,
    )[:, 0]  # fmt: skip
    gain = (second - first)[[3, 0], 0]
    assert np.abs(got - np.concatenate((2 * gain, gain - [0.5, 0.25]))).max() <= 4 * EPS


def test_a_mirrored_step_is_symmetric() -> None:
    term = Symmetric({"j1": "j3"}, {"j3": -1, "j0": -1}, ("q",))
    first = RNG.standard_normal((5, 1))
    second = np.array([-1, -1, 1, -1, 1])[:, None] * first[[0, 3, 2, 1, 4]]
    assert not np.any(value(term, first__q=first, second__q=second))
    assert np.all(np.delete(value(term, first__q=first, second__q=first), (2, 4)) != 0.0)


def test_continuity() -> None:
    channels = {f"{side}__{c}": RNG.standard_normal((5, 1)) for side in ("first", "second")
                for c in ("q", "v", "a")}  # fmt: skip
    expected = [channels[f"second__{c}"] - channels[f"first__{c}"] for c in ("q", "v", "a")]
    assert np.array_equal(value(Continuity(2), **channels), np.concatenate(expected))


def test_frame_step() -> None:
    here, there = RNG.standard_normal((2, 3))
    channels = {"first__frame_l4": frame(p=here), "second__frame_l4": frame(p=there)}
    assert abs(value(FrameStep("l4", "y", 0.5), **channels)[0, 0] - (there - here)[1] + 0.5) <= EPS
    got = value(FrameStep("l4", (3.0, 0.0, 4.0)), **channels)[0, 0]
    assert abs(got - (there - here) @ [0.6, 0.0, 0.8]) <= 4 * EPS
