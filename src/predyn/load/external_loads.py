"""External-loads files of OpenSim: which recorded force acts on which body."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from predyn.load.osim_xml import is_on, read_document, read_objects, read_word
from predyn.load.xml_file import Element

# columns are called identifier + x, y, z; the text around "force" names the force in a recording
FORCE = re.compile(r"(.*?)_?force(?:_?(.*?))_v", re.IGNORECASE)
POINT = re.compile(r"(.*?)_?force(?:_?(.*?))_p", re.IGNORECASE)
TORQUE = re.compile(r"(.*?)_?torque(?:_?(.*?))_m?", re.IGNORECASE)
GROUND = ("ground", "/ground")
NONE = ("", "unassigned")


@dataclass(frozen=True, eq=False)
class ExternalLoads:
    """The forces of an external-loads file.

    links  name of a force in the recording -> body that it acts on: the argument `forces` of
           estimate_torques
    data   path of the recording with the forces; None if the file names none that may be read
    notes  what is ignored or missing
    """

    links: Mapping[str, str]
    data: str | None
    source: str
    notes: tuple[str, ...]


def load_external_loads(path: str | os.PathLike[str]) -> ExternalLoads:
    """Read an external-loads file (.xml) of OpenSim; its data file is not opened.

    Forces and points must be given in ground. A force gets the name that `load_measurements` gives
    to its columns: `ground_force_v` is the force "ground", `1_ground_force_v` is "1_ground". The
    data file must be in the folder of this file or below. Raises a FileError for any error.
    """
    document = read_document(path)
    loads = document.need("ExternalLoads")
    notes: list[str] = []
    links: dict[str, str] = {}
    for element in read_objects(document, "ExternalLoads"):
        if element.tag != "ExternalForce":
            element.fail("expected <ExternalForce> here")
        if not is_on(element, "appliesForce"):
            notes.append(f"{_shown(element)} is switched off: ignored")
            continue
        name = _find_name(element)
        if name in links:
            element.fail(f"force {name!r:.60} is applied twice; expected each one once")
        links[name] = read_word(element, "applied_to_body").rpartition("/")[2]
    if not links:
        loads.fail("expected at least one <ExternalForce> that acts")
    data = _find_data(document.path, read_word(loads, "datafile", ""), notes)
    return ExternalLoads(links, data, document.path, tuple(notes))


def _shown(element: Element) -> str:
    return f"force {element.attributes.get('name', '')!r:.60} in line {element.line}"


def _find_name(element: Element) -> str:
    """The name of the force in a recording, from the identifiers of its columns."""
    for tag in ("force_expressed_in_body", "point_expressed_in_body"):
        if (frame := read_word(element, tag, "ground")) not in GROUND:
            element.need(tag).fail(
                f"expected 'ground', got {frame!r:.60}: forces in axes of bodies are not supported"
            )
    names = {}
    for tag, pattern, example in (
        ("force_identifier", FORCE, "ground_force_v"),
        ("point_identifier", POINT, "ground_force_p"),
        ("torque_identifier", TORQUE, "ground_torque_"),
    ):
        given = read_word(element, tag, "")
        if given.lower() in NONE:
            continue
        match = pattern.fullmatch(given)
        if match is None:
            element.need(tag).fail(
                f"{given!r:.60}: expected columns that are named as {example!r} + x, y, z; rename "
                "them in this file and in the data file"
            )
        names[tag] = "_".join(filter(None, match.groups())) or "force"
    if "force_identifier" not in names or "point_identifier" not in names:
        element.fail("expected <force_identifier> and <point_identifier>: a force and the point "
                     "where it acts, in ground")  # fmt: skip
    if len(set(names.values())) > 1:
        element.fail(
            f"its force, point and torque have different names, {', '.join(names.values())}: "
            "expected columns that differ only in force_v, force_p and torque_"
        )
    return names["force_identifier"]


def _find_data(source: str, name: str, notes: list[str]) -> str | None:
    """The path of the data file, which must be in the folder of the source or below."""
    if not name:
        notes.append("no data file is named")
        return None
    folder = os.path.dirname(os.path.abspath(source))
    path = os.path.join(folder, name)
    try:
        inside = os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
        found = inside and os.path.isfile(path)
    except (OSError, ValueError):
        inside = found = False
    if not found:
        why = "not found" if inside else f"not in the folder of {os.path.basename(source)}"
        notes.append(f"data file {name!r:.120}: {why}; give its path")
        return None
    return path
