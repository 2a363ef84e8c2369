"""Estimates as HDF5 files: lossless, versioned, model and measurements inside.

At the top level t (K + 1,), q, v, q_sd, v_sd (K + 1, n), t_tau (K,), a, tau, tau_sd,
grid_error (K, n); groups model, measurements, channels and so on as in `Estimate`. hdf5_tree.py
has the format.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from predyn.errors import FileError, unknown_name
from predyn.estimate.result import (
    INDEPENDENT,
    NOISES,
    ORDERS,
    STATUSES,
    WHITE,
    Channel,
    Estimate,
    Filtered,
    OrderTrial,
    RootResidual,
)
from predyn.load.bodies import drawn_triangles
from predyn.model import Model
from predyn.model.stored import model_of, needs_new_version, tree_of_model
from predyn.published.lcurve import LCurve
from predyn.recordings.measurements import MeasuredForce, Measurements
from predyn.samples.registry import units
from predyn.storage import hdf5_tree
from predyn.storage.files import write_bytes
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located, read_file

KIND, VERSION = "predyn estimate", 2  # 1 for models that predyn 0.2 reads too
SCALARS: dict[str, type] = {
    "name": str, "status": str, "message": str, "order": int, "total_variation": bool,
    "independent": str, "iterations": int, "solve_seconds": float,
}  # fmt: skip
AT_NODES = ("q", "v", "q_sd", "v_sd")
AT_MIDDLES = ("a", "tau", "tau_sd", "grid_error")
FORCE = ("force", "point", "moment")


def save_estimate(estimate: Estimate, path: str | os.PathLike[str]) -> None:
    """Write an estimate to an HDF5 file, whole or not at all; equal estimates give equal bytes."""
    try:
        version = VERSION if needs_new_version(estimate.model) else 1
        data = hdf5_tree.encode(_tree_of(estimate), _notes(estimate.model), KIND, version)
    except (ValueError, OSError, RuntimeError) as error:  # of a value, or of the HDF5 library
        raise FileError(f"{path}: this estimate cannot be saved: {error}") from error
    write_bytes(path, data)


def load_estimate(path: str | os.PathLike[str]) -> Estimate:
    """The estimate in a file that `Estimate.save` wrote."""
    return read_file(path, KIND, VERSION, _estimate_of)


def _tree_of(estimate: Estimate) -> Tree:
    tree: Tree = {name: kind(getattr(estimate, name)) for name, kind in SCALARS.items()}
    tree["corner"], tree["noise_model"] = float(estimate.corner), estimate.noise_model
    for name in ("t", "t_tau", *AT_NODES, *AT_MIDDLES, "weights"):
        tree[name] = np.asarray(getattr(estimate, name), np.float64)
    tree["channels"] = [_record(channel) for channel in estimate.channels]
    tree["orders"] = [_record(trial) for trial in estimate.orders]
    tree["lcurve"] = _record(estimate.lcurve)
    tree["comparison"] = None if estimate.comparison is None else _record(estimate.comparison)
    tree["unactuated"] = list(estimate.unactuated)
    root = estimate.root_residual
    tree["root_residual"] = None if root is None else root._asdict() | {"joints": list(root.joints)}
    tree["force_links"] = dict(estimate.force_links)
    tree["warnings"] = list(estimate.warnings)
    tree["model"] = tree_of_model(estimate.model, drawn_triangles(estimate.model))
    tree["measurements"] = _measurements_tree(estimate.measurements)
    return tree


def _record(value: Any) -> Tree:
    """A named tuple; its arrays as float64."""
    return {
        name: np.asarray(entry, np.float64) if isinstance(entry, np.ndarray) else entry
        for name, entry in value._asdict().items()
    }


def _measurements_tree(data: Measurements) -> Tree:
    return {
        "t": data.t,
        "angles": dict(data.angles),
        "markers": dict(data.markers),
        "forces": {
            name: {"t": force.t} | {part: getattr(force, part) for part in FORCE}
            for name, force in data.forces.items()
        },
        "source": data.source,
        "notes": list(data.notes),
        "units": dict(data.units),
    }


def _notes(model: Model) -> dict[str, dict[str, Any]]:
    """Attributes for those who read the file by h5py alone."""
    channel_of = {
        "q": "q", "q_sd": "q", "v": "v", "v_sd": "v", "a": "a",
        "tau": "tau", "tau_sd": "tau", "grid_error": "tau", "weights": "tau",
    }  # fmt: skip
    joints = list(model.joint_names)
    notes: dict[str, dict[str, Any]] = {
        name: {"joint_names": joints, "units": list(units(model, channel))}
        for name, channel in channel_of.items()
    }
    notes["t"] = {"units": "s", "meaning": "ends of the intervals"}
    notes["t_tau"] = {"units": "s", "meaning": "middles of the intervals, where a and tau hold"}
    return notes


def _estimate_of(file: TreeReader) -> Estimate:
    model = model_of(file.group("model"))
    n, t = model.n, file.times("t")
    file.require(len(t) >= 2, "t", f"at least 2 times, got {len(t)}")
    entries: dict[str, Any] = {name: file.value(name, kind) for name, kind in SCALARS.items()}
    entries |= {name: file.array(name, (len(t), n)) for name in AT_NODES}
    entries |= {name: file.array(name, (len(t) - 1, n)) for name in AT_MIDDLES}
    entries |= {name: file.words(name) for name in ("unactuated", "warnings")}
    filtered = file.value("comparison", (dict, type(None)))
    estimate = Estimate(
        model=model,
        measurements=_measurements_of(file.group("measurements")),
        t=t,
        t_tau=file.times("t_tau"),
        channels=tuple(_channel_of(group) for group in file.groups("channels")),
        weights=file.array("weights", (n,)),
        orders=tuple(_trial_of(group, n) for group in file.groups("orders")),
        lcurve=_lcurve_of(file.group("lcurve")),
        comparison=None if filtered is None else _filtered_of(file.group("comparison"), n),
        force_links=file.mapping("force_links", lambda group, key: group.value(key, str)),
        root_residual=_root_of(file),
        corner=_corner_of(file),
        noise_model=_noise_of(file, "noise_model"),
        **entries,
    )
    _check_values(file, estimate)
    return estimate


def _check_values(file: TreeReader, estimate: Estimate) -> None:
    """Impossible values are errors; estimates that did not converge may not be finite."""
    file.choice("status", STATUSES)
    file.choice("independent", INDEPENDENT)
    file.count("iterations")
    file.require(estimate.order in ORDERS, "order", "0, 1, 2 or 3")
    file.require(np.diff(estimate.t) > 0.0, "t", "strictly increasing times")
    file.require(len(estimate.t_tau) == len(estimate.t) - 1, "t_tau", "one time for each interval")
    for name in ("q_sd", "v_sd", "tau_sd"):  # infinite where the data do not determine them
        file.require(getattr(estimate, name) >= 0.0, name, "non-negative numbers")
    with located(file):
        for name in estimate.unactuated:
            estimate.model.joint_index(name)
        for name, link in estimate.force_links.items():
            estimate.model.frame(link)
            if name not in estimate.measurements.forces:
                raise unknown_name("recorded force", name, estimate.measurements.forces)
    if estimate.success:
        for name in ("q", "v", "a", "tau"):
            file.require(
                np.isfinite(getattr(estimate, name)), name, "finite numbers, since it converged"
            )


def _channel_of(group: TreeReader) -> Channel:
    t = group.times("t")
    return Channel(
        name=group.value("name", str),
        kind=group.choice("kind", ("angle", "marker")),
        unit=group.choice("unit", ("rad", "m")),
        t=t,
        measured=group.array("measured", t.shape),
        fitted=group.array("fitted", t.shape),
        sd=group.value("sd", float),
        estimated=group.value("estimated", bool),
    )


def _trial_of(group: TreeReader, n: int) -> OrderTrial:
    order = group.value("order", int)
    group.require(order in ORDERS, "order", "0, 1, 2 or 3")
    return OrderTrial(
        order,
        group.choice("independent", INDEPENDENT),
        group.value("log_evidence", float),
        group.array("weights", (n,)),
        group.value("chosen", bool),
        _corner_of(group),
        _noise_of(group, "noise"),
    )


def _noise_of(group: TreeReader, name: str) -> str:
    """How noise is correlated; files of older versions know none but white noise."""
    return group.choice(name, NOISES) if name in group.tree else WHITE


def _corner_of(group: TreeReader) -> float:
    """Hz; files of older versions have none."""
    return float(group.value("corner", float)) if "corner" in group.tree else 0.0


def _lcurve_of(group: TreeReader) -> LCurve:
    weights = group.array("weights", (None,))
    misfit, size = (group.array(name, weights.shape) for name in ("misfit", "size"))
    corner = group.value("corner", int)
    group.require(-1 <= corner < len(weights), "corner", f"a number from -1 to {len(weights) - 1}")
    return LCurve(weights, misfit, size, corner)


def _root_of(file: TreeReader) -> RootResidual | None:
    """The residual of a floating base; files of older versions have none."""
    if file.tree.get("root_residual") is None:
        return None
    group = file.group("root_residual")
    numbers = {
        name: group.value(name, float)
        for name in RootResidual._fields
        if name not in ("joints", "note")
    }
    return RootResidual(joints=group.words("joints"), note=group.value("note", str), **numbers)


def _filtered_of(group: TreeReader, n: int) -> Filtered:
    t = group.times("t")
    group.require(len(t) > 0, "t", "at least one time")
    parts = (group.array(name, (len(t), n)) for name in ("q", "v", "a", "tau"))
    return Filtered(group.value("cutoff", float), t, *parts)


def _measurements_of(group: TreeReader) -> Measurements:
    t = group.array("t", (None,))

    def force(forces: TreeReader, name: str) -> MeasuredForce:
        one = forces.group(name)
        times = one.array("t", (None,))
        return MeasuredForce(times, *(one.array(part, (len(times), 3)) for part in FORCE))

    with located(group):
        return Measurements(
            t,
            group.mapping("angles", lambda angles, name: angles.array(name, t.shape)),
            group.mapping("markers", lambda markers, name: markers.array(name, (len(t), 3))),
            group.mapping("forces", force),
            group.value("source", str),
            group.words("notes"),
            group.mapping("units", lambda units, name: units.value(name, str)),
        )
