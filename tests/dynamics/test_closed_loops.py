"""Closed loops: equations, closed poses and dynamics, against Pinocchio and closed forms."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import qr

import predyn
from closed_mechanisms import (
    FOUR_BAR_POSE,
    MECHANISMS,
    bennett,
    bennett_pose,
    four_bar,
    random_mechanism,
)
from coupled_trees import coupled_tree
from oracles.pinocchio_oracle import WORLD_AXES, pinocchio_forces, pinocchio_model, placement_of
from predyn import ExternalForce, Frame, Loop, Model, ModelBuilder
from predyn.dynamics import (
    closed_forward_dynamics,
    closed_inverse_dynamics,
    forward_dynamics,
    independent_equations,
    inverse_dynamics,
    loop_equations,
    mass_matrix,
    project_velocities,
)
from predyn.dynamics.kinematics import FRAME_MOTION, target_of
from predyn.errors import InputError, ModelError, NotConverged
from predyn.model.loops import loop_gap, loop_values

EPS = float(np.finfo(float).eps)
SAMPLES = 3


@cache
def mechanism(seed: int) -> tuple[Model, np.ndarray, np.ndarray, np.ndarray]:
    """A random mechanism with closed states q, v and torques (SAMPLES, n)."""
    model, q = random_mechanism(seed)
    random = np.random.default_rng([seed, 6])
    start = q + 0.05 * random.standard_normal((SAMPLES, model.n))
    start[0] = q
    q = predyn.close_loops(model, start)
    v = project_velocities(model, q, random.standard_normal((SAMPLES, model.n)))
    return model, q, v, random.standard_normal((SAMPLES, model.n))


def assert_close(got: np.ndarray, expected: np.ndarray, relative: float, size: float = 1.0) -> None:
    scale = max(float(np.abs(expected).max(initial=0.0)), size)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=relative * scale)


# -- equations ----------------------------------------------------------------------------------


def values_on_complex(model: Model, loop: Loop, q: np.ndarray) -> np.ndarray:
    poses = []
    for frame in (loop.frame_a, loop.frame_b):
        view, zero = FRAME_MOTION.view(model), np.zeros_like(q)
        target = target_of(model, frame, (0.0, 0.0, 0.0))
        R, p, *_ = FRAME_MOTION.plain(view, target, (q, zero, zero), np.complex128)
        poses += [R.reshape(-1, 3, 3), p]
    return loop_values(loop, *poses)


@pytest.mark.parametrize("seed", range(MECHANISMS))
def test_jacobian_and_bias(seed: int) -> None:
    model, q, v, _ = mechanism(seed)
    q = q + 0.3  # anywhere, not only where loops are closed
    found = loop_equations(model, q, v)
    assert len(found.names) == found.values.shape[-1]
    columns = []
    for k in range(model.n):
        x = q.astype(complex)
        x[:, k] += 1e-40j
        parts = [values_on_complex(model, loop, x) for loop in model.loops]
        columns.append(np.concatenate(parts, axis=-1).imag / 1e-40)
    expected = np.stack(columns, axis=-1)
    assert_close(found.jacobian, expected, 64.0 * np.sqrt(model.n) * EPS)
    h = EPS ** (1 / 3)
    rates = [
        np.einsum("bij,bj->bi", loop_equations(model, q + s * h * v).jacobian, v) for s in (1, -1)
    ]
    size = float(np.abs(found.jacobian).max() * np.abs(v).max() ** 3)
    assert_close(found.bias, (rates[0] - rates[1]) / (2.0 * h), 8.0 * EPS ** (2 / 3), size)


def test_batches_and_selected_loops() -> None:
    model, q, v, _ = mechanism(3)
    assert [loop.kind for loop in model.loops] == ["distance", "point"]
    found = loop_equations(model, q, v[0])
    assert found.names == ("distance0 distance", "point1 x", "point1 y", "point1 z")
    assert (found.values.shape, found.jacobian.shape) == ((SAMPLES, 4), (SAMPLES, 4, model.n))
    one = loop_equations(model, q[1], v[0])
    np.testing.assert_array_equal(one.jacobian, found.jacobian[1])
    np.testing.assert_array_equal(one.bias, found.bias[1])
    part = loop_equations(model, q, v[0], loops="point1")
    np.testing.assert_array_equal(part.values, found.values[:, 1:])
    none = loop_equations(predyn.models.two_link(), np.zeros((4, 2)))
    assert (none.values.shape, none.jacobian.shape, none.names) == ((4, 0), (4, 0, 2), ())
    with pytest.raises(InputError, match=r"loop of model .*point.*did you mean 'point1'"):
        loop_equations(model, q, loops=["point"])
    with pytest.raises(InputError, match="q: expected finite"):
        loop_equations(model, np.full(model.n, np.nan))
    with pytest.raises(InputError, match="q: expected shape"):
        loop_equations(model, q[:, :-1])


def test_independent_equations() -> None:
    model = four_bar()
    q = predyn.close_loops(model, FOUR_BAR_POSE)
    found = independent_equations(model, q)
    assert found.names == ("pin x", "pin y")
    assert found.dropped_names == ("pin z", "pin tilt x", "pin tilt y")
    assert (found.kept.tolist(), found.dropped.tolist()) == ([0, 1], [2, 3, 4])
    twice = model.with_loop("again", "point", "rocker end", "coupler end")
    assert independent_equations(twice, q).names == ("pin x", "pin y")
    # stretched out, the x equation is lost, but not at the other pose
    flat = np.array([[0.0, 0.0, np.pi], q])
    assert "pin x" not in independent_equations(model, flat[0]).names
    assert independent_equations(model, flat).names == ("pin x", "pin y")
    moving = bennett()
    pose = bennett_pose(1.0)
    assert np.abs(loop_equations(moving, pose).values).max() < 1e-14
    assert len(independent_equations(moving, pose).kept) == 2
    assert independent_equations(predyn.models.two_link(), (0.0, 0.0)).names == ()
    for seed in range(MECHANISMS):
        other, poses, _, _ = mechanism(seed)
        kept = independent_equations(other, poses)
        jacobian = loop_equations(other, poses).jacobian
        ranks = np.linalg.matrix_rank(jacobian, tol=1e-7 * np.linalg.norm(jacobian, 2, (1, 2)))
        assert len(kept.kept) == ranks.max()


# -- closed poses -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(MECHANISMS))
def test_perturbed_poses_are_closed(seed: int) -> None:
    model, q = random_mechanism(seed)
    noise = 0.1 * np.random.default_rng(seed).standard_normal((5, 2, model.n))
    found = predyn.close_loops(model, q + noise)
    assert found.shape == noise.shape
    assert np.abs(loop_equations(model, found).values).max() <= 1e-12
    for loop in model.loops:
        poses = []
        for frame in (loop.frame_a, loop.frame_b):
            pose = predyn.dynamics.frame_kinematics(model, frame, found)
            poses += [pose.R, pose.p]
        gap = loop_gap(loop, *poses)
        assert gap.largest.max() < 1e-11
    # q itself is closed: a pose much farther away is not near
    moved = np.linalg.norm(found - q - noise, axis=-1)
    assert (moved <= 1.5 * np.linalg.norm(noise, axis=-1)).all()


def test_held_joints_and_limits() -> None:
    model = four_bar(position=(0.0, 3.0))
    q = predyn.close_loops(model, FOUR_BAR_POSE, hold="motor")
    assert q[0] == 0.5
    # the triangle of crank end, rocker end and pivot, by the law of cosines
    A = 0.3 * np.array([np.cos(0.5), np.sin(0.5)])
    d = np.linalg.norm(A - (1.0, 0.0))
    inner = np.arccos((d**2 + 0.7**2 - 0.9**2) / (2 * d * 0.7))
    base = np.arctan2(A[1], A[0] - 1.0)
    assert min(abs(q[2] - base + s * inner) for s in (1, -1)) < 1e-12
    stopped = predyn.close_loops(model, (3.2, 0.0, 1.6))  # starts outside: not moved further
    assert stopped[0] <= 3.2
    both = four_bar(position=(0.4, 0.6)).with_limits(position={"pivot": (0.0, 0.2)})
    with pytest.raises(NotConverged, match=r"loop 'pin' is open by .* pivot at a position limit"):
        predyn.close_loops(both, (0.5, 0.2, 0.1))
    with pytest.raises(NotConverged, match=r"loop 'pin' .* with motor, pivot held"):
        predyn.close_loops(model, FOUR_BAR_POSE, hold=["motor", "pivot"])
    with pytest.raises(InputError, match="unknown joint 'moto'"):
        predyn.close_loops(model, FOUR_BAR_POSE, hold="moto")
    with pytest.raises(InputError, match="hold: expected names of joints, got 3"):
        predyn.close_loops(model, FOUR_BAR_POSE, hold=3)
    with pytest.raises(NotConverged, match=r"loop 'pin' .* at sample \(1,\)"):
        predyn.close_loops(model, [q, FOUR_BAR_POSE], hold=["motor", "pivot"])
    with pytest.raises(NotConverged, match=r"loop 'pin' is open by 2\.\d* m .*check the lengths"):
        predyn.close_loops(model.with_length("rocker", 5.0), q)


def test_overconstrained_loops_close() -> None:
    model = bennett()
    start = bennett_pose(0.8) + [0.1, -0.1, 0.05]
    q = predyn.close_loops(model, start)
    assert np.abs(loop_equations(model, q).values).max() <= 1e-12
    assert np.abs(q - bennett_pose(q[0])).max() < 1e-6


def test_false_roots_are_found_out() -> None:
    body = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    flap = ModelBuilder("flap").add_link("flap", joint="hinge", axis=(0, 1, 0), **body)
    for kind in ("weld", "hinge"):
        model = flap.build().with_loop("shut", kind, "flap", "world")
        assert predyn.close_loops(model, [0.4]) == pytest.approx([0.0], abs=1e-12)
        with pytest.raises(NotConverged, match=r"'shut' is open by 0 m and 3\.14 rad .*false root"):
            predyn.close_loops(model, [3.0])
        with pytest.raises(InputError, match=r"q: loop 'shut' is open by 0 m and 3\.14 rad"):
            closed_forward_dynamics(model, [np.pi], [0.0], [0.0])


def test_velocities_are_projected() -> None:
    model = four_bar()
    q = predyn.close_loops(model, FOUR_BAR_POSE, hold="motor")
    v = project_velocities(model, q, [2.0, 0.0, 0.0], hold="motor")
    h = 1e-5
    ends = [predyn.close_loops(model, q + s * h * v, hold="motor") for s in (1, -1)]
    assert v[0] == 2.0
    np.testing.assert_allclose(v, (ends[0] - ends[1]) / (2 * h), atol=1e-8)
    again = project_velocities(model, q, v)
    np.testing.assert_allclose(again, v, atol=1e-14)
    free = project_velocities(model, q, [2.0, 0.0, 0.0])
    assert np.linalg.norm(free - [2, 0, 0]) < np.linalg.norm(v - [2, 0, 0])
    with pytest.raises(InputError, match=r"with motor, pivot held the loops cannot follow"):
        project_velocities(model, q, [2.0, 0.0, 0.0], hold=["motor", "pivot"])


# -- dynamics -----------------------------------------------------------------------------------


class Twin:
    """The mechanism in Pinocchio, with equations written in axes of frame b."""

    def __init__(self, model: Model, forces: tuple[ExternalForce, ...] = ()) -> None:
        self.model, self.forces = model, forces
        self.twin = pinocchio_model(model)
        self.frames = {}
        for loop in model.loops:
            for name in (loop.frame_a, loop.frame_b):
                joint, pose = placement_of(model, name, (0, 0, 0))
                kind = pin.FrameType.OP_FRAME
                self.frames[name] = self.twin.addFrame(pin.Frame(name, joint, 0, pose, kind))
        self.data = self.twin.createData()

    def kkt(self, q, v, tau, sample=0):
        """Accelerations and the loops' generalised forces, by dense least squares."""
        twin, data = self.twin, self.data
        pin.forwardKinematics(twin, data, q, v, np.zeros(twin.nv))
        pin.computeJointJacobians(twin, data, q)
        pin.updateFramePlacements(twin, data)
        rows, bias = [], []
        for loop in self.model.loops:
            a, b = (self._frame(name) for name in (loop.frame_a, loop.frame_b))
            J, acceleration = a["J"] - b["J"], a["a"] - b["a"]
            apart, speed = a["p"] - b["p"], a["v"][:3] - b["v"][:3]
            if loop.kind == "distance":
                rows.append(apart[None] @ J[:3])
                bias.append([apart @ acceleration[:3] + speed @ speed])
                continue
            rows.append(J[:3])
            bias.append(acceleration[:3])
            count = {"point": 0, "hinge": 2, "weld": 3}[loop.kind]
            spin = a["v"][3:] - b["v"][3:]
            swing = acceleration[3:] - np.cross(b["v"][3:], spin)
            rows.append((b["R"].T @ J[3:])[:count])
            bias.append((b["R"].T @ swing)[:count])
        A, b = np.concatenate(rows), np.concatenate(bias)
        fext = pinocchio_forces(self.model, data, self.forces, sample)
        M = pin.crba(twin, data, q).copy()
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.rnea(twin, data, q, v, np.zeros(twin.nv), fext)
        free = np.linalg.solve(M, tau - h)
        inverse = np.linalg.inv(M)
        force = A.T @ np.linalg.pinv(A @ inverse @ A.T, rcond=1e-13) @ (-b - A @ free)
        return free + inverse @ force, force

    def _frame(self, name):
        index = self.frames[name]
        return {
            "J": pin.getFrameJacobian(self.twin, self.data, index, WORLD_AXES),
            "p": self.data.oMf[index].translation,
            "R": self.data.oMf[index].rotation,
            "v": pin.getFrameVelocity(self.twin, self.data, index, WORLD_AXES).vector,
            "a": pin.getFrameClassicalAcceleration(self.twin, self.data, index, WORLD_AXES).vector,
        }

    def constraint_dynamics(self, q, v, tau):
        """Pinocchio's own constrained dynamics, for points and welds."""
        kinds = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}
        constraints = pin.StdVec_RigidConstraintModel()
        for loop in self.model.loops:
            (i, at_i), (j, at_j) = (
                placement_of(self.model, name, (0, 0, 0)) for name in (loop.frame_a, loop.frame_b)
            )
            constraints.append(
                pin.RigidConstraintModel(
                    kinds[loop.kind], self.twin, i, at_i, j, at_j, pin.ReferenceFrame.LOCAL
                )
            )
        data = pin.StdVec_RigidConstraintData()
        for constraint in constraints:
            data.append(constraint.createData())
        pin.initConstraintDynamics(self.twin, self.data, constraints, data)
        settings = pin.ProximalSettings(1e-14, 1e-14, 1e-10, 100)
        return pin.constraintDynamics(
            self.twin, self.data, q, v, tau, constraints, data, settings
        ).copy()


