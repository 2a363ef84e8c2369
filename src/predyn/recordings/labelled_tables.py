"""Motions as tables with labels, for data analysis: pandas and xarray, which are optional.

pandas: a row for each instant, with the time as index; a column CHANNEL.COMPONENT for each
component, CHANNEL for a quantity without components; `attrs["units"]` has the unit of each column.

xarray: a variable for each quantity, with the dimensions of its components after that of time;
`attrs["units"]` of a variable has its unit, or those of all components in order.

In a batch of motions (..., K) each is a "run". Numbers are those of the motion, unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.model import PRISMATIC, Model

if TYPE_CHECKING:
    import pandas
    import xarray

Attributes = Mapping[str, str | float]
UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "a": ("rad/s^2", "m/s^2"), "tau": ("N m", "N")}


class Variable(NamedTuple):
    """A quantity over time: values (..., K, *components)."""

    name: str
    values: NDArray[Any]
    units: tuple[str, ...] = ("1",)  # of all components
    labels: Mapping[str, Sequence[str]] = {}  # names of the components by dimension
    time: str = "t"  # the dimension of its instants
    coordinate: bool = False  # says where something is, such as the phase

    @property
    def runs(self) -> tuple[int, ...]:
        """The shape of a batch, () for a single motion."""
        return self.values.shape[: self.values.ndim - len(self.labels) - 1]

    @property
    def columns(self) -> list[str]:
        """Names of the components in a table with two dimensions."""
        return [".".join((self.name, *part)) for part in product(*self.labels.values())]


def by_joint(model: Model, name: str, values: NDArray[Any], time: str = "t") -> Variable:
    """A quantity of each joint: q, v, a, tau, or the uncertainty of one, such as tau_sd."""
    hinge, slide = UNITS[name.partition("_")[0]]
    units = tuple(slide if kind == PRISMATIC else hinge for kind in model.kind)
    return Variable(name, values, units, {"joint": model.joint_names}, time)


def data_frame(
    t: NDArray[np.float64], variables: Sequence[Variable], attributes: Attributes
) -> pandas.DataFrame:
    """A row for each time, or for each run and time."""
    pandas = _imported("pandas")
    runs, time = variables[0].runs, variables[0].time
    if runs:
        levels = [*(range(size) for size in runs), t]
        index = pandas.MultiIndex.from_product(levels, names=[*_run_names(runs), time])
    else:
        index = pandas.Index(t, name=time)
    columns: dict[str, NDArray[Any]] = {}
    units = {time: "s"}
    for variable in variables:
        names = variable.columns
        columns |= dict(zip(names, variable.values.reshape(-1, len(names)).T, strict=True))
        units |= dict(zip(names, variable.units, strict=True))
    frame = pandas.DataFrame(columns, index=index)
    frame.attrs |= {**attributes, "units": units}
    return frame


def dataset(
    times: Mapping[str, NDArray[np.float64]], variables: Sequence[Variable], attributes: Attributes
) -> xarray.Dataset:
    """All variables over their times, which are given by dimension."""
    xarray = _imported("xarray")
    coordinates: dict[str, Any] = {name: (name, t, {"units": "s"}) for name, t in times.items()}
    data: dict[str, Any] = {}
    for variable in variables:
        for dimension, names in variable.labels.items():
            coordinates[dimension] = (dimension, list(names))
        dimensions = [*_run_names(variable.runs), variable.time, *variable.labels]
        alike = len(set(variable.units)) == 1
        unit = variable.units[0] if alike else ", ".join(variable.units)
        place = coordinates if variable.coordinate else data
        place[variable.name] = (dimensions, variable.values, {"units": unit})
    return xarray.Dataset(data, coordinates, dict(attributes))


def _run_names(runs: tuple[int, ...]) -> list[str]:
    return ["run"] if len(runs) == 1 else [f"run{k}" for k in range(len(runs))]


def _imported(package: str) -> Any:
    """An optional package, or an InputError that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        raise InputError(
            f"tables need {package}, which is not installed: pip install 'predyn[tables]'"
        ) from None
