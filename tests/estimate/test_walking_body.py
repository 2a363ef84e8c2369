"""A walking person on force plates, with torques known from OpenSim's inverse dynamics.

The true motions are low-passed recordings; angles have white noise. Torques are compared at the
estimate's own instants, where those of the true motion follow from a spline of degree 5 through it:
it gives OpenSim's torques at the samples to 1e-4 N m/kg.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import BSpline, make_interp_spline

from predyn.dynamics import frame_kinematics, inverse_dynamics
from predyn.estimate.driving import acting, push
from predyn.estimate.estimating import estimate_torques
from predyn.estimate.result import Estimate
from predyn.load.urdf import load_urdf
from predyn.model import Frame, Model
from predyn.recordings.loading import load_measurements
from predyn.recordings.measurements import MeasuredForce, Measurements
from recorded_motions import SHARED, needs_shared, rms

pytestmark = [needs_shared, pytest.mark.filterwarnings("ignore:.*:predyn.errors.DataWarning")]

FOLDER = SHARED / "data" / "recordings"
LINKS = {"ground": "calcn_r", "1_ground": "calcn_l"}
MASS = 72.6  # kg
GROUPS = {
    "hip": ("hip_flexion_r", "hip_flexion_l"),
    "knee": ("knee_angle_r", "knee_angle_l"),
    "ankle": ("ankle_angle_r", "ankle_angle_l"),
}
CELLS = [(cut, noise) for cut in (6, 12) for noise in (0.05, 0.1, 0.3)]  # Hz, degrees


def table(name: str) -> dict[str, np.ndarray]:
    _, body = (FOLDER / name).read_text().split("endheader", 1)
    lines = [line.split() for line in body.splitlines() if line.strip()]
    return dict(zip(lines[0], np.array(lines[1:], float).T, strict=True))


@cache
def body() -> Model:
    return load_urdf(FOLDER / "gait10.urdf").with_gravity((0.0, 0.0, -9.80665))


@cache
def plates() -> dict[str, MeasuredForce]:
    return dict(load_measurements(FOLDER / "subject01_walk_grf.mot", axes="x-zy").forces)


@cache
def true_motion(cut: int) -> BSpline:
    motion = table(f"true10_{cut}.mot")
    slides = ("pelvis_tx", "pelvis_ty")
    q = [motion[x] if x in slides else np.deg2rad(motion[x]) for x in body().joint_names]
    return make_interp_spline(np.arange(len(q[0])) / 60.0, np.array(q).T, 5)


def true_torques(cut: int, t: np.ndarray) -> np.ndarray:
    spline, pushes = true_motion(cut), [push(t, link, plates()[x]) for x, link in LINKS.items()]
    q = spline(t)
    return inverse_dynamics(body(), q, spline(t, 1), spline(t, 2), forces=acting(body(), pushes, q))


def noisy(cut: int, degrees: float, seed: int) -> Measurements:
    rng, t = np.random.default_rng(seed), np.arange(151) / 60.0
    q, angles = true_motion(cut)(t), {}
    for j, name in enumerate(body().joint_names):
        level = 5e-3 * degrees if name in ("pelvis_tx", "pelvis_ty") else np.deg2rad(degrees)
        angles[name] = q[:, j] + level * rng.standard_normal(151)
    return Measurements(t, angles, forces=plates())


class Score:
    """Errors by group, N m/kg, of the estimate and of the filter; share within the bands."""

    def __init__(self, cut: int, estimate: Estimate) -> None:
        self.error, self.filter, self.covered = {}, {}, {}
        inside = (estimate.t_tau > 0.2) & (estimate.t_tau < 2.3)
        nodes = (estimate.t > 0.2) & (estimate.t < 2.3)
        off = estimate.tau - true_torques(cut, estimate.t_tau)
        usual = estimate.comparison.tau - true_torques(cut, estimate.comparison.t)
        for group, names in GROUPS.items():
            joints = [body().joint_index(name) for name in names]
            self.error[group] = rms(off[inside][:, joints]) / MASS
            self.filter[group] = rms(usual[nodes][:, joints]) / MASS
            sd = estimate.tau_sd[inside][:, joints]
            self.covered[group] = float(np.mean(np.abs(off[inside][:, joints]) < 1.96 * sd))


@cache
def score(cut: int, degrees: float, seed: int) -> Score:
    estimate = estimate_torques(body(), noisy(cut, degrees, seed), forces=LINKS)
    assert estimate.success
    assert estimate.independent == "none"
    return Score(cut, estimate)


def pooled(scores: list[Score], what: str) -> dict[str, float]:
    return {group: rms([getattr(x, what)[group] for x in scores]) for group in GROUPS}


def test_the_true_torques_are_those_of_opensim() -> None:
    for cut in (6, 12):
        file, t = table(f"id10_{cut}.sto"), np.arange(151) / 60.0
        inside, found = (t > 0.2) & (t < 2.3), true_torques(cut, t)
        for name in sum(GROUPS.values(), ()):
            column = np.interp(t, file["time"], file[f"{name}_moment"])
            off = found[:, body().joint_index(name)] - column
            # OpenSim takes the times of the forces as the file rounds them, to 0.1 ms
            assert rms(off[inside]) / MASS < 3e-4


def test_torques_of_a_cheap_cell() -> None:
    found = score(6, 0.1, 0)
    for group in GROUPS:
        assert found.error[group] < found.filter[group]
    assert found.error["hip"] < 0.6 * found.filter["hip"]
    assert 0.9 < np.mean(list(found.covered.values())) <= 1.0


@pytest.mark.verify
def test_torques_of_all_cells() -> None:
    ratios, covered = [], []
    for cell in CELLS:
        scores = [score(*cell, seed) for seed in range(6)]
        error, usual = pooled(scores, "error"), pooled(scores, "filter")
        ratios += [error[group] / usual[group] for group in GROUPS]
        covered += [x.covered[group] for x in scores for group in GROUPS]
    assert max(ratios) <= 1.0
    assert np.mean(ratios) <= 0.8
    assert 0.90 <= np.mean(covered) <= 0.99


@pytest.mark.verify
def test_recorded_angles_have_noise_that_is_correlated_between_joints() -> None:
    """Without correlations the estimate follows the noise, farther from OpenSim's at 6 Hz."""
    recorded = load_measurements(FOLDER / "subject01_walk_IK.mot")
    t = np.arange(151) / 60.0
    data = Measurements(t, {x: y[:151] for x, y in recorded.angles.items()}, forces=plates())
    estimate = estimate_torques(body(), data, forces=LINKS)
    assert estimate.success
    assert estimate.noise_model == "joints"
    white = max(x.log_evidence for x in estimate.orders if x.noise == "white")
    assert max(x.log_evidence for x in estimate.orders) > white + 400.0
    assert Score(6, estimate).error["hip"] < 0.055
    assert estimate.root_residual.force_rms_percent < 5.0


