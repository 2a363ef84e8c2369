"""What `retime` returns and refuses."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import predyn
from closed_mechanisms import four_bar
from coupled_trees import coupled_tree
from fake_solution import fake_solution
from predyn.curves.bspline import BSpline
from predyn.solution import Curve

POINTS = np.array([[0.2, -0.4], [0.9, 0.6], [1.2, -0.2], [0.4, 0.8]])


def arm(**entries) -> predyn.Model:
    model = predyn.models.two_link().with_limits(
        position=np.inf, effort=(6.0, 2.0), velocity=(3.0, 4.0)
    )
    return replace(model, **entries)


@pytest.fixture(scope="module")
def found() -> predyn.Retiming:
    return predyn.retime(arm(), POINTS).check()


def test_follows_the_points(found: predyn.Retiming) -> None:
    """Each point lies on the path, in the given order, at rest at both ends."""
    away = np.linalg.norm(found.q[:, None] - POINTS, axis=2)
    assert (np.diff(away.argmin(axis=0)) > 0).all()
    assert away.min(axis=0).max() < 1e-9  # points are breaks, and breaks are nodes
    np.testing.assert_array_equal(found.v[[0, -1]], 0.0)


def test_samples_are_the_derivatives_of_each_other(found: predyn.Retiming) -> None:
    middle = 0.5 * (found.node_times[:-1] + found.node_times[1:])
    step = 1e-6
    (q0, v0, *_), (_, v, a, _), (q1, v1, *_) = (found.at(middle + x) for x in (-step, 0.0, step))
    np.testing.assert_allclose((q1 - q0) / (2 * step), v, atol=1e-7)
    np.testing.assert_allclose((v1 - v0) / (2 * step), a, rtol=1e-6, atol=1e-6)


def test_torques_are_those_of_inverse_dynamics(found: predyn.Retiming) -> None:
    expected = predyn.inverse_dynamics(found.model, found.q, found.v, found.a)
    np.testing.assert_allclose(found.tau, expected, atol=1e-9)
    q, v, _, _ = found.at(found.t)
    np.testing.assert_allclose(q, found.q, atol=1e-9)
    np.testing.assert_allclose(v, found.v, atol=1e-6)
    assert found.at(0.3)[3].shape == (2,)


def test_friction_in_the_torques() -> None:
    model = arm(coulomb=np.array([0.3, 0.1]), damping=np.array([0.1, 0.05]))
    result = predyn.retime(model, POINTS).check()
    smooth = replace(model, coulomb=np.zeros(2), damping=np.zeros(2))
    _, v, a, tau = result.at(t := np.linspace(0.01, 0.99, 300) * result.duration)
    expected = predyn.inverse_dynamics(smooth, result.at(t)[0], v, a)
    expected += model.coulomb * np.sign(v) + model.damping * v
    np.testing.assert_allclose(tau, expected, atol=1e-9)


def test_energy_takes_longer_and_needs_less() -> None:
    results = [predyn.retime(arm(), POINTS, energy=w).check() for w in (1e-6, 1.0, 10.0)]
    assert results[0].duration < results[1].duration < results[2].duration
    assert results[0].energy > results[1].energy > results[2].energy
    size = np.abs(arm().limits.effort).max(axis=1)
    squares = ((results[1].tau / size) ** 2).sum(axis=1)
    assert results[1].energy == pytest.approx(np.trapezoid(squares, results[1].t), rel=2e-3)


def test_limits_are_tight_and_named(found: predyn.Retiming) -> None:
    """In least time some limit holds in every interval, up to the switches."""
    assert sum(name != "" for name in found.limiting) > 0.95 * len(found.limiting)
    assert set(found.active) <= {f"{kind} of {joint}" for kind in ("effort", "velocity")
                                 for joint in found.model.joint_names}  # fmt: skip
    use = np.abs(found.tau / found.model.limits.effort[:, 1]).max()
    assert 1.0 - 1e-6 < use <= 1.005


def test_refinement_removes_excess() -> None:
    coarse = predyn.retime(arm(), POINTS, interpolation="rounded", intervals=20, max_excess=None)
    assert coarse.max_excess > 0.005
    fine = predyn.retime(arm(), POINTS, interpolation="rounded", intervals=20)
    assert fine.max_excess <= 0.005
    assert len(fine.u) > len(coarse.u)
    assert fine.success


def test_excess_is_named() -> None:
    result = predyn.retime(arm(), POINTS, interpolation="rounded", intervals=20, max_excess=None)
    worst = result.excess[0]
    tau = result.at(worst.time)[3]
    joint = result.model.joint_names.index(worst.name.removeprefix("effort of "))
    assert tau[joint] == pytest.approx(worst.value, rel=1e-6)
    limit = result.model.limits.effort[joint, 1]
    assert worst.relative == pytest.approx(abs(worst.value) / limit - 1.0)


def test_reversed_path_takes_as_long() -> None:
    """Without friction, time can run backwards."""
    there, back = (predyn.retime(arm(), x, intervals=400).duration for x in (POINTS, POINTS[::-1]))
    assert there == pytest.approx(back, rel=1e-6)


def test_joints_that_follow_others() -> None:
    model = coupled_tree(4, forces=False).with_limits(position=np.inf, effort=500.0, velocity=2.0)
    none = np.zeros(model.n)
    result = predyn.retime(model, np.stack([none, none + 0.5])).check()
    expected = predyn.inverse_dynamics(model, result.q, result.v, result.a)
    np.testing.assert_allclose(result.tau, expected, atol=1e-8)


def test_friction_of_followers_is_refused() -> None:
    model = coupled_tree(4).with_limits(position=np.inf, effort=500.0)
    with pytest.raises(predyn.ModelError, match="follows another joint and has friction"):
        predyn.retime(model, np.stack([np.zeros(model.n), np.ones(model.n)]))


# -- other forms of paths -------------------------------------------------------------------------


def test_rounded_polyline_stays_near_the_points() -> None:
    result = predyn.retime(arm(), POINTS, interpolation="rounded").check()
    np.testing.assert_allclose(result.q[[0, -1]], POINTS[[0, -1]], atol=1e-12)
    a, b = POINTS[:-1, None], POINTS[1:, None]
    share = ((result.q - a) * (b - a)).sum(axis=2) / ((b - a) ** 2).sum(axis=2)
    foot = a + np.clip(share, 0.0, 1.0)[..., None] * (b - a)
    away = np.linalg.norm(result.q - foot, axis=2).min(axis=0)
    longest = np.linalg.norm(np.diff(POINTS, axis=0), axis=1).max()
    assert away.max() < longest / 8.0  # at a corner, of two pieces of an eighth of the edges
    assert (away < 1e-9).mean() > 0.5


def test_curve_is_followed_exactly() -> None:
    spline = BSpline.clamped(4, 5)
    control = spline.fit(np.linspace(0, 1, 4), POINTS)
    result = predyn.retime(arm(), Curve(4, spline.knots, control, 7.0)).check()
    np.testing.assert_allclose(result.q[::8], spline.evaluate(control, result.u)[0], atol=1e-12)


def test_solution_is_retimed() -> None:
    """The motion of a solution, faster and along the same positions."""
    solution = fake_solution()
    model = solution.model.with_limits(effort=np.abs(solution.tau).max(axis=0))
    result = predyn.retime(model, solution).check()
    dense = solution.at(np.linspace(0.0, solution.duration, 4000)).q
    away = np.linalg.norm(result.q[:, None] - dense, axis=2).min(axis=1)
    assert away.max() < 1e-3
    np.testing.assert_allclose(result.q[[0, -1]], dense[[0, -1]], atol=1e-12)


# -- as a solution and as a guess -----------------------------------------------------------------


def test_as_a_solution(found: predyn.Retiming, tmp_path) -> None:
    solution = found.to_solution("lift")
    assert solution.duration == pytest.approx(found.duration)
    t = np.linspace(0.0, found.duration, 777)
    q, v, _, _ = found.at(t)
    np.testing.assert_allclose(solution.at(t).q, q, atol=1e-6)
    np.testing.assert_allclose(solution.at(t).v, v, atol=1e-3)
    solution.save(tmp_path / "lift.h5")
    again = predyn.load_solution(tmp_path / "lift.h5")
    np.testing.assert_array_equal(again.curves[0].control, solution.curves[0].control)
    assert again.active == found.active
    assert "lift" in str(solution)


def test_export(found: predyn.Retiming, tmp_path) -> None:
    found.export(tmp_path / "motion.csv", rate=100.0)
    table = np.loadtxt(tmp_path / "motion.csv", delimiter=",", skiprows=1)
    assert len(table) == int(100.0 * found.duration) + 1
    found.export(tmp_path / "motion.sto")


@pytest.mark.parametrize("form", ["guess", "solution"])
def test_as_a_guess(found: predyn.Retiming, form: str) -> None:
    """A free motion between the same ends is at least as fast; the guess is accepted."""
    rest = np.zeros(2)
    phase = predyn.Phase(
        duration=predyn.Duration(min=0.05, max=5.0, guess=found.duration),
        start=predyn.State(q=POINTS[0], v=rest),
        end=predyn.State(q=POINTS[-1], v=rest),
    )
    problem = predyn.Problem(found.model, (phase,), (predyn.Cost(predyn.terms.TotalTime()),))
    guess = found.guess if form == "guess" else found.to_solution()
    assert predyn.solve(problem, guess=guess).check().duration < found.duration


def test_guesses_end_at_one_exactly() -> None:
    """Times are sums; their last may differ from the duration by rounding errors."""
    model = predyn.models.manutec_r3()
    for seed in range(5):
        points = np.random.default_rng(seed).uniform(-1.0, 1.0, (4, model.n))
        s, q = predyn.retime(model, points).check().guess
        assert (s[0], s[-1], len(q)) == (0.0, 1.0, len(s))


# -- refusals -------------------------------------------------------------------------------------


def test_gravity_beyond_the_limits_is_reported() -> None:
    model = arm().with_limits(effort=(6.0, 0.5))
    result = predyn.retime(model, POINTS)
    assert result.status == "infeasible"
    assert repr(model.joint_names[1]) in result.message
    assert "% of the path" in result.message
    assert not result.success
    assert result.duration == np.inf
    with pytest.raises(predyn.NotConverged, match="infeasible"):
        result.check()
    with pytest.raises(predyn.InputError, match="no motion"):
        result.at(0.0)
    place = float(result.message.split(" % of the path")[0].split()[-1]) / 100.0
    path = predyn.retime(arm(), POINTS).path
    hold = predyn.inverse_dynamics(
        model, path.at(np.array([place]), 0)[0], np.zeros(2), np.zeros(2)
    )
    needed = float(result.message.split(" needs ")[1].split()[0])
    assert hold[0, 1] == pytest.approx(needed, rel=0.05)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (POINTS[:1], "at least 2 points, got 1"),
        (np.zeros((3, 2)), "all 3 points are the same"),
        (POINTS[[0, 1, 1, 2]], "points 1 and 2 are the same"),
        (np.where(np.arange(8).reshape(4, 2) == 5, np.nan, POINTS), "got nan for joint .* point 2"),
        (np.zeros((3, 5)), r"shape \(3, 5\)"),
        (np.zeros(4), r"shape \(4,\)"),
        ("straight", "expected points"),
    ],
)
def test_bad_paths(path, message: str) -> None:
    with pytest.raises(predyn.InputError, match=message):
        predyn.retime(arm(), path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"energy": -1.0}, "energy: expected a finite number"),
        ({"energy": np.nan}, "energy"),
        ({"intervals": 1}, "intervals: expected a whole number from 2"),
        ({"intervals": 10.0}, "intervals"),
        ({"interpolation": "linear"}, "unknown interpolation 'linear'.*cubic"),
        ({"start_speed": 100.0}, "start_speed: 100 moves joint .* beyond its velocity limit"),
        ({"end_speed": 100.0}, "end_speed: 100 moves joint"),
        ({"start_speed": -1.0}, "start_speed"),
        ({"max_excess": 0.0}, "max_excess: expected a finite number of at least 0.0001"),
        ({"tolerance": 0.0}, "tolerance: expected a finite number of at least 1e-12"),
        ({"payloads": [3.0]}, "payloads: expected a list of predyn.Payload, got 3.0"),
        ({"tolerance": "small"}, "tolerance"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(predyn.InputError, match=message):
        predyn.retime(arm(), POINTS, **options)


def test_no_model() -> None:
    with pytest.raises(predyn.InputError, match="model"):
        predyn.retime("robot", POINTS)


def test_start_speed_that_cannot_be_braked() -> None:
    model = arm().with_limits(velocity=np.inf)
    with pytest.raises(predyn.InputError, match=r"start_speed: speeds from 0 to .* got 50"):
        predyn.retime(model, POINTS, start_speed=50.0)


def test_missing_limits_are_named() -> None:
    model = arm().with_limits(effort={arm().joint_names[1]: np.inf})
    name = repr(model.joint_names[1])
    with pytest.raises(
        predyn.InputError, match=f"effort or acceleration limits are missing .*{name}"
    ):
        predyn.retime(model, POINTS)
    limited = model.with_limits(acceleration=10.0)
    assert predyn.retime(limited, POINTS).success
    with pytest.raises(predyn.InputError, match=f"scale the energy, are missing .*{name}"):
        predyn.retime(limited, POINTS, energy=1.0)


def test_position_limits_are_the_business_of_the_path() -> None:
    model = arm().with_limits(position=[[-1.0, 1.0], [-1.0, 1.0]])
    with pytest.raises(predyn.InputError, match="outside its position limits"):
        predyn.retime(model, POINTS)


def test_curves_that_cannot_be_followed() -> None:
    control = BSpline.clamped(2, 3).fit(np.linspace(0, 1, 4), POINTS)
    with pytest.raises(predyn.InputError, match="continuous second derivatives"):
        predyn.retime(arm(), Curve(2, BSpline.clamped(2, 3).knots, control, 1.0))
    with pytest.raises(predyn.InputError, match="stands still at its start"):
        predyn.retime(arm(), fake_solution().curves[0])


def test_closed_loops_are_refused() -> None:
    with pytest.raises(predyn.ModelError, match="closed loops"):
        predyn.retime(four_bar(), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"effort": 0.0}, "the effort limits of joint 'joint1' are both 0"),
        ({"acceleration": (3.0, 0.0)}, "the acceleration limits of joint 'joint2' are both 0"),
        (
            {"velocity": (3.0, 0.0)},
            "joint 'joint2' moves at 0 % .* upper velocity limit 0 allows",
        ),
    ],
)
def test_limits_without_range_are_named(limits, message) -> None:
    result = predyn.retime(arm().with_limits(**limits), POINTS)
    assert result.status == "infeasible"
    assert re.search(message, result.message)


def test_a_joint_without_velocity_may_rest() -> None:
    still = [[0.2, -0.4], [0.5, -0.4], [0.9, -0.4]]
    free = predyn.retime(arm(), still).check()
    held = predyn.retime(arm().with_limits(velocity=(3.0, 0.0)), still).check()
    assert held.duration == pytest.approx(free.duration, rel=1e-9)


@pytest.mark.parametrize("points", [[[10**400, 0], [1, 1]], [[1j, 0], [1, 1]], [[True, 0], [1, 1]]])
def test_points_are_real_numbers(points) -> None:
    with pytest.raises(predyn.InputError, match=r"path: expected points \(K, 2\)"):
        predyn.retime(arm(), points)


def test_points_beyond_sense() -> None:
    with pytest.raises(predyn.InputError, match="path: expected at most 10000 rad or m"):
        predyn.retime(arm(), [[1e300, 0], [0, 0]])


@pytest.mark.parametrize("trouble", ["", "iteration_limit"])
def test_viscous_friction_returns_the_best_iterate(
    trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An iterate that is worse than the one before, or ended in trouble, is not returned."""
    from predyn.planning import best_timing

    solve, results = best_timing._solve, []

    def worse(*arguments):
        found = solve(*arguments)
        if results:
            found = found._replace(objective=2.0 * found.objective, trouble=trouble)
        results.append(found)
        return found

    monkeypatch.setattr(best_timing, "_solve", worse)
    found = predyn.retime(arm(damping=np.array([0.3, 0.1])), POINTS, max_excess=None)
    assert len(results) == 2
    assert found.objective == results[0].objective
    np.testing.assert_array_equal(found.b, results[0].b)
