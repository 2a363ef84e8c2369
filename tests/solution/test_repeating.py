"""Cyclic motions and their continuation; ground forces for OpenSim."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from fake_solution import fake_solution
from predicted_walk import predicted_step, unsolved_person
from predyn.errors import FileError, InputError
from predyn.kernels.forces import ExternalForce
from predyn.solution import Solution
from predyn.solution.ground import feet_of, ground_loads


@pytest.fixture(scope="module")
def step() -> Solution:
    return predicted_step()


@pytest.fixture(scope="module")
def person() -> Solution:
    return unsolved_person()  # the image of a motion is exact whatever the motion is


def test_the_summary_adds_up_costs_over_phases(step):
    rows = [line.split() for line in str(step).splitlines() if line.startswith("  ")]
    names = [name for name, _ in rows]
    assert names == ["effort", "smoothness", "contact_force_rate"]
    assert "flat: effort" in step.costs
    assert sum(float(value) for _, value in rows) == pytest.approx(step.objective, rel=1e-7)


def test_a_solution_knows_its_cycle_and_ground(step, tmp_path):
    assert step.cycle is not None
    assert step.cycle.advance == (0.6, 0.0, 0.0)
    assert step.cycle.image("left_knee") == "right_knee"
    assert step.cycle.mirrored
    assert step.ground == (0.8, "pyramid", 0.0, 0.0, ())
    step.save(tmp_path / "step.h5")
    again = predyn.load_solution(tmp_path / "step.h5")
    assert again.cycle == step.cycle
    assert again.ground == step.ground
    checks = again.verification
    assert checks.base.force == step.verification.base.force
    assert checks.replay.restart == 0.05


def test_two_steps_are_smooth_and_two_strides_return(step):
    stride = step.repeated(2)
    assert stride.duration == pytest.approx(2.0 * step.duration)
    assert stride.phase_names == step.phase_names * 2
    near = stride.at(step.duration + np.array([-1e-9, 1e-9]))
    for channel, most in (("q", 1e-7), ("v", 1e-6), ("tau", 1e-4)):
        assert np.ptp(getattr(near, channel), axis=0).max() < most
    t = np.linspace(0.0, 0.49, 11)
    moved = step.repeated(3).at(t + 2.0 * step.duration).q - step.at(t).q
    assert moved == pytest.approx(np.tile([1.2, *np.zeros(8)], (11, 1)), abs=1e-12)
    assert stride.cycle.advance == pytest.approx((1.2, 0.0, 0.0))
    assert not stride.cycle.mirrored
    assert len(stride.t) == len(stride.q) == len(stride.signals["left_heel"]) == 2 * len(step.t)


def test_the_image_of_a_person_obeys_the_same_dynamics(person):
    """Torques come from inverse dynamics of the reflected motion and forces."""
    names, cycle = person.model.joint_names, person.cycle
    image = [person.model.joint_index(cycle.image(name)) for name in names]
    signs = np.array([cycle.signs.get(x, cycle.signs.get(cycle.image(x), 1.0)) for x in names])
    assert (signs < 0.0).sum() > 5
    t = np.linspace(0.0, 0.99 * person.duration, 7)
    both = person.repeated(2)
    first, second = person.at(t), both.at(t + person.duration)
    for channel in ("v", "a", "tau"):
        expected = signs * getattr(first, channel)[:, image]
        size = np.abs(expected).max()
        assert np.abs(getattr(second, channel) - expected).max() < 1e-10 * size
    loads = ground_loads(person, t), ground_loads(both, t + person.duration)
    right, left = loads[0][0], loads[1][1]
    assert (right.sole.name, left.sole.name) == ("rearfoot_r", "rearfoot_l")
    assert left.force == pytest.approx(right.force * (1.0, -1.0, 1.0), abs=1e-9)
    assert left.moment == pytest.approx(-right.moment, abs=1e-7)
    assert (left.pressure - right.pressure * (1.0, -1.0, 1.0))[:, 1] == pytest.approx(0.0, abs=1e-9)


def test_pressure_and_free_moment_replace_the_forces_at_the_points(person):
    """The same joint torques follow from one force on each foot."""
    t = np.linspace(0.0, person.duration, 9)
    sample = person.at(t)
    forces = []
    for load in ground_loads(person, t):
        moment = load.moment[:, None] * (0.0, 0.0, 1.0)
        arm = np.nan_to_num(load.pressure)  # about the origin of the world
        origin = predyn.dynamics.frame_kinematics(person.model, load.sole.link, sample.q).p
        moment = moment + np.cross(arm - origin, load.force)
        forces.append(ExternalForce(load.sole.link, load.force, moment))
    tau = predyn.inverse_dynamics(person.model, sample.q, sample.v, sample.a, forces=forces)
    legs = [j for j, name in enumerate(person.model.joint_names) if "forefoot" not in name]
    assert tau[:, legs] == pytest.approx(sample.tau[:, legs], abs=1e-7)


def test_feet_are_links_with_what_they_carry(person):
    right, left = feet_of(person.model)
    assert right.points == ("heel_r", "ball_medial_r", "ball_lateral_r", "toe_r")
    assert left.link == "rearfoot_l"


def test_only_cyclic_motions_are_repeated(step):
    with pytest.raises(InputError, match="is not cyclic: its problem states no cycle"):
        fake_solution().repeated(2)
    for count in (0, 1.5, True, "2", 10**6):
        with pytest.raises(InputError, match="count: expected a whole number from 1"):
            step.repeated(count)
    assert step.repeated(1) is step


def test_damaged_cycles_are_refused(step, tmp_path):
    for change in (
        {"swap": {"left_hip": "nobody"}},
        {"swap": {"left_hip": "left_sole"}},
        {"signs": {"left_heel": -1.0}},
        {"signs": {"left_hip": 2.0}},
        {"advance": (np.nan, 0.0, 0.0)},
        {"mirror": "z"},
    ):
        bad = replace(step, cycle=step.cycle._replace(**change))
        bad.save(tmp_path / "bad.h5")
        with pytest.raises(FileError, match="cycle/"):
            predyn.load_solution(tmp_path / "bad.h5")
    replace(step, ground=step.ground._replace(friction=-1.0)).save(tmp_path / "bad.h5")
    with pytest.raises(FileError, match="ground/friction"):
        predyn.load_solution(tmp_path / "bad.h5")


def test_ground_forces_are_read_back(person, tmp_path):
    forces, loads = tmp_path / "grf.mot", tmp_path / "loads.xml"
    both = person.repeated(2)
    both.export_forces(forces, rate=100.0, loads=loads)
    text = forces.read_text(encoding="utf-8")
    assert "rotated by -90 degrees about x" in text.partition("endheader")[0]
    assert "ground_force_rearfoot_r_vx" in text
    recording = predyn.load_measurements(forces, axes="x-zy")
    named = predyn.load_external_loads(loads)
    assert named.links == {"ground_rearfoot_r": "rearfoot_r", "ground_rearfoot_l": "rearfoot_l"}
    assert named.data == str(forces)
    for load in ground_loads(both, recording.t):
        found = recording.forces[f"ground_{load.sole.name}"]
        assert np.array_equal(found.force, load.force)
        assert np.array_equal(found.moment[:, 2], load.moment)
        assert np.array_equal(found.point[load.touching], load.pressure[load.touching])
        assert np.isfinite(found.point).all()


def test_forces_need_contacts_and_a_storage_file(step, tmp_path):
    with pytest.raises(InputError, match="has no contacts"):
        fake_solution().export_forces(tmp_path / "grf.mot")
    with pytest.raises(InputError, match=r"expected a file that ends in \.mot or \.sto"):
        step.export_forces(tmp_path / "grf.csv")
    with pytest.raises(InputError, match=r"expected a file that ends in \.xml"):
        step.export_forces(tmp_path / "grf.mot", loads=tmp_path / "a.mot")
    assert not list(tmp_path.iterdir())
