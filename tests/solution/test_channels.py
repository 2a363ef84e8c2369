"""Channels of a solution by name, in every phase, against Pinocchio and energy balances."""

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

import predyn
from fake_solution import fake_solution
from loaded_solution import loaded_solution
from oracles.pinocchio_oracle import WORLD_AXES, pinocchio_model
from predyn.errors import InputError
from predyn.samples import FRAME_PARTS

CLOSE = {"rtol": 1e-11, "atol": 1e-11}  # sums of tens of numbers of size 1 to 100


@pytest.fixture(scope="module")
def solution():
    return loaded_solution()


def pinocchio_values(model, q, v, a) -> dict[str, np.ndarray]:
    """Centre of mass, momentum, energy and the last link's motion, one instant at a time."""
    robot = pinocchio_model(model)
    data = robot.createData()
    rows = []
    for x, dx, ddx in zip(q, v, a, strict=True):
        pin.centerOfMass(robot, data, x, dx, ddx)
        com = [np.array(y[0]) for y in (data.com, data.vcom, data.acom)]
        pin.computeCentroidalMomentumTimeVariation(robot, data, x, dx, ddx)
        momentum = [data.hg.linear.copy(), data.hg.angular.copy(), data.dhg.angular.copy()]
        energy = [
            [pin.computeKineticEnergy(robot, data, x, dx)],
            [pin.computePotentialEnergy(robot, data, x)],
        ]
        pin.forwardKinematics(robot, data, x, dx, ddx)
        pose, speed = data.oMi[model.n], pin.getVelocity(robot, data, model.n, WORLD_AXES)
        rate = pin.getClassicalAcceleration(robot, data, model.n, WORLD_AXES)
        frame = [pose.rotation.ravel(), pose.translation, speed.angular, speed.linear]
        frame += [rate.angular, rate.linear]
        rows.append([*com, *momentum, *energy, np.concatenate(frame)])
    names = (
        *("com", "com_velocity", "com_acceleration"),
        *("linear_momentum", "angular_momentum", "angular_momentum_rate"),
        *("kinetic_energy", "potential_energy", f"frame:{model.link_names[-1]}"),
    )
    return {name: np.array(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)}


def test_whole_body_and_frames_agree_with_pinocchio_in_every_phase(solution, tmp_path):
    """With the payload of the second phase, at the samples, also after a file."""
    solution.save(tmp_path / "a.h5")
    again = predyn.load_solution(tmp_path / "a.h5")
    for k in range(2):
        rows = solution.phase == k
        states = [solution.channel(name)[rows] for name in ("q", "v", "a")]
        for name, expected in pinocchio_values(solution.system(k).model, *states).items():
            np.testing.assert_allclose(solution.channel(name)[rows], expected, **CLOSE)
            np.testing.assert_array_equal(solution.channel(name), again.channel(name))
    assert again.channels == solution.channels


def test_external_forces_explain_the_torques(solution):
    """Torques less those without loads are -J^T (force, moment), with Pinocchio's J and torques."""
    assert {"force:tip", "force:link1", "force:link2"} <= set(solution.channels)
    for k in range(2):
        rows, model = solution.phase == k, solution.system(k).model
        robot = pinocchio_model(model)
        data = robot.createData()
        q, v, a, tau = (solution.channel(name)[rows] for name in ("q", "v", "a", "tau"))
        loads = {x: solution.channel(f"force:{x}")[rows] for x in ("tip", "link1", "link2")}
        for i in range(len(q)):
            expected = np.array(pin.rnea(robot, data, q[i], v[i], a[i]))
            pin.computeJointJacobians(robot, data, q[i])
            for name, load in loads.items():
                frame = model.frame(name)
                J = pin.getJointJacobian(robot, data, frame.link + 1, WORLD_AXES)
                arm = data.oMi[frame.link + 1].rotation @ frame.p  # from the joint to the frame
                moment = load[i, :3] + np.cross(arm, load[i, 3:])
                expected -= J.T @ np.concatenate((load[i, 3:], moment))
            np.testing.assert_allclose(tau[i], expected, **CLOSE)
    assert np.abs(loads["link2"]).max() > 1.0  # of the signal, in the last phase
    assert not solution.channel("force:link2", 0.1).any()


