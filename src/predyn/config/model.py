"""The mechanism of a task file: built-in, a file or a DH table; payloads, contacts, forces."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

from predyn import models
from predyn.collision.capsule_fit import fit_capsules
from predyn.config.findings import Findings
from predyn.config.joints import radians
from predyn.config.lines import Path
from predyn.config.schema import Force, ModelTable, ProfileTable
from predyn.curves.profile import Profile
from predyn.errors import FileError, InputError, PredynError, unknown_name
from predyn.kernels.forces import ExternalForce
from predyn.load.dh import DHRow, load_dh
from predyn.load.urdf import load_urdf
from predyn.model import Model
from predyn.model.capsules import Capsule
from predyn.storage.reading import refuse_irregular

WHERE: Path = ("model",)
KINDS = ("builtin", "urdf", "osim", "dh")
OWN_KEYS = (*KINDS, "gravity", "payloads", "contacts", "frames", "loops", "capsules")
ANGLES = ("theta", "alpha", "position", "velocity", "acceleration", "rest")


class Folder:
    """The folder of a task file; a task may read files in it and below."""

    def __init__(self, path: FilePath, anywhere: bool) -> None:
        self.path = path
        self.anywhere = anywhere

    def file(self, name: str) -> FilePath:
        """The path of a file named in the task."""
        path = self._path(name)
        refuse_irregular(path)
        return path

    def packages(self, given: Any) -> Any:
        """The same folders as paths; what is neither a name nor names stays for the loader."""
        if isinstance(given, str):
            return self._path(given)
        if isinstance(given, list):
            return [self.packages(item) for item in given]
        if isinstance(given, dict):
            return {key: self.packages(item) for key, item in given.items()}
        return given

    def _path(self, name: str) -> FilePath:
        path = self.path / name
        try:
            inside = path.resolve().is_relative_to(self.path.resolve())
            exists = path.exists()
        except (OSError, ValueError, RuntimeError) as error:  # too long, NUL, circular links
            raise FileError(f"{name!r:.60}: not a valid file path: {error!s:.80}") from None
        if not self.anywhere:
            if os.path.isabs(name):
                raise FileError(
                    f"{name}: an absolute path; a task reads only files in its own folder and "
                    "below. Move the file, or allow it (--allow-absolute, allow_absolute=True)"
                )
            if not inside:
                raise FileError(
                    f"{name}: leads out of the folder of the task file; a task reads only files "
                    "in that folder and below. Move the file, or allow it (--allow-absolute, "
                    "allow_absolute=True)"
                )
        if not exists:
            raise FileError(f"{name}: no such file in {self.path}")
        return path


def model_of(table: ModelTable, folder: Folder, findings: Findings) -> Model | None:
    """Build the model; None if there are errors."""
    kinds = [key for key in KINDS if getattr(table, key) is not None]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none"
        findings.add(WHERE, f"expected one of builtin, urdf, osim or dh, got {got}")
        return None
    key = kinds[0]
    arguments = dict(table.model_extra or {})
    make: Callable[..., Model]
    first: list[Any]
    try:
        if table.builtin is not None:
            if table.builtin not in models.__all__:
                raise unknown_name("model", table.builtin, models.__all__)
            make, first = getattr(models, table.builtin), []
        elif table.urdf is not None:
            make, first = load_urdf, [folder.file(table.urdf)]
            if "packages" in arguments:
                arguments["packages"] = folder.packages(arguments["packages"])
        elif table.osim is not None:
            from predyn.load.osim import load_osim  # few tasks need it, and SciPy with it

            make, first = load_osim, [folder.file(table.osim)]
            arguments.setdefault("functions", "smooth")  # second derivatives of programs need it
        else:
            make, first = load_dh, [_rows(table.dh or [], findings)]
    except PredynError as error:
        findings.add((*WHERE, key), str(error))
        return None
    valid = [
        p.name for p in list(inspect.signature(make).parameters.values())[len(first) :]
    ]  # fmt: skip
    for name in arguments:
        if name not in valid:
            findings.unknown_key((*WHERE, name), [*OWN_KEYS, *valid])
    if findings:
        return None
    if table.gravity is not None and "gravity" in valid:
        arguments["gravity"] = table.gravity
    try:
        model = make(*first, **arguments)
    except (PredynError, TypeError, ValueError) as error:
        findings.add((*WHERE, key), str(error))
        return None
    if table.gravity is not None:
        model = model.with_gravity(table.gravity)
    for k, payload in enumerate(table.payloads):
        with findings.at((*WHERE, "payloads", k)):
            model = model.attach_payload(payload.link, payload.mass, payload.point, payload.inertia)
    for k, contact in enumerate(table.contacts):
        with findings.at((*WHERE, "contacts", k)):
            model = model.with_contact(contact.name, contact.link, contact.point, contact.patch)
    for k, frame in enumerate(table.frames):
        with findings.at((*WHERE, "frames", k)):
            model = model.with_frame(frame.name, frame.link, frame.point)
    for k, loop in enumerate(table.loops):
        with findings.at((*WHERE, "loops", k)):
            ends = (loop.frame_a, loop.frame_b)
            model = model.with_loop(loop.name, loop.kind, *ends, distance=loop.distance)
    with findings.at((*WHERE, "capsules")):
        model = _with_capsules(model, table)
    return model


def _with_capsules(model: Model, table: ModelTable) -> Model:
    """The model with the capsules given, or with so many fitted to each collision shape."""
    given = table.capsules
    if given is None:
        return model
    if isinstance(given, list):
        return model.with_capsules([Capsule(x.link, x.a, x.b, x.radius) for x in given])
    if given < 1:
        raise InputError(f"expected a number of at least 1, or a list of capsules, got {given}")
    return model.with_capsules(fit_capsules(model, given))


def _rows(rows: list[dict[str, Any]], findings: Findings) -> list[DHRow]:
    valid = [*DHRow.__dataclass_fields__, *(f"{key}_deg" for key in ANGLES)]
    made = []
    for k, row in enumerate(rows):
        where = (*WHERE, "dh", k)
        values: dict[str, Any] = {}
        for key, value in row.items():
            if key not in valid:
                findings.unknown_key((*where, key), valid)
                continue
            plain = key.removesuffix("_deg")
            if plain in values:
                findings.add((*where, key), f"both {plain!r} and '{plain}_deg' are given")
            if plain != key and row.get("kind") == "prismatic" and plain not in ("theta", "alpha"):
                findings.add(
                    (*where, key), f"a prismatic joint takes no degrees; use {plain!r} in SI units"
                )
            values[plain] = radians(value, (*where, key), findings) if plain != key else value
        made.append(DHRow(**values))
    return made


def forces_of(
    tables: list[Force], model: Model, where: Path, findings: Findings
) -> tuple[ExternalForce, ...]:
    made = []
    for k, table in enumerate(tables):
        with findings.at((*where, k, "link")):
            model.frame(table.link)
            with findings.at((*where, k, "point")):
                made.append(
                    ExternalForce(
                        table.link,
                        _push(table.force),
                        _push(table.moment),
                        _point(table, model),
                        table.frame,
                    )
                )
    return tuple(made)


def _push(given: list[float] | str | ProfileTable) -> list[float] | str | Profile:
    if isinstance(given, ProfileTable):
        return Profile(given.times, given.values, given.over)
    return given


def _point(table: Force, model: Model) -> Any:
    """Coordinates in the frame of the force's link."""
    if not isinstance(table.point, str):
        return table.point
    frame, link = model.frame(table.point), model.frame(table.link)
    if frame.link != link.link:
        on = model.link_names[frame.link] if frame.link >= 0 else "world"
        raise InputError(f"frame {table.point!r} is on {on!r}, not on {table.link!r}")
    return tuple((link.R.T @ (frame.p - link.p)).tolist())
