"""Limits that hold everywhere: rows on control points of derivatives, against SciPy by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BSpline as SciPySpline

import predyn
from predyn.models import two_link
from predyn.nlp import check_derivatives
from predyn.problem import Constraint, Cost, Duration, Phase, Problem, Signal, Spline, State
from predyn.solving.single_solve import solve_once
from predyn.terms import Effort, JointVelocity, SignalValue, TotalTime
from predyn.terms.signals import SignalRate
from predyn.transcribe.methods import transcribe

KINDS = ("position", "velocity", "acceleration", "jerk")


def problem(transcription: Spline, **changes) -> Problem:
    model = two_link()
    limits = model.limits._replace(
        position=np.array([[-1.0, 1.3], [-2.0, 2.0]]),
        velocity=np.array([[-4.0, 4.0], [-5.0, 3.0]]),
        acceleration=np.array([[-40.0, 40.0], [-np.inf, np.inf]]),
    )
    given = {
        "costs": (Cost(TotalTime()), Cost(Effort(), 1e-4)),
        "limits": limits,
        "jerk_limit": 4e3,
        "transcription": transcription,
        **changes,
    }
    phase = Phase(Duration(0.1, 3.0, 0.8), State((0.2, -0.9), (0.0, 0.0)), State((1.3, 0.9)))
    return Problem(model, (phase,), **given)


def coefficients(curve, order: int) -> np.ndarray:
    """Control points of a time derivative, by SciPy."""
    spline = SciPySpline(curve.knots, curve.control, curve.degree)
    found = spline.derivative(order) if order else spline
    return found.c[: len(curve.control) - order] / curve.duration**order


@pytest.mark.parametrize("degree", [3, 4, 5])
@pytest.mark.parametrize("knots", ["clamped", "uniform", (0.0, 0.1, 0.35, 0.7, 1.0)])
def test_rows_are_control_points_of_derivatives(degree: int, knots: object) -> None:
    program = transcribe(problem(Spline(degree, 4, knots=knots, limits="everywhere")))
    rng = np.random.default_rng(degree)
    x = rng.normal(size=program.n)
    x[program.phases[0].T_column] = 0.7
    program.move(x)
    g = np.empty(program.m)
    program.constraints(g)
    (curve,) = program.curves(x)
    blocks = {name: part for name, part in program.g_blocks() if name in KINDS}
    assert set(blocks) == set(KINDS)
    (layout,) = program.phases
    for order, kind in enumerate(KINDS):
        wanted = coefficients(curve, order)[:, : 1 if kind == "acceleration" else 2]
        # rows without a free number are left out: those of fixed control points only
        fixed = layout.columns[:, : wanted.shape[1]] < 0
        alone = np.lib.stride_tricks.sliding_window_view(fixed, order + 1, axis=0).all(axis=2)
        if order:  # those of a moving curve change with T
            alone &= np.abs(wanted) < 1e-9 * np.abs(wanted).max()
        size = np.abs(wanted).max()
        np.testing.assert_allclose(g[blocks[kind]], wanted[~alone], atol=1e-12 * size)
        assert len(g[blocks[kind]]) == (~alone).sum()
    report = check_derivatives(program, x, step=1e-4)
    assert report.ok, str(report)


def test_derivatives_with_signals_of_other_degrees() -> None:
    signal = Signal("pull", ("x", "y"), degree=4, lower=-2.0, upper=3.0, unit="N")
    bounds = (
        Constraint(SignalRate("pull"), -5.0, 5.0),
        Constraint(JointVelocity(joints=("joint2",), target=0.3), upper=1.0, name="slow"),
        Constraint(SignalValue("pull"), upper=2.5, name="less"),
    )
    spline = Spline(3, 4, limits="everywhere")
    cost = Cost(SignalValue("pull", target=4.0))
    program = transcribe(
        problem(spline, signals=(signal,), constraints=bounds, costs=(cost, Cost(TotalTime())))
    )
    x = np.random.default_rng(1).normal(size=program.n)
    x[program.phases[0].T_column] = 0.7
    report = check_derivatives(program, x, step=1e-4)
    assert report.ok, str(report)
    (own,) = (c for c in program.phases[0].curves if c.channel == "signal:pull")
    control = x[own.columns]
    program.move(x)
    g = np.empty(program.m)
    program.constraints(g)
    named = dict(program.g_blocks())
    np.testing.assert_allclose(g[named["signal"]], control.ravel(), rtol=1e-14)
    np.testing.assert_allclose(g[named["less"]], control.ravel(), rtol=1e-14)
    rate = SciPySpline(own.spline.knots, control, 4).derivative().c[: len(control) - 1] / 0.7
    np.testing.assert_allclose(g[named["signal_rate"]], rate.ravel(), rtol=1e-11, atol=1e-11)


def excess(solution: predyn.Solution, kind: str, count: int = 20_001) -> float:
    """The largest excess relative to the limit, by SciPy; jumps are approached from one side."""
    order, worst = KINDS.index(kind), 0.0
    for k, curve in enumerate(solution.curves):
        spline = SciPySpline(curve.knots, curve.control, curve.degree)
        s = np.linspace(0.0, 1.0 - 1e-12, count)
        value = spline(s, nu=order) / curve.duration**order
        system = solution.system(k)
        limits = system.limits._asdict()
        if system.jerk_limit is not None:
            jerk = np.broadcast_to(system.jerk_limit, (solution.model.n,))
            limits["jerk"] = np.stack([-jerk, jerk], axis=1)
        low, high = limits[kind].T
        size = np.maximum(np.abs(low), np.abs(high))
        worst = max(worst, float((np.maximum(low - value, value - high) / size).max()))
    return worst


@pytest.mark.parametrize("seed", range(6))
def test_limits_hold_at_all_times(seed: int) -> None:
    rng = np.random.default_rng(seed)
    degree, segments = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    knots = ("clamped", "uniform", "free")[seed % 3]
    rough = problem(
        Spline(degree, segments, limit_points=1, knots=knots), costs=(Cost(TotalTime()),)
    )
    speed, slope = rng.uniform(1.0, 3.0, 2), rng.uniform(10.0, 40.0, 2)
    limits = rough.limits._replace(
        velocity=np.stack([-speed, speed], axis=1), acceleration=np.stack([-slope, slope], axis=1)
    )
    rough = replace(rough, limits=limits, jerk_limit=rng.uniform(500.0, 2000.0, 2))
    strict = replace(rough, transcription=replace(rough.transcription, limits="everywhere"))
    at_points, found = solve_once(rough, None), predyn.solve(strict)
    assert found.status in ("optimal", "acceptable", "exceeds_limits"), found.message
    for kind in KINDS:
        assert excess(found, kind) < 1e-7  # the solver relaxes bounds by 1e-8
    assert at_points.max_violation_dense > 1e-3  # otherwise nothing was tested
    if knots != "free":
        assert found.duration > at_points.duration - 1e-6  # it is stricter
    assert not [
        v for v in found.dense_violations if v.name.split()[0] in KINDS and v.relative > 1e-7
    ]


def test_hybrid_and_unknown_words_are_refused() -> None:
    swing = predyn.load_task("acrobot-swingup")
    options = replace(swing.transcription, limits="everywhere")
    (message,) = replace(swing, transcription=options).validate()
    assert "transcription.limits: method 'hybrid' integrates the passive joints" in message
    assert "expected 'points', got 'everywhere'" in message
    (message,) = problem(Spline(limits="evrywhere")).validate()
    assert "did you mean 'everywhere'?" in message


def test_task_files(tmp_path) -> None:
    text = predyn.tasks.path_of("two-link-time-optimal").read_text(encoding="utf-8")
    path = tmp_path / "task.toml"
    path.write_text(text.replace("[transcription]", '[transcription]\nlimits = "everywhere"'))
    assert predyn.load_task(path).transcription.limits == "everywhere"
    path.write_text(text.replace("[transcription]", '[transcription]\nlimits = "always"'))
    with pytest.raises(predyn.FileError, match=r"limits .* expected 'points' or 'everywhere'"):
        predyn.load_task(path)
