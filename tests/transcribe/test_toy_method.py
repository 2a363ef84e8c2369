"""A custom method, channel and term defined in this file, from the program to the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import predyn
from predyn.channels.derived import Derived
from predyn.errors import InputError
from predyn.kernels.batch import aligned
from predyn.kernels.lanes import WIDTH
from predyn.problem import Cost, Duration, Phase, Problem, Signal, Spline, State
from predyn.samples.registry import CHANNELS, Channel, register, units
from predyn.terms import JointJerk, SignalValue, TotalTime
from predyn.terms.linear import Block, Linear
from predyn.terms.term import Term
from predyn.transcribe.arrange import Arrangement
from predyn.transcribe.methods import METHODS, register_method
from predyn.transcribe.spline import SplineProgram
from predyn.view.report import report_html

# -- a channel: kinetic energy per unit of inertia, v_j^2 / 2 -------------------------------------


class HalfSquare(Derived):
    def __init__(self, n: int, states: Any) -> None:
        chunks = len(states[0])
        self._v, self._n = states[1], n  # signals follow the joints
        self.pairs = np.array([(j, j) for j in range(n)])
        self.value, self.weights, self.dv = (aligned(chunks, n, WIDTH) for _ in range(3))
        self.dq, self.da = (np.zeros((chunks, 1, WIDTH)) for _ in range(2))
        self.curvature = tuple(np.zeros((chunks, k * n, WIDTH)) for k in (1, 2, 1, 2))
        self.depends = [[(j, -1, j, -1)] for j in range(n)]

    def evaluate(self) -> None:
        self.value[:] = 0.5 * self._v[:, : self._n] ** 2

    def derive(self) -> None:
        self.evaluate()
        self.dv[:] = self._v[:, : self._n]

    def curve(self) -> None:
        self.curvature[2][:] = self.weights


class HalfSquareTerm(Term):
    kind = "half_square"

    def bind(self, model: Any) -> Any:
        n = model.n
        block = Block(0, "half_square", np.arange(n), np.ones(n))
        return Linear(model.joint_names, units(model, "half_square"), np.ones(n), [block])


# -- a method: torques are steps, and the equations of motion hold in the middle of each ----------


@dataclass(frozen=True)
class Steps(Spline):
    """Torques u are constant in each segment; tau = u in its middle."""

    method: ClassVar[str] = "steps"
    without: ClassVar[tuple[str, ...]] = ("jerk", "reactions")


class StepsProgram(SplineProgram):
    def __init__(self, problem: Problem) -> None:
        limits = problem.model.limits.effort
        u = Signal("u", problem.model.joint_names, *limits.T, unit="N m", degree=0)
        super().__init__(replace(problem, signals=(*problem.signals, u)))

    def arrange(self, total: Any) -> Arrangement:
        return StepsArrangement(self.problem, self.phases, self.lifts, total)


class StepsArrangement(Arrangement):
    def add_dynamics(self) -> None:
        model = self.problem.model
        every, one = np.arange(model.n), np.ones(model.n)
        blocks = [Block(0, "tau", every, one), Block(0, "signal:u", every, -one)]
        residual = Linear(model.joint_names, units(model, "tau"), one, blocks)
        for p, layout in enumerate(self.layouts):
            breaks = layout.spline.breaks
            middle = self.at(p, (0.5 * (breaks[1:] + breaks[:-1])).tolist())
            self.impose(p, "motion", residual, middle, (0.0 * one, 0.0 * one))


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    register(
        Channel(
            "half_square",
            lambda model, _: tuple(f"({unit})^2" for unit in units(model, "v")),
            SimpleNamespace(
                values=lambda model, member, states, forces: 0.5 * states[1] ** 2,
                in_lanes=lambda model, member, states, forces: HalfSquare(model.n, states),
            ),
        )
    )
    register_method(Steps, StepsProgram)
    yield
    del CHANNELS["half_square"], METHODS[Steps]


def task() -> Problem:
    rest = (0.0, 0.0)
    return Problem(
        predyn.models.two_link(),
        (Phase(Duration(0.2, 3.0, 1.0), State((0.0, 0.0), rest), State((1.0, 0.5), rest)),),
        costs=(
            Cost(TotalTime(), 10.0),
            Cost(SignalValue("u"), 0.05),
            Cost(HalfSquareTerm(), 0.01, loss="linear"),
        ),
        transcription=Steps(segments=10),
        name="steps",
    )


@pytest.fixture(scope="module")
def solution() -> predyn.Solution:
    return predyn.solve(task()).check()


def test_the_method_solves(solution: predyn.Solution) -> None:
    middle = (np.arange(10) + 0.5) / 10 * solution.duration
    u = solution.channel("signal:u", middle)
    assert np.allclose(solution.at(middle).tau, u, atol=1e-6)
    assert len(np.unique(np.round(solution.signals["u"][:-1, 0], 9))) == 10
    assert set(solution.costs) == {"time", "signal", "half_square"}


def test_solution_is_saved_exported_and_reported(solution: predyn.Solution, tmp_path: Any) -> None:
    solution.save(tmp_path / "steps.h5")
    again = predyn.load_solution(tmp_path / "steps.h5")
    assert np.array_equal(again.signals["u"], solution.signals["u"])
    t = np.linspace(0.0, solution.duration, 7)
    for channel in ("half_square", "signal:u", "tau"):
        assert np.array_equal(again.channel(channel, t), solution.channel(channel, t))
    solution.export(tmp_path / "steps.csv")
    header = (tmp_path / "steps.csv").read_text().splitlines()[0]
    assert "signal.u.joint1 [N m]" in header
    assert "signal.u.joint2 [N m]" in header
    page = report_html(again)
    assert "half_square" in page
    assert "Signal u" in page


def test_a_channel_that_the_method_does_not_provide_is_named() -> None:
    wanting = replace(task(), costs=(Cost(JointJerk()),))
    with pytest.raises(InputError, match=r"'jerk', which method 'steps' does not provide"):
        predyn.solve(wanting)
