"""The published inverse problem: its solution against dense least squares and IPOPT."""

import os
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import least_squares

from linkages import balance, four_bar, four_bar_state, two_links
from predyn.errors import InputError
from predyn.published import links_inverse as published_inverse
from predyn.published.links_inverse import estimate_link_torques
from predyn.published.natural_links import Torque
from predyn.published.trapezoidal import simulate_links
from predyn.published.trujillo_example import noisy, rigid_motion, rmse

H = 0.01
HANGING = np.array([0.0, -0.7, 0.0, -1.7])
REST = np.zeros(4)
JOINTS = [Torque("t1", "link1"), Torque("t2", "link2", "link1")]


def short(links, N=12, nodes=("A", "B"), seed=0):
    """A few noisy samples under torques that change, some of them missing."""
    rng = np.random.default_rng(seed)
    torques = 2.0 * rng.normal(size=(N, len(links.torques)))
    moved = simulate_links(links, HANGING, np.array([1.0, 0.0, 2.0, 0.3]), torques, H)
    measured = links.positions(moved.z, nodes) + 1e-3 * rng.normal(size=(N + 1, 2 * len(nodes)))
    measured[rng.random(measured.shape) < 0.1] = np.nan
    return np.array([1.0, 0.0, 2.0, 0.3]), measured


def residuals(links, v0, nodes, measured, B, order):
    """Those of equation 15, as a function of all torques."""

    def function(u):
        u = u.reshape(-1, len(links.torques))
        moved = simulate_links(links, HANGING, v0, u, H)
        misfit = (links.positions(moved.z, nodes) - measured)[1:]
        penalised_torques = u if order == 0 else np.diff(u, axis=0)
        return np.concatenate([misfit[~np.isnan(misfit)], (np.sqrt(B) * penalised_torques).ravel()])

    return function


CASES = [
    (two_links(), 1e-4, 0),
    (two_links(), 1e-4, 1),
    (two_links(torques=JOINTS), np.array([1e-3, 1e-5]), 0),
    (two_links(2e3, 30.0, JOINTS), 1e-5, 1),
]


@pytest.mark.parametrize(("links", "B", "order"), CASES)
def test_it_equals_the_dense_least_squares_solution(links, B, order):
    v0, measured = short(links)
    found = estimate_link_torques(
        links, HANGING, v0, ["A", "B"], measured, H, weight=B, order=order
    )
    assert found.converged
    function = residuals(links, v0, ["A", "B"], measured, B, order)
    dense = least_squares(function, np.zeros(found.u.size), jac="3-point", xtol=1e-15, ftol=1e-15,
                          gtol=1e-15, x_scale=10.0)  # fmt: skip
    u = dense.x.reshape(found.u.shape)
    assert np.abs(found.u - u).max() < 1e-7 * np.abs(u).max()
    assert abs(found.total - 2 * dense.cost) < 1e-12 * found.total
    assert abs(found.total - (function(found.u.ravel()) ** 2).sum()) < 1e-12 * found.total


def ipopt(links, z0, v0, Q, q0, measured, B, order, guess, torques=0.0):
    """All of z, v, u free, equations 11 and 12 as constraints, exact second derivatives.

    It begins with the motion of a guess, and a share of its torques.
    """
    N, t = len(measured) - 1, len(links.torques)
    force, mass = balance(links)
    Z, V, U = ca.SX.sym("Z", links.n, N), ca.SX.sym("V", links.n, N), ca.SX.sym("U", t, N)
    rows, E = [], 0
    z, v = ca.DM(z0), ca.DM(v0)
    for i in range(N):
        zn, vn, u = Z[:, i], V[:, i], U[:, i]
        both = force(z, v, u) + force(zn, vn, u)
        rows += [zn - z - H / 2 * (v + vn), ca.DM(mass) @ (vn - v) + H / 2 * both]
        e = ca.DM(Q) @ zn + ca.DM(q0)
        E += sum((e[k] - d) ** 2 for k, d in enumerate(measured[i + 1]) if not np.isnan(d))
        if order == 0 or i > 0:
            change = u if order == 0 else u - U[:, i - 1]
            E += ca.sumsqr(np.sqrt(B) * change)
        z, v = zn, vn
    scale = 1e4
    x = ca.vertcat(ca.vec(Z), ca.vec(V), ca.vec(U))
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-13,
               "ipopt.mu_target": 0.0, "ipopt.linear_solver": "mumps"}  # fmt: skip
    solver = ca.nlpsol("s", "ipopt", {"x": x, "f": scale * E, "g": ca.vertcat(*rows)}, options)
    x0 = np.concatenate([guess.z[1:].ravel(), guess.v[1:].ravel(), torques * guess.u.ravel()])
    found = solver(x0=x0, lbg=0, ubg=0)
    assert solver.stats()["success"]
    return np.array(found["x"]).ravel()[-t * N :].reshape(N, t), float(found["f"]) / scale


