"""Ligaments against their formula, also far outside the range; their energy; edits and checks."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

import predyn
from predyn import ModelBuilder, dynamics, models
from predyn.errors import InputError, ModelError
from predyn.model import Model
from predyn.model.ligaments import LARGEST_EXPONENT, ligament_stiffness
from predyn.model.parts import rebuilt
from predyn.published.links_from_model import natural_links_of
from registry_cases import random_ligaments

MOMENT, RATE, ANGLE = np.array([3.0, 2.0]), np.array([5.0, 8.0]), np.array([-0.5, 0.7])


def wheel(**joint: object) -> Model:
    """One link that turns about its centre: tau = 2 a + joint forces."""
    return ModelBuilder("wheel").add_link("l", inertia=(1.0, 1.0, 2.0), mass=1.0, **joint).build()


def tied_wheel(sides: tuple[int, ...] = (0, 1)) -> Model:
    ligaments = np.stack([MOMENT * np.isin((0, 1), sides), RATE, ANGLE], axis=1)
    return wheel(ligaments=ligaments)


def expected(q: NDArray, side: int) -> list[NDArray]:
    """Energy, torque and its two partials of one ligament, in long double."""
    sign = (-1, 1)[side]
    m, r, angle = (np.longdouble(x[side]) for x in (MOMENT, RATE, ANGLE))
    x = sign * r * (q.astype(np.longdouble) - angle)
    d = np.maximum(x - LARGEST_EXPONENT, 0.0)
    e = np.exp(np.minimum(x, LARGEST_EXPONENT))
    energy = m / r * e * (1 + d + d**2 / 2 + d**3 / 6)
    torque = sign * m * e * (1 + d + d**2 / 2)
    return [np.asarray(y) for y in (energy, torque, m * r * e * (1 + d), sign * m * r**2 * e)]


def computed(model: Model, q: NDArray) -> list[NDArray]:
    q, o = q[:, None], np.zeros((len(q), 1))
    _, dq, *_ = dynamics.inverse_dynamics_derivatives(model, q, o, o)
    qq = dynamics.inverse_dynamics_hessian(model, q, o, o, np.ones_like(q)).qq
    tau = dynamics.inverse_dynamics(model, q, o, o)
    return [dynamics.potential_energy(model, q), tau[:, 0], dq[:, 0, 0], qq[:, 0, 0]]


@pytest.mark.parametrize("side", [0, 1])
def test_a_ligament_follows_its_formula_at_any_angle(side: int) -> None:
    """The exponent has an error of a few roundings of itself: 40 eps each, and more beyond."""
    reach = LARGEST_EXPONENT / RATE[side]
    near = np.linspace(-2 * reach, 2 * reach, 203)
    q = ANGLE[side] + np.concatenate([near, [-1e6, -200.0, 200.0, 1e6, 1e20]])
    for x, y in zip(computed(tied_wheel((side,)), q), expected(q, side), strict=True):
        assert np.isfinite(x).all()
        np.testing.assert_allclose(x, y.astype(float), rtol=1e-13, atol=1e-290)


def test_both_ligaments_add_up() -> None:
    q = np.linspace(-2.0, 2.0, 50)
    both = [x + y for x, y in zip(expected(q, 0), expected(q, 1), strict=True)]
    for x, y in zip(computed(tied_wheel(), q), both, strict=True):
        y = y.astype(float)
        np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-14 * np.abs(y).max())
    slope = ligament_stiffness(tied_wheel(), q[:, None])[:, 0]
    np.testing.assert_allclose(slope, both[2].astype(float), rtol=1e-14)


def test_value_and_partials_are_continuous_where_the_exponential_ends() -> None:
    q = ANGLE[1] + LARGEST_EXPONENT / RATE[1] + np.array([-1e-9, 1e-9])
    for x in computed(tied_wheel((1,)), q):
        assert abs(x[1] / x[0] - 1.0) < 2e-9 * RATE[1] * 1.01


def test_a_rate_of_zero_is_a_constant_torque() -> None:
    model, q = wheel(ligaments=((0, 0, 0), (3.0, 0.0, 0.5))), np.array([[-1.0], [2.0]])
    o = np.zeros_like(q)
    np.testing.assert_array_equal(dynamics.inverse_dynamics(model, q, o, o), 3.0 + o)
    np.testing.assert_array_equal(dynamics.potential_energy(model, q), 3.0 * (q[:, 0] - 0.5))


@pytest.mark.parametrize("coupled", [False, True])
def test_a_simulation_conserves_energy(coupled: bool) -> None:
    builder = ModelBuilder("swing", gravity=(0.0, -9.81, 0.0))
    rod = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": (0.01, 0.03, 0.03)}
    tied = np.stack([MOMENT, RATE, ANGLE], axis=1)
    builder.add_link("a", joint="a", ligaments=tied, **rod)
    builder.add_link("b", "a", "b", origin=(0.6, 0.0, 0.0), ligaments=tied, **rod)
    if coupled:
        builder.couple("b", "a", (-0.8, 0.1))
    model = builder.build()
    start = np.array([0.4, -0.3])[: model.n]
    run = predyn.simulate(model, start, 0 * start, None, np.linspace(0.0, 3.0, 31), rtol=1e-9)
    ligaments = replace(model, gravity=np.zeros(3))
    stored = dynamics.potential_energy(ligaments, run.q)
    assert np.ptp(stored) > 1.0  # J: they stop the links, and return what they take
    assert np.ptp(run.energy) < 1e-6


def test_following_joints_keep_their_ligaments() -> None:
    ligaments = random_ligaments(3, 1)
    builder = ModelBuilder("chain")
    for j, name in enumerate("abc"):
        above = "world" if j == 0 else "abc"[j - 1]
        body = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.1, 0.1)}
        builder.add_link(name, above, name, origin=(0.3, 0, 0), ligaments=ligaments[j], **body)
    builder.couple("b", "a", (2.0, 0.1))
    model = builder.build()
    np.testing.assert_array_equal(model.ligaments, ligaments[[0, 2]])
    np.testing.assert_array_equal(model.expanded.ligaments, ligaments)
    tied = replace(model, ligaments=2.0 * model.ligaments).expanded.ligaments
    np.testing.assert_array_equal(tied, ligaments * np.array([2.0, 1.0, 2.0])[:, None, None])
    np.testing.assert_array_equal(model.lock({"c": 0.1}).expanded.ligaments, ligaments[:2])
    np.testing.assert_array_equal(model.lock({"a": 0.1}).ligaments, ligaments[2:])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).expanded.ligaments, ligaments)


def test_models_without_the_field_have_none() -> None:
    """Calls and pickles of version 0.2 give no ligaments."""
    model = models.two_link()
    kind, values = rebuilt(model)
    assert fields(model)[-1].name == "ligaments"
    np.testing.assert_array_equal(kind(*values[:-1]).ligaments, np.zeros((2, 2, 3)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (((1, 2, 3),), r"joint 'l_joint': ligaments: expected shape \(2, 3\), got \(1, 3\)"),
        ("tight", r"joint 'l_joint': ligaments: expected numbers of shape \(2, 3\), got 'tight'"),
        (((-1, 2, 3), (0, 0, 0)), "'l_joint': moment -1.0 of the lower ligament is negative"),
        (((1, 2, np.inf), (0, 0, 0)), "'l_joint': ligaments contains inf"),
    ],
)
def test_bad_ligaments_are_named(given: object, message: str) -> None:
    with pytest.raises((InputError, ModelError), match=message):
        wheel(ligaments=given)


def test_natural_links_reject_them() -> None:
    model = replace(models.trujillo_two_link(), ligaments=random_ligaments(2, 0))
    with pytest.raises(InputError, match="it has ligaments, which natural links do not support"):
        natural_links_of(model)
