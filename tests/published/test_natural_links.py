"""Natural links against Lagrange's equations in CasADi and against the rigid model."""

import casadi as ca
import numpy as np
import pytest

import predyn
from linkages import balance, four_bar, four_bar_state, two_links
from predyn.dynamics.energy import kinetic_energy, potential_energy
from predyn.errors import InputError, ModelError
from predyn.model.builder import ModelBuilder
from predyn.model.mass_check import link_poses
from predyn.published.link_kernels import add_curvature
from predyn.published.links_from_model import natural_links_of
from predyn.published.natural_links import Carried, Link, NaturalLinks, Torque
from predyn.published.trapezoidal import simulate_links

LINKAGES = {
    "two links": lambda: two_links(
        1e3, 20.0, [Torque("a", "link1"), Torque("b", "link2", "link1")]
    ),
    "four-bar": lambda: four_bar(15.0),
}


def at(links, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=links.n), rng.normal(size=links.n), rng.normal(size=len(links.torques))


@pytest.mark.parametrize("name", LINKAGES)
def test_forces_and_partials_equal_those_of_lagrange(name):
    links = LINKAGES[name]()
    force, mass = balance(links)
    z, v, u = at(links, 1)
    scale = 1e3
    assert np.abs(links.system.mass - mass).max() < 1e-15
    expected = np.array(force(z, v, 0 * u)).ravel()
    assert np.abs(links.forces(z, v) + links.system.weight - expected).max() < 1e-13 * scale
    jacobian = force.jacobian()
    by_z, by_v, by_u = (np.array(x) for x in jacobian(z, v, 0 * u, 0 * z))
    J, C = links.jacobian(z, v)
    assert np.abs(J - by_z).max() < 1e-13 * scale
    assert np.abs(C - by_v).max() < 1e-13 * scale
    assert np.abs(links.torque_matrix(z) + by_u).max() < 1e-14
    without = two_links(1e3).jacobian(at(two_links(), 2)[0])[0]
    assert np.abs(without - without.T).max() < 1e-12


@pytest.mark.parametrize("name", LINKAGES)
def test_second_partials(name):
    links = LINKAGES[name]()
    force, _ = balance(links)
    z, v, u = at(links, 3)
    mu = np.random.default_rng(4).normal(size=links.n)
    Z, V, U = (ca.SX.sym(x, len(y)) for x, y in (("z", z), ("v", v), ("u", u)))
    x = ca.vertcat(Z, V, U)
    H = ca.Function("H", [Z, V, U], [ca.hessian(ca.dot(ca.DM(mu), force(Z, V, U)), x)[0]])
    expected = np.array(H(z, v, u))
    n = links.n
    W, W_u = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, len(u)))
    add_curvature(links.system, z, v, u, mu, W, W_u)
    assert np.abs(W - expected[: 2 * n, : 2 * n]).max() < 1e-13 * np.abs(expected).max()
    assert np.abs(W_u - expected[: 2 * n, 2 * n :]).max() < 1e-13 * np.abs(expected).max()


def test_one_link_equals_the_element_of_the_paper():
    """Equations 4, 5, 6, 8 and 9, as corrected, written out for a link with both ends free."""
    m, inertia, L0, La, k = 1.3, 0.07, 0.9, 0.3, 500.0
    link = Link("link", "a", "b", L0, m, inertia, La, k)
    links = NaturalLinks([link], pinned={}, torques=[Torque("T", "link")], gravity=(0, -9.806))
    a, b = La / L0, 1 - La / L0
    one = np.eye(2)
    M = m * np.block([[b * b * one, a * b * one], [a * b * one, a * a * one]])
    M += inertia / L0**2 * np.block([[one, -one], [-one, one]])
    assert np.abs(links.system.mass - M).max() < 1e-15
    assert np.abs(links.system.weight - m * 9.806 * np.array([0, b, 0, a])).max() < 1e-14
    z = np.array([0.1, 0.2, 0.9, 0.7])
    dx, dy = z[2:] - z[:2]
    L = np.hypot(dx, dy)
    f = k * (L - L0) / L * np.array([-dx, -dy, dx, dy])
    assert np.abs(links.forces(z) - f).max() < 1e-12
    D = np.array([dy, -dx, -dy, dx]) / L**2
    assert np.abs(links.torque_matrix(z)[:, 0] - D).max() < 1e-15
    J11 = k * ((1 - L0 / L) + L0 * dx**2 / L**3)
    J12 = k * L0 * dx * dy / L**3
    J = links.jacobian(z)[0]
    assert abs(J[0, 0] - J11) < 1e-12
    assert abs(J[0, 1] - J12) < 1e-12
    assert abs(J[0, 2] + J11) < 1e-12
    assert abs(J[2, 3] - J12) < 1e-12


