"""Check passive joints, which have no motor, and the constraints on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import PredynError, unknown_name
from predyn.model import Model
from predyn.problem.check_phases import Finding, Path, numbers
from predyn.problem.check_systems import jerk_limit_in
from predyn.samples import split_side
from predyn.terms.term import Term

if TYPE_CHECKING:
    from predyn.problem.problem import Hybrid, Phase, Problem

Mask = NDArray[np.bool_]
LEAST_STEPS = 10  # per segment where they are chosen; larger numbers are multiples of it
OFF_GRID = 1e-9  # tolerance between a fraction and the grid of steps


def passive_problems(model: Model, names: Any, where: Path) -> Iterator[Finding]:
    """Errors in the names of the passive joints of a problem or a system."""
    valid = model.joint_names
    if isinstance(names, str) or not isinstance(names, tuple | list):
        yield where, f"expected a list of joint names, got {names!r:.60}"
        return
    for k, name in enumerate(names):
        if not isinstance(name, str) or name not in valid:
            yield where, str(unknown_name("joint", name, valid))
        elif name in names[:k]:
            yield where, f"joint {name!r} is named twice"
    if set(valid) <= {name for name in names if isinstance(name, str)}:
        yield (
            where,
            f"no active joint: all {len(valid)} are passive, which leaves no freedom; leave out "
            "those with a motor (predyn.simulate computes free motions)",
        )


def integration_problems(problem: Problem, passive: Sequence[Mask]) -> Iterator[Finding]:
    """Features that the hybrid method does not support, once options and joints are valid.

    passive: for each phase, which joints have no motor.
    """
    from predyn.problem.problem import Hybrid

    method = problem.transcription
    if not isinstance(method, Hybrid):
        return
    yield from _single_shooting(problem, method, passive[0])
    yield from _jerk_limits(problem, passive)
    every = range(len(problem.phases))
    for where, phases, of in (
        ((), every, problem),
        *((("phases", k), (k,), phase) for k, phase in enumerate(problem.phases)),
    ):
        integrated = np.any([passive[p] for p in phases], axis=0)
        for field in ("costs", "constraints"):
            entries = getattr(of, field)
            for k, entry in enumerate(entries if isinstance(entries, tuple | list) else ()):
                place: Path = (*where, field, k)
                term = getattr(entry, "term", None)
                yield from _term_problems(problem, integrated, term, (*place, "term"))
                at = getattr(entry, "at", None)
                yield from _on_grid(method, [problem.phases[p] for p in phases], at, place)


def _single_shooting(problem: Problem, method: Hybrid, passive: Mask) -> Iterator[Finding]:
    if method.shooting != "single":
        return
    start = problem.phases[0].start
    for key in ("q", "v"):
        values = numbers(getattr(start, key, None))
        for j in np.flatnonzero(passive):
            if values is None or (values.shape == (problem.model.n,) and np.isnan(values[j])):
                yield (
                    ("phases", 0, "start", key),
                    f"shooting = 'single' integrates from the start: give {key} of the passive "
                    f"joint {problem.model.joint_names[j]!r}, or use shooting = 'multiple'",
                )


def _jerk_limits(problem: Problem, passive: Sequence[Mask]) -> Iterator[Finding]:
    """Jerk limits on passive joints, of the problem and its systems, each reported once."""
    n, limited_joints = problem.model.n, set()
    for p, mask in enumerate(passive):
        where, given = jerk_limit_in(problem, p)
        jerk = None if given is None else numbers(given)
        if jerk is None or jerk.shape not in ((), (n,)):
            continue
        limited = np.isfinite(np.broadcast_to(jerk, (n,)))
        limited_joints |= {(where, j) for j in np.flatnonzero(limited & mask).tolist()}
    for where, j in sorted(limited_joints):
        yield where, _no_jerk(problem.model.joint_names[j])


def _term_problems(problem: Problem, integrated: Mask, term: Any, where: Path) -> Iterator[Finding]:
    if not isinstance(term, Term):
        return
    try:
        residual = term.bind(problem.model)
    except PredynError:  # reported with the entry itself
        return
    jerks = {j for _, name, j in residual.entries if split_side(name)[1] == "jerk"}
    for j in sorted(jerks & set(np.flatnonzero(integrated).tolist())):
        yield where, _no_jerk(problem.model.joint_names[j])
    if term.pairs and not residual.constant:
        yield (
            where,
            f"{term.kind!r} is not linear in the channels of its two instants, which method "
            "'hybrid' does not support; use method 'spline'",
        )


def _no_jerk(joint: str) -> str:
    return (
        f"'jerk' of the passive joint {joint!r} needs a spline, but method 'hybrid' integrates "
        "that joint (q, v, a, tau): name the other joints, or use method 'spline'"
    )


def _on_grid(method: Hybrid, phases: Sequence[Phase], at: Any, where: Path) -> Iterator[Finding]:
    """Check that fractions are at the ends of steps in all phases that they apply to."""
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
                f"{fraction:g} is not at the end of an integration step; the nearest are "
                f"{near.min():.9g} and {near.max():.9g}",
            )


def step_grid(method: Hybrid, phase: Phase) -> np.ndarray:
    """Normalised times at which the steps of a phase begin and end."""
    if isinstance(method.knots, str):
        segments = method.segments if phase.segments is None else phase.segments
        breaks = np.linspace(0.0, 1.0, segments + 1)
    else:
        breaks = np.asarray(method.knots, float)
    steps = LEAST_STEPS if method.steps is None else method.steps
    inner = np.arange(steps) / steps
    return np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * inner).ravel(), 1.0)
