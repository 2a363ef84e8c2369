"""Read the table [collect] of a study: which columns its cases yield."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from predyn.config.findings import Findings
from predyn.config.joints import is_number
from predyn.errors import InputError, unknown_name
from predyn.problem import Problem
from predyn.problem.check_contacts import can_be_written_out
from predyn.problem.contact_program import written_out
from predyn.problem.offers import phase_names
from predyn.problem.problem import name_of
from predyn.problem.task_quantities import number_unit, number_value
from predyn.samples.registry import WRENCH
from predyn.solution.channel_names import ChannelInfo, described_channel
from predyn.study.collecting import STATISTICS
from predyn.study.study import TEXT, Collect, Column

KEYS = (
    "objective", "durations", "costs", "parameters", "peaks", "channels", "bounds",
    "sensitivities", "gait", "ergonomics",
)  # fmt: skip
MOST_COLUMNS = 1000
SIDES = ("left", "right")
LIMITS = [
    "position",
    "velocity",
    "acceleration",
    "jerk",
    "effort",
    "duration",
    "friction",
    "signal",
    "parameter",
]
GAIT = {
    "stride time": "s", "step time": "s", "cadence": "steps/min", "stance": "% of the cycle",
    "double support": "% of the cycle", "walking speed": "m/s", "stride length": "m",
    "step length": "m", "step width": "m", "mechanical cost of transport": "1",
}  # fmt: skip
CURVE_UNITS = {"angle": "deg", "moment": "N m/kg", "power": "W/kg", "force": "BW"}
ENDS = {"start": 0.0, "middle": 0.5, "end": 1.0}
LIFT = {
    "L5/S1 extension moment": "N m", "L5/S1 net compression": "N",
    "L5/S1 compression, estimate with muscles": "N", "hip extension moment, right": "N m",
    "hip extension moment, left": "N m", "knee extension moment, right": "N m",
    "knee extension moment, left": "N m", "vertical ground force, right": "N",
    "vertical ground force, left": "N", "vertical ground force": "N", "height of the box": "m",
}  # fmt: skip
Read = tuple[Any, list[Column]]


def read_collect(
    table: Any, problem: Problem, findings: Findings
) -> tuple[Collect, tuple[Column, ...]]:
    """What to collect, and its columns in the order of collecting.py; names are checked."""
    if not isinstance(table, dict):
        findings.add(("collect",), f"expected a table, got {table!r:.60}")
        return Collect(), ()
    for key in table.keys() - {*KEYS}:
        findings.unknown_key(("collect", key), KEYS)
    if can_be_written_out(problem):  # forces of the ground are signals then
        problem = written_out(problem)
    fields: dict[str, Any] = {}
    columns: list[Column] = []
    for key, read in READERS.items():
        given = table.get(key, False)
        if given is False or given == []:
            continue
        with findings.at(("collect", key)):
            fields[key], own = read(given, problem)
            columns += own
    if "objective" in table and not isinstance(table["objective"], bool):
        findings.add(("collect", "objective"), "expected true; every study has the objective")
    fields["active"], fields["bounds"] = fields.get("bounds", (False, ()))
    names = [column.name for column in columns]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        findings.add(
            ("collect",), f"two columns have the name {name!r}; remove one, or name a channel"
        )
    if len(columns) > MOST_COLUMNS:
        findings.add(("collect",), f"{len(columns)} columns; expected at most {MOST_COLUMNS}")
    return Collect(**fields), tuple(columns)


def _texts(given: Any, example: str) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and all(isinstance(x, str) for x in given):
        return given
    raise InputError(f"expected a list of names such as [{example!r}], got {given!r:.60}")


def _chosen(given: Any, known: list[str], what: str) -> list[str]:
    """All names for true, or those that are given."""
    if given is True:
        return known
    names = _texts(given, known[0] if known else "name")
    for name in names:
        if name not in known:
            raise unknown_name(what, name, known)
    return names


def _durations(given: Any, problem: Problem) -> Read:
    phases = list(phase_names(problem))
    names = ["", *(phases if len(phases) > 1 else [])] if given is True else []
    names = names or _chosen(given, phases, "phase")
    return tuple(names), [Column(f"duration {x}".strip(), "s") for x in names]


def _costs(given: Any, problem: Problem) -> Read:
    every = [*problem.costs, *(cost for phase in problem.phases for cost in phase.costs)]
    names = _chosen(given, list(dict.fromkeys(map(name_of, every))), "cost")
    return tuple(names), [Column(f"cost {name}") for name in names]


def _parameters(given: Any, problem: Problem) -> Read:
    units = {parameter.name: parameter.unit for parameter in problem.parameters}
    names = _chosen(given, list(units), "parameter of the task")
    return tuple(names), [Column(f"parameter {name}", _unit(units[name])) for name in names]


def own_channels(problem: Problem) -> dict[str, ChannelInfo]:
    """The channels that signals, parameters and forces of a problem add."""
    own = {}
    for signal in problem.signals:
        n = len(signal.components)
        own[f"signal:{signal.name}"] = ChannelInfo(tuple(signal.components), (signal.unit,) * n)
        own[f"rate:{signal.name}"] = ChannelInfo(
            tuple(signal.components), (f"{signal.unit}/s",) * n
        )
    for parameter in problem.parameters:
        own[f"parameter:{parameter.name}"] = ChannelInfo((parameter.name,), (parameter.unit,))
    model = problem.model
    for name in [*model.frame_names, *(point.name for point in model.contact_points)]:
        own[f"force:{name}"] = ChannelInfo(WRENCH, ("N m",) * 3 + ("N",) * 3)
    return own


def components_of(text: Any, problem: Problem) -> list[tuple[str, int, str, str]]:
    """Channel, number of the component, text and unit of "CHANNEL" or "CHANNEL.COMPONENT"."""
    if not isinstance(text, str):
        raise InputError(f"expected the name of a channel, got {text!r:.60}")
    own = own_channels(problem)
    dots = [k for k, letter in enumerate(text) if letter == "."]
    for cut in reversed([*dots, len(text)]):  # names may hold dots: the longest channel wins
        channel, component = text[:cut], text[cut + 1 :]
        try:
            info = described_channel(problem.model, channel, own)
        except InputError:
            if cut != (dots[0] if dots else len(text)):
                continue
            raise
        if not component:
            many = len(info.components) > 1
            return [
                (channel, k, f"{channel}.{name}" if many else channel, _unit(unit))
                for k, (name, unit) in enumerate(zip(*info, strict=True))
            ]
        if component not in info.components:
            raise unknown_name(f"component of {channel!r}", component, info.components)
        k = info.components.index(component)
        return [(channel, k, text, _unit(info.units[k]))]
    raise AssertionError


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _peaks(given: Any, problem: Problem) -> Read:
    parts = [x for text in _texts(given, "tau.joint") for x in components_of(text, problem)]
    return tuple((x[0], x[1]) for x in parts), [Column(f"peak {x[2]}", x[3]) for x in parts]


def _channels(given: Any, problem: Problem) -> Read:
    if not isinstance(given, list) or not all(isinstance(x, dict) for x in given):
        raise InputError(
            "expected a list of tables { channel = 'frame:tip.pz', at = 'end' }, got "
            f"{given!r:.60}"
        )
    chosen, columns = [], []
    for entry in given:
        for key in entry.keys() - {"channel", "at", "name"}:
            raise unknown_name("key", key, ("channel", "at", "name"))
        parts = components_of(entry.get("channel"), problem)
        when, words = _when(entry.get("at"), problem)
        for channel, k, text, unit in parts:
            chosen.append((channel, k, when))
            name = entry.get("name", f"{text} {words}")
            if not isinstance(name, str) or not name.strip():
                raise InputError(f"name: expected the name of a column, got {name!r:.60}")
            if "name" in entry and len(parts) > 1:
                name += text.removeprefix(channel)
            columns.append(Column(name, unit))
    return tuple(chosen), columns


def _when(at: Any, problem: Problem) -> tuple[tuple[Any, ...], str]:
    """An event as data, and in words."""
    phases = phase_names(problem)
    if isinstance(at, int | float) and not isinstance(at, bool):
        if not (is_number(at) and 0.0 <= at < float("inf")):
            raise InputError(f"at: expected seconds from 0, got {at!r:.60}")
        return ("time", float(at)), f"at {at:g} s"
    known = [*STATISTICS, "start", "end", *(f"{x}.{end}" for x in phases for end in ENDS)]
    if not isinstance(at, str) or at not in known:
        raise InputError(f"at: expected seconds, or an event: {unknown_name('event', at, known)}")
    if at in STATISTICS:
        return (at,), at
    phase, _, end = at.rpartition(".")
    phase = phase or (phases[0] if end == "start" else phases[-1])
    return ("phase", phase, ENDS[end]), f"at {at}"


def _bounds(given: Any, problem: Problem) -> Read:
    active = given is True
    names = [] if active else _texts(given, "effort elbow")
    known = _words_of_limits(problem)
    for name in names:
        for word in name.replace(":", " ").split():
            if word not in known and len(word) > 1 and not word.isdecimal():
                raise unknown_name(f"word in {name!r}: no limit has the name", word, known)
    columns = [Column("active limits", "", TEXT)] if active else []
    return (active, tuple(names)), columns + [Column(f"at bound: {name}") for name in names]


def _words_of_limits(problem: Problem) -> list[str]:
    """All words that names of limits and constraints are made of."""
    model = problem.model
    entries = list(problem.constraints)
    entries += [constraint for phase in problem.phases for constraint in phase.constraints]
    texts = [
        *LIMITS,
        *model.joint_names,
        *model.frame_names,
        *(point.name for point in model.contact_points),
        *map(name_of, entries),
        *phase_names(problem),
        *(signal.name for signal in problem.signals),
        *(parameter.name for parameter in problem.parameters),
        *(x for signal in problem.signals for x in signal.components),
    ]
    return list(dict.fromkeys(word for text in texts for word in text.split()))


def _sensitivities(given: Any, problem: Problem) -> Read:
    names = _texts(given, "mass of link2")
    columns = []
    for name in names:
        number_value(problem, name)  # raises for an unknown one
        unit = number_unit(problem, name)
        per = "s" if unit == "1" else f"s/({unit})" if " " in unit or "/" in unit else f"s/{unit}"
        columns += [Column(f"d objective / d {name}"), Column(f"d duration / d {name}", per)]
    return tuple(names), columns


def _gait(given: Any, problem: Problem) -> Read:
    names = list(GAIT) if given is True else _texts(given, "stride length")
    for name in names:
        curve, _, end = name.rpartition(" ")
        if name not in GAIT and not (curve and end in ("maximum", "minimum")):
            known = [*GAIT, "knee_angle maximum", "hip_moment minimum"]
            raise unknown_name("number of a gait", name, known)
    chosen = [(name, side) for name in names for side in SIDES]
    columns = [
        Column(f"gait {name} {side}", _unit(GAIT.get(name, _curve_unit(name))))
        for name, side in chosen
    ]
    return tuple(chosen), columns


def _curve_unit(name: str) -> str:
    return CURVE_UNITS.get(name.rpartition(" ")[0].rpartition("_")[2], "")


def _ergonomics(given: Any, problem: Problem) -> Read:
    names = _chosen(given, list(LIFT), "load of a lift")
    return tuple(names), [Column(f"largest {name}", LIFT[name]) for name in names]


READERS: dict[str, Callable[[Any, Problem], Read]] = {  # in the order of collecting.py
    "durations": _durations,
    "costs": _costs,
    "parameters": _parameters,
    "peaks": _peaks,
    "channels": _channels,
    "bounds": _bounds,
    "sensitivities": _sensitivities,
    "gait": _gait,
    "ergonomics": _ergonomics,
}