def planar_tree(axis=(0.0, 0.0, 1.0), flip=1.0):
    """Branches, centres of mass off the bars, a joint that rotates the other way."""
    axis = np.asarray(axis, float)
    x = np.array([0.0, 1.0, 0.0]) if abs(axis[0]) > 0.9 else np.array([1.0, 0.0, 0.0])
    x = x - (x @ axis) * axis
    y = np.cross(axis, x)

    def p(a, b):
        return a * x + b * y

    inertia = 0.05 * np.eye(3)
    builder = ModelBuilder("tree", gravity=p(1.0, -9.0) + 2.0 * axis)
    builder.add_link("trunk", "world", "hip", axis=axis, origin=p(0.3, -0.2), mass=2.0,
                     com=p(0.2, 0.05), inertia=inertia)  # fmt: skip
    builder.add_link("arm", "trunk", "shoulder", axis=-flip * axis, origin=p(0.5, 0.1), mass=0.7,
                     com=p(0.2, -0.1), inertia=0.02 * np.eye(3))  # fmt: skip
    builder.add_link("head", "trunk", "neck", axis=axis, origin=p(0.5, -0.2), mass=0.9,
                     com=p(0.1, 0.1), inertia=0.01 * np.eye(3))  # fmt: skip
    builder.add_link("hand", "arm", "wrist", axis=axis, origin=p(0.4, 0.0), mass=0.3,
                     com=p(0.1, 0.02), inertia=0.01 * np.eye(3))  # fmt: skip
    builder.add_frame("crown", "head", p(0.3, 0.1))
    builder.add_frame("finger", "hand", p(0.2, 0.1)).add_frame("thumb", "hand", p(0.1, 0.2))
    return builder.build()


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, -1, 0), (0.6, 0.0, 0.8), (1, 0, 0)])
def test_links_of_a_model_have_its_energies_and_powers(axis):
    model = planar_tree(axis)
    made = natural_links_of(model)
    links = made.links
    rng = np.random.default_rng(5)
    heights = []
    for _ in range(3):
        q, v = rng.normal(size=(2, model.n))
        z, rate = made.state(model, q, v)
        T = 0.5 * rate @ links.system.mass @ rate
        assert abs(T - kinetic_energy(model, q, v)) < 1e-13 * 10
        heights.append(z @ links.system.weight - potential_energy(model, q))
        assert np.abs(links.forces(z, rate)).max() < 1e-11  # lengths are right: no spring pulls
        assert np.abs(links.torque_matrix(z).T @ rate - v).max() < 1e-13 * 10
        R, p = link_poses(model, q)
        frames = [model.frame(x) for x in ("crown", "thumb")]
        points = np.array([R[x.link] @ x.p + p[x.link] for x in frames])
        seen = links.positions(z, ["crown", "thumb"])
        assert np.abs(made.measured(points) - seen).max() < 1e-14
    assert np.ptp(heights) < 1e-13 * 100
    by_link = natural_links_of(model, torques="link").links
    assert by_link.torque_names == model.link_names


def test_stiff_springs_approach_the_rigid_model():
    model = planar_tree()
    q0, v0 = np.array([0.4, -0.3, 0.5, 0.2]), np.array([0.5, 1.0, -1.0, 0.3])
    torques = np.tile([0.6, 0.2, -0.3, 0.1], (400, 1))
    rigid = predyn.simulate(model, q0, v0, torques[0], [0.0, 0.4])
    errors = []
    for stiffness in (1e4, 1e5):
        made = natural_links_of(model, stiffness=stiffness)
        moved = simulate_links(made.links, *made.state(model, q0, v0), torques, 1e-3)
        errors.append(np.abs(moved.z[-1] - made.state(model, rigid.q[-1], rigid.v[-1])[0]).max())
    assert errors[1] < 1e-3
    assert errors[1] < 0.2 * errors[0]  # falls as 1/k


@pytest.mark.parametrize("name", LINKAGES)
def test_energy_is_conserved_to_second_order_and_dampers_dissipate_it(name):
    damped = LINKAGES[name]()
    if name == "two links":
        links, z0 = two_links(1e3), np.array([0.7, 0.0, 1.2, 0.866])
        z0[2:] = z0[:2] + np.array([0.5, np.sqrt(0.75)])
    else:
        links, z0 = four_bar(), four_bar_state(0.5)
    drift = []
    for steps in (200, 400):
        moved = simulate_links(
            links, z0, 0 * z0, np.zeros((steps, len(links.torques))), 0.4 / steps
        )
        energy = links.energy(moved.z, moved.v)
        drift.append(np.abs(energy - energy[0]).max())
    assert drift[1] < 0.3 * drift[0]
    assert drift[0] < 0.05
    moved = simulate_links(damped, z0, 0 * z0, np.zeros((400, len(damped.torques))), 1e-3)
    energy = damped.energy(moved.z, moved.v)
    assert energy[-1] < energy[0] - 3 * drift[1]