@pytest.mark.parametrize(("links", "B", "order"), CASES)
def test_it_equals_the_minimiser_of_ipopt(links, B, order):
    v0, measured = short(links, 40)
    found = estimate_link_torques(
        links, HANGING, v0, ["A", "B"], measured, H, weight=B, order=order
    )
    Q, q0 = links.measuring(["A", "B"])
    u, E = ipopt(links, HANGING, v0, Q, q0, measured, B, order, found)
    assert found.converged
    assert np.abs(found.u - u).max() < 1e-7 * np.abs(u).max()
    assert abs(found.total - E) < 1e-10 * E


def recorded(start):
    rigid = rigid_motion(start)
    return rigid.positions[0], rigid.torques, noisy(rigid.positions, 3)


@pytest.mark.parametrize("start", ["hanging", "upright"])
@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e6])
def test_it_converges_for_small_and_large_weights_and_stiff_springs(start, stiffness):
    z0, _, measured = recorded(start)
    for order in (0, 1):
        for weight in (1e-12, 1e-6, 1e-2, 1e2):
            found = estimate_link_torques(
                two_links(stiffness), z0, REST, ["A", "B"], measured, H, weight=weight, order=order
            )
            assert found.converged, (order, weight, found.message)


def sum_defects(links, found):
    """The defects of equations 11 and 12, relative to their parts."""
    force, mass = balance(links)
    (z, v, u), (a, b) = (found.z, found.v, found.u), (slice(None, -1), slice(1, None))
    of = force.map(len(u))
    both = (of(z[a].T, v[a].T, u.T) + of(z[b].T, v[b].T, u.T)).full().T
    gap, rest = z[b] - z[a] - H / 2 * (v[a] + v[b]), (v[b] - v[a]) @ mass + H / 2 * both
    return max(np.abs(gap).max() / np.abs(z).max(), np.abs(rest).max() / np.abs(v @ mass).max())


@pytest.mark.parametrize(("weight", "order"), [(1e-13, 0), (1e-14, 1)])
def test_large_torques_with_several_solutions_of_a_step(weight, order):
    """Then motion and torques are one of IPOPT's minima, and the message says so."""
    links = two_links(1e3)
    z0, _, measured = recorded("upright")
    found = estimate_link_torques(links, z0, REST, "AB", measured, H, weight=weight, order=order)
    assert found.converged
    assert "several solutions" in found.message
    assert sum_defects(links, found) < 1e-9
    Q, q0 = links.measuring(["A", "B"])
    u, E = ipopt(links, z0, REST, Q, q0, measured, weight, order, found, torques=1 + 1e-6)
    assert np.abs(found.u - u).max() < 1e-7 * np.abs(u).max()
    assert abs(found.total - E) < 1e-10 * E


def test_without_convergence_the_result_is_still_a_motion(monkeypatch):
    """Neither alone nor, for the last 3 iterations, together."""
    monkeypatch.setattr(published_inverse, "PATIENCE", 20)
    z0, _, measured = recorded("upright")
    links = two_links(1e3)
    for most in (20, 23):
        found = estimate_link_torques(
            links, z0, REST, "AB", measured, H, weight=1e-13, max_iterations=most
        )
        assert not found.converged
        assert "stopped" in found.message
        assert sum_defects(links, found) < 1e-9


