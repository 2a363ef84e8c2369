"""Postures with held points, closed loops and balance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import lifting_person as reference
from predyn import ModelBuilder
from predyn.dynamics import center_of_mass, frame_kinematics, inverse_dynamics, mass_matrix
from predyn.errors import InputError
from predyn.movements import Balance, Held, find_posture

LENGTHS = np.array([0.5, 0.4, 0.3, 0.2])
MASSES = np.array([2.0, 1.5, 1.0, 0.5])


def arm():
    """Four bars in the plane x-z with point masses in their middles."""
    builder, parent, origin = ModelBuilder("arm"), "world", (0.0, 0.0, 0.0)
    for k, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        body = {"mass": mass, "com": (0.5 * length, 0, 0), "inertia": (1e-3, 1e-3, 1e-3)}
        builder.add_link(
            f"bar{k}", parent, f"joint{k}", axis=(0, -1, 0), origin=origin, position=2.0, **body
        )
        parent, origin = f"bar{k}", (float(length), 0.0, 0.0)
    return builder.add_frame("tip", parent, origin).build()


def tip(q):
    angles = np.cumsum(q)
    return np.array([LENGTHS @ np.cos(angles), LENGTHS @ np.sin(angles)])


def com(q):
    angles = np.cumsum(q)
    ends = np.cumsum(LENGTHS * np.cos(angles))
    return MASSES @ (ends - 0.5 * LENGTHS * np.cos(angles)) / MASSES.sum()


@pytest.mark.parametrize("place", [(0.6, 0.7), (0.2, 0.4), (-0.3, 0.8)])
def test_an_arm_against_formulas_and_a_general_solver(place):
    """The arm of four bars has a formula; the last place needs a joint at its limit."""
    wish, weight, x = np.array([0.4, 0.5, 0.3, 0.2]), 3.0, 0.3
    spread = np.array([1.0, 0.5, 0.8, 2.0])
    held = [Held("tip", (place[0], None, place[1])), Held("tip", (None, 0.0, place[1]))]
    found = find_posture(arm(), wish, held, balance=Balance(x, 0.0, weight), spread=spread)
    assert found.holds
    assert tip(found.q) == pytest.approx(place, abs=1e-11)

    def cost(q):
        return 0.5 * np.sum(((q - wish) / spread) ** 2) + 0.5 * (weight * (com(q) - x)) ** 2

    rows = {"type": "eq", "fun": lambda q: tip(q) - place}
    best = minimize(
        cost, found.q, method="SLSQP", bounds=[(-2.0, 2.0)] * 4, constraints=rows,
        options={"ftol": 1e-14, "maxiter": 200},
    )  # fmt: skip
    assert best.success
    assert found.q == pytest.approx(best.x, abs=2e-4)
    assert cost(found.q) == pytest.approx(best.fun, rel=1e-6)
    assert np.abs(found.q).max() <= 2.0


def test_given_joints_stay_and_what_is_out_of_reach_does_not_hold():
    found = find_posture(arm(), np.zeros(4), [Held("tip", (0.9, None, None))], {"joint1": 0.7})
    assert found.holds
    assert found.q[1] == 0.7
    far = find_posture(arm(), np.zeros(4), [Held("tip", (3.0, None, 0.0))])
    assert not far.holds
    assert far.gap > 1.5
    free = find_posture(arm(), np.full(4, 0.1))
    assert free.holds
    assert free.q == pytest.approx(np.full(4, 0.1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preferred": np.zeros(3)}, "preferred"),
        ({"preferred": np.full(4, np.nan)}, "preferred"),
        ({"preferred": np.zeros((2, 4))}, r"preferred: expected one posture \(4,\), got \(2, 4\)"),
        ({"spread": np.zeros(4)}, "spread: expected numbers above 0, got 0"),
        ({"held": [Held("tips", (1.0, None, None))]}, "tip"),
        ({"given": {"joint9": 1.0}}, "joint9"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        find_posture(arm(), **{"preferred": np.zeros(4), **arguments})


# -- the person of the reference lift ------------------------------------------------------------

# at q_j = c sin(j + 1) within limits, v_j = cos j, a_j = sin 2j: trace of M, v M v, |torques|
NUMBERS = {
    0.0: (343.48895971765637, 122.1435251762765, 699.7125285287904),
    0.1: (344.8657614230117, 122.1017214629822, 696.4624995376731),
    0.3: (347.6532546105187, 123.99726424838222, 689.9765990065042),
}
POSES = {  # six postures of the reference, right side
    "pelvis_0": (-0.30399, -0.28203, -0.21703, -0.06821, 0.02369, 0.07541),
    "pelvis_2": (0.53485, 0.70468, 0.93717, 0.96905, 0.95150, 0.92073),
    "pelvis_4": (0.70732, 0.65525, 0.61545, 0.04269, -0.31545, -0.48403),
    "spine1_0": (0.16602, 0.12590, 0.04618, 0.00559, -0.01375, -0.02403),
    "spine6_0": (-0.00920, -0.00423, 0.00496, 0.01092, 0.02621, 0.03497),
    "upper_arm_r_0": (-1.33314, -1.11567, -0.73473, -0.40261, -0.79662, -1.40545),
    "forearm_r_0": (-0.35981, -0.54272, -0.87023, -1.10885, -1.14941, -0.63945),
    "hand_r_0": (-0.01457, 0.00532, 0.06769, 0.02273, -0.08041, -0.01840),
    "thigh_r_0": (-2.24471, -1.79266, -0.99033, -0.20924, 0.23180, 0.40000),
    "shank_r_0": (1.86896, 1.43227, 0.28375, 0.30678, 0.41672, 0.57629),
    "foot_r_0": (-0.33174, -0.29577, 0.09072, -0.14042, -0.33316, -0.49236),
}


@pytest.mark.parametrize("c", NUMBERS)
def test_the_reference_person_has_the_reference_dynamics(c):
    model, j = reference.lifting_person(), np.arange(108.0)
    q = np.clip(c * np.sin(j + 1.0), *model.limits.position.T)
    v, a = np.cos(j), np.sin(2.0 * j)
    M = mass_matrix(model, q)
    found = M.trace(), v @ M @ v, np.linalg.norm(inverse_dynamics(model, q, v, a))
    assert found == pytest.approx(NUMBERS[c], rel=1e-13)
    assert (model.limits.effort[:, 1] > 0.0).sum() == 96


def test_reference_postures():
    """Near those of the reference, which holds its points and the box by penalties first."""
    model, found = reference.lifting_person(), reference.poses()
    low, high = model.limits.position.T
    for k, (posture, (x, z, _)) in enumerate(zip(found, reference.WAY, strict=True)):
        q = posture.q
        assert posture.gap < 1e-11
        assert (q >= low).all()
        assert (q <= high).all()
        assert q[-6:] == pytest.approx([x, 0.0, z, 0.0, 0.0, 0.0], abs=1e-15)
        for frame, place in reference.FEET.items():
            sole = frame_kinematics(model, frame, q)
            assert sole.p == pytest.approx(place, abs=1e-11)
            assert np.abs(sole.R - np.eye(3)).max() < 1e-10
        assert np.abs(center_of_mass(model, q)[:2]).max() < 0.08
        ours = [q[model.joint_index(name)] for name in POSES]
        assert ours == pytest.approx([row[k] for row in POSES.values()], abs=1e-3)
