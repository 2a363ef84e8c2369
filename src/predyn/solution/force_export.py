"""Predicted forces of the ground as OpenSim's .mot, and the external-loads file that names them.

For each foot the columns ground_force_FOOT_vx .. vz (N), ground_force_FOOT_px .. pz (m, the centre
of pressure) and ground_torque_FOOT_x .. z (N m about it), FOOT being the name of its link. Axes are
OpenSim's, with y up: the model's x, y, z are the file's x, -z, y. While a foot is off the ground,
force and torque are zero, and the point is the nearest known one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from predyn.errors import InputError
from predyn.recordings.motion_tables import make_label, make_title
from predyn.solution.export import instants
from predyn.solution.ground import GroundLoad, ground_loads
from predyn.solution.parts import Floats
from predyn.storage.files import checked_path, write_texts

if TYPE_CHECKING:
    from predyn.solution.solution import Solution

AXES = "xyz"
SUFFIXES = (".mot", ".sto")
HEADER = (
    "Forces of the ground predicted by predyn: N, m, N m",
    "Axes of this file: y up; x, y, z are x, z, -y of the model (rotated by -90 degrees about x)",
)


def export_forces(
    solution: Solution,
    path: str | os.PathLike[str],
    rate: float | None = None,
    loads: str | os.PathLike[str] | None = None,
) -> None:
    """Write the forces to a .mot or .sto file, and with `loads` the external-loads file (.xml)."""
    write_texts(force_texts(solution, path, rate, loads))


def force_texts(
    solution: Solution,
    path: str | os.PathLike[str],
    rate: float | None = None,
    loads: str | os.PathLike[str] | None = None,
) -> list[tuple[str | os.PathLike[str], str]]:
    """The files that export_forces writes, and their contents."""
    target = checked_path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: expected a file that ends in {' or '.join(SUFFIXES)}")
    if loads is not None and checked_path(loads).suffix.lower() != ".xml":
        raise InputError(f"{loads}: expected a file that ends in .xml")
    t, phase = instants(solution, rate)
    feet = ground_loads(solution, t, phases=phase)
    texts = [(path, _storage(solution, t, feet))]
    if loads is not None:
        data = os.path.relpath(target, Path(loads).parent)
        texts.append((loads, _external_loads(solution, data, feet)))
    return texts


def _storage(solution: Solution, t: Floats, feet: list[GroundLoad]) -> str:
    labels, columns = ["time"], [t[:, None]]
    for foot in feet:
        name = make_label(foot.sole.name)
        labels += [f"ground_force_{name}_{part}{axis}" for part in "vp" for axis in AXES]
        columns += [_turned(foot.force), _turned(_held(foot))]
    for foot in feet:
        labels += [f"ground_torque_{make_label(foot.sole.name)}_{axis}" for axis in AXES]
        columns.append(_turned(foot.moment[:, None] * (0.0, 0.0, 1.0)))
    kept = np.append(np.diff(t) > 0.0, True)  # the later of two rows at one time
    rows = (np.hstack(columns)[kept] + 0.0).tolist()
    slope = solution.ground.slope if solution.ground is not None else 0.0
    inclined = [f"The ground rises by {slope:g} m per m: y is perpendicular to it"] if slope else []
    lines = [
        make_title(f"{solution.name} ground forces"),
        "version=1",
        f"nRows={len(rows)}",
        f"nColumns={len(labels)}",
        "inDegrees=no",
        *HEADER,
        *inclined,
        "endheader",
        "\t".join(labels),
        *("\t".join(map(repr, row)) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _turned(vectors: Floats) -> Floats:
    """(K, 3) in axes with y up."""
    return np.stack([vectors[:, 0], vectors[:, 2], -vectors[:, 1]], axis=1)


def _held(foot: GroundLoad) -> Floats:
    """The centre of pressure; while the foot is off the ground, the nearest known one in time."""
    known: NDArray[np.int64] = np.flatnonzero(foot.touching)
    if not len(known):
        return np.zeros_like(foot.pressure)
    nearest = known[np.abs(foot.t[:, None] - foot.t[known]).argmin(axis=1)]
    return np.asarray(foot.pressure[nearest])


def _external_loads(solution: Solution, data: str, feet: list[GroundLoad]) -> str:
    parts = []
    for foot in feet:
        name, link = escape(make_label(foot.sole.name)), escape(foot.sole.link)
        parts.append(
            f'            <ExternalForce name="{name}">\n'
            f"                <appliesForce>true</appliesForce>\n"
            f"                <applied_to_body>{link}</applied_to_body>\n"
            "                <force_expressed_in_body>ground</force_expressed_in_body>\n"
            "                <point_expressed_in_body>ground</point_expressed_in_body>\n"
            f"                <force_identifier>ground_force_{name}_v</force_identifier>\n"
            f"                <point_identifier>ground_force_{name}_p</point_identifier>\n"
            f"                <torque_identifier>ground_torque_{name}_</torque_identifier>\n"
            "            </ExternalForce>\n"
        )
    title = escape(make_label(solution.name), {'"': "&quot;"})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="40000">\n'
        f'    <ExternalLoads name="{title}">\n        <objects>\n{"".join(parts)}'
        f"        </objects>\n        <datafile>{escape(data)}</datafile>\n"
        "    </ExternalLoads>\n</OpenSimDocument>\n"
    )
