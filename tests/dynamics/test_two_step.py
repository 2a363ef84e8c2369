"""The two-step algorithm: a base that carries nothing, statics, continuity, named errors."""

from __future__ import annotations

import numpy as np
import pytest

import predyn
from floating_biped import floating_biped
from predyn import InputError, dynamics
from predyn.dynamics import ExternalForce, Foot
from predyn.model.builder import ModelBuilder
from predyn.models import random_tree

REAR, FRONT = Foot("rear_sole", (0.05, 0.0, 0.0)), Foot("ankle_front", (-0.05, 0.0, -0.08))
FEET = [REAR, FRONT]


def random_states(count: int) -> tuple[predyn.Model, float, np.ndarray]:
    """Random states (3, count, n) with a vertical force above a tenth of the weight, and with one
    foot ahead of the other."""
    model, rng = floating_biped(0.9), np.random.default_rng(4)
    states = rng.normal(size=(3, 4 * count, model.n)) * np.array([0.3, 1.0, 2.0])[:, None, None]
    weight = 9.81 * model.inertia[:, 0].sum()
    force = dynamics.resultant_wrench(model, *states)[:, 5]
    rear, front = (
        dynamics.frame_kinematics(model, f.link, states[0], point=f.edge).p for f in FEET
    )
    usable = (force > 0.1 * weight) & (front[:, 0] - rear[:, 0] > 0.1)
    return model, weight, states[:, usable][:, :count]


@pytest.mark.parametrize("feet", [[FRONT], FEET], ids=["one foot", "two feet"])
@pytest.mark.parametrize("outside", ["clamp", "extend"])
def test_the_base_carries_nothing(feet: list[Foot], outside: str) -> None:
    model, weight, states = random_states(200)
    assert states.shape[1] == 200
    found = dynamics.two_step_dynamics(model, *states, feet, outside=outside)
    assert found.residual.shape == (200, 6)
    assert np.abs(found.residual).max() < 1e-10 * weight
    total = found.wrenches.sum(axis=1)[:, 3:]
    np.testing.assert_allclose(total, found.resultant[:, 3:], atol=1e-12 * weight)
    again = dynamics.inverse_dynamics(model, *states, forces=found.forces(feet))
    np.testing.assert_array_equal(again, found.tau)


def test_the_zero_moment_point_follows_from_the_momentum() -> None:
    """From the motion of the centre of mass and the rate of angular momentum, by hand."""
    model, weight, states = random_states(50)
    m = dynamics.spatial_momentum(model, *states)
    force = m.mass * (m.acceleration - model.gravity)
    x = m.com[:, 0] - (m.com[:, 2] * force[:, 0] + m.angular_momentum_rate[:, 1]) / force[:, 2]
    y = m.com[:, 1] - (m.com[:, 2] * force[:, 1] - m.angular_momentum_rate[:, 0]) / force[:, 2]
    found = dynamics.two_step_dynamics(model, *states, [FRONT])
    np.testing.assert_allclose(found.zmp, np.stack([x, y], axis=1), atol=1e-9)
    np.testing.assert_allclose(found.resultant[:, 3:], force, atol=1e-10 * weight)


def test_standing_still_puts_the_zero_moment_point_under_the_centre_of_mass() -> None:
    model = floating_biped(0.9)
    rest = np.zeros(model.n)
    found = dynamics.two_step_dynamics(model, rest, rest, rest, FEET)
    np.testing.assert_allclose(found.zmp, dynamics.center_of_mass(model, rest)[:2], atol=1e-14)
    np.testing.assert_allclose(found.couple, 0.0, atol=1e-12)
    edges = [dynamics.frame_kinematics(model, f.link, rest, point=f.edge).p for f in FEET]
    share = (found.zmp[0] - edges[0][0]) / (edges[1][0] - edges[0][0])
    np.testing.assert_allclose(found.shares, [1 - share, share])
    np.testing.assert_allclose(found.pressure[:, 0], [edges[0][0], edges[1][0]])
    middle = found.shares @ found.pressure
    np.testing.assert_allclose(middle, found.zmp, atol=1e-14)


