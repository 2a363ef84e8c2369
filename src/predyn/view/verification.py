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
                what = "force" if slides else "torque"
                charts.append(chart(f"Error: {what} at passive joints", unit, lines))
    run = checks.replay
    if run is None or len(run.t) < 2:
        return charts
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


def verification_html(solution: Solution, checks: Verification) -> str:
    """Text and tables of the section."""
    parts = [_passive(solution, checks)] if len(checks.passive.t) else []
    run = checks.replay
    if run is None:
        parts.append(f"<p>No replay: {escape(checks.no_replay)}.</p>")
        return "".join([*parts, _meaning(solution, checks)])
    parts.append(
        "<p>An independent forward simulation (adaptive, tolerance 1e-10), driven by the predicted "
        "torques without feedback, minus the prediction:</p>"
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
    elif ends_off:
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
    return (
        "<p>Passive joints have no motor: the torque that their curves require is an error of the "
        f"curves, to be compared with the largest effort of a motor, {shown(checks.effort, 3)} "
        f"{unit} at {escape(solution.model.joint_names[checks.motor])}.</p>"
        + table(("Passive joint", "Largest error", "At", "Root mean square"), rows, "tnnn")
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
    head = ("Joint", "Position, largest", "At the end", "Velocity, largest", "At the end")
    return table(head, rows, "tnnnn")


def _balance(run: ReplayNumbers) -> str:
    jumps = ""
    if len(run.jumps):
        times = ", ".join(shown(t, 4) for t in run.jumps)
        jumps += f" The predicted state jumps at {times} s, and the simulated one with it."
    if len(run.load_changes):
        jumps += f" The load changes at {', '.join(shown(t, 4) for t in run.load_changes)} s."
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
    if passive_joints(solution):
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
    ends = []
    if not slides.all():
        ends.append(f"{shown(DEGREES * float(np.abs(run.dq[-1, ~slides]).max()), 3)}°")
    if slides.any():
        ends.append(f"{shown(float(np.abs(run.dq[-1, slides]).max()), 3)} m")
    return Card(title, ", ".join(ends), "the same torques, simulated", checks.ends_off(model))
