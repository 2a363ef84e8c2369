"""The mechanism of a task file: a ready model, a URDF file or a DH table, payloads and forces."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

from predyn import models
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
from predyn.storage.reading import refuse_irregular

WHERE: Path = ("model",)
OWN_KEYS = ("builtin", "urdf", "dh", "gravity", "payloads")
ANGLES = ("theta", "alpha", "position", "velocity", "acceleration", "rest")


class Folder:
    """The files that a task may read: those beside it and below."""

    def __init__(self, path: FilePath, anywhere: bool) -> None:
        self.path = path
        self.anywhere = anywhere

    def file(self, name: str) -> FilePath:
        """The path of a file that the task names."""
        path = self.path / name
        try:
            inside = path.resolve().is_relative_to(self.path.resolve())
            found = path.exists()
        except (OSError, ValueError, RuntimeError) as error:  # too long, NUL, links in a circle
            raise FileError(f"{name!r:.60}: no path of a file: {error!s:.80}") from None
        if not self.anywhere:
            if os.path.isabs(name):
                raise FileError(
                    f"{name}: an absolute path; a task file reads what is beside or below it. "
                    "Move the file, or allow it (--allow-absolute, allow_absolute=True)"
                )
            if not inside:
                raise FileError(
                    f"{name}: leads out of the folder of the task file, which reads what is "
                    "beside or below it. Move the file, or allow it (--allow-absolute, "
                    "allow_absolute=True)"
                )
        if not found:
            raise FileError(f"{name}: no such file, looked in {self.path}")
        refuse_irregular(path)
        return path


def model_of(table: ModelTable, folder: Folder, found: Findings) -> Model | None:
    """The model; None if something is wrong with it."""
    kinds = [key for key in ("builtin", "urdf", "dh") if getattr(table, key) is not None]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none"
        found.add(WHERE, f"expected one of builtin, urdf or dh, got {got}")
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
        else:
            make, first = load_dh, [_rows(table.dh or [], found)]
    except PredynError as error:
        found.add((*WHERE, key), str(error))
        return None
    valid = [
        p.name for p in list(inspect.signature(make).parameters.values())[len(first) :]
    ]  # fmt: skip
    for name in arguments:
        if name not in valid:
            found.unknown_key((*WHERE, name), [*OWN_KEYS, *valid])
    if found:
        return None
    if table.gravity is not None and "gravity" in valid:
        arguments["gravity"] = table.gravity
    try:
        model = make(*first, **arguments)
    except (PredynError, TypeError, ValueError) as error:
        found.add((*WHERE, key), str(error))
        return None
    if table.gravity is not None:
        model = model.with_gravity(table.gravity)
    for k, payload in enumerate(table.payloads):
        with found.at((*WHERE, "payloads", k)):
            model = model.attach_payload(payload.link, payload.mass, payload.point, payload.inertia)
    return model


def _rows(rows: list[dict[str, Any]], found: Findings) -> list[DHRow]:
    valid = [*DHRow.__dataclass_fields__, *(f"{key}_deg" for key in ANGLES)]
    made = []
    for k, row in enumerate(rows):
        where = (*WHERE, "dh", k)
        values: dict[str, Any] = {}
        for key, value in row.items():
            if key not in valid:
                found.unknown_key((*where, key), valid)
                continue
            plain = key.removesuffix("_deg")
            if plain in values:
                found.add((*where, key), f"both {plain!r} and '{plain}_deg' are given")
            if plain != key and row.get("kind") == "prismatic" and plain not in ("theta", "alpha"):
                found.add((*where, key), f"the joint slides: no degrees; give {plain!r} in SI")
            values[plain] = radians(value, (*where, key), found) if plain != key else value
        made.append(DHRow(**values))
    return made


def forces_of(
    tables: list[Force], model: Model, where: Path, found: Findings
) -> tuple[ExternalForce, ...]:
    made = []
    for k, table in enumerate(tables):
        with found.at((*where, k, "link")):
            model.frame(table.link)
            with found.at((*where, k, "point")):
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
