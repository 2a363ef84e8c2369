"""Estimates as tables for other programs, see motion_tables.py.

A .mot file has the positions at the ends of the intervals; .sto and .csv files have everything in
the middles of the intervals, where the torques are.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from predyn.errors import unknown_name
from predyn.estimate.result import Estimate
from predyn.recordings.motion_tables import WRITERS, Table
from predyn.storage.files import write_text


def export_estimate(estimate: Estimate, path: str | os.PathLike[str]) -> None:
    """Write the motion and its torques to a .csv, .sto or .mot file."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise unknown_name("suffix", suffix, (*WRITERS, ".h5"))
    table = _at_ends(estimate) if suffix == ".mot" else _in_middles(estimate)
    write_text(path, WRITERS[suffix](table))


def _at_ends(estimate: Estimate) -> Table:
    nothing = np.zeros_like(estimate.q)
    motion = (estimate.q, estimate.v, nothing, nothing)
    return Table(estimate.name, estimate.model, estimate.t, *motion)


def _in_middles(estimate: Estimate) -> Table:
    motion = (*estimate.middle_states(), estimate.a, estimate.tau)
    return Table(estimate.name, estimate.model, estimate.t_tau, *motion)