@pytest.mark.parametrize("seed", range(MECHANISMS))
def test_forward_dynamics_agree_with_pinocchio(seed: int) -> None:
    model, q, v, tau = mechanism(seed)
    random = np.random.default_rng([seed, 8])
    link = model.link_names[int(random.integers(model.n))]
    push, moment = random.standard_normal((2, SAMPLES, 3))
    forces = (ExternalForce(link, push, moment[0], random.standard_normal(3)),)
    found = closed_forward_dynamics(model, q, v, tau, forces=forces)
    plain = closed_forward_dynamics(model, q, v, tau)
    twin = Twin(model, forces)
    jacobian = loop_equations(model, q, v).jacobian
    for k in range(SAMPLES):
        a, force = twin.kkt(q[k], v[k], tau[k], k)
        assert_close(found.a[k], a, 1e-8)
        assert_close(jacobian[k].T @ found.multipliers[k], force, 1e-8)
        if {loop.kind for loop in model.loops} <= {"point", "weld"}:
            assert_close(plain.a[k], twin.constraint_dynamics(q[k], v[k], tau[k]), 1e-8)


@pytest.mark.parametrize("model", [four_bar(), bennett()], ids=lambda x: x.name)
def test_redundant_loops_agree_with_pinocchio(model: Model) -> None:
    start = FOUR_BAR_POSE if model.name == "four-bar" else bennett_pose(0.9)
    q = predyn.close_loops(model, start)
    v = project_velocities(model, q, [1.5, 0.3, -0.2])
    tau = np.array([2.0, -1.0, 0.5])
    a, _ = Twin(model).kkt(q, v, tau)
    found = closed_forward_dynamics(model, q, v, tau)
    assert_close(found.a, a, 1e-8)
    # least norm: equations that follow from others get no more than their share
    jacobian = loop_equations(model, q).jacobian
    smallest = np.linalg.pinv(jacobian.T, rcond=1e-9) @ (jacobian.T @ found.multipliers)
    np.testing.assert_allclose(found.multipliers, smallest, atol=1e-8)