def test_a_gimbal_lock_of_the_base_is_no_singularity() -> None:
    model = floating_biped(0.9)
    q, rng = np.zeros(model.n), np.random.default_rng(1)
    q[model.joint_index("roll")] = 0.5 * np.pi
    v, a = 0.3 * rng.normal(size=(2, model.n))
    d = dynamics.two_step_dynamics_derivatives(model, q, v, a, [FRONT])
    assert np.abs(d.value.residual).max() < 1e-10
    assert all(np.isfinite(x).all() for part in d[1:] for x in part)


def test_forces_are_continuous_where_one_foot_takes_over() -> None:
    """A push moves the zero-moment point across each facing edge."""
    model, rest = floating_biped(0.9), np.zeros(13)
    steps = np.linspace(-1500.0, 1500.0, 3001)
    push = [ExternalForce("pitch", moment=np.outer(steps, [0.0, 1.0, 0.0]))]
    q = np.zeros((len(steps), 13))
    found = dynamics.two_step_dynamics(model, q, rest, rest, FEET, forces=push)
    assert found.shares.min() == 0.0
    assert found.shares.max() == 1.0
    assert np.abs(np.diff(found.wrenches, axis=0)).max() < 4.0  # 1 N m per step, edges 0.6 m apart
    extended = dynamics.two_step_dynamics(model, q, rest, rest, FEET, forces=push, outside="extend")
    assert extended.shares.min() < -0.1
    inside = (extended.shares > 0.0).all(axis=1)
    np.testing.assert_array_equal(found.tau[inside], extended.tau[inside])
    with pytest.raises(InputError, match=r"between the facing edges.*index 0.*outside='clamp'"):
        dynamics.two_step_dynamics(model, q, rest, rest, FEET, forces=push, outside="error")


def test_ground_of_another_height_and_place() -> None:
    low, high = floating_biped(0.9), floating_biped(5.9)
    _, _, states = random_states(20)
    one = dynamics.two_step_dynamics(low, *states, FEET)
    other = dynamics.two_step_dynamics(high, *states, FEET, height=5.0)
    np.testing.assert_allclose(other.tau, one.tau, atol=1e-9)
    np.testing.assert_allclose(other.zmp, one.zmp, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": np.eye(13)[2] * -9.81}, "vertical force above 0, got .* N; the motion leaves"),
        ({"a": np.tile(np.eye(13)[2] * -30.0, (2, 1))}, "got -.* N at index 0"),
        ({"feet": [FRONT, REAR]}, "'rear_sole' must be ahead of that of 'ankle_front'"),
        ({"feet": []}, "one Foot, or of the rear and the front"),
        ({"feet": ["ankle_front"]}, r"feet\[0\]: expected a Foot, got str"),
        ({"feet": [Foot("toes")]}, "unknown .* 'toes'"),
        ({"feet": [Foot("ankle_front", (1.0, 2.0))]}, r"feet\[0\].edge"),
        ({"outside": "drop"}, "outside: expected one of clamp, extend, error"),
        ({"direction": (0.0, 0.0)}, "direction: expected two numbers"),
        ({"height": np.nan}, "height: expected a finite number"),
    ],
)
def test_bad_arguments_are_named(change: dict, message: str) -> None:
    rest = np.zeros(13)
    given = {"q": rest, "v": rest, "a": rest, "feet": FEET} | change
    with pytest.raises(InputError, match=message):
        dynamics.two_step_dynamics(floating_biped(0.9), **given)


def test_a_model_without_a_floating_base_is_refused() -> None:
    tree = random_tree(7, seed=1)
    rest = np.zeros(7)
    with pytest.raises(InputError, match="has no floating base; expected one root with three"):
        dynamics.two_step_dynamics(tree, rest, rest, rest, [Foot(tree.link_names[-1])])
    builder = ModelBuilder("sprung", gravity=(0.0, 0.0, -9.81))
    builder.add_link("x", "world", "x", "prismatic", axis=(1.0, 0.0, 0.0))
    builder.add_link("z", "x", "z", "prismatic", axis=(0.0, 0.0, 1.0), stiffness=5.0)
    builder.add_link("body", "z", "pitch", axis=(0.0, 1.0, 0.0), mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(InputError, match=r"springs, ligaments, .* rotors act at z"):
        dynamics.two_step_dynamics(builder.build(), *np.zeros((3, 3)), [Foot("body")])
