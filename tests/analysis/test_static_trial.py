"""From the markers of a clinical set to a scaled model: a static trial of a known person."""

import numpy as np
import pytest

import predyn
from analysis.walkers import person
from predyn.analysis import add_joint_centres, leg_lengths
from predyn.dynamics import frame_kinematics
from predyn.model import Model
from predyn.recordings.measurements import Measurements

SCALE, DEPTH, KNEE, ANKLE = 1.13, 0.16, 0.11, 0.08  # m
RADIUS = 0.007
HIPS = ("flexion", "adduction", "rotation")


def sites() -> dict[str, tuple[str, tuple[float, float, float]]]:
    """marker: link and place in it. The pelvis is such that Harrington's regression is exact."""
    half, down = 0.09 * SCALE, 0.05 * SCALE
    width = (half - 0.0073) / 0.33
    front, up = 0.24 * DEPTH + 0.0099, 0.30 * width + 0.0109 - down
    found = {}
    for letter, side, y in (("L", "l", 1.0), ("R", "r", -1.0)):
        found |= {
            f"{letter}ASI": ("pelvis", (front, 0.5 * y * width, up)),
            f"{letter}PSI": ("pelvis", (front - DEPTH, 0.04 * y, up)),
            f"{letter}THI": (f"femur_{side}", (0.0, 0.12 * y, -0.25)),
            f"{letter}KNE": (f"tibia_{side}", (0.0, y * (0.5 * KNEE + RADIUS), 0.0)),
            f"{letter}TIB": (f"tibia_{side}", (0.0, 0.11 * y, -0.2)),
            f"{letter}ANK": (f"foot_{side}", (0.0, y * (0.5 * ANKLE + RADIUS), 0.0)),
            f"{letter}TOE": (f"foot_{side}", (0.14, 0.0, -0.04)),
        }
    return found


def static_trial(model: Model, q: np.ndarray, noise: float, seed: int) -> Measurements:
    random = np.random.default_rng(seed)
    markers = {
        name: frame_kinematics(model, link, q, point=place).p
        + noise * random.standard_normal((200, 3))
        for name, (link, place) in sites().items()
    }
    return Measurements(0.01 * np.arange(200), markers=markers)


@pytest.mark.parametrize(("noise", "tolerance"), [(0.0, 1e-9), (5e-4, 2e-3)])
def test_scales_pose_and_places_are_recovered(noise: float, tolerance: float) -> None:
    """Widths by the chord. Medians of 200 samples err by 0.09 of their noise, 0.04 mm here."""
    model, true = person(HIPS), person(HIPS, SCALE)
    q = np.zeros(model.n)
    for name, value in (("hip_flexion_l", 0.05), ("hip_flexion_r", -0.04), ("pelvis_tx", 0.3)):
        q[model.joint_index(name)] = value
    static = static_trial(true, q, noise, 3)
    centred = add_joint_centres(static, body={"knee_width": KNEE, "ankle_width": ANKLE})
    known = {"pelvis_tilt": 0.0} | {f"hip_rotation_{side}": 0.0 for side in "lr"}
    known |= {f"ankle_angle_{side}": 0.0 for side in "lr"}  # centres leave these open
    placed = predyn.place_markers(
        model, centred, {name: link for name, (link, _) in sites().items()},
        lengths=leg_lengths(model), pose=known,
    )  # fmt: skip
    assert list(placed.scales.values()) == pytest.approx([SCALE] * 5, abs=10.0 * tolerance)
    assert max(placed.residuals.values()) < 5.0 * max(tolerance, 1e-9)
    for name, value in (("hip_flexion_l", 0.05), ("knee_angle_r", 0.0), ("pelvis_tx", 0.3)):
        assert placed.pose[name] == pytest.approx(value, abs=10.0 * tolerance)
    for name, (link, place) in sites().items():
        frame = placed.model.frame(name)
        assert placed.model.link_names[frame.link] == link
        assert frame.p == pytest.approx(place, abs=5.0 * tolerance)
