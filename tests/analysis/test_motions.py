"""Net moments and reactions against inverse dynamics, sums of momentum and statics by hand."""

from dataclasses import replace

import numpy as np
import pytest

import predyn
from analysis.walkers import SHANK, THIGH, person, sliding_person, walking, walking_estimate
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from predyn.analysis import gait_cycles, leg_lengths, motion_of
from predyn.analysis.motions import interpolated, joint_moments
from predyn.dynamics import frame_kinematics, spatial_momentum
from predyn.errors import InputError
from predyn.estimate.result import Estimate


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    return walking_estimate()


def test_joint_moments_are_torques_without_springs_and_friction() -> None:
    random = np.random.default_rng(5)
    for seed in range(6):
        model = predyn.models.random_tree(7, seed)
        q, v, a = random.standard_normal((3, 4, 7))
        plain = predyn.inverse_dynamics(model, q, v, a)
        sprung = replace(
            model, stiffness=np.full(7, 3.0), damping=np.full(7, 2.0), armature=np.full(7, 0.1)
        )
        found = joint_moments(sprung, q, predyn.joint_reactions(sprung, q, v, a))
        assert found == pytest.approx(plain, rel=1e-11, abs=1e-11 * np.abs(plain).max())


def test_moments_of_knees_that_slide_as_they_bend() -> None:
    """Against inverse dynamics in the independent coordinates."""
    random = np.random.default_rng(6)
    model = sliding_person()
    n, links = model.n, len(model.link_names)
    assert links == n + 2
    q, v, a = 0.4 * random.standard_normal((3, 5, n))
    wrenches = predyn.joint_reactions(model, q, v, a)
    tau = predyn.inverse_dynamics(model, q, v, a)
    assert joint_moments(model, q, wrenches) == pytest.approx(tau, abs=1e-11 * np.abs(tau).max())


def test_gait_cycles_of_knees_that_slide() -> None:
    plain, model = walking(), sliding_person()
    reactions = np.zeros((len(plain.t), len(model.link_names), 3))
    reactions[:, model.link_names.index("tibia_l"), 0] = 400.0
    gait = gait_cycles(replace(plain, model=model, reactions=reactions))
    assert gait.curves["knee_reaction"].left == pytest.approx(400.0 / gait.weight)
    assert gait.curves["knee_reaction"].right == pytest.approx(0.0)
    assert gait.curves["knee_angle"].left.shape == (2, 101)
    with pytest.raises(InputError, match="'knee_angle_l' slides as it turns"):
        leg_lengths(model)


def test_reactions_of_an_estimate_balance_the_momentum(estimate: Estimate) -> None:
    """The force through the first joint is what weight and plates leave of the momentum's rate."""
    model = estimate.model
    wrenches = estimate.joint_reactions()
    assert wrenches.shape == (*estimate.a.shape, 6)
    q, v = estimate.middle_states()
    whole = spatial_momentum(model, q, v, estimate.a)
    plates = sum(
        np.stack([np.interp(estimate.t_tau, f.t, x) for x in f.force.T], axis=1)
        for f in estimate.measurements.forces.values()
    )
    expected = whole.mass * (whole.acceleration - model.gravity) - plates
    assert wrenches[:, 0, 3:] == pytest.approx(expected, abs=1e-9 * whole.mass * 100.0)


def test_reactions_of_a_standing_leg_by_hand() -> None:
    """At rest on one straight leg: the plate's force less the weight below each joint."""
    base = walking_estimate()
    model, rest = base.model, np.zeros_like(base.q)
    plates = {
        name: replace(plate, force=plate.force * 0.0 + (0.0, 0.0, 500.0 * (name[0] == "r")),
                      point=plate.point * 0.0 + (0.02, -0.09, -THIGH - SHANK - 0.1))
        for name, plate in base.measurements.forces.items()
    }  # fmt: skip
    still = replace(
        base, q=rest, v=rest, a=0.0 * base.a,
        measurements=replace(base.measurements, forces=plates),
    )  # fmt: skip
    wrenches = still.joint_reactions()[3]
    for joint, below in (("ankle_angle_r", 1.0), ("knee_angle_r", 4.5), ("hip_flexion_r", 12.5)):
        wrench = wrenches[model.joint_index(joint)]
        assert wrench[3:] == pytest.approx([0.0, 0.0, 9.81 * below - 500.0], abs=1e-9)
    # about the ankle: the plate 0.02 m in front, the foot's weight 0.05 m in front; axis is -y
    moment = motion_of(still).moments[3, model.joint_index("ankle_angle_r")]
    assert moment == pytest.approx(-(500.0 * 0.02 - 9.81 * 0.05), abs=1e-9)


def test_the_motion_of_an_estimate(estimate: Estimate) -> None:
    motion = motion_of(estimate)
    assert motion.moments == pytest.approx(estimate.tau, abs=1e-9)
    assert motion.q.shape == estimate.tau.shape
    assert [force.link for force in motion.forces] == ["foot_r", "foot_l"]
    assert motion_of(motion) is motion


def test_the_motion_of_a_solution() -> None:
    for solution in (fake_solution(), loaded_solution()):
        motion = motion_of(solution)
        sample = solution.at(motion.t)
        assert np.array_equal(motion.q, sample.q)
        assert len(motion.t) >= 201
        joints = [f.link for f in motion.forces]
        assert set(joints) <= set(solution.model.frame_names)
        for force in motion.forces:
            channel = solution.channel(f"force:{force.link}", motion.t)
            assert np.array_equal(force.force, channel[:, 3:])


def test_interpolation_by_lines_and_cubics(estimate: Estimate) -> None:
    t = np.array([0.0, 1.0, 3.0])
    values = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0]])
    assert interpolated(t, values, np.array([0.5, 2.0, 9.0])).tolist() == [[1, 1], [3, 3], [4, 5]]
    motion = motion_of(estimate)
    for j in range(motion.model.n):
        assert motion.position_at(j, motion.t) == pytest.approx(motion.q[:, j])


def test_frames_of_the_person() -> None:
    place = frame_kinematics(person(), "heel_r", np.zeros(person().n)).p
    assert place == pytest.approx([-0.05, -0.09, -0.05 - THIGH - SHANK - 0.05])