@pytest.mark.parametrize("seed", range(MECHANISMS))
def test_inverse_dynamics_undo_forward_dynamics(seed: int) -> None:
    model, q, v, tau = mechanism(seed)
    a = closed_forward_dynamics(model, q, v, tau).a
    found = closed_inverse_dynamics(model, q, v, a)
    jacobian = loop_equations(model, q).jacobian
    for k in range(SAMPLES):
        # the least torque with this motion: no part that loops could carry
        P = np.linalg.pinv(jacobian[k], rcond=1e-9) @ jacobian[k]
        assert_close(found.tau[k], tau[k] - P @ tau[k], 1e-7)
        again = closed_forward_dynamics(model, q[k], v[k], found.tau[k])
        assert_close(again.a, a[k], 1e-7)
    rank = len(independent_equations(model, q).kept)
    open_joints = [j for j in range(model.n) if not np.abs(jacobian[:, :, j]).max() > 1e-9]
    in_loops = [j for j in range(model.n) if j not in open_joints]
    motors = _regular_motors(jacobian[0], in_loops, len(in_loops) - rank) + open_joints
    if len(motors) < model.n:
        names = [model.joint_names[j] for j in sorted(motors)]
        some = closed_inverse_dynamics(model, q[0], v[0], a[0], actuated=names)
        mask = np.isin(model.joint_names, names)
        same = closed_inverse_dynamics(model, q[0], v[0], a[0], actuated=mask)
        np.testing.assert_array_equal(some.tau, same.tau)
        assert (some.tau[~mask] == 0.0).all()
        assert_close(closed_forward_dynamics(model, q[0], v[0], some.tau).a, a[0], 1e-6)


