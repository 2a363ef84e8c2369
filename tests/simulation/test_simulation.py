"""Forward simulation against closed forms, MuJoCo's RK4, and itself in other forms.

Tolerances. The adaptive method keeps the error of each step below rtol |y| + atol; where errors do
not grow by themselves, N steps are off by no more than N times that. The motions here take fewer
than 200 steps: STEPS * RTOL of the largest number.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import predyn
from fake_solution import LOAD, fake_solution
from oracles.mujoco_oracle import mujoco_model
from predyn import ExternalForce, InputError, ModelBuilder, ModelError, Profile, models, simulate
from predyn.curves.bspline import BSpline
from predyn.model import Model
from predyn.solution import Curve

EPS = np.finfo(float).eps
RTOL, STEPS = 1e-10, 200
METHODS = ("adaptive", "rk4")
ROD: dict = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def slider(**joint: float) -> Model:
    """2 kg on a vertical slide, z up."""
    return ModelBuilder("slider").add_link("cart", kind="prismatic", mass=2.0, **joint).build()


def floater(**joint: float) -> Model:
    """The same without gravity."""
    return slider(**joint).with_gravity((0.0, 0.0, 0.0))


def ball_joint() -> Model:
    """Axes z, y, z through one point: at q2 = 0 the first and the last are one."""
    return (
        ModelBuilder("ball")
        .add_link("a")
        .add_link("b", "a", axis=(0.0, 1.0, 0.0))
        .add_link("c", "b", **ROD)
        .build()
    )


TIMES = np.linspace(0.0, 2.0, 21)


# -- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_free_fall_is_exact(method: str) -> None:
    """Both methods integrate parabolas exactly: what is left is rounding, some a step."""
    run = simulate(slider(), [10.0], [3.0], None, TIMES, method=method, step=0.1)
    assert run.status == "finished"
    assert run.message == ""
    assert np.abs(run.q[:, 0] - (10.0 + 3.0 * TIMES - 4.905 * TIMES**2)).max() < 40 * EPS * 20.0
    assert np.abs(run.v[:, 0] - (3.0 - 9.81 * TIMES)).max() < 40 * EPS * 20.0
    assert np.abs(run.a + 9.81).max() < 4 * EPS * 9.81
    assert np.array_equal(run.tau, np.zeros((21, 1)))


@pytest.mark.parametrize("method", METHODS)
def test_harmonic_spring(method: str) -> None:
    """RK4: the local error is (w h)^5 / 120, in 2000 steps of w h = 0.003: 4e-12."""
    model, w = floater(stiffness=18.0, rest=0.5), 3.0
    run = simulate(model, [1.5], [0.0], None, TIMES, method=method, step=1e-3)
    tolerance = 3 * STEPS * RTOL if method == "adaptive" else 2000 * 0.003**5 / 120 * 3
    assert np.abs(run.q[:, 0] - (0.5 + np.cos(w * TIMES))).max() < tolerance
    assert np.abs(run.v[:, 0] + w * np.sin(w * TIMES)).max() < 3 * tolerance
    assert np.abs(run.energy - 9.0).max() < 18.0 * tolerance


@pytest.mark.parametrize("method", METHODS)
def test_viscous_decay(method: str) -> None:
    run = simulate(floater(damping=3.0), [0.0], [4.0], None, TIMES, method=method, step=1e-3)
    expected = 4.0 * np.exp(-1.5 * TIMES)
    assert np.abs(run.v[:, 0] - expected).max() < 4.0 * STEPS * RTOL
    assert np.abs(run.q[:, 0] - (4.0 - expected) / 1.5).max() < 4.0 * STEPS * RTOL


@pytest.mark.parametrize("method", METHODS)
def test_smoothed_coulomb_friction(method: str) -> None:
    """m dv/dt = -c tanh(v / s): sinh(v / s) falls exponentially, by c / (m s) = 3 a second."""
    run = simulate(
        floater(coulomb=3.0, coulomb_speed=0.5), [0.0], [2.0], None, TIMES, method=method, step=1e-3
    )
    expected = 0.5 * np.arcsinh(np.sinh(4.0) * np.exp(-3.0 * TIMES))
    assert np.abs(run.v[:, 0] - expected).max() < 2.0 * STEPS * RTOL


@pytest.mark.parametrize("method", METHODS)
def test_torques_and_external_forces(method: str) -> None:
    """4 N by the drive, 6 N from outside, on 2 kg: 5 m/s^2."""
    run = simulate(
        floater(),
        [0.0],
        [0.0],
        [4.0],
        TIMES,
        method=method,
        forces=[ExternalForce("cart", (7.0, 0.0, 6.0))],
    )
    assert np.abs(run.q[:, 0] - 2.5 * TIMES**2).max() < 40 * EPS * 10.0
    assert np.abs(run.a - 5.0).max() < 4 * EPS * 5.0
    assert np.array_equal(run.tau, np.full((21, 1), 4.0))


def test_energy_of_a_five_link_pendulum() -> None:
    """10 s of a chaotic motion at the default tolerances: drift below 1e-8 of the energy."""
    start = [0.3, 0.2, 0.1, -0.4, 0.5]
    t = np.linspace(0.0, 10.0, 501)
    run = simulate(models.pendulum_chain(5), start, np.zeros(5), None, t)
    assert run.status == "finished"
    assert np.ptp(run.q[:, 4]) > math.pi
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-8


# -- convergence ----------------------------------------------------------------------------------


def swing(t: float, q: NDArray, v: NDArray) -> NDArray:
    return np.sin(3.0 * t) - 0.3 * q - 0.1 * v


@pytest.mark.parametrize(
    ("model", "control"),
    [
        (models.pendulum_chain(3), None),
        (models.pendulum_chain(3), swing),
        (models.manutec_r3(), [10.0, -20.0, 5.0]),  # rotors couple its joints
        (models.manutec_r3(), swing),
    ],
)
def test_rk4_is_of_order_four(model: Model, control: object) -> None:
    t, start = np.array([0.0, 1.0]), ([0.3, -0.5, 0.8], [0.5, 0.0, -0.5])
    exact = simulate(model, *start, control, t, rtol=1e-13, atol=1e-14)
    errors = []
    for h in (0.02, 0.01, 0.005):
        run = simulate(model, *start, control, t, method="rk4", step=h)
        errors.append(max(np.abs(run.q - exact.q).max(), np.abs(run.v - exact.v).max()))
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(slopes - 4.0).max() < 0.3


def test_steps_are_equal_parts_of_an_interval() -> None:
    """No longer than requested, and 0.3 / 0.1 is three steps despite rounding."""
    model, start = models.pendulum_chain(2), ([0.3, 0.1], [1.0, 0.0])
    run = simulate(model, *start, None, [0.0, 0.3, 1.0], method="rk4", step=0.1)
    same = simulate(model, *start, None, np.linspace(0.0, 1.0, 11), method="rk4")
    shorter = simulate(model, *start, None, [0.0, 0.3, 1.0], method="rk4", step=0.099)
    assert np.abs(run.q - same.q[[0, 3, 10]]).max() < 100 * EPS * 10
    assert np.abs(run.q - shorter.q).max() > 1e-9


# -- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("control", [None, "held", "samples", swing])
def test_a_batch_equals_single_runs_bit_for_bit(control: object) -> None:
    model = models.random_tree(6, 3, kinds=("revolute", "prismatic", "screw"))
    rng = np.random.default_rng(5)
    q, v, tau = rng.standard_normal((3, 64, 6))
    force = rng.standard_normal((64, 3))
    knots = np.array([0.0, 0.04, 0.05, 0.2])
    t = np.linspace(0.0, 0.2, 11)

    def of(row: int | slice) -> object:
        if control == "held":
            return tau[row]
        if control == "samples":
            return knots, tau[row][..., None, :] * np.cos(9.0 * knots)[:, None]
        return control

    def run(row: int | slice) -> predyn.Trajectory:
        forces = [ExternalForce("l5", force[row])]
        return simulate(model, q[row], v[row], of(row), t, method="rk4", step=0.01, forces=forces)

    batch = run(slice(None))
    assert batch.status == "finished"
    assert batch.q.shape == batch.tau.shape == batch.a.shape == (64, 11, 6)
    for k in range(64):
        alone = run(k)
        assert np.array_equal(batch.q[k], alone.q)
        assert np.array_equal(batch.v[k], alone.v)
        assert np.array_equal(batch.tau[k], alone.tau)
        assert np.array_equal(batch.energy[k], alone.energy)


@pytest.mark.parametrize("control", ["held", "function"])
@pytest.mark.parametrize("model", [models.random_tree(3, 8), models.manutec_r3()])
def test_a_diverging_trajectory_does_not_affect_the_others(control: str, model: Model) -> None:
    rng = np.random.default_rng(6)
    q, v, tau = rng.standard_normal((3, 11, 3))
    t = np.linspace(0.0, 0.1, 6)

    def simulated(torques: NDArray) -> predyn.Trajectory:
        given = torques if control == "held" else (lambda t, q, v: torques)
        return simulate(model, q, v, given, t, method="rk4", step=0.01)

    same = simulated(tau)
    assert same.status == "finished"
    tau[4] *= 1e9
    run = simulated(tau)
    assert run.status == "diverged"
    assert run.statuses.tolist() == ["diverged" if k == 4 else "finished" for k in range(11)]
    assert "1 of 11 stopped early; trajectory (4,): at t = " in run.message
    assert np.isnan(run.q[4, 1:]).all()
    assert np.isnan(run.energy[4, 1:]).all()
    assert np.isfinite(np.delete(run.q, 4, axis=0)).all()
    assert (run.end_t < 0.1).tolist() == [k == 4 for k in range(11)]
    assert np.isfinite(run.end_q).all()
    others = [k for k in range(11) if k != 4]
    assert np.array_equal(run.q[others], same.q[others])
    assert np.array_equal(run.v[others], same.v[others])


def test_leading_shapes() -> None:
    model = models.pendulum_chain(2)
    q = np.random.default_rng(1).standard_normal((3, 1, 2))
    tau = np.random.default_rng(2).standard_normal((4, 2))
    t = [0.0, 0.1, 0.2]
    for method in METHODS:
        run = simulate(model, q, np.zeros(2), tau, t, method=method)
        assert run.q.shape == run.v.shape == run.tau.shape == (3, 4, 3, 2)
        assert run.end_t.shape == run.statuses.shape == (3, 4)
        alone = simulate(model, q[2, 0], np.zeros(2), tau[1], t, method=method)
        assert np.array_equal(run.q[2, 1], alone.q)
        assert np.array_equal(run.end_v[2, 1], alone.end_v)
        assert np.array_equal(alone.end_v, alone.v[-1])


# -- against MuJoCo -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_every_step_equals_that_of_mujoco(seed: int) -> None:
    """MuJoCo steps from each of our states.

    Accelerations agree to 72 n eps (test_mujoco.py) times the condition of the mass matrix; a step
    multiplies them by h, and adds a few roundings of the state.
    """
    rng = np.random.default_rng([seed, 13])
    n, h = 6, 2e-3
    model = models.random_tree(n, 50 + seed, kinds=("revolute", "prismatic"))
    fields = ("stiffness", "rest", "damping", "armature")
    model = replace(model, **dict(zip(fields, rng.uniform(0.0, 2.0, (4, n)), strict=True)))
    twin = mujoco_model(model)
    twin.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    twin.opt.timestep = h
    q, v, tau = rng.standard_normal((3, n))
    run = simulate(model, q, v, tau, h * np.arange(101), method="rk4")
    data = mujoco.MjData(twin)
    data.qfrc_applied = tau
    condition = max(np.linalg.cond(M) for M in predyn.mass_matrix(model, run.q))
    largest = max(1.0, float(np.abs(run.a).max()))
    for k in range(100):
        data.qpos, data.qvel = run.q[k], run.v[k]
        mujoco.mj_step(twin, data)
        state = max(1.0, np.abs(run.q[k]).max(), np.abs(run.v[k]).max())
        tolerance = h * 72 * n * EPS * condition * largest + 8 * EPS * state
        assert np.abs(run.v[k + 1] - data.qvel).max() < tolerance
        assert np.abs(run.q[k + 1] - data.qpos).max() < tolerance


# -- controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_same_torques_in_every_form(method: str) -> None:
    """A ramp as samples, spline and function; a hold as vector, samples, spline and function."""
    model, t = models.pendulum_chain(2), np.linspace(0.0, 0.5, 6)
    start = (model, [0.4, -0.2], [0.0, 1.0])
    spline = BSpline.clamped(3, 4)
    ramp, hold = np.outer(spline.greville, [1.0, -2.0]), np.tile([1.5, 0.5], (7, 1))
    forms = {
        "ramp": [
            ([0.0, 0.5], [[0.0, 0.0], [1.0, -2.0]]),
            Curve(3, spline.knots, ramp, 0.5),
            lambda t, q, v: 2.0 * t * np.array([1.0, -2.0]),
        ],
        "hold": [
            [1.5, 0.5],
            ([-1.0, 0.2, 0.9], [[1.5, 0.5]] * 3),
            Curve(3, spline.knots, hold, 0.5),
            lambda t, q, v: [1.5, 0.5],
        ],
    }
    options: dict = {"method": method, "step": 0.01}
    for controls in forms.values():
        runs = [simulate(*start, control, t, **options) for control in controls]
        for run in runs[1:]:
            assert np.abs(run.q - runs[0].q).max() < STEPS * RTOL
            assert np.abs(run.tau - runs[0].tau).max() < 16 * EPS


@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_torques_of_a_solution_reproduce_its_motion(method: str, phases: int) -> None:
    """RK4 with steps of 1 ms: kinks of the torques cost h^2 at the few knots within steps."""
    solution = fake_solution(phases)
    t = np.linspace(0.1, 1.1, 11)
    motion = solution.at(t)
    for events in ((), (lambda t, q, v: 1.0,)):  # with and without the compiled steps
        run = simulate(
            solution.model,
            motion.q[0],
            motion.v[0],
            solution,
            t,
            method=method,
            step=1e-3,
            forces=[ExternalForce(**LOAD)],
            events=events,
        )
        tolerance = 1e-7 if method == "adaptive" else 1e-5
        assert np.abs(run.q - motion.q).max() < tolerance
        assert np.abs(run.tau - motion.tau).max() < 1e-9


def test_function_controls_get_the_documented_shapes() -> None:
    model, q = models.pendulum_chain(2), np.zeros((2, 3, 2))
    seen: dict[str, set] = {}
    for method in METHODS:

        def control(t: float, q: NDArray, v: NDArray, method: str = method) -> NDArray:
            seen.setdefault(method, set()).add((q.shape, v.shape, type(t)))
            return -v

        run = simulate(model, q, q, control, [0.0, 0.1], method=method)
        assert np.array_equal(run.tau, -run.v)
    assert seen == {"adaptive": {((2,), (2,), float)}, "rk4": {((2, 3, 2), (2, 3, 2), float)}}


def test_functions_cannot_change_the_state() -> None:
    def clumsy(t: float, q: NDArray, v: NDArray) -> NDArray:
        q -= 1.0
        return q

    for options in ({"control": clumsy}, {"control": None, "events": clumsy}):
        with pytest.raises(ValueError, match="read-only"):
            simulate(models.pendulum_chain(2), [0.0, 0.0], [0.0, 0.0], t=[0.0, 1.0], **options)


# -- events ---------------------------------------------------------------------------------------


def height(t: float, q: NDArray, v: NDArray) -> float:
    return float(q[0])


def turning(t: float, q: NDArray, v: NDArray) -> float:
    return float(v[0])


@pytest.mark.parametrize("method", METHODS)
def test_a_fall_ends_on_the_ground(method: str) -> None:
    run = simulate(slider(), [5.0], [0.0], None, TIMES, method=method, events=height, step=0.03)
    hit = math.sqrt(10.0 / 9.81)
    assert run.status == "event"
    assert int(run.event) == 0
    assert run.message == f"events[0] (height) changed sign at t = {hit:.9g} s"
    assert abs(run.t[-1] - hit) < 40 * EPS * 5.0
    assert len(run.t) == len(run.q) == len(run.tau) == 12
    assert np.array_equal(run.t[:-1], TIMES[:11])
    assert abs(run.q[-1, 0]) < 40 * EPS * 5.0
    assert run.end_t == run.t[-1]


@pytest.mark.parametrize("method", METHODS)
def test_the_first_of_several_events_in_a_step_stops_it(method: str) -> None:
    """Thrown up: it turns, then passes the start; an event that starts at zero counts later."""
    thrown: dict = {"method": method, "events": [height, turning]}
    run = simulate(slider(), [0.0], [9.81], None, [0.0, 3.0], **thrown)
    assert int(run.event) == 1
    assert run.t[-1] == pytest.approx(1.0, abs=40 * EPS * 10)
    down = simulate(slider(), [0.0], [9.81], None, [0.0, 1.5, 3.0], method=method, events=height)
    assert down.t[-1] == pytest.approx(2.0, abs=40 * EPS * 10)


@pytest.mark.parametrize("method", METHODS)
def test_events_of_a_batch(method: str) -> None:
    heights = np.array([[1.0], [1000.0], [4.0]])
    run = simulate(slider(), heights, [0.0], None, TIMES, method=method, events=(height,))
    assert run.statuses.tolist() == ["event", "finished", "event"]
    assert run.status == "event"
    assert "2 of 3 stopped early; trajectory (0,)" in run.message
    expected = [math.sqrt(2.0 / 9.81), 2.0, math.sqrt(8.0 / 9.81)]
    assert np.abs(run.end_t - expected).max() < 40 * EPS * 5.0
    assert np.array_equal(np.isnan(run.q[:, :, 0]), TIMES[None] > run.end_t[:, None])
    assert run.event.tolist() == [0, -1, 0]


def test_an_oscillation_reaches_its_event_within_the_tolerance() -> None:
    model = floater(stiffness=18.0)
    run = simulate(model, [1.0], [0.0], None, [0.0, 5.0], events=height)
    assert run.t[-1] == pytest.approx(math.pi / 6.0, abs=STEPS * RTOL)


# -- divergence -----------------------------------------------------------------------------------


def runaway(t: float, q: NDArray, v: NDArray) -> NDArray:
    return v**3


@pytest.mark.parametrize("method", METHODS)
def test_diverging_motion_is_stopped_with_time_joint_and_value(method: str) -> None:
    """m dv/dt = v^3 goes to infinity at t = m / (2 v0^2) = 0.25 s."""
    run = simulate(floater(), [0.0], [2.0], runaway, TIMES, method=method, step=1e-3)
    assert run.status == "diverged"
    assert "velocity of joint 'cart_joint' was" in run.message
    assert "at t = 0.25" in run.message
    assert run.t[-1] == pytest.approx(0.25, abs=0.005)
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()
    assert np.array_equal(run.t[:3], TIMES[:3])
    assert run.q.shape == run.v.shape == run.tau.shape == (4, 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_control_that_stops_being_finite(method: str) -> None:
    def broken(t: float, q: NDArray, v: NDArray) -> list[float]:
        return [math.nan if t > 0.55 else 0.0]

    run = simulate(slider(), [0.0], [0.0], broken, TIMES, method=method)
    assert run.status == "diverged"
    assert "joint 'cart_joint'" in run.message
    assert run.t[-1] == pytest.approx(0.55, abs=0.06)
    assert np.isfinite(run.q).all()


@pytest.mark.parametrize("method", METHODS)
def test_positions_beyond_all_bounds(method: str) -> None:
    run = simulate(floater(), [0.0], [9e5], None, TIMES, method=method, step=0.01)
    assert run.status == "diverged"
    assert "position of joint 'cart_joint' was" in run.message
    assert run.t[-1] < 1.2


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "arm"}, "model: expected a predyn.Model, got str"),
        ({"q0": [1.0]}, r"q0: expected shape \(..., 2\), got \(1,\)"),
        ({"v0": np.zeros((2, 3))}, r"v0: expected shape \(..., 2\), got \(2, 3\)"),
        ({"q0": [0.0, math.nan]}, "q0: expected finite numbers, got nan"),
        ({"v0": ["a", "b"]}, "v0: expected real numbers"),
        ({"q0": [0.0, 2e6]}, r"q0: expected numbers below 1e\+06, got 2e\+06"),
        ({"q0": np.zeros((3, 2)), "v0": np.zeros((2, 2))}, r"q0 \(3,\), v0 \(2,\)"),
        ({"q0": np.zeros((0, 2))}, "at least one trajectory"),
        ({"control": [1.0, 2.0, 3.0]}, r"control: expected shape \(..., 2\), got \(3,\)"),
        ({"control": [1.0, math.inf]}, "control: expected finite numbers, got inf"),
        ({"control": "none"}, "control: expected real numbers"),
        ({"control": ([0.0, 1.0], [1.0, 2.0])}, r"control: expected shape \(..., 2, 2\)"),
        ({"control": ([0.0, 1.0], np.zeros((3, 2)))}, r"shape \(..., 2, 2\), got \(3, 2\)"),
        ({"control": ([1.0, 0.0], np.zeros((2, 2)))}, "control times: expected increasing times"),
        ({"control": ([0.0, 0.5], np.zeros((2, 2)))}, "covers 0 to 0.5 s, but t goes from 0 to 1"),
        ({"control": lambda t, q, v: [1.0]}, r"control\(t, q, v\): expected shape \(..., 2\), got"),
        ({"control": lambda t, q, v: np.zeros((3, 2))}, r"expected shape \(2,\), got \(3, 2\)"),
        ({"control": lambda t, q, v: [math.nan, 0.0]}, r"control\(t, q, v\): expected finite"),
        ({"control": lambda t, q, v: None}, r"control\(t, q, v\): expected real numbers"),
        ({"control": Curve(3, BSpline.clamped(3, 1).knots, np.zeros((4, 1)), 1.0)}, r"\(4, 2\)"),
        ({"t": [0.0, 1.0, 1.0]}, "t: expected increasing times, got .*1.0.* at index 2"),
        ({"t": [0.0]}, "t: expected two or more increasing times"),
        ({"t": 1.0}, "t: expected two or more increasing times"),
        ({"t": [0.0, math.nan]}, "t: expected finite numbers, got nan"),
        ({"t": ["a", "b"]}, "t: expected two or more"),
        ({"t": [[0.0, 1.0], [2.0]]}, "t: expected seconds"),
        ({"method": "euler"}, "unknown method 'euler'.*'adaptive', 'rk4'"),
        ({"method": 4}, "method: expected a name"),
        ({"step": -0.1}, "step: expected a finite number above 0, got -0.1"),
        ({"step": 0}, "step: expected a finite number above 0"),
        ({"step": "fine"}, "step: expected a finite number above 0, got 'fine'"),
        ({"step": 1e-12, "method": "rk4"}, r"step: 1e-12 s means 1e\+12 steps"),
        ({"rtol": 0.0}, "rtol: expected a finite number of at least 1e-13"),
        ({"atol": -1.0}, "atol: expected a finite number above 0"),
        ({"events": [3]}, r"events: expected functions event\(t, q, v\)"),
        ({"events": lambda t, q, v: q}, r"events\[0\]: expected one finite number"),
        ({"events": lambda t, q, v: q[0] > 0.0}, r"events\[0\]: expected one finite number"),
        ({"events": lambda t, q, v: math.nan}, r"events\[0\]: expected one finite number"),
        ({"forces": [ExternalForce("arm")]}, "arm"),
        ({"forces": [ExternalForce("link2", "press")]}, r"forces\[0\].force: .* got 'press'"),
        ({"forces": [ExternalForce("link2", moment=Profile([0, 1], np.zeros((2, 3))))]},
         r"forces\[0\].moment: expected 3 numbers, got a Profile"),
        ({"forces": [ExternalForce("link2", np.zeros((3, 3)))], "q0": np.zeros((2, 2))},
         r"q0 \(2,\), forces\[0\].force \(3,\)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(changes: dict, message: str) -> None:
    arguments = {
        "model": models.pendulum_chain(2),
        "q0": [0.1, 0.2],
        "v0": [0.0, 0.0],
        "control": None,
        "t": [0.0, 0.5, 1.0],
    }
    with pytest.raises(InputError, match=message):
        simulate(**(arguments | changes))


def test_a_solution_of_another_size_or_too_short() -> None:
    start: Callable = lambda n: (models.pendulum_chain(n), np.zeros(n), np.zeros(n))  # noqa: E731
    with pytest.raises(InputError, match="has 2 joints, but model 'pendulum_chain_3' has 3"):
        simulate(*start(3), fake_solution(), [0.0, 1.0])
    with pytest.raises(InputError, match=r"covers 0 to 1\.2 s, but t goes from 0 to 2 s"):
        simulate(*start(2), fake_solution(), [0.0, 2.0])


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_mass_matrix(method: str) -> None:
    with pytest.raises(ModelError, match="mass matrix is singular"):
        ModelBuilder("massless tip").add_link("rod", **ROD).add_link("tip", "rod").build()
    with pytest.raises(ModelError, match="mass matrix is singular"):
        simulate(ball_joint(), [0.1, 0.0, 0.2], np.zeros(3), [1.0, 0.0, 0.0], TIMES, method=method)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_a_long_simulation() -> None:
    """Some minutes of compiled steps, interrupted after the first second."""
    code = (
        "import predyn, numpy as np, signal, threading, os\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def run(t):\n"
        "    predyn.simulate(m, np.zeros((8, 2)), [0.0, 0.0], None, [0.0, t], method='rk4', "
        "step=1e-6)\n"
        "m = predyn.models.pendulum_chain(2)\n"
        "run(1e-5)\n"
        "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    run(900.0)\nexcept KeyboardInterrupt:\n    print('ended')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n", done.stderr


def test_simulation_loads_scipy_only_when_needed() -> None:
    code = (
        "import sys, predyn; m = predyn.models.pendulum_chain(1)\n"
        "predyn.simulate(m, [0.1], [0.0], None, [0.0, 1.0], method='rk4', step=0.1)\n"
        "assert 'scipy.integrate' not in sys.modules\n"
        "predyn.simulate(m, [0.1], [0.0], None, [0.0, 1.0])\n"
        "assert 'scipy.integrate' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stiff_motions_are_stopped() -> None:
    model = replace(models.pendulum_chain(2), damping=np.full(2, 1e5))
    run = simulate(model, [1.0, 0.0], [0.0, 0.0], None, [0.0, 1.0, 2.0], max_steps=50)
    assert run.status == "step_limit"
    assert "50 steps" in run.message
    assert 0.0 < run.t[-1] < 1.0
    assert run.q.shape == (2, 2)  # the start, and where it stopped


@pytest.mark.parametrize("value", [0, 1.5, True, "many", None])
def test_step_limit_is_a_count(value: object) -> None:
    with pytest.raises(InputError, match="max_steps"):
        simulate(models.acrobot(), [0.0, 0.0], [0.0, 0.0], None, [0.0, 1.0], max_steps=value)
