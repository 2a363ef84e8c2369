"""What belongs to phases and to unknowns besides the motion, as HTML: forces, loads, parameters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predyn.curves.profile import Profile
from predyn.dynamics.system import Payload, PhaseSystem
from predyn.kernels.forces import ExternalForce
from predyn.model import KINDS, PRISMATIC
from predyn.solution import Solution
from predyn.view.numbers import NOTHING, shown
from predyn.view.tables import table

Cells = tuple[str, ...]


def parameters(solution: Solution) -> str:
    rows = []
    for name, value in solution.parameters.items():
        unit = solution.parameter_units.get(name, "1")
        rows.append((name, shown(value, 7), NOTHING if unit in ("", "1") else unit))
    return table(("Parameter", "Value", "Unit"), rows, "tnt")


def forces(solution: Solution) -> str:
    """External forces; those that act in some phases only, with the names of these."""
    rows = _by_phase(
        solution, ([_force_cells(f) for f in system.forces] for system in _systems(solution))
    )
    head = ("Link or frame", "Force [N]", "Moment [N m]", "Point [m]", "Axes")
    return _table(solution, head, rows, "tnnnt")


def payloads(solution: Solution) -> str:
    """What is carried, and in which phases."""
    rows = _by_phase(
        solution, ([_payload_cells(x) for x in system.payloads] for system in _systems(solution))
    )
    head = ("Link or frame", "Mass [kg]", "Centre of mass [m]", "Ixx, Iyy, Izz about it [kg m²]")
    return _table(solution, head, rows, "tnnn")


def has_forces(solution: Solution) -> bool:
    return any(system.forces for system in _systems(solution))


def has_payloads(solution: Solution) -> bool:
    return any(system.payloads for system in solution.systems)


def _systems(solution: Solution) -> list[PhaseSystem]:
    return [solution.system(k) for k in range(len(solution.curves))]


def _by_phase(solution: Solution, rows: Iterator[list[Cells]]) -> dict[Cells, list[str]]:
    """Rows and the phases that have them, each row once."""
    found: dict[Cells, list[str]] = {}
    for phase, cells in zip(solution.phase_names, rows, strict=True):
        for row in cells:
            found.setdefault(row, []).append(phase)
    return found


def _table(solution: Solution, head: Cells, rows: dict[Cells, list[str]], kinds: str) -> str:
    """A table with a column of phases unless every row holds in all of them."""
    count = len(solution.curves)
    if all(len(phases) == count for phases in rows.values()):
        return table(head, rows, kinds)
    named = [(*row, "all" if len(x) == count else ", ".join(x)) for row, x in rows.items()]
    return table((*head, "Phases"), named, f"{kinds}t")


def _force_cells(force: ExternalForce) -> Cells:
    values = (_vector(force.force), _vector(force.moment), _vector(force.point))
    return (force.link, *values, force.frame)


def _vector(value: ArrayLike | Profile | str) -> str:
    if isinstance(value, str):
        return f"signal {value}"
    if isinstance(value, Profile):
        most = np.linalg.norm(np.asarray(value.values, float), axis=1).max()
        return f"given curve, up to {shown(float(most), 4)}"
    return ", ".join(shown(float(x), 5) for x in np.ravel(np.asarray(value, float)))


def _payload_cells(load: Payload) -> Cells:
    inertia = "point mass"
    if load.inertia is not None:
        inertia = _vector(np.diagonal(np.asarray(load.inertia, float)))
    return (load.link, shown(float(load.mass), 5), _vector(load.point), inertia)


def joints(solution: Solution) -> str:
    """Joints with the limits that held for this motion; a row for each kind of phase."""
    rows: list[Cells] = []
    for j, name in enumerate(solution.model.joint_names):
        cells = ([_limit_cells(solution, k, j)] for k in range(len(solution.curves)))
        found = _by_phase(solution, cells)
        for row, phases in found.items():
            label = name if len(found) == 1 else f"{name} ({', '.join(phases)})"
            rows.append((label, KINDS[solution.model.kind[j]], *row))
    head = ("Joint", "Kind", "Position", "Velocity", "Acceleration", "Effort")
    return table(head, rows, "wwnnnn")


def _limit_cells(solution: Solution, k: int, j: int) -> Cells:
    system, slide = solution.system(k), solution.model.kind[j] == PRISMATIC
    factor = 1.0 if slide else 180.0 / np.pi
    cells = []
    for quantity, unit in (
        ("position", "m" if slide else "°"),
        ("velocity", "m/s" if slide else "°/s"),
        ("acceleration", "m/s²" if slide else "°/s²"),
        ("effort", "N" if slide else "N m"),
    ):
        pair = np.asarray(getattr(system.limits, quantity), float)[j]
        cells.append(limit_range(pair if quantity == "effort" else factor * pair, unit))
    if solution.model.joint_names[j] in system.passive:
        cells[-1] = "no motor"
    return tuple(cells)


def limit_range(bounds: NDArray[np.float64], unit: str) -> str:
    """Two bounds in words."""
    lower, upper = bounds.tolist()
    if np.isinf(lower) and np.isinf(upper):
        return "free"
    if lower == -upper:
        return f"±{shown(upper, 4)} {unit}"
    return f"{shown(lower, 4)} to {shown(upper, 4)} {unit}"
