"""The smoother against an independent version of its least squares (oracles/casadi_estimate.py).

Tolerances. A torque is a sum of products with accelerations, (c - 2c + c) / h^2, so that its
rounding is some dozens of eps |slope in c| |c| a link, errors adding up like a root: 64 sqrt(n) eps
of that. Slopes have no such difference: 64 sqrt(n) eps of the largest. An inverse from normal
equations errs by eps cond(H). The minimum must be that of the oracle to 1e-7 of the largest
coefficient and torque.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

from estimate import smoother_cases
from estimate.smoother_cases import (
    grid_of,
    guess_of,
    levels_of,
    marked_tree,
    slides,
    smoother_of,
    task,
)
from oracles.casadi_estimate import Oracle, Task
from oracles.casadi_oracle import frame_expression
from predyn.errors import InputError
from predyn.estimate.curve_of_weights import FACTORS, curve_of_weights
from predyn.estimate.evidence import Trial
from predyn.estimate.regularisation import Rows, changes, combination
from predyn.estimate.smoother import HELD, ROUNDING, Levels
from predyn.estimate.states import node_deviations, torque_deviations
from predyn.estimate.total_variation import ROUNDED, switching
from predyn.model import PRISMATIC, REVOLUTE, SCREW, Model
from predyn.model.builder import ModelBuilder

EPS = float(np.finfo(float).eps)
SAME = 1e-7  # of the largest number
ENDED = (
    "Solve_Succeeded",
    "Solved_To_Acceptable_Level",
    "Search_Direction_Becomes_Too_Small",  # steps of the size of rounding
)


def every(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def marks(*numbers: int) -> tuple[str, ...]:
    return tuple(f"m{k}" for k in numbers)


CASES = {
    "angles": (3, 1, {"angles": every(3)}),
    "angles, order 0": (4, 2, {"angles": every(4), "order": 0}),
    "angles, order 2": (6, 3, {"angles": every(6), "order": 2}),
    "markers": (4, 4, {"markers": marks(0, 1, 2, 3)}),
    "markers, order 2, links": (
        3, 11, {"markers": marks(0, 1, 2), "order": 2, "of": "links", "samples": 31},
    ),
    "mixed, gaps, other times": (
        6, 5, {"angles": (0, 2, 4), "markers": marks(1, 3, 5), "missing": 0.15, "samples": 27},
    ),
    "few samples": (2, 12, {"angles": every(2), "samples": 9, "K": 16}),
    "accelerations": (4, 14, {"angles": every(4), "of": "accelerations", "order": 2}),
    "pushed": (4, 6, {"angles": every(4), "pushed": "l3"}),
    "pushed marker, gaps": (
        5, 13, {"angles": every(5), "markers": marks(4), "missing": 0.3, "pushed": "m2"},
    ),
}  # fmt: skip
FREE = {
    "one free": (4, 7, {"angles": every(4), "unactuated": (1,)}),
    "two free, markers, links": (
        5, 8, {"markers": marks(0, 1, 2, 3, 4), "unactuated": (0, 2), "of": "links"},
    ),
    "free, accelerations": (
        4, 15, {"angles": every(4), "unactuated": (2,), "of": "accelerations"},
    ),
    "floating, order 2": (6, 9, {"angles": every(6), "unactuated": (0, 1, 2), "order": 2}),
}  # fmt: skip
ALL = CASES | FREE


@cache
def made(name: str) -> tuple[Task, Oracle, np.ndarray]:
    n, seed, options = ALL[name]
    made_of = task(marked_tree(n, seed), seed, **({"K": 12} | options))
    return made_of, Oracle(made_of), guess_of(made_of, seed)


@cache
def minimum(name: str) -> np.ndarray:
    given, _, c = made(name)
    smoother = smoother_of(given)
    found, reached = smoother.minimum(c, levels_of(given))
    assert reached
    return found


def spread_out(rows: Rows, size: int) -> np.ndarray:
    """Rows as a dense matrix."""
    out = np.zeros((len(rows.value), size))
    for r, at in enumerate(rows.first):
        width = min(rows.J.shape[1], size - at)
        out[r, at : at + width] = rows.J[r, :width]
        assert not rows.J[r, width:].any()
    return out


def assert_rows(rows: Rows, value: np.ndarray, J: np.ndarray, c: np.ndarray, n: int) -> None:
    few = 64 * np.sqrt(n) * EPS
    largest = max(1.0, np.abs(J).max())
    found = spread_out(rows, len(c))
    assert found.shape == J.shape
    assert np.abs(found - J).max() <= few * largest
    assert np.abs(rows.value - value.ravel()).max() <= few * largest * max(1.0, np.abs(c).max())


@pytest.mark.parametrize("name", ALL)
def test_rows_of_measurements(name: str) -> None:
    """By sample in predyn, by channel and component in the oracle."""
    given, oracle, c = made(name)
    n, observations = given.model.n, smoother_of(given).observations
    seen = observations.rows(c)
    sample = np.repeat(np.arange(len(given.t)), np.diff(seen.start))
    assert np.array_equal(seen.value, observations.fitted(c) - observations.measured)
    J = (seen.basis[sample, :, None] * seen.J[:, None, :]).reshape(len(sample), 3 * n)
    for number, (channel, misfit) in enumerate(zip(oracle.names, oracle.misfits, strict=True)):
        at = np.flatnonzero(observations.thing == number)
        if channel in given.markers:
            _, axis = np.nonzero(np.isfinite(given.markers[channel]))
            at = at[np.argsort(axis, kind="stable")]
        rows = Rows(seen.interval[sample[at]] * n, J[at], seen.value[at])
        assert_rows(rows, oracle.value(misfit, c), oracle.slopes(misfit, c), c, n)


@pytest.mark.parametrize("name", ALL)
def test_torques_and_their_slopes(name: str) -> None:
    given, oracle, c = made(name)
    n = given.model.n
    tau, U = smoother_of(given).driving.slopes(c)
    first = np.repeat(n * np.arange(given.K), n)
    exact = oracle.torques(c)
    rows = Rows(first, U.reshape(given.K * n, -1), tau.ravel())
    assert_rows(rows, exact.r, exact.J, c, n)
    again = smoother_of(given).driving.torques(c)
    assert np.abs(again - tau).max() <= 64 * np.sqrt(n) * EPS * np.abs(exact.J).max() * 2


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", ["angles", "pushed", "two free, markers, links"])
def test_changes_of_torques(name: str, order: int) -> None:
    given, _, c = made(name)
    given = replace(given, order=order)
    oracle, n = Oracle(given), given.model.n
    tau, U = smoother_of(given).driving.slopes(c)
    found = changes(tau, U, given.combination, order)
    look = oracle.changes
    assert_rows(found.rows, oracle.value(look, c).T, oracle.slopes(look, c), c, n)
    assert len(found.start) == len(oracle.start) == order
    for rows, x in zip(found.start, oracle.start, strict=True):
        assert_rows(rows, oracle.value(x, c), oracle.slopes(x, c), c, n)


def carried(model: Model, active: np.ndarray) -> np.ndarray:
    """Torque on each link: its joint's less those of joints that it carries about parallel axes,
    from the axes as they point in the world in some pose."""
    q = np.random.default_rng(3).standard_normal(model.n)
    world = []
    for j, link in enumerate(model.link_names):
        symbol, _, _, (R, *_) = frame_expression(model, link, (0.0, 0.0, 0.0))
        world.append(ca.Function("R", [symbol], [R])(q).full() @ model.axis[j])
    A = np.eye(model.n)
    for j, up in enumerate(model.parent):
        alike = (model.kind[j] == PRISMATIC) == (model.kind[up] == PRISMATIC)
        if up >= 0 and alike and active[j] and active[up]:
            cosine = float(world[j] @ world[up])
            A[up, j] = -round(cosine) if abs(cosine) > 1 - 1e-12 else 0.0
    return A[active]


def test_torques_on_links() -> None:
    turned = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # y to z, z to -y
    builder = ModelBuilder("parallel")
    joints = [
        ("a", "world", "revolute", (0, 0, 1), None),
        ("b", "a", "revolute", (0, 0, 1), None),
        ("c", "b", "revolute", (0, 0, -1), None),
        ("d", "c", "prismatic", (0, 0, 1), None),
        ("e", "d", "prismatic", (0, 1, 0), turned),
        ("f", "b", "screw", (0, -1, 0), turned),
        ("g", "f", "revolute", (0, 0, 1), None),
        ("h", "a", "revolute", (0, 0.6, 0.8), None),
    ]
    for name, up, kind, axis, rotation in joints:
        builder.add_link(name, up, f"j{name}", kind, axis=axis, rotation=rotation, mass=1.0,
                         pitch=0.1 if kind == "screw" else 0.0, origin=(0.3, 0.1, 0.2),
                         inertia=(0.1, 0.1, 0.1))  # fmt: skip
    model = builder.build()
    active = np.ones(model.n, bool)
    wanted = carried(model, active)
    assert set(np.unique(wanted)) == {-1.0, 0.0, 1.0}
    assert np.count_nonzero(wanted) == model.n + 4
    assert np.array_equal(combination(model, active, "links"), wanted)
    assert np.array_equal(combination(model, active, "joints"), np.eye(model.n))
    active[model.joint_index("jb")] = False
    assert np.array_equal(combination(model, active, "links"), carried(model, active))


def test_cases_have_all_kinds_of_joints() -> None:
    kinds = {int(k) for name in ALL for k in made(name)[0].model.kind}
    assert kinds == {REVOLUTE, PRISMATIC, SCREW}
    linked = [made(name)[0] for name in ALL]
    assert {given.order for given in linked} == {0, 1, 2}


def far(oracle: Oracle, found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference of coefficients and of torques, over the largest of each."""
    tau = oracle.torques(wanted).r
    return float(
        max(
            np.abs(found - wanted).max() / np.abs(wanted).max(),
            np.abs(oracle.torques(found).r - tau).max() / np.abs(tau).max(),
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_minimum_equals_that_of_dense_least_squares(name: str) -> None:
    _, oracle, c = made(name)
    assert far(oracle, minimum(name), oracle.gauss_newton(c)) < SAME


@pytest.mark.parametrize(
    "name", ["angles, order 0", "markers, order 2, links", "accelerations", "pushed", *FREE]
)
def test_minimum_equals_that_of_ipopt(name: str) -> None:
    _, oracle, c = made(name)
    wanted, status, _ = oracle.ipopt()(c)
    assert status in ENDED
    assert far(oracle, minimum(name), wanted) < SAME


@pytest.mark.parametrize("name", ALL)
def test_objective_is_half_the_sum_of_squares(name: str) -> None:
    """And the cost of torques of unactuated joints, and their products with multipliers."""
    given, oracle, c = made(name)
    r = oracle.dense(c).r
    free = oracle.held(c).r.reshape(given.K, -1) / given.usual[list(given.unactuated)]
    multipliers = np.random.default_rng(1).standard_normal(free.shape)
    found = smoother_of(given).objective(c, levels_of(given), multipliers)
    wanted = 0.5 * (r @ r) + 0.5 * HELD * np.sum(free**2) + np.sum(multipliers * free)
    assert found == pytest.approx(wanted, rel=1e-9)


def deviations(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of q and v at the nodes and of torques, by predyn."""
    given = made(name)[0]
    posterior = smoother_of(given).posterior(minimum(name), levels_of(given))
    assert posterior.damping == 0.0
    grid = grid_of(given)
    return (*node_deviations(grid, posterior.C), torque_deviations(grid, posterior))


def looked_at(name: str) -> list[np.ndarray]:
    """Slopes of q, v at the nodes and of torques in the coefficients, dense."""
    given, oracle, _ = made(name)
    n = given.model.n
    nodes = [np.kron(given.spline(given.nodes, k), np.eye(n)) for k in range(2)]
    return [*nodes, oracle.torques(minimum(name)).J]


@pytest.mark.parametrize("name", ALL)
def test_bands_equal_those_of_the_dense_inverse(name: str) -> None:
    """On motions that leave unactuated joints without torque, whose band is almost zero."""
    given, oracle, _ = made(name)
    C, free = oracle.covariance(minimum(name)), list(given.unactuated)
    q, v, tau = deviations(name)
    J = np.abs(looked_at(name)[2])
    rounding = len(C) * EPS * np.einsum("ri,ij,rj->r", J, np.abs(C), J).reshape(tau.shape)
    assert np.all(tau[:, free] ** 2 <= rounding[:, free])
    driven = np.delete(np.arange(tau.size).reshape(tau.shape), free, axis=1)
    every_one = np.arange(q.size)
    for found, J, at in zip((q, v, tau), looked_at(name), (every_one, every_one, driven.ravel()),
                            strict=True):  # fmt: skip
        exact = np.sqrt(np.einsum("ri,ij,rj->r", J[at], C, J[at]))
        assert np.abs(found.ravel()[at] / exact - 1.0).max() < 1e-6


@pytest.mark.parametrize(("seed", "off"), [(15, 0.0), (16, 0.02)])
def test_joints_neither_driven_nor_measured(seed: int, off: float) -> None:
    """Convergence is slow: accurate to the last gain, in standard deviations."""
    given = task(marked_tree(3, seed), seed, angles=(0, 2), unactuated=(1,), K=12)
    oracle, smoother, c = Oracle(given), smoother_of(given), guess_of(given, seed, off)
    found, reached = smoother.minimum(c, levels_of(given))
    assert reached
    wanted, status, _ = oracle.ipopt()(found)
    assert status in ENDED
    away = np.linalg.norm(oracle.dense(wanted).J @ (found - wanted))
    assert away < np.sqrt(2 * ROUNDING[0][0] * len(c))


def test_fine_steps_converge_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torques then round to eps |c| |M| / h^2, more than the size that counts as none."""
    monkeypatch.setattr(smoother_cases, "H", 0.005)
    given = task(marked_tree(6, 2), 2, angles=every(6), unactuated=(0, 1, 2), K=100, noise=1e-3)
    smoother = smoother_of(given)
    _, reached = smoother.minimum(guess_of(given, 2, 0.001), levels_of(given))
    assert reached
    assert smoother.evaluations < 40


def test_torques_of_unactuated_joints_converge_to_zero() -> None:
    for name in FREE:
        given, oracle, _ = made(name)
        free = oracle.held(minimum(name)).r.reshape(given.K, -1)
        assert np.all(np.abs(free) < 1e-9 * given.usual[list(given.unactuated)])


SWITCHING = ["angles", "markers", "pushed marker, gaps", "one free", "two free, markers, links"]


@pytest.mark.parametrize("name", SWITCHING)
def test_total_variation_equals_that_of_ipopt(name: str) -> None:
    given, oracle, _ = made(name)
    mean, nothing = given.scale, np.zeros(len(given.scale), bool)
    smoother, levels = smoother_of(given), levels_of(given)
    trial = Trial(smoother, minimum(name), levels, 0.0, np.zeros(len(mean)), 0, True)
    wide = tuple(Levels(x * levels.noise, x * mean) for x in (1e-9, 1e9))
    found = switching(trial, np.zeros(len(levels.noise), bool), nothing, wide)
    assert found.reached
    assert np.array_equal(found.mean, mean)
    assert np.array_equal(found.levels.noise, levels.noise)
    peer, wanted = oracle.ipopt(mean=mean), minimum(name)
    if given.unactuated:  # from afar IPOPT ends nowhere
        wanted = found.c
    for corner in (ROUNDED,) if given.unactuated else (1.0, 0.1, 0.01, ROUNDED):
        wanted, status, _ = peer(wanted, corner)
    assert status in ENDED
    assert far(oracle, found.c, wanted) < SAME


@pytest.mark.parametrize("name", ["mixed, gaps, other times", "markers, order 2, links"])
def test_curve_of_weights(name: str) -> None:
    """Other weights about the minimum; Cholesky's error is eps cond(H) here too, of the sum: of
    either part up to the square root of the weight more."""
    given, oracle, _ = made(name)
    c, levels = minimum(name), levels_of(given)
    smoother = smoother_of(given)
    curve = curve_of_weights(smoother, smoother.linearised(c, levels), levels)
    r, J = oracle.dense(c)
    data = oracle.data.numel()
    assert np.array_equal(curve.weights, FACTORS)
    for factor, misfit, size in zip(*curve[:3], strict=True):
        weight = np.repeat([1.0, np.sqrt(factor)], [data, len(r) - data])
        Q, R = np.linalg.qr(weight[:, None] * J)
        left = r - J @ np.linalg.solve(R, Q.T @ (weight * r))
        loss = 4 * EPS * np.linalg.cond(R / np.linalg.norm(R, axis=0)) ** 2
        loss *= max(np.sqrt(factor), 1.0 / np.sqrt(factor))
        assert loss < 1e-3
        assert misfit == pytest.approx(left[:data] @ left[:data], rel=loss)
        assert size == pytest.approx(left[data:] @ left[data:], rel=loss)


def test_a_joint_without_measurements() -> None:
    """Its start is then free, and no step can be found without damping."""
    model = replace(slides(), stiffness=np.zeros(4), damping=np.zeros(4))
    given = task(model, 1, angles=(0, 1, 3))
    smoother = smoother_of(given)
    posterior = smoother.posterior(guess_of(given, 1), levels_of(given))
    assert posterior.damping > 0.0
    one = replace(given, noise={name: 1e200 for name in given.noise}, scale=1e200 * given.scale)
    with pytest.raises(InputError, match="do not determine the motion"):
        smoother_of(one).posterior(guess_of(given, 1), levels_of(one))
