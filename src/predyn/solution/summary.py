"""A solution in words: the summary for JSON, and the table that printing shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn import __version__
from predyn.model import PRISMATIC
from predyn.solution.evaluation import has_motor
from predyn.solution.parts import MOST_LISTED, SUCCESS, Floats, Violation
from predyn.solution.scene_summary import (
    certificate_rows,
    stage_table,
    summary_of_surroundings,
)

if TYPE_CHECKING:
    from predyn.solution.solution import Solution


def summary_of(solution: Solution) -> dict[str, Any]:
    """The result in numbers and words that JSON can hold; None where a number is not finite."""
    checks = solution.verification
    summary: dict[str, Any] = {
        "name": solution.name,
        "status": solution.status,
        "success": solution.success,
        "message": solution.message,
        "objective": solution.objective,
        "duration": solution.duration,
        "iterations": solution.iterations,
        "solve_seconds": solution.solve_seconds,
        "linear_algebra_share": linear_algebra_share(solution),
        "max_violation": solution.max_violation,
        "max_violation_dense": solution.max_violation_dense,
        "n_variables": solution.n_variables,
        "n_constraints": solution.n_constraints,
        "predyn_version": solution.provenance.get("predyn_version", __version__),
        "model": solution.model.name,
        "joints": list(solution.model.joint_names),
        "phases": _phases(solution),
        "parameters": {
            name: {"value": value, "unit": solution.parameter_units.get(name, "1")}
            for name, value in solution.parameters.items()
        },
        "signals": {
            name: {
                "unit": signal.unit,
                "largest": dict(zip(signal.components, largest_of(solution, name), strict=True)),
            }
            for name, signal in solution.signal_curves.items()
        },
        "costs": solution.costs,
        "unsmoothed": solution.unsmoothed,
        "widths": solution.widths,
        "active_limits": list(solution.active),
        "violations": [violation._asdict() for violation in solution.violations[:MOST_LISTED]],
        "dense_violations": [
            violation._asdict() for violation in solution.dense_violations[:MOST_LISTED]
        ],
        "verification": None if checks is None else checks.summary(solution.model),
        **summary_of_surroundings(solution),
        "starts": list(solution.starts),
        "timings": solution.timings,
    }
    plain: dict[str, Any] = _plain(summary)
    return plain


def _phases(solution: Solution) -> list[dict[str, Any]]:
    phases = []
    for k, (name, curve) in enumerate(zip(solution.phase_names, solution.curves, strict=True)):
        phase: dict[str, Any] = {"name": name, "duration": curve.duration}
        if solution.systems and solution.systems[k].payloads:
            loads = solution.systems[k].payloads
            phase["payloads"] = [{"link": load.link, "mass": load.mass} for load in loads]
        phases.append(phase)
    return phases


def largest_of(solution: Solution, name: str) -> list[float]:
    """The largest magnitude of each component of a signal, NaN if it is nowhere finite."""
    sizes = np.abs(solution.signals[name])
    known = np.where(np.isfinite(sizes), sizes, -1.0).max(axis=0, initial=-1.0)
    return [float(x) for x in np.where(known < 0.0, np.nan, known)]


def linear_algebra_share(solution: Solution) -> float:
    """Share of the solve that was not spent on evaluating the program; NaN if it is not known.

    Almost all of it is the factorisation of linear equations.
    """
    solve, evaluate = (solution.timings.get(x, math.nan) for x in ("solve", "evaluate"))
    return max(1.0 - evaluate / solve, 0.0) if solve > 0.0 else math.nan


def _share(solution: Solution) -> str:
    share = linear_algebra_share(solution)
    return "" if math.isnan(share) else f", {share:.0%} of it linear algebra"


def text_of(solution: Solution) -> str:
    """A short table: how it ended, what it cost, what moves how far."""
    message, status = solution.message, solution.status
    rows = [
        ("status", f"{status}: {message}" if message else status),
        ("objective", f"{solution.objective:.8g}"),
        *_cost_rows(solution),
        ("duration", f"{solution.duration:.6g} s{_durations(solution)}"),
        *_first(_parameter_rows(solution), "parameters"),
        *_first(_signal_rows(solution), "signals"),
        *_payload_rows(solution),
        (
            "iterations",
            f"{solution.iterations} in {solution.solve_seconds:.3g} s{_share(solution)}",
        ),
        ("size", f"{solution.n_variables} variables, {solution.n_constraints} constraints"),
        *_passive_rows(solution),
        ("worst violation", _worst(solution.max_violation, solution.violations)),
        ("worst between", _worst(solution.max_violation_dense, solution.dense_violations)),
        *certificate_rows(solution.certificate),
    ]
    if solution.starts:
        same = [s["objective"] for s in solution.starts if s["status"] in SUCCESS]
        best = min(same, default=math.nan)
        agree = sum(abs(x - best) <= 1e-6 * max(abs(best), 1e-12) for x in same)
        rows.append(
            ("starts", f"{len(solution.starts)}: {len(same)} converged, {agree} to {best:.8g}")
        )
    width = max(len(label) for label, _ in rows) + 2
    lines = (f"{label:<{width}}{text}" for label, text in rows)
    tables = (*_columns(stage_table(solution.stages)), *_joint_table(solution))
    return "\n".join([solution.name, *lines, *tables])


Rows = list[tuple[str, str]]


def _cost_rows(solution: Solution) -> Rows:
    """Each cost, with its exact integral where that differs; then exact bounded integrals.

    Costs of the same name in several phases are added up.
    """
    exact = over_phases(solution, solution.costs | _exact_costs(solution))
    rows = []
    for name, value in over_phases(solution, solution.costs).items():
        more = "" if exact[name] == value else f" as optimised, {exact[name]:.8g} exact"
        rows.append((f"  {name}", f"{value:.8g}{more}"))
    rest = [name for name in solution.unsmoothed if name not in solution.costs]
    return [*rows, *((name, f"{solution.unsmoothed[name]:.8g} exact") for name in rest)]


def _exact_costs(solution: Solution) -> dict[str, float]:
    return {name: x for name, x in solution.unsmoothed.items() if name in solution.costs}


def over_phases(solution: Solution, costs: Mapping[str, float]) -> dict[str, float]:
    """Costs of the same name in several phases, added up."""
    found: dict[str, float] = {}
    for name, value in costs.items():
        phase, colon, rest = name.partition(": ")
        key = rest if colon and phase in solution.phase_names else name
        found[key] = found.get(key, 0.0) + value
    return found


def _first(rows: Rows, what: str) -> Rows:
    more = len(rows) - MOST_LISTED
    return rows if more <= 0 else [*rows[:MOST_LISTED], ("", f"... and {more} more {what}")]


def _parameter_rows(solution: Solution) -> Rows:
    unit = solution.parameter_units
    return [
        (f"parameter {name}", with_unit(f"{value:.8g}", unit.get(name, "1")))
        for name, value in solution.parameters.items()
    ]


def _signal_rows(solution: Solution) -> Rows:
    rows = []
    for name, signal in solution.signal_curves.items():
        sizes = zip(signal.components, largest_of(solution, name), strict=True)
        largest = ", ".join(f"{component} {size:.4g}" for component, size in sizes)
        rows.append((f"signal {name}", with_unit(f"up to {largest}", signal.unit)))
    return rows


def _payload_rows(solution: Solution) -> Rows:
    carried = [
        f"{name}: {', '.join(f'{load.mass:.4g} kg at {load.link}' for load in system.payloads)}"
        for name, system in zip(solution.phase_names, solution.systems, strict=False)
        if system.payloads
    ]
    return [("payloads", "; ".join(carried))] if carried else []


def _passive_rows(solution: Solution) -> Rows:
    """Joints without a motor, with the phases where it is not so in all of them."""
    driven = has_motor(solution, np.arange(len(solution.curves)))
    names = []
    for joint, motors in zip(solution.model.joint_names, driven.T, strict=True):
        if not motors.any():
            names.append(joint)
        elif not motors.all():
            phases = [solution.phase_names[k] for k in np.flatnonzero(~motors)]
            names.append(f"{joint} (in {', '.join(phases)})")
    return [("passive", ", ".join(names))] if names else []


def with_unit(text: str, unit: str) -> str:
    """The unit behind the number; "1" stands for none."""
    return text if unit in ("", "1") else f"{text} {unit}"


def _durations(solution: Solution) -> str:
    if len(solution.curves) == 1:
        return ""
    pairs = zip(solution.phase_names, solution.curves, strict=True)
    return f" ({', '.join(f'{name} {curve.duration:.6g}' for name, curve in pairs)})"


def _joint_table(solution: Solution) -> list[str]:
    model, q, v = solution.model, solution.q, solution.v
    driven = has_motor(solution, solution.phase)
    effort: Floats = np.where(driven, np.abs(solution.tau), 0.0)
    header = ("joint", "least position", "largest", "largest speed", "largest effort")
    rows = []
    for j, name in list(enumerate(model.joint_names))[:MOST_LISTED]:
        length, force = ("m", "N") if model.kind[j] == PRISMATIC else ("rad", "N m")
        rows.append(
            (
                name,
                f"{q[:, j].min():.4g} {length}",
                f"{q[:, j].max():.4g} {length}",
                f"{np.abs(v[:, j]).max():.4g} {length}/s",
                f"{effort[:, j].max():.4g} {force}" if driven[:, j].any() else "passive",
            )
        )
    lines = _columns([header, *rows])
    if model.n > MOST_LISTED:
        lines.append(f"... and {model.n - MOST_LISTED} more joints")
    return lines


def violation_table(violations: Iterable[Violation]) -> list[str]:
    """Lines with name, excess, share of the bound, value, bounds and time, each in its unit."""
    header = ("  name", "excess", "relative", "value", "lower", "upper", "time [s]")
    return _columns(
        [
            header,
            *((f"  {v.name}", *(f"{x:.3g}" for x in v[1:6]), _time(v.time)) for v in violations),
        ]
    )


def _worst(relative: float, violations: tuple[Violation, ...]) -> str:
    if not violations or not relative > 0.0:
        return f"{relative:.2g} relative"
    worst = violations[0]
    time = "" if math.isnan(worst.time) else f" at {worst.time:.4g} s"
    return f"{relative:.2g} relative: {worst.name}{time}"


def _time(t: float) -> str:
    return "-" if math.isnan(t) else f"{t:.4g}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{x:<{w}}" if k == 0 else f"{x:>{w}}"
            for k, (x, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _plain(value: Any) -> Any:
    """The same in types that JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
