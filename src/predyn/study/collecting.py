"""Numbers of a solved case: durations, peaks, channels at events, limits, sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predyn.errors import PredynError
from predyn.solution import Solution
from predyn.solution.evaluation import channel_at, phase_starts
from predyn.study.study import TEXT, Collect, Column

Floats = NDArray[np.float64]
Row = dict[str, float | str]
NOTE = ""  # a key that no column has: names are not empty


def collected_values(collect: Collect, columns: tuple[Column, ...], solution: Solution) -> Row:
    """A number or words for each column, in their order.

    Raises no error: what cannot be computed for this motion is NaN or "", and NOTE says why.
    """
    row: Row = {}
    notes: list[str] = []
    groups: tuple[Callable[[Collect, Solution], list[float | str]], ...] = (
        _durations, _costs, _parameters, _peaks, _channels, _bounds, _sensitivities, _gait, _lift,
    )  # fmt: skip
    sizes = sizes_of(collect)
    place = 0
    for group, size in zip(groups, sizes, strict=True):
        own = columns[place : place + size]
        place += size
        if not own:
            continue
        try:
            values = group(collect, solution)
        except (PredynError, ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            values = [missing(column) for column in own]
            notes.append(f"{own[0].name}: {error}")
        row.update(zip((column.name for column in own), values, strict=True))
    if notes:
        row[NOTE] = "; ".join(notes)
    return row


def sizes_of(collect: Collect) -> tuple[int, ...]:
    """Number of columns of each group, in the order of `collected_values`."""
    return (
        len(collect.durations),
        len(collect.costs),
        len(collect.parameters),
        len(collect.peaks),
        len(collect.channels),
        len(collect.bounds) + collect.active,
        2 * len(collect.sensitivities),
        len(collect.gait),
        len(collect.ergonomics),
    )


def missing(column: Column) -> float | str:
    """What a column holds where there is no value."""
    return "" if column.kind == TEXT else float("nan")


def _durations(collect: Collect, solution: Solution) -> list[float | str]:
    own = dict(zip(solution.phase_names, solution.curves, strict=True))
    return [
        solution.duration if not name else own[name].duration if name in own else np.nan
        for name in collect.durations
    ]


def _costs(collect: Collect, solution: Solution) -> list[float | str]:
    return [cost_of(solution.costs, name) for name in collect.costs]


def cost_of(costs: Mapping[str, float], name: str) -> float:
    """A cost of the whole motion; some solutions have a part of it for each phase."""
    if name in costs:
        return float(costs[name])
    parts = [value for key, value in costs.items() if key.endswith(f": {name}")]
    return float(sum(parts)) if parts else float("nan")


def _parameters(collect: Collect, solution: Solution) -> list[float | str]:
    return [float(solution.parameters.get(name, np.nan)) for name in collect.parameters]


def _peaks(collect: Collect, solution: Solution) -> list[float | str]:
    samples = {name: solution.channel(name) for name, _ in collect.peaks}
    return [_largest(samples[name][:, component]) for name, component in collect.peaks]


def _largest(values: Floats) -> float:
    """The largest magnitude; phases without the channel are NaN."""
    known = np.abs(values[np.isfinite(values)])
    return float(known.max()) if len(known) else float("nan")


def _channels(collect: Collect, solution: Solution) -> list[float | str]:
    return [
        _looked_at(solution, name, component, when) for name, component, when in collect.channels
    ]


def _looked_at(solution: Solution, name: str, component: int, when: tuple[Any, ...]) -> float:
    """A component of a channel at an event, or over the motion."""
    kind = when[0]
    if kind in STATISTICS:
        values = solution.channel(name)[:, component]
        known = np.isfinite(values)
        return STATISTICS[kind](solution.t[known], values[known]) if known.any() else float("nan")
    if kind == "time":
        if not 0.0 <= when[1] <= solution.duration:
            return float("nan")
        return float(solution.channel(name, float(when[1]))[component])
    # an end of a phase is looked at from inside it
    if when[1] not in solution.phase_names:
        return float("nan")
    k = solution.phase_names.index(when[1])
    time = phase_starts(solution)[k] + when[2] * solution.curves[k].duration
    return float(channel_at(solution, name, np.array([time]), np.array([k]))[0, component])


def _mean(t: Floats, values: Floats) -> float:
    if t[-1] <= t[0]:
        return float(values[0])
    return float(np.trapezoid(values, t) / (t[-1] - t[0]))


STATISTICS: dict[str, Callable[[Floats, Floats], float]] = {
    "min": lambda _, values: float(values.min()),
    "max": lambda _, values: float(values.max()),
    "mean": _mean,
    "rms": lambda t, values: float(np.sqrt(_mean(t, values**2))),
}


def _bounds(collect: Collect, solution: Solution) -> list[float | str]:
    names = list(dict.fromkeys(name.partition(" at ")[0] for name in solution.active))
    values: list[float | str] = ["; ".join(names)] if collect.active else []
    return values + [float(any(text in name for name in names)) for text in collect.bounds]


def _sensitivities(collect: Collect, solution: Solution) -> list[float | str]:
    from predyn.solving.kkt_sensitivities import sensitivities

    found = sensitivities(solution, list(collect.sensitivities))
    durations = found.duration.sum(axis=1)
    return [float(x) for pair in zip(found.objective, durations, strict=True) for x in pair]


def _gait(collect: Collect, solution: Solution) -> list[float | str]:
    from predyn.analysis.cycles import gait_cycles

    gait = gait_cycles(solution)
    peaks = {(f"{peak.curve} {peak.kind}", peak.side): peak.value for peak in gait.peaks()}
    values: list[float | str] = []
    for name, side in collect.gait:
        if name in gait.parameters:
            every = gait.parameters[name].side(side)
            values.append(float(every.mean()) if len(every) else float("nan"))
        else:
            values.append(float(peaks.get((name, side), np.nan)))
    return values


def _lift(collect: Collect, solution: Solution) -> list[float | str]:
    from predyn.analysis.lifting import lift_loads

    curves = lift_loads(solution).curves()
    return [float(curves[name][1].max()) for name in collect.ergonomics]