def _regular_motors(jacobian: np.ndarray, joints: list[int], count: int) -> list[int]:
    """The joints that move most freely, whose motors determine the motion."""
    _, _, columns = qr(jacobian[:, joints], pivoting=True)
    return [joints[k] for k in columns[len(joints) - count :]]


def test_redundant_motors_share_the_least_torque() -> None:
    model = four_bar()
    q = predyn.close_loops(model, FOUR_BAR_POSE)
    v = project_velocities(model, q, [1.0, 0.0, 0.0])
    a, _ = closed_forward_dynamics(model, q, v, [3.0, 0.0, 0.0])
    one = closed_inverse_dynamics(model, q, v, a, actuated="motor")
    np.testing.assert_allclose(one.tau, [3.0, 0.0, 0.0], atol=1e-12)
    two = closed_inverse_dynamics(model, q, v, a, actuated=["motor", "pivot"])
    all_joints = closed_inverse_dynamics(model, q, v, a)
    sizes = [np.linalg.norm(x.tau) for x in (one, two, all_joints)]
    assert sizes[0] > sizes[1] > sizes[2]
    # of the torques that do the same work, tau.v, the least is along the motion of the motors
    w = project_velocities(model, q, [1.0, 0.0, 0.0]) * [1, 0, 1]
    np.testing.assert_allclose(two.tau, 3.0 * v[0] * w / (w @ v), atol=1e-12)
    for tau in (two.tau, all_joints.tau):
        np.testing.assert_allclose(closed_forward_dynamics(model, q, v, tau).a, a, atol=1e-11)


