"""The section on verification: torques at passive joints, and the replay by simulation."""

from __future__ import annotations

from html import escape

import numpy as np

from predyn.model import PRISMATIC, Model
from predyn.solution import Solution
from predyn.solution.evaluation import passive_joints
from predyn.solution.verification import (
    DEGREES,
    FINISHED,
    PASSIVE_WARNING,
    ReplayNumbers,
    Verification,
)
from predyn.view.numbers import seconds, shown
from predyn.view.sheets import Spec, Times, chart, series, thinned
from predyn.view.tables import Card, table

MOST_NUMBERS = 8_000  # of the differences of all joints together; longer replays are thinned
FEWEST = 50  # points of a curve


def verification_data(solution: Solution, checks: Verification, times: Times) -> list[Spec]:
    """Charts of errors and of the replay over time."""
    charts = []
    model, joints, passive = solution.model, solution.model.joint_names, checks.passive
    if len(passive.t):
        for unit, slides in (("N m", False), ("N", True)):
            lines = [
                series(times, passive.t, passive.tau[:, k], name, model.joint_index(name))
                for k, name in enumerate(passive_joints(solution))
                if (model.kind[model.joint_index(name)] == PRISMATIC) == slides
            ]
            if lines:
                where = "passive joints" if checks.base is None else "the base"
                turning = "torque" if checks.base is None else "moment"
                what = "force" if slides else turning
                charts.append(chart(f"Error: {what} at {where}", unit, lines))
    run = checks.replay
    if run is None or len(run.t) < 2:
        return charts
    if run.restart is not None:
        return [*charts, *_windows_charts(model, run, times)]
    slides = model.kind == PRISMATIC
    kept = thinned(len(run.t), max(FEWEST, MOST_NUMBERS // (2 * model.n)))
    t = run.t[kept]
    for what, values, unit, chosen, factor in (
        ("angle", run.dq, "°", ~slides, DEGREES),
        ("position", run.dq, "m", slides, 1.0),
        ("angular velocity", run.dv, "°/s", ~slides, DEGREES),
        ("velocity", run.dv, "m/s", slides, 1.0),
    ):
        lines = [
            series(times, t, factor * np.abs(values[kept, j]), joints[j], j)
            for j in np.flatnonzero(chosen).tolist()
        ]
        if lines:
            title = f"Replay: difference in {what}"
            charts.append(chart(title, unit, lines, log=True))
    parts = [("energy gained", run.energy - run.energy[0]), ("work of torques", run.work_torques)]
    if np.any(run.work_friction):
        parts.append(("work of friction", run.work_friction))
    if np.any(run.work_forces):
        parts.append(("work of forces", run.work_forces))
    if np.any(run.energy_jumps):
        parts.append(("energy of jumps and loads", run.energy_jumps))
    lines = [series(times, run.t, values, name, k) for k, (name, values) in enumerate(parts)]
    charts.append(chart("Replay: balance of energy", "J", lines))
    return charts


def _windows_charts(model: Model, run: ReplayNumbers, times: Times) -> list[Spec]:
    """The largest difference of all joints over time, which restarts make a saw."""
    slides, charts = model.kind == PRISMATIC, []
    for what, unit, chosen, factor in (
        ("angle", "°", ~slides, DEGREES),
        ("position", "m", slides, 1.0),
    ):
        if chosen.any():
            largest = factor * np.abs(run.dq[:, chosen]).max(axis=1)
            line = series(times, run.t, largest, "largest of all joints", 0)
            charts.append(chart(f"Replay: difference in {what} since the restart", unit, [line]))
    return charts


def verification_html(solution: Solution, checks: Verification) -> str:
    """Text and tables of the section."""
    parts = [_passive(solution, checks)] if len(checks.passive.t) else []
    run = checks.replay
    if run is None:
        parts.append(f"<p>No replay: {escape(checks.no_replay)}.</p>")
        return "".join([*parts, _meaning(solution, checks)])
    driven = "torques" if checks.base is None else "torques and forces of the ground"
    windows = ""
    if run.restart is not None:
        windows = (
            f" It starts again from the predicted state every {seconds(run.restart)}: a body whose "
            "light feet are held by given forces alone is so unstable that a longer simulation "
            "would show how rounding grows, not how good the prediction is."
        )
    parts.append(
        "<p>An independent forward simulation (adaptive, tolerance 1e-10), driven by the predicted "
        f"{driven} without feedback, minus the prediction.{windows}</p>"
    )
    if run.status != FINISHED:
        parts.append(
            f'<div class="alarm" role="alert"><p><strong>The replay stopped early</strong> at '
            f"{seconds(float(run.t[-1]))}: {escape(run.message)}</p></div>"
        )
    parts += [_differences(solution.model, run), _balance(run), _meaning(solution, checks)]
    return "".join(parts)


def _meaning(solution: Solution, checks: Verification) -> str:
    """The cause of a large error, and what to do; empty if all errors are small."""
    words, ends_off = [], checks.ends_off(solution.model)
    if checks.passive_share > PASSIVE_WARNING:
        words.append(
            f"Torque at passive joints reaches {_percent(checks.passive_share)} of the motors' "
            "largest: between the points where it is zero the curves do not obey the equations of "
            "motion, and a machine will not move like this. Solve again with the method hybrid, "
            "using this solution as the guess; or with spline, degree 5 and many segments."
        )
        if ends_off:
            words.append("This is the main reason why the replay ends elsewhere.")
    if checks.base is not None:
        if checks.base.large:
            words.append(
                f"Force at the base reaches {_percent(checks.base.force_share)} of body weight, "
                f"moment {_percent(checks.base.moment_share)} of body weight times the height of "
                "the centre of mass: between their points, the equations of motion do not hold. "
                "Use more segments."
            )
        if ends_off:
            words.append("The replay drifts far from the prediction within a short time.")
    elif ends_off and checks.passive_share <= PASSIVE_WARNING:
        small = (
            f"Torque at passive joints is small ({_percent(checks.passive_share)} of the motors' "
            "largest), yet the"
            if passive_joints(solution)
            else "The"
        )
        words.append(
            f"{small} replay ends elsewhere: the motion is unstable and amplifies every "
            "difference. If more segments, or more steps of the method hybrid, bring the replay "
            "closer, the grid was too coarse; if not, the motion needs feedback control."
        )
    return f'<div class="message caution"><p>{escape(" ".join(words))}</p></div>' if words else ""


def _percent(share: float) -> str:
    return f"{shown(100.0 * share, 3)} %"


def _passive(solution: Solution, checks: Verification) -> str:
    """Largest torque error of each passive joint, next to the largest torque of the motors."""
    passive, rows = checks.passive, []
    for k, name in enumerate(passive_joints(solution)):
        unit = "N" if solution.model.kind[solution.model.joint_index(name)] == PRISMATIC else "N m"
        rows.append(
            (
                name,
                f"{shown(passive.largest[k], 3)} {unit}",
                f"{shown(passive.largest_t[k], 4)} s",
                f"{shown(passive.rms[k], 3)} {unit}",
            )
        )
    unit = "N" if solution.model.kind[checks.motor] == PRISMATIC else "N m"
    head = ("Passive joint", "Largest error", "At", "Root mean square")
    if checks.base is not None:
        base = checks.base
        return (
            "<p>The base has no motor: a force or moment that its curves require, beyond those of "
            "the ground, is an error of the curves. The largest force is "
            f"{shown(base.force, 3)} N, {_percent(base.force_share)} of body weight; the largest "
            f"moment {shown(base.moment, 3)} N m, {_percent(base.moment_share)} of body weight "
            "times the height of the centre of mass. For measured motions, 5 % and 1 % are "
            "considered good (Hicks et al. 2015).</p>" + table(head, rows, "tnnn")
        )
    return (
        "<p>Passive joints have no motor: the torque that their curves require is an error of the "
        f"curves, to be compared with the largest effort of a motor, {shown(checks.effort, 3)} "
        f"{unit} at {escape(solution.model.joint_names[checks.motor])}.</p>"
        + table(head, rows, "tnnn")
    )


def _differences(model: Model, run: ReplayNumbers) -> str:
    rows = []
    for j, name in enumerate(model.joint_names):
        slide = model.kind[j] == PRISMATIC
        factor, unit = (1.0, "m") if slide else (DEGREES, "°")
        cells = (
            (run.max_dq[j], unit),
            (abs(run.dq[-1, j]), unit),
            (run.max_dv[j], f"{unit}/s"),
            (abs(run.dv[-1, j]), f"{unit}/s"),
        )
        rows.append((name, *(f"{shown(factor * float(x), 3)} {of}" for x, of in cells)))
    if run.restart is not None:  # the last window ends as any other
        few = [(row[0], row[1], row[3]) for row in rows]
        return table(("Joint", "Position, largest", "Velocity, largest"), few, "tnn")
    head = ("Joint", "Position, largest", "At the end", "Velocity, largest", "At the end")
    return table(head, rows, "tnnnn")


def _balance(run: ReplayNumbers) -> str:
    jumps = ""
    if len(run.jumps):
        times = ", ".join(shown(t, 4) for t in run.jumps)
        jumps += f" The predicted state jumps at {times} s, and the simulated one with it."
    if len(run.load_changes):
        jumps += f" The load changes at {', '.join(shown(t, 4) for t in run.load_changes)} s."
    if run.restart is not None:
        jumps += " The simulated state jumps back to the prediction at each restart."
    if jumps:
        jumps += f" This adds {shown(float(run.energy_jumps[-1]), 5)} J, which is no imbalance."
    gained = float(run.energy[-1] - run.energy[0])
    return (
        "<p>Energy gained and work done should be equal: gained "
        f"{shown(gained, 5)} J; work of torques "
        f"{shown(float(run.work_torques[-1]), 5)} J, of friction "
        f"{shown(float(run.work_friction[-1]), 5)} J, of external forces "
        f"{shown(float(run.work_forces[-1]), 5)} J; largest imbalance "
        f"{shown(run.max_energy_error, 2)} J.{escape(jumps)}</p>"
    )


def verification_cards(solution: Solution, checks: Verification) -> list[Card]:
    """Key numbers: torque at passive joints, and how far the replay ends from the prediction."""
    cards = []
    if checks.base is not None:
        base = checks.base
        note = f"{_percent(base.force_share)} of body weight, between points; should be zero"
        cards.append(Card("Force at the base", f"{shown(base.force, 3)} N", note, base.large))
    elif passive_joints(solution):
        share = checks.passive_share
        note = "of the motors' largest; should be zero"
        warning = share > PASSIVE_WARNING
        cards.append(Card("Torque at passive joints", _percent(share), note, warning))
    return [*cards, _replay_card(solution.model, checks)]


def _replay_card(model: Model, checks: Verification) -> Card:
    title, run = "Replay error at the end", checks.replay
    if run is None:
        return Card(title, shown(float("nan")), "not replayed")
    if run.status != FINISHED:
        return Card(title, shown(float("nan")), f"stopped at {seconds(float(run.t[-1]))}", True)
    slides = model.kind == PRISMATIC
    ends, note = [], "the same torques, simulated"
    sizes = np.abs(run.dq[-1])
    if run.restart is not None:
        title, sizes = f"Replay error within {seconds(run.restart)}", run.max_dq
        note = "the same torques and forces, simulated"
    if not slides.all():
        ends.append(f"{shown(DEGREES * float(sizes[~slides].max()), 3)}°")
    if slides.any():
        ends.append(f"{shown(float(sizes[slides].max()), 3)} m")
    return Card(title, ", ".join(ends), note, checks.ends_off(model))