def test_a_saddle_point_is_not_reported_as_converged():
    """Upright at rest, with measured heights that fall: it could fall to either side, and stays."""
    links = two_links()
    measured = np.full((41, 4), np.nan)
    measured[:, 1] = 0.7 - 0.1 * np.linspace(0.0, 1.0, 41) ** 2
    measured[:, 3] = 1.7 - 0.1 * np.linspace(0.0, 1.0, 41) ** 2
    z0 = np.array([0.0, 0.7, 0.0, 1.7])
    found = estimate_link_torques(links, z0, REST, "AB", measured, H, weight=1e-3)
    assert np.abs(found.u).max() < 1e-9
    assert not found.converged
    assert "saddle point" in found.message
    pushed = estimate_link_torques(
        links, z0, np.array([0.01, 0.0, 0.02, 0.0]), "AB", measured, H, weight=1e-3
    )
    assert pushed.converged
    assert pushed.total < 0.5 * found.total


def test_torques_that_explain_the_data_leave_no_misfit():
    """One constant torque and one measured number: the sum is zero."""
    links, z0 = four_bar(), four_bar_state(0.4)
    measured = np.full((3, 2), np.nan)
    measured[2, 0] = links.positions(z0[None], ["A"])[0, 0] + 1e-4
    found = estimate_link_torques(links, z0, 0 * z0, ["A"], measured, 0.002, weight=1e-4, order=1)
    assert found.converged
    assert found.total < 1e-20


@pytest.mark.verify
@pytest.mark.parametrize("start", ["hanging", "upright"])
@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("order", [0, 1])
def test_it_converges_for_every_weight(start, stiffness, order):
    z0, _, measured = recorded(start)
    for weight in 10.0 ** np.arange(-16, 7):
        found = estimate_link_torques(
            two_links(stiffness), z0, REST, ["A", "B"], measured, H, weight=weight, order=order
        )
        assert found.converged, (weight, found.message)


def test_a_weight_too_large_leaves_no_torque_and_one_too_small_follows_the_noise():
    z0, torques, measured = recorded("hanging")
    errors = [
        rmse(estimate_link_torques(two_links(), z0, REST, "AB", measured, H, weight=B).u, torques)
        for B in (1e-10, 1e-4, 1e4)
    ]
    assert errors[1] < 0.1 < 0.4 < errors[2] < 0.6 < errors[0]
    constant = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, weight=1e8, order=1)
    assert constant.converged
    assert np.ptp(constant.u, axis=0).max() < 0.01


def test_different_starts_give_the_same_estimate():
    z0, _, measured = recorded("upright")
    first = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, weight=1e-5)
    again = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, start=first)
    direct = estimate_link_torques(two_links(), z0, REST, "AB", measured, H)
    assert np.abs(again.u - direct.u).max() < 1e-8
    assert again.iterations < 8
    with pytest.raises(InputError, match="other data"):
        estimate_link_torques(two_links(), z0, REST, "AB", measured[:9], H, start=first)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("start", ["hanging", "upright"])
def test_the_sum_never_exceeds_that_of_its_start(start, order):
    z0, _, measured = recorded(start)
    links = two_links()
    for before, weight in ((1e-6, 1e-2), (2.15, 10.0), (10.0, 2.15)):
        first = estimate_link_torques(
            links, z0, REST, "AB", measured, H, weight=before, order=order
        )
        begun = first.misfit + weight * first.size
        for most in (1, 3000):
            found = estimate_link_torques(
                links, z0, REST, "AB", measured, H, weight=weight, order=order, start=first,
                max_iterations=most,
            )  # fmt: skip
            assert found.total <= (1 + 1e-7) * begun  # steps may rise by 1e-8 in rounding
        assert found.converged


def test_starting_at_a_minimum_stays_there():
    z0, _, measured = recorded("upright")
    for weight in (1e-8, 1e-4, 10.0):
        first = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, weight=weight)
        again = estimate_link_torques(
            two_links(), z0, REST, "AB", measured, H, weight=weight, start=first
        )
        assert again.iterations <= 2
        assert np.abs(again.u - first.u).max() < 1e-8 * np.abs(first.u).max()