def test_models_without_loops_are_open_trees() -> None:
    model = predyn.models.two_link()
    q, v, tau = np.random.default_rng(0).standard_normal((3, 4, 2))
    a, multipliers = closed_forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(a, forward_dynamics(model, q, v, tau), rtol=1e-12)
    assert multipliers.shape == (4, 0)
    found = closed_inverse_dynamics(model, q, v, a)
    np.testing.assert_allclose(found.tau, inverse_dynamics(model, q, v, a), rtol=1e-12)
    with pytest.raises(InputError, match=r"joint 'joint2' has no motor, .* unbalanced"):
        closed_inverse_dynamics(model, q, v, a, actuated=["joint1"])


def test_coupled_joints_in_loops() -> None:
    """The same motion as of the tree with the couplings as further equations."""
    model = coupled_tree(3)
    random = np.random.default_rng(1)
    last = len(model.parent) - 1
    frame = Frame("end", last, np.eye(3), random.standard_normal(3))
    q = random.uniform(-0.5, 0.5, model.n)
    p = predyn.dynamics.frame_kinematics(replace(model, frames=(frame,)), "end", q).p
    model = replace(model, frames=(frame, Frame("wall", -1, np.eye(3), p)))
    model = model.with_loop("ball", "point", "end", "wall")
    v = project_velocities(model, q, random.standard_normal(model.n))
    tau = random.standard_normal(model.n)
    a, multipliers = closed_forward_dynamics(model, q, v, tau)
    loop = loop_equations(model, q, v)
    assert_close(loop.jacobian @ a, -loop.bias, 1e-10)
    M, h = mass_matrix(model, q), inverse_dynamics(model, q, v, 0 * v)
    assert_close(M @ a + h, tau + loop.jacobian.T @ multipliers, 1e-10)
    step = 1e-6
    ends = [loop_equations(model, q + s * step * v).values for s in (1, -1)]
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), 0.0, atol=1e-8)


