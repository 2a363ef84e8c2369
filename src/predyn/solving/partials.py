"""Partial derivatives of a program and of its motion in one number of its problem.

They are differences of programs built at neighbouring values, at the same x and y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, PredynError
from predyn.problem import Problem
from predyn.problem.task_quantities import number_unit, number_value, with_number
from predyn.solving.active_set import ActiveSet, evaluate
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import Motion, motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.unpack import sample_motion

Floats = NDArray[np.float64]
STEP = 6e-6  # relative; the errors of central differences are then about 1e-10
MOTION_STEP = 3e-5  # relative, along dx: the motion is linear in it, the torques nearly so
NEARLY_ZERO = 1e-300  # a boundary value of zero may be built in, this one is a number to change
FORMULAS = (  # steps and weights: central, or to one side where the other is impossible
    ((-1.0, 1.0), (-0.5, 0.5)),
    ((0.0, 1.0, 2.0), (-1.5, 2.0, -0.5)),
    ((0.0, -1.0, -2.0), (1.5, -2.0, 0.5)),
)


class Sampled(NamedTuple):
    """A motion at the samples of a solution, or a derivative of it."""

    duration: Floats  # (phases,)
    states: Floats  # (4, K, n): q, v, a, tau
    signals: dict[str, Floats]  # (K, components)
    free: dict[str, float]  # free parameters


def sample(program: Program, x: Floats) -> Floats:
    """All numbers of a motion in one vector, which `shaped` takes apart."""
    motion = motion_of(program, x)
    samples = sample_motion(motion)
    parts = [np.array([curve.duration for curve in motion.curves])]
    parts += [samples[name].ravel() for name in ("q", "v", "a", "tau")]
    parts += [values.ravel() for values in samples["signals"].values()]
    return np.concatenate([*parts, np.array(list(motion.parameters.values()), float)])


def shaped(vector: Floats, motion: Motion, n: int) -> Sampled:
    """The parts of a vector of `sample`, for the motion of a program with n joints."""
    phases, free = len(motion.curves), motion.parameters
    sizes = {name: len(signal.components) for name, signal in motion.signals.items()}
    values = vector[phases : len(vector) - len(free)]
    count = len(values) // (4 * n + sum(sizes.values()))
    signals, first = {}, 4 * n * count
    for name, size in sizes.items():
        signals[name] = values[first : first + size * count].reshape(count, size)
        first += size * count
    states = values[: 4 * n * count].reshape(4, count, n)
    return Sampled(
        vector[:phases],
        states,
        signals,
        dict(zip(free, vector[len(vector) - len(free) :].tolist(), strict=True)),
    )


def largest_of_kind(vector: Floats, motion: Motion, n: int) -> Floats:
    """The largest of all durations, of all positions and so on, at the place of each number."""
    result = np.abs(vector)
    parts = shaped(result, motion, n)  # views
    for part in (parts.duration, *parts.states, *parts.signals.values()):
        part[...] = np.nanmax(part, initial=0.0)
    return result


def sample_slope(optimum: ActiveSet, dx: Floats) -> Floats:
    """The derivative of the motion along a direction of the variables."""
    program, x = optimum.program, optimum.x
    h = MOTION_STEP / (float(np.abs(dx / program.x_scale).max(initial=0.0)) or 1.0)
    slope: Floats = (sample(program, x + h * dx) - sample(program, x - h * dx)) / (2.0 * h)
    return slope


class Partials:
    """Partial derivatives in one parameter at an optimum.

    gradient              of the gradient of the Lagrangian, (n,)
    f                     of the objective
    gap_lower, gap_upper  of rows and variables minus their bounds, (m + n,); 0 without a bound
    samples               of the motion, as a vector
    """

    def __init__(self, optimum: ActiveSet, name: str, texts: tuple[str, ...]) -> None:
        problem = optimum.program.problem
        value = number_value(problem, texts[0])
        self.name, self.unit = name, number_unit(problem, texts[0])
        self.value = 0.0 if value == NEARLY_ZERO else value
        self.size = max(abs(value), _least_size(problem, self.unit))
        h = STEP * self.size
        programs, weights = _neighbours(optimum.program, texts, value, h)
        points = [evaluate(program, optimum.x) for program in programs]
        weights = weights / h

        def slope(values: list[Floats]) -> Floats:
            """Differences from the first, so that constants give exactly zero."""
            with np.errstate(invalid="ignore"):  # infinite bounds
                found = np.tensordot(weights, np.stack(values) - values[0], 1)
            return np.where(np.isfinite(found), found, 0.0)

        self.f = float(slope([np.array(point.f) for point in points]))
        self.gradient = slope([point.gradient + point.C.T @ optimum.y for point in points])
        self.gap_lower = slope([point.c - point.lower for point in points])
        self.gap_upper = slope([point.c - point.upper for point in points])
        self.samples = slope([sample(program, optimum.x) for program in programs])


def _neighbours(
    program: Program, texts: tuple[str, ...], value: float, h: float
) -> tuple[list[Program], Floats]:
    """Programs at neighbouring values, and the weights of a derivative times h."""
    failures = []
    for steps, weights in FORMULAS:
        try:
            return [_changed(program, texts, value + h * step) for step in steps], np.array(weights)
        except PredynError as error:
            failures.append(error)
    raise InputError(
        f"{texts[0]!r}: sensitivities need problems with values next to {value:.9g}, which are "
        f"impossible: {failures[0]}"
    )


def _changed(program: Program, texts: tuple[str, ...], value: float) -> Program:
    problem = program.problem
    for text in texts:
        problem = with_number(problem, text, value)
    changed = transcribe(problem)
    if (changed.n, changed.m) != (program.n, program.m):
        raise InputError("other unknowns or constraints exist there")
    return changed


def _least_size(problem: Problem, unit: str) -> float:
    """The size of a change that matters, for values that are zero or nearly so."""
    model = problem.model
    length = max(float(np.linalg.norm(model.p, axis=1).max()), 1e-2)
    mass = model.mass
    sizes = {"m": length, "kg": mass, "kg m": mass * length, "kg m^2": mass * length**2}
    return sizes.get(unit, 1.0)
