"""Solutions as HDF5 files: lossless, versioned, with the model inside, readable by h5py alone.

At the top level t (K,), phase (K,), q, v, a, tau (K, n), reactions (K, links, 6) and x; groups
model, curves, limits, costs, multipliers, history and so on as in `Solution`. hdf5_tree.py has the
format.
Files of version 0.2, and solutions that were saved without one, have no group verification.

Version 2 adds signals, parameters, systems, the ground, the cycle, joints that follow others, loops
and ligaments, each only if there is one, and the status "exceeds_limits". Files that mean the same
without them are written as version 1, which predyn 0.2 reads too.

Groups scene, certificate and stages (stored_scenes.py) are written only if there are any; readers
that do not know them lose nothing of the motion, so they need no version of their own.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from predyn.errors import FileError
from predyn.load.bodies import drawn_triangles
from predyn.model import Limits, Model
from predyn.model.stored import model_of, needs_new_version, tree_of_model
from predyn.samples.registry import units
from predyn.solution.parts import CONVERGED, EXCEEDS, STATUSES, Violation
from predyn.solution.solution import Solution
from predyn.solution.stored_cycles import continuation_of, tree_of_continuation
from predyn.solution.stored_scenes import surroundings_of, tree_of_surroundings
from predyn.solution.stored_systems import (
    axes_of,
    curve_of,
    is_plain,
    link_of,
    signal_of,
    system_of,
    tree_of_force,
    tree_of_signal,
    tree_of_system,
    vector_of,
)
from predyn.solution.verification import Verification
from predyn.solution.verification_file import verification_of
from predyn.storage import hdf5_tree
from predyn.storage.files import write_bytes
from predyn.storage.hdf5_tree import Tree
from predyn.storage.tree_reader import TreeReader, located, read_bytes, read_file

KIND, VERSION = "predyn solution", 2
SCALARS: dict[str, type] = {
    "name": str, "status": str, "message": str, "objective": float, "iterations": int,
    "solve_seconds": float, "max_violation": float, "max_violation_dense": float,
    "n_variables": int, "n_constraints": int,
}  # fmt: skip
SAMPLED = ("q", "v", "a", "tau")
ARRAYS = (*SAMPLED, "t", "reactions", "x")
WORDS = ("phase_names", "active", "passive")
KINKS = ("unsmoothed", "widths")  # only if something was rounded off
VIOLATIONS = ("violations", "dense_violations")
NUMBERS = tuple(name for name in Violation._fields if name != "name")


def save_solution(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write a solution to an HDF5 file, whole or not at all; equal solutions give equal bytes."""
    write_bytes(path, bytes_of_solution(solution, str(path)))


def bytes_of_solution(solution: Solution, name: str = "solution") -> bytes:
    """The contents of the file that `save_solution` writes; name: of the file, for messages."""
    try:
        statuses = {solution.status, *(start.get("status") for start in solution.starts)}
        plain = is_plain(solution) and not needs_new_version(solution.model)
        version = 1 if plain and EXCEEDS not in statuses else VERSION
        return hdf5_tree.encode(_tree_of(solution), _notes(solution.model), KIND, version)
    except (ValueError, OSError, RuntimeError) as error:  # of a value, or of the HDF5 library
        raise FileError(f"{name}: this solution cannot be saved: {error}") from error


def solution_of_bytes(data: bytes, name: str = "solution") -> Solution:
    """The solution in the contents of a file."""
    return read_bytes(data, name, KIND, VERSION, _solution_of)


def load_solution(path: str | os.PathLike[str]) -> Solution:
    """The solution in a file that `Solution.save` wrote; its model is checked as any other."""
    return read_file(path, KIND, VERSION, _solution_of)


