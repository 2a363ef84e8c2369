"""Timings that are known in closed form: a slider, with gravity, friction, energy; a pendulum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import predyn

MASS, FORCE, LENGTH = 2.0, 10.0, 3.0


def slider(gravity: float = 0.0, **entries: float) -> predyn.Model:
    builder = predyn.ModelBuilder("slider", gravity=(0.0, 0.0, -gravity))
    builder.add_link("cart", "world", "rail", "prismatic", axis=(0.0, 0.0, 1.0), mass=MASS)
    model = builder.build().with_limits(effort=FORCE)
    return replace(model, **{name: np.array([value]) for name, value in entries.items()})


def move(model: predyn.Model, **options) -> predyn.Retiming:
    return predyn.retime(model, [[0.0], [LENGTH]], **options).check()


def test_bang_bang() -> None:
    assert move(slider()).duration == pytest.approx(
        2.0 * math.sqrt(LENGTH * MASS / FORCE), rel=1e-8
    )


def test_velocity_limit_makes_a_trapezoid() -> None:
    v, a = 1.5, FORCE / MASS
    result = move(slider().with_limits(velocity=v), intervals=4000)
    assert result.duration == pytest.approx(LENGTH / v + v / a, rel=1e-6)
    assert set(result.active) == {"effort of rail", "velocity of rail"}


def test_acceleration_limit_alone() -> None:
    model = slider().with_limits(effort=np.inf, acceleration=0.7)
    assert move(model).duration == pytest.approx(2.0 * math.sqrt(LENGTH / 0.7), rel=1e-8)


def asymmetric(up: float, down: float) -> float:
    """Least time with different accelerations for speeding up and slowing down."""
    return math.sqrt(2.0 * LENGTH * (1.0 / up + 1.0 / down))


def check_limit(coarse: float, fine: float, exact: float) -> None:
    """Durations with N and 2 N intervals are above the exact one and approach it linearly.

    The acceleration of the path is constant in an interval, and keeps the torque within its limit
    at both ends: where the torque of gravity or drag changes, a part of the limit is not used.
    """
    assert coarse > fine > exact
    assert fine - exact == pytest.approx(0.5 * (coarse - exact), rel=0.05)
    assert 2.0 * fine - coarse == pytest.approx(exact, rel=1e-5)


# the switch falls between two nodes: the error is of second order in the interval
def test_gravity() -> None:
    expected = asymmetric(FORCE / MASS - 4.0, FORCE / MASS + 4.0)
    assert move(slider(4.0), intervals=1000).duration == pytest.approx(expected, rel=2e-6)


def test_coulomb_friction_is_exact() -> None:
    expected = asymmetric((FORCE - 3.0) / MASS, (FORCE + 3.0) / MASS)
    result = move(slider(coulomb=3.0), intervals=1000)
    assert result.duration == pytest.approx(expected, rel=2e-6)
    assert result.is_global
    np.testing.assert_allclose(np.abs(result.tau[[0, -1]]), FORCE, rtol=1e-6)


def test_asymmetric_limits() -> None:
    expected = asymmetric(FORCE / MASS, 3.0 / MASS)
    model = slider().with_limits(effort=[[-3.0, FORCE]])
    assert move(model, intervals=1000).duration == pytest.approx(expected, rel=2e-6)


def test_viscous_friction() -> None:
    d, rate = 2.5, 2.5 / MASS

    def parts(top: float) -> tuple[float, float]:
        """Time and distance up to the top speed and back, from m dv/dt = +-F - d v."""
        up, down = -math.log1p(-d * top / FORCE) / rate, math.log1p(d * top / FORCE) / rate
        return up + down, FORCE / d * (up - down)

    top = brentq(lambda v: parts(v)[1] - LENGTH, 1e-6, FORCE / d * (1.0 - 1e-12))
    exact, counts = parts(top)[0], (500, 1000, 2000)
    coarse, middle, fine = results = [move(slider(damping=d), intervals=N) for N in counts]
    assert coarse.duration > middle.duration > fine.duration > exact
    # drag grows as the root of the distance at the start: the error is h (A + B log h)
    h = 1.0 / np.array(counts)
    terms = np.stack([np.ones(3), h, h * np.log(h)], axis=1)
    limit = np.linalg.solve(terms, [result.duration for result in results])[0]
    assert limit == pytest.approx(exact, rel=2e-5)
    assert fine.duration == pytest.approx(exact, rel=2e-3)
    assert not fine.is_global
    assert fine.max_excess < 1e-5  # the tangents never allow more than the limit


def test_speeds_at_the_ends() -> None:
    a, v0, v1 = FORCE / MASS, 2.0, 1.0
    top = math.sqrt(a * LENGTH + 0.5 * (v0**2 + v1**2))
    result = move(slider(), start_speed=v0, end_speed=v1, intervals=1000)
    assert result.duration == pytest.approx((2.0 * top - v0 - v1) / a, rel=2e-6)
    assert result.v[0, 0] == pytest.approx(v0)
    assert result.v[-1, 0] == pytest.approx(v1)


def test_time_and_energy() -> None:
    """Rest to rest, the least integral of a^2 is 12 L^2 / T^3; T + w (m/F)^2 of it is least."""
    w = 30.0
    T = (36.0 * w * (MASS / FORCE) ** 2 * LENGTH**2) ** 0.25
    result = move(slider(), energy=w, intervals=1000)
    assert result.duration == pytest.approx(T, rel=1e-4)
    assert result.objective == pytest.approx(4.0 / 3.0 * T, rel=1e-5)
    assert result.active == ()
    assert result.objective == pytest.approx(result.duration + w * result.energy)


def test_pendulum_against_gravity() -> None:
    """Full torque, then full brake; speeds follow from the work, the time from a quadrature."""
    m, r, g, torque, end = 1.5, 0.8, 9.81, 14.0, 2.4
    builder = predyn.ModelBuilder("pendulum", gravity=(0.0, -g, 0.0))
    builder.add_link("rod", "world", "hinge", "revolute", axis=(0.0, 0.0, 1.0), mass=m,
                     com=(0.0, -r, 0.0))  # fmt: skip
    model = builder.build().with_limits(effort=torque)

    def forward(q: float) -> float:  # kinetic energy gained, per unit of m r^2 / 2
        return 2.0 / (m * r**2) * (torque * q - m * g * r * (1.0 - math.cos(q)))

    def backward(q: float) -> float:
        return 2.0 / (m * r**2) * (torque * (end - q) + m * g * r * (math.cos(q) - math.cos(end)))

    switch = brentq(lambda q: forward(q) - backward(q), 0.01, end - 0.01)
    # q = x^2 removes the root at the ends
    first = quad(lambda x: 2.0 * x / math.sqrt(forward(x * x)), 0.0, math.sqrt(switch))[0]
    last = quad(lambda x: 2.0 * x / math.sqrt(backward(end - x * x)), 0.0, math.sqrt(end - switch))[
        0
    ]
    coarse, fine = (predyn.retime(model, [[0.0], [end]], intervals=N).check() for N in (500, 1000))
    check_limit(coarse.duration, fine.duration, first + last)


def test_payload_is_carried() -> None:
    loads = [predyn.Payload("cart", 3.0)]
    expected = 2.0 * math.sqrt(LENGTH * (MASS + 3.0) / FORCE)
    assert move(slider(), payloads=loads).duration == pytest.approx(expected, rel=1e-8)
