"""Derivatives of an optimum in numbers of its problem, from the optimality conditions.

At an optimum, F(x, y; p) = (gradient of the Lagrangian, active rows - their bounds) = 0, and so
(dx, dy)/dp solve the KKT system with the right-hand side -dF/dp (Fiacco 1983). The partials in p
are those of partials.py.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.problem import Parameter, Problem
from predyn.problem.task_quantities import number_value, with_number
from predyn.solution import Solution
from predyn.solving.active_set import ActiveSet, find_optimum
from predyn.solving.partials import (
    NEARLY_ZERO,
    Partials,
    largest_of_kind,
    sample,
    sample_slope,
    shaped,
)
from predyn.solving.sensitivity_table import Sensitivities
from predyn.solving.solved_problem import solved_program
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import Motion, motion_of
from predyn.transcribe.unpack import multipliers_of

Floats = NDArray[np.float64]
FAR = 1e-3  # largest change of the objective until the optimum, relative to its size
UNMET = 1e-6  # relative change of dependent rows that counts as a contradiction
SEEN = 1e-5  # change of a sample along a free direction, relative to the largest, that counts
NAMED = 1e-2  # share in a free direction of unknowns that are named
ROUNDING = 1e-8  # of differences, if the parameter changes as much as it is large
CONSISTENT = 1e-6  # relative difference of the two formulas for d objective/dp


def sensitivities(
    solution: Solution, parameters: str | Parameter | Iterable[str | Parameter], *,
    problem: Problem | None = None,
) -> Sensitivities:  # fmt: skip
    """Derivatives of the objective, the durations, the motion and the torques in some numbers.

    solution    a success
    parameters  quantities such as "mass of link2", "stiffness of elbow", "end q of elbow",
                "effort limit of elbow", "duration of phase 1", "weight of effort", or Parameters
                that stand for quantities; the docs of Sensitivities say what the results mean
    problem     the problem that was solved; by default the one that the solution holds, or the
                task in its file

    Assumes that the active set stays: the limits that hold with equality keep holding, and no
    others are reached. Raises NotConverged if the solution is no minimum, or if it cannot be
    decided which limits are active.
    """
    for name, value, kind in (("solution", solution, Solution), ("problem", problem, Problem)):
        if not isinstance(value, kind) and (value is not None or name == "solution"):
            raise InputError(f"{name}: expected a {kind.__name__}, got {type(value).__name__}")
    solution.check()
    chosen = _checked_parameters(parameters)
    program = solved_program(solution, problem)
    _refuse_unclear(program.problem, chosen)
    base = _with_numbers_for_zeros(program.problem, chosen)
    program = transcribe(base) if base is not program.problem else program
    same = program.n == solution.n_variables
    x = solution.x if same else first_guess(program, solution)
    optimum = find_optimum(program, x, multipliers_of(program, solution) if same else None)
    if abs(optimum.point.f - solution.objective) > FAR * optimum.size:
        raise InputError(
            f"{solution.name!r}: the nearest optimum of the problem is {optimum.point.f:.9g}, not "
            f"{solution.objective:.9g}; give the problem that was solved, or solve it with a "
            "smaller tolerance"
        )
    moved = float(np.abs((optimum.x - x) / program.x_scale).max())
    return _assemble(solution, optimum, [Partials(optimum, *each) for each in chosen], moved)


def _checked_parameters(given: object) -> list[tuple[str, tuple[str, ...]]]:
    """Names of parameters, and the quantities that each stands for."""
    listed = [given] if isinstance(given, str | Parameter) else given
    if not isinstance(listed, Iterable) or isinstance(listed, dict):
        raise InputError(f"parameters: expected names of quantities, got {type(given).__name__}")
    chosen = []
    for parameter in listed:
        if isinstance(parameter, Parameter):
            if not parameter.quantities:
                raise InputError(
                    f"parameter {parameter.name!r}: expected a quantity that it stands for, got "
                    "none; name one, such as 'mass of link2'"
                )
            chosen.append((parameter.name, parameter.quantities))
        else:
            chosen.append((parameter, (parameter,)))
    names = [name for name, _ in chosen]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if not chosen or twice:
        got = f"{twice[0]!r} twice" if twice else "none"
        raise InputError(f"parameters: expected names of quantities, each once, got {got}")
    return chosen


def _refuse_unclear(problem: Problem, chosen: list[tuple[str, tuple[str, ...]]]) -> None:
    """Refuse numbers that the solve chooses, and parameters that stand for different numbers."""
    for name, texts in chosen:
        for parameter in problem.parameters:
            if set(texts) & set(parameter.quantities):
                raise InputError(
                    f"{name!r}: parameter {parameter.name!r} stands for it, so the solve chooses "
                    "it; sensitivities are taken in numbers that are given"
                )
        values = [number_value(problem, text) for text in texts]
        if not np.allclose(values, values[0], rtol=1e-9, atol=0.0):
            listed = ", ".join(f"{x} = {y:.6g}" for x, y in zip(texts, values, strict=True))
            raise InputError(
                f"{name!r}: expected quantities with the same value, got {listed}; name them one "
                "by one"
            )


def _with_numbers_for_zeros(problem: Problem, chosen: list[tuple[str, tuple[str, ...]]]) -> Problem:
    """The problem in which boundary values of zero are rows, as they are for other values."""
    for _, texts in chosen:
        for text in texts:
            if number_value(problem, text) == 0.0:
                problem = with_number(problem, text, NEARLY_ZERO)
    return problem


def _assemble(
    solution: Solution, optimum: ActiveSet, every: list[Partials], moved: float
) -> Sensitivities:
    rows, program = optimum.rows, optimum.program
    lower, upper = (
        np.stack([getattr(partials, name) for partials in every], axis=1)
        for name in ("gap_lower", "gap_upper")
    )
    gap = np.where(optimum.at_lower[:, None], lower, upper)
    dx, dy = optimum.solve(np.stack([partials.gradient for partials in every], axis=1), gap)
    objective = np.array([partials.f for partials in every]) + optimum.y @ gap
    messages = _inaccuracies(optimum, every, dx, objective)
    messages |= _contradictions(optimum, every, dx, gap)
    motion = motion_of(program, optimum.x)
    hidden = _undetermined(optimum, motion)
    samples = []
    for k, partials in enumerate(every):
        slope = partials.samples + sample_slope(optimum, dx[:, k])
        slope[hidden] = np.nan
        if partials.name in messages:
            objective[k] = slope[:] = np.nan
        samples.append(shaped(slope, motion, program.model.n))
    flat = np.abs(optimum.null_space.flat).max(axis=1, initial=0.0) > NAMED
    states = np.stack([x.states for x in samples])
    return Sensitivities(
        name=solution.name,
        parameters=tuple(partials.name for partials in every),
        values=np.array([partials.value for partials in every]),
        units=tuple(partials.unit for partials in every),
        objective=objective,
        phase_names=solution.phase_names,
        duration=np.stack([x.duration for x in samples]),
        t=solution.t,
        q=states[:, 0],
        v=states[:, 1],
        a=states[:, 2],
        tau=states[:, 3],
        signals={name: np.stack([x.signals[name] for x in samples]) for name in samples[0].signals},
        free={name: np.array([x.free[name] for x in samples]) for name in samples[0].free},
        interval=_interval(optimum, every, dx, dy),
        active=optimum.names(rows[~optimum.equal[rows]]),
        weak=optimum.names(optimum.weak),
        undetermined=tuple(program.x_name(int(i)) for i in np.flatnonzero(flat)),
        moved=moved,
        message="; ".join(messages.values()),
    )


def _contradictions(
    optimum: ActiveSet, every: list[Partials], dx: Floats, gap: Floats
) -> dict[str, str]:
    """Messages for parameters that separate active rows which depend on each other."""
    rows, C, scale = optimum.rows, optimum.point.C[optimum.rows], optimum.program.x_scale
    left = C @ dx + gap[rows]
    lengths = np.linalg.norm(C * scale, axis=1)[:, None]
    size = lengths * np.abs(dx / scale[:, None]).max(axis=0) + np.abs(gap[rows])
    rounding = np.outer(optimum.scale[rows], [ROUNDING / partials.size for partials in every])
    unmet = np.abs(left) > UNMET * size + rounding
    return {
        partials.name: f"{partials.name}: no derivative exists, because some active limits depend "
        "on each other and cannot all stay active: " + optimum.listed(rows[unmet[:, k]])
        for k, partials in enumerate(every)
        if unmet[:, k].any()
    }


def _inaccuracies(
    optimum: ActiveSet, every: list[Partials], dx: Floats, objective: Floats
) -> dict[str, str]:
    """Messages where the slope of the Lagrangian is not that of the objective along dx."""
    messages = {}
    for k, partials in enumerate(every):
        along_dx = partials.f + float(optimum.point.gradient @ dx[:, k])
        size = abs(partials.f) + float(np.abs(optimum.point.gradient) @ np.abs(dx[:, k]))
        if abs(along_dx - objective[k]) > CONSISTENT * (size + optimum.size / partials.size):
            messages[partials.name] = (
                f"{partials.name}: too inaccurate: two formulas for d objective/dp give "
                f"{objective[k]:.9g} and {along_dx:.9g}; the optimum is nearly not unique"
            )
    return messages


def _undetermined(optimum: ActiveSet, motion: Motion) -> NDArray[np.bool_]:
    """Which samples change along directions in which the optimum is not unique."""
    program = optimum.program
    hidden = np.zeros(len(sample(program, optimum.x)), bool)
    for direction in optimum.null_space.flat.T:
        slope = sample_slope(optimum, direction * program.x_scale)
        most = np.maximum(largest_of_kind(slope, motion, program.model.n), SEEN)
        hidden |= np.abs(slope) > SEEN * most
    return hidden


def _interval(optimum: ActiveSet, every: list[Partials], dx: Floats, dy: Floats) -> Floats:
    """(P, 2) values between which the active set stays, to first order."""
    point, result = optimum.point, np.empty((len(every), 2))
    held = np.zeros(len(optimum.y), bool)  # rows whose multiplier is unique
    held[optimum.rows[~optimum.null_space.related]] = True
    held &= ~optimum.equal
    idle = ~optimum.is_active
    idle[optimum.soft] = False
    slopes = (point.C @ dx)[idle]
    for k, partials in enumerate(every):
        values = [point.c[idle] - point.lower[idle], point.upper[idle] - point.c[idle]]
        rates = [slopes[:, k] + partials.gap_lower[idle], -slopes[:, k] - partials.gap_upper[idle]]
        value = np.concatenate([*values, np.abs(optimum.y[held])])
        rate = np.concatenate([*rates, np.sign(optimum.y[held]) * dy[held, k]])
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = -value / rate  # change of the parameter that makes a slack or multiplier zero
        zero = zero[np.isfinite(zero)]
        down = zero[zero < 0.0].max(initial=-np.inf)
        up = zero[zero >= 0.0].min(initial=np.inf)
        result[k] = partials.value + np.array([down, up])
    return result
