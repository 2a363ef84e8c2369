"""Check phases together: whether they join, and whether any freedom is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from predyn.model.parts import Array
from predyn.problem.check_phases import LIMIT, ROUNDING, Finding, finite, of_kind, whole
from predyn.problem.offers import exists_in, phase_name
from predyn.problem.unknowns import Parameter, Signal

if TYPE_CHECKING:
    from predyn.problem.problem import Phase, Problem

Mask = NDArray[np.bool_]


def meeting_problems(problem: Problem, states: list[dict[str, Array]]) -> Iterator[Finding]:
    """Differences between the end of each phase and the start of the next."""
    for k in range(len(states) - 1):
        for key in _continuous(problem, k):
            before, after = states[k][f"end.{key}"], states[k + 1][f"start.{key}"]
            for j in np.flatnonzero(np.abs(after - before) > ROUNDING * (1.0 + np.abs(before))):
                yield (
                    ("phases", k + 1, "start", key),
                    f"joint {problem.model.joint_names[j]!r} starts at {after[j]:g}, but the phase "
                    f"before ends at {before[j]:g}; motions are continuous (continuity = "
                    f"{problem.continuity})",
                )


def freedom_problems(
    problem: Problem, states: list[dict[str, Array]], passive: Sequence[Mask]
) -> Iterator[Finding]:
    """Report boundary values that leave no freedom; passive: passive joints of each phase."""
    sizes = _control_points(problem)
    if not all(whole(size, 1) for size in sizes):
        return
    whole_motion = list(_fixed_motion(problem, states, passive, sizes))
    yield from whole_motion or _fixed_phases(problem, states, passive, sizes)


def _fixed_phases(
    problem: Problem, states: list[dict[str, Array]], passive: Sequence[Mask], sizes: Sequence[int]
) -> Iterator[Finding]:
    """Phases without freedom, among several."""
    if len(states) == 1 or free_parameter(problem):
        return
    for k, found in enumerate(states):
        given = np.sum([~np.isnan(value) for value in found.values()], axis=0)
        if passive[k].any() or free_signal(problem, k) or _free_time(problem, problem.phases[k]):
            continue
        if (given >= sizes[k]).all():
            yield (
                ("phases", k),
                f"nothing is free in {phase_name(problem, k)!r}: the boundary values fix all "
                f"{sizes[k]} control points of every joint and the duration is fixed; use more "
                "segments, or leave boundary values free",
            )


def _fixed_motion(
    problem: Problem, states: list[dict[str, Array]], passive: Sequence[Mask], sizes: Sequence[int]
) -> Iterator[Finding]:
    """Joints with too many boundary values, or no freedom in the motion as a whole."""
    from predyn.problem.problem import Hybrid

    names = problem.model.joint_names
    shared = [len(_continuous(problem, k)) for k in range(len(states) - 1)]
    controls = sum(sizes) - sum(shared)
    fixed = np.zeros(len(names), int)
    for k, found in enumerate(states):
        for order, key in enumerate(LIMIT):
            start, end = ~np.isnan(found[f"start.{key}"]), ~np.isnan(found[f"end.{key}"])
            if k > 0 and order < shared[k - 1]:  # already counted in the phase before
                start &= np.isnan(states[k - 1][f"end.{key}"])
            fixed += start.astype(int) + end.astype(int)
    hybrid = isinstance(problem.transcription, Hybrid)
    tied = fixed > controls
    if hybrid:  # integrated joints have no control points
        tied &= ~np.any(passive, axis=0)
    for j in np.flatnonzero(tied):
        yield (
            ("transcription", "segments"),
            f"joint {names[j]!r}: {fixed[j]} boundary values for {controls} control "
            "points; use more segments, or leave boundary values free",
        )
    always = np.all(passive, axis=0)
    open_start = np.isnan(states[0]["start.q"]) | np.isnan(states[0]["start.v"])
    chosen = np.where(always, open_start, fixed < controls)
    free = any(_free_time(problem, phase) for phase in problem.phases)
    free |= any(free_signal(problem, k) for k in range(len(states))) or free_parameter(problem)
    if not free and not tied.any() and not chosen.any():
        every = "every active" if always.any() else "every"
        yield (
            ("transcription", "segments"),
            f"no freedom left: the boundary values fix all {controls} control points of {every} "
            "joint and the duration is fixed; use more segments",
        )


def free_signal(problem: Problem, k: int) -> bool:
    """Whether phase k has a signal with a component that is not fixed."""
    return any(
        exists_in(signal.phases, problem, k)
        and bool(np.any(np.less(np.asarray(signal.lower, float), np.asarray(signal.upper, float))))
        for signal in of_kind(problem.signals, Signal)
    )


def free_parameter(problem: Problem) -> bool:
    """Whether a parameter that is not a duration is not fixed."""
    durations = [phase.duration for phase in problem.phases]
    return any(
        parameter.name not in durations and bool(parameter.min < parameter.max)
        for parameter in of_kind(problem.parameters, Parameter)
    )


def _continuous(problem: Problem, k: int) -> tuple[str, ...]:
    """Which of q, v and a are the same at the end of phase k and the start of the next."""
    order = 0 if problem.phases[k + 1].impact else problem.continuity
    return tuple(LIMIT)[: order + 1]


def _control_points(problem: Problem) -> list[int]:
    """Number of control points per joint in each phase; 0 where the segments are not valid."""
    spline, sizes = problem.transcription, []
    for phase in problem.phases:
        segments = spline.segments if phase.segments is None else phase.segments
        if not isinstance(spline.knots, str):
            segments = len(spline.knots) - 1
        sizes.append(segments + spline.degree if whole(segments, 1) else 0)
    return sizes


def _free_time(problem: Problem, phase: Phase) -> bool:
    from predyn.problem.problem import Duration

    given: Duration | Parameter | float | str = phase.duration
    if isinstance(given, str):
        known = [x for x in of_kind(problem.parameters, Parameter) if x.name == given]
        given = known[0] if known else 0.0
    if not isinstance(given, Duration | Parameter):
        return False
    return finite(given.min) and finite(given.max) and given.min < given.max
