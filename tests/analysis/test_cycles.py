"""Curves, peaks and steps of walking by formulas."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from analysis.walkers import (
    AMPLITUDE,
    SPEED,
    STANCE,
    STRIDE,
    TURN,
    Pulse,
    person,
    strikes,
    walking,
)
from predyn.analysis import Event, find_gait, gait_cycles, motion_of
from predyn.analysis.curves import base_joints
from predyn.analysis.gait import GaitCycles
from predyn.errors import InputError


@pytest.fixture(scope="module")
def gait() -> GaitCycles:
    return gait_cycles(walking())


def test_cycles_reach_from_heel_strike_to_heel_strike(gait: GaitCycles) -> None:
    assert [cycle.side for cycle in gait.cycles] == ["left"] * 2 + ["right"] * 2
    for cycle in gait.cycles:
        assert cycle.duration == pytest.approx(STRIDE, abs=1e-6)
        assert (cycle.sources, cycle.kinetic, cycle.whole) == (("forces",), True, True)
    early, late = Pulse(0.0).crossings(20.0)
    assert gait.cycles[0].stance == pytest.approx(100.0 * (late - early) / STRIDE, abs=1e-3)


def test_curves_are_those_of_the_formulas(gait: GaitCycles) -> None:
    starts = {s: strikes(s, 2) + Pulse(0.0).crossings(20.0)[0] for s in ("left", "right")}
    mass = float(person().inertia[:, 0].sum())
    for side, phase in (("left", np.pi), ("right", 0.0)):
        t = starts[side][:, None] + STRIDE * gait.percent / 100.0
        wave = TURN * t - phase
        angle, speed = AMPLITUDE * np.sin(wave), AMPLITUDE * TURN * np.cos(wave)
        moment = 50.0 * np.cos(wave) / mass
        curves = gait.curves
        # cubic between samples: h^4 w^4 / 384; straight lines: h^2 w^2 / 8 of the amplitude
        assert curves["hip_flexion_angle"].side(side) == pytest.approx(np.rad2deg(angle), abs=1e-4)
        assert curves["hip_flexion_moment"].side(side) == pytest.approx(moment, abs=2e-4)
        power = curves["hip_flexion_power"].side(side)
        assert power == pytest.approx(moment * speed, abs=2e-3)
        ground = curves["ground_vertical_force"].side(side)
        expected = sum(Pulse(start)(t) for start in strikes(side, 4)) / (9.81 * mass)
        assert ground == pytest.approx(expected, abs=3e-3)
        assert curves["knee_reaction"].side(side) == pytest.approx(700.0 / (9.81 * mass))
        rows = curves["hip_flexion_angle"].side(side)
        assert curves["hip_flexion_angle"].mean(side) == pytest.approx(rows.mean(axis=0))
        assert curves["hip_flexion_angle"].sd(side) == pytest.approx(0.0, abs=1e-4)


def test_hips_knees_and_ankles_come_first_and_the_base_is_residual(gait: GaitCycles) -> None:
    names = list(gait.curves)
    assert names[:3] == ["hip_flexion_angle", "hip_flexion_moment", "hip_flexion_power"]
    assert names.index("knee_angle") < names.index("ankle_angle") < names.index("pelvis_tilt_angle")
    assert [n for n in names if n.endswith("residual")] == [
        "pelvis_tx_residual", "pelvis_ty_residual", "pelvis_tilt_residual",
    ]  # fmt: skip
    assert not any(n.startswith("pelvis") and n.endswith(("moment", "power")) for n in names)
    assert gait.curves["pelvis_ty_residual"].unit == "N"
    assert gait.curves["pelvis_ty_residual"].left.max() == pytest.approx(20.0, abs=0.05)


def test_peaks(gait: GaitCycles) -> None:
    peaks = {(p.curve, p.side, p.kind): p for p in gait.peaks()}
    top = peaks["hip_flexion_moment", "right", "maximum"]
    assert top.value == pytest.approx(50.0 / gait.mass, rel=1e-3)
    # three quarters of a turn after the angle was largest; the strike is found 20 N later
    early = Pulse(0.0).crossings(20.0)[0]
    assert top.percent == pytest.approx(75.0 - 100.0 * early / STRIDE, abs=0.51)
    # the angle is largest at heel strike, at the start of one cycle or the end of another
    strike = peaks["hip_flexion_angle", "right", "maximum"]
    assert strike.value == pytest.approx(np.rad2deg(AMPLITUDE), abs=0.05)
    assert min(strike.percent, 100.0 - strike.percent) < 1.01
    low = peaks["hip_flexion_moment", "left", "minimum"]
    assert (low.unit, low.value_sd) == ("N m/kg", pytest.approx(0.0, abs=1e-3))


@pytest.mark.parametrize("treadmill", [False, True])
def test_steps_and_strides(treadmill: bool) -> None:
    motion = walking(treadmill=treadmill)
    found = gait_cycles(motion).parameters
    # the pelvis moves relative to the feet alike, whether the ground moves or not
    over = gait_cycles(walking()).parameters["walking speed"].left
    assert found["walking speed"].left == pytest.approx(over, abs=1e-6)
    assert found["stride time"].left == pytest.approx(STRIDE, abs=1e-6)
    assert found["step time"].right == pytest.approx(STRIDE / 2.0, abs=1e-6)
    assert found["cadence"].right == pytest.approx(120.0 / STRIDE, abs=1e-3)
    early, late = Pulse(0.0).crossings(20.0)
    stance = 100.0 * (late - early) / STRIDE
    assert found["stance"].left == pytest.approx(stance, abs=1e-3)
    # both feet are on the ground for what two stances have beyond a whole cycle
    assert found["double support"].left == pytest.approx(2.0 * stance - 100.0, abs=1e-2)


def test_step_length_over_ground() -> None:
    """Feet that stand still where they strike: steps are half of what the pelvis travels."""
    motion = walking()
    model, t = motion.model, motion.t
    q = motion.q.copy()
    # legs as sliding points: the hip angle puts the heel at a place that jumps by a stride
    leg = 0.88
    for side, phase in (("r", 0.0), ("l", 0.5)):
        share = (t - strikes("right", 1)[0]) / STRIDE - phase
        within = share - np.floor(share)
        ahead = (
            SPEED
            * STRIDE
            * np.where(
                within < STANCE,
                0.31 - within,
                0.31 - STANCE + (within - STANCE) * STANCE / (1 - STANCE),
            )
        )  # heel relative to the hip: back with the ground, forward in swing
        for name in ("knee_angle", "ankle_angle"):
            q[:, model.joint_index(f"{name}_{side}")] = 0.0
        # heel at (-0.05, -leg - 0.05) of a straight leg, turned by the hip
        reach = np.hypot(0.05, leg + 0.05)
        angle = np.arcsin(ahead / reach) + np.arctan2(0.05, leg + 0.05)
        q[:, model.joint_index(f"hip_flexion_{side}")] = angle
    v = np.gradient(q, t, axis=0)
    found = gait_cycles(replace(motion, q=q, v=v)).parameters
    assert found["walking speed"].left == pytest.approx(SPEED, abs=1e-9)
    assert found["stride length"].left == pytest.approx(SPEED * STRIDE, abs=1e-5)
    assert found["step length"].left == pytest.approx(SPEED * STRIDE / 2.0, abs=5e-3)
    assert found["step length"].right == pytest.approx(SPEED * STRIDE / 2.0, abs=5e-3)


def test_without_forces_there_are_angles_but_no_moments() -> None:
    gait = gait_cycles(walking(forces=False))
    assert len(gait.curves["knee_angle"].left) >= 1
    assert gait.curves["knee_moment"].left.shape == (0, 101)
    assert any("no measured ground force" in note for note in gait.notes)
    assert any("from the motion" in note for note in gait.notes)
    assert np.isnan(gait.curves["knee_moment"].mean("left")).all()


def test_signs_pairs_mass_and_feet(gait: GaitCycles) -> None:
    motion = walking()
    other = gait_cycles(
        motion, signs={"hip_flexion": -1, "knee_angle": -1}, mass=50.0,
        feet={"left": "heel_l", "right": "heel_r"},
    )  # fmt: skip
    before = gait.mass / 50.0
    for name, factor in (
        ("hip_flexion_angle", -1.0), ("hip_flexion_moment", -before), ("knee_angle", -1.0),
        ("hip_flexion_power", before),
    ):  # fmt: skip
        expected = factor * gait.curves[name].left
        assert other.curves[name].left == pytest.approx(expected, abs=1e-9)
    named = gait_cycles(motion, pairs={"upper": ("hip_flexion_l", "hip_flexion_r")})
    assert np.array_equal(named.curves["upper_angle"].left, gait.curves["hip_flexion_angle"].left)


def test_events_may_be_given() -> None:
    """As of a predicted cycle, which begins and ends with a heel strike of the right foot."""
    motion, start = walking(), 0.5
    times = [(start, "right", "heel strike"), (start + 0.1, "left", "toe off"),
             (start + 0.55, "left", "heel strike"), (start + 0.7, "right", "toe off"),
             (start + STRIDE, "right", "heel strike")]  # fmt: skip
    gait = gait_cycles(motion, events=[Event(*x) for x in times])
    (cycle,) = gait.cycles
    assert (cycle.side, cycle.start, cycle.end, cycle.kinetic) == ("right", 0.5, 0.5 + STRIDE, True)
    assert gait.parameters["double support"].right == pytest.approx(100.0 * 0.25 / STRIDE)
    assert gait.parameters["step time"].right == pytest.approx(STRIDE - 0.55)
    assert "as given" in " ".join(gait.notes)
    assert len(gait.curves["knee_moment"].right) == 1
    without = gait_cycles(replace(motion, forces=()), events=[Event(*x) for x in times])
    assert len(without.curves["knee_moment"].right) == 0
    for event, message in (
        (Event(9.9, "left", "toe off"), "expected times from 0 to"),
        (Event(0.5, "links", "toe off"), "unknown side of an event"),
        (Event(0.5, "left", "step"), "unknown kind of an event"),
        ((0.5, "left", "toe off"), "expected predyn.analysis.Event"),
    ):
        with pytest.raises(InputError, match=message):
            gait_cycles(motion, events=[event])  # type: ignore[list-item]


def test_several_axes_of_a_hip() -> None:
    """Flexion comes first; the reaction is that of the joint that carries the thigh."""
    planar, model = walking(), person(hips=("rotation", "adduction", "flexion"))
    same = [model.joint_index(name) for name in planar.model.joint_names]
    q, v, moments = np.zeros((3, len(planar.t), model.n))
    for wide, narrow in ((q, planar.q), (v, planar.v), (moments, planar.moments)):
        wide[:, same] = narrow
    reactions = np.zeros((len(planar.t), model.n, 3))
    reactions[:, model.joint_index("hip_flexion_l")] = 300.0
    gait = gait_cycles(replace(planar, model=model, q=q, v=v, moments=moments, reactions=reactions))
    names = [name for name in gait.curves if name.endswith("angle")]
    assert names[:4] == [
        "hip_flexion_angle", "hip_rotation_angle", "hip_adduction_angle", "knee_angle",
    ]  # fmt: skip
    expected = np.sqrt(3.0) * 300.0 / gait.weight
    assert gait.curves["hip_reaction"].left == pytest.approx(expected)
    assert next(name for name in gait.curves if name.endswith("reaction")) == "hip_reaction"


def test_csv_holds_means_deviations_and_cycles(gait: GaitCycles) -> None:
    rows = list(csv.DictReader(io.StringIO(gait.csv())))
    assert len(rows) == 101
    column = [float(row["knee_angle_left_2"]) for row in rows]
    assert column == pytest.approx(gait.curves["knee_angle"].left[1], rel=1e-8, abs=1e-12)
    assert float(rows[7]["knee_angle_right_mean"]) == pytest.approx(
        gait.curves["knee_angle"].mean("right")[7]
    )
    assert "gait" not in gait.summary()
    assert gait.summary()["cycles"] == {"left": 2, "right": 2}


def test_what_is_no_gait_is_named() -> None:
    motion = walking(forces=False, cycles=0.6)
    with pytest.raises(InputError, match=r"no complete gait cycle.*left foot"):
        gait_cycles(motion)
    assert find_gait(motion) is None
    with pytest.raises(InputError, match="feet: expected"):
        gait_cycles(motion, feet={"left": "foot_l"})
    with pytest.raises(InputError, match="unknown link or frame of the right foot 'x'"):
        gait_cycles(motion, feet={"left": "foot_l", "right": "x"})
    with pytest.raises(InputError, match="same link"):
        gait_cycles(motion, feet={"left": "heel_l", "right": "toe_l"})
    with pytest.raises(InputError, match="unknown joint or curve of signs"):
        gait_cycles(walking(), signs={"nee": -1})
    with pytest.raises(InputError, match="expected 1 or -1, got 2"):
        gait_cycles(walking(), signs={"knee": 2})
    with pytest.raises(InputError, match="threshold: expected a number above 0 N, got -1"):
        gait_cycles(walking(), threshold=-1.0)
    with pytest.raises(InputError, match="mass: expected a number above 0 kg, got '70'"):
        gait_cycles(walking(), mass="70")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no gravity"):
        gait_cycles(replace(walking(), model=person().with_gravity((0.0, 0.0, 0.0))))
    with pytest.raises(InputError, match="expected an Estimate"):
        motion_of("walk.h5")  # type: ignore[arg-type]


def test_only_clear_walking_is_found() -> None:
    assert find_gait(walking()) is not None
    assert find_gait(walking(forces=False)) is not None
    jumping = walking()
    both = jumping.forces[0]
    jumps = replace(jumping, forces=(both, both._replace(link="foot_l")))
    assert len(gait_cycles(jumps).cycles) >= 4  # but both feet strike at once
    assert find_gait(jumps) is None
    random = np.random.default_rng(4)
    for _ in range(20):
        plain = walking(forces=False, rate=60.0)
        q = np.cumsum(0.1 * random.standard_normal(plain.q.shape), axis=0)
        assert find_gait(replace(plain, q=q, v=np.gradient(q, plain.t, axis=0))) is None


def test_a_missed_strike_is_skipped_with_a_note() -> None:
    motion = walking(cycles=5.0)
    plates = []
    for force in motion.forces:
        values = force.force.copy()
        if force.link == "foot_r":
            values[(force.t > strikes("right", 3)[1]) & (force.t < strikes("right", 3)[2])] = 0.0
        plates.append(force._replace(force=values))
    gait = gait_cycles(replace(motion, forces=tuple(plates)))
    right = [cycle for cycle in gait.cycles if cycle.side == "right"]
    assert any("kinematics" in cycle.sources for cycle in right)
    kinetic = sum(cycle.kinetic for cycle in right)
    assert len(gait.curves["knee_moment"].right) == kinetic < len(right)


def test_lengths_on_a_slope_are_along_the_ground() -> None:
    level, steep = walking(), 0.2
    gravity = -9.81 * np.array([steep, 0.0, 1.0]) / np.hypot(1.0, steep)  # x is forward
    inclined = replace(level, model=level.model.with_gravity(gravity))
    on_slope = replace(inclined, normal=np.array([0.0, 0.0, 1.0]))
    events = find_gait(level).events
    expected, along, flat = (
        gait_cycles(motion, events=events).parameters for motion in (level, on_slope, inclined)
    )
    for name in ("step length", "stride length", "walking speed"):
        assert along[name].left == pytest.approx(expected[name].left, rel=1e-12)
        assert flat[name].left != pytest.approx(expected[name].left, rel=1e-3)  # horizontally
    cost = "mechanical cost of transport"
    assert along[cost].right == pytest.approx(expected[cost].right, rel=1e-12)


def test_base_joints() -> None:
    assert base_joints(person()) == {0, 1, 2}
    assert base_joints(person().lock({"pelvis_tx": 0.0, "pelvis_ty": 1.0})) == set()
