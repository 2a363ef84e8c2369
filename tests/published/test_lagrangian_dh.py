"""The recursive Lagrangian on DH matrices: against the spatial kernels, complex steps and the
closed form of the paper's two-link manipulator."""

from dataclasses import replace

import numpy as np
import pytest

from predyn.dynamics.rnea import inverse_dynamics
from predyn.dynamics.rnea_derivatives import inverse_dynamics_derivatives
from predyn.errors import InputError, ModelError
from predyn.kernels.forces import ExternalForce
from predyn.load.dh import DHRow, load_dh
from predyn.models import pendulum_chain, two_link
from predyn.published.dh import dh_tree_of, pack_dh_forces
from predyn.published.lagrangian_dh import (
    LAGRANGIAN,
    POINT,
    lagrangian_dh_point,
    lagrangian_dh_torques,
    pack_point,
)
from predyn.published.lagrangian_dh_sensitivity import (
    SENSITIVITY,
    lagrangian_dh_derivatives,
    lagrangian_dh_point_derivatives,
)

EPS = np.finfo(float).eps
STEP = 1e-30  # of complex steps: its square is nothing, so the tolerance is that of rounding
CASES = [(n, branched) for n in range(1, 13) for branched in (False, True)]


def rounding(n):
    """Relative tolerance for a recursion over n links, each of a few dozen operations."""
    return 64 * (n + 1) * EPS


