"""Channels of a solution as tables for pandas and xarray, see labelled_tables.py.

Rows are those of the samples, with both sides of a phase boundary, or at given times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from predyn.errors import InputError
from predyn.recordings.labelled_tables import Attributes, Variable, data_frame, dataset
from predyn.samples.registry import FRAME_COMPONENTS, WRENCH
from predyn.solution.channel_names import channel_info
from predyn.solution.evaluation import channel_at, checked_times
from predyn.solution.parts import Floats
from predyn.solution.whole_body import AXES

if TYPE_CHECKING:
    import pandas
    import xarray

    from predyn.solution.solution import Solution


def solution_frame(
    solution: Solution, names: Sequence[str], t: ArrayLike | None
) -> pandas.DataFrame:
    return data_frame(*_table(solution, names, t), _attributes(solution))


def solution_dataset(
    solution: Solution, names: Sequence[str], t: ArrayLike | None
) -> xarray.Dataset:
    times, variables = _table(solution, names, t)
    return dataset({"t": times}, variables, _attributes(solution))


def _table(
    solution: Solution, names: Sequence[str], t: ArrayLike | None
) -> tuple[Floats, list[Variable]]:
    """The times and the chosen channels; q, v, a, tau and the signals by default."""
    times, phases = (
        (solution.t, solution.phase) if t is None else (checked_times(solution, t), None)
    )
    if times.ndim != 1:
        raise InputError(f"t: expected times (K,) in seconds, got shape {times.shape}")
    for name in names:
        channel_info(solution, name)  # raises an InputError if there is none
    signals = (f"signal:{name}" for name in solution.signal_curves)
    chosen = dict.fromkeys(names or ("q", "v", "a", "tau", *signals))
    phase = Variable(
        "phase", solution.phase_at(times) if phases is None else phases, coordinate=True
    )
    values = {name: channel_at(solution, name, times, phases) for name in chosen}
    return times, [phase, *(_variable(solution, name, x) for name, x in values.items())]


def _variable(solution: Solution, name: str, values: Floats) -> Variable:
    components, units = channel_info(solution, name)
    joints, member = solution.model.joint_names, name.rpartition(":")[2]
    if name == "reactions":
        every = solution.model.expanded.joint_names
        values = values.reshape(-1, len(every), len(WRENCH))
        by = "joint" if every == joints else "link_joint"
        return Variable(name, values, units, {by: every, "wrench": WRENCH})
    if components == (member,):
        name = "time_in_phase" if name == "t" else name  # t is the time of the motion
        return Variable(name, np.ascontiguousarray(values[:, 0]), units)
    common = {joints: "joint", AXES: "axis", WRENCH: "wrench", FRAME_COMPONENTS: "frame_component"}
    return Variable(name, values, units, {common.get(components, f"{name}_component"): components})


def _attributes(solution: Solution) -> Attributes:
    return {
        "name": solution.name,
        "model": solution.model.name,
        "status": solution.status,
        "objective": solution.objective,
        "duration": solution.duration,
    }
