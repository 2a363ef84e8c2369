"""The report of a study from its folder: study.json, the parts of its table, kept solutions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from predyn.solution.file import load_solution
from predyn.study.folder import SOLUTIONS, read_description
from predyn.study.table import OUTCOME, read_table
from predyn.view.study_columns import COLLECTED, STATUS, VARIED, PageColumn
from predyn.view.study_motions import Loader
from predyn.view.study_page import PageText, write_study_report


def study_report(
    folder: str | os.PathLike[str],
    pareto: tuple[tuple[str, str], tuple[str, str]] | None = None,
) -> Path:
    """Write report.html into the folder of a study, also of one that is still running.

    pareto: two columns, each "min" or "max", for the first Pareto plot; default: the costs of a
    Pareto front, of a study two that were collected.
    """
    place = Path(folder)
    about, table = read_description(place), read_table(place)
    varied, between = set(about.more.get("varied", ())), about.more.get("between")
    if pareto is None and between:  # `predyn pareto`
        pareto = ((between[0], "min"), (between[1], "min"))
    columns = page_columns(about.columns, varied)
    text = PageText(about.name, about.description, pareto, _provenance(about.more))
    return write_study_report(place, table, columns, kept_motions(place), text)


def page_columns(columns: Iterable[Any], varied: set[str]) -> list[PageColumn]:
    """Columns of study.json with their roles: varied, collected, or how the case ended."""
    status = {column.name for column in OUTCOME} - {"objective"}
    found = []
    for name, unit, kind in columns:
        role = VARIED if name in varied else STATUS if name in status else COLLECTED
        found.append(PageColumn(name, unit, kind, role))
    return sorted(found, key=lambda column: (VARIED, COLLECTED, STATUS).index(column.role))


def kept_motions(folder: Path) -> list[tuple[int, Loader]]:
    """Cases whose solutions are in the folder, with functions that load them."""
    place = folder / SOLUTIONS
    if not place.is_dir():
        return []
    files = {path.stem: path for path in place.glob("*.h5")}
    return [
        (int(stem), partial(load_solution, files[stem]))
        for stem in sorted(files)
        if stem.isascii() and stem.isdigit()
    ]


def _provenance(more: Mapping[str, Any]) -> dict[str, str]:
    """Texts that the study was made from, then everything else that it says of itself."""
    origin = dict(more.get("provenance") or {})
    texts = origin.pop("texts", None) or {}
    rest = {key: value for key, value in more.items() if key not in ("provenance", "varied")}
    words = json.dumps(rest | origin, indent=1, ensure_ascii=False, default=str)
    return {str(name): str(text) for name, text in texts.items()} | {"Versions": words}
