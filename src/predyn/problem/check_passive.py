"""What is wrong with joints that have no motor, and with what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.errors import PredynError, unknown_name
from predyn.problem.check_phases import Finding, Path, numbers
from predyn.samples import split_side
from predyn.terms.term import Term

if TYPE_CHECKING:
    from predyn.problem.problem import Hybrid, Phase, Problem

OFF_GRID = 1e-9  # how far a fraction may lie from the grid of steps


def passive_problems(problem: Problem) -> Iterator[Finding]:
    """The names of the passive joints."""
    names: Any = problem.passive
    valid = problem.model.joint_names
    if isinstance(names, str) or not isinstance(names, tuple | list):
        yield ("passive",), f"expected a list of joint names, got {names!r:.60}"
        return
    for k, name in enumerate(names):
        if not isinstance(name, str) or name not in valid:
            yield ("passive",), str(unknown_name("joint", name, valid))
        elif name in names[:k]:
            yield ("passive",), f"joint {name!r} is named twice"
    if set(valid) <= {name for name in names if isinstance(name, str)}:
        yield (
            ("passive",),
            f"no active joint: all {len(valid)} are passive, and nothing is left to choose; leave "
            "out those with a motor (predyn.simulate computes free motions)",
        )


def integration_problems(problem: Problem) -> Iterator[Finding]:
    """What the hybrid method cannot do for a problem whose options and joints are sound."""
    from predyn.problem.problem import Hybrid

    method = problem.transcription
    if not isinstance(method, Hybrid):
        return
    passive = [problem.model.joint_index(name) for name in problem.passive]
    yield from _single_shooting(problem, method, passive)
    yield from _jerk_limit(problem, passive)
    for where, phases, of in (
        ((), problem.phases, problem),
        *((("phases", k), (phase,), phase) for k, phase in enumerate(problem.phases)),
    ):
        for field in ("costs", "constraints"):
            entries = getattr(of, field)
            for k, entry in enumerate(entries if isinstance(entries, tuple | list) else ()):
                place: Path = (*where, field, k)
                yield from _jerk_term(problem, passive, getattr(entry, "term", None), place)
                yield from _on_grid(method, phases, getattr(entry, "at", None), place)


def _single_shooting(problem: Problem, method: Hybrid, passive: list[int]) -> Iterator[Finding]:
    if method.shooting != "single":
        return
    start = problem.phases[0].start
    for key in ("q", "v"):
        values = numbers(getattr(start, key, None))
        for j in passive:
            if values is None or (values.shape == (problem.model.n,) and np.isnan(values[j])):
                yield (
                    ("phases", 0, "start", key),
                    f"shooting = 'single' integrates from the start: give {key} of the passive "
                    f"joint {problem.model.joint_names[j]!r}, or use shooting = 'multiple'",
                )


def _jerk_limit(problem: Problem, passive: list[int]) -> Iterator[Finding]:
    jerk = None if problem.jerk_limit is None else numbers(problem.jerk_limit)
    if jerk is None or jerk.shape not in ((), (problem.model.n,)):
        return
    limited = np.isfinite(np.broadcast_to(jerk, (problem.model.n,)))
    for j in passive:
        if limited[j]:
            yield ("jerk_limit",), _no_jerk(problem.model.joint_names[j])


def _jerk_term(problem: Problem, passive: list[int], term: Any, where: Path) -> Iterator[Finding]:
    if not isinstance(term, Term):
        return
    try:
        entries = term.bind(problem.model).entries
    except PredynError:  # told with the entry itself
        return
    for j in sorted({j for _, name, j in entries if split_side(name)[1] == "jerk"} & {*passive}):
        yield (*where, "term"), _no_jerk(problem.model.joint_names[j])


def _no_jerk(joint: str) -> str:
    return (
        f"'jerk' of the passive joint {joint!r} needs a spline, and method 'hybrid' integrates "
        "that joint (q, v, a, tau): name the other joints, or use method 'spline'"
    )


def _on_grid(method: Hybrid, phases: tuple[Phase, ...], at: Any, where: Path) -> Iterator[Finding]:
    """Fractions must be where steps begin or end, in every phase that they hold in."""
    fractions = None if isinstance(at, str) else numbers(at)
    if fractions is None or fractions.ndim != 1:
        return
    for phase in phases:
        grid = step_grid(method, phase)
        away = np.abs(grid[:, None] - fractions).min(axis=0)
        for fraction in fractions[(away > OFF_GRID) & (fractions >= 0.0) & (fractions <= 1.0)]:
            near = grid[np.argsort(np.abs(grid - fraction), kind="stable")[:2]]
            yield (
                (*where, "fractions"),
                f"{fraction:g} is not where a step of the integration ends; the nearest are "
                f"{near.min():.9g} and {near.max():.9g}",
            )


def step_grid(method: Hybrid, phase: Phase) -> np.ndarray:
    """Normalised times at which the steps of a phase begin and end."""
    if isinstance(method.knots, str):
        segments = method.segments if phase.segments is None else phase.segments
        breaks = np.linspace(0.0, 1.0, segments + 1)
    else:
        breaks = np.asarray(method.knots, float)
    inner = np.arange(method.steps) / method.steps
    return np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * inner).ravel(), 1.0)
