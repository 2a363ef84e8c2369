"""Channels: the registry, and a user channel from the program to the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import predyn
from predyn.channels.derived import Derived
from predyn.dynamics.kinematics import frame_kinematics
from predyn.dynamics.reactions import joint_reactions
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.kernels.tree import ancestor_pairs, tree_of
from predyn.samples import channel_size
from predyn.samples.registry import CHANNELS, Channel, register, units
from predyn.solving import solve
from predyn.terms.linear import Block, Linear
from predyn.terms.term import Term
from predyn.transcribe.methods import transcribe

MODEL = predyn.models.two_link()
MIXED = predyn.models.prismatic_revolute()


class SquareSpeed(Derived):
    """v^2 of every joint."""

    def __init__(self, model: Any, states: Any) -> None:
        n, chunks = model.n, len(states[0])
        self._v = states[1]
        self.pairs = ancestor_pairs(tree_of(model))
        self.value, self.weights, self.dv = (aligned(chunks, n, WIDTH) for _ in range(3))
        self.dq, self.da = (aligned(chunks, 1, WIDTH) for _ in range(2))
        count = len(self.pairs)
        sizes = (count, 2 * count, count, 2 * count)
        self.curvature = tuple(aligned(chunks, size, WIDTH) for size in sizes)
        for x in (self.dq, self.da, *self.curvature):
            x[:] = 0.0
        self.depends = [[(j, -1, j, -1)] for j in range(n)]
        self._own = [k for k, (i, j) in enumerate(self.pairs.tolist()) if i == j]

    def evaluate(self) -> None:
        self.value[:] = self._v**2

    def derive(self) -> None:
        self.evaluate()
        self.dv[:] = 2.0 * self._v

    def curve(self) -> None:
        for k in self._own:
            self.curvature[2][:, k] = 2.0 * self.weights[:, self.pairs[k, 0]]


class SquareSpeedTerm(Term):
    """The channel itself, as a term."""

    kind = "square_speed"

    def bind(self, model: Any) -> Any:
        n = model.n
        rows, scale = tuple(f"square speed {name}" for name in model.joint_names), np.ones(n)
        block = Block(0, "square_speed", np.arange(n), np.ones(n))
        return Linear(rows, units(model, "square_speed"), scale, [block])


@pytest.fixture
def square_speed() -> Iterator[None]:
    register(
        Channel(
            "square_speed",
            lambda model, _: tuple(f"({unit})^2" for unit in units(model, "v")),
            SimpleNamespace(
                values=lambda model, member, states, forces: states[1] ** 2,
                in_lanes=lambda model, member, states, forces: SquareSpeed(model, states),
            ),
        )
    )
    yield
    del CHANNELS["square_speed"]


def test_units_and_sizes() -> None:
    assert units(MIXED, "tau") == ("N", "N m")
    assert units(MIXED, "q") == ("m", "rad")
    assert units(MIXED, "jerk") == ("m/s^3", "rad/s^3")
    assert units(MIXED, "reactions") == ("N m",) * 3 + ("N",) * 3 + ("N m",) * 3 + ("N",) * 3
    assert len(units(MODEL, "frame:tip")) == 24
    assert channel_size(MODEL, "second.frame:tip") == 24
    assert channel_size(MODEL, "t") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torque", "valid names|did you mean"),
        ("reaction", "did you mean 'reactions'"),
        ("frame:tipp", "did you mean 'tip'"),
        ("frames:tip", "did you mean 'frame:NAME'|valid names"),
    ],
)
def test_unknown_channels_are_named(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        units(MODEL, name)


def test_channel_names_must_be_unique() -> None:
    with pytest.raises(InputError, match="channel 'tau': a channel of that name already exists"):
        register(CHANNELS["tau"])


def test_a_solution_has_every_channel() -> None:
    solution = predyn.solve("two-link-lifting")
    t = np.linspace(0.0, solution.duration, 7).reshape(7, 1)
    motion = solution.at(t)
    for name in ("q", "v", "a", "jerk", "tau"):
        np.testing.assert_array_equal(solution.channel(name, t), getattr(motion, name))
    forces = [predyn.ExternalForce(**force) for force in solution.forces]
    wrenches = joint_reactions(solution.model, motion.q, motion.v, motion.a, forces=forces)
    np.testing.assert_array_equal(solution.channel("reactions", t), wrenches.reshape(7, 1, -1))
    tip = frame_kinematics(solution.model, "tip", motion.q, motion.v, motion.a)
    np.testing.assert_array_equal(solution.channel("frame:tip", t)[..., 9:12], tip.p)
    np.testing.assert_array_equal(solution.channel("t", t)[..., 0], t)
    assert solution.channel("tau", 0.1).shape == (2,)
    with pytest.raises(InputError, match="unknown channel 'powr': did you mean 'power'"):
        solution.channel("powr", 0.1)


@pytest.mark.usefixtures("square_speed")
def test_a_user_channel_from_the_program_to_the_file(tmp_path) -> None:
    """A limit on the square is the limit on the speed."""
    problem = predyn.load_task("two-link-lifting")
    fastest = 4.0
    limited = replace(
        problem, constraints=(predyn.Constraint(SquareSpeedTerm(), upper=fastest**2),)
    )
    program = transcribe(limited)
    inside = np.clip(
        np.random.default_rng(2).uniform(0.5, 1.0, program.n), program.x_lower, program.x_upper
    )
    report = program.check_derivatives(inside)
    assert report.ok, str(report)
    free, solution = solve(problem), solve(limited).check()
    assert np.abs(free.v).max() > 1.05 * fastest
    t = np.linspace(0.0, solution.duration, 400)
    speed = solution.channel("square_speed", t)
    np.testing.assert_array_equal(speed, solution.at(t).v ** 2)
    assert speed.max() == pytest.approx(fastest**2, rel=0.01)
    assert any("square speed" in name for name in solution.active)
    solution.save(tmp_path / "a.h5")
    again = predyn.load_solution(tmp_path / "a.h5")
    np.testing.assert_array_equal(again.channel("square_speed", t), speed)
