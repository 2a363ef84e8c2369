"""Derivatives of an optimum in numbers of its problem, from the optimality conditions.

At an optimum, F(x, y; p) = (gradient of the Lagrangian, active rows - their bounds) = 0, and so
(dx, dy)/dp solve the KKT system with the right-hand side -dF/dp (Fiacco 1983). The partials in p
are central differences of programs built at p - h and p + h, at the same x and y.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, PredynError
from predyn.problem import Parameter, Problem
from predyn.problem.task_quantities import number_unit, number_value, with_number
from predyn.solution import Solution
from predyn.solving.active_set import ActiveSet, Point, bounded_name, evaluate
from predyn.solving.sensitivity_table import Sensitivities
from predyn.solving.solved_problem import solved_program
from predyn.transcribe.guess import first_guess
from predyn.transcribe.methods import transcribe
from predyn.transcribe.motion import motion_of
from predyn.transcribe.program import Program
from predyn.transcribe.unpack import multipliers_of, sample_motion

Floats = NDArray[np.float64]
STEP = 6e-6  # relative; the errors of central differences are then about 1e-10
MOTION_STEP = 3e-5  # relative, along dx: the motion is linear in it, the torques nearly so
NEARLY_ZERO = 1e-300  # a boundary value of zero may be built in, this one is a number to change
FAR = 0.1  # largest change of a variable until the optimum, relative to its scale
UNMET = 1e-6  # relative change of dependent rows that counts as a contradiction
SEEN = 1e-7  # change of a sample along a free direction, relative to its largest, that counts
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
    solution.check()
    chosen = _checked_parameters(parameters)
    program = solved_program(solution, problem)
    _refuse_free(program.problem, chosen)
    base = program.problem
    for _, texts in chosen:
        for text in texts:
            if number_value(base, text) == 0.0:
                base = with_number(base, text, NEARLY_ZERO)
    program = transcribe(base) if base is not program.problem else program
    same = program.n == solution.n_variables
    x = solution.x if same else first_guess(program, solution)
    optimum = ActiveSet(program, x, multipliers_of(program, solution) if same else None)
    if optimum.moved > FAR:
        raise InputError(
            f"{solution.name!r}: the nearest optimum of the problem is elsewhere (a variable "
            f"differs by {optimum.moved:.2g} of its scale); give the problem that was solved, or "
            "solve it with a smaller tolerance"
        )
    changes = [_Change(optimum, *parameter) for parameter in chosen]
    return _assemble(solution, optimum, changes)


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


def _refuse_free(problem: Problem, chosen: list[tuple[str, tuple[str, ...]]]) -> None:
    for parameter in problem.parameters:
        for name, texts in chosen:
            if set(texts) & set(parameter.quantities):
                raise InputError(
                    f"{name!r}: parameter {parameter.name!r} stands for it, so the solve chooses "
                    "it; sensitivities are taken in numbers that are given"
                )


# -- one parameter ----------------------------------------------------------------------------


class _Sampled(NamedTuple):
    """What is differentiated besides the objective."""

    duration: Floats  # (phases,)
    states: Floats  # (4, K, n): q, v, a, tau
    free: Floats  # values of the free parameters


def _sampled(program: Program, x: Floats) -> _Sampled:
    motion = motion_of(program, x)
    samples = sample_motion(program, motion)
    return _Sampled(
        np.array([curve.duration for curve in motion.curves]),
        np.stack([samples[name] for name in ("q", "v", "a", "tau")]),
        np.array(list(motion.parameters.values()), float),
    )


def _slope(after: _Sampled, before: _Sampled, step: float) -> _Sampled:
    return _Sampled(*((b - a) / (2.0 * step) for a, b in zip(before, after, strict=True)))


class _Change:
    """Partial derivatives of the program in one parameter, at its optimum."""

    def __init__(self, optimum: ActiveSet, name: str, texts: tuple[str, ...]) -> None:
        problem = optimum.program.problem
        self.name = name
        self.value = number_value(problem, texts[0])
        self.unit = number_unit(problem, texts[0])
        h = STEP * max(abs(self.value), _least_size(problem, self.unit))
        self.value = 0.0 if self.value == NEARLY_ZERO else self.value
        sides = [_program_at(optimum.program, name, texts, self.value + d) for d in (-h, h)]
        before, after = (evaluate(side, optimum.x) for side in sides)
        lagrange = [side.gradient + side.C.T @ optimum.y for side in (before, after)]
        self.gradient = (lagrange[1] - lagrange[0]) / (2.0 * h)
        self.f = (after.f - before.f) / (2.0 * h)
        self.gap_lower, self.gap_upper = (
            _gap_slope(before, after, bound, h) for bound in ("lower", "upper")
        )  # of c - bound
        self.samples = _slope(_sampled(sides[1], optimum.x), _sampled(sides[0], optimum.x), h)


def _gap_slope(before: Point, after: Point, bound: str, h: float) -> Floats:
    with np.errstate(invalid="ignore"):  # infinite bounds
        slope = (after.c - getattr(after, bound) - (before.c - getattr(before, bound))) / (2.0 * h)
    return np.where(np.isfinite(slope), slope, 0.0)


def _program_at(program: Program, name: str, texts: tuple[str, ...], value: float) -> Program:
    try:
        problem = program.problem
        for text in texts:
            problem = with_number(problem, text, value)
        changed = transcribe(problem)
    except PredynError as error:
        raise InputError(
            f"{name!r}: sensitivities need problems on both sides of its value, and {value:.9g} "
            f"is impossible: {error}"
        ) from None
    if (changed.n, changed.m) != (program.n, program.m):
        raise InputError(
            f"{name!r}: other rows or unknowns exist if it changes from {value:.9g}, so the "
            "optimum has no derivative in it"
        )
    return changed


def _least_size(problem: Problem, unit: str) -> float:
    """The size of a change that matters, for values that are zero or nearly so."""
    model = problem.model
    length = max(float(np.linalg.norm(model.p, axis=1).max()), 1e-2)
    mass = float(model.inertia[:, 0].sum())
    sizes = {"m": length, "kg": mass, "kg m": mass * length, "kg m^2": mass * length**2}
    return sizes.get(unit, 1.0)


# -- all parameters ---------------------------------------------------------------------------


def _assemble(solution: Solution, optimum: ActiveSet, changes: list[_Change]) -> Sensitivities:
    rows, x = optimum.rows, optimum.x
    lower = np.stack([change.gap_lower for change in changes], axis=1)
    gap = np.where(optimum.at_lower[:, None], lower,
                   np.stack([change.gap_upper for change in changes], axis=1))  # fmt: skip
    r = -np.stack([change.gradient for change in changes], axis=1)
    dx, dy = optimum.solve(r, -gap[rows])
    objective = np.array([change.f for change in changes]) + optimum.y @ gap
    direct = np.array([change.f for change in changes]) + optimum.point.gradient @ dx
    messages = _contradictions(optimum, changes, dx, gap)
    samples = [_total(optimum, change, dx[:, k]) for k, change in enumerate(changes)]
    unknown = _undetermined(optimum)
    for k, change in enumerate(changes):
        scale = abs(objective[k]) + optimum.size / max(abs(change.value), 1e-12)
        if change.name in messages:
            objective[k] = np.nan
            samples[k] = _Sampled(*(np.full_like(part, np.nan) for part in samples[k]))
        elif abs(direct[k] - objective[k]) > CONSISTENT * scale:
            messages[change.name] = (
                f"{change.name}: two formulas for d objective/dp differ: {objective[k]:.9g} and "
                f"{direct[k]:.9g}; the derivatives of the motion are inaccurate"
            )
        for part, hidden in zip(samples[k], unknown, strict=True):
            part[hidden] = np.nan
    program, names = optimum.program, motion_of(optimum.program, x).parameters
    stacked = [np.stack(parts) for parts in zip(*samples, strict=True)]
    flat = np.abs(optimum.null_space.flat).max(axis=1, initial=0.0) > SEEN
    inequalities = rows[~optimum.equal[rows]]
    return Sensitivities(
        solution.name,
        tuple(change.name for change in changes),
        np.array([change.value for change in changes]),
        tuple(change.unit for change in changes),
        objective,
        *(solution.phase_names, stacked[0], solution.t),
        *(stacked[1][:, i] for i in range(4)),
        {name: stacked[2][:, i] for i, name in enumerate(names)},
        _range(optimum, changes, dx, dy, lower),
        tuple(bounded_name(program, int(i)) for i in inequalities),
        tuple(bounded_name(program, int(i)) for i in optimum.weak),
        tuple(program.x_name(int(i)) for i in np.flatnonzero(flat)),
        optimum.moved,
        "; ".join(messages.values()),
    )


def _contradictions(
    optimum: ActiveSet, changes: list[_Change], dx: Floats, gap: Floats
) -> dict[str, str]:
    """Messages for parameters that separate active rows which depend on each other."""
    rows, point = optimum.rows, optimum.point
    scale = optimum.program.x_scale
    lengths = np.linalg.norm(point.C[rows] * scale, axis=1)[:, None]
    left = point.C[rows] @ dx + gap[rows]
    size = lengths * np.abs(dx / scale[:, None]).max(axis=0) + np.abs(gap[rows])
    unmet = np.abs(left) > UNMET * size
    return {
        change.name: f"{change.name}: no derivative exists, because some active limits depend on "
        f"each other and cannot all stay active{optimum.listed(rows[unmet[:, k]], ': ')}"
        for k, change in enumerate(changes)
        if unmet[:, k].any()
    }


def _total(optimum: ActiveSet, change: _Change, dx: Floats) -> _Sampled:
    """d(motion)/dp: along dx, and directly."""
    along = _along(optimum, dx)
    return _Sampled(*(a + b for a, b in zip(along, change.samples, strict=True)))


def _along(optimum: ActiveSet, dx: Floats) -> _Sampled:
    """The derivative of the motion along a direction of the variables."""
    program, x = optimum.program, optimum.x
    h = MOTION_STEP / (float(np.abs(dx / program.x_scale).max()) or 1.0)
    return _slope(_sampled(program, x + h * dx), _sampled(program, x - h * dx), h)


def _undetermined(optimum: ActiveSet) -> tuple[NDArray[np.bool_], ...]:
    """Samples that change along directions in which the optimum is not unique."""
    program = optimum.program
    plain = _sampled(program, optimum.x)
    hidden = tuple(np.zeros(part.shape, bool) for part in plain)
    for direction in optimum.null_space.flat.T:
        for mask, part in zip(hidden, _along(optimum, direction * program.x_scale), strict=True):
            if part.size:
                axes = tuple(range(1, part.ndim)) if part.ndim == 3 else None
                most = np.abs(part).max(axis=axes, keepdims=True)
                mask |= np.abs(part) > SEEN * np.maximum(most, SEEN)
    return hidden


def _range(
    optimum: ActiveSet, changes: list[_Change], dx: Floats, dy: Floats, lower: Floats
) -> Floats:
    """(P, 2) values between which the active set stays, to first order."""
    point, result = optimum.point, np.empty((len(changes), 2))
    upper = np.stack([change.gap_upper for change in changes], axis=1)
    sure = np.zeros(len(optimum.y), bool)
    sure[optimum.rows[~optimum.null_space.related]] = True
    sure &= ~optimum.equal
    idle = ~optimum.is_active
    slopes = point.C @ dx
    for k, change in enumerate(changes):
        values = [point.c[idle] - point.lower[idle], point.upper[idle] - point.c[idle]]
        rates = [slopes[idle, k] + lower[idle, k], -slopes[idle, k] - upper[idle, k]]
        value = np.concatenate([*values, np.abs(optimum.y[sure])])
        rate = np.concatenate([*rates, np.sign(optimum.y[sure]) * dy[sure, k]])
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = -value / rate  # change of the parameter at which a slack or multiplier is zero
        zero = zero[np.isfinite(zero)]
        down = zero[zero < 0.0].max(initial=-np.inf)
        up = zero[zero >= 0.0].min(initial=np.inf)
        result[k] = change.value + np.array([down, up])
    return result
