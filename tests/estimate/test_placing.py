"""Fitting a model to a static pose recovers known lengths and marker positions."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics import frame_kinematics
from predyn.errors import DataWarning, InputError
from predyn.estimate.placing import place_markers
from predyn.model import Model, Shape
from predyn.model.builder import ModelBuilder
from predyn.recordings.measurements import Measurements

Z = (0.0, 0.0, 1.0)
LENGTHS = {"thigh": ("HIP", "KNEE"), "shank": ("KNEE", "ANKLE"), "foot": ("ANKLE", "TOE", "toe")}
TRUE_SCALES = {"thigh": 1.12, "shank": 0.93, "foot": 1.2}
TRUE_POSE = {"hip": 0.2, "knee": -0.4, "ankle": 0.15}
OFFSETS = {  # marker: link, place in the scaled link's axes
    "THI": ("thigh", (0.05, -0.21, 0.06)),
    "TIB": ("shank", (0.03, -0.2, 0.05)),
    "TIB2": ("shank", (-0.04, -0.1, 0.03)),
    "HEE": ("foot", (-0.06, -0.03, 0.01)),
}
SITES = {name: link for name, (link, _) in OFFSETS.items()}


def leg(scales: dict[str, float] | None = None) -> Model:
    """A planar leg in x-y, rebuilt with other segment lengths."""
    s = scales or {"thigh": 1.0, "shank": 1.0, "foot": 1.0}

    def link(name: str, mass: float, com: tuple, inertia: tuple) -> dict:
        f = s[name]
        return {"mass": mass, "com": f * np.array(com), "inertia": f**2 * np.diag(inertia)}

    builder = ModelBuilder("leg", gravity=(0.0, -9.81, 0.0))
    builder.add_link("thigh", "world", "hip", "revolute", axis=Z, origin=(0.1, 0.9, 0.2),
                     **link("thigh", 8.0, (0.0, -0.19, 0.01), (0.12, 0.03, 0.12)))  # fmt: skip
    builder.add_link("shank", "thigh", "knee", "revolute", axis=Z,
                     origin=s["thigh"] * np.array([0.01, -0.43, 0.0]),
                     **link("shank", 3.2, (0.0, -0.18, 0.0), (0.05, 0.01, 0.05)))  # fmt: skip
    builder.add_link("foot", "shank", "ankle", "revolute", axis=Z,
                     origin=s["shank"] * np.array([0.0, -0.41, 0.0]),
                     **link("foot", 1.0, (0.05, -0.03, 0.0), (0.003, 0.004, 0.004)))  # fmt: skip
    builder.add_frame("toe", "foot", point=s["foot"] * np.array([0.17, -0.05, 0.0]))
    builder.add_frame("heel", "foot", point=s["foot"] * np.array([-0.05, -0.05, 0.0]))
    return builder.build()


def standing(
    model: Model,
    q: np.ndarray,
    points: dict[str, tuple[str, object]],
    noise: float = 0.0,
    samples: int = 50,
) -> Measurements:
    """Points (frame or link, place in it) recorded at rest."""
    rng = np.random.default_rng(0)
    markers = {}
    for name, (frame, point) in points.items():
        place = frame_kinematics(model, frame, q, point=point).p
        markers[name] = place + noise * rng.standard_normal((samples, 3))
    return Measurements(t=0.01 * np.arange(samples), markers=markers)


def leg_recording(noise: float = 0.0, samples: int = 50) -> Measurements:
    model = leg(TRUE_SCALES)
    centres = {
        "HIP": ("thigh", (0, 0, 0)),
        "KNEE": ("shank", (0, 0, 0)),
        "ANKLE": ("foot", (0, 0, 0)),
        "TOE": ("toe", (0, 0, 0)),
    }
    return standing(model, np.array(list(TRUE_POSE.values())), centres | OFFSETS, noise, samples)


def assert_same_leg(found: Model, tolerance: float) -> None:
    true = leg(TRUE_SCALES)
    np.testing.assert_allclose(found.p, true.p, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.inertia, true.inertia, rtol=10 * tolerance, atol=tolerance)
    for frame in true.frames:
        np.testing.assert_allclose(found.frame(frame.name).p, frame.p, rtol=0, atol=tolerance)


def test_one_frame_is_enough() -> None:
    placed = place_markers(leg(), leg_recording(samples=1), SITES, lengths=LENGTHS)
    assert placed.scales == pytest.approx(TRUE_SCALES, rel=1e-12)
    assert placed.pose == pytest.approx(TRUE_POSE, abs=1e-9)


@pytest.mark.parametrize("pose", [None, {"knee": -0.4}, TRUE_POSE])
def test_lengths_pose_and_marker_positions_are_recovered(pose: dict | None) -> None:
    placed = place_markers(leg(), leg_recording(), SITES, pose=pose, lengths=LENGTHS)
    assert placed.scales == pytest.approx(TRUE_SCALES, rel=1e-12)
    assert placed.pose == pytest.approx(TRUE_POSE, abs=1e-9)
    assert max(placed.residuals.values()) < 1e-9
    assert set(placed.residuals) == {"HIP", "KNEE", "ANKLE", "TOE"}
    assert placed.warnings == ()
    assert_same_leg(placed.model, 1e-12)
    for name, (link, point) in OFFSETS.items():
        frame = placed.model.frame(name)
        assert placed.model.link_names[frame.link] == link
        np.testing.assert_allclose(frame.p, point, rtol=0, atol=1e-9)


def test_noise_and_gaps_average_out() -> None:
    samples, noise = 400, 2e-3
    static = leg_recording(noise, samples)
    rng = np.random.default_rng(1)
    gappy = {name: np.where(rng.random((samples, 1)) < 0.1, np.nan, values)
             for name, values in static.markers.items()}  # fmt: skip
    placed = place_markers(leg(), replace(static, markers=gappy), SITES, lengths=LENGTHS)
    sd = 1.2533 * noise / np.sqrt(0.9 * samples)  # of a median, m
    # a scale has the error of two medians over the shortest length, 0.18 m; five deviations
    assert placed.scales == pytest.approx(TRUE_SCALES, abs=5 * np.sqrt(2) * sd / 0.17)
    assert placed.pose == pytest.approx(TRUE_POSE, abs=5 * np.sqrt(2) * sd / 0.17)
    for name, (_, point) in OFFSETS.items():
        assert abs(placed.model.frame(name).p - point).max() < 10 * sd
    assert 0.0 < max(placed.residuals.values()) < 10 * sd


def test_planar_data_place_markers_in_the_plane_of_their_link() -> None:
    static = leg_recording()
    flat = {name: values * [1.0, 1.0, np.nan] for name, values in static.markers.items()}
    placed = place_markers(leg(), replace(static, markers=flat), SITES, lengths=LENGTHS)
    assert placed.scales == pytest.approx(TRUE_SCALES, rel=1e-12)
    assert placed.pose == pytest.approx(TRUE_POSE, abs=1e-9)
    for name, (_, point) in OFFSETS.items():
        expected = (*point[:2], 0.0)
        np.testing.assert_allclose(placed.model.frame(name).p, expected, rtol=0, atol=1e-9)


def arm() -> Model:
    """A spatial arm on a moving base, with landmarks."""
    builder = ModelBuilder("arm")
    axes = np.eye(3)
    up = "world"
    for k, name in enumerate(("x", "y", "z")):
        builder.add_link(f"slide_{name}", up, f"base_{name}", "prismatic", axis=axes[k])
        up = f"slide_{name}"
    body = {"mass": 2.0, "com": (0.0, 0.0, -0.1), "inertia": np.diag([0.02, 0.02, 0.01])}
    for k, name in enumerate(("roll", "pitch", "yaw")):
        link = "trunk" if k == 2 else f"turn_{name}"
        builder.add_link(link, up, f"base_{name}", "revolute", axis=axes[k],
                         **(body if k == 2 else {}))  # fmt: skip
        up = link
    for k, name in enumerate(("flexion", "abduction", "rotation")):
        link = "upper" if k == 2 else f"shoulder_{name}_link"
        builder.add_link(link, up, f"shoulder_{name}", "revolute", axis=axes[(k + 1) % 3],
                         origin=(0.0, 0.2, 0.3) if k == 0 else (0.0, 0.0, 0.0),
                         **(body if k == 2 else {}))  # fmt: skip
        up = link
    builder.add_link("fore", "upper", "elbow", "revolute", axis=(0.0, 1.0, 0.0),
                     origin=(0.0, 0.0, -0.3), position=(-2.6, 0.0), **body)  # fmt: skip
    builder.add_frame("wrist", "fore", point=(0.0, 0.0, -0.25))
    for name, point in {
        "C7": (-0.1, 0.0, 0.4),
        "CLAV": (0.1, 0.0, 0.3),
        "T10": (-0.1, 0.0, 0.1),
    }.items():
        builder.add_frame(name, "trunk", point=point)
    return builder.build()


ARM_POSE = np.array([1.5, -0.7, 1.1, 0.1, -0.2, 2.0, 0.3, 0.4, -0.5, -0.8])


def arm_recording(true: Model) -> Measurements:
    points = {
        "C7": ("C7", (0, 0, 0)),
        "CLAV": ("CLAV", (0, 0, 0)),
        "T10": ("T10", (0, 0, 0)),
        "SHO": ("upper", (0, 0, 0)),
        "ELB": ("fore", (0, 0, 0)),
        "WRI": ("wrist", (0, 0, 0)),
        "UPA": ("upper", (0.04, 0.02, -0.15)),
        "STRN": ("trunk", (0.12, 0.0, 0.15)),
    }
    return standing(true, ARM_POSE, points)


def test_landmarks_find_the_pose_of_a_moving_base() -> None:
    true = arm().with_length("upper", 0.36).with_length("fore", 0.23)
    placed = place_markers(
        arm(),
        arm_recording(true),
        {"UPA": "upper", "STRN": "trunk"},
        lengths={"upper": ("SHO", "ELB"), "fore": ("ELB", "WRI")},
    )
    assert placed.scales == pytest.approx({"upper": 1.2, "fore": 0.92}, rel=1e-12)
    np.testing.assert_allclose(list(placed.pose.values()), ARM_POSE, rtol=0, atol=1e-9)
    upa, strn = placed.model.frame("UPA").p, placed.model.frame("STRN").p
    np.testing.assert_allclose(upa, (0.04, 0.02, -0.15), rtol=0, atol=1e-9)
    np.testing.assert_allclose(strn, (0.12, 0.0, 0.15), rtol=0, atol=1e-9)
    assert set(placed.residuals) == {"C7", "CLAV", "T10", "SHO", "ELB", "WRI"}


def test_measured_angles_and_given_values_are_used() -> None:
    static = leg_recording()
    angles = {"hip": np.full(50, 0.2), "knee": np.full(50, 3.0), "ankle": np.full(50, 0.15)}
    static = replace(static, angles=angles)
    placed = place_markers(leg(TRUE_SCALES), static, SITES, pose={"knee": -0.4})
    assert placed.pose == pytest.approx(TRUE_POSE, abs=1e-12)
    assert placed.scales == {}
    assert placed.residuals == {}
    np.testing.assert_allclose(placed.model.frame("TIB").p, OFFSETS["TIB"][1], rtol=0, atol=1e-12)


def test_shapes_scale_with_their_link() -> None:
    shape = Shape(1, "capsule", np.eye(3), np.array([0.0, -0.2, 0.0]), (0.05, 0.3))
    other = replace(shape, link=2)
    placed = place_markers(
        replace(leg(), shapes=(shape, other)), leg_recording(), {}, lengths=LENGTHS
    )
    np.testing.assert_allclose(placed.model.shapes[0].p, (0.0, -0.2 * 0.93, 0.0), rtol=1e-12)
    assert placed.model.shapes[0].size == pytest.approx((0.05 * 0.93, 0.3 * 0.93))
    assert placed.model.shapes[1].size == pytest.approx((0.06, 0.36))


def warned(match: str, model: Model, static: Measurements, sites: dict, **options: object) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        placed = place_markers(model, static, sites, **options)
    assert {warning.category for warning in caught} == {DataWarning}
    assert [str(warning.message) for warning in caught] == list(placed.warnings)
    assert any(match in message for message in placed.warnings), placed.warnings


def test_doubtful_results_give_warnings() -> None:
    static = leg_recording()
    grown = {name: 1000.0 * values for name, values in static.markers.items()}
    metres = replace(static, markers=grown)
    warned("'thigh' is scaled by 1.12e+03", leg(), metres, SITES, lengths=LENGTHS)
    warned("'HIP' is 0.5 m from", leg().with_placement("hip", p=(0.1, 0.9, 0.7)), static, SITES,
           lengths=LENGTHS)  # fmt: skip
    warned("joint 'hip': the static recording does not", leg(), static, SITES)
    moving = {name: values + np.linspace(0.0, 0.1, 50)[:, None] * [1.0, 0.0, 0.0]
              for name, values in static.markers.items()}  # fmt: skip
    warned("'HIP' moves by 0.08 m", leg(), replace(static, markers=moving), SITES, lengths=LENGTHS)


def bad(match: str, sites: dict | None = None, static: Measurements | None = None,
        model: Model | None = None, **options: object) -> None:  # fmt: skip
    with pytest.raises(InputError, match=match):
        place_markers(
            leg() if model is None else model,
            leg_recording() if static is None else static,
            SITES if sites is None else sites,
            **options,
        )


def test_bad_names_are_refused() -> None:
    bad("unknown link of marker 'TIB' 'shanc': did you mean 'shank'", {"TIB": "shanc"})
    bad("unknown link of marker 'TIB' 'world'", {"TIB": "world"})
    bad("unknown marker 'TIBB': did you mean 'TIB'", {"TIBB": "shank"})
    bad("'NO'.*'NONE'", {"NO": "shank", "TIB": "NONE"})
    bad("unknown link 'calf'", lengths={"calf": ("KNEE", "ANKLE")})
    bad("unknown marker for the length of link 'shank' 'KNE'", lengths={"shank": ("KNE", "ANKLE")})
    bad(
        "unknown child joint or frame of link 'foot' 'too'",
        lengths={"foot": ("ANKLE", "TOE", "too")},
    )
    bad("unknown joint 'kne'", pose={"kne": 0.0})
    named = replace(leg_recording(), markers={"toe": np.zeros((50, 3))})
    bad("marker 'toe': the model has a frame or link of that name", {"toe": "foot"}, named)


def test_bad_arguments_are_refused() -> None:
    bad("static: expected predyn.Measurements, got str", static="standing.trc")
    bad("model: expected a predyn.Model, got dict", model={})
    bad("markers: expected {marker: link", ["TIB"])
    bad("nothing to place or to scale", {})
    bad("pose: expected {joint: value", pose=[0.0])
    bad("pose of joint 'knee': expected a number, got 'bent'", pose={"knee": "bent"})
    bad("pose of joint 'knee': expected a number up to 10000", pose={"knee": np.nan})
    bad("pose of joint 'knee': expected a number up to 10000", pose={"knee": 1e300})
    bad("lengths: expected {link", lengths=["shank"])
    bad("length of link 'shank': expected .marker at its joint", lengths={"shank": "KNEE"})
    bad("length of link 'shank': expected .marker at its joint", lengths={"shank": ("KNEE",)})
    bad("expected two markers, got 'KNEE' twice", lengths={"shank": ("KNEE", "KNEE")})


def test_impossible_lengths_are_refused() -> None:
    static = leg_recording()
    same = replace(static, markers=static.markers | {"KNEE": static.markers["ANKLE"]})
    bad(
        "markers 'KNEE' and 'ANKLE' are 0 m apart, expected about 0.41 m",
        static=same,
        lengths=LENGTHS,
    )
    bad("length of link 'foot': it has several ends; .*'heel', 'toe'",
        lengths={"foot": ("ANKLE", "TOE")})  # fmt: skip
    bare = replace(leg(), frames=())
    bad("length of link 'foot': it has no child joint and no frame", model=bare,
        lengths={"foot": ("ANKLE", "TOE")})  # fmt: skip
    at_joint = leg().with_placement("knee", p=(0.0, 0.0, 0.0))
    bad("length of link 'thigh': its end is at its joint, so", model=at_joint, lengths=LENGTHS)


def test_missing_markers_are_refused() -> None:
    static = leg_recording()
    for gone, match in (((0, 1, 2), "got none"), ((0, 2), "got y")):
        values = static.markers["TIB"].copy()
        values[:, gone] = np.nan
        gap = replace(static, markers=static.markers | {"TIB": values})
        bad(f"marker 'TIB': expected at least two .* {match}", static=gap, lengths=LENGTHS)
    crossed = static.markers | {
        "KNEE": static.markers["KNEE"] * [1.0, 1.0, np.nan],
        "HIP": static.markers["HIP"] * [1.0, np.nan, 1.0],
    }
    bad("'HIP' and 'KNEE' must have two of the components", static=replace(static, markers=crossed),
        lengths=LENGTHS)  # fmt: skip