def test_samples_have_both_sides_of_a_phase_boundary(solution):
    last, first = np.flatnonzero(np.diff(solution.phase))[0] + (0, 1)
    assert solution.t[last] == pytest.approx(solution.t[first])
    for name in ("com", "potential_energy"):  # the payload moves the centre of mass
        sides = solution.channel(name)[[last, first]]
        assert np.abs(sides[1] - sides[0]).max() > 0.01
        # at a time, the later phase
        np.testing.assert_allclose(solution.channel(name, solution.t[first]), sides[1], rtol=1e-12)
    for name in ("q", "v", "a", "tau"):
        np.testing.assert_allclose(solution.channel(name), getattr(solution, name), atol=1e-5)
    np.testing.assert_allclose(
        solution.channel("signal:press"), solution.signals["press"], atol=1e-6
    )
    assert np.isnan(solution.channel("rate:press")[last]).all()


@pytest.mark.parametrize("model", ["cart_pole", "prismatic_revolute", "manutec_r3"])
def test_the_integral_of_power_is_the_change_of_energy(model):
    """Half a motion without friction and forces; 20 Gauss points leave rounding errors."""
    solution = fake_solution(model=getattr(predyn.models, model)())
    knots = np.unique(solution.curves[0].knots) * solution.duration
    x, w = np.polynomial.legendre.leggauss(20)
    work = 0.0
    for low, high in pairwise(knots[:4]):
        t = low + (high - low) * (x + 1.0) / 2.0
        work += (high - low) / 2.0 * w @ solution.channel("power", t).sum(axis=1)
    change = np.diff(solution.channel("energy", knots[[0, 3]])[:, 0])[0]
    assert abs(change) > 0.1
    assert work == pytest.approx(change, rel=1e-10)


def test_every_listed_channel_has_values_with_names_and_units(solution):
    t = np.array([[0.0, 0.3], [0.7, solution.duration]])
    listed = solution.channels
    for name, (components, units) in listed.items():
        values = solution.channel(name, t)
        assert values.shape == (2, 2, len(components)), name
        assert len(units) == len(components) == len(set(components)), name
        assert solution.channel(name).shape == (len(solution.t), len(components))
    families = {name.partition(":")[0] for name in listed}
    assert families >= {"q", "v", "a", "jerk", "tau", "reactions", "frame", "momentum", "com"}
    assert families >= {"energy", "power", "signal", "rate", "force", "parameter", "t"}
    assert {f"frame:{x}" for x in ("link1", "link2", "tip")} <= set(listed)
    assert listed["q"] == (("joint1", "joint2"), ("rad", "rad"))
    assert listed["rate:press"] == (("x", "y", "z"), ("N/s",) * 3)
    assert listed["parameter:stiffness"] == (("stiffness",), ("N/m",))
    frame = dict(zip(listed["frame:tip"].components, listed["frame:tip"].units, strict=True))
    assert (frame["R11"], frame["pz"], frame["alphax"]) == ("1", "m", "rad/s^2")
    assert listed["frame:tip"].components[FRAME_PARTS["w"]] == ("wx", "wy", "wz")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("positions", "unknown channel 'positions'.*channels: q, v, a, jerk, t, tau.*frame:NAME"),
        ("centre_of_mass", "channels: .*com"),
        ("frame:tool0", "unknown frame or link 'tool0'"),
        ("tip", "channels: .*frame:NAME"),
        (["q", "v"], r"channel: expected a name \(str\), got list"),
        ("parameter:", "channels: .*parameter:share"),
    ],
)
def test_unknown_channels_list_the_names(solution, name, match):
    with pytest.raises(InputError, match=match):
        solution.channel(name)


@pytest.mark.parametrize("t", ["now", [0.0, None], 5.0, np.nan, {"t": 0.1}])
def test_bad_times_say_what_is_expected(solution, t):
    with pytest.raises(InputError, match="t: expected seconds"):
        solution.channel("q", t)
