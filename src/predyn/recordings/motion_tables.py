"""Motions as tables for other programs: CSV, and OpenSim's storage files STO and MOT.

CSV: one header line with units, then t and q, v, a, tau of every joint; after these the signals, as
signal.NAME.COMPONENT.

STO, MOT: OpenSim's header (inDegrees=no: radians and metres) and tab-separated columns. A .mot file
has `time` and one column per joint, named like the joint: the coordinates of a motion. A .sto file
has JOINT/value, JOINT/speed and JOINT/accel, as OpenSim names states, and JOINT_moment (JOINT_force
for a prismatic joint), as its inverse dynamics names efforts. In both, signals follow as
NAME/COMPONENT, and the header has a line `parameter NAME [unit]=VALUE` for each parameter. If rows
have the same time, the last one is written. White space in names becomes "_".

Numbers are written so that reading them gives the same doubles.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import PRISMATIC, Model

Floats = NDArray[np.float64]


class Column(NamedTuple):
    """One component of a signal (K,)."""

    name: str
    component: str
    unit: str
    values: Floats


class Table(NamedTuple):
    """A motion at chosen instants; q, v, a, tau are (K, n)."""

    name: str
    model: Model
    t: Floats
    q: Floats
    v: Floats
    a: Floats
    tau: Floats  # applied
    more: Mapping[str, list[int]] = {}  # further columns of CSV files, after t
    signals: tuple[Column, ...] = ()
    parameters: Mapping[str, tuple[float, str]] = {}  # value and unit


def format_csv(table: Table) -> str:
    model = table.model
    header = ["t [s]", *table.more]
    for name, suffix in (("q", ""), ("v", "/s"), ("a", "/s^2")):
        header += [
            f"{name}.{joint} [{'m' if kind == PRISMATIC else 'rad'}{suffix}]"
            for joint, kind in zip(model.joint_names, model.kind, strict=True)
        ]
    header += [
        f"tau.{joint} [{'N' if kind == PRISMATIC else 'N m'}]"
        for joint, kind in zip(model.joint_names, model.kind, strict=True)
    ]
    header += [f"signal.{x.name}.{x.component} [{x.unit}]" for x in table.signals]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    signals = [x.values for x in table.signals]
    numbers = np.column_stack((table.q, table.v, table.a, table.tau, *signals)).tolist()
    for t, *more, row in zip(table.t.tolist(), *table.more.values(), numbers, strict=True):
        writer.writerow([t, *more, *row])
    return buffer.getvalue()


def format_mot(table: Table) -> str:
    return _format_storage(table, _make_labels(table), table.q)


def format_sto(table: Table) -> str:
    joints = _make_labels(table)
    labels = [f"{joint}/{what}" for what in ("value", "speed", "accel") for joint in joints]
    labels += [
        f"{joint}_{'force' if kind == PRISMATIC else 'moment'}"
        for joint, kind in zip(joints, table.model.kind, strict=True)
    ]
    return _format_storage(table, labels, np.hstack((table.q, table.v, table.a, table.tau)))


def _make_labels(table: Table) -> list[str]:
    return [make_label(name) for name in table.model.joint_names]


def make_label(name: str) -> str:
    return "_".join(name.split())


def make_title(name: str) -> str:
    """A first line that OpenSim reads as a name: not a setting, a row of numbers or an end mark."""
    title = " ".join(name.replace("=", " ").split())
    plain = title and not title[0].isdigit() and title != "endheader"
    return title if plain else f"motion {title}".rstrip()


def _format_storage(table: Table, labels: list[str], columns: Floats) -> str:
    labels = ["time", *labels]
    labels += [f"{make_label(x.name)}/{make_label(x.component)}" for x in table.signals]
    twice = [label for k, label in enumerate(labels) if label in labels[:k]]
    if twice:
        raise InputError(
            f"names: two columns of the file would be named {twice[0]!r}; "
            "rename the joint or signal, or export to .csv"
        )
    kept = np.append(np.diff(table.t) > 0.0, True)
    signals = [x.values for x in table.signals]
    rows = np.column_stack((table.t, columns, *signals))[kept].tolist()
    lines = [
        make_title(table.name),
        "version=1",
        f"nRows={len(rows)}",
        f"nColumns={len(labels)}",
        "inDegrees=no",
        *_format_parameters(table),
        "endheader",
        "\t".join(labels),
        *("\t".join(map(repr, row)) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _format_parameters(table: Table) -> list[str]:
    """Parameters as lines of the header; one without unit has none in brackets."""
    lines = []
    for name, (value, unit) in table.parameters.items():
        label = name if unit in ("", "1") else f"{name} [{unit}]"
        lines.append(f"parameter {' '.join(label.replace('=', ' ').split())}={float(value)!r}")
    return lines


WRITERS: dict[str, Callable[[Table], str]] = {
    ".csv": format_csv,
    ".sto": format_sto,
    ".mot": format_mot,
}