def _tree_of(solution: Solution) -> Tree:
    from predyn.dynamics.system import limits_by_kind  # loads kernels

    tree: Tree = {name: kind(getattr(solution, name)) for name, kind in SCALARS.items()}
    tree |= {name: getattr(solution, name) for name in WORDS}
    tree |= {name: np.asarray(getattr(solution, name), np.float64) for name in ARRAYS}
    tree["phase"] = np.asarray(solution.phase, np.int64)
    tree["limits"] = limits_by_kind(solution.limits, solution.jerk_limit)
    for name in ("multipliers", "history"):
        arrays = getattr(solution, name)
        tree[name] = {key: np.asarray(value, np.float64) for key, value in arrays.items()}
    for name in ("costs", "timings"):
        tree[name] = {key: float(value) for key, value in getattr(solution, name).items()}
    tree["provenance"] = solution.provenance
    for name in VIOLATIONS:
        rows = getattr(solution, name)
        tree[name] = {"name": [row.name for row in rows]} | {
            field: np.array([getattr(row, field) for row in rows], float) for field in NUMBERS
        }
    tree["curves"] = [curve._asdict() for curve in solution.curves]
    tree["forces"] = [tree_of_force(force) for force in solution.forces]
    tree["starts"] = list(solution.starts)
    rows, columns = (np.asarray(x, np.int32) for x in solution.jacobian)
    tree["jacobian"] = {"rows": rows, "columns": columns}
    tree["model"] = tree_of_model(solution.model, drawn_triangles(solution.model))
    if solution.signals.keys() != solution.signal_curves.keys():
        raise ValueError("signals: expected samples and curves of the same names")
    if solution.signal_curves:
        tree["signals"] = {
            name: tree_of_signal(signal, solution.signals[name])
            for name, signal in solution.signal_curves.items()
        }
    if solution.parameters:
        tree["parameters"] = {name: float(value) for name, value in solution.parameters.items()}
        tree["parameter_units"] = solution.parameter_units
    if solution.systems:
        tree["systems"] = [tree_of_system(system) for system in solution.systems]
    tree |= tree_of_continuation(solution)
    tree |= tree_of_surroundings(solution)
    for name in KINKS:
        if getattr(solution, name):
            tree[name] = {key: float(value) for key, value in getattr(solution, name).items()}
    if solution.verification is not None:
        tree["verification"] = _tree_of_checks(solution.verification)
    return tree


def _tree_of_checks(checks: Verification) -> Tree:
    """Without what only motions on the ground have."""
    tree: Tree = asdict(checks)
    if checks.base is None:
        del tree["base"]
    if checks.replay is not None and checks.replay.restart is None:
        del tree["replay"]["restart"]
    return tree


def _notes(model: Model) -> dict[str, dict[str, Any]]:
    """Attributes for those who read the file by h5py alone."""
    joints = list(model.joint_names)
    notes: dict[str, dict[str, Any]] = {
        name: {"joint_names": joints, "units": list(units(model, name))} for name in SAMPLED
    }
    notes["t"] = {"units": "s"}
    notes["phase"] = {"meaning": "number of the phase, from 0"}
    notes["reactions"] = {
        "joint_names": list(model.expanded.joint_names),
        "units": list(units(model, "reactions")[:6]),
        "meaning": "moment and force that link j receives through joint j, in link axes",
    }
    return notes


def _solution_of(file: TreeReader) -> Solution:
    model = model_of(file.group("model"))
    n, t = model.n, file.times("t")
    entries: dict[str, Any] = {name: file.value(name, kind) for name, kind in SCALARS.items()}
    entries |= {name: file.words(name) for name in WORDS}
    entries |= {name: file.array(name, (len(t), n)) for name in SAMPLED}
    entries |= {name: _violations_of(file.group(name)) for name in VIOLATIONS}
    entries["multipliers"] = file.mapping("multipliers", lambda group, key: group.array(key, None))
    entries["history"] = file.mapping("history", lambda group, key: group.array(key, (None,)))
    for name in ("costs", "timings"):
        entries[name] = file.mapping(name, lambda group, key: group.value(key, float))
    curves = tuple(curve_of(group, n) for group in file.groups("curves"))
    if not curves or len(curves) != len(entries["phase_names"]):
        raise FileError(
            f"curves: expected one for each of {len(entries['phase_names'])} phases, "
            f"got {len(curves)}"
        )
    limits = file.mapping("limits", lambda group, key: group.array(key, (n, 2)))
    missing = [name for name in Limits._fields if name not in limits]
    file.require(not missing, "limits", f"{', '.join(Limits._fields)}")
    pattern = file.group("jacobian")
    rows = pattern.array("rows", (None,), np.int32)
    solution = Solution(
        model=model,
        curves=curves,
        t=t,
        phase=file.array("phase", t.shape, np.int64),
        reactions=file.array("reactions", (len(t), len(model.parent), 6)),
        limits=Limits(*(limits[name] for name in Limits._fields)),
        jerk_limit=limits["jerk"][:, 1] if "jerk" in limits else None,
        jacobian=(rows, pattern.array("columns", rows.shape, np.int32)),
        x=file.array("x", (None,)),
        forces=tuple(_force_of(group, model) for group in file.groups("forces")),
        starts=tuple(_start_of(group) for group in file.groups("starts")),
        provenance=file.mapping("provenance", lambda group, key: group.value(key, str)),
        **entries,
    )
    _check_values(file, solution)
    solution = _with_unknowns(file, solution)
    if "verification" in file.tree:
        checks = verification_of(file.group("verification"), solution)
        return replace(solution, verification=checks)
    return solution


