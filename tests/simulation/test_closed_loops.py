"""Simulations of mechanisms with closed loops."""

from __future__ import annotations

import numpy as np
import pytest

import predyn
from closed_mechanisms import FOUR_BAR_POSE, bennett, bennett_pose, four_bar
from predyn import Model, ModelBuilder
from predyn.dynamics import closed_forward_dynamics, loop_equations, project_velocities
from predyn.errors import InputError


def start(model: Model, pose, speed: float) -> tuple[np.ndarray, np.ndarray]:
    q = predyn.close_loops(model, pose)
    return q, project_velocities(model, q, [speed, 0.0, 0.0], hold=model.joint_names[0])


def assert_closed(model: Model, run: predyn.Trajectory) -> None:
    loops = loop_equations(model, run.q, run.v)
    assert np.abs(loops.values).max() <= 1e-12
    assert np.abs(np.einsum("...ij,...j->...i", loops.jacobian, run.v)).max() < 1e-11


@pytest.mark.parametrize("name", ["four-bar", "bennett"])
def test_energy_is_kept_and_loops_stay_closed(name: str) -> None:
    model, pose = {
        "four-bar": (four_bar(), FOUR_BAR_POSE),
        "bennett": (bennett(), bennett_pose(1.0)),
    }[name]
    q, v = start(model, pose, 5.0)
    run = predyn.simulate(model, q, v, None, np.linspace(0.0, 1.0, 21), rtol=1e-9)
    assert run.status == "finished"
    assert_closed(model, run)
    span = np.ptp(predyn.dynamics.kinetic_energy(model, run.q, run.v))
    assert np.ptp(run.energy) < 1e-7 * max(span, 1.0)
    a = closed_forward_dynamics(model, run.q, run.v, run.tau).a
    np.testing.assert_allclose(run.a, a, rtol=0.0, atol=1e-9 * np.abs(a).max())


def test_a_floating_body_on_a_pin_is_a_pendulum() -> None:
    body = {"mass": 2.0, "com": (0.4, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    pendulum = ModelBuilder("pendulum", gravity=(0, -9.81, 0)).add_link("bob", damping=0.3, **body)
    loose = ModelBuilder("loose", gravity=(0, -9.81, 0))
    loose.add_link("sx", kind="prismatic", axis=(1, 0, 0))
    loose.add_link("sy", "sx", kind="prismatic", axis=(0, 1, 0))
    loose.add_link("bob", "sy", damping=0.3, **body)
    model = loose.close_loop("pin", "point", "bob", "world").build()
    t = np.linspace(0.0, 1.0, 11)
    given = predyn.simulate(pendulum.build(), [0.5], [1.0], np.array([0.7]), t)
    found = predyn.simulate(model, [0.0, 0.0, 0.5], [0.0, 0.0, 1.0], np.array([0, 0, 0.7]), t)
    np.testing.assert_allclose(found.q[:, 2:], given.q, atol=1e-9)
    assert np.abs(found.q[:, :2]).max() <= 1e-12


def test_batches_fixed_steps_and_events() -> None:
    model = four_bar()
    q, v = start(model, FOUR_BAR_POSE, 4.0)
    speeds = np.array([[0.5], [1.0]]) * v
    t = np.linspace(0.0, 0.4, 5)
    fixed = predyn.simulate(model, q, speeds, None, t, method="rk4", step=0.005)
    exact = predyn.simulate(model, q, speeds, None, t, rtol=1e-9)
    assert fixed.q.shape == (2, 5, 3)
    assert_closed(model, fixed)
    np.testing.assert_allclose(fixed.q, exact.q, atol=1e-6)

    def upright(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(q[0] - 0.7)

    stopped = predyn.simulate(model, q, v, None, t, events=upright)
    assert stopped.status == "event"
    assert stopped.end_q[0] == pytest.approx(0.7, abs=1e-9)
    assert_closed(model, stopped)


def test_open_loops_at_the_start_are_refused() -> None:
    model = four_bar()
    q, v = start(model, FOUR_BAR_POSE, 4.0)
    with pytest.raises(InputError, match=r"q0: loop 'pin' is open by 0\.\d+ m .*close_loops"):
        predyn.simulate(model, q + [0, 0.1, 0], v, None, [0.0, 1.0])
    with pytest.raises(InputError, match=r"v0: opens the loops: equation 'pin x'"):
        predyn.simulate(model, q, v + [0, 0.1, 0], None, [0.0, 1.0])
    with pytest.raises(InputError, match=r"q0: loop 'pin' .* at sample \(1,\)"):
        predyn.simulate(model, [q, q + [0, 0.1, 0]], v, None, [0.0, 1.0])


def test_a_step_that_is_too_long_is_named() -> None:
    model = four_bar()
    q, v = start(model, FOUR_BAR_POSE, 10.0)
    run = predyn.simulate(model, q, v, None, [0.0, 1.0], method="rk4", step=0.2)
    assert run.status == "diverged"
    assert "loops could not be closed after a step" in run.message
