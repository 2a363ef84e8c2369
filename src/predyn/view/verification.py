"""How far a motion can be trusted: torques at passive joints, and the replay by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import PredynError
from predyn.model import PRISMATIC
from predyn.simulation.replaying import Replay, replay
from predyn.solution import Solution
from predyn.view.numbers import rounded, seconds, shown
from predyn.view.tables import Card, table

Floats = NDArray[np.float64]

MOST_POINTS = 600  # of a chart
PER_PIECE = 8  # instants in each polynomial piece at which passive torques are evaluated
MOST_INSTANTS = 20_000
SMALLEST = float(np.finfo(float).tiny)
MOST_STEPS = 10_000  # of the replay in a phase: some seconds
DEGREES = 180.0 / np.pi
PASSIVE_WARNING = 0.01  # of the motors' largest torque: more at a passive joint gives a warning
ANGLE_WARNING, LENGTH_WARNING = 5.0, 0.01  # degrees, m: so does a replay that ends farther off


@dataclass(frozen=True, eq=False)
class Verification:
    """The largest passive torques, and the replay or why there is none."""

    solution: Solution
    t: Floats  # (K,) instants of the passive torques
    passive: Floats  # (K, passive joints)
    motor: int  # the joint whose motor has the largest effort, ...
    effort: float  # ... and that effort
    replayed: Replay | None
    trouble: str

    @property
    def passive_share(self) -> float:
        """The largest torque at a passive joint over the largest of a motor."""
        if not self.passive.size:
            return 0.0
        return float(np.abs(self.passive).max()) / max(self.effort, SMALLEST)

    @property
    def ends_off(self) -> bool:
        """Whether the replay stopped, or ends far from the prediction."""
        run = self.replayed
        if run is None:
            return False
        farthest = np.where(run.model.kind == PRISMATIC, LENGTH_WARNING, ANGLE_WARNING / DEGREES)
        return run.status != "finished" or bool((np.abs(run.dq[-1]) > farthest).any())

    @property
    def warnings(self) -> list[str]:
        """Short reasons why the motion should not be used as it is."""
        warnings = []
        if self.passive_share > PASSIVE_WARNING:
            warnings.append("torque at passive joints")
        if self.ends_off:
            warnings.append("replay ends elsewhere")
        return warnings


def verified(solution: Solution) -> Verification:
    """The checks of a finite motion; a failed replay is reported, never raised."""
    checks = (solution, *_torques(solution))
    if not solution.success:
        return Verification(*checks, None, "only converged motions are replayed")
    try:
        return Verification(*checks, replay(solution, max_steps=MOST_STEPS), "")
    except (PredynError, ArithmeticError, ValueError) as error:
        return Verification(*checks, None, f"{type(error).__name__}: {error}")


def _torques(solution: Solution) -> tuple[Floats, Floats, int, float]:
    """Times (K,), torques (K, passive joints) that the curves need there, zero if exact, and the
    largest effort of a motor with its joint.
    """
    joints = [solution.model.joint_index(name) for name in solution.passive]
    if not joints:
        return np.zeros(0), np.zeros((0, 0)), *_largest_motor(solution.tau, joints)
    inside = (np.arange(PER_PIECE) + 0.5) / PER_PIECE
    times, start = [], 0.0
    for curve in solution.curves:
        breaks = np.unique(curve.knots[(curve.knots >= 0.0) & (curve.knots <= 1.0)])
        s = (breaks[:-1, None] + np.diff(breaks)[:, None] * inside).ravel()
        times.append(start + curve.duration * s)
        start += curve.duration
    t = np.concatenate(times)
    t = t[:: max(1, len(t) // MOST_INSTANTS)]
    tau = solution.at(t).tau
    return t, tau[:, joints], *_largest_motor(np.concatenate((tau, solution.tau)), joints)


def _largest_motor(tau: Floats, passive: list[int]) -> tuple[int, float]:
    sizes = np.abs(tau).max(axis=0)
    sizes[passive] = 0.0
    return int(sizes.argmax()), float(sizes.max())


def verification_data(checks: Verification) -> list[dict[str, Any]]:
    """Charts with a time axis of their own, for the page."""
    charts = []
    model, joints = checks.solution.model, checks.solution.model.joint_names
    if len(checks.t):
        t, torques = _largest(checks.t, checks.passive)
        for unit, slides in (("N m", False), ("N", True)):
            lines = [
                _line(model.joint_index(name), name, torques[:, k])
                for k, name in enumerate(checks.solution.passive)
                if (model.kind[model.joint_index(name)] == PRISMATIC) == slides
            ]
            if lines:
                what = "force" if slides else "torque"
                charts.append(_chart(f"Error: {what} at passive joints", unit, t, lines))
    run = checks.replayed
    if run is None or len(run.t) < 2:
        return charts
    few = np.unique(np.round(np.linspace(0, len(run.t) - 1, MOST_POINTS)).astype(np.int64))
    slides = model.kind == PRISMATIC
    for what, values, unit, chosen, factor in (
        ("angle", run.dq, "°", ~slides, DEGREES),
        ("position", run.dq, "m", slides, 1.0),
        ("angular velocity", run.dv, "°/s", ~slides, DEGREES),
        ("velocity", run.dv, "m/s", slides, 1.0),
    ):
        lines = [
            _line(j, joints[j], factor * np.abs(values[few, j]))
            for j in np.flatnonzero(chosen).tolist()
        ]
        if lines:
            title = f"Replay: difference in {what}"
            charts.append(_chart(title, unit, run.t[few], lines, log=True))
    parts = [("energy gained", run.energy - run.energy[0]), ("work of torques", run.work_torques)]
    if np.any(run.work_friction):
        parts.append(("work of friction", run.work_friction))
    if np.any(run.work_forces):
        parts.append(("work of forces", run.work_forces))
    lines = [_line(k, name, values[few]) for k, (name, values) in enumerate(parts)]
    charts.append(_chart("Replay: balance of energy", "J", run.t[few], lines))
    return charts


def _largest(t: Floats, values: Floats) -> tuple[Floats, Floats]:
    """At most MOST_POINTS instants: of those in between, the value of the largest size."""
    size = -(-len(t) // MOST_POINTS)
    if size < 2:
        return t, values
    groups = [slice(k, k + size) for k in range(0, len(t), size)]
    largest = [
        values[g][np.abs(values[g]).argmax(axis=0), np.arange(values.shape[1])] for g in groups
    ]
    return np.array([t[g].mean() for g in groups]), np.array(largest)


def _line(joint: int, name: str, values: Floats) -> dict[str, Any]:
    return {"joint": joint, "name": name, "y": rounded(values)}


def _chart(
    title: str, unit: str, t: Floats, series: list[dict[str, Any]], log: bool = False
) -> dict[str, Any]:
    return {"title": title, "unit": unit, "x": rounded(t, 6), "series": series, "log": log}


def verification_html(checks: Verification) -> str:
    """Text and tables of the section."""
    parts = [_passive(checks)] if len(checks.t) else []
    run = checks.replayed
    if run is None:
        parts.append(f"<p>No replay: {escape(checks.trouble)}.</p>")
        return "".join([*parts, _meaning(checks)])
    parts.append(
        "<p>An independent forward simulation (adaptive, tolerance 1e-10), driven by the predicted "
        "torques without feedback, minus the prediction:</p>"
    )
    if run.status != "finished":
        parts.append(
            f'<div class="alarm" role="alert"><p><strong>The replay stopped early</strong> at '
            f"{seconds(float(run.t[-1]))}: {escape(run.message)}</p></div>"
        )
    parts += [_differences(run), _balance(run), _meaning(checks)]
    return "".join(parts)


def _meaning(checks: Verification) -> str:
    """The cause of a large error, and what to do; empty if all errors are small."""
    words = []
    if checks.passive_share > PASSIVE_WARNING:
        words.append(
            f"Torque at passive joints reaches {_percent(checks.passive_share)} of the motors' "
            "largest: between the points where it is zero the curves do not obey the equations of "
            "motion, and a machine will not move like this. Solve again with the method hybrid, "
            "using this solution as the guess; or with spline, degree 5 and many segments."
        )
        if checks.ends_off:
            words.append("This is the main reason why the replay ends elsewhere.")
    elif checks.ends_off:
        small = (
            f"Torque at passive joints is small ({_percent(checks.passive_share)} of the motors' "
            "largest), yet the"
            if checks.solution.passive
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


def _passive(checks: Verification) -> str:
    """Largest torque error of each passive joint, next to the largest torque of the motors."""
    solution = checks.solution
    rows = []
    for k, name in enumerate(solution.passive):
        unit = "N" if solution.model.kind[solution.model.joint_index(name)] == PRISMATIC else "N m"
        size = np.abs(checks.passive[:, k])
        worst = int(size.argmax())
        rows.append(
            (
                name,
                f"{shown(size[worst], 3)} {unit}",
                f"{shown(checks.t[worst], 4)} s",
                f"{shown(float(np.sqrt(np.mean(size**2))), 3)} {unit}",
            )
        )
    unit = "N" if solution.model.kind[checks.motor] == PRISMATIC else "N m"
    return (
        "<p>Passive joints have no motor: the torque that their curves require is an error of the "
        f"curves, to be compared with the largest effort of a motor, {shown(checks.effort, 3)} "
        f"{unit} at {escape(solution.model.joint_names[checks.motor])}.</p>"
        + table(("Passive joint", "Largest error", "At", "Root mean square"), rows, "tnnn")
    )


def _differences(run: Replay) -> str:
    rows = []
    for j, name in enumerate(run.model.joint_names):
        slide = run.model.kind[j] == PRISMATIC
        factor, unit = (1.0, "m") if slide else (DEGREES, "°")
        cells = (
            (np.abs(run.dq[:, j]).max(), unit),
            (abs(run.dq[-1, j]), unit),
            (np.abs(run.dv[:, j]).max(), f"{unit}/s"),
            (abs(run.dv[-1, j]), f"{unit}/s"),
        )
        rows.append((name, *(f"{shown(factor * float(x), 3)} {of}" for x, of in cells)))
    head = ("Joint", "Position, largest", "At the end", "Velocity, largest", "At the end")
    return table(head, rows, "tnnnn")


def _balance(run: Replay) -> str:
    jumps = (
        f" The predicted state jumps at {', '.join(shown(t, 4) for t in run.jumps)} s, and the "
        "simulated one with it."
        if run.jumps
        else ""
    )
    gained = float(run.energy[-1] - run.energy[0])
    return (
        "<p>Energy gained and work done should be equal: gained "
        f"{shown(gained, 5)} J; work of torques "
        f"{shown(float(run.work_torques[-1]), 5)} J, of friction "
        f"{shown(float(run.work_friction[-1]), 5)} J, of external forces "
        f"{shown(float(run.work_forces[-1]), 5)} J; largest imbalance "
        f"{shown(run.max_energy_error, 2)} J.{escape(jumps)}</p>"
    )


def verification_cards(checks: Verification) -> list[Card]:
    """Key numbers: torque at passive joints, and how far the replay ends from the prediction."""
    cards = []
    if checks.passive.size:
        share = checks.passive_share
        note = "of the motors' largest; should be zero"
        warning = share > PASSIVE_WARNING
        cards.append(Card("Torque at passive joints", _percent(share), note, warning))
    return [*cards, _replay_card(checks)]


def _replay_card(checks: Verification) -> Card:
    title, run = "Replay error at the end", checks.replayed
    if run is None:
        return Card(title, shown(float("nan")), "not replayed")
    if run.status != "finished":
        return Card(title, shown(float("nan")), f"stopped at {seconds(float(run.t[-1]))}", True)
    slides = run.model.kind == PRISMATIC
    ends = []
    if not slides.all():
        ends.append(f"{shown(DEGREES * float(np.abs(run.dq[-1, ~slides]).max()), 3)}°")
    if slides.any():
        ends.append(f"{shown(float(np.abs(run.dq[-1, slides]).max()), 3)} m")
    return Card(title, ", ".join(ends), "the same torques, simulated", checks.ends_off)