def _with_unknowns(file: TreeReader, solution: Solution) -> Solution:
    """The solution with the signals, parameters and systems that the file may have."""
    found: dict[str, Any] = {}
    if "signals" in file.tree:
        pairs = file.mapping(
            "signals",
            lambda group, key: signal_of(group.group(key), solution.phase, solution.curves),
        )
        found["signal_curves"] = {name: signal for name, (signal, _) in pairs.items()}
        found["signals"] = {name: samples for name, (_, samples) in pairs.items()}
    if "parameters" in file.tree:
        values = file.mapping("parameters", lambda group, key: group.value(key, float))
        units = file.mapping("parameter_units", lambda group, key: group.value(key, str))
        file.require(units.keys() <= values.keys(), "parameter_units", "names of parameters")
        found |= {"parameters": values, "parameter_units": units}
    if "systems" in file.tree:
        groups, signals = file.groups("systems"), found.get("signal_curves", {})
        if len(groups) != len(solution.curves):
            count = len(solution.curves)
            raise FileError(f"systems: expected one for each of {count} phases, got {len(groups)}")
        found["systems"] = tuple(
            system_of(group, solution.model, signals, k) for k, group in enumerate(groups)
        )
    found |= continuation_of(file, solution.model)
    found |= surroundings_of(file, solution.model.n)
    for name in KINKS:
        if name in file.tree:
            found[name] = file.mapping(name, lambda group, key: group.value(key, float))
    if solution.status in CONVERGED:
        for name, signal in found.get("signal_curves", {}).items():
            known = all(
                curve is None or np.isfinite(curve.control).all() for curve in signal.curves
            )
            file.require(known, "signals", f"finite numbers for {name!r}, since it converged")
        numbers = list(found.get("parameters", {}).values())
        file.require(np.isfinite(numbers), "parameters", "finite numbers, since it converged")
    return replace(solution, **found)


def _check_values(file: TreeReader, solution: Solution) -> None:
    """What no solve could have found is an error; what did not converge may not be finite."""
    file.choice("status", STATUSES)
    for name in ("iterations", "n_variables", "n_constraints"):
        file.count(name)
    ends, whole = solution.t[[0, -1]] if len(solution.t) else np.zeros(2), solution.duration
    fits = np.abs(ends - (0.0, whole)) <= 1e-9 * whole  # rounding of sums
    file.require(fits, "t", f"times from 0 to the duration of the phases, {whole:.6g} s")
    phase, last = solution.phase, len(solution.curves) - 1
    file.require((phase >= 0) & (phase <= last), "phase", f"numbers from 0 to {last}")
    file.require(np.diff(phase) >= 0, "phase", "non-decreasing numbers")
    for name in solution.passive:
        with located(file):
            solution.model.joint_index(name)
    excess = ("max_violation", "max_violation_dense")
    for name in excess:
        file.require(not getattr(solution, name) < 0.0, name, "a non-negative number")
    if solution.status in CONVERGED:
        for name in ("objective", *excess, "x", "reactions", *SAMPLED):
            file.require(
                np.isfinite(getattr(solution, name)), name, "finite numbers, since it converged"
            )


def _violations_of(group: TreeReader) -> tuple[Violation, ...]:
    names = group.words("name")
    columns = [group.array(field, (len(names),)).tolist() for field in NUMBERS]
    for field in ("excess", "relative"):
        group.require(group.tree[field] >= 0.0, field, "non-negative numbers")
    return tuple(Violation(*row) for row in zip(names, *columns, strict=True))


def _start_of(group: TreeReader) -> Tree:
    group.choice("status", STATUSES)
    group.value("objective", float)
    return group.tree


def _force_of(group: TreeReader, model: Model) -> Tree:
    return {
        "link": link_of(group, model),
        **{name: vector_of(group, name) for name in ("force", "moment", "point")},
        "frame": axes_of(group),
    }
