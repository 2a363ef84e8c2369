"""A recorded trial: events against the plates, curves against the means of other people."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import predyn
from predyn.analysis import GroundForce, Motion, gait_cycles
from predyn.analysis.events import gait_events
from predyn.analysis.feet import walk_of
from recorded_motions import SHARED, needs_shared

pytestmark = needs_shared
MASS = 72.6
# curve, column of the group's means, sign of the model's joint against that of the columns
COMPARED = (
    ("hip_flexion_angle", "hip_flexion_deg", 1), ("knee_angle", "knee_flexion_deg", -1),
    ("hip_flexion_moment", "hip_ext_moment_Nm_kg", -1), ("knee_moment", "knee_ext_moment_Nm_kg", 1),
    ("ankle_moment", "ankle_pf_moment_Nm_kg", -1), ("ground_vertical_force", "grf_vertical_BW", 1),
    ("ground_forward_force", "grf_foreaft_BW", 1),
)  # fmt: skip


@pytest.fixture(scope="module")
def motion() -> Motion:
    """Smoothed angles and the moments that OpenSim computed for them: no dynamics of ours."""
    folder = SHARED / "data/recordings"
    model = predyn.load_urdf(folder / "gait10.urdf")
    angles = predyn.load_measurements(folder / "true10_6.mot")
    plates = predyn.load_measurements(folder / "subject01_walk_grf.mot", axes="x-zy").forces
    q = np.stack([angles.angles[name] for name in model.joint_names], axis=1)
    v = CubicSpline(angles.t, q, axis=0)(angles.t, 1)
    lines = (folder / "id10_6.sto").read_text().splitlines()
    start = lines.index("endheader") + 1
    names = lines[start].split()
    table = np.array([[float(x) for x in line.split()] for line in lines[start + 1 :] if line])
    moments = np.zeros_like(q)
    for j, name in enumerate(model.joint_names):
        column = next(k for k, x in enumerate(names) if x.startswith(f"{name}_"))
        moments[:, j] = np.interp(angles.t, table[:, 0], table[:, column])
    forces = tuple(
        GroundForce(link, plates[name].t, plates[name].force)
        for name, link in (("ground", "calcn_r"), ("1_ground", "calcn_l"))
    )
    reactions = np.zeros((*q.shape, 3))
    return Motion("trial", model, angles.t, q, v, moments, reactions, forces)


def test_events_are_where_the_plates_rise(motion: Motion) -> None:
    gait = gait_cycles(motion)
    assert [cycle.side for cycle in gait.cycles] == ["left", "right"]
    for cycle in gait.cycles:
        plate = motion.forces[0 if cycle.side == "right" else 1]
        vertical = plate.force[:, 2]
        loaded = vertical > 20.0
        rises = plate.t[1:][~loaded[:-1] & loaded[1:]]
        falls = plate.t[1:][loaded[:-1] & ~loaded[1:]]
        step = float(np.diff(plate.t).max())
        for time, edges in ((cycle.start, rises), (cycle.toe_off, falls), (cycle.end, rises)):
            assert np.abs(edges - time).min() <= step


def test_events_from_the_motion_are_near_those_of_the_plates(motion: Motion) -> None:
    """Zeni's method errs by a few samples of 60 Hz: heel strikes early, toe offs right."""
    weight = 9.81 * MASS
    known = gait_events(motion.t, walk_of(motion, None), 20.0, weight)
    alone = replace(motion, forces=())
    feet = {"left": "calcn_l", "right": "calcn_r"}
    found = gait_events(motion.t, walk_of(alone, feet), 20.0, weight)
    count = 0
    for side in ("left", "right"):
        for event in found[side].events:
            near = [e.time for e in known[side].events if e.kind == event.kind]
            assert np.abs(np.array(near) - event.time).min() < 0.05
            count += 1
    assert count >= 6


def test_the_curves_look_like_those_of_other_people(motion: Motion) -> None:
    path = SHARED / "data/gait/fukuchi2018_overground_71pctBHps_n32.csv"
    with path.open() as file:
        rows = list(csv.DictReader(file))
    gait = gait_cycles(motion)
    for curve, column, sign in COMPARED:
        mean = np.array([float(row[f"{column}_mean"]) for row in rows])
        percent = np.array([float(row["gait_cycle_pct"]) for row in rows])
        usual = np.interp(gait.percent, percent, mean)
        for side in ("left", "right"):
            own = sign * gait.curves[curve].mean(side)
            assert np.corrcoef(own, usual)[0, 1] > 0.75, (curve, side)
    speed = gait.parameters["walking speed"]
    assert 1.0 < speed.left[0] < 1.3
    assert gait.parameters["stance"].right == pytest.approx(64.0, abs=2.0)
    assert gait.parameters["step length"].left.mean() == pytest.approx(0.67, abs=0.05)
