"""What a notebook shows of a model, a problem or a result: words, numbers, scene and curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from html import escape
from typing import NamedTuple

import numpy as np

from predyn.estimate.result import Estimate
from predyn.model import KINDS, PRISMATIC, Limits, Model
from predyn.model.couplings import independent
from predyn.problem import Problem
from predyn.results.descriptions import problem_text
from predyn.simulation.trajectories import FINISHED, Trajectory
from predyn.solution import Solution
from predyn.view.curves import clock_data
from predyn.view.estimate_scene import MOST_FRAMES, MOST_POSES, RATE, estimate_scene, frame_times
from predyn.view.motions import stage_at
from predyn.view.numbers import rounded, seconds, shown, written_unit
from predyn.view.panels import Floats, Motion, Panel, default_names, in_degrees, panels_of
from predyn.view.scene import Overlay, scene_data
from predyn.view.sheets import FEW, FIRST, Spec, Times, chart, page_data, picker, series, thinned
from predyn.view.stage import Stage, frame_count, lay_out, set_stage
from predyn.view.systems import limit_range
from predyn.view.tables import table

MOST_POINTS = 600  # of a curve
MOST_JOINTS = 120  # in the table of a model
NOT_FINITE = "There is no motion to draw: it contains values that are not finite."
NO_DURATION = "There is no motion to draw: it ended where it started."


class Excerpt(NamedTuple):
    """Parts of the page; all but `sub` are HTML."""

    sub: str
    data: Spec
    words: str = ""  # beside the scene, in place of curves
    badge: str = ""
    facts: str = ""
    message: str = ""


@singledispatch
def excerpt_of(thing: object) -> Excerpt:
    raise TypeError(f"{type(thing).__name__} has no excerpt")


@excerpt_of.register
def _(model: Model) -> Excerpt:
    mass = model.mass
    sub = f"model, {model.n} joints, {shown(mass, 4)} kg"
    return Excerpt(sub, _still(model, neutral(model)), joint_table(model, model.limits))


@excerpt_of.register
def _(problem: Problem) -> Excerpt:
    errors = problem.validate()
    sub = f"problem, model {problem.model.name}"
    if errors:
        message = f'<div class="alarm"><p>This problem cannot be solved:</p>{_list(errors)}</div>'
        data = _still(problem.model, neutral(problem.model))
        words = joint_table(problem.model, problem.model.limits)
        badge = '<span class="badge bad">✗ invalid</span>'
        return Excerpt(sub, data, words, badge, message=message)
    lines = problem_text(problem).splitlines()[1:]
    postures = [
        _posture(problem.model, state.q)
        for state in (problem.phases[0].start, problem.phases[-1].end)
    ]
    data = _still(problem.model, *postures)
    joints = joint_table(problem.model, problem.limits or problem.model.limits)
    return Excerpt(sub, data, f"{_list(lines)}<h2>Joints</h2>{joints}")


@excerpt_of.register
def _(solution: Solution) -> Excerpt:
    facts = {
        "duration": seconds(solution.duration),
        "objective": shown(solution.objective, 6),
        "iterations": f"{solution.iterations} in {seconds(solution.solve_seconds)}",
        "worst violation": f"{shown(solution.max_violation_dense, 2)} of its limit",
    }
    sub = f"solution, model {solution.model.name}"
    times, charts, data = Times(), {}, None
    if solution.finite:
        charts = _charts(solution, times)
        scene = scene_data(set_stage(solution))
        data = _page(solution, times, charts, clock_data(solution), scene)
    badge, message = _status(solution.success, solution.status, solution.message)
    if data is None:
        message += f'<p class="message">{NOT_FINITE}</p>'
    data = data or page_data(times, {})
    return Excerpt(sub, data, badge=badge, facts=_line(facts), message=message)


@excerpt_of.register
def _(estimate: Estimate) -> Excerpt:
    step = float(estimate.t[1] - estimate.t[0])
    facts = {
        "samples": str(len(estimate.measurements.t)),
        "intervals": f"{len(estimate.t_tau)} of {seconds(step)}",
        "iterations": f"{estimate.iterations} in {seconds(estimate.solve_seconds)}",
    }
    times = Times()
    badge, message = _status(estimate.success, estimate.status, estimate.message)
    message += "".join(f'<p class="message caution">{escape(x)}</p>' for x in estimate.warnings)
    data = page_data(times, {})
    if np.isfinite(estimate.q).all() and np.isfinite(estimate.v).all():
        start, *_, end = frame_times(estimate).tolist()
        clock = {"start": start, "end": end, "phases": []}
        charts = _charts(estimate, times)
        data = _page(estimate, times, charts, clock, estimate_scene(estimate))
    else:
        message += f'<p class="message">{NOT_FINITE}</p>'
    sub = f"estimate of torques, model {estimate.model.name}"
    return Excerpt(sub, data, badge=badge, facts=_line(facts), message=message)


@excerpt_of.register
def _(trajectory: Trajectory) -> Excerpt:
    start, end = float(trajectory.t[0]), float(trajectory.t[-1])
    energy = trajectory.energy
    facts = {
        "time": f"{shown(start, 4)} to {shown(end, 4)} s",
        "instants": str(len(trajectory.t)),
        "energy": f"{shown(float(energy[0]), 5)} to {shown(float(energy[-1]), 5)} J",
    }
    times = Times()
    badge, message = _status(
        trajectory.status == FINISHED, trajectory.status, trajectory.message, "⚠"
    )
    data = page_data(times, {})
    finite = bool(np.isfinite(trajectory.q).all())
    if finite and end > start:
        least = frame_count(trajectory.model)
        most = max(least, min(MOST_FRAMES, MOST_POSES // trajectory.model.n))
        count = int(np.clip(np.ceil(RATE * (end - start)) + 1, least, most))
        scene = scene_data(stage_at(trajectory, np.linspace(start, end, count)))
        clock = {"start": start, "end": end, "phases": []}
        data = _page(trajectory, times, _charts(trajectory, times), clock, scene)
    else:
        message += f'<p class="message">{NO_DURATION if finite else NOT_FINITE}</p>'
    return Excerpt("simulated trajectory", data, badge=badge, facts=_line(facts), message=message)


def _line(facts: dict[str, str]) -> str:
    items = "".join(f"<span>{escape(name)} <b>{escape(x)}</b></span>" for name, x in facts.items())
    return f'<p class="facts">{items}</p>'


def _status(good: bool, status: str, message: str, mark: str = "✗") -> tuple[str, str]:
    """Badge and message."""
    text = f"{'✓' if good else mark} {status.replace('_', ' ')}"
    badge = f'<span class="badge {"good" if good else "bad"}">{escape(text)}</span>'
    return badge, f'<p class="message">{escape(message)}</p>' if message else ""


def _page(
    motion: Motion, times: Times, charts: dict[str, list[Spec]], clock: Spec, scene: Spec
) -> Spec:
    joints = motion.model.joint_names
    first = range(len(joints) if len(joints) <= FEW else FIRST)
    return page_data(times, charts, [picker("picker", ["charts"], joints, first)], clock, scene)


def _charts(motion: Motion, times: Times) -> dict[str, list[Spec]]:
    """Positions and efforts."""
    panels = [
        in_degrees(panel)
        for name in default_names(motion)
        for panel in panels_of(motion, name, None)
    ]
    index = {name: j for j, name in enumerate(motion.model.joint_names)}
    return {"charts": [panel_chart(panel, times, index) for panel in panels]}


def panel_chart(panel: Panel, times: Times, index: dict[str, int], most: int = MOST_POINTS) -> Spec:
    """A chart of at most so many points; index: numbers of joints by name."""
    rows = thinned(len(panel.t), most)
    lines = []
    for k, name in enumerate(panel.names):
        line = series(times, panel.t[rows], panel.values[rows, k], name, index[name])
        if panel.band is not None:
            line["band"] = [rounded(end[rows, k]) for end in panel.band]
        if panel.limits is not None and (panel.limits[:, k] == panel.limits[0, k]).all():
            line["limits"] = rounded(panel.limits[0, k])
        lines.append(line)
    return chart(panel.title, written_unit(panel.unit), lines)


def neutral(model: Model) -> Floats:
    """Zero, or the nearest position within the limits."""
    low, high = np.asarray(model.limits.position).T
    return np.clip(np.zeros(model.n), low, high)


def _posture(model: Model, q: object) -> Floats:
    """A state of a problem; what it leaves free is neutral."""
    given = np.broadcast_to(np.asarray(np.nan if q is None else q, float), model.n)
    return np.where(np.isfinite(given), given, neutral(model))


def _still(model: Model, q: Floats, end: Floats | None = None) -> Spec:
    """A scene without a clock; `end` is another posture, laid over it."""
    postures = np.stack([q, q if end is None else end])
    both = lay_out(model, np.array([0.0, 1.0]), postures)  # its view holds both
    over = [] if np.array_equal(*postures) else [Overlay("End", _held(both, 1))]
    return page_data(Times(), {}, scene=scene_data(_held(both, 0), over, "Start"))


def _held(stage: Stage, k: int) -> Stage:
    """A stage that stays in its frame k, without trails."""
    rows = [k] * len(stage.times)
    R, p, q = stage.R[:, rows], stage.p[:, rows], stage.q[rows]
    return replace(stage, R=R, p=p, q=q, ends=[], paths=[])


def joint_table(model: Model, limits: Limits) -> str:
    """Joints with kind, limits in people's units, and the masses that they move."""
    rows = []
    for j, at in enumerate(independent(model)[:MOST_JOINTS]):
        slide = model.kind[j] == PRISMATIC
        factor = 1.0 if slide else 180.0 / np.pi
        position, velocity = (
            limit_range(factor * np.asarray(pair)[j], f"{'m' if slide else '°'}{per}")
            for pair, per in ((limits.position, ""), (limits.velocity, "/s"))
        )
        effort = limit_range(np.asarray(limits.effort)[j], "N" if slide else "N m")
        link, mass = model.link_names[at], f"{shown(float(model.inertia[at, 0]), 4)} kg"
        kind = KINDS[model.kind[j]]
        rows.append((model.joint_names[j], kind, position, velocity, effort, link, mass))
    head = ("Joint", "Kind", "Position", "Velocity", "Effort", "Link", "Mass")
    more = f"<p>and {model.n - MOST_JOINTS} more</p>" if model.n > MOST_JOINTS else ""
    return table(head, rows, "wwnnnwn") + more


def _list(lines: list[str]) -> str:
    """Lines as a list; indented ones below the one before."""
    return f'<ul class="words">{"".join(_items(lines))}</ul>'


def _items(lines: list[str]) -> Iterator[str]:
    k = 0
    while k < len(lines):
        below = k + 1
        while below < len(lines) and lines[below].startswith("  "):
            below += 1
        inner = "".join(f"<li>{escape(line.strip())}</li>" for line in lines[k + 1 : below])
        yield f"<li>{escape(lines[k])}{f'<ul>{inner}</ul>' if inner else ''}</li>"
        k = below
