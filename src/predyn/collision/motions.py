"""Motions as Bézier spans: of a solution, and of joint positions from elsewhere."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from predyn.collision.arguments import bounded, instants
from predyn.collision.view import Floats
from predyn.curves.bezier import bezier_spans
from predyn.curves.bspline import BSpline
from predyn.errors import FileError, InputError
from predyn.model import Model
from predyn.model.numbers import real_numbers
from predyn.model.parts import rebuilt
from predyn.storage.reading import read_at_most

if TYPE_CHECKING:
    from predyn.solution import Solution

MOST_BYTES = 100 * 2**20
INTERPOLATIONS = ("linear", "cubic")
UNIT = re.compile(r"(.*?)\s*\[([^\]]*)\]")  # at the end of the title of a column


@dataclass(frozen=True, eq=False)
class JointPath:
    """Joint positions (K, n) at times (K,), in the order of model.joint_names, and what happens
    between them: a proof about samples alone would say nothing about the motion.

    interpolation  "linear": straight lines; "cubic": the cubic spline with continuous acceleration
                   through all points, whose first two and last two pieces are one polynomial each
                   (SciPy's CubicSpline, "not-a-knot")
    times          increasing, in s; 0, 1, 2, ... if not given
    """

    positions: ArrayLike
    interpolation: Literal["linear", "cubic"]
    times: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.interpolation not in INTERPOLATIONS:
            raise InputError(
                f"interpolation: expected one of {INTERPOLATIONS}, got {self.interpolation!r:.40}"
            )
        expected = "finite numbers (K, n), K > 1"
        q = real_numbers(self.positions, "positions", expected)
        if q.ndim != 2 or len(q) < 2 or not np.isfinite(q).all():
            raise InputError(f"positions: expected {expected}, got {q.shape}")
        bounded(q, "positions", "rad or m")
        t = instants(np.arange(len(q)) if self.times is None else self.times, "times", len(q))
        for name, value in (("positions", q), ("times", t)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    __reduce__ = rebuilt


class Spans(NamedTuple):
    """Bézier control points (S, points, n) of consecutive pieces between times (S, 2) in s."""

    control: Floats
    times: Floats


def spans_of(motion: Solution | JointPath, n: int) -> list[Spans]:
    """The pieces of a motion, those of one degree together."""
    if isinstance(motion, JointPath):
        found = [_spans_of_path(motion)]
    elif hasattr(motion, "curves"):
        found, begin = [], 0.0
        for curve in motion.curves:
            spline = BSpline(curve.degree, curve.knots)
            breaks, control = bezier_spans(spline, curve.control)
            times = begin + curve.duration * np.stack([breaks[:-1], breaks[1:]], axis=1)
            found.append(Spans(np.ascontiguousarray(control), times))
            begin += curve.duration
    else:
        raise InputError(
            f"motion: expected a Solution or a predyn.JointPath, got {type(motion).__name__}"
        )
    for spans in found:
        if spans.control.shape[2] != n:
            raise InputError(
                f"motion: expected {n} joints, as the model has, got {spans.control.shape[2]}"
            )
        if not np.isfinite(spans.control).all():
            raise InputError("motion: the curves contain numbers that are not finite")
    return found


def _spans_of_path(path: JointPath) -> Spans:
    t, q = np.asarray(path.times), np.asarray(path.positions)
    times = np.stack([t[:-1], t[1:]], axis=1)
    if path.interpolation == "linear":
        return Spans(np.stack([q[:-1], q[1:]], axis=1), times)
    from scipy.interpolate import CubicSpline

    slope = CubicSpline(t, q)(t, 1)
    third = np.diff(t)[:, None] / 3.0
    inner = q[:-1] + third * slope[:-1], q[1:] - third * slope[1:]
    control = np.stack([q[:-1], *inner, q[1:]], axis=1)
    bounded(control, "positions: the cubic spline through them", "rad or m")
    return Spans(control, times)


def load_joint_path(
    path: str | os.PathLike[str], model: Model, interpolation: Literal["linear", "cubic"]
) -> JointPath:
    """A CSV file with a header: a column `time` or `t` (s) and one for each joint, by its name.

    Columns may be named as in files of `Solution.export`: "t [s]", "q.elbow [rad]". Other columns
    are not read. Angles in rad, slides in m.
    """
    name = os.fsdecode(path)
    try:
        text = read_at_most(name, MOST_BYTES, "divide it").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{name}: not UTF-8 text: {error}") from None
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise FileError(f"{name}: not a valid CSV file: {error}") from None
    header = [_column(name, cell.strip(), model) for cell in rows[0]] if rows else []
    if len(header) == 1 and ";" in header[0]:
        raise FileError(f"{name}: line 1: expected commas between the columns, got semicolons")
    times = [x for x in ("time", "t") if x in header and x not in model.joint_names]
    if len(times) > 1:
        raise FileError(f"{name}: line 1: expected one column of times, got 'time' and 't'")
    time = times[0] if times else None
    missing = [joint for joint in model.joint_names if joint not in header]
    if time is None or missing:
        wanted = "a column 'time'" if time is None else f"a column for joint {missing[0]!r:.60}"
        raise FileError(f"{name}: line 1: expected {wanted}, got {', '.join(header)!r:.120}")
    twice = [x for x in (time, *model.joint_names) if header.count(x) > 1]
    if twice:
        raise FileError(f"{name}: line 1: expected one column {twice[0]!r:.60}, got several")
    columns = [header.index(x) for x in (time, *model.joint_names)]
    table = []
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(header):
            raise FileError(
                f"{name}: line {line}: expected {len(header)} cells, as in line 1, got {len(row)}"
            )
        try:
            table.append([_number(row[k]) for k in columns])
        except ValueError:
            raise FileError(f"{name}: line {line}: expected a number in each column") from None
        if not np.isfinite(table[-1]).all():
            raise FileError(f"{name}: line {line}: expected finite numbers")
    values = np.array(table).reshape(-1, len(columns))
    try:
        return JointPath(values[:, 1:], interpolation, values[:, 0])
    except InputError as error:
        raise FileError(f"{name}: {error}") from None


def _number(cell: str) -> float:
    """A number as programs write it; Python also reads 1_0 and digits of other scripts."""
    if "_" in cell or not cell.isascii():
        raise ValueError(cell)
    return float(cell)


def _column(file: str, cell: str, model: Model) -> str:
    """What a column holds: the name of a joint or of the time, without "q." and its unit."""
    match = UNIT.fullmatch(cell)
    if match is None or cell in model.joint_names:
        return cell
    label, unit = match[1].removeprefix("q."), match[2].strip()
    if (label in ("t", "time") and unit != "s") or (
        label in model.joint_names and unit not in ("rad", "m")
    ):
        raise FileError(f"{file}: line 1: {cell!r:.60}: expected s, rad or m, got {unit!r:.20}")
    return label
