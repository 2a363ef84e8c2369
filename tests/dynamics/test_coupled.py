"""Coupled models: against Pinocchio's mimic joints and an explicit reduction in CasADi."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import predyn
import predyn.dynamics as dynamics
from coupled_trees import coupled_tree
from oracles.casadi_couplings import reduced_expression, reduced_frame
from oracles.casadi_oracle import second_partials
from oracles.pinocchio_oracle import angular_first
from oracles.urdf_text import urdf_text
from predyn.errors import InputError, ModelError
from predyn.model import Model
from predyn.model.builder import ModelBuilder
from predyn.model.couplings import PiecewisePolynomial, sources
from predyn.published.links_from_model import natural_links_of

SEEDS = range(6)
SAMPLES = 4
RELATIVE = 1e-10


def close(ours: np.ndarray, theirs: np.ndarray, what: str = "") -> None:
    theirs = np.asarray(theirs, float)
    assert ours.shape == theirs.shape, what
    assert np.abs(ours - theirs).max() <= RELATIVE * max(np.abs(theirs).max(), 1.0), what


def states(model: Model, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 3])
    q, v, a = rng.uniform(-1.5, 1.5, (3, SAMPLES, model.n))
    return np.array([q, v, a])


def loads(model: Model, seed: int) -> list[dynamics.ExternalForce]:
    rng = np.random.default_rng([seed, 4])
    links = model.link_names
    one = dynamics.ExternalForce("tool", *rng.standard_normal((3, 3)), "link")
    moving = rng.standard_normal((SAMPLES, 3))
    return [one, dynamics.ExternalForce(links[3], moving, rng.standard_normal(3))]


@pytest.mark.parametrize("seed", SEEDS)
def test_lines_agree_with_the_mimic_joints_of_pinocchio(seed: int, tmp_path) -> None:
    """The same file, read by both."""
    file = tmp_path / "tree.urdf"
    file.write_text(urdf_text(coupled_tree(seed, lines=True, forces=False)))
    model = predyn.load_urdf(file)
    twin = pin.buildModelFromUrdf(str(file), mimic=True)
    assert (twin.nv, len(model.couplings)) == (model.n, 3)
    order = [twin.joints[twin.getJointId(name)].idx_v for name in model.joint_names]
    data = twin.createData()
    link = model.link_names[-1]
    found = dynamics.frame_kinematics_derivatives(model, link, *states(model, seed))
    for k, (q, v, a) in enumerate(states(model, seed).transpose(1, 0, 2)):
        q_pin, v_pin, a_pin = (x[np.argsort(order)] for x in (q, v, a))
        tau = pin.rnea(twin, data, q_pin, v_pin, a_pin)[order]
        close(dynamics.inverse_dynamics(model, q, v, a), tau, "rnea")
        M = pin.crba(twin, twin.createData(), q_pin)  # it adds to entries of calls before
        M = np.triu(M) + np.triu(M, 1).T
        close(dynamics.mass_matrix(model, q), M[np.ix_(order, order)], "mass matrix")
        close(dynamics.forward_dynamics(model, q, v, tau), a, "forward")
        pin.computeJointJacobians(twin, data, q_pin)
        pin.framesForwardKinematics(twin, data, q_pin)
        J = pin.getFrameJacobian(twin, data, twin.getFrameId(link), pin.LOCAL_WORLD_ALIGNED)
        close(found.jacobian[k], angular_first(J)[:, order], "jacobian")


@pytest.mark.parametrize("seed", SEEDS)
def test_torques_agree_with_an_explicit_reduction(seed: int) -> None:
    """Values, first and second partials, with forces, springs, friction and curves."""
    model, given = coupled_tree(seed), states(coupled_tree(seed), seed)
    forces, w = loads(model, seed), np.random.default_rng(seed).standard_normal(model.n)
    e = reduced_expression(model, forces)
    first = [ca.jacobian(e.tau, x) for x in (e.q, e.v, e.a)]
    second = second_partials(ca.dot(ca.DM(w), e.tau), e.q, e.v, e.a, e.loads)
    wanted = ca.Function(
        "reduced",
        [e.q, e.v, e.a, e.loads],
        ca.cse([ca.densify(x) for x in (e.tau, *first, *second, e.wrench)]),
    )
    ours = dynamics.inverse_dynamics_derivatives(model, *given, forces=forces)
    H = dynamics.inverse_dynamics_hessian(model, *given, w, forces=forces)
    wrench = dynamics.joint_reactions(model, *given, forces=forces)
    hybrid = np.arange(model.n) % 2 == 0
    a, tau = dynamics.hybrid_dynamics(model, *given, ours[0], hybrid, forces=forces)
    close(a, given[2], "hybrid a")
    close(tau, ours[0], "hybrid tau")
    close(dynamics.inverse_dynamics(model, *given, forces=forces), ours[0])
    for k in range(SAMPLES):
        values = [np.broadcast_to(x, (SAMPLES, 3))[k] for f in forces for x in (f.moment, f.force)]
        theirs = [np.asarray(x) for x in wanted(*given[:, k], np.concatenate(values))]
        close(ours[0][k], theirs[0][:, 0], "tau")
        for name, x, y in zip("qva", ours[1:], theirs[1:4], strict=True):
            close(x[k], y, f"d tau/d{name}")
        for name, x, y in zip(H._fields, H[:4], theirs[4:8], strict=False):
            close(x[k], y, name)
        close(np.concatenate([x[k] for x in H.qf], axis=1), theirs[8], "qf")
        close(wrench[k].ravel(), theirs[9][:, 0], "wrench")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("first_is_active", [True, False])
def test_hybrid_dynamics_agree_with_an_explicit_reduction(seed: int, first_is_active: bool) -> None:
    """Values and partials; the first coordinate moves two or three other joints."""
    model, given = coupled_tree(seed), states(coupled_tree(seed), seed)
    active = (np.arange(model.n) % 2 == 0) == first_is_active
    tau = np.random.default_rng([seed, 5]).standard_normal((SAMPLES, model.n))
    p = np.flatnonzero(~active).tolist()
    e, torque = reduced_expression(model), ca.SX.sym("tau", model.n)
    known = ca.SX(e.a)
    known[p] = 0.0
    M, bias = ca.jacobian(e.tau, e.a), ca.substitute(e.tau, e.a, known)
    found = ca.inv(M[p, p]) @ (torque[p] - bias[p])
    a = ca.SX(known)
    a[p] = found
    full = bias + M[:, p] @ found
    full[p] = torque[p]
    inputs = [e.q, e.v, e.a, torque]
    partials = [ca.jacobian(x, y) for x in (a, full) for y in inputs]
    wanted = ca.Function("hybrid", inputs, ca.cse([ca.densify(x) for x in (a, full, *partials)]))
    *ours, da, dtau = dynamics.hybrid_dynamics_derivatives(model, *given, tau, active)
    for k in range(SAMPLES):
        theirs = [np.asarray(x) for x in wanted(*given[:, k], tau[k])]
        for x, y in zip(ours, theirs[:2], strict=True):
            close(x[k], y[:, 0])
        for x, y in zip((*da, *dtau), theirs[2:], strict=True):
            close(x[k], y)


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_agree_with_an_explicit_reduction(seed: int) -> None:
    model, given = coupled_tree(seed), states(coupled_tree(seed), seed)
    point, rng = (0.1, 0.2, -0.3), np.random.default_rng(seed)
    symbols, parts = reduced_frame(model, "tool", point)
    shapes = ((3, 3), *((3,) for _ in range(5)))
    weights = dynamics.FrameMotion(*(rng.standard_normal(x) for x in shapes))
    flat = [np.asarray(x).ravel(order="F") for x in weights]
    phi = sum(ca.dot(ca.DM(w), ca.vec(x)) for w, x in zip(flat, parts, strict=True))
    _, _, w, u, alpha, acc = parts
    speed, rise = ca.vertcat(w, u), ca.vertcat(alpha, acc)
    q, v, _ = symbols
    first = [ca.jacobian(speed, v), *(ca.jacobian(x, y) for x, y in
                                      ((speed, q), (rise, q), (rise, v)))]  # fmt: skip
    wanted = ca.Function(
        "frame",
        list(symbols),
        [ca.densify(x) for x in (*parts, *first, *second_partials(phi, *symbols))],
    )
    motion = dynamics.frame_kinematics(model, "tool", *given, point=point)
    slopes = dynamics.frame_kinematics_derivatives(model, "tool", *given, point=point)
    H = dynamics.frame_kinematics_hessian(model, "tool", *given, weights, point=point)
    for k in range(SAMPLES):
        theirs = [np.asarray(x) for x in wanted(*given[:, k])]
        for x, y in zip(motion, theirs[:6], strict=True):
            close(x[k], y.reshape(x[k].shape))
        for name, x, y in zip(slopes._fields, slopes, theirs[6:10], strict=True):
            close(x[k], y, name)
        for name, x, y in zip(H._fields, H[:4], theirs[10:], strict=False):
            close(x[k], y, name)


def differences(function, x: np.ndarray) -> np.ndarray:
    """Central differences over the last axis, to about 1e-9 of the largest value."""
    h = 1e-5
    columns = [(function(x + h * e) - function(x - h * e)) / (2.0 * h) for e in np.eye(x.shape[-1])]
    return np.stack(columns, axis=-1)


def near(ours: np.ndarray, theirs: np.ndarray, what: str) -> None:
    assert np.abs(ours - theirs).max() <= 1e-7 * (1.0 + np.abs(theirs).max()), what


@pytest.mark.parametrize("seed", [0, 1])
def test_partials_of_the_rest_agree_with_differences(seed: int) -> None:
    """Reactions, momentum, forward and hybrid dynamics; values of these are checked above."""
    model, (q, v, a) = coupled_tree(seed), states(coupled_tree(seed), seed)
    forces = loads(model, seed)

    def reactions(q, v, a):
        return dynamics.joint_reactions(model, q, v, a, forces=forces)

    found = dynamics.joint_reactions_derivatives(model, q, v, a, forces=forces)
    near(found.dq, differences(lambda x: reactions(x, v, a), q), "reactions q")
    near(found.dv, differences(lambda x: reactions(q, x, a), v), "reactions v")
    near(found.da, differences(lambda x: reactions(q, v, x), a), "reactions a")
    w = np.random.default_rng(seed).standard_normal(found.wrench.shape[-2:])
    H = dynamics.joint_reactions_hessian(model, q, v, a, w, forces=forces)

    def slope(k, *state):
        x = dynamics.joint_reactions_derivatives(model, *state, forces=forces)[k]
        return np.einsum("jx,...jxi->...i", w, x)

    near(H.qq, differences(lambda x: slope(1, x, v, a), q), "reactions qq")
    near(H.qv, differences(lambda x: slope(1, q, x, a), v), "reactions qv")
    near(H.vv, differences(lambda x: slope(2, q, x, a), v), "reactions vv")
    near(H.qa, differences(lambda x: slope(1, q, v, x), a), "reactions qa")
    by_force = dynamics.joint_reactions_force_derivatives

    def pushed(x):
        return np.einsum("jx,...jxk->...k", w, by_force(model, x, forces)[0])

    near(H.qf[0], np.swapaxes(differences(pushed, q), -1, -2), "reactions qf")

    def momentum(q, v, a):
        return np.concatenate(dynamics.spatial_momentum(model, q, v, a)[1:], axis=-1)

    d = dynamics.spatial_momentum_derivatives(model, q, v, a)
    in_q = (d.com_q, d.velocity_q, d.acceleration_q, d.L_q, d.rate_q)
    near(np.concatenate(in_q, 1), differences(lambda x: momentum(x, v, a), q), "momentum q")
    in_v = np.concatenate((d.com_q, d.acceleration_v, d.L_v, d.rate_v), 1)
    near(in_v, differences(lambda x: momentum(q, x, a), v)[:, 3:], "momentum v")

    tau = dynamics.inverse_dynamics(model, q, v, a, forces=forces)
    active = np.arange(model.n) % 2 == 0
    for mask in (active, np.zeros(model.n, bool)):
        _, _, da, dtau = dynamics.hybrid_dynamics_derivatives(
            model, q, v, a, tau, mask, forces=forces
        )
        given = (q, v, a, tau)
        for k in range(4):

            def moved(x, k=k, mask=mask, given=given):
                state = [x if i == k else y for i, y in enumerate(given)]
                return np.stack(dynamics.hybrid_dynamics(model, *state, mask, forces=forces))

            slopes = differences(moved, given[k])
            near(da[k], slopes[0], f"hybrid a {k}")
            near(dtau[k], slopes[1], f"hybrid tau {k}")
    forward = dynamics.forward_dynamics_derivatives(model, q, v, tau, forces=forces)
    for x, y in zip(forward[1:], (da[0], da[1], da[3]), strict=True):
        near(x, y, "forward")


@pytest.mark.parametrize("seed", [0, 1])
def test_energies_momentum_and_regressor_obey_mechanics(seed: int) -> None:
    model, (q, v, a) = coupled_tree(seed), states(coupled_tree(seed), seed)
    M = dynamics.mass_matrix(model, q)
    close(dynamics.kinetic_energy(model, q, v), 0.5 * np.einsum("bi,bij,bj->b", v, M, v))
    rest = np.zeros(model.n)
    held = dynamics.inverse_dynamics(model, q, rest, rest)
    near(differences(lambda x: dynamics.potential_energy(model, x), q), held, "potential")
    plain = coupled_tree(seed, forces=False)
    Y = dynamics.torque_regressor(plain, q, v, a)
    close(Y @ plain.inertia.ravel(), dynamics.inverse_dynamics(plain, q, v, a))
    shifts = dynamics.placement_sensitivity(plain, q, v, a)[..., 3:]
    joint = plain.expanded.joint_names[2]
    moved = plain.with_placement(joint, p=plain.p[2] + (1e-5, 0, 0))
    back = plain.with_placement(joint, p=plain.p[2] - (1e-5, 0, 0))
    change = dynamics.inverse_dynamics(moved, q, v, a) - dynamics.inverse_dynamics(back, q, v, a)
    near(shifts[:, :, 2, 0], change / 2e-5, "placement")


def test_inverse_kinematics_moves_the_coordinates() -> None:
    model = coupled_tree(2)
    q = np.full(model.n, 0.3)
    goal = dynamics.frame_kinematics(model, "tool", q).p
    found = dynamics.inverse_kinematics(model, "tool", goal, guess=q + 0.05)
    assert found.converged
    close(dynamics.frame_kinematics(model, "tool", found.q).p, goal, "goal")


def test_given_arrays_are_filled_and_wrong_ones_named() -> None:
    model, given = coupled_tree(0), states(coupled_tree(0), 0)
    wanted = dynamics.inverse_dynamics_derivatives(model, *given)
    out = tuple(np.full_like(x, np.nan) for x in wanted)
    assert dynamics.inverse_dynamics_derivatives(model, *given, out=out)[1] is out[1]
    for x, y in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(x, y)
    with pytest.raises(InputError, match=f"q: expected shape .*{model.n}.*joint_names"):
        dynamics.inverse_dynamics(model, np.zeros(7), *given[1:])
    with pytest.raises(InputError, match="v: expected finite numbers, got nan"):
        dynamics.inverse_dynamics(model, given[0], np.full(model.n, np.nan), given[2])
    mask = np.ones(model.n, bool)
    with pytest.raises(ModelError, match=r"recursion: .*joints that follow others.* use hybrid"):
        dynamics.hybrid_recursion_dynamics(model, *given, given[2], mask)
    with pytest.raises(ModelError, match=r"natural coordinates: .*follow others"):
        natural_links_of(model, stiffness=1.0, damping=1.0)
    with pytest.raises(ModelError, match="no standard Denavit-Hartenberg table"):
        dynamics.lagrangian_dh_torques(model, *given)


def test_a_coordinate_without_an_axis_of_its_own() -> None:
    """A slider crank's shape: the coordinate itself moves nothing, two axes follow it."""
    builder = ModelBuilder("two axes")
    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": (0.01, 0.02, 0.02)}
    builder.add_link("arm", axis=(0, 1, 0), **body)
    builder.add_link("bob", "arm", kind="prismatic", axis=(1, 0, 0), **body)
    builder.add_coordinate("angle", damping=0.3)
    builder.couple("arm_joint", "angle", (2.0, 0.5)).couple("bob_joint", "angle", (-0.3, 1.0))
    model = builder.build()
    assert model.joint_names == ("angle",)
    assert sources(model).tolist() == [0, 0, 0]
    # as one joint: half of the energy is that of a pendulum whose length changes
    q, v = 0.4, 0.7
    turn, slide, length = 2.0 * v, -0.3 * v, 1.0 - 0.3 * q + 0.1
    energy = 0.5 * (0.02 + 0.1**2) * turn**2 + 0.5 * 0.02 * turn**2
    energy += 0.5 * (slide**2 + (length * turn) ** 2)
    assert dynamics.kinetic_energy(model, [q], [v]) == pytest.approx(energy, rel=1e-14)
    held = dynamics.inverse_dynamics(model, [q], [v], [0.0])
    free = dynamics.inverse_dynamics(model, [q], [0.0], [0.0])
    assert dynamics.forward_dynamics(model, [q], [v], held) == pytest.approx(0.0, abs=1e-12)
    assert held[0] - free[0] == pytest.approx(
        0.3 * v + 4.0 * length * -0.3 * v**2, rel=1e-12
    )  # friction, and the rate of M in Lagrange's equation


def test_a_coordinate_that_moves_nothing_somewhere_is_named_with_its_sample() -> None:
    """The slope of x^2 is zero at 0, and with it the mass matrix."""
    builder = ModelBuilder("parabola")
    builder.add_link("arm", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    builder.add_coordinate("angle")
    model = builder.couple(
        "arm_joint", "angle", PiecewisePolynomial.polynomial((0.0, 0.0, 1.0))
    ).build()
    q, rest = np.array([[0.5], [0.3], [0.0], [-0.4]]), np.zeros((4, 1))
    with pytest.raises(ModelError, match=r"joint 'angle' at sample \(2,\) .*singular"):
        dynamics.forward_dynamics(model, q, rest, rest)
    wanted = dynamics.inverse_dynamics(model, q[:2], rest[:2], [1.0])
    found = dynamics.forward_dynamics(model, q[:2], rest[:2], wanted)
    assert found == pytest.approx(1.0, rel=1e-12)
