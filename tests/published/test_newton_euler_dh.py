"""The published Newton-Euler formulation against the spatial kernels, Pinocchio and itself."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from oracles.pinocchio_oracle import pinocchio_forces, pinocchio_model
from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.reactions import joint_reactions_derivatives
from predyn.dynamics.rnea import inverse_dynamics
from predyn.dynamics.rnea_derivatives import inverse_dynamics_derivatives
from predyn.errors import ModelError
from predyn.kernels.forces import NO_LOADS, ExternalForce
from predyn.load.dh import DHRow, load_dh
from predyn.model.builder import ModelBuilder
from predyn.models import prismatic_revolute
from predyn.published.dh import dh_tree_of, pack_dh_forces
from predyn.published.newton_euler_dh import (
    INTERNAL_FORCES_DH,
    NEWTON_EULER_DH,
    newton_euler_dh_internal_forces,
    newton_euler_dh_torques,
)
from predyn.published.newton_euler_dh_kinematics import (
    LINK_QUANTITIES,
    LinkQuantities,
    newton_euler_dh_sensitivities,
)
from predyn.published.newton_euler_dh_sensitivity import (
    newton_euler_dh_derivatives,
    newton_euler_dh_internal_force_derivatives,
)

SAMPLES = 5
EPS = np.finfo(float).eps


def random_row(rng, kind):
    spread = rng.normal(scale=0.2, size=(3, 3))
    second_moments = spread @ spread.T
    return DHRow(
        theta=rng.uniform(-3, 3),
        d=rng.uniform(-0.5, 0.5),
        a=rng.uniform(-0.5, 0.5),
        alpha=rng.uniform(-3, 3),
        kind=kind,
        mass=rng.uniform(0.2, 3.0),
        com=rng.uniform(-0.3, 0.3, 3),
        inertia=np.trace(second_moments) * np.eye(3) - second_moments,
        stiffness=rng.uniform(0, 3),
        rest=rng.uniform(-1, 1),
        damping=rng.uniform(0, 1),
        coulomb=rng.uniform(0, 1),
        coulomb_speed=rng.uniform(0.5, 1),
        armature=rng.uniform(0, 0.3),
    )


def random_case(seed):
    """A chain (even seeds) or branched tree, a state, and 0 to 3 loads in world or link axes."""
    rng = np.random.default_rng([1001, seed])
    n = 1 + seed // 2 % 12
    kinds = rng.choice(["revolute", "prismatic"], size=n, p=[0.6, 0.4])
    if n == 3:
        kinds = ["revolute", "prismatic", "revolute"]
    parents = None if seed % 2 == 0 else [int(rng.integers(-1, j)) for j in range(n)]
    base = np.eye(4)
    base[:3, :3] = pin.exp3(rng.normal(size=3))
    base[:3, 3] = rng.normal(size=3)
    rows = [random_row(rng, str(kind)) for kind in kinds]
    model = load_dh(rows, parents=parents, base=base, gravity=9 * rng.normal(size=3))
    forces = [
        ExternalForce(
            str(rng.choice(model.link_names)) + str(rng.choice(["", "_dh"])),
            force=10 * rng.normal(size=(SAMPLES, 3)),
            moment=5 * rng.normal(size=3),
            point=rng.normal(size=3),
            frame=str(rng.choice(["world", "link"], p=[0.7, 0.3])),
        )
        for _ in range(seed % 4)
    ]
    return model, *rng.normal(size=(3, SAMPLES, n)), forces


SEEDS = range(48)


def assert_close(got, want, relative, floor=0.0):
    """Relative to the largest entry, or to `floor` where the entries are zero up to rounding."""
    scale = max(np.abs(want).max(initial=0.0), floor)
    np.testing.assert_allclose(got, want, rtol=0, atol=relative * scale)


def packed_forces(model, forces):
    loads, values = pack_dh_forces(model, dh_tree_of(model), forces)
    columns = [np.broadcast_to(x, (SAMPLES, 3)) for x in values]
    return loads, np.concatenate(columns, axis=1) if columns else np.empty((SAMPLES, 0))


def complex_step(kernel, model, states, loads=NO_LOADS, values=()):
    """Derivatives of a kernel's first output in q, v, a: three arrays (SAMPLES, ..., n)."""
    step = 1e-30
    result = []
    for k in range(3):
        columns = []
        for i in range(model.n):
            ins = [x.astype(complex) for x in states]
            ins[k][:, i] += 1j * step
            outs = kernel.plain(dh_tree_of(model), loads, (*ins, *values), np.complex128)
            columns.append(outs[0].imag / step)
        result.append(np.stack(columns, axis=-1))
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_equal_inverse_dynamics(seed):
    model, q, v, a, forces = random_case(seed)
    want = inverse_dynamics(model, q, v, a, forces=forces)
    assert_close(newton_euler_dh_torques(model, q, v, a, forces=forces), want, 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_internal_forces_equal_those_of_pinocchio(seed):
    model, q, v, a, forces = random_case(seed)
    got = newton_euler_dh_internal_forces(model, q, v, a, forces=forces)
    reference = pinocchio_model(model)
    data = reference.createData()
    want = np.empty((SAMPLES, model.n, 6))
    for s in range(SAMPLES):
        pin.forwardKinematics(reference, data, q[s])
        external = pinocchio_forces(model, data, forces, s)
        pin.rnea(reference, data, q[s], v[s], a[s], external)
        for j in range(model.n):
            want[s, j] = [*data.f[j + 1].angular, *data.f[j + 1].linear]
    assert_close(got, want, 1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_equal_those_of_the_spatial_kernels(seed):
    model, q, v, a, forces = random_case(seed)
    got = newton_euler_dh_derivatives(model, q, v, a, forces=forces)
    want = inverse_dynamics_derivatives(model, q, v, a, forces=forces)
    for x, y in zip(got, want, strict=True):
        assert_close(x, y, 1e-11)
    wrench, *want = joint_reactions_derivatives(model, q, v, a, forces=forces)
    got = newton_euler_dh_internal_force_derivatives(model, q, v, a, forces=forces)
    for x, y in zip(got, want, strict=True):
        assert_close(x, y, 1e-11, floor=np.abs(wrench).max())


@pytest.mark.parametrize("seed", range(0, 48, 3))
def test_derivatives_equal_complex_step(seed):
    """Complex step is exact but for rounding, which grows with the operations along the tree."""
    model, q, v, a, forces = random_case(seed)
    loads, values = packed_forces(model, forces)
    relative = 100 * EPS * (model.n + 1)
    tau, *got = newton_euler_dh_derivatives(model, q, v, a, forces=forces)
    want = complex_step(NEWTON_EULER_DH, model, (q, v, a), loads, (values,))
    for x, y in zip(got, want, strict=True):
        assert_close(x, y, relative, floor=np.abs(tau).max())
    got = newton_euler_dh_internal_force_derivatives(model, q, v, a, forces=forces)
    wrench = newton_euler_dh_internal_forces(model, q, v, a, forces=forces)
    want = complex_step(INTERNAL_FORCES_DH, model, (q, v, a), loads, (values,))
    for x, y in zip(got, want, strict=True):
        y = y.reshape(SAMPLES, model.n, 6, model.n)
        assert_close(x, y, relative, floor=np.abs(wrench).max())


@pytest.mark.parametrize("seed", range(0, 48, 3))
def test_every_sensitivity_of_steps_3_to_8_equals_complex_step(seed):
    model, q, v, a, _ = random_case(seed)
    values, *got = newton_euler_dh_sensitivities(model, q, v, a)
    want = complex_step(LINK_QUANTITIES, model, (q, v, a))
    for of_state, table in zip(got, want, strict=True):
        table = table.reshape(SAMPLES, model.n, len(LinkQuantities._fields), 3, model.n)
        for k, name in enumerate(LinkQuantities._fields):
            floor = np.abs(getattr(values, name)).max()
            x, y = getattr(of_state, name), table[:, :, k]
            assert_close(x, y, 100 * EPS * (model.n + 1), floor=floor)


@pytest.mark.parametrize("seed", range(0, 48, 5))
def test_motion_of_the_frames_equals_frame_kinematics(seed):
    model, q, v, a, _ = random_case(seed)
    got, *_ = newton_euler_dh_sensitivities(model, q, v, a)
    for j, link in enumerate(model.link_names):
        want = frame_kinematics(model, f"{link}_dh", q, v, a)
        centre = dh_tree_of(model).com[j]
        want_G = frame_kinematics(model, f"{link}_dh", q, v, a, point=centre)
        for name, y in [
            ("omega", want.w),
            ("omega_dot", want.alpha),
            ("x", want.p),
            ("x_dot", want.v),
            ("x_ddot", want.a),
            ("x_G", want_G.p),
            ("x_G_dot", want_G.v),
            ("x_G_ddot", want_G.a),
        ]:
            x = np.einsum("bij,bj->bi", want.R, getattr(got, name)[:, j])
            assert_close(x, y, 1e-12, floor=1.0)


def test_prismatic_and_revolute_link_in_closed_form():
    """Example 4.2: with phi from y to the rod, its centre is at (l cos phi, q1 + l sin phi)."""
    model = prismatic_revolute()
    q, v, a = np.random.default_rng(4).normal(size=(3, 20, 2))
    m, half, inertia = 0.5, 0.2, 0.1
    sine, cosine = np.sin(q[:, 1] + np.pi / 2), np.cos(q[:, 1] + np.pi / 2)
    along_y = -half * (sine * a[:, 1] + cosine * v[:, 1] ** 2)
    along_z = a[:, 0] + half * (cosine * a[:, 1] - sine * v[:, 1] ** 2)
    force = m * a[:, 0] + m * along_z
    torque = inertia * a[:, 1] + m * half * (cosine * along_z - sine * along_y)
    tau = newton_euler_dh_torques(model, q, v, a)
    assert_close(tau, np.stack([force, torque], axis=1), 1e-13)
    wrench = newton_euler_dh_internal_forces(model, q, v, a)
    assert_close(np.linalg.norm(wrench[:, 1, 3:], axis=1), m * np.hypot(along_y, along_z), 1e-13)


def test_joints_of_a_resting_tree_carry_the_links_beyond_them():
    model, q, *_, _ = random_case(45)
    rest = np.zeros_like(q)
    wrench = newton_euler_dh_internal_forces(model, q, rest, rest)
    size = dh_tree_of(model).size
    weight = np.linalg.norm(model.gravity) * model.inertia[:, 0]
    beyond = [weight[j : j + size[j]].sum() for j in range(model.n)]
    assert_close(np.linalg.norm(wrench[..., 3:], axis=-1), np.tile(beyond, (SAMPLES, 1)), 1e-13)


@pytest.mark.parametrize("lead", [(0,), (1,), (3,), (4,), (5,), (511,), (2, 3), ()])
def test_leading_shapes(lead):
    model, *_ = random_case(9)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, *lead, model.n))
    n, forces = model.n, [ExternalForce(model.link_names[-1], force=(1.0, 2.0, 3.0))]
    tau, *partials = newton_euler_dh_derivatives(model, q, v, a, forces=forces)
    assert tau.shape == (*lead, n)
    assert all(x.shape == (*lead, n, n) for x in partials)
    wrench_partials = newton_euler_dh_internal_force_derivatives(model, q, v, a, forces=forces)
    assert all(x.shape == (*lead, n, 6, n) for x in wrench_partials)
    assert newton_euler_dh_internal_forces(model, q, v, a, forces=forces).shape == (*lead, n, 6)
    values, dq, _, _ = newton_euler_dh_sensitivities(model, q, v, a)
    assert values.H.shape == (*lead, n, 3)
    assert dq.H.shape == (*lead, n, 3, n)
    out = np.empty((*lead, n))
    assert newton_euler_dh_torques(model, q, v, a, forces=forces, out=out) is out
    assert_close(out, inverse_dynamics(model, q, v, a, forces=forces), 1e-11)
    assert_close(out, tau, 1e-13)


def test_a_model_without_a_table_is_refused_by_name():
    builder = ModelBuilder("pendulum").add_link("rod", mass=1.0, com=(1.0, 0.0, 0.0))
    for function in (newton_euler_dh_torques, newton_euler_dh_derivatives):
        with pytest.raises(ModelError, match=r"'pendulum' has no standard Denavit-Hartenberg"):
            function(builder.build(), [0.0], [0.0], [0.0])


def test_coupled_rotors_are_refused_and_others_act_as_armature():
    model, q, v, a, _ = random_case(6)
    diagonal = replace(model, rotor=np.diag(np.arange(1.0, model.n + 1)))
    want = inverse_dynamics_derivatives(diagonal, q, v, a)
    for x, y in zip(newton_euler_dh_derivatives(diagonal, q, v, a), want, strict=True):
        assert_close(x, y, 1e-11)
    coupled = replace(model, rotor=np.ones((model.n, model.n)))
    with pytest.raises(ModelError, match="couples joints 'joint1' and 'joint2'"):
        newton_euler_dh_torques(coupled, q, v, a)
