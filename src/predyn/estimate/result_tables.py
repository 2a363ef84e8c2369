"""Estimates as tables for pandas and xarray, see labelled_tables.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from predyn.errors import unknown_name
from predyn.estimate.result import Estimate
from predyn.recordings.labelled_tables import (
    Attributes,
    Variable,
    by_joint,
    data_frame,
    dataset,
)

if TYPE_CHECKING:
    import pandas
    import xarray

STATES, TORQUES = "states", "torques"
NAMES = {STATES: ("q", "v", "q_sd", "v_sd"), TORQUES: ("tau", "tau_sd", "a")}
TIMES = {STATES: "t", TORQUES: "t_tau"}  # ends and middles of the intervals


def estimate_frame(estimate: Estimate, of: str) -> pandas.DataFrame:
    if of not in NAMES:
        raise unknown_name("table", of, NAMES)
    t = estimate.t if of == STATES else estimate.t_tau
    return data_frame(t, _variables(estimate, of), _attributes(estimate))


def estimate_dataset(estimate: Estimate) -> xarray.Dataset:
    times = {"t": estimate.t, "t_tau": estimate.t_tau}
    variables = [variable for of in NAMES for variable in _variables(estimate, of)]
    return dataset(times, variables, _attributes(estimate))


def _variables(estimate: Estimate, of: str) -> list[Variable]:
    time = TIMES[of]
    found = [by_joint(estimate.model, x, getattr(estimate, x), time) for x in NAMES[of]]
    if of == TORQUES:
        ends = (("start", estimate.t[:-1]), ("end", estimate.t[1:]))
        where = [Variable(name, np.array(x), ("s",), {}, time, True) for name, x in ends]
        error = by_joint(estimate.model, "tau_grid_error", estimate.grid_error, time)
        found = [*where, *found, error._replace(name="grid_error")]
    return found


def _attributes(estimate: Estimate) -> Attributes:
    return {"name": estimate.name, "model": estimate.model.name, "status": estimate.status}
