"""Solutions as tables for other programs, see motion_tables.py.

CSV files have the phase (from 0) too. Two rows share the time of a phase boundary, one of each
phase; in STO and MOT files, whose times increase strictly, the later phase stands there.

Efforts are what acts: zero at joints that are passive in the phase, whatever their curves need.
Signals stand in further columns, NaN in phases without them; parameters in the header of STO and
MOT files.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.recordings.motion_tables import WRITERS, Column, Table
from predyn.solution.evaluation import has_motor
from predyn.solution.parts import ROUNDING, Floats
from predyn.solution.solution import Solution
from predyn.storage.files import write_text

MOST_ROWS = 10_000_000


def export_solution(
    solution: Solution, path: str | os.PathLike[str], rate: float | None = None
) -> None:
    """Write the motion to a .csv, .sto or .mot file, at the instants of `solution.t`.

    With `rate` (Hz), at 0, 1 / rate, 2 / rate, ... s instead; the end of the motion is among them
    only if it falls on one.
    """
    table = _stored(solution) if rate is None else _resampled(solution, rate)
    write_text(path, WRITERS[Path(path).suffix.lower()](table))


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


def _resampled(solution: Solution, rate: float) -> Table:
    t, phase = instants(solution, rate)
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
