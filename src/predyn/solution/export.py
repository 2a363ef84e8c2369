"""Solutions as tables for other programs, see motion_tables.py.

CSV files have the phase (from 0) too. Two rows share the time of a phase boundary, one of each
phase; in STO and MOT files, whose times increase strictly, the later phase stands there.

Efforts are what acts: zero at passive joints, whatever their curves need.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from predyn.errors import InputError
from predyn.recordings.motion_tables import WRITERS, Table
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
    phase = [int(k) for k in solution.phase]
    motion = (solution.q, solution.v, solution.a, _acting(solution, solution.tau))
    return Table(solution.name, solution.model, solution.t, *motion, {"phase": phase})


def _resampled(solution: Solution, rate: float) -> Table:
    number = isinstance(rate, int | float | np.number) and not isinstance(rate, bool)
    if not number or not 0.0 < rate < np.inf:
        raise InputError(f"rate: expected samples per second (Hz) above 0, got {rate!r:.60}")
    last = solution.duration * (1.0 + ROUNDING) * float(rate)
    if last >= MOST_ROWS:
        raise InputError(f"rate: {rate:g} Hz makes more than {MOST_ROWS} rows; choose a lower one")
    t = np.minimum(np.arange(int(last) + 1) / float(rate), solution.duration)
    at = solution.at(t)
    motion = (at.q, at.v, at.a, _acting(solution, at.tau))
    phase = solution.phase_at(t).tolist()
    return Table(solution.name, solution.model, t, *motion, {"phase": phase})


def _acting(solution: Solution, tau: Floats) -> Floats:
    """The efforts (K, n) of the motors: passive joints have none."""
    return np.where(np.isin(solution.model.joint_names, solution.passive), 0.0, tau)
