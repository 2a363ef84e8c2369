"""Torques of coupled models from recordings; which joints move markers and carry the base."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import predyn
from coupled_trees import coupled_tree
from predyn.dynamics import frame_kinematics
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.marker_points import Point, find_points, point_tree
from predyn.estimate.matching import match
from predyn.estimate.placing import place_markers
from predyn.estimate.pose_fit import PoseFit
from predyn.estimate.regularisation import LINKS, combination
from predyn.model import Frame, Model
from predyn.model.builder import ModelBuilder
from predyn.model.floating_base import floating_base
from predyn.recordings.measurements import Measurements
from recorded_motions import coverage, rms, sway

ROD: dict = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": (0.001, 0.02, 0.02)}
CURVE = predyn.PiecewisePolynomial.polynomial((0.0, 0.05, 0.04))


def arm() -> Model:
    """Shoulder and wrist; elbow and a slide follow the shoulder."""
    builder = ModelBuilder("geared")
    builder.add_link("upper", joint="shoulder", axis=(0, 1, 0), **ROD)
    builder.add_link("fore", "upper", "elbow", axis=(0, 1, 0), origin=(0.4, 0, 0), **ROD)
    builder.add_link("slide", "fore", "slider", "prismatic", axis=(1, 0, 0), origin=(0.4, 0, 0),
                     mass=0.3, inertia=(0.001, 0.001, 0.001))  # fmt: skip
    builder.add_link("hand", "slide", "wrist", axis=(0, 1, 0), origin=(0.1, 0, 0), **ROD)
    builder.couple("elbow", "shoulder", (-1.5, 0.2)).couple("slider", "shoulder", CURVE)
    for name, link, x in (("m1", "fore", 0.2), ("m2", "slide", 0.1), ("m3", "hand", 0.3)):
        builder.add_frame(name, link, (x, 0.0, 0.05))
    return builder.build()


@pytest.mark.parametrize("by", ["angles", "markers"])
def test_known_torques_are_recovered(by: str, tmp_path) -> None:
    model, motion = arm(), sway(2, 1)
    t, rng = np.linspace(0.0, 2.0, 161), np.random.default_rng(3)
    q = motion.at(t)[0]
    seen: dict = {}
    if by == "angles":
        noisy = q + rng.normal(0.0, 1e-3, q.shape)
        seen["angles"] = dict(zip(model.joint_names, noisy.T, strict=True))
    else:
        places = {f.name: frame_kinematics(model, f.name, q).p for f in model.frames}
        seen["markers"] = {k: p + rng.normal(0.0, 1e-3, p.shape) for k, p in places.items()}
    estimate = estimate_torques(model, Measurements(t, **seen))
    assert estimate.success
    truth = motion.torques(model, 0.5 * (estimate.t[1:] + estimate.t[:-1]))
    assert rms(estimate.tau - truth) < 0.05 * rms(truth)
    assert coverage(estimate, truth) >= 0.88
    estimate.save(tmp_path / "a.h5")
    again = predyn.load_estimate(tmp_path / "a.h5")
    assert [x.joint for x in again.model.couplings] == ["elbow", "slider"]
    estimate.report(tmp_path / "a.html")


def test_points_and_their_slopes_are_those_of_frames() -> None:
    model = coupled_tree(1)
    links, rng = len(model.parent), np.random.default_rng(0)
    points = [Point(k, rng.standard_normal(3)) for k in range(links)]
    q, factor = rng.uniform(-1.0, 1.0, (5, model.n)), rng.uniform(0.5, 2.0, model.n)
    places, slopes = find_points(model, point_tree(model, points, factor), q)
    for k, (link, p) in enumerate(points):
        name = model.link_names[link]
        np.testing.assert_allclose(
            places[:, k], frame_kinematics(model, name, q, point=p).p, atol=1e-12
        )
        jacobian = predyn.dynamics.frame_kinematics_derivatives(model, name, q, point=p).jacobian
        np.testing.assert_allclose(slopes[:, k], factor * jacobian[:, 3:], atol=1e-12)
    fit = PoseFit(model, points, np.full((1, links, 3), np.nan), {})
    moved = np.abs(slopes).max(axis=(0, 2)) > 1e-12
    assert fit.reach.shape == (links, model.n)
    assert not (moved & ~fit.reach).any()


def test_torques_on_links_skip_joints_that_follow() -> None:
    """The wrist's parent moves by a joint that follows: it has no torque of its own."""
    np.testing.assert_array_equal(combination(arm(), np.ones(2, bool), LINKS), np.eye(2))
    chain = ModelBuilder("chain").add_link("a", axis=(0, 1, 0), **ROD)
    chain.add_link("b", "a", axis=(0, 1, 0), **ROD).add_link("c", "b", axis=(0, 1, 0), **ROD)
    model = chain.couple("c_joint", "a_joint", (1.0, 0.0)).build()
    np.testing.assert_array_equal(combination(model, np.ones(2, bool), LINKS), [[1, -1], [0, 1]])


def test_a_coordinate_of_its_own_does_not_hide_the_floating_base() -> None:
    builder = ModelBuilder("body")
    builder.add_coordinate("knee_angle")
    up = "world"
    for name, kind, axis in (("tx", "prismatic", (1, 0, 0)), ("ty", "prismatic", (0, 1, 0))):
        builder.add_link(name, up, name, kind, axis)
        up = name
    builder.add_link("trunk", "ty", "rz", **ROD)
    builder.add_link("shank", "trunk", "knee", origin=(0.4, 0, 0), **ROD)
    model = builder.couple("knee", "knee_angle", (2.0, 0.1)).build()
    assert model.joint_names == ("knee_angle", "tx", "ty", "rz")
    found = floating_base(model)
    assert found is not None
    assert found.tolist() == [1, 2, 3]


def test_markers_are_placed_on_a_coupled_model() -> None:
    model = arm()
    bare = replace(model, frames=tuple(f for f in model.frames if f.name == "m3"))
    pose = {"shoulder": 0.3, "wrist": -0.2}
    q = np.array([0.3, -0.2])
    where = {f.name: frame_kinematics(model, f.name, q).p for f in model.frames}
    static = Measurements(
        np.array([0.0, 0.01]), markers={k: np.tile(p, (2, 1)) for k, p in where.items()}
    )
    placed = place_markers(bare, static, {"m1": "fore", "m2": "slide"}, pose=pose)
    frames: dict[str, Frame] = {f.name: f for f in placed.model.frames}
    for name in ("m1", "m2"):
        (wanted,) = (f for f in model.frames if f.name == name)
        np.testing.assert_allclose(frames[name].p, wanted.p, atol=1e-9)


def test_recorded_followers_are_named_as_such() -> None:
    model, t = arm(), np.linspace(0.0, 1.0, 20)
    data = Measurements(t, {name: 0.1 * np.sin(t) for name in ("shoulder", "wrist", "elbow")})
    found = match(model, data).warnings
    assert "joints without a coordinate of their own, skipped: elbow (follows shoulder)" in found
    assert not any("not in model" in text for text in found)
