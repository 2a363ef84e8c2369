"""Studies of a recording: torques estimated with other models, options or files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from predyn.config.findings import Findings
from predyn.config.model import Folder, model_of
from predyn.config.schema import ModelTable
from predyn.errors import InputError, unknown_name
from predyn.model import Model
from predyn.samples.registry import components, units
from predyn.study.collecting import Row
from predyn.study.study import Collect, Column, Source

if TYPE_CHECKING:
    from predyn.estimate.result import Estimate

TABLES = ("recording", "model", "load", "estimate")
NUMBERS = {"log_evidence": "", "order": "", "grid_error": "N m"}
CURVES = ("q", "v", "a", "tau", "tau_sd")
SAME_UNIT = {"tau_sd": "tau"}
NOT_OPTIONS = ("model", "data", "report", "verbose", "path", "name")


def recorded_source(
    tree: Mapping[str, Any], text: str, folder: Folder, allow_code: bool, findings: Findings
) -> Source | None:
    """The recording, its model and options; all of them are checked once as they are written."""
    own = {key: tree.get(key, {}) for key in TABLES}
    if not isinstance(own["recording"], str):
        findings.add(("recording",), f"expected the path of a file, got {own['recording']!r:.60}")
    if isinstance(own["model"], str):
        suffix = Path(own["model"]).suffix.lower()
        kind = {".urdf": "urdf", ".osim": "osim"}.get(suffix, "builtin")
        own["model"] = {kind: own["model"]}
    for key in ("load", "estimate"):
        if not isinstance(own[key], dict):
            findings.add((key,), f"expected a table, got {own[key]!r:.60}")
            continue
        known = options_of(key)
        for name in own[key].keys() - {*known}:
            findings.unknown_key((key, name), known)
    if "model" not in tree:
        text = "a recording needs a model: a .urdf or .osim file, a name, or a table [model]"
        findings.add((), text)
    elif not isinstance(own["model"], dict):
        findings.add(("model",), f"expected a name, a path or a table, got {own['model']!r:.60}")
    if findings:
        return None
    place = str(folder.path)
    source = Source("recording", text, own, place, place, folder.anywhere, allow_code)
    with findings.at(("model",)):
        built_model(source, own)
    with findings.at(("recording",)):
        folder.file(own["recording"])
    return None if findings else source


def options_of(table: str) -> list[str]:
    """The options of [load] or [estimate]."""
    from predyn.estimate.estimating import estimate_torques  # few studies need it, and SciPy
    from predyn.recordings.loading import load_measurements

    function: Any = {"load": load_measurements, "estimate": estimate_torques}[table]
    return [name for name in inspect.signature(function).parameters if name not in NOT_OPTIONS]


def problem_keys(target: tuple[str | int, ...]) -> None:
    """Raise an InputError for a key that a study of a recording does not have."""
    if target[0] not in TABLES:
        raise unknown_name("key of a study of a recording", target[0], TABLES)
    if target[0] in ("load", "estimate"):
        known = options_of(str(target[0]))
        if len(target) < 2 or target[1] not in known:
            got = target[1] if len(target) > 1 else ""
            raise unknown_name(f"option in [{target[0]}]", got, known)
    if target[0] == "recording" and len(target) > 1:
        raise InputError("recording: vary the name of the file")


def built_model(source: Source, tree: Mapping[str, Any]) -> Model:
    """The model of a case."""
    findings = Findings(source.path, "")  # the text may be JSON, which has no lines of keys
    table = ModelTable.model_validate(tree["model"])
    model = model_of(table, Folder(Path(source.folder), source.allow_absolute), findings)
    findings.raise_if_any()
    assert model is not None
    return model


def estimate_case(source: Source, tree: Mapping[str, Any], model: Model) -> Estimate:
    """The estimate of a case."""
    from predyn.estimate.estimating import estimate_torques
    from predyn.recordings.loading import load_measurements

    folder = Folder(Path(source.folder), source.allow_absolute)
    options = dict(tree["load"])
    if isinstance(options.get("force_baseline"), list):
        options["force_baseline"] = tuple(options["force_baseline"])
    data = load_measurements(folder.file(tree["recording"]), **options)
    return estimate_torques(model, data, verbose=False, **tree["estimate"])


def collect_estimate(
    table: Any, source: Source, findings: Findings
) -> tuple[Collect, tuple[Column, ...]]:
    """What to collect of an estimate: peaks and numbers."""
    if not isinstance(table, dict):
        findings.add(("collect",), f"expected a table, got {table!r:.60}")
        return Collect(), ()
    for key in table.keys() - {"peaks", "numbers"}:
        findings.unknown_key(("collect", key), ("peaks", "numbers"))
    model = built_model(source, source.tree)
    parts: list[tuple[str, int]] = []
    columns: list[Column] = []
    numbers: list[str] = []
    with findings.at(("collect", "numbers")):
        numbers = _listed(table.get("numbers", []), "order")
        for name in numbers:
            if name not in NUMBERS:
                raise unknown_name("number of an estimate", name, NUMBERS)
            columns.append(Column(name, NUMBERS[name]))
    with findings.at(("collect", "peaks")):
        for text in _listed(table.get("peaks", []), "tau.knee"):
            for name, k, label, unit in _parts(text, model):
                parts.append((name, k))
                columns.append(Column(f"peak {label}", unit))
    labels = [column.name for column in columns]
    for name in dict.fromkeys(name for name in labels if labels.count(name) > 1):
        findings.add(("collect",), f"two columns have the name {name!r}; remove one")
    return Collect(estimate=tuple(numbers), peaks=tuple(parts)), tuple(columns)


def _listed(given: Any, example: str) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"expected a list of names such as [{example!r}], got {given!r:.60}")
    return names


def _parts(text: str, model: Model) -> list[tuple[str, int, str, str]]:
    name, _, joint = text.partition(".")
    if name not in CURVES:
        raise unknown_name("curve of an estimate", name, CURVES)
    channel = SAME_UNIT.get(name, name)
    own = list(zip(components(model, channel), units(model, channel), strict=True))
    if joint and joint not in model.joint_names:
        raise unknown_name("joint", joint, model.joint_names)
    return [
        (name, k, f"{name}.{part}", unit)
        for k, (part, unit) in enumerate(own)
        if not joint or joint == part
    ]


def estimate_row(collect: Collect, columns: tuple[Column, ...], estimate: Estimate) -> Row:
    """The numbers of an estimate, and its peaks: largest magnitudes."""
    chosen = [x for x in estimate.orders if x.chosen]
    numbers = {
        "log_evidence": chosen[0].log_evidence if chosen else math.nan,
        "order": float(estimate.order),
        "grid_error": float(np.abs(estimate.grid_error).max(initial=0.0)),
    }
    values = [numbers[name] for name in collect.estimate]
    values += [
        float(np.abs(getattr(estimate, name)[:, k]).max(initial=0.0)) for name, k in collect.peaks
    ]
    return dict(zip((column.name for column in columns), values, strict=True))
