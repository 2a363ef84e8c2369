"""Initial guesses of signals and parameters, from the problem or from a solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.curves.bspline import BSpline
from predyn.problem import Problem, Signal
from predyn.problem.offers import phase_name
from predyn.solution import Curve
from predyn.transcribe.layout import CurveLayout, per_component
from predyn.transcribe.motion import motion_of
from predyn.transcribe.program import Program

Floats = NDArray[np.float64]


def fill_unknowns(program: Program, x: Floats, chosen: Any) -> None:
    """Write the guesses of all signals and parameters to x."""
    solution = chosen if hasattr(chosen, "signal_curves") else None
    guesses = {x.name: float(x.guess) for x in program.problem.parameters}
    guesses |= getattr(solution, "parameters", {})
    for p, phase in enumerate(program.phases):
        for layout in phase.curves:
            free = layout.columns >= 0
            kind, name = layout.channel.split(":", 1)
            if kind == "parameter":
                values = np.full(layout.control.shape, guesses.get(name, 0.0))  # 0: lifted
            else:
                values = _signal(program.problem, layout, name, p, solution)
            if layout.bounded_by_points:
                values = np.clip(values, layout.lower, layout.upper)
            x[layout.columns[free]] = values[free]


def fill_lifts(program: Program, x: Floats) -> None:
    """Set lifted parameters to the values of the guess at their instants."""
    lifts = getattr(program, "lifts", ())
    if not lifts:
        return
    motion = motion_of(program, x)
    columns = {c.channel: int(c.columns[0, 0]) for c in program.phases[0].curves}
    for lift in lifts:
        names = tuple(name for name, _ in lift.components)
        samples = motion.samples(lift.first, np.zeros(1), names)
        for (name, k), parameter in zip(lift.components, lift.parameters, strict=True):
            x[columns[f"parameter:{parameter.name}"]] = samples[name][k, 0]


def _signal(problem: Problem, layout: CurveLayout, name: str, p: int, solution: Any) -> Floats:
    """Control points that fit the guess of a signal."""
    known = None if solution is None else solution.signal_curves.get(name)
    if known is not None and tuple(known.components) == layout.components:
        same = len(known.curves) == len(problem.phases)
        curve: Curve | None = known.curves[p] if same else None
        if curve is not None:
            s = np.clip(layout.spline.greville, 0.0, 1.0)
            spline = BSpline(curve.degree, curve.knots)
            if spline.degree == layout.spline.degree and np.array_equal(
                spline.knots, layout.spline.knots
            ):
                return curve.control
            values: Floats = spline.evaluate(curve.control, s, derivatives=0)[0]
            return values
    (signal,) = (x for x in problem.signals if x.name == name)
    guess: Any = signal.guess
    if isinstance(guess, Mapping):
        guess = guess[phase_name(problem, p)]
    return guess_values(signal, guess, np.clip(layout.spline.greville, 0.0, 1.0))


def guess_values(signal: Signal, guess: Any, s: Floats) -> Floats:
    """Values (instants, components) of a signal's guess in a phase."""
    m = len(signal.components)
    if isinstance(guess, tuple) and len(guess) == 2 and np.ndim(guess[0]) == 1:
        times, values = (np.asarray(x, float) for x in guess)
        if values.ndim == 2:
            return np.stack([np.interp(s, times, column) for column in values.T], axis=1)
    return np.broadcast_to(per_component(np.asarray(guess, float), m), (len(s), m)).copy()
