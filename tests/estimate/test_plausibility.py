"""Mistakes in recordings of a floating body, and no alarm without one.

The synthetic body has two legs; its ground forces are those that its motion needs, shared between
the feet, so that motion and forces agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from predyn.dynamics import frame_kinematics, inverse_dynamics
from predyn.estimate.butterworth import filtered
from predyn.estimate.driving import push
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.plausibility import Finding, find_mistakes
from predyn.estimate.root_residual import assumed_base
from predyn.load.urdf import load_urdf
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.recordings.loading import load_measurements
from predyn.recordings.measurements import MeasuredForce, Measurements
from recorded_motions import SHARED, needs_shared

T = np.linspace(0.0, 2.0, 121)
FEET = {"right": "shank_r", "left": "shank_l"}
WEIGHT = 52.0 * 9.81


def biped() -> Model:
    """A planar body: trunk, thighs and shanks, x forward and z up."""
    build = ModelBuilder("biped")
    build.add_link("x", joint="x", kind="prismatic", axis=(1, 0, 0))
    build.add_link("z", parent="x", joint="z", kind="prismatic", axis=(0, 0, 1))
    body = {"mass": 30.0, "com": (0, 0, 0.2), "inertia": (1.0, 1.0, 0.5)}
    build.add_link("trunk", parent="z", joint="tilt", axis=(0, -1, 0), **body)
    for side in "rl":
        thigh = {"mass": 8.0, "com": (0, 0, -0.2), "inertia": (0.1, 0.1, 0.02)}
        shank = {"mass": 3.0, "com": (0, 0, -0.2), "inertia": (0.05, 0.05, 0.01)}
        build.add_link(
            f"thigh_{side}", parent="trunk", joint=f"hip_{side}", axis=(0, -1, 0), **thigh
        )
        place = {"parent": f"thigh_{side}", "joint": f"knee_{side}", "origin": (0, 0, -0.45)}
        build.add_link(f"shank_{side}", axis=(0, -1, 0), **place, **shank)
        build.add_frame(f"foot_{side}", f"shank_{side}", (0, 0, -0.45))
    return build.build().with_limits(position={"knee_r": (-2.0, 0.0), "knee_l": (-2.0, 0.0)})


@cache
def walk() -> Measurements:
    """Legs that swing in turn above feet that carry the body in turn."""
    model, w = biped(), 2.0 * np.pi
    swing, bend = 0.35 * np.sin(w * T), 0.3 * np.cos(w * T)
    rates = 0.35 * w * np.cos(w * T), -0.3 * w * np.sin(w * T)
    zero = np.zeros_like(T)

    def state(height: float, bent: float, hip: np.ndarray, knee: np.ndarray) -> np.ndarray:
        """Both legs move in opposite phase."""
        columns = [zero, height + zero, zero, hip, knee + bent, -hip, -knee + bent]
        return np.stack(columns, axis=1)

    q, v = state(0.85, -0.4, swing, bend), state(0.0, 0.0, *rates)
    a = state(0.0, 0.0, -(w**2) * swing, -(w**2) * bend)
    base = inverse_dynamics(model, q, v, a)[:, :3]
    right = 0.5 + 0.5 * np.tanh(8.0 * np.cos(w * T))  # share of the right foot
    forces = {}
    for name, share in (("right", right), ("left", 1.0 - right)):
        foot = frame_kinematics(model, f"foot_{name[0]}", q).p
        force = np.stack([base[:, 0], zero, base[:, 1]], axis=1)
        arm = foot - q[:, [0, 0, 1]] * np.array([1.0, 0.0, 1.0])
        # moment about y of the whole force at this foot; the hinge of the base turns about -y
        missing = -base[:, 2] - np.cross(arm, force)[:, 1]
        moment = np.stack([zero, missing, zero], axis=1)
        forces[name] = MeasuredForce(T, share[:, None] * force, foot, share[:, None] * moment)
    return Measurements(T, angles=dict(zip(model.joint_names, q.T, strict=True)), forces=forces)


def mistakes(model: Model, data: Measurements, links: dict[str, str]) -> list[Finding]:
    q = np.stack([data.angles[name] for name in model.joint_names], axis=1)
    found = filtered(model, data.t, q, data, links, 12.0)
    pushes = {name: push(data.t, link, data.forces[name]) for name, link in links.items()}
    return find_mistakes(model, found, pushes, assumed_base(model, [], bool(links), found, None))


def with_forces(
    data: Measurements, change: Callable[[MeasuredForce], MeasuredForce]
) -> Measurements:
    return replace(data, forces={name: change(force) for name, force in data.forces.items()})


def with_angles(data: Measurements, **factors: float) -> Measurements:
    angles = {name: factors.get(name, 1.0) * x for name, x in data.angles.items()}
    return replace(data, angles=angles)


def assert_named(found: list[Finding], words: str, fatal: bool) -> None:
    texts = [finding.text for finding in found if finding.fatal == fatal]
    assert any(words in text for text in texts), found


def test_consistent_forces_leave_the_base_free() -> None:
    model, data = biped(), walk()
    q = np.stack(list(data.angles.values()), axis=1)
    residual = filtered(model, T, q, data, FEET, 12.0).tau[12:-12, :3]
    assert np.abs(residual).max() < 0.03 * WEIGHT  # what the filter takes away
    assert mistakes(model, data, FEET) == []


@pytest.mark.parametrize("seed", range(6))
def test_noise_gives_no_alarm(seed: int) -> None:
    rng, data = np.random.default_rng(seed), walk()
    noisy = {name: x + 2e-3 * rng.standard_normal(len(x)) for name, x in data.angles.items()}
    for name in ("x", "z"):
        noisy[name] = data.angles[name] + 5e-4 * rng.standard_normal(len(T))
    assert mistakes(biped(), replace(data, angles=noisy), FEET) == []


def test_forces_on_the_plates_have_the_other_sign() -> None:
    data = with_forces(walk(), lambda f: MeasuredForce(f.t, -f.force, f.point, -f.moment))
    found = mistakes(biped(), data, FEET)
    assert_named(found, "opposite sign", fatal=True)
    assert_named(found, "% of the body's weight", fatal=True)


def test_masses_in_grams() -> None:
    model = biped()
    heavy = replace(model, inertia=1000.0 * model.inertia)
    assert_named(mistakes(heavy, walk(), FEET), "units of masses", fatal=True)
    light = replace(model, inertia=0.001 * model.inertia)
    assert_named(mistakes(light, walk(), FEET), "units of masses", fatal=True)


def test_swapped_feet_are_named_with_their_links() -> None:
    found = mistakes(biped(), walk(), {"right": "shank_l", "left": "shank_r"})
    assert_named(found, "right moves with shank_r, not with shank_l", fatal=True)


def test_force_on_a_distant_link() -> None:
    found = mistakes(biped(), walk(), {"right": "trunk", "left": "shank_l"})
    assert_named(found, "m from trunk", fatal=False)
    assert not any(finding.fatal for finding in found)


@pytest.mark.parametrize(("shift", "fatal"), [(0.08, False), (0.25, True)])
def test_plate_with_another_origin(shift: float, fatal: bool) -> None:
    there = np.array([shift, 0.0, 0.0])
    data = with_forces(walk(), lambda f: MeasuredForce(f.t, f.force, f.point + there, f.moment))
    assert_named(mistakes(biped(), data, FEET), "origin and axes of the plates", fatal)


def test_pressure_points_in_millimetres() -> None:
    data = with_forces(walk(), lambda f: MeasuredForce(f.t, f.force, 1e3 * f.point, f.moment))
    found = mistakes(biped(), data, FEET)
    assert_named(found, "may be in mm or cm", fatal=True)
    assert_named(found, "N m per kg of body mass", fatal=True)


def test_angles_in_the_wrong_unit() -> None:
    hinges = ("tilt", "hip_r", "knee_r", "hip_l", "knee_l")
    data = with_angles(walk(), **dict.fromkeys(hinges, np.pi / 180.0))
    assert_named(mistakes(biped(), data, FEET), "may be in radians", fatal=False)


def test_reversed_knee_is_outside_its_limits() -> None:
    data = with_angles(walk(), knee_r=-1.0)
    assert_named(mistakes(biped(), data, FEET), "knee_r (", fatal=False)


def test_body_without_forces() -> None:
    found = mistakes(biped(), replace(walk(), forces={}), {})
    assert [finding.fatal for finding in found] == [False]
    assert "without ground forces: its base carries 100% of its weight" in found[0].text


def test_body_on_plates_that_recorded_nothing() -> None:
    forces = {
        name: replace(x, force=0.0 * x.force, moment=0.0 * x.moment)
        for name, x in walk().forces.items()
    }
    found = mistakes(biped(), replace(walk(), forces=forces), FEET)
    assert_named(found, "recorded zero throughout", fatal=False)


def test_flight_needs_no_forces() -> None:
    model, data = biped(), walk()
    angles = {name: 0.0 * x for name, x in data.angles.items()}
    angles["z"] = 5.0 + 9.0 * T - 0.5 * 9.81 * T**2
    flying = replace(data, angles=angles | {"knee_r": 0 * T - 0.1, "knee_l": 0 * T - 0.1})
    assert mistakes(model, replace(flying, forces={}), {}) == []
    unloaded = with_forces(flying, lambda f: MeasuredForce(f.t, 0 * f.force, f.point, 0 * f.moment))
    assert mistakes(model, unloaded, FEET) == []


@pytest.mark.filterwarnings("ignore:.*:predyn.errors.DataWarning")
def test_mistake_decides_the_status() -> None:
    data = with_forces(walk(), lambda f: MeasuredForce(f.t, -f.force, f.point, -f.moment))
    found = estimate_torques(biped(), data, forces=FEET, order=2, independent="joints")
    assert found.status == "implausible"
    assert not found.success
    assert "opposite sign" in found.message
    assert any("opposite sign" in text for text in found.warnings)


# -- a person who walks on a treadmill ----------------------------------------------------------

PLATES = {"ground": "calcn_r", "1_ground": "calcn_l"}


@cache
def person() -> tuple[Model, Measurements]:
    folder = SHARED / "data" / "recordings"
    motion = load_measurements(folder / "subject01_walk_IK.mot", axes="x-zy")
    plates = load_measurements(folder / "subject01_walk_grf.mot", axes="x-zy")
    return load_urdf(folder / "gait10.urdf"), replace(motion, forces=plates.forces)


def later(seconds: float) -> Callable[[MeasuredForce], MeasuredForce]:
    return lambda f: MeasuredForce(f.t + seconds, f.force, f.point, f.moment)


@needs_shared
def test_recorded_walking_gives_no_alarm() -> None:
    assert mistakes(*person(), PLATES) == []


@needs_shared
@pytest.mark.parametrize("cutoff", [6, 12])
@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_noisy_walking_gives_no_alarm(cutoff: int, noise: float) -> None:
    model, recorded = person()
    true = load_measurements(
        SHARED / "data" / "recordings" / f"true10_{cutoff}.mot", axes="x-zy"
    ).angles
    for seed in range(4):
        rng = np.random.default_rng(seed)
        angles = {
            name: x
            + (5e-3 * noise if name in ("pelvis_tx", "pelvis_ty") else np.radians(noise))
            * rng.standard_normal(len(x))
            for name, x in true.items()
        }
        assert mistakes(model, replace(recorded, angles=angles), PLATES) == []


@needs_shared
@pytest.mark.parametrize(
    ("change", "words", "fatal"),
    [
        (lambda d: with_forces(d, later(0.5)), "start together", False),
        (lambda d: with_forces(d, later(0.05)), "missing or late", False),
        (lambda d: with_angles(d, knee_angle_r=-1.0, knee_angle_l=-1.0), "signs of joints", False),
        (lambda d: with_angles(d, pelvis_ty=100.0), "mm or cm", True),
    ],
)
def test_mistakes_with_recorded_walking(
    change: Callable[[Measurements], Measurements], words: str, fatal: bool
) -> None:
    model, data = person()
    assert_named(mistakes(model, change(data), PLATES), words, fatal)


@needs_shared
def test_swapped_hips_put_the_feet_elsewhere() -> None:
    model, data = person()
    other = {"hip_flexion_r": "hip_flexion_l", "hip_flexion_l": "hip_flexion_r"}
    swapped = replace(data, angles={other.get(name, name): x for name, x in data.angles.items()})
    assert_named(mistakes(model, swapped, PLATES), "far from the link", fatal=False)


@needs_shared
def test_forgotten_axes() -> None:
    folder = SHARED / "data" / "recordings"
    model, data = person()
    plates = load_measurements(folder / "subject01_walk_grf.mot").forces
    found = mistakes(model, replace(data, forces=plates), PLATES)
    assert_named(found, "axes of the file", fatal=True)