REFUSED = {
    "open": ({"q": (0.5, 0.3, 1.6)}, r"q: loop 'pin' is open by 0\.\d+ m .*predyn.close_loops"),
    "rates": ({"v": (1.0, 1.0, 1.0)}, r"v: opens the loops: equation 'pin x' .*project_velocities"),
    "nan": ({"v": (np.nan, 1.0, 1.0)}, "v: expected finite numbers, got nan"),
    "shape": ({"v": (1.0, 1.0)}, r"v: expected shape \(..., 3\)"),
    "loops": ({"loops": "pen"}, "did you mean 'pin'"),
    "tolerance": ({"tolerance": "1e-6"}, "tolerance: expected a number above 0, got .1e-6."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_named(case: str) -> None:
    model = four_bar()
    changes, message = REFUSED[case]
    q = predyn.close_loops(model, FOUR_BAR_POSE)
    given = {"q": q, "v": np.zeros(3)} | changes
    with pytest.raises(InputError, match=message):
        closed_forward_dynamics(model, tau=np.zeros(3), **given)
    with pytest.raises(InputError, match=message):
        closed_inverse_dynamics(model, a=np.zeros(3), **given)


def test_impossible_motions_are_named() -> None:
    model = four_bar()
    q = predyn.close_loops(model, FOUR_BAR_POSE)
    zero = np.zeros(3)
    with pytest.raises(InputError, match=r"a: opens the loops: equation 'pin x' .*m/s\^2"):
        closed_inverse_dynamics(model, q, zero, [1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=r"joint '\w+' has no motor, .* N m there unbalanced"):
        closed_inverse_dynamics(model, q, zero, zero, actuated=[])
    with pytest.raises(InputError, match="actuated: expected names of joints or 3 booleans"):
        closed_inverse_dynamics(model, q, zero, zero, actuated=[1.0, 0.0])
    with pytest.raises(InputError, match="unknown joint 'engine'"):
        closed_inverse_dynamics(model, q, zero, zero, actuated=["engine"])
    # two equal bars folded out straight: the middle cannot accelerate along them
    bars = ModelBuilder("bars", gravity=(0, 0, 0))
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    bars.add_link("a", **bar).add_link("b", "a", origin=(1, 0, 0), **bar)
    bars.add_frame("end", "b", (1, 0, 0)).add_frame("wall", "world", (2, 0, 0))
    straight = bars.close_loop("pin", "point", "end", "wall").build()
    with pytest.raises(ModelError, match=r"no acceleration .* 'pin x' .*pose is singular"):
        closed_forward_dynamics(straight, [0.0, 0.0], [1.0, -2.0], [0.0, 0.0])
    still = closed_forward_dynamics(straight, [0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    np.testing.assert_allclose(still.a[1], -2.0 * still.a[0], rtol=1e-12)


def test_estimates_refuse_loops() -> None:
    data = predyn.Measurements(np.arange(3.0), angles={"motor": np.zeros(3)})
    with pytest.raises(InputError, match=r"'four-bar' has closed loops \(pin\)"):
        predyn.estimate_torques(four_bar(), data)
