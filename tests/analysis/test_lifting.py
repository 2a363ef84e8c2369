"""Loads of a lift: L5/S1 against sums over the upper body and the box, peaks, refusals."""

import numpy as np
import pytest

import predyn
from predicted_lift import predicted_lift
from predyn.analysis import lift_loads
from predyn.analysis.lifting import find_lift
from predyn.dynamics import frame_kinematics
from predyn.errors import InputError

STEP = 1e-4  # s, of differences: truncation and rounding are about 1e-8 of accelerations
INNER = slice(1, -1)  # forces at the ends of a discrete motion are means of half a step
SWAP = np.array([[[0, 0, 0], [0, 0, 1], [0, -1, 0]], [[0, 0, -1], [0, 0, 0], [1, 0, 0]],
                 [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]], float)  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return predicted_lift()


def above(model, link):
    """Names of the links that a link carries, itself among them, and the box."""
    carried = {model.link_names.index(link)}
    for j, up in enumerate(model.parent):
        if up in carried:
            carried.add(j)
    return [model.link_names[j] for j in carried] + ["box"]


def inertial_wrench(solution, links, point):
    """Moment about a point (K, 3) and force that move links against gravity: world axes.

    From poses alone: second differences of where every particle of a link is.
    """
    model, moment, force = solution.model, np.zeros_like(point), np.zeros_like(point)
    for name in links:
        m, *more = model.inertia[model.link_names.index(name)]
        mc, (xx, xy, yy, xz, yz, zz) = np.array(more[:3]), more[3:]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        spread = 0.5 * np.trace(inertia) * np.eye(3) - inertia  # of the mass, about the link
        earlier, now, later = (
            frame_kinematics(model, name, solution.q + d * solution.v + 0.5 * d * d * solution.a)
            for d in (-STEP, 0.0, STEP)
        )
        a = (earlier.p - 2.0 * now.p + later.p) / STEP**2 - model.gravity
        R2 = (earlier.R - 2.0 * now.R + later.R) / STEP**2
        away = now.p - point
        force += m * a + R2 @ mc
        moment += np.cross(away, m * a + R2 @ mc) + np.cross(now.R @ mc, a)
        moment += np.einsum("ijk,nja,ab,nkb->ni", SWAP, now.R, spread, R2)
    return moment, force


def test_the_lower_back_moves_the_upper_body_and_the_box(found):
    """Hands and box are joined by forces only, which the reaction must include."""
    model, loads = found.model, lift_loads(found)
    joint = frame_kinematics(model, "l5s1", found.q)
    moment, force = inertial_wrench(found, above(model, "spine1_bending"), joint.p)
    spine = frame_kinematics(model, "spine1", found.q).R[:, :, 2]
    net = np.sum(force * spine, axis=1)
    assert loads.back_force[INNER] == pytest.approx(net[INNER], abs=1e-3)
    lateral = frame_kinematics(model, "spine1_bending", found.q).R[:, :, 1]
    bending = -np.sum(moment * lateral, axis=1)
    assert loads.back_moment[INNER] == pytest.approx(bending[INNER], abs=1e-3)
    assert loads.back_moment == pytest.approx(bending, abs=10.0)
    alone, _ = inertial_wrench(found, above(model, "spine1_bending")[:-1], joint.p)
    assert np.abs(loads.back_moment + np.sum(alone * lateral, axis=1)).max() > 20.0


def test_legs_and_ground_carry_person_and_box(found):
    """Discrete equations hold in the middles of steps, here 0.17 s long: a little is left."""
    loads, model = lift_loads(found), found.model
    total = sum(loads.ground_force.values())
    links = [name for name in model.link_names if not name.startswith("global")]
    _, force = inertial_wrench(found, links, np.zeros((len(found.t), 3)))
    assert total[INNER] == pytest.approx(force[INNER, 2], abs=3.0)  # of 834 N
    for side, s in (("right", "r"), ("left", "l")):
        hip = found.tau[:, model.joint_index(f"hip_flexion_{s}")]
        assert loads.hip_moment[side][INNER] == pytest.approx(-hip[INNER], abs=5.0)  # of 131 N m


def test_muscles_compress_the_spine(found):
    loads, wide = lift_loads(found), lift_loads(found, muscle_arm=0.06)
    muscles = np.abs(loads.back_moment) / 0.05
    assert loads.compression == pytest.approx(loads.back_force + muscles)
    assert wide.compression == pytest.approx(loads.back_force + muscles * 5.0 / 6.0)
    peaks = {peak.name: peak for peak in loads.peaks()}
    assert peaks["height of the box"].value == pytest.approx(0.95)
    peak = peaks["L5/S1 extension moment"]
    assert peak.value == loads.back_moment.max()
    assert loads.back_moment[loads.t == peak.time] == peak.value
    assert f"L5/S1 extension moment {peak.value:.4g} N m" in " ".join(loads.text().split())
    assert loads.summary()["peaks"]["L5/S1 extension moment [N m]"]["largest"] == peak.value


def test_refusals(found):
    with pytest.raises(InputError, match=r"muscle_arm: expected 0\.01 to 0\.2 m, got 5"):
        lift_loads(found, muscle_arm=5)
    with pytest.raises(InputError, match="expected a Solution, got Model"):
        lift_loads(found.model)
    other = predyn.solve("two-link-lifting", verbose=False)
    with pytest.raises(InputError, match=r"human_with_box, but model .* has no link 'spine1'"):
        lift_loads(other)
    assert find_lift(other) is None
    assert find_lift(found) is not None
