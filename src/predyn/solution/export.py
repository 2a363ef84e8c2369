"""Solutions in files for other programs: tables (motion_tables.py), and formats for robots.

CSV files have the phase (from 0) too. Two rows share the time of a phase boundary, one of each
phase; in STO and MOT files, whose times increase strictly, the later phase stands there.

Efforts are what acts: zero at joints that are passive in the phase, whatever their curves need.
Signals stand in further columns, NaN in phases without them; parameters in the header of STO and
MOT files. Formats for robots have none of these; they contain the end of the motion at any rate.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError, unknown_name
from predyn.recordings.motion_tables import WRITERS, Column, Table
from predyn.solution.evaluation import has_motor
from predyn.solution.parts import ROUNDING, Floats
from predyn.solution.polynomials import format_polynomials
from predyn.solution.ros_message import format_message
from predyn.solution.solution import Solution
from predyn.solution.urscript import format_urscript, servo_rate
from predyn.storage.files import checked_path, write_text

MOST_ROWS = 10_000_000
MESSAGES = (".yaml", ".yml", ".json")
ROBOT_FORMATS = {  # and their suffixes
    "ros": MESSAGES,
    "ros-effort": MESSAGES,
    "urscript": (".script",),
    "polynomials": (".json",),
}
USUAL = {".yaml": "ros", ".yml": "ros", ".script": "urscript"}


def export_solution(
    solution: Solution,
    path: str | os.PathLike[str],
    rate: float | None = None,
    format: str | None = None,
) -> None:
    """Write the motion in a format for robots, or to a .csv, .sto or .mot table; .h5 saves.

    Tables have the instants of `solution.t`, or with `rate` (Hz) 0, 1 / rate, 2 / rate, ... s; the
    end of the motion is then among them only if it falls on one.
    """
    suffix = checked_path(path).suffix.lower()
    chosen = _format(path, suffix, format)
    if rate is not None and (suffix == ".h5" or chosen == "polynomials"):
        what = "an .h5 file" if suffix == ".h5" else "format 'polynomials'"
        raise InputError(f"rate: expected None for {path}: {what} holds the curves")
    if suffix == ".h5":
        solution.save(path)
    elif chosen is None:
        table = _stored(solution) if rate is None else _resampled(solution, rate)
        write_text(path, WRITERS[suffix](table))
    else:
        write_text(path, _robot_text(solution, suffix, rate, chosen))


def _format(path: str | os.PathLike[str], suffix: str, given: str | None) -> str | None:
    """The format for robots; None for tables and .h5 files, which the suffix chooses."""
    if given is None:
        if suffix == ".json":
            fits = [repr(name) for name, suffixes in ROBOT_FORMATS.items() if suffix in suffixes]
            raise InputError(f"format: expected {' or '.join(fits)} for {path}, got none")
        if suffix not in (*WRITERS, ".h5", *USUAL):
            raise unknown_name("suffix", suffix, (*WRITERS, ".h5", *USUAL, ".json"))
        return USUAL.get(suffix)
    if not isinstance(given, str) or given not in ROBOT_FORMATS:
        raise unknown_name("format", given, ROBOT_FORMATS)
    if suffix not in ROBOT_FORMATS[given]:
        endings = " or ".join(ROBOT_FORMATS[given])
        raise InputError(f"{path}: expected a file that ends in {endings} for format {given!r}")
    return given


def _robot_text(solution: Solution, suffix: str, rate: float | None, format: str) -> str:
    if format == "polynomials":
        names = solution.phase_names
        return format_polynomials(solution.name, solution.model, solution.curves, names, "time")
    if format == "urscript":
        rate = servo_rate(solution.model, rate)
        return format_urscript(_resampled(solution, rate, end=True), rate)
    if not solution.finite:
        raise InputError(f"{solution.name!r:.60} (status {solution.status!r}) has no motion")
    table = _stored(solution) if rate is None else _resampled(solution, rate, end=True)
    return format_message(table, suffix, effort=format == "ros-effort")


def _stored(solution: Solution) -> Table:
    motion = (solution.q, solution.v, solution.a, solution.tau)
    return _table(solution, solution.t, solution.phase, motion, solution.signals)


def instants(solution: Solution, rate: float | None) -> tuple[Floats, NDArray[np.int64]]:
    """Times (K,) of an export and the phase of each: those of the samples, or at a rate (Hz)."""
    if rate is None:
        return solution.t, solution.phase
    number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
    if not number or not 0.0 < rate < np.inf:
        raise InputError(f"rate: expected samples per second (Hz) above 0, got {rate!r:.60}")
    last = solution.duration * (1.0 + ROUNDING) * float(rate)
    if last >= MOST_ROWS:
        raise InputError(f"rate: {rate:g} Hz makes more than {MOST_ROWS} rows; choose a lower one")
    t = np.minimum(np.arange(int(last) + 1) / float(rate), solution.duration)
    return t, solution.phase_at(t)


def _resampled(solution: Solution, rate: float, *, end: bool = False) -> Table:
    """At a rate; with `end`, the end of the motion too, if it falls on no instant."""
    t, phase = instants(solution, rate)
    if end and t[-1] < solution.duration * (1.0 - ROUNDING):
        t, phase = np.append(t, solution.duration), np.append(phase, len(solution.curves) - 1)
    at = solution.at(t)
    signals = {name: solution.channel(f"signal:{name}", t) for name in solution.signal_curves}
    return _table(solution, t, phase, (at.q, at.v, at.a, at.tau), signals)


def _table(
    solution: Solution,
    t: Floats,
    phase: NDArray[np.int64],
    motion: tuple[Floats, Floats, Floats, Floats],
    signals: dict[str, Floats],
) -> Table:
    q, v, a, tau = motion
    columns = [
        Column(name, component, signal.unit, values)
        for name, signal in solution.signal_curves.items()
        for component, values in zip(signal.components, signals[name].T, strict=True)
    ]
    units = solution.parameter_units
    return Table(
        solution.name, solution.model, t, q, v, a, np.where(has_motor(solution, phase), tau, 0.0),
        more={"phase": phase.tolist()},
        signals=tuple(columns),
        parameters={n: (x, units.get(n, "1")) for n, x in solution.parameters.items()},
    )  # fmt: skip