def test_torques_do_work():
    links, z0 = four_bar(), four_bar_state(0.5)
    torques = np.full((2000, 1), 0.4)
    moved = simulate_links(links, z0, 0 * z0, torques, 2e-4)
    turned = np.unwrap(np.arctan2(moved.z[:, 1], moved.z[:, 0]))
    work = 0.4 * (turned[-1] - turned[0])
    energy = links.energy(moved.z, moved.v)
    assert abs(work) > 0.1
    assert abs(energy[-1] - energy[0] - work) < 1e-3 * abs(work)


BAR = {"length": 1.0, "mass": 1.0, "inertia": 0.1, "along": 0.5}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"torques": []}, "at least one torque"),
        ({"links": []}, "at least one link"),
        ({"links": [Link("x", "a", "a", **BAR)]}, "both ends"),
        ({"links": [Link("x", "a", "b", **{**BAR, "length": 0.0})]}, "positive length"),
        ({"links": [Link("x", "a", "b", **{**BAR, "mass": -1.0})]}, "nonnegative mass"),
        ({"links": [Link("x", "a", "b", **{**BAR, "mass": 0.0, "inertia": 0.0})]}, "without mass"),
        ({"pinned": {"a": (0, 0), "b": (1, 0)}}, "no node can move"),
        ({"pinned": {"a": (0, np.nan)}}, "finite"),
        ({"carried": {"a": Carried("x", 0.1)}}, "both pinned and carried"),
        ({"carried": {"b": Carried("x", 0.1)}}, "depends on it"),
        ({"carried": {"c": Carried("y", 0.1)}}, "'y'"),
        ({"torques": [Torque("t", "y")]}, "'y'"),
        ({"torques": [Torque("t", "x"), Torque("t", "x")]}, "named twice"),
        (
            {
                "links": [Link("x", "a", "b", **BAR), Link("y", "c", "d", **BAR)],
                "torques": [Torque("t", "x", "y")],
            },
            "share no node",
        ),
    ],
)
def test_invalid_linkages_are_refused(change, said):
    given = {
        "links": [Link("x", "a", "b", **BAR)],
        "pinned": {"a": (0.0, 0.0)},
        "torques": [Torque("t", "x")],
    }
    with pytest.raises((ModelError, InputError), match=said):
        NaturalLinks(**{**given, **change})


def test_models_that_are_not_planar_are_refused():
    with pytest.raises(InputError, match="'joint1' is prismatic"):
        natural_links_of(predyn.models.prismatic_revolute())
    with pytest.raises(InputError, match="not parallel"):
        natural_links_of(predyn.models.random_tree(3, 0, kinds=("revolute",)))
    rod = {"name": "rod", "mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.1, 0.1, 0.1)}
    bare = ModelBuilder().add_link(**rod).build()
    with pytest.raises(InputError, match="'rod' has no point"):
        natural_links_of(bare)
    with pytest.raises(InputError, match="torques"):
        natural_links_of(planar_tree(), torques="both")
    with pytest.raises(InputError, match="end of link 'hand'"):
        natural_links_of(planar_tree(), ends={"hand": "crown"})
    with pytest.raises(InputError, match="damping"):
        natural_links_of(ModelBuilder().add_link(**rod, damping=0.1).build())
    ended = natural_links_of(planar_tree(), ends={"hand": "thumb"}).links
    assert {link.name: link.b for link in ended.links}["hand"] == "thumb"
    assert "finger" in ended.carried


def test_bad_states_and_steps_are_refused():
    links = two_links()
    z, u = np.array([0, -0.7, 0, -1.7]), np.zeros((3, 2))
    for bad, said in (
        ((z[:3], 0 * z, u, 0.01), "z0"),
        ((z, 0 * z * np.nan, u, 0.01), "v0"),
        ((z, 0 * z, u[:, :1], 0.01), "torques"),
        ((z, 0 * z, u * np.nan, 0.01), "not finite in row 0"),
        ((z, 0 * z, u, 0.0), "step"),
    ):
        with pytest.raises(InputError, match=said):
            simulate_links(links, *bad)
    with pytest.raises(InputError, match="'Z'"):
        links.measuring(["Z"])
    with pytest.raises(predyn.errors.PredynError, match="shorter"):
        simulate_links(links, z, 0 * z, np.full((50, 2), 1e4), 0.01)