def random_model(rng, n, branched):
    """A chain or tree of mixed joints on a rotated base, some links without mass, all extras."""
    parents = [int(rng.integers(-1, j)) if branched else j - 1 for j in range(n)]
    rows = []
    for j in range(n):
        moments = rng.normal(size=(3, 3))
        moments = 0.1 * moments @ moments.T
        massless = j in parents and rng.random() < 0.15
        body = {
            "mass": rng.uniform(0.2, 3.0),
            "com": 0.3 * rng.normal(size=3),
            "inertia": np.trace(moments) * np.eye(3) - moments,
        }
        rows.append(
            DHRow(
                *(rng.uniform(-3, 3), *(0.4 * rng.normal(size=2)), rng.uniform(-3, 3)),
                kind="prismatic" if rng.random() < 0.35 else "revolute",
                **({} if massless else body),
                stiffness=rng.uniform(0, 2),
                rest=rng.normal(),
                damping=rng.uniform(0, 1),
                coulomb=rng.choice([0.0, 0.7]),
                coulomb_speed=0.3,
                armature=rng.choice([0.0, 0.2]),
            )
        )
    base = np.eye(4)
    base[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    base[:3, 0] *= np.linalg.det(base[:3, :3])
    base[:3, 3] = rng.normal(size=3)
    return load_dh(rows, parents=parents, base=base, gravity=6.0 * rng.normal(size=3))


def random_loads(rng, model, count, lead=()):
    """Forces and moments on random links and DH frames, alternating between world and link axes."""
    names = [*model.link_names, *(f"{name}_dh" for name in model.link_names)]
    return [
        ExternalForce(
            str(rng.choice(names)),
            10.0 * rng.normal(size=(*lead, 3)),
            4.0 * rng.normal(size=(*lead, 3)),
            0.3 * rng.normal(size=3),
            frame=("link", "world")[k % 2],
        )
        for k in range(count)
    ]


def random_case(n, branched, batch=3):
    rng = np.random.default_rng([n, branched])
    model = random_model(rng, n, branched)
    loads = random_loads(rng, model, n % 4)
    return model, rng.normal(size=(3, batch, n)), loads


def assert_close(got, expected, tolerance):
    """Equal to a tolerance relative to the largest entry, or to one where all are small."""
    assert got.shape == expected.shape
    if expected.size:
        assert np.abs(got - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


def complex_steps(kernel, model, state, loads, values):
    """Partials (outputs, n) in q, v, a of each output of a kernel at one state (3, n)."""
    n = model.n
    moved = np.tile(state.reshape(-1), (3 * n, 1)) + 1j * STEP * np.eye(3 * n)
    ins = [moved[:, k * n : (k + 1) * n] for k in range(3)]
    ins.append(np.tile(values, (3 * n, 1)))
    outs = kernel.plain(dh_tree_of(model), loads, tuple(ins), np.complex128)
    return [[part.T for part in np.split(out.imag / STEP, 3)] for out in outs]


@pytest.mark.parametrize(("n", "branched"), CASES)
def test_torques_equal_inverse_dynamics(n, branched):
    model, (q, v, a), loads = random_case(n, branched)
    expected = inverse_dynamics(model, q, v, a, forces=loads)
    assert_close(lagrangian_dh_torques(model, q, v, a, forces=loads), expected, 1e-11)


@pytest.mark.parametrize(("n", "branched"), CASES)
def test_sensitivities_equal_the_spatial_ones(n, branched):
    model, (q, v, a), loads = random_case(n, branched)
    expected = inverse_dynamics_derivatives(model, q, v, a, forces=loads)
    results = lagrangian_dh_derivatives(model, q, v, a, forces=loads)
    for got, reference in zip(results, expected, strict=True):
        assert_close(got, reference, 1e-11)


@pytest.mark.parametrize(("n", "branched"), CASES)
def test_sensitivities_equal_complex_steps(n, branched):
    model, states, forces = random_case(n, branched)
    loads, values = pack_dh_forces(model, dh_tree_of(model), forces)
    values = np.concatenate([*values, np.zeros(0)])
    for state in np.moveaxis(states, 1, 0):
        (expected,) = complex_steps(LAGRANGIAN, model, state, loads, values)
        tau, *partials = lagrangian_dh_derivatives(model, *state, forces=forces)
        assert_close(tau, lagrangian_dh_torques(model, *state, forces=forces), rounding(n))
        for got, reference in zip(partials, expected, strict=True):
            assert_close(got, reference, rounding(n))


@pytest.mark.parametrize("kernel", [LAGRANGIAN, SENSITIVITY])
def test_float_path_equals_lane_path(kernel):
    model, states, forces = random_case(7, True)
    tree = dh_tree_of(model)
    loads, values = pack_dh_forces(model, tree, forces)
    ins = (*states, np.tile(np.concatenate(values), (3, 1)))
    inputs = [(name, x, (7,)) for name, x in zip("qva", states, strict=True)]
    results = kernel(model, inputs, forces)
    for out, got, field in zip(
        kernel.plain(tree, loads, ins, np.float64), results, kernel.fields(tree), strict=True
    ):
        assert_close(got.reshape(3, -1), field.unpacked(out), rounding(7))


# -- the two-link manipulator, equations 43-65 and 69-82 ----------------------------------------

L1 = L2 = 0.4
M1 = M2 = 0.5
I1 = I2 = 0.1
R1, R2 = L1 / 2, L2 / 2  # l_1, l_2 of the paper: joint to centre of mass
GRAVITY, LOAD = 9.8062, 10.0


def closed_form(q, v, a, f):
    """tau (52, 53), its partials in q (54, 55, 60, 61), v (56, 57, 62, 63), a (58, 59, 64, 65).

    (61) is the partial in the angle of joint 2, whatever its left side says.
    """
    c1, c2, c12 = np.cos(q[0]), np.cos(q[1]), np.cos(q[0] + q[1])
    s1, s2, s12 = np.sin(q[0]), np.sin(q[1]), np.sin(q[0] + q[1])
    k = M2 * L1 * R2
    m11 = I1 + I2 + M1 * R1**2 + M2 * (L1**2 + R2**2) + 2 * k * c2
    m12 = I2 + M2 * R2**2 + k * c2
    m22 = I2 + M2 * R2**2
    near = M1 * GRAVITY * R1 + M2 * GRAVITY * L1 + f * L1  # what hangs on cos(q1)
    far = M2 * GRAVITY * R2 + f * L2  # what hangs on cos(q1 + q2)
    tau = [
        m11 * a[0] + m12 * a[1] - k * s2 * (2 * v[0] * v[1] + v[1] ** 2) + far * c12 + near * c1,
        m22 * a[1] + m12 * a[0] + k * s2 * v[0] ** 2 + far * c12,
    ]
    turned = -k * (2 * a[0] + a[1]) * s2 - k * c2 * (2 * v[0] * v[1] + v[1] ** 2)
    dq = [
        [-far * s12 - near * s1, turned - far * s12],
        [-far * s12, -k * s2 * a[0] + k * c2 * v[0] ** 2 - far * s12],
    ]
    dv = [[-2 * k * v[1] * s2, -2 * k * (v[0] + v[1]) * s2], [2 * k * v[0] * s2, 0.0]]
    da = [[m11, m12], [m12, m22]]
    return [np.array(x) for x in (tau, dq, dv, da)]


@pytest.mark.parametrize("f", [0.0, LOAD])
def test_two_links_equal_their_closed_form(f):
    model = two_link()
    tip = ExternalForce("tip", (0.0, -f, 0.0))
    states = np.random.default_rng(5).uniform(-3, 3, size=(40, 3, 2))
    for state in states:
        results = lagrangian_dh_derivatives(model, *state, forces=[tip])
        for got, expected in zip(results, closed_form(*state, f), strict=True):
            assert_close(got, expected, 1e-13)
        assert_close(lagrangian_dh_torques(model, *state, forces=[tip]), results[0], 1e-13)


def test_two_links_have_the_inertia_matrix_of_the_paper():
    """(47) is exact for thin rods along x, which is what the model has out of the plane."""
    expected = np.zeros((4, 4))
    expected[0, 0] = I1 + M1 * (R1 - L1) ** 2
    expected[0, 3] = expected[3, 0] = M1 * (R1 - L1)
    expected[3, 3] = M1
    for matrix in dh_tree_of(two_link()).I:
        assert_close(matrix, expected, 4 * EPS)


def test_end_of_two_links_follows_plane_geometry():
    q, v, a = np.random.default_rng(6).normal(size=(3, 20, 2))
    angle, rate, change = np.cumsum(q, 1), np.cumsum(v, 1), np.cumsum(a, 1)
    out = np.stack([np.cos(angle), np.sin(angle), 0 * q], -1)
    across = np.stack([-np.sin(angle), np.cos(angle), 0 * q], -1)
    motion = lagrangian_dh_point(two_link(), "link2", (0.0, 0.0, 0.0), q, v, a)
    assert_close(motion.position, L1 * out.sum(1), 1e-14)
    assert_close(motion.velocity, L1 * (rate[..., None] * across).sum(1), 1e-14)
    bend = change[..., None] * across - rate[..., None] ** 2 * out
    assert_close(motion.acceleration, L1 * bend.sum(1), 1e-14)


# -- points and cut joints ----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "branched"), CASES[::3])
def test_motion_of_a_point_and_its_partials(n, branched):
    model, states, _ = random_case(n, branched)
    rng = np.random.default_rng(n)
    link, point = model.link_names[rng.integers(n)], rng.normal(size=3)
    tree = dh_tree_of(model)
    place, _ = pack_point(model, tree, (link, point))
    for q, v, a in np.moveaxis(states, 1, 0):
        motion = lagrangian_dh_point(model, link, point, q, v, a)
        along = (q + 1j * STEP * v, v + 1j * STEP * a, a + 0j, np.zeros(0))
        rates = POINT.plain(tree, place, tuple(x[None] for x in along), np.complex128)
        assert_close(motion.velocity, rates[0][0].imag / STEP, rounding(n))
        assert_close(motion.acceleration, rates[1][0].imag / STEP, rounding(n))

        got = lagrangian_dh_point_derivatives(model, link, point, q, v, a)
        nothing = 0.0 * got.position
        expected = complex_steps(POINT, model, np.array([q, v, a]), place, np.zeros(0))
        for in_q_v_a, reference in zip(
            (
                (got.position, nothing, nothing),
                (got.velocity, got.position, nothing),  # (22), (23)
                (got.acceleration, 2.0 * got.velocity, got.position),  # (24), (25), (26)
            ),
            expected,
            strict=True,
        ):
            for partial, by_step in zip(in_q_v_a, reference, strict=True):
                assert_close(partial, by_step, rounding(n))


def test_forces_at_the_end_act_through_the_jacobian_of_the_end():
    model, (q, v, a), _ = random_case(6, False)
    f = np.array([3.0, -2.0, 5.0])
    loaded = lagrangian_dh_torques(model, q, v, a, forces=[ExternalForce("tip", f)])
    jacobian = lagrangian_dh_point_derivatives(model, "link6", (0.0, 0.0, 0.0), q, v, a).position
    expected = lagrangian_dh_torques(model, q, v, a) - f @ jacobian
    assert_close(loaded, expected, rounding(6))


def test_a_cut_joint_carries_the_loop_of_a_four_bar():
    """(38): coupler and rocker have no motor; the cut pin does no work."""
    crank, coupler, rocker = 0.2, 0.7, 0.5
    bars = [
        DHRow(a=length, mass=length, com=(-length / 2, 0.01, 0.0), inertia=(0.0, 0.01, 0.01))
        for length in (crank, coupler, rocker)
    ]
    model = load_dh(bars, gravity=(0.0, -9.81, 0.0))
    end = ("link3", (0.0, 0.0, 0.0))
    pin = np.array([0.8, 0.1])
    q, zero = np.array([0.7, 0.9, -2.2]), np.zeros(3)
    for _ in range(30):  # close the loop, the crank held
        gap = lagrangian_dh_point(model, *end, q, zero, zero).position[:2] - pin
        jacobian = lagrangian_dh_point_derivatives(model, *end, q, zero, zero).position[:2]
        q[1:] -= np.linalg.solve(jacobian[:, 1:], gap)
    assert np.abs(gap).max() < 1e-14
    v, a = np.array([1.5, 0.0, 0.0]), np.array([-4.0, 0.0, 0.0])
    v[1:] = np.linalg.solve(jacobian[:, 1:], -jacobian[:, 0] * v[0])
    left = lagrangian_dh_point(model, *end, q, v, a).acceleration[:2]
    a[1:] = np.linalg.solve(jacobian[:, 1:], -left)
    motion = lagrangian_dh_point(model, *end, q, v, a)
    assert np.abs([motion.velocity, motion.acceleration]).max() < 1e-13

    free = lagrangian_dh_torques(model, q, v, a)
    pull = np.append(np.linalg.solve(jacobian[:, 1:].T, free[1:]), 0.0)
    tau = lagrangian_dh_torques(model, q, v, a, forces=[ExternalForce("tip", pull)])
    assert_close(tau[1:], np.zeros(2), 1e-13)
    assert tau[0] * v[0] == pytest.approx(free @ v, rel=1e-12)


def test_a_moving_base_equals_a_chain_of_massless_joints():
    right = np.pi / 2
    slides = [DHRow(right, alpha=right, kind="prismatic") for _ in range(3)]
    turns = [DHRow(right, alpha=right) for _ in range(2)]
    body = DHRow(mass=5.0, com=(0.1, 0.0, -0.2), inertia=(0.3, 0.4, 0.5))
    arm = DHRow(a=0.5, alpha=0.3, mass=1.0, com=(-0.2, 0.0, 0.1), inertia=(0.0, 0.1, 0.1))
    model = load_dh([*slides, *turns, body, arm])
    q, v, a = np.random.default_rng(8).normal(size=(3, 10, 7))
    expected = inverse_dynamics_derivatives(model, q, v, a)
    for got, reference in zip(lagrangian_dh_derivatives(model, q, v, a), expected, strict=True):
        assert_close(got, reference, 1e-13)


# -- shapes and refusals ------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (0,), (1,), (3,), (4,), (5,), (511,), (2, 3)])
def test_batches(lead):
    rng = np.random.default_rng(9)
    model = random_model(rng, 4, True)
    q, v, a = rng.normal(size=(3, *lead, 4))
    loads = random_loads(rng, model, 2, lead)
    expected = inverse_dynamics_derivatives(model, q, v, a, forces=loads)
    out = tuple(np.full_like(x, np.nan) for x in expected)
    assert lagrangian_dh_derivatives(model, q, v, a, forces=loads, out=out)[1] is out[1]
    tau = lagrangian_dh_torques(model, q, v, a, forces=loads)
    for got, reference in zip((*out, tau), (*expected, expected[0]), strict=True):
        assert_close(got, reference, 1e-11)
    motion = lagrangian_dh_point(model, "link2", (0.1, 0.2, 0.3), q, v, a)
    partials = lagrangian_dh_point_derivatives(model, "link2", (0.1, 0.2, 0.3), q, v, a)
    assert [x.shape for x in motion] == [(*lead, 3)] * 3
    assert [x.shape for x in partials] == [(*lead, 3, 4)] * 3


def test_joints_on_different_branches_do_not_couple():
    """Two trees with as many links and as many ancestor pairs, one after the other."""
    row = DHRow(a=0.3, alpha=0.4, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4))
    state = np.random.default_rng(11).normal(size=(3, 8, 4))
    for parents, apart in (([-1, 0, 1, 0], (1, 3)), ([-1, 0, 0, 2], (1, 2))):
        model = load_dh([row] * 4, parents=parents)
        for partial in lagrangian_dh_derivatives(model, *state)[1:]:
            assert not partial[:, *apart].any()
            assert not partial[:, *apart[::-1]].any()


def test_a_diagonal_rotor_matrix_acts_as_armature():
    rng = np.random.default_rng(10)
    model = replace(random_model(rng, 3, False), rotor=np.diag([0.3, 0.0, 0.1]))
    state = rng.normal(size=(3, 3))
    expected = inverse_dynamics_derivatives(model, *state)
    for got, reference in zip(lagrangian_dh_derivatives(model, *state), expected, strict=True):
        assert_close(got, reference, 1e-13)


def test_refused_models():
    zero = np.zeros(2)
    with pytest.raises(ModelError, match=r"no standard Denavit-Hartenberg table.*load_dh"):
        lagrangian_dh_torques(pendulum_chain(2).lock({}), zero, zero, zero)
    coupled = replace(two_link(), rotor=np.full((2, 2), 0.1))
    with pytest.raises(ModelError, match="couples joints 'joint1' and 'joint2'"):
        lagrangian_dh_derivatives(coupled, zero, zero, zero)
    moved = replace(two_link(), p=two_link().p + 0.1)
    with pytest.raises(ModelError, match="joint 'joint1' is not where row 0"):
        lagrangian_dh_torques(moved, zero, zero, zero)


def test_refused_points():
    zero = np.zeros(2)
    with pytest.raises(InputError, match=r"unknown link 'link3'.*'link2'"):
        lagrangian_dh_point(two_link(), "link3", zero, zero, zero, zero)
    with pytest.raises(InputError, match=r"point: expected shape \(3,\), got \(2,\)"):
        lagrangian_dh_point(two_link(), "link2", zero, zero, zero, zero)
    with pytest.raises(InputError, match="point: expected finite numbers"):
        lagrangian_dh_point(two_link(), "link2", (0.0, np.nan, 0.0), zero, zero, zero)
