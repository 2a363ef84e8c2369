"""Initial guesses: the curves that they define, and their reproducibility."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BSpline as Reference

import predyn
from predyn.config import read_task
from predyn.errors import InputError
from predyn.models import two_link
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Spline, State
from predyn.solution import Solution
from predyn.solving import solve
from predyn.terms import Effort, FramePosition, TotalTime
from predyn.transcribe.guess import first_guess, random_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.spline import SplineProgram

FREE = Duration(0.2, 2.0, 0.9)
S = np.linspace(0.0, 1.0, 41)


def two_phases(**more: object) -> Problem:
    return Problem(
        two_link(),
        (
            Phase(FREE, State((0.2, -0.4), (0.0, 0.0)), State((0.8, np.nan))),
            Phase(0.6, State((np.nan, 0.5)), State((1.4, 0.1), (0.0, 0.0)), segments=4),
        ),
        costs=(Cost(TotalTime()), Cost(Effort(), 0.01)),
        transcription=Spline(segments=6),
        **more,  # type: ignore[arg-type]
    )


def shape(program: SplineProgram, x: np.ndarray, phase: int = 0, s: np.ndarray = S) -> np.ndarray:
    """Positions of the guess, by SciPy."""
    curve = program.curves(x)[phase]
    return np.asarray(Reference(curve.knots, curve.control, curve.degree)(s))


@pytest.fixture(scope="module")
def lifting() -> Solution:
    return solve("two-link-lifting").check()


def test_linear_goes_straight() -> None:
    program = transcribe(read_task("arm6-pick").problem)
    straight = transcribe(two_phases())
    x = first_guess(straight)
    # rest at the ends bends the line at the first and the last control points only
    middle = S[(S > 0.35) & (S < 0.5)]
    for phase, start, end in ((0, (0.2, -0.4), (0.8, 0.5)), (1, (0.8, 0.5), (1.4, 0.1))):
        line = np.array(start) + np.outer(middle, np.subtract(end, start))
        assert shape(straight, x, phase, middle) == pytest.approx(line, abs=1e-14)
    assert x[0] == 0.9
    assert np.all(first_guess(program) >= program.x_lower)


def test_fixed_values_stay_fixed() -> None:
    program = transcribe(two_phases())
    for x in (first_guess(program), random_guess(program, 3, 2)):
        assert shape(program, x, 0, np.zeros(1))[0] == pytest.approx([0.2, -0.4], abs=1e-15)
        assert shape(program, x, 1, np.ones(1))[0] == pytest.approx([1.4, 0.1], abs=1e-15)


def test_durations_are_clipped_to_their_bounds(lifting: Solution) -> None:
    task = read_task("two-link-lifting").problem
    narrow = replace(task.phases[0], duration=Duration(0.6, 0.8, 0.7))
    program = transcribe(replace(task, phases=(narrow,)))
    assert lifting.duration < 0.6
    assert first_guess(program, lifting)[0] == 0.6


def test_inverse_kinematics_reaches_the_goal() -> None:
    goal = (0.25, 0.35, 0.0)
    asked = Problem(
        two_link(),
        (Phase(FREE, State((0.3, 0.4), (0.0, 0.0)), State(v=(0.0, 0.0))),),
        costs=(Cost(TotalTime()),),
        constraints=(Constraint(FramePosition("tip", goal), at="end"),),
        guess="inverse_kinematics",
    )
    program = transcribe(asked)
    q = shape(program, first_guess(program))[-1]
    frames = predyn.dynamics.frame_kinematics(asked.model, "tip", q, 0 * q, 0 * q)
    assert frames.p == pytest.approx(goal, abs=1e-6)
    far = replace(asked.constraints[0], term=FramePosition("tip", (9.0, 0.0, 0.0)))
    with pytest.raises(InputError, match=r"inverse kinematics.*'tip'"):
        first_guess(transcribe(replace(asked, constraints=(far,))))


def test_a_curve_is_followed() -> None:
    """The curve of the whole motion is split by the durations of the guess: 0.9 and 0.6 s."""
    s = np.linspace(0.0, 1.0, 401)

    def wanted(s: np.ndarray) -> np.ndarray:
        return np.stack((0.2 + 1.2 * s**2 * (3 - 2 * s), -0.4 + 0.5 * np.sin(np.pi * s)), axis=1)

    program = transcribe(two_phases())
    x = first_guess(program, (s, wanted(s)))
    # between the ends that are given a cubic spline of 6 segments follows to its own accuracy
    inner = S[(S > 0.35) & (S < 0.5)]
    assert np.abs(shape(program, x, 0, inner) - wanted(0.6 * inner)).max() < 1e-4
    assert np.abs(shape(program, x, 1, inner) - wanted(0.6 + 0.4 * inner)).max() < 1e-4


def test_solution_reproduces_itself(lifting: Solution) -> None:
    program = transcribe(read_task("two-link-lifting").problem)
    assert np.array_equal(first_guess(program, lifting), lifting.x)


@pytest.mark.parametrize("segments", [40, 60, 80])
def test_refinement_reproduces_the_curve(lifting: Solution, segments: int) -> None:
    task = read_task("two-link-lifting").problem
    finer = replace(task, transcription=replace(task.transcription, segments=segments))
    program = transcribe(finer)
    x = first_guess(program, lifting)
    coarse = Reference(lifting.curves[0].knots, lifting.curves[0].control, 3)
    assert np.abs(shape(program, x) - coarse(S)).max() < 1e-14
    program.move(x)
    assert program.objective() == pytest.approx(lifting.objective, rel=1e-9)  # finer quadrature
    assert x[0] == lifting.duration


@pytest.mark.parametrize(
    ("change", "off"),
    [({"segments": 31}, 1e-3), ({"degree": 5}, 1e-3), ({"knots": "uniform"}, 1e-4)],
)
def test_a_solution_is_resampled(lifting: Solution, change: dict, off: float) -> None:
    """The new spline space does not contain the curve; with other knots the fit is close."""
    task = read_task("two-link-lifting").problem
    other = transcribe(replace(task, transcription=replace(task.transcription, **change)))
    x = first_guess(other, lifting)
    coarse = Reference(lifting.curves[0].knots, lifting.curves[0].control, 3)
    assert np.abs(shape(other, x) - coarse(S)).max() < off


def test_solution_is_split_over_phases(lifting: Solution) -> None:
    task = read_task("two-link-lifting").problem
    start, end = task.phases[0].start, task.phases[0].end
    split = replace(
        task,
        phases=(Phase(Duration(0.1, 3.0, 1.0), start), Phase(Duration(0.1, 3.0, 3.0), end=end)),
    )
    program = transcribe(split)
    x = first_guess(program, lifting)
    T = [curve.duration for curve in program.curves(x)]
    assert pytest.approx([0.25 * lifting.duration, 0.75 * lifting.duration]) == T
    inner = S[(S > 0.2) & (S < 0.8)]
    for phase, begin, share in ((0, 0.0, 0.25), (1, 0.25, 0.75)):
        wanted = lifting.at((begin + share * inner) * lifting.duration).q
        assert np.abs(shape(program, x, phase, inner) - wanted).max() < 1e-3


def test_bad_guesses_are_named(lifting: Solution) -> None:
    program = transcribe(read_task("arm6-pick").problem)
    with pytest.raises(InputError, match="2 joints, the problem has 6"):
        first_guess(program, lifting)
    with pytest.raises(InputError, match="'auto', 'linear', 'inverse_kinematics'"):
        first_guess(program, "lineal")
    with pytest.raises(InputError, match=r"q \(K, 6\)"):
        first_guess(program, (S, np.zeros((41, 2))))
    with pytest.raises(InputError, match="must increase"):
        first_guess(program, (S[::-1], np.zeros((41, 6))))
    with pytest.raises(InputError, match="got int"):
        first_guess(program, 3)


def test_random_guesses_are_repeatable_and_different() -> None:
    task = read_task("manutec-min-time").problem
    program, again = transcribe(task), transcribe(task)
    found = [random_guess(program, 1, k) for k in range(6)]
    for k, x in enumerate(found):
        assert np.array_equal(x, random_guess(again, 1, k))
        assert np.all((x >= program.x_lower) & (x <= program.x_upper))
    assert np.array_equal(found[0], first_guess(program))
    distances = [np.abs(a - b).max() for i, a in enumerate(found) for b in found[:i]]
    assert min(distances) > 0.1
    assert not np.array_equal(found[1], random_guess(program, 2, 1))


def test_random_guesses_obey_position_limits() -> None:
    task = read_task("two-link-lifting").problem
    limits = task.model.limits._replace(position=np.array([[1.0, 3.0], [-2.5, -2.0]]))
    program = transcribe(replace(task, limits=limits))
    for k in range(1, 8):
        q = shape(program, random_guess(program, 0, k))
        assert np.all(q >= limits.position[:, 0] - 1e-12)
        assert np.all(q <= limits.position[:, 1] + 1e-12)


def test_a_curve_outside_the_limits_is_named() -> None:
    program = transcribe(predyn.load_task("manutec-min-time"))
    curve = np.linspace([0.0, -1.5, 0.0], [1.0, -2.5, 1.0], 5)
    with pytest.raises(InputError, match=r"joint2 is -2\.02 .* outside its limits -2\.01"):
        first_guess(program, (np.linspace(0.0, 1.0, 5), curve))
