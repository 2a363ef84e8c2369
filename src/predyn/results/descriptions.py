"""Text descriptions of models, tasks and recordings for a terminal."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from predyn.curves.profile import Profile
from predyn.kernels.forces import ExternalForce
from predyn.model import KINDS, PRISMATIC, Limits, Model
from predyn.model.couplings import independent
from predyn.model.loops import Loop
from predyn.problem import (
    Constraint,
    Cost,
    Dmoc,
    Duration,
    Hybrid,
    Phase,
    Problem,
    Signal,
    System,
    duration_of,
)
from predyn.problem.contact_program import without_motors
from predyn.problem.independent_loops import independent_loops
from predyn.problem.quantities import unit_of
from predyn.recordings.measurements import AXES, Measurements
from predyn.recordings.sampling import usual_interval
from predyn.results.contact_text import contact_lines, ground_lines, patch_lines
from predyn.results.scene_text import scene_lines

MOST = 120  # joints listed
RATES = {"q": "", "v": "/s", "a": "/s^2"}


def model_text(model: Model, limits: Limits | None = None) -> str:
    """Joints with masses and limits (the model's own unless given), frames, the loader's notes."""
    mass = model.mass
    lines = [
        f"model {model.name!r}: {model.n} joints, {mass:.6g} kg, "
        f"gravity {_vector(model.gravity)} m/s^2",
        *_table(_joint_rows(model, limits or model.limits)),
    ]
    if model.n > MOST:
        lines.append(f"  ... and {model.n - MOST} more joints")
    lines += [f"  {line}" for line in _followers(model)]
    if model.frames:
        lines.append(f"frames: {', '.join(frame.name for frame in model.frames[:MOST])}")
    lines += patch_lines(model)
    lines += [f"loop {x.name!r}: {_loop_text(x)}" for x in model.loops]
    lines += [f"note: {note}" for note in model.notes]
    return "\n".join(lines)


def recording_text(recording: Measurements) -> str:
    """Angles, markers and forces with their gaps and ranges, and what the reader assumed."""
    t = recording.t
    if len(t) > 1:
        rate = 1.0 / usual_interval(t)
        times = f"{len(t)} samples from {t[0]:g} to {t[-1]:g} s, {rate:.6g} per second"
    else:
        times = f"1 sample at {t[0]:g} s"
    lines = [f"recording {recording.source!r}: {times}"]
    rows: list[tuple[str, ...]] = [("name", "kind", "missing", "smallest", "largest")]
    for name, values in recording.angles.items():
        given = recording.units.get(name, "rad or m")
        unit, factor = ("deg", 180.0 / np.pi) if given == "rad" else (given, 1.0)
        rows.append((name, "joint", *_range(factor * values, unit)))
    for name, values in recording.markers.items():
        rows += [
            (f"{name}.{x}", "marker", *_range(v, "m")) for x, v in zip(AXES, values.T, strict=True)
        ]
    for name, force in recording.forces.items():
        for x, values in zip(AXES, force.force.T, strict=True):
            rows.append((f"{name}.{x}", "force", *_range(values, "N")))
    lines += _table(rows[: 1 + MOST])
    if len(rows) > 1 + MOST:
        lines.append(f"  ... and {len(rows) - 1 - MOST} more channels")
    lines += [f"note: {note}" for note in recording.notes]
    return "\n".join(lines)


def _range(values: np.ndarray, unit: str) -> tuple[str, str, str]:
    """Share of missing values, smallest and largest value."""
    present = values[np.isfinite(values)]
    if not len(present):
        return "all", "", ""
    missing = len(values) - len(present)
    share = f"{missing / len(values):.1%}" if missing else "none"
    return share, f"{present.min():.4g} {unit}", f"{present.max():.4g} {unit}"


def problem_text(problem: Problem) -> str:
    """Phases, unknowns, systems, costs, constraints and how they become numbers."""
    spline = problem.transcription
    lines = [f"task {problem.name!r}"]
    passive = (
        without_motors(problem)
        if any(phase.contacts for phase in problem.phases)
        else tuple(problem.passive)
    )
    if passive:
        lines.append(f"passive (no motor): {', '.join(passive)}")
    lines += ground_lines(problem)
    lines += scene_lines(problem)
    lines += [_signal_text(signal) for signal in problem.signals]
    for parameter in problem.parameters:
        unit = _unit(unit_of(problem, parameter))
        bounds = f"{parameter.min:g} to {parameter.max:g} {unit}".rstrip()
        of_model = f"; {', '.join(parameter.quantities)}" if parameter.quantities else ""
        lines.append(f"parameter {parameter.name!r}: {bounds}, guess {parameter.guess:g}{of_model}")
    for name, system in problem.systems.items():
        lines += _system_text(name, system)
    for k, phase in enumerate(problem.phases):
        lines += _phase_text(problem, k, phase)
    lines += _entries(problem)
    lines += [_force_text(force) for force in problem.forces]
    guess = problem.guess
    if not isinstance(guess, str):
        guess = "curve" if isinstance(guess, tuple | list) else type(guess).__name__
    method = f"spline of degree {spline.degree}"
    if isinstance(spline, Hybrid):
        method = (
            f"hybrid: {method}, passive joints by {spline.shooting} shooting in "
            f"{spline.steps or '10 or more'} RK4 steps per segment"
        )
    if isinstance(spline, Dmoc):
        lines += _loop_lines(problem)
        method = f"discrete mechanics of order {spline.order}"
        end = f"guess {guess}; tolerance {problem.solver.tolerance:g}"
        lines.append(f"{method}, limits at the nodes and within the steps; {end}")
        return "\n".join(lines)
    lines += _loop_lines(problem)
    where = f"at {spline.limit_points} points per segment"
    if spline.limits == "everywhere":
        where = f"everywhere (efforts {where})"
    lines.append(f"{method}, limits {where}; guess {guess}; tolerance {problem.solver.tolerance:g}")
    return "\n".join(lines)


def _phase_text(problem: Problem, k: int, phase: Phase) -> list[str]:
    spline = problem.transcription
    name = f" {phase.name!r}" if phase.name else ""
    segments = spline.segments if phase.segments is None else phase.segments
    duration = _duration(duration_of(problem, phase))
    if isinstance(phase.duration, str):
        duration = f"parameter {phase.duration!r}, {duration}"
    pieces = f"{segments} segments"
    if isinstance(spline, Dmoc):
        pieces = f"{spline.steps_of(phase.segments)} steps"
    lines = [f"phase {k + 1}{name}: {duration}, {pieces}"]
    if phase.loops is not None:
        lines.append(f"  closed loops: {', '.join(phase.loops) or 'none'}")
    if phase.system is not None:
        jump = ", picked up by an impact" if phase.impact else ""
        lines.append(f"  system {phase.system!r}{jump}")
    lines += [f"  {text}" for text in contact_lines(phase)]
    for end, state in (("start", phase.start), ("end", phase.end)):
        for key in ("q", "v", "a"):
            value = getattr(state, key)
            if value is not None:
                unit = _joint_unit(problem.model) + RATES[key]
                lines.append(f"  {end} {key} = {_vector(np.asarray(value, float))} {unit}")
    return lines + [f"  {text}" for text in _entries(phase)]


def _loop_lines(problem: Problem) -> list[str]:
    """Which equations of the loops are imposed."""
    lines = []
    for kept in independent_loops(problem):
        names = [x.removeprefix(f"{kept.loop.name} ") for x in kept.loop.equations]
        follow = [name for name in names if name not in kept.equations]
        rest = f"; {', '.join(follow)} follow from others" if follow else ""
        own = ", ".join(kept.equations) or "none"
        lines.append(f"loop {kept.loop.name!r} ({kept.loop.kind}): equations {own}{rest}")
    return lines


def _joint_unit(model: Model) -> str:
    """The unit of positions, in brackets if joints differ."""
    slides = [kind == PRISMATIC for kind in model.kind]
    return "(rad or m)" if any(slides) and not all(slides) else "m" if all(slides) else "rad"


def _signal_text(signal: Signal) -> str:
    m = len(signal.components)
    pairs = zip(*(np.broadcast_to(x, (m,)) for x in (signal.lower, signal.upper)), strict=True)
    parts = [
        f"{x} {low:g}" if low == high else f"{x} {_bounds(low, high)}"
        for x, (low, high) in zip(signal.components, pairs, strict=True)
    ]
    where = "all phases" if signal.phases is None else ", ".join(signal.phases)
    count = signal.segments if signal.knots is None else np.size(signal.knots) - 1
    pieces = "" if count is None else f", {count} segments"
    text = f"signal {signal.name!r}: {', '.join(parts)} {_unit(signal.unit)}".rstrip()
    return f"{text}; degree {signal.degree}{pieces}; {where}"


def _system_text(name: str, system: System) -> list[str]:
    """What is special about a system."""
    lines = [f"system {name!r}:"]
    for load in system.payloads:
        point = _vector(np.asarray(load.point, float))
        lines.append(f"  carries {load.mass:g} kg on {load.link!r} at {point}")
    if system.forces is not None:
        lines += [f"  {_force_text(force)}" for force in system.forces] or ["  no forces"]
    if system.passive is not None:
        lines.append(f"  passive (no motor): {', '.join(system.passive) or 'none'}")
    if system.limits is not None or system.jerk_limit is not None:
        lines.append("  limits of its own")
    return lines


def _force_text(force: ExternalForce) -> str:
    return (
        f"force on {force.link!r} at {_vector(np.asarray(force.point))}: "
        f"{_push(force.force)} N, {_push(force.moment)} N m, {force.frame} axes"
    )


def _push(value: object) -> str:
    if isinstance(value, str):
        return f"signal {value!r}"
    if isinstance(value, Profile):
        ends = np.asarray(value.times, float)[[0, -1]]
        unit = " s" if value.over == "time" else " of the phase"
        return f"curve from {ends[0]:g} to {ends[1]:g}{unit}, in"
    return _vector(np.asarray(value))


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _followers(model: Model) -> list[str]:
    """What each joint follows that has no coordinate of its own."""
    lines = []
    for coupling in model.couplings[:MOST]:
        line = coupling.function.line
        how = "by a curve" if line is None else f"= {line[0]:g} * {coupling.source} + {line[1]:g}"
        lines.append(f"{coupling.joint} follows {coupling.source} {how}")
    return lines


def _loop_text(loop: Loop) -> str:
    length = "" if loop.distance is None else f" of {loop.distance:g} m"
    count = len(loop.equations)
    equations = "1 equation" if count == 1 else f"{count} equations"
    return f"{loop.kind}{length}, {loop.frame_a} to {loop.frame_b}, {equations}"


def _joint_rows(model: Model, limits: Limits) -> list[tuple[str, ...]]:
    header = ("  joint", "kind", "link", "mass [kg]", "position", "velocity", "effort")
    rows: list[tuple[str, ...]] = [header]
    for j, link in enumerate(independent(model)[:MOST]):
        units = ("m", "m/s", "N") if model.kind[j] == PRISMATIC else ("rad", "rad/s", "N m")
        pairs = (limits.position[j], limits.velocity[j], limits.effort[j])
        rows.append(
            (
                f"  {model.joint_names[j]}",
                KINDS[model.kind[j]],
                model.link_names[link],
                f"{model.inertia[link, 0]:.6g}",
                *(_bounds(low, high, x) for (low, high), x in zip(pairs, units, strict=True)),
            )
        )
    return rows


def _bounds(lower: float, upper: float, unit: str = "") -> str:
    if np.isneginf(lower) and np.isposinf(upper):
        return "free"
    text = f"±{upper:g}" if lower == -upper else f"{lower:g} .. {upper:g}"
    return f"{text} {unit}".rstrip()


def _duration(duration: float | Duration) -> str:
    if isinstance(duration, Duration):
        return f"{duration.min:g} to {duration.max:g} s, guess {duration.guess:g} s"
    return f"{duration:g} s"


def _entries(of: Phase | Problem) -> list[str]:
    return [*map(_entry, of.costs), *map(_entry, of.constraints)]


def _entry(entry: Cost | Constraint) -> str:
    """One cost or constraint, what differs from the defaults."""
    term: Any = entry.term
    settings = [
        f"{f.name}={_plain(getattr(term, f.name))!r:.60}"
        for f in dataclasses.fields(term)
        if getattr(term, f.name) is not f.default
        and not (isinstance(f.default, str | float) and getattr(term, f.name) == f.default)
    ]
    at = entry.at if isinstance(entry.at, str) else f"fractions {list(entry.at)!r:.60}"
    if term.pairs:
        at = "from start to end"
    elif isinstance(entry, Constraint) and entry.over == "motion":
        at = "over the whole motion"
    what = f"{term.kind}({', '.join(settings)})"
    if isinstance(entry, Cost):
        return f"cost {entry.weight:g} * {what}, {at}"
    if entry.lower is None and entry.upper is None:
        return f"constraint {what}, {at}"
    lower = "-inf" if entry.lower is None else _vector(np.asarray(entry.lower, float))
    upper = "inf" if entry.upper is None else _vector(np.asarray(entry.upper, float))
    kind = "integral of " if entry.integral else ""
    if entry.over == "motion":
        at = "over the whole motion"
    return f"constraint {lower} <= {kind}{what} <= {upper}, {at}"


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, whose text is shorter."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value


def _vector(values: np.ndarray) -> str:
    if values.ndim == 0:
        return f"{float(values):g}"
    shown = ", ".join("free" if np.isnan(x) else f"{x:g}" for x in values.ravel()[:12])
    return f"({shown}{', ...' if values.size > 12 else ''})"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
