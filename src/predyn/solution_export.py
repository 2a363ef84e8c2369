"""Solutions as tables for other programs: CSV, and OpenSim's storage files STO and MOT.

CSV: one header line with units, then t, phase (from 0), and q, v, a, tau of every joint. Two rows
share the time of a phase boundary, one of each phase.

STO, MOT: OpenSim's header (inDegrees=no: radians and metres) and tab-separated columns. A .mot file
has `time` and one column per joint, named like the joint: the coordinates of a motion. A .sto file
has JOINT/value, JOINT/speed and JOINT/accel, as OpenSim names states, and JOINT_moment (JOINT_force
of a prismatic joint), as its inverse dynamics names efforts. Times increase strictly: at a phase
boundary the later phase stands. White space in joint names becomes "_".

Efforts are what acts: zero at passive joints, whatever their curves need.

Numbers are written so that reading gives back the same double.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from predyn.errors import InputError, unknown_name
from predyn.files import write_text
from predyn.model import PRISMATIC
from predyn.solution import ROUNDING, Floats, Solution

MOST_ROWS = 10_000_000


class Table(NamedTuple):
    """The motion at chosen instants; q, v, a, tau are (K, n)."""

    t: Floats
    phase: list[int]
    q: Floats
    v: Floats
    a: Floats
    tau: Floats  # zero at passive joints


def export_solution(
    solution: Solution, path: str | os.PathLike[str], rate: float | None = None
) -> None:
    """Write the motion to a .csv, .sto or .mot file, at the instants of `solution.t`.

    With `rate` (Hz), at 0, 1 / rate, 2 / rate, ... s instead; the end of the motion is among them
    only if it falls on one.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise unknown_name("suffix", suffix, WRITERS)
    table = _stored(solution) if rate is None else _resampled(solution, rate)
    write_text(path, WRITERS[suffix](solution, table))


def _stored(solution: Solution) -> Table:
    phase = [int(k) for k in solution.phase]
    tau = _acting(solution, solution.tau)
    return Table(solution.t, phase, solution.q, solution.v, solution.a, tau)


def _resampled(solution: Solution, rate: float) -> Table:
    number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
    if not number or not 0.0 < rate < np.inf:
        raise InputError(f"rate: expected samples per second (Hz) above 0, got {rate!r:.60}")
    last = solution.duration * (1.0 + ROUNDING) * float(rate)
    if last >= MOST_ROWS:
        raise InputError(f"rate: {rate:g} Hz makes more than {MOST_ROWS} rows; choose a lower one")
    t = np.minimum(np.arange(int(last) + 1) / float(rate), solution.duration)
    sample = solution.at(t)
    tau = _acting(solution, sample.tau)
    return Table(t, solution.phase_at(t).tolist(), sample.q, sample.v, sample.a, tau)


def _acting(solution: Solution, tau: Floats) -> Floats:
    """The efforts (K, n) of the motors: passive joints have none."""
    return np.where(np.isin(solution.model.joint_names, solution.passive), 0.0, tau)


def _csv(solution: Solution, table: Table) -> str:
    model = solution.model
    header = ["t [s]", "phase"]
    for name, suffix in (("q", ""), ("v", "/s"), ("a", "/s^2")):
        header += [
            f"{name}.{joint} [{'m' if kind == PRISMATIC else 'rad'}{suffix}]"
            for joint, kind in zip(model.joint_names, model.kind, strict=True)
        ]
    header += [
        f"tau.{joint} [{'N' if kind == PRISMATIC else 'N m'}]"
        for joint, kind in zip(model.joint_names, model.kind, strict=True)
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    numbers = np.hstack((table.q, table.v, table.a, table.tau)).tolist()
    for t, phase, row in zip(table.t.tolist(), table.phase, numbers, strict=True):
        writer.writerow([t, phase, *row])
    return buffer.getvalue()


def _mot(solution: Solution, table: Table) -> str:
    return _storage(solution, table.t, _labels(solution), table.q)


def _sto(solution: Solution, table: Table) -> str:
    joints = _labels(solution)
    labels = [f"{joint}/{what}" for what in ("value", "speed", "accel") for joint in joints]
    labels += [
        f"{joint}_{'force' if kind == PRISMATIC else 'moment'}"
        for joint, kind in zip(joints, solution.model.kind, strict=True)
    ]
    columns = np.hstack((table.q, table.v, table.a, table.tau))
    return _storage(solution, table.t, labels, columns)


def _labels(solution: Solution) -> list[str]:
    return ["_".join(name.split()) for name in solution.model.joint_names]


def _title(name: str) -> str:
    """A first line that OpenSim takes for a name: no setting, no row of numbers, no end mark."""
    title = " ".join(name.replace("=", " ").split())
    plain = title and not title[0].isdigit() and title != "endheader"
    return title if plain else f"motion {title}".rstrip()


def _storage(solution: Solution, t: Floats, labels: list[str], columns: Floats) -> str:
    labels = ["time", *labels]
    twice = [label for k, label in enumerate(labels) if label in labels[:k]]
    if twice:
        raise InputError(
            f"joint names: two columns of the file would be called {twice[0]!r}; "
            "rename the joint, or export to .csv"
        )
    kept = np.append(np.diff(t) > 0.0, True)
    rows = np.column_stack((t, columns))[kept].tolist()
    lines = [
        _title(solution.name),
        "version=1",
        f"nRows={len(rows)}",
        f"nColumns={len(labels)}",
        "inDegrees=no",
        "endheader",
        "\t".join(labels),
        *("\t".join(map(repr, row)) for row in rows),
    ]
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Solution, Table], str]] = {".csv": _csv, ".sto": _sto, ".mot": _mot}