def test_a_start_with_other_springs_gives_the_same_estimate():
    z0, _, measured = recorded("upright")
    softer = estimate_link_torques(two_links(2e3), z0, REST, "AB", measured, H)
    begun = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, start=softer)
    direct = estimate_link_torques(two_links(), z0, REST, "AB", measured, H)
    assert begun.converged
    assert np.abs(begun.u - direct.u).max() < 1e-8


def test_an_estimate_that_has_not_converged_says_so():
    z0, _, measured = recorded("hanging")
    cut = estimate_link_torques(two_links(), z0, REST, "AB", measured, H, max_iterations=1)
    assert not cut.converged
    assert "1 iteration" in cut.message


@pytest.mark.parametrize("nodes", [["A", "B", "P"], ["P"]])
def test_torques_of_a_closed_four_bar_are_recovered(nodes):
    links, z0 = four_bar(), four_bar_state(0.8)
    t = H * np.arange(200)
    true = (2.5 + 1.5 * np.sin(2 * np.pi * t))[:, None]
    moved = simulate_links(links, z0, 0 * z0, true, H)
    assert np.ptp(np.unwrap(np.arctan2(moved.z[:, 1], moved.z[:, 0]))) > 1.0
    rng = np.random.default_rng(1)
    measured = links.positions(moved.z, nodes)
    measured += 2e-4 * rng.normal(size=measured.shape)
    measured[rng.random(measured.shape) < 0.1] = np.nan
    found = estimate_link_torques(links, z0, 0 * z0, nodes, measured, H, weight=1e-6, order=1)
    assert found.converged
    assert rmse(found.u, true) < 0.05 * np.ptp(true)
    exact = links.positions(moved.z, nodes)
    clean = estimate_link_torques(links, z0, 0 * z0, nodes, exact, H, weight=1e-12, order=1)
    assert rmse(clean.u, true) < 2e-3


def test_long_recordings_converge_as_fast():
    links = two_links()
    iterations = []
    for N in (500, 4000):
        t = H * np.arange(N)
        torques = 0.5 * np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
        moved = simulate_links(links, HANGING, REST, torques, H)
        found = estimate_link_torques(links, HANGING, REST, "AB", noisy(moved.z, 0), H)
        assert found.converged
        iterations.append(found.iterations)
    assert iterations[1] <= 3 * iterations[0]


def test_bad_input_is_refused():
    links = two_links()
    good = np.tile(HANGING, (5, 1))
    missing, infinite = good.copy(), good.copy()
    missing[1:] = np.nan
    infinite[2, 1] = np.inf
    for measured, options, said in (
        (good[:, :3], {}, "measured"),
        (good[:1], {}, "at least 2 rows"),
        (missing, {}, "every sample"),
        (infinite, {}, "row 2"),
        (good, {"weight": 0.0}, "weight"),
        (good, {"weight": [1.0, 1.0, 1.0]}, "weight"),
        (good, {"order": 2}, "order"),
        (good, {"max_iterations": 0}, "max_iterations"),
    ):
        with pytest.raises(InputError, match=said):
            estimate_link_torques(links, HANGING, REST, "AB", measured, H, **options)
    with pytest.raises(InputError, match="node"):
        estimate_link_torques(links, HANGING, REST, ["C"], good, H)
    with pytest.raises(InputError, match="step"):
        estimate_link_torques(links, HANGING, REST, "AB", good, -H)


PLAIN = """
import numpy as np
from linkages import two_links
from predyn.published.links_inverse import PATIENCE, estimate_link_torques
z0 = np.array([0.0, -0.7, 0.0, -1.7])
d = z0 + 1e-3 * np.random.default_rng(0).standard_normal((9, 4))
for order in (0, 1):
    found = estimate_link_torques(two_links(2e3, 1.0), z0, 0 * z0, "AB", d, 0.01, order=order)
    print(*found.u.ravel())
"""


def test_uncompiled_code_gives_the_same():
    results = []
    for off in ("0", "1"):
        path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), *sys.path])
        environment = {**os.environ, "NUMBA_DISABLE_JIT": off, "PYTHONPATH": path}
        run = subprocess.run(
            [sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        results.append(np.array(run.stdout.split(), float))
    assert np.abs(results[0] - results[1]).max() < 1e-9 * np.abs(results[1]).max()