# ---- soft tissue


@cache
def marked() -> Model:
    rng, frames = np.random.default_rng(5), list(body().frames)
    for j, mass in enumerate(body().inertia[:, 0]):
        low, high = ((0.05, 0.5) if j == 9 else (-0.35, 0.02)) if mass > 3.0 else (-0.12, 0.02)
        for k in range(3 * (mass > 0.0)):
            place = np.array([rng.uniform(-0.08, 0.08), 0.0, rng.uniform(low, high)])
            frames.append(Frame(f"M{j}_{k}", j, np.eye(3), place))
    return replace(body(), frames=tuple(frames))


def on_skin(white: float, soft: float, seed: int = 0) -> Measurements:
    """Markers in the plane with white noise and smooth motions over the bones, of 1.5 Hz, m."""
    rng, t = np.random.default_rng(1000 + seed), np.arange(151) / 60.0
    apart = np.abs(t[:, None] - t[None])
    smooth = np.linalg.cholesky(np.exp(-0.5 * (2 * np.pi * apart) ** 2) + 1e-9 * np.eye(151))
    markers = {}
    for frame in marked().frames:
        if frame.name.startswith("M"):
            p = frame_kinematics(marked(), frame.name, true_motion(6)(t)).p.copy()
            p += white * rng.standard_normal((151, 3))
            p += soft * rng.uniform(0.5, 1.5) * (smooth @ rng.standard_normal((151, 3)))
            p[:, 1] = np.nan
            markers[frame.name] = p
    return Measurements(t, markers=markers, forces=plates())


@pytest.mark.verify
@pytest.mark.parametrize("white", [3e-4, 3e-5])
def test_noise_of_markers_does_not_collapse(white: float) -> None:
    """All markers have about 5 mm; alone, some levels fell to the white noise."""
    estimate = estimate_torques(marked(), on_skin(white, 5e-3), forces=LINKS)
    levels = np.array([channel.sd for channel in estimate.channels])
    assert estimate.success
    assert estimate.noise_model == "time"
    assert levels.min() > 1e-3
    assert levels.max() < 4.0 * levels.min()
    white = max(x.log_evidence for x in estimate.orders if x.noise == "white")
    assert min(x.log_evidence for x in estimate.orders if x.noise == "time") > white + 1e4
    found = Score(6, estimate)
    assert np.mean(list(found.covered.values())) > 0.8


@pytest.mark.verify
def test_white_noise_of_markers_is_taken_as_white() -> None:
    estimate = estimate_torques(marked(), on_skin(5e-4, 0.0), forces=LINKS)
    assert estimate.noise_model == "white"
    levels = np.array([channel.sd for channel in estimate.channels])
    assert levels == pytest.approx(5e-4, rel=0.1)
    found = Score(6, estimate)
    assert found.error["hip"] < found.filter["hip"]
