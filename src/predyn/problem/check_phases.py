"""What is wrong with the phases of a problem: durations, boundary values, freedom left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.model import Limits, Model
from predyn.model.parts import LARGEST, Array

if TYPE_CHECKING:
    from predyn.problem.problem import Phase, Problem

Path = tuple[str | int, ...]
Finding = tuple[Path, str]

LIMIT = {"q": "position", "v": "velocity", "a": "acceleration"}
MOST_SEGMENTS = 100_000
SHORTEST, LONGEST = 1e-6, 1e9
SECONDS = "seconds above 0 (1e-6 to 1e9)"
ROUNDING = 1e-9  # how far, relative, a boundary value may lie outside a limit


def phase_problems(
    model: Model, limits: Limits, phase: Phase, where: Path, states: list[dict[str, Array]]
) -> Iterator[Finding]:
    longest, bad = _duration(phase.duration)
    yield from (((*where, *place), message) for place, message in bad)
    if phase.segments is not None and not whole(phase.segments, 1, MOST_SEGMENTS):
        yield (
            (*where, "segments"),
            f"expected a whole number from 1 to {MOST_SEGMENTS}, got {phase.segments!r:.60}",
        )
    yield from name_problems(phase.name, where)
    found: dict[str, Array] = {}
    for end in ("start", "end"):
        yield from _state(model, limits, getattr(phase, end), (*where, end), end, found)
    states.append(found)
    if bad:
        return
    distance = found["end.q"] - found["start.q"]
    speed = np.where(distance < 0.0, -limits.velocity[:, 0], limits.velocity[:, 1])
    for j in np.flatnonzero(np.abs(distance) > 0.0):  # NaN where an end is free
        needed = abs(distance[j]) / speed[j] if speed[j] > 0.0 else np.inf
        if needed > longest * (1.0 + ROUNDING):
            yield (
                (*where, "end", "q"),
                f"joint {model.joint_names[j]!r} cannot get there in time: {distance[j]:g} at no "
                f"more than {speed[j]:g} per second takes {needed:g} s, and {longest:g} s are "
                "allowed; allow more time, or a higher velocity",
            )


def _duration(given: Any) -> tuple[float, list[Finding]]:
    """The longest duration, and what is wrong with it."""
    from predyn.problem.problem import Duration

    if not isinstance(given, Duration):
        if not _seconds(given):
            return 0.0, [(("duration",), f"expected {SECONDS}, got {given!r:.60}")]
        return float(given), []
    wrong: list[Finding] = []
    for name in ("min", "max", "guess"):
        value = getattr(given, name)
        if not _seconds(value):
            wrong.append((("duration", name), f"expected {SECONDS}, got {value!r:.60}"))
    if not wrong and given.min > given.max:
        message = f"min {given.min:g} s is above max {given.max:g} s"
        wrong.append((("duration",), message))
    elif not wrong and not given.min <= given.guess <= given.max:
        message = f"expected {given.min:g} to {given.max:g} s (min, max), got {given.guess:g} s"
        wrong.append((("duration", "guess"), message))
    return float(given.max) if not wrong else 0.0, wrong


def _seconds(value: Any) -> bool:
    return finite(value) and SHORTEST <= value <= LONGEST


def _state(
    model: Model, limits: Limits, state: Any, where: Path, end: str, found: dict[str, Array]
) -> Iterator[Finding]:
    """Puts the values (n,) of q, v and a into `found`, NaN where they are free."""
    from predyn.problem.problem import State

    for key in LIMIT:
        found[f"{end}.{key}"] = np.full(model.n, np.nan)
    if not isinstance(state, State):
        yield where, f"expected a State, got {type(state).__name__}"
        return
    for key, kind in LIMIT.items():
        given = getattr(state, key)
        if given is None:
            continue
        values = numbers(given)
        place = (*where, key)
        if values is None or values.shape != (model.n,):
            got = f"{given!r:.60}" if values is None else f"shape {values.shape}"
            yield place, f"expected {model.n} numbers, one per joint (NaN: free), got {got}"
            continue
        if np.isinf(values).any():
            yield place, "holds infinity; leave it out, or give NaN, where it is free"
            continue
        if (np.abs(values) > LARGEST).any():
            yield place, f"expected numbers up to {LARGEST:g}, got {np.nanmax(np.abs(values)):g}"
            continue
        found[f"{end}.{key}"] = values
        lower, upper = getattr(limits, kind).T
        room = ROUNDING * (1.0 + np.abs(values))
        for j in np.flatnonzero((values < lower - room) | (values > upper + room)):
            yield (
                place,
                f"joint {model.joint_names[j]!r}: {values[j]:g} is outside its {kind} limits "
                f"{lower[j]:g} to {upper[j]:g}",
            )


def meeting_problems(
    model: Model, problem: Problem, states: list[dict[str, Array]]
) -> Iterator[Finding]:
    """Where the end of a phase and the start of the next one say different things."""
    if not whole(problem.continuity, 0):
        return
    for k in range(len(states) - 1):
        for key in tuple(LIMIT)[: problem.continuity + 1]:
            before, after = states[k][f"end.{key}"], states[k + 1][f"start.{key}"]
            for j in np.flatnonzero(np.abs(after - before) > ROUNDING * (1.0 + np.abs(before))):
                yield (
                    ("phases", k + 1, "start", key),
                    f"joint {model.joint_names[j]!r} starts at {after[j]:g}, but the phase before "
                    f"ends at {before[j]:g}; motions are continuous (continuity = "
                    f"{problem.continuity})",
                )


def freedom_problems(problem: Problem, states: list[dict[str, Array]]) -> Iterator[Finding]:
    """Whether the boundary values leave something to choose."""
    from predyn.problem.problem import Duration, Hybrid

    spline, model = problem.transcription, problem.model
    count = len(states)
    if not whole(problem.continuity, 0):
        return
    sizes = []
    for phase in problem.phases:
        segments = spline.segments if phase.segments is None else phase.segments
        if not isinstance(spline.knots, str):
            segments = len(spline.knots) - 1
        if not whole(segments, 1):
            return
        sizes.append(segments + spline.degree)
    controls = sum(sizes) - (problem.continuity + 1) * (count - 1)
    fixed = np.zeros(model.n, int)
    for k, found in enumerate(states):
        for order, key in enumerate(LIMIT):
            start, end = ~np.isnan(found[f"start.{key}"]), ~np.isnan(found[f"end.{key}"])
            if k > 0 and order <= problem.continuity:  # said once, by the phase before
                start &= np.isnan(states[k - 1][f"end.{key}"])
            fixed += start.astype(int) + end.astype(int)
    passive = np.isin(model.joint_names, problem.passive)
    curves = ~passive if isinstance(spline, Hybrid) else np.ones(model.n, bool)
    tied = curves & (fixed > controls)
    for j in np.flatnonzero(tied):
        yield (
            ("transcription", "segments"),
            f"joint {model.joint_names[j]!r}: {fixed[j]} boundary values for {controls} control "
            "points; use more segments, or leave boundary values free",
        )
    free_time = any(
        isinstance(p.duration, Duration)
        and not _duration(p.duration)[1]
        and p.duration.min < p.duration.max
        for p in problem.phases
    )
    open_start = np.isnan(states[0]["start.q"]) | np.isnan(states[0]["start.v"])
    chosen = np.where(passive, open_start, fixed < controls)
    if not free_time and not tied.any() and not chosen.any():
        every = "every active" if passive.any() else "every"
        yield (
            ("transcription", "segments"),
            f"no freedom left: the boundary values fix all {controls} control points of {every} "
            "joint and the duration is fixed; use more segments",
        )


def name_problems(name: Any, where: Path) -> Iterator[Finding]:
    """A name goes into tables and files."""
    if name is not None and (not isinstance(name, str) or "\0" in name):
        yield (*where, "name"), f"expected a text without NUL characters, got {name!r:.60}"


def whole(value: Any, least: int, most: int = 2**31) -> bool:
    """Whether it is a whole number from `least` to `most`."""
    is_whole = isinstance(value, int | np.integer) and type(value) is not bool
    return is_whole and least <= int(value) <= most


def finite(value: Any) -> bool:
    """Whether it is a finite number."""
    real = isinstance(value, int | float | np.integer | np.floating) and type(value) is not bool
    try:
        return real and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def numbers(value: Any) -> Array | None:
    """An array of real numbers, or None if it is none."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            return None
        return array.astype(float)
    except (TypeError, ValueError):
        return None


def spans(s: Array) -> bool:
    """Whether numbers rise from 0 to 1."""
    return bool(s[0] == 0.0 and s[-1] == 1.0 and (np.diff(s) > 0.0).all())
